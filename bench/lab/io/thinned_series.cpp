// SPDX-License-Identifier: BSL-1.0
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/thinned_series.hpp>

#include <algorithm>

namespace allot {
inline namespace v0 {
namespace lab {

thinned_series::thinned_series(instant origin, std::size_t most)
    : origin_(origin), since_(origin), most_(most) {
  ALLOT_ASSERT(most > 0 && most % 2 == 0, "an even number of spans, so that each has a partner");
}

void thinned_series::set(instant now, std::int64_t value) {
  advance(now);
  value_ = value;
}

vector<std::int64_t> thinned_series::means(instant now) {
  advance(now);
  vector<std::int64_t> result;
  result.reserve(sums_.size());
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const instant begin = static_cast<instant>(i) * width_;
    const wide span = static_cast<wide>(std::min(width_, now - origin_ - begin));
    result.push_back(static_cast<std::int64_t>((sums_[i] + span / 2) / span));
  }
  return result;
}

void thinned_series::advance(instant now) {
  ALLOT_ASSERT(now >= since_, "time does not go back");
  const instant until = now - origin_;
  while (until > width_ * static_cast<instant>(most_)) halve();
  for (instant at = since_ - origin_; at < until;) {
    // The span that ends here has its entry; the next one gets its entry now.
    if (at == end_of_last_) {
      sums_.push_back(0);
      end_of_last_ += width_;
    }
    const instant next = std::min(until, end_of_last_);
    sums_.back() += wide{value_} * (next - at);
    at = next;
  }
  since_ = now;
}

void thinned_series::halve() {
  const std::size_t half = (sums_.size() + 1) / 2;
  for (std::size_t i = 0; i < half; ++i) {
    sums_[i] = sums_[2 * i] + (2 * i + 1 < sums_.size() ? sums_[2 * i + 1] : wide{0});
  }
  sums_.resize(half);
  width_ *= 2;
  end_of_last_ = static_cast<instant>(half) * width_;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/thinned_series.hpp>

#include <algorithm>
#include <utility>

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
  result.reserve(sums_.size() + 1);
  const auto add = [&](wide sum, wide span) {
    result.push_back(static_cast<std::int64_t>((sum + span / 2) / span));
  };
  for (const wide sum : sums_) add(sum, width_);
  const instant rest = now - origin_ - static_cast<instant>(sums_.size()) * width_;
  if (rest > 0) add(open_, rest);
  return result;
}

void thinned_series::advance(instant now) {
  ALLOT_ASSERT(now >= since_, "time does not go back");
  const instant until = now - origin_;
  while (until > width_ * static_cast<instant>(most_)) halve();
  for (instant at = since_ - origin_; at < until;) {
    const instant end = static_cast<instant>(sums_.size() + 1) * width_;
    const instant next = std::min(until, end);
    open_ += wide{value_} * (next - at);
    at = next;
    if (at == end) sums_.push_back(std::exchange(open_, 0));
  }
  since_ = now;
}

void thinned_series::halve() {
  if (sums_.size() % 2 != 0) {
    open_ += sums_.back();
    sums_.pop_back();
  }
  const std::size_t half = sums_.size() / 2;
  for (std::size_t i = 0; i < half; ++i) sums_[i] = sums_[2 * i] + sums_[2 * i + 1];
  sums_.resize(half);
  width_ *= 2;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// A quantity that changes in steps, as the means of equal spans of time of which there are never more than a
/// few hundred: when the time outgrows them, every two become one. For drawing; each mean is exact up to one
/// rounding. Amortised O(1) a change, and the memory does not grow with the simulation.
class thinned_series {
 public:
  /// Zero from `origin` on. Precondition: `most` is even and not zero.
  explicit thinned_series(instant origin = 0, std::size_t most = 1000)
      : origin_(origin), since_(origin), most_(most) {
    ALLOT_ASSERT(most > 0 && most % 2 == 0, "an even number of spans, so that each has a partner");
  }

  /// The quantity is `value` from `now` on. Precondition: `now` is not before the last change.
  void set(instant now, std::int64_t value) {
    advance(now);
    value_ = value;
  }

  /// The mean of every span, from the origin until `now`; the last may be shorter than the others.
  [[nodiscard]] std::vector<std::int64_t> means(instant now) {
    advance(now);
    std::vector<std::int64_t> result;
    result.reserve(sums_.size());
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const instant begin = static_cast<instant>(i) * width_;
      const wide span = static_cast<wide>(std::min(width_, now - origin_ - begin));
      result.push_back(static_cast<std::int64_t>((sums_[i] + span / 2) / span));
    }
    return result;
  }
  /// How long each span is. Series that begin together and have come as far have the same.
  [[nodiscard]] instant width() const noexcept { return width_; }

 private:
  __extension__ using wide = __int128;

  void advance(instant now) {
    ALLOT_ASSERT(now >= since_, "time does not go back");
    const instant until = now - origin_;
    while (until > width_ * static_cast<instant>(most_)) halve();
    for (instant at = since_ - origin_; at < until;) {
      // The span that ends here has its place; the next one gets it now.
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
  void halve() {
    const std::size_t half = (sums_.size() + 1) / 2;
    for (std::size_t i = 0; i < half; ++i) {
      sums_[i] = sums_[2 * i] + (2 * i + 1 < sums_.size() ? sums_[2 * i + 1] : wide{0});
    }
    sums_.resize(half);
    width_ *= 2;
    end_of_last_ = static_cast<instant>(half) * width_;
  }

  instant origin_;
  instant since_;
  instant width_ = 1;
  /// Of the last span that has a sum, since the origin.
  instant end_of_last_ = 0;
  std::size_t most_;
  std::int64_t value_ = 0;
  std::vector<wide> sums_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

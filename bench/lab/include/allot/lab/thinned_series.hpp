// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace lab {

/// A quantity that changes in steps, as the means of equal intervals of which there are never more than a few
/// hundred: when time outgrows them, every two become one. For drawing; each mean is exact up to one
/// rounding. Amortised O(1) per change, and the memory does not grow with the simulation.
class thinned_series {
 public:
  /// Zero from `origin` on. Precondition: `most` is even and not zero.
  explicit thinned_series(instant origin = 0, std::size_t most = 1000);

  /// The quantity is `value` from `now` on. Precondition: `now` is not before the last change.
  void set(instant now, std::int64_t value);

  /// The mean of every interval from the origin until `now`; the last may be shorter than the others.
  [[nodiscard]] vector<std::int64_t> means(instant now);
  /// The length of an interval. Series with the same origin that have come equally far have the same.
  [[nodiscard]] instant width() const noexcept { return width_; }

 private:
  __extension__ using wide = __int128;

  void advance(instant now);
  void halve();

  instant origin_;
  instant since_;
  instant width_ = 1;
  std::size_t most_;
  std::int64_t value_ = 0;
  /// Of the interval that has not ended, and of those before it.
  wide open_ = 0;
  vector<wide> sums_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

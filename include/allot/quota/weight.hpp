// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>

#include <compare>
#include <cstdint>
#include <type_traits>

namespace allot {
inline namespace v0 {

/// A quota's weight among its siblings, exact to a thousandth: `whole(2)` is twice the default, which is
/// `whole(1)`. No number converts to it, so no 2 is taken for 0.002. It saturates as `quantity` does.
class fair_weight {
 public:
  /// `whole(1)`.
  constexpr fair_weight() noexcept = default;

  /// Does not compile: it is only there to say what to write instead of a number.
  template <class Number>
  requires std::is_arithmetic_v<Number>
  constexpr fair_weight(Number) noexcept {
    static_assert(!std::is_arithmetic_v<Number>,
                  "allot: a number is no weight: write fair_weight::whole(2) or fair_weight::milli(2000)");
  }

  /// `n` thousandths.
  [[nodiscard]] static constexpr fair_weight milli(std::int64_t n) noexcept {
    fair_weight w;
    w.value_ = quantity::milli(n).in_milli();
    return w;
  }
  /// `n` times the default.
  [[nodiscard]] static constexpr fair_weight whole(std::int64_t n) noexcept {
    return milli(quantity::whole(n).in_milli());
  }

  /// In thousandths.
  [[nodiscard]] constexpr std::int64_t in_milli() const noexcept { return value_; }

  friend constexpr auto operator<=>(fair_weight, fair_weight) noexcept = default;
  friend constexpr bool operator==(fair_weight, fair_weight) noexcept = default;

 private:
  std::int64_t value_ = 1000;
};

}  // namespace v0
}  // namespace allot

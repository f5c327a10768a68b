// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>

#include <cstdint>

namespace allot {
inline namespace v0 {

/// How much a quota lends to, or borrows from, the rest of the tree: everything (the default), nothing, an
/// absolute amount, or a percentage of its nominal, which follows the nominal when that is resized.
class limit {
 public:
  constexpr limit() noexcept = default;

  /// No limit: everything that there is. The default.
  [[nodiscard]] static constexpr limit all() noexcept { return {}; }
  /// Nothing: "don't lend", "don't borrow".
  [[nodiscard]] static constexpr limit none() noexcept { return at_most(quantity{}); }
  /// At most this amount.
  [[nodiscard]] static constexpr limit at_most(quantity q) noexcept {
    return q.is_unlimited() ? all() : limit{kind::absolute, q.in_milli()};
  }
  /// Percent of the nominal, of any size (HyperPod's borrow limits end at 500; these do not).
  [[nodiscard]] static constexpr limit percent(std::int64_t p) noexcept { return {kind::percent, p}; }

  /// The amount, given the quota's nominal. A percentage is rounded down to a thousandth of a unit; of an
  /// unlimited nominal it is unlimited, except for 0 %.
  [[nodiscard]] constexpr quantity of(quantity nominal) const noexcept {
    switch (kind_) {
      case kind::all:
        return quantity::unlimited();
      case kind::absolute:
        return quantity::milli(value_);
      case kind::percent:
        break;
    }
    if (nominal.is_unlimited()) return nominal * value_;
    __extension__ using exact = __int128;
    const exact amount = exact{nominal.in_milli()} * value_ / 100;
    return amount < quantity::unlimited().in_milli() ? quantity::milli(static_cast<std::int64_t>(amount))
                                                     : quantity::unlimited();
  }
  /// Whether it is an amount or percentage below zero, which the builder refuses.
  [[nodiscard]] constexpr bool is_negative() const noexcept { return kind_ != kind::all && value_ < 0; }

  friend constexpr bool operator==(const limit&, const limit&) noexcept = default;

 private:
  enum class kind : std::uint8_t { all, absolute, percent };
  constexpr limit(kind k, std::int64_t value) noexcept : value_(value), kind_(k) {}

  std::int64_t value_ = 0;
  kind kind_ = kind::all;
};

}  // namespace v0
}  // namespace allot

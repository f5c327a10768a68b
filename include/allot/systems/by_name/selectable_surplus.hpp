// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/fairshare/decayed_surplus.hpp>
#include <allot/fairshare/even_totals.hpp>
#include <allot/fairshare/first_come.hpp>
#include <allot/fairshare/priority_bands.hpp>
#include <allot/fairshare/rounding.hpp>
#include <allot/fairshare/surplus.hpp>
#include <allot/systems/by_name/named_parts.hpp>

#include <span>
#include <utility>
#include <variant>

namespace allot {
inline namespace v0 {

/// A surplus rule selected by name at run time. With a rounding selected it divides into whole units (GPUs),
/// of which the last may be a part of one; without one, or with `none`, everything is divided to the
/// thousandth. All surplus that is wanted is granted.
///
/// `capped` is proportional to weight as well: every rule here that never exceeds a demand gives what Armada
/// calls the demand-capped adjusted share. First come and most under-served do not round.
class selectable_surplus {
 public:
  selectable_surplus() = default;
  explicit selectable_surplus(const named_parts& parts) {
    switch (parts.rounding.value_or(rounding_name::none)) {
      case rounding_name::webster:
        choose<webster>(parts, quantity::whole(1));
        break;
      case rounding_name::largest_remainders:
        choose<largest_remainder>(parts, quantity::whole(1));
        break;
      case rounding_name::none:
        choose<webster>(parts, quantity::milli(1));
        if (parts.surplus == surplus_name::parent_peer) rule_ = parent_as_peer{};
        break;
    }
  }

  void operator()(quantity surplus, std::span<claimant> claimants) {
    std::visit([&](auto& rule) { rule(surplus, claimants); }, rule_);
  }
  /// Whether the selected rule ignores unmet wants; see `ignores_unmet_wants`.
  [[nodiscard]] bool ignores_unmet_wants() const noexcept {
    return std::visit([](const auto& rule) { return allot::ignores_unmet_wants(rule); }, rule_);
  }

 private:
  template <class Rounding>
  void choose(const named_parts& parts, quantity unit) {
    const Rounding rounding{unit};
    switch (parts.surplus.value_or(surplus_name::weight)) {
      case surplus_name::weight:
      case surplus_name::capped:
        rule_ = proportional<by_weight, Rounding>{rounding};
        break;
      case surplus_name::quota:
      case surplus_name::parent_peer:
        rule_ = proportional<by_owned, Rounding>{rounding};
        break;
      case surplus_name::priority:
        rule_ =
            priority_bands<proportional<by_weight, Rounding>>{proportional<by_weight, Rounding>{rounding}};
        break;
      case surplus_name::first_come:
        rule_ = first_come{};
        break;
      case surplus_name::decayed_usage:
        rule_ = decayed_surplus<Rounding>{{.k = parts.k}, unit};
        break;
      case surplus_name::most_under_served:
        rule_ = even_totals<by_owned>{};
        break;
    }
  }

  std::variant<proportional<by_weight, webster>, proportional<by_weight, largest_remainder>,
               proportional<by_owned, webster>, proportional<by_owned, largest_remainder>,
               priority_bands<proportional<by_weight, webster>>,
               priority_bands<proportional<by_weight, largest_remainder>>, first_come,
               decayed_surplus<webster>, decayed_surplus<largest_remainder>, parent_as_peer,
               even_totals<by_owned>>
      rule_{};
};

}  // namespace v0
}  // namespace allot

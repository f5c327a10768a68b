// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/preemption/guard.hpp>
#include <allot/preemption/victim_order.hpp>

#include <cstddef>
#include <type_traits>

namespace allot {
inline namespace v0 {
namespace detail {

/// The names of the optional members of policy parts and cycles.
struct optional_part_names {
  int follows_priority, within_quota, judges_rivals, strategies, less_fair_when_larger, wakes_at;
};

/// As `view_and_names`: a name is ambiguous here exactly if the part has a member of that name, of any kind.
template <class Part>
struct part_and_names : Part, optional_part_names {};
/// Nothing can be known of what can't be derived from.
template <class Part>
requires(!std::is_class_v<Part> || std::is_final_v<Part>) struct part_and_names<Part> : optional_part_names {
};

// clang-format off
template <class Part>
concept has_follows_priority = !requires { &part_and_names<Part>::follows_priority; };
template <class Part>
concept has_within_quota = !requires { &part_and_names<Part>::within_quota; };
template <class Part>
concept has_judges_rivals = !requires { &part_and_names<Part>::judges_rivals; };
template <class Part>
concept has_strategies = !requires { &part_and_names<Part>::strategies; };
template <class Part>
concept has_less_fair_when_larger = !requires { &part_and_names<Part>::less_fair_when_larger; };
template <class Cycle>
concept has_wakes_at = !requires { &part_and_names<Cycle>::wakes_at; };
// clang-format on

/// True, or an error that names an optional member of a guard that the library would not call.
template <class Guard>
[[nodiscard]] consteval bool is_whole_guard() {
  static_assert(!has_judges_rivals<Guard> || rival_guard<Guard>,
                "allot: the guard's judges_rivals() must be const and return bool");
  static_assert(!has_strategies<Guard> || staged_guard<Guard>,
                "allot: the guard's strategies must be a static constexpr std::size_t");
  static_assert(!has_less_fair_when_larger<Guard> || monotone_guard<Guard>,
                "allot: the guard's less_fair_when_larger must be a static constexpr bool");
  return true;
}
/// Likewise for a victim order, of which it is known whether it orders within a quota.
template <class Order, bool OrdersWithinQuota>
[[nodiscard]] consteval bool is_whole_victim_order() {
  static_assert(!has_within_quota<Order> || OrdersWithinQuota,
                "allot: the victim order's within_quota must be const, take (const running_job<N>&, const "
                "running_job<N>&, instant), or (view, job, job, instant) if the order takes a job, return "
                "bool");
  return true;
}

}  // namespace detail
}  // namespace v0
}  // namespace allot

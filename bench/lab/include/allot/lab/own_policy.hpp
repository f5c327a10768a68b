// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/placement/any_placement.hpp>
#include <allot/gpu/placement/typical_pods.hpp>
#include <allot/lab/dimensions.hpp>
#include <allot/presets/standard.hpp>
#include <allot/quota/spec.hpp>
#include <allot/scheduler/any_policies.hpp>
#include <allot/scheduler/exhaustive_cycle.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/job_history.hpp>
#include <allot/sim/places.hpp>
#include <allot/systems/by_name/named_parts.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// Policies of any kind, as the simulator and the program `allot` run them on workloads with N resources.
template <std::size_t N>
using workload_policies = any_policies<sim::workload_view<N>, sim::places>;

/// A preset that places jobs in its own way, besides what the concept `preset` asks for. Its
/// `placement_type` is a `gpu::placement_policy`, which is made of the cluster and the typical pods of the
/// workload if it can be, of the cluster, or of nothing.
template <class P>
concept placing_preset = preset<P> && gpu::placement_policy<typename P::placement_type>;

/// What the program `allot` asks of a policy that is not one of the library's, behind one type; see
/// `own_policy_of`. All functions are set, but for the placement.
struct own_policy {
  /// What depends on the number of resources of a workload.
  template <std::size_t N>
  struct sized {
    /// What the preset makes of the user's quotas.
    void (*adapt)(std::vector<quota_spec<N>>&) = nullptr;
    /// Its parts.
    workload_policies<N> (*make)(bool sees_estimates) = nullptr;
  };

  /// The name by which it is found: lower-case letters, digits and underscores.
  std::string_view name{};
  /// One line about it, for lists.
  std::string_view summary{};
  /// Whether there is one queue for the whole cluster.
  bool ignores_quotas = false;
  /// Whether "set" may choose an order or a guard for it by name: its own parts are those of `standard`.
  bool takes_parts = false;
  /// The settings of quotas that are not configured, of a preset that sees estimates or does not (see
  /// `estimating_preset`): not if parts of it are chosen by name.
  queue_settings (*defaults)(bool sees_estimates) = nullptr;
  /// Whether its guard judges rivals; empty if unknown (see `contradictions`).
  std::optional<bool> (*judges_rivals)() = nullptr;
  /// Which nodes jobs are placed on; null: as the scenario says.
  gpu::any_placement (*placement)(const gpu::cluster&, const gpu::typical_pods&) = nullptr;
  /// For workloads with one resource.
  sized<1> one{};
  /// For all others.
  sized<max_resources> many{};
};

/// The policy of a preset. Its parts are compiled here, for one resource and for `max_resources`.
template <preset P>
[[nodiscard]] own_policy own_policy_of();

/// Lets the commands of this program find a policy by its name. Returns an empty text, or why it is refused:
/// its name is that of another, or no name.
[[nodiscard]] std::string add_policy(const own_policy& own);

/// The program `allot` with the policies that were added: runs the command that the arguments name, and
/// returns the exit status.
[[nodiscard]] int run_program(int argc, char** argv);

/// A main function: the program `allot` with presets of your own. If a name is refused, it says so and
/// returns 2.
template <preset... Own>
[[nodiscard]] int run_program_with(int argc, char** argv);

namespace detail {

template <preset P, std::size_t N>
[[nodiscard]] P seen(bool with_estimates) {
  return with_estimates ? as_seen_by<sim::workload_view<N>, sim::places>(P{}) : P{};
}
template <preset P, std::size_t N>
[[nodiscard]] own_policy::sized<N> sized_of() {
  return {rules_of<N>(P{}).adapt,
          [](bool sees_estimates) { return workload_policies<N>{policies_of(seen<P, N>(sees_estimates))}; }};
}

template <placing_preset P>
[[nodiscard]] gpu::any_placement place_by(const gpu::cluster& layout, const gpu::typical_pods& typical) {
  using placement = typename P::placement_type;
  if constexpr (std::constructible_from<placement, const gpu::cluster&, const gpu::typical_pods&>) {
    return gpu::any_placement{placement(layout, typical)};
  } else if constexpr (std::constructible_from<placement, const gpu::cluster&>) {
    return gpu::any_placement{placement(layout)};
  } else {
    return gpu::any_placement{placement{}};
  }
}

/// Prints why a policy is refused. Returns the exit status.
int complain_of_policy(const std::string& why);

}  // namespace detail

template <preset P>
own_policy own_policy_of() {
  own_policy own;
  own.name = P::name;
  own.summary = P::summary;
  own.ignores_quotas = P::ignores_quotas;
  own.takes_parts = takes_named_parts<P>;
  own.defaults = [](bool sees_estimates) { return detail::seen<P, 1>(sees_estimates).defaults(); };
  own.judges_rivals = [] { return allot::detail::policies_or_default::judges_rivals(policies_of(P{})); };
  if constexpr (requires { typename P::placement_type; }) {
    static_assert(
        placing_preset<P>,
        "allot: the preset's placement_type must be copyable, and callable as (const gpu::free_index&, "
        "const gpu::pod_shape&) -> std::optional<gpu::pod_location>");
    own.placement = &detail::place_by<P>;
  }
  own.one = detail::sized_of<P, 1>();
  own.many = detail::sized_of<P, max_resources>();
  return own;
}

template <preset... Own>
int run_program_with(int argc, char** argv) {
  for (const std::string& why : {std::string{}, add_policy(own_policy_of<Own>())...}) {
    if (!why.empty()) return detail::complain_of_policy(why);
  }
  return run_program(argc, argv);
}

}  // namespace lab

// A preset with the default parts or those of `standard`, e.g. one that only places in its own way, compiles
// no cycle.
extern template lab::workload_policies<1>::any_policies(policies<>);
extern template lab::workload_policies<lab::max_resources>::any_policies(policies<>);
extern template lab::workload_policies<1>::any_policies(standard::policies_type);
extern template lab::workload_policies<lab::max_resources>::any_policies(standard::policies_type);

}  // namespace v0
}  // namespace allot

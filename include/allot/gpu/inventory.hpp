// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/journal.hpp>
#include <allot/core/quantity.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/detail/occupancy.hpp>
#include <allot/gpu/host_nodes.hpp>
#include <allot/gpu/placement/best_fit.hpp>
#include <allot/gpu/placement/indexed_best_fit.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/gpu/reason.hpp>
#include <allot/gpu/room.hpp>
#include <allot/gpu/room_counter.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// The reference placement: where requests are placed, and which pods run on which GPUs. Models the
/// scheduler's placement concept; a host with its own inventory does not need it.
///
/// Requests with levels, or of unlike pods, are refused; `basic_topology_inventory` places them.
///
/// Nothing here allocates memory, except when there are more pods at once, or longer undo logs, than ever
/// before. A copy is independent. The policy chooses the placement; everything is deterministic.
template <placement_policy Policy = indexed_best_fit>
class basic_inventory : public occupancy {
 public:
  /// What it is asked to place.
  using pod_request = gpu::pod_request;
  /// What counts what would fit without some jobs.
  using room_counter = gpu::room_counter;
  /// What a host may change in it while a scheduler counts on it.
  using host_nodes = gpu::host_nodes;

  explicit basic_inventory(cluster layout, Policy policy = {})
      : occupancy(std::move(layout)), policy_(std::move(policy)) {
    if (uses_expected_ends(policy_)) record_ends();
  }

  /// Places all pods of the request, or none. Nothing is evicted for it; see `why_not` for what is in the
  /// way. O(pods x cost of the policy); a request without enough room is refused without trying its pods.
  [[nodiscard]] std::optional<allocation> place(const pod_request& r) { return place_by(policy_, r); }
  /// As `place`, with another policy.
  template <placement_policy P>
  [[nodiscard]] std::optional<allocation> place_by(const P& policy, const pod_request& r) {
    const auto pods = pods_of(r);
    if (!pods || !r.is_plain()) return std::nullopt;
    return before_outages(r.estimate, [&]() -> std::optional<allocation> {
      if (pods->all_pods() > 1 && !detail::has_room(index(), *pods)) return std::nullopt;
      return add_each(policy, *pods);
    });
  }
  /// Whether `place` would find a place. Changes nothing. One pod takes one choice of the policy. For pods of
  /// whole GPUs the room is counted, if the policy finds all of it; others are placed and taken back.
  [[nodiscard]] bool could_place(const pod_request& r) {
    const auto pods = pods_of(r);
    if (!pods || !r.is_plain()) return false;
    return before_outages(r.estimate, [&] {
      if (pods->all_pods() == 1) return policy_(index(), pods->each).has_value();
      if (!detail::has_room(index(), *pods)) return false;
      const bool counts =
          gpu::finds_all_room(policy_) && !pods->each.is_fraction() && !pods->each.depends_on_type();
      return counts || would_succeed([&] { return add_each(policy_, *pods).has_value(); });
    });
  }
  /// Places the pods of the request one after the other, the smaller one of a total last, where
  /// `choose(index(), pod)` says for each, whatever levels are requested; all of them, or none if it returns
  /// nothing for one. It is called once for each pod, like a policy, but may know which pod it is.
  template <std::invocable<const free_index&, const pod_shape&> Choose>
  [[nodiscard]] std::optional<allocation> place_each(const pod_request& r, Choose&& choose) {
    const auto pods = pods_of(r);
    if (!pods) return std::nullopt;
    return before_outages(r.estimate, [&] { return add_each(choose, *pods); });
  }
  /// The pods that a request consists of on these nodes, or nothing if it is invalid. O(node types).
  [[nodiscard]] std::optional<pod_split> pods_of(const pod_request& r) const { return split(r, layout()); }

  /// Places a job where it already runs, whatever pools it requests; nothing if it does not fit there, or if
  /// there are not as many locations as it has pods. A pod given without devices gets those that `free_index`
  /// chooses on its node. The pods of a total have as many GPUs as devices are given, otherwise all of their
  /// node; the last gets the rest. O(pods x devices of a node).
  [[nodiscard]] std::optional<allocation> place_at(const pod_request& r, std::span<const pod_location> pods) {
    const allot::savepoint before = save();
    const allocation a = open();
    return conclude(before, add_all_at(r, pods, a), a);
  }
  /// Whether the request would fit on the empty cluster with all nodes open. O(node types).
  [[nodiscard]] bool could_ever_fit(const pod_request& r) const {
    return r.is_plain() && gpu::could_ever_fit(layout(), r);
  }
  /// Why the request can't be placed now. See `gpu::why_not`.
  [[nodiscard]] unplaceable why_not(const pod_request& r) const {
    unplaceable why = gpu::why_not(index(), r);
    why.reason = r.is_plain() ? or_outage(*this, why.reason, r) : obstacle::invalid_request;
    return why;
  }
  /// Its reason alone, which costs less.
  [[nodiscard]] obstacle obstacle_to(const pod_request& r) const {
    if (!r.is_plain()) return obstacle::invalid_request;
    return or_outage(*this, gpu::obstacle_to(index(), r), r);
  }

 protected:
  /// What is in the way of a request; `found` is that if all nodes that are open now stay so.
  template <class Inventory>
  [[nodiscard]] static obstacle or_outage(const Inventory& in, obstacle found, const pod_request& r) {
    if (found != obstacle::none || !in.meets_outages(r.estimate)) return found;
    Inventory trial{in};
    return trial.could_place(r) ? obstacle::none : obstacle::outage;
  }
  /// Adds pods of one kind where they are.
  [[nodiscard]] bool add_all_at(const pod_request& r, std::span<const pod_location> pods, allocation a) {
    const auto whole = split(r, 0);
    const bool is_split = r.total && r.gpus >= quantity::milli(milli_per_gpu);
    if (!whole || pods.empty() || (!is_split && pods.size() != whole->pods)) return false;
    pod_shape pod = whole->each;
    const std::int64_t gpus = is_split ? r.gpus.in_milli() / milli_per_gpu : 0;
    std::int64_t left = gpus;
    bool placed = true;
    for (std::size_t i = 0; i < pods.size() && placed; ++i) {
      if (is_split) {
        pod.devices = part_of_total(pods[i], left);
        pod.cpu_milli = detail::part_of(r.cpu_milli, pod.devices, static_cast<std::uint64_t>(gpus));
        pod.memory_mib = detail::part_of(r.memory_mib, pod.devices, static_cast<std::uint64_t>(gpus));
        left -= pod.devices;
      }
      placed = (!is_split || pod.devices > 0) && add_at(pods[i], pod, a);
    }
    return placed && left == 0;
  }
  /// Adds one pod to an allocation, where `choose` says; false if nowhere.
  template <class Choose>
  [[nodiscard]] bool add_where(Choose& choose, const pod_shape& pod, allocation a) {
    const std::optional<pod_location> where = choose(index(), pod);
    if (where) add(index().placed(*where, pod), a);
    return where.has_value();
  }
  /// Adds one pod to an allocation, if it fits there.
  [[nodiscard]] bool add_at(pod_location at, const pod_shape& pod, allocation a) {
    if (!layout().contains(at.node)) return false;
    if (at.devices == 0) {
      const auto devices = index().choose_devices(at.node, pod);
      if (!devices) return false;
      at.devices = *devices;
    } else if (!index().fits(at, pod)) {
      return false;
    }
    add(index().placed(at, pod), a);
    return true;
  }

  /// Whether it places something, which is taken back.
  template <class Place>
  [[nodiscard]] bool would_succeed(Place place) {
    const allot::savepoint before = save();
    const bool placed = place();
    rollback(before);
    return placed;
  }

  /// The policy that it was made with.
  [[nodiscard]] const Policy& policy() const noexcept { return policy_; }
  /// The allocation that has been made since `before`, or nothing of it.
  [[nodiscard]] std::optional<allocation> conclude(allot::savepoint before, bool placed, allocation a) {
    if (!placed) {
      rollback(before);
      return std::nullopt;
    }
    commit(before);
    return a;
  }

 private:
  /// A new allocation of these pods, each where `choose` says.
  template <class Choose>
  [[nodiscard]] std::optional<allocation> add_each(Choose& choose, const pod_split& pods) {
    if (pods.all_pods() == 1) {
      const auto where = choose(index(), pods.each);
      if (!where) return std::nullopt;
      const allocation a = open();
      add(index().placed(*where, pods.each), a);
      return a;
    }
    const allot::savepoint before = save();
    const allocation a = open();
    bool placed = true;
    for (std::uint64_t i = 0; i < pods.pods && placed; ++i) placed = add_where(choose, pods.each, a);
    if (placed && pods.has_rest()) placed = add_where(choose, pods.rest, a);
    return conclude(before, placed, a);
  }
  /// How many of the `left` GPUs of a split total are placed there.
  [[nodiscard]] std::uint32_t part_of_total(const pod_location& at, std::int64_t left) const {
    if (at.devices != 0) return count_devices(at.devices);
    if (!layout().contains(at.node)) return 0;
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left, 0, layout().gpus(at.node)));
  }

  [[no_unique_address]] Policy policy_;
};

/// The inventory with best fit, as in the published results of the Helios simulator.
using inventory = basic_inventory<>;

}  // namespace gpu
}  // namespace v0
}  // namespace allot

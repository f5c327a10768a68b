// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/quota/change.hpp>
#include <allot/quota/tree.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/places.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace sim {

/// The events of a simulation besides its jobs.
template <std::size_t N>
struct quota_event {
  instant at = 0;
  quota_change<N> change;
};
struct cancel_event {
  instant at = 0;
  job_index which = 0;
};
enum class node_change : std::uint8_t {
  /// It fails: everything on it is lost, and nothing is placed there.
  down,
  /// It is back.
  up,
  /// Nothing new is placed there; what runs there stays.
  drain,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(node_change value) noexcept {
  switch (value) {
    case node_change::down:
      return "down";
    case node_change::up:
      return "up";
    case node_change::drain:
      return "drain";
  }
  return "";
}
struct node_event {
  instant at = 0;
  gpu::node_id node;
  node_change what{};
};

/// A job that already runs when the simulation begins. Its places come from the host that it is taken over
/// from: they are taken in the inventory already.
struct running_job_at_start {
  job_index which = 0;
  instant since = 0;
  /// Of the pods that it needs; meaningless without nodes.
  gpu::allocation_id where{};
  /// Of each pod beyond those.
  std::vector<gpu::allocation_id> elastic_pods{};
  /// The flavors it has.
  flavor_pick pick{};
  /// It is being evicted, and ends as the simulation begins.
  bool is_going = false;
};

/// All inputs of a simulation. Jobs are sorted by submission, then id; events by time. A quota that an event
/// adds gets the next free id.
template <std::size_t N>
struct setup {
  quota_tree<N> quotas;
  /// By quota id; further quotas, which events add, have the settings of the preset.
  std::vector<queue_settings> settings;
  places where;
  std::vector<job<N>> jobs;
  std::vector<quota_event<N>> quota_events{};
  std::vector<cancel_event> cancels{};
  /// The sets that `job::flavors` refers to.
  std::vector<flavor_set<N>> flavor_sets{};
  /// Only with nodes.
  std::vector<node_event> node_events{};
  std::vector<running_job_at_start> running{};
  /// The capacity of the nodes, unlimited in a dimension in which it is unknown; for policies that divide it.
  resources<N> capacity{quantity::unlimited()};
};

}  // namespace sim
}  // namespace v0
}  // namespace allot

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
#include <vector>

namespace allot {
inline namespace v0 {
namespace sim {

/// The events of a simulation besides its jobs.
template <std::size_t N>
struct quota_event {
  /// When.
  instant at = 0;
  /// What changes.
  quota_change<N> change;
};
/// The user withdraws a job.
struct cancel_event {
  /// When.
  instant at = 0;
  /// Which job.
  job_index which = 0;
};
/// What happens to a node.
enum class node_change : std::uint8_t {
  /// It fails: everything on it is lost, and nothing is placed there.
  down,
  /// It is back.
  up,
  /// Nothing new is placed there; what runs there stays.
  drain,
};
/// A node fails, returns, or is closed to new jobs.
struct node_event {
  /// When.
  instant at = 0;
  /// Which node.
  gpu::node_id node;
  /// What happens to it.
  node_change what{};
};

/// A job that already runs when the simulation begins. Its places come from the host that it is taken over
/// from: they are taken in the inventory already.
struct running_job_at_start {
  /// Which job.
  job_index which = 0;
  /// Since when it has been running; not after the beginning.
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
  /// The quotas at the beginning.
  quota_tree<N> quotas;
  /// By quota id; further quotas, which events add, have the settings of the preset.
  std::vector<queue_settings> settings;
  /// The nodes, with what runs already in place.
  places where;
  /// The workload.
  std::vector<job<N>> jobs;
  /// Changes of the quotas.
  std::vector<quota_event<N>> quota_events{};
  /// Jobs that are withdrawn.
  std::vector<cancel_event> cancels{};
  /// The sets that `job::flavors` refers to.
  std::vector<flavor_set<N>> flavor_sets{};
  /// Only with nodes.
  std::vector<node_event> node_events{};
  /// Jobs that run at the beginning.
  std::vector<running_job_at_start> running{};
  /// The capacity of the nodes, unlimited in a dimension in which it is unknown; for policies that divide it.
  resources<N> capacity{quantity::unlimited()};
};

}  // namespace sim
}  // namespace v0
}  // namespace allot

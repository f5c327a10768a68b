// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/quota/tree.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/sim/events.hpp>
#include <allot/sim/faults.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/places.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace sim {

/// A job that already runs when the simulation begins. Its places come from the host that it is taken over
/// from: they are taken in the inventory already.
struct running_job_at_start {
  /// Which job.
  job_index which = 0;
  /// Since when it has been running; not after the beginning.
  instant since = 0;
  /// Of the pods that it needs; meaningless without nodes.
  gpu::allocation_id where{};
  /// Of each pod beyond those; see `workload_view::next_set`.
  vector<gpu::allocation_id> elastic_pods{};
  /// The flavors it has.
  flavor_pick pick{};
  /// It is being evicted, and ends as the simulation begins.
  bool is_going = false;
};

/// All inputs of a simulation. Jobs are sorted by submission, then id; events by time. A quota that an event
/// adds gets the next free id.
template <std::size_t N, class Places = places>
struct setup {
  /// The quotas at the beginning.
  quota_tree<N> quotas;
  /// By quota id; further quotas, which events add, have the settings of the preset.
  vector<queue_settings> settings;
  /// The nodes, with what runs already in place.
  Places where;
  /// The workload.
  vector<job<N>> jobs;
  /// Changes of the quotas.
  vector<quota_event<N>> quota_events{};
  /// Jobs that are withdrawn.
  vector<cancel_event> cancels{};
  /// The sets that `job::flavors` refers to.
  vector<flavor_set<N>> flavor_sets{};
  /// Only with nodes.
  vector<node_event> node_events{};
  /// Jobs that run at the beginning.
  vector<running_job_at_start> running{};
  /// The capacity of the nodes, unlimited in a dimension in which it is unknown; for policies that divide it.
  resources<N> capacity{quantity::unlimited()};
  /// What is between a decision and its effect.
  host_faults faults{};
  /// What `job::unlike` refers to.
  vector<unlike_pods<N>> unlike{};
  /// A row of numbers for each job, all of one length, for policies: see `workload_view::tag`. Empty: none.
  vector<std::uint32_t> tags{};
};

}  // namespace sim
}  // namespace v0
}  // namespace allot

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

/// What happens in a simulation besides the jobs.
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
  /// It fails: whatever stands there goes, and nothing is placed there.
  down,
  /// It is there again.
  up,
  /// Nothing new is placed there; what stands there stays.
  drain,
};
struct node_event {
  instant at = 0;
  gpu::node_id node;
  node_change what{};
};

/// A job that runs when the simulation begins. The host that it is taken over from has its places: they are
/// taken in the inventory already.
struct running_job_at_start {
  job_index which = 0;
  instant since = 0;
  /// Of the pods that it needs; meaningless without nodes.
  gpu::allocation_id where{};
  /// Of each pod beyond those.
  std::vector<gpu::allocation_id> elastic_pods{};
  /// Which of its flavors it has.
  flavor_pick pick{};
  /// It was told to go, and goes as the simulation begins.
  bool is_going = false;
};

/// All that a simulation is made of. Jobs are sorted by submission, then id; events by time. A quota that an
/// event adds has the next free id.
template <std::size_t N>
struct setup {
  quota_tree<N> quotas;
  /// By quota id; quotas beyond these, which events add, are treated as the preset does.
  std::vector<queue_settings> settings;
  places where;
  std::vector<job<N>> jobs;
  std::vector<quota_event<N>> quota_events{};
  std::vector<cancel_event> cancels{};
  /// What `job::flavors` counts.
  std::vector<flavor_set<N>> flavor_sets{};
  /// Only with nodes.
  std::vector<node_event> node_events{};
  std::vector<running_job_at_start> running{};
  /// What the nodes have, unlimited in a dimension of which that is not known; for policies that divide it.
  resources<N> capacity{quantity::unlimited()};
};

}  // namespace sim
}  // namespace v0
}  // namespace allot

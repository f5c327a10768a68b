// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/quota/change.hpp>
#include <allot/sim/job.hpp>

#include <cstddef>
#include <cstdint>

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
struct node_event {
  instant at = 0;
  gpu::node_id node;
  node_change what{};
};

}  // namespace sim
}  // namespace v0
}  // namespace allot

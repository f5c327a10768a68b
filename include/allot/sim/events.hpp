// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/quota/change.hpp>
#include <allot/sim/job.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

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
/// A node fails, returns, or is closed to new jobs.
struct node_event {
  /// When.
  instant at = 0;
  /// Which node.
  gpu::node_id node;
  /// What happens to it.
  node_change what{};
};

}  // namespace sim
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/outage.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/quota/change.hpp>
#include <allot/sim/job.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

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
  /// Since when it is known that it will; `without_end`: not before it does. Only resizes are announced, of
  /// quotas that there are by then (`scheduler::expect_changes`).
  instant known_since = without_end;
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
  /// Since when it is known that it will; `without_end`: not before it does. Of nodes that fail, the
  /// scheduler then knows from when, and of those that come back, how long they are out (`gpu::outage`).
  instant known_since = without_end;
};

/// The resizes that are known by then and yet to come, of quotas of the tree.
template <std::size_t N>
[[nodiscard]] vector<expected_change<N>> known_resizes(std::span<const quota_event<N>> events,
                                                       const quota_tree<N>& tree, instant now) {
  vector<expected_change<N>> all;
  for (const quota_event<N>& e : events) {
    const auto* const resize = std::get_if<resize_quota<N>>(&e.change);
    if (resize == nullptr || e.at <= now || e.known_since > now) continue;
    if (tree.contains(resize->quota)) all.push_back({e.at, e.change});
  }
  return all;
}
/// Whether some are known before they happen.
[[nodiscard]] inline bool are_announced(std::span<const node_event> events) {
  return detail::any_of(events.begin(), events.end(),
                        [](const node_event& e) { return e.known_since < e.at; });
}
/// The outages that are known by then, and not over; `events` are sorted by time. O(events x outages).
[[nodiscard]] inline vector<gpu::outage> known_outages(std::span<const node_event> events, instant now) {
  vector<gpu::outage> all;
  for (const node_event& e : events) {
    if (e.at > now && e.known_since > now) continue;
    const auto begun = detail::find_if(all.begin(), all.end(), [&](const gpu::outage& o) {
      return o.node == e.node && o.to == without_end;
    });
    if (e.what == node_change::down && begun == all.end()) all.push_back({e.node, e.at});
    if (e.what == node_change::up && begun != all.end()) begun->to = e.at;
  }
  erase_if(all, [now](const gpu::outage& o) { return o.to <= now; });
  return all;
}

}  // namespace sim
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/pod_request.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// When the pods that use devices of each node are expected to end, and the host's clock, by which an
/// estimate becomes an end. Only for placement policies that ask for it (`uses_ends`): otherwise it is empty,
/// and nothing is recorded.
///
/// The ends of a node are a list, latest first, in one array that all nodes share: nothing is allocated once
/// the number of pods has peaked.
class node_ends {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

 public:
  /// The latest end on a node without such pods: before all others.
  static constexpr instant nothing = std::numeric_limits<instant>::min();

  /// From now on ends are recorded. Precondition: there are no pods.
  void record(std::size_t nodes) { first_.assign(nodes, none); }
  [[nodiscard]] bool recording() const noexcept { return !first_.empty(); }

  [[nodiscard]] instant now() const noexcept { return now_; }
  void set_now(instant now) noexcept {
    if (recording()) now_ = now;
  }
  /// When a pod that starts now is expected to end; `without_end` if that is not known.
  [[nodiscard]] instant end_of(const run_estimate& estimate) const noexcept {
    return estimate.is_known() ? later(now_, estimate.span) : without_end;
  }

  /// The latest expected end on the node: `without_end` if that of a pod is not known, `nothing` if there is
  /// no pod with devices. Precondition: ends are recorded.
  [[nodiscard]] instant latest(node_id n) const {
    const std::uint32_t first = first_of(n);
    return first == none ? nothing : records_[first].end;
  }

  // Changes, each the inverse of the other. O(pods of the node). Without effect for a pod without devices,
  // and if ends are not recorded.

  void add(const placed_pod& pod) {
    if (!recording() || pod.where.devices == 0) return;
    std::uint32_t at = unused_;
    if (at == none) {
      at = static_cast<std::uint32_t>(records_.size());
      records_.emplace_back();
    } else {
      unused_ = records_[at].next;
    }
    std::uint32_t& link = link_to(pod);
    records_[at] = {pod.end, link};
    link = at;
  }
  /// Precondition: it was added.
  void remove(const placed_pod& pod) {
    if (!recording() || pod.where.devices == 0) return;
    std::uint32_t& link = link_to(pod);
    ALLOT_ASSERT(link != none && records_[link].end == pod.end, "no pod of the node is expected to end then");
    const std::uint32_t at = link;
    link = records_[at].next;
    records_[at].next = unused_;
    unused_ = at;
  }

  /// Whether both have recorded the same of each node, at the same time.
  friend bool operator==(const node_ends& a, const node_ends& b) {
    if (a.now_ != b.now_ || a.first_.size() != b.first_.size()) return false;
    for (std::size_t n = 0; n < a.first_.size(); ++n) {
      std::uint32_t x = a.first_[n];
      std::uint32_t y = b.first_[n];
      while (x != none && y != none && a.records_[x].end == b.records_[y].end) {
        x = a.records_[x].next;
        y = b.records_[y].next;
      }
      if (x != none || y != none) return false;
    }
    return true;
  }

 private:
  struct end_record {
    instant end = without_end;
    std::uint32_t next = none;
  };

  [[nodiscard]] std::uint32_t first_of(node_id n) const {
    ALLOT_ASSERT(n.index() < first_.size(), "the ends of that node are not recorded");
    return first_[n.index()];
  }
  /// What refers to the first pod of its node that does not end after it.
  [[nodiscard]] std::uint32_t& link_to(const placed_pod& pod) {
    std::uint32_t* link = &first_[pod.where.node.index()];
    while (*link != none && records_[*link].end > pod.end) link = &records_[*link].next;
    return *link;
  }

  /// By node.
  vector<std::uint32_t> first_;
  vector<end_record> records_;
  std::uint32_t unused_ = none;
  instant now_ = 0;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

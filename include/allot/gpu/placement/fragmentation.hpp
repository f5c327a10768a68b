// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/detail/change_log.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/detail/node_fragmentation.hpp>
#include <allot/gpu/placement/typical_pods.hpp>
#include <allot/gpu/pod_request.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace gpu {

/// The fragmentation of a cluster: the sum of F over its nodes (see `node_fragmentation`). Updated by `look`,
/// at the cost of the nodes changed since. Nothing on closed nodes is a fragment.
class fragmentation {
 public:
  /// For clusters like this one, and the typical pods of the workload.
  fragmentation(const cluster& layout, const typical_pods& typical)
      : of_node_(layout, typical), nodes_(layout.size()) {}

  /// Takes in the current state. O(changes since the last look), at most O(nodes), each O(devices + kinds of
  /// GPU requests). Precondition: the cluster is like the one it was made for.
  void look(const free_index& from) {
    const change_log& log = from.changes();
    const change_log::moment now = log.now();
    if (seen_ == now) return;
    if (log.remembers(seen_)) {
      for (const std::uint32_t n : log.since(seen_)) take_in(from, node_id{n});
    } else {
      for (std::size_t n = 0; n < nodes_.size(); ++n) take_in(from, node_id{n});
    }
    seen_ = now;
  }

  // As of the last look.

  /// GPUs that are free but that the typical pods could not use, on average. To the nearest thousandth.
  [[nodiscard]] quantity fragments() const noexcept {
    if (weight() == 0) return {};
    const wide divisor = static_cast<wide>(weight());
    return quantity::milli(static_cast<std::int64_t>((weighted_ + divisor / 2) / divisor));
  }
  /// The same times `weight()`, in milli and exactly.
  [[nodiscard]] wide weighted_fragments() const noexcept { return weighted_; }
  /// The sum of the weights of the typical pods.
  [[nodiscard]] std::int64_t weight() const noexcept { return of_node_.weight(); }
  /// F of one node, in milli, times `weight()`.
  [[nodiscard]] std::int64_t weighted_fragments(node_id n) const { return nodes_[n.index()]; }

 private:
  void take_in(const free_index& from, node_id n) {
    std::int64_t& f = nodes_[n.index()];
    weighted_ -= static_cast<wide>(f);
    f = from.is_closed(n) ? 0 : of_node_.of(from, n);
    weighted_ += static_cast<wide>(f);
  }

  node_fragmentation of_node_;
  vector<std::int64_t> nodes_;
  wide weighted_ = 0;
  /// No log starts with number 0.
  change_log::moment seen_{};
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

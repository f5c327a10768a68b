// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/places.hpp>

#include <span>
#include <string>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// Nodes for people, in the order of the cluster, each once, and numbered names in a row as such: "n-4 to
/// n-7, n-9". Of more than a few rows the first ones.
[[nodiscard]] std::string text_of_nodes(const gpu::cluster& layout, std::span<const gpu::node_id> nodes);

/// On which nodes the jobs with a reservation would start, as things stand.
class planned_nodes {
 public:
  /// Nothing is known.
  planned_nodes() = default;
  /// As planned now: `for_each_place(visit)` calls `visit(job, place)` as `scheduler::for_each_planned_place`
  /// does.
  template <class ForEachPlace>
  planned_nodes(const sim::places& where, ForEachPlace for_each_place) {
    if (!where.has_nodes()) return;
    for_each_place([&](sim::job_index j, gpu::allocation_id at) {
      auto& nodes = all_.emplace_back(j, vector<gpu::node_id>{}).second;
      for (const gpu::placed_pod& p : where.inventory().pods(at)) nodes.push_back(p.where.node);
    });
  }

  /// One for each pod; empty if that is not known.
  [[nodiscard]] std::span<const gpu::node_id> of(sim::job_index j) const {
    for (const auto& [job, nodes] : all_) {
      if (job == j) return nodes;
    }
    return {};
  }

 private:
  vector<std::pair<sim::job_index, vector<gpu::node_id>>> all_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

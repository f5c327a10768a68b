// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/topology/gang_request.hpp>
#include <tests/gpu/random_topology.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace allot_test {

/// Where a gang may be placed, by exhaustive search: domains are sets of nodes with one label path, groups
/// are assigned domains in every way, and whether pods fit is a matching of pods and places.
struct gang_oracle {
  /// A set of nodes, and its order among those of its level: the order of first mention, top down.
  struct region {
    std::vector<std::size_t> order;
    std::vector<std::size_t> nodes;
    std::uint64_t room = 0;
  };

  const labelled_cluster& c;
  const std::vector<std::uint32_t>& rooms;
  /// Of each level from coarse to fine, the nodes' included.
  std::vector<std::vector<region>> levels;
  region everything;

  gang_oracle(const labelled_cluster& cluster, const std::vector<std::uint32_t>& of_node)
      : c(cluster), rooms(of_node) {
    // The number of each path among its siblings, by first mention.
    std::map<std::vector<std::string>, std::size_t> number;
    std::map<std::vector<std::string>, std::size_t> siblings;
    for (const auto& path : c.path) {
      for (std::size_t l = 0; l < path.size(); ++l) {
        const std::vector<std::string> up(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(l));
        const std::vector<std::string> self(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(l) + 1);
        if (number.emplace(self, siblings[up]).second) ++siblings[up];
      }
    }
    levels.resize(c.levels.size() + 1);
    for (std::size_t l = 0; l < c.levels.size(); ++l) {
      std::map<std::vector<std::size_t>, region> made;
      for (std::size_t n = 0; n < c.path.size(); ++n) {
        if (c.path[n].empty()) continue;
        const auto order = order_of(number, n, l + 1);
        region& r = made[order];
        r.order = order;
        add(r, n);
      }
      for (auto& [order, r] : made) levels[l].push_back(r);
    }
    for (std::size_t n = 0; n < c.path.size(); ++n) {
      region r;
      r.order =
          c.path[n].empty() ? std::vector<std::size_t>{c.path.size()} : order_of(number, n, c.levels.size());
      r.order.push_back(n);
      add(r, n);
      levels.back().push_back(r);
      add(everything, n);
    }
    std::sort(levels.back().begin(), levels.back().end(),
              [](const region& a, const region& b) { return a.order < b.order; });
  }

  [[nodiscard]] static std::vector<std::size_t> order_of_path(
      const std::map<std::vector<std::string>, std::size_t>& number, const std::vector<std::string>& path) {
    std::vector<std::size_t> order;
    for (std::size_t l = 1; l <= path.size(); ++l) {
      order.push_back(number.at({path.begin(), path.begin() + static_cast<std::ptrdiff_t>(l)}));
    }
    return order;
  }
  [[nodiscard]] std::vector<std::size_t> order_of(
      const std::map<std::vector<std::string>, std::size_t>& number, std::size_t n,
      std::size_t length) const {
    return order_of_path(number,
                         {c.path[n].begin(), c.path[n].begin() + static_cast<std::ptrdiff_t>(length)});
  }
  void add(region& r, std::size_t n) const {
    r.nodes.push_back(n);
    r.room += rooms[n];
  }

  /// Whether this many pods of each group have places on the nodes that it may use: a matching, pod by pod.
  [[nodiscard]] bool match(const std::vector<std::vector<std::size_t>>& nodes,
                           const std::vector<std::uint64_t>& pods) const {
    std::vector<std::vector<std::size_t>> standing(rooms.size());  // groups of the pods on each node
    for (std::size_t g = 0; g < pods.size(); ++g) {
      for (std::uint64_t p = 0; p < pods[g]; ++p) {
        std::vector<bool> visited(rooms.size());
        if (!seat(nodes, g, standing, visited)) return false;
      }
    }
    return true;
  }
  bool seat(const std::vector<std::vector<std::size_t>>& nodes, std::size_t g,
            std::vector<std::vector<std::size_t>>& standing, std::vector<bool>& visited) const {
    for (const std::size_t n : nodes[g]) {
      if (visited[n]) continue;
      visited[n] = true;
      if (standing[n].size() < rooms[n]) {
        standing[n].push_back(g);
        return true;
      }
      for (std::size_t& other : standing[n]) {
        if (!seat(nodes, other, standing, visited)) continue;
        other = g;
        return true;
      }
    }
    return false;
  }

  /// Whether the minimums of all groups fit in the region, which is of this level (or nothing: everything).
  [[nodiscard]] bool fits(const region& within, std::optional<std::size_t> level,
                          const std::vector<allot::gpu::gang_group>& groups) const {
    std::vector<std::vector<std::size_t>> nodes(groups.size(), within.nodes);
    std::vector<std::uint64_t> pods;
    for (const auto& g : groups) pods.push_back(g.min_pods);
    return fits_from(0, within, level, groups, nodes, pods);
  }
  bool fits_from(std::size_t g, const region& within, std::optional<std::size_t> level,
                 const std::vector<allot::gpu::gang_group>& groups,
                 std::vector<std::vector<std::size_t>>& nodes, const std::vector<std::uint64_t>& pods) const {
    if (g == groups.size()) return match(nodes, pods);
    const auto wanted = groups[g].level;
    if (!wanted || (level && *wanted <= *level)) return fits_from(g + 1, within, level, groups, nodes, pods);
    for (const region& r : levels[*wanted]) {
      const auto inside = [&](std::size_t n) {
        return std::find(within.nodes.begin(), within.nodes.end(), n) != within.nodes.end();
      };
      if (!std::all_of(r.nodes.begin(), r.nodes.end(), inside)) continue;
      nodes[g] = r.nodes;
      if (fits_from(g + 1, within, level, groups, nodes, pods)) return true;
    }
    return false;
  }

  /// Then a node that is in no domain is not allowed.
  [[nodiscard]] bool asks_for_domain(const allot::gpu::gang_request& r) const {
    const auto is_domain = [&](const std::optional<std::size_t>& l) { return l && *l < c.levels.size(); };
    return is_domain(r.required) ||
           std::any_of(r.groups.begin(), r.groups.end(), [&](const auto& g) { return is_domain(g.level); });
  }

  struct answer {
    bool found = false;
    std::optional<std::size_t> level;
    std::vector<std::size_t> nodes;
  };
  /// The region that the rule of `gang_planner` selects.
  [[nodiscard]] answer choose(const allot::gpu::gang_request& r) const {
    const std::vector<allot::gpu::gang_group> groups(r.groups.begin(), r.groups.end());
    std::uint64_t wanted = 0;
    std::uint64_t needed = 0;
    for (const auto& g : groups) wanted += g.pods, needed += g.min_pods;
    const auto best_of = [&](std::size_t level, std::uint64_t at_least) -> std::optional<answer> {
      const region* best = nullptr;
      for (const region& candidate : levels[level]) {
        if (candidate.room < at_least || !fits(candidate, level, groups)) continue;
        if (level == c.levels.size() && c.path[candidate.nodes.front()].empty() && asks_for_domain(r))
          continue;
        const auto missing = [&](const region& x) { return x.room < wanted ? wanted - x.room : 0; };
        if (best == nullptr ||
            std::pair{missing(candidate), candidate.room} < std::pair{missing(*best), best->room}) {
          best = &candidate;
        }
      }
      if (best == nullptr) return std::nullopt;
      return answer{true, level, best->nodes};
    };
    const auto coarsest = static_cast<std::ptrdiff_t>(r.required.value_or(0));
    const auto finest = static_cast<std::ptrdiff_t>(r.preferred.value_or(c.levels.size()));
    for (std::ptrdiff_t l = finest; l >= coarsest; --l) {
      if (const auto a = best_of(static_cast<std::size_t>(l), r.preferred ? needed : wanted)) return *a;
    }
    if (r.required) return best_of(*r.required, needed).value_or(answer{});
    if (everything.room >= needed && fits(everything, std::nullopt, groups)) {
      return {true, std::nullopt, everything.nodes};
    }
    return {};
  }
};

}  // namespace allot_test

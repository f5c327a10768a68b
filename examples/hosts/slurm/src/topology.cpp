// SPDX-License-Identifier: BSL-1.0
#include "topology.hpp"

#include <allot/gpu/topology/topology_graph.hpp>

#include <boost/graph/adjacency_list.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace allot_slurm {

std::optional<allot::gpu::topology> topology_of(const allot::gpu::cluster& nodes,
                                                const std::vector<network_switch>& switches) {
  using graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS,
                                      boost::property<boost::vertex_name_t, std::string>>;
  graph g;
  std::map<std::string, graph::vertex_descriptor> vertex;
  const auto vertex_of = [&](const std::string& name) {
    const auto [at, is_new] = vertex.try_emplace(name);
    if (is_new) at->second = add_vertex(name, g);
    return at->second;
  };
  std::uint32_t top = 0;
  // From the leaves up: a switch with none of these nodes below it is left out. Slurm lists for each switch
  // all nodes below it; the edges are those to its own.
  std::vector<const network_switch*> by_level;
  for (const network_switch& s : switches) by_level.push_back(&s);
  std::stable_sort(by_level.begin(), by_level.end(), [](auto* a, auto* b) { return a->level < b->level; });
  for (const network_switch* s : by_level) {
    std::vector<graph::vertex_descriptor> below;
    for (const std::string& n : s->nodes) {
      if (s->level == 0 && nodes.find(n)) below.push_back(vertex_of(n));
    }
    for (const std::string& lower : s->switches) {
      if (const auto at = vertex.find(lower); at != vertex.end()) below.push_back(at->second);
    }
    if (below.empty()) continue;
    top = std::max(top, s->level);
    for (const auto child : below) add_edge(vertex_of(s->name), child, g);
  }
  if (num_vertices(g) == 0) return std::nullopt;
  std::vector<std::string> levels;
  for (std::uint32_t l = top + 1; l-- > 0;)
    levels.push_back(l == 0 ? "switch" : "switch" + std::to_string(l));
  auto made = allot::gpu::topology_from_graph(nodes, std::move(levels), g, get(boost::vertex_name, g));
  if (!made) return std::nullopt;
  return std::move(made).value();
}

}  // namespace allot_slurm

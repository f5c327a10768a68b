// SPDX-License-Identifier: BSL-1.0
#include "machines.hpp"

#include <map>
#include <string_view>

namespace allot_slurm {

std::string pool_of(const node& n) {
  std::string pool;
  for (const std::string& p : n.partitions) pool.append(p).append(1, ',');
  for (const std::string& f : n.features) pool.append(1, '|').append(f);
  for (const node_reservation& r : n.reservations) pool.append(1, '#').append(r.name);
  return pool;
}

machines machines_of(const std::vector<node>& nodes, const std::vector<network_switch>& switches) {
  // Slurm lists for each switch all nodes below it; those of the leaves are their own.
  std::map<std::string_view, std::vector<std::string_view>> above_nodes;
  std::map<std::string_view, std::vector<std::string_view>> above_switches;
  for (const network_switch& s : switches) {
    for (const std::string& n : s.nodes) {
      if (s.level == 0) above_nodes[n].push_back(s.name);
    }
    for (const std::string& lower : s.switches) above_switches[lower].push_back(s.name);
  }
  machines found;
  bool is_tree = true;
  for (const node& n : nodes) {
    machine& m =
        found.all.emplace_back(machine{n.name, n.gpus, n.gpu_type, n.cpus, n.memory_mib, pool_of(n)});
    for (auto* up = &above_nodes[n.name]; is_tree && !up->empty(); up = &above_switches[up->front()]) {
      m.domains.emplace(m.domains.begin(), up->front());
      is_tree = up->size() == 1 && m.domains.size() <= switches.size();
    }
    is_tree = is_tree && m.domains.size() == found.all.front().domains.size();
  }
  if (!is_tree) {
    for (machine& m : found.all) m.domains.clear();
  }
  for (std::size_t l = found.all.empty() ? 0 : found.all.front().domains.size(); l-- > 0;)
    found.levels.push_back(l == 0 ? "switch" : "switch" + std::to_string(l));
  return found;
}

}  // namespace allot_slurm

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/topology/topology_builder.hpp>
#include <tests/support/seeds.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace allot_test {

/// A cluster of single nodes n0, n1, ... whose labels name up to three levels (L0, L1, L2); names recur under
/// other parents. With `outside` some nodes lack labels.
struct labelled_cluster {
  allot::gpu::cluster nodes;
  std::vector<std::string> levels;
  /// The label values of each node; empty if it lacks one.
  std::vector<std::vector<std::string>> path;
};

[[nodiscard]] inline labelled_cluster random_labelled_cluster(random_source& random,
                                                              std::size_t most_nodes = 12,
                                                              bool outside = true) {
  labelled_cluster made;
  const std::size_t levels = random.below(4);
  for (std::size_t l = 0; l < levels; ++l) made.levels.push_back("L" + std::to_string(l));
  const std::size_t nodes = 1 + random.below(most_nodes);
  std::vector<allot::gpu::node_spec> specs(nodes);
  for (std::size_t n = 0; n < nodes; ++n) {
    specs[n].name = "n" + std::to_string(n);
    specs[n].gpus = 8;
    std::vector<std::string> path;
    const std::size_t missing = outside && random.one_in(8) ? random.below(levels + 1) : levels;
    for (std::size_t l = 0; l < levels; ++l) {
      if (l == missing) continue;
      path.push_back(std::string(1, static_cast<char>('a' + random.below(l + 2))));
      specs[n].labels.push_back({made.levels[l], path.back()});
    }
    if (path.size() < levels) path.clear();
    made.path.push_back(std::move(path));
  }
  made.nodes = allot::gpu::build_cluster(std::move(specs)).value();
  return made;
}

}  // namespace allot_test

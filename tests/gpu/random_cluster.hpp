// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/demand.hpp>
#include <tests/support/seeds.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace allot_test {

[[nodiscard]] inline allot::gpu::cluster equal_nodes(std::int64_t count, std::int64_t gpus) {
  allot::gpu::node_spec s;
  s.name = "n";
  s.count = count;
  s.gpus = gpus;
  return allot::gpu::build_cluster({s}).value();
}

/// A few nodes of a few sizes in up to three pools; sizes and pools come back, so types have several nodes
/// that do not lie together.
[[nodiscard]] inline allot::gpu::cluster random_cluster(random_source& random) {
  const std::size_t pools = 1 + random.below(3);
  const std::int64_t sizes[] = {random.between(1, 8), random.between(1, 8), random.one_in(6) ? 64 : 2};
  std::vector<allot::gpu::node_spec> specs(1 + random.below(10));
  for (std::size_t i = 0; i < specs.size(); ++i) {
    specs[i].name = "node" + std::to_string(i);
    if (random.one_in(3)) specs[i].count = random.between(1, 3);
    specs[i].gpus = random.pick(sizes);
    specs[i].pool = std::string(1, static_cast<char>('a' + random.below(pools)));
  }
  return allot::gpu::build_cluster(std::move(specs)).value();
}

/// Now and then one that is no demand at all, or larger than the cluster.
[[nodiscard]] inline allot::gpu::demand random_demand(random_source& random) {
  allot::gpu::demand d;
  if (random.one_in(3)) {
    constexpr std::int64_t fractions[] = {1, 100, 250, 333, 500, 600, 999};
    d.gpus = allot::quantity::milli(random.one_in(4) ? random.between(1, 999) : random.pick(fractions));
  } else {
    d.gpus = allot::gpus(random.one_in(8) ? random.between(-1, 70) : random.between(0, 5));
  }
  if (random.one_in(40)) d.gpus += allot::quantity::milli(1);
  d.pods = static_cast<std::uint32_t>(random.one_in(3) ? random.below(6) : 1);
  d.total = random.one_in(4);
  if (d.total && random.one_in(2)) d.gpus = allot::gpus(random.between(0, 30));
  if (random.one_in(2)) d.pools = random.below(8);
  return d;
}

}  // namespace allot_test

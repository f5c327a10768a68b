// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/pod_request.hpp>
#include <tests/support/seeds.hpp>

#include <array>
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

/// A node without a name, with few GPUs or none; each amount may be small, ample or not counted.
[[nodiscard]] inline allot::gpu::node_spec random_node(random_source& random) {
  constexpr std::array<const char*, 3> models = {"", "A", "B"};
  constexpr std::array<std::int64_t, 5> gpu_memory = {0, 99, 16'160, 32'510, 81'559};
  allot::gpu::node_spec s;
  s.gpus = random.one_in(5) ? 0 : random.between(1, 8);
  s.gpu_model = random.pick(models);
  s.gpu_memory_mib = random.pick(gpu_memory);
  if (random.one_in(2)) s.cpu_milli = 500 * random.between(1, 40);
  if (random.one_in(3)) s.memory_mib = random.between(1, 4000);
  if (random.one_in(3)) s.pod_slots = random.between(1, 8);
  return s;
}

/// A few nodes of a few kinds in up to three pools. Kinds and pools recur, so types have several nodes that
/// are not adjacent. In every third cluster only the GPUs count.
[[nodiscard]] inline allot::gpu::cluster random_cluster(random_source& random) {
  const std::size_t pools = 1 + random.below(3);
  std::vector<allot::gpu::node_spec> kinds(3);
  const bool is_plain = random.one_in(3);
  for (allot::gpu::node_spec& kind : kinds) {
    if (is_plain) {
      kind.gpus = random.between(1, 8);
    } else {
      kind = random_node(random);
    }
  }
  if (random.one_in(6)) kinds.front().gpus = 64;
  std::vector<allot::gpu::node_spec> specs(1 + random.below(10));
  for (std::size_t i = 0; i < specs.size(); ++i) {
    specs[i] = random.pick(kinds);
    specs[i].name = "node" + std::to_string(i);
    if (random.one_in(3)) specs[i].count = random.between(1, 3);
    specs[i].pool = std::string(1, static_cast<char>('a' + random.below(pools)));
  }
  return allot::gpu::build_cluster(std::move(specs)).value();
}

/// Occasionally an invalid request, or one larger than the cluster. Every third asks for GPUs only.
[[nodiscard]] inline allot::gpu::pod_request random_demand(random_source& random) {
  allot::gpu::pod_request d;
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
  if (random.one_in(3)) return d;
  if (random.one_in(4)) d.models = random.below(16);
  if (random.one_in(2)) d.cpu_milli = random.between(random.one_in(20) ? -1 : 0, d.total ? 30'000 : 6'000);
  if (random.one_in(3)) d.memory_mib = random.between(random.one_in(20) ? -1 : 0, d.total ? 5000 : 1200);
  if (random.one_in(4)) {
    if (!random.one_in(20)) d.gpus = {};
    d.gpu_memory_mib = random.one_in(2) ? 100 * random.between(1, 400) : random.between(-1, 90'000);
  }
  const bool is_fraction = d.gpu_memory_mib > 0 || (d.gpus > allot::quantity{} && d.gpus < allot::gpus(1));
  if (random.one_in(is_fraction ? 3 : 30)) d.devices = static_cast<std::uint32_t>(random.below(5));
  return d;
}

}  // namespace allot_test

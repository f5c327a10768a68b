// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/inventory.hpp>

#include <cstdint>

#include "tests/support/timed_host.hpp"

namespace allot_test {

/// Jobs on nodes, each on as few as its size needs.
struct timed_nodes_view : timed_view {
  [[nodiscard]] allot::gpu::pod_request pod_request(job j) const {
    return {.gpus = allot::gpus(at(j).gpus), .total = true};
  }
};

[[nodiscard]] inline allot::gpu::inventory timed_nodes(std::int64_t count, std::int64_t each) {
  allot::gpu::node_spec spec;
  spec.name = "n";
  spec.count = count;
  spec.gpus = each;
  return allot::gpu::inventory{allot::gpu::build_cluster({spec}).value()};
}

}  // namespace allot_test

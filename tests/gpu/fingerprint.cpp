// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/detail/fingerprint.hpp>

#include <doctest/doctest.h>
#include <allot/gpu/free_index.hpp>
#include <tests/gpu/random_cluster.hpp>

#include <cstddef>
#include <cstdint>
#include <set>

namespace gpu = allot::gpu;
using gpu::node_id;
using gpu::placed_pod;

TEST_CASE("fingerprint: every change changes it, its inverse brings it back, the order does not matter") {
  gpu::free_index index{allot_test::equal_nodes(3, 4)};
  std::set<std::uint64_t> seen{index.fingerprint()};
  const std::uint64_t empty = index.fingerprint();
  const placed_pod pods[] = {{{node_id{0}, 0b1}},           {{node_id{1}, 0b1}},
                             {{node_id{0}, 0b10}},          {{node_id{2}, 0b1}, 500},
                             {{node_id{2}, 0b1}, 250},      {{node_id{2}, 0}, 1000, 1, 0},
                             {{node_id{2}, 0}, 1000, 0, 1}, {{node_id{2}, 0}, 1000}};
  for (const placed_pod& p : pods) {
    index.occupy(p);
    CHECK(seen.insert(index.fingerprint()).second);
  }
  index.close(node_id{1});
  CHECK(seen.insert(index.fingerprint()).second);
  for (const placed_pod& p : pods) index.leave(p);
  CHECK(seen.insert(index.fingerprint()).second);
  index.open(node_id{1});
  CHECK(index.fingerprint() == empty);
}

TEST_CASE("fingerprint: clusters that differ have different ones, equal ones the same") {
  const auto of = [](gpu::node_spec s) { return gpu::fingerprint{gpu::build_cluster({s}).value()}.value(); };
  const gpu::node_spec plain{.name = "n", .count = 2, .gpus = 4};
  gpu::node_spec more = plain, larger = plain, host = plain, pool = plain;
  more.count = 3;
  larger.gpus = 5;
  host.cpu_milli = 1000;
  CHECK(of(plain) == of(plain));
  CHECK(std::set<std::uint64_t>{of(plain), of(more), of(larger), of(host)}.size() == 4);
  // It depends on the hardware, not on names.
  pool.pool = "other";
  pool.name = "m";
  CHECK(of(pool) == of(plain));
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/node_spec.hpp>
#include <allot/gpu/pod_request.hpp>

#include <doctest/doctest.h>

#include <cstdint>

#include "tests/support/seeds.hpp"

namespace gpu = allot::gpu;
using allot::gpus;
using allot::quantity;
using gpu::pod_request;

namespace {

pod_request total(quantity q) {
  return {q, 1, true};
}

}  // namespace

TEST_CASE("count_devices: the bits of any word") {
  allot_test::for_each_seed(500, [](allot_test::random_source& random) {
    const std::uint64_t word = random() >> random.below(64);
    std::uint32_t bits = 0;
    for (std::uint32_t d = 0; d < 64; ++d) bits += word >> d & 1U;
    CHECK(gpu::count_devices(word) == bits);
  });
  CHECK(gpu::count_devices(0) == 0);
  CHECK(gpu::count_devices(~std::uint64_t{0}) == 64);
}

TEST_CASE("split: the pods of a gang are equal") {
  const auto s = gpu::split({gpus(2), 5, false, 0b10}, 8);
  REQUIRE(s);
  CHECK(s->each == gpu::pod_shape{2, 1000, 0b10});
  CHECK(s->pods == 5);
  CHECK_FALSE(s->has_rest());
}

TEST_CASE("split: a fraction is of one device, and no GPU is no device") {
  CHECK(gpu::split({quantity::milli(250), 3}, 8)->each == gpu::pod_shape{1, 250});
  CHECK(gpu::split({quantity::milli(250), 3}, 8)->each.is_fraction());
  CHECK(gpu::split({gpus(0), 3}, 8)->each == gpu::pod_shape{0, 1000});
  CHECK_FALSE(gpu::split({gpus(0), 3}, 8)->each.is_fraction());
  CHECK_FALSE(gpu::split({gpus(1), 3}, 8)->each.is_fraction());
}

TEST_CASE("split: a total has as few nodes as its size needs") {
  const auto one = gpu::split(total(gpus(8)), 8);
  CHECK(one->each.devices == 8);
  CHECK(one->pods == 1);
  CHECK_FALSE(one->has_rest());

  const auto with_rest = gpu::split(total(gpus(21)), 8);
  CHECK(with_rest->each.devices == 8);
  CHECK(with_rest->pods == 2);
  CHECK(with_rest->rest.devices == 5);
  CHECK(with_rest->rest == gpu::pod_shape{5});

  const auto exact = gpu::split(total(gpus(24)), 8);
  CHECK(exact->pods == 3);
  CHECK_FALSE(exact->has_rest());

  // `pods` does not matter.
  CHECK(gpu::split({gpus(3), 0, true}, 8)->pods == 1);
  CHECK(gpu::split(total(quantity::milli(500)), 8)->each == gpu::pod_shape{1, 500});
  // Without a node of any size there is nothing to split over.
  CHECK(gpu::split(total(gpus(24)), 0)->pods == 1);
}

TEST_CASE("split: invalid requests") {
  CHECK_FALSE(gpu::split({gpus(1), 0}, 8));
  CHECK_FALSE(gpu::split({gpus(-1), 1}, 8));
  CHECK_FALSE(gpu::split({quantity::milli(1500), 1}, 8));
  CHECK_FALSE(gpu::split({quantity::milli(1001), 1, true}, 8));
  CHECK_FALSE(gpu::split({quantity::unlimited(), 1}, 8));
  CHECK_FALSE(gpu::split({quantity::lowest(), 1}, 8));
  // Far more than a node can have remains more than that.
  CHECK(gpu::split({quantity::milli(9'000'000'000'000'000'000), 1}, 8)->each.devices >
        gpu::max_gpus_per_node);
}

TEST_CASE("portion_of_memory, charge_of_memory: rounded up, of memory in steps of 100 MiB") {
  // A T4 has 15,109 MiB, of which 15,100 count.
  CHECK(gpu::portion_of_memory(15'100, 15'109) == 1000);
  CHECK(gpu::portion_of_memory(15'101, 15'109) == 1001);
  CHECK(gpu::portion_of_memory(7'550, 15'109) == 500);
  CHECK(gpu::portion_of_memory(7'551, 15'109) == 501);
  CHECK(gpu::portion_of_memory(1, 81'559) == 1);
  CHECK(gpu::charge_of_memory(15'100, 15'109) == 1000);
  CHECK(gpu::charge_of_memory(15'101, 15'109) == 1001);
  CHECK(gpu::charge_of_memory(7'550, 15'109) == 500);
  CHECK(gpu::charge_of_memory(7'551, 15'109) == 510);
  CHECK(gpu::charge_of_memory(1, 81'559) == 10);
  CHECK(gpu::charge_of_memory(815, 81'559) == 10);
  CHECK(gpu::charge_of_memory(816, 81'559) == 20);
  // Half of 32 GB, in either notation.
  CHECK(gpu::portion_of_memory(16'000, 32'000) == 500);
  CHECK(gpu::memory_of_portion(500, 32'000) == 16'000);
  // Nothing that counts, and nothing known.
  CHECK(gpu::portion_of_memory(1, 99) == 1001);
  CHECK(gpu::portion_of_memory(1, 0) == 1001);
  CHECK(gpu::portion_of_memory(gpu::max_host_amount, gpu::max_host_amount) == 1000);
}

TEST_CASE("memory_of_portion: rounded down, exact for large devices") {
  CHECK(gpu::memory_of_portion(1000, 81'559) == 81'559);
  CHECK(gpu::memory_of_portion(333, 100) == 33);
  CHECK(gpu::memory_of_portion(1, 999) == 0);
  CHECK(gpu::memory_of_portion(999, 9'000'000'000'000'000'000) == 8'991'000'000'000'000'000);
}

TEST_CASE(
    "memory_of_portion: the portion that so much memory is reserves as much, or almost a thousandth more") {
  for (const std::int64_t device : {15'100, 32'500, 81'500}) {
    for (std::int64_t asked = 1; asked <= device; asked += 7) {
      const std::int64_t reserved = gpu::memory_of_portion(gpu::portion_of_memory(asked, device), device);
      REQUIRE(reserved >= asked);
      REQUIRE(1000 * (reserved - asked) < device);
    }
  }
}

TEST_CASE("split: GPU memory, and fractions of several devices") {
  const pod_request by_memory{.pods = 3, .gpu_memory_mib = 8000, .devices = 2};
  const auto s = gpu::split(by_memory, 8);
  REQUIRE(s);
  CHECK(s->pods == 3);
  CHECK(s->each.devices == 2);
  CHECK(s->each.gpu_memory_mib == 8000);
  const auto halves = gpu::split({.gpus = quantity::milli(500), .devices = 4}, 8);
  CHECK(halves->each == gpu::pod_shape{4, 500});
  // More devices than a node can have remain more than that.
  CHECK(gpu::split({.gpus = quantity::milli(500), .devices = 4'000'000'000U}, 8)->each.devices ==
        gpu::max_gpus_per_node + 1);
}

TEST_CASE("split: impossible requests") {
  CHECK_FALSE(gpu::split({.gpus = gpus(1), .gpu_memory_mib = 1}, 8));
  CHECK_FALSE(gpu::split({.gpus = quantity::milli(1), .gpu_memory_mib = 1}, 8));
  CHECK_FALSE(gpu::split({.gpus = quantity::milli(500), .devices = 0}, 8));
  CHECK_FALSE(gpu::split({.gpu_memory_mib = 1, .devices = 0}, 8));
  CHECK_FALSE(gpu::split({.gpus = gpus(1), .devices = 2}, 8));
  CHECK_FALSE(gpu::split({.gpus = gpus(0), .devices = 2}, 8));
  CHECK_FALSE(gpu::split({.gpus = gpus(1), .devices = 0}, 8));
  CHECK_FALSE(gpu::split({.gpus = gpus(1), .cpu_milli = -1}, 8));
  CHECK_FALSE(gpu::split({.gpus = gpus(1), .memory_mib = -1}, 8));
  CHECK_FALSE(gpu::split({.gpu_memory_mib = -1}, 8));
}

TEST_CASE("split: the CPU and memory of a total go with its GPUs, rounded up") {
  const auto s = gpu::split({.gpus = gpus(20), .total = true, .cpu_milli = 1001, .memory_mib = 20}, 8);
  REQUIRE(s);
  CHECK(s->each.cpu_milli == 401);
  CHECK(s->rest.cpu_milli == 201);
  CHECK(s->each.memory_mib == 8);
  CHECK(s->rest.memory_mib == 4);
  // With a single node its pod has the whole amount; so has a pod without GPUs.
  CHECK(gpu::split({.gpus = gpus(8), .total = true, .cpu_milli = 1001}, 8)->each.cpu_milli == 1001);
  CHECK(gpu::split({.total = true, .cpu_milli = 1001}, 8)->each.cpu_milli == 1001);
  constexpr std::int64_t most = 9'000'000'000'000'000'000;
  const auto huge = gpu::split({.gpus = gpus(9'000'000'000'000'000), .total = true, .cpu_milli = most}, 64);
  CHECK(huge->each.cpu_milli == 64'000);
  CHECK(huge->pods == 140'625'000'000'000U);
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/demand.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace gpu = allot::gpu;
using allot::gpus;
using allot::quantity;
using gpu::demand;

namespace {

demand total(quantity q) {
  return {q, 1, true};
}

}  // namespace

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

TEST_CASE("split: what can't be placed") {
  CHECK_FALSE(gpu::split({gpus(1), 0}, 8));
  CHECK_FALSE(gpu::split({gpus(-1), 1}, 8));
  CHECK_FALSE(gpu::split({quantity::milli(1500), 1}, 8));
  CHECK_FALSE(gpu::split({quantity::milli(1001), 1, true}, 8));
  CHECK_FALSE(gpu::split({quantity::unlimited(), 1}, 8));
  CHECK_FALSE(gpu::split({quantity::lowest(), 1}, 8));
  // Far more than a node can have stays more than that.
  CHECK(gpu::split({quantity::milli(9'000'000'000'000'000'000), 1}, 8)->each.devices >
        gpu::max_gpus_per_node);
}

TEST_CASE("demand: totally ordered, equal when all of it is") {
  const demand d{gpus(1), 2, false, 0b1};
  CHECK(d == demand{gpus(1), 2, false, 0b1});
  CHECK(d < demand{gpus(2), 1, false, 0b1});
  CHECK(d < demand{gpus(1), 3, false, 0b1});
  CHECK(d < demand{gpus(1), 2, true, 0b1});
  CHECK(d < demand{gpus(1), 2, false, 0b11});
}

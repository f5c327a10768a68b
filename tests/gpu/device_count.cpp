// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/device_count.hpp>

#include <allot/gpu/inventory.hpp>

#include <doctest/doctest.h>

using allot::gpus;
using allot::quantity;
using allot::gpu::device_count;
using allot::gpu::devices_of;
using allot::gpu::pod_request;

TEST_CASE("device_count: whole GPUs are exclusive, fractions may be shared") {
  CHECK(devices_of({.gpus = gpus(2), .pods = 3}) == device_count{6, 0});
  CHECK(devices_of({.gpus = gpus(12), .pods = 3, .total = true}) == device_count{12, 0});
  CHECK(devices_of({.gpus = quantity::milli(500), .pods = 3}) == device_count{0, 3});
  CHECK(devices_of({.gpus = quantity::milli(500), .pods = 3, .devices = 2}) == device_count{0, 6});
  CHECK(devices_of({.pods = 3, .gpu_memory_mib = 80'000}) == device_count{0, 3});
  CHECK(devices_of({.pods = 2, .mig = allot::gpu::mig_request{0}}) == device_count{0, 2});
  CHECK(devices_of({.pods = 2, .cpu_milli = 1000}) == device_count{0, 0});
}

TEST_CASE("device_count: free devices are unused or vacated ones on open nodes") {
  allot::gpu::inventory places{
      allot::gpu::build_cluster({{.name = "small", .gpus = 2}, {.name = "large", .gpus = 8}}).value()};
  const auto free = [&] { return allot::gpu::free_devices(places.index()); };
  CHECK(free() == 10);
  const auto whole = places.place({.gpus = gpus(4)});
  REQUIRE(whole);
  CHECK(free() == 6);
  REQUIRE(places.place({.gpus = quantity::milli(300)}));
  REQUIRE(places.place({.gpus = quantity::milli(300)}));  // On the same device.
  CHECK(free() == 5);
  places.vacate(*whole);
  CHECK(free() == 9);
  places.close(allot::gpu::node_id{1});
  CHECK(free() == 1);
}

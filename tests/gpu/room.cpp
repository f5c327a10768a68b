// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/room.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace gpu = allot::gpu;
using allot::gpus;
using allot::quantity;
using gpu::node_id;
using gpu::obstacle;
using gpu::pod_request;

namespace {

/// a: two nodes of 8; b: three of 4.
gpu::free_index two_pools() {
  gpu::node_spec large;
  large.name = "large";
  large.count = 2;
  large.gpus = 8;
  large.pool = "a";
  gpu::node_spec small = large;
  small.name = "small";
  small.count = 3;
  small.gpus = 4;
  small.pool = "b";
  return gpu::free_index{gpu::build_cluster({large, small}).value()};
}

constexpr std::uint64_t a = 0b01;
constexpr std::uint64_t b = 0b10;

pod_request total(quantity q, std::uint64_t pools = gpu::all_pools) {
  return {q, 1, true, pools};
}

}  // namespace

TEST_CASE("why_not: lasting reasons") {
  const gpu::free_index index = two_pools();
  const auto reason = [&](const pod_request& d) {
    const gpu::unplaceable why = gpu::why_not(index, d);
    CHECK(gpu::could_ever_fit(index.layout(), d) == !why.is_never());
    return why.reason;
  };
  CHECK(reason({gpus(8), 2}) == obstacle::none);
  CHECK(reason({gpus(9), 1}) == obstacle::too_large_for_any_node);
  CHECK(reason({gpus(9), 1, false, b}) == obstacle::too_large_for_any_node);
  CHECK(reason({gpus(8), 1, false, b}) == obstacle::pool_has_no_such_node);
  CHECK(reason({gpus(1), 1, false, 0b100}) == obstacle::pool_has_no_such_node);
  CHECK(reason({gpus(0), 1, false, 0}) == obstacle::pool_has_no_such_node);
  CHECK(reason({gpus(8), 3}) == obstacle::larger_than_cluster);
  CHECK(reason({gpus(5), 3}) == obstacle::larger_than_cluster);
  CHECK(reason({gpus(4), 7}) == obstacle::none);
  CHECK(reason({gpus(4), 8}) == obstacle::larger_than_cluster);
  CHECK(reason({quantity::milli(400), 2 * 28}) == obstacle::none);
  CHECK(reason({quantity::milli(400), 2 * 28 + 1}) == obstacle::larger_than_cluster);
  CHECK(reason({gpus(0), 1000}) == obstacle::none);
  CHECK(reason({quantity::milli(1500), 1}) == obstacle::invalid_request);
  CHECK(reason({gpus(1), 0}) == obstacle::invalid_request);

  CHECK(reason(total(gpus(20))) == obstacle::none);
  // 21 = 8 + 8 + 5, and no third node has 5.
  CHECK(reason(total(gpus(21))) == obstacle::larger_than_cluster);
  CHECK(reason(total(gpus(12), b)) == obstacle::none);
  CHECK(reason(total(gpus(13), b)) == obstacle::larger_than_cluster);
  CHECK(reason(total(gpus(13), 0b100)) == obstacle::pool_has_no_such_node);
  CHECK(gpu::why_not(gpu::free_index{gpu::cluster{}}, total(gpus(1))).reason ==
        obstacle::too_large_for_any_node);
}

TEST_CASE("why_not: passing reasons, with the numbers") {
  gpu::free_index index = two_pools();
  index.occupy({{node_id{0}, 0b1}});
  index.occupy({{node_id{1}, 0b11}, 500});
  index.hold({{node_id{1}, 0b1100}});

  gpu::unplaceable why = gpu::why_not(index, {gpus(8), 1});
  CHECK(why.reason == obstacle::fragmented);
  CHECK_FALSE(why.is_never());
  CHECK(why.asked == gpus(8));
  CHECK(why.capacity == gpus(28));
  CHECK(why.free == gpus(26));
  CHECK(why.largest_block == gpus(7));
  CHECK(why.pods == 1);
  CHECK(why.pods_with_room == 0);

  // 14 GPUs are free in pool a, half of two shared.
  why = gpu::why_not(index, {gpus(7), 2, false, a});
  CHECK(why.reason == obstacle::fragmented);
  CHECK(why.free == gpus(14));
  CHECK(why.pods == 2);
  CHECK(why.pods_with_room == 1);
  CHECK(gpu::why_not(index, {gpus(8), 2, false, a}).reason == obstacle::full);

  why = gpu::why_not(index, total(gpus(14), a));
  CHECK(why.reason == obstacle::fragmented);
  CHECK(why.asked == gpus(14));
  CHECK(why.pods == 2);

  CHECK(gpu::why_not(index, {gpus(6), 1}).reason == obstacle::none);
  CHECK(gpu::why_not(index, {gpus(6), 1}) ==
        gpu::unplaceable{obstacle::none, gpus(6), gpus(28), gpus(26), gpus(7), 1, 1});
}

TEST_CASE("why_not: a fraction is short of one device") {
  gpu::free_index index{allot_test::equal_nodes(1, 2)};
  CHECK(gpu::why_not(index, {quantity::milli(600), 1}).largest_block == gpus(1));
  index.occupy({{node_id{0}, 0b01}, 500});
  index.occupy({{node_id{0}, 0b10}, 600});
  gpu::unplaceable why = gpu::why_not(index, {quantity::milli(600), 1});
  CHECK(why.reason == obstacle::fragmented);
  CHECK(why.free == quantity::milli(900));
  CHECK(why.largest_block == quantity::milli(500));
  why = gpu::why_not(index, {quantity::milli(250), 4});
  CHECK(why.reason == obstacle::full);
  CHECK(why.pods_with_room == 3);
  CHECK(gpu::why_not(index, {quantity::milli(250), 3}).reason == obstacle::none);
  CHECK(gpu::why_not(index, {gpus(1), 1}).largest_block == quantity{});
}

TEST_CASE("has_room: the smaller pod of a split total needs a node of its own") {
  gpu::free_index index{allot_test::equal_nodes(3, 8)};
  CHECK(gpu::has_room(index, total(gpus(24))));
  index.occupy({{node_id{1}, 0b11}});
  CHECK(gpu::has_room(index, total(gpus(22))));
  CHECK_FALSE(gpu::has_room(index, total(gpus(23))));
  index.occupy({{node_id{1}, 0xFC}});
  CHECK(gpu::has_room(index, total(gpus(16))));
  CHECK_FALSE(gpu::has_room(index, total(gpus(17))));
}

TEST_CASE("obstacle: every enumerator has a name") {
  std::set<std::string> words;
  for (int i = 0; i <= static_cast<int>(obstacle::outage); ++i) {
    words.emplace(gpu::to_string(static_cast<obstacle>(i)));
  }
  CHECK(words.size() == 15);
  CHECK_FALSE(words.contains(""));
}

namespace {

gpu::node_spec node(const std::string& name, std::int64_t gpus, const std::string& model) {
  gpu::node_spec s;
  s.name = name;
  s.gpus = gpus;
  s.gpu_model = model;
  return s;
}
gpu::free_index index_of(const std::vector<gpu::node_spec>& specs) {
  return gpu::free_index{gpu::build_cluster(specs).value()};
}

}  // namespace

TEST_CASE("why_not: a model that no node of its pools has, and one whose GPUs are used up") {
  auto index = index_of({node("a", 8, "A100"), node("h", 4, "H100")});
  const pod_request on_h{.gpus = gpus(4), .models = 0b10};
  CHECK(gpu::why_not(index, on_h).reason == obstacle::none);
  CHECK(gpu::why_not(index, {.gpus = gpus(5), .models = 0b10}).reason == obstacle::model_has_no_such_node);
  CHECK(gpu::why_not(index, {.gpus = gpus(1), .models = 0b100}).reason == obstacle::model_has_no_such_node);
  CHECK(gpu::why_not(index, {.gpus = gpus(1), .models = 0}).reason == obstacle::model_has_no_such_node);
  CHECK(gpu::why_not(index, {.gpus = gpus(9), .models = 0b10}).reason == obstacle::too_large_for_any_node);
  CHECK(gpu::why_not(index, {.gpus = gpus(1), .total = true, .models = 0b100}).reason ==
        obstacle::model_has_no_such_node);
  index.occupy({{node_id{1}, 0b1}});
  // The 8 free A100 are of no use to it.
  const gpu::unplaceable why = gpu::why_not(index, on_h);
  CHECK(why == gpu::unplaceable{obstacle::full, gpus(4), gpus(4), gpus(3), gpus(3), 1, 0});
}

TEST_CASE("why_not: GPUs are free, but not the host beside them") {
  auto s = node("n", 8, "");
  s.cpu_milli = 8000;
  s.pod_slots = 2;
  auto index = index_of({s});
  const pod_request d{.gpus = gpus(1), .cpu_milli = 5000};
  CHECK(gpu::why_not(index, d).reason == obstacle::none);
  CHECK(gpu::why_not(index, {.gpus = gpus(1), .cpu_milli = 8001}).reason == obstacle::too_large_for_any_node);
  CHECK(gpu::why_not(index, {.gpus = gpus(1), .pods = 2, .cpu_milli = 5000}).reason ==
        obstacle::larger_than_cluster);
  CHECK(gpu::why_not(index, {.gpus = gpus(1), .pods = 3}).reason == obstacle::larger_than_cluster);
  index.occupy({{node_id{0}, 0b1}, gpu::milli_per_gpu, 4000});
  CHECK(gpu::why_not(index, d).reason == obstacle::host_full);
  CHECK(gpu::why_not(index, {.gpus = gpus(8), .cpu_milli = 5000}).reason == obstacle::full);
  CHECK(gpu::why_not(index, {.cpu_milli = 5000}).reason == obstacle::host_full);
  CHECK(gpu::why_not(index, {.gpus = gpus(1), .cpu_milli = 4000}).reason == obstacle::none);
  index.occupy({{node_id{0}, 0b10}});
  CHECK(gpu::why_not(index, {.gpus = gpus(1)}).reason == obstacle::host_full);
}

TEST_CASE("has_room: a split total where a full node has pod slots or CPU for few of the smaller pods") {
  auto s = node("n", 8, "");
  s.count = 2;
  s.pod_slots = 1;
  CHECK(gpu::has_room(index_of({s}), total(gpus(9))));
  CHECK(gpu::could_ever_fit(index_of({s}).layout(), total(gpus(9))));
  CHECK_FALSE(gpu::could_ever_fit(index_of({s}).layout(), total(gpus(17))));
  s.pod_slots = 0;
  s.cpu_milli = 9;
  pod_request d = total(gpus(9));
  d.cpu_milli = 10;
  CHECK(gpu::has_room(index_of({s}), d));
  auto index = index_of({s});
  index.occupy({{node_id{1}, 0b1}, gpu::milli_per_gpu, 8});
  CHECK(gpu::why_not(index, d).reason == obstacle::host_full);
}

TEST_CASE("why_not: a total whose part of a node's CPU no node has") {
  auto s = node("n", 8, "");
  s.count = 4;
  s.cpu_milli = 1000;
  pod_request d = total(gpus(16));
  d.cpu_milli = 2001;
  CHECK(gpu::why_not(index_of({s}), d).reason == obstacle::too_large_for_any_node);
  d.cpu_milli = 2000;
  CHECK(gpu::why_not(index_of({s}), d).reason == obstacle::none);
  // If larger nodes with less CPU exist elsewhere, it is still possible.
  auto larger = node("larger", 16, "");
  larger.pool = "elsewhere";
  larger.cpu_milli = 1000;
  d.pools = 0b01;
  CHECK(gpu::why_not(index_of({s, larger}), d).reason == obstacle::none);
}

TEST_CASE("why_not: GPU memory that no device has, and none known") {
  auto s = node("n", 2, "");
  s.gpu_memory_mib = 16'160;
  const auto index = index_of({s, node("unknown", 8, "X")});
  const gpu::unplaceable why = gpu::why_not(index, {.pods = 5, .gpu_memory_mib = 8'051});
  CHECK(why.reason == obstacle::larger_than_cluster);
  CHECK(why.asked == quantity::milli(5 * 501));
  CHECK(gpu::why_not(index, {.pods = 4, .gpu_memory_mib = 8'050}).reason == obstacle::none);
  CHECK(gpu::why_not(index, {.gpu_memory_mib = 16'101}).reason == obstacle::too_large_for_any_node);
  CHECK(gpu::why_not(index, {.models = 0b10, .gpu_memory_mib = 1}).reason ==
        obstacle::model_has_no_such_node);
  CHECK(gpu::why_not(index, {.gpus = gpus(1), .gpu_memory_mib = 1}).reason == obstacle::invalid_request);
}

TEST_CASE("why_not: a total is split for the nodes that have whole GPUs, not for those in MIG mode") {
  auto sliced = node("sliced", 8, "A30");
  sliced.mig = true;
  auto whole = node("whole", 4, "A30");
  whole.count = 2;
  const auto index = index_of({sliced, whole});
  CHECK(index.layout().largest_node() == 4);
  CHECK(gpu::has_room(index, total(gpus(6))));
  CHECK(gpu::could_ever_fit(index.layout(), total(gpus(8))));
  CHECK(gpu::why_not(index, total(gpus(9))).reason == obstacle::larger_than_cluster);
  CHECK(gpu::why_not(index_of({sliced}), total(gpus(6))).reason == obstacle::too_large_for_any_node);
}

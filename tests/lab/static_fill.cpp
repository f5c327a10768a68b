// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/static_fill.hpp>

#include <doctest/doctest.h>
#include <allot/gpu/placement/first_fit.hpp>
#include <allot/gpu/placement/gpu_packing.hpp>
#include <allot/gpu/placement/random_fit.hpp>
#include <tests/support/seeds.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gpu = allot::gpu;
namespace lab = allot::lab;
using allot::gpus;
using allot_test::random_source;
using lab::fill_row;

namespace {

std::vector<lab::openb_node> some_nodes() {
  return {{"n-2", 32'000, 65'536, 2, "A"},
          {"n-0", 32'000, 65'536, 4, "A"},
          {"n-1", 64'000, 65'536, 8, "B"},
          {"cpu", 64'000, 65'536, 0, ""}};
}

std::vector<lab::openb_pod> some_pods() {
  std::vector<lab::openb_pod> pods;
  for (int i = 0; i < 30; ++i) {
    lab::openb_pod p;
    p.name = "p" + std::to_string(i);
    p.cpu_milli = 1000 * (1 + i % 7);
    p.memory_mib = 1024;
    p.num_gpu = i % 5 == 0 ? 0 : i % 3 == 0 ? 2 : 1;
    p.gpu_milli = p.num_gpu == 0 ? 0 : i % 4 == 1 && p.num_gpu == 1 ? 460 : 1000;
    if (i % 6 == 1) p.gpu_spec = {"B", "Z"};
    if (i == 29) p.gpu_spec = {"Z"};
    pods.push_back(p);
  }
  return pods;
}

}  // namespace

TEST_CASE("openb_shapes: the shapes of the pods, in the order of their names") {
  const gpu::cluster layout = lab::openb_cluster(some_nodes(), 1).value();
  lab::openb_pod b{.name = "b", .cpu_milli = 4000, .memory_mib = 100, .num_gpu = 1, .gpu_milli = 460};
  b.gpu_spec = {"B", "Z"};
  const lab::openb_pod a{.name = "a", .cpu_milli = 2000, .memory_mib = 50};
  lab::openb_pod c{.name = "c", .num_gpu = 100, .gpu_milli = 1000};
  c.gpu_spec = {"Z"};
  const auto shapes = lab::openb_shapes({b, c, a}, layout);
  REQUIRE(shapes.size() == 3);
  CHECK(shapes[0] == gpu::pod_shape{0, 1000, gpu::all_pools, gpu::all_models, 2000, 50});
  const std::uint64_t model_b = std::uint64_t{1} << *layout.find_model("B");
  CHECK(shapes[1] == gpu::pod_shape{1, 460, gpu::all_pools, model_b, 4000, 100});
  CHECK(shapes[2] == gpu::pod_shape{65, 1000, gpu::all_pools, 0, 0, 0});
}

TEST_CASE("openb_cluster: the seed, not the file, determines the order of the nodes") {
  const auto names = [](const gpu::cluster& layout) {
    std::vector<std::string> all;
    for (std::size_t n = 0; n < layout.size(); ++n) all.push_back(layout.name(gpu::node_id{n}));
    return all;
  };
  auto turned = some_nodes();
  std::reverse(turned.begin(), turned.end());
  const auto one = names(lab::openb_cluster(some_nodes(), 1).value());
  CHECK(names(lab::openb_cluster(turned, 1).value()) == one);
  bool differs = false;
  for (std::uint64_t seed = 2; seed < 6; ++seed) {
    differs = differs || names(lab::openb_cluster(some_nodes(), seed).value()) != one;
  }
  CHECK(differs);
  lab::openb_node huge{"huge", 1000, 1000, 65, "A"};
  CHECK_FALSE(lab::openb_cluster({huge}, 1));
}

TEST_CASE("fill_arrivals: all pods once, then some again, within the limit by a pod") {
  const std::vector<gpu::pod_shape> pods{{1}, {2}, {1, 500}, {0}, {4}};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto order = lab::fill_arrivals(pods, gpus(16), {1300, seed});
    REQUIRE(order.size() > pods.size());
    std::vector<std::uint32_t> first{order.begin(), order.begin() + 5};
    std::sort(first.begin(), first.end());
    CHECK(first == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
    std::int64_t asked = 0;
    for (const std::uint32_t i : order) asked += std::int64_t{pods[i].devices} * pods[i].milli;
    // The next job would have exceeded it with one device; the last may have with its others.
    CHECK(asked > 20'800 - 1000);
    CHECK(asked <= 20'800 + 3000);
    CHECK(lab::fill_arrivals(pods, gpus(16), {1300, seed}) == order);
  }
}

TEST_CASE("fill_arrivals: pods are left out if they request too much, pods without GPUs are not repeated") {
  const std::vector<gpu::pod_shape> pods{{1}, {2}, {1, 500}, {0}, {4}};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::int64_t asked = 0;
    const auto order = lab::fill_arrivals(pods, gpus(4), {1000, seed});
    for (const std::uint32_t i : order) asked += std::int64_t{pods[i].devices} * pods[i].milli;
    CHECK(asked <= 4000);
    CHECK(order.size() < pods.size());
  }
  CHECK(lab::fill_arrivals({{0}, {0}}, gpus(4), {1300, 1}).size() == 2);
  CHECK(lab::fill_arrivals({}, gpus(4), {1300, 1}).empty());
}

TEST_CASE("static_fill: worked by hand") {
  // Two nodes of two GPUs, three pods of one and one of two; half of the typical pods need one GPU, so F is
  // half of a single free GPU.
  const gpu::cluster layout = gpu::build_cluster({{.name = "n", .count = 2, .gpus = 2}}).value();
  const std::vector<gpu::pod_shape> pods{{1}, {2}, {3}};
  const gpu::typical_pods typical{{{{1}, 1}, {{2}, 1}}};
  const auto rows = lab::static_fill(layout, pods, {0, 1, 2, 0, 0}, typical, gpu::first_fit{}, 300);
  REQUIRE(rows.size() == 301);
  // Nothing has arrived.
  CHECK(rows[0] == fill_row{0, 0, 0});
  CHECK(rows[24] == fill_row{24, 2500, 1250});
  CHECK(rows[25] == fill_row{25, 2500, 1250});
  CHECK(rows[26] == fill_row{26, 2500, 1250});
  CHECK(rows[50] == fill_row{50, 2500, 1250});
  CHECK(rows[75] == fill_row{75, 7500, 1250});
  // Three GPUs arrive that find no place.
  CHECK(rows[150] == fill_row{150, 7500, 1250});
  CHECK(rows[175] == fill_row{175, 10'000, 0});
  CHECK(rows[200] == fill_row{200, 10'000, 0});
  CHECK(rows[300] == fill_row{300, 10'000, 0});
}

TEST_CASE("static_fill: a row is the mean over the arrivals at that percentage") {
  const gpu::cluster layout = gpu::build_cluster({{.name = "n", .count = 100, .gpus = 1}}).value();
  // 0.4, 0.8, 1.2 and 1.6 percent arrive: 0, 1, 1 and 2 when rounded.
  const std::vector<gpu::pod_shape> pods{{1, 400}};
  const auto rows = lab::static_fill(layout, pods, {0, 0, 0, 0}, {}, gpu::gpu_packing{}, 2);
  CHECK(rows == std::vector<fill_row>{{0, 40, 0}, {1, 100, 0}, {2, 160, 0}});
}

TEST_CASE("static_fill: figures do not depend on the order of the input") {
  allot_test::for_each_seed(20, [](random_source& random) {
    auto nodes = some_nodes();
    auto pods = some_pods();
    const auto run = [&](std::uint64_t seed) {
      const gpu::cluster layout = lab::openb_cluster(nodes, seed).value();
      const auto shapes = lab::openb_shapes(pods, layout);
      const auto order = lab::fill_arrivals(shapes, layout.gpus(), {1300, seed});
      return lab::static_fill(layout, shapes, order, lab::typical_of(shapes), gpu::random_fit{seed}, 130);
    };
    const std::uint64_t seed = random.below(1000);
    const auto rows = run(seed);
    random.shuffle(nodes);
    random.shuffle(pods);
    CHECK(run(seed) == rows);
    REQUIRE(rows.size() == 131);
    for (const fill_row& r : rows) {
      CHECK(r.allocated >= 0);
      CHECK(r.allocated + r.fragmented <= 10'001);
      // No more can be allocated than was requested; a percentage is rounded, and may appear in the next one.
      CHECK(r.allocated <= 100 * r.arrived_pct + 150);
    }
  });
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/fragmentation_gradient.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_hosts.hpp>
#include <tests/support/seeds.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gpu = allot::gpu;
using allot_test::random_source;
using gpu::fragmentation_gradient;
using gpu::gradient_score;
using gpu::node_id;
using gpu::pod_location;
using gpu::pod_shape;
using gpu::typical_pods;

namespace {

/// The decrease of F, in milli, times the weight, if the pod were placed on exactly these devices.
std::int64_t fall(const gpu::free_index& index, const gradient_score& score, const pod_location& at,
                  const pod_shape& pod) {
  gpu::free_index then{index};
  then.occupy(then.placed(at, pod));
  return score.fragmentation().of(index, at.node) - score.fragmentation().of(then, at.node);
}

/// The published score of such a decrease.
int logistic(double fall_in_milli) {
  return static_cast<int>(100 / (1 + std::exp(-fall_in_milli / 1000)));
}

}  // namespace

TEST_CASE("fragmentation_gradient: it fills the gap that no other pod could use") {
  const gpu::cluster layout = gpu::build_cluster({{.name = "n", .count = 3, .gpus = 2}}).value();
  gpu::free_index index{layout};
  index.occupy({{node_id{1}, 0b01}, 500});
  index.occupy({{node_id{2}, 0b01}, 400});
  // Requests for whole GPUs, and now and then for half of one. The smaller gap is no better than the larger
  // for the rest of the workload, but filling it leaves nothing behind.
  const fragmentation_gradient choose{gradient_score{layout, typical_pods{{{{1}, 9}, {{1, 500}, 1}}}}};
  CHECK(choose(index, {1, 500}) == pod_location{node_id{1}, 0b01});
  // A whole GPU where none is broken up: no difference, so the lowest node.
  CHECK(choose(index, {1}) == pod_location{node_id{0}, 0b01});
}

TEST_CASE("gradient_score: 50 when nothing changes, less when more is fragmented, more when less") {
  const gpu::cluster layout = gpu::build_cluster({{.name = "n", .count = 2, .gpus = 8}}).value();
  gpu::free_index index{layout};
  const gradient_score eights{layout, typical_pods{{{{8}, 1}}}};
  // One GPU used: the other seven are fragments. 100 / (1 + e^7) = 0.09.
  CHECK(eights(index, node_id{0}, {1}) == 0);
  CHECK(eights(index, node_id{0}, {8}) == 50);
  index.occupy({{node_id{0}, 0b1}});
  // Seven fragments, and one less: 100 / (1 + e^-1) = 73.1.
  CHECK(eights(index, node_id{0}, {1}) == 73);
  CHECK(eights(index, node_id{0}, {7}) == 99);
  CHECK(eights(index, node_id{0}, {1, 100}) == 52);
}

TEST_CASE("gradient_score: steps are the published ones") {
  allot_test::for_each_seed(40, [](random_source& random) {
    allot_test::living_cluster world{allot_test::random_hosts(random)};
    std::vector<gpu::typical_pod> pods(1 + random.below(10));
    for (gpu::typical_pod& p : pods) p = {allot_test::random_shape(random), random.between(1, 1000)};
    const gradient_score score{world.index.layout(), typical_pods{pods}};
    const fragmentation_gradient policy{score};
    for (int i = 0; i < 60; ++i) {
      world.change(random, policy);
      const pod_shape pod = allot_test::random_shape(random);
      const node_id n{random.below(world.index.layout().size())};
      const auto here = world.index.layout().type_of(n).shape_on(pod);
      if (!here || !world.index.has_room(n, *here)) continue;
      const pod_location at{n, score.devices(world.index, n, *here)};
      REQUIRE(world.index.fits(at, *here));
      const double milli = static_cast<double>(fall(world.index, score, at, *here)) /
                           static_cast<double>(score.fragmentation().weight());
      // Beyond 36 GPUs the published score is 100 for lack of digits.
      if (milli > 36'000) continue;
      const double step = 100 / (1 + std::exp(-milli / 1000));
      if (milli != 0 && std::abs(step - std::round(step)) < 1e-6) continue;
      REQUIRE(score(world.index, n, *here) == logistic(milli));
    }
  });
}

TEST_CASE("fragmentation_gradient: no node and no device would have scored higher") {
  allot_test::for_each_seed(30, [](random_source& random) {
    allot_test::living_cluster world{allot_test::random_hosts(random)};
    std::vector<gpu::typical_pod> pods(1 + random.below(10));
    for (gpu::typical_pod& p : pods) p = {allot_test::random_shape(random), random.between(1, 9)};
    const gradient_score score{world.index.layout(), typical_pods{pods}};
    const double weight = static_cast<double>(score.fragmentation().weight());
    const fragmentation_gradient policy{score};
    for (int i = 0; i < 20; ++i) {
      world.change(random, policy);
      pod_shape pod = allot_test::random_shape(random);
      // Of one device, so that all places can be tried.
      pod.devices = std::min<std::uint32_t>(pod.devices, 1);
      std::optional<std::int64_t> best;
      for (std::size_t k = 0; k < world.index.layout().size(); ++k) {
        const node_id n{k};
        const auto here = world.index.layout().type_of(n).shape_on(pod);
        if (!here || world.index.is_closed(n)) continue;
        for (std::uint32_t d = 0; d < std::max<std::uint32_t>(world.index.layout().gpus(n), 1); ++d) {
          const pod_location at{n, pod.devices == 0 ? 0 : std::uint64_t{1} << d};
          // The device of a MIG instance is not the score's choice but the inventory's.
          if (!pod.mig.is_none() && at.devices != world.index.choose_devices(n, pod)) continue;
          if (world.index.fits(at, pod))
            best = std::max(best.value_or(-1'000'000'000'000), fall(world.index, score, at, pod));
        }
      }
      const auto where = policy(world.index, pod);
      REQUIRE(where.has_value() == best.has_value());
      if (!best) continue;
      const auto steps = [&](std::int64_t f) {
        return 100 / (1 + std::exp(-static_cast<double>(f) / weight / 1000));
      };
      REQUIRE(steps(*best) - steps(fall(world.index, score, *where, pod)) < 1.000001);
    }
  });
}

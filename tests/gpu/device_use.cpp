// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/detail/device_use.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>
#include <tests/support/count_allocations.hpp>
#include <tests/support/seeds.hpp>
#include <tests/support/throwing_assert.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace gpu = allot::gpu;
using gpu::device_use;
using gpu::node_id;
using gpu::pod_shape;

namespace {

constexpr std::uint64_t any_number = std::numeric_limits<std::uint64_t>::max();
const node_id first{0};

/// Uses this much more or less of each of these devices.
void use(device_use& of, std::uint64_t devices, std::int32_t milli) {
  std::uint64_t free = of.free(first);
  for (std::uint32_t d = 0; d < of.count(first); ++d) {
    if ((devices >> d & 1U) == 0) continue;
    const auto now = static_cast<std::uint32_t>(static_cast<std::int32_t>(of.used(first, d)) + milli);
    of.set_used(first, d, now);
    free = now == 0 ? free | std::uint64_t{1} << d : free & ~(std::uint64_t{1} << d);
  }
  of.set_free(first, free);
}

/// The most pods of `devices` devices each, where device d has room for `room[d]`, by trying all choices.
std::uint64_t most_by_trying(std::vector<std::uint32_t> room, std::uint32_t devices) {
  std::sort(room.begin(), room.end());
  std::uint64_t best = 0;
  for (std::uint32_t set = 0; set < 1U << room.size(); ++set) {
    if (static_cast<std::uint32_t>(std::popcount(set)) != devices) continue;
    std::vector<std::uint32_t> left = room;
    bool fits = true;
    for (std::size_t d = 0; d < left.size(); ++d) {
      if ((set >> d & 1U) == 0) continue;
      fits = fits && left[d] > 0;
      if (fits) --left[d];
    }
    if (fits) best = std::max(best, 1 + most_by_trying(left, devices));
  }
  return best;
}

}  // namespace

TEST_CASE("device_use: a new cluster is free") {
  const gpu::cluster layout = allot_test::equal_nodes(2, 3);
  const device_use u{layout};
  for (std::size_t n = 0; n < 2; ++n) {
    CHECK(u.free(node_id{n}) == 0b111);
    CHECK(u.held(node_id{n}) == 0);
    CHECK(u.free_count(node_id{n}) == 3);
    CHECK(u.gap(node_id{n}, 2) == 1000);
  }
  CHECK_THROWS_AS(static_cast<void>(u.used(first, 3)), allot_test::assertion_failed);
  CHECK_THROWS_AS(static_cast<void>(u.free(node_id{2})), allot_test::assertion_failed);
  CHECK(device_use{allot_test::equal_nodes(1, 64)}.free(first) == any_number);
  CHECK(device_use{allot_test::equal_nodes(1, 0)}.free(first) == 0);
}

TEST_CASE("device_use: a fraction of several devices has the smallest gaps, and free devices when they end") {
  device_use u{allot_test::equal_nodes(1, 6)};
  use(u, 0b000001, 500);
  use(u, 0b000010, 600);
  use(u, 0b000100, 800);
  CHECK(u.choose(first, {1, 300}) == 0b10U);
  CHECK(u.choose(first, {2, 300}) == 0b11U);
  CHECK(u.choose(first, {3, 300}) == 0b1011U);
  CHECK(u.choose(first, {3, 200}) == 0b111U);
  CHECK(u.choose(first, {3, 501}) == 0b111000U);
  CHECK_FALSE(u.choose(first, {4, 501}));
  CHECK(u.choose(first, {4, 500}) == 0b111001U);
}

TEST_CASE("device_use: how many pods fit, worked by hand") {
  device_use u{allot_test::equal_nodes(1, 3)};
  CHECK(u.pods(first, {0}, 7) == 7);
  CHECK(u.pods(first, {1}, 0) == 3);
  CHECK(u.pods(first, {2}, 0) == 1);
  CHECK(u.pods(first, {1, 400}, 0) == 6);
  // Two on each device: (0,1), (0,2), (1,2).
  CHECK(u.pods(first, {2, 400}, 0) == 3);
  CHECK(u.pods(first, {3, 400}, 0) == 2);
  CHECK(u.pods(first, {4, 400}, 0) == 0);
  // One device alone is no place for pods that need two.
  use(u, 0b011, 1000);
  CHECK(u.pods(first, {2, 1}, 0) == 0);
  CHECK(u.pods(first, {1, 1}, 0) == 1000);
  use(u, 0b010, -3);
  CHECK(u.pods(first, {2, 1}, 0) == 3);
}

TEST_CASE("device_use: how many pods fit, by trying every way to place them") {
  allot_test::for_each_seed(150, [](allot_test::random_source& random) {
    const auto gpus = static_cast<std::uint32_t>(random.between(1, 4));
    device_use u{allot_test::equal_nodes(1, gpus)};
    const pod_shape pod{static_cast<std::uint32_t>(random.between(1, 3)),
                        static_cast<std::uint32_t>(random.between(300, 999))};
    std::vector<std::uint32_t> room;
    for (std::uint32_t d = 0; d < gpus; ++d) {
      const std::int64_t used = random.between(0, 1000);
      use(u, std::uint64_t{1} << d, static_cast<std::int32_t>(used));
      room.push_back(u.gap(first, d) / pod.milli);
    }
    REQUIRE(u.pods(first, pod, any_number) == most_by_trying(room, pod.devices));
  });
}

TEST_CASE("device_use: queries agree with a scan of the devices, changes have inverses") {
  allot_test::for_each_seed(200, [](allot_test::random_source& random) {
    const auto gpus = static_cast<std::uint32_t>(random.one_in(10) ? 64 : random.between(0, 8));
    device_use u{allot_test::equal_nodes(1, gpus)};
    struct step {
      gpu::placed_pod pod;
      bool is_held;
      device_use before;
    };
    std::vector<step> done;
    for (int i = 0; i < 60; ++i) {
      pod_shape pod{static_cast<std::uint32_t>(random.below(5))};
      if (pod.devices > 0 && random.one_in(2)) {
        pod.milli = static_cast<std::uint32_t>(random.one_in(2) ? 250 * random.between(1, 3)
                                                                : random.between(1, 999));
      }
      std::uint32_t suitable = 0;
      std::uint64_t held = 0;
      for (std::uint32_t d = 0; d < gpus; ++d) {
        const bool is_free = u.used(first, d) == 0;
        REQUIRE(is_free == ((u.free(first) >> d & 1U) != 0));
        REQUIRE(u.gap(first, d) == 1000 - u.used(first, d));
        if (pod.is_fraction() ? u.used(first, d) + pod.milli <= 1000 : is_free) ++suitable;
        std::uint32_t sum = 0;
        for (const step& s : done) {
          if (s.is_held && (s.pod.where.devices >> d & 1U) != 0) sum += s.pod.milli;
        }
        REQUIRE(u.held(first, d) == sum);
        if (sum > 0) held |= std::uint64_t{1} << d;
      }
      REQUIRE(u.held(first) == held);
      REQUIRE(u.has_room(first, pod) == (suitable >= pod.devices));
      REQUIRE((u.pods(first, pod, 1) > 0) == (suitable >= pod.devices));
      const auto chosen = u.choose(first, pod);
      REQUIRE(chosen.has_value() == (suitable >= pod.devices));
      if (chosen) REQUIRE(u.fits(first, *chosen, pod));
      REQUIRE_FALSE(u.fits(first, std::uint64_t{1} << 63U, {2}));
      if (chosen && !random.one_in(3)) {
        const gpu::placed_pod placed{{first, *chosen}, pod.milli};
        done.push_back({placed, random.one_in(3), u});
        if (done.back().is_held) {
          u.hold(placed, 1);
        } else {
          use(u, *chosen, static_cast<std::int32_t>(pod.milli));
          bool has_room = true;
          for (std::uint32_t d = 0; d < gpus; ++d) {
            if ((*chosen >> d & 1U) != 0) has_room = has_room && u.used(first, d) + u.held(first, d) <= 1000;
          }
          REQUIRE(u.is_ready(placed) == has_room);
        }
      } else if (!done.empty()) {
        const step& last = done.back();
        if (last.is_held) {
          u.hold(last.pod, -1);
        } else {
          use(u, last.pod.where.devices, -static_cast<std::int32_t>(last.pod.milli));
        }
        REQUIRE(u == last.before);
        done.pop_back();
      }
    }
  });
}

TEST_CASE("device_use: nothing allocates") {
  device_use u{allot_test::equal_nodes(1, 8)};
  CHECK(allot_test::allocations_in([&] {
          use(u, 0b11, 300);
          static_cast<void>(u.choose(first, {3, 300}));
          static_cast<void>(u.pods(first, {3, 1}, 0));
          u.hold({{first, 0b11}, 300}, 1);
        }) == 0);
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/detail/host_room.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>
#include <tests/support/count_allocations.hpp>
#include <tests/support/seeds.hpp>
#include <tests/support/throwing_assert.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using gpu::host_room;
using gpu::node_id;
using gpu::placed_pod;

namespace {

constexpr std::uint64_t any_number = std::numeric_limits<std::uint64_t>::max();

gpu::cluster one_node(std::int64_t cpu_milli, std::int64_t memory_mib, std::int64_t slots) {
  gpu::node_spec s;
  s.name = "n";
  s.cpu_milli = cpu_milli;
  s.memory_mib = memory_mib;
  s.pod_slots = slots;
  return gpu::build_cluster({s}).value();
}
placed_pod pod(std::int64_t cpu_milli, std::int64_t memory_mib, std::size_t node = 0) {
  return {{node_id{node}}, gpu::milli_per_gpu, cpu_milli, memory_mib};
}

/// One cluster with its hosts; the type is needed several times.
struct hosts {
  explicit hosts(gpu::cluster layout_) : layout(std::move(layout_)), room(layout) {}

  [[nodiscard]] bool fits(const placed_pod& p) const {
    return room.fits(p.where.node, type(p), p.cpu_milli, p.memory_mib);
  }
  [[nodiscard]] std::uint64_t pods(const placed_pod& p, std::uint64_t most = any_number) const {
    return room.pods(p.where.node, type(p), p.cpu_milli, p.memory_mib, most);
  }
  [[nodiscard]] bool would_be_ready(const placed_pod& p) const {
    gpu::pod_shape shape;
    shape.cpu_milli = p.cpu_milli;
    shape.memory_mib = p.memory_mib;
    return room.would_be_ready(p.where.node, type(p), shape);
  }
  void use(const placed_pod& p, std::int32_t sign = 1) { room.use(p, type(p), sign); }
  void hold(const placed_pod& p, std::int32_t sign = 1) { room.hold(p, type(p), sign); }
  [[nodiscard]] const gpu::node_type& type(const placed_pod& p) const { return layout.type_of(p.where.node); }

  gpu::cluster layout;
  host_room room;
};

}  // namespace

TEST_CASE("host_room: a pod fits as long as there is CPU, memory and a slot for it") {
  hosts h{one_node(8000, 1000, 3)};
  CHECK(h.pods(pod(3000, 0)) == 2);
  CHECK(h.pods(pod(1000, 400)) == 2);
  CHECK(h.pods(pod(1, 1)) == 3);
  CHECK(h.pods(pod(0, 0)) == 3);
  CHECK(h.pods(pod(0, 0), 2) == 2);
  CHECK(h.pods(pod(8001, 0)) == 0);
  h.use(pod(3000, 900));
  CHECK(h.room.free_cpu_milli(node_id{0}) == 5000);
  CHECK(h.room.free_memory_mib(node_id{0}) == 100);
  CHECK(h.room.free_slots(node_id{0}) == 2);
  CHECK(h.fits(pod(5000, 100)));
  CHECK_FALSE(h.fits(pod(5001, 0)));
  CHECK_FALSE(h.fits(pod(0, 101)));
  h.use(pod(0, 0));
  h.use(pod(0, 0));
  CHECK_FALSE(h.fits(pod(0, 0)));
  CHECK(h.pods(pod(0, 0)) == 0);
}

TEST_CASE("host_room: amounts that a node does not specify are not counted") {
  hosts h{one_node(0, 0, 0)};
  const placed_pod huge = pod(std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 40);
  CHECK(h.pods(huge) == any_number);
  const host_room before = h.room;
  for (int i = 0; i < 3; ++i) h.use(huge);
  for (int i = 0; i < 3; ++i) h.hold(huge);
  CHECK(h.fits(huge));
  CHECK(h.room.is_ready(huge));
  CHECK(h.would_be_ready(huge));
  CHECK(h.room == before);
}

// KAI-Scheduler's trap of v0.7.5: the GPU has room, but the CPU beside it is still being released.
TEST_CASE("host_room: a pod placed on held capacity has to wait") {
  hosts h{one_node(8000, 0, 10)};
  const placed_pod going = pod(6000, 0);
  h.hold(going);
  CHECK(h.fits(pod(8000, 0)));
  CHECK(h.would_be_ready(pod(2000, 0)));
  CHECK_FALSE(h.would_be_ready(pod(2001, 0)));
  const placed_pod next = pod(3000, 0);
  h.use(next);
  CHECK_FALSE(h.room.is_ready(next));
  // It needs nothing that is held.
  CHECK(h.room.is_ready(pod(0, 0)));
  h.hold(going, -1);
  CHECK(h.room.is_ready(next));
}

// KAI-Scheduler's trap of v0.13: evicting a victim also frees its slot, though only once it is released.
TEST_CASE("host_room: slots are held like everything else") {
  hosts h{one_node(0, 0, 1)};
  h.use(pod(0, 0));
  CHECK_FALSE(h.fits(pod(0, 0)));
  h.use(pod(0, 0), -1);
  h.hold(pod(0, 0));
  CHECK(h.fits(pod(0, 0)));
  CHECK_FALSE(h.would_be_ready(pod(0, 0)));
  h.use(pod(0, 0));
  CHECK_FALSE(h.room.is_ready(pod(0, 0)));
  h.hold(pod(0, 0), -1);
  CHECK(h.room.is_ready(pod(0, 0)));
}

TEST_CASE("host_room: held many times over, it is still exact") {
  hosts h{one_node(gpu::max_host_amount, 0, 0)};
  const placed_pod all = pod(gpu::max_host_amount, 0);
  for (int i = 0; i < 5; ++i) h.hold(all);
  CHECK_FALSE(h.would_be_ready(pod(1, 0)));
  CHECK_FALSE(h.room.is_ready(pod(1, 0)));
  for (int i = 0; i < 5; ++i) h.hold(all, -1);
  CHECK(h.room == hosts{h.layout}.room);
}

TEST_CASE("host_room: broken preconditions are detected, and a pod without room changes nothing") {
  hosts h{one_node(1000, 1000, 1)};
  const host_room before = h.room;
  CHECK_THROWS_AS(h.use(pod(1001, 0)), allot_test::assertion_failed);
  CHECK_THROWS_AS(h.use(pod(0, 1001)), allot_test::assertion_failed);
  CHECK_THROWS_AS(h.use(pod(std::int64_t{1} << 32, 0)), allot_test::assertion_failed);
  CHECK(h.room == before);
  h.use(pod(0, 0));
  CHECK_THROWS_AS(h.use(pod(0, 0)), allot_test::assertion_failed);
  CHECK_THROWS_AS(h.hold(pod(0, 0), -1), allot_test::assertion_failed);
  CHECK_THROWS_AS(static_cast<void>(h.room.free_slots(node_id{1})), allot_test::assertion_failed);
}

TEST_CASE("host_room: sums agree with a list of pods, every change has an exact inverse") {
  allot_test::for_each_seed(100, [](allot_test::random_source& random) {
    hosts h{allot_test::random_cluster(random)};
    struct step {
      placed_pod pod;
      bool is_held;
      host_room before;
    };
    std::vector<step> done;
    const auto sum = [&](node_id n, bool is_held, auto amount) {
      std::int64_t all = 0;
      for (const step& s : done) all += s.pod.where.node == n && s.is_held == is_held ? amount(s.pod) : 0;
      return all;
    };
    const auto cpu_of = [](const placed_pod& p) { return p.cpu_milli; };
    const auto memory_of = [](const placed_pod& p) { return p.memory_mib; };
    const auto slot_of = [](const placed_pod&) { return std::int64_t{1}; };
    for (int i = 0; i < 80; ++i) {
      const placed_pod p =
          pod(random.between(0, 4000), random.between(0, 900), random.below(h.layout.size()));
      const node_id n = p.where.node;
      const gpu::node_spec& s = h.layout.spec(n);
      const auto left = [&](std::int64_t all, auto amount) { return all - sum(n, false, amount); };
      const auto has = [&](std::int64_t all, auto amount, bool beside_held) {
        return all == 0 || left(all, amount) - (beside_held ? sum(n, true, amount) : 0) >= amount(p);
      };
      const bool fits = has(s.cpu_milli, cpu_of, false) && has(s.memory_mib, memory_of, false) &&
                        has(s.pod_slots, slot_of, false);
      REQUIRE(h.fits(p) == fits);
      REQUIRE((h.pods(p) > 0) == fits);
      if (fits) {
        const bool at_once = (p.cpu_milli == 0 || has(s.cpu_milli, cpu_of, true)) &&
                             (p.memory_mib == 0 || has(s.memory_mib, memory_of, true)) &&
                             has(s.pod_slots, slot_of, true);
        REQUIRE(h.would_be_ready(p) == at_once);
      }
      if (s.cpu_milli != 0) REQUIRE(h.room.free_cpu_milli(n) == left(s.cpu_milli, cpu_of));
      if (s.memory_mib != 0) REQUIRE(h.room.free_memory_mib(n) == left(s.memory_mib, memory_of));
      if (s.pod_slots != 0) REQUIRE(h.room.free_slots(n) == left(s.pod_slots, slot_of));
      const bool could_start = fits && h.would_be_ready(p);
      const bool hold = random.one_in(3);
      if ((hold || fits) && !random.one_in(3)) {
        done.push_back({p, hold, h.room});
        hold ? h.hold(p) : h.use(p);
        if (!hold) REQUIRE(h.room.is_ready(p) == could_start);
      } else if (!done.empty()) {
        const step& last = done.back();
        last.is_held ? h.hold(last.pod, -1) : h.use(last.pod, -1);
        REQUIRE(h.room == last.before);
        done.pop_back();
      }
    }
  });
}

TEST_CASE("host_room: exactly the stated number of pods fits") {
  allot_test::for_each_seed(100, [](allot_test::random_source& random) {
    hosts h{allot_test::random_cluster(random)};
    const placed_pod p = pod(random.between(0, 4000), random.between(0, 900), random.below(h.layout.size()));
    constexpr std::uint64_t most = 60;
    const std::uint64_t count = h.pods(p, most);
    for (std::uint64_t i = 0; i < count; ++i) {
      REQUIRE(h.would_be_ready(p));
      h.use(p);
    }
    if (count < most) REQUIRE_FALSE(h.fits(p));
  });
}

TEST_CASE("host_room: nothing allocates") {
  hosts h{one_node(8000, 1000, 3)};
  const placed_pod p = pod(100, 100);
  CHECK(allot_test::allocations_in([&] {
          h.use(p);
          h.hold(p);
          static_cast<void>(h.pods(p));
          h.hold(p, -1);
          h.use(p, -1);
        }) == 0);
}

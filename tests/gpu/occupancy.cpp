// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/detail/occupancy.hpp>
#include <allot/gpu/inventory.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>
#include <tests/support/seeds.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using allot::gpus;
using allot::quantity;
using allot_test::random_source;
using gpu::allocation_id;
using gpu::inventory;
using gpu::node_id;
using gpu::pod_location;
using gpu::pod_request;

// A part of inventories, not used alone.
static_assert(!std::is_copy_constructible_v<gpu::occupancy> && !std::is_destructible_v<gpu::occupancy>);
static_assert(std::is_base_of_v<gpu::occupancy, inventory>);

namespace {

/// Commands and queries with an id that refers to nothing: refused, answered, and nothing has changed.
void nothing_is_done_with(inventory& i, allocation_id a) {
  CAPTURE(a.index());
  CAPTURE(a.generation());
  const inventory before = i;
  CHECK_FALSE(i.contains(a));
  CHECK_FALSE(i.usable(a));
  CHECK_FALSE(i.ready(a));
  CHECK_FALSE(i.is_vacating(a));
  CHECK(i.pods(a).begin() == i.pods(a).end());
  i.for_each_node(a, [](std::size_t) { FAIL_CHECK("it stands nowhere"); });
  CHECK_FALSE(i.vacate(a));
  CHECK_FALSE(i.reoccupy(a));
  CHECK_FALSE(i.release(a));
  CHECK(i == before);
}

}  // namespace

TEST_CASE("occupancy: an invalid id changes nothing") {
  inventory i{allot_test::equal_nodes(2, 4)};
  nothing_is_done_with(i, allocation_id::none());
  nothing_is_done_with(i, allocation_id{0});
  const allocation_id first = *i.place({gpus(2)});
  CHECK(i.release(first));
  nothing_is_done_with(i, first);
  // Its index is reused, but not its id.
  const allocation_id second = *i.place({gpus(3)});
  CHECK(second.index() == first.index());
  nothing_is_done_with(i, first);
  CHECK(i.vacate(second));
  nothing_is_done_with(i, first);
  nothing_is_done_with(i, allocation_id{second.index(), second.generation() + 1});
  nothing_is_done_with(i, allocation_id{1});
  nothing_is_done_with(i, allocation_id{70'000, 3});
  CHECK(i.used() == quantity{});
  CHECK(i.held() == gpus(3));
}

TEST_CASE("occupancy: a place is vacated once and reoccupied once") {
  inventory i{allot_test::equal_nodes(1, 4)};
  const allocation_id a = *i.place({gpus(3)});
  const inventory placed = i;
  CHECK_FALSE(i.reoccupy(a));
  CHECK(i == placed);
  CHECK(i.vacate(a));
  const inventory vacating = i;
  CHECK_FALSE(i.vacate(a));
  CHECK(i == vacating);
  CHECK(i.reoccupy(a));
  CHECK(i == placed);
}

TEST_CASE("occupancy: a place given away, even in part, can't be reoccupied") {
  SUBCASE("whole devices") {
    inventory i{allot_test::equal_nodes(2, 2)};
    const allocation_id going = *i.place({gpus(2), 2});
    CHECK(i.vacate(going));
    const pod_location second{node_id{1}};
    const allocation_id other = *i.place_at({gpus(1)}, {&second, 1});
    const inventory before = i;
    CHECK_FALSE(i.reoccupy(going));
    CHECK(i == before);
    CHECK(i.release(other));
    CHECK(i.reoccupy(going));
  }
  SUBCASE("two pods of one device, for each of which alone there is room") {
    inventory i{allot_test::equal_nodes(1, 1)};
    const allocation_id going = *i.place({quantity::milli(300), 2});
    CHECK(i.vacate(going));
    const allocation_id other = *i.place({quantity::milli(500)});
    const inventory before = i;
    CHECK_FALSE(i.reoccupy(going));
    CHECK(i == before);
    CHECK(i.release(other));
    CHECK(i.reoccupy(going));
  }
  SUBCASE("the CPU of the host") {
    inventory i{gpu::build_cluster({{.name = "n", .gpus = 2, .cpu_milli = 8000}}).value()};
    const allocation_id going = *i.place({.gpus = gpus(1), .cpu_milli = 6000});
    CHECK(i.vacate(going));
    const allocation_id other = *i.place({.cpu_milli = 3000});
    const inventory before = i;
    CHECK_FALSE(i.reoccupy(going));
    CHECK(i == before);
    CHECK(i.release(other));
    CHECK(i.reoccupy(going));
  }
  SUBCASE("the slices of an instance") {
    inventory i{gpu::build_cluster(
                    {{.name = "n", .gpus = 1, .gpu_model = "A100", .gpu_memory_mib = 40'960, .mig = true}})
                    .value()};
    const gpu::mig_request half = *gpu::find_mig_request("3g.20gb");
    const allocation_id going = *i.place({.mig = half});
    const allocation_id beside = *i.place({.mig = half});
    CHECK(i.vacate(going));
    const allocation_id other = *i.place({.mig = half});
    const inventory before = i;
    CHECK_FALSE(i.reoccupy(going));
    CHECK(i == before);
    CHECK(i.release(beside));
    // There would be room for one, but on other slices.
    CHECK_FALSE(i.reoccupy(going));
    CHECK(i.release(other));
    CHECK(i.reoccupy(going));
  }
}

TEST_CASE("occupancy: an unknown node counts as closed") {
  inventory i{allot_test::equal_nodes(2, 4)};
  const inventory before = i;
  for (const node_id n : {node_id{2}, node_id{70'000}, node_id::none()}) {
    CHECK(i.is_closed(n));
    CHECK_FALSE(i.close(n));
    CHECK_FALSE(i.reopen(n));
    i.for_each_on(n, [](allocation_id) { FAIL_CHECK("nobody stands there"); });
  }
  CHECK(i == before);
  // Closing a closed node changes nothing.
  CHECK(i.reopen(node_id{1}));
  CHECK(i.close(node_id{1}));
  CHECK(i.close(node_id{1}));
  CHECK(i.is_closed(node_id{1}));
  CHECK(i.reopen(node_id{1}));
  CHECK(i == before);
}

TEST_CASE("occupancy: a place is unusable while one of its nodes is closed") {
  inventory i{allot_test::equal_nodes(3, 4)};
  const allocation_id gang = *i.place({gpus(4), 2});
  const allocation_id small = *i.place({gpus(1)});
  CHECK(i.usable(gang));
  i.close(node_id{1});
  CHECK_FALSE(i.usable(gang));
  CHECK(i.usable(small));
  CHECK(i.contains(gang));
  // The query concerns the place, not the jobs that may still be there.
  CHECK(i.ready(gang));
  i.vacate(small);
  CHECK(i.usable(small));
  i.close(node_id{0});
  i.reopen(node_id{1});
  CHECK_FALSE(i.usable(gang));
  i.reopen(node_id{0});
  CHECK(i.usable(gang));
  i.release(gang);
  CHECK_FALSE(i.usable(gang));
}

TEST_CASE("occupancy: ids are reissued only after a rollback") {
  inventory i{allot_test::equal_nodes(1, 4)};
  const allocation_id a = *i.place({gpus(1)});
  const inventory before = i;
  const allot::savepoint s = i.save();
  i.release(a);
  const allocation_id b = *i.place({gpus(2)});
  CHECK(b.index() == a.index());
  CHECK_FALSE(i.contains(a));
  i.rollback(s);
  CHECK(i == before);
  CHECK(i.contains(a));
  CHECK_FALSE(i.contains(b));

  const allot::savepoint kept = i.save();
  i.release(a);
  CHECK(*i.place({gpus(2)}) == b);
  i.commit(kept);
  CHECK_FALSE(i.contains(a));
  i.release(b);
  CHECK(*i.place({gpus(1)}) != b);
}

TEST_CASE("occupancy: stale ids never do harm") {
  allot_test::for_each_seed(300, [](random_source& random) {
    inventory i{allot_test::random_cluster(random)};
    std::vector<allocation_id> living;
    std::vector<allocation_id> dead;
    for (int step = 0; step < 60; ++step) {
      if (random.one_in(2)) {
        if (const auto a = i.place(allot_test::random_demand(random))) living.push_back(*a);
      } else if (!living.empty()) {
        std::swap(living[random.below(living.size())], living.back());
        if (random.one_in(3)) static_cast<void>(i.vacate(living.back()));
        CHECK(i.release(living.back()));
        dead.push_back(living.back());
        living.pop_back();
      }
      if (dead.empty()) continue;
      const allocation_id stale = random.pick(dead);
      const inventory before = i;
      CHECK_FALSE(i.release(stale));
      CHECK_FALSE(i.vacate(stale));
      CHECK_FALSE(i.reoccupy(stale));
      CHECK(i == before);
      for (const allocation_id a : living) CHECK(i.contains(a));
      for (const allocation_id a : dead) CHECK_FALSE(i.contains(a));
    }
    for (const allocation_id a : living) CHECK(i.release(a));
    CHECK(i.used() == quantity{});
    CHECK(i.held() == quantity{});
    CHECK(i.size() == 0);
  });
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/inventory.hpp>
#include <allot/gpu/room_if_gone.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>
#include <tests/support/seeds.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

using allot::gpus;
using allot::quantity;
using allot::gpu::allocation_id;
using allot::gpu::demand;
using allot::gpu::inventory;
using allot::gpu::node_id;
using allot::gpu::room_if_gone;
using allot_test::random_source;

namespace {

demand demand_of_any_kind(random_source& random) {
  demand d;
  d.gpus = random.one_in(3) ? quantity::milli(random.between(1, 999)) : gpus(random.between(1, 9));
  d.total = random.one_in(3) && d.gpus >= gpus(1);
  if (!d.total && random.one_in(2)) d.pods = static_cast<std::uint32_t>(random.between(1, 5));
  if (random.one_in(3)) d.cpu_milli = 500 * random.between(0, 8);
  if (random.one_in(4)) d.memory_mib = random.between(0, 900);
  if (random.one_in(4)) d.pools = 1 + random.below(7);
  return d;
}

void goes(room_if_gone& count, const inventory& from, allocation_id a) {
  for (const auto& pod : from.pods(a)) count.goes(pod);
}
void stays(room_if_gone& count, const inventory& from, allocation_id a) {
  for (const auto& pod : from.pods(a)) count.stays(pod);
}

}  // namespace

TEST_CASE("room_if_gone: by hand") {
  inventory two{allot_test::equal_nodes(2, 4)};
  const auto a = two.place({.gpus = gpus(3)}).value();
  const auto b = two.place({.gpus = gpus(2)}).value();
  room_if_gone count;
  REQUIRE(count.start(two.index(), {.gpus = gpus(4)}));
  CHECK(!count.has_room());
  goes(count, two, b);
  CHECK(count.has_room());
  stays(count, two, b);
  CHECK(!count.has_room());
  // Four on one node and three on another: both have to go, and the same count serves again.
  REQUIRE(count.start(two.index(), {.gpus = gpus(7), .total = true}));
  goes(count, two, a);
  CHECK(!count.has_room());
  goes(count, two, b);
  CHECK(count.has_room());
  REQUIRE(count.start(two.index(), {.gpus = gpus(7), .total = true}));
  CHECK(!count.has_room());
}

TEST_CASE("room_if_gone: what it can't count it says") {
  inventory one{allot_test::equal_nodes(1, 4)};
  room_if_gone count;
  CHECK(!count.start(one.index(), {.gpus = {}}));
  CHECK(!count.start(one.index(), {.gpus = gpus(1), .pods = 0}));
  CHECK(!count.start(one.index(), {.gpus = {}, .gpu_memory_mib = 100}));
  CHECK(!count.start(one.index(), {.gpus = quantity::milli(500), .devices = 2}));
  CHECK(!count.start(one.index(), {.gpus = gpus(1), .required_level = 0}));
}

TEST_CASE("room_if_gone: as if they had been taken off") {
  allot_test::for_each_seed(400, [](random_source& random) {
    inventory places{allot_test::random_cluster(random)};
    std::vector<allocation_id> standing;
    for (std::size_t i = 0; i < 30; ++i) {
      if (const auto at = places.place(demand_of_any_kind(random))) standing.push_back(*at);
    }
    room_if_gone count;
    for (int round = 0; round < 12; ++round) {
      if (random.one_in(4)) {
        const node_id n{random.below(places.layout().size())};
        places.is_closed(n) ? places.reopen(n) : places.close(n);
      }
      const demand d = demand_of_any_kind(random);
      for (int again = 0; again < 2; ++again) {
        if (!count.start(places.index(), d)) break;
        inventory real = places;
        std::vector<bool> gone(standing.size(), false);
        for (int step = 0; step < 20 && !standing.empty(); ++step) {
          const std::size_t i = random.below(standing.size());
          gone[i] = !gone[i];
          gone[i] ? real.vacate(standing[i]) : real.reoccupy(standing[i]);
          gone[i] ? goes(count, places, standing[i]) : stays(count, places, standing[i]);
          const auto trial = real.save();
          const bool has_place = real.place(d).has_value();
          real.rollback(trial);
          REQUIRE(count.has_room() == has_place);
        }
      }
    }
  });
}

TEST_CASE("room_if_gone: who does not help may stay, whoever else does") {
  std::size_t useless = 0;
  allot_test::for_each_seed(300, [&](random_source& random) {
    inventory places{allot_test::random_cluster(random)};
    std::vector<allocation_id> standing;
    for (std::size_t i = 0; i < 30; ++i) {
      if (const auto at = places.place(demand_of_any_kind(random))) standing.push_back(*at);
    }
    if (random.one_in(4)) places.close(node_id{random.below(places.layout().size())});
    for (int round = 0; round < 6; ++round) {
      room_if_gone count;
      if (!count.start(places.index(), demand_of_any_kind(random))) continue;
      std::vector<allocation_id> gone;
      for (const allocation_id a : standing) {
        if (random.one_in(3)) continue;
        goes(count, places, a);
        gone.push_back(a);
      }
      std::vector<allocation_id> idle;
      std::vector<allocation_id> others;
      for (const allocation_id a : gone) {
        bool helps = false;
        for (const auto& pod : places.pods(a)) helps = count.helps(pod) || helps;
        (helps ? others : idle).push_back(a);
      }
      useless += idle.size();
      // They stay and go again between the others, who stay one after the other.
      random.shuffle(others);
      for (std::size_t i = 0;; ++i) {
        const bool with_all = count.has_room();
        for (const allocation_id a : idle) {
          stays(count, places, a);
          REQUIRE(count.has_room() == with_all);
        }
        for (const allocation_id a : idle) goes(count, places, a);
        if (i == others.size()) break;
        stays(count, places, others[i]);
      }
    }
  });
  CHECK(useless > 20);
}

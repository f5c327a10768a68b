// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/inventory.hpp>
#include <allot/gpu/room_bound.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>
#include <tests/support/seeds.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

using allot::gpus;
using allot::quantity;
using allot::gpu::allocation_id;
using allot::gpu::demand;
using allot::gpu::inventory;
using allot::gpu::node_id;
using allot::gpu::room_bound;
using allot_test::random_source;

namespace {

void add(room_bound& bound, const inventory& from, std::size_t group, allocation_id a) {
  for (const auto& pod : from.pods(a)) bound.add(from.layout(), group, pod);
}
void remove(room_bound& bound, const inventory& from, std::size_t group, allocation_id a) {
  for (const auto& pod : from.pods(a)) bound.remove(group, pod);
}
bool may_have_room(room_bound& bound, const inventory& in, const demand& d,
                   const std::vector<std::uint32_t>& groups) {
  return bound.may_have_room(in.index(), d, groups);
}

/// Of any size and shape, one in a few by GPU memory.
demand any_demand(random_source& random) {
  demand d;
  d.gpus = random.one_in(3) ? quantity::milli(random.between(1, 999)) : gpus(random.between(1, 9));
  if (d.gpus < gpus(1) && random.one_in(4)) d.devices = static_cast<std::uint32_t>(random.between(1, 3));
  d.total = random.one_in(3) && d.gpus >= gpus(1);
  if (!d.total && random.one_in(2)) d.pods = static_cast<std::uint32_t>(random.between(1, 5));
  if (random.one_in(3)) d.cpu_milli = 500 * random.between(0, 8);
  if (random.one_in(4)) d.pools = 1 + random.below(7);
  if (!d.total && random.one_in(6)) {
    d.gpus = {};
    d.gpu_memory_mib = random.between(1, 40'000);
  }
  return d;
}

}  // namespace

TEST_CASE("room_bound: what is free and what the groups have of a node") {
  inventory two{allot_test::equal_nodes(2, 4)};
  room_bound bound;
  const auto first = two.place({.gpus = gpus(3)}).value();
  add(bound, two, 0, first);
  const auto second = two.place({.gpus = gpus(2)}).value();
  add(bound, two, 2, second);
  CHECK(may_have_room(bound, two, {.gpus = gpus(2)}, {}));
  CHECK_FALSE(may_have_room(bound, two, {.gpus = gpus(3)}, {}));
  CHECK_FALSE(may_have_room(bound, two, {.gpus = gpus(4)}, {1, 7}));
  CHECK(may_have_room(bound, two, {.gpus = gpus(4)}, {0}));
  CHECK(may_have_room(bound, two, {.gpus = gpus(4)}, {2}));
  CHECK_FALSE(may_have_room(bound, two, {.gpus = gpus(4), .pods = 2}, {2}));
  CHECK(may_have_room(bound, two, {.gpus = gpus(4), .pods = 2}, {2, 0}));
  // Four on one and one on the other, which must not be the same.
  CHECK(may_have_room(bound, two, {.gpus = gpus(5), .total = true}, {0}));
  two.close(node_id{1});
  CHECK_FALSE(may_have_room(bound, two, {.gpus = gpus(4)}, {2}));
  two.reopen(node_id{1});
  // Who has gone counts as free.
  remove(bound, two, 2, second);
  CHECK_FALSE(may_have_room(bound, two, {.gpus = gpus(4)}, {2}));
  two.vacate(second);
  CHECK(may_have_room(bound, two, {.gpus = gpus(4)}, {}));
}

TEST_CASE("room_bound: what it can't count is not ruled out") {
  inventory one{allot_test::equal_nodes(1, 2)};
  static_cast<void>(one.place({.gpus = gpus(2)}));
  room_bound bound;
  CHECK(may_have_room(bound, one, {.gpus = {}}, {}));
  CHECK(may_have_room(bound, one, {.gpus = gpus(1), .pods = 0}, {}));
  CHECK_FALSE(may_have_room(bound, one, {.gpus = quantity::milli(1)}, {}));
}

TEST_CASE("room_bound: no is said only of what has no place without all who are in the groups") {
  std::size_t no = 0;
  std::size_t without_place = 0;
  allot_test::for_each_seed(400, [&](random_source& random) {
    inventory places{allot_test::random_cluster(random)};
    room_bound bound;
    struct one {
      allocation_id at;
      std::uint32_t group;
    };
    // Those of the last group are in none.
    constexpr std::uint32_t groups = 3;
    std::vector<one> standing;
    for (int round = 0; round < 40; ++round) {
      if (!standing.empty() && random.one_in(4)) {
        const std::size_t i = random.below(standing.size());
        if (standing[i].group < groups) remove(bound, places, standing[i].group, standing[i].at);
        places.release(standing[i].at);
        standing.erase(standing.begin() + static_cast<std::ptrdiff_t>(i));
      } else if (const auto at = places.place(any_demand(random))) {
        standing.push_back({*at, static_cast<std::uint32_t>(random.below(groups + 1))});
        if (standing.back().group < groups) add(bound, places, standing.back().group, *at);
      }
      if (random.one_in(8) && places.layout().size() > 0) {
        const node_id n{random.below(places.layout().size())};
        places.is_closed(n) ? places.reopen(n) : places.close(n);
      }
      std::vector<std::uint32_t> asked;
      for (std::uint32_t g = 0; g < groups; ++g) {
        if (random.one_in(2)) asked.push_back(g);
      }
      inventory real = places;
      for (const one& s : standing) {
        for (const std::uint32_t g : asked) {
          if (s.group == g) real.release(s.at);
        }
      }
      const demand d = any_demand(random);
      const bool has_place = real.place(d).has_value();
      const bool may = may_have_room(bound, places, d, asked);
      if (has_place) REQUIRE(may);
      without_place += has_place ? 0U : 1U;
      no += may ? 0U : 1U;
    }
  });
  // It says so of most of them.
  CHECK(no * 2 > without_place);
}

TEST_CASE("room_bound: of single GPUs or whole nodes it is exact where only GPUs count") {
  allot_test::for_each_seed(200, [](random_source& random) {
    inventory places{allot_test::equal_nodes(random.between(1, 150), 8)};
    room_bound bound;
    std::vector<allocation_id> standing;
    while (const auto at = places.place({.gpus = gpus(random.between(1, 8))})) {
      if (!random.one_in(4)) {
        standing.push_back(*at);
        add(bound, places, 0, *at);
      }
      if (random.one_in(60)) break;
    }
    inventory real = places;
    for (const allocation_id a : standing) real.release(a);
    for (const demand& d :
         std::array{demand{.gpus = gpus(1), .pods = 1 + static_cast<std::uint32_t>(random.below(900))},
                    demand{.gpus = gpus(8)}, demand{.gpus = gpus(24), .total = true}}) {
      inventory trial = real;
      CHECK(may_have_room(bound, places, d, {0}) == trial.place(d).has_value());
    }
  });
}

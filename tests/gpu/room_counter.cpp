// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/inventory.hpp>
#include <allot/gpu/room_counter.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>
#include <tests/support/seeds.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using allot::gpus;
using allot::quantity;
using allot::gpu::allocation_id;
using allot::gpu::inventory;
using allot::gpu::node_id;
using allot::gpu::pod_request;
using allot::gpu::room_counter;
using allot_test::random_source;

namespace {

pod_request demand_of_any_kind(random_source& random) {
  pod_request d;
  d.gpus = random.one_in(3) ? quantity::milli(random.between(1, 999)) : gpus(random.between(1, 9));
  d.total = random.one_in(3) && d.gpus >= gpus(1);
  if (!d.total && random.one_in(2)) d.pods = static_cast<std::uint32_t>(random.between(1, 5));
  if (random.one_in(3)) d.cpu_milli = 500 * random.between(0, 8);
  if (random.one_in(4)) d.memory_mib = random.between(0, 900);
  if (random.one_in(4)) d.pools = 1 + random.below(7);
  return d;
}

/// Of any size and shape, a few of them by GPU memory.
pod_request any_demand(random_source& random) {
  pod_request d;
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

bool might_fit(room_counter& bound, const inventory& in, const pod_request& d,
               const std::vector<std::uint32_t>& groups) {
  return bound.might_fit(in, d, groups);
}

pod_request whole_gpus(random_source& random) {
  pod_request d;
  d.gpus = gpus(random.between(1, 9));
  d.total = random.one_in(3);
  if (!d.total && random.one_in(2)) d.pods = static_cast<std::uint32_t>(random.between(1, 5));
  if (random.one_in(4)) d.pools = 1 + random.below(7);
  return d;
}
pod_request of_any_size(random_source& random) {
  pod_request d = whole_gpus(random);
  if (random.one_in(3)) d = {.gpus = quantity::milli(random.between(1, 999)), .pods = d.pods};
  return d;
}

/// An inventory, and the jobs in it of which some are expected to have gone.
struct world {
  struct job {
    allocation_id at;
    bool goes;
  };
  inventory places;
  std::vector<job> jobs;

  /// Something happens, of which the counter is told as little as possible.
  void change(random_source& random, room_counter& told) {
    const std::size_t i = random.below(jobs.size() + 1);
    if (random.one_in(5)) {
      const node_id n{random.below(places.layout().size())};
      places.is_closed(n) ? places.reopen(n) : places.close(n);
    } else if (i == jobs.size() || random.one_in(2)) {
      const auto at = places.place(of_any_size(random));
      if (!at) return;
      jobs.push_back({*at, random.one_in(2)});
      if (jobs.back().goes) told.gone(places, *at);
    } else if (random.one_in(3)) {
      jobs[i].goes ? told.back(places, jobs[i].at) : told.gone(places, jobs[i].at);
      jobs[i].goes = !jobs[i].goes;
    } else {
      if (jobs[i].goes) told.back(places, jobs[i].at);
      if (random.one_in(2)) places.vacate(jobs[i].at);
      places.release(jobs[i].at);
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  /// The inventory when they have gone.
  [[nodiscard]] inventory later() const {
    inventory then = places;
    for (const job& j : jobs) {
      if (j.goes) then.release(j.at);
    }
    return then;
  }
};

}  // namespace

// A trial: some are evicted.

TEST_CASE("room_counter: by hand") {
  inventory two{allot_test::equal_nodes(2, 4)};
  const auto a = two.place({.gpus = gpus(3)}).value();
  const auto b = two.place({.gpus = gpus(2)}).value();
  room_counter count;
  REQUIRE(count.begin(two, {.gpus = gpus(4)}));
  CHECK(count.fits() == false);
  count.gone(two, b);
  CHECK(count.fits() == true);
  count.back(two, b);
  CHECK(count.fits() == false);
  // Four on one node and three on another: both must be evicted, and the same count is reused.
  REQUIRE(count.begin(two, {.gpus = gpus(7), .total = true}));
  count.gone(two, a);
  CHECK(count.fits() == false);
  count.gone(two, b);
  CHECK(count.fits() == true);
  REQUIRE(count.begin(two, {.gpus = gpus(7), .total = true}));
  CHECK(count.fits() == false);
}

TEST_CASE("room_counter: says which requests it can't count") {
  inventory one{allot_test::equal_nodes(1, 4)};
  room_counter count;
  CHECK(!count.begin(one, {.gpus = {}}));
  CHECK(!count.begin(one, {.gpus = gpus(1), .pods = 0}));
  CHECK(!count.begin(one, {.gpus = {}, .gpu_memory_mib = 100}));
  CHECK(!count.begin(one, {.gpus = quantity::milli(500), .devices = 2}));
  CHECK(!count.begin(one, {.gpus = gpus(1), .required_level = 0}));
}

TEST_CASE("room_counter: agrees with actual evictions") {
  allot_test::for_each_seed(400, [](random_source& random) {
    inventory places{allot_test::random_cluster(random)};
    std::vector<allocation_id> standing;
    for (std::size_t i = 0; i < 30; ++i) {
      if (const auto at = places.place(demand_of_any_kind(random))) standing.push_back(*at);
    }
    room_counter count;
    for (int round = 0; round < 12; ++round) {
      if (random.one_in(4)) {
        const node_id n{random.below(places.layout().size())};
        places.is_closed(n) ? places.reopen(n) : places.close(n);
      }
      const pod_request d = demand_of_any_kind(random);
      for (int again = 0; again < 2; ++again) {
        if (!count.begin(places, d)) break;
        inventory real = places;
        std::vector<bool> gone(standing.size(), false);
        for (int step = 0; step < 20 && !standing.empty(); ++step) {
          const std::size_t i = random.below(standing.size());
          gone[i] = !gone[i];
          gone[i] ? real.vacate(standing[i]) : real.reoccupy(standing[i]);
          gone[i] ? count.gone(places, standing[i]) : count.back(places, standing[i]);
          const auto trial = real.save();
          const bool has_place = real.place(d).has_value();
          real.rollback(trial);
          REQUIRE(count.fits() == has_place);
        }
      }
    }
  });
}

TEST_CASE("room_counter: a job that does not help may stay, whichever others stay") {
  std::size_t useless = 0;
  allot_test::for_each_seed(300, [&](random_source& random) {
    inventory places{allot_test::random_cluster(random)};
    std::vector<allocation_id> standing;
    for (std::size_t i = 0; i < 30; ++i) {
      if (const auto at = places.place(demand_of_any_kind(random))) standing.push_back(*at);
    }
    if (random.one_in(4)) places.close(node_id{random.below(places.layout().size())});
    for (int round = 0; round < 6; ++round) {
      room_counter count;
      if (!count.begin(places, demand_of_any_kind(random))) continue;
      std::vector<allocation_id> gone;
      for (const allocation_id a : standing) {
        if (random.one_in(3)) continue;
        count.gone(places, a);
        gone.push_back(a);
      }
      std::vector<allocation_id> idle;
      std::vector<allocation_id> others;
      for (const allocation_id a : gone) {
        (count.helps(places, a) ? others : idle).push_back(a);
      }
      useless += idle.size();
      // The unhelpful ones are put back and evicted again in between, while the others are put back one by
      // one.
      random.shuffle(others);
      for (std::size_t i = 0;; ++i) {
        const auto with_all = count.fits();
        for (const allocation_id a : idle) {
          count.back(places, a);
          REQUIRE(count.fits() == with_all);
        }
        for (const allocation_id a : idle) count.gone(places, a);
        if (i == others.size()) break;
        count.back(places, others[i]);
      }
    }
  });
  CHECK(useless > 20);
}

// A bound: whole groups are evicted.

TEST_CASE("room_counter: what is free and what the groups have of a node") {
  inventory two{allot_test::equal_nodes(2, 4)};
  room_counter bound;
  const auto first = two.place({.gpus = gpus(3)}).value();
  bound.may_go(two, 0, first);
  const auto second = two.place({.gpus = gpus(2)}).value();
  bound.may_go(two, 2, second);
  CHECK(might_fit(bound, two, {.gpus = gpus(2)}, {}));
  CHECK_FALSE(might_fit(bound, two, {.gpus = gpus(3)}, {}));
  CHECK_FALSE(might_fit(bound, two, {.gpus = gpus(4)}, {1, 7}));
  CHECK(might_fit(bound, two, {.gpus = gpus(4)}, {0}));
  CHECK(might_fit(bound, two, {.gpus = gpus(4)}, {2}));
  CHECK_FALSE(might_fit(bound, two, {.gpus = gpus(4), .pods = 2}, {2}));
  CHECK(might_fit(bound, two, {.gpus = gpus(4), .pods = 2}, {2, 0}));
  // Four on one and one on the other, which must not be the same.
  CHECK(might_fit(bound, two, {.gpus = gpus(5), .total = true}, {0}));
  two.close(node_id{1});
  CHECK_FALSE(might_fit(bound, two, {.gpus = gpus(4)}, {2}));
  two.reopen(node_id{1});
  // What an evicted job used counts as free.
  bound.may_not_go(two, 2, second);
  CHECK_FALSE(might_fit(bound, two, {.gpus = gpus(4)}, {2}));
  two.vacate(second);
  CHECK(might_fit(bound, two, {.gpus = gpus(4)}, {}));
}

TEST_CASE("room_counter: what can't be bounded is not ruled out") {
  inventory one{allot_test::equal_nodes(1, 2)};
  static_cast<void>(one.place({.gpus = gpus(2)}));
  room_counter bound;
  CHECK(might_fit(bound, one, {.gpus = {}}, {}));
  CHECK(might_fit(bound, one, {.gpus = gpus(1), .pods = 0}, {}));
  CHECK_FALSE(might_fit(bound, one, {.gpus = quantity::milli(1)}, {}));
}

TEST_CASE("room_counter: groups beyond a bound of memory are not counted, and not ruled out") {
  inventory two{allot_test::equal_nodes(2, 4)};
  room_counter bound;
  const std::uint32_t far = 1'000'000'000;
  const auto placed = two.place({.gpus = gpus(3)}).value();
  bound.may_go(two, far, placed);
  CHECK(might_fit(bound, two, {.gpus = gpus(4), .pods = 3}, {far}));
  CHECK_FALSE(might_fit(bound, two, {.gpus = gpus(4), .pods = 3}, {0}));
  bound.may_not_go(two, far, placed);
}

TEST_CASE("room_counter: rules out only requests that have no place without all groups") {
  std::size_t no = 0;
  std::size_t without_place = 0;
  allot_test::for_each_seed(400, [&](random_source& random) {
    inventory places{allot_test::random_cluster(random)};
    room_counter bound;
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
        if (standing[i].group < groups) bound.may_not_go(places, standing[i].group, standing[i].at);
        places.release(standing[i].at);
        standing.erase(standing.begin() + static_cast<std::ptrdiff_t>(i));
      } else if (const auto at = places.place(any_demand(random))) {
        standing.push_back({*at, static_cast<std::uint32_t>(random.below(groups + 1))});
        if (standing.back().group < groups) bound.may_go(places, standing.back().group, *at);
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
      const pod_request d = any_demand(random);
      const bool has_place = real.place(d).has_value();
      const bool may = might_fit(bound, places, d, asked);
      if (has_place) REQUIRE(may);
      without_place += has_place ? 0U : 1U;
      no += may ? 0U : 1U;
    }
  });
  // The bound rules out most of them.
  CHECK(no * 2 > without_place);
}

TEST_CASE("room_counter: exact for single GPUs and whole nodes where only GPUs count") {
  allot_test::for_each_seed(200, [](random_source& random) {
    inventory places{allot_test::equal_nodes(random.between(1, 150), 8)};
    room_counter bound;
    std::vector<allocation_id> standing;
    while (const auto at = places.place({.gpus = gpus(random.between(1, 8))})) {
      if (!random.one_in(4)) {
        standing.push_back(*at);
        bound.may_go(places, 0, *at);
      }
      if (random.one_in(60)) break;
    }
    inventory real = places;
    for (const allocation_id a : standing) real.release(a);
    for (const pod_request& d :
         std::array{pod_request{.gpus = gpus(1), .pods = 1 + static_cast<std::uint32_t>(random.below(900))},
                    pod_request{.gpus = gpus(8)}, pod_request{.gpus = gpus(24), .total = true}}) {
      inventory trial = real;
      CHECK(might_fit(bound, places, d, {0}) == trial.place(d).has_value());
    }
  });
}

// One that is kept, with those gone that are expected to be.

TEST_CASE("room_counter: kept, by hand") {
  inventory two{allot_test::equal_nodes(2, 4)};
  const auto a = two.place({.gpus = gpus(3)}).value();
  room_counter then;
  REQUIRE(then.keep(two, {.gpus = gpus(4)}));
  CHECK(then.fits() == true);
  const auto b = two.place({.gpus = gpus(4)}).value();
  then.look(two);
  CHECK(then.fits() == false);
  then.gone(two, a);
  CHECK(then.fits() == true);
  CHECK(then.fits(1) == false);
  then.gone(two, b);
  CHECK(then.fits(1) == true);
  // Two pods of three GPUs take both nodes at most, and none for certain.
  using bounds = std::pair<std::uint64_t, std::uint64_t>;
  CHECK(then.taken_by(two, {.gpus = gpus(3), .pods = 2}) == bounds{0, 2});
  CHECK(then.taken_by(two, {.gpus = gpus(8), .total = true}) == bounds{2, 2});
  CHECK(then.fits(2) == false);
}

TEST_CASE("room_counter: in a trial it knows what others take, or that it does not") {
  inventory one{allot_test::equal_nodes(1, 4)};
  room_counter count;
  REQUIRE(count.begin(one, {.gpus = gpus(1), .pods = 2}));
  CHECK(count.fits(count.taken_by(one, {.gpus = gpus(2)}).second) == true);
  CHECK(count.fits(count.taken_by(one, {.gpus = gpus(3)}).second) == false);
  // Two on each GPU: who takes two of them leaves room for four.
  REQUIRE(count.begin(one, {.gpus = quantity::milli(400), .pods = 6}));
  CHECK(count.fits() == true);
  CHECK(count.fits(count.taken_by(one, {.gpus = gpus(2)}).second) == false);
}

TEST_CASE("room_counter: says which requests it can't keep") {
  inventory one{allot_test::equal_nodes(1, 4)};
  room_counter count;
  CHECK(!count.keep(one, {.gpus = {}}));
  CHECK(!count.keep(one, {.gpus = gpus(1), .pods = 0}));
  CHECK(!count.keep(one, {.gpus = {}, .gpu_memory_mib = 100}));
  CHECK(!count.keep(one, {.gpus = quantity::milli(500)}));
  CHECK(!count.keep(one, {.gpus = gpus(1), .required_level = 0}));
}

TEST_CASE("room_counter: kept, it agrees with the inventory when they have gone, whatever happens before") {
  std::size_t fitted = 0;
  std::size_t failed = 0;
  allot_test::for_each_seed(400, [&](random_source& random) {
    world w{inventory{allot_test::random_cluster(random)}, {}};
    room_counter then;
    const pod_request d = whole_gpus(random);
    if (!then.keep(w.places, d)) return;
    for (int round = 0; round < 60; ++round) {
      w.change(random, then);
      if (random.one_in(3)) continue;
      then.look(w.places);
      inventory later = w.later();
      const bool has_place = later.place(d).has_value();
      REQUIRE(then.fits() == has_place);
      (has_place ? fitted : failed) += 1;
    }
  });
  if (allot_test::all_cases_run()) {
    CHECK(fitted > 50);
    CHECK(failed > 50);
  }
}

TEST_CASE("room_counter: what others take is between its bounds") {
  std::size_t certain = 0;
  std::size_t impossible = 0;
  allot_test::for_each_seed(400, [&](random_source& random) {
    world w{inventory{allot_test::random_cluster(random)}, {}};
    room_counter then;
    const pod_request d = whole_gpus(random);
    if (!then.keep(w.places, d)) return;
    for (int round = 0; round < 20; ++round) w.change(random, then);
    then.look(w.places);
    inventory later = w.later();
    std::uint64_t most = 0;
    std::uint64_t least = 0;
    for (int others = 0; others < 4; ++others) {
      const pod_request other = of_any_size(random);
      if (!later.place(other)) continue;
      const auto taken = then.taken_by(w.places, other);
      least += taken.first;
      most += taken.second;
      const auto before = later.save();
      const bool has_place = later.place(d).has_value();
      later.rollback(before);
      if (then.fits(most) == true) {
        ++certain;
        REQUIRE(has_place);
      }
      if (then.fits(least) == false) {
        ++impossible;
        REQUIRE(!has_place);
      }
    }
  });
  if (allot_test::all_cases_run()) {
    CHECK(certain > 50);
    CHECK(impossible > 50);
  }
}

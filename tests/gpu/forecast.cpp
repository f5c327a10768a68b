// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/forecast.hpp>

#include <allot/gpu/inventory.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>
#include <tests/support/seeds.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

using allot::gpus;
using allot::quantity;
using allot::gpu::allocation_id;
using allot::gpu::forecast;
using allot::gpu::inventory;
using allot::gpu::node_id;
using allot::gpu::pod_request;
using allot_test::random_source;

namespace {

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

  /// Something happens, of which the forecast is told as little as possible.
  void change(random_source& random, forecast& told) {
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

TEST_CASE("forecast: by hand") {
  inventory two{allot_test::equal_nodes(2, 4)};
  const auto a = two.place({.gpus = gpus(3)}).value();
  forecast then;
  REQUIRE(then.begin(two, {.gpus = gpus(4)}));
  CHECK(then.fits());
  const auto b = two.place({.gpus = gpus(4)}).value();
  then.look(two);
  CHECK(!then.fits());
  then.gone(two, a);
  CHECK(then.fits());
  CHECK(!then.fits(1));
  then.gone(two, b);
  CHECK(then.fits(1));
  // Two pods of three GPUs take both nodes at most, and none for certain.
  CHECK(then.most_taken(two, {.gpus = gpus(3), .pods = 2}) == 2);
  CHECK(then.least_taken(two, {.gpus = gpus(3), .pods = 2}) == 0);
  CHECK(then.least_taken(two, {.gpus = gpus(8), .total = true}) == 2);
  CHECK(then.could_fit(1));
  CHECK(!then.could_fit(2));
}

TEST_CASE("forecast: says which requests it can't count") {
  inventory one{allot_test::equal_nodes(1, 4)};
  forecast count;
  CHECK(!count.begin(one, {.gpus = {}}));
  CHECK(!count.begin(one, {.gpus = gpus(1), .pods = 0}));
  CHECK(!count.begin(one, {.gpus = {}, .gpu_memory_mib = 100}));
  CHECK(!count.begin(one, {.gpus = quantity::milli(500)}));
  CHECK(!count.begin(one, {.gpus = gpus(1), .required_level = 0}));
}

TEST_CASE("forecast: agrees with the inventory when they have gone, whatever happens before") {
  std::size_t fitted = 0;
  std::size_t failed = 0;
  allot_test::for_each_seed(400, [&](random_source& random) {
    world w{inventory{allot_test::random_cluster(random)}, {}};
    forecast then;
    const pod_request d = whole_gpus(random);
    if (!then.begin(w.places, d)) return;
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

TEST_CASE("forecast: what others take is between its bounds") {
  std::size_t certain = 0;
  std::size_t impossible = 0;
  allot_test::for_each_seed(400, [&](random_source& random) {
    world w{inventory{allot_test::random_cluster(random)}, {}};
    forecast then;
    const pod_request d = whole_gpus(random);
    if (!then.begin(w.places, d)) return;
    for (int round = 0; round < 20; ++round) w.change(random, then);
    then.look(w.places);
    inventory later = w.later();
    std::uint64_t most = 0;
    std::uint64_t least = 0;
    for (int others = 0; others < 4; ++others) {
      const pod_request other = of_any_size(random);
      if (!later.place(other)) continue;
      most += then.most_taken(w.places, other);
      least += then.least_taken(w.places, other);
      const auto before = later.save();
      const bool has_place = later.place(d).has_value();
      later.rollback(before);
      if (then.fits(most)) {
        ++certain;
        REQUIRE(has_place);
      }
      if (!then.could_fit(least)) {
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

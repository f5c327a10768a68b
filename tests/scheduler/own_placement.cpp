// SPDX-License-Identifier: BSL-1.0
// The placement of examples/own_placement.hpp: what it says without moving jobs is what moving them would
// show.
#include <allot/presets/standard.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "examples/own_placement.hpp"
#include "tests/support/seeds.hpp"

using allot_test::random_source;
using own_placement::amounts;
using own_placement::machines;

static_assert(allot::guarded_placement<machines>);
static_assert(allot::grouped_placement_room<machines::room_counter, machines>);

namespace {

constexpr std::uint32_t group_count = 3;

amounts some(random_source& random, std::int64_t most) {
  amounts r;
  for (std::size_t d = 0; d < r.size(); ++d) r[d] = allot::quantity::whole(random.between(0, most));
  return r;
}
machines some_machines(random_source& random) {
  std::vector<own_placement::machine> all(1 + random.below(5));
  for (auto& m : all) m = {"m" + std::to_string(&m - all.data()), some(random, 12)};
  return machines{all};
}

/// A cluster with jobs of which some may be preempted (in a group), some are being released, and some must
/// stay.
struct world {
  struct job {
    machines::allocation at;
    std::uint32_t group;
    bool leaves = false;
  };

  explicit world(random_source& random) : places(some_machines(random)) {
    for (std::size_t left = random.below(25); left > 0; --left) {
      const std::optional<machines::allocation> at = places.place(some(random, 5));
      if (!at) continue;
      jobs.push_back({*at, static_cast<std::uint32_t>(random.below(group_count + 1))});
      if (jobs.back().group < group_count) counted.may_go(places, jobs.back().group, *at);
    }
    for (job& j : jobs) {
      if (j.group == group_count || !random.one_in(6)) continue;
      places.vacate(j.at);
      counted.may_not_go(places, j.group, j.at);
      j.leaves = true;
    }
    if (random.one_in(3)) places.close(random.below(places.size()));
  }
  [[nodiscard]] bool may_go(const job& j) const { return j.group < group_count && !j.leaves; }

  machines places;
  machines::room_counter counted;
  std::vector<job> jobs;
};

bool has_room(machines places, const amounts& r) {
  return places.place(r).has_value();
}

}  // namespace

TEST_CASE("own placement: might_fit agrees with brute force") {
  std::size_t yes = 0, no = 0;
  allot_test::for_each_seed(2000, [&](random_source& random) {
    world w{random};
    for (int i = 0; i < 5; ++i) {
      const amounts r = some(random, 12);
      std::vector<std::uint32_t> groups;
      machines without = w.places;
      for (std::uint32_t g = 0; g < group_count; ++g) {
        if (random.one_in(2)) groups.push_back(g);
      }
      for (const auto& j : w.jobs) {
        const bool asked = std::find(groups.begin(), groups.end(), j.group) != groups.end();
        if (asked && w.may_go(j)) without.vacate(j.at);
      }
      const bool fits = has_room(without, r);
      CHECK(w.counted.might_fit(w.places, r, groups) == fits);
      ++(fits ? yes : no);
    }
  });
  CHECK_MESSAGE((!allot_test::all_cases_run() || (yes > 1000 && no > 1000)),
                yes << " fit, " << no << " do not");
}

TEST_CASE("own placement: the counter agrees with brute force for each set of evicted jobs") {
  std::size_t useless = 0;
  allot_test::for_each_seed(1000, [&](random_source& random) {
    world w{random};
    const amounts r = some(random, 12);
    REQUIRE(w.counted.begin(w.places, r));
    machines without = w.places;
    std::vector<bool> gone(w.jobs.size());
    for (std::size_t step = 0; step < 3 * w.jobs.size(); ++step) {
      const std::size_t k = random.below(w.jobs.size());
      const auto& j = w.jobs[k];
      if (!w.may_go(j)) continue;
      if (gone[k]) {
        const bool helps = w.counted.helps(w.places, j.at);
        const bool before = has_room(without, r);
        without.reoccupy(j.at);
        w.counted.back(w.places, j.at);
        if (!helps) CHECK(has_room(without, r) == before);
        useless += helps ? 0 : 1;
      } else {
        without.vacate(j.at);
        w.counted.gone(w.places, j.at);
      }
      gone[k] = !gone[k];
      CHECK(w.counted.fits(0) == has_room(without, r));
    }
  });
  CHECK((useless > 100 || !allot_test::all_cases_run()));
}

TEST_CASE("own placement: savepoints nest and restore everything") {
  allot_test::for_each_seed(500, [](random_source& random) {
    world w{random};
    const auto act = [&] {
      if (const auto at = w.places.place(some(random, 4))) {
        if (random.one_in(3)) w.places.release(*at);
      }
      if (w.jobs.empty()) return;
      auto& j = random.pick(w.jobs);
      if (!w.places.contains(j.at)) return;
      j.leaves ? w.places.reoccupy(j.at) : w.places.vacate(j.at);
      j.leaves = !j.leaves;
      if (random.one_in(4)) w.places.release(j.at);
    };
    const machines before = w.places;
    const auto outer = w.places.save();
    for (int i = 0; i < 5; ++i) act();
    const machines between = w.places;
    const auto inner = w.places.save();
    for (int i = 0; i < 5; ++i) act();
    const bool keep = random.one_in(2);
    keep ? w.places.commit(inner) : w.places.rollback(inner);
    CHECK((keep || w.places == between));
    w.places.rollback(outer);
    CHECK(w.places == before);
  });
}

TEST_CASE("own placement: a place is ready once the jobs leaving it are no longer in the way") {
  const auto of = [](std::int64_t n) { return amounts{allot::quantity::whole(n)}; };
  machines m{{{"m", of(8)}}};
  const auto first = m.place(of(6)).value();
  CHECK(m.ready(first));
  CHECK_FALSE(m.place(of(4)).has_value());
  m.vacate(first);
  const auto second = m.place(of(2)).value();
  const auto third = m.place(of(4)).value();
  CHECK(m.ready(second));
  CHECK_FALSE(m.ready(third));
  CHECK(m.usable(third));
  m.close(0);
  CHECK_FALSE(m.usable(third));
  m.release(first);
  CHECK(m.ready(third));
  CHECK_FALSE(m.contains(first));
  CHECK(m.could_ever_fit(of(8)));
  CHECK_FALSE(m.could_ever_fit(of(9)));
  CHECK(to_string(m.why_not(of(3))) == "0 of 1 machines have room: 1 is closed");
  m.close(0, false);
  CHECK(to_string(m.why_not(of(3))) ==
        "0 of 1 machines have room: 1 lacks CPUs, 1 lacks memory, 1 lacks GPUs");
}

namespace {

struct one_job {
  allot::quota_id quota;
  amounts needs;
};
struct one_job_view {
  using job = const one_job*;
  allot::quota_id quota(job j) const { return j->quota; }
  amounts request(job j) const { return j->needs; }
  int priority(job) const { return 0; }
  amounts pod_request(job j) const { return j->needs; }
};

}  // namespace

TEST_CASE("own placement: a job is adopted on its machine, and no other at its place") {
  const amounts two{allot::quantity::whole(2), allot::quantity{}, allot::quantity{}};
  auto lab = allot::make_scheduler(allot::standard{}, one_job_view{}, {{.name = "q", .nominal = two * 4}},
                                   machines{{{"m", two * 3}}})
                 .value();
  const one_job job{lab.tree().find("q"), two};
  CHECK_FALSE(lab.take_place(two, std::size_t{1}));
  const auto at = lab.take_place(two, std::size_t{0});
  REQUIRE(at);
  const auto first = lab.adopt(&job, 0, *at);
  REQUIRE(first);
  CHECK(lab.adopt(&job, 0, *at).why_not == allot::refusal::place_in_use);
  CHECK(lab.release_place(*at) == allot::refusal::place_in_use);
  CHECK(lab.places().free(0) == two * 2);
  lab.nodes().close(0);
  lab.retry();
  const auto next = lab.submit(&job);
  CHECK(lab.step(1).admissions.empty());
  lab.nodes().close(0, false);
  lab.retry();
  CHECK(lab.step(2).admissions.size() == 1);
  CHECK(lab.release_place(lab.place_of(next)) == allot::refusal::place_in_use);
  CHECK(lab.finished(first) == allot::refusal::none);
  CHECK(lab.release_place(*at) == allot::refusal::unknown_place);
  CHECK(lab.places().free(0) == two * 2);
}

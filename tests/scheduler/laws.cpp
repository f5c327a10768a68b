// SPDX-License-Identifier: BSL-1.0
// The laws of tests/README.md for the preset `standard`, on random trees, machines, workloads, settings and
// sequences of events. (Victims and the fifth law against brute force: laws_victims.cpp; the sixth:
// laws_entitlements.cpp; other presets: laws_presets.cpp.)
#include <allot/presets/standard.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

#include "tests/support/law_host.hpp"
#include "tests/support/property.hpp"
#include "tests/support/scenario.hpp"

using allot::instant;
using allot_test::all_laws;
using allot_test::event_kind;
using allot_test::law;
using allot_test::scenario;
using allot_test::scenario_shape;

namespace {

/// Where jobs may evict one another in a cycle (several rules or dimensions interact), each has a limited
/// number of turns; when they are tried again, which counts as a new world, they continue.
const auto with_circles = all_laws - law::final;

template <std::size_t N, class Preset = allot::standard>
allot_test::law_tally check_standard(const std::string& name, const scenario_shape& shape,
                                     const allot_test::law_set& laws) {
  allot_test::law_tally tally;
  const auto worlds = allot_test::scenarios(shape);
  allot_test::check_property(name, [worlds, laws, &tally] {
    const scenario s = *worlds;
    allot_test::check_laws<Preset, N>(s, laws, &tally);
  });
  return tally;
}

/// Each step is one unit of time.
template <instant First>
struct backing_off : allot::standard {
  [[nodiscard]] static constexpr allot::queue_settings defaults() noexcept {
    allot::queue_settings s = allot::standard{}.defaults();
    s.borrow_backoff = {First, 4 * First};
    return s;
  }
};

}  // namespace

TEST_CASE("laws: random events") {
  scenario_shape shape;
  shape.two_dimensions = false;
  const auto tally = check_standard<1>("whatever happens", shape, with_circles);
  if (allot_test::all_cases_run()) {
    CHECK(tally.of(law::need) > 200);
    CHECK(tally.of(law::quiet) > 100);
    CHECK(tally.of(law::deterministic) >= 1000);
    CHECK(tally.of(law::reversible) >= 1000);
    CHECK(tally.of(law::explained) > 500);
  }
}

TEST_CASE("laws: whatever happens, in two dimensions") {
  check_standard<2>("whatever happens in two dimensions", {}, with_circles);
}

TEST_CASE("laws: no job within nominal waits while others borrow") {
  scenario_shape shape;
  shape.two_dimensions = false;
  shape.random_settings = false;
  shape.overcommit = false;
  const auto tally = check_standard<1>("within the nominal", shape, all_laws);
  if (allot_test::all_cases_run()) CHECK(tally.of(law::guarantee) > 1000);
}

TEST_CASE("laws: nobody within its nominal waits while others borrow, in two dimensions") {
  scenario_shape shape;
  shape.random_settings = false;
  shape.overcommit = false;
  check_standard<2>("within the nominal in two dimensions", shape, with_circles);
}

TEST_CASE("laws: a quota that was reclaimed does not borrow again before its time") {
  scenario_shape shape;
  shape.two_dimensions = false;
  shape.random_settings = false;
  shape.overcommit = false;
  auto tally = check_standard<1, backing_off<3>>("backoff", shape, all_laws);
  if (allot_test::all_cases_run()) {
    CHECK(tally.of(law::guarantee) > 1000);
    CHECK(tally.of(law::backoff) > 100);
  }
  check_standard<1, backing_off<1000>>("long backoff", shape, all_laws);
  check_standard<2, backing_off<3>>("backoff in two dimensions", {}, with_circles);
}

TEST_CASE("laws: a step retries jobs to which a later admission gave a claim") {
  // Job 2, within its nominal quota, is held because q2 owes nothing yet. Then, in the same step, job 3 is
  // admitted, q2 borrows, and job 2 can reclaim its own.
  scenario s;
  s.quotas.resize(3);
  s.quotas[1] = {.number = 1, .parent = 0, .own = {3000}};
  s.quotas[2] = {.number = 2, .parent = 0, .own = {3000}};
  s.jobs = {{.number = 0, .quota = 0, .request = {1000}},
            {.number = 1, .quota = 2, .request = {3000}},
            {.number = 2, .quota = 1, .request = {3000}},
            {.number = 3, .quota = 2, .request = {1000}, .priority = 1}};
  s.events = {{.what = event_kind::arrive, .which = 0},
              {.what = event_kind::arrive, .which = 1},
              {.what = event_kind::cycle},
              {.what = event_kind::arrive, .which = 2},
              {.what = event_kind::arrive, .which = 3}};
  try {
    allot_test::check_laws<allot::standard, 1>(s, all_laws);
  } catch (const allot_test::law_broken& e) {
    FAIL_CHECK(std::string{e.what()});
  }
}

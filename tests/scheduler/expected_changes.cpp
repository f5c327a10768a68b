// SPDX-License-Identifier: BSL-1.0
// Resizes of quotas that are known to come (`scheduler::expect_changes`).
#include <allot/presets/standard.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/sentences.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/timed_host.hpp"

using allot::gpus;
using allot::instant;
using allot::quota_id;
using allot_test::timed_job;
using allot_test::timed_view;

namespace {

constexpr quota_id a{1};
constexpr quota_id b{2};

std::vector<allot::quota_spec<1>> teams(std::int64_t of_a, std::int64_t of_b, bool inclusive = false) {
  std::vector<allot::quota_spec<1>> specs{{.name = "all"}};
  if (inclusive) specs[0].nominal = gpus(of_a + of_b), specs[0].inclusive = true;
  specs.push_back({.name = "a", .parent = "all", .nominal = gpus(of_a)});
  specs.push_back({.name = "b", .parent = "all", .nominal = gpus(of_b)});
  return specs;
}
allot::expected_change<1> resized(quota_id x, std::int64_t to, instant at) {
  return {at, allot::resize_quota<1>{.quota = x, .nominal = allot::resources<1>{gpus(to)}}};
}
timed_job job_of(quota_id x, std::int64_t size, instant estimate) {
  return {.quota = x, .gpus = size, .duration = estimate, .estimate = estimate};
}
auto host(const std::vector<timed_job>& jobs, std::vector<allot::quota_spec<1>> specs) {
  return allot::make_scheduler(allot::standard{}, timed_view{&jobs}, std::move(specs)).value();
}

}  // namespace

TEST_CASE("expected changes: who would be evicted for a resize waits, and is told so") {
  const std::vector<timed_job> jobs{job_of(a, 8, 200), job_of(a, 8, 101), job_of(a, 8, 100)};
  auto s = host(jobs, teams(16, 0));
  const allot::expected_change<1> known[] = {resized(a, 8, 100)};
  CHECK(s.expect_changes(known).empty());
  const allot::job_id first = s.submit(0).id;
  s.step(0);
  CHECK(s.state(first) == allot::job_state::running);
  const allot::job_id second = s.submit(1).id;
  s.step(0);
  const auto why = s.why(second);
  CHECK(why.reason == allot::pending_reason::behind_head);
  CHECK(why.resized_at == std::optional<instant>{100});
  const auto name_of = [](std::uint32_t j) { return std::to_string(j); };
  const auto text_of = [](instant t) { return std::to_string(t); };
  CHECK(sentence(s, why, allot::dimension_names<1>{"gpu"}, name_of, text_of) ==
        "1 waits: a allows it, but will not from 100 on, before it would have ended");
  CHECK(s.reservation_of(second)->start == 200);
  // One that will have ended starts at once.
  const allot::job_id third = s.submit(2).id;
  s.step(0);
  CHECK(s.state(third) == allot::job_state::running);
}

TEST_CASE("expected changes: what is expected replaces what was, and a change of the quotas forgets it") {
  const std::vector<timed_job> jobs{job_of(a, 8, 200), job_of(a, 8, 200), job_of(a, 8, 200)};
  auto s = host(jobs, teams(8, 16));
  const allot::expected_change<1> none_is_lent[] = {resized(b, 0, 50)};
  CHECK(s.expect_changes(none_is_lent).empty());
  for (std::uint32_t j = 0; j < 3; ++j) static_cast<void>(s.submit(j));
  CHECK(s.step(0).admissions.size() == 1);
  const allot::expected_change<1> half_is_lent[] = {resized(b, 8, 50)};
  CHECK(s.expect_changes(half_is_lent).empty());
  CHECK(s.step(1).admissions.size() == 1);
  // A copy knows what the original does.
  auto copy = s;
  CHECK(copy.step(2).admissions.empty());
  const allot::quota_change<1> as_it_is =
      allot::resize_quota<1>{.quota = b, .nominal = allot::resources<1>{gpus(16)}};
  CHECK(s.apply({&as_it_is, 1}));
  CHECK(s.step(2).admissions.size() == 1);
  CHECK(copy.step(3).admissions.empty());
}

TEST_CASE("expected changes: a clock that is set moves them") {
  const std::vector<timed_job> jobs{job_of(a, 8, 100), job_of(a, 8, 101)};
  auto s = host(jobs, teams(16, 0));
  const allot::expected_change<1> known[] = {resized(a, 0, 100)};
  CHECK(s.expect_changes(known).empty());
  s.step(0);
  s.rebase(1000);
  static_cast<void>(s.submit(1));
  CHECK(s.step(1000).admissions.empty());
  static_cast<void>(s.submit(0));
  CHECK(s.step(1000).admissions.size() == 1);
}

TEST_CASE("expected changes: what can't become of the quotas is refused, and nothing is known then") {
  const std::vector<timed_job> jobs{job_of(a, 4, 200)};
  auto s = host(jobs, teams(4, 4, true));
  const allot::expected_change<1> known[] = {resized(quota_id{0}, 0, 100), resized(a, 0, 100),
                                             resized(b, 0, 100)};
  const auto waits = [&] {
    CHECK(s.expect_changes(known).empty());
    auto trial = s;
    static_cast<void>(trial.submit(0));
    return trial.step(0).admissions.empty();
  };
  const auto starts_after = [&](std::vector<allot::expected_change<1>> wrong) {
    CHECK(waits());
    const auto problems = s.expect_changes(wrong);
    CHECK(problems.size() == 1);
    auto trial = s;
    static_cast<void>(trial.submit(0));
    CHECK(trial.step(0).admissions.size() == 1);
    return problems.empty() ? std::string{} : problems.front().text;
  };
  CHECK(starts_after({resized(quota_id{7}, 1, 50)}) == "only resizes of quotas that exist can be expected");
  CHECK(starts_after({{50, allot::remove_quota{a}}}) == "only resizes of quotas that exist can be expected");
  CHECK(starts_after({resized(a, 5, 50)}) == "the children of all are given 9, more than the 8 it has");
  // At one time it is one transition, in whatever order they are given.
  const allot::expected_change<1> moved[] = {resized(a, 5, 60), resized(a, 3, 50), resized(b, 3, 60)};
  CHECK(s.expect_changes(moved).empty());
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/metrics/metrics.hpp>
#include <allot/lab/metrics/wait_reasons.hpp>
#include <allot/sim/observers.hpp>
#include <allot/systems/by_name/catalog.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tests/sim/random_world.hpp"
#include "tests/sim/rich_world.hpp"
#include "tests/sim/small_world.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/words.hpp"

using namespace allot_test;
using allot::pending_reason;
using allot::quantity;
using allot::lab::wait_cause;
using allot::lab::wait_cause_count;
using allot::lab::wait_reasons;
using allot::sim::job;

namespace {

using split = std::array<instant, wait_cause_count>;

/// Why a job is pending, as far as it determines the cause of its wait.
struct pending_why {
  pending_reason reason{};
  std::optional<allot::shortfall> binding{};
  std::optional<allot::gpu::unplaceable> placement{};
  job_index what = 0;
};
pending_why by_quota() {
  return {pending_reason::quota, allot::shortfall{a, 0, allot::bound::capacity, gpus(1)}, {}};
}
pending_why by_place(allot::gpu::obstacle why) {
  pending_why h{pending_reason::placement, {}, allot::gpu::unplaceable{}};
  h.placement->reason = why;
  return h;
}

/// Asks for every job separately, at every instant.
template <std::size_t N>
struct slow_reasons final : allot::sim::observer<N> {
  std::map<job_index, wait_cause> now;
  std::vector<split> spent;
  instant last = 0;

  void waiting(allot::sim::simulator<N>& sim) override {
    spent.resize(sim.jobs().size());
    for (const auto& [j, cause] : now) spent[j][static_cast<std::size_t>(cause)] += sim.now() - last;
    last = sim.now();
    now.clear();
    for (job_index j = 0; j < sim.jobs().size(); ++j) {
      if (sim.history(j).outcome != allot::sim::job_outcome::waiting) continue;
      // Others are being evicted for it.
      const bool is_announced = sim.scheduler().announced(sim.history(j).id);
      now[j] = is_announced ? wait_cause::order : allot::lab::cause_of(sim.why(j));
    }
  }
};

template <class Preset, std::size_t N>
void compare(allot::sim::setup<N> s) {
  allot::lab::metrics<N> fast;
  slow_reasons<N> slow;
  allot::sim::observers<N> both{&fast, &slow};
  const auto sim = run<Preset>(std::move(s), both);
  split all{};
  for (job_index j = 0; j < sim.jobs().size(); ++j) {
    const instant total = fast.waits().total(j, sim.now());
    split expected = j < slow.spent.size() ? slow.spent[j] : split{};
    const instant seen = expected[0] + expected[1] + expected[2] + expected[3];
    // A job that ran from the start waited before the first observation.
    REQUIRE(total >= seen);
    expected[static_cast<std::size_t>(wait_cause::order)] += total - seen;
    INFO("job " << j);
    REQUIRE(fast.reasons().split(j, total, sim.now()) == expected);
    for (std::size_t c = 0; c < wait_cause_count; ++c) all[c] += expected[c];
  }
  const auto figures = fast.figures(sim);
  for (std::size_t c = 0; c < wait_cause_count; ++c) {
    REQUIRE(figures.of.waited.by[c] == static_cast<allot::wide>(all[c]));
  }
}

}  // namespace

TEST_CASE("wait_reasons: the cause of each pending reason") {
  using allot::gpu::obstacle;
  CHECK(allot::lab::cause_of(by_quota()) == wait_cause::fair_share);
  CHECK(allot::lab::cause_of(by_place(obstacle::full)) == wait_cause::capacity);
  CHECK(allot::lab::cause_of(by_place(obstacle::fragmented)) == wait_cause::fragmentation);
  CHECK(allot::lab::cause_of(by_place(obstacle::none)) == wait_cause::order);
  CHECK(allot::lab::cause_of(pending_why{pending_reason::behind_head, {}, {}}) == wait_cause::order);
  for (const auto found :
       {pending_reason::not_proven, pending_reason::lost_work, pending_reason::preempts_later}) {
    pending_why h = by_quota();
    h.reason = found;
    CHECK(allot::lab::cause_of(h) == wait_cause::fair_share);
    h = by_place(obstacle::fragmented);
    h.reason = found;
    CHECK(allot::lab::cause_of(h) == wait_cause::fragmentation);
  }
  CHECK(allot::lab::cause_of(pending_why{pending_reason::evictions, {}, {}}) == wait_cause::order);
}

TEST_CASE("wait_reasons: clocks of a group, by hand") {
  const std::vector<job<1>> jobs = {job_of(a, 1, 0, 1), job_of(a, 1, 0, 1), job_of(b, 1, 0, 1)};
  using reasons = wait_reasons<1>;
  reasons r;
  std::size_t asked = 0;
  std::map<allot::quota_id, pending_why> pending;
  const auto why = [&](job_index j) {
    ++asked;
    return pending[jobs[j].quota];
  };
  pending[a] = by_quota();
  pending[b] = by_place(allot::gpu::obstacle::fragmented);
  r.begin(jobs, 0, 10, jobs[0].quota);
  r.begin(jobs, 2, 10, jobs[2].quota);
  r.look(10, reasons::change::any, why);
  CHECK(asked == 2);
  CHECK(r.any_lacks_a_place());
  // A job that joins a group has the group's reason, and nothing has changed.
  r.begin(jobs, 1, 14, jobs[1].quota);
  r.look(14, reasons::change::nothing, why);
  CHECK(asked == 2);
  // Where there is only less room, a job stopped by its quota is still stopped by it.
  pending[b] = by_place(allot::gpu::obstacle::full);
  r.look(20, reasons::change::less_room, why);
  CHECK(asked == 3);
  pending[a] = pending_why{pending_reason::behind_head, {}, {}};
  r.look(23, reasons::change::any, why);
  CHECK(asked == 5);
  r.end(0, 25);
  r.end(2, 25);
  CHECK(r.split(0, 15, 25) == split{13, 0, 0, 2});
  CHECK(r.split(1, 11, 25) == split{9, 0, 0, 2});
  CHECK(r.split(2, 15, 25) == split{0, 10, 5, 0});
  // It is pending again: the second wait adds to the first.
  pending[b] = by_quota();
  r.begin(jobs, 2, 40, jobs[2].quota);
  r.look(40, reasons::change::any, why);
  CHECK_FALSE(r.any_lacks_a_place());
  r.end(2, 47);
  CHECK(r.split(2, 22, 50) == split{7, 10, 5, 0});
  std::vector<job_index> kinds;
  r.for_each_kind(a, [&](job_index j) { kinds.push_back(j); });
  r.for_each_kind(b, [&](job_index j) { kinds.push_back(j); });
  CHECK(kinds == std::vector<job_index>{1});
  // A job that was never submitted has waited for nothing.
  CHECK(r.split(77, 0, 50) == split{});
}

namespace {

/// A bound that binds everything, of which so much is left.
struct root_bound {
  const quantity& left;
  std::optional<quantity> follow(const pending_why&) const { return left; }
  bool follow_all(const pending_why&, auto) const { return false; }
  quantity room(const allot::lab::quota_bound&) const { return left; }
  void for_each_above(allot::quota_id, auto) const {}
};
/// Each quota's own bound, of b that of guaranteed capacity, of which so much is left.
struct own_bounds {
  const quantity& left;
  std::optional<quantity> follow(const pending_why&) const { return quantity{}; }
  bool follow_all(const pending_why&, auto) const { return false; }
  quantity room(const allot::lab::quota_bound& of) const {
    CHECK((of.kind == allot::capacity_kind::guaranteed) == (of.quota == b));
    return left;
  }
  void for_each_above(allot::quota_id x, auto visit) const { visit(x); }
};

/// Each quota's own bound, of which so much is left.
struct quota_bounds {
  const std::vector<job<1>>& jobs;
  const std::map<allot::quota_id, quantity>& left;
  std::optional<quantity> follow(const pending_why& h) const { return left.at(jobs[h.what].quota); }
  bool follow_all(const pending_why& h, auto visit) const {
    visit(allot::lab::quota_bound{jobs[h.what].quota}, jobs[h.what].request[0]);
    return true;
  }
  quantity room(const allot::lab::quota_bound& of) const { return left.at(of.quota); }
  void for_each_above(allot::quota_id x, auto visit) const { visit(x); }
};

/// Whom a look asks, by number.
template <class Why, class Bounds>
std::vector<job_index> asked_at(wait_reasons<1>& r, instant now, Why why, const Bounds& bounds,
                                std::optional<std::span<const allot::quota_id>> changed = {}) {
  std::vector<job_index> asked;
  const auto ask = [&](job_index j) {
    asked.push_back(j);
    return why(j);
  };
  r.look(now, wait_reasons<1>::change::any, ask, bounds, changed);
  std::sort(asked.begin(), asked.end());
  return asked;
}

}  // namespace

TEST_CASE("wait_reasons: who is bound by a quota is asked again once that has room") {
  const std::vector<job<1>> jobs = {job_of(a, 1, 0, 1), job_of(a, 3, 0, 1), job_of(b, 2, 0, 1)};
  wait_reasons<1> r;
  quantity left;
  const auto why = [&](job_index j) {
    const quantity wants = jobs[j].request[0];
    if (wants <= left) return pending_why{pending_reason::behind_head, {}, {}};
    return pending_why{
        pending_reason::quota, allot::shortfall{a, 0, allot::bound::capacity, wants - left}, {}};
  };
  const auto look = [&](instant now) { return asked_at(r, now, why, root_bound{left}); };
  for (job_index j = 0; j < jobs.size(); ++j) r.begin(jobs, j, 0, jobs[j].quota);
  CHECK(look(0) == std::vector<job_index>{0, 1, 2});
  CHECK(look(1).empty());
  left = gpus(2);
  CHECK(look(2) == std::vector<job_index>{0, 2});
  // Those that nothing binds may have another reason at any time; now they are bound again.
  left = gpus(1);
  CHECK(look(3) == std::vector<job_index>{0, 2});
  CHECK(look(4) == std::vector<job_index>{0});
  // Who goes is not asked any more, and who comes back is.
  r.end(1, 4);
  r.end(2, 4);
  r.begin(jobs, 2, 5, jobs[2].quota);
  CHECK(look(5) == std::vector<job_index>{0, 2});
  r.forget_bounds();
  CHECK(look(6) == std::vector<job_index>{0, 2});
  left = gpus(9);
  CHECK(look(7) == std::vector<job_index>{0, 2});
  r.end(0, 8);
  r.end(2, 8);
  CHECK(r.split(0, 8, 8) == split{2, 0, 0, 6});
  CHECK(r.split(1, 4, 8) == split{4, 0, 0, 0});
  CHECK(r.split(2, 7, 8) == split{5, 0, 0, 2});
}

TEST_CASE("wait_reasons: a group that a bound binds is asked again when usage below that bound has changed") {
  const std::vector<job<1>> jobs = {job_of(a, 1, 0, 1), job_of(b, 1, 0, 1)};
  wait_reasons<1> r;
  quantity left;
  const auto why = [&](job_index j) {
    const auto kind = j == 0 ? allot::bound::borrow_limit : allot::bound::guarantee;
    return pending_why{pending_reason::quota, allot::shortfall{jobs[j].quota, 0, kind, gpus(1)}, {}};
  };
  const auto look = [&](instant now, const std::vector<allot::quota_id>& changed) {
    return asked_at(r, now, why, own_bounds{left}, changed);
  };
  for (job_index j = 0; j < jobs.size(); ++j) r.begin(jobs, j, 0, jobs[j].quota);
  CHECK(look(0, {}).size() == 2);
  left = gpus(1);
  CHECK(look(1, {}).empty());
  CHECK(look(2, {b}) == std::vector<job_index>{1});
  CHECK(look(3, {a}) == std::vector<job_index>{0});
}

TEST_CASE("wait_reasons: of groups that wait for the same place one is asked, while bounds let them in") {
  const std::vector<job<1>> jobs = {job_of(a, 1, 0, 1), job_of(b, 1, 0, 1), job_of(b, 2, 0, 1)};
  std::map<allot::quota_id, quantity> left = {{a, gpus(2)}, {b, gpus(2)}};
  auto obstacle = allot::gpu::obstacle::fragmented;
  const auto why = [&](job_index j) {
    const quantity missing = jobs[j].request[0] - left[jobs[j].quota];
    if (missing <= quantity{}) return by_place(obstacle);
    return pending_why{
        pending_reason::quota, allot::shortfall{jobs[j].quota, 0, allot::bound::capacity, missing}, {}};
  };
  wait_reasons<1> r;
  const auto look = [&](instant now, const std::vector<allot::quota_id>& changed) {
    std::vector<job_index> asked;
    const auto ask = [&](job_index j) {
      asked.push_back(j);
      auto h = why(j);
      h.what = j;
      return h;
    };
    r.look(now, wait_reasons<1>::change::any, ask, quota_bounds{jobs, left}, std::span{changed});
    return asked.size();
  };
  for (job_index j = 0; j < jobs.size(); ++j) r.begin(jobs, j, 0, jobs[j].quota);
  CHECK(look(0, {}) == 3 + 2);
  CHECK(look(1, {}) == 2);
  // All of them wait for another cause at once.
  obstacle = allot::gpu::obstacle::full;
  CHECK(look(2, {a}) == 1 + 2);
  CHECK(r.any_lacks_a_place());
  // b leaves less than one of its jobs asks for; then as much as before.
  left[b] = gpus(1);
  CHECK(look(4, {b}) == 2 + 1);
  CHECK(look(7, {}) == 1);
  left[b] = gpus(2);
  CHECK(look(9, {b}) == 2 + 2);
  // Whose place others wait for, too, and the last one.
  r.end(0, 10);
  CHECK(look(10, {}) == 2);
  r.end(1, 11);
  r.end(2, 11);
  CHECK(look(11, {}) == 0);
  CHECK_FALSE(r.any_lacks_a_place());
  CHECK(r.split(0, 10, 11) == split{0, 2, 8, 0});
  CHECK(r.split(1, 11, 11) == split{0, 2, 9, 0});
  CHECK(r.split(2, 11, 11) == split{5, 2, 4, 0});
}

TEST_CASE("wait_reasons: the split of a run, worked by hand") {
  // Two nodes of 4 GPUs; a may have 5 of them and b 3. Job 0 has 3 of the first node and 1 the 2 of the
  // second for 10 s, so 2, of a, has no quota until then. Job 3 of b asks for 3 GPUs and finds 1 and 2:
  // fragmentation.
  std::vector<job<1>> jobs = {job_of(a, 3, 0, 10), job_of(a, 2, 0, 10), job_of(a, 1, 0, 1),
                              job_of(b, 3, 0, 1)};
  auto s = world<allot::static_quotas>(siblings({5, 3}), std::move(jobs));
  s.where = nodes(2, 4);
  allot::lab::metrics<1> m;
  const auto sim = run<allot::static_quotas>(std::move(s), m);
  const auto of = [&](job_index j) { return m.reasons().split(j, m.waits().total(j, sim.now()), sim.now()); };
  CHECK(of(0) == split{});
  CHECK(of(1) == split{});
  CHECK(of(2) == split{10 * second, 0, 0, 0});
  CHECK(of(3) == split{0, 10 * second, 0, 0});
  const auto f = m.figures(sim);
  CHECK(f.of.waited.total() == 20'000);
  CHECK(f.quotas[b.index()].of.waited[wait_cause::fragmentation] == 10'000);
  // 3 GPUs were idle all the while, and after that no job lacked a place.
  CHECK(f.idle_while_unplaceable == allot::wide{3'000} * 10'000);
  CHECK(f.idle == allot::wide{3'000} * 10'000 + allot::wide{4'000} * 1'000);
}

TEST_CASE("wait_reasons: agrees with a count job by job, on random workloads under every preset") {
  for_each_seed(100, [](random_source& random) {
    const random_world given = make_random_world(random);
    allot::for_each_preset([&](auto preset) {
      using preset_type = decltype(preset);
      INFO("under " << preset_type::name);
      compare<preset_type>(given.setup_for<preset_type>());
    });
    compare<allot::standard>(make_rich_world(random));
    auto backing_off = given.setup_for<allot::standard>();
    for (allot::queue_settings& q : backing_off.settings) {
      q.borrow_backoff = {random.between(1, 5) * second, random.between(5, 40) * second};
    }
    INFO("where quotas back off");
    compare<allot::standard>(std::move(backing_off));
  });
}

TEST_CASE("wait_reasons: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::lab::wait_cause>(4));
  CHECK(allot_test::has_words<allot::lab::wait_reasons<>::change>(3));
}

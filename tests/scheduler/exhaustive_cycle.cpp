// SPDX-License-Identifier: BSL-1.0
//
// Our cycle with jobs of all kinds: plain, elastic, of several flavors. What it decides of plain jobs is in
// scheduler.cpp and laws.cpp.
#include <allot/scheduler/exhaustive_cycle.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/scheduler/unit_host.hpp"
#include "tests/support/count_allocations.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::job_id;
using allot::job_state;
using allot_test::h100_then_a100;
using allot_test::models;
using allot_test::random_source;
using allot_test::unit_host;

namespace {

allot::queue_settings random_settings(random_source& random) {
  using allot::flavor_step, allot::preempt_reclaim, allot::preempt_within;
  const preempt_within within[] = {preempt_within::never, preempt_within::lower_priority,
                                   preempt_within::lower_or_newer_equal};
  const preempt_reclaim reclaim[] = {preempt_reclaim::never, preempt_reclaim::lower_priority,
                                     preempt_reclaim::any, preempt_reclaim::any};
  const auto step = [&] { return random.one_in(2) ? flavor_step::stay : flavor_step::try_next; };
  allot::queue_settings s;
  s.order = random.one_in(4) ? allot::queue_order::fifo : allot::queue_order::priority;
  s.head = random.one_in(4) ? allot::queue_head::strict : allot::queue_head::best_effort;
  s.preempt = {random.pick(within), random.pick(reclaim), random.one_in(3)};
  s.flavors = {step(), step()};
  return s;
}

/// A host whose jobs and events are random.
template <class Placement>
class random_units {
 public:
  explicit random_units(random_source& random)
      : host_(allot_test::random_quotas<2>(random, {.most_quotas = 7, .deepest = 3, .one_unlimited_in = 0}),
              machines(random)) {
    for (const allot::quota_id x : host_.scheduler().tree().top_down()) {
      names_.emplace_back(host_.scheduler().tree().name(x));
      host_.configure(names_.back(), random_settings(random));
    }
  }

  [[nodiscard]] unit_host<Placement>& host() { return host_; }

  void submit(random_source& random) {
    typename unit_host<Placement>::options o;
    o.pods = static_cast<std::uint32_t>(random.between(1, random.one_in(2) ? 1 : 6));
    o.min_pods = static_cast<std::uint32_t>(random.between(1, o.pods));
    o.priority = static_cast<std::int64_t>(random.below(3));
    o.preemptible = !random.one_in(6);
    const std::int64_t each = random.between(1, o.pods == 1 ? 6 : 2);
    if (random.one_in(2)) o.menu = h100_then_a100(each);
    host_.submit("j" + std::to_string(next_++), random.pick(names_), each, o);
  }
  /// A random event on a job or one of its pods.
  void disturb(random_source& random) {
    std::vector<job_id> known;
    for (const auto& [name, id] : host_.ids()) {
      if (!id || host_.scheduler().state(id) == job_state::unknown) continue;
      if (host_.scheduler().what(id)->name != name) continue;
      known.push_back(id);
      for (const job_id s : host_.scheduler().elastic_pods_of(id)) known.push_back(s);
    }
    if (known.empty()) return;
    const job_id id = random.pick(known);
    switch (host_.scheduler().state(id)) {
      case job_state::running:
        switch (random.below(4)) {
          case 0:
            return host_.evicted(id);
          case 1:
            return host_.evicting(id);
          case 2:
            return host_.cancel(id);
          default:
            return host_.finished(id);
        }
      case job_state::evicting:
        return random.one_in(4) ? host_.finished(id) : host_.evicted(id);
      default:
        return host_.cancel(id);
    }
  }
  /// Evicted jobs are released in any order; the core of an elastic job may be released before its elastic
  /// pods.
  void let_go(random_source& random) {
    std::vector<job_id> going = told();
    random.shuffle(going);
    for (const job_id id : going) {
      if (host_.scheduler().state(id) == job_state::evicting) host_.evicted(id);
    }
  }
  [[nodiscard]] std::vector<job_id> told() {
    std::vector<job_id> result;
    for (const auto& [name, id] : host_.ids()) {
      if (!id || host_.scheduler().state(id) == job_state::unknown) continue;
      if (host_.scheduler().what(id)->name != name) continue;
      if (host_.scheduler().state(id) == job_state::evicting) result.push_back(id);
      for (const job_id s : host_.scheduler().elastic_pods_of(id)) {
        if (host_.scheduler().state(s) == job_state::evicting) result.push_back(s);
      }
    }
    return result;
  }

 private:
  static Placement machines(random_source& random) {
    if constexpr (std::same_as<Placement, allot::no_placement>) {
      return {};
    } else {
      return allot_test::two_models(random.between(1, 3), random.between(1, 3), random.between(4, 8));
    }
  }

  unit_host<Placement> host_;
  std::vector<std::string> names_;
  std::size_t next_ = 0;
};

/// The host checks the books after every call: usage is the sum of units, and plans keep the law.
template <class Placement>
void live_through(random_source& random) {
  random_units<Placement> world{random};
  auto& h = world.host();
  for (int round = 0; round < 25; ++round) {
    for (std::size_t i = random.below(4); i-- > 0;) world.submit(random);
    for (std::size_t i = random.below(3); i-- > 0;) world.disturb(random);
    h.step();
    // In an unchanged world there is nothing more to decide.
    CHECK(h.step().empty());
    if (random.one_in(2)) world.let_go(random);
    if (random.one_in(5)) {
      h.settle();
      CHECK(h.step().empty());
    }
  }
  // Once no eviction is under way, no job is nominated, and no victim evicts its beneficiary.
  for (int cycles = 0;; ++cycles) {
    REQUIRE(cycles < 200);
    world.let_go(random);
    if (h.step().empty() && world.told().empty()) break;
  }
  for (const auto& [name, id] : h.ids()) {
    if (id && h.scheduler().state(id) != job_state::unknown) {
      CHECK(h.scheduler().state(id) != job_state::nominated);
    }
  }
  for (int again = 0; again < 3; ++again) CHECK(h.step().empty());
  // With the jobs removed, the books are as they were at the start.
  for (const auto& [name, id] : h.ids()) {
    if (id && h.scheduler().state(id) != job_state::unknown && h.scheduler().what(id)->name == name) {
      h.cancel(id);
    }
  }
  CHECK(h.step().empty());
  CHECK(h.scheduler().ledger() == allot::ledger<2>{h.scheduler().tree()});
  CHECK(h.scheduler().assumed() == allot::ledger<2>{h.scheduler().tree()});
}

/// Calls `check(host, id, job)` for each job of random worlds that have come to rest with no eviction under
/// way.
template <class Check>
void at_rest(Check check) {
  allot_test::for_each_seed(150, [&](random_source& random) {
    random_units<allot::no_placement> world{random};
    auto& h = world.host();
    for (int round = 0; round < 10; ++round) {
      for (std::size_t i = random.below(5); i-- > 0;) world.submit(random);
      world.disturb(random);
      h.settle();
      if (!world.told().empty()) continue;
      for (const auto& [name, id] : h.ids()) {
        if (!id || h.scheduler().state(id) == job_state::unknown) continue;
        const allot_test::unit_job& j = *h.scheduler().what(id);
        if (j.name == name) check(h, id, j);
      }
    }
  });
}

}  // namespace

TEST_CASE(
    "exhaustive_cycle: whatever happens to elastic and flavored jobs, the books are the sum of their units") {
  allot_test::for_each_seed(150, [](random_source& random) { live_through<allot::no_placement>(random); });
}

TEST_CASE("exhaustive_cycle: reclaims on random loans, with nodes") {
  allot_test::for_each_seed(60, [](random_source& random) { live_through<allot::gpu::inventory>(random); });
}

TEST_CASE("exhaustive_cycle: no job waits that fits in some flavor") {
  at_rest([](auto& h, job_id id, const allot_test::unit_job& j) {
    if (h.scheduler().state(id) != job_state::pending) return;
    if (h.scheduler().settings(j.quota).head == allot::queue_head::strict) return;
    const allot::capacity_kind in =
        j.preemptible ? allot::capacity_kind::any : allot::capacity_kind::guaranteed;
    allot::flavor_pick pick{};
    do {
      const allot::resources<2> request = (j.each + j.menu.request(pick)) * j.min_pods;
      CHECK_FALSE(h.scheduler().assumed().fits(j.quota, request, in));
    } while (advance(pick, j.menu));
  });
}

TEST_CASE("exhaustive_cycle: a running elastic job has all the pods that fit") {
  at_rest([](auto& h, job_id id, const allot_test::unit_job& j) {
    if (h.scheduler().state(id) != job_state::running) return;
    const job_id next = h.waiting_elastic_pod(j.name);
    if (!next || h.scheduler().settings(j.quota).head == allot::queue_head::strict) return;
    const allot::capacity_kind in =
        j.preemptible ? allot::capacity_kind::any : allot::capacity_kind::guaranteed;
    CHECK_FALSE(h.scheduler().assumed().fits(j.quota, h.scheduler().request(next), in));
  });
}

TEST_CASE("exhaustive_cycle: no unit is evicted needlessly (KAI trap 2, on random loans)") {
  allot_test::for_each_seed(400, [](random_source& random) {
    const std::int64_t own = random.between(2, 10);
    unit_host<> h{{{.name = "root"},
                   {.name = "a", .parent = "root", .nominal = models(own)},
                   {.name = "b", .parent = "root", .nominal = models(random.between(0, 4))}}};
    for (int i = 0; i < 4; ++i) {
      const auto pods = static_cast<std::uint32_t>(random.between(1, 6));
      h.submit("b" + std::to_string(i), "b", random.between(1, 2),
               {.pods = pods, .min_pods = static_cast<std::uint32_t>(random.between(1, pods))});
    }
    h.settle();
    const std::int64_t wanted = random.between(1, own);
    h.submit("a1", "a", wanted);
    allot::ledger<2> before = h.scheduler().assumed();
    const auto& plan = h.scheduler().step(1'000);
    if (plan.nominations.empty()) return;
    const allot::quota_id a = h.quota("a");
    // With all its victims released it fits, but with any one of them back it does not.
    std::vector<allot::resources<2>> gone;
    for (const auto& e : plan.evictions) {
      gone.push_back(e.what->each * e.pods);
      before.release(e.quota, gone.back());
    }
    CHECK(before.fits(a, models(wanted)));
    for (std::size_t i = 0; i < gone.size(); ++i) {
      allot::ledger<2> with = before;
      with.charge(plan.evictions[i].quota, gone[i]);
      CHECK_FALSE(with.fits(a, models(wanted)));
    }
    // A core is evicted only when its elastic pods would not have been enough.
    for (const auto& e : plan.evictions) {
      if (e.core || e.pods == e.what->min_pods) continue;
      allot::ledger<2> with = before;
      with.charge(e.quota, e.what->each * e.what->min_pods);
      CHECK_FALSE(with.fits(a, models(wanted)));
    }
  });
}

TEST_CASE("exhaustive_cycle: an elastic job reclaims with as many pods as its quota owns") {
  unit_host<> h{{{.name = "root"},
                 {.name = "a", .parent = "root", .nominal = models(3)},
                 {.name = "b", .parent = "root", .nominal = models(3)}}};
  for (const char* name : {"b1", "b2", "b3", "b4", "b5", "b6"}) h.submit(name, "b", 1);
  CHECK(h.step() == "+b1 +b2 +b3 +b4 +b5 +b6");
  h.submit("e", "a", 1, {.pods = 5, .min_pods = 1});
  CHECK(h.settle() == "-b6>e -b5>e^ -b4>e^ ~e ~e^ ~e^ +e +e^ +e^");
  CHECK(h.pods("e") == 3);
}

TEST_CASE("exhaustive_cycle: elastic pods that are evicted reclaim a few times only") {
  // In a cycle that no rule forbids, a job may preempt others a limited number of times while the world stays
  // as it is. A new pod of an elastic job does not count as a new job.
  allot::detail::preemption_turns core, unit;
  for (std::uint32_t i = 0; i < allot::detail::preemption_turns::most; ++i) {
    CHECK(unit.left_in(7));
    unit.take_in(7);
  }
  CHECK_FALSE(unit.left_in(7));
  core.take_in(7);
  core = std::max(core, unit);
  CHECK_FALSE(core.left_in(7));
  // Another change of the world allows another four.
  CHECK(core.left_in(8));
  unit = {};
  unit.take_in(8);
  CHECK(std::max(core, unit).left_in(8));
}

TEST_CASE("exhaustive_cycle: with views that show everything, plain jobs are decided without allocation") {
  struct plain {
    using job = std::uint32_t;
    allot::quota_id quota(job j) const { return allot::quota_id{1 + j / 1000}; }
    allot::resources<> request(job j) const { return allot::gpus(1 + j % 4); }
    allot::resources<> request(job j, std::uint32_t) const { return request(j); }
    allot::flavor_menu<1> flavors(job, std::uint32_t) const { return {}; }
    std::uint32_t pods(job) const { return 1; }
    std::uint32_t min_pods(job) const { return 1; }
    int priority(job j) const { return static_cast<int>(j % 2); }
    allot::instant time_limit(job) const { return 1'000'000; }
  };
  std::vector<allot::quota_spec<>> specs{{.name = "root"},
                                         {.name = "a", .parent = "root", .nominal = allot::gpus(20)},
                                         {.name = "b", .parent = "root", .nominal = allot::gpus(8)}};
  allot::scheduler<plain> s{plain{}, allot::build_quota_tree<1>(specs).value()};
  allot::queue_settings backs_off = s.settings(allot::quota_id{2});
  backs_off.borrow_backoff = {3, 12};
  REQUIRE(s.configure(allot::quota_id{2}, backs_off).empty());
  allot::instant now = 0;
  std::size_t decisions = 0;
  std::size_t backoffs = 0;
  std::uint32_t number = 0;
  std::array<job_id, 120> ids;
  std::size_t submitted = 0;
  const auto work = [&] {
    for (std::uint32_t round = 0; round < 40; ++round) {
      // First b borrows all it can, then a reclaims its own.
      const std::uint32_t team = round < 20 ? 1 : 0;
      for (int i = 0; i < 3; ++i) ids.at(submitted++) = s.submit(team * 1000 + number++ % 600);
      const auto& plan = s.step(++now);
      std::array<job_id, 64> going;
      const std::size_t count = plan.evictions.size();
      for (std::size_t i = 0; i < count; ++i) going[i] = plan.evictions[i].id;
      decisions += count;
      backoffs += s.wakes_at() < now + 13 ? 1U : 0U;
      for (std::size_t i = 0; i < count; ++i) s.evicted(going[i]);
      static_cast<void>(s.step(++now));
    }
    while (submitted > 0) s.cancel(ids[--submitted]);
    static_cast<void>(s.step(now += 2'000'000));
    number = 0;
  };
  work();
  work();
  const std::size_t before = decisions;
  CHECK(allot_test::allocations_in(work) == 0);
  CHECK(decisions > before);
  CHECK(backoffs > 0);
}

TEST_CASE("exhaustive_cycle: a step in which nothing changed allocates nothing, whatever jobs there are") {
  allot_test::for_each_seed(20, [](random_source& random) {
    random_units<allot::no_placement> world{random};
    auto& h = world.host();
    for (int i = 0; i < 20; ++i) world.submit(random);
    h.settle();
    h.step();
    allot::instant now = 1'000'000;
    bool quiet = true;
    const std::size_t allocated = allot_test::allocations_in([&] {
      for (int i = 0; i < 5; ++i) quiet = h.scheduler().step(++now).empty() && quiet;
    });
    CHECK(quiet);
    CHECK(allocated == 0);
  });
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/builder.hpp>
#include <allot/scheduler/detail/nominated_jobs.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/scheduler/host.hpp"
#include "tests/support/count_allocations.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::job_id;
using allot::job_state;
using allot::ledger;
using allot::quota_id;
using allot_test::random_source;

namespace {

using record = allot::detail::job_record<allot_test::host_view, allot::no_placement>;
using list = allot::detail::nominated_jobs<allot_test::host_view, allot::no_placement>;

/// Books and nominated jobs with their model: for each job its state and its beneficiary.
struct world {
  allot::detail::books<allot_test::host_view, allot::no_placement> books;
  allot::detail::job_table<record> jobs;
  list waiting;
  std::vector<job_id> running, order;
  std::vector<std::pair<job_id, job_id>> leaving;

  explicit world(allot::quota_tree<> tree) : books(std::move(tree), {}) {}

  record& add(quota_id x, std::int64_t size) {
    const job_id id = jobs.add();
    record& r = jobs[id];
    r.facts.id = id;
    r.facts.quota = x;
    r.facts.order = id.index();
    r.facts.request = gpus(size);
    r.state = job_state::pending;
    return r;
  }
  void run(record& r) {
    books.charge(r);
    start(r.facts.id);
  }
  void start(job_id id) {
    books.start(jobs[id], 1);
    jobs[id].state = job_state::running;
    running.push_back(id);
  }
  void tell_to_go(job_id id, job_id beneficiary) {
    books.evict(jobs[id]);
    jobs[id].state = job_state::evicting;
    waiting.expect(id, beneficiary);
    std::erase(running, id);
    leaving.emplace_back(id, beneficiary);
  }
  void nominate(record& r) {
    books.charge(r);
    books.nominate(r, 0);
    r.state = job_state::nominated;
    waiting.add(r.facts.id);
    order.push_back(r.facts.id);
  }
  void goes(std::size_t i) {
    const job_id id = leaving[i].first;
    waiting.left(id);
    books.release(jobs[id]);
    leaving.erase(leaving.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void forget(job_id beneficiary) {
    std::erase(order, beneficiary);
    for (auto& l : leaving) {
      if (l.second == beneficiary) l.second = {};
    }
  }

  /// By definition, from scratch: with the earlier ones placed and their victims released it fits, and it
  /// fits the capacity that is held.
  [[nodiscard]] bool may_start(std::size_t k) {
    ledger<> l{books.allocated().tree()};
    const auto charge = [&](job_id id) { l.charge(jobs[id].facts.quota, jobs[id].facts.request); };
    for (const job_id id : running) charge(id);
    for (std::size_t i = 0; i < k; ++i) charge(order[i]);
    for (const auto& [id, beneficiary] : leaving) {
      const auto at = std::find(order.begin(), order.end(), beneficiary);
      if (at == order.end() || at >= order.begin() + static_cast<std::ptrdiff_t>(k)) charge(id);
    }
    const auto& f = jobs[order[k]].facts;
    return l.fits(f.quota, f.request) && books.allocated().fits(f.quota, f.request);
  }
};

}  // namespace

TEST_CASE("nominated jobs: a job starts when it delays none nominated earlier") {
  std::size_t started = 0;
  std::size_t held_back = 0;
  allot_test::for_each_seed(600, [&](random_source& random) {
    world w{allot::quota_tree<>{allot_test::random_quotas<1>(
        random, {.most_quotas = 6, .one_unlimited_in = 0, .overcommit = false})}};
    const auto quotas = w.books.allocated().tree().top_down();
    for (int i = 0; i < 60; ++i) {
      switch (random.below(4)) {
        case 0: {
          record& r = w.add(random.pick(quotas), random.between(1, 4));
          if (!w.books.assumed().fits(r.facts.quota, r.facts.request)) break;
          w.books.charge(r);
          w.books.nominate(r, 0);
          r.state = job_state::nominated;
          const bool at_once = w.waiting.may_start(w.books, w.jobs, r);
          w.order.push_back(r.facts.id);
          CHECK(at_once == w.may_start(w.order.size() - 1));
          w.order.pop_back();
          w.books.release_nominated(r);
          r.state = job_state::pending;
          if (at_once) {
            w.run(r);
          } else {
            w.nominate(r);
          }
          break;
        }
        case 1: {
          // Some are evicted for a new job, or without a beneficiary.
          record& r = w.add(random.pick(quotas), random.between(1, 6));
          const bool for_nobody = random.one_in(4);
          for (std::size_t k = random.below(4); k > 0 && !w.running.empty(); --k) {
            w.tell_to_go(random.pick(w.running), for_nobody ? job_id::none() : r.facts.id);
          }
          if (!for_nobody && w.books.assumed().fits(r.facts.quota, r.facts.request)) {
            w.nominate(r);
          } else {
            w.waiting.remove(r.facts.id);
            w.forget(r.facts.id);
          }
          break;
        }
        case 2:
          if (!w.leaving.empty()) w.goes(random.below(w.leaving.size()));
          break;
        default:
          if (!w.order.empty() && random.one_in(3)) {
            const job_id id = random.pick(w.order);
            w.waiting.remove(id);
            w.books.release_nominated(w.jobs[id]);
            w.forget(id);
          }
          break;
      }
      if (random.one_in(2)) continue;
      std::vector<job_id> expected;
      const world before = w;
      for (std::size_t k = 0; k < w.order.size();) {
        if (!w.may_start(k)) {
          held_back +=
              w.books.allocated().fits(w.jobs[w.order[k]].facts.quota, w.jobs[w.order[k]].facts.request) ? 1U
                                                                                                         : 0U;
          ++k;
          continue;
        }
        const job_id id = w.order[k];
        expected.push_back(id);
        w.forget(id);
        w.start(id);
        k = 0;
      }
      const auto after_running = w.running;
      const auto after_order = w.order;
      const auto after_leaving = w.leaving;
      w = before;
      std::vector<job_id> found;
      w.waiting.start_ready(
          w.books, w.jobs, [](job_id) { return true; },
          [&](job_id id) {
            found.push_back(id);
            w.start(id);
          });
      REQUIRE(found == expected);
      w.running = after_running;
      w.order = after_order;
      w.leaving = after_leaving;
      const auto left = w.waiting.waiting();
      REQUIRE(std::vector<job_id>(left.begin(), left.end()) == w.order);
      started += found.size();
    }
  });
  if (allot_test::all_cases_run()) {
    CHECK(started > 500);
    CHECK(held_back > 100);
  }
}

TEST_CASE("nominated jobs: queries do not allocate once the buffers have grown") {
  world w{allot::build_quota_tree<1>({{.name = "q", .nominal = gpus(40)}}).value()};
  const quota_id q{0};
  for (int i = 0; i < 10; ++i) w.run(w.add(q, 4));
  for (int i = 0; i < 5; ++i) {
    record& r = w.add(q, 8);
    for (int k = 0; k < 2; ++k) w.tell_to_go(w.running.front(), r.facts.id);
    w.nominate(r);
  }
  const auto ask = [&] {
    w.waiting.start_ready(
        w.books, w.jobs, [](job_id) { return true; }, [](job_id) {});
  };
  ask();
  CHECK(allot_test::allocations_in(ask) == 0);
  CHECK(w.waiting.waiting().size() == 5);
}

// What is kept for a nominated job is taken by who may preempt it, at once rather than when it has started.

TEST_CASE("nominated jobs: an owner takes what is on its way to a borrower, and nobody else is evicted") {
  allot_test::host<> h{{{.name = "root"},
                        {.name = "a", .parent = "root", .nominal = gpus(4)},
                        {.name = "b", .parent = "root"}}};
  h.submit("a1", "a", 2);
  h.submit("b1", "b", 2);
  CHECK(h.step() == "+a1 +b1");
  h.submit("b2", "b", 2, {.priority = 1});
  CHECK(h.step() == "-b1>b2 ~b2");
  h.submit("a2", "a", 2);
  CHECK(h.step() == "~a2");
  CHECK(h.state("b2") == job_state::pending);
  CHECK(h.scheduler().beneficiary_of(h.id("b1")) == h.id("a2"));
  h.evicted("b1");
  CHECK(h.step() == "+a2");
  CHECK(h.step().empty());
}
TEST_CASE("nominated jobs: in one step, of what was to be evicted only what the owner needs goes") {
  allot_test::host<> h{{{.name = "root"},
                        {.name = "a", .parent = "root", .nominal = gpus(4)},
                        {.name = "b", .parent = "root"}}};
  for (const char* name : {"b1", "b2", "b3", "b4"}) h.submit(name, "b", 1);
  CHECK(h.step() == "+b1 +b2 +b3 +b4");
  // By its priority it takes from its own quota, after that the owner from the borrower.
  h.submit("b5", "b", 4, {.priority = 1});
  h.submit("a1", "a", 1);
  const std::string plan = h.step();
  CAPTURE(plan);
  CHECK(h.state("a1") == job_state::nominated);
  CHECK(h.state("b5") == job_state::pending);
  CHECK(h.scheduler().evicting().size() == 1);
  CHECK(std::count(plan.begin(), plan.end(), '-') == 1);
}
TEST_CASE("nominated jobs: one that may not be preempted keeps what is on its way to it") {
  allot_test::host<> h{{{.name = "root"},
                        {.name = "a", .parent = "root", .nominal = gpus(2)},
                        {.name = "b", .parent = "root", .nominal = gpus(2)}}};
  h.submit("b1", "b", 4);
  CHECK(h.step() == "+b1");
  h.submit("b2", "b", 2, {.priority = 1, .preemptible = false});
  CHECK(h.step() == "-b1>b2 ~b2");
  h.submit("b3", "b", 2, {.priority = 2});
  CHECK(h.step() == "~b3");
  h.submit("a1", "a", 2);
  // From b3, which borrows, and not from b2.
  CHECK(h.step() == "~a1");
  CHECK(h.state("b2") == job_state::nominated);
  CHECK(h.state("b3") == job_state::pending);
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/resized.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/change.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/law_oracle.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/words.hpp"

using allot::gpus;
using allot::job_id;
using allot::ledger;
using allot::quota_change;
using allot::quota_id;
using allot::resize_outcome;
using allot::resize_quota;
using allot::running_job;
using allot_test::random_source;

namespace {

using search = allot::resize_search<1, allot::lowest_priority_then_highest_share>;
using numbers = std::vector<std::size_t>;

struct scene {
  ledger<> l;
  allot::running_index<> running;
  std::size_t jobs = 0;

  explicit scene(std::vector<allot::quota_spec<>> specs)
      : l(allot::build_quota_tree<1>(std::move(specs)).value()) {
    running.resize(l.tree().slots());
  }
  scene& run(const char* in, int count, int each, bool preemptible = true) {
    for (int i = 0; i < count; ++i) {
      running_job<> j;
      j.id = job_id{jobs};
      j.quota = l.tree().find(in);
      j.started = static_cast<allot::instant>(jobs);
      j.order = jobs++;
      j.request = gpus(each);
      l.charge(j.quota, j.request);
      if (preemptible) running.insert(j);
    }
    return *this;
  }
  numbers resize(const char* in, int nominal, resize_outcome expected = resize_outcome::sound) {
    resize_quota<1> change{l.tree().find(in)};
    change.nominal = gpus(nominal);
    const auto over = allot::apply(l, quota_change<1>{change});
    REQUIRE(static_cast<bool>(over));
    search s;
    CHECK(s.run(l, running, over.value()) == expected);
    numbers result;
    for (const auto& v : s.victims()) {
      CHECK(v.how == allot::relation::resized);
      result.push_back(v.job.id.index());
    }
    return result;
  }
};

}  // namespace

TEST_CASE("resized: evicts only from quotas that are over") {
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(8), .borrow = allot::limit::none()},
           {.name = "B", .parent = "root", .nominal = gpus(8)}}};
  s.run("A", 8, 1).run("B", 8, 1);
  CHECK(s.resize("A", 5) == numbers{7, 6, 5});
  CHECK(s.l.is_sound());
}

TEST_CASE("resized: evicts nothing if no quota is over or others lend what is missing") {
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(8)},
           {.name = "B", .parent = "root", .nominal = gpus(8)}}};
  s.run("A", 8, 1).run("B", 4, 1);
  CHECK(s.resize("A", 4).empty());
  // One more GPU, and the pool is too small: A uses more than it owns, B does not.
  CHECK(s.resize("A", 3) == numbers{7});
}

TEST_CASE("resized: evicts as little as possible, gangs are evicted whole") {
  scene s{{{.name = "root", .nominal = gpus(10)}, {.name = "A", .parent = "root"}}};
  s.run("A", 1, 3).run("A", 1, 5).run("A", 1, 2);
  // The newest, of 2, is not needed once the 5 are evicted; nor would it have been enough.
  CHECK(s.resize("root", 6) == numbers{1});
}

TEST_CASE("resized: a department that is over takes from teams that borrow from it") {
  scene s{{{.name = "root", .nominal = gpus(20)},
           {.name = "dept", .parent = "root", .nominal = gpus(8), .borrow = allot::limit::none()},
           {.name = "owner", .parent = "dept", .nominal = gpus(4)},
           {.name = "guest", .parent = "dept"}}};
  s.run("owner", 4, 1).run("guest", 6, 1).run("dept", 2, 1);
  // In proportion to the quota's own capacity, so the guest, which owns nothing, gives first.
  CHECK(s.resize("dept", 5) == numbers{9, 8, 7});
}

TEST_CASE("resized: below an overcommitted quota even jobs within nominal may be evicted") {
  scene s{{{.name = "root", .nominal = gpus(8), .inclusive = true, .overcommit = true},
           {.name = "A", .parent = "root", .nominal = gpus(4)},
           {.name = "B", .parent = "root", .nominal = gpus(4)}}};
  s.run("A", 4, 1).run("B", 4, 1);
  const numbers victims = s.resize("root", 6);
  CHECK(victims.size() == 2);
  CHECK(std::count_if(victims.begin(), victims.end(), [](std::size_t v) { return v < 4; }) == 1);
}

TEST_CASE("resized: reports usage that may not be preempted") {
  scene s{{{.name = "root", .nominal = gpus(8)}, {.name = "A", .parent = "root"}}};
  s.run("A", 3, 2, false).run("A", 2, 1);
  CHECK(s.resize("root", 4, resize_outcome::still_over) == numbers{4, 3});
  CHECK_FALSE(s.l.is_sound());
}

TEST_CASE("resized: elastic pods first, and no job without its elastic pods") {
  scene s{{{.name = "root", .nominal = gpus(8)}, {.name = "A", .parent = "root"}}};
  for (std::size_t i = 0; i < 5; ++i) {
    running_job<> j;
    j.id = job_id{i};
    j.quota = quota_id{1};
    j.order = i;
    j.started = static_cast<allot::instant>(i);
    j.request = gpus(i == 0 ? 4 : 1);
    j.elastic = i != 0;
    if (j.elastic) j.core = job_id{0};
    s.l.charge(j.quota, j.request);
    s.running.insert(j);
  }
  CHECK(s.resize("root", 6) == numbers{4, 3});
  scene again = s;
  for (const std::size_t i : {std::size_t{3}, std::size_t{4}}) {
    const auto jobs = again.running.jobs_of(quota_id{1});
    again.running.erase(
        *std::find_if(jobs.begin(), jobs.end(), [&](const auto& j) { return j.id == job_id{i}; }));
  }
  CHECK(again.resize("root", 3) == numbers{2, 1, 0});
}

TEST_CASE("resized: sound and minimal on random trees, and only below what is over") {
  std::size_t resized = 0;
  allot_test::for_each_seed(6000, [&](random_source& random) {
    ledger<2> l{allot::quota_tree<2>{allot_test::random_quotas<2>(
        random, {.most_quotas = 9, .one_root_in = 20, .one_unlimited_in = 0, .overcommit = false})}};
    allot::running_index<2> running;
    running.resize(l.tree().slots());
    const auto quotas = l.tree().top_down();
    std::vector<running_job<2>> jobs;
    const bool all_may_go = random.one_in(2);
    for (std::size_t i = 0; i < 25; ++i) {
      running_job<2> j;
      j.id = job_id{i};
      j.quota = random.pick(quotas);
      j.priority = random.between(0, 2);
      j.started = random.between(0, 5);
      j.order = i;
      for (std::size_t d = 0; d < 2; ++d) j.request[d] = allot::quantity::milli(500 * random.between(0, 9));
      if (!l.fits(j.quota, j.request)) continue;
      l.charge(j.quota, j.request);
      if (!all_may_go && random.one_in(4)) continue;
      running.insert(j);
      jobs.push_back(j);
    }
    resize_quota<2> change{random.pick(l.tree().top_down())};
    change.nominal = {gpus(random.between(0, 6)), gpus(random.between(0, 6))};
    const auto over = allot::apply(l, quota_change<2>{change});
    if (!over) return;
    const ledger<2> before = l;
    allot::resize_search<2, allot::cheapest_lost_work> find;
    const auto outcome = find.run(l, running, over.value(), 10);
    if (over.value().empty()) CHECK(find.victims().empty());
    CHECK((outcome == resize_outcome::sound) == l.is_sound());
    if (all_may_go) CHECK(outcome == resize_outcome::sound);
    resized += find.victims().empty() ? 0U : 1U;
    std::set<std::size_t> gone;
    for (const auto& v : find.victims()) {
      CHECK(gone.insert(v.job.id.index()).second);
      // No victim could stay.
      CHECK_FALSE(l.fits(v.job.quota, v.job.request, v.job.in));
      // A quota above, or its own quota, was overused.
      bool was_over = false;
      for (quota_id x = v.job.quota; x; x = l.tree().parent(x)) was_over = was_over || !before.is_sound(x);
      CHECK(was_over);
    }
    // The remaining jobs, if something is still overused, would not help.
    if (outcome == resize_outcome::still_over) {
      for (const auto& j : jobs) {
        if (gone.count(j.id.index()) != 0) continue;
        const auto point = l.save();
        const auto missing = [&] {
          allot_test::big sum = 0;
          for (const quota_id x : over.value()) {
            for (std::size_t d = 0; d < 2; ++d) {
              const auto most = l.tree().parent(x) ? l.supply_of(x, d).borrow : allot::quantity{};
              sum += std::max(allot::quantity{}, l.borrowed(x, d) - most).in_milli();
            }
          }
          return sum;
        };
        const auto had = missing();
        l.release(j.quota, j.request);
        CHECK(missing() == had);
        l.rollback(point);
      }
    }
    ledger<2> again = before;
    std::size_t allocated = 0;
    allocated =
        allot_test::allocations_in([&] { static_cast<void>(find.run(again, running, over.value(), 10)); });
    CHECK(allocated == 0);
    CHECK(again == l);
  });
  if (allot_test::all_cases_run()) CHECK(resized > 500);
}

TEST_CASE("resized: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::resize_outcome>(2));
}

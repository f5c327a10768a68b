// SPDX-License-Identifier: BSL-1.0
#include <allot/extras/disruption_budget.hpp>
#include <allot/preemption/search.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/words.hpp"
#include "tests/support/yield_oracle.hpp"

using allot::beneficiary;
using allot::fair_weight;
using allot::gpus;
using allot::job_id;
using allot::ledger;
using allot::limit;
using allot::preempt_reclaim;
using allot::preempt_settings;
using allot::preempt_within;
using allot::quota_id;
using allot::quota_spec;
using allot::relation;
using allot::resources;
using allot::running_job;
using allot::search_outcome;
using allot_test::random_source;

namespace {

/// Every job can be placed somewhere.
struct anywhere {
  template <std::size_t N>
  void take_off(const running_job<N>&) {}
  template <std::size_t N>
  void put_back(const running_job<N>&) {}
  [[nodiscard]] bool could_place() const { return true; }
};
static_assert(allot::search_world<anywhere, 1>);

/// Machines with a number of GPUs each; a job runs on one of them.
struct machines {
  std::vector<std::int64_t> free;
  std::map<std::size_t, std::size_t> where;
  std::int64_t wanted = 0;

  template <std::size_t N>
  void take_off(const running_job<N>& j) {
    free[where.at(j.id.index())] += j.request[0].in_milli();
  }
  template <std::size_t N>
  void put_back(const running_job<N>& j) {
    free[where.at(j.id.index())] -= j.request[0].in_milli();
  }
  [[nodiscard]] bool could_place() const {
    return std::any_of(free.begin(), free.end(), [&](std::int64_t f) { return f >= wanted; });
  }
  friend bool operator==(const machines&, const machines&) = default;
};
static_assert(allot::search_world<machines, 2>);

template <std::size_t N>
using search = allot::victim_search<N, allot::lowest_priority_then_highest_share, allot::eligible_is_fair>;

/// A cluster written by hand: jobs are identified by their numbers, in the order in which they started.
class scene {
 public:
  explicit scene(std::vector<quota_spec<>> specs)
      : ledger_(allot::build_quota_tree<1>(std::move(specs)).value()) {
    running_.resize(ledger_.tree().slots());
  }

  [[nodiscard]] quota_id quota(const char* name) const { return ledger_.tree().find(name); }
  [[nodiscard]] ledger<>& accounts() { return ledger_; }

  /// `count` jobs of `each` GPUs.
  scene& run(const char* in, int count, int each, std::int64_t priority = 0) {
    for (int i = 0; i < count; ++i) {
      running_job<> j;
      j.id = job_id{jobs_.size()};
      j.quota = quota(in);
      j.priority = priority;
      j.started = j.submitted = static_cast<std::int64_t>(jobs_.size());
      j.order = jobs_.size();
      j.request = gpus(each);
      ledger_.charge(j.quota, j.request);
      running_.insert(j);
      jobs_.push_back(j);
    }
    return *this;
  }

  /// The numbers of the victims; nothing remains evicted.
  std::vector<std::size_t> victims(const beneficiary<1>& b, search_outcome expected = search_outcome::found,
                                   std::size_t budget = 1000) {
    search<1> s{{}, {}, budget};
    anywhere world;
    const ledger<> before = ledger_;
    const auto point = ledger_.save();
    CHECK(s.run(ledger_, running_, b, world) == expected);
    ledger_.rollback(point);
    CHECK(ledger_ == before);
    std::vector<std::size_t> result;
    if (expected == search_outcome::found) {
      for (const auto& v : s.victims()) result.push_back(v.job.id.index());
    }
    return result;
  }
  std::vector<std::size_t> victims(const char* in, int request, std::int64_t priority = 0,
                                   preempt_settings may = {}) {
    return victims(asks(in, request, priority, may));
  }
  bool none_for(const char* in, int request, std::int64_t priority = 0, preempt_settings may = {}) {
    return victims(asks(in, request, priority, may), search_outcome::impossible).empty();
  }
  [[nodiscard]] beneficiary<1> asks(const char* in, int request, std::int64_t priority = 0,
                                    preempt_settings may = {}) const {
    return {quota(in), gpus(request), allot::capacity_kind::any, priority, 1000, may};
  }

 private:
  ledger<> ledger_;
  allot::running_index<> running_;
  std::vector<running_job<>> jobs_;
};

using numbers = std::vector<std::size_t>;

}  // namespace

TEST_CASE("search: several borrowers yield evenly (KAI v0.5.1)") {
  // A and B use 6 each and own 4 each; C reclaims its 4.
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(4)},
           {.name = "B", .parent = "root", .nominal = gpus(4)},
           {.name = "C", .parent = "root", .nominal = gpus(4)}}};
  s.run("A", 6, 1).run("B", 6, 1);
  const numbers victims = s.victims("C", 4);
  CHECK(std::set<std::size_t>(victims.begin(), victims.end()) == std::set<std::size_t>{4, 5, 10, 11});
}

TEST_CASE("search: no quota falls below what it owns: gangs are evicted only while their quota borrows") {
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(6)},
           {.name = "C", .parent = "root", .nominal = gpus(4)}}};
  s.run("A", 1, 5).run("A", 1, 5);
  CHECK(s.victims("C", 4) == numbers{1});
  CHECK(s.victims("C", 1) == numbers{1});
  s.run("C", 1, 4);
  CHECK(s.none_for("C", 1));
}

TEST_CASE("search: unnecessary victims are given back") {
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root"},
           {.name = "C", .parent = "root", .nominal = gpus(10)}}};
  s.run("A", 1, 8).run("A", 1, 2);
  // The newest is first in line but not needed once the other is evicted anyway.
  CHECK(s.victims("C", 8) == numbers{0});
  CHECK(s.victims("C", 9) == numbers{1, 0});
  CHECK(s.victims("C", 2) == numbers{1});
}

TEST_CASE("search: a quota over its nominal that can't reclaim anything evicts no job (Kueue #1979)") {
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(4)},
           {.name = "B", .parent = "root", .nominal = gpus(4)}}};
  s.run("A", 4, 1, 9).run("B", 4, 1, 9);
  CHECK(s.none_for("A", 2));
  CHECK(s.none_for("A", 4, 5));
  // Nor does it evict jobs of its own quota when even all of them would not be enough.
  s.run("A", 1, 1, 0);
  CHECK(s.none_for("A", 3, 5));
}

TEST_CASE("search: the borrower may be a cousin (Kueue #3691)") {
  scene s{{{.name = "root"},
           {.name = "left", .parent = "root"},
           {.name = "right", .parent = "root"},
           {.name = "A", .parent = "left", .nominal = gpus(4)},
           {.name = "B", .parent = "right", .nominal = gpus(4)},
           {.name = "sibling", .parent = "left", .nominal = gpus(2)}}};
  s.run("sibling", 1, 2).run("B", 8, 1);
  CHECK(s.victims("A", 3) == numbers{8, 7, 6});
}

TEST_CASE("search: a department reclaims what its teams own together") {
  scene s{{{.name = "root"},
           {.name = "dept", .parent = "root", .nominal = gpus(8)},
           {.name = "A", .parent = "dept"},
           {.name = "B", .parent = "dept"},
           {.name = "other", .parent = "root"}}};
  s.run("other", 2, 2).run("B", 2, 2);
  // A owns nothing, but its department owns what other uses; B owes nothing within the department.
  CHECK(s.victims("A", 4) == numbers{1, 0});
  CHECK(s.none_for("A", 5));
}

TEST_CASE("search: a quota whose parent covers its loan owes nothing to others") {
  scene s{{{.name = "root"},
           {.name = "dept", .parent = "root"},
           {.name = "A", .parent = "dept", .nominal = gpus(8)},
           {.name = "B", .parent = "dept"},
           {.name = "C", .parent = "root", .nominal = gpus(4)},
           {.name = "D", .parent = "root"}}};
  s.run("B", 8, 1).run("D", 4, 1);
  CHECK(s.victims("C", 2) == numbers{11, 10});
}

TEST_CASE("search: jobs that started at the same instant cost no extra victims (Kueue #1875)") {
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root"},
           {.name = "C", .parent = "root", .nominal = gpus(4)}}};
  ledger<>& l = s.accounts();
  allot::running_index<> running;
  running.resize(l.tree().slots());
  for (std::size_t i = 0; i < 4; ++i) {
    running_job<> j;
    j.id = job_id{i};
    j.quota = s.quota("A");
    j.order = i;
    j.request = gpus(1);
    l.charge(j.quota, j.request);
    running.insert(j);
  }
  search<1> find;
  anywhere world;
  CHECK(find.run(l, running, s.asks("C", 2), world) == search_outcome::found);
  REQUIRE(find.victims().size() == 2);
  // The last in line, by their numbers.
  CHECK(find.victims()[0].job.order == 3);
  CHECK(find.victims()[1].job.order == 2);
}

TEST_CASE("search: within a quota lower priorities yield, lowest first, equal ones only if newer") {
  scene s{{{.name = "root"}, {.name = "A", .parent = "root", .nominal = gpus(3)}}};
  s.run("A", 1, 1, 1).run("A", 1, 1, 0).run("A", 1, 1, 2);
  CHECK(s.victims("A", 1, 2) == numbers{1});
  CHECK(s.victims("A", 2, 2) == numbers{1, 0});
  CHECK(s.none_for("A", 3, 2));
  CHECK(s.none_for("A", 1, 0));
  CHECK(s.none_for("A", 1, 9, {.within = preempt_within::never}));
  preempt_settings newer{.within = preempt_within::lower_or_newer_equal};
  beneficiary<1> b = s.asks("A", 1, 0, newer);
  CHECK(s.victims(b, search_outcome::impossible).empty());
  b.submitted = 1;
  CHECK(s.victims(b, search_outcome::impossible).empty());
  b.submitted = 0;
  CHECK(s.victims(b) == numbers{1});
}

TEST_CASE("search: borrowers yield before jobs of the beneficiary's quota") {
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(8)},
           {.name = "B", .parent = "root"}}};
  s.run("A", 4, 1, 0).run("B", 4, 1, 9);
  CHECK(s.victims("A", 2, 5) == numbers{7, 6});
}

TEST_CASE("search: reclaim by priority, or not at all") {
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(4)},
           {.name = "B", .parent = "root"}}};
  s.run("B", 2, 1, 1).run("B", 2, 1, 5);
  CHECK(s.none_for("A", 1, 9, {.reclaim = preempt_reclaim::never}));
  const preempt_settings lower{.reclaim = preempt_reclaim::lower_priority};
  CHECK(s.none_for("A", 1, 1, lower));
  CHECK(s.victims("A", 2, 5, lower) == numbers{1, 0});
  CHECK(s.none_for("A", 3, 5, lower));
  CHECK(s.victims("A", 3, 6, lower).size() == 3);
}

TEST_CASE("search: takes from quotas below only if enabled, and never from above") {
  scene s{{{.name = "quota1", .nominal = gpus(128), .inclusive = true},
           {.name = "quota1.1", .parent = "quota1", .nominal = gpus(48)},
           {.name = "quota1.2", .parent = "quota1", .nominal = gpus(80)}}};
  s.run("quota1.1", 48, 1).run("quota1.2", 80, 1);
  CHECK(s.none_for("quota1", 1, 9));
  const numbers victims = s.victims("quota1", 32, 0, {.children = true});
  // In proportion to their capacity: 12 of 48 and 20 of 80.
  CHECK(victims.size() == 32);
  CHECK(std::count_if(victims.begin(), victims.end(), [](std::size_t v) { return v < 48; }) == 12);

  scene upside_down{{{.name = "quota1", .nominal = gpus(8), .inclusive = true},
                     {.name = "quota1.1", .parent = "quota1", .nominal = gpus(8)}}};
  upside_down.run("quota1", 8, 1);
  CHECK(upside_down.none_for("quota1.1", 1, 9, {.children = true}));
}

TEST_CASE("search: an inner quota reclaims its own pool from its children without any option") {
  scene s{{{.name = "dept", .nominal = gpus(10), .inclusive = true},
           {.name = "A", .parent = "dept", .nominal = gpus(4)}}};
  s.run("A", 10, 1);
  CHECK(s.victims("dept", 6).size() == 6);
  CHECK(s.none_for("dept", 7));
}

TEST_CASE("search: jobs of an inner quota are no victims for what its children borrow") {
  scene s{{{.name = "root"},
           {.name = "dept", .parent = "root", .nominal = gpus(4)},
           {.name = "A", .parent = "dept"},
           {.name = "B", .parent = "root", .nominal = gpus(4)}}};
  s.run("A", 4, 1).run("dept", 4, 1);
  const numbers victims = s.victims("B", 2);
  CHECK(victims == numbers{3, 2});
}

TEST_CASE("search: evicting its own lower jobs lets a quota then reclaim from others") {
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(6)},
           {.name = "B", .parent = "root", .nominal = gpus(2)}}};
  s.run("A", 2, 1, 0).run("B", 6, 1, 9);
  // It owns 6: 2 are used by its lower jobs and 4 by B.
  CHECK(s.victims("A", 6, 5) == numbers{1, 0, 7, 6, 5, 4});
  CHECK(s.victims("A", 5, 5) == numbers{1, 7, 6, 5, 4});
  CHECK(s.none_for("A", 7, 5));
  CHECK(s.none_for("A", 6, 0));
}

TEST_CASE("search: with fewer contested dimensions a quota may own the request") {
  // A owns the second dimension, its department owns both. What is lent of the first is reclaimed from
  // outside. What is lent of the second outside can't be reclaimed, but Z, next to A, uses as much.
  ledger<2> l{allot::build_quota_tree<2>({{.name = "root"},
                                          {.name = "dept", .parent = "root", .nominal = {gpus(4), gpus(4)}},
                                          {.name = "A", .parent = "dept", .nominal = {gpus(0), gpus(4)}},
                                          {.name = "Z", .parent = "dept"},
                                          {.name = "outside", .parent = "root"}})
                  .value()};
  const quota_id a{2}, z{3}, outside{4};
  allot::running_index<2> running;
  running.resize(5);
  l.charge(outside, {gpus(0), gpus(4)});
  const std::pair<quota_id, resources<2>> jobs[] = {{outside, {gpus(4), gpus(0)}}, {z, {gpus(0), gpus(4)}}};
  for (std::size_t i = 0; i < 2; ++i) {
    running_job<2> j;
    j.id = job_id{i};
    j.quota = jobs[i].first;
    j.request = jobs[i].second;
    l.charge(j.quota, j.request);
    running.insert(j);
  }
  search<2> find;
  anywhere world;
  REQUIRE(find.run(l, running, beneficiary<2>{a, {gpus(4), gpus(4)}}, world) == search_outcome::found);
  REQUIRE(find.victims().size() == 2);
  CHECK(find.victims()[0].job.quota == outside);
  CHECK(find.victims()[1].job.quota == z);
}

TEST_CASE("search: a job that uses no contested dimension is never a victim") {
  ledger<2> l{allot::build_quota_tree<2>({{.name = "root"},
                                          {.name = "A", .parent = "root", .nominal = {gpus(4), gpus(9)}},
                                          {.name = "B", .parent = "root"}})
                  .value()};
  allot::running_index<2> running;
  running.resize(3);
  const resources<2> requests[] = {{gpus(2), gpus(0)}, {gpus(2), gpus(1)}, {gpus(0), gpus(5)}};
  for (std::size_t i = 0; i < 3; ++i) {
    running_job<2> j;
    j.id = job_id{i};
    j.quota = quota_id{2};
    j.started = static_cast<std::int64_t>(i);
    j.request = requests[i];
    l.charge(j.quota, j.request);
    running.insert(j);
  }
  search<2> find;
  anywhere world;
  const beneficiary<2> b{quota_id{1}, {gpus(4), gpus(3)}};
  REQUIRE(find.run(l, running, b, world) == search_outcome::found);
  REQUIRE(find.victims().size() == 2);
  CHECK(find.victims()[0].job.id == job_id{1});
  CHECK(find.victims()[1].job.id == job_id{0});
}

TEST_CASE("search: an exhausted budget proves nothing") {
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(4)},
           {.name = "B", .parent = "root"}}};
  s.run("B", 4, 1);
  const beneficiary<1> b = s.asks("A", 3);
  CHECK(s.victims(b, search_outcome::not_proven, 0).empty());
  CHECK(s.victims(b, search_outcome::not_proven, 2).empty());
  CHECK(s.victims(b, search_outcome::found, 3).size() == 3);
  // Without possible victims, or beyond the capacity, no budget is needed for the proof.
  CHECK(s.victims(s.asks("A", 5), search_outcome::impossible, 0).empty());
  CHECK(s.victims(s.asks("B", 1), search_outcome::impossible, 0).empty());
}

TEST_CASE("search: every further victim must pass the guard") {
  struct spares {
    quota_id quota;
    bool operator()(const ledger<>&, const beneficiary<1>&, const allot::victim_candidate<1>& d) const {
      return d.quota != quota;
    }
  };
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(8)},
           {.name = "B", .parent = "root"},
           {.name = "C", .parent = "root"}}};
  ledger<>& l = s.accounts();
  allot::running_index<> running;
  running.resize(l.tree().slots());
  for (std::size_t i = 0; i < 8; ++i) {
    running_job<> j;
    j.id = job_id{i};
    j.quota = s.quota(i < 4 ? "B" : "C");
    j.order = i;
    j.request = gpus(1);
    l.charge(j.quota, j.request);
    running.insert(j);
  }
  allot::victim_search<1, allot::lowest_priority_then_newest, spares> find{{}, {s.quota("C")}};
  anywhere world;
  for (const int request : {4, 5}) {
    const auto point = l.save();
    const bool possible = find.run(l, running, s.asks("A", request), world) == search_outcome::found;
    CHECK(possible == (request == 4));
    for (const auto& v : find.victims()) CHECK(v.job.quota == s.quota("B"));
    l.rollback(point);
  }
}

TEST_CASE("search: on guaranteed capacity only its own jobs are in the way, and they are never victims") {
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(4)},
           {.name = "B", .parent = "root", .nominal = gpus(4)}}};
  s.run("B", 6, 1);
  s.accounts().charge(s.quota("A"), gpus(2), allot::capacity_kind::guaranteed);
  beneficiary<1> b = s.asks("A", 2);
  b.in = allot::capacity_kind::guaranteed;
  CHECK(s.victims(b).size() == 2);
  b.request = gpus(3);
  CHECK(s.victims(b, search_outcome::impossible, 0).empty());
}

TEST_CASE("search: victims also make a place on the nodes") {
  // Two machines of 4. The quota allows the request, but no machine has room for it.
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(8)},
           {.name = "B", .parent = "root"}}};
  s.run("B", 2, 2).run("A", 1, 1);
  ledger<>& l = s.accounts();
  allot::running_index<> running;
  running.resize(l.tree().slots());
  for (std::size_t i = 0; i < 2; ++i) {
    running_job<> j;
    j.id = job_id{i};
    j.quota = s.quota("B");
    j.started = static_cast<std::int64_t>(i);
    j.request = gpus(2);
    running.insert(j);
  }
  const auto victims_of = [&](int request) {
    machines world{{2000, 1000}, {{0, 0}, {1, 1}}, gpus(request).in_milli()};
    search<1> find;
    const auto point = l.save();
    REQUIRE(find.run(l, running, s.asks("A", request), world) == search_outcome::found);
    CHECK(world.could_place());
    l.rollback(point);
    numbers result;
    for (const auto& v : find.victims()) result.push_back(v.job.id.index());
    return result;
  };
  CHECK(victims_of(3) == numbers{1});
  // A job of A runs on the newer job's machine as well: the newer job is dropped from the victims again.
  CHECK(victims_of(4) == numbers{0});
}

TEST_CASE("search: when only a place is missing, every requested dimension is contested") {
  // Dimension 1 is short, dimension 0 is not, but it fills the only machine.
  ledger<2> l{allot::build_quota_tree<2>({{.name = "root"},
                                          {.name = "A", .parent = "root", .nominal = {gpus(8), gpus(4)}},
                                          {.name = "B", .parent = "root"}})
                  .value()};
  allot::running_index<2> running;
  running.resize(3);
  machines world{{0}, {{0, 0}, {1, 0}}, 4000};
  const resources<2> requests[] = {{gpus(4), gpus(0)}, {gpus(0), gpus(4)}};
  for (std::size_t i = 0; i < 2; ++i) {
    running_job<2> j;
    j.id = job_id{i};
    j.quota = quota_id{2};
    j.started = static_cast<std::int64_t>(i);
    j.request = requests[i];
    l.charge(j.quota, j.request);
    running.insert(j);
  }
  search<2> find;
  const beneficiary<2> b{quota_id{1}, {gpus(4), gpus(4)}};
  CHECK(contested_dimensions(l, b) == std::array{false, true});
  REQUIRE(find.run(l, running, b, world) == search_outcome::found);
  CHECK(find.victims().size() == 2);
}

namespace {

/// A random tree with running jobs, and a job with a request.
template <std::size_t N>
struct world {
  ledger<N> l;
  allot_test::yield_oracle<N> oracle;
  allot::running_index<N> running;
  std::vector<running_job<N>> preemptible;
  beneficiary<N> b;
  machines m;

  world(random_source& random, bool unit_jobs, bool with_machines)
      : world(random, unit_jobs, with_machines, random.one_in(4)) {}
  /// Below an overcommitted quota not even an idle tree need satisfy the law for guaranteed capacity, and the
  /// ledger then lets a job use what its quota keeps (see headroom). There that kind of capacity is omitted.
  world(random_source& random, bool unit_jobs, bool with_machines, bool overcommit)
      : world(random, unit_jobs, with_machines, overcommit,
              allot_test::random_quotas<N>(
                  random,
                  {.most_quotas = 9, .one_root_in = 20, .one_unlimited_in = 0, .overcommit = overcommit})) {}
  world(random_source& random, bool unit_jobs, bool with_machines, bool overcommit,
        std::vector<quota_spec<N>> quotas_of_tree)
      : l(allot::quota_tree<N>{std::move(quotas_of_tree)}), oracle(l.tree()) {
    running.resize(l.tree().slots());
    const auto quotas = l.tree().top_down();
    const auto amount = [&](std::int64_t most) {
      return unit_jobs ? gpus(1) : allot::quantity::milli(500 * random.between(0, 2 * most));
    };
    m.free.assign(with_machines ? 1 + random.below(4) : 1, with_machines ? 8000 : 1'000'000);
    const std::size_t tries = 8 + random.below(30);
    for (std::size_t i = 0; i < tries; ++i) {
      running_job<N> j;
      j.id = job_id{i};
      j.quota = random.pick(quotas);
      j.priority = random.between(0, 2);
      j.started = random.between(0, 3);
      j.submitted = random.between(0, 3);
      j.order = i;
      for (std::size_t d = 0; d < N; ++d) j.request[d] = amount(4);
      if (!overcommit && random.one_in(10)) j.in = allot::capacity_kind::guaranteed;
      const std::size_t machine = random.below(m.free.size());
      if (!l.fits(j.quota, j.request, j.in) || m.free[machine] < j.request[0].in_milli()) continue;
      m.free[machine] -= j.request[0].in_milli();
      m.where[i] = machine;
      l.charge(j.quota, j.request, j.in);
      oracle.charge(j);
      if (j.in == allot::capacity_kind::guaranteed || random.one_in(12)) continue;
      running.insert(j);
      preemptible.push_back(j);
    }
    b.quota = random.pick(quotas);
    for (std::size_t d = 0; d < N; ++d) b.request[d] = amount(7);
    b.in = !overcommit && random.one_in(8) ? allot::capacity_kind::guaranteed : allot::capacity_kind::any;
    b.priority = random.between(0, 3);
    b.submitted = random.between(0, 3);
    b.may = {random.pick(std::vector{preempt_within::never, preempt_within::lower_priority,
                                     preempt_within::lower_or_newer_equal}),
             random.pick(std::vector{preempt_reclaim::never, preempt_reclaim::lower_priority,
                                     preempt_reclaim::any, preempt_reclaim::any}),
             random.one_in(3)};
    m.wanted = b.request[0].in_milli();
  }

  [[nodiscard]] bool fits() { return oracle.admits(b) && m.could_place(); }
  void take_off(const running_job<N>& j) {
    oracle.release(j);
    m.take_off(j);
  }
  void put_back(const running_job<N>& j) {
    oracle.charge(j);
    m.put_back(j);
  }
};

/// Whether each borrower among these gives back what is owned on the beneficiary's side, with all but the one
/// at `without` evicted: in the dimensions that would be contested with that borrower in place.
template <std::size_t N>
bool borrowers_owe(world<N>& w, const std::vector<allot::victim<N>>& victims, std::size_t without) {
  if (without < victims.size()) w.put_back(victims[without].job);
  bool all = true;
  for (std::size_t i = 0; i < victims.size(); ++i) {
    if (i == without || victims[i].how != relation::borrower) continue;
    w.put_back(victims[i].job);
    const auto contested = w.oracle.contested(w.b);
    w.take_off(victims[i].job);
    const quota_id top = w.l.tree().common_ancestor(victims[i].job.quota, w.b.quota);
    const quota_id side = top == w.b.quota ? quota_id::none() : w.l.tree().side_of(w.b.quota, top);
    all = all && w.oracle.owns(w.b, side, contested);
  }
  if (without < victims.size()) w.take_off(victims[without].job);
  return all;
}

/// Checks the result of the search against the definitions, and returns it.
template <class Fallback = allot::second_pass, std::size_t N>
search_outcome check_search(world<N>& w) {
  allot::victim_search<N, allot::lowest_priority_then_highest_share, allot::eligible_is_fair,
                       allot::unprotected, Fallback>
      find;
  const ledger<N> before = w.l;
  const machines machines_before = w.m;
  machines trial = w.m;
  // As victims are evicted, fewer dimensions may be contested; when only a place is missing, all requested
  // dimensions are.
  const auto first_contested = w.oracle.contested(w.b);
  std::vector<std::array<bool, N>> contested{first_contested};
  if (N > 1) {
    for (std::size_t d = 0; d < N; ++d) {
      if (!first_contested[d]) continue;
      contested.push_back({});
      contested.back()[d] = true;
    }
    contested.push_back({});
    for (std::size_t d = 0; d < N; ++d) contested.back()[d] = w.b.request[d] > allot::quantity{};
  }
  const auto point = w.l.save();
  const search_outcome outcome = find.run(w.l, w.running, w.b, trial);
  std::set<std::size_t> gone;
  if (outcome == search_outcome::found) {
    for (const auto& v : find.victims()) {
      CHECK(gone.insert(v.job.id.index()).second);
      w.take_off(v.job);
    }
    CHECK(trial == w.m);
    CHECK(w.fits());
    // Law 3: with any victim back, there is no room, or what others give back is not the beneficiary's.
    const std::vector<allot::victim<N>> victims{find.victims().begin(), find.victims().end()};
    for (std::size_t i = 0; i < victims.size(); ++i) {
      w.put_back(victims[i].job);
      const bool needed = !w.fits();
      w.take_off(victims[i].job);
      if (!needed) CHECK_FALSE(borrowers_owe(w, victims, i));
    }
    // No job is preempted that may not be, once those of the near side are evicted.
    for (const auto& v : find.victims()) w.put_back(v.job);
    const auto near = [&](const running_job<N>& j) {
      return j.quota == w.b.quota ||
             (w.b.may.children && w.l.tree().common_ancestor(j.quota, w.b.quota) == w.b.quota);
    };
    for (const auto& v : find.victims()) {
      std::vector<running_job<N>> away;
      for (const auto& other : find.victims()) {
        if (other.job.id != v.job.id && v.how == relation::borrower && near(other.job)) {
          away.push_back(other.job);
        }
      }
      for (const auto& j : away) w.take_off(j);
      CHECK(std::any_of(contested.begin(), contested.end(),
                        [&](const auto& dimensions) { return w.oracle.may_ask(w.b, v.job, dimensions); }));
      for (const auto& j : away) w.put_back(j);
    }
  } else if (outcome == search_outcome::impossible) {
    // Either no job is left that may be preempted, or there is no room even with none running. (Or more was
    // tried, and given back: see complete.cpp.)
    for (const auto& j : w.preemptible) w.take_off(j);
    const bool hopeless = !w.fits();
    for (const auto& j : w.preemptible) w.put_back(j);
    if (!hopeless && !find.victims().empty()) {
      // The search has left its last state: the jobs that are evicted there have been preempted.
      std::vector<running_job<N>> remaining;
      for (const auto& v : find.victims()) gone.insert(v.job.id.index());
      for (const auto& j : w.preemptible) {
        if (gone.count(j.id.index()) != 0) {
          w.take_off(j);
        } else {
          remaining.push_back(j);
        }
      }
      CHECK(trial == w.m);
      CHECK_FALSE(w.fits());
      for (const auto& j : remaining) CHECK_FALSE(w.oracle.may_ask(w.b, j, w.oracle.contested(w.b)));
      for (const auto& j : w.preemptible) {
        if (gone.count(j.id.index()) != 0) w.put_back(j);
      }
    }
  }
  w.l.rollback(point);
  CHECK(w.l == before);
  CHECK(w.m == machines_before);
  return outcome;
}

/// Whether some sequence of victims, each of which may be preempted at its turn, makes room: all are tried.
template <std::size_t N>
bool some_sequence_makes_room(world<N>& w) {
  std::set<std::vector<bool>> seen;
  std::vector<bool> gone(w.preemptible.size());
  const auto explore = [&](auto& self) -> bool {
    if (w.fits()) return true;
    if (!seen.insert(gone).second) return false;
    for (std::size_t i = 0; i < gone.size(); ++i) {
      if (gone[i] || !w.oracle.may_ask(w.b, w.preemptible[i], w.oracle.contested(w.b))) continue;
      gone[i] = true;
      w.take_off(w.preemptible[i]);
      const bool found = self(self);
      w.put_back(w.preemptible[i]);
      gone[i] = false;
      if (found) return true;
    }
    return false;
  };
  return explore(explore);
}

/// The settings bound which priorities preempt which.
template <std::size_t N>
void bound_priorities(random_source& random, world<N>& w) {
  w.b.may.children_lower_priority = random.one_in(2);
  for (allot::priority_bounds* by : {&w.b.may.reclaim_priorities, &w.b.may.children_priorities}) {
    if (random.one_in(4)) by->preempting.least = random.between(0, 2);
    if (random.one_in(3)) by->preempted.least = random.between(0, 2);
    if (random.one_in(3)) by->preempted.most = random.between(0, 2);
  }
}

}  // namespace

TEST_CASE("search: victims are minimal and fair, without any, no job was eligible") {
  std::size_t found = 0;
  allot_test::for_each_seed(12'000, [&](random_source& random) {
    world<1> w{random, false, random.one_in(3)};
    bound_priorities(random, w);
    if (w.fits()) return;
    found += check_search(w) == search_outcome::found ? 1U : 0U;
  });
  if (allot_test::all_cases_run()) CHECK(found > 1000);
}

TEST_CASE("search: the same in two dimensions") {
  std::size_t found = 0;
  allot_test::for_each_seed(12'000, [&](random_source& random) {
    world<2> w{random, false, random.one_in(3)};
    bound_priorities(random, w);
    if (w.fits()) return;
    found += check_search(w) == search_outcome::found ? 1U : 0U;
  });
  if (allot_test::all_cases_run()) CHECK(found > 1000);
}

TEST_CASE("search: finds victims whenever some sequence makes room, unless a gang frees too much") {
  std::size_t possible = 0;
  allot_test::for_each_seed(6000, [&](random_source& random) {
    world<1> w{random, true, false};
    bound_priorities(random, w);
    w.b.request[0] = gpus(random.between(1, 4));
    w.m.wanted = 0;
    if (w.preemptible.size() > 9 || w.fits()) return;
    const bool some = some_sequence_makes_room(w);
    CHECK((check_search(w) == search_outcome::found) == some);
    possible += some ? 1U : 0U;
  });
  if (allot_test::all_cases_run()) CHECK(possible > 100);
}

TEST_CASE("search: where gangs and places matter too it finds victims whenever some sequence makes room") {
  std::size_t possible = 0;
  const auto check = [&](auto& w) {
    if (w.preemptible.size() > 8 || w.fits()) return;
    const bool some = some_sequence_makes_room(w);
    CHECK(check_search(w) == (some ? search_outcome::found : search_outcome::impossible));
    possible += some ? 1U : 0U;
  };
  allot_test::for_each_seed(6000, [&](random_source& random) {
    world<1> one{random, false, random.one_in(2)};
    check(one);
    world<2> two{random, false, random.one_in(2)};
    check(two);
  });
  if (allot_test::all_cases_run()) CHECK(possible > 100);
}

TEST_CASE("search: without the second pass it finds less, and says that it has proven nothing") {
  std::size_t missed = 0;
  const auto check = [&](auto& w) {
    if (w.fits()) return;
    const search_outcome outcome = check_search(w);
    const search_outcome in_turn = check_search<allot::no_second_pass>(w);
    if (in_turn != search_outcome::not_proven) CHECK(in_turn == outcome);
    missed += outcome == search_outcome::found && in_turn == search_outcome::not_proven ? 1U : 0U;
  };
  allot_test::for_each_seed(15'000, [&](random_source& random) {
    world<1> one{random, false, random.one_in(2)};
    check(one);
    world<2> two{random, false, random.one_in(2)};
    check(two);
  });
  MESSAGE("missed without a second pass " << missed);
  if (allot_test::all_cases_run()) CHECK(missed > 0);
}

TEST_CASE("search: a repeated search gives the same result and does not allocate") {
  allot_test::for_each_seed(300, [&](random_source& random) {
    world<2> w{random, false, false};
    search<2> find;
    anywhere nowhere_in_particular;
    std::vector<std::vector<std::size_t>> said;
    const auto ask = [&] {
      const auto point = w.l.save();
      const auto outcome = find.run(w.l, w.running, w.b, nowhere_in_particular);
      w.l.rollback(point);
      return outcome;
    };
    search_outcome outcomes[2];
    std::size_t victims[2];
    outcomes[0] = ask();
    victims[0] = find.victims().size();
    CHECK(allot_test::allocations_in([&] { outcomes[1] = ask(); }) == 0);
    victims[1] = find.victims().size();
    CHECK(outcomes[0] == outcomes[1]);
    CHECK(victims[0] == victims[1]);
  });
}

TEST_CASE(
    "search: asked twice it says the same, and does not allocate again, though it has to make a place") {
  allot_test::for_each_seed(300, [&](random_source& random) {
    world<1> w{random, false, true};
    search<1> find;
    machines trial = w.m;
    std::vector<std::vector<std::size_t>> said;
    const auto ask = [&] {
      const auto point = w.l.save();
      const auto outcome = find.run(w.l, w.running, w.b, trial);
      w.l.rollback(point);
      trial.free = w.m.free;
      return outcome;
    };
    search_outcome outcomes[2];
    std::size_t victims[2];
    outcomes[0] = ask();
    victims[0] = find.victims().size();
    CHECK(allot_test::allocations_in([&] { outcomes[1] = ask(); }) == 0);
    victims[1] = find.victims().size();
    CHECK(outcomes[0] == outcomes[1]);
    CHECK(victims[0] == victims[1]);
  });
}

// Elastic jobs.

namespace {

/// A job of `core` GPUs and then `pods` pods of one GPU.
struct elastic {
  ledger<>& l;
  allot::running_index<>& running;
  std::size_t next = 0;

  void add(quota_id x, int core, int pods, std::int64_t priority = 0) {
    const job_id of{next};
    for (int i = 0; i <= pods; ++i) {
      running_job<> j;
      j.id = job_id{next};
      j.quota = x;
      j.priority = priority;
      j.started = static_cast<std::int64_t>(next);
      j.order = next++;
      j.request = gpus(i == 0 ? core : 1);
      j.elastic = i != 0;
      if (j.elastic) j.core = of;
      l.charge(x, j.request);
      running.insert(j);
    }
  }
};

std::vector<std::size_t> ids(std::span<const allot::victim<1>> victims) {
  std::vector<std::size_t> result;
  for (const auto& v : victims) result.push_back(v.job.id.index());
  return result;
}

/// A, which owns 9 GPUs, and B, which borrows them for elastic jobs.
struct lent_to_elastic {
  lent_to_elastic() { running.resize(3); }
  void add(int core, int pods) { jobs.add(s.quota("B"), core, pods); }
  /// The victims of a job of A that asks for so much.
  template <class Search>
  std::vector<std::size_t> victims_of(Search& find, int request) {
    anywhere world;
    const auto point = s.accounts().save();
    REQUIRE(find.run(s.accounts(), running, s.asks("A", request), world) == search_outcome::found);
    s.accounts().rollback(point);
    return ids(find.victims());
  }

  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(9)},
           {.name = "B", .parent = "root"}}};
  allot::running_index<> running;
  elastic jobs{s.accounts(), running};
};

}  // namespace

TEST_CASE("search: elastic pods are evicted first, one by one, and their job survives (KAI v0.5.1)") {
  lent_to_elastic lent;
  // Six pods, of which two are needed; and a gang that started later.
  lent.add(2, 4);
  lent.add(3, 0);
  search<1> find;
  CHECK(lent.victims_of(find, 3) == numbers{4, 3, 2});
  CHECK(lent.victims_of(find, 4) == numbers{4, 3, 2, 1});
  // The gang releases more than two pods do, so two of four are dropped from the victims.
  CHECK(lent.victims_of(find, 5) == numbers{4, 3, 5});
  // Two pods that the job needs are evicted together, and then none of its elastic pods remains.
  CHECK(lent.victims_of(find, 9) == numbers{4, 3, 2, 1, 5, 0});
}

TEST_CASE("search: a job is never evicted without its elastic pods, whatever the order") {
  /// Whole jobs first, for the sake of the test.
  struct cores_first {
    bool operator()(const ledger<>&, const allot::victim_candidate<1>& d) const { return d.next.elastic; }
    bool within_quota(const running_job<>& a, const running_job<>& b, allot::instant) const {
      if (a.elastic != b.elastic) return b.elastic;
      return compare_as_victims(a, b) < 0;
    }
  };
  lent_to_elastic lent;
  lent.add(2, 4);
  lent.add(3, 0);
  allot::victim_search<1, cores_first, allot::eligible_is_fair> find;
  CHECK(lent.victims_of(find, 9) == numbers{5, 4, 3, 2, 1, 0});
  for (const auto& v : find.victims()) CHECK(v.with_its_job == v.job.elastic);
  // The other job stays when one elastic pod of it, preempted together with it, turns out to be enough.
  CHECK(lent.victims_of(find, 4) == numbers{5, 4});
  for (const auto& v : find.victims()) CHECK_FALSE(v.with_its_job);
}

TEST_CASE("search: an elastic pod that is protected goes with its job or not at all") {
  struct of_pod {
    bool operator()(const ledger<>&, const beneficiary<1>&, const allot::victim_candidate<1>& v,
                    const allot::search_progress<1>&) const {
      return v.next.id == job_id{1};
    }
  };
  lent_to_elastic lent;
  lent.add(1, 1);
  lent.add(7, 0);
  allot::victim_search<1, allot::lowest_priority_then_highest_share, allot::eligible_is_fair, of_pod> find;
  CHECK(lent.victims_of(find, 7) == numbers{2});
  // Of the last two either would be enough.
  CHECK(lent.victims_of(find, 8) == numbers{2, 1, 0});
}

// Rivals.

namespace {

template <class Guard>
std::vector<allot::victim<1>> rivals_of(scene& s, const beneficiary<1>& b,
                                        const allot::running_index<>& running,
                                        search_outcome expected = search_outcome::found) {
  allot::victim_search<1, allot::lowest_priority_then_highest_share, Guard> find;
  anywhere world;
  const ledger<> before = s.accounts();
  const auto point = s.accounts().save();
  CHECK(find.run(s.accounts(), running, b, world) == expected);
  s.accounts().rollback(point);
  CHECK(s.accounts() == before);
  if (expected != search_outcome::found) return {};
  return {find.victims().begin(), find.victims().end()};
}

}  // namespace

TEST_CASE("search: rivals yield until their share is no larger than the beneficiary's, with the reason") {
  scene s{{{.name = "root", .nominal = gpus(12)},
           {.name = "A", .parent = "root"},
           {.name = "B", .parent = "root"},
           {.name = "C", .parent = "root", .weight = fair_weight::whole(2)}}};
  allot::running_index<> running;
  running.resize(4);
  elastic jobs{s.accounts(), running};
  for (int i = 0; i < 7; ++i) jobs.add(s.quota("B"), 1, 0);
  for (int i = 0; i < 5; ++i) jobs.add(s.quota("C"), 1, 0);
  const preempt_settings may{.rivals = allot::preempt_rivals::any};
  // C has 5 of weight 2, so B gives alone; 3 of A and 4 of B is fair, 4 and 3 is not.
  const auto victims = rivals_of<allot::final_share>(s, s.asks("A", 3, 0, may), running);
  REQUIRE(victims.size() == 3);
  for (const auto& v : victims) {
    CHECK(v.job.quota == s.quota("B"));
    CHECK(v.how == relation::rival);
    CHECK(v.why.rule == allot::fairness_rule::final_share);
    CHECK(v.why.beneficiary == allot::ratio{3, 12});
  }
  CHECK(victims[0].why.victim == allot::ratio{6, 12});
  CHECK(victims[2].why.victim == allot::ratio{4, 12});
  CHECK(
      rivals_of<allot::final_share>(s, s.asks("A", 4, 0, may), running, search_outcome::impossible).empty());
  CHECK(rivals_of<allot::eligible_is_fair>(s, s.asks("A", 1, 0, may), running, search_outcome::impossible)
            .empty());
  CHECK(rivals_of<allot::final_share>(s, s.asks("A", 1, 0, {.rivals = allot::preempt_rivals::never}), running,
                                      search_outcome::impossible)
            .empty());
  // By default a guard that judges rivals is consulted.
  CHECK(rivals_of<allot::final_share>(s, s.asks("A", 1), running).size() == 1);
  const preempt_settings lower{.rivals = allot::preempt_rivals::lower_priority};
  CHECK(rivals_of<allot::final_share>(s, s.asks("A", 1, 0, lower), running, search_outcome::impossible)
            .empty());
  CHECK(rivals_of<allot::final_share>(s, s.asks("A", 1, 1, lower), running).size() == 1);
}

TEST_CASE("search: a large gang that is refused does not hide smaller jobs of its quota") {
  const preempt_settings may{.rivals = allot::preempt_rivals::any};
  const auto world = [](std::vector<int> gangs, auto ask) {
    scene s{{{.name = "root", .nominal = gpus(13)},
             {.name = "A", .parent = "root"},
             {.name = "B", .parent = "root"}}};
    allot::running_index<> running;
    running.resize(3);
    elastic jobs{s.accounts(), running};
    for (const int gang : gangs) jobs.add(s.quota("B"), gang, 0);
    return ask(s, running);
  };
  world({2, 3, 7}, [&](scene& s, const auto& running) {
    CHECK(ids(rivals_of<allot::final_share>(s, s.asks("A", 6, 0, may), running)) == numbers{1, 0});
    CHECK(ids(rivals_of<allot::final_share>(s, s.asks("A", 5, 0, may), running)) == numbers{2});
    CHECK(ids(rivals_of<allot::initial_share>(s, s.asks("A", 6, 0, may), running)) == numbers{2});
    // Not every combination of jobs of different sizes is tried.
    const auto seven = s.asks("A", 7, 0, may);
    CHECK(rivals_of<allot::final_share>(s, seven, running, search_outcome::not_proven).empty());
    // Without the 5 that may be evicted, B has no more than A would have.
    CHECK(rivals_of<allot::final_then_initial_share>(s, seven, running, search_outcome::not_proven).empty());
  });
  // When the fair victims are not enough, one more is added that is fair by the weaker rule.
  world({3, 9}, [&](scene& s, const auto& running) {
    const auto victims = rivals_of<allot::final_then_initial_share>(s, s.asks("A", 6, 0, may), running);
    REQUIRE(victims.size() == 1);
    CHECK(victims[0].job.id == job_id{1});
    CHECK(victims[0].why.rule == allot::fairness_rule::initial_share);
    CHECK(victims[0].why.victim == allot::ratio{12, 13});
    CHECK(victims[0].strategy == 1);
  });
  // But only one of each quota.
  world({6, 6}, [&](scene& s, const auto& running) {
    const auto b = s.asks("A", 8, 0, may);
    CHECK(rivals_of<allot::final_then_initial_share>(s, b, running, search_outcome::impossible).empty());
  });
}

TEST_CASE("search: an owner is not a rival (Kueue #9494), and a rival keeps what it owns") {
  const preempt_settings may{.rivals = allot::preempt_rivals::any};
  for (const int gang : {4, 6, 12}) {
    scene s{{{.name = "root", .nominal = gpus(4)},
             {.name = "A", .parent = "root", .nominal = gpus(4)},
             {.name = "B", .parent = "root", .nominal = gpus(4)}}};
    allot::running_index<> running;
    running.resize(3);
    elastic jobs{s.accounts(), running};
    for (int i = 0; i < 12; i += gang) jobs.add(s.quota("B"), gang, 0);
    const auto back = rivals_of<allot::final_share>(s, s.asks("A", 4, 0, may), running);
    REQUIRE(back.size() == 1);
    CHECK(back[0].how == relation::borrower);
    CHECK(back[0].why.rule == allot::fairness_rule::none);
    // A, which owns 4, asks for 6. The part beyond 4 must be owed to it, and must leave B the 4 that B owns.
    const auto six = s.asks("A", 6, 0, may);
    if (gang != 12) {
      CHECK(rivals_of<allot::initial_share>(s, six, running).size() == (gang == 4 ? 2 : 1));
    } else {
      CHECK(rivals_of<allot::initial_share>(s, six, running, search_outcome::impossible).empty());
    }
  }
}

TEST_CASE("search: shares are compared at the children of the common ancestor") {
  // D1 has 8 of the pool and D2 has 4; a uses 1 and asks for 3 more, and b, its sibling, 7.
  scene s{{{.name = "root", .nominal = gpus(12)},
           {.name = "D1", .parent = "root"},
           {.name = "D2", .parent = "root"},
           {.name = "a", .parent = "D1"},
           {.name = "b", .parent = "D1"},
           {.name = "c", .parent = "D2"}}};
  allot::running_index<> running;
  running.resize(6);
  elastic jobs{s.accounts(), running};
  jobs.add(s.quota("a"), 1, 0);
  for (int i = 0; i < 7; ++i) jobs.add(s.quota("b"), 1, 0);
  for (int i = 0; i < 4; ++i) jobs.add(s.quota("c"), 1, 0);
  const preempt_settings may{.rivals = allot::preempt_rivals::any};
  // Though c uses more than a, its department uses less than a's.
  for (const auto& v : rivals_of<allot::final_share>(s, s.asks("a", 3, 0, may), running)) {
    CHECK(v.job.quota == s.quota("b"));
    CHECK(v.why.beneficiary == allot::ratio{4, 12});
  }
  // And c takes from D1, first from the quota that has most there.
  const auto victims = rivals_of<allot::final_share>(s, s.asks("c", 2, 0, may), running);
  REQUIRE(victims.size() == 2);
  for (const auto& v : victims) CHECK(v.job.quota == s.quota("b"));
  CHECK(victims[1].why.beneficiary == allot::ratio{6, 12});
  CHECK(victims[1].why.victim == allot::ratio{6, 12});
  CHECK(
      rivals_of<allot::final_share>(s, s.asks("c", 3, 0, may), running, search_outcome::impossible).empty());
}

TEST_CASE(
    "search: a loan of one thousandth counts (Kueue #6617), and no weight means first to give (#6925)") {
  scene s{{{.name = "root", .nominal = gpus(1'000'000)},
           {.name = "A", .parent = "root", .weight = fair_weight::whole(300'000)},
           {.name = "Z", .parent = "root", .weight = fair_weight::whole(0)},
           {.name = "Y", .parent = "root", .weight = fair_weight::whole(0)}}};
  s.accounts().charge(s.quota("root"), gpus(999'998));
  allot::running_index<> running;
  running.resize(4);
  elastic jobs{s.accounts(), running};
  jobs.add(s.quota("A"), 1, 0);
  jobs.add(s.quota("Z"), 1, 0);
  const preempt_settings may{.rivals = allot::preempt_rivals::any};
  CHECK(ids(rivals_of<allot::initial_share>(s, s.asks("A", 1, 0, may), running)) == numbers{1});
  // A quota without weight takes from none with a weight, nor from an equal.
  CHECK(
      rivals_of<allot::final_share>(s, s.asks("Y", 1, 0, may), running, search_outcome::impossible).empty());
  running_job<> more;
  more.id = job_id{2};
  more.order = 2;
  more.started = 2;
  more.quota = s.quota("Z");
  more.request = gpus(1);
  s.accounts().release(s.quota("root"), gpus(1));
  s.accounts().charge(more.quota, more.request);
  running.insert(more);
  const auto victims = rivals_of<allot::final_share>(s, s.asks("Y", 1, 0, may), running);
  REQUIRE(victims.size() == 1);
  CHECK(victims[0].job.id == job_id{2});
  CHECK(victims[0].why.beneficiary == allot::ratio{1, 1'000'000});
  CHECK(victims[0].why.victim == allot::ratio{1, 1'000'000});
}

TEST_CASE("search: a quota of weight zero within its nominal never yields (Kueue #4962)") {
  scene s{{{.name = "root"},
           {.name = "Z", .parent = "root", .nominal = gpus(4), .weight = fair_weight::whole(0)},
           {.name = "B", .parent = "root", .nominal = gpus(4)},
           {.name = "C", .parent = "root"}}};
  allot::running_index<> running;
  running.resize(4);
  elastic jobs{s.accounts(), running};
  for (int i = 0; i < 4; ++i) jobs.add(s.quota("Z"), 1, 0);
  for (int i = 0; i < 4; ++i) jobs.add(s.quota("C"), 1, 0);
  const preempt_settings may{.rivals = allot::preempt_rivals::any};
  CHECK(ids(rivals_of<allot::final_share>(s, s.asks("B", 4, 0, may), running)) == numbers{7, 6, 5, 4});
  CHECK(
      rivals_of<allot::final_share>(s, s.asks("B", 5, 0, may), running, search_outcome::impossible).empty());
}

TEST_CASE("search: a borrowing job preempts lower priorities up to a threshold") {
  scene s{{{.name = "root", .nominal = gpus(8)},
           {.name = "A", .parent = "root"},
           {.name = "B", .parent = "root"}}};
  s.run("B", 2, 2, 0).run("B", 1, 2, 1).run("B", 1, 2, 2);
  CHECK(s.none_for("A", 2, 5));
  preempt_settings may{.borrow = allot::preempt_borrow::lower_priority};
  CHECK(s.victims("A", 4, 5, may) == numbers{1, 0});
  CHECK(s.victims("A", 8, 5, may).size() == 4);
  CHECK(s.none_for("A", 2, 0, may));
  CHECK(s.none_for("A", 8, 2, may));
  may.borrow_max_priority = 0;
  CHECK(s.victims("A", 4, 5, may) == numbers{1, 0});
  CHECK(s.none_for("A", 6, 5, may));
  may.reclaim = preempt_reclaim::never;
  CHECK(s.none_for("A", 2, 5, may));
}

// Placements that can answer what-if questions.

TEST_CASE("search: does not start if the what-if rules out any success") {
  struct bounded : anywhere {
    bool promises = true;
    std::vector<allot::possible_victims> asked{};

    [[nodiscard]] bool might_fit_without(std::span<const allot::possible_victims> these) {
      asked.assign(these.begin(), these.end());
      return promises;
    }
    [[nodiscard]] bool begin_what_if() { return false; }
    void gone(const running_job<1>&) {}
    void back(const running_job<1>&) {}
    [[nodiscard]] bool helps(const running_job<1>&) { return true; }
    [[nodiscard]] bool would_fit() { return false; }
  };
  static_assert(allot::what_if_world<bounded, 1> && !allot::what_if_world<anywhere, 1>);
  ledger<> l{allot::build_quota_tree<1>({{.name = "root"},
                                         {.name = "A", .parent = "root", .nominal = gpus(2)},
                                         {.name = "B", .parent = "root", .nominal = gpus(2)}})
                 .value()};
  allot::running_index<> running;
  running.resize(3);
  running_job<> j;
  j.id = job_id{0};
  j.quota = quota_id{2};
  j.request = gpus(4);
  l.charge(j.quota, j.request);
  running.insert(j);
  const beneficiary<1> b{quota_id{1}, gpus(1), allot::capacity_kind::any, 3};
  allot::victim_search<1, allot::lowest_priority_then_newest, allot::eligible_is_fair> find;
  bounded w;
  w.promises = false;
  const ledger<> before = l;
  CHECK(find.run(l, running, b, w) == search_outcome::impossible);
  CHECK(l == before);
  CHECK(w.asked == std::vector<allot::possible_victims>{{quota_id{1}, 2}, {quota_id{2}}});
  w.promises = true;
  CHECK(find.run(l, running, b, w) == search_outcome::found);
  CHECK(find.victims().size() == 1);
}

// All relations, on random trees, against the definitions.

namespace {

/// Some jobs become elastic pods of others, and the settings let borrowers preempt borrowers.
template <std::size_t N>
void let_borrowers_ask(random_source& random, world<N>& w) {
  w.b.may.rivals =
      random.pick(std::vector{allot::preempt_rivals::never, allot::preempt_rivals::lower_priority,
                              allot::preempt_rivals::any, allot::preempt_rivals::any});
  if (random.one_in(2)) w.b.may.borrow = allot::preempt_borrow::lower_priority;
  if (random.one_in(3)) w.b.may.borrow_max_priority = random.between(0, 2);
}
/// Two departments and a team share a pool; their teams own little or nothing.
template <std::size_t N>
std::vector<quota_spec<N>> pool_of_rivals(random_source& random, std::int64_t most) {
  std::vector<quota_spec<N>> specs(7);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    specs[i].name = std::to_string(i);
    if (i > 0) specs[i].parent = i < 4 ? "0" : (i < 6 ? "1" : "2");
    for (std::size_t d = 0; d < N; ++d) {
      if (i == 0) specs[i].nominal[d] = gpus(random.between(1, most));
      if (i > 0 && random.one_in(4)) specs[i].nominal[d] = gpus(random.between(0, most / 4));
      specs[i].weight[d] = fair_weight::milli(random.one_in(8) ? 0 : 500 * random.between(1, 4));
      if (random.one_in(6)) specs[i].lend[d] = limit::at_most(gpus(1));
    }
  }
  return specs;
}
template <std::size_t N>
void make_elastic(random_source& random, world<N>& w) {
  for (std::size_t i = 1; i < w.preemptible.size(); ++i) {
    auto& unit = w.preemptible[i];
    const auto& core = w.preemptible[random.below(i)];
    if (core.elastic || core.quota != unit.quota || !random.one_in(2)) continue;
    if (std::any_of(w.preemptible.begin(), w.preemptible.end(),
                    [&](const auto& j) { return j.elastic && j.core == unit.id; })) {
      continue;
    }
    w.running.erase(unit);
    unit.elastic = true;
    unit.core = core.id;
    unit.priority = core.priority;
    w.running.insert(unit);
  }
}

template <std::size_t N>
using rival_search = allot::victim_search<N, allot::lowest_priority_then_highest_share, allot::final_share>;

/// Whether all rivals among these are fair, each at its turn.
template <std::size_t N>
bool rivals_are_fair(world<N>& w, const std::vector<allot::victim<N>>& victims, std::size_t without) {
  bool fair = true;
  for (const auto& v : victims) w.oracle.charge(v.job);
  for (std::size_t i = 0; i < victims.size(); ++i) {
    if (i == without) continue;
    fair = fair && (victims[i].how != relation::rival || w.oracle.is_fair(w.b, victims[i].job));
    w.oracle.release(victims[i].job);
  }
  if (without < victims.size()) w.oracle.release(victims[without].job);
  return fair;
}

}  // namespace

TEST_CASE("search: rivals and their elastic pods match the definition on random trees") {
  std::size_t rivals = 0;
  std::size_t elastic = 0;
  const auto check = [&](auto& w) {
    constexpr std::size_t n = std::tuple_size_v<decltype(w.oracle.contested(w.b))>;
    if (w.fits()) return;
    rival_search<n> find;
    machines trial = w.m;
    const auto point = w.l.save();
    const auto outcome = find.run(w.l, w.running, w.b, trial);
    w.l.rollback(point);
    if (outcome != search_outcome::found) return;
    const std::vector<allot::victim<n>> victims{find.victims().begin(), find.victims().end()};
    std::set<std::size_t> gone;
    for (const auto& v : victims) {
      w.take_off(v.job);
      CHECK(gone.insert(v.job.id.index()).second);
      rivals += v.how == relation::rival ? 1U : 0U;
      elastic += v.job.elastic ? 1U : 0U;
    }
    CHECK(w.fits());
    CHECK(rivals_are_fair(w, victims, victims.size()));
    for (std::size_t i = 0; i < victims.size(); ++i) {
      const auto& j = victims[i].job;
      // No job is evicted while an elastic pod of it remains.
      for (const auto& unit : w.preemptible) {
        if (unit.elastic && unit.core == j.id) CHECK(gone.count(unit.id.index()) == 1);
      }
      if (j.elastic && gone.count(j.core.index()) == 1) continue;
      // Every victim is needed.
      w.put_back(j);
      const bool needed = !w.fits();
      w.take_off(j);
      if (!needed) CHECK_FALSE((rivals_are_fair(w, victims, i) && borrowers_owe(w, victims, i)));
    }
  };
  allot_test::for_each_seed(10'000, [&](random_source& random) {
    world<1> one{random, false, random.one_in(3)};
    let_borrowers_ask(random, one);
    make_elastic(random, one);
    check(one);
    world<2> two{random, false, random.one_in(3)};
    let_borrowers_ask(random, two);
    make_elastic(random, two);
    check(two);
    world<1> pool{random, false, random.one_in(3), false, pool_of_rivals<1>(random, 60)};
    let_borrowers_ask(random, pool);
    make_elastic(random, pool);
    check(pool);
    world<2> pools{random, false, random.one_in(3), false, pool_of_rivals<2>(random, 60)};
    let_borrowers_ask(random, pools);
    check(pools);
  });
  if (allot_test::all_cases_run()) {
    CHECK(rivals > 100);
    CHECK(elastic > 100);
  }
}

TEST_CASE("search: with rivals, too, it finds victims whenever some sequence makes room") {
  std::size_t possible = 0;
  std::size_t by_rivals = 0;
  std::size_t missed = 0;
  allot_test::for_each_seed(10'000, [&](random_source& random) {
    world<1> w{random, true, false, false, pool_of_rivals<1>(random, 8)};
    let_borrowers_ask(random, w);
    w.b.request[0] = gpus(random.between(1, 4));
    w.m.wanted = 0;
    if (w.preemptible.size() > 9 || w.fits()) return;
    const std::array<bool, 1> contested{true};
    const bool without = some_sequence_makes_room(w);
    // The evicted jobs, and whether each is a rival. Rivals must still be fair in the end, when owners have
    // reclaimed as well.
    std::set<std::vector<int>> seen;
    std::vector<int> gone(w.preemptible.size());
    const auto rivals_are_fair_now = [&] {
      bool fair = true;
      for (std::size_t i = 0; i < gone.size(); ++i) {
        if (gone[i] != 2) continue;
        w.oracle.charge(w.preemptible[i]);
        fair = fair && w.oracle.is_fair(w.b, w.preemptible[i]);
        w.oracle.release(w.preemptible[i]);
      }
      return fair;
    };
    const auto explore = [&](auto& self) -> bool {
      if (w.fits()) return rivals_are_fair_now();
      if (!seen.insert(gone).second) return false;
      for (std::size_t i = 0; i < gone.size(); ++i) {
        const auto& j = w.preemptible[i];
        if (gone[i] != 0) continue;
        if (w.oracle.may_ask(w.b, j, contested) || w.oracle.may_ask_while_borrowing(w.b, j, contested)) {
          gone[i] = 1;
        } else if (w.oracle.may_ask_as_rival(w.b, j, contested)) {
          gone[i] = 2;
        } else {
          continue;
        }
        w.take_off(j);
        const bool found = self(self);
        w.put_back(j);
        gone[i] = 0;
        if (found) return true;
      }
      return false;
    };
    const bool some = explore(explore);
    rival_search<1> find;
    anywhere place;
    const auto point = w.l.save();
    const auto outcome = find.run(w.l, w.running, w.b, place);
    w.l.rollback(point);
    if (outcome != search_outcome::not_proven) CHECK((outcome == search_outcome::found) == some);
    missed += some && outcome == search_outcome::not_proven ? 1U : 0U;
    possible += some ? 1U : 0U;
    by_rivals += some && !without ? 1U : 0U;
  });
  // A victim that turns out to be unnecessary may have made another one unfair; the search reports that it
  // does not know.
  if (allot_test::all_cases_run()) {
    CHECK(possible > 100);
    CHECK(by_rivals > 50);
    CHECK(100 * missed < possible);
  }
}

TEST_CASE("search: with rivals, protections and costs it does not allocate again") {
  allot_test::for_each_seed(300, [&](random_source& random) {
    world<2> w{random, false, false};
    let_borrowers_ask(random, w);
    make_elastic(random, w);
    allot::victim_search<2, allot::cheapest_lost_work, allot::final_then_initial_share,
                         allot::disruption_budget>
        find{{}, {}, 1000, {.times = 4, .per = 1}};
    anywhere place;
    const auto ask = [&] {
      const auto point = w.l.save();
      static_cast<void>(find.run(w.l, w.running, w.b, place));
      w.l.rollback(point);
      return find.victims().size();
    };
    const std::size_t first = ask();
    std::size_t second = 0;
    CHECK(allot_test::allocations_in([&] { second = ask(); }) == 0);
    CHECK(first == second);
  });
}

TEST_CASE("search: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::search_outcome>(3));
}

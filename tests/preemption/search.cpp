// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/search.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/yield_oracle.hpp"

using allot::beneficiary;
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

/// Everything can stand somewhere.
struct anywhere {
  template <std::size_t N>
  void take_off(const running_job<N>&) {}
  template <std::size_t N>
  void put_back(const running_job<N>&) {}
  [[nodiscard]] bool could_place() const { return true; }
};
static_assert(allot::search_world<anywhere, 1>);

/// Machines with a number of GPUs each; a job stands on one of them.
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

/// A cluster written down by hand: jobs are named by their numbers, in the order in which they started.
class scene {
 public:
  explicit scene(std::vector<quota_spec<>> specs)
      : ledger_(allot::build_quota_tree<1>(std::move(specs)).value()) {
    running_.resize(ledger_.tree().slots());
  }

  [[nodiscard]] quota_id quota(const char* name) const { return ledger_.tree().find(name); }
  [[nodiscard]] ledger<>& accounts() { return ledger_; }

  /// `count` jobs of `each` GPUs.
  scene& run(const char* in, int count, int each, std::int32_t priority = 0) {
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

  /// The numbers of the victims; nothing is evicted in the end.
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
  std::vector<std::size_t> victims(const char* in, int request, std::int32_t priority = 0,
                                   preempt_settings may = {}) {
    return victims(asks(in, request, priority, may));
  }
  bool nobody_for(const char* in, int request, std::int32_t priority = 0, preempt_settings may = {}) {
    return victims(asks(in, request, priority, may), search_outcome::impossible).empty();
  }
  [[nodiscard]] beneficiary<1> asks(const char* in, int request, std::int32_t priority = 0,
                                    preempt_settings may = {}) const {
    return {quota(in), gpus(request), allot::lane::any, priority, 1000, may};
  }

 private:
  ledger<> ledger_;
  allot::running_index<> running_;
  std::vector<running_job<>> jobs_;
};

using numbers = std::vector<std::size_t>;

}  // namespace

TEST_CASE("search: several borrowers give alike (KAI v0.5.1)") {
  // A and B use 6 each and own 4 each; C takes back its 4.
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(4)},
           {.name = "B", .parent = "root", .nominal = gpus(4)},
           {.name = "C", .parent = "root", .nominal = gpus(4)}}};
  s.run("A", 6, 1).run("B", 6, 1);
  const numbers victims = s.victims("C", 4);
  CHECK(std::set<std::size_t>(victims.begin(), victims.end()) == std::set<std::size_t>{4, 5, 10, 11});
}

TEST_CASE("search: nobody falls below what is its own, so gangs go only while their quota borrows") {
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(6)},
           {.name = "C", .parent = "root", .nominal = gpus(4)}}};
  s.run("A", 1, 5).run("A", 1, 5);
  CHECK(s.victims("C", 4) == numbers{1});
  CHECK(s.victims("C", 1) == numbers{1});
  s.run("C", 1, 4);
  CHECK(s.nobody_for("C", 1));
}

TEST_CASE("search: who turns out unnecessary is let go") {
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root"},
           {.name = "C", .parent = "root", .nominal = gpus(10)}}};
  s.run("A", 1, 8).run("A", 1, 2);
  // The newest comes first but is of no use once the other has to go anyway.
  CHECK(s.victims("C", 8) == numbers{0});
  CHECK(s.victims("C", 9) == numbers{1, 0});
  CHECK(s.victims("C", 2) == numbers{1});
}

TEST_CASE("search: a quota above its own that can't take back anything evicts nobody (Kueue #1979)") {
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(4)},
           {.name = "B", .parent = "root", .nominal = gpus(4)}}};
  s.run("A", 4, 1, 9).run("B", 4, 1, 9);
  CHECK(s.nobody_for("A", 2));
  CHECK(s.nobody_for("A", 4, 5));
  // Nor does it evict its own when even all of them would not do.
  s.run("A", 1, 1, 0);
  CHECK(s.nobody_for("A", 3, 5));
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

TEST_CASE("search: a department takes back what its teams own together") {
  scene s{{{.name = "root"},
           {.name = "dept", .parent = "root", .nominal = gpus(8)},
           {.name = "A", .parent = "dept"},
           {.name = "B", .parent = "dept"},
           {.name = "other", .parent = "root"}}};
  s.run("other", 2, 2).run("B", 2, 2);
  // A owns nothing, but its department owns what other uses; B owes nothing within the department's own.
  CHECK(s.victims("A", 4) == numbers{1, 0});
  CHECK(s.nobody_for("A", 5));
}

TEST_CASE("search: who is covered by a quota above owes nothing to the outside") {
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

TEST_CASE("search: within a quota lower priority yields, lowest first, and equals only if newer") {
  scene s{{{.name = "root"}, {.name = "A", .parent = "root", .nominal = gpus(3)}}};
  s.run("A", 1, 1, 1).run("A", 1, 1, 0).run("A", 1, 1, 2);
  CHECK(s.victims("A", 1, 2) == numbers{1});
  CHECK(s.victims("A", 2, 2) == numbers{1, 0});
  CHECK(s.nobody_for("A", 3, 2));
  CHECK(s.nobody_for("A", 1, 0));
  CHECK(s.nobody_for("A", 1, 9, {.within = preempt_within::never}));
  preempt_settings newer{.within = preempt_within::lower_or_newer_equal};
  beneficiary<1> b = s.asks("A", 1, 0, newer);
  CHECK(s.victims(b, search_outcome::impossible).empty());
  b.submitted = 1;
  CHECK(s.victims(b, search_outcome::impossible).empty());
  b.submitted = 0;
  CHECK(s.victims(b) == numbers{1});
}

TEST_CASE("search: borrowers go before jobs of the own quota") {
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
  CHECK(s.nobody_for("A", 1, 9, {.reclaim = preempt_reclaim::never}));
  const preempt_settings lower{.reclaim = preempt_reclaim::lower_priority};
  CHECK(s.nobody_for("A", 1, 1, lower));
  CHECK(s.victims("A", 2, 5, lower) == numbers{1, 0});
  CHECK(s.nobody_for("A", 3, 5, lower));
  CHECK(s.victims("A", 3, 6, lower).size() == 3);
}

TEST_CASE("search: below the beneficiary only with the switch, and never above") {
  scene s{{{.name = "quota1", .nominal = gpus(128), .inclusive = true},
           {.name = "quota1.1", .parent = "quota1", .nominal = gpus(48)},
           {.name = "quota1.2", .parent = "quota1", .nominal = gpus(80)}}};
  s.run("quota1.1", 48, 1).run("quota1.2", 80, 1);
  CHECK(s.nobody_for("quota1", 1, 9));
  const numbers victims = s.victims("quota1", 32, 0, {.children = true});
  // In proportion to what they have: 12 of 48 and 20 of 80.
  CHECK(victims.size() == 32);
  CHECK(std::count_if(victims.begin(), victims.end(), [](std::size_t v) { return v < 48; }) == 12);

  scene upside_down{{{.name = "quota1", .nominal = gpus(8), .inclusive = true},
                     {.name = "quota1.1", .parent = "quota1", .nominal = gpus(8)}}};
  upside_down.run("quota1", 8, 1);
  CHECK(upside_down.nobody_for("quota1.1", 1, 9, {.children = true}));
}

TEST_CASE("search: an inner quota takes its own pool back from children that use it, without a switch") {
  scene s{{{.name = "dept", .nominal = gpus(10), .inclusive = true},
           {.name = "A", .parent = "dept", .nominal = gpus(4)}}};
  s.run("A", 10, 1);
  CHECK(s.victims("dept", 6).size() == 6);
  CHECK(s.nobody_for("dept", 7));
}

TEST_CASE("search: jobs of an inner quota do not pay for what its children borrow") {
  scene s{{{.name = "root"},
           {.name = "dept", .parent = "root", .nominal = gpus(4)},
           {.name = "A", .parent = "dept"},
           {.name = "B", .parent = "root", .nominal = gpus(4)}}};
  s.run("A", 4, 1).run("dept", 4, 1);
  const numbers victims = s.victims("B", 2);
  CHECK(victims == numbers{3, 2});
}

TEST_CASE("search: a quota owns more as its own lower jobs go, and then takes back what others use") {
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(6)},
           {.name = "B", .parent = "root", .nominal = gpus(2)}}};
  s.run("A", 2, 1, 0).run("B", 6, 1, 9);
  // 6 are its own: 2 that its lower jobs use and 4 that B does.
  CHECK(s.victims("A", 6, 5) == numbers{1, 0, 7, 6, 5, 4});
  CHECK(s.victims("A", 5, 5) == numbers{1, 7, 6, 5, 4});
  CHECK(s.nobody_for("A", 7, 5));
  CHECK(s.nobody_for("A", 6, 0));
}

TEST_CASE("search: with fewer dimensions contested more may be owned") {
  // A owns the second dimension, its department owns both. What is lent of the first comes back from outside;
  // what is lent of the second outside can't be taken back, but Z, next to A, uses as much.
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

TEST_CASE("search: a job that uses nothing contested is never taken") {
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

TEST_CASE("search: a used up budget is not a proof") {
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(4)},
           {.name = "B", .parent = "root"}}};
  s.run("B", 4, 1);
  const beneficiary<1> b = s.asks("A", 3);
  CHECK(s.victims(b, search_outcome::not_proven, 0).empty());
  CHECK(s.victims(b, search_outcome::not_proven, 2).empty());
  CHECK(s.victims(b, search_outcome::found, 3).size() == 3);
  // Without anybody to ask, or beyond what there is, no budget is needed for the proof.
  CHECK(s.victims(s.asks("A", 5), search_outcome::impossible, 0).empty());
  CHECK(s.victims(s.asks("B", 1), search_outcome::impossible, 0).empty());
}

TEST_CASE("search: an extra victim must pass the guard") {
  struct spares {
    quota_id quota;
    bool operator()(const ledger<>&, const beneficiary<1>&, const allot::donor<1>& d) const {
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

TEST_CASE("search: in the guaranteed lane its own jobs stand in the way, and they are no victims") {
  scene s{{{.name = "root"},
           {.name = "A", .parent = "root", .nominal = gpus(4)},
           {.name = "B", .parent = "root", .nominal = gpus(4)}}};
  s.run("B", 6, 1);
  s.accounts().charge(s.quota("A"), gpus(2), allot::lane::guaranteed);
  beneficiary<1> b = s.asks("A", 2);
  b.in = allot::lane::guaranteed;
  CHECK(s.victims(b).size() == 2);
  b.request = gpus(3);
  CHECK(s.victims(b, search_outcome::impossible, 0).empty());
}

TEST_CASE("search: places are made as well as shares") {
  // Two machines of 4. The quota allows what is asked, but no machine has it.
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
  // On the machine of the newer one a job of A stands as well: it is let go again.
  CHECK(victims_of(4) == numbers{0});
}

TEST_CASE("search: when only a place is missing, all that is asked for is contested") {
  // Dimension 1 is short, dimension 0 is not, but the only machine is full of it.
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

/// A random tree with running jobs, and somebody who asks.
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
  /// Below an overcommitted quota not even an idle tree need keep the law of the guaranteed lane, and the
  /// ledger then lets a job stand on what its quota keeps (see headroom): there that lane is left out.
  world(random_source& random, bool unit_jobs, bool with_machines, bool overcommit)
      : l(allot::quota_tree<N>{allot_test::random_quotas<N>(
            random, {.most_quotas = 9, .one_root_in = 20, .one_unlimited_in = 0, .overcommit = overcommit})}),
        oracle(l.tree()) {
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
      j.priority = static_cast<std::int32_t>(random.between(0, 2));
      j.started = random.between(0, 3);
      j.submitted = random.between(0, 3);
      j.order = i;
      for (std::size_t d = 0; d < N; ++d) j.request[d] = amount(4);
      if (!overcommit && random.one_in(10)) j.in = allot::lane::guaranteed;
      const std::size_t machine = random.below(m.free.size());
      if (!l.fits(j.quota, j.request, j.in) || m.free[machine] < j.request[0].in_milli()) continue;
      m.free[machine] -= j.request[0].in_milli();
      m.where[i] = machine;
      l.charge(j.quota, j.request, j.in);
      oracle.charge(j);
      if (j.in == allot::lane::guaranteed || random.one_in(12)) continue;
      running.insert(j);
      preemptible.push_back(j);
    }
    b.quota = random.pick(quotas);
    for (std::size_t d = 0; d < N; ++d) b.request[d] = amount(7);
    b.in = !overcommit && random.one_in(8) ? allot::lane::guaranteed : allot::lane::any;
    b.priority = static_cast<std::int32_t>(random.between(0, 3));
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

/// What the search says is checked against the definitions; returns what it said.
template <std::size_t N>
search_outcome check_search(world<N>& w) {
  search<N> find;
  const ledger<N> before = w.l;
  const machines machines_before = w.m;
  machines trial = w.m;
  // As victims go fewer dimensions may be contested, or, when only a place is missing, all that are asked
  // for.
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
    // Law 3: take any victim out, and there is no room.
    for (const auto& v : find.victims()) {
      w.put_back(v.job);
      CHECK_FALSE(w.fits());
      w.take_off(v.job);
    }
    // Nobody is asked who may not be. Jobs of the near side that were let go again may have been what opened
    // the far side, so they count as gone for the borrowers.
    for (const auto& v : find.victims()) w.put_back(v.job);
    const auto near = [&](const running_job<N>& j) {
      return j.quota == w.b.quota ||
             (w.b.may.children && w.l.tree().common_ancestor(j.quota, w.b.quota) == w.b.quota);
    };
    for (const auto& v : find.victims()) {
      std::vector<running_job<N>> away;
      for (const auto& j : w.preemptible) {
        if (j.id != v.job.id && v.how == relation::borrower && near(j) &&
            w.oracle.may_ask(w.b, j, first_contested)) {
          away.push_back(j);
        }
      }
      for (const auto& j : away) w.take_off(j);
      CHECK(std::any_of(contested.begin(), contested.end(),
                        [&](const auto& dimensions) { return w.oracle.may_ask(w.b, v.job, dimensions); }));
      for (const auto& j : away) w.put_back(j);
    }
  } else {
    REQUIRE(outcome == search_outcome::impossible);
    // Either nobody is left who may be asked, or even without anybody there is no room.
    for (const auto& j : w.preemptible) w.take_off(j);
    const bool hopeless = !w.fits();
    for (const auto& j : w.preemptible) w.put_back(j);
    if (!hopeless) {
      // The search has left its last state behind: who is gone there has been asked.
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

/// Whether some sequence of victims, each of whom may be asked at its turn, makes room: all are tried.
template <std::size_t N>
bool some_sequence_makes_room(world<N>& w,
                              const typename allot_test::yield_oracle<N>::dimensions& contested) {
  std::set<std::vector<bool>> seen;
  std::vector<bool> gone(w.preemptible.size());
  const auto explore = [&](auto& self) -> bool {
    if (w.fits()) return true;
    if (!seen.insert(gone).second) return false;
    for (std::size_t i = 0; i < gone.size(); ++i) {
      if (gone[i] || !w.oracle.may_ask(w.b, w.preemptible[i], contested)) continue;
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

}  // namespace

TEST_CASE("search: victims are few and fair, and when there are none nobody could be asked") {
  std::size_t found = 0;
  allot_test::for_each_seed(12'000, [&](random_source& random) {
    world<1> w{random, false, random.one_in(3)};
    if (w.fits()) return;
    found += check_search(w) == search_outcome::found ? 1U : 0U;
  });
  WARN(found > 1000);
}

TEST_CASE("search: the same in two dimensions") {
  std::size_t found = 0;
  allot_test::for_each_seed(12'000, [&](random_source& random) {
    world<2> w{random, false, random.one_in(3)};
    if (w.fits()) return;
    found += check_search(w) == search_outcome::found ? 1U : 0U;
  });
  WARN(found > 1000);
}

TEST_CASE("search: finds victims whenever any sequence of them would do, as long as no gang gives too much") {
  std::size_t possible = 0;
  allot_test::for_each_seed(6000, [&](random_source& random) {
    world<1> w{random, true, false};
    w.b.request[0] = gpus(random.between(1, 4));
    w.m.wanted = 0;
    if (w.preemptible.size() > 9 || w.fits()) return;
    const bool some = some_sequence_makes_room(w, w.oracle.contested(w.b));
    CHECK((check_search(w) == search_outcome::found) == some);
    possible += some ? 1U : 0U;
  });
  WARN(possible > 100);
}

TEST_CASE("search: asked twice it says the same, and does not allocate again") {
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

// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/builder.hpp>
#include <allot/quota/ledger.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/kueue_oracle.hpp"
#include "tests/support/law_oracle.hpp"
#include "tests/support/print.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/words.hpp"

using allot::capacity_kind;
using allot::gpus;
using allot::ledger;
using allot::limit;
using allot::quantity;
using allot::quota_id;
using allot::quota_spec;
using allot::resources;

namespace {

template <std::size_t N = 1>
ledger<N> ledger_of(std::vector<quota_spec<N>> specs) {
  return ledger<N>{allot::build_quota_tree(std::move(specs)).value()};
}

template <std::size_t N>
struct charged {
  quota_id quota;
  resources<N> request;
  capacity_kind in;
};

template <std::size_t N>
resources<N> random_request(allot_test::random_source& random) {
  resources<N> r;
  for (std::size_t d = 0; d < N; ++d) {
    if (!random.one_in(3)) r[d] = allot_test::detail::random_amount(random);
  }
  return r;
}

/// A ledger beside the law by its definition, with the same jobs charged to both.
template <std::size_t N>
struct world {
  ledger<N> l;
  allot_test::law_oracle<N> law;
  std::vector<charged<N>> jobs;

  explicit world(const std::vector<quota_spec<N>>& specs) : l(ledger_of(specs)), law(specs) {}

  void charge(const charged<N>& job) {
    l.charge(job.quota, job.request, job.in);
    for (std::size_t d = 0; d < N; ++d) {
      law.add(job.quota.index(), d, job.request[d].in_milli(), job.in);
    }
    jobs.push_back(job);
  }
  void release(std::size_t i) {
    const charged<N> job = jobs[i];
    l.release(job.quota, job.request, job.in);
    for (std::size_t d = 0; d < N; ++d) {
      law.add(job.quota.index(), d, -job.request[d].in_milli(), job.in);
    }
    jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(i));
  }
  charged<N> random_job(allot_test::random_source& random) const {
    return {random.pick(l.tree().top_down()), random_request<N>(random),
            random.one_in(4) ? capacity_kind::guaranteed : capacity_kind::any};
  }

  void check_balances() const {
    for (const quota_id x : l.tree().top_down()) {
      CAPTURE(l.tree().name(x));
      CHECK(l.is_sound(x) == law.is_sound(x.index()));
      bool guaranteed = true;
      for (std::size_t d = 0; d < N; ++d) {
        CAPTURE(d);
        CHECK(l.balance(x, d) == law.as_quantity(law.balance(x.index(), d)));
        CHECK(l.borrowed(x, d) == std::max(quantity{}, -law.as_quantity(law.balance(x.index(), d))));
        CHECK(l.own_usage(x, d) == quantity::milli(law.used(x.index(), d)));
        guaranteed = guaranteed && law.is_sound(x.index(), d, capacity_kind::guaranteed);
      }
      CHECK(l.is_sound(x, capacity_kind::guaranteed) == guaranteed);
    }
    CHECK(l.is_sound() == law.is_sound());
  }
  /// The law says what may be added to a sound path. For guaranteed capacity a path may be unsound: a quota
  /// that overcommits can be in debt with nothing used.
  bool has_sound_path(quota_id x, capacity_kind in) {
    for (std::size_t d = 0; d < N; ++d) {
      if (!law.admits(x.index(), d, 0, in)) return false;
    }
    return true;
  }
  void check_headroom(quota_id x, capacity_kind in) {
    if (!has_sound_path(x, in)) return;
    CAPTURE(l.tree().name(x));
    const resources<N> room = l.headroom(x, in);
    for (std::size_t d = 0; d < N; ++d) {
      CAPTURE(d);
      CHECK(room[d] == law.largest(x.index(), d, in));
      CHECK(l.headroom(x, d, in) == room[d]);
    }
  }
};

template <std::size_t N>
void agrees_with_the_law(allot_test::random_source& random) {
  world<N> w{allot_test::random_quotas<N>(random)};
  w.check_balances();
  for (int i = 0; i < 12; ++i) {
    if (!w.jobs.empty() && random.one_in(3)) {
      w.release(random.below(w.jobs.size()));
    } else {
      auto job = w.random_job(random);
      // Everything left in one dimension, or a thousandth more.
      if (random.one_in(3)) {
        const std::size_t d = random.below(N);
        const quantity room = w.l.headroom(job.quota, d, job.in);
        if (room < gpus(1000)) job.request[d] = room + quantity::milli(random.between(0, 1));
      }
      bool admissible = true;
      for (std::size_t d = 0; d < N; ++d) {
        const std::int64_t asked = job.request[d].in_milli();
        admissible = admissible && (asked == 0 || w.law.admits(job.quota.index(), d, asked, job.in));
      }
      if (!w.has_sound_path(job.quota, job.in)) continue;
      CHECK(w.l.fits(job.quota, job.request, job.in) == admissible);
      if (admissible) w.charge(job);
    }
    w.check_balances();
    const quota_id x = random.pick(w.l.tree().top_down());
    w.check_headroom(x, random.one_in(3) ? capacity_kind::guaranteed : capacity_kind::any);
  }
}

/// Charges without a check of the headroom.
template <std::size_t N>
void stays_exact_when_over(allot_test::random_source& random) {
  world<N> w{allot_test::random_quotas<N>(random)};
  for (int i = 0; i < 30; ++i) {
    if (!w.jobs.empty() && random.one_in(3)) {
      w.release(random.below(w.jobs.size()));
    } else {
      w.charge(w.random_job(random));
    }
    if (i % 5 == 0) w.check_balances();
  }
  w.check_balances();
  // The state depends only on the remaining jobs, not on the history.
  ledger<N> again{w.l.tree()};
  random.shuffle(w.jobs);
  for (const auto& job : w.jobs) again.charge(job.quota, job.request, job.in);
  CHECK(again == w.l);
  while (!w.jobs.empty()) w.release(random.below(w.jobs.size()));
  CHECK(w.l == ledger<N>{w.l.tree()});
}

/// A random walk of charges, releases and nested savepoints, against copies of the ledger.
template <std::size_t N>
void rolls_back(allot_test::random_source& random) {
  world<N> w{allot_test::random_quotas<N>(random)};
  struct saved {
    allot::savepoint point;
    ledger<N> before;
    std::vector<charged<N>> jobs;
  };
  std::vector<saved> open;
  for (int i = 0; i < 40; ++i) {
    const std::size_t what = random.below(8);
    if (what == 0) {
      ledger<N> before = w.l;
      open.push_back({w.l.save(), std::move(before), w.jobs});
    } else if (what == 1 && !open.empty()) {
      w.l.rollback(open.back().point);
      w.jobs = open.back().jobs;
      CHECK(w.l == open.back().before);
      open.pop_back();
    } else if (what == 2 && !open.empty()) {
      const ledger<N> before = w.l;
      w.l.commit(open.back().point);
      CHECK(w.l == before);
      open.pop_back();
    } else if (what < 5 && !w.jobs.empty()) {
      w.release(random.below(w.jobs.size()));
    } else {
      w.charge(w.random_job(random));
    }
  }
  // The outermost rolls everything back, whatever was committed inside it.
  for (; !open.empty(); open.pop_back()) {
    w.l.rollback(open.back().point);
    CHECK(w.l == open.back().before);
  }
}

void agrees_with_kueue(allot_test::random_source& random) {
  allot_test::quota_shape shape;
  shape.one_unlimited_in = 0;
  shape.inclusive = false;
  const auto specs = allot_test::random_quotas<1>(random, shape);
  ledger<1> l = ledger_of(specs);
  allot_test::kueue_oracle kueue{specs};
  std::vector<std::pair<quota_id, quantity>> jobs;
  for (const quota_id x : l.tree().top_down()) {
    CHECK(l.potential(x, 0) == quantity::milli(kueue.potential(x.index())));
  }
  for (int i = 0; i < 20; ++i) {
    if (!jobs.empty() && random.one_in(3)) {
      const std::size_t which = random.below(jobs.size());
      const auto [x, amount] = jobs[which];
      l.release(x, amount);
      kueue.remove_usage(x.index(), amount.in_milli());
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      const quota_id x = random.pick(l.tree().top_down());
      const quantity amount = allot_test::detail::random_amount(random);
      l.charge(x, amount);
      kueue.add_usage(x.index(), amount.in_milli());
      jobs.emplace_back(x, amount);
    }
    for (const quota_id x : l.tree().top_down()) {
      CHECK(l.headroom(x, 0) == quantity::milli(kueue.available(x.index())));
    }
  }
}

template <std::size_t N>
void allocates_nothing(allot_test::random_source& random) {
  world<N> w{allot_test::random_quotas<N>(random)};
  std::vector<charged<N>> jobs;
  for (int i = 0; i < 20; ++i) jobs.push_back(w.random_job(random));
  w.l.reserve(2 * jobs.size());
  bool fitted = false;
  quantity room;
  CHECK(allot_test::allocations_in([&] {
          for (int round = 0; round < 2; ++round) {
            const allot::savepoint outer = w.l.save();
            for (const auto& job : jobs) {
              fitted ^= w.l.fits(job.quota, job.request, job.in);
              room = std::min(room, w.l.headroom(job.quota, job.in)[0]);
              w.l.charge(job.quota, job.request, job.in);
            }
            const allot::savepoint inner = w.l.save();
            for (const auto& job : jobs) w.l.release(job.quota, job.request, job.in);
            if (round == 0) {
              w.l.rollback(inner);
            } else {
              w.l.commit(inner);
            }
            w.l.rollback(outer);
          }
          for (const auto& job : jobs) w.l.charge(job.quota, job.request, job.in);
          for (const auto& job : jobs) w.l.release(job.quota, job.request, job.in);
        }) == 0);
  CHECK(w.l == ledger<N>{w.l.tree()});
}

/// Two leaves that may lend each other everything they have.
std::vector<quota_spec<>> two_teams(std::int64_t a, std::int64_t b) {
  return {{.name = "cohort"},
          {.name = "a", .parent = "cohort", .nominal = gpus(a)},
          {.name = "b", .parent = "cohort", .nominal = gpus(b)}};
}
constexpr quota_id cohort{0};
constexpr quota_id a{1};
constexpr quota_id b{2};

}  // namespace

TEST_CASE("ledger: agrees with the law by its definition, one dimension") {
  allot_test::for_each_seed(5000, agrees_with_the_law<1>);
}
TEST_CASE("ledger: agrees with the law by its definition, three dimensions") {
  allot_test::for_each_seed(2000, agrees_with_the_law<3>);
}
TEST_CASE("ledger: agrees with the law where unlimited quotas contain each other, thirty deep") {
  // Deeper than random trees start; changes can make them so.
  std::vector<quota_spec<1>> specs;
  for (int i = 0; i < 30; ++i) {
    specs.push_back({.name = "q" + std::to_string(i),
                     .parent = i == 0 ? "" : "q" + std::to_string(i - 1),
                     .nominal = quantity::unlimited(),
                     .inclusive = true});
  }
  world<1> w{specs};
  w.charge({quota_id{29}, gpus(3), capacity_kind::any});
  w.check_balances();
  w.check_headroom(quota_id{29}, capacity_kind::any);
}
TEST_CASE("ledger: stays exact when over, and does not depend on its history") {
  allot_test::for_each_seed(2000, stays_exact_when_over<1>);
  allot_test::for_each_seed(300, stays_exact_when_over<3>);
}
TEST_CASE("ledger: a discount counts in its quota only, until the rollback") {
  ledger<1> l = ledger_of({{.name = "cohort", .nominal = gpus(6)},
                           {.name = "a", .parent = "cohort", .nominal = gpus(1)},
                           {.name = "b", .parent = "cohort"}});
  l.charge(a, gpus(4));
  const ledger<1> before = l;
  const allot::savepoint s = l.save();
  l.discount(a, gpus(3));
  CHECK(l.drawn(a, 0) == quantity::whole(1));
  CHECK(l.borrowed(a, 0) == quantity{});
  CHECK(l.own_usage(a, 0) == quantity::whole(4));
  CHECK(l.drawn(cohort, 0) == quantity::whole(4));
  // Of what is released, the cohort gets no more than the part of a's usage that counts.
  l.release(a, gpus(4));
  CHECK(l.drawn(a, 0) == -quantity::whole(3));
  CHECK(l.drawn(cohort, 0) == quantity::whole(3));
  l.rollback(s);
  CHECK(l == before);
  CHECK_THROWS(l.discount(a, gpus(1)));
}

TEST_CASE("ledger: rollback restores the state bit for bit, through nested savepoints") {
  allot_test::for_each_seed(1500, rolls_back<1>);
  allot_test::for_each_seed(300, rolls_back<3>);
}
TEST_CASE("ledger: headroom is Kueue's available(), also in states that are over") {
  allot_test::for_each_seed(3000, agrees_with_kueue);
}
TEST_CASE("ledger: charge, release, headroom, fits and rollback do not allocate") {
  allot_test::for_each_seed(50, allocates_nothing<1>);
  allot_test::for_each_seed(50, allocates_nothing<3>);
}

TEST_CASE("ledger: the potential of a quota is its headroom when all others are idle") {
  allot_test::for_each_seed(1000, [](allot_test::random_source& random) {
    world<1> w{allot_test::random_quotas<1>(random)};
    const ledger<> idle = w.l;
    for (int i = 0; i < 10; ++i) w.charge(w.random_job(random));
    for (const quota_id x : idle.tree().top_down()) {
      CHECK(w.l.potential(x, 0) == idle.headroom(x, 0));
      constexpr capacity_kind kind = capacity_kind::guaranteed;
      CHECK(w.l.potential(x, 0, kind) == idle.headroom(x, 0, kind));
    }
  });
}

TEST_CASE("ledger: the part of a request that reaches the parent") {
  allot_test::for_each_seed(500, [](allot_test::random_source& random) {
    world<1> w{allot_test::random_quotas<1>(random)};
    for (int i = 0; i < 10; ++i) w.charge(w.random_job(random));
    const quota_id x = random.pick(w.l.tree().top_down());
    const quantity amount = allot_test::detail::random_amount(random);
    const quota_id p = w.l.tree().parent(x);
    if (!p) return;
    const quantity passed = w.l.passed_up(x, 0, amount);
    const quantity before = w.l.drawn(p, 0);
    w.l.charge(x, amount);
    CHECK(w.l.drawn(p, 0) == before + passed);
    CHECK(w.l.drawn(p)[0] == w.l.drawn(p, 0));
  });
}

TEST_CASE("ledger: usage by quota, kind of capacity and subtree") {
  ledger<> l = ledger_of(two_teams(6, 5));
  l.charge(a, gpus(2));
  l.charge(a, gpus(1), capacity_kind::guaranteed);
  l.charge(b, gpus(4));
  l.charge(cohort, gpus(1));
  CHECK(l.own_usage(a) == resources<>{gpus(3)});
  CHECK(l.own_usage(a, capacity_kind::guaranteed) == resources<>{gpus(1)});
  CHECK(l.own_usage(a, capacity_kind::any) == l.own_usage(a));
  CHECK(l.own_usage(cohort) == resources<>{gpus(1)});
  CHECK(l.total_usage(cohort) == resources<>{gpus(8)});
  CHECK(l.drawn(cohort) == resources<>{gpus(8)});
  CHECK(l.total_supply(cohort, 0) == gpus(11));
}

TEST_CASE("ledger: HyperPod's example: a borrows what b leaves idle, unless a limit forbids it") {
  // A has 6 and uses 2, B has 5 and uses 4.
  const auto used = [](std::vector<quota_spec<>> specs) {
    ledger<> l = ledger_of(std::move(specs));
    l.charge(a, gpus(2));
    l.charge(b, gpus(4));
    return l;
  };
  const auto specs = two_teams(6, 5);

  ledger<> l = used(specs);
  CHECK(l.fits(b, gpus(4)));
  l.charge(b, gpus(4));
  CHECK(l.borrowed(b, 0) == gpus(3));
  CHECK(l.headroom(b, 0) == gpus(1));

  auto a_keeps_its_own = specs;
  a_keeps_its_own[a.index()].lend = limit::none();
  CHECK_FALSE(used(a_keeps_its_own).fits(b, gpus(4)));
  CHECK(used(a_keeps_its_own).headroom(b, 0) == gpus(1));
  CHECK(used(a_keeps_its_own).headroom(a, 0) == gpus(5));

  auto b_may_borrow_40_percent = specs;
  b_may_borrow_40_percent[b.index()].borrow = limit::percent(40);
  CHECK_FALSE(used(b_may_borrow_40_percent).fits(b, gpus(4)));
  CHECK(used(b_may_borrow_40_percent).fits(b, gpus(3)));

  auto b_is_static = specs;
  b_is_static[b.index()].is_static = true;
  CHECK(used(b_is_static).headroom(b, 0) == gpus(1));
  CHECK(used(b_is_static).headroom(a, 0) == gpus(4));
}

TEST_CASE("ledger: PAI's inclusive parent: a job on it uses what its children leave idle") {
  ledger<> l = ledger_of({{.name = "quota1", .nominal = gpus(128), .inclusive = true},
                          {.name = "quota1.1", .parent = "quota1", .nominal = gpus(48)},
                          {.name = "quota1.2", .parent = "quota1", .nominal = gpus(80)}});
  CHECK(l.headroom(cohort, 0) == gpus(128));
  l.charge(a, gpus(60));
  CHECK(l.borrowed(a, 0) == gpus(12));
  CHECK(l.headroom(cohort, 0) == gpus(68));
  l.charge(cohort, gpus(68));
  CHECK(l.headroom(b, 0) == quantity{});
  CHECK(l.is_sound());
}

TEST_CASE("ledger: guaranteed capacity is never borrowed") {
  ledger<> l = ledger_of(two_teams(6, 5));
  CHECK(l.headroom(b, 0, capacity_kind::guaranteed) == gpus(5));
  l.charge(b, gpus(4), capacity_kind::guaranteed);
  CHECK_FALSE(l.fits(b, gpus(2), capacity_kind::guaranteed));
  CHECK(l.fits(b, gpus(2), capacity_kind::any));
  // Other quotas' preemptible jobs take room, but not the guarantee.
  l.charge(a, gpus(7));
  CHECK(l.headroom(b, 0, capacity_kind::guaranteed) == quantity{});
  CHECK(l.is_sound(b, capacity_kind::guaranteed));
}

TEST_CASE("ledger: the guaranteed jobs of a sound tree all fit into what their quotas are guaranteed") {
  allot_test::for_each_seed(500, [](allot_test::random_source& random) {
    world<1> w{allot_test::random_quotas<1>(random)};
    for (int i = 0; i < 30; ++i) {
      auto job = w.random_job(random);
      job.in = capacity_kind::guaranteed;
      if (w.l.fits(job.quota, job.request, job.in)) w.charge(job);
    }
    // (A quota that overcommits may be in debt with nothing used; then nothing is guaranteed there.)
    for (const quota_id x : w.l.tree().top_down()) {
      CHECK(w.l.balance(x, 0) >= std::min(quantity{}, w.l.total_supply(x, 0)));
    }
  });
}

namespace {

/// Every query of a ledger, with its answer for a quota, or a dimension, that does not exist.
template <std::size_t N>
void says_nothing_of(const ledger<N>& l, quota_id x, std::size_t d) {
  CAPTURE(x);
  CAPTURE(d);
  for (const capacity_kind in : {capacity_kind::any, capacity_kind::guaranteed}) {
    CHECK(l.headroom(x, d, in) == quantity{});
    l.for_each_bound(x, d, in, [](quota_id, quantity, bool) { FAIL_CHECK("there is no bound"); });
  }
  CHECK(l.balance(x, d) == quantity{});
  CHECK(l.room(x, d) == quantity{});
  CHECK(l.total_supply(x, d) == quantity{});
  CHECK(l.supply_of(x, d).own_pool == quantity{});
  CHECK(l.supply_of(x, d).lend == quantity{});
  CHECK(l.passed_up(x, d, gpus(3)) == quantity{});
  CHECK(l.own_usage(x, d) == quantity{});
  CHECK(l.drawn(x, d) == quantity{});
  CHECK(l.borrowed(x, d) == quantity{});
  CHECK(l.potential(x, d) == quantity{});
}
template <std::size_t N>
void says_nothing_of(const ledger<N>& l, quota_id x) {
  CAPTURE(x);
  const resources<N> nothing{quantity{}};
  for (const capacity_kind in : {capacity_kind::any, capacity_kind::guaranteed}) {
    CHECK(l.headroom(x, in) == nothing);
    CHECK_FALSE(l.fits(x, resources<N>{gpus(1)}, in));
    CHECK_FALSE(l.fits(x, nothing, in));
    CHECK(l.own_usage(x, in) == nothing);
    CHECK(l.is_sound(x, in));
  }
  CHECK(l.own_usage(x) == nothing);
  CHECK(l.drawn(x) == nothing);
  CHECK(l.total_usage(x) == nothing);
  for (std::size_t d = 0; d <= N; ++d) says_nothing_of(l, x, d);
}

template <std::size_t N>
void answers_any_id() {
  // The removed quota was between others, and lent generously.
  std::vector<quota_spec<N>> specs(4);
  specs[0] = {.name = "cohort", .nominal = resources<N>{gpus(8)}};
  specs[1] = {.name = "a", .parent = "cohort", .nominal = resources<N>{gpus(4)}};
  specs[2] = {.name = "gone", .parent = "cohort", .nominal = resources<N>{quantity::unlimited()}};
  specs[3] = {.name = "b", .parent = "cohort", .nominal = resources<N>{gpus(4)}};
  ledger<N> l{allot::quota_tree<N>{specs, {false, false, true, false}}};
  l.charge(a, resources<N>{gpus(5)});
  for (const std::size_t i : {2U, 4U, 5U, 70'000U}) says_nothing_of(l, quota_id{i});
  says_nothing_of(l, quota_id::none());
  for (const std::size_t d : {N, N + 1, N + 1000}) {
    says_nothing_of(l, a, d);
    says_nothing_of(l, quota_id{3}, d);
  }
  CHECK(l.fits(a, resources<N>{gpus(1)}));
  CHECK(l.fits(a, resources<N>{quantity{}}));
}

}  // namespace

TEST_CASE("ledger: unknown quotas and dimensions have zero amounts") {
  answers_any_id<1>();
  answers_any_id<3>();
  // Without any quota.
  const ledger<> empty{allot::quota_tree<>{{}}};
  says_nothing_of(empty, quota_id{0});
  says_nothing_of(empty, quota_id::none());
}

TEST_CASE("ledger: broken preconditions are detected") {
  ledger<> l = ledger_of(two_teams(6, 5));
  l.charge(a, gpus(2));
  l.charge(a, gpus(1), capacity_kind::guaranteed);
  CHECK_THROWS_AS(l.charge(a, gpus(-1)), allot_test::assertion_failed);
  CHECK_THROWS_AS(l.charge(a, quantity::unlimited()), allot_test::assertion_failed);
  CHECK_THROWS_AS(l.release(a, gpus(3)), allot_test::assertion_failed);
  CHECK_THROWS_AS(l.release(a, gpus(2), capacity_kind::guaranteed), allot_test::assertion_failed);
  CHECK(l.own_usage(a) == resources<>{gpus(3)});
  CHECK_THROWS_AS(l.charge(quota_id{7}, gpus(1)), allot_test::assertion_failed);
  CHECK_THROWS_AS(l.charge(quota_id::none(), gpus(0)), allot_test::assertion_failed);
  CHECK_THROWS_AS(l.release(quota_id{7}, gpus(0)), allot_test::assertion_failed);
  const auto s = l.save();
  const auto t = l.save();
  CHECK_THROWS_AS(l.rollback(s), allot_test::assertion_failed);
  CHECK_THROWS_AS(l.replace_tree(l.tree()), allot_test::assertion_failed);
  l.rollback(t);
  l.rollback(s);
}

TEST_CASE("ledger: an exchange of specifications keeps usage, and a second one undoes it") {
  ledger<> l = ledger_of(two_teams(6, 5));
  l.charge(b, gpus(8));
  const ledger<> before = l;
  std::vector<allot::respecified_quota<1>> smaller{{a, l.tree().spec(a)}, {b, l.tree().spec(b)}};
  smaller[0].spec.nominal = gpus(1);
  smaller[1].spec.lend = limit::none();
  l.exchange(smaller);
  CHECK(l.own_usage(b, 0) == gpus(8));
  CHECK_FALSE(l.is_sound());
  CHECK(smaller[0].spec.nominal == gpus(6));
  l.exchange(smaller);
  CHECK(l == before);
}

TEST_CASE("ledger: what is exchanged under savepoints, and back before they close, leaves no trace") {
  allot_test::for_each_seed(1000, [](allot_test::random_source& random) {
    const auto specs = allot_test::random_quotas<2>(random, {.most_quotas = 6, .deepest = 3});
    const auto other = allot_test::random_quotas<2>(random, {.most_quotas = 6, .deepest = 3});
    ledger<2> l{allot::quota_tree<2>{specs}};
    const auto charge_some = [&] {
      for (std::size_t i = random.below(6); i > 0; --i) {
        const quota_id x{random.below(specs.size())};
        const allot::resources<2> some{gpus(random.between(0, 4)), gpus(random.between(0, 4))};
        if (random.one_in(2)) {
          l.charge(x, some);
        } else if (all_at_most(some, l.own_usage(x))) {
          l.release(x, some);
        }
      }
    };
    charge_some();
    // Of each round: the state before it, and what is exchanged under its savepoint.
    struct round {
      ledger<2> before;
      allot::savepoint save;
      std::vector<allot::respecified_quota<2>> changed;
    };
    std::vector<round> rounds;
    for (std::size_t i = 1 + random.below(4); i > 0; --i) {
      round r{l, l.save(), {}};
      charge_some();
      for (std::size_t x = 0; x < std::min(specs.size(), other.size()); ++x) {
        if (random.one_in(2)) continue;
        auto next = l.tree().spec(quota_id{x});
        next.nominal = other[x].nominal;
        next.lend = other[x].lend;
        next.borrow = other[x].borrow;
        r.changed.push_back({quota_id{x}, std::move(next)});
      }
      const ledger<2> exchanged_from = l;
      l.exchange(r.changed);
      ledger<2> same{l.tree()};
      for (std::size_t x = 0; x < specs.size(); ++x)
        same.charge(quota_id{x}, exchanged_from.own_usage(quota_id{x}));
      REQUIRE(l == same);
      const allot::savepoint within = l.save();
      charge_some();
      l.rollback(within);
      REQUIRE(l == same);
      rounds.push_back(std::move(r));
    }
    for (; !rounds.empty(); rounds.pop_back()) {
      // As at the time of the exchange; then nothing that was done under it remains.
      l.exchange(rounds.back().changed);
      l.rollback(rounds.back().save);
      REQUIRE(l == rounds.back().before);
    }
  });
}

// The traps of tests/README.md, Kueue; trap 1 (a removed quota) is in change.cpp.

TEST_CASE("ledger: Kueue trap 2: a quota that loses what it lends or uses does not let others over-admit") {
  ledger<> l = ledger_of(two_teams(6, 5));
  l.charge(b, gpus(8));
  auto specs = two_teams(0, 5);
  l.replace_tree(allot::quota_tree<>{specs});
  CHECK_FALSE(l.is_sound());
  CHECK_FALSE(l.fits(a, gpus(1)));
  CHECK_FALSE(l.fits(b, gpus(1)));
  CHECK(l.headroom(a, 0) == gpus(-3));
}

TEST_CASE("ledger: Kueue trap 3: no borrow limit is no limit, not 0") {
  const ledger<> l = ledger_of(two_teams(6, 0));
  CHECK(l.headroom(b, 0) == gpus(6));
}

TEST_CASE("ledger: Kueue trap 4: a release around the part that is kept undoes its charge exactly") {
  auto specs = two_teams(10, 10);
  specs[a.index()].lend = limit::at_most(gpus(4));  // keeps 6
  ledger<> l = ledger_of(specs);
  for (std::int64_t first = 0; first <= 12; ++first) {
    for (std::int64_t second = 0; second <= 12; ++second) {
      const ledger<> idle = l;
      l.charge(a, gpus(first));
      const ledger<> before = l;
      l.charge(a, gpus(second));
      l.release(a, gpus(second));
      CHECK(l == before);
      l.release(a, gpus(first));
      CHECK(l == idle);
    }
  }
}

TEST_CASE("ledger: Kueue trap 5: two borrowers fit one by one, not together") {
  ledger<> l = ledger_of({{.name = "cohort", .nominal = gpus(5)},
                          {.name = "a", .parent = "cohort"},
                          {.name = "b", .parent = "cohort"}});
  CHECK(l.fits(a, gpus(3)));
  CHECK(l.fits(b, gpus(3)));
  l.charge(a, gpus(3));
  CHECK_FALSE(l.fits(b, gpus(3)));
}

TEST_CASE("ledger: Kueue trap 6: a request that overflows is refused, it does not wrap") {
  const ledger<> l = ledger_of(two_teams(6, 5));
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max() / 2;
  CHECK_FALSE(l.fits(a, quantity::whole(huge)));
  CHECK_FALSE(l.fits(a, gpus(8) * huge));
  CHECK_FALSE(l.fits(a, quantity::milli(huge) + quantity::milli(huge) + quantity::milli(huge)));
  // Nor does an unlimited quota accept what can't be counted.
  const ledger<> endless = ledger_of({{.name = "all", .nominal = quantity::unlimited()}});
  CHECK_FALSE(endless.fits(quota_id{0}, gpus(8) * huge));
  CHECK(endless.fits(quota_id{0}, quantity::milli(huge)));
}

TEST_CASE("ledger: Kueue trap 6: usage that can't be counted does not fit, and breaks a precondition") {
  ledger<> l = ledger_of({{.name = "all", .nominal = quantity::unlimited()}});
  const quantity most = quantity::milli(std::numeric_limits<std::int64_t>::max() - 1);
  l.charge(quota_id{0}, most);
  CHECK(l.headroom(quota_id{0}, 0).is_unlimited());
  CHECK_FALSE(l.fits(quota_id{0}, quantity::milli(1)));
  CHECK_THROWS_AS(l.charge(quota_id{0}, most), allot_test::assertion_failed);
}

TEST_CASE("ledger: what a quota keeps for itself need not be counted by its parent") {
  const quantity most = quantity::milli(INT64_MAX - 1);
  const quota_id all{0}, keeps{1}, passes{2};
  ledger<> l = ledger_of({{.name = "all", .nominal = quantity::unlimited()},
                          {.name = "keeps", .parent = "all", .nominal = most, .lend = limit::none()},
                          {.name = "passes", .parent = "all"}});
  l.charge(all, gpus(5));
  CHECK(l.countable(keeps, 0) == most);
  CHECK(l.countable(passes, 0) == most - gpus(5));
  CHECK(l.fits(keeps, most));
  CHECK_FALSE(l.fits(passes, most));
  CHECK(l.fits(passes, most - gpus(5)));
  l.charge(keeps, most);
  CHECK(l.countable(keeps, 0) == quantity{});
  CHECK(l.countable(passes, 0) == most - gpus(5));
  CHECK(l.can_count(passes, gpus(1)));
  CHECK_FALSE(l.can_count(keeps, gpus(1)));
  CHECK(l.countable(quota_id{7}, 0) == quantity{});
  CHECK_FALSE(l.can_count(quota_id{7}, quantity{}));
}
TEST_CASE("ledger: Kueue trap 7: a negative request does not mint quota") {
  ledger<2> l = ledger_of<2>({{.name = "all", .nominal = resources<2>{gpus(4), gpus(4)}}});
  CHECK_FALSE(l.fits(quota_id{0}, resources<2>{gpus(1), gpus(-8)}));
  CHECK_THROWS_AS(l.charge(quota_id{0}, resources<2>{gpus(1), gpus(-8)}), allot_test::assertion_failed);
  CHECK(l.headroom(quota_id{0}, 1) == gpus(4));
}

TEST_CASE("ledger: Kueue trap 8: trying and undoing near unlimited restores the state") {
  auto specs = two_teams(6, 5);
  specs[cohort.index()].nominal = quantity::unlimited();
  specs[a.index()].nominal = quantity::unlimited();
  specs[a.index()].lend = limit::at_most(gpus(3));
  ledger<> l = ledger_of(specs);
  const ledger<> idle = l;
  const quantity huge = quantity::milli(std::numeric_limits<std::int64_t>::max() - 1);
  const auto s = l.save();
  l.charge(a, huge);
  CHECK(l.headroom(a, 0).is_unlimited());
  l.charge(b, gpus(100));
  l.rollback(s);
  CHECK(l == idle);
  l.charge(a, huge);
  l.release(a, huge);
  CHECK(l == idle);
}

TEST_CASE("ledger: Kueue trap 9: one release subtracts a job once, and a second is refused") {
  ledger<> l = ledger_of(two_teams(6, 5));
  l.charge(a, gpus(4));
  l.release(a, gpus(4));
  CHECK(l.headroom(b, 0) == gpus(11));
  CHECK_THROWS_AS(l.release(a, gpus(4)), allot_test::assertion_failed);
  CHECK(l.headroom(b, 0) == gpus(11));
}

TEST_CASE("ledger: a dimension that is over but not requested does not matter (Kueue #2524)") {
  ledger<2> l = ledger_of<2>({{.name = "all", .nominal = resources<2>{gpus(4), gpus(4)}}});
  l.charge(quota_id{0}, resources<2>{gpus(5), gpus(0)});
  CHECK(l.fits(quota_id{0}, resources<2>{gpus(0), gpus(4)}));
  CHECK_FALSE(l.fits(quota_id{0}, resources<2>{quantity::milli(1), gpus(0)}));
}

TEST_CASE("ledger: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::capacity_kind>(2));
}

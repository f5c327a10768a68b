// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/possible_victims.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/yield_oracle.hpp"

using allot::beneficiary;
using allot::gpus;
using allot::ledger;
using allot::possible_victims;
using allot::preempt_borrow;
using allot::preempt_reclaim;
using allot::preempt_rivals;
using allot::preempt_within;
using allot::quota_id;
using allot::running_job;
using allot_test::random_source;

namespace {

constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();

template <std::size_t N>
std::vector<possible_victims> all(const ledger<N>& l, const beneficiary<N>& b) {
  std::vector<possible_victims> found;
  allot::for_each_possible_victim(l, b, [&](const possible_victims& m) { found.push_back(m); });
  return found;
}

/// Two departments; A and B belong to the first, C to the second, and C uses what the first owns.
struct departments {
  ledger<> l{allot::build_quota_tree<1>({{.name = "root"},
                                         {.name = "one", .parent = "root"},
                                         {.name = "two", .parent = "root"},
                                         {.name = "A", .parent = "one", .nominal = gpus(4)},
                                         {.name = "B", .parent = "one", .nominal = gpus(4)},
                                         {.name = "C", .parent = "two", .nominal = gpus(2)}})
                 .value()};
  static constexpr quota_id one{1}, two{2}, A{3}, B{4}, C{5};
};

}  // namespace

TEST_CASE("possible_victims: borrowers, and lower priorities of the same quota") {
  departments w;
  w.l.charge(w.C, gpus(4));
  const beneficiary<1> b{w.A, gpus(2), allot::capacity_kind::any, 5};
  CHECK(all(w.l, b) == std::vector<possible_victims>{{w.A, 4}, {w.two, any}, {w.C, any}});
  // A sibling that borrows from within the department only.
  w.l.release(w.C, gpus(3));
  w.l.charge(w.B, gpus(5));
  CHECK(all(w.l, b) == std::vector<possible_victims>{{w.A, 4}, {w.B, any}});
}

TEST_CASE("possible_victims: follow the settings") {
  departments w;
  w.l.charge(w.C, gpus(4));
  beneficiary<1> b{w.A, gpus(2), allot::capacity_kind::any, std::numeric_limits<std::int64_t>::min()};
  b.may.within = preempt_within::lower_or_newer_equal;
  b.may.reclaim = preempt_reclaim::lower_priority;
  const std::int64_t lowest = b.priority;
  // No job has a lower priority.
  CHECK(all(w.l, b) == std::vector<possible_victims>{{w.A, lowest}});
  b.priority = lowest + 1;
  CHECK(all(w.l, b) == std::vector<possible_victims>{{w.A, lowest + 1}, {w.two, lowest}, {w.C, lowest}});
  b.priority = lowest;
  b.may.rivals = preempt_rivals::any;
  CHECK(all(w.l, b) == std::vector<possible_victims>{{w.A, lowest}, {w.two, any}, {w.C, any}});
  b.may = {.within = preempt_within::never, .reclaim = preempt_reclaim::never};
  CHECK(all(w.l, b).empty());
  b.quota = w.one;
  b.may.children = true;
  CHECK(all(w.l, b) == std::vector<possible_victims>{{w.A, any}, {w.B, any}});
}

namespace {

/// Jobs are evicted in random order, as long as some job may be preempted by the definitions. Each of them
/// was a possible victim before the first eviction.
template <std::size_t N>
void check_names_all(random_source& random) {
  const bool overcommit = random.one_in(4);
  ledger<N> l{allot::quota_tree<N>{allot_test::random_quotas<N>(
      random, {.most_quotas = 9, .one_root_in = 20, .one_unlimited_in = 0, .overcommit = overcommit})}};
  allot_test::yield_oracle<N> oracle{l.tree()};
  const auto quotas = l.tree().top_down();
  std::vector<running_job<N>> jobs;
  for (std::size_t i = 0; i < 20; ++i) {
    running_job<N> j;
    j.id = allot::job_id{i};
    j.quota = random.pick(quotas);
    j.priority = random.between(0, 2);
    j.submitted = random.between(0, 3);
    for (std::size_t d = 0; d < N; ++d) j.request[d] = allot::quantity::milli(500 * random.between(0, 8));
    if (!l.fits(j.quota, j.request)) continue;
    l.charge(j.quota, j.request);
    oracle.charge(j);
    jobs.push_back(j);
  }
  beneficiary<N> b;
  b.quota = random.pick(quotas);
  for (std::size_t d = 0; d < N; ++d) b.request[d] = allot::quantity::milli(500 * random.between(0, 14));
  b.priority = random.between(0, 3);
  b.submitted = random.between(0, 3);
  b.may.within = random.pick(std::array{preempt_within::never, preempt_within::lower_priority,
                                        preempt_within::lower_or_newer_equal});
  b.may.reclaim =
      random.pick(std::array{preempt_reclaim::never, preempt_reclaim::lower_priority, preempt_reclaim::any});
  b.may.children = random.one_in(3);
  b.may.rivals =
      random.pick(std::array{preempt_rivals::never, preempt_rivals::lower_priority, preempt_rivals::any});
  if (random.one_in(2)) b.may.borrow = preempt_borrow::lower_priority;

  const std::vector<possible_victims> named = all(l, b);
  for (std::size_t i = 0; i < named.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) CHECK(named[i].quota != named[k].quota);
  }
  std::array<bool, N> asked{};
  for (std::size_t d = 0; d < N; ++d) asked[d] = b.request[d] > allot::quantity{};
  for (bool again = true; again;) {
    again = false;
    random.shuffle(jobs);
    for (std::size_t i = 0; i < jobs.size() && !again; ++i) {
      const running_job<N>& j = jobs[i];
      const auto may = [&](const std::array<bool, N>& contested) {
        return oracle.may_ask(b, j, contested) || oracle.may_ask_while_borrowing(b, j, contested) ||
               oracle.may_ask_as_rival(b, j, contested);
      };
      if (!may(oracle.contested(b)) && !may(asked)) continue;
      CHECK(std::any_of(named.begin(), named.end(), [&](const possible_victims& m) {
        return m.quota == j.quota && j.priority <= m.highest_priority;
      }));
      oracle.release(j);
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(i));
      again = true;
    }
  }
}

}  // namespace

TEST_CASE("possible_victims: no later victim is missing from them") {
  allot_test::for_each_seed(600, check_names_all<1>);
  allot_test::for_each_seed(300, check_names_all<2>);
}

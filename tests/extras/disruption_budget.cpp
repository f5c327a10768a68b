// SPDX-License-Identifier: BSL-1.0
#include <allot/extras/disruption_budget.hpp>
#include <allot/preemption/search.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

using allot::beneficiary;
using allot::disruption_budget;
using allot::eviction_history;
using allot::gpus;
using allot::ledger;
using allot::quota_id;
using allot::search_outcome;
using allot::search_progress;
using allot::victim_candidate;

static_assert(allot::victim_protection<disruption_budget, 3>);

namespace {

struct anywhere {
  void take_off(const allot::running_job<>&) {}
  void put_back(const allot::running_job<>&) {}
  [[nodiscard]] bool could_place() const { return true; }
};

/// An owner of everything, and borrowers with eight jobs of `gang` GPUs.
struct lent_out {
  ledger<> l{allot::build_quota_tree<1>({{.name = "root"},
                                         {.name = "owner", .parent = "root", .nominal = gpus(64)},
                                         {.name = "one", .parent = "root"},
                                         {.name = "two", .parent = "root"}})
                 .value()};
  allot::running_index<> running;

  explicit lent_out(int gang) {
    running.resize(4);
    for (std::size_t i = 0; i < 8; ++i) {
      allot::running_job<> j;
      j.id = allot::job_id{i};
      j.quota = quota_id{2 + i % 2};
      j.order = i;
      j.request = gpus(gang);
      l.charge(j.quota, j.request);
      running.insert(j);
    }
    l.charge(quota_id{1}, gpus(64 - 8 * gang));
  }
  search_outcome ask(int request, const disruption_budget& budget, allot::instant now = 0) {
    allot::victim_search<1, allot::lowest_priority_then_newest, allot::eligible_is_fair, disruption_budget>
        find{{}, {}, 1000, budget};
    beneficiary<1> b{quota_id{1}, gpus(request)};
    b.now = now;
    anywhere world;
    const auto before = l.save();
    const auto outcome = find.run(l, running, b, world);
    l.rollback(before);
    return outcome;
  }
};

}  // namespace

TEST_CASE("disruption_budget: bounds the evictions of one quota in a window") {
  eviction_history history;
  const quota_id x{3};
  history.record(x, 10);
  history.record(x, 20);
  history.record(x, 20);
  CHECK(history.count(x, 20) == 2);
  CHECK(history.count(x, 10) == 3);
  CHECK(history.count(x, 21) == 0);
  CHECK(history.count(quota_id{9}, 0) == 0);
  CHECK_THROWS_AS(history.record(x, 19), allot_test::assertion_failed);
  const disruption_budget budget{.history = &history, .per_quota = 3, .window = 10};
  const ledger<> l{allot::build_quota_tree<1>({{.name = "q"}}).value()};
  const auto is_protected = [&](allot::instant now, std::size_t by_this_search) {
    beneficiary<1> b;
    b.now = now;
    search_progress<1> progress;
    progress.evictions_of_quota = by_this_search;
    return budget(l, b, victim_candidate<1>{x}, progress);
  };
  CHECK(is_protected(20, 1));
  CHECK_FALSE(is_protected(20, 0));
  CHECK(is_protected(29, 1));
  // (20, 30] does not contain 20.
  CHECK_FALSE(is_protected(30, 2));
  CHECK(is_protected(30, 3));
  history.forget_before(20);
  CHECK(history.count(x, 0) == 2);
}

TEST_CASE("disruption_budget: bounds the evictions of one search") {
  lent_out w{1};
  CHECK(w.ask(4, {.per_quota = 2}) == search_outcome::found);
  CHECK(w.ask(5, {.per_quota = 2}) == search_outcome::impossible);
  eviction_history history;
  history.record(quota_id{2}, 0);
  CHECK(w.ask(3, {.history = &history, .per_quota = 2, .window = 5}, 4) == search_outcome::found);
  CHECK(w.ask(4, {.history = &history, .per_quota = 2, .window = 5}, 4) == search_outcome::impossible);
  CHECK(w.ask(4, {.history = &history, .per_quota = 2, .window = 5}, 5) == search_outcome::found);
}

TEST_CASE("disruption_budget: bounds what is evicted relative to the request (KAI #1565)") {
  lent_out w{8};
  CHECK(w.ask(1, {}) == search_outcome::found);
  CHECK(w.ask(1, {.times = 7, .per = 1}) == search_outcome::impossible);
  CHECK(w.ask(1, {.times = 8, .per = 1}) == search_outcome::found);
  CHECK(w.ask(12, {.times = 4, .per = 3}) == search_outcome::found);
  CHECK(w.ask(12, {.times = 5, .per = 4}) == search_outcome::impossible);
}

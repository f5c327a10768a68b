// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/inventory.hpp>
#include <allot/scheduler/gauges.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "tests/scheduler/host.hpp"
#include "tests/support/count_allocations.hpp"
#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::job_state;
using allot::quantity;
using allot::quota_gauges;
using allot::quota_id;
using allot_test::host;
using allot_test::random_source;

namespace {

const std::vector<std::string> names{"root", "dept", "a", "b", "c"};

/// Inner quotas have a pool and jobs of their own; c lends and borrows little.
std::vector<allot::quota_spec<>> quotas() {
  return {{.name = "root", .nominal = gpus(2)},
          {.name = "dept", .parent = "root", .nominal = gpus(1)},
          {.name = "a", .parent = "dept", .nominal = gpus(4)},
          {.name = "b", .parent = "dept", .nominal = gpus(3)},
          {.name = "c",
           .parent = "root",
           .nominal = gpus(4),
           .lend = allot::limit::at_most(gpus(2)),
           .borrow = allot::limit::at_most(gpus(1))}};
}

using counts = std::map<std::string, std::size_t>;

/// Counts, by brute force, everything that a host could count itself.
template <class Scheduler>
class naive {
 public:
  std::map<quota_id, counts> evictions;

  void note(const typename Scheduler::plan_type& plan) {
    for (const auto& e : plan.evictions) ++evictions[e.quota][std::string{to_string(e.how)}];
  }
  void check(Scheduler& s, const std::vector<allot::job_id>& ids, const allot::eviction_counts& counted) {
    const auto all = allot::gauges_of(s, counted);
    REQUIRE(all.size() == s.tree().top_down().size());
    quantity lent, borrowed;
    for (const auto& g : all) {
      check(s, ids, g);
      lent += g.lent[0];
      borrowed += g.borrowed[0];
    }
    CHECK(lent == borrowed);
  }

 private:
  void check(Scheduler& s, const std::vector<allot::job_id>& ids, const quota_gauges<1>& g) {
    INFO("quota " << s.tree().name(g.quota));
    quantity used, in_subtree, requested;
    counts waiting;
    for (const allot::job_id id : ids) {
      const job_state is = s.state(id);
      const bool own = s.quota(id) == g.quota;
      bool below = false;
      for (quota_id x = s.quota(id); x; x = s.tree().parent(x)) below = below || x == g.quota;
      if (is == job_state::running || is == job_state::evicting) {
        if (own) used += s.request(id)[0];
        if (below) in_subtree += s.request(id)[0];
      }
      if (!own || (is != job_state::pending && is != job_state::nominated)) continue;
      requested += s.request(id)[0];
      ++waiting[std::string{to_string(s.why(id).reason)}];
    }
    CHECK(g.nominal == s.tree().spec(g.quota).nominal);
    CHECK(g.used[0] == used);
    CHECK(g.used_in_subtree[0] == in_subtree);
    CHECK(g.requested[0] == requested);
    CHECK(g.borrowed[0] == std::max(quantity{}, used - g.nominal[0]));
    CHECK(g.lent[0] <= std::max(quantity{}, g.nominal[0] - used));
    CHECK(g.entitled == g.nominal);
    for (std::size_t r = 0; r < g.waiting.size(); ++r) {
      CHECK(g.waiting[r] == waiting[std::string{to_string(static_cast<allot::pending_reason>(r))}]);
    }
    for (std::size_t h = 0; h < g.evictions.size(); ++h) {
      CHECK(g.evictions[h] == evictions[g.quota][std::string{to_string(static_cast<allot::relation>(h))}]);
    }
  }
};

/// A random sequence of events, with the gauges compared after each event. Adds up how many jobs waited for
/// which reason.
template <class Host>
void live(Host h, random_source& random, counts& seen) {
  auto& s = h.scheduler();
  naive<typename Host::scheduler_type> slow;
  allot::eviction_counts counted;
  std::vector<allot::job_id> ids;
  allot::queue_settings strict;
  strict.head = allot::queue_head::strict;
  h.configure("b", strict);
  if (random.one_in(2)) {
    allot::queue_settings backs_off;
    backs_off.borrow_backoff = {3, 12};
    h.configure("a", backs_off);
  }
  for (int i = 0; i < 40; ++i) {
    const std::size_t k = ids.empty() ? 0 : random.below(ids.size());
    switch (random.below(6)) {
      case 0:
        if (!ids.empty()) s.finished(ids[k]);
        break;
      case 1:
        if (!ids.empty()) s.evicted(ids[k]);
        break;
      case 2: {
        const auto& plan = s.step(i);
        slow.note(plan);
        counted.note(plan);
        break;
      }
      default:
        ids.push_back(h.submit(
            std::to_string(i), random.pick(names), random.between(1, 5),
            {.priority = static_cast<std::int64_t>(random.below(2)), .preemptible = !random.one_in(5)}));
    }
    slow.check(s, ids, counted);
    for (const auto& g : allot::gauges_of(s)) {
      for (std::size_t r = 0; r < g.waiting.size(); ++r)
        seen[std::string{to_string(static_cast<allot::pending_reason>(r))}] += g.waiting[r];
    }
  }
}

}  // namespace

TEST_CASE("gauges: gauges equal what a host counts itself") {
  counts seen;
  allot_test::for_each_seed(60, [&](random_source& random) {
    live(host<>{quotas()}, random, seen);
    live(host{quotas(), allot_test::nodes(3, 4)}, random, seen);
  });
  if (!allot_test::all_cases_run()) return;
  for (const char* reason : {"quota", "placement", "behind_head", "evictions"}) CHECK(seen[reason] > 100);
}

TEST_CASE("gauges: the evictions of a quota are counted by cause") {
  host h{allot_test::two_teams()};
  h.submit("b1", "b", 8);
  allot::eviction_counts counted;
  counted.note(h.scheduler().step(1));
  CHECK(counted.of(h.quota("b")) == allot::eviction_counts::by_cause{});
  h.submit("a1", "a", 4);
  const auto& plan = h.scheduler().step(2);
  counted.note(plan);
  CHECK(counted.of(h.quota("b"))[static_cast<std::size_t>(allot::relation::borrower)] == 1);
  CHECK(counted.of(h.quota("a")) == allot::eviction_counts::by_cause{});
  CHECK(counted.of(quota_id{99}) == allot::eviction_counts::by_cause{});
  CHECK(allot_test::allocations_in([&] { counted.note(plan); }) == 0);
}

TEST_CASE("gauges: an unknown quota has no gauges, and a removed one is left out") {
  host h{allot_test::two_teams()};
  CHECK(h.scheduler().waiting_by_reason(quota_id{99}) ==
        std::array<std::size_t, allot::pending_reason_count>{});
  CHECK(h.scheduler().requested(quota_id{99})[0] == quantity{});
  CHECK_FALSE(h.scheduler().entitled(h.quota("a")).has_value());
  const quota_id b = h.quota("b");
  const std::vector<allot::quota_change<1>> gone{allot::remove_quota{b}};
  REQUIRE(h.scheduler().apply(gone));
  const auto all = allot::gauges_of(h.scheduler());
  CHECK(all.size() == 2);
  CHECK(std::none_of(all.begin(), all.end(), [&](const auto& g) { return g.quota == b; }));
}

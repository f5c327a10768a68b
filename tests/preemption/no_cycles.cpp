// SPDX-License-Identifier: BSL-1.0
// Law 4: an evicted job, back in the queue of an unchanged world, evicts no other job in turn. The parts
// alone play fifty rounds: a waiting job starts if it fits and searches for victims if it does not; evicted
// jobs wait again.
#include <allot/preemption/saturation_guard.hpp>
#include <allot/preemption/search.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::beneficiary;
using allot::gpus;
using allot::job_id;
using allot::ledger;
using allot::preempt_borrow;
using allot::preempt_reclaim;
using allot::preempt_rivals;
using allot::preempt_settings;
using allot::preempt_within;
using allot::quota_id;
using allot::quota_spec;
using allot::running_job;
using allot::search_outcome;
using allot_test::random_source;

namespace {

struct anywhere {
  template <std::size_t N>
  void take_off(const running_job<N>&) {}
  template <std::size_t N>
  void put_back(const running_job<N>&) {}
  [[nodiscard]] bool could_place() const { return true; }
};

/// A host that knows nothing but its jobs.
template <std::size_t N, class Guard, class Order = allot::lowest_priority_then_highest_share>
class small_host {
 public:
  struct job {
    running_job<N> facts{};
    bool runs = false;
  };

  small_host(allot::quota_tree<N> tree, std::vector<preempt_settings> settings, Guard guard)
      : l(std::move(tree)), may(std::move(settings)), search_(Order{}, std::move(guard)) {
    running_.resize(l.tree().slots());
  }

  void submit(running_job<N> j) {
    j.id = job_id{jobs.size()};
    j.order = jobs.size();
    jobs.push_back({j});
  }
  void start(std::size_t i) {
    jobs[i].facts.started = now;
    jobs[i].runs = true;
    l.charge(jobs[i].facts.quota, jobs[i].facts.request);
    running_.insert(jobs[i].facts);
  }

  /// Every pending job has a turn; returns the number of evictions.
  std::size_t round() {
    ++now;
    std::size_t evicted = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (jobs[i].runs) continue;
      if (l.fits(jobs[i].facts.quota, jobs[i].facts.request)) {
        start(i);
      } else if (evict_for(i)) {
        evicted += victims_.size();
        start(i);
        for (const std::size_t v : victims_) came_straight_back += would_evict(v, i) ? 1U : 0U;
      }
    }
    return evicted;
  }

  ledger<N> l;
  std::vector<preempt_settings> may;
  std::vector<job> jobs;
  allot::instant now = 0;
  /// How many victims would evict their beneficiaries at once.
  std::size_t came_straight_back = 0;

 private:
  search_outcome search_for(std::size_t i) {
    const running_job<N>& j = jobs[i].facts;
    const beneficiary<N> b{j.quota, j.request, j.in, j.priority, j.submitted, may[j.quota.index()], now};
    anywhere world;
    return search_.run(l, running_, b, world);
  }
  bool evict_for(std::size_t i) {
    const auto before = l.save();
    if (search_for(i) != search_outcome::found) {
      l.rollback(before);
      return false;
    }
    l.commit(before);
    victims_.clear();
    for (const auto& v : search_.victims()) {
      victims_.push_back(v.job.id.index());
      running_.erase(jobs[v.job.id.index()].facts);
      jobs[v.job.id.index()].runs = false;
    }
    return true;
  }
  /// Whether i, if tried now, would evict `whom`.
  bool would_evict(std::size_t i, std::size_t whom) {
    if (l.fits(jobs[i].facts.quota, jobs[i].facts.request)) return false;
    const auto before = l.save();
    const bool found = search_for(i) == search_outcome::found;
    l.rollback(before);
    const auto& gone = search_.victims();
    return found &&
           std::any_of(gone.begin(), gone.end(), [&](const auto& v) { return v.job.id.index() == whom; });
  }

  std::vector<std::size_t> victims_;
  allot::running_index<N> running_;
  allot::victim_search<N, Order, Guard> search_;
};

struct shape {
  bool deep = true;
  bool children = false;
  preempt_borrow borrow = preempt_borrow::never;
  bool rivals = false;
  bool within = true;
};

template <std::size_t N>
std::vector<quota_spec<N>> flat_quotas(random_source& random) {
  std::vector<quota_spec<N>> specs{{.name = "root"}};
  for (std::size_t d = 0; d < N; ++d) specs[0].nominal[d] = gpus(random.between(0, 16));
  for (std::size_t i = 2 + random.below(4); i > 0; --i) {
    quota_spec<N> s;
    s.name = "q" + std::to_string(i);
    s.parent = "root";
    for (std::size_t d = 0; d < N; ++d) {
      s.nominal[d] = gpus(random.one_in(2) ? 0 : random.between(0, 6));
      s.weight[d] = allot::fair_weight::milli(random.one_in(8) ? 0 : 500 * random.between(1, 4));
    }
    specs.push_back(std::move(s));
  }
  return specs;
}

/// Runs the rounds; returns the number of evictions in the last of fifty, and adds up all.
template <std::size_t N, class Guard>
std::size_t play(random_source& random, const shape& of, Guard guard, std::size_t& evictions) {
  allot::quota_tree<N> tree{
      !of.deep
          ? flat_quotas<N>(random)
          : allot_test::random_quotas<N>(
                random, {.most_quotas = 9, .one_root_in = 20, .one_unlimited_in = 0, .overcommit = false})};
  std::vector<preempt_settings> may(tree.slots());
  for (preempt_settings& s : may) {
    s.within = random.pick(std::vector{preempt_within::never, preempt_within::lower_priority,
                                       preempt_within::lower_or_newer_equal});
    if (!of.within) s.within = preempt_within::never;
    s.reclaim = random.pick(
        std::vector{preempt_reclaim::never, preempt_reclaim::lower_priority, preempt_reclaim::any});
    s.children = of.children && random.one_in(3);
    if (of.borrow != preempt_borrow::never && !random.one_in(3)) s.borrow = of.borrow;
    if (random.one_in(3)) s.borrow_max_priority = 0;
    if (of.rivals) {
      s.rivals = random.pick(
          std::vector{preempt_rivals::never, preempt_rivals::lower_priority, preempt_rivals::any});
    }
  }
  const auto quotas = tree.top_down();
  small_host<N, Guard> host{tree, may, std::move(guard)};
  for (std::size_t i = 8 + random.below(20); i > 0; --i) {
    running_job<N> j;
    j.quota = random.pick(quotas);
    j.priority = random.between(0, 2);
    j.submitted = random.between(0, 5);
    for (std::size_t d = 0; d < N; ++d) {
      j.request[d] = gpus(random.one_in(2) ? random.between(0, 2) : random.between(0, 9));
    }
    host.submit(j);
  }
  std::size_t last = 0;
  for (int round = 0; round < 50; ++round) {
    last = host.round();
    evictions += last;
    if (last == 0) break;
  }
  CHECK(host.came_straight_back == 0);
  return last;
}

template <std::size_t N, class Guard>
void is_quiet(std::size_t cases, const shape& of, Guard guard) {
  std::size_t evictions = 0;
  allot_test::for_each_seed(cases, [&](random_source& random) {
    CHECK(play<N>(random, {false, of.children, of.borrow, of.rivals, of.within}, guard, evictions) == 0);
    if (of.deep) CHECK(play<N>(random, of, guard, evictions) == 0);
  });
  if (allot_test::all_cases_run()) CHECK(evictions > cases / 10);
}

}  // namespace

// Flat trees when parents reclaim from below. In deeper trees a parent's job that borrows itself may take
// what its child owns; the child takes as much from another borrower, and so on round the tree.
TEST_CASE("no cycles: owners, priorities and parents") {
  is_quiet<1>(3000, {}, allot::eligible_is_fair{});
  is_quiet<1>(3000, {.deep = false, .children = true}, allot::eligible_is_fair{});
}
// In several dimensions, ownership and the order within a quota can form a cycle. A owns dimension 1 and B
// dimension 0; a needs two of dimension 1, its older sibling a' one of each, b one of each. a reclaims
// dimension 1 from b; a' preempts a and takes one of dimension 0; b reclaims that from a'; and a preempts
// again (seed 8575 with priorities). A scheduler must remember for which jobs it has evicted a job.
TEST_CASE("no cycles: owners and parents in two dimensions") {
  is_quiet<2>(3000, {.within = false}, allot::eligible_is_fair{});
  is_quiet<2>(3000, {.deep = false, .children = true, .within = false}, allot::eligible_is_fair{});
}

TEST_CASE("no cycles: priority among borrowers") {
  is_quiet<1>(6000, {.borrow = preempt_borrow::lower_priority}, allot::eligible_is_fair{});
}

TEST_CASE("no cycles: rivals by their final shares") {
  is_quiet<1>(4000, {.rivals = true}, allot::final_share{});
  is_quiet<1>(4000, {.deep = false, .children = true, .rivals = true}, allot::final_share{});
}
TEST_CASE("no cycles: rivals by their final shares in two dimensions") {
  is_quiet<2>(4000, {.rivals = true, .within = false}, allot::final_share{});
}

// With priorities within a quota, KAI's rule can oscillate where gangs release much at once. A quota within
// its entitlement takes one GPU from a gang of 6; its more important job grows into the rest, beyond the
// entitlement, at the expense of that job. Now the gang's quota, which has nothing, takes one GPU back, and
// its gang, which is more important than that job, takes the rest. KAI applies fair share only between jobs
// of two quotas.
TEST_CASE("no cycles: rivals by saturation") {
  // Entitlements that are independent of the tree and do not change.
  const auto due = [](quota_id x, std::size_t d) {
    return gpus(static_cast<std::int64_t>((x.index() * 7 + d * 3) % 9));
  };
  is_quiet<1>(4000, {.rivals = true, .within = false}, allot::saturation_guard{due});
  is_quiet<1>(4000, {.rivals = true, .within = false}, allot::saturation_guard{due, 3, 2});
  is_quiet<2>(4000, {.rivals = true, .within = false}, allot::saturation_guard{due});
}

// A has 6 + 4 of 15, B wants 9: that is less than A's 10, so the 4 are evicted. A now wants 2 more: 8 is less
// than 9, so B is evicted, the 4 are placed again on what B releases, and B wants 9 again, less than A's 12.
TEST_CASE("no cycles: initial shares may oscillate forever (Kueue), final shares do not") {
  const auto rounds_with_evictions = [](auto guard) {
    std::vector<preempt_settings> may(3, preempt_settings{.rivals = preempt_rivals::any});
    small_host<1, decltype(guard)> host{allot::build_quota_tree<1>({{.name = "root", .nominal = gpus(15)},
                                                                    {.name = "A", .parent = "root"},
                                                                    {.name = "B", .parent = "root"}})
                                            .value(),
                                        may, guard};
    const int jobs[][3] = {{1, 6, 2}, {1, 4, 1}, {2, 9, 0}, {1, 2, 0}};
    for (const auto& [quota, size, priority] : jobs) {
      running_job<> j;
      j.quota = quota_id{static_cast<std::size_t>(quota)};
      j.request = gpus(size);
      j.priority = priority;
      host.submit(j);
    }
    std::size_t rounds = 0;
    for (int i = 0; i < 50; ++i) rounds += host.round() > 0 ? 1U : 0U;
    CHECK((rounds == 0) == (host.came_straight_back == 0));
    return rounds;
  };
  CHECK(rounds_with_evictions(allot::initial_share{}) == 50);
  CHECK(rounds_with_evictions(allot::final_then_initial_share{}) == 50);
  CHECK(rounds_with_evictions(allot::final_share{}) == 0);
}

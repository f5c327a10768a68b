// SPDX-License-Identifier: BSL-1.0
// The laws of DESIGN section 9, on random trees, workloads, settings and sequences of events. What holds
// after every plan is checked by random_host itself.
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/scheduler/random_host.hpp"
#include "tests/support/yield_oracle.hpp"

using allot::gpus;
using allot::job_state;
using allot::no_placement;
using allot::quantity;
using allot::quota_id;
using allot_test::host_shape;
using allot_test::random_host;
using allot_test::random_source;

namespace {

/// Lets the scheduler decide until it has nothing more to say; who is told to go goes at once. The world does
/// not change, so it must come to rest, and nobody may evict who evicted it.
template <class Host>
void settle(Host& h, allot::instant now) {
  std::set<std::pair<std::size_t, std::size_t>> evicted_by;
  for (int round = 0; round < 50; ++round) {
    const auto& plan = h.step(now);
    if (plan.empty()) {
      CHECK(h.step(now).empty());
      return;
    }
    std::vector<std::size_t> gone;
    for (const auto& e : plan.evictions) {
      const std::size_t victim = e.what->number;
      const std::size_t evictor = h.scheduler().what(e.beneficiary)->number;
      CHECK(evicted_by.count({evictor, victim}) == 0);
      evicted_by.insert({victim, evictor});
      gone.push_back(victim);
    }
    for (const std::size_t n : gone) h.evicted(n);
  }
  FAIL_CHECK("not quiet after 50 rounds");
}

template <std::size_t N>
std::vector<allot::quota_change<N>> random_change(random_source& random, const allot::quota_tree<N>& tree) {
  const quota_id x = random.pick(tree.top_down());
  allot::resources<N> nominal;
  for (std::size_t d = 0; d < N; ++d) nominal[d] = gpus(random.between(0, 12));
  switch (random.below(3)) {
    case 0:
      return {allot::resize_quota<N>{x, nominal}};
    case 1:
      return {allot::reweight_quota<N>{x, allot::weights<N>{}}};
    default:
      return {allot::move_quota{x, random.one_in(3) ? quota_id::none() : random.pick(tree.top_down())}};
  }
}

/// Events as they come: jobs arrive and end, victims go at different times, the host drains, withdraws,
/// configures and changes the tree.
template <class Host>
void live(random_source& random, Host& h, int rounds, bool change_tree) {
  allot::instant now = 0;
  for (int round = 0; round < rounds; ++round) {
    ++now;
    for (std::size_t k = random.below(4); k > 0; --k) h.submit(h.add(h.random_job(random, now)));
    for (const std::size_t n : h.in_state(job_state::evicting)) {
      if (random.one_in(3)) random.one_in(8) ? h.finished(n) : h.evicted(n);
    }
    for (const std::size_t n : h.in_state(job_state::running)) {
      if (random.one_in(12)) {
        h.finished(n);
      } else if (random.one_in(40)) {
        h.evicting(n);
      } else if (random.one_in(60)) {
        h.evicted(n);
      }
    }
    for (std::size_t n = 0; n < h.known(); ++n) {
      if (h.state(n) != job_state::unknown && random.one_in(80)) h.cancel(n);
    }
    if (random.one_in(15)) {
      h.scheduler().configure(random.pick(h.tree().top_down()), Host::random_settings(random));
    }
    if (change_tree && random.one_in(6)) {
      static_cast<void>(h.scheduler().apply(random_change(random, h.tree())));
    }
    static_cast<void>(h.step(now));
    if (random.one_in(3)) CHECK(h.step(now).empty());
  }
  for (const std::size_t n : h.in_state(job_state::evicting)) h.evicted(n);
  settle(h, now);
}

}  // namespace

TEST_CASE("laws: sound, needed and quiet whatever happens, by quota alone") {
  allot_test::for_each_seed(500, [](random_source& random) {
    random_host<1, no_placement> h{random, {}};
    live(random, h, 40, false);
  });
}

TEST_CASE("laws: sound, needed and quiet in two dimensions") {
  allot_test::for_each_seed(400, [](random_source& random) {
    random_host<2, no_placement> h{random, {}};
    live(random, h, 40, false);
  });
}

TEST_CASE("laws: sound, needed and quiet with machines") {
  allot_test::for_each_seed(500, [](random_source& random) {
    random_host<1, allot::gpu::inventory> h{random, {}};
    live(random, h, 40, false);
  });
}

TEST_CASE("laws: sound, needed and quiet while the tree changes") {
  allot_test::for_each_seed(500, [](random_source& random) {
    random_host<1, no_placement> h{random, {}};
    live(random, h, 40, true);
  });
  allot_test::for_each_seed(300, [](random_source& random) {
    random_host<1, allot::gpu::inventory> h{random, {}};
    live(random, h, 40, true);
  });
}

TEST_CASE("laws: nobody within its nominal waits while others borrow") {
  std::size_t waiting = 0;
  allot_test::for_each_seed(1000, [&](random_source& random) {
    host_shape shape;
    shape.random_settings = false;
    shape.leaves_only = true;
    shape.quotas.overcommit = false;
    shape.quotas.one_static_in = 6;
    random_host<1, no_placement> h{random, shape};
    for (allot::instant now = 1; now < 25; ++now) {
      for (std::size_t k = random.below(4); k > 0; --k) h.submit(h.add(h.random_job(random, now)));
      for (const std::size_t n : h.in_state(job_state::running)) {
        if (random.one_in(10)) h.finished(n);
      }
      settle(h, now);
      const auto& l = h.scheduler().ledger();
      for (const std::size_t n : h.in_state(job_state::pending)) {
        const auto& j = h.job(n);
        CHECK(l.own_usage(j.quota, 0) + j.request[0] > l.tree().spec(j.quota).nominal[0]);
        ++waiting;
      }
    }
  });
  WARN(waiting > 1000);
}

TEST_CASE("laws: nobody waits who could ask enough others to yield") {
  // The same for jobs on inner quotas and any settings: whoever waits could not start even with everyone gone
  // who may be asked, one after the other. With single GPUs no order of asking gives more than another.
  allot_test::for_each_seed(600, [](random_source& random) {
    host_shape shape;
    shape.largest_job = 1;
    shape.quotas.overcommit = false;
    random_host<1, no_placement> h{random, shape};
    for (allot::instant now = 1; now < 12; ++now) {
      for (std::size_t k = random.below(12); k > 0; --k) {
        auto j = h.random_job(random, now);
        j.request[0] = gpus(1);
        h.submit(h.add(j));
      }
      settle(h, now);
    }
    allot_test::yield_oracle<1> oracle{h.tree()};
    std::vector<allot::running_job<1>> running;
    for (const std::size_t n : h.in_state(job_state::running)) {
      const auto& j = h.job(n);
      allot::running_job<1> r;
      r.id = h.id(n);
      r.quota = j.quota;
      r.priority = j.priority;
      r.submitted = j.submitted;
      r.request = j.request;
      r.in = h.lane_of(j);
      oracle.charge(r);
      running.push_back(r);
    }
    for (const std::size_t n : h.in_state(job_state::pending)) {
      if (h.scheduler().why(h.id(n)).reason == allot::hold_reason::behind_head) continue;
      const auto& settings = h.scheduler().settings(h.job(n).quota);
      if (settings.head == allot::queue_head::strict) continue;
      const auto& j = h.job(n);
      const allot::beneficiary<1> b{j.quota,    j.request,   h.lane_of(j),
                                    j.priority, j.submitted, settings.preempt};
      std::vector<allot::running_job<1>> gone;
      bool fits = oracle.admits(b);
      for (bool more = true; more && !fits;) {
        more = false;
        for (const auto& r : running) {
          const bool is_gone =
              std::any_of(gone.begin(), gone.end(), [&](const auto& g) { return g.id == r.id; });
          if (is_gone || r.in == allot::lane::guaranteed) continue;
          if (!oracle.may_ask(b, r, oracle.contested(b))) continue;
          oracle.release(r);
          gone.push_back(r);
          more = true;
          fits = oracle.admits(b);
          if (fits) break;
        }
      }
      CHECK_FALSE(fits);
      for (const auto& g : gone) oracle.charge(g);
    }
  });
}

namespace {

/// A plan by the numbers of its jobs.
template <class Plan, class Scheduler>
std::vector<std::size_t> numbers_of(const Plan& plan, const Scheduler& s) {
  std::vector<std::size_t> result{plan.admissions.size(), plan.evictions.size(), plan.reservations.size(),
                                  plan.holds.size()};
  for (const auto& a : plan.admissions) {
    result.push_back(a.what->number);
    for (const quantity q : a.borrows) result.push_back(static_cast<std::size_t>(q.in_milli()));
  }
  for (const auto& e : plan.evictions) {
    result.push_back(e.what->number);
    result.push_back(s.what(e.beneficiary)->number);
    result.push_back(static_cast<std::size_t>(e.how));
  }
  for (const auto& r : plan.reservations) {
    result.insert(result.end(), {r.what->number, r.first, r.count});
  }
  for (const auto& h : plan.holds) {
    result.insert(result.end(), {h.what->number, static_cast<std::size_t>(h.reason)});
    if (h.binding) {
      result.insert(result.end(), {h.binding->quota.index(), h.binding->dimension,
                                   static_cast<std::size_t>(h.binding->missing.in_milli())});
    }
  }
  return result;
}

template <std::size_t N, class Placement>
void is_deterministic(random_source& random) {
  // The same tree and machines, from a seed of their own.
  const std::uint64_t seed = random();
  random_source for_one{seed};
  random_source for_other{seed};
  const host_shape shape;
  random_host<N, Placement> one{for_one, shape};
  random_host<N, Placement> other{for_other, shape};
  for (allot::instant now = 1; now < 20; ++now) {
    std::vector<std::size_t> arrivals;
    for (std::size_t k = random.below(8); k > 0; --k) {
      const auto j = one.random_job(random, now);
      arrivals.push_back(j.number);
      one.add(j);
      other.add(j);
    }
    const auto submit_all = [&](auto& h) {
      random.shuffle(arrivals);
      for (const std::size_t n : arrivals) h.submit(&h.job(n));
    };
    submit_all(one);
    submit_all(other);
    std::vector<std::size_t> ends, goes;
    for (const std::size_t n : one.in_state(job_state::running)) {
      if (random.one_in(8)) ends.push_back(n);
    }
    for (const std::size_t n : one.in_state(job_state::evicting)) {
      if (random.one_in(2)) goes.push_back(n);
    }
    const auto end_all = [&](auto& h) {
      random.shuffle(ends);
      random.shuffle(goes);
      for (const std::size_t n : ends) h.finished(n);
      for (const std::size_t n : goes) h.evicted(n);
    };
    end_all(one);
    end_all(other);
    const auto first = numbers_of(one.step(now), one.scheduler());
    const auto second = numbers_of(other.step(now), other.scheduler());
    REQUIRE(first == second);
  }
}

}  // namespace

TEST_CASE("laws: the order of the calls within an instant makes no difference") {
  allot_test::for_each_seed(300, is_deterministic<1, no_placement>);
  allot_test::for_each_seed(200, is_deterministic<2, no_placement>);
  allot_test::for_each_seed(200, is_deterministic<1, allot::gpu::inventory>);
}

TEST_CASE("laws: granting what a hold says is missing admits the job") {
  std::size_t granted = 0;
  allot_test::for_each_seed(600, [&](random_source& random) {
    host_shape shape;
    // Percentages would follow the nominal, and pools that contain others would have to grow with them.
    shape.quotas.percent = false;
    shape.quotas.inclusive = false;
    random_host<1, no_placement> h{random, shape};
    for (int i = 0; i < 25; ++i) h.submit(h.add(h.random_job(random, 1)));
    settle(h, 1);
    for (const std::size_t n : h.in_state(job_state::pending)) {
      const auto why = h.scheduler().why(h.id(n));
      if (why.reason != allot::hold_reason::quota) continue;
      const auto& j = h.job(n);
      // The others that wait would take what is granted; without them it may have its turn at once.
      auto alone = h.scheduler();
      for (const std::size_t other : h.in_state(job_state::pending)) {
        if (other != n) alone.cancel(h.id(other));
      }
      if (!alone.step(1).empty()) continue;
      std::map<quota_id, allot::quota_spec<1>> raised;
      bool names_the_binding = false;
      REQUIRE(alone.why(h.id(n)).binding == why.binding);
      allot::for_each_shortfall(
          alone.ledger(), j.quota, j.request, h.lane_of(j), [&](const allot::shortfall& s) {
            names_the_binding = names_the_binding || s == *why.binding;
            auto& spec = raised.try_emplace(s.quota, alone.tree().spec(s.quota)).first->second;
            if (s.kind == allot::bound::borrow_limit) {
              spec.borrow[0] = allot::limit::at_most(alone.ledger().supply_of(s.quota, 0).borrow + s.missing);
            } else {
              spec.nominal[0] = std::max(spec.nominal[0], alone.tree().spec(s.quota).nominal[0] + s.missing);
            }
          });
      CHECK(names_the_binding);
      std::vector<allot::quota_change<1>> changes;
      for (const auto& [x, spec] : raised) {
        changes.push_back(allot::resize_quota<1>{x, spec.nominal, spec.lend, spec.borrow});
      }
      REQUIRE(alone.apply(changes));
      const auto& plan = alone.step(2);
      REQUIRE(plan.admissions.size() == 1);
      CHECK(plan.admissions.front().what->number == n);
      CHECK(plan.evictions.empty());
      ++granted;
    }
  });
  WARN(granted > 500);
}

// SPDX-License-Identifier: BSL-1.0
// Laws 3 and 5 against brute force: in small worlds at rest one job is submitted, and whatever could have
// been decided about it is tried.
#include <allot/core/ratio.hpp>
#include <allot/presets/standard.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/law_host.hpp"
#include "tests/support/property.hpp"
#include "tests/support/scenario.hpp"
#include "tests/support/yield_oracle.hpp"

using allot_test::event;
using allot_test::event_kind;
using allot_test::law;
using allot_test::scenario;

namespace {

/// Sets of running jobs, as bits.
using job_set = std::uint32_t;

/// All possible decisions about one job: every sequence of victims, each of which may be preempted at its
/// turn.
template <class Host, std::size_t N>
class all_ways {
 public:
  using job_type = typename Host::job_type;

  all_ways(Host& h, const job_type& j)
      : host_(h),
        job_(j),
        running_(h.in_state(allot::job_state::running)),
        places_(h.scheduler().places()),
        oracle_(h.tree()) {
    beneficiary_ = {j.quota,    j.request,   j.in(),
                    j.priority, j.submitted, h.scheduler().settings(j.quota).preempt};
    for (const job_type* r : running_) oracle_.charge(facts(*r));
  }

  [[nodiscard]] std::size_t running() const { return running_.size(); }
  [[nodiscard]] job_set one(const job_type* j) const {
    const auto at = std::find(running_.begin(), running_.end(), j);
    return at == running_.end() ? 0 : job_set{1} << (at - running_.begin());
  }

  /// The job would fit without these.
  [[nodiscard]] bool fits_without(job_set gone) {
    if (const auto known = fits_.find(gone); known != fits_.end()) return known->second;
    const allot::savepoint before = places_.save();
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if ((gone >> i & 1U) != 0) take_off(i);
    }
    const bool fits = fits_now();
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if ((gone >> i & 1U) != 0) oracle_.charge(facts(*running_[i]));
    }
    places_.rollback(before);
    return fits_[gone] = fits;
  }

  /// All sets that can be preempted, one after the other, until the job fits.
  void explore() { explore(0); }
  [[nodiscard]] const std::map<job_set, bool>& reached() const { return reached_; }
  /// Whether these, and no other jobs, might be preempted one after the other.
  [[nodiscard]] bool may_ask_all(job_set victims) const { return reached_.count(victims) != 0; }

 private:
  [[nodiscard]] allot::running_job<N> facts(const job_type& j) const {
    allot::running_job<N> r;
    r.id = host_.id(j);
    r.quota = j.quota;
    r.priority = j.priority;
    r.submitted = j.submitted;
    r.order = j.number;
    r.request = j.request;
    r.in = j.in();
    return r;
  }
  void take_off(std::size_t i) {
    oracle_.release(facts(*running_[i]));
    places_.vacate(host_.scheduler().place_of(host_.id(*running_[i])));
  }
  [[nodiscard]] bool fits_now() {
    if (!oracle_.admits(beneficiary_)) return false;
    const allot::savepoint before = places_.save();
    const bool placed = places_.place(job_.pod_request()).has_value();
    places_.rollback(before);
    return placed;
  }
  void explore(job_set gone) {
    const bool fits = fits_now();
    if (!reached_.emplace(gone, fits).second || fits) return;
    const auto contested = oracle_.contested(beneficiary_);
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if ((gone >> i & 1U) != 0 || !running_[i]->preemptible) continue;
      if (!oracle_.may_ask(beneficiary_, facts(*running_[i]), contested)) continue;
      const allot::savepoint before = places_.save();
      take_off(i);
      explore(gone | job_set{1} << i);
      oracle_.charge(facts(*running_[i]));
      places_.rollback(before);
    }
  }

  Host& host_;
  const job_type& job_;
  std::vector<const job_type*> running_;
  typename Host::places_type places_;
  allot_test::yield_oracle<N> oracle_;
  allot::beneficiary<N> beneficiary_;
  std::map<job_set, bool> fits_;
  std::map<job_set, bool> reached_;
};

/// The largest weighted share among all competitors: the borrowed part of what could be borrowed, divided by
/// the weight, in the dimension where it is largest.
template <std::size_t N>
allot::ratio largest_share(const allot::ledger<N>& l) {
  allot::ratio largest{};
  const auto consider = [&](allot::quota_id x, allot::quota_id lender, std::size_t d, allot::quantity loan) {
    const allot::quantity lendable = l.potential(lender, d);
    if (loan <= allot::quantity{} || lendable <= allot::quantity{}) return;
    const auto weight = static_cast<allot::wide>(l.tree().spec(x).weight[d].in_milli());
    largest = std::max(largest, allot::ratio{static_cast<allot::wide>(loan.in_milli()) * 1000,
                                             static_cast<allot::wide>(lendable.in_milli()) * weight});
  };
  for (const allot::quota_id x : l.tree().top_down()) {
    for (std::size_t d = 0; d < N; ++d) {
      if (l.tree().parent(x)) consider(x, l.tree().parent(x), d, l.borrowed(x, d));
      if (l.tree().children(x).empty()) continue;
      consider(x, x, d, l.own_usage(x, d) - l.supply_of(x, d).own_pool);
    }
  }
  return largest;
}

/// Whether some usage of another quota's capacity can't be reclaimed: that of jobs of an ancestor of the
/// quota (no quota reclaims from above), or of jobs that may not be evicted and use what a child of their
/// quota owns. Then a gang may have to give more than it owes, and whether it is preempted depends on the
/// order.
template <class Host>
bool somebody_stays(Host& h, const typename Host::job_type& j) {
  for (allot::quota_id a = h.tree().parent(j.quota); a; a = h.tree().parent(a)) {
    for (std::size_t d = 0; d < Host::dimensions; ++d) {
      if (h.ledger().own_usage(a, d) > h.ledger().supply_of(a, d).own_pool) return true;
    }
  }
  const auto running = h.in_state(allot::job_state::running);
  return std::any_of(running.begin(), running.end(),
                     [&](const auto* r) { return !r->preemptible && !h.tree().children(r->quota).empty(); });
}

constexpr std::size_t most_running = 7;

/// Runs cycles until nothing more happens, even when everything is tried again.
template <class Host>
void come_to_rest(Host& h) {
  h.settle();
  for (int round = 0; round < 5; ++round) {
    h.scheduler().retry();
    if (h.scheduler().step(h.now()).empty()) return;
    h.settle();
  }
}

/// What is to be checked.
struct checks {
  /// Victims.
  bool decisions = false;
  /// That a held job can't make room.
  bool holds = false;
  bool fair = false;
};

/// The decision about a job that is submitted to a world at rest.
template <std::size_t N, class Host>
void check_decision(Host& h, const typename Host::job_type& j, const checks& wanted) {
  all_ways<Host, N> ways{h, j};
  if (ways.running() > most_running) return;
  const std::string name = "job " + std::to_string(j.number);
  const auto& plan = h.cycle();
  // What other jobs receive in the same cycle, or this job had temporarily, creates further claims.
  if (plan.nominations.size() + plan.admissions.size() > 1) return;
  if (!plan.nominations.empty() && plan.nominations.front().what != &j) return;
  const auto mine = std::find_if(plan.nominations.begin(), plan.nominations.end(),
                                 [&](const auto& r) { return r.what == &j; });
  if (mine != plan.nominations.end()) {
    job_set victims = 0;
    for (const auto& e : plan.evictions) {
      if (e.beneficiary == mine->id) victims |= ways.one(e.what);
    }
    if (!ways.fits_without(victims)) h.broken(law::need, name + " does not fit without its victims");
    ways.explore();
    if (!ways.may_ask_all(victims)) {
      h.broken(law::need, "in no order might all victims of " + name + " have been asked");
    }
    for (job_set fewer = (victims - 1) & victims; fewer != victims; fewer = (fewer - 1) & victims) {
      // Some victims may be needed only because what the others give back is the job's own without them.
      if (ways.fits_without(fewer) && ways.may_ask_all(fewer)) {
        h.broken(law::need, name + " would fit with fewer victims");
      }
    }
    return;
  }
  if (h.state(j) == allot::job_state::running) {
    if (!ways.fits_without(0)) h.broken(law::sound, name + " is admitted and does not fit");
    return;
  }
  if (h.state(j) != allot::job_state::pending) return;
  if (h.scheduler().settings(j.quota).head == allot::queue_head::strict) return;
  if (ways.fits_without(0)) h.broken(law::fair, name + " waits and would fit");
  const bool not_proven = std::any_of(plan.pending.begin(), plan.pending.end(), [&](const auto& hold) {
    return hold.what == &j && hold.reason == allot::pending_reason::not_proven;
  });
  if (!wanted.holds || not_proven) return;
  ways.explore();
  for (const auto& [gone, fits] : ways.reached()) {
    if (fits) h.broken(law::fair, name + " waits, and might have asked enough others to yield");
  }
}

/// Law 5: no pending job could be admitted (with victims that it may preempt) so that the largest weighted
/// share falls.
template <std::size_t N, class Host>
void check_fair(Host& h) {
  for (const auto* j : h.in_state(allot::job_state::pending)) {
    all_ways<Host, N> ways{h, *j};
    if (ways.running() > most_running || somebody_stays(h, *j)) continue;
    if (h.scheduler().settings(j->quota).head == allot::queue_head::strict) continue;
    ways.explore();
    const allot::ratio before = largest_share(h.ledger());
    const auto running = h.in_state(allot::job_state::running);
    for (const auto& [gone, fits] : ways.reached()) {
      if (!fits) continue;
      allot::ledger<N> l = h.ledger();
      for (const auto* r : running) {
        if ((gone & ways.one(r)) != 0) l.release(r->quota, r->request, r->in());
      }
      l.charge(j->quota, j->request, j->in());
      if (largest_share(l) < before) {
        h.broken(law::fair, "job " + std::to_string(j->number) +
                                " waits, and admitted it would lower the largest weighted share");
      }
    }
  }
}

template <std::size_t N>
void check_small_world(const scenario& s, const checks& wanted) {
  using host = allot_test::law_host<allot::standard, N>;
  host h{s, law::at_once};
  for (const event& e : s.events) {
    h.act(e);
    if (e.what == event_kind::arrive && wanted.decisions) {
      for (const auto& j : h.jobs()) {
        if (j.number == e.which && h.state(j) == allot::job_state::pending) {
          check_decision<N>(h, j, wanted);
        }
      }
    }
    come_to_rest(h);
    if (wanted.fair) check_fair<N>(h);
  }
}

allot_test::scenario_shape small() {
  allot_test::scenario_shape shape;
  shape.most_quotas = 5;
  shape.most_jobs = 12;
  shape.largest_job = 4;
  shape.most_nodes = 2;
  shape.most_gpus = 4;
  shape.tree_changes = false;
  shape.overcommit = false;
  shape.two_dimensions = false;
  return shape;
}

/// Three quotas, each below the previous one, that own 1, 5 and 2.
scenario near_side() {
  scenario s;
  s.quotas.resize(3);
  s.quotas[0].own[0] = 1000;
  s.quotas[1] = {.number = 1, .parent = 0, .own = {5000}};
  s.quotas[2] = {.number = 2, .parent = 1, .own = {2000}};
  s.jobs = {{.number = 0, .quota = 2, .request = {3000}},
            {.number = 1, .quota = 0, .request = {2000}},
            {.number = 2, .quota = 1, .request = {2000}},
            {.number = 3, .quota = 1, .request = {4000}, .priority = 1}};
  for (const auto& j : s.jobs) s.events.push_back({.what = event_kind::arrive, .which = j.number});
  return s;
}

}  // namespace

TEST_CASE("laws: victims are a minimal set of whom each might be asked") {
  const auto worlds = allot_test::scenarios(small());
  allot_test::check_property("minimal victims", [worlds] {
    const scenario s = *worlds;
    check_small_world<1>(s, {.decisions = true});
  });
}

TEST_CASE("laws: victims are a minimal set of whom each might be asked, in two dimensions") {
  auto shape = small();
  shape.two_dimensions = true;
  const auto worlds = allot_test::scenarios(shape);
  allot_test::check_property("minimal victims in two dimensions", [worlds] {
    const scenario s = *worlds;
    check_small_world<2>(s, {.decisions = true});
  });
}

TEST_CASE(
    "laws: who is held can't make room by any sequence of victims, unless it is said not to be proven") {
  auto shape = small();
  const auto worlds = allot_test::scenarios(shape);
  allot_test::check_property("held for good reason", [worlds] {
    const scenario s = *worlds;
    check_small_world<1>(s, {.decisions = true, .holds = true});
  });
  shape.two_dimensions = true;
  const auto larger = allot_test::scenarios(shape);
  allot_test::check_property("held for good reason in two dimensions", [larger] {
    const scenario s = *larger;
    check_small_world<2>(s, {.decisions = true, .holds = true});
  });
}

TEST_CASE("laws: no job waits that would lower the largest weighted share") {
  auto shape = small();
  shape.machines = false;
  const auto worlds = allot_test::scenarios(shape);
  allot_test::check_property("fair", [worlds] {
    const scenario s = *worlds;
    check_small_world<1>(s, {.fair = true});
  });
  shape.two_dimensions = true;
  const auto larger = allot_test::scenarios(shape);
  allot_test::check_property("fair in two dimensions", [larger] {
    const scenario s = *larger;
    check_small_world<2>(s, {.fair = true});
  });
}

TEST_CASE("laws: a borrower yields only to owners, also after others are given back") {
  // Job 2 is evicted first. Then q1 owns the 4 of job 3, so job 0 is preempted as well. There would be room
  // with job 2 back, but then q1 would use 6 of its 5 with job 0 evicted.
  check_small_world<1>(near_side(), {.decisions = true, .holds = true});
}

TEST_CASE("laws: a job within nominal does not wait because of the order of candidates") {
  // q1 owes 2 of its 3. If job 0 is preempted first (the lowest priority), q1 owes nothing more, and job 3
  // needs one more GPU on the other node. If job 1 is preempted first, q1 still owes job 0, and there is
  // room.
  scenario s;
  s.quotas.resize(2);
  s.quotas[0].own[0] = 4000;
  s.quotas[1] = {.number = 1, .parent = 0, .own = {1000}};
  s.nodes = 2;
  s.gpus_per_node = 2;
  s.jobs = {{.number = 0, .quota = 1, .request = {2000}},
            {.number = 1, .quota = 1, .request = {1000}, .priority = 1},
            {.number = 2, .quota = 0, .request = {1000}},
            {.number = 3, .quota = 0, .request = {3000}}};
  for (const auto& j : s.jobs) s.events.push_back({.what = event_kind::arrive, .which = j.number});
  allot_test::law_host<allot::standard, 1> h{s, law::at_once};
  for (const event& e : s.events) {
    h.act(e);
    come_to_rest(h);
  }
  const auto running = h.in_state(allot::job_state::running);
  REQUIRE(running.size() == 2);
  CHECK(running[0]->number == 2);
  CHECK(running[1]->number == 3);
}

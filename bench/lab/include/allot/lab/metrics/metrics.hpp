// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/metrics/detail/cluster_time.hpp>
#include <allot/lab/metrics/detail/entitlements.hpp>
#include <allot/lab/metrics/detail/job_statistics.hpp>
#include <allot/lab/metrics/detail/lost_time.hpp>
#include <allot/lab/metrics/detail/over_preemption.hpp>
#include <allot/lab/metrics/detail/reclaim_times.hpp>
#include <allot/lab/metrics/detail/waiting_times.hpp>
#include <allot/lab/metrics/figures.hpp>
#include <allot/lab/metrics/statistics.hpp>
#include <allot/lab/metrics/timeline.hpp>
#include <allot/lab/metrics/wait_reasons.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/quota/loans.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/job_history.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/simulator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// What is measured, and when.
template <std::size_t N>
struct metrics_settings {
  /// Which dimensions are GPUs; amounts are their sum.
  per_dimension<bool, N> gpus{true};
  /// The period of integrals over time, and in which jobs must be submitted for their times to be reported.
  time_window window{};
  /// How long a quota may wait for what it has lent before that counts as a violation.
  instant grace = 0;
};

/// Observes a simulation and measures it, in exact integers, so the same on every machine.
///
/// - *Allocated*: what the running pods hold. *Capacity*: the GPUs of the nodes, without the free ones of
///   failed or drained nodes; without nodes, the capacity of the roots of the quota tree. Rates are over the
///   time from the first submission to the last end of a run, as far as it is in the window.
/// - *Fragmentation*: of the idle GPU time, the part on partly used nodes (`fragmented_gpus`). 0 without
///   nodes. *Idle while unplaceable*: idle GPU time while a job that its quota allowed could not be placed.
/// - *Entitlement*: the fair-share division (`division`) of the capacity of the user's quotas, however the
///   policy treats them, given the current demand, by which it is capped.
/// - *Fair-share error*: the integral of what a quota is entitled to and lacks; summed over the quotas (L1).
/// - *Jain*: the index over the quotas with usage or demand of how much of its entitlement each has (at most
///   all of it: any excess shows where it is missing), averaged over the time in which there are such quotas.
/// - *Lost*: GPUs times the lost running time, as `job_progress` counts it. A job that had several flavors
///   counts with the last.
/// - *Waiting* is split by cause as in `wait_reasons`, claims on what was lent are `reclaim_times`, and what
///   is evicted needlessly with a gang is `over_preemption`.
///
/// Entitlements and loans are of the quotas' own jobs, not of subtrees, so that sums count nothing twice.
/// O(quotas log quotas + kinds of waiting jobs) per instant.
template <std::size_t N = 1>
class metrics final : public sim::observer<N> {
 public:
  explicit metrics(metrics_settings<N> settings = {})
      : settings_(settings), reclaims_(settings.window, settings.grace) {}

  /// As declared in `observer`.
  void on(const sim::simulator<N>& sim, const sim::job_event<N>& e) override {
    switch (e.what) {
      case sim::job_event_kind::submitted:
        return submitted(sim, e.job);
      case sim::job_event_kind::refused:
        ++told_;
        return;
      case sim::job_event_kind::started:
        return started(sim, e.job);
      case sim::job_event_kind::grew:
        lost_.resize(e.job, sim.now(), lost_.pods(e.job) + 1);
        usage_changed_ = true;
        return;
      case sim::job_event_kind::shrank:
        note_victim(sim, e.job, e.how, 1);
        lost_.resize(e.job, sim.now(), lost_.pods(e.job) - 1);
        usage_changed_ = given_back_ = true;
        ++totals_.pods_given_up;
        return;
      case sim::job_event_kind::evicted:
        return evicted(sim, e.job, e.how);
      case sim::job_event_kind::finished:
        ++told_;
        entitlements_.note(sim.jobs()[e.job].quota, sim.wanted(e.job), false);
        return end_run(sim, e.job);
      case sim::job_event_kind::cancelled:
        return cancelled(sim, e.job);
    }
  }
  /// As declared in `observer`.
  void waiting(sim::simulator<N>& sim) override {
    using change = typename wait_reasons<N>::change;
    pass_time(sim.now());
    // Observers are not notified of changes to nodes and quotas.
    if (events_ + std::exchange(told_, 0) != sim.events()) given_back_ = true;
    events_ = sim.events();
    if (std::exchange(departures_, sim.departures()) != sim.departures()) given_back_ = true;
    // Nor of who is to have what leaves.
    const auto nominated = sim.scheduler().nominated();
    if (!std::equal(nominated.begin(), nominated.end(), nominated_.begin(), nominated_.end())) {
      nominated_.assign(nominated.begin(), nominated.end());
      given_back_ = true;
    }
    reasons_.set_aside(sim.aside(), sim.now());
    const change less = usage_changed_ ? change::less_room : change::nothing;
    reasons_.look(sim.now(), given_back_ ? change::any : less,
                  [&sim](sim::job_index j) { return sim.why_in_brief(j); });
    given_back_ = false;
  }
  /// As declared in `observer`.
  void settled(const sim::simulator<N>& sim) override {
    ALLOT_ASSERT(told_ == 0, "an observer that forwards events must forward `waiting`, too");
    pass_time(sim.now());
    if (std::exchange(run_ended_, false)) {
      totals_.end = sim.now();
      cluster_.mark();
    }
    look(sim);
  }

  /// The simulation is stopped: once it has settled again, current runs have lasted until then.
  void pause() noexcept { run_ended_ = run_ended_ || used_ > 0; }
  /// The state of a quota after the last event.
  [[nodiscard]] const quota_moment& now(quota_id x) const { return meters_[x.index()].now; }
  /// The number of quotas that have existed, the bound of `now`.
  [[nodiscard]] std::size_t quotas() const noexcept { return meters_.size(); }
  /// What running jobs hold, in milli-GPUs.
  [[nodiscard]] std::int64_t used() const noexcept { return used_; }
  /// The capacity, in milli-GPUs; meaningless if unbounded.
  [[nodiscard]] quantity capacity() const noexcept { return cluster_.capacity(); }
  /// The number of pending jobs.
  [[nodiscard]] std::uint64_t pending() const noexcept { return pending_; }

  /// The waiting times so far.
  [[nodiscard]] const waiting_times& waits() const noexcept { return waits_; }
  /// The waiting times so far, by cause.
  [[nodiscard]] const wait_reasons<N>& reasons() const noexcept { return reasons_; }
  /// What the job requests, in milli-GPUs.
  [[nodiscard]] std::int64_t gpus(const sim::simulator<N>& sim, sim::job_index j) const {
    return sum(sim.wanted(j));
  }

  /// The final figures. Call it when the simulation has run. O(jobs).
  [[nodiscard]] run_figures figures(const sim::simulator<N>& sim) const {
    run_figures all = totals_;
    all.window.begin = std::max(settings_.window.begin, all.first_submit);
    all.window.end = std::max(all.window.begin, std::min(settings_.window.end, all.end));
    cluster_.tell(all);
    all.over_preempted = over_preemption_.total();
    const std::size_t slots = std::max(meters_.size(), sim.accounts().tree().slots());
    all.quotas.resize(slots);
    job_statistics<N>{{waits_, reasons_, settings_.gpus, settings_.window}}.sum_up(sim, all);
    all.reclaims = reclaims_.of_all(sim.now());
    for (std::size_t x = 0; x < slots; ++x) {
      quota_figures& q = all.quotas[x];
      q.quota = quota_id{x};
      q.reclaims = reclaims_.of(q.quota, sim.now());
      if (x >= meters_.size()) continue;
      const meter& m = meters_[x];
      q.satisfaction = m.satisfaction;
      q.active = m.active;
      q.of.allocated = m.used;
      q.of.borrowed = m.borrowed;
      q.of.lent = m.lent;
      q.of.fair_share_error = m.missed;
      all.of.allocated += m.used;
      all.of.borrowed += m.borrowed;
      all.of.lent += m.lent;
      all.of.fair_share_error += m.missed;
    }
    return all;
  }

 private:
  /// A quota's present state and its integrals.
  struct meter {
    quota_moment now;
    std::int64_t demand = 0;
    std::int64_t satisfied = 0;
    wide used = 0;
    wide borrowed = 0;
    wide lent = 0;
    wide missed = 0;
    wide satisfaction = 0;
    instant active = 0;
  };
  void submitted(const sim::simulator<N>& sim, sim::job_index j) {
    if (!has_begun_) {
      has_begun_ = true;
      last_ = totals_.first_submit = sim.now();
      cluster_.begin(sim.places(), sim.scheduler().view());
      lost_ = lost_time{{std::max(settings_.window.begin, sim.now()), settings_.window.end}};
    }
    ++told_;
    // The job may have been pending before the simulation began.
    waits_.begin(sim.jobs().size(), j, std::min(sim.now(), sim.jobs()[j].submit));
    reasons_.begin(sim.jobs(), j, sim.now());
    entitlements_.note(sim.jobs()[j].quota, sim.wanted(j), true);
    ++pending_;
  }
  void started(const sim::simulator<N>& sim, sim::job_index j) {
    const instant since = sim.history(j).last_start;
    waits_.end(j, std::max(since, std::min(sim.now(), sim.jobs()[j].submit)));
    reasons_.end(j, sim.now());
    lost_.begin(sim.jobs().size(), j, since, sim.jobs()[j].fewest_pods());
    --pending_;
    usage_changed_ = true;
    // It may get other flavors than its demand assumed.
    if (sim.jobs()[j].flavors != 0) demand_may_differ_ = true;
  }
  void evicted(const sim::simulator<N>& sim, sim::job_index j, const sim::interruption& how) {
    if (how.why == sim::interruption::cause::decided)
      ++totals_.preemptions_by[static_cast<std::size_t>(how.how)];
    note_victim(sim, j, how, lost_.pods(j));
    end_run(sim, j);
    if (sim.history(j).outcome == sim::job_outcome::waiting) {
      waits_.begin(sim.jobs().size(), j, sim.now());
      reasons_.begin(sim.jobs(), j, sim.now());
      ++pending_;
    } else {
      entitlements_.note(sim.jobs()[j].quota, sim.wanted(j), false);
    }
  }
  void cancelled(const sim::simulator<N>& sim, sim::job_index j) {
    demand_may_differ_ = usage_changed_ = given_back_ = true;
    if (waits_.waits(j)) {
      waits_.give_up(j, sim.now());
      reasons_.end(j, sim.now());
      --pending_;
    } else if (waits_.has_come(j)) {
      end_run(sim, j);
    }
  }

  [[nodiscard]] std::int64_t sum(const resources<N>& r) const {
    std::int64_t milli = 0;
    for (std::size_t d = 0; d < N; ++d) {
      if (settings_.gpus[d]) milli += r[d].in_milli();
    }
    return milli;
  }

  void end_run(const sim::simulator<N>& sim, sim::job_index j) {
    run_ended_ = usage_changed_ = given_back_ = true;
    const sim::job_history& h = sim.history(j);
    const instant restart = h.runs > 1 ? sim.jobs()[j].restart : 0;
    if (const wide lost = lost_.end(j, sim.now(), restart, h.work.lost()); lost != 0) {
      totals_.lost_in_window += lost * static_cast<wide>(gpus(sim, j)) / sim.jobs()[j].pods();
    }
  }
  /// This many pods of a job are evicted.
  void note_victim(const sim::simulator<N>& sim, sim::job_index j, const sim::interruption& how,
                   std::uint32_t pods) {
    if (!how.beneficiary || how.how == relation::consolidation) return;
    const sim::job_history& to = sim.history(*how.beneficiary);
    const std::int64_t asked = to.outcome == sim::job_outcome::running
                                   ? gpus(sim, *how.beneficiary) / sim.jobs()[*how.beneficiary].pods()
                                   : sum(sim.scheduler().request(to.id));
    over_preemption_.note(*how.beneficiary, gpus(sim, j) / sim.jobs()[j].pods() * pods, asked);
    const bool is_reclaim = how.how == relation::borrower || how.how == relation::borrower_while_borrowing;
    if (is_reclaim) reclaims_.note_reclaim(sim.jobs()[*how.beneficiary].quota);
  }

  /// Adds the time since the last instant to the integrals, with the state recorded then.
  void pass_time(instant now) {
    const instant from = std::max(std::exchange(last_, now), settings_.window.begin);
    const instant span = std::min(now, settings_.window.end) - from;
    if (!has_begun_ || span <= 0) return;
    const auto dt = static_cast<std::uint64_t>(span);
    const auto times_dt = [dt](std::int64_t value) { return wide{static_cast<std::uint64_t>(value)} * dt; };
    for (meter& m : meters_) {
      if (m.demand != 0 || m.now.lent != 0) {
        m.used += times_dt(m.now.used);
        m.borrowed += times_dt(m.now.borrowed);
        m.lent += times_dt(m.now.lent);
        m.missed += times_dt(std::max<std::int64_t>(0, m.now.entitled - m.now.used));
      }
      if (m.demand != 0) {
        m.satisfaction += times_dt(m.satisfied);
        m.active += span;
      }
    }
    cluster_.pass(span, used_, reasons_.any_lacks_a_place(), gathered_);
    if (any_active_) {
      totals_.jain += times_dt(jain_);
      totals_.active += span;
    }
  }

  /// Records the current state.
  void look(const sim::simulator<N>& sim) {
    const ledger<N>& accounts = sim.accounts();
    const bool tree_differs = std::exchange(seen_changes_, sim.tree_changes()) != sim.tree_changes();
    meters_.resize(accounts.tree().slots());
    used_ = 0;
    for (std::size_t i = 0; i < meters_.size(); ++i) {
      meter& m = meters_[i];
      const quota_id x{i};
      const bool exists = accounts.tree().contains(x);
      m.now.entitled = 0;
      m.now.used = exists ? sum(accounts.own_usage(x)) : 0;
      m.now.pending = exists ? sim.waiting()[i] : 0;
      m.demand = exists ? sum(sim.demand()[i]) : 0;
      used_ += m.now.used;
    }
    const bool none_waits = pending_ == 0 && sim.lacking() == 0;
    entitlements_.update(accounts, sim.demand(), none_waits, tree_differs || demand_may_differ_);
    look_at_entitlements();
    if (usage_changed_ || tree_differs) look_at_loans(accounts);
    look_at_claims(sim);
    over_preemption_.settle();
    cluster_.look(sim.places(), accounts, settings_.gpus);
    gathered_ = sum(sim.scheduler().gathered());
    usage_changed_ = demand_may_differ_ = false;
  }

  void look_at_entitlements() {
    std::uint64_t n = 0;
    wide satisfied = 0;
    wide squares = 0;
    for (std::size_t i = 0; i < meters_.size(); ++i) {
      meter& m = meters_[i];
      if (m.demand == 0) continue;
      m.now.entitled = entitlements_.is_demand_met() ? m.now.used : sum(entitlements_.own(quota_id{i}));
      m.satisfied = millionths(std::min(m.now.used, m.now.entitled), m.now.entitled);
      const auto x = static_cast<std::uint64_t>(m.satisfied);
      ++n;
      satisfied += x;
      squares += wide{x} * x;
    }
    any_active_ = n != 0;
    constexpr wide billion = 1'000'000'000;
    jain_ =
        static_cast<std::int64_t>(squares == 0 ? billion : satisfied * satisfied * billion / (n * squares));
  }

  void look_at_loans(const ledger<N>& accounts) {
    for (meter& m : meters_) m.now.borrowed = m.now.lent = 0;
    any_lends_ = false;
    for (std::size_t d = 0; d < N; ++d) {
      if (!settings_.gpus[d]) continue;
      loans_.update(accounts, d);
      for (std::size_t i = 0; i < meters_.size(); ++i) {
        meters_[i].now.borrowed += loans_.borrowed(quota_id{i}, d).in_milli();
        meters_[i].now.lent += loans_.lent(quota_id{i}, d).in_milli();
        any_lends_ = any_lends_ || meters_[i].now.lent > 0;
      }
    }
  }

  void look_at_claims(const sim::simulator<N>& sim) {
    if (reclaims_.are_met() && (!any_lends_ || pending_ == 0)) return;
    const ledger<N>& accounts = sim.accounts();
    has_claim_.assign(meters_.size(), false);
    reasons_.for_each_kind([&](sim::job_index j) {
      const quota_id x = sim.jobs()[j].quota;
      if (meters_[x.index()].now.lent == 0 || has_claim_[x.index()]) return;
      has_claim_[x.index()] = guarantee_has_room(accounts, x, sim.scheduler().request(sim.history(j).id));
    });
    for (std::size_t x = 0; x < meters_.size(); ++x) reclaims_.look(sim.now(), quota_id{x}, has_claim_[x]);
    reclaims_.settle();
  }

  metrics_settings<N> settings_;
  entitlements<N> entitlements_;
  loan_book<N> loans_;
  waiting_times waits_;
  wait_reasons<N> reasons_;
  std::uint64_t departures_ = 0;
  vector<job_id> nominated_;
  lost_time lost_;
  reclaim_times reclaims_;
  over_preemption over_preemption_;
  vector<meter> meters_;
  /// By quota; only while claims are checked.
  vector<bool> has_claim_;
  run_figures totals_;
  cluster_time cluster_;
  std::int64_t used_ = 0;
  std::int64_t gathered_ = 0;
  std::int64_t jain_ = 0;
  std::uint64_t pending_ = 0;
  std::uint64_t seen_changes_ = 0;
  /// Of the simulation, up to the last instant; and how many of those since were reported to this observer.
  std::uint64_t events_ = 0;
  std::uint64_t told_ = 0;
  bool usage_changed_ = true;
  /// Whether any job may have more room than at the last instant.
  bool given_back_ = true;
  bool any_lends_ = false;
  /// Other than by submissions and ends of jobs.
  bool demand_may_differ_ = true;
  instant last_ = 0;
  bool has_begun_ = false;
  bool run_ended_ = false;
  bool any_active_ = false;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

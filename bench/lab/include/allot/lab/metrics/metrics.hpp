// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/stamped_set.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/division.hpp>
#include <allot/lab/metrics/detail/cluster_time.hpp>
#include <allot/lab/metrics/detail/job_contention.hpp>
#include <allot/lab/metrics/detail/job_statistics.hpp>
#include <allot/lab/metrics/detail/lost_time.hpp>
#include <allot/lab/metrics/detail/over_preemption.hpp>
#include <allot/lab/metrics/detail/own_loans.hpp>
#include <allot/lab/metrics/detail/reclaim_times.hpp>
#include <allot/lab/metrics/detail/waiting_times.hpp>
#include <allot/lab/metrics/figures.hpp>
#include <allot/lab/metrics/statistics.hpp>
#include <allot/lab/metrics/timeline.hpp>
#include <allot/lab/metrics/wait_reasons.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/quota/shortfall.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/job_history.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/simulator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
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
/// - *Lost*: GPUs times the lost running time, as `job_progress` counts it, in the window.
/// - *Waiting* is split by cause as in `wait_reasons`, claims on what was lent are `reclaim_times`, and what
///   is evicted needlessly with a gang is `over_preemption`.
///
/// Entitlements and loans are of the quotas' own jobs, not of subtrees, so that sums count nothing twice.
/// An instant costs what has changed: the quotas whose jobs have come or gone, those whose entitlement or
/// claims are therefore others, O(log quotas) each, and the kinds of jobs whose reason to wait may be
/// another. What quotas lend each other is found when it is asked for: most of it changes with every loan.
template <std::size_t N = 1>
class metrics final : public sim::observer<N> {
 public:
  explicit metrics(metrics_settings<N> settings = {})
      : settings_(settings),
        loans_(settings.gpus),
        lost_(settings.window),
        reclaims_(settings.window, settings.grace) {}

  /// As declared in `observer`.
  void on(const sim::simulator<N>& sim, const sim::job_event<N>& e) override {
    touch(sim, e.job);
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
        totals_.pods_given_up += settings_.window.contains(sim.now()) ? 1U : 0U;
        return;
      case sim::job_event_kind::evicted:
        return evicted(sim, e.job, e.how);
      case sim::job_event_kind::finished:
        ++told_;
        judge(sim, e.job);
        contention_.leave(sim.now());
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
    bool is_told = events_ + std::exchange(told_, 0) == sim.events();
    events_ = sim.events();
    is_told = std::exchange(departures_, sim.departures()) == sim.departures() && is_told;
    // Nor of who is to have what leaves.
    const auto nominated = sim.scheduler().nominated();
    if (!std::equal(nominated.begin(), nominated.end(), nominated_.begin(), nominated_.end())) {
      nominated_.assign(nominated.begin(), nominated.end());
      is_told = false;
    }
    given_back_ = given_back_ || !is_told;
    if (std::exchange(bounds_of_, sim.tree_changes()) != sim.tree_changes()) reasons_.forget_bounds();
    for (const sim::job_index j : aside_) touch(sim, j);
    aside_.assign(sim.aside().begin(), sim.aside().end());
    for (const sim::job_index j : aside_) touch(sim, j);
    reasons_.set_aside(aside_, sim.now());
    const change less = usage_changed_ ? change::less_room : change::nothing;
    reasons_.look(
        sim.now(), given_back_ ? change::any : less, [&sim](sim::job_index j) { return sim.why_in_brief(j); },
        law_bounds{sim}, is_told ? std::optional{std::span<const quota_id>{seen_in_}} : std::nullopt);
    given_back_ = false;
    seen_in_.clear();
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
  /// The state of a quota after the last event. O(depth).
  [[nodiscard]] quota_moment now(quota_id x) const {
    quota_moment q = meters_[x.index()].now;
    q.borrowed = sum_of<std::int64_t>([&](std::size_t d) { return loans_.borrowed(x, d); });
    q.lent = sum_of<std::int64_t>([&](std::size_t d) { return loans_.lent(x, d); });
    return q;
  }
  /// The quotas whose own jobs something has happened to at the last instant, by id: what others are entitled
  /// to, borrow and lend may have changed, too.
  [[nodiscard]] std::span<const quota_id> changed() const noexcept { return changed_; }
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
  /// The finish-time fairness of the job as a user of its own, in millionths; nothing unless it is completed.
  [[nodiscard]] std::optional<std::int64_t> fairness(sim::job_index j) const {
    const bool is_known = j < fairness_.size() && fairness_[j] != unknown;
    return is_known ? std::optional{fairness_[j]} : std::nullopt;
  }
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
    auto hardships = hardships_;
    for (sim::job_index j = 0; j < sim.jobs().size(); ++j) {
      if (sim.history(j).outcome != sim::job_outcome::running) continue;
      add_lost(sim, j, lost_.so_far(j, restart_of(sim, j)), hardships, all);
    }
    job_statistics<N>{{waits_, reasons_, settings_.gpus, hardships, fairness_, settings_.window}}.sum_up(sim,
                                                                                                         all);
    all.reclaims = reclaims_.of_all(sim.now());
    for (std::size_t x = 0; x < slots; ++x) {
      quota_figures& q = all.quotas[x];
      q.quota = quota_id{x};
      q.reclaims = reclaims_.of(q.quota, sim.now());
      if (x >= meters_.size()) continue;
      meter m = meters_[x];
      pass(m, last_);
      q.satisfaction = m.satisfaction;
      q.active = m.active;
      q.of.allocated = m.used;
      const instant until = in_window(last_);
      q.of.borrowed = sum_of<wide>([&](std::size_t d) { return loans_.borrowed_time(q.quota, d, until); });
      q.of.lent = sum_of<wide>([&](std::size_t d) { return loans_.lent_time(q.quota, d, until); });
      q.of.fair_share_error = m.missed;
      all.of.allocated += m.used;
      all.of.fair_share_error += m.missed;
    }
    all.of.borrowed = all.of.lent = loans_.lent_time(in_window(last_));
    return all;
  }

 private:
  static constexpr std::int64_t not_active = -1;
  static constexpr std::int64_t unknown = -1;
  /// With more changes than that at one instant, and a part of the quotas, the division is made from scratch.
  static constexpr std::size_t most_changes = 16;

  /// A quota's present state, and its integrals up to `since`.
  struct meter {
    quota_moment now;
    std::int64_t demand = 0;
    /// How much of its entitlement it has, in millionths; `not_active` without usage or demand.
    std::int64_t satisfied = not_active;
    wide used = 0;
    wide missed = 0;
    wide satisfaction = 0;
    instant active = 0;
    instant since = 0;
    bool has_changed = false;
    /// Whether it has a claim if it lends anything; and whether it is one of the claimants.
    bool could_claim = false;
    bool is_claimant = false;
  };
  /// What the law leaves at a quota as the policy counts.
  struct law_bounds {
    const allot::sim::simulator<N>& sim;

    template <class Pending>
    [[nodiscard]] std::optional<quantity> follow(const Pending& h) const {
      const shortfall& by = *h.binding;
      const bool is_followed = are_followed(h, by.dimension, by.quota);
      return is_followed ? std::optional{room(quota_bound::of(by))} : std::nullopt;
    }
    template <class Pending, class Visit>
    [[nodiscard]] bool follow_all(const Pending& h, Visit visit) const {
      const resources<N>& request = sim.scheduler().request(h.id);
      for (std::size_t d = 0; d < N; ++d) {
        if (request[d] == quantity{}) continue;
        if (!are_followed(h, d, quota_id::none())) return false;
        // A job that can't be preempted may still not be one of guaranteed capacity. Where that leaves too
        // little, it is not.
        const bool may_be_guaranteed = !sim.jobs()[h.what].preemptible;
        sim.scheduler().counted().for_each_bound(
            h.quota, d, may_be_guaranteed ? capacity_kind::guaranteed : capacity_kind::any,
            [&](quota_id x, quantity room, bool of_all) {
              const auto kind = of_all ? capacity_kind::any : capacity_kind::guaranteed;
              if (request[d] <= room) visit({x, d, kind}, request[d]);
            });
      }
      return true;
    }
    /// Of the job's quota and those above it, before the last.
    template <class Pending>
    [[nodiscard]] bool are_followed(const Pending& h, std::size_t d, quota_id last) const {
      const allot::sim::job<N>& j = sim.jobs()[h.what];
      const auto& policy = sim.scheduler();
      // With flavors, what it asks for may change.
      bool are = policy.binds_by_law() && j.flavors == 0 && j.unlike == 0;
      // What a quota below keeps, and does not use, leaves more.
      for (quota_id x = h.quota; are && x && x != last; x = policy.tree().parent(x)) {
        are = !policy.tree().parent(x) || policy.counted().supply_of(x, d).kept == quantity{};
      }
      return are;
    }
    [[nodiscard]] quantity room(const quota_bound& of) const {
      return sim.scheduler().counted().room(of.quota, of.dimension, of.kind);
    }
    /// Calls `visit(quota)` for each whose bounds the usage of the given one counts against.
    template <class Visit>
    void for_each_above(quota_id x, Visit visit) const {
      for (; x; x = sim.scheduler().tree().parent(x)) visit(x);
    }
  };

  void submitted(const sim::simulator<N>& sim, sim::job_index j) {
    if (!has_begun_) {
      has_begun_ = true;
      last_ = totals_.first_submit = sim.now();
      cluster_.begin(sim.places(), sim.scheduler().view());
      lost_.begin_measuring(sim.now());
    }
    ++told_;
    // The job may have been pending before the simulation began.
    waits_.begin(sim.jobs().size(), j, std::min(sim.now(), sim.jobs()[j].submit));
    begin_reason(sim, j);
    contention_.come(sim.jobs().size(), j, sim.now());
    if (fairness_.size() < sim.jobs().size()) fairness_.resize(sim.jobs().size(), unknown);
    has_flavors_ = has_flavors_ || sim.jobs()[j].flavors != 0 || sim.jobs()[j].unlike != 0;
    ++pending_;
  }
  void started(const sim::simulator<N>& sim, sim::job_index j) {
    const instant since = sim.history(j).last_start;
    waits_.end(j, std::max(since, std::min(sim.now(), sim.jobs()[j].submit)));
    reasons_.end(j, sim.now());
    lost_.begin(sim.jobs().size(), j, since, sim.jobs()[j].fewest_pods());
    --pending_;
    usage_changed_ = true;
  }
  void evicted(const sim::simulator<N>& sim, sim::job_index j, const sim::interruption& how) {
    using cause = sim::interruption::cause;
    const bool comes_back = sim.history(j).outcome == sim::job_outcome::waiting;
    if (settings_.window.contains(sim.now())) {
      if (how.why == cause::decided) ++totals_.preemptions_by[static_cast<std::size_t>(how.how)];
      if (how.why == cause::node_down) ++hardships_[j].node_failures;
      const bool is_preempted = how.why == cause::decided || how.why == cause::told_before;
      if (is_preempted && comes_back) ++hardships_[j].preemptions;
    }
    note_victim(sim, j, how, lost_.pods(j));
    end_run(sim, j);
    if (comes_back) {
      waits_.begin(sim.jobs().size(), j, sim.now());
      begin_reason(sim, j);
      ++pending_;
    } else {
      contention_.leave(sim.now());
    }
  }
  void cancelled(const sim::simulator<N>& sim, sim::job_index j) {
    usage_changed_ = given_back_ = true;
    if (waits_.has_come(j)) contention_.leave(sim.now());
    if (waits_.waits(j)) {
      waits_.give_up(j, sim.now());
      reasons_.end(j, sim.now());
      --pending_;
    } else if (waits_.has_come(j)) {
      end_run(sim, j);
    }
  }

  /// The job is completed.
  void judge(const sim::simulator<N>& sim, sim::job_index j) {
    const sim::job<N>& job = sim.jobs()[j];
    // What was there while it waited before the simulation is not known.
    if (job.submit < totals_.first_submit) return;
    const instant took = sim.now() - job.submit;
    const auto rho = contention_.fairness(j, sim.now(), took, job.duration, gpus(sim, j));
    if (rho) fairness_[j] = *rho;
  }
  void begin_reason(const sim::simulator<N>& sim, sim::job_index j) {
    const auto& view = sim.scheduler().view();
    reasons_.begin(sim.jobs(), j, sim.now(), view.quota(j));
  }
  [[nodiscard]] std::int64_t sum(const resources<N>& r) const {
    return sum_of<std::int64_t>([&](std::size_t d) { return r[d].in_milli(); });
  }
  /// Of what is measured in the dimensions that are GPUs.
  template <class Sum, class Amount>
  [[nodiscard]] Sum sum_of(Amount amount) const {
    Sum all = 0;
    for (std::size_t d = 0; d < N; ++d) {
      if (settings_.gpus[d]) all += amount(d);
    }
    return all;
  }

  void end_run(const sim::simulator<N>& sim, sim::job_index j) {
    run_ended_ = usage_changed_ = given_back_ = true;
    const instant lost = sim.history(j).work.lost();
    add_lost(sim, j, lost_.end(j, sim.now(), restart_of(sim, j), lost), hardships_, totals_);
  }
  [[nodiscard]] static instant restart_of(const sim::simulator<N>& sim, sim::job_index j) {
    return sim.history(j).runs > 1 ? sim.jobs()[j].restart : 0;
  }
  /// Lost work is that of pods, which all have equally many GPUs.
  void add_lost(const sim::simulator<N>& sim, sim::job_index j, const lost_time::amount& lost,
                std::map<sim::job_index, job_hardship>& hardships, run_figures& all) const {
    if (lost.in_window == 0) return;
    const auto size = static_cast<wide>(gpus(sim, j));
    const std::uint32_t pods = sim.jobs()[j].pods();
    hardships[j].lost += lost.in_window * size / pods;
    all.lost_of_allocated += lost.since_begin * size / pods;
  }
  /// This many pods of a job are evicted.
  void note_victim(const sim::simulator<N>& sim, sim::job_index j, const sim::interruption& how,
                   std::uint32_t pods) {
    if (!how.beneficiary || how.how == relation::consolidation) return;
    const sim::job_history& to = sim.history(*how.beneficiary);
    const std::int64_t asked = to.outcome == sim::job_outcome::running
                                   ? gpus(sim, *how.beneficiary) / sim.jobs()[*how.beneficiary].pods()
                                   : sum(sim.scheduler().request(to.id));
    if (settings_.window.contains(sim.now()))
      over_preemption_.note(*how.beneficiary, gpus(sim, j) / sim.jobs()[j].pods() * pods, asked);
    const bool is_reclaim = how.how == relation::borrower || how.how == relation::borrower_while_borrowing;
    if (!is_reclaim) return;
    reclaims_.note_reclaim(sim.jobs()[*how.beneficiary].quota);
    touch(sim, *how.beneficiary);
  }

  /// Adds the time since the last instant to the integrals of the whole, with the state recorded then.
  void pass_time(instant now) {
    const instant from = std::max(std::exchange(last_, now), settings_.window.begin);
    const instant span = std::min(now, settings_.window.end) - from;
    if (!has_begun_ || span <= 0) return;
    cluster_.pass(span, used_, reasons_.any_lacks_a_place(), gathered_);
    if (active_ != 0) {
      totals_.jain += static_cast<wide>(jain_) * static_cast<wide>(span);
      totals_.active += span;
    }
  }
  /// The same for one quota, since it was changed last.
  void pass(meter& m, instant now) const {
    const instant from = std::max(std::exchange(m.since, now), settings_.window.begin);
    const instant span = std::min(now, settings_.window.end) - from;
    if (span <= 0) return;
    const auto times_span = [dt = static_cast<std::uint64_t>(span)](std::int64_t value) {
      return wide{static_cast<std::uint64_t>(value)} * dt;
    };
    if (m.demand != 0) {
      m.used += times_span(m.now.used);
      m.missed += times_span(std::max<std::int64_t>(0, m.now.entitled - m.now.used));
      m.satisfaction += times_span(m.satisfied);
      m.active += span;
    }
  }

  [[nodiscard]] instant in_window(instant now) const {
    return std::max(settings_.window.begin, std::min(now, settings_.window.end));
  }

  /// Something may have happened to the job; also to one whose quota does not exist.
  void touch(const sim::simulator<N>& sim, sim::job_index j) {
    const quota_id x = sim.jobs()[j].quota;
    if (x.index() < sim.accounts().tree().slots()) touch(x);
    seen_in_.push_back(sim.scheduler().view().quota(j));
  }
  void touch(quota_id x) {
    if (is_touched_.contains(x)) return;
    is_touched_.insert(x);
    touched_.push_back(x);
  }
  /// The quota's state changes at this instant.
  [[nodiscard]] meter& change(quota_id x, instant now) {
    meter& m = meters_[x.index()];
    pass(m, now);
    if (!std::exchange(m.has_changed, true)) changed_.push_back(x);
    return m;
  }

  /// Records the current state.
  void look(const sim::simulator<N>& sim) {
    const ledger<N>& accounts = sim.accounts();
    for (const quota_id x : changed_) meters_[x.index()].has_changed = false;
    changed_.clear();
    const bool tree_differs = meters_.empty() || seen_changes_ != sim.tree_changes();
    if (tree_differs) {
      seen_changes_ = sim.tree_changes();
      meters_.resize(accounts.tree().slots());
      for (std::size_t i = 0; i < meters_.size(); ++i) touch(quota_id{i});
      loans_.reset(accounts, in_window(sim.now()));
    }
    for (const quota_id x : touched_) {
      meter& m = change(x, sim.now());
      const bool exists = accounts.tree().contains(x);
      used_ -= std::exchange(m.now.used, exists ? sum(accounts.own_usage(x)) : 0);
      used_ += m.now.used;
      m.now.pending = exists ? sim.waiting()[x.index()] : 0;
      m.demand = exists ? sum(sim.demand()[x.index()]) : 0;
      if (exists) loans_.note(accounts, x, in_window(sim.now()));
    }
    look_at_entitlements(sim, tree_differs);
    look_at_claims(sim);
    sort_changed();
    over_preemption_.settle();
    cluster_.look(sim.places(), accounts, settings_.gpus);
    contention_.look(sim.now(), cluster_.capacity());
    gathered_ = sum(sim.scheduler().gathered());
    touched_.clear();
    is_touched_.clear();
    usage_changed_ = false;
  }

  void sort_changed() {
    if (changed_.size() <= meters_.size() / most_changes) {
      return allot::detail::sort(changed_.begin(), changed_.end());
    }
    changed_.clear();
    for (std::size_t i = 0; i < meters_.size(); ++i) {
      if (meters_[i].has_changed) changed_.push_back(quota_id{i});
    }
  }

  void look_at_entitlements(const sim::simulator<N>& sim, bool tree_differs) {
    const ledger<N>& accounts = sim.accounts();
    const auto look = [&](quota_id x) { look_at_entitlement(x, sim.now()); };
    // As many changes cost more than a division.
    if (tree_differs || touched_.size() > most_changes + meters_.size() / most_changes) {
      division_.update(accounts, sim.demand());
      for (std::size_t i = 0; i < meters_.size(); ++i) look(quota_id{i});
    } else {
      for (const quota_id x : touched_) {
        division_.change_demand(accounts, x, sim.demand()[x.index()]);
        look(x);
        for (const quota_id y : division_.changed_own()) look(y);
      }
    }
    constexpr wide billion = 1'000'000'000;
    jain_ = static_cast<std::int64_t>(
        squares_ == 0 ? billion : satisfied_ * satisfied_ * billion / (active_ * squares_));
  }
  /// Of one quota, whose entitlement, usage or demand may have changed.
  void look_at_entitlement(quota_id x, instant now) {
    const meter& is = meters_[x.index()];
    const std::int64_t entitled = is.demand == 0 ? 0 : sum(division_.own(x));
    const std::int64_t satisfied =
        is.demand == 0 ? not_active : millionths(std::min(is.now.used, entitled), entitled);
    if (entitled == is.now.entitled && satisfied == is.satisfied) return;
    meter& m = meters_[x.index()];
    pass(m, now);
    m.now.entitled = entitled;
    if (m.satisfied != not_active) {
      --active_;
      satisfied_ -= static_cast<wide>(m.satisfied);
      squares_ -= static_cast<wide>(m.satisfied) * static_cast<wide>(m.satisfied);
    }
    m.satisfied = satisfied;
    if (m.satisfied == not_active) return;
    ++active_;
    satisfied_ += static_cast<wide>(m.satisfied);
    squares_ += static_cast<wide>(m.satisfied) * static_cast<wide>(m.satisfied);
  }

  void look_at_claims(const sim::simulator<N>& sim) {
    if (pending_ == 0 && reclaims_.are_met()) return;
    // Which of its flavors a pending job asks for may change at any time.
    if (has_flavors_) {
      for (std::size_t i = 0; i < meters_.size(); ++i) find_claims(sim, quota_id{i});
    } else {
      for (const quota_id x : changed_) find_claims(sim, x);
    }
    const auto look = [&](quota_id x) {
      reclaims_.look(sim.now(), x, meters_[x.index()].could_claim && lends(x));
    };
    for (const quota_id x : changed_) look(x);
    if (has_flavors_ || std::exchange(turns_, loans_.turns()) != loans_.turns()) {
      for (std::size_t i = claimants_.size(); i-- > 0;) {
        const quota_id x = claimants_[i];
        look(x);
        if (meters_[x.index()].could_claim) continue;
        meters_[x.index()].is_claimant = false;
        claimants_[i] = claimants_.back();
        claimants_.pop_back();
      }
    }
    reclaims_.settle();
  }
  /// Whether a pending job of the quota has room in its guarantee.
  void find_claims(const sim::simulator<N>& sim, quota_id x) {
    const ledger<N>& accounts = sim.accounts();
    meter& m = meters_[x.index()];
    m.could_claim = false;
    if (!accounts.tree().contains(x)) return;
    reasons_.for_each_kind(x, [&](sim::job_index j) {
      m.could_claim =
          m.could_claim || guarantee_has_room(accounts, x, sim.scheduler().request(sim.history(j).id));
    });
    if (m.could_claim && !std::exchange(m.is_claimant, true)) claimants_.push_back(x);
  }
  [[nodiscard]] bool lends(quota_id x) const {
    return sum_of<int>([&](std::size_t d) { return loans_.lends(x, d) ? 1 : 0; }) > 0;
  }

  metrics_settings<N> settings_;
  division<N> division_;
  own_loans<N> loans_;
  waiting_times waits_;
  wait_reasons<N> reasons_;
  std::uint64_t departures_ = 0;
  vector<job_id> nominated_;
  lost_time lost_;
  std::map<sim::job_index, job_hardship> hardships_;
  job_contention contention_;
  vector<std::int64_t> fairness_;
  reclaim_times reclaims_;
  /// All quotas that could claim, and some that could.
  vector<quota_id> claimants_;
  std::uint64_t turns_ = 0;
  over_preemption over_preemption_;
  vector<meter> meters_;
  /// The quotas whose jobs something has happened to since the last look.
  vector<quota_id> touched_;
  stamped_set<quota_id> is_touched_;
  vector<quota_id> changed_;
  /// As the policy sees them, the quotas whose jobs something has happened to since the last look at reasons.
  vector<quota_id> seen_in_;
  vector<sim::job_index> aside_;
  run_figures totals_;
  cluster_time cluster_;
  std::int64_t used_ = 0;
  std::int64_t gathered_ = 0;
  /// Of the quotas with usage or demand: their number, how much of their entitlements they have in all, and
  /// the squares of that.
  std::uint64_t active_ = 0;
  wide satisfied_ = 0;
  wide squares_ = 0;
  std::int64_t jain_ = 0;
  std::uint64_t pending_ = 0;
  /// Of the tree, at the last look and at the last look at what waits.
  std::uint64_t seen_changes_ = 0;
  std::uint64_t bounds_of_ = 0;
  /// Of the simulation, up to the last instant; and how many of those since were reported to this observer.
  std::uint64_t events_ = 0;
  std::uint64_t told_ = 0;
  bool usage_changed_ = true;
  /// Whether any job may have more room than at the last instant.
  bool given_back_ = true;
  bool has_flavors_ = false;
  instant last_ = 0;
  bool has_begun_ = false;
  bool run_ended_ = false;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

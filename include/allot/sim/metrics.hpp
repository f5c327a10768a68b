// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/quota/ledger.hpp>
#include <allot/quota/loans.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/sim/entitlements.hpp>
#include <allot/sim/figures.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/job_history.hpp>
#include <allot/sim/places.hpp>
#include <allot/sim/statistics.hpp>
#include <allot/sim/waiting_times.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace sim {

template <std::size_t N>
struct metrics_settings {
  /// Which dimensions are GPUs; amounts are their sum.
  per_dimension<bool, N> gpus{true};
  /// Whether the quotas are somebody's. Without, nobody borrows from anybody.
  bool loans = true;
};

/// Watches a simulation and measures it, in exact integers, so the same on every machine.
///
/// - *Allocated*: what the pods that run hold. *Capacity*: the GPUs of the nodes, without the free ones of
///   nodes that have failed or are drained; without nodes, what the roots of the quota tree have. Rates are
///   over the time from the first submission to the last end of a run.
/// - *Fragmentation*: of the idle GPU time, the part on nodes that were partly in use, where a pod that takes
///   a whole node finds no room. 0 without nodes.
/// - *Entitlement*: the fair-share division (`division`) of the capacity of the user's quotas, whatever the
///   policy makes of them, given the demand of the moment, by which it is capped.
/// - *Fair-share error*: the integral of what a quota is entitled to and does not have; in sum over the
///   quotas (L1).
/// - *Jain*: the index over the quotas that use or want something of how much of what each is entitled to it
///   has (at most all of it: what one has beyond that shows where it is missing), averaged over the time in
///   which there are such quotas.
/// - *Lost*: GPUs times the running time that came to nothing, as `job_progress` counts it. A job that had
///   several flavors counts with the last.
///
/// What is entitled and lent is of the quotas' own jobs, not of subtrees, so that sums count nothing twice.
/// O(quotas log quotas) an instant.
template <std::size_t N = 1>
class metrics {
 public:
  explicit metrics(metrics_settings<N> settings = {}) : settings_(settings) {}

  template <class Simulator>
  void submitted(const Simulator& sim, job_index j) {
    if (!has_begun_) {
      has_begun_ = true;
      last_ = totals_.first_submit = sim.now();
    }
    // It may have waited before the simulation began.
    waits_.begin(sim.jobs().size(), j, std::min(sim.now(), sim.jobs()[j].submit));
    entitlements_.note(sim.jobs()[j].quota, sim.wanted(j), true);
    ++pending_;
  }
  template <class Simulator>
  void refused(const Simulator&, job_index, refusal) {}
  template <class Simulator>
  void started(const Simulator& sim, job_index j, const resources<N>&) {
    waits_.end(j, std::max(sim.history(j).last_start, std::min(sim.now(), sim.jobs()[j].submit)));
    --pending_;
    usage_changed_ = true;
    // It may have got other flavors than it was thought to want.
    if (sim.jobs()[j].flavors != 0) demand_may_differ_ = true;
  }
  template <class Simulator>
  void grew(const Simulator&, job_index, job_id, const resources<N>&) {
    usage_changed_ = true;
  }
  template <class Simulator>
  void shrank(const Simulator&, job_index, job_id, const interruption&) {
    usage_changed_ = true;
    ++totals_.pods_given_up;
  }
  template <class Simulator>
  void evicted(const Simulator& sim, job_index j, const interruption& how) {
    if (how.why == interruption::cause::decided) ++totals_.preemptions_by[static_cast<std::size_t>(how.how)];
    if (sim.history(j).outcome == job_outcome::waiting) {
      waits_.begin(sim.jobs().size(), j, sim.now());
      ++pending_;
    } else {
      entitlements_.note(sim.jobs()[j].quota, sim.wanted(j), false);
    }
    run_ended_ = usage_changed_ = true;
  }
  template <class Simulator>
  void finished(const Simulator& sim, job_index j) {
    entitlements_.note(sim.jobs()[j].quota, sim.wanted(j), false);
    run_ended_ = usage_changed_ = true;
  }
  template <class Simulator>
  void cancelled(const Simulator& sim, job_index j) {
    demand_may_differ_ = usage_changed_ = true;
    if (waits_.waits(j)) {
      waits_.give_up(j, sim.now());
      --pending_;
    } else if (waits_.has_come(j)) {
      run_ended_ = true;
    }
  }
  template <class Simulator>
  void settled(const Simulator& sim) {
    pass_time(sim.now());
    if (std::exchange(run_ended_, false)) {
      totals_.end = sim.now();
      at_end_ = until_now_;
    }
    look(sim);
  }

  /// The simulation is stopped: once it has settled again, what runs has run until then.
  void pause() noexcept { run_ended_ = run_ended_ || used_ > 0; }
  /// The state of a quota after what happened last.
  [[nodiscard]] const quota_moment& now(quota_id x) const { return meters_[x.index()].now; }
  /// The number of quotas that there have been, by which `now` is bounded.
  [[nodiscard]] std::size_t quotas() const noexcept { return meters_.size(); }
  /// What running jobs hold, in milli-GPUs.
  [[nodiscard]] std::int64_t used() const noexcept { return used_; }
  /// What there is, in milli-GPUs; meaningless without a bound.
  [[nodiscard]] quantity capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::uint64_t pending() const noexcept { return pending_; }

  [[nodiscard]] const waiting_times& waits() const noexcept { return waits_; }
  /// What the job asks for, in milli-GPUs.
  template <class Simulator>
  [[nodiscard]] std::int64_t gpus(const Simulator& sim, job_index j) const {
    return sum(sim.wanted(j));
  }

  /// What it all comes to. Call it when the simulation has run. O(jobs).
  template <class Simulator>
  [[nodiscard]] run_figures figures(const Simulator& sim) const {
    run_figures all = totals_;
    all.capacity = at_end_.capacity;
    all.idle = at_end_.idle;
    all.stranded = at_end_.stranded;
    all.capacity_is_bounded = capacity_is_bounded_;
    all.jain = until_now_.jain;
    all.active = until_now_.active;
    const std::size_t slots = std::max(meters_.size(), sim.accounts().tree().slots());
    all.quotas.resize(slots);
    std::vector<samples> of_quota(slots);
    samples of_all;
    // A job of a quota that does not exist counts in the whole only.
    for (job_index j = 0; j < sim.jobs().size(); ++j) {
      const std::size_t x = sim.jobs()[j].quota.index();
      count(sim, j, all.of, of_all);
      if (x < slots) count(sim, j, all.quotas[x].of, of_quota[x]);
    }
    of_all.sum_up(all.of);
    for (std::size_t x = 0; x < slots; ++x) {
      quota_figures& q = all.quotas[x];
      q.quota = quota_id{x};
      of_quota[x].sum_up(q.of);
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
  /// Integrals of the whole.
  struct integrals {
    wide capacity = 0;
    wide idle = 0;
    wide stranded = 0;
    wide jain = 0;
    instant active = 0;
  };
  struct samples {
    std::vector<instant> jct;
    std::vector<instant> queue;
    std::vector<instant> wait;

    void sum_up(job_figures& into) {
      into.jct = summarize(jct);
      into.queue = summarize(queue);
      into.wait = summarize(wait);
    }
  };

  [[nodiscard]] std::int64_t sum(const resources<N>& r) const {
    std::int64_t milli = 0;
    for (std::size_t d = 0; d < N; ++d) {
      if (settings_.gpus[d]) milli += r[d].in_milli();
    }
    return milli;
  }

  /// Adds the time since the last instant to the integrals, in which everything was as it is still noted.
  void pass_time(instant now) {
    const instant span = now - std::exchange(last_, now);
    if (!has_begun_ || span == 0) return;
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
    if (capacity_.is_bounded()) {
      until_now_.capacity += times_dt(capacity_.in_milli());
      until_now_.idle += times_dt(std::max<std::int64_t>(0, capacity_.in_milli() - used_));
    }
    until_now_.stranded += times_dt(stranded_);
    if (any_active_) {
      until_now_.jain += times_dt(jain_);
      until_now_.active += span;
    }
  }

  /// Notes how everything is from now on.
  template <class Simulator>
  void look(const Simulator& sim) {
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
    const bool nobody_waits = pending_ == 0 && sim.lacking() == 0;
    entitlements_.update(accounts, sim.demand(), nobody_waits, tree_differs || demand_may_differ_);
    look_at_entitlements();
    if (usage_changed_ || tree_differs) look_at_loans(accounts);
    look_at_cluster(sim.where(), accounts);
    usage_changed_ = demand_may_differ_ = false;
  }

  void look_at_entitlements() {
    std::uint64_t n = 0;
    wide satisfied = 0;
    wide squares = 0;
    for (std::size_t i = 0; i < meters_.size(); ++i) {
      meter& m = meters_[i];
      if (m.demand == 0) continue;
      m.now.entitled = entitlements_.has_everyone_all() ? m.now.used : sum(entitlements_.own(quota_id{i}));
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
    if (!settings_.loans) return;
    for (meter& m : meters_) m.now.borrowed = m.now.lent = 0;
    for (std::size_t d = 0; d < N; ++d) {
      if (!settings_.gpus[d]) continue;
      loans_.update(accounts, d);
      for (std::size_t i = 0; i < meters_.size(); ++i) {
        meters_[i].now.borrowed += loans_.borrowed(quota_id{i}, d).in_milli();
        meters_[i].now.lent += loans_.lent(quota_id{i}, d).in_milli();
      }
    }
  }

  void look_at_cluster(const places& where, const ledger<N>& accounts) {
    if (where.has_nodes()) {
      const places::inventory_type& inventory = where.inventory();
      capacity_ = inventory.total() - inventory.closed();
      std::int64_t free = inventory.free().in_milli();
      const auto& types = inventory.layout().types();
      for (std::size_t t = 0; t < types.size(); ++t) {
        const std::uint64_t empty = inventory.index().nodes_with_free(t, types[t].gpus);
        free -= static_cast<std::int64_t>(empty * types[t].gpus * gpu::milli_per_gpu);
      }
      stranded_ = free;
    } else {
      capacity_ = {};
      for (const quota_id root : accounts.tree().roots()) {
        for (std::size_t d = 0; d < N; ++d) {
          if (settings_.gpus[d]) capacity_ += std::max(quantity{}, accounts.total_supply(root, d));
        }
      }
    }
    capacity_is_bounded_ = capacity_is_bounded_ && capacity_.is_bounded();
  }

  template <class Simulator>
  void count(const Simulator& sim, job_index j, job_figures& into, samples& of) const {
    const job<N>& job = sim.jobs()[j];
    const job_history& h = sim.history(j);
    ++into.jobs.total;
    if (h.outcome == job_outcome::refused) {
      ++into.jobs.refused;
      return;
    }
    into.preemptions += h.preemptions;
    into.node_failures += h.node_failures;
    // Lost work is that of pods, all of which have the same.
    into.lost += wide{static_cast<std::uint64_t>(gpus(sim, j))} * static_cast<std::uint64_t>(h.work.lost()) /
                 job.pods();
    const std::optional<instant> queued = waits_.before_start(j);
    if (queued) of.queue.push_back(*queued);
    if (waits_.has_come(j)) {
      into.max_wait = std::max(into.max_wait, queued ? *queued : waits_.total(j, sim.now()));
    }
    switch (h.outcome) {
      case job_outcome::completed:
        ++into.jobs.completed;
        of.jct.push_back(h.end - job.submit);
        of.wait.push_back(waits_.total(j, h.end));
        break;
      case job_outcome::cancelled:
        ++into.jobs.cancelled;
        break;
      case job_outcome::time_limit:
        ++into.jobs.time_limit;
        break;
      default:
        ++into.jobs.unfinished;
    }
  }

  metrics_settings<N> settings_;
  entitlements<N> entitlements_;
  loan_book<N> loans_;
  waiting_times waits_;
  std::vector<meter> meters_;
  run_figures totals_;
  integrals until_now_;
  integrals at_end_;
  quantity capacity_;
  std::int64_t used_ = 0;
  std::int64_t stranded_ = 0;
  std::int64_t jain_ = 0;
  std::uint64_t pending_ = 0;
  std::uint64_t seen_changes_ = 0;
  bool usage_changed_ = true;
  /// Otherwise than by jobs that came or ended.
  bool demand_may_differ_ = true;
  instant last_ = 0;
  bool has_begun_ = false;
  bool run_ended_ = false;
  bool any_active_ = false;
  bool capacity_is_bounded_ = true;
};

}  // namespace sim
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/result.hpp>
#include <allot/quota/change.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/sim/event_queue.hpp>
#include <allot/sim/hash.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/places.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace allot {
inline namespace v0 {
namespace sim {

/// What happens in a simulation besides the jobs.
template <std::size_t N>
struct quota_event {
  instant at = 0;
  quota_change<N> change;
};
struct cancel_event {
  instant at = 0;
  job_index which = 0;
};

/// All that a simulation is made of. Jobs are sorted by submission, then id; a quota that an event adds has
/// the next free id.
template <std::size_t N>
struct setup {
  quota_tree<N> quotas;
  /// By quota id.
  std::vector<queue_settings> settings;
  places where;
  std::vector<job<N>> jobs;
  std::vector<quota_event<N>> quota_events{};
  std::vector<cancel_event> cancels{};
};

enum class job_outcome : std::uint8_t {
  /// Not submitted when the simulation ended.
  future,
  waiting,
  running,
  completed,
  refused,
  cancelled,
};

/// What became of a job.
struct job_history {
  job_outcome outcome = job_outcome::future;
  refusal why_refused = refusal::none;
  /// When it first started and when it ended; meaningless before.
  instant first_start = 0;
  instant end = 0;
  instant last_start = 0;
  /// Work still to do, as of the last start or eviction.
  instant left = 0;
  std::uint32_t preemptions = 0;
  /// Running time that came to nothing: work since the last checkpoint, and restarts.
  instant lost = 0;
  /// Of that, what the current run spends on restarting.
  instant restarting = 0;
  job_id id{};
  event_queue<job_index>::ticket end_event{};
};

/// Watches a simulation. `settled` is called once an instant, after everything that happened at it.
template <class O, class Simulator>
concept observer = requires(O watch, const Simulator& sim, job_index j, refusal why, instant lost,
                            relation how, const resources<Simulator::n>& borrows) {
  watch.submitted(sim, j);
  watch.refused(sim, j, why);
  watch.started(sim, j, borrows);
  watch.evicted(sim, j, /*beneficiary*/ j, how, lost);
  watch.finished(sim, j);
  watch.cancelled(sim, j);
  watch.settled(sim);
};

/// Runs a workload through a scheduler, event by event. At one instant jobs end first, then the quota tree
/// changes, then jobs are withdrawn and arrive, then the scheduler decides until it has nothing more to say;
/// who is evicted goes at once. It is a host like any other and uses the public `scheduler` only.
template <std::size_t N, preset Preset>
class simulator {
 public:
  static constexpr std::size_t n = N;
  using scheduler_type = scheduler<workload_view<N>, places, typename Preset::policies_type>;

  /// Fails when what the preset makes of the quotas is not a valid tree.
  [[nodiscard]] static result<simulator> make(setup<N> s) {
    std::vector<quota_spec<N>> specs;
    if (Preset::ignores_quotas) {
      specs.push_back({.name = "cluster", .nominal = resources<N>{quantity::unlimited()}});
      s.settings = {Preset::defaults()};
    } else {
      const auto given = s.quotas.specs();
      specs.assign(given.begin(), given.end());
      Preset::adapt(specs);
    }
    auto tree = build_quota_tree(std::move(specs));
    if (!tree) return tree.problems();
    return simulator{std::move(s), std::move(tree).value()};
  }

  simulator(simulator&&) noexcept = default;
  simulator& operator=(simulator&&) noexcept = default;

  /// Runs to the end: until nothing happens any more, though jobs may still wait. Returns what was wrong with
  /// a change of the quotas, at `now()`, if that stopped it.
  template <observer<simulator> Observer>
  std::vector<problem> run(Observer& watch) {
    while (!events_.empty()) {
      now_ = events_.next_time();
      std::vector<problem> problems = happen(watch);
      if (!problems.empty()) return problems;
      decide(watch);
      watch.settled(std::as_const(*this));
    }
    return {};
  }

  [[nodiscard]] instant now() const noexcept { return now_; }
  [[nodiscard]] std::span<const job<N>> jobs() const noexcept { return jobs_; }
  [[nodiscard]] const job_history& history(job_index j) const { return histories_[j]; }
  /// The usage of the user's quotas, which the preset may have ignored.
  [[nodiscard]] const ledger<N>& accounts() const noexcept { return accounts_; }
  /// What the own jobs of each quota use and wait for, by id.
  [[nodiscard]] std::span<const resources<N>> demand() const noexcept { return demand_; }
  /// How many jobs of each quota wait, by id.
  [[nodiscard]] std::span<const std::uint32_t> waiting() const noexcept { return waiting_; }
  [[nodiscard]] const scheduler_type& policy() const noexcept { return scheduler_; }
  [[nodiscard]] const places& where() const noexcept { return scheduler_.places(); }
  [[nodiscard]] std::uint64_t events() const noexcept { return happened_; }
  [[nodiscard]] std::uint64_t decisions() const noexcept { return decided_; }
  /// Of everything that was decided, in order.
  [[nodiscard]] const fingerprint& decision_hash() const noexcept { return hash_; }

 private:
  static constexpr std::uint64_t admitted_mark = 1;
  static constexpr std::uint64_t evicted_mark = 2;

  simulator(setup<N> s, quota_tree<N> policy_tree)
      : jobs_(std::move(s.jobs)),
        histories_(jobs_.size()),
        changes_(std::move(s.quota_events)),
        accounts_(std::move(s.quotas)),
        scheduler_(workload_view<N>{jobs_, Preset::ignores_quotas}, std::move(policy_tree),
                   std::move(s.where)) {
    for (std::size_t i = 0; i < s.settings.size(); ++i) scheduler_.configure(quota_id{i}, s.settings[i]);
    grow_to_tree();
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      events_.push(changes_[i].at, event_kind::quota_change, static_cast<job_index>(i));
    }
    for (const cancel_event& c : s.cancels) events_.push(c.at, event_kind::cancel, c.which);
    push_next_arrival();
  }

  void grow_to_tree() {
    demand_.resize(accounts_.tree().slots());
    waiting_.resize(accounts_.tree().slots());
  }

  /// One arrival at a time stands among the events, so that their number follows what runs, not the workload.
  void push_next_arrival() {
    if (next_arrival_ == jobs_.size()) return;
    const auto j = static_cast<job_index>(next_arrival_++);
    events_.push(jobs_[j].submit, event_kind::arrival, j);
  }

  template <class Observer>
  std::vector<problem> happen(Observer& watch) {
    pending_changes_.clear();
    while (!events_.empty() && events_.next_time() == now_) {
      // Changes at one instant are one transition.
      if (events_.next_kind() != event_kind::quota_change) {
        std::vector<problem> problems = change_quotas(watch);
        if (!problems.empty()) return problems;
      }
      const auto e = events_.pop();
      ++happened_;
      switch (e.kind) {
        case event_kind::finish:
          finish(e.payload, watch);
          break;
        case event_kind::quota_change:
          pending_changes_.push_back(changes_[e.payload].change);
          break;
        case event_kind::cancel:
          cancel(e.payload, watch);
          break;
        default:
          arrive(e.payload, watch);
          push_next_arrival();
          break;
      }
    }
    return change_quotas(watch);
  }

  template <class Observer>
  void arrive(job_index j, Observer& watch) {
    job_history& h = histories_[j];
    if (h.outcome == job_outcome::cancelled) return;
    h.left = jobs_[j].duration;
    // The preset may ignore quotas; the accounts do not.
    h.why_refused =
        accounts_.tree().contains(jobs_[j].quota) ? scheduler_.refuses(j) : refusal::unknown_quota;
    if (h.why_refused != refusal::none) {
      h.outcome = job_outcome::refused;
      watch.refused(std::as_const(*this), j, h.why_refused);
      return;
    }
    h.id = scheduler_.submit(j);
    h.outcome = job_outcome::waiting;
    demand_[jobs_[j].quota.index()] += jobs_[j].request;
    ++waiting_[jobs_[j].quota.index()];
    watch.submitted(std::as_const(*this), j);
  }

  template <class Observer>
  void finish(job_index j, Observer& watch) {
    histories_[j].left = 0;
    scheduler_.finished(histories_[j].id);
    leave(j, job_outcome::completed);
    watch.finished(std::as_const(*this), j);
  }

  template <class Observer>
  void cancel(job_index j, Observer& watch) {
    job_history& h = histories_[j];
    switch (h.outcome) {
      case job_outcome::running:
        events_.cancel(h.end_event);
        [[fallthrough]];
      case job_outcome::waiting:
        scheduler_.cancel(h.id);
        leave(j, job_outcome::cancelled);
        watch.cancelled(std::as_const(*this), j);
        break;
      case job_outcome::future:
        h.outcome = job_outcome::cancelled;
        h.end = now_;
        watch.cancelled(std::as_const(*this), j);
        break;
      default:
        break;
    }
  }

  /// A job that waits or runs is gone for good.
  void leave(job_index j, job_outcome how) {
    job_history& h = histories_[j];
    const quota_id x = jobs_[j].quota;
    if (h.outcome == job_outcome::running) {
      accounts_.release(x, jobs_[j].request);
    } else {
      --waiting_[x.index()];
    }
    demand_[x.index()] -= jobs_[j].request;
    h.outcome = how;
    h.end = now_;
  }

  template <class Observer>
  std::vector<problem> change_quotas(Observer& watch) {
    if (pending_changes_.empty()) return {};
    for (quota_change<N>& c : pending_changes_) {
      if (const auto* removal = std::get_if<remove_quota>(&c)) cancel_all_of(removal->quota, watch);
    }
    auto over = apply(accounts_, std::span<const quota_change<N>>{pending_changes_});
    if (!over) return over.problems();
    grow_to_tree();
    if (!Preset::ignores_quotas) {
      for (quota_change<N>& c : pending_changes_) adapt(c);
      const std::size_t known = scheduler_.tree().slots();
      auto same = scheduler_.apply(pending_changes_);
      if (!same) return same.problems();
      for (std::size_t i = known; i < scheduler_.tree().slots(); ++i) {
        if (scheduler_.tree().contains(quota_id{i})) scheduler_.configure(quota_id{i}, Preset::defaults());
      }
    }
    pending_changes_.clear();
    return {};
  }
  static void adapt(quota_change<N>& c) {
    if (auto* addition = std::get_if<add_quota<N>>(&c)) {
      std::vector<quota_spec<N>> one{addition->spec};
      Preset::adapt(one);
      addition->spec = one.front();
    }
  }
  /// The jobs of a quota that is removed go with it.
  template <class Observer>
  void cancel_all_of(quota_id x, Observer& watch) {
    for (job_index j = 0; j < next_arrival_; ++j) {
      const job_outcome o = histories_[j].outcome;
      if (jobs_[j].quota == x && (o == job_outcome::waiting || o == job_outcome::running)) cancel(j, watch);
    }
  }

  template <class Observer>
  void decide(Observer& watch) {
    for (;;) {
      const auto& plan = scheduler_.step(now_);
      if (plan.empty()) return;
      for (const auto& e : plan.evictions) evict(e.what, scheduler_.what(e.beneficiary), e.how, watch);
      for (const auto& a : plan.admissions) start(a.what, a.borrows, watch);
    }
  }

  template <class Observer>
  void start(job_index j, const resources<N>& borrows, Observer& watch) {
    job_history& h = histories_[j];
    note(admitted_mark, j);
    if (h.preemptions == 0) h.first_start = now_;
    h.restarting = h.preemptions == 0 ? 0 : jobs_[j].restart;
    h.lost += h.restarting;
    h.last_start = now_;
    h.outcome = job_outcome::running;
    h.end_event = events_.push(now_ + h.restarting + h.left, event_kind::finish, j);
    accounts_.charge(jobs_[j].quota, jobs_[j].request);
    --waiting_[jobs_[j].quota.index()];
    watch.started(std::as_const(*this), j, borrows);
  }

  template <class Observer>
  void evict(job_index j, job_index beneficiary, relation how, Observer& watch) {
    job_history& h = histories_[j];
    note(evicted_mark, j);
    events_.cancel(h.end_event);
    const instant ran = now_ - h.last_start;
    const instant worked = std::max<instant>(0, ran - h.restarting);
    // A restart that was cut short cost only what it took.
    h.lost -= h.restarting - std::min(ran, h.restarting);
    // Checkpoints are taken by the work of the job, not by the clock of this run.
    const instant before = jobs_[j].duration - h.left;
    const instant saved = std::max(before, jobs_[j].saved(before + worked)) - before;
    h.left -= saved;
    h.lost += worked - saved;
    ++h.preemptions;
    h.outcome = job_outcome::waiting;
    accounts_.release(jobs_[j].quota, jobs_[j].request);
    ++waiting_[jobs_[j].quota.index()];
    scheduler_.evicted(h.id);
    watch.evicted(std::as_const(*this), j, beneficiary, how, worked - saved);
  }

  void note(std::uint64_t what, job_index j) {
    ++decided_;
    hash_.add(now_);
    hash_.add(what);
    hash_.add(std::uint64_t{j});
  }

  std::vector<job<N>> jobs_;
  std::vector<job_history> histories_;
  std::vector<quota_event<N>> changes_;
  std::vector<quota_change<N>> pending_changes_;
  ledger<N> accounts_;
  std::vector<resources<N>> demand_;
  std::vector<std::uint32_t> waiting_;
  event_queue<job_index> events_;
  std::size_t next_arrival_ = 0;
  scheduler_type scheduler_;
  fingerprint hash_;
  instant now_ = 0;
  std::uint64_t happened_ = 0;
  std::uint64_t decided_ = 0;
};

}  // namespace sim
}  // namespace v0
}  // namespace allot

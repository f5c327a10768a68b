// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/result.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/change.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/any_policies.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/settle.hpp>
#include <allot/sim/decision_log.hpp>
#include <allot/sim/detail/event_queue.hpp>
#include <allot/sim/detail/job_runs.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/job_history.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/places.hpp>
#include <allot/sim/setup.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <variant>

namespace allot {
inline namespace v0 {
namespace sim {

/// Runs a workload through a scheduler, event by event. At one instant jobs end first, then nodes change,
/// then the quota tree, then jobs are withdrawn and arrive, then the scheduler decides until it is done; what
/// it decides takes effect at once, or as `host_faults` says. It is a host like any other and uses only the
/// public `scheduler`.
///
/// - An elastic job runs with the pods that it is given, at the rate that `job_progress` defines; how fast
///   each is where it runs, an optional part says (sim/progress.hpp).
/// - A job that runs at the beginning has worked since its start with the pods that it has then. The
///   simulation begins at the latest start or submission of these; events due earlier happen then.
/// - A job that reaches its time limit ends with the work it has done; one lost with a node is pending again.
///
/// `Places` are the nodes: those of the library, or a host's own that derive from them.
template <std::size_t N, class Places>
class simulator {
 public:
  /// The number of dimensions.
  static constexpr std::size_t n = N;
  /// How the scheduler sees the jobs.
  using view_type = workload_view<N>;
  /// The policies, of any kind.
  using policies_type = any_policies<view_type, Places>;
  /// The scheduler that this is the host of.
  using scheduler_type = allot::scheduler<view_type, Places, policies_type>;
  /// Why a job is pending.
  using pending_job = typename scheduler_type::plan_type::pending_job;

  /// Fails if the preset makes an invalid tree of the quotas, or if their settings are invalid.
  template <preset Preset>
  [[nodiscard]] static result<simulator> make(setup<N, Places> s, const Preset& by);

  simulator(simulator&&) noexcept = default;
  simulator& operator=(simulator&&) noexcept = default;

  /// Runs until no more events are due, though jobs may still be pending. Wakes of the policy alone
  /// (`waking_cycle`) do not keep it going: without pending jobs it ends at once, else after 1,000 of them
  /// and a day without an event or a decision. Returns the problems of a change of the quotas, at `now()`, if
  /// that stopped it.
  vector<problem> run(observer<N, Places>& watch) {
    return run(watch, [](instant) { return true; });
  }
  /// The same while `goes_on(t)`, which is called before anything happens at t, for every t with an event.
  /// Called again it continues from there.
  template <std::predicate<instant> GoesOn>
  vector<problem> run(observer<N, Places>& watch, GoesOn goes_on) {
    return run_at(watch, goes_on, [] {});
  }
  /// The same where jobs work at the speeds that a part says: `by` is a `pacing` (sim/progress.hpp), the same
  /// one in every call.
  template <std::predicate<instant> GoesOn, class Pacing>
  vector<problem> run(observer<N, Places>& watch, GoesOn goes_on, Pacing& by) {
    by.tell(watch);
    return run_at(by, goes_on, [&] {
      by.settle(*this, [this](job_index j, instant since, speed s) { runs_.pace(j, since, s); });
    });
  }
  /// Advances time to `at` without any event. Precondition: no event is due before `at`, and `at` is not
  /// before `now()`.
  void pass_time(instant at, observer<N, Places>& watch) {
    now_ = at;
    watch.settled(*this);
  }

  /// The time of the last event.
  [[nodiscard]] instant now() const noexcept { return now_; }
  /// The workload.
  [[nodiscard]] std::span<const job<N>> jobs() const noexcept { return runs_.jobs(); }
  /// What has become of a job so far.
  [[nodiscard]] const job_history& history(job_index j) const { return runs_[j]; }
  /// What a job requests with all its pods, under the flavors that it had last.
  [[nodiscard]] resources<N> wanted(job_index j) const { return runs_.accounts().wanted(j, runs_[j].pick); }
  /// The usage of the user's quotas, which the preset may have ignored.
  [[nodiscard]] const ledger<N>& accounts() const noexcept { return runs_.accounts().ledger(); }
  /// What each quota's own jobs use and request, by id.
  [[nodiscard]] std::span<const resources<N>> demand() const noexcept { return runs_.accounts().demand(); }
  /// The number of pending jobs of each quota, by id.
  [[nodiscard]] std::span<const std::uint32_t> waiting() const noexcept { return runs_.accounts().waiting(); }
  /// The pending jobs that wait neither for room nor for their turn, by index: they are not ready, or others
  /// are being evicted for them.
  [[nodiscard]] std::span<const job_index> aside() const noexcept { return aside_; }
  /// How often an eviction that takes time has begun, failed or been withdrawn.
  [[nodiscard]] std::uint64_t departures() const noexcept { return departures_seen_; }
  /// The number of pods that running elastic jobs could have and lack.
  [[nodiscard]] std::uint64_t lacking() const noexcept { return runs_.accounts().lacking(); }
  /// The scheduler, for reading.
  [[nodiscard]] const scheduler_type& scheduler() const noexcept { return scheduler_; }
  /// Why a job is pending, as of now. Precondition: it is.
  [[nodiscard]] pending_job why(job_index j);
  /// The same, but of what its placement says the reason alone, without the figures beside it.
  [[nodiscard]] pending_job why_in_brief(job_index j);
  /// As in `scheduler`: calls `visit(job, place)`.
  template <class Visit>
  void for_each_planned_place(Visit visit) {
    scheduler_.for_each_planned_place(
        [&](job_id id, const typename Places::allocation& at) { visit(scheduler_.what(id), at); });
  }
  /// The nodes.
  [[nodiscard]] const Places& places() const noexcept { return scheduler_.places(); }
  /// The number of events so far.
  [[nodiscard]] std::uint64_t events() const noexcept { return happened_; }
  /// The number of decisions so far.
  [[nodiscard]] std::uint64_t decisions() const noexcept { return log_.count(); }
  /// How often the quota tree has changed.
  [[nodiscard]] std::uint64_t tree_changes() const noexcept { return tree_changes_; }
  /// Of all decisions, in order.
  [[nodiscard]] const fingerprint& decision_hash() const noexcept { return log_.hash(); }
  /// The instants at which the policy would never have settled. It was stopped there, and the simulation
  /// continued.
  [[nodiscard]] const livelocks_seen& livelocks() const noexcept { return livelocks_; }

 private:
  using plan_type = typename scheduler_type::plan_type;

  /// The steps since the last event or decision.
  class idle_steps {
   public:
    /// After a step: so many events and decisions there have been in all.
    void note(instant now, std::uint64_t so_far) noexcept {
      ++steps_;
      if (so_far == std::exchange(so_far_, so_far)) return;
      steps_ = 0;
      since_ = now;
    }
    [[nodiscard]] bool is_long(instant now) const noexcept {
      constexpr std::uint32_t many = 1000;
      return steps_ > many && now - since_ >= day;
    }

   private:
    std::uint64_t so_far_ = 0;
    instant since_ = 0;
    std::uint32_t steps_ = 0;
  };
  struct departure {
    job_id unit{};
    job_index job = 0;
    bool is_pod = false;
    bool fails = false;
    interruption how{};
    typename job_runs<N>::event_queue_type::ticket when{};
  };

  /// It tells the simulator what happens in place of its own events (driver.hpp).
  template <std::size_t, class>
  friend class driver;

  simulator(setup<N, Places> s, job_runs<N> runs, scheduler_type policy, bool ignores_quotas)
      : given_(std::move(s)),
        runs_(std::move(runs)),
        scheduler_(std::move(policy)),
        ignores_quotas_(ignores_quotas) {
    // Observers ask `why` of the jobs that they want to know it of.
    scheduler_.explain_plans(false);
    scheduler_.withdraw_evictions(given_.faults.delays_evictions());
  }

  /// Applies the settings of existing quotas from `first` on.
  vector<problem> configure_from(std::size_t first) {
    vector<problem> problems;
    const std::size_t end = std::min(scheduler_.tree().slots(), given_.settings.size());
    for (std::size_t i = first; i < end; ++i) {
      const quota_id x{i};
      if (!scheduler_.tree().contains(x)) continue;
      vector<problem> more = scheduler_.configure(x, given_.settings[i]);
      problems.append(std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    return problems;
  }

  void begin(observer<N, Places>& watch);

  /// `pace` is called whenever the speeds of jobs may have changed.
  template <class GoesOn, class Pace>
  vector<problem> run_at(observer<N, Places>& watch, GoesOn& goes_on, Pace pace) {
    if (!std::exchange(has_begun_, true)) {
      begin(watch);
      pace();
    }
    while (!runs_.events().empty() && goes_on(runs_.events().next_time())) {
      now_ = runs_.events().next_time();
      vector<problem> problems = happen(watch);
      if (!problems.empty()) return problems;
      decide(watch);
      pace();
      watch.waiting(*this);
      watch.settled(*this);
    }
    return {};
  }

  vector<problem> happen(observer<N, Places>& watch);
  /// Whether nothing but wakes of the policy is to come, and those are not worth waiting for.
  [[nodiscard]] bool is_over() {
    if (!runs_.events().empty()) return false;
    const auto waiting = runs_.accounts().waiting();
    return idle_.is_long(now_) || !allot::detail::any_of(waiting.begin(), waiting.end(),
                                                         [](std::uint32_t jobs) { return jobs > 0; });
  }

  // Jobs come and go.
  void arrive(job_index j, observer<N, Places>& watch) {
    job_history& h = runs_[j];
    if (h.outcome == job_outcome::cancelled) return;
    // The preset may ignore quotas; the accounts do not.
    const bool has_quota = accounts().tree().contains(jobs()[j].quota);
    submission taken{{}, refusal::unknown_quota};
    if (has_quota) taken = scheduler_.submit(j);
    h.why_refused = taken.why_not;
    if (!taken) {
      h.outcome = job_outcome::refused;
      watch.on(*this, {.what = job_event_kind::refused, .job = j, .why_refused = h.why_refused});
      return;
    }
    h.id = taken;
    if (!scheduler_.is_ready(h.id)) aside_.push_back(j);
    runs_.come(j);
    watch.on(*this, {.what = job_event_kind::submitted, .job = j});
  }
  void adopt(const running_job_at_start& r, observer<N, Places>& watch) {
    const job_index j = r.which;
    job_history& h = runs_[j];
    const bool has_quota = accounts().tree().contains(jobs()[j].quota);
    if (has_quota) h.id = scheduler_.adopt(j, r.since, r.where, r.pick);
    ALLOT_ASSERT(h.id, "a running job has a quota and a valid request");
    runs_.come(j);
    watch.on(*this, {.what = job_event_kind::submitted, .job = j});
    runs_.start(j, r.since, r.pick, jobs()[j].fewest_pods());
    watch.on(*this, {.what = job_event_kind::started, .job = j});
    std::uint32_t pods = jobs()[j].fewest_pods();
    for (const gpu::allocation_id at : r.elastic_pods) {
      const auto set = scheduler_.view().next_set(j, pods++);
      const job_id pod = scheduler_.adopt_elastic_pod(h.id, r.since, at, set);
      runs_.grow(j, r.since, scheduler_.set_of(pod).index());
      watch.on(*this, {.what = job_event_kind::grew, .job = j, .pod = pod});
    }
    if (!r.is_going) return;
    scheduler_.evicting(h.id);
    interrupt(j, {interruption::cause::told_before}, watch);
  }

  void finish(job_index j, observer<N, Places>& watch) {
    forget_departure(runs_[j].id);
    scheduler_.finished(runs_[j].id);
    runs_.leave(j, now_, job_outcome::completed);
    watch.on(*this, {.what = job_event_kind::finished, .job = j});
  }

  void cancel(job_index j, observer<N, Places>& watch) {
    job_history& h = runs_[j];
    if (h.outcome == job_outcome::waiting || h.outcome == job_outcome::running) {
      forget_departure(h.id);
      scheduler_.cancel(h.id);
      runs_.leave(j, now_, job_outcome::cancelled);
    } else if (h.outcome == job_outcome::future) {
      h.outcome = job_outcome::cancelled;
      h.end = now_;
    } else {
      return;
    }
    watch.on(*this, {.what = job_event_kind::cancelled, .job = j});
  }

  // Nodes and quotas change.
  void change_node(const node_event& e, observer<N, Places>& watch) {
    ALLOT_ASSERT(places().has_nodes(), "without nodes no node can change");
    auto nodes = scheduler_.nodes();
    if (e.what == node_change::up) {
      nodes.reopen(e.node);
    } else {
      nodes.close(e.node);
      if (e.what == node_change::down) lose(e.node, watch);
    }
    announce_outages();
    scheduler_.retry();
  }
  /// The scheduler gets to know what is known by now of nodes that fail and come back. To be followed by a
  /// `retry`.
  void announce_outages() {
    if (!scheduler_.view().before_outages) return;
    if constexpr (requires(vector<gpu::outage> all) { scheduler_.nodes().expect_outages(all); })
      scheduler_.nodes().expect_outages(known_outages(given_.node_events, now_));
  }
  /// The same of quotas that will be resized.
  vector<problem> announce_resizes() {
    const auto known = known_resizes<N>(given_.quota_events, scheduler_.tree(), now_);
    return scheduler_.expect_changes(known);
  }
  /// What runs on a node that has failed is lost: one pod of an elastic job that has more than it needs, or
  /// the whole job.
  void lose(gpu::node_id node, observer<N, Places>& watch) {
    vector<gpu::allocation_id> there;
    places().inventory().for_each_on(node, [&](gpu::allocation_id a) { there.push_back(a); });
    const auto is_lost = [&](job_id unit) {
      return std::binary_search(there.begin(), there.end(), scheduler_.place_of(unit));
    };
    for (job_index j = 0; j < runs_.size() && !there.empty(); ++j) {
      const job_history& h = runs_[j];
      if (h.outcome != job_outcome::running) continue;
      if (is_lost(h.id) && !replace_pods(j, watch)) {
        interrupt(j, {interruption::cause::node_down}, watch);
        continue;
      }
      const auto pods = scheduler_.elastic_pods_of(h.id);
      for (const job_id pod : vector<job_id>{pods.begin(), pods.end()}) {
        if (holds_share(pod) && is_lost(pod)) shrink(j, pod, {interruption::cause::node_down}, watch);
      }
    }
  }

  [[nodiscard]] bool holds_share(job_id unit) const {
    const job_state is = scheduler_.state(unit);
    return is == job_state::running || is == job_state::evicting;
  }
  /// Whether a job that has lost pods has others: it starts again with them.
  [[nodiscard]] bool replace_pods(job_index j, observer<N, Places>& watch) {
    job_history& h = runs_[j];
    if (!given_.faults.replaces_failed_pods || scheduler_.state(h.id) != job_state::running) return false;
    if constexpr (replacing_placement<Places>) {
      if (scheduler_.replace_pods(h.id) != refusal::none) return false;
      ++h.node_failures;
      vector<job_id> further;
      for (const job_id pod : scheduler_.elastic_pods_of(h.id)) {
        if (holds_share(pod)) further.push_back(pod);
      }
      const std::uint32_t core = h.work.pods() - static_cast<std::uint32_t>(further.size());
      const instant lost = runs_.cut_short(j, now_);
      watch.on(*this, {.what = job_event_kind::evicted,
                       .job = j,
                       .how = {.why = interruption::cause::node_down, .lost = lost}});
      runs_.start(j, now_, h.pick, core);
      watch.on(*this, {.what = job_event_kind::started, .job = j});
      for (const job_id pod : further) {
        runs_.grow(j, now_, scheduler_.set_of(pod).index());
        watch.on(*this, {.what = job_event_kind::grew, .job = j, .pod = pod});
      }
      // The rest of its work is from now on.
      scheduler_.started(h.id, now_);
      scheduler_.update(h.id);
      return true;
    }
    return false;
  }

  vector<problem> change_quotas(observer<N, Places>& watch) {
    if (pending_changes_.empty()) return {};
    ++tree_changes_;
    for (quota_change<N>& c : pending_changes_) {
      if (const auto* removal = std::get_if<remove_quota>(&c)) cancel_all_of(removal->quota, watch);
    }
    auto over = runs_.apply(pending_changes_);
    if (!over) return std::move(over).problems();
    const std::size_t known = scheduler_.tree().slots();
    auto same = scheduler_.apply(pending_changes_);
    if (!same) return std::move(same).problems();
    pending_changes_.clear();
    vector<problem> problems = ignores_quotas_ ? vector<problem>{} : configure_from(known);
    return problems.empty() ? announce_resizes() : problems;
  }
  /// The jobs of a removed quota are cancelled.
  void cancel_all_of(quota_id x, observer<N, Places>& watch) {
    for (job_index j = 0; j < runs_.size(); ++j) {
      const job_outcome o = runs_[j].outcome;
      if (jobs()[j].quota == x && (o == job_outcome::waiting || o == job_outcome::running)) cancel(j, watch);
    }
  }

  // The scheduler decides.
  void forget_those_in_turn() {
    erase_if(aside_, [this](job_index j) {
      const job_id id = runs_[j].id;
      const bool waits = runs_[j].outcome == job_outcome::waiting;
      return !waits || (scheduler_.is_ready(id) && !scheduler_.announced(id));
    });
    detail::sort(aside_.begin(), aside_.end());
    aside_.erase(std::unique(aside_.begin(), aside_.end()), aside_.end());
  }
  void decide(observer<N, Places>& watch);

  void obey(const plan_type& plan, const typename plan_type::eviction& e, observer<N, Places>& watch) {
    // The elastic pods of an evicted job are evicted with it; the plan may list them as well.
    if (scheduler_.state(e.id) != job_state::evicting) return;
    const job_index j = e.what;
    job_history& h = runs_[j];
    const auto is_same = [&](const auto& a) { return a.id == e.id; };
    const bool is_new =
        e.core && allot::detail::any_of(plan.admissions.begin(), plan.admissions.end(), is_same);
    if (is_new || h.outcome != job_outcome::running) {
      scheduler_.evicted(e.id);
      return;
    }
    interruption how{interruption::cause::decided, e.how};
    if (e.beneficiary && scheduler_.state(e.beneficiary) != job_state::unknown) {
      how.beneficiary = scheduler_.what(e.beneficiary);
    }
    log_.note(now_, e.core ? decision_kind::shrunk : decision_kind::evicted, j);
    if (given_.faults.delays_evictions()) return begin_eviction(j, e.id, static_cast<bool>(e.core), how);
    e.core ? shrink(j, e.id, how, watch) : interrupt(j, how, watch);
  }
  void begin_eviction(job_index j, job_id unit, bool is_pod, const interruption& how) {
    const auto drawn = given_.faults.of_eviction(j, runs_[j].evictions++);
    ++departures_seen_;
    const auto slot = static_cast<job_index>(departure_of({}) - departures_.begin());
    if (slot == departures_.size()) departures_.emplace_back();
    const auto when = runs_.push(now_ + drawn.takes, event_kind::departure, slot);
    departures_[slot] = {unit, j, is_pod, drawn.fails, how, when};
  }
  /// The time of an eviction is over: what was to go has gone, or it can't.
  void depart(job_index slot, observer<N, Places>& watch) {
    const departure d = std::exchange(departures_[slot], {});
    const bool has_limit = d.how.how == relation::time_limit;
    const instant until = now_ + std::max<instant>(1, given_.faults.evict_again_after);
    if (d.fails && !has_limit && scheduler_.not_evicted(d.unit, until) == refusal::none) {
      ++runs_[d.job].failed_evictions;
      ++departures_seen_;
    } else {
      d.is_pod ? shrink(d.job, d.unit, d.how, watch) : interrupt(d.job, d.how, watch);
    }
  }
  [[nodiscard]] auto departure_of(job_id unit) {
    return detail::find_if(departures_.begin(), departures_.end(),
                           [unit](const departure& d) { return d.unit == unit; });
  }
  /// That one runs on, or has ended otherwise, with its pods.
  void forget_departure(job_id unit) {
    for (departure& d : departures_) {
      if (!d.unit || (d.unit != unit && (!d.is_pod || runs_[d.job].id != unit))) continue;
      runs_.events().cancel(d.when);
      d = {};
    }
  }

  void obey(const typename plan_type::admission& a, observer<N, Places>& watch) {
    // It may have ended with its job.
    if (scheduler_.state(a.id) != job_state::running) return;
    log_.note(now_, a.core ? decision_kind::grown : decision_kind::admitted, a.what);
    if (a.core) {
      runs_.grow(a.what, now_, scheduler_.set_of(a.id).index());
      return watch.on(*this,
                      {.what = job_event_kind::grew, .job = a.what, .pod = a.id, .borrows = a.borrows});
    }
    const auto drawn = given_.faults.of_start(a.what, runs_[a.what].starts++);
    runs_.start(a.what, now_, a.pick, a.pods, drawn.takes);
    watch.on(*this, {.what = job_event_kind::started, .job = a.what, .borrows = a.borrows});
    if (drawn.takes == 0 && !drawn.fails) return;
    const instant done = now_ + drawn.takes;
    scheduler_.starting(a.id, done);
    runs_.expect_start(a.what, done, drawn.fails ? event_kind::failed_start : event_kind::start);
  }
  void fail_start(job_index j, observer<N, Places>& watch) {
    job_history& h = runs_[j];
    ++h.failed_starts;
    runs_.fail_start(j, now_);
    forget_departure(h.id);
    // One that was being evicted meanwhile has gone.
    const bool leaves = scheduler_.state(h.id) == job_state::evicting;
    leaves ? scheduler_.evicted(h.id)
           : scheduler_.start_failed(h.id, now_ + std::max<instant>(1, given_.faults.start_again_after));
    aside_.push_back(j);
    watch.on(*this, {.what = job_event_kind::evicted, .job = j, .how = {interruption::cause::start_failed}});
  }

  void shrink(job_index j, job_id pod, const interruption& how, observer<N, Places>& watch) {
    forget_departure(pod);
    runs_.shrink(j, now_, scheduler_.set_of(pod).index());
    scheduler_.evicted(pod);
    watch.on(*this, {.what = job_event_kind::shrank, .job = j, .pod = pod, .how = how});
  }
  /// The run of a job is cut short.
  void interrupt(job_index j, interruption how, observer<N, Places>& watch) {
    job_history& h = runs_[j];
    const auto ends = [](const interruption& i) {
      return i.why == interruption::cause::decided && i.how == relation::time_limit;
    };
    // Who leaves as its time is over does not come back, whatever comes first.
    if (const auto leaves = departure_of(h.id); leaves != departures_.end() && ends(leaves->how))
      how = leaves->how;
    forget_departure(h.id);
    if (ends(how)) {
      scheduler_.finished(h.id);
      runs_.leave(j, now_, job_outcome::time_limit);
    } else {
      how.why == interruption::cause::node_down ? ++h.node_failures : ++h.preemptions;
      how.lost = runs_.cut_short(j, now_);
      scheduler_.evicted(h.id);
    }
    watch.on(*this, {.what = job_event_kind::evicted, .job = j, .how = how});
  }

  /// The setup, without the parts that were moved to other members.
  setup<N, Places> given_;
  job_runs<N> runs_;
  vector<quota_change<N>> pending_changes_;
  /// What is being evicted, where that takes time; a slot without a unit is free.
  vector<departure> departures_;
  std::uint64_t departures_seen_ = 0;
  vector<job_index> aside_;
  scheduler_type scheduler_;
  decision_log log_;
  instant now_ = 0;
  livelock_detector watch_;
  livelocks_seen livelocks_;
  std::uint64_t happened_ = 0;
  std::uint64_t tree_changes_ = 0;
  bool ignores_quotas_ = false;
  idle_steps idle_;
  bool has_begun_ = false;
};

// What instantiates the whole scheduler is outside the class: then an `extern template` of a simulator that
// is compiled elsewhere saves compiling it again.

/// As declared.
template <std::size_t N, class Places>
template <preset Preset>
result<simulator<N, Places>> simulator<N, Places>::make(setup<N, Places> s, const Preset& given) {
  const bool has_estimates =
      detail::any_of(s.jobs.begin(), s.jobs.end(), [](const job<N>& j) { return j.estimate > 0; });
  const Preset by = has_estimates ? as_seen_by<view_type, Places>(given) : given;
  if (by.ignores_quotas) s.settings.clear();
  const auto specs = s.quotas.specs();
  job_runs<N> runs{std::move(s.jobs), std::move(s.flavor_sets), s.quotas, s.capacity, std::move(s.unlike)};
  view_type view = runs.view(by.ignores_quotas);
  view.before_outages = are_announced(s.node_events);
  view.tags = s.tags;
  auto policy = scheduler_type::make(by, std::move(view), {specs.begin(), specs.end()}, std::move(s.where),
                                     policies_type{policies_for<view_type, Places>(by)});
  if (!policy) return std::move(policy).problems();
  simulator made{std::move(s), std::move(runs), std::move(policy).value(), by.ignores_quotas};
  vector<problem> problems = made.configure_from(0);
  if (!problems.empty()) return problems;
  return made;
}

template <std::size_t N, class Places>
typename simulator<N, Places>::pending_job simulator<N, Places>::why(job_index j) {
  return scheduler_.why(runs_[j].id);
}

template <std::size_t N, class Places>
typename simulator<N, Places>::pending_job simulator<N, Places>::why_in_brief(job_index j) {
  // A host's own nodes may not know the difference.
  constexpr bool has_brief = requires {
    scheduler_.nodes().explain_in_brief(true);
  };
  if constexpr (has_brief) scheduler_.nodes().explain_in_brief(true);
  pending_job h = why(j);
  if constexpr (has_brief) scheduler_.nodes().explain_in_brief(false);
  return h;
}

template <std::size_t N, class Places>
void simulator<N, Places>::begin(observer<N, Places>& watch) {
  if (!given_.running.empty()) {
    for (const auto& r : given_.running) now_ = std::max({now_, r.since, jobs()[r.which].submit});
    runs_.begin(now_);
    runs_.push(now_, event_kind::cycle, 0);
  }
  runs_.push_each(given_.node_events, event_kind::node_change);
  runs_.push_each(given_.quota_events, event_kind::quota_change);
  const auto push_announcements = [this](const auto& events) {
    for (const auto& e : events) {
      if (e.known_since < e.at) runs_.push(e.known_since, event_kind::announcement, 0);
    }
  };
  push_announcements(given_.node_events);
  push_announcements(given_.quota_events);
  for (const cancel_event& c : given_.cancels) runs_.push(c.at, event_kind::cancel, c.which);
  for (const running_job_at_start& r : given_.running) adopt(r, watch);
  runs_.push_next_arrival();
}

template <std::size_t N, class Places>
vector<problem> simulator<N, Places>::happen(observer<N, Places>& watch) {
  pending_changes_.clear();
  auto& events = runs_.events();
  while (!events.empty() && events.next_time() == now_) {
    // Changes at one instant are one transition.
    if (events.next_kind() != event_kind::quota_change) {
      vector<problem> problems = change_quotas(watch);
      if (!problems.empty()) return problems;
    }
    const auto e = events.pop();
    if (e.kind != event_kind::cycle) ++happened_;
    switch (e.kind) {
      case event_kind::finish:
        finish(e.payload, watch);
        break;
      case event_kind::departure:
        depart(e.payload, watch);
        break;
      case event_kind::start:
        scheduler_.started(runs_[e.payload].id, now_);
        break;
      case event_kind::failed_start:
        fail_start(e.payload, watch);
        break;
      case event_kind::announcement: {
        announce_outages();
        scheduler_.retry();
        vector<problem> problems = announce_resizes();
        if (!problems.empty()) return problems;
        break;
      }
      case event_kind::node_change:
        change_node(given_.node_events[e.payload], watch);
        break;
      case event_kind::quota_change:
        pending_changes_.push_back(given_.quota_events[e.payload].change);
        break;
      case event_kind::cancel:
        cancel(e.payload, watch);
        break;
      case event_kind::arrival:
        arrive(e.payload, watch);
        runs_.push_next_arrival();
        break;
      case event_kind::cycle:
        break;
    }
  }
  return change_quotas(watch);
}

template <std::size_t N, class Places>
void simulator<N, Places>::decide(observer<N, Places>& watch) {
  const settled end = settle(
      scheduler_, now_,
      [&](const plan_type& plan) {
        for (const auto& w : plan.withdrawn) forget_departure(w.id);
        departures_seen_ += plan.withdrawn.size();
        for (const auto& e : plan.evictions) obey(plan, e, watch);
        for (const auto& a : plan.admissions) obey(a, watch);
        for (const auto& r : plan.nominations) {
          if (runs_[r.what].id == r.id) aside_.push_back(r.what);
        }
      },
      watch_);
  forget_those_in_turn();
  idle_.note(now_, happened_ + log_.count());
  if (end) return runs_.wake(is_over() ? std::nullopt : scheduler_.wakes_at());
  if (livelocks_.instants++ != 0) return;
  livelocks_.first = now_;
  if (end.restless) livelocks_.job = scheduler_.what(end.restless);
}

}  // namespace sim
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/quota/change.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/scheduler/time_limits.hpp>
#include <allot/scheduler/until_quiet.hpp>
#include <allot/scheduler/view.hpp>
#include <allot/scheduler/view_check.hpp>
#include <allot/scheduler/workbench.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {

/// The whole loop, for hosts that want it: waiting jobs in, plans out.
///
/// The host tells what happens (`submit`, `finished`, `evicted`, …), calls `step` when it likes, acts on the
/// plan and reports back. The library owns no thread, clock or job, and calls nothing but the view, the
/// placement and the policies. What one step decides, and in which order, is the policies' cycle.
template <class View, class Placement = no_placement, class Policies = policies<>>
class scheduler {
  // A `job_view` and a `placement`; these say what is wrong in their first line.
  static_assert(detail::is_view<View, Placement>() && detail::is_placement<Placement>());

 public:
  static constexpr std::size_t n = dimensions<View>;
  using job = typename View::job;
  using place = typename Placement::allocation;
  using plan_type = plan<View, Placement>;

  static_assert(detail::are_policies_of<Policies, View>());

  scheduler(View view, quota_tree<n> tree, Placement places = {}, Policies policies = {})
      : bench_(std::move(view), std::move(tree), std::move(places)),
        policies_(std::move(policies)),
        cycle_(policies_) {
    cycle_.reset(bench_);
  }

  /// What jobs hold now, those included that were told to go and have not gone.
  [[nodiscard]] const allot::ledger<n>& ledger() const noexcept { return jobs().books.held(); }
  /// What decisions count on: those told to go are gone, those reserved are there.
  [[nodiscard]] const allot::ledger<n>& booked() const noexcept { return jobs().books.booked(); }
  [[nodiscard]] const quota_tree<n>& tree() const noexcept { return bench_.tree(); }
  [[nodiscard]] const View& view() const noexcept { return bench_.view(); }
  /// The placement. The host takes the places of adopted jobs in it and changes its nodes; after a change
  /// that makes room it calls `retry`.
  [[nodiscard]] Placement& places() noexcept { return jobs().books.places; }
  [[nodiscard]] const Placement& places() const noexcept { return jobs().books.places; }

  /// How the jobs of a quota are treated from now on; those already waiting keep their order. A runtime that
  /// is newly guaranteed counts from the start of those that run. O(1), with such a guarantee
  /// O(log jobs) for each that runs in the subtree.
  void configure(quota_id x, const queue_settings& settings) {
    queue_settings& kept = jobs().of(x).settings;
    const bool guarantees =
        settings.min_runtime != runtime_guarantee{} && settings.min_runtime != kept.min_runtime;
    kept = settings;
    if (guarantees) {
      jobs().guarantees_runtime = true;
      watch_guarantee_below(x, settings.min_runtime);
    }
    jobs().touch(x);
    jobs().world_changed();
  }
  [[nodiscard]] const queue_settings& settings(quota_id x) const { return jobs().of(x).settings; }

  /// Whether the job would be taken.
  [[nodiscard]] refusal refuses(const job& j) const {
    if (!tree().contains(view().quota(j))) return refusal::unknown_quota;
    if constexpr (elastic_view<View>) {
      if (detail::core_pods(view(), j) > detail::all_pods(view(), j)) return refusal::invalid_request;
    }
    typename bench_type::record r;
    r.what = j;
    detail::read_request(r, view(), detail::core_pods(view(), j));
    bool fits = false;
    flavor_pick pick{};
    do {
      if (!is_valid_request(bench_.request_of(r, pick))) return refusal::invalid_request;
      fits = fits || places().could_ever_fit(bench_.demand_of(r, pick));
    } while (advance(pick, r.menu));
    return fits ? refusal::none : refusal::larger_than_cluster;
  }

  /// A job waits from now on. Returns its id, none when it is refused. O(log pending).
  job_id submit(const job& j) {
    if (refuses(j) != refusal::none) return job_id::none();
    const job_id id = enrol(j);
    jobs().wait(id);
    return id;
  }

  /// A job runs that this scheduler did not start: after a restart of the host, say. `at` is the place that
  /// the host has taken for it in `places()`. Of an elastic job the core runs; see `adopt_surplus`. Returns
  /// none when the job is refused, or accepts no such flavors. Whether the cluster has room does not matter.
  [[nodiscard]] job_id adopt(const job& j, instant since, place at = {}, const flavor_pick& pick = {}) {
    const refusal why_not = refuses(j);
    if (why_not == refusal::unknown_quota || why_not == refusal::invalid_request) return {};
    if constexpr (flavored_view<View>) {
      if (!is_choice(view().flavors(j, detail::core_pods(view(), j)), pick)) return {};
    }
    const job_id id = enrol(j);
    jobs().start_adopted(id, since, at, pick);
    watch_time(id);
    return id;
  }
  /// One more pod of an elastic job that runs was started by somebody else. Precondition: it may have more.
  /// Returns the id of that pod.
  job_id adopt_surplus(job_id core, instant since, place at = {}) {
    return jobs().adopt_surplus(known(core), since, at);
  }
  /// The next step tries every waiting job again.
  void retry() noexcept { jobs().world_changed(); }

  /// The job of an admission runs since `at`, if not since the step that admitted it.
  void started(job_id id, instant at) {
    record& r = known(id);
    ALLOT_ASSERT(r.state == job_state::running, "only an admitted job can start");
    jobs().books.restart(r, at);
    watch_time(id);
  }
  /// The job has ended by itself, with all its surplus. Its id is free again. Or one pod of the surplus has:
  /// then the job can do with one less.
  void finished(job_id id) { jobs().remove(id); }
  /// The job has gone, because a plan said so or for a reason of the host's own, and with an elastic job all
  /// its surplus, told to go before or not; it waits again, with its old rank. Or a pod that an elastic job
  /// had beyond its core has gone: the job may have one again, under another id.
  void evicted(job_id id) {
    record& r = known(id);
    ALLOT_ASSERT(r.state == job_state::running || r.state == job_state::evicting,
                 "only a running job can go");
    if (r.state == job_state::running) jobs().world_changed();
    jobs().give_back(r);
    jobs().requeue(r);
  }
  /// The job is not wanted any more, wherever it is.
  void cancel(job_id id) { jobs().remove(id); }
  /// The host itself tells a running job to go: it holds its share until `evicted` or `finished`, and the
  /// decisions no longer count on it.
  void evicting(job_id id) {
    jobs().withdraw(known(id), {});
    jobs().world_changed();
  }

  /// Changes the quota tree; see `apply` in quota/change.hpp. A quota with jobs, waiting ones included, can't
  /// be removed. Who is reserved where there is no room for it any more waits again.
  result<std::vector<quota_id>> apply(std::span<const quota_change<n>> changes) {
    auto over = jobs().apply(changes);
    if (over) cycle_.reset(bench_);
    return over;
  }

  /// Decides what the cycle decides in one go. The plan is valid until the next call. With nothing new since
  /// the last call it is empty, in O(1).
  const plan_type& step(instant now) {
    bench_.begin(now);
    time_limits_.take_expired(now, [&](const detail::time_limits::run& r) {
      if (!is_run(r)) return;
      bench_.evict(r.job, {}, relation::time_limit);
      jobs().world_changed();
    });
    guarantees_.take_expired(now, [&](const detail::time_limits::run& r) {
      if (is_run(r)) jobs().world_changed();
    });
    cycle_.run(bench_);
    // At last, for what was admitted after a job was held stands in its way as well.
    for (auto& h : bench_.plan().holds) explain(h);
    for (const auto& a : bench_.plan().admissions) watch_time(a.id);
    return bench_.plan();
  }

  /// When a step may decide something though nothing has happened before: a job has reached its time limit,
  /// or may be asked to yield from then on. None: never.
  [[nodiscard]] std::optional<instant> wakes_at() {
    const auto lasts = [&](const detail::time_limits::run& r) { return is_run(r); };
    const auto limit = time_limits_.next(lasts);
    const auto guarantee = guarantees_.next(lasts);
    return limit && guarantee ? std::min(limit, guarantee) : (limit ? limit : guarantee);
  }

  /// Why a waiting job waits, as of now. Precondition: it is pending or reserved.
  [[nodiscard]] typename plan_type::hold why(job_id id) {
    const record& r = known(id);
    ALLOT_ASSERT(r.state == job_state::pending || r.state == job_state::reserved, "the job does not wait");
    typename plan_type::hold h{id, r.what, r.facts.quota, hold_reason::evictions};
    if (r.state == job_state::reserved) return h;
    explain(h);
    if (!h.binding && jobs().books.could_place(places(), r.demand)) {
      h.reason = hold_reason::behind_head;
      h.placement.reset();
    }
    return h;
  }

  [[nodiscard]] job_state state(job_id id) const {
    return jobs().jobs.contains(id) ? jobs().jobs[id].state : job_state::unknown;
  }
  [[nodiscard]] const job& what(job_id id) const { return jobs().jobs[id].what; }
  /// The place of a running, evicting or reserved job.
  [[nodiscard]] place place_of(job_id id) const { return jobs().jobs[id].where; }
  /// What the job asks for, or has, under the flavors chosen for it.
  [[nodiscard]] const resources<n>& request(job_id id) const { return jobs().jobs[id].facts.request; }
  [[nodiscard]] const flavor_pick& pick(job_id id) const { return jobs().jobs[id].pick; }
  /// The pods that an elastic job has beyond its core, those included that wait.
  [[nodiscard]] std::span<const job_id> surplus_of(job_id id) const { return jobs().jobs[id].surplus; }
  /// How many jobs of the quota wait, reserved ones and the next pods of elastic ones included.
  [[nodiscard]] std::size_t waiting(quota_id x) const { return jobs().of(x).waiting; }

 private:
  using bench_type = workbench<View, Placement>;
  using record = typename bench_type::record;

  [[nodiscard]] detail::lifecycle<View, Placement>& jobs() noexcept { return bench_.jobs_; }
  [[nodiscard]] const detail::lifecycle<View, Placement>& jobs() const noexcept { return bench_.jobs_; }
  [[nodiscard]] record& known(job_id id) { return jobs().known(id); }
  [[nodiscard]] job_id enrol(const job& j) {
    return jobs().enrol(j, policies_.jobs, policies_.not_preemptible);
  }
  /// By the cycle's own rules, if it has other ones than the ledger's law.
  void explain(typename plan_type::hold& h) {
    if constexpr (requires { cycle_.explain(bench_, h); }) {
      cycle_.explain(bench_, h);
    } else {
      bench_.explain(h);
    }
  }
  /// Whether the run still lasts.
  [[nodiscard]] bool is_run(const detail::time_limits::run& seen) {
    if (!bench_.contains(seen.job)) return false;
    const record& r = bench_.at(seen.job);
    return r.serial == seen.serial && r.state == job_state::running && r.facts.started == seen.since;
  }
  void watch_time(job_id id) {
    const record& r = bench_.at(id);
    if (r.facts.surplus) return;
    const instant since = r.facts.started;
    if constexpr (time_limited_view<View>) {
      if (const auto most = static_cast<instant>(view().time_limit(r.what)); most > 0) {
        time_limits_.watch(since + most, {id, r.serial, since});
      }
    }
    if (!bench_.guarantees_runtime() || !r.preemptible) return;
    for (quota_id x = r.facts.quota; x; x = tree().parent(x)) watch_guarantee(r, settings(x).min_runtime);
  }
  void watch_guarantee(const record& r, const runtime_guarantee& g) {
    const instant since = r.facts.started;
    if (g.preempt > 0) guarantees_.watch(since + g.preempt, {r.facts.id, r.serial, since});
    if (g.reclaim > 0) guarantees_.watch(since + g.reclaim, {r.facts.id, r.serial, since});
  }
  void watch_guarantee_below(quota_id x, const runtime_guarantee& g) {
    for (const running_job<n>& j : bench_.running().jobs_of(x)) {
      if (!j.surplus) watch_guarantee(bench_.at(j.id), g);
    }
    for (const quota_id c : tree().children(x)) watch_guarantee_below(c, g);
  }

  bench_type bench_;
  Policies policies_;
  typename Policies::template cycle<bench_type> cycle_;
  detail::time_limits time_limits_;
  detail::time_limits guarantees_;
};

}  // namespace v0
}  // namespace allot

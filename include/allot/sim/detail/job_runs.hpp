// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/result.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/change.hpp>
#include <allot/quota/tree.hpp>
#include <allot/sim/detail/event_queue.hpp>
#include <allot/sim/detail/job_accounts.hpp>
#include <allot/sim/detail/job_progress.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/job_history.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace sim {

/// The jobs of a simulation in progress, as far as no scheduler is needed: the history of each, what they
/// hold and want, and among the events to come the ends of those that run.
template <std::size_t N>
class job_runs {
 public:
  /// The events to come.
  using event_queue_type = event_queue<job_index>;

  job_runs(vector<job<N>> jobs, vector<flavor_set<N>> flavor_sets, quota_tree<N> quotas,
           const resources<N>& capacity = resources<N>{quantity::unlimited()},
           vector<unlike_pods<N>> unlike = {})
      : jobs_(std::move(jobs)),
        flavor_sets_(std::move(flavor_sets)),
        unlike_(std::move(unlike)),
        capacity_(capacity),
        histories_(jobs_.size()),
        resumption_(jobs_.size()),
        accounts_(std::move(quotas), view(false)) {
    link_flavors<N>(unlike_, flavor_sets_);
  }
  // A copy's view would refer to the original.
  job_runs(job_runs&&) noexcept = default;
  job_runs& operator=(job_runs&&) noexcept = default;

  /// Stays valid when this is moved.
  [[nodiscard]] workload_view<N> view(bool single_queue) const {
    workload_view<N> v{jobs_, single_queue, flavor_sets_, capacity_, resumption_, unlike_};
    v.histories = histories_.data();
    return v;
  }
  /// The number of jobs.
  [[nodiscard]] std::size_t size() const noexcept { return jobs_.size(); }
  /// The workload.
  [[nodiscard]] std::span<const job<N>> jobs() const noexcept { return jobs_; }
  [[nodiscard]] const job_history& operator[](job_index j) const { return histories_[j]; }
  [[nodiscard]] job_history& operator[](job_index j) { return histories_[j]; }
  /// What the jobs hold and request.
  [[nodiscard]] const job_accounts<N>& accounts() const noexcept { return accounts_; }
  /// The events to come.
  [[nodiscard]] event_queue_type& events() noexcept { return events_; }

  /// Events due before that time happen then.
  void begin(instant at) noexcept { begin_ = at; }
  /// Enters an event, at the earliest at the time given to `begin`.
  event_queue_type::ticket push(instant at, event_kind kind, job_index what) {
    return events_.push(std::max(at, begin_), kind, what);
  }

  /// The scheduler may decide something at that time though no event is due, and is not called before for
  /// that reason.
  void wake(std::optional<instant> at) {
    if (wakes_ == at) return;
    if (wakes_) events_.cancel(wake_event_);
    wakes_ = at;
    if (at) wake_event_ = push(*at, event_kind::cycle, 0);
  }

  /// Each of these happens at its `at`; the payload is its index.
  template <class Event>
  void push_each(const vector<Event>& events, event_kind kind) {
    for (std::size_t i = 0; i < events.size(); ++i) push(events[i].at, kind, static_cast<job_index>(i));
  }
  /// The next job without an id arrives. Only one arrival at a time is among the events, so that their number
  /// depends on what runs, not on the workload.
  void push_next_arrival() {
    while (next_arrival_ < size() && histories_[next_arrival_].id) ++next_arrival_;
    if (next_arrival_ == size()) return;
    const job_index j = next_arrival_++;
    push(jobs_[j].submit, event_kind::arrival, j);
  }

  /// The job is submitted and pending.
  void come(job_index j) {
    histories_[j].work = job_progress{jobs_[j].duration, jobs_[j].pods()};
    histories_[j].outcome = job_outcome::waiting;
    accounts_.come(j);
  }
  /// A pending job has been running since then; it does no work until its start is done, which `takes` so
  /// long.
  void start(job_index j, instant since, const flavor_pick& pick, std::uint32_t pods, instant takes = 0) {
    job_history& h = histories_[j];
    ALLOT_ASSERT(h.outcome == job_outcome::waiting, "only a waiting job can start");
    if (h.runs == 0) h.first_start = since;
    h.last_start = since;
    h.outcome = job_outcome::running;
    accounts_.start(j, std::exchange(h.pick, pick), pick, pods);
    h.work.begin(since, pods, takes + (h.runs++ == 0 ? 0 : jobs_[j].restart));
    expect_end(h, j);
    const instant limit = jobs_[j].time_limit;
    if (limit > 0) h.limit_event = push(since + takes + limit, event_kind::cycle, j);
  }
  /// How the start of a running job goes on, at that time.
  void expect_start(job_index j, instant at, event_kind how) { histories_[j].start_event = push(at, how, j); }
  /// The start of a running job has failed: it is pending again, as if it had not been started.
  void fail_start(job_index j, instant now) {
    const instant resumption = resumption_[j];
    cut_short(j, now);
    resumption_[j] = resumption;
    --histories_[j].runs;
  }
  /// A running job has had one pod more since then, or has one less from now on.
  void grow(job_index j, instant since, std::size_t set) {
    job_history& h = histories_[j];
    h.work.resize(since, h.work.pods() + 1);
    accounts_.grow(j, h.pick, set);
    expect_end(h, j);
  }
  /// The running elastic job has lost a pod: it needs more time from now on.
  void shrink(job_index j, instant now, std::size_t set) {
    job_history& h = histories_[j];
    h.work.resize(now, h.work.pods() - 1);
    accounts_.shrink(j, h.pick, set);
    expect_end(h, j);
  }
  /// The running job has had this speed since then.
  void pace(job_index j, instant since, speed s) {
    job_history& h = histories_[j];
    if (h.work.current_speed() == s) return;
    h.work.pace(since, s, jobs_[j].checkpoint);
    expect_end(h, j);
  }
  /// The run of a job is cut short and it is pending again. Returns what it lost, as time of all pods.
  instant cut_short(job_index j, instant now) {
    job_history& h = histories_[j];
    accounts_.go(j, h.pick, h.work.pods());
    forget_end(h);
    h.outcome = job_outcome::waiting;
    const instant lost = h.work.in_time_of_all(h.work.cut_short(now, jobs_[j].checkpoint));
    resumption_[j] = jobs_[j].restart - (jobs_[j].duration - h.work.in_time_of_all(h.work.left()));
    return lost;
  }
  /// A pending or running job is removed for good.
  void leave(job_index j, instant now, job_outcome how) {
    job_history& h = histories_[j];
    const std::uint32_t pods = h.work.pods();
    if (pods > 0) {
      forget_end(h);
      h.work.stop(now);
    }
    accounts_.leave(j, h.pick, pods);
    h.outcome = how;
    h.end = now;
  }

  /// Changes the quotas; see `allot::apply`.
  result<vector<quota_id>> apply(std::span<const quota_change<N>> changes) {
    return accounts_.apply(changes);
  }

 private:
  void expect_end(job_history& h, job_index j) {
    events_.cancel(h.end_event);
    h.end_event = push(h.work.end(), event_kind::finish, j);
  }
  void forget_end(const job_history& h) {
    events_.cancel(h.end_event);
    events_.cancel(h.limit_event);
    events_.cancel(h.start_event);
  }

  vector<job<N>> jobs_;
  vector<flavor_set<N>> flavor_sets_;
  vector<unlike_pods<N>> unlike_;
  resources<N> capacity_;
  vector<job_history> histories_;
  /// See `workload_view`.
  vector<instant> resumption_;
  job_accounts<N> accounts_;
  event_queue_type events_;
  job_index next_arrival_ = 0;
  std::optional<instant> wakes_{};
  typename event_queue_type::ticket wake_event_{};
  instant begin_ = std::numeric_limits<instant>::min();
};

}  // namespace sim
}  // namespace v0
}  // namespace allot

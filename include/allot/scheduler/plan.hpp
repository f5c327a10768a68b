// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/guard.hpp>
#include <allot/quota/shortfall.hpp>
#include <allot/scheduler/backoff.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/reservation.hpp>
#include <allot/scheduler/view.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {

/// Why a call of the host is refused. It has then changed nothing.
enum class refusal : std::uint8_t {
  /// Not refused.
  none,
  unknown_quota,
  /// A negative amount, one too large for the arithmetic, fewer pods than the job needs, or a job that needs
  /// none. Such a job could never be admitted.
  invalid_request,
  /// The cluster has no place for it in any state. Such a job could never be admitted either.
  larger_than_cluster,
  /// There is no such job, or it has gone.
  unknown_job,
  /// The job is not in a state that allows this: see the call.
  wrong_state,
  /// The job does not accept these flavors.
  unknown_flavors,
  /// The placement has not given that place, or it was lost.
  unknown_place,
  /// A job of this scheduler has that place.
  place_in_use,
  /// The elastic job already runs with as many pods as it may have.
  has_all_pods,
  /// The job runs, and has something else than what the view shows of its request by now.
  request_in_use,
  /// There is no room for the pods that are to be replaced.
  no_room,
};

/// The name of the enumerator.
[[nodiscard]] constexpr std::string_view to_string(refusal why) noexcept {
  switch (why) {
    case refusal::none:
      break;
    case refusal::unknown_quota:
      return "unknown_quota";
    case refusal::invalid_request:
      return "invalid_request";
    case refusal::larger_than_cluster:
      return "larger_than_cluster";
    case refusal::unknown_job:
      return "unknown_job";
    case refusal::wrong_state:
      return "wrong_state";
    case refusal::unknown_flavors:
      return "unknown_flavors";
    case refusal::unknown_place:
      return "unknown_place";
    case refusal::place_in_use:
      return "place_in_use";
    case refusal::has_all_pods:
      return "has_all_pods";
    case refusal::request_in_use:
      return "request_in_use";
    case refusal::no_room:
      return "no_room";
  }
  return "none";
}

/// The id of an accepted job, or why it was refused.
struct [[nodiscard]] submission {
  /// The id of the job, none if it was refused.
  job_id id{};
  /// Why it was refused, or `none`.
  refusal why_not = refusal::none;

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return why_not == refusal::none; }
  /// None if the job was refused.
  [[nodiscard]] constexpr operator job_id() const noexcept { return id; }
};

/// Why a job waits.
enum class pending_reason : std::uint8_t {
  /// Its quota does not allow it: see `binding`.
  quota,
  /// Its quota allows it but it has no place: see `placement`.
  placement,
  /// There is room for it, but it is behind the first job of a strict queue, or would delay a job that holds
  /// a reservation, or a job that is ready soon would take it back (`kept_for`), or its quota will be smaller
  /// (`resized_at`), or the cycle has not come to it.
  behind_head,
  /// The search for victims found none and can't rule them out: its budget was exhausted, or another choice
  /// among the candidates might have worked.
  not_proven,
  /// It could preempt, but its victims would lose too much work (`queue_settings::wait_if_loss_percent`): it
  /// waits for its reserved start.
  lost_work,
  /// It does not fit unless others are evicted, and has not waited long enough for that
  /// (`queue_settings::preempt_after`): see `preempts_at`. Or others are never evicted for it
  /// (`preempting_view`): then `preempts_at` is none.
  preempts_later,
  /// It would borrow what owners have just reclaimed from its quota: see `backs_off`.
  backoff,
  /// It is nominated: it starts when the evictions for it are done.
  evictions,
  /// It can't start before a time: see `ready_at`.
  not_ready,
  /// The host holds it: see `scheduler::hold`.
  held,
  /// It does not wait: it runs, or is no job of this scheduler. Never in a plan.
  not_waiting,
};
/// The number of reasons.
inline constexpr std::size_t pending_reason_count = 11;
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(pending_reason value) noexcept {
  switch (value) {
    case pending_reason::quota:
      return "quota";
    case pending_reason::placement:
      return "placement";
    case pending_reason::behind_head:
      return "behind_head";
    case pending_reason::not_proven:
      return "not_proven";
    case pending_reason::lost_work:
      return "lost_work";
    case pending_reason::preempts_later:
      return "preempts_later";
    case pending_reason::backoff:
      return "backoff";
    case pending_reason::evictions:
      return "evictions";
    case pending_reason::not_ready:
      return "not_ready";
    case pending_reason::held:
      return "held";
    case pending_reason::not_waiting:
      return "not_waiting";
  }
  return "";
}

/// Evictions under way that are in the way of a pending job: what leaves is in use until it has gone, and
/// after that it may be held for another job.
struct departures {
  /// A job that is being evicted, the first of those in the way; of an elastic one perhaps only pods. None if
  /// all have gone, and what they left is held.
  job_id job{};
  /// The waiting job for which it is evicted; none: for no job in particular.
  job_id beneficiary{};
  /// How many more are known to be in the way: jobs that leave or, if `is_held`, jobs for which they do.
  std::size_t others = 0;
  /// How much more room there would be at `binding` without all of them: with those gone that leave or, if
  /// `is_held`, with nothing held. 0 if there is no `binding`.
  quantity amount{};
  /// What is evicted for the beneficiary is held for it: it is nominated. Otherwise nothing is held for it
  /// between two steps (Kueue, KAI), and it is its turn at most that comes first.
  bool is_held = false;

  /// Whether there are any.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return job || beneficiary; }

  friend bool operator==(const departures&, const departures&) = default;
};

namespace detail {

/// Whether a cycle alone knows that reason, from having tried the job: the books don't show it.
[[nodiscard]] constexpr bool is_found_by_cycle(pending_reason why) noexcept {
  return why == pending_reason::not_proven || why == pending_reason::lost_work ||
         why == pending_reason::preempts_later;
}

}  // namespace detail

/// What one cycle decides. Lists are in the order of the decisions.
template <job_view View, placement Placement>
struct plan {
  /// The number of dimensions.
  static constexpr std::size_t n = dimensions<View>;
  /// The host's handle of a job.
  using job = typename View::job;
  /// The placement's handle of a place.
  using place = typename Placement::allocation;
  /// Why the placement has no place.
  using unplaceable = decltype(std::declval<const Placement&>().why_not(
      std::declval<const typename Placement::pod_request&>()));

  /// Start it: it has its share and its place. If that fails, report `start_failed`: it is pending again.
  struct admission {
    /// @{
    /// The job, by id and by the host's handle; its quota; its place.
    job_id id{};
    job what{};
    quota_id quota{};
    place where{};
    /// @}

    /// The part of its request that its quota does not own. From whom, `loans` says.
    resources<n> borrows{};
    /// The flavors chosen for it.
    flavor_pick pick{};
    /// How many pods start.
    std::uint32_t pods = 1;
    /// An elastic job grows by these pods: `id` is that of the elastic pod, this the job's own.
    job_id core{};
  };
  /// Evict it, and report `evicted` when it has gone: it is pending again. One that has run for as long as it
  /// may (`how` is `relation::time_limit`) is over: report `finished`; `evicted` is then taken as that. An
  /// elastic job goes with all its elastic pods. If it can't be evicted, report `not_evicted`.
  struct eviction {
    /// @{
    /// The job, by id and by the host's handle; its quota.
    job_id id{};
    job what{};
    quota_id quota{};
    /// @}

    /// The job that it is evicted for, in the same plan under `nominations` (or `admissions`, if that job
    /// could start before this one left). None: for a reason of its own, given by `how`.
    job_id beneficiary{};
    /// Why it may be evicted.
    relation how{};
    /// How many pods are evicted.
    std::uint32_t pods = 1;
    /// An elastic job shrinks by these pods: `id` is that of the elastic pod, this the job's own.
    job_id core{};
    /// The rule by which it is fair, and the shares that the rule compared, if one was needed.
    verdict why{};
  };
  /// An earlier plan has evicted it.
  struct leaving_job {
    /// @{
    /// The job, by id and by the host's handle; its quota.
    job_id id{};
    job what{};
    quota_id quota{};
    /// @}

    /// Of an elastic pod that was to go alone: its job.
    job_id core{};
  };
  /// It will be admitted when the evictions for it are done. Until then no other job gets its share, but one
  /// that may preempt it: then it is pending again, and what is still evicted for it is for that one. Cycles
  /// that only announce it, as those of Kueue and KAI do, hold nothing.
  struct nomination {
    /// @{
    /// The job, by id and by the host's handle; its quota.
    job_id id{};
    job what{};
    quota_id quota{};
    /// @}

    /// Its own victims: `count` evictions of this plan from `first` on. Without any it waits for the victims
    /// of others.
    std::size_t first = 0;
    /// How many evictions of this plan are its own.
    std::size_t count = 0;
  };
  /// It waits. Listed are the jobs that were tried, and the first job of each quota whose queue or usage has
  /// changed since the last plan.
  struct pending_job {
    /// @{
    /// The job, by id and by the host's handle; its quota; why it waits.
    job_id id{};
    job what{};
    quota_id quota{};
    pending_reason reason{};
    /// @}

    /// Which quota's bound blocks it and how much is missing there; `for_each_shortfall` of
    /// `scheduler::counted` lists all. Known whatever the reason, like the rest.
    std::optional<shortfall> binding{};
    /// *Never*, rather than not now: the bound that blocks it though nothing else ran, and how much it must
    /// be raised by. Of several flavors, of those that lack least; not told of a job that is not ready.
    std::optional<shortfall> out_of_reach{};
    /// What it requests under these flavors.
    resources<n> out_of_reach_request{};
    /// Why it has no place, if its quota allows it: data of the placement. If `departures` are in the way and
    /// nothing is held, they count as being there.
    std::optional<unplaceable> placement{};
    /// What of that is being evicted, or held for those for which it is. With neither, these jobs have their
    /// turn first, and will take the room that there is.
    allot::departures departures{};
    /// From when it can start, if that is later: the view says so (`ready_view`), or the host, as a start has
    /// failed.
    std::optional<instant> ready_at{};
    /// From when others may be evicted for it, if it is ready and has not waited that long
    /// (`queue_settings::preempt_after`).
    std::optional<instant> preempts_at{};
    /// The job that is ready soon, and for which what this one asks for is kept: it would be evicted for it.
    /// None if there is none; see `queue_settings::ready_horizon`.
    job_id kept_for{};
    /// When a change of the quotas that is known leaves too little for it, and it would still run, if its
    /// quota allows it now (`scheduler::expect_changes`).
    std::optional<instant> resized_at{};
    /// When it starts at the latest, if it holds a reservation with a time.
    std::optional<allot::reservation> reservation{};
    /// What its quota does not borrow for now, and until when, if the job would have to: the reason or, with
    /// a `binding`, one more. Of several resources the one that takes longest.
    backoff backs_off{};
  };

  /// Jobs to start.
  vector<admission> admissions;
  /// Jobs to end. One that leaves already, by an earlier plan, is listed again if it was withdrawn within
  /// this step: it leaves for another job now, and nothing more is to be done.
  vector<eviction> evictions;
  /// Jobs to end no longer, as that is not needed any more: such a job runs on, an elastic one with all its
  /// pods. They come before the evictions: one of its pods may be among these. If it is too late, report
  /// `evicted` as ever. See `scheduler::withdraw_evictions`.
  vector<leaving_job> withdrawn;
  /// Jobs that have not left by the time that the host named (`scheduler::leaves_by`), once for each: end
  /// them by force, name another time, or report `not_evicted`.
  vector<leaving_job> overdue;
  /// Jobs that will be started when others have gone.
  vector<nomination> nominations;
  /// Jobs that were tried and can't be started.
  vector<pending_job> pending;
  /// By how much the time given to `step` lies before that of an earlier step, as of which it was made
  /// instead. Normally 0; a host whose clock was wrong before, and is right now, calls `scheduler::rebase`.
  instant clamped_by = 0;

  /// Whether nothing was decided; pending jobs are news, not decisions.
  [[nodiscard]] bool empty() const noexcept {
    return admissions.empty() && evictions.empty() && nominations.empty() && withdrawn.empty() &&
           overdue.empty();
  }
  /// Empties all lists and keeps their memory.
  void clear() noexcept {
    admissions.clear();
    evictions.clear();
    withdrawn.clear();
    overdue.clear();
    nominations.clear();
    pending.clear();
    clamped_by = 0;
  }
};

}  // namespace v0
}  // namespace allot

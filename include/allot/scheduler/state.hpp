// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/job_rank.hpp>
#include <allot/scheduler/backoff.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/scheduler/job_state.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/scheduler/reservation.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {

/// What a cycle remembers from one step to the next and can't derive: see `resumable_cycle`. A cycle fills
/// what it has.
struct cycle_memory {
  /// A job of which not all flavors have been tried (Kueue).
  struct flavor_scan {
    /// The pending job.
    job_id job{};
    /// The flavors with which it goes on.
    flavor_pick next{};
    /// In how many cycles it went on since the world changed last; none: the world has changed since.
    std::optional<std::uint32_t> cycles{};
    /// How many cycles ago it was recorded; at most 2.
    std::uint64_t age = 0;

    friend bool operator==(const flavor_scan&, const flavor_scan&) = default;
  };
  /// The first job of a strict queue, if it could not be admitted (Kueue).
  struct blocked_head {
    /// The pending job.
    job_id job{};
    /// Whether the world has not changed since.
    bool is_current = false;

    friend bool operator==(const blocked_head&, const blocked_head&) = default;
  };

  /// The pending jobs that wait for evictions and whose share is not held (Kueue, KAI):
  /// `scheduler::announced`.
  vector<job_id> announced;
  /// @{
  /// Of Kueue's heads.
  vector<flavor_scan> scans;
  vector<blocked_head> blocked;
  /// @}
  /// The roots of trees of quotas that are looked at again in the next step (Kueue).
  vector<quota_id> touched;
  /// The same after any change.
  vector<quota_id> revisited;
  /// Past usage that counts in decisions, as numbers that only the cycle reads: their first two say under
  /// which settings.
  vector<std::uint64_t> past_usage;
  /// When an owner last claimed what was reserved for others.
  std::optional<instant> claimed;
  /// Whether nothing is to be done until something happens.
  bool is_at_rest = false;
  /// Whether quotas have changed since the last step.
  bool has_new_quotas = false;
  /// Whether a job has ended otherwise than expected since no job held a reservation.
  bool ended_early = false;
  /// Whether reservations have to be looked through, as one may have become impossible.
  bool may_miss = false;

  friend bool operator==(const cycle_memory&, const cycle_memory&) = default;
};

/// The quota that had this id: of `ids`, the quotas by the ids that they had. None if it is gone.
[[nodiscard]] constexpr quota_id quota_now(std::span<const quota_id> ids, quota_id x) noexcept {
  return x.index() < ids.size() ? ids[x.index()] : quota_id{};
}

/// What a scheduler knows of one job, of the core of an elastic one, or of one of its pods beyond, besides
/// what the view shows.
struct unit_state {
  /// It keeps its id.
  job_id id{};
  /// Where it stands in its life.
  job_state state{};
  /// For an elastic pod: its job.
  job_id core{};
  /// For an elastic job: its pods beyond the core, waiting ones included.
  vector<job_id> elastic_pods{};
  /// For an elastic job: how many more pods may come.
  std::uint32_t pods_to_come = 0;
  /// The pods with which it starts.
  std::uint32_t pods = 1;
  /// For an elastic pod of a job whose pods differ: its set.
  std::uint32_t set = 0;
  /// The flavors chosen for it.
  flavor_pick pick{};
  /// Its place in its queue. Of an `identified_view` the id is the view's.
  job_rank rank{};
  /// When it was submitted.
  instant submitted = 0;
  /// How long a run of it is expected to last; `without_end`: not known.
  instant estimate = without_end;
  /// While it waits and is not ready: from when it is.
  std::optional<instant> ready_at{};
  /// The part of it that the host has said, as a start has failed.
  std::optional<instant> not_before{};
  /// Since when it waits, if that is not when it was submitted: see `queue_settings::preempt_after`.
  std::optional<instant> waits_since{};
  /// While it runs, is evicted or nominated: since when.
  instant since = 0;
  /// While it waits: what the cycle found that tried it last, if nothing has changed since.
  pending_reason found = pending_reason::quota;
  /// How often it has preempted since the world changed last.
  std::uint32_t preemptions = 0;
  /// Whether a later job of its equivalence class has no better chances.
  bool follows_priority = false;
  /// Whether the host holds it.
  bool is_held = false;
  /// While it runs: until when it is not preempted, as it could not be evicted.
  std::optional<instant> spared_until{};
  /// While it runs or is evicted: the turn of the reservation that it held.
  std::optional<std::uint64_t> had_turn{};
  /// What that promised first.
  instant had_start = without_end;
  /// Whether it stood on what its quota owns.
  bool had_own = false;
  /// While it is evicted: whether it has run for as long as it may, and does not wait again.
  bool is_over = false;
  /// While it runs or is evicted: whether the host is still starting it.
  bool is_starting = false;
  /// While it is evicted: by when the host expects that it has left.
  std::optional<instant> leaves_by{};
  /// When it may gather again.
  std::optional<instant> gathers_from{};
  /// Until when it would have gathered.
  std::optional<instant> gathers_until{};

  friend bool operator==(const unit_state&, const unit_state&) = default;
};

/// What a scheduler knows besides its jobs one by one. Jobs are named by their ids, quotas by those in
/// `quotas`.
struct scheduler_memory {
  /// A job on its way out, and for which job.
  struct departure {
    /// The job.
    job_id job{};
    /// None: what it leaves is for any job.
    job_id beneficiary{};

    /// Whether it was for a job that does not need it any more.
    bool is_unneeded = false;

    friend bool operator==(const departure&, const departure&) = default;
  };
  /// A pending job with a reservation, or a nominated one that has it again if its nomination is taken back.
  struct held_reservation {
    /// The job.
    job_id job{};
    /// Its reservation.
    reservation what{};
    /// Capacity that its start does not count on may have become free, but only before this time.
    instant freed_until = without_end;
    /// The less, the earlier its turn.
    std::uint64_t number = 0;
    /// Of one that stands on what its quota owns: whether its job was not tried since jobs were requeued
    /// last.
    bool is_untried = false;
    /// Whether its job was nominated, and no longer is, since it was renewed last.
    bool is_back = false;
    /// How many of the nominated jobs were decided on before that.
    std::uint32_t behind = 0;

    friend bool operator==(const held_reservation&, const held_reservation&) = default;
  };
  /// A pending job whose whole equivalence class is not tried until something changes.
  struct inadmissible_class {
    /// One of its jobs.
    job_id job{};
    /// The rank of the job that was tried.
    job_rank rank{};
    /// Those that end by then are tried all the same; none: no job is.
    std::optional<instant> ends_by{};

    friend bool operator==(const inadmissible_class&, const inadmissible_class&) = default;
  };

  /// The time of the last step; the least if there was none.
  instant now = std::numeric_limits<instant>::min();
  /// The names of the quotas, by id; those of removed ones are empty.
  vector<std::string> quotas;
  /// The ids to be given next, the last one first.
  vector<job_id> free_ids;
  /// How many jobs there were at most at once.
  std::uint32_t most_jobs = 0;
  /// How many jobs have been submitted or adopted.
  std::uint64_t submissions = 0;

  /// In the order of the evictions.
  vector<departure> leaving;
  /// In the order of the decisions.
  vector<job_id> nominated;
  /// In the order of their turn.
  vector<held_reservation> reservations;
  /// What nominated jobs held, and those that are nominated no longer since the last step.
  vector<held_reservation> former_reservations;
  /// The number of the next reservation.
  std::uint64_t next_reservation = 1;

  /// Which quotas do not borrow for now: see `queue_settings::borrow_backoff`.
  vector<backoff> backoffs;
  /// Of each equivalence class that is inadmissible one job.
  vector<inadmissible_class> inadmissible;
  /// The jobs that block their strict queues.
  vector<job_id> blocking;

  /// @{
  /// What has happened since the last step: the quotas that it concerned; whether inadmissible jobs may have
  /// better chances; until when capacity has become free that was not expected to; what may delay a
  /// reservation; and when those that have ended were expected to, earliest and latest.
  vector<quota_id> touched;
  /// Those whose reserved starts may move.
  vector<quota_id> renewing;
  bool must_requeue = false;
  instant freed_until = std::numeric_limits<instant>::min();
  delay_cause cause = delay_cause::none;
  bool starts_may_move = false;
  instant ended_from = without_end;
  instant ended_to = std::numeric_limits<instant>::min();
  /// @}

  /// What the policies remember.
  cycle_memory of_cycle{};

  friend bool operator==(const scheduler_memory&, const scheduler_memory&) = default;
};

/// All that a scheduler knows of its jobs and of the past, as plain data: `scheduler::state` returns it, and
/// `scheduler::resume` continues from it, in the same process or after a restart. Not in it is what the host
/// has anyway: the quotas, their settings, and what the view shows of its jobs.
///
/// `Job` is the host's handle. `Place` is the placement's handle, or the host's own account of a place, such
/// as the names of nodes. Times are instants (`scheduler::time_of`). `state_text` is its form on disk.
template <class Job, class Place>
struct scheduler_state {
  /// A job, or a pod of one.
  struct unit : unit_state {
    /// The host's handle; for an elastic pod that of its job.
    Job what{};
    /// While it runs, is evicted or nominated: where.
    Place where{};

    friend bool operator==(const unit&, const unit&) = default;
  };

  /// By index of their ids.
  vector<unit> units;
  /// The rest.
  scheduler_memory memory;

  friend bool operator==(const scheduler_state&, const scheduler_state&) = default;

  /// The same with other handles: `job_of(unit)` and `place_of(unit)` return them.
  template <class JobOf, class PlaceOf>
  [[nodiscard]] auto transformed(JobOf job_of, PlaceOf place_of) const {
    using other_job = std::remove_cvref_t<decltype(job_of(std::declval<const unit&>()))>;
    using other_place = std::remove_cvref_t<decltype(place_of(std::declval<const unit&>()))>;
    scheduler_state<other_job, other_place> other;
    for (const unit& u : units) other.units.push_back({u, job_of(u), place_of(u)});
    other.memory = memory;
    return other;
  }
};

/// What of a state a scheduler did not continue from, and why.
template <class Job>
struct [[nodiscard]] resumption {
  /// A job, or a pod of one, that the scheduler does not know.
  struct refused_unit {
    /// Its id in the state.
    job_id id{};
    /// The host's handle.
    Job what{};
    /// Why it is left out.
    refusal why{};
  };

  /// Those that are left out.
  vector<refused_unit> refused;
  /// Whether past usage goes on counting, if there was any. Not if it is of policies with other settings.
  bool keeps_past_usage = true;

  /// Whether the scheduler decides as the other one would have.
  [[nodiscard]] explicit operator bool() const noexcept { return refused.empty() && keeps_past_usage; }
};

}  // namespace v0
}  // namespace allot

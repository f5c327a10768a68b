// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/core/result.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/settings.hpp>
#include <allot/scheduler/backoff.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {

/// The order in which the jobs of one quota are considered.
enum class queue_order : std::uint8_t {
  /// Priority classes, highest first, then submission (HyperPod's "task ranking").
  priority,
  /// Submission alone.
  fifo,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(queue_order value) noexcept {
  switch (value) {
    case queue_order::priority:
      return "priority";
    case queue_order::fifo:
      return "fifo";
  }
  return "";
}

/// What happens to the rest of a quota's queue when its first job can't be admitted.
enum class queue_head : std::uint8_t {
  /// Later jobs are tried (Kueue's BestEffortFIFO).
  best_effort,
  /// It blocks the queue, so that it can't be starved by smaller ones (Kueue's StrictFIFO).
  strict,
  /// It gets a reservation: the earliest start that the quotas and the nodes allow if all that runs ends as
  /// expected (`estimated_view`). Later jobs are tried, of its quota and of others, but none that would delay
  /// it (backfilling). See `queue_settings::reservations`.
  ///
  /// Where owners reclaim (`preempt_reclaim::any`) a job that asks for no more than its quota owns gets its
  /// start on that (`reservation::owned`): only its quota's own jobs count, as others give back what they
  /// borrow. So it starts once these have ended, however busy the tree is with what may be preempted, and
  /// jobs of its quota that come
  /// later start only if they leave it room; other quotas may borrow until then. Other reservations count on
  /// what others own. There are at most eight of these in the tree, and none that owners with pending jobs
  /// would be bound to displace.
  ///
  /// The reserved start becomes later only for a `delay_cause`, which is on record: a job overruns; an owner
  /// reclaims what the job was to borrow; a job of higher priority is submitted to its quota; jobs that may
  /// not be preempted use what the quota owns; the host changes nodes or quotas; or, where places matter, a
  /// job ends early and others with a reservation are
  /// placed elsewhere than planned. A job whose start can't be determined gets no reservation, but may gather
  /// (`queue_settings::gather`).
  reserve,
  /// As in quotas that are not configured, with all settings of reservations and backfilling. Presets whose
  /// head depends on the view have it in their `defaults()`, as `standard` does. Where no preset says
  /// otherwise: `best_effort`.
  by_preset,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(queue_head value) noexcept {
  switch (value) {
    case queue_head::best_effort:
      return "best_effort";
    case queue_head::strict:
      return "strict";
    case queue_head::reserve:
      return "reserve";
    case queue_head::by_preset:
      return "by_preset";
  }
  return "";
}

/// In which order jobs are tried that may only start if they delay no reservation.
enum class backfill_order : std::uint8_t {
  /// That of the queue.
  queue,
  /// The shortest estimate first (SJBF), then that of the queue.
  shortest_estimate,
  /// Short jobs pass long ones, and large ones pass small ones, until these have waited long enough: the
  /// order of the queue, in which a job counts as submitted later by `aged_delay`. Jobs get their
  /// reservations in this order, too. (With `shortest_estimate` a long job may be passed for ever, and the
  /// oldest jobs hold the reservations, behind which large ones line up for days.) In a view that does not
  /// show when jobs were submitted (`timed_view`) they have no age, and it is `queue`.
  aged,
};
/// The whole of what `aged_delay` takes a part of.
inline constexpr std::int64_t share_of_all = 1024;
/// With `backfill_order::aged`: by how much later than its submission a job takes its turn. Ten times its
/// estimate, divided by 1 + 8 s, where s is the part that it requests of what its quota could use with all
/// others idle, in `share_of_all`ths. Nothing for an unknown estimate (`without_end`). Saturates.
[[nodiscard]] constexpr instant aged_delay(instant estimate, std::int64_t share) noexcept {
  constexpr std::int64_t estimates = 10;
  constexpr std::int64_t size = 8;
  if (estimate == without_end || estimate <= 0) return 0;
  const std::int64_t part = share < 0 ? 0 : share > share_of_all ? share_of_all : share;
  const wide delay = static_cast<wide>(estimate) * static_cast<wide>(estimates * share_of_all) /
                     static_cast<wide>(share_of_all + size * part);
  return delay < static_cast<wide>(without_end) ? static_cast<instant>(delay) : without_end;
}
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(backfill_order value) noexcept {
  switch (value) {
    case backfill_order::queue:
      return "queue";
    case backfill_order::shortest_estimate:
      return "shortest_estimate";
    case backfill_order::aged:
      return "aged";
  }
  return "";
}

/// What a job that accepts several flavors does when one of them fits at a price.
enum class flavor_step : std::uint8_t {
  /// It takes this flavor and pays the price.
  stay,
  /// It tries later flavors without that price; if there is none, it takes the first one.
  try_next,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(flavor_step value) noexcept {
  switch (value) {
    case flavor_step::stay:
      return "stay";
    case flavor_step::try_next:
      return "try_next";
  }
  return "";
}

/// Which flavor a job takes that tries the next one in either case, if one of them fits only if it borrows,
/// and another one only if it preempts (Kueue's flavorFungibility.preference).
enum class flavor_preference : std::uint8_t {
  /// The one that borrows.
  borrowing_over_preemption,
  /// The one that preempts, without a loan.
  preemption_over_borrowing,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(flavor_preference value) noexcept {
  switch (value) {
    case flavor_preference::borrowing_over_preemption:
      return "borrowing_over_preemption";
    case flavor_preference::preemption_over_borrowing:
      return "preemption_over_borrowing";
  }
  return "";
}

/// How jobs choose between borrowing, preempting and the next flavor (Kueue's flavorFungibility).
struct flavor_choice {
  /// What it does when a flavor fits only if it borrows.
  flavor_step when_can_borrow = flavor_step::stay;
  /// What it does when a flavor fits only if it preempts.
  flavor_step when_can_preempt = flavor_step::try_next;
  /// Which of these prices it would rather pay.
  flavor_preference preference = flavor_preference::borrowing_over_preemption;

  friend bool operator==(const flavor_choice&, const flavor_choice&) = default;
};

/// Every job that can't start gets a reservation: for `queue_settings::reservations`.
inline constexpr std::uint32_t reserve_all = std::numeric_limits<std::uint32_t>::max();

/// How long, and how much, the jobs of a quota gather where running jobs have no expected end, so that no
/// start can be reserved. A job that gathers holds what becomes free until it fits: jobs that come later
/// start only if they leave it room once all have gone that ran before it began, or if they are expected to
/// end before it gives up. So capacity is kept idle only as far as it is part of the job's last chance. Jobs
/// that started in the same step do not count as gone. Who is displaced by a prior claim may gather again,
/// until the same time. No start is reserved after the time at which a job gives up gathering.
/// Measured in bench/lab/README.md, "Reservations".
struct gathering {
  /// After that long it gives up, and gathers again at the earliest after as long, when it is next tried. 0:
  /// jobs do not gather.
  instant longest = 0;
  /// How much the jobs of the quota that gather may request together: in percent of what the quota could use
  /// with all others idle, in every dimension. A job that is larger than that never gathers.
  std::int32_t percent = 50;

  friend bool operator==(const gathering&, const gathering&) = default;
};

/// How the scheduler treats the jobs of one quota.
struct queue_settings {
  /// The order of its jobs.
  queue_order order = queue_order::priority;
  /// Whether its first job blocks the others.
  queue_head head = queue_head::best_effort;
  /// What its jobs may take from others.
  preempt_settings preempt{};
  /// How its jobs choose between flavors.
  flavor_choice flavors{};
  /// How long the quota's jobs run before they may be preempted.
  runtime_guarantee min_runtime{};
  /// From that age on, since its submission, no later job of the quota starts before one that asks for no
  /// more than the quota owns: it blocks those behind it as the first job of a strict queue does, except
  /// those that hold reservations by then (Volcano's `sla-waiting-time`). So it starts once these and the
  /// jobs that its quota runs have ended, if they give wrong estimates or none; much may be idle until then:
  /// see bench/lab/README.md, "Reservations". Who comes later is as `backfill_order` says, which lets no job
  /// come earlier by more than this. In units of the host's clock; 0: it may be passed for ever.
  instant strict_after = 0;
  /// Nothing is evicted, or restarted elsewhere, for a job of the quota that has waited less than that since
  /// it was submitted (`timed_view`), ready (`ready_view`) or evicted last, whichever is the latest; of an
  /// elastic job, or a pod of it, since it or a pod of it was (KAI 0.17's preemption delay). In a cluster
  /// that grows it gives new nodes the time to come. Meanwhile it starts where there is room, is evicted
  /// itself like any other, and a reservation on what its quota owns counts on what others have borrowed from
  /// then on only. A start that failed does not begin the wait again, nor does `hold`. Its reason may be
  /// `pending_reason::preempts_later`; `scheduler::wakes_at` says when it has come. In units of the host's
  /// clock; 0: it preempts at once. For cycles that can do it (`delaying_cycle`).
  instant preempt_after = 0;
  /// With `queue_head::reserve`: how many of its jobs that are ready hold a reservation at once, and how many
  /// of those that are not (`ready_view`); these keep theirs when they are. 1: the first that can't
  /// start (EASY backfilling); `reserve_all`: every job (conservative backfilling).
  std::uint32_t reservations = 1;
  /// With `queue_head::reserve`: whether a job whose start can't be determined gathers capacity instead, as
  /// one of those `reservations`.
  gathering gather{};
  /// With `queue_head::reserve`: when a job waits for a start that is known rather than preempt. It does if
  /// its victims would lose at least so many percent of the work that it could do until then (`lost_work`;
  /// what it requests times the wait), summed over all resources that the tree counts; at most a million.
  /// 100: a GPU-hour lost weighs as much as one waited for; 0: it preempts at once. An owner then may have to
  /// wait for what is its own, although for a known time; without a reservation, or a known start, a job
  /// preempts in any case. One that waits for this has `pending_reason::lost_work`.
  std::int32_t wait_if_loss_percent = 0;
  /// With `queue_head::reserve`: the order of its other jobs; of `shortest_estimate`, once all reservations
  /// are held.
  backfill_order backfill = backfill_order::queue;
  /// With `queue_head::reserve` and `preempt_reclaim::any`: whether jobs that use what the quota owns
  /// backfill like all others where a job with a reservation is to borrow it; when that job runs, they take
  /// it back. Otherwise they start at once, and a large job that borrows waits until the owners have nothing
  /// to do.
  bool owners_backfill = false;
  /// For how long the quota does not borrow a resource after owners have reclaimed some of it from its jobs
  /// (evictions with `relation::borrower`). A job that would borrow it by then waits, with
  /// `pending_reason::backoff`; what the quota owns, and other resources, it may use, and jobs decided on
  /// before that start. Otherwise a quota that was just reclaimed may borrow again at once, where another
  /// flavor or another job has left something, only to be reclaimed again (Kueue's KEP-14468).
  ///
  /// Twice as long each time in a row, at most `longest`. A reclaim counts if the run that it ended had
  /// started at or after the last one; others only restart the span. A run that started at or after the last
  /// reclaim, and finishes while the quota borrows the resource, ends the row. In a strict queue a job that
  /// waits for this blocks those behind it. For cycles that can do it (`backing_off_cycle`).
  ///
  /// It trades waits for work that is not lost: bench/lab/README.md, "Reservations".
  backoff_times borrow_backoff{};

  /// How long before they are ready (`ready_view`) the quota's jobs count as wanting. From then on no job
  /// starts that would have to be evicted for one of them as soon as it is ready: by a job of its own quota
  /// that it yields to, or by one that takes back what its quota owns. (A job that is expected to be gone by
  /// then starts.) So nobody is started for seconds, and what is kept idle is kept for as long as this at
  /// most. In a strict queue such a job blocks those behind it. Jobs that are ready later are in nobody's
  /// way, unless they hold a reservation.
  ///
  /// None: a minute if the view says how the host measures time (`clocked_view`); elsewhere, as the library
  /// does not know how long a minute is, 0: nothing is kept. For cycles that can do it (`reserving_cycle`).
  std::optional<instant> ready_horizon{};

  friend bool operator==(const queue_settings&, const queue_settings&) = default;
};

/// These settings with reservations for so many jobs at once, and the others in that order; with 0, as they
/// are.
[[nodiscard]] constexpr queue_settings with_reservations(queue_settings settings, std::uint32_t reservations,
                                                         backfill_order backfill) noexcept {
  if (reservations == 0) return settings;
  settings.head = queue_head::reserve;
  settings.reservations = reservations;
  settings.backfill = backfill;
  return settings;
}

/// The settings with `queue_head::by_preset` resolved by those of a quota that is not configured.
[[nodiscard]] constexpr queue_settings with_head(queue_settings settings,
                                                 const queue_settings& unconfigured) noexcept {
  if (settings.head != queue_head::by_preset) return settings;
  settings.head = unconfigured.head;
  settings.reservations = unconfigured.reservations;
  settings.gather = unconfigured.gather;
  settings.wait_if_loss_percent = unconfigured.wait_if_loss_percent;
  settings.backfill = unconfigured.backfill;
  settings.owners_backfill = unconfigured.owners_backfill;
  return settings;
}

/// The contradictions in the settings of a quota: values that no member can have, and members that are set
/// but have no effect without another one. `judges_rivals` is what the policies' guard says of itself;
/// nullopt if it does not say.
[[nodiscard]] inline vector<problem> contradictions(std::string_view quota, const queue_settings& s,
                                                    std::optional<bool> judges_rivals) {
  vector<problem> found;
  const auto report = [&](problem_code code, const char* field, const char* text) {
    detail::add_problem(found, code, quota, field, {quota, ": ", text});
  };
  const preempt_settings& p = s.preempt;
  const bool borrows = p.borrow != preempt_borrow::never;
  if (p.borrow_max_priority && !borrows) {
    report(problem_code::contradiction, "preempt.borrow_max_priority",
           "this bounds what jobs may preempt while they borrow: set preempt.borrow too");
  }
  const auto bounded = [&](const priority_bounds& by, bool may, const char* field, const char* policy) {
    const auto is_empty = [](const priority_range& r) { return r.least > r.most; };
    if (by != priority_bounds{} && !may) report(problem_code::contradiction, field, policy);
    if (is_empty(by.preempting) || is_empty(by.preempted)) {
      report(problem_code::contradiction, field, "no priority is in a range whose least is above its most");
    }
  };
  bounded(p.reclaim_priorities, p.reclaim != preempt_reclaim::never, "preempt.reclaim_priorities",
          "this bounds what jobs may reclaim, and they reclaim nothing: set preempt.reclaim, too");
  bounded(p.children_priorities, p.children, "preempt.children_priorities",
          "this bounds what jobs may take from the quotas below: set preempt.children, too");
  if (asks_rivals(p) && !judges_rivals.value_or(true)) {
    report(problem_code::contradiction, "preempt.rivals",
           "jobs take from rivals only if a guard says when that is fair: choose one, e.g. final_share");
  }
  if (asks_rivals(with_guard(p, judges_rivals.value_or(false))) && borrows) {
    report(problem_code::contradiction, "preempt.borrow",
           "what priority takes, fair share takes back: not to be combined with preempt.rivals");
  }
  const queue_settings by_default{};
  const bool reserves = s.head == queue_head::reserve;
  const auto needs_reservations = [&](bool is_set, const char* field, const char* text) {
    if (is_set && !reserves) report(problem_code::contradiction, field, text);
    return is_set && reserves;
  };
  if (reserves && s.reservations == 0) {
    report(problem_code::contradiction, "reservations",
           "a queue with no reservations: set head to best_effort, or reservations to 1 or more");
  }
  needs_reservations(s.reservations != by_default.reservations, "reservations",
                     "its jobs hold no reservations, however many: set head to reserve");
  needs_reservations(s.backfill != by_default.backfill, "backfill",
                     "jobs backfill only where others hold reservations: set head to reserve");
  if (needs_reservations(s.owners_backfill, "owners_backfill",
                         "owners backfill only where jobs hold reservations: set head to reserve") &&
      !always_reclaims(p)) {
    report(problem_code::contradiction, "owners_backfill",
           "owners backfill only what they can take back: set preempt.reclaim to any, for all priorities");
  }
  if (s.gather.longest < 0) {
    report(problem_code::negative, "gather.longest", "jobs can't gather for a negative time");
  }
  needs_reservations(s.gather.longest > 0, "gather",
                     "only a queue with reservations gathers: set head to reserve");
  if (s.gather.percent < 1 || s.gather.percent > 100) {
    report(problem_code::out_of_range, "gather.percent", "a part in percent is from 1 to 100");
  } else if (s.gather.longest == 0 && s.gather.percent != by_default.gather.percent) {
    report(problem_code::contradiction, "gather.percent",
           "this bounds what jobs gather, and none does: set gather.longest, too");
  }
  if (s.strict_after < 0) {
    report(problem_code::negative, "strict_after", "jobs can't be passed for a negative time");
  } else if (s.strict_after > 0 && s.head == queue_head::strict) {
    report(problem_code::contradiction, "strict_after",
           "no job passes another in a strict queue: leave it out, or set head to best_effort or reserve");
  }
  if (s.preempt_after < 0) {
    report(problem_code::negative, "preempt_after", "jobs can't wait for a negative time");
  } else if (s.preempt_after > 0 && !may_preempt(with_guard(p, judges_rivals.value_or(false)))) {
    report(problem_code::contradiction, "preempt_after",
           "its jobs can preempt nothing, however long they wait: set preempt");
  }
  if (s.wait_if_loss_percent < 0) {
    report(problem_code::negative, "wait_if_loss_percent", "a part in percent can't be negative");
  }
  if (constexpr std::int32_t most = 1'000'000; s.wait_if_loss_percent > most) {
    report(problem_code::out_of_range, "wait_if_loss_percent", "at most a million percent");
  }
  if (needs_reservations(s.wait_if_loss_percent > 0, "wait_if_loss_percent",
                         "only a job with a reservation knows how long it waits: set head to reserve") &&
      !may_preempt(with_guard(p, judges_rivals.value_or(false)))) {
    report(problem_code::contradiction, "wait_if_loss_percent",
           "its jobs can preempt nothing, so they wait in any case: set preempt");
  }
  if (s.ready_horizon.value_or(0) < 0) {
    report(problem_code::negative, "ready_horizon", "a job can't count as wanting for a negative time");
  }
  if (s.min_runtime.preempt < 0 || s.min_runtime.reclaim < 0) {
    report(problem_code::negative, "min_runtime", "a minimum runtime can't be negative");
  }
  if (s.borrow_backoff.first < 0 || s.borrow_backoff.longest < 0) {
    report(problem_code::negative, "borrow_backoff", "a backoff can't be negative");
  } else if (s.borrow_backoff.first > s.borrow_backoff.longest) {
    report(problem_code::contradiction, "borrow_backoff", "the first backoff is longer than the longest");
  } else if (s.borrow_backoff.first == 0 && s.borrow_backoff.longest > 0) {
    report(problem_code::contradiction, "borrow_backoff",
           "there is no backoff that could become longer: set borrow_backoff.first, too");
  }
  return found;
}

/// What a scheduler can do that not every cycle, or view, can.
struct cycle_abilities {
  /// Its cycle gives blocked jobs reservations with a time (`reserving_cycle`).
  bool reserves = false;
  /// Its view says when jobs are expected to end, on which these depend.
  bool knows_ends = false;
  /// Its cycle lets no job borrow while its quota backs off (`backing_off_cycle`).
  bool backs_off = false;
  /// Its cycle evicts nobody for a job that has not waited long enough (`delaying_cycle`).
  bool delays_preemption = false;
  /// Its view shows when jobs were submitted (`timed_view`).
  bool knows_submissions = false;
  /// Its view shows which flavors jobs accept (`flavored_view`).
  bool knows_flavors = false;
  /// Its view shows when jobs are ready (`ready_view`).
  bool knows_ready_times = false;
};
/// What the settings of a quota ask of a scheduler that it can't do.
[[nodiscard]] inline vector<problem> unsupported(std::string_view quota, const queue_settings& s,
                                                 const cycle_abilities& can) {
  vector<problem> found;
  const auto report = [&](const char* field, const char* text) {
    detail::add_problem(found, problem_code::contradiction, quota, field, {text});
  };
  if (s.head == queue_head::reserve && !can.reserves) {
    report("head", "the cycle of these policies makes no reservations with a time");
  } else if (s.head == queue_head::reserve && !can.knows_ends) {
    report("head", "reservations depend on when jobs are expected to end: the view needs estimate(job)");
  }
  if (s.flavors != flavor_choice{} && !can.knows_flavors) {
    report("flavors", "jobs have no choice of flavors: the view needs flavors(job, pods)");
  }
  if (s.ready_horizon.value_or(0) > 0 && !can.knows_ready_times) {
    report("ready_horizon", "every job can start at once: the view needs ready_at(job)");
  } else if (s.ready_horizon.value_or(0) > 0 && !can.reserves) {
    report("ready_horizon", "to the cycle of these policies a job that is not ready is not there");
  }
  if (s.preempt_after > 0 && !can.delays_preemption) {
    report("preempt_after", "the cycle of these policies does not look at how long jobs have waited");
  } else if (s.preempt_after > 0 && !can.knows_submissions) {
    report("preempt_after", "it is not known how long jobs have waited: the view needs submitted(job)");
  }
  if (s.strict_after > 0 && !can.knows_submissions) {
    report("strict_after", "it is not known how old jobs are: the view needs submitted(job)");
  }
  if (s.borrow_backoff.first > 0 && !can.backs_off) {
    report("borrow_backoff",
           "the cycle of these policies does not keep quotas from borrowing after a reclaim");
  }
  return found;
}

}  // namespace v0
}  // namespace allot

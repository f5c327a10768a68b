// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/job_rank.hpp>
#include <allot/scheduler/detail/pending_heap.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace allot {
inline namespace v0 {

/// Numbers what jobs request, see `detail::request_classes`.
using class_number = recycled_id<struct class_tag>;

/// A stay in a queue has begun or ended.
struct queue_change {
  /// The job.
  job_id id;
  /// Which of its stays in the queue.
  std::uint32_t ticket = 0;
  /// Whether the stay begins, rather than ends.
  bool begins = false;
};

/// The pending jobs of one quota, grouped by equivalence class: jobs with the same request have the same
/// chances. When the first of a class can't be admitted the whole class is inadmissible until the world
/// changes, so a queue of a million jobs in a dozen sizes takes a dozen attempts, not a million. Where
/// others hold reservations, jobs of the class that end before these may still have chances: then the class
/// is inadmissible only for those that end later.
///
/// `is_current(entry)` says whether the job still waits under that ticket; entries that do not are dropped
/// when they come up, or all at once when they are more than half of all entries.
class pending_queue {
 public:
  /// A job that precedes the one that blocks the queue, or the one with which its equivalence class
  /// became inadmissible, makes those admissible again: it may be allowed to preempt where they were not.
  /// O(log jobs + equivalence classes).
  void push(class_number request_class, const pending_entry& entry) {
    answered_.reset();
    if (blocked_ && entry.rank < groups_[first_].jobs.front().rank) blocked_ = false;
    auto at = place_of(request_class);
    const bool is_new = at == groups_.end() || at->request_class != request_class;
    if (is_new && groups_.size() >= most_groups_) {
      forget_empty();
      at = place_of(request_class);
    }
    const auto i = static_cast<std::size_t>(at - groups_.begin());
    if (is_new) {
      groups_.insert(at, group{request_class, {}, {}, {}, 0});
      if (i <= first_) ++first_;
      for (std::size_t& other : waiting_) other += other >= i ? 1 : 0;
    }
    group& g = groups_[i];
    if (g.jobs.empty()) waiting_.push_back(i);
    if (g.inadmissible && entry.rank < *g.inadmissible) g.inadmissible.reset();
    g.jobs.push(entry);
    ++g.current;
    ++entries_;
  }

  /// The first job that may be tried, none if the queue is blocked or all that wait are inadmissible; or the
  /// one with the least estimate, if `shortest_first`. O(equivalence classes with jobs); O(1) if nothing has
  /// changed since it was asked the same.
  template <class IsCurrent>
  [[nodiscard]] const std::optional<pending_entry>& first(IsCurrent is_current, instant now = 0,
                                                          bool shortest_first = false) {
    const question asked{now, shortest_first};
    if (answered_ == asked) return answer_;
    if (stale_ > entries_ / 2) sweep(is_current);
    answer_ = find_first(is_current, now, shortest_first);
    answered_ = asked;
    return answer_;
  }
  /// Whether a job of an earlier rank waits, inadmissible or not. O(equivalence classes with jobs).
  template <class IsCurrent>
  [[nodiscard]] bool has_before(const job_rank& rank, IsCurrent is_current) {
    for (std::size_t k = waiting_.size(); k-- > 0;) {
      group& g = groups_[waiting_[k]];
      if (drop_stale(g, is_current)) answered_.reset();
      if (!g.jobs.empty() && g.jobs.front().rank < rank) return true;
    }
    return false;
  }
  /// Takes out a waiting job, wherever it is. O(log jobs) if it is the first of its equivalence class, or
  /// what `first` returned; otherwise its entry is dropped when it comes up. A class that no job waits with
  /// is not inadmissible.
  void take_out(class_number request_class, job_id id) {
    answered_.reset();
    const std::size_t i = static_cast<std::size_t>(place_of(request_class) - groups_.begin());
    group& g = groups_[i];
    const std::size_t at = i == first_ && at_ < g.jobs.size() && g.jobs[at_].id == id ? at_ : 0;
    if (--g.current == 0) g.inadmissible.reset();
    if (g.jobs.empty() || g.jobs[at].id != id) {
      ++stale_;
      return;
    }
    if (i == first_) blocked_ = false;
    remove(g, at);
  }
  /// Of the equivalence class of the job that `first` returned, none is tried again until `requeue`, except
  /// those that would end by `ends_by`.
  void mark_inadmissible(const std::optional<instant>& ends_by = std::nullopt) {
    answered_.reset();
    group& g = groups_[first_];
    if (!g.inadmissible || g.jobs[at_].rank < *g.inadmissible) g.inadmissible = g.jobs[at_].rank;
    g.ends_by = ends_by;
  }
  /// None of the jobs that wait now is tried again until `requeue`. O(equivalence classes with jobs).
  template <class IsCurrent>
  void mark_all_inadmissible(IsCurrent is_current) {
    answered_.reset();
    for (const std::size_t i : waiting_) {
      group& g = groups_[i];
      if (g.inadmissible) continue;
      drop_stale(g, is_current);
      if (!g.jobs.empty()) g.inadmissible = g.jobs.front().rank;
    }
  }
  /// The job that `first` returned blocks all that come after it until `requeue`, or until it is cancelled.
  void block_at_first() {
    answered_.reset();
    blocked_ = true;
  }
  /// Calls `visit(class_number)` for each equivalence class with a job that may be tried, perhaps also for
  /// one whose jobs have all stopped waiting. O(equivalence classes with jobs).
  template <class Visit>
  void for_each_open_class(Visit visit) const {
    if (blocked_) return;
    for (const std::size_t i : waiting_) {
      const group& g = groups_[i];
      if (!g.inadmissible || g.ends_by) visit(g.request_class);
    }
  }
  /// Whether every equivalence class with jobs is inadmissible, and `is_so(class_number, entry)` for its
  /// first job; of a `strict` queue, for the job that blocks it. O(equivalence classes with jobs).
  template <class IsCurrent, class IsSo>
  [[nodiscard]] bool all_tried(IsCurrent is_current, bool strict, IsSo is_so) {
    if (blocked_ != strict) return false;
    // From the last, because a class without jobs is replaced by the last.
    for (std::size_t k = waiting_.size(); k-- > 0;) {
      group& g = groups_[waiting_[k]];
      if (blocked_ && waiting_[k] != first_) continue;
      if (drop_stale(g, is_current)) answered_.reset();
      if (g.jobs.empty()) continue;
      const bool is_open = !blocked_ && (!g.inadmissible || g.ends_by);
      if (is_open || !is_so(g.request_class, g.jobs.front())) return false;
      // As if it were tried again.
      if (g.inadmissible) g.inadmissible = g.jobs.front().rank;
    }
    return true;
  }
  /// Calls `visit(entry)` for every entry, stale ones too, in no particular order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const std::size_t i : waiting_) groups_[i].jobs.for_each(visit);
  }
  /// Calls `visit(entry, rank, ends_by)` for every entry of an inadmissible class, stale ones too: the rank
  /// of the job that was tried, and by when a job has to end to be tried all the same.
  template <class Visit>
  void for_each_inadmissible(Visit visit) const {
    for (const std::size_t i : waiting_) {
      const group& g = groups_[i];
      if (!g.inadmissible) continue;
      g.jobs.for_each([&](const pending_entry& e) { visit(e, *g.inadmissible, g.ends_by); });
    }
  }
  /// The job that blocks the queue, perhaps a stale one; null if none does.
  [[nodiscard]] const pending_entry* blocking() const {
    return blocked_ ? &groups_[first_].jobs.front() : nullptr;
  }
  /// @{
  /// As they were before a restart, of a class with a waiting job.
  void restore_inadmissible(class_number request_class, const job_rank& rank,
                            const std::optional<instant>& ends_by) {
    answered_.reset();
    group& g = *place_of(request_class);
    g.inadmissible = rank;
    g.ends_by = ends_by;
  }
  void restore_blocking(class_number request_class) {
    answered_.reset();
    first_ = static_cast<std::size_t>(place_of(request_class) - groups_.begin());
    at_ = 0;
    blocked_ = true;
  }
  /// @}
  /// The clock has moved by that span.
  void rebase(instant by) {
    answered_.reset();
    for (group& g : groups_) {
      if (g.ends_by) g.ends_by = detail::moved(*g.ends_by, by);
    }
  }
  /// Lets all jobs be tried again.
  void requeue() {
    answered_.reset();
    blocked_ = false;
    for (group& g : groups_) g.inadmissible.reset();
  }

 private:
  /// This many equivalence classes are kept for jobs to come, even if no job waits.
  static constexpr std::size_t least_groups = 64;

  /// What `first` was asked.
  struct question {
    instant now = 0;
    bool shortest_first = false;

    friend bool operator==(const question&, const question&) = default;
  };
  struct group {
    class_number request_class;
    /// The rank of the job that could not be admitted.
    std::optional<job_rank> inadmissible;
    /// By then a job has to end to be admissible all the same; none: no job is.
    std::optional<instant> ends_by;
    detail::pending_heap jobs;
    /// How many of them are not stale.
    std::size_t current = 0;
  };

  [[nodiscard]] vector<group>::iterator place_of(class_number request_class) {
    return detail::partition_point(groups_.begin(), groups_.end(),
                                   [&](const group& g) { return g.request_class < request_class; });
  }
  /// Drops the empty equivalence classes. By then they are as many as the others, or few.
  void forget_empty() {
    const class_number blocking = blocked_ ? groups_[first_].request_class : class_number{};
    erase_if(groups_, [](const group& g) { return g.jobs.empty(); });
    list_waiting();
    first_ = blocked_ ? static_cast<std::size_t>(place_of(blocking) - groups_.begin()) : 0;
    most_groups_ = std::max(least_groups, 2 * groups_.size());
  }
  void remove(group& g, std::size_t at) {
    g.jobs.remove(at);
    --entries_;
    if (!g.jobs.empty()) return;
    *detail::find(waiting_.begin(), waiting_.end(), static_cast<std::size_t>(&g - groups_.begin())) =
        waiting_.back();
    waiting_.pop_back();
  }
  void list_waiting() {
    waiting_.clear();
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (!groups_[i].jobs.empty()) waiting_.push_back(i);
    }
  }
  template <class IsCurrent>
  [[nodiscard]] std::optional<pending_entry> find_first(IsCurrent is_current, instant now,
                                                        bool shortest_first) {
    if (blocked_ && drop_stale(groups_[first_], is_current)) blocked_ = false;
    if (blocked_) return std::nullopt;
    const pending_entry* best = nullptr;
    // From the last, because a class without jobs is replaced by the last.
    for (std::size_t k = waiting_.size(); k-- > 0;) {
      const std::size_t i = waiting_[k];
      group& g = groups_[i];
      drop_stale(g, is_current);
      const std::size_t at = first_of(g, is_current, now, shortest_first);
      if (at == detail::pending_heap::nowhere) continue;
      const pending_entry& e = g.jobs[at];
      const bool is_better =
          best == nullptr ||
          (shortest_first && e.estimate != best->estimate ? e.estimate < best->estimate : e.is_before(*best));
      if (!is_better) continue;
      best = &e;
      first_ = i;
      at_ = at;
    }
    return best == nullptr ? std::nullopt : std::optional{*best};
  }
  /// Where the first job of the group that may be tried is.
  template <class IsCurrent>
  [[nodiscard]] std::size_t first_of(group& g, IsCurrent is_current, instant now, bool shortest_first) {
    while (!g.jobs.empty()) {
      if (!g.inadmissible && !shortest_first) return 0;
      instant most = shortest_first ? g.jobs.shortest() : without_end;
      if (g.inadmissible) {
        if (!g.ends_by || *g.ends_by < later(now, g.jobs.shortest())) break;
        most = std::min(most, *g.ends_by - now);
      }
      const std::size_t at = g.jobs.first_within(most);
      if (waits(g.jobs[at], is_current)) return at;
      remove(g, at);
      --stale_;
    }
    return detail::pending_heap::nowhere;
  }
  /// Whether the job of the entry still waits. Most of the time it need not be asked.
  template <class IsCurrent>
  [[nodiscard]] bool waits(const pending_entry& e, IsCurrent is_current) const {
    ALLOT_ASSERT(stale_ > 0 || is_current(e), "that a job no longer waits must be noted");
    return stale_ == 0 || is_current(e);
  }
  /// Returns whether the first job of the group changed.
  template <class IsCurrent>
  bool drop_stale(group& g, IsCurrent is_current) {
    bool dropped = false;
    for (; !g.jobs.empty() && !waits(g.jobs.front(), is_current); dropped = true) {
      remove(g, 0);
      --stale_;
    }
    return dropped;
  }
  /// Otherwise a job that is never reached would keep all cancelled ones behind it.
  template <class IsCurrent>
  void sweep(IsCurrent is_current) {
    if (blocked_ && !is_current(groups_[first_].jobs.front())) blocked_ = false;
    entries_ = 0;
    for (group& g : groups_) {
      g.jobs.remove_if([&](const pending_entry& e) { return !is_current(e); });
      entries_ += g.jobs.size();
    }
    list_waiting();
    stale_ = 0;
  }

  vector<group> groups_;  // by equivalence class
  /// The positions of those with jobs, in no particular order.
  vector<std::size_t> waiting_;
  /// From this size on, empty equivalence classes are forgotten.
  std::size_t most_groups_ = least_groups;
  /// The group and the place in it of the job that `first` returned.
  std::size_t first_ = 0;
  std::size_t at_ = 0;
  std::size_t entries_ = 0;
  std::size_t stale_ = 0;
  bool blocked_ = false;
  /// What `first` was asked last and what it returned; none once that may differ.
  std::optional<question> answered_;
  std::optional<pending_entry> answer_;
};

}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/fairshare/job_rank.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace allot {
inline namespace v0 {

/// A pending job in its quota's queue. The ticket distinguishes it from other stays of the same id.
struct pending_entry {
  /// Its place in the queue: the least comes first.
  job_rank rank;
  /// The job.
  job_id id;
  /// Which of the job's stays in the queue this is; an entry of an earlier one is stale.
  std::uint32_t ticket = 0;
};

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
/// changes, so a queue of a million jobs in a dozen sizes takes a dozen attempts, not a million.
///
/// `is_current(entry)` says whether the job still waits under that ticket; entries that do not are dropped
/// when they come up, or all at once when they are more than half of all entries.
class pending_queue {
 public:
  /// A job that goes before the one that blocks the queue, or before the one with which its equivalence class
  /// became inadmissible, lets those be tried again: it may be allowed to preempt where they were not.
  /// O(log jobs + equivalence classes).
  void push(class_number request_class, const pending_entry& entry) {
    if (blocked_ && entry.rank < groups_[first_].jobs.front().rank) blocked_ = false;
    auto at = place_of(request_class);
    const bool is_new = at == groups_.end() || at->request_class != request_class;
    if (is_new && groups_.size() >= most_groups_) {
      forget_empty();
      at = place_of(request_class);
    }
    const auto i = static_cast<std::size_t>(at - groups_.begin());
    if (is_new) {
      groups_.insert(at, group{request_class, {}, {}});
      if (i <= first_) ++first_;
    }
    group& g = groups_[i];
    if (g.inadmissible && entry.rank < *g.inadmissible) g.inadmissible.reset();
    g.jobs.push_back(entry);
    std::push_heap(g.jobs.begin(), g.jobs.end(), goes_later);
    ++entries_;
  }
  /// To be called when a job no longer waits, unless it was taken out.
  void note_stale() noexcept { ++stale_; }

  /// The first job that may be tried, none if the queue is blocked or all that wait are inadmissible.
  /// O(equivalence classes).
  template <class IsCurrent>
  [[nodiscard]] std::optional<pending_entry> first(IsCurrent is_current) {
    if (stale_ > entries_ / 2) sweep(is_current);
    if (blocked_ && drop_stale(groups_[first_], is_current)) blocked_ = false;
    if (blocked_) return std::nullopt;
    const group* best = nullptr;
    for (group& g : groups_) {
      drop_stale(g, is_current);
      if (g.inadmissible || g.jobs.empty()) continue;
      if (best == nullptr || g.jobs.front().rank < best->jobs.front().rank) best = &g;
    }
    if (best == nullptr) return std::nullopt;
    first_ = static_cast<std::size_t>(best - groups_.data());
    return best->jobs.front();
  }
  /// Takes out a waiting job, wherever it is. O(log jobs) if it is the first of its equivalence class;
  /// otherwise its entry is dropped when it comes up.
  void take_out(class_number request_class, job_id id) {
    const std::size_t i = static_cast<std::size_t>(place_of(request_class) - groups_.begin());
    group& g = groups_[i];
    if (g.jobs.empty() || g.jobs.front().id != id) return note_stale();
    if (i == first_) blocked_ = false;
    pop(g);
  }
  /// The equivalence class of the job that `first` returned is not tried again until `requeue`.
  void mark_inadmissible() { groups_[first_].inadmissible = groups_[first_].jobs.front().rank; }
  /// The job that `first` returned blocks all that come after it until `requeue`, or until it is cancelled.
  void block_at_first() { blocked_ = true; }
  /// Calls `visit(class_number)` for each equivalence class with a job that may be tried, perhaps also for
  /// one whose jobs have all stopped waiting. O(equivalence classes).
  template <class Visit>
  void for_each_open_class(Visit visit) const {
    if (blocked_) return;
    for (const group& g : groups_) {
      if (!g.inadmissible && !g.jobs.empty()) visit(g.request_class);
    }
  }
  /// Calls `visit(entry)` for every entry, stale ones too, in no particular order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const group& g : groups_) {
      for (const pending_entry& e : g.jobs) visit(e);
    }
  }
  /// Lets all jobs be tried again.
  void requeue() {
    blocked_ = false;
    for (group& g : groups_) g.inadmissible.reset();
  }

 private:
  /// This many equivalence classes are kept for jobs to come, even if no job waits.
  static constexpr std::size_t least_groups = 64;

  struct group {
    class_number request_class;
    /// The rank of the job that could not be admitted.
    std::optional<job_rank> inadmissible;
    std::vector<pending_entry> jobs;  // a heap, the next job in front
  };

  [[nodiscard]] std::vector<group>::iterator place_of(class_number request_class) {
    return std::lower_bound(groups_.begin(), groups_.end(), request_class,
                            [](const group& g, class_number s) { return g.request_class < s; });
  }
  /// Forgets the empty equivalence classes, and that they were inadmissible. By then they are as many as the
  /// others, or few.
  void forget_empty() {
    const class_number blocking = blocked_ ? groups_[first_].request_class : class_number{};
    std::erase_if(groups_, [](const group& g) { return g.jobs.empty(); });
    first_ = blocked_ ? static_cast<std::size_t>(place_of(blocking) - groups_.begin()) : 0;
    most_groups_ = std::max(least_groups, 2 * groups_.size());
  }
  static bool goes_later(const pending_entry& a, const pending_entry& b) { return b.rank < a.rank; }
  void pop(group& g) {
    std::pop_heap(g.jobs.begin(), g.jobs.end(), goes_later);
    g.jobs.pop_back();
    --entries_;
  }
  /// Returns whether the first job of the group changed.
  template <class IsCurrent>
  bool drop_stale(group& g, IsCurrent is_current) {
    bool dropped = false;
    for (; !g.jobs.empty() && !is_current(g.jobs.front()); dropped = true) {
      pop(g);
      if (stale_ > 0) --stale_;
    }
    return dropped;
  }
  /// Otherwise a job that never comes up would keep all cancelled ones behind it.
  template <class IsCurrent>
  void sweep(IsCurrent is_current) {
    if (blocked_ && !is_current(groups_[first_].jobs.front())) blocked_ = false;
    entries_ = 0;
    for (group& g : groups_) {
      std::erase_if(g.jobs, [&](const pending_entry& e) { return !is_current(e); });
      std::make_heap(g.jobs.begin(), g.jobs.end(), goes_later);
      entries_ += g.jobs.size();
    }
    stale_ = 0;
  }

  std::vector<group> groups_;  // by equivalence class
  /// From this size on, empty equivalence classes are forgotten.
  std::size_t most_groups_ = least_groups;
  std::size_t first_ = 0;
  std::size_t entries_ = 0;
  std::size_t stale_ = 0;
  bool blocked_ = false;
};

}  // namespace v0
}  // namespace allot

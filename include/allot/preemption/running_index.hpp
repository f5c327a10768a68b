// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/change_feed.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/ledger.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v0 {

/// A running job as a possible victim: all its pods, its core pods, or one pod beyond them.
template <std::size_t N = 1>
struct running_job {
  /// Its id; distinct among the running jobs.
  job_id id;
  /// The quota whose usage it is part of.
  quota_id quota;
  /// Its priority, higher first.
  std::int64_t priority = 0;
  /// When it was started last.
  instant started = 0;
  /// When it was submitted.
  instant submitted = 0;
  /// The host's stable id, to break ties.
  std::uint64_t order = 0;
  /// What it uses of its quota.
  resources<N> request{};
  /// Which capacity it was charged to.
  capacity_kind in = capacity_kind::any;
  /// One pod of an elastic job beyond its minimum: a unit of its own, with the quota and priority of its job.
  /// It yields before whole gangs of the same priority, and its job survives.
  bool elastic = false;
  /// The number of pods of this unit.
  std::uint32_t pods = 1;
  /// For an elastic pod: the job it belongs to, which never yields without it.
  job_id core{};
  /// The interval between checkpoints, at which work is saved; 0: never.
  instant checkpoint = 0;
  /// What a restart costs on top of the lost work.
  instant restart = 0;
};

/// The order in which jobs of a quota yield: lowest priority, then elastic pods before gangs, then newest
/// start, then the reverse of their queue order. The least yields first. Total, because ids differ.
struct victim_rank {
  /// The lowest priority yields first.
  std::int64_t priority = 0;
  /// Of one priority, elastic pods yield first.
  bool elastic = false;
  /// Of these, what was started last yields first.
  instant started = 0;
  /// Of these, what was submitted last yields first.
  instant submitted = 0;
  /// Of these, the largest sequence number yields first.
  std::uint64_t order = 0;
  /// Distinguishes the pods of one elastic job.
  job_id id{};

  /// The rank of a running job.
  template <std::size_t N>
  [[nodiscard]] static constexpr victim_rank of(const running_job<N>& job) noexcept {
    return {job.priority, job.elastic, job.started, job.submitted, job.order, job.id};
  }
  friend constexpr std::strong_ordering operator<=>(const victim_rank& a, const victim_rank& b) noexcept {
    if (const auto o = a.priority <=> b.priority; o != 0) return o;
    if (const auto o = b.elastic <=> a.elastic; o != 0) return o;
    if (const auto o = b.started <=> a.started; o != 0) return o;
    if (const auto o = b.submitted <=> a.submitted; o != 0) return o;
    if (const auto o = b.order <=> a.order; o != 0) return o;
    return b.id <=> a.id;
  }
  friend constexpr bool operator==(const victim_rank&, const victim_rank&) noexcept = default;
};
/// Which of two jobs of a quota yields first: less than 0 if a does.
template <std::size_t N>
[[nodiscard]] constexpr std::strong_ordering compare_as_victims(const running_job<N>& a,
                                                                const running_job<N>& b) noexcept {
  if (const auto o = victim_rank::of(a) <=> victim_rank::of(b); o != 0) return o;
  // Pods of one elastic job.
  return b.id <=> a.id;
}

/// The running jobs that may be preempted, and those for which room is being made, by quota, each quota's in
/// the order in which they would yield. Sorted arrays: a search reads them in sequence, and the job started
/// last is at the end of its priority, where it is cheap to insert. Insert and erase take O(log n)
/// comparisons and move the elements behind.
template <std::size_t N = 1>
class running_index {
 public:
  /// Makes room for quotas with ids below `slots`.
  void resize(std::size_t slots) {
    of_quota_.resize(slots);
    elastic_pods_.resize(slots);
  }

  /// Adds a job. Precondition: its quota is below the number of slots.
  void insert(const running_job<N>& job) {
    auto& jobs = of_quota_[job.quota.index()];
    news_.note({job.id, job.quota, true});
    jobs.insert(position(jobs, job), job);
    if (job.elastic) ++elastic_pods_[job.quota.index()];
  }
  /// Precondition: the job is in the index, with the same values.
  void erase(const running_job<N>& job) {
    auto& jobs = of_quota_[job.quota.index()];
    const auto at = position(jobs, job);
    ALLOT_ASSERT(at != jobs.end() && at->id == job.id, "no such running job");
    news_.note({job.id, job.quota, false});
    // `job` may be the very element that is erased.
    if (job.elastic) --elastic_pods_[job.quota.index()];
    jobs.erase(at);
  }

  /// All jobs started at another time: earlier or later by that span.
  void rebase(instant by) {
    for (list& jobs : of_quota_) {
      const list before = std::exchange(jobs, {});
      for (running_job<N> job : before) {
        job.started = detail::moved(job.started, by);
        jobs.insert(position(jobs, job), job);
      }
    }
  }

  /// The quota's jobs; the next to yield is at the end.
  [[nodiscard]] std::span<const running_job<N>> jobs_of(quota_id x) const { return of_quota_[x.index()]; }

  /// How many of the quota's jobs are elastic pods.
  [[nodiscard]] std::size_t elastic_count(quota_id x) const { return elastic_pods_[x.index()]; }

  /// A unit has been inserted or erased.
  struct change {
    /// The job, or elastic pod.
    job_id id;
    /// Its quota.
    quota_id quota;
    /// Inserted, rather than erased.
    bool comes = false;
  };
  /// From now on changes are recorded until they are taken.
  void follow() { news_.follow(); }
  /// Calls `visit(change)` for each change since the last call, in order.
  template <class Visit>
  void take_changes(Visit visit) {
    news_.take(visit);
  }

  /// Calls `visit(unit)` for each elastic pod of a job, in the order in which they yield.
  /// O(log n + elastic pods of that quota and priority).
  template <class Visit>
  void for_each_elastic_pod(const running_job<N>& core, Visit visit) const {
    if (core.elastic || elastic_pods_[core.quota.index()] == 0) return;
    const list& jobs = of_quota_[core.quota.index()];
    // The elastic pods of a priority come after its gangs.
    const running_job<N>* end = detail::partition_point(
        jobs.begin(), jobs.end(), [&](const running_job<N>& j) { return j.priority >= core.priority; });
    while (end != jobs.begin()) {
      const running_job<N>& unit = *--end;
      if (!unit.elastic || unit.priority != core.priority) return;
      if (unit.core == core.id) visit(unit);
    }
  }

 private:
  using list = vector<running_job<N>>;

  [[nodiscard]] static typename list::iterator position(list& jobs, const running_job<N>& job) {
    return detail::partition_point(jobs.begin(), jobs.end(), [&](const running_job<N>& other) {
      return compare_as_victims(other, job) > 0;
    });
  }

  vector<list> of_quota_;
  /// How many of each quota's jobs are elastic pods.
  vector<std::size_t> elastic_pods_;
  change_feed<change> news_;
};

}  // namespace v0
}  // namespace allot

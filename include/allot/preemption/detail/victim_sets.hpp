// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/possible_victims.hpp>
#include <allot/preemption/protection.hpp>
#include <allot/preemption/running_index.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/quota/ledger.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v0 {
namespace detail {

/// All sets of victims of a small world that can be reached, each job being eligible after those before it.
/// Who is eligible depends on who is gone, not on the order in which they went, so each set is entered once.
/// `Queue` is the search's `victim_queue`.
template <std::size_t N, class Queue>
class victim_sets {
 public:
  /// How many jobs a small world has, at most, elastic pods counted one by one: 4,096 sets.
  static constexpr std::size_t most = 12;

  /// Gathers all jobs that may be preempted, now or after others; returns false if they are too many.
  bool gather(const running_index<N>& running, const beneficiary<N>& b,
              std::span<const possible_victims> possible) {
    jobs_.clear();
    const auto asked = detail::requested_dimensions(b);
    for (const possible_victims& these : possible) {
      const std::span<const running_job<N>> jobs = running.jobs_of(these.quota);
      // The lowest priority is last.
      for (std::size_t i = jobs.size(); i-- > 0 && jobs[i].priority <= these.highest_priority;) {
        // A pod that is of no use may go with its job.
        if (!jobs[i].elastic && !uses_any(jobs[i].request, asked)) continue;
        if (jobs_.size() == most) return false;
        jobs_.push_back({jobs[i]});
      }
    }
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      jobs_[i].goes = set{1} << i;
      for (std::size_t k = 0; k < jobs_.size(); ++k) {
        if (jobs_[k].job.elastic && jobs_[k].job.core == jobs_[i].job.id) jobs_[i].goes |= set{1} << k;
      }
    }
    return true;
  }

  /// Enters one set after another, by depth, from none, with at most `left` trials, which it counts, until
  /// `fits()`. Returns whether it did; then `path` names the victims. `may_go(job, progress)` says whether a
  /// job is eligible; `take` and `give_back` let one go and come back. On return none is gone.
  template <class MayGo, class Take, class GiveBack, class Fits>
  bool enter(std::size_t& left, MayGo may_go, Take take, GiveBack give_back, Fits fits) {
    path_.clear();
    entered_.assign((std::size_t{1} << jobs_.size()), false);
    const auto each_of = [&](set some, auto act) {
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if ((some >> i & 1U) != 0) act(jobs_[i].job);
      }
    };
    set gone = 0;
    bool found = false;
    for (std::size_t next = 0; !found;) {
      for (; next < jobs_.size(); ++next) {
        if ((gone >> next & 1U) != 0 || entered_[gone | jobs_[next].goes]) continue;
        search_progress<N> progress;
        each_of(gone, [&](const running_job<N>& other) {
          ++progress.evictions;
          progress.evictions_of_quota += other.quota == jobs_[next].job.quota ? 1U : 0U;
          progress.released += other.request;
        });
        if (may_go(jobs_[next].job, progress)) break;
      }
      if (next < jobs_.size() && left > 0) {
        --left;
        path_.push_back({next, gone});
        each_of(jobs_[next].goes & ~gone, take);
        gone |= jobs_[next].goes;
        entered_[gone] = true;
        found = fits();
        next = 0;
        continue;
      }
      if (path_.empty() || left == 0) break;
      const step last = path_.back();
      path_.pop_back();
      each_of(gone & ~last.before, give_back);
      gone = last.before;
      next = last.job + 1;
    }
    each_of(gone, give_back);
    return found;
  }
  /// Calls `visit(job)` for each victim of the set that fits, in an order in which they are eligible, until
  /// it returns true; returns whether it did. Pods go with their jobs.
  template <class Visit>
  bool path(Visit visit) const {
    return detail::any_of(path_.begin(), path_.end(), [&](const step& s) { return visit(jobs_[s.job].job); });
  }

 private:
  /// A bit for each job.
  using set = std::uint32_t;
  struct candidate {
    running_job<N> job{};
    /// Who goes with it, and itself.
    set goes = 0;
  };
  struct step {
    std::size_t job;
    set before;
  };

  vector<candidate> jobs_;
  vector<step> path_;
  vector<bool> entered_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

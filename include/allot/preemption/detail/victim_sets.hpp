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

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v0 {
namespace detail {

/// The sets of victims of a small world that can be reached, each job being eligible after those before it.
/// Who is eligible depends on who is gone, not on the order in which they went, so each set is entered once;
/// and none from one on from which there is no room even without all that may still go.
template <std::size_t N>
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
      jobs_[i].goes = bit(i);
      for (std::size_t k = 0; k < jobs_.size(); ++k) {
        if (jobs_[k].job.elastic && jobs_[k].job.core == jobs_[i].job.id) jobs_[i].goes |= bit(k);
      }
    }
    return true;
  }

  /// Enters one set after another, by depth, from none, until `fits()`; returns whether it did. Each call of
  /// that counts against `left`. `may_go(job, progress)` says whether a job is eligible, `may_still_go(job)`
  /// whether it may be later; `take` and `give_back` let one go and come back. On return none is gone.
  template <class MayGo, class MayStillGo, class Take, class GiveBack, class Fits>
  bool enter(std::size_t& left, MayGo may_go, MayStillGo may_still_go, Take take, GiveBack give_back,
             Fits fits) {
    const auto each_of = [&](set some, auto act) {
      for (; some != 0; some &= some - 1) act(jobs_[first_of(some)].job);
    };
    const auto makes_room = [&] { return left > 0 && (--left, fits()); };
    // Whom to try after those gone.
    const auto after = [&](set gone) {
      set open = 0;
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if ((gone & bit(i)) == 0 && may_still_go(jobs_[i].job)) open |= jobs_[i].goes & ~gone;
      }
      each_of(open, take);
      const bool is_room = makes_room();
      each_of(open, give_back);
      return step{gone, is_room ? open : 0};
    };
    entered_.assign(std::size_t{1} << jobs_.size(), false);
    path_.clear();
    path_.push_back(after(0));
    set gone = 0;
    bool found = false;
    while (!found && !path_.empty()) {
      step& s = path_.back();
      each_of(gone & ~s.gone, give_back);
      gone = s.gone;
      if (s.open == 0) {
        path_.pop_back();
        continue;
      }
      s.job = first_of(s.open);
      s.open &= s.open - 1;
      const candidate& next = jobs_[s.job];
      if (entered_[gone | next.goes]) continue;
      search_progress<N> progress;
      each_of(gone, [&](const running_job<N>& other) {
        ++progress.evictions;
        progress.evictions_of_quota += other.quota == next.job.quota ? 1U : 0U;
        progress.released += other.request;
      });
      if (!may_go(next.job, progress)) continue;
      each_of(next.goes & ~gone, take);
      gone |= next.goes;
      entered_[gone] = true;
      found = makes_room();
      if (!found) path_.push_back(after(gone));
    }
    each_of(gone, give_back);
    return found;
  }
  /// Calls `visit(job)` for each victim of the set that fits, in an order in which they are eligible, until
  /// it returns true; returns whether it did. Pods go with their jobs.
  template <class Visit>
  bool ask(Visit visit) const {
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
    set gone = 0;
    /// Who is still to be tried after those.
    set open = 0;
    /// Who was tried last.
    std::size_t job = 0;
  };

  [[nodiscard]] static constexpr set bit(std::size_t i) noexcept { return set{1} << i; }
  [[nodiscard]] static std::size_t first_of(set some) noexcept {
    return static_cast<std::size_t>(std::countr_zero(some));
  }

  vector<candidate> jobs_;
  vector<step> path_;
  vector<bool> entered_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/stamped_set.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/fill_back_by_halves.hpp>
#include <allot/preemption/running_index.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/preemption/victims.hpp>
#include <allot/quota/ledger.hpp>

#include <cstddef>
#include <span>

namespace allot {
inline namespace v0 {
namespace detail {

/// Victims that would make room, chosen from all candidates, whether or not they may be preempted in the end:
/// first those that a search has tried in turn, then the others in order, and of these only the needed ones.
/// `Queue` is the search's `victim_queue`; a `Supposition` is the search's: it lets jobs be gone and back,
/// and says whether there is then room.
template <std::size_t N, class Queue>
class wanted_victims {
 public:
  /// Gathers the victims in `asked` and all jobs skipped because of them. Returns whether there are any
  /// of the latter.
  bool gather(const ledger<N>& l, const beneficiary<N>& b, const Queue& queue,
              std::span<const victim<N>> asked) {
    candidates_.clear();
    for (const victim<N>& v : asked) candidates_.push_back({v.job, v.how});
    asked_ = candidates_.size();
    queue.for_each_passed_over(l, b, [&](const running_job<N>& job, relation how) {
      candidates_.push_back({job, how});
    });
    return candidates_.size() > asked_;
  }
  /// Adds those that are skipped now, in another state, and were not gathered.
  void gather_more(const ledger<N>& l, const beneficiary<N>& b, const Queue& queue) {
    known_.clear();
    for (const candidate& c : candidates_) known_.insert(c.job.id);
    queue.for_each_passed_over(l, b, [&](const running_job<N>& job, relation how) {
      if (!known_.contains(job.id)) candidates_.push_back({job, how});
    });
  }
  /// Sorts the others by their rank in this state.
  void rank(const ledger<N>& l, const beneficiary<N>& b, const Queue& queue) {
    order_.clear();
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      candidate& c = candidates_[i];
      order_.push_back(i);
      if (i < asked_) continue;
      c.rank = queue.order()(l, victim_candidate<N>{c.job.quota, c.how, c.job, c.job.request, b.now});
    }
    detail::sort(order_.begin() + static_cast<std::ptrdiff_t>(asked_), order_.end(),
                 [this](std::size_t i, std::size_t k) {
                   const candidate &x = candidates_[i], &y = candidates_[k];
                   return x.rank < y.rank || (!(y.rank < x.rank) && x.job.id.index() < y.job.id.index());
                 });
    ranked_.clear();
    for (const std::size_t i : order_) ranked_.push_back(candidates_[i]);
    std::swap(candidates_, ranked_);
  }

  /// Whether there is room without all of them, given that those tried are already gone; restores that state.
  /// If there is room, drops the others that do not help.
  template <class Supposition>
  [[nodiscard]] bool would_do(Supposition& without) {
    for (std::size_t i = asked_; i < candidates_.size(); ++i) without.take(candidates_[i].job);
    const bool yes = without.fits();
    for (std::size_t i = asked_; i < candidates_.size(); ++i) {
      candidates_[i].wanted = !yes || without.helps(candidates_[i].job);
    }
    for (std::size_t i = candidates_.size(); i-- > asked_;) without.give_back(candidates_[i].job);
    erase_if(candidates_, [](const candidate& c) { return !c.wanted; });
    return yes;
  }
  /// Decides, from the last on, which jobs need not be taken, with at most `left` trials, which it counts.
  /// None is taken on entry or on return. Returns false if there is no room even without all of them.
  template <class Supposition>
  bool choose(Supposition& without, std::size_t& left) {
    const auto take_at = [&](std::size_t i) {
      without.take(candidates_[i].job);
      candidates_[i].wanted = true;
    };
    const auto give_back_at = [&](std::size_t i) {
      without.give_back(candidates_[i].job);
      candidates_[i].wanted = false;
    };
    const auto fits = [&] { return left > 0 && (--left, without.fits()); };
    for (std::size_t i = 0; i < candidates_.size(); ++i) take_at(i);
    const bool any = fits();
    if (any) fill_back_by_halves(0, candidates_.size(), give_back_at, take_at, fits);
    for (std::size_t i = candidates_.size(); i-- > 0;) {
      if (candidates_[i].wanted) without.give_back(candidates_[i].job);
    }
    return any;
  }
  /// Calls `visit(job)` for the chosen jobs until it returns true; returns whether it did. Jobs that may open
  /// a claim come first, then the smallest, because a quota's last job may yield more than it borrows.
  template <class Visit>
  bool ask(Visit visit) {
    order_.clear();
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i].wanted) order_.push_back(i);
    }
    const auto size = [](const candidate& c) {
      quantity sum{};
      for (std::size_t d = 0; d < N; ++d) sum += c.job.request[d];
      return sum;
    };
    detail::sort(order_.begin(), order_.end(), [&](std::size_t i, std::size_t k) {
      const candidate &x = candidates_[i], &y = candidates_[k];
      const bool borrows = x.how == relation::borrower;
      if (borrows != (y.how == relation::borrower)) return !borrows;
      return size(x) != size(y) ? size(x) < size(y) : i < k;
    });
    return detail::any_of(order_.begin(), order_.end(),
                          [&](std::size_t i) { return visit(candidates_[i].job); });
  }
  /// Drops the chosen jobs that have not been taken because they may not be. Returns whether there are any.
  bool drop_unwilling(const Queue& queue) {
    return erase_if(candidates_, [&](const candidate& c) { return c.wanted && !queue.is_taken(c.job.id); }) >
           0;
  }

 private:
  /// A job that may be preempted now, or could have been before others were taken.
  struct candidate {
    running_job<N> job{};
    relation how{};
    typename Queue::key rank{};
    bool wanted = true;
  };

  vector<candidate> candidates_;
  /// The same in order, while they are sorted: kept for its memory.
  vector<candidate> ranked_;
  /// How many were tried in turn.
  std::size_t asked_ = 0;
  stamped_set<job_id> known_;
  /// The indices of the chosen candidates.
  vector<std::size_t> order_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

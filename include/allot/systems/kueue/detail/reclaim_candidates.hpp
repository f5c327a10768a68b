// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/fill_back_by_halves.hpp>
#include <allot/preemption/running_index.hpp>
#include <allot/preemption/search.hpp>
#include <allot/quota/ledger.hpp>

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <utility>

namespace allot {
inline namespace v0 {

/// A job that may be preempted, in a search where jobs already being evicted count as still there.
template <std::size_t N>
struct candidate {
  const running_job<N>* job = nullptr;
  /// Already being evicted: counting on it costs nothing.
  bool leaving = false;
};

/// The jobs that hold something: `for_each(x, visit)` calls `visit(candidate)` for each job of quota x,
/// including those being evicted, in any order; `any_leaving()` says whether there may be any of these. A job
/// that `is_gone` is not among them. Within a cycle jobs only go.
template <class Jobs, std::size_t N>
concept holding_jobs = requires(const Jobs jobs, quota_id x, job_id id, void (*visit)(const candidate<N>&)) {
  jobs.for_each(x, visit);
  { jobs.any_leaving() } -> std::same_as<bool>;
  { jobs.is_gone(id) } -> std::same_as<bool>;
};

/// Kueue's order of candidates: jobs already being evicted, then those of other quotas than the
/// beneficiary's, lowest priority, newest start, and finally the host's stable id.
template <std::size_t N>
[[nodiscard]] constexpr std::strong_ordering compare_candidates(const candidate<N>& a, const candidate<N>& b,
                                                                quota_id own) noexcept {
  if (a.leaving != b.leaving) return b.leaving <=> a.leaving;
  if (const auto o = (a.job->quota == own) <=> (b.job->quota == own); o != 0) return o;
  if (const auto o = a.job->priority <=> b.job->priority; o != 0) return o;
  if (const auto o = b.job->started <=> a.job->started; o != 0) return o;
  if (const auto o = a.job->order <=> b.job->order; o != 0) return o;
  return a.job->id <=> b.job->id;
}

namespace detail {

/// For searches in which only quotas count.
template <std::size_t N>
struct no_world {
  void take_off(const running_job<N>&) noexcept {}
  void put_back(const running_job<N>&) noexcept {}
  [[nodiscard]] bool could_place() const noexcept { return true; }
};

/// The tests of Kueue's searches, which take victims out and put them back.
template <std::size_t N, search_world<N> World>
class kueue_trial {
 public:
  kueue_trial(ledger<N>& l, World& world, const beneficiary<N>& b) : ledger_(l), world_(world), b_(b) {}

  void take(const running_job<N>& j) {
    ledger_.release(j.quota, j.request, j.in);
    world_.take_off(j);
  }
  void put_back(const running_job<N>& j) {
    ledger_.charge(j.quota, j.request, j.in);
    world_.put_back(j);
  }
  [[nodiscard]] bool fits(bool may_borrow) {
    for (std::size_t d = 0; d < N && !may_borrow; ++d) {
      if (b_.request[d] > quantity{} && b_.request[d] > ledger_.balance(b_.quota, d)) return false;
    }
    return ledger_.fits(b_.quota, b_.request) && world_.could_place();
  }
  /// Puts back victims that turned out unnecessary, from the last but one to the first; the one that made it
  /// fit is always needed. The last takes the place of the one put back, as in Kueue.
  void fill_back(vector<victim<N>>& victims, bool may_borrow) {
    const auto drop = [&](std::size_t i) {
      victims[i] = victims.back();
      victims.pop_back();
    };
    if constexpr (std::same_as<World, no_world<N>>) {
      // What fits by quota still does when more are taken.
      std::size_t lowest = 0;
      std::size_t count = 0;
      const auto give_back = [&](std::size_t i) {
        put_back(victims[i].job);
        lowest = i;
        ++count;
      };
      const auto take_again = [&](std::size_t i) { take(victims[i].job); };
      const auto good = [&] {
        const bool fit = fits(may_borrow);
        for (std::size_t i = lowest + std::exchange(count, 0); fit && i-- > lowest;) drop(i);
        return fit;
      };
      fill_back_by_halves(0, victims.size() - 1, give_back, take_again, good);
    } else {
      for (std::size_t i = victims.size() - 1; i-- > 0;) {
        put_back(victims[i].job);
        fits(may_borrow) ? drop(i) : take(victims[i].job);
      }
    }
  }

 private:
  ledger<N>& ledger_;
  World& world_;
  const beneficiary<N>& b_;
};

/// Whether x uses no more than its supply in any contested dimension.
template <std::size_t N>
[[nodiscard]] bool is_within_supply(const ledger<N>& l, quota_id x, const std::array<bool, N>& contested) {
  for (std::size_t d = 0; d < N; ++d) {
    if (contested[d] && l.balance(x, d) < quantity{}) return false;
  }
  return true;
}

}  // namespace detail
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/stamped_set.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/running_index.hpp>
#include <allot/preemption/search.hpp>
#include <allot/preemption/victim_order.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {

/// Whether the tree could be brought down.
enum class resize_outcome : std::uint8_t {
  /// Every quota keeps the law.
  sound,
  /// Jobs that may not be preempted use too much; those that may and that add to it have all gone.
  still_over,
};

/// Who must yield after quotas have become smaller than what is used: exactly who brings the tree back to a
/// sound state, and nobody in whose quota, and above it, nothing is over.
///
/// Quotas that are over are brought down one by one, children before parents. Below each, those yield first
/// who use more than their quotas own, and pass that on to the one that is over; only if that is not enough
/// (an overcommitted quota has become smaller than what its children were given) also jobs within their
/// quotas' own. The order decides among them, asked again after each. Then, in reverse, whoever can be kept
/// is. In a tree brought down no victim could be kept. Buffers are kept from one search to the next.
template <std::size_t N, victim_order<N> Order>
class resize_search {
 public:
  explicit resize_search(Order order = {}) : order_(std::move(order)) {}

  /// Releases the victims in the ledger. `over` are the quotas that break the law, as `apply` returns them:
  /// parents first. O(victims (jobs below + depth)).
  resize_outcome run(ledger<N>& l, const running_index<N>& running, std::span<const quota_id> over,
                     instant now = 0) {
    victims_.clear();
    taken_.clear();
    for (std::size_t i = over.size(); i-- > 0;) {
      bring_down(l, running, over[i], now, true);
      bring_down(l, running, over[i], now, false);
    }
    keep_who_can_stay(l);
    const bool sound = std::all_of(over.begin(), over.end(), [&](quota_id x) { return l.is_sound(x); });
    return sound ? resize_outcome::sound : resize_outcome::still_over;
  }

  /// In the order in which they were chosen; `relation::resized`.
  [[nodiscard]] std::span<const victim<N>> victims() const noexcept { return victims_; }

 private:
  using dimensions = std::array<bool, N>;
  using key = decltype(std::declval<const Order&>()(std::declval<const ledger<N>&>(),
                                                    std::declval<const victim_candidate<N>&>()));

  [[nodiscard]] static dimensions over_in(const ledger<N>& l, quota_id x) {
    dimensions result{};
    for (std::size_t d = 0; d < N; ++d) {
      const quantity most = l.tree().parent(x) ? l.supply_of(x, d).borrow : quantity{};
      result[d] = l.borrowed(x, d) > most;
    }
    return result;
  }

  /// Takes victims below x until x is not over.
  void bring_down(ledger<N>& l, const running_index<N>& running, quota_id x, instant now,
                  bool only_reclaimable) {
    for (dimensions too_much = over_in(l, x); too_much != dimensions{}; too_much = over_in(l, x)) {
      victim_candidate<N> best;
      key least{};
      consider(l, running, x, x, too_much, now, only_reclaimable, best, least);
      if (!best.quota) return;
      running.for_each_elastic_pod(best.next, [&](const running_job<N>& unit) {
        if (!taken_.contains(unit.id)) take(l, unit, true);
      });
      take(l, best.next, false);
    }
  }
  void take(ledger<N>& l, const running_job<N>& job, bool with_its_job) {
    l.release(job.quota, job.request, job.in);
    taken_.insert(job.id);
    victims_.push_back({job, relation::resized, {}, 0, with_its_job});
  }

  /// Finds who yields first in the subtree of x, as far as it passes on to `top`.
  void consider(const ledger<N>& l, const running_index<N>& running, quota_id top, quota_id x,
                const dimensions& helpful, instant now, bool only_reclaimable, victim_candidate<N>& best,
                key& least) const {
    dimensions own = helpful;
    for (std::size_t d = 0; only_reclaimable && d < N; ++d) {
      own[d] = own[d] && l.own_usage(x, d) > l.supply_of(x, d).own_pool;
    }
    const auto jobs = running.jobs_of(x);
    const running_job<N>* first = nullptr;
    for (std::size_t i = jobs.size(); i-- > 0;) {
      if (taken_.contains(jobs[i].id) || !uses_any(jobs[i].request, own)) continue;
      if constexpr (orders_within_quota<Order, N>) {
        if (first == nullptr || order_.within_quota(jobs[i], *first, now)) first = &jobs[i];
      } else {
        first = &jobs[i];
        break;
      }
    }
    if (first != nullptr) {
      victim_candidate<N> d{x, relation::resized, *first, first->request, now};
      key k = order_(l, d);
      if (!best.quota || k < least) {
        best = std::move(d);
        least = std::move(k);
      }
    }
    for (const quota_id c : l.tree().children(x)) {
      dimensions passed = helpful;
      for (std::size_t d = 0; d < N; ++d) {
        const quantity beyond = only_reclaimable ? l.borrowed(c, d) : l.drawn(c, d) - l.supply_of(c, d).kept;
        passed[d] = passed[d] && beyond > quantity{};
      }
      if (passed != dimensions{}) consider(l, running, top, c, passed, now, only_reclaimable, best, least);
    }
  }

  void keep_who_can_stay(ledger<N>& l) {
    std::size_t needed = victims_.size();
    for (std::size_t i = needed; i-- > 0;) {
      const running_job<N>& job = victims_[i].job;
      const bool bound = job.elastic && taken_.contains(job.core);
      if (!bound && l.fits(job.quota, job.request, job.in)) {
        l.charge(job.quota, job.request, job.in);
        taken_.erase(job.id);
        continue;
      }
      if (!bound) victims_[i].with_its_job = false;
      victims_[--needed] = victims_[i];
    }
    victims_.erase(victims_.begin(), victims_.begin() + static_cast<std::ptrdiff_t>(needed));
  }

  std::vector<victim<N>> victims_;
  stamped_set<job_id> taken_;
  [[no_unique_address]] Order order_;
};

}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/stamped_set.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/running_index.hpp>
#include <allot/preemption/search.hpp>
#include <allot/preemption/victim_order.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {

/// Whether the tree is sound again.
enum class resize_outcome : std::uint8_t {
  /// Every quota is sound.
  sound,
  /// Jobs that may not be preempted use too much; all others that contribute have been taken.
  still_over,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(resize_outcome value) noexcept {
  switch (value) {
    case resize_outcome::sound:
      return "sound";
    case resize_outcome::still_over:
      return "still_over";
  }
  return "";
}

/// Finds the victims after quotas have shrunk below their usage: just enough to make the tree sound again,
/// and none unless its quota or one above it is over.
///
/// Quotas that are over are brought down one by one, children before parents. Below each, jobs of quotas that
/// use more than they own, and pass that on to the one that is over, yield first; jobs within their quotas'
/// own only if that is not enough (an overcommitted quota has become smaller than what its children were
/// given). The order decides among them, evaluated again after each. Then, in reverse, every job that can be
/// kept is kept: if the tree is sound, no victim is unneeded. Buffers are reused across searches.
template <std::size_t N, victim_order<N> Order>
class resize_search {
 public:
  explicit resize_search(Order order = {}) : order_(std::move(order)) {}

  /// Releases the victims in the ledger. `over` are the quotas that are not sound, as returned by `apply`:
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
    const bool sound = detail::all_of(over.begin(), over.end(), [&](quota_id x) { return l.is_sound(x); });
    return sound ? resize_outcome::sound : resize_outcome::still_over;
  }

  /// In the order in which they were chosen, as `relation::resized`.
  [[nodiscard]] std::span<const victim<N>> victims() const noexcept { return victims_; }

  /// For orders with state.
  [[nodiscard]] Order& order() noexcept { return order_; }

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

  /// Finds the job that yields first in the subtree of x, as far as its usage is passed on to `top`.
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
      victim_candidate<N> v{x, relation::resized, *first, first->request, now};
      key k = order_(l, v);
      if (!best.quota || k < least) {
        best = std::move(v);
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

  vector<victim<N>> victims_;
  stamped_set<job_id> taken_;
  [[no_unique_address]] Order order_;
};

}  // namespace v0
}  // namespace allot

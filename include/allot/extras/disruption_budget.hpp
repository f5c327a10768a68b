// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/protection.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace allot {
inline namespace v0 {

/// When jobs of each quota were evicted. Recorded by the host; entries too old to matter can be dropped.
class eviction_history {
 public:
  /// Precondition: not earlier than the quota's last eviction.
  void record(quota_id x, instant at) {
    if (x.index() >= of_quota_.size()) of_quota_.resize(x.index() + 1);
    vector<instant>& times = of_quota_[x.index()];
    ALLOT_ASSERT(times.empty() || times.back() <= at, "evictions are recorded in order");
    times.push_back(at);
  }
  /// The number of evictions since `from`, inclusive. O(log n).
  [[nodiscard]] std::size_t count(quota_id x, instant from) const {
    if (x.index() >= of_quota_.size()) return 0;
    const vector<instant>& times = of_quota_[x.index()];
    return static_cast<std::size_t>(times.end() - std::lower_bound(times.begin(), times.end(), from));
  }
  /// Drops evictions before `t`. O(evictions).
  void forget_before(instant t) {
    for (auto& times : of_quota_) {
      times.erase(times.begin(), std::lower_bound(times.begin(), times.end(), t));
    }
  }

 private:
  vector<vector<instant>> of_quota_;
};

/// Bounds disruption (KAI #1579): how many jobs one quota loses in a time window, and how much one
/// beneficiary may evict relative to its request. Victims that the search gives back in the end count too, so
/// the budget may refuse a little early, never late.
struct disruption_budget {
  /// Must outlive the budget; null: nothing was evicted before.
  const eviction_history* history = nullptr;
  /// The most evictions of one quota in (now - window, now].
  std::size_t per_quota = std::numeric_limits<std::size_t>::max();
  /// How far back evictions count; 0: not at all.
  instant window = 0;
  /// At most evicted <= requested * times / per in each requested dimension (KAI #1565: a job of 48 evicted
  /// 376). `per` 0: no bound.
  std::uint32_t times = 1;
  /// See `times`.
  std::uint32_t per = 0;

  template <std::size_t N>
  [[nodiscard]] bool operator()(const ledger<N>&, const beneficiary<N>& b, const victim_candidate<N>& v,
                                const search_progress<N>& progress) const {
    const std::size_t before =
        history == nullptr || window <= 0 ? 0 : history->count(v.quota, b.now - window + 1);
    if (progress.evictions_of_quota >= per_quota - std::min(before, per_quota)) return true;
    if (per == 0) return false;
    for (std::size_t k = 0; k < N; ++k) {
      if (b.request[k] <= quantity{}) continue;
      const auto taken = static_cast<wide>((progress.released[k] + v.yields[k]).in_milli());
      if (taken * per > static_cast<wide>(b.request[k].in_milli()) * times) return true;
    }
    return false;
  }
};

}  // namespace v0
}  // namespace allot

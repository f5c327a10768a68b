// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/metrics/figures.hpp>
#include <allot/lab/metrics/statistics.hpp>
#include <allot/lab/metrics/timeline.hpp>
#include <allot/quota/ledger.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace allot {
inline namespace v0 {
namespace lab {

/// Whether the quota's own pool has room for a request in addition to the usage of its own jobs. O(N).
template <std::size_t N>
[[nodiscard]] bool guarantee_has_room(const ledger<N>& l, quota_id x, const resources<N>& request) {
  for (std::size_t d = 0; d < N; ++d) {
    if (request[d] == quantity{}) continue;
    if (l.own_usage(x, d) + request[d] > l.supply_of(x, d).own_pool) return false;
  }
  return true;
}

/// How long quotas wait for what they have lent.
///
/// A quota has a *claim* while it has a pending job for which its own guarantee has room, and jobs of other
/// quotas use its capacity. The claim is met when there is no such job any more, or nothing is lent: the time
/// until then is the reclaim latency, 0 for a claim that is met at the instant at which it arises. Beyond a
/// grace period it is a violation of the quota.
class reclaim_times {
 public:
  explicit reclaim_times(time_window window = {}, instant grace = 0) : window_(window), grace_(grace) {}

  /// At this instant a borrower was evicted for a job of the quota.
  void note_reclaim(quota_id x) {
    grow_to(x.index() + 1);
    if (of_[x.index()].reclaims) return;
    of_[x.index()].reclaims = true;
    reclaiming_.push_back(x);
  }
  /// The state after everything at an instant: whether the quota has a claim from now on.
  void look(instant now, quota_id x, bool has_claim) {
    grow_to(x.index() + 1);
    state& s = of_[x.index()];
    if (has_claim) {
      if (s.since != never) return;
      s.since = now;
      ++open_;
    } else if (s.since != never) {
      meet(s, now);
      --open_;
    } else if (s.reclaims) {
      s.since = now;
      meet(s, now);
    }
  }
  /// Whether no quota has a claim, nor had one at this instant.
  [[nodiscard]] bool are_met() const noexcept { return open_ == 0 && reclaiming_.empty(); }
  /// All quotas have been checked that may have a claim, or no longer one, or were noted.
  void settle() {
    for (const quota_id x : reclaiming_) of_[x.index()].reclaims = false;
    reclaiming_.clear();
  }

  /// The figures of one quota. O(claims of it).
  [[nodiscard]] reclaim_figures of(quota_id x, instant now) const {
    if (x.index() >= of_.size()) return {};
    const state& s = of_[x.index()];
    vector<instant> latencies = s.latencies;
    const bool is_open = s.since != never;
    return {s.violated + (is_open ? violation(s.since, now) : 0), summarize(latencies), is_open ? 1U : 0U};
  }
  /// Of all quotas together. O(claims).
  [[nodiscard]] reclaim_figures of_all(instant now) const {
    reclaim_figures all;
    vector<instant> latencies;
    for (const state& s : of_) {
      all.violated += s.violated + (s.since == never ? 0 : violation(s.since, now));
      latencies.append(s.latencies.begin(), s.latencies.end());
    }
    all.latency = summarize(latencies);
    all.open = open_;
    return all;
  }

 private:
  static constexpr instant never = std::numeric_limits<instant>::min();

  struct state {
    instant since = never;
    instant violated = 0;
    bool reclaims = false;
    vector<instant> latencies{};
  };

  void grow_to(std::size_t quotas) {
    if (of_.size() < quotas) of_.resize(quotas);
  }
  [[nodiscard]] instant violation(instant since, instant now) const {
    return std::max<instant>(0, std::min(now, window_.end) - std::max(since + grace_, window_.begin));
  }
  void meet(state& s, instant now) {
    s.violated += violation(s.since, now);
    if (window_.contains(s.since)) s.latencies.push_back(now - s.since);
    s.since = never;
  }

  time_window window_;
  instant grace_;
  vector<state> of_;
  vector<quota_id> reclaiming_;
  std::size_t open_ = 0;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

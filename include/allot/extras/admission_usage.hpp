// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/contender.hpp>
#include <allot/fairshare/decay.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/quota/weight.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot {
inline namespace v0 {

/// How usage is remembered and weighed (Kueue's AdmissionFairSharing configuration).
template <std::size_t N = 1>
struct admission_usage_settings {
  /// Zero or less: nothing is remembered.
  instant half_life = 0;
  /// How often the host calls `tick`; a new job counts in advance as if it had run for that long.
  instant sampling_interval = 0;
  /// The weight of each resource, in thousandths.
  per_dimension<std::int64_t, N> resource_weight{1000};
};

/// Kueue's admission fair sharing (KEP-4136): the quotas of one group are served in order of recent usage per
/// weight. With A(t) = 1 - 0.5 ^ (t / half_life):
/// - at each tick, u becomes (1 - A) u + A current, with t the time since the last;
/// - a job that is reserved for the first time adds the penalty A(sampling_interval) request until it is
///   admitted; then u is decayed to that moment and the penalty becomes part of it;
/// - score = sum over resources of resource_weight (u + penalty) / weight. The lowest comes first; with a
///   weight of zero or less it is infinite, even for a quota without usage (Kueue #13481).
///
/// Kueue counts in floating point and truncates to a thousandth; here sums are kept to 2^-32 of a thousandth,
/// so small usage is not lost at each tick (#12671). A job has one penalty at a time, however often it enters
/// (#13851). Amounts must be below 2^60 thousandths.
template <std::size_t N = 1>
class admission_usage {
 public:
  explicit admission_usage(const admission_usage_settings<N>& settings = {}) : settings_(settings) {}

  /// Makes room for quotas with ids below `slots`; new ones have no usage before `now`.
  void resize(std::size_t slots, instant now) { seats_.resize(slots, seat{now, {}, {}}); }

  /// Samples x, whose jobs use `current`. O(1).
  void tick(quota_id x, const resources<N>& current, instant now) {
    seat& s = seats_[x.index()];
    const decay_factor left = age(s, now);
    if (settings_.half_life <= 0) return;
    for (std::size_t d = 0; d < N; ++d) s.used[d] += left.complement().of(scaled(current[d]));
  }

  /// A job of x is reserved: adds its penalty, unless it has one already. O(jobs with a penalty).
  void enter(quota_id x, std::uint64_t job, const resources<N>& request) {
    const auto at = find(job);
    if (at != penalties_.end() && at->job == job) return;
    penalty p{job, x, {}};
    if (settings_.half_life > 0) {
      const decay_factor a = half_life_decay(settings_.sampling_interval, settings_.half_life).complement();
      for (std::size_t d = 0; d < N; ++d) {
        p.amount[d] = a.of(scaled(request[d]));
        seats_[x.index()].penalty[d] += p.amount[d];
      }
    }
    penalties_.insert(at, p);
  }
  /// The job is admitted: its penalty, if any, becomes usage.
  void admit(std::uint64_t job, instant now) {
    settle(job, [&](seat& s, const penalty& p) {
      age(s, now);
      for (std::size_t d = 0; d < N; ++d) s.used[d] += p.amount[d];
    });
  }
  /// The job is withdrawn or has lost its reservation: its penalty, if any, is removed.
  void withdraw(std::uint64_t job) {
    settle(job, [](seat&, const penalty&) {});
  }

  /// The lowest comes first; compare only within a group. Infinite for an unknown quota.
  [[nodiscard]] ratio score(quota_id x, fair_weight weight) const {
    if (weight <= fair_weight::milli(0) || x.index() >= seats_.size()) return ratio::infinite();
    const seat& s = seats_[x.index()];
    wide sum = 0;
    for (std::size_t d = 0; d < N; ++d) {
      sum += static_cast<wide>(settings_.resource_weight[d]) * (s.used[d] + s.penalty[d]);
    }
    return {sum, static_cast<wide>(weight.in_milli())};
  }
  /// u, to the nearest thousandth, as of the last tick or admission. Zero for an unknown quota or dimension.
  [[nodiscard]] quantity used(quota_id x, std::size_t d) const {
    if (x.index() >= seats_.size() || d >= N) return {};
    return quantity::milli(static_cast<std::int64_t>((seats_[x.index()].used[d] + (wide{1} << 31U)) >> 32U));
  }

 private:
  struct seat {
    instant since = 0;
    per_dimension<wide, N> used{};
    per_dimension<wide, N> penalty{};
  };
  struct penalty {
    std::uint64_t job = 0;
    quota_id quota;
    per_dimension<wide, N> amount{};
  };

  [[nodiscard]] static wide scaled(quantity q) { return static_cast<wide>(q.in_milli()) << 32U; }

  /// Decays the usage to `now`; returns the factor.
  decay_factor age(seat& s, instant now) {
    ALLOT_ASSERT(now >= s.since, "time must not go backwards");
    const decay_factor left = half_life_decay(now - s.since, settings_.half_life);
    for (std::size_t d = 0; d < N; ++d) s.used[d] = settings_.half_life <= 0 ? 0 : left.of(s.used[d]);
    s.since = now;
    return left;
  }
  [[nodiscard]] auto find(std::uint64_t job) {
    return std::lower_bound(penalties_.begin(), penalties_.end(), job,
                            [](const penalty& p, std::uint64_t j) { return p.job < j; });
  }
  template <class Keep>
  void settle(std::uint64_t job, Keep keep) {
    const auto at = find(job);
    if (at == penalties_.end() || at->job != job) return;
    seat& s = seats_[at->quota.index()];
    for (std::size_t d = 0; d < N; ++d) s.penalty[d] -= at->amount[d];
    keep(s, *at);
    penalties_.erase(at);
  }

  admission_usage_settings<N> settings_;
  vector<seat> seats_;
  /// Sorted by job.
  vector<penalty> penalties_;
};

/// The quota with the lowest score comes first, with its weight in the first dimension; then the best job.
/// After a tick, a penalty or an admission, the quota must be rekeyed (`tournament::enter`, `leave`).
template <std::size_t N>
struct lowest_admission_score_first {
  /// The usage that is compared; must outlive the order.
  const admission_usage<N>* usage;

  [[nodiscard]] std::pair<ratio, job_rank> operator()(const ledger<N>& l, const contender<N>& c) const {
    return {usage->score(c.quota, l.tree().spec(c.quota).weight[0]), c.head};
  }
};

}  // namespace v0
}  // namespace allot

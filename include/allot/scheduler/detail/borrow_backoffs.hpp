// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/backoff.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace allot {
inline namespace v0 {
namespace detail {

/// Which quotas were reclaimed and so do not borrow which dimensions for now: the state behind
/// `queue_settings::borrow_backoff`. A quota borrows where its own jobs use more than its own pool, as
/// `books::borrowed_by` has it.
///
/// A reclaim doubles the span if the run that it ended had started at or after the last one: then the quota
/// has borrowed again, and lost it again. Older runs say nothing new, and only renew the span: a quota that
/// is reclaimed job by job would else be at `longest` within minutes. (TCP counts the losses of one round
/// trip once, for the same reason.) Of several runs at one instant the first in the plan counts.
///
/// Kept is who backs off, and who is in a row. O(log of these N) each, and where noted O(these).
template <std::size_t N>
class borrow_backoffs {
 public:
  /// The quota may borrow everything, and was never reclaimed. O(these).
  void forget(quota_id x) {
    std::size_t kept = 0;
    for (const backoff& b : known_) {
      if (b.quota != x) known_[kept++] = b;
    }
    keep(kept);
  }

  /// The quota backs off by these times from now on: none of its backoffs ends later than the longest of
  /// them. O(these).
  void shorten(quota_id x, const backoff_times& times) {
    for (backoff& b : known_) {
      if (b.quota == x) b.until = bounded(b, times);
    }
    find_next();
  }

  /// A run of x, that has asked for this since `started`, is reclaimed at `now`. `l` still counts it.
  /// O(these).
  void reclaimed(const ledger<N>& l, quota_id x, const resources<N>& request, instant started, instant now,
                 const backoff_times& times) {
    for (std::size_t d = 0; d < N; ++d) {
      if (request[d] <= quantity{} || !borrows(l, x, d, quantity{})) continue;
      backoff& b = entry(x, d);
      const bool is_new = b.times == 0 || (b.since != now && started >= b.since);
      if (is_new && b.times != ~std::uint32_t{0}) ++b.times;
      b.since = now;
      b.until = std::max(b.until, std::min(later(now, backoff_span(times, b.times)), last));
    }
    find_next();
  }
  /// A run of x, that asked for this since `started`, has ended by itself. `l` still counts it.
  void ended_in_peace(const ledger<N>& l, quota_id x, const resources<N>& request, instant started) {
    bool any = false;
    for (std::size_t i = first_of(x); i < known_.size() && known_[i].quota == x; ++i) {
      backoff& b = known_[i];
      if (started < b.since || request[b.dimension] <= quantity{}) continue;
      if (!borrows(l, x, b.dimension, quantity{})) continue;
      b.times = 0;
      any = true;
    }
    if (any) tidy();
  }

  /// What keeps x from using this more at that time, which is now or later; of several dimensions that with
  /// the latest end. Of no quota: nothing.
  [[nodiscard]] backoff against(const ledger<N>& l, quota_id x, const resources<N>& request,
                                instant when) const {
    backoff found;
    if (next_ == without_end) return found;
    for (std::size_t i = first_of(x); i < known_.size() && known_[i].quota == x; ++i) {
      const backoff& b = known_[i];
      const quantity more = request[b.dimension];
      if (b.until <= when || more <= quantity{} || !borrows(l, x, b.dimension, more)) continue;
      if (!found || found.until < b.until) found = b;
    }
    return found;
  }
  /// The next time after `when`, which is now or later, at which x may borrow more of what is requested;
  /// `without_end` if it does not back off.
  [[nodiscard]] instant next_end(quota_id x, const resources<N>& request, instant when) const {
    instant next = without_end;
    if (next_ == without_end) return next;
    for (std::size_t i = first_of(x); i < known_.size() && known_[i].quota == x; ++i) {
      if (known_[i].until > when && request[known_[i].dimension] > quantity{}) {
        next = std::min(next, known_[i].until);
      }
    }
    return next;
  }

  /// The next time at which a quota may borrow again; `without_end`: no quota backs off.
  [[nodiscard]] instant next() const noexcept { return next_; }
  /// Whether a quota may borrow again now, which could not at the last call. O(these) then.
  [[nodiscard]] bool take_ended(instant now) {
    ended_by_ = now;
    if (next_ > now) return false;
    tidy();
    return true;
  }

  /// All times move by that span.
  void rebase(instant by) {
    for (backoff& b : known_) {
      b.since = moved(b.since, by);
      b.until = moved(b.until, by);
    }
    ended_by_ = moved(ended_by_, by);
    find_next();
  }

  /// All that is to be known after a restart, by quota and dimension.
  [[nodiscard]] const vector<backoff>& all() const noexcept { return known_; }
  /// Restores one of these. O(these).
  void restore(const backoff& known, const backoff_times& times) {
    backoff& b = entry(known.quota, known.dimension);
    b = known;
    b.until = bounded(b, times);
    find_next();
  }

 private:
  /// When it ends by these times.
  [[nodiscard]] static instant bounded(const backoff& b, const backoff_times& times) {
    return std::min({b.until, later(b.since, times.longest), last});
  }
  /// Whether x uses more than its own pool, with `more`.
  [[nodiscard]] static bool borrows(const ledger<N>& l, quota_id x, std::size_t d, quantity more) {
    return l.own_usage(x, d) + more > std::max(quantity{}, l.supply_of(x, d).own_pool);
  }
  /// The position of the first that is not before it.
  [[nodiscard]] std::size_t first_of(quota_id x, std::size_t d = 0) const {
    std::size_t low = 0;
    for (std::size_t high = known_.size(); low < high;) {
      const std::size_t middle = low + (high - low) / 2;
      const backoff& b = known_[middle];
      if (b.quota < x || (b.quota == x && b.dimension < d)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  [[nodiscard]] backoff& entry(quota_id x, std::size_t d) {
    const std::size_t i = first_of(x, d);
    if (i == known_.size() || known_[i].quota != x || known_[i].dimension != d) {
      known_.emplace_back();
      for (std::size_t k = known_.size(); --k > i;) known_[k] = known_[k - 1];
      known_[i] = {x, d, 0, std::numeric_limits<instant>::min(), 0};
    }
    return known_[i];
  }
  /// Forgets who neither backs off nor is in a row.
  void tidy() {
    std::size_t kept = 0;
    for (const backoff& b : known_) {
      if (b.until > ended_by_ || b.times > 0) known_[kept++] = b;
    }
    keep(kept);
  }
  void keep(std::size_t count) {
    while (known_.size() > count) known_.pop_back();
    find_next();
  }
  void find_next() {
    next_ = without_end;
    for (const backoff& b : known_) {
      if (b.until > ended_by_) next_ = std::min(next_, b.until);
    }
  }

  /// A backoff ends.
  static constexpr instant last = without_end - 1;

  /// By quota and dimension.
  vector<backoff> known_;
  instant next_ = without_end;
  /// The ends until then have been taken.
  instant ended_by_ = std::numeric_limits<instant>::min();
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

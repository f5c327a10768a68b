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
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

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
/// 24 bytes for each quota and dimension once any quota backs off, otherwise none. Nothing is allocated but
/// by `resize`. O(N) each, and where noted O(those that back off now).
template <std::size_t N>
class borrow_backoffs {
 public:
  /// There are quotas with ids below `slots`. `is_there(quota)`: it has not been removed.
  template <class IsThere>
  void resize(std::size_t slots, IsThere is_there) {
    all_.resize(slots * N);
    active_.reserve(slots * N);
    for (std::size_t x = 0; x < slots; ++x) {
      if (!is_there(quota_id{x})) forget(quota_id{x});
    }
  }
  /// The quota may borrow everything, and was never reclaimed.
  void forget(quota_id x) {
    for (std::size_t d = 0; d < N && !all_.empty(); ++d) at(x, d) = {};
    erase_if(active_, [&](std::uint32_t i) { return i / N == x.index(); });
    find_next();
  }

  /// A run of x, that has asked for this since `started`, is reclaimed at `now`. `l` still counts it.
  void reclaimed(const ledger<N>& l, quota_id x, const resources<N>& request, instant started, instant now,
                 const backoff_times& times) {
    for (std::size_t d = 0; d < N; ++d) {
      if (request[d] <= quantity{} || !borrows(l, x, d, quantity{})) continue;
      entry& e = at(x, d);
      const bool is_new = e.times == 0 || (e.since != now && started >= e.since);
      if (is_new && e.times != std::numeric_limits<std::uint32_t>::max()) ++e.times;
      e.since = now;
      e.until = std::max(e.until, later(now, backoff_span(times, e.times)));
      activate(x, d);
    }
  }
  /// A run of x, that asked for this since `started`, has ended by itself. `l` still counts it.
  void ended_in_peace(const ledger<N>& l, quota_id x, const resources<N>& request, instant started) {
    for (std::size_t d = 0; d < N && !all_.empty(); ++d) {
      entry& e = at(x, d);
      if (e.times == 0 || started < e.since || request[d] <= quantity{}) continue;
      if (borrows(l, x, d, quantity{})) e.times = 0;
    }
  }

  /// The dimensions that x does not borrow at that time, which is now or later.
  [[nodiscard]] std::array<bool, N> of(quota_id x, instant when) const {
    std::array<bool, N> held{};
    for (std::size_t d = 0; d < N && !active_.empty(); ++d) held[d] = at(x, d).until > when;
    return held;
  }
  /// What keeps x from using this more at that time, which is now or later; of several dimensions that with
  /// the latest end.
  [[nodiscard]] std::optional<backoff> against(const ledger<N>& l, quota_id x, const resources<N>& request,
                                               instant when) const {
    std::optional<backoff> found;
    if (active_.empty()) return found;
    for (std::size_t d = 0; d < N; ++d) {
      const entry& e = at(x, d);
      if (e.until <= when || request[d] <= quantity{} || !borrows(l, x, d, request[d])) continue;
      if (!found || found->until < e.until) found = shown(x, d);
    }
    return found;
  }
  /// The next time after `when`, which is now or later, at which x may borrow more of what is requested.
  [[nodiscard]] std::optional<instant> next_end(quota_id x, const resources<N>& request, instant when) const {
    std::optional<instant> next;
    if (active_.empty()) return next;
    for (std::size_t d = 0; d < N; ++d) {
      const instant until = at(x, d).until;
      if (until > when && request[d] > quantity{}) next = std::min(next.value_or(until), until);
    }
    return next;
  }

  /// The next time at which a quota may borrow again; none: no quota backs off.
  [[nodiscard]] std::optional<instant> next() const noexcept { return next_; }
  /// Whether a quota may borrow again now, which could not at the last call. O(those that back off) then.
  [[nodiscard]] bool take_ended(instant now) {
    if (!next_ || *next_ > now) return false;
    erase_if(active_, [&](std::uint32_t i) {
      if (all_[i].until > now) return false;
      all_[i].is_active = false;
      return true;
    });
    find_next();
    return true;
  }

  /// All that is to be known after a restart, by quota and dimension. O(quotas N).
  [[nodiscard]] vector<backoff> all() const {
    vector<backoff> known;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const quota_id x{i / N};
      if (all_[i].times > 0 || all_[i].is_active) known.push_back(shown(x, i % N));
    }
    return known;
  }
  /// Restores one of these.
  void restore(const backoff& known, const backoff_times& times) {
    entry& e = at(known.quota, known.dimension);
    const bool is_active = e.is_active;
    e = {known.since, std::min(known.until, later(known.since, times.longest)), known.times, is_active};
    activate(known.quota, known.dimension);
  }

 private:
  struct entry {
    instant since = 0;
    instant until = std::numeric_limits<instant>::min();
    std::uint32_t times = 0;
    bool is_active = false;
  };

  [[nodiscard]] entry& at(quota_id x, std::size_t d) { return all_[x.index() * N + d]; }
  [[nodiscard]] const entry& at(quota_id x, std::size_t d) const { return all_[x.index() * N + d]; }
  [[nodiscard]] backoff shown(quota_id x, std::size_t d) const {
    const entry& e = at(x, d);
    return {x, d, e.since, e.until, e.times};
  }
  /// Whether x uses more than its own pool, with `more`.
  [[nodiscard]] static bool borrows(const ledger<N>& l, quota_id x, std::size_t d, quantity more) {
    return l.own_usage(x, d) + more > std::max(quantity{}, l.supply_of(x, d).own_pool);
  }
  void activate(quota_id x, std::size_t d) {
    if (!std::exchange(at(x, d).is_active, true)) {
      active_.push_back(static_cast<std::uint32_t>(x.index() * N + d));
    }
    find_next();
  }
  void find_next() {
    next_.reset();
    for (const std::uint32_t i : active_) next_ = std::min(next_.value_or(all_[i].until), all_[i].until);
  }

  /// By quota and dimension; empty until a quota may back off.
  vector<entry> all_;
  /// The positions of those whose end has not been taken.
  vector<std::uint32_t> active_;
  std::optional<instant> next_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

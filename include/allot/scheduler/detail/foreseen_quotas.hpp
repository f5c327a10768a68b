// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/journal.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/ledger.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// The changes of quotas that are known to come, and how many of them a walk through the time to come has
/// made in a ledger. Each is made under the savepoint that it opens, and so undone in order.
template <std::size_t N>
class foreseen_quotas {
 public:
  /// By how much more a quota will own, and less; one of them is 0 in each dimension.
  struct owned_change {
    quota_id quota;
    resources<N> more{};
    resources<N> less{};
  };
  /// All that changes at one time.
  struct change {
    instant at = 0;
    vector<respecified_quota<N>> specs;
    vector<owned_change> owned{};
  };

  /// None is known any more. Precondition: none is made.
  void forget() noexcept { all_.clear(); }
  /// One more, later than the others: what becomes of these quotas. The ledger is as it will be then, until
  /// `take_back`.
  void add(ledger<N>& l, instant at, vector<respecified_quota<N>> specs) {
    const auto order = l.tree().top_down();
    vector<resources<N>> before;
    for (const quota_id x : order) before.push_back(own_pools(l, x));
    l.exchange(specs);
    change& c = all_.emplace_back(change{at, std::move(specs)});
    for (std::size_t i = 0; i < order.size(); ++i) {
      owned_change o{order[i]};
      const resources<N> after = own_pools(l, o.quota);
      for (std::size_t d = 0; d < N; ++d) {
        if (before[i][d] < after[d]) o.more[d] = after[d] - before[i][d];
        if (after[d] < before[i][d]) o.less[d] = before[i][d] - after[d];
      }
      if (after != before[i]) c.owned.push_back(o);
    }
  }
  /// The ledger is as it was before all that was added.
  void take_back(ledger<N>& l) {
    for (std::size_t i = all_.size(); i-- > 0;) l.exchange(all_[i].specs);
  }
  [[nodiscard]] std::span<const change> all() const noexcept { return all_; }

  /// The time of the first that is later than that.
  [[nodiscard]] instant next_change(instant after) const {
    for (const change& c : all_) {
      if (c.at > after) return c.at;
    }
    return without_end;
  }
  /// How many have been made.
  [[nodiscard]] std::size_t made() const noexcept { return before_.size(); }
  /// Makes those that are due by then.
  void make(ledger<N>& l, instant by) {
    while (made() < all_.size() && all_[made()].at <= by) {
      l.exchange(all_[made()].specs);
      before_.push_back(l.save());
    }
  }
  /// Undoes those made since there were so many, with all that has been done in the ledger since the first of
  /// them.
  void undo(ledger<N>& l, std::size_t made_before) {
    while (made() > made_before) {
      l.rollback(before_.back());
      before_.pop_back();
      l.exchange(all_[made()].specs);
    }
  }

  /// All times move by that span.
  void rebase(instant by) {
    for (change& c : all_) c.at = moved(c.at, by);
  }

 private:
  [[nodiscard]] static resources<N> own_pools(const ledger<N>& l, quota_id x) {
    resources<N> all;
    for (std::size_t d = 0; d < N; ++d) all[d] = l.supply_of(x, d).own_pool;
    return all;
  }

  vector<change> all_;
  /// Since when each has been made.
  vector<savepoint> before_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/systems/kueue/detail/flavored_share.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

namespace allot {
inline namespace v0 {

/// Whether one head precedes another by itself: higher priority, then earlier submission, then its id.
template <class Entry>
[[nodiscard]] bool goes_first(const Entry& a, const Entry& b) noexcept {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.submitted != b.submitted) return a.submitted < b.submitted;
  return a.order != b.order ? a.order < b.order : a.job < b.job;
}

/// Kueue's classical order of the heads of a cycle: the lowest borrowing level, then `goes_first`, whose last
/// tie Kueue leaves open.
template <std::size_t N>
class nearest_loan_first {
 public:
  void reset(const ledger<N>&) noexcept {}

  /// Calls `visit(i)` for each entry in order.
  template <class Entry, class Visit>
  void for_each(ledger<N>&, std::span<Entry> entries, Visit visit) {
    order_.resize(entries.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    detail::sort(order_.begin(), order_.end(), [&](std::size_t i, std::size_t j) {
      const Entry& a = entries[i];
      const Entry& b = entries[j];
      return a.chosen.borrows != b.chosen.borrows ? a.chosen.borrows < b.chosen.borrows : goes_first(a, b);
    });
    for (const std::size_t i : order_) visit(i);
  }

 private:
  vector<std::size_t> order_;
};

/// Kueue's order with fair sharing: a tournament through the tree before each pick. The children of a quota
/// are compared with their entries' requests added: not borrowing what is requested comes first, then the
/// lowest weighted share, then `goes_first`. Each visit may charge what the entry is given.
///
/// Kueue takes trees, and entries equal to the last, in random order; here trees are ordered by their roots.
template <std::size_t N>
class lowest_share_first {
 public:
  explicit lowest_share_first(const resource_numbers<N>& resource_of = unflavored<N>(),
                              bool float_shares = false)
      : shares_(resource_of, float_shares) {}

  void reset(const ledger<N>& l) {
    shares_.reset(l);
    nodes_.assign(l.tree().slots(), node{});
  }

  template <class Entry, class Visit>
  void for_each(ledger<N>& l, std::span<Entry> entries, Visit visit) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      node& x = nodes_[entries[i].quota.index()];
      x.entry = i;
      for (quota_id a = entries[i].quota; a; a = l.tree().parent(a)) ++nodes_[a.index()].waiting;
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const quota_id root = entries[i].root;
      if (nodes_[root.index()].waiting > 0) settle(l, entries, root);
      while (nodes_[root.index()].waiting > 0) {
        const std::size_t winner = nodes_[root.index()].best;
        const quota_id x = entries[winner].quota;
        visit(winner);
        nodes_[x.index()].entry = none;
        for (quota_id a = x; a; a = l.tree().parent(a)) --nodes_[a.index()].waiting;
        for (quota_id a = x; a; a = l.tree().parent(a)) play(l, entries, a);
      }
    }
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  struct key {
    bool borrows = false;
    borrowed_share share{};
  };
  struct node {
    /// The entry of its own jobs.
    std::size_t entry = none;
    /// The winner among its own jobs and its children, and its key with the winner's request.
    std::size_t best = none;
    key with_best{};
    std::size_t waiting = 0;
  };

  template <class Entry>
  void settle(ledger<N>& l, std::span<Entry> entries, quota_id x) {
    for (const quota_id c : l.tree().children(x)) {
      if (nodes_[c.index()].waiting > 0) settle(l, entries, c);
    }
    play(l, entries, x);
  }
  /// Plays the match at x, whose children have played theirs.
  template <class Entry>
  void play(ledger<N>& l, std::span<Entry> entries, quota_id x) {
    node& at = nodes_[x.index()];
    at.best = at.entry;
    key best = at.best == none || l.tree().children(x).empty() ? key{} : key_of(l, entries[at.best], x, true);
    for (const quota_id c : l.tree().children(x)) {
      const node& child = nodes_[c.index()];
      if (child.waiting == 0) continue;
      if (at.best != none && !before(entries[child.best], child.with_best, entries[at.best], best)) continue;
      at.best = child.best;
      best = child.with_best;
    }
    if (at.best != none && l.tree().parent(x)) at.with_best = key_of(l, entries[at.best], x, false);
  }
  template <class Entry>
  [[nodiscard]] static bool before(const Entry& a, const key& x, const Entry& b, const key& y) {
    if (x.borrows != y.borrows) return y.borrows;
    if (const auto o = x.share <=> y.share; o != 0) return o < 0;
    return goes_first(a, b);
  }
  /// The key of x, or of its own jobs alone, with the entry's request added.
  template <class Entry>
  [[nodiscard]] key key_of(ledger<N>& l, const Entry& e, quota_id x, bool own_jobs) {
    key k;
    if (!l.can_count(e.quota, e.chosen.request)) {
      // Earlier entries took so much that it can't be counted on top of them; it comes last and is passed
      // over.
      k.borrows = true;
      k.share = {true, {1, 0}, {1, 0}};
      return k;
    }
    const savepoint s = l.save();
    l.charge(e.quota, e.chosen.request);
    k.share = own_jobs ? shares_.own_share_of(l, x) : shares_.share_of(l, x);
    for (std::size_t d = 0; d < N; ++d) {
      const quantity left = own_jobs ? l.supply_of(x, d).own_pool - l.own_usage(x, d) : l.balance(x, d);
      k.borrows = k.borrows || (e.chosen.request[d] > quantity{} && left < quantity{});
    }
    l.rollback(s);
    return k;
  }

  flavored_shares<N> shares_;
  vector<node> nodes_;
};

}  // namespace v0
}  // namespace allot

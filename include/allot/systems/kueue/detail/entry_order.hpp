// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/winner_trees.hpp>
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
/// lowest weighted share, then `goes_first`. Each visit may charge what the entry is given, so after it only
/// the matches above it are played again, in O(log children) each.
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
    matches_.reset(l.tree(), 1,
                   [&](quota_id x, std::size_t, std::size_t player) { nodes_[x.index()].player = player; });
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
        play_above(l, entries, x);
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
    /// The entry of its own jobs, and its key among the children.
    std::size_t entry = none;
    key own{};
    /// The winner among its own jobs and its children, and its key with the winner's request.
    std::size_t best = none;
    key with_best{};
    std::size_t waiting = 0;
    /// Its number in the match of its parent, in which 0 stands for the parent's own jobs.
    std::size_t player = 0;
  };

  template <class Entry>
  void settle(ledger<N>& l, std::span<Entry> entries, quota_id x) {
    for (const quota_id c : l.tree().children(x)) {
      const bool waits = nodes_[c.index()].waiting > 0;
      if (waits) settle(l, entries, c);
      matches_.seat(x.index(), nodes_[c.index()].player, waits);
    }
    matches_.seat(x.index(), 0, key_own_jobs(l, entries, x));
    matches_.play_all(x.index(), earlier(l, entries, x), [](std::size_t, std::size_t, std::size_t) {});
    represent(l, entries, x);
  }
  /// Plays the matches of x and of those above it again: what its jobs use, or whether any wait, has changed.
  template <class Entry>
  void play_above(ledger<N>& l, std::span<Entry> entries, quota_id x) {
    for (quota_id below = quota_id::none(); x; below = x, x = l.tree().parent(x)) {
      if (below) {
        const node& c = nodes_[below.index()];
        matches_.play(x.index(), c.player, c.waiting > 0, earlier(l, entries, x));
      }
      // Whether its request can be counted depends on the others.
      const bool waits = key_own_jobs(l, entries, x);
      if (waits || !below) matches_.play(x.index(), 0, waits, earlier(l, entries, x));
      represent(l, entries, x);
    }
  }
  /// Returns whether there are any.
  template <class Entry>
  bool key_own_jobs(ledger<N>& l, std::span<Entry> entries, quota_id x) {
    node& at = nodes_[x.index()];
    if (at.entry == none) return false;
    at.own = l.tree().children(x).empty() ? key{} : key_of(l, entries[at.entry], x, true);
    return true;
  }
  template <class Entry>
  [[nodiscard]] auto earlier(const ledger<N>& l, std::span<Entry> entries, quota_id x) const {
    return [this, entries, x, children = l.tree().children(x)](std::size_t a, std::size_t b) {
      const auto entry_of = [&](std::size_t i) {
        return i == 0 ? nodes_[x.index()].entry : nodes_[children[i - 1].index()].best;
      };
      const auto key_of = [&](std::size_t i) -> const key& {
        return i == 0 ? nodes_[x.index()].own : nodes_[children[i - 1].index()].with_best;
      };
      return before(entries[entry_of(a)], key_of(a), entries[entry_of(b)], key_of(b));
    };
  }
  /// The winner of the match at x stands for x above.
  template <class Entry>
  void represent(ledger<N>& l, std::span<Entry> entries, quota_id x) {
    node& at = nodes_[x.index()];
    const std::size_t winner = matches_.winner(x.index());
    at.best = winner == winner_trees::none ? none
              : winner == 0                ? at.entry
                                           : nodes_[l.tree().children(x)[winner - 1].index()].best;
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
  winner_trees matches_;
};

}  // namespace v0
}  // namespace allot

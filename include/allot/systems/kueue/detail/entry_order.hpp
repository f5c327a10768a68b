// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/winner_trees.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/systems/kueue/detail/borrowing_heads.hpp>
#include <allot/systems/kueue/detail/flavored_share.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

namespace allot {
inline namespace v0 {

/// Kueue's classical order of the heads of a cycle: the lowest borrowing level, then `goes_first`, whose last
/// tie Kueue leaves open.
template <std::size_t N>
class nearest_loan_first {
 public:
  /// What tells heads of one tree apart that borrow from its root, before `goes_first`: nothing.
  struct standing {
    friend constexpr auto operator<=>(const standing&, const standing&) = default;
  };

  void reset(const ledger<N>&) noexcept {}
  [[nodiscard]] standing standing_of(const ledger<N>&, quota_id, const resources<N>&) const noexcept {
    return {};
  }

  /// Calls `visit(i)` for each entry in order; and `visit_other(head)`, where their turn is, for the
  /// `others`, heads that borrow from these roots, as far as they still fit then.
  template <class Entry, class Visit, class VisitOther>
  void for_each(ledger<N>& l, std::span<Entry> entries, std::span<const quota_id> roots,
                const detail::borrowing_heads<N, standing>& others, Visit visit, VisitOther visit_other) {
    order_.resize(entries.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    detail::sort(order_.begin(), order_.end(), [&](std::size_t i, std::size_t j) {
      return comes_before(entries[i].chosen.borrows, entries[i], entries[j].chosen.borrows, entries[j]);
    });
    const auto comes_later = [](const auto* a, const auto* b) {
      return comes_before(b->borrows, *b, a->borrows, *a);
    };
    next_.clear();
    const auto add = [&](quota_id root) {
      const auto* const first = others.first_that_fits(l, root);
      if (first == nullptr) return;
      next_.push_back(first);
      detail::push_heap(next_.begin(), next_.end(), comes_later);
    };
    // As room only becomes less, the first of a tree may be stale by its turn, but never too late.
    const auto visit_others_before = [&](const Entry* e) {
      while (!next_.empty()) {
        const auto* const first = next_.front();
        if (e != nullptr && comes_before(e->chosen.borrows, *e, first->borrows, *first)) return;
        detail::pop_heap(next_.begin(), next_.end(), comes_later);
        next_.pop_back();
        const quota_id root = first->root;
        if (others.first_that_fits(l, root) == first) visit_other(*first);
        add(root);
      }
    };
    for (const quota_id root : roots) add(root);
    for (const std::size_t i : order_) {
      visit_others_before(&entries[i]);
      visit(i);
    }
    visit_others_before(nullptr);
  }

 private:
  [[nodiscard]] static bool comes_before(loan_level from, const auto& a, loan_level other_from,
                                         const auto& b) {
    return from != other_from ? from < other_from : goes_first(a, b);
  }

  vector<std::size_t> order_;
  /// A heap of the first of the others of each tree.
  vector<const typename detail::borrowing_heads<N, standing>::head*> next_;
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

  /// What tells heads of one tree apart that borrow from its root, before `goes_first`.
  struct standing {
    bool borrows = false;
    borrowed_share share{};

    friend constexpr std::strong_ordering operator<=>(const standing& a, const standing& b) noexcept {
      return a.borrows != b.borrows ? a.borrows <=> b.borrows : a.share <=> b.share;
    }
    friend constexpr bool operator==(const standing& a, const standing& b) noexcept { return (a <=> b) == 0; }
  };

  /// That of a head of x, which has no children. O(N).
  [[nodiscard]] standing standing_of(const ledger<N>& l, quota_id x, const resources<N>& request) const {
    standing k;
    k.share = shares_.share_of(l, x, request);
    for (std::size_t d = 0; d < N; ++d) {
      k.borrows = k.borrows || (request[d] > quantity{} && l.balance(x, d) < request[d]);
    }
    return k;
  }

  void reset(const ledger<N>& l) {
    shares_.reset(l);
    nodes_.assign(l.tree().slots(), node{});
    matches_.reset(l.tree(), 1,
                   [&](quota_id x, std::size_t, std::size_t player) { nodes_[x.index()].player = player; });
  }

  /// As in `nearest_loan_first`.
  template <class Entry, class Visit, class VisitOther>
  void for_each(ledger<N>& l, std::span<Entry> entries, std::span<const quota_id> roots,
                const detail::borrowing_heads<N, standing>& others, Visit visit, VisitOther visit_other) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      node& x = nodes_[entries[i].quota.index()];
      x.entry = i;
      for (quota_id a = entries[i].quota; a; a = l.tree().parent(a)) ++nodes_[a.index()].waiting;
    }
    for (const quota_id root : roots) {
      if (nodes_[root.index()].waiting > 0) settle(l, entries, root);
      const auto* other = others.first_that_fits(l, root);
      while (other != nullptr || nodes_[root.index()].waiting > 0) {
        const std::size_t winner = nodes_[root.index()].waiting > 0 ? nodes_[root.index()].best : none;
        if (winner == none ||
            (other != nullptr && !before(entries[winner], key_at(l, root), *other, other->standing))) {
          visit_other(*other);
        } else {
          const quota_id x = entries[winner].quota;
          visit(winner);
          nodes_[x.index()].entry = none;
          for (quota_id a = x; a; a = l.tree().parent(a)) --nodes_[a.index()].waiting;
          play_above(l, entries, x);
        }
        other = others.first_that_fits(l, root);
      }
    }
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  using key = standing;
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
  /// The key by which the winner has won the match of the root.
  [[nodiscard]] const key& key_at(const ledger<N>& l, quota_id root) const {
    const std::size_t winner = matches_.winner(root.index());
    return winner == 0 ? nodes_[root.index()].own
                       : nodes_[l.tree().children(root)[winner - 1].index()].with_best;
  }
  [[nodiscard]] static bool before(const auto& a, const key& x, const auto& b, const key& y) {
    if (const auto o = x <=> y; o != 0) return o < 0;
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

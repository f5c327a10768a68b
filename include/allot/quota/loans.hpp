// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/ledger.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <tuple>
#include <utility>

namespace allot {
inline namespace v0 {

/// What one quota's jobs use of another quota's pool.
struct loan {
  /// The quota whose pool it is.
  quota_id lender;
  /// The quota whose jobs use it.
  quota_id borrower;
  /// How much of it.
  quantity amount;

  friend bool operator==(const loan&, const loan&) = default;
};

namespace detail {

/// Matches the accounts of one tree in one dimension at a time, as `loan_book` says. Keeps its memory.
template <std::size_t N>
class loan_matcher {
 public:
  /// What a match takes from an account, or gives to it.
  struct part {
    quota_id quota;
    quantity amount;
  };

  /// Begins with a ledger, or with the same one after its tree has changed.
  void reset(const ledger<N>& l) { accounts_.assign(l.tree().slots(), {}); }
  /// Matches what the quota, all below which have been matched, can: calls `visit(lenders, borrowers)` with
  /// the parts of both, whose sums are equal. O(subtree).
  template <class Visit>
  void match(const ledger<N>& l, quota_id x, std::size_t d, Visit visit) {
    const supply& s = l.supply_of(x, d);
    account& a = accounts_[x.index()];
    a.own_surplus = own_surplus(l, x, d);
    a.own_deficit = own_deficit(l, x, d);
    quantity surplus = a.own_surplus;
    quantity deficit = a.own_deficit;
    for (const quota_id c : l.tree().children(x)) {
      surplus += accounts_[c.index()].lendable;
      deficit += accounts_[c.index()].deficit;
    }
    const quantity matched = std::min(surplus, deficit);
    if (matched > quantity{}) {
      divide(l, x, matched, giving, lenders_);
      divide(l, x, matched, taking, borrowers_);
      visit(lenders_, borrowers_);
    }
    a.lendable = std::min(s.lend, surplus - matched);
    a.deficit = deficit - matched;
  }
  /// What is still lacking in the end, once its root is matched.
  [[nodiscard]] quantity unmet(quota_id x) const { return accounts_[x.index()].own_deficit; }

  /// What x has of its own pool beyond what its own jobs use, and these beyond the pool.
  [[nodiscard]] static quantity own_surplus(const ledger<N>& l, quota_id x, std::size_t d) {
    return std::max(quantity{}, pool_of(l, x, d) - l.own_usage(x, d));
  }
  [[nodiscard]] static quantity own_deficit(const ledger<N>& l, quota_id x, std::size_t d) {
    return std::max(quantity{}, l.own_usage(x, d) - pool_of(l, x, d));
  }

 private:
  /// What is left of a quota's own account, and of its whole subtree as the parent sees it.
  struct account {
    quantity own_surplus;
    quantity own_deficit;
    quantity lendable;
    quantity deficit;
  };
  /// One side of a match: the account members for the quota's own amount and for its whole subtree.
  struct side {
    quantity account::*own;
    quantity account::*subtree;
  };
  static constexpr side giving{&account::own_surplus, &account::lendable};
  static constexpr side taking{&account::own_deficit, &account::deficit};

  [[nodiscard]] static quantity pool_of(const ledger<N>& l, quota_id x, std::size_t d) {
    const quantity pool = l.supply_of(x, d).own_pool;
    return pool == quantity::lowest() ? quantity{} : pool;
  }

  /// Deducts `amount` from the accounts in the subtree of x, in proportion, and lists the part of each: x
  /// first, then the subtrees of its children, oldest first.
  void divide(const ledger<N>& l, quota_id x, quantity amount, side which, vector<part>& parts) {
    parts.clear();
    pending_.assign(1, {x, amount});
    while (!pending_.empty()) {
      const part next = pending_.back();
      pending_.pop_back();
      const auto children = l.tree().children(next.quota);
      quantity all = accounts_[next.quota.index()].*which.own;
      std::int64_t unlimited = all.is_unlimited() ? 1 : 0;
      for (const quota_id c : children) {
        const quantity q = accounts_[c.index()].*which.subtree;
        all += q;
        unlimited += q.is_unlimited() ? 1 : 0;
      }
      const std::int64_t total = unlimited != 0 ? unlimited : all.in_milli();
      std::int64_t weights = 0;
      quantity taken;
      const auto take = [&](quantity& from) {
        weights += unlimited == 0 ? from.in_milli() : (from.is_unlimited() ? 1 : 0);
        const quantity share = share_up_to(next.amount, weights, total) - taken;
        taken += share;
        from -= share;
        return share;
      };
      if (const quantity own = take(accounts_[next.quota.index()].*which.own); own > quantity{}) {
        parts.push_back({next.quota, own});
      }
      const std::size_t first = pending_.size();
      for (const quota_id c : children) {
        if (const quantity share = take(accounts_[c.index()].*which.subtree); share > quantity{}) {
          pending_.push_back({c, share});
        }
      }
      // The oldest is popped first.
      std::reverse(pending_.begin() + static_cast<std::ptrdiff_t>(first), pending_.end());
    }
  }
  [[nodiscard]] static quantity share_up_to(quantity amount, std::int64_t weight, std::int64_t total) {
    return quantity::milli(static_cast<std::int64_t>(static_cast<wide>(amount.in_milli()) *
                                                     static_cast<wide>(weight) / static_cast<wide>(total)));
  }

  vector<account> accounts_;
  vector<part> lenders_;
  vector<part> borrowers_;
  vector<part> pending_;
};

}  // namespace detail

/// Which quota lends to which, derived from the state of a ledger alone: two ledgers in the same state have
/// the same loans, whatever their history.
///
/// The accounts are the quotas' own pools: x has E(x) and its own jobs use u(x). The excess of E over u is
/// its surplus, that of u over E its deficit. Both are matched as low in the tree as the law allows: at each
/// quota, bottom up, its own deficit and the unmet deficits of its children are matched with its own surplus
/// and what its children may still lend. If the surplus is larger, every lender gives in proportion to what
/// it has; otherwise every borrower receives in proportion to what it lacks, and the remaining deficits move
/// up to the parent. Proportions are exact: cumulative shares rounded down, own account first, then the
/// children oldest first. What a child gives or receives is divided among the accounts below it the same way.
///
/// So in a sound state every deficit is met, and a leaf borrows max(0, used - nominal).
///
/// Where a pool is unlimited, bounded ones need not lend; several unlimited ones lend equal parts. An
/// overcommitted quota owes what its children were given beyond what it has; while they leave that idle, they
/// lend it. If a child of a bounded quota is unlimited, that debt has no amount and is left out.
///
/// `update` is O(n * depth) in the worst case, O(n) if no quota borrows. It keeps its memory, so it stops
/// allocating once the lists have reached their maximum length.
///
/// Every function takes any id and any dimension: a quota that the ledger did not contain, or a dimension >=
/// N, has no loans.
template <std::size_t N = 1>
class loan_book {
 public:
  loan_book() = default;
  explicit loan_book(const ledger<N>& l) { update(l); }

  /// Updates the book to the ledger's current state.
  void update(const ledger<N>& l) {
    for (std::size_t d = 0; d < N; ++d) update(l, d);
  }
  /// The same for one dimension; the others are unchanged.
  void update(const ledger<N>& l, std::size_t d) {
    if (d >= N) return;
    book& b = books_[d];
    b.loans.clear();
    b.lent.assign(l.tree().slots(), quantity{});
    b.borrowed.assign(l.tree().slots(), quantity{});
    b.unmet.assign(l.tree().slots(), quantity{});
    matcher_.reset(l);
    const auto pair = [&](vector<part>& from, vector<part>& to) { pair_up(b, from, to); };
    const auto order = l.tree().top_down();
    for (auto x = order.rbegin(); x != order.rend(); ++x) matcher_.match(l, *x, d, pair);
    for (const quota_id x : order) b.unmet[x.index()] = matcher_.unmet(x);
    // A pair meets only at its lowest common ancestor, so no pair occurs twice.
    detail::sort(b.loans.begin(), b.loans.end(), [](const loan& x, const loan& y) {
      return std::tie(x.lender, x.borrower) < std::tie(y.lender, y.borrower);
    });
  }

  /// By lender, then borrower, oldest first; each pair once.
  [[nodiscard]] std::span<const loan> loans(std::size_t d) const noexcept {
    return d < N ? std::span<const loan>{books_[d].loans} : std::span<const loan>{};
  }
  /// What other quotas' jobs use of x's own pool.
  [[nodiscard]] quantity lent(quota_id x, std::size_t d) const noexcept { return of(x, d, &book::lent); }
  /// What x's own jobs use of other quotas' pools.
  [[nodiscard]] quantity borrowed(quota_id x, std::size_t d) const noexcept {
    return of(x, d, &book::borrowed);
  }
  /// What x's own jobs use that no quota lends: zero in a sound state.
  [[nodiscard]] quantity unmet(quota_id x, std::size_t d) const noexcept { return of(x, d, &book::unmet); }

 private:
  struct book {
    vector<loan> loans;
    vector<quantity> lent;
    vector<quantity> borrowed;
    vector<quantity> unmet;
  };
  using matcher = detail::loan_matcher<N>;
  using part = typename matcher::part;

  [[nodiscard]] quantity of(quota_id x, std::size_t d, vector<quantity> book::*amounts) const noexcept {
    if (d >= N || x.index() >= (books_[d].*amounts).size()) return {};
    return (books_[d].*amounts)[x.index()];
  }

  /// Pairs up the two lists, whose totals are equal, from front to back.
  static void pair_up(book& b, vector<part>& lenders, vector<part>& borrowers) {
    auto to = borrowers.begin();
    for (part& from : lenders) {
      b.lent[from.quota.index()] += from.amount;
      while (from.amount > quantity{}) {
        const quantity amount = std::min(from.amount, to->amount);
        b.loans.push_back({from.quota, to->quota, amount});
        b.borrowed[to->quota.index()] += amount;
        from.amount -= amount;
        to->amount -= amount;
        if (to->amount == quantity{}) ++to;
      }
    }
  }

  std::array<book, N> books_;
  matcher matcher_;
};

/// The loans of one dimension, over all trees of the ledger, by lender, then borrower, oldest first.
template <std::size_t N>
[[nodiscard]] vector<loan> loans(const ledger<N>& l, std::size_t d) {
  loan_book<N> book;
  book.update(l, d);
  const auto found = book.loans(d);
  return {found.begin(), found.end()};
}

}  // namespace v0
}  // namespace allot

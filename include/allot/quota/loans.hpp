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
    accounts_.assign(l.tree().slots(), {});
    const auto order = l.tree().top_down();
    for (auto x = order.rbegin(); x != order.rend(); ++x) match(l, *x, d);
    for (const quota_id x : order) b.unmet[x.index()] = accounts_[x.index()].own_deficit;
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
  /// What is left of a quota's own account, and of its whole subtree as the parent sees it.
  struct account {
    quantity own_surplus;
    quantity own_deficit;
    quantity lendable;
    quantity deficit;
  };
  struct part {
    quota_id quota;
    quantity amount;
  };
  /// One side of a match: the account members for the quota's own amount and for its whole subtree.
  struct side {
    quantity account::*own;
    quantity account::*subtree;
  };
  static constexpr side giving{&account::own_surplus, &account::lendable};
  static constexpr side taking{&account::own_deficit, &account::deficit};

  [[nodiscard]] quantity of(quota_id x, std::size_t d, vector<quantity> book::*amounts) const noexcept {
    if (d >= N || x.index() >= (books_[d].*amounts).size()) return {};
    return (books_[d].*amounts)[x.index()];
  }

  void match(const ledger<N>& l, quota_id x, std::size_t d) {
    const supply& s = l.supply_of(x, d);
    const quantity pool = s.own_pool == quantity::lowest() ? quantity{} : s.own_pool;
    const quantity used = l.own_usage(x, d);
    account& a = accounts_[x.index()];
    a.own_surplus = std::max(quantity{}, pool - used);
    a.own_deficit = std::max(quantity{}, used - pool);
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
      pair_up(d);
    }
    a.lendable = std::min(s.lend, surplus - matched);
    a.deficit = deficit - matched;
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
      std::int64_t before = 0;
      const auto take = [&](quantity& from) {
        const std::int64_t weight = unlimited == 0 ? from.in_milli() : (from.is_unlimited() ? 1 : 0);
        const quantity share =
            share_up_to(next.amount, before + weight, total) - share_up_to(next.amount, before, total);
        before += weight;
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

  /// Pairs up the two lists, whose totals are equal, from front to back.
  void pair_up(std::size_t d) {
    book& b = books_[d];
    auto to = borrowers_.begin();
    for (part& from : lenders_) {
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
  vector<account> accounts_;
  vector<part> lenders_;
  vector<part> borrowers_;
  vector<part> pending_;
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

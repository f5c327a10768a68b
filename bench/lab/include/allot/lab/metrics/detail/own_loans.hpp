// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/ledger.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// What every quota's own jobs use of other quotas' pools, and others' jobs of its pool, now and over time:
/// the amounts of a `loan_book` before they are rounded, without the pairs.
///
/// Proportions are the same for all that a quota divides a loan among. So each quota has one clock for its
/// lenders and one for its borrowers, which says how much each unit of what they have, or lack, was matched
/// for how long, and which follows that of its parent until something changes below the quota itself. A
/// change of usage is O(depth), though it changes what every quota of the tree lends; so is any amount, when
/// asked for. Times are kept to 2^-32 ms for each unit, rounded once for each change on the path.
///
/// Amounts are of the ledger as last noted. Precondition of all: `now` is never less than before.
template <std::size_t N = 1>
class own_loans {
 public:
  /// Only in these dimensions.
  explicit own_loans(const per_dimension<bool, N>& of = per_dimension<bool, N>{true}) : of_(of) {}

  /// Begins with a ledger, or with the same one after its tree has changed. O(n).
  void reset(const ledger<N>& l, instant now) {
    for (std::size_t i = 0; i < accounts_.size(); ++i) {
      for (std::size_t d = 0; d < N; ++d) close(i, d, now);
    }
    accounts_.resize(std::max(accounts_.size(), l.tree().slots()));
    for (std::size_t i = 0; i < accounts_.size(); ++i) {
      for (std::size_t d = 0; d < N; ++d) open(l, quota_id{i}, d, now);
    }
    const auto order = l.tree().top_down();
    for (auto x = order.rbegin(); x != order.rend(); ++x) {
      for (std::size_t d = 0; d < N; ++d) {
        if (of_[d]) climb(x->index(), d, own_of(l, *x, d));
      }
    }
  }
  /// The usage of the quota's own jobs may have changed. O(depth).
  void note(const ledger<N>& l, quota_id x, instant now) {
    for (std::size_t d = 0; d < N; ++d) {
      const two own = own_of(l, x, d);
      const account& a = accounts_[x.index()][d];
      if (!of_[d] || (own.lending == a.lending.own && own.borrowing == a.borrowing.own)) continue;
      pass(x.index(), d, now);
      for (side account::*const s : sides) pass_own(x.index(), d, s);
      climb(x.index(), d, own);
    }
  }

  /// What others use of the quota's pool, to the nearest milli-unit.
  [[nodiscard]] std::int64_t lent(quota_id x, std::size_t d) const { return amount(x, d, &account::lending); }
  /// What its own jobs use of others' pools, to the nearest milli-unit.
  [[nodiscard]] std::int64_t borrowed(quota_id x, std::size_t d) const {
    return amount(x, d, &account::borrowing);
  }
  /// Whether others use anything of the quota's pool, however little.
  [[nodiscard]] bool lends(quota_id x, std::size_t d) const {
    const account* a = &accounts_[x.index()][d];
    if (a->weight_of(a->lending.own, &account::lending) == 0) return false;
    while (a->matched == 0) {
      if (!a->parent) return false;
      const account& above = accounts_[a->parent.index()][d];
      if (above.weight_of(a->lending.left, &account::lending) == 0) return false;
      a = &above;
    }
    return true;
  }
  /// How often it may have changed whether quotas lend whose own usage has not changed.
  [[nodiscard]] std::uint64_t turns() const noexcept { return turns_; }

  /// @{
  /// The integrals over time until now, in milli-units x milliseconds, of one quota's amounts and of what is
  /// lent in all. The last is exact. O(depth), and O(n).
  [[nodiscard]] wide lent_time(quota_id x, std::size_t d, instant now) const {
    return time_of(x, d, &account::lending, now);
  }
  [[nodiscard]] wide borrowed_time(quota_id x, std::size_t d, instant now) const {
    return time_of(x, d, &account::borrowing, now);
  }
  [[nodiscard]] wide lent_time(instant now) const {
    wide all = lent_time_;
    for (const auto& of : accounts_) {
      for (const account& a : of) all += a.matched * milliseconds(a.since, now);
    }
    return all;
  }
  /// @}

 private:
  static constexpr unsigned fraction_bits = 32;

  /// Of those who lend, or those who borrow, in a quota's subtree.
  struct side {
    /// What the quota itself has to lend, or lacks; and what its parent still sees of the subtree.
    quantity own;
    quantity left;
    /// What it and its children bring: the sum of what is bounded, and how much is unlimited.
    wide bounded = 0;
    std::uint32_t unlimited = 0;
    /// How long, in fractions of a millisecond, each unit of that was matched, until `since`; and what that
    /// was of the parent then.
    wide clock = 0;
    wide above = 0;
    /// The own amounts over time, until the clock was at `own_since`.
    wide own_time = 0;
    wide own_since = 0;

    /// Where some is unlimited, those lend equal parts, and the others nothing.
    [[nodiscard]] wide weights() const { return unlimited != 0 ? unlimited : bounded; }
    [[nodiscard]] wide weight_of(quantity part) const {
      if (unlimited != 0) return part.is_unlimited() ? 1 : 0;
      return static_cast<wide>(part.in_milli());
    }
    void add(quantity part) {
      if (part.is_unlimited()) {
        ++unlimited;
      } else {
        bounded += static_cast<wide>(part.in_milli());
      }
    }
    void remove(quantity part) {
      if (part.is_unlimited()) {
        --unlimited;
      } else {
        bounded -= static_cast<wide>(part.in_milli());
      }
    }
  };
  struct account {
    side lending;
    side borrowing;
    /// What is matched at the quota, in milli-units, and since when all this has been so.
    wide matched = 0;
    instant since = 0;
    quota_id parent = quota_id::none();
    quantity lend;

    [[nodiscard]] wide weight_of(quantity part, side account::*s) const { return (this->*s).weight_of(part); }
  };
  static constexpr side account::*sides[] = {&account::lending, &account::borrowing};
  struct two {
    quantity lending;
    quantity borrowing;
  };

  [[nodiscard]] static two own_of(const ledger<N>& l, quota_id x, std::size_t d) {
    const quantity pool = l.supply_of(x, d).own_pool;
    const quantity has = pool == quantity::lowest() ? quantity{} : pool;
    const quantity uses = l.own_usage(x, d);
    return {std::max(quantity{}, has - uses), std::max(quantity{}, uses - has)};
  }
  [[nodiscard]] static wide milliseconds(instant from, instant to) { return static_cast<wide>(to - from); }
  /// What a unit gets when the quota matches `matched`, and its parent gives `above` to each of its own.
  [[nodiscard]] wide each(const account& a, std::size_t d, side account::*s, wide matched, wide above) const {
    const wide weights = (a.*s).weights();
    if (weights == 0) return 0;
    const wide share = above == 0 ? 0 : above * accounts_[a.parent.index()][d].weight_of((a.*s).left, s);
    return (matched + share + weights / 2) / weights;
  }

  /// Brings the clocks of the quota and all above it to the present.
  void pass(std::size_t i, std::size_t d, instant now) {
    account& a = accounts_[i][d];
    if (a.parent) pass(a.parent.index(), d, now);
    const wide span = milliseconds(a.since, now);
    for (side account::*const s : sides) {
      side& of = a.*s;
      const wide above = a.parent ? (accounts_[a.parent.index()][d].*s).clock : 0;
      of.clock += each(a, d, s, a.matched * (span << fraction_bits), above - of.above);
      of.above = above;
    }
    lent_time_ += a.matched * span;
    a.since = now;
  }
  void pass_own(std::size_t i, std::size_t d, side account::*s) {
    side& of = accounts_[i][d].*s;
    of.own_time += of.weight_of(of.own) * (of.clock - of.own_since);
    of.own_since = of.clock;
  }
  [[nodiscard]] wide clock_at(const account& a, std::size_t d, side account::*s, instant now) const {
    const side& of = a.*s;
    const wide above = a.parent ? clock_at(accounts_[a.parent.index()][d], d, s, now) : 0;
    return of.clock +
           each(a, d, s, a.matched * (milliseconds(a.since, now) << fraction_bits), above - of.above);
  }
  [[nodiscard]] wide time_of(quota_id x, std::size_t d, side account::*s, instant now) const {
    if (x.index() >= accounts_.size()) return 0;
    const account& a = accounts_[x.index()][d];
    const side& of = a.*s;
    return rounded(of.own_time + of.weight_of(of.own) * (clock_at(a, d, s, now) - of.own_since));
  }
  [[nodiscard]] wide rate(const account& a, std::size_t d, side account::*s) const {
    const wide above = a.parent ? rate(accounts_[a.parent.index()][d], d, s) : 0;
    return each(a, d, s, a.matched << fraction_bits, above);
  }
  [[nodiscard]] std::int64_t amount(quota_id x, std::size_t d, side account::*s) const {
    const account& a = accounts_[x.index()][d];
    const wide weight = (a.*s).weight_of((a.*s).own);
    return weight == 0 ? 0 : static_cast<std::int64_t>(rounded(weight * rate(a, d, s)));
  }
  [[nodiscard]] static wide rounded(wide fractions) {
    return (fractions + (wide{1} << (fraction_bits - 1))) >> fraction_bits;
  }

  /// Ends the time in which the tree was as it is.
  void close(std::size_t i, std::size_t d, instant now) {
    pass(i, d, now);
    for (side account::*const s : sides) pass_own(i, d, s);
  }
  void open(const ledger<N>& l, quota_id x, std::size_t d, instant now) {
    account& a = accounts_[x.index()][d];
    account fresh;
    for (side account::*const s : sides) (fresh.*s).own_time = (a.*s).own_time;
    fresh.since = now;
    if (l.tree().contains(x)) {
      fresh.parent = l.tree().parent(x);
      fresh.lend = l.supply_of(x, d).lend;
    }
    a = fresh;
  }
  /// The quota has these from now on; its clocks, and those above, are of now.
  void climb(std::size_t i, std::size_t d, const two& own) {
    account* a = &accounts_[i][d];
    replace(a->lending, a->lending.own, own.lending);
    replace(a->borrowing, a->borrowing.own, own.borrowing);
    for (bool is_own = true;; is_own = false) {
      const side& from = a->lending;
      const wide lacks = a->borrowing.bounded;
      const wide matched = from.unlimited != 0 ? lacks : std::min(from.bounded, lacks);
      const quantity lendable =
          from.unlimited != 0 ? a->lend : std::min(a->lend, in_quantity(from.bounded - matched));
      if (!is_own &&
          ((matched == 0) != (a->matched == 0) || (lendable == quantity{}) != (from.left == quantity{}))) {
        ++turns_;
      }
      a->matched = matched;
      const quantity unmet = in_quantity(lacks - matched);
      if (!a->parent || (lendable == from.left && unmet == a->borrowing.left)) return;
      account* const above = &accounts_[a->parent.index()][d];
      above->lending.remove(std::exchange(a->lending.left, lendable));
      above->lending.add(lendable);
      above->borrowing.remove(std::exchange(a->borrowing.left, unmet));
      above->borrowing.add(unmet);
      a = above;
    }
  }
  static void replace(side& s, quantity& part, quantity by) {
    s.remove(std::exchange(part, by));
    s.add(by);
  }
  [[nodiscard]] static quantity in_quantity(wide milli) {
    return quantity::milli(static_cast<std::int64_t>(milli));
  }

  per_dimension<bool, N> of_;
  vector<per_dimension<account, N>> accounts_;
  wide lent_time_ = 0;
  std::uint64_t turns_ = 0;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/fairshare/contender.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>

namespace allot {
inline namespace v0 {

/// The part of what it could borrow that a contender borrows, per weight, in the dimension where it is
/// largest (Kueue's dominant resource share). Only borrowed usage counts.
struct borrowed_share {
  /// Whether it borrows at all in a requested dimension. Separate because the share of a tiny loan, or of one
  /// from a quota with nothing lendable, is meaningless (Kueue #6617, #6925).
  bool borrows = false;
  /// Infinite for a borrower of weight zero.
  ratio weighted{};
  /// The same without the weight.
  ratio unweighted{};

  /// By the weighted share; borrowers of weight zero among themselves by the unweighted one.
  friend constexpr std::strong_ordering operator<=>(const borrowed_share& a,
                                                    const borrowed_share& b) noexcept {
    const auto order = a.weighted <=> b.weighted;
    return order == 0 && a.weighted.is_infinite() ? a.unweighted <=> b.unweighted : order;
  }
  friend constexpr bool operator==(const borrowed_share& a, const borrowed_share& b) noexcept {
    return (a <=> b) == 0;
  }
};

/// The share with the contender's request added. What it could borrow is the most that the quota above could
/// use, which does not depend on usage. A root can't borrow: its share is zero. O(N depth).
template <std::size_t N>
[[nodiscard]] borrowed_share share_of(const ledger<N>& l, const contender<N>& c) {
  borrowed_share result;
  const quota_id lender = c.own_jobs ? c.quota : l.tree().parent(c.quota);
  if (!lender) return result;
  for (std::size_t d = 0; d < N; ++d) {
    const account a = account_of(l, c, d);
    const quantity borrowed = a.used + c.request[d] - a.supply;
    if (borrowed <= quantity{}) continue;
    if (c.request[d] > quantity{}) result.borrows = true;
    const quantity lendable = l.potential(lender, d);
    if (lendable <= quantity{}) continue;
    const auto part = static_cast<wide>(borrowed.in_milli());
    const auto whole = static_cast<wide>(lendable.in_milli());
    const auto weight = static_cast<wide>(l.tree().spec(c.quota).weight[d].in_milli());
    result.unweighted = std::max(result.unweighted, ratio{part, whole});
    result.weighted = std::max(result.weighted, ratio{part * 1000, whole * weight});
  }
  return result;
}

}  // namespace v0
}  // namespace allot

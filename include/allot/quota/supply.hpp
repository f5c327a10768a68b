// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/quota/tree.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace allot {
inline namespace v0 {

/// What a quota has in one dimension while nothing is used: the terms of the ledger law that depend only on
/// the specification.
struct supply {
  /// E: what belongs to the quota itself and to none of its children.
  quantity own_pool;
  /// S: the most that can be used within the subtree without borrowing from outside.
  quantity total;
  /// B: the most it may borrow from outside, as an amount.
  quantity borrow;
  /// L: the most it may lend to outside, as an amount.
  quantity lend;
  /// The part of S that is never lent to the parent: max(0, S - L).
  quantity kept;
  /// What the children's subtrees are given, including kept parts.
  quantity children_own;
};

/// The supplies of every quota, by id, in O(n).
///
/// An inclusive quota's nominal contains everything that its descendants were given, including what they keep
/// from one another. So its own pool is its nominal less what its children *own*, and its supply is its
/// nominal less what its descendants *keep*. Subtracting the children's supplies instead, which is equivalent
/// while no quota below the children limits lending, would count what a grandchild keeps twice: a root of 128
/// over a department of 80 over a static team of 30 would have 78 for itself, 158 in all.
template <std::size_t N>
[[nodiscard]] std::vector<per_dimension<supply, N>> supplies_of(const quota_tree<N>& tree) {
  std::vector<per_dimension<supply, N>> result(tree.slots());
  std::vector<resources<N>> owned(tree.slots());
  std::vector<resources<N>> kept_below(tree.slots());
  const auto order = tree.top_down();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const quota_id x = *it;
    const quota_spec<N>& spec = tree.spec(x);
    for (std::size_t d = 0; d < N; ++d) {
      supply& s = result[x.index()][d];
      quantity lent_up{};
      quantity& kept = kept_below[x.index()][d];
      for (const quota_id c : tree.children(x)) {
        const supply& child = result[c.index()][d];
        s.children_own += owned[c.index()][d];
        lent_up += std::min(child.total, child.lend);
        kept += kept_below[c.index()][d] + child.kept;
      }
      const quantity nominal = spec.nominal[d];
      s.own_pool = spec.inclusive ? nominal - s.children_own : nominal;
      s.total = spec.inclusive ? nominal - kept : nominal + lent_up;
      s.borrow = spec.is_static ? quantity{} : spec.borrow[d].of(nominal);
      s.lend = spec.is_static ? quantity{} : spec.lend[d].of(nominal);
      s.kept = s.lend.is_unlimited() ? quantity{} : std::max(quantity{}, s.total - s.lend);
      owned[x.index()][d] = spec.inclusive ? nominal : nominal + s.children_own;
    }
  }
  return result;
}

}  // namespace v0
}  // namespace allot

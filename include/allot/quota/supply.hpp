// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/quota/tree.hpp>

#include <algorithm>
#include <cstddef>

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
  /// What all quotas below it keep.
  quantity kept_below;

  friend bool operator==(const supply&, const supply&) = default;
};

/// The supply of one quota, from those of its children, which `all` has by id. O(children).
///
/// An inclusive quota's nominal contains everything that its descendants were given, including what they keep
/// from one another. So its own pool is its nominal less what its children *own*, and its supply is its
/// nominal less what its descendants *keep*. Subtracting the children's supplies instead, which is equivalent
/// while no quota below the children limits lending, would count what a grandchild keeps twice: a root of 128
/// over a department of 80 over a static team of 30 would have 78 for itself, 158 in all.
template <std::size_t N>
[[nodiscard]] per_dimension<supply, N> supply_of(const quota_tree<N>& tree, quota_id x,
                                                 const vector<per_dimension<supply, N>>& all) {
  per_dimension<supply, N> result;
  resources<N> lent_up;
  for (const quota_id c : tree.children(x)) {
    const quota_spec<N>& below = tree.spec(c);
    for (std::size_t d = 0; d < N; ++d) {
      const supply& child = all[c.index()][d];
      result[d].children_own += below.inclusive ? below.nominal[d] : below.nominal[d] + child.children_own;
      result[d].kept_below += child.kept_below + child.kept;
      lent_up[d] += std::min(child.total, child.lend);
    }
  }
  const quota_spec<N>& spec = tree.spec(x);
  for (std::size_t d = 0; d < N; ++d) {
    supply& s = result[d];
    const quantity nominal = spec.nominal[d];
    s.own_pool = spec.inclusive ? nominal - s.children_own : nominal;
    s.total = spec.inclusive ? nominal - s.kept_below : nominal + lent_up[d];
    s.borrow = spec.is_static ? quantity{} : spec.borrow[d].of(nominal);
    s.lend = spec.is_static ? quantity{} : spec.lend[d].of(nominal);
    s.kept = s.lend.is_unlimited() ? quantity{} : std::max(quantity{}, s.total - s.lend);
  }
  return result;
}

/// The supplies of every quota, by id, in O(n).
template <std::size_t N>
[[nodiscard]] vector<per_dimension<supply, N>> supplies_of(const quota_tree<N>& tree) {
  vector<per_dimension<supply, N>> result(tree.slots());
  const auto order = tree.top_down();
  for (auto x = order.rbegin(); x != order.rend(); ++x) result[x->index()] = supply_of(tree, *x, result);
  return result;
}

}  // namespace v0
}  // namespace allot

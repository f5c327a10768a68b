// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/quota/ledger.hpp>

#include <cstddef>

namespace allot {
inline namespace v0 {

/// Keeps the usage of all jobs in the subtree of each quota: the ledger knows only what is drawn on a quota's
/// supply, which excludes what its descendants keep for themselves. Charge and release it along with the
/// ledger; O(depth), and O(1) to read.
template <std::size_t N = 1>
class subtree_usage {
 public:
  subtree_usage() = default;
  explicit subtree_usage(const ledger<N>& l) { rebuild(l); }

  /// Recomputes all totals from the ledger. O(n depth).
  void rebuild(const ledger<N>& l) {
    totals_.assign(l.tree().slots(), resources<N>{});
    for (const quota_id x : l.tree().top_down()) charge(l.tree(), x, l.own_usage(x));
  }
  /// @{
  /// A job of x begins, or ceases, to use `request`: adds it to, or subtracts it from, x and every quota
  /// above. O(depth).
  void charge(const quota_tree<N>& tree, quota_id x, const resources<N>& request) {
    for (; x; x = tree.parent(x)) totals_[x.index()] += request;
  }
  void release(const quota_tree<N>& tree, quota_id x, const resources<N>& request) {
    for (; x; x = tree.parent(x)) totals_[x.index()] -= request;
  }
  /// @}

  /// Zero for an unknown quota.
  [[nodiscard]] const resources<N>& of(quota_id x) const noexcept {
    static constexpr resources<N> nothing{};
    return x.index() < totals_.size() ? totals_[x.index()] : nothing;
  }

 private:
  vector<resources<N>> totals_;
};

}  // namespace v0
}  // namespace allot

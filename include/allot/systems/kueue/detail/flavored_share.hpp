// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/fairshare/borrowed_share.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/systems/kueue/detail/float_share.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {

/// Which resource each dimension is a flavor of: dimensions with the same number are flavors of one resource.
template <std::size_t N>
using resource_numbers = std::array<std::uint8_t, N>;

/// Each dimension is a resource of its own.
template <std::size_t N>
[[nodiscard]] constexpr resource_numbers<N> unflavored() noexcept {
  resource_numbers<N> numbers{};
  for (std::size_t d = 0; d < N; ++d) numbers[d] = static_cast<std::uint8_t>(d);
  return numbers;
}

/// The dominant resource share of quotas where one resource has several flavors (Kueue KEP-1714): what a
/// quota borrows of a resource, divided by what could be borrowed of it, both summed over all of its flavors,
/// per weight; the maximum over the resources. A loan in one flavor is not offset by idle quota in another. A
/// root borrows from no quota: its share is zero.
///
/// What could be borrowed is the most the parent quota could use. Usage does not change it, so it is computed
/// once per tree. If the flavors of a resource have different weights, the first flavor's weight counts.
template <std::size_t N>
class flavored_shares {
 public:
  /// `as_floats`: shares are rounded as Kueue's are, see `float_share`; else they are exact.
  explicit flavored_shares(const resource_numbers<N>& resource_of = unflavored<N>(), bool as_floats = false)
      : resource_of_(resource_of), as_floats_(as_floats) {}

  /// Starts over on the ledger's tree. O(N n depth).
  void reset(const ledger<N>& l) {
    const quota_tree<N>& tree = l.tree();
    lendable_.assign(tree.slots() * N, quantity{});
    weight_.assign(tree.slots() * N, 0);
    for (const quota_id x : tree.top_down()) {
      for (std::size_t d = N; d-- > 0;) {
        weight_[x.index() * N + resource_of_[d]] = tree.spec(x).weight[d].in_milli();
        lendable_[x.index() * N + resource_of_[d]] += std::max(quantity{}, l.potential(x, d));
      }
    }
  }

  /// The share of x as the ledger stands, with what further jobs would draw on x. O(N).
  [[nodiscard]] borrowed_share share_of(const ledger<N>& l, quota_id x, const resources<N>& more = {}) const {
    const quota_id lender = l.tree().parent(x);
    if (!lender) return {};
    return share(x, lender, [&](std::size_t d) { return std::max(quantity{}, more[d] - l.balance(x, d)); });
  }
  /// The share of x's own jobs alone, as a peer of its children: what they use beyond the own pool of x. For
  /// a quota without children, the share of the quota.
  [[nodiscard]] borrowed_share own_share_of(const ledger<N>& l, quota_id x) const {
    if (l.tree().children(x).empty()) return share_of(l, x);
    return share(x, x, [&](std::size_t d) {
      return std::max(quantity{}, l.own_usage(x, d) - l.supply_of(x, d).own_pool);
    });
  }

 private:
  template <class Borrowed>
  [[nodiscard]] borrowed_share share(quota_id x, quota_id lender, Borrowed borrowed) const {
    borrowed_share result;
    resources<N> amounts;
    for (std::size_t d = 0; d < N; ++d) {
      const quantity b = borrowed(d);
      if (b == quantity{}) continue;
      result.borrows = true;
      amounts[resource_of_[d]] += b;
    }
    if (!result.borrows) return result;
    for (std::size_t r = 0; r < N; ++r) {
      const quantity lendable = lendable_[lender.index() * N + r];
      if (amounts[r] == quantity{} || lendable == quantity{}) continue;
      if (as_floats_) {
        const float_share s = float_share::of(amounts[r], lendable, weight_[x.index() * N + r]);
        result.unweighted = std::max(result.unweighted, s.unweighted);
        result.weighted = std::max(result.weighted, s.weighted);
        continue;
      }
      const auto part = static_cast<wide>(amounts[r].in_milli());
      const auto whole = static_cast<wide>(lendable.in_milli());
      const auto weight = static_cast<wide>(weight_[x.index() * N + r]);
      result.unweighted = std::max(result.unweighted, ratio{part, whole});
      result.weighted = std::max(result.weighted, ratio{part * 1000, whole * weight});
    }
    return result;
  }

  resource_numbers<N> resource_of_;
  bool as_floats_;
  /// By quota and resource: the most that it could use.
  vector<quantity> lendable_;
  vector<std::int64_t> weight_;
};

}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/fairshare/contender.hpp>
#include <allot/fairshare/job_rank.hpp>
#include <allot/fairshare/subtree_usage.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>

namespace allot {
inline namespace v0 {

/// A share, then the best job.
struct share_key {
  /// Infinite for a user of weight zero.
  ratio weighted{};
  /// The same without the weight, for contenders of weight zero.
  ratio unweighted{};
  /// Its best pending job, which decides between equal shares.
  job_rank head{};

  /// By the weighted share; where both are infinite, by the unweighted one.
  friend constexpr std::strong_ordering operator<=>(const share_key& a, const share_key& b) noexcept {
    if (const auto o = a.weighted <=> b.weighted; o != 0) return o;
    if (a.weighted.is_infinite()) {
      if (const auto o = a.unweighted <=> b.unweighted; o != 0) return o;
    }
    return a.head <=> b.head;
  }
  friend constexpr bool operator==(const share_key& a, const share_key& b) noexcept { return (a <=> b) == 0; }
};

/// The usage that orders by total use compare: that of whole subtrees, with or without the job's request.
template <std::size_t N>
struct total_use {
  /// The usage that is compared; must outlive the order.
  const subtree_usage<N>* usage;
  /// Whether the request of the contender's job is added to what it uses.
  bool with_request = false;

  [[nodiscard]] quantity operator()(const ledger<N>& l, const contender<N>& c, std::size_t d) const {
    const quantity used = c.own_jobs ? l.own_usage(c.quota, d) : usage->of(c.quota)[d];
    return with_request ? used + c.asked[d] : used;
  }
};

/// Dominant resource fairness on total use (Ghodsi et al. 2011; Mesos; Volcano): the lowest share comes
/// first, the maximum over resources of used / capacity, per weight. Unlike a borrowed share it also counts
/// what a quota owns. Unlimited resources do not matter.
template <std::size_t N>
struct lowest_total_share {
  /// What counts as use.
  total_use<N> use;
  /// What use is divided by, in each dimension: the capacity of the cluster.
  resources<N> capacity;

  [[nodiscard]] share_key operator()(const ledger<N>& l, const contender<N>& c) const {
    share_key k{{}, {}, c.head};
    for (std::size_t d = 0; d < N; ++d) {
      if (capacity[d].is_unlimited()) continue;
      const auto used = static_cast<wide>(std::max(quantity{}, use(l, c, d)).in_milli());
      const auto all = static_cast<wide>(std::max(quantity{}, capacity[d]).in_milli());
      const auto weight = static_cast<wide>(l.tree().spec(c.quota).weight[d].in_milli());
      k.unweighted = std::max(k.unweighted, ratio{used, all});
      k.weighted = std::max(k.weighted, ratio{used * 1000, all * weight});
    }
    return k;
  }
};

/// Saturation: the contender with the lowest fraction of its entitlement comes first, by the maximum over
/// resources of used / entitled. One with usage but no entitlement comes last. Weights are already in the
/// entitlements. `Entitlements` is a `division` or anything with its `entitled` and `own`; when it changes,
/// call `tournament::refresh_all`.
template <std::size_t N, class Entitlements>
struct lowest_saturation {
  /// What counts as use.
  total_use<N> use;
  /// What use is divided by; must outlive the order.
  const Entitlements* entitlements;

  [[nodiscard]] share_key operator()(const ledger<N>& l, const contender<N>& c) const {
    share_key k{{}, {}, c.head};
    const resources<N>& due = c.own_jobs ? entitlements->own(c.quota) : entitlements->entitled(c.quota);
    for (std::size_t d = 0; d < N; ++d) {
      if (due[d].is_unlimited()) continue;
      const auto used = static_cast<wide>(std::max(quantity{}, use(l, c, d)).in_milli());
      k.weighted = std::max(k.weighted, ratio{used, static_cast<wide>(due[d].in_milli())});
    }
    return k;
  }
};

}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ratio.hpp>
#include <allot/preemption/guard.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot {
inline namespace v0 {

/// Rivals yield while their side is over its entitlement and the beneficiary's side stays within its own or,
/// failing that, stays less saturated than the victim's side is then, by a margin: the rule by which KAI
/// v0.13 keeps a reclaim from being reversed. Saturation is usage over entitlement, of whole subtrees at the
/// children of the lowest common ancestor, compared in each requested dimension. A victim's side without any
/// entitlement always yields. As in KAI, the guard also judges borrowers.
///
/// `Entitlement` is a callable (quota, dimension) that returns a quantity: the result of dividing the present
/// demand. The guard is as stable as that.
/// O(N subtree of the two sides).
template <class Entitlement>
class saturation_guard {
 public:
  /// Of two jobs of one quota the larger is never fair where the smaller is not. See `victim_guard`.
  static constexpr bool less_fair_when_larger = true;
  /// True: it decides what is fair between rivals. See `victim_guard`.
  [[nodiscard]] static constexpr bool judges_rivals() noexcept { return true; }

  /// The margin is `numerator`/`denominator`, at least 1 (KAI's reclaimer saturation multiplier).
  explicit saturation_guard(Entitlement entitlement, std::uint32_t numerator = 1,
                            std::uint32_t denominator = 1)
      : entitlement_(std::move(entitlement)), numerator_(numerator), denominator_(denominator) {
    ALLOT_ASSERT(denominator != 0 && numerator >= denominator, "a saturation margin is at least 1");
  }

  template <std::size_t N>
  [[nodiscard]] verdict operator()(const ledger<N>& l, const beneficiary<N>& b,
                                   const victim_candidate<N>& v) const {
    if (v.how != relation::rival && v.how != relation::borrower) return {eligible_is_fair{}(l, b, v)};
    const quota_tree<N>& tree = l.tree();
    const quota_id top = tree.common_ancestor(b.quota, v.quota);
    const bool own_jobs = top == b.quota;
    const quota_id ours = own_jobs ? top : tree.side_of(b.quota, top);
    const quota_id theirs = tree.side_of(v.quota, top);
    const resources<N> used = own_jobs ? l.own_usage(ours) : l.total_usage(ours);
    const resources<N> had = l.total_usage(theirs);
    verdict result{false, fairness_rule::saturation};
    bool over = false;
    bool fair = true;
    for (std::size_t k = 0; k < N; ++k) {
      if (b.request[k] <= quantity{}) continue;
      const quantity due = entitlement_(ours, k);
      const quantity their_due = entitlement_(theirs, k);
      const bool is_over = had[k] > their_due && v.yields[k] > quantity{};
      const ratio ours_then = saturation(used[k] + b.request[k], due);
      const ratio theirs_then = saturation(had[k] - v.yields[k], their_due);
      const bool kept = used[k] + b.request[k] <= due || their_due <= quantity{} ||
                        saturation(used[k] + b.request[k], due, true) < theirs_then;
      if ((is_over && !over) || (fair && !kept)) {
        result.beneficiary = ours_then;
        result.victim = theirs_then;
      }
      over = over || is_over;
      fair = fair && kept;
    }
    result.fair = over && fair;
    return result;
  }

 private:
  /// An unlimited entitlement is never saturated.
  [[nodiscard]] ratio saturation(quantity used, quantity due, bool with_margin = false) const {
    if (due.is_unlimited()) return {};
    const auto part = static_cast<wide>(std::max(quantity{}, used).in_milli());
    const auto whole = static_cast<wide>(std::max(quantity{}, due).in_milli());
    return with_margin ? ratio{part * numerator_, whole * denominator_} : ratio{part, whole};
  }

  [[no_unique_address]] Entitlement entitlement_;
  std::uint32_t numerator_;
  std::uint32_t denominator_;
};

}  // namespace v0
}  // namespace allot

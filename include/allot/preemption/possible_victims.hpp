// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/settings.hpp>
#include <allot/quota/ledger.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace allot {
inline namespace v0 {

/// The jobs of a quota, up to a priority.
struct possible_victims {
  /// The quota whose jobs might yield.
  quota_id quota;
  /// Inclusive; one less than the lowest possible priority if there are no such jobs.
  std::int64_t highest_priority = std::numeric_limits<std::int32_t>::max();

  friend constexpr bool operator==(const possible_victims&, const possible_victims&) = default;
};

/// Calls `visit(possible_victims)` for all jobs that may be preempted for a beneficiary, now or after other
/// evictions, and perhaps for more: by relation and priority alone. (No eviction makes a quota borrow that
/// does not now.) Each quota once. O(borrowing quotas, their siblings and those of the path to the root; with
/// descendants, those too).
template <std::size_t N, class Visit>
void for_each_possible_victim(const ledger<N>& l, const beneficiary<N>& b, Visit visit) {
  constexpr std::int64_t any = std::numeric_limits<std::int32_t>::max();
  const std::int64_t lower = std::int64_t{b.priority} - 1;
  const quota_tree<N>& tree = l.tree();
  if (b.may.within != preempt_within::never) {
    visit(possible_victims{
        b.quota, b.may.within == preempt_within::lower_priority ? lower : std::int64_t{b.priority}});
  }
  if (b.may.children) {
    const auto show = [&](quota_id x) { visit(possible_victims{x, any}); };
    for_each_descendant(tree, b.quota, show);
  }
  if (b.may.reclaim == preempt_reclaim::never && !asks_others(b)) return;
  const bool is_any = b.may.reclaim == preempt_reclaim::any || b.may.rivals == preempt_rivals::any;
  const auto show = [&](quota_id x) { visit(possible_victims{x, is_any ? any : lower}); };
  std::array<bool, N> asked{};
  for (std::size_t d = 0; d < N; ++d) asked[d] = b.request[d] > quantity{};
  quota_id side = quota_id::none();
  for (quota_id top = b.quota; top; side = top, top = tree.parent(top)) {
    if (top == b.quota && b.may.children) continue;
    for (const quota_id c : tree.children(top)) {
      if (c != side) for_each_borrower(l, c, asked, show);
    }
  }
}

}  // namespace v0
}  // namespace allot

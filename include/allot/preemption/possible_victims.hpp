// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/settings.hpp>
#include <allot/quota/ledger.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace allot {
inline namespace v0 {

/// The jobs of a quota, up to a priority.
struct possible_victims {
  /// The quota whose jobs might yield.
  quota_id quota;
  /// Inclusive.
  std::int64_t highest_priority = std::numeric_limits<std::int64_t>::max();

  friend constexpr bool operator==(const possible_victims&, const possible_victims&) = default;
};

/// Calls `visit(possible_victims)` for all jobs that may be preempted for a beneficiary, now or after other
/// evictions, and perhaps for more: by relation and priority alone. (No eviction makes a quota borrow that
/// does not now.) Each quota once, at most. O(borrowing quotas, their siblings and those of the path to the
/// root; with descendants, those too).
template <std::size_t N, class Visit>
void for_each_possible_victim(const ledger<N>& l, const beneficiary<N>& b, Visit visit) {
  using priorities = std::numeric_limits<std::int64_t>;
  const quota_tree<N>& tree = l.tree();
  const auto show_up_to = [&](quota_id x, std::int64_t most, bool only_lower) {
    if (only_lower && b.priority == priorities::min()) return;
    visit(possible_victims{x, only_lower ? std::min(most, b.priority - 1) : most});
  };
  if (b.may.within == preempt_within::lower_or_newer_equal) {
    visit(possible_victims{b.quota, b.priority});
  } else if (b.may.within == preempt_within::lower_priority) {
    show_up_to(b.quota, priorities::max(), true);
  }
  if (b.may.children) {
    const auto show = [&](quota_id x) {
      show_up_to(x, b.may.children_priorities.preempted.most, b.may.children_lower_priority);
    };
    for_each_descendant(tree, b.quota, show);
  }
  if (b.may.reclaim == preempt_reclaim::never && !asks_others(b)) return;
  const bool is_any = b.may.reclaim == preempt_reclaim::any || b.may.rivals == preempt_rivals::any;
  const std::int64_t most = asks_rivals(b.may) ? priorities::max() : b.may.reclaim_priorities.preempted.most;
  const auto show = [&](quota_id x) { show_up_to(x, most, !is_any); };
  const auto asked = detail::requested_dimensions(b);
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

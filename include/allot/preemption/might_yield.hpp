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
struct might_yield {
  quota_id quota;
  /// At most: one less than the lowest priority that there is when nobody is meant.
  std::int64_t highest_priority = std::numeric_limits<std::int32_t>::max();

  friend constexpr bool operator==(const might_yield&, const might_yield&) = default;
};

namespace detail {

/// The quotas in and below x that borrow in one of these dimensions what every quota between borrows too.
template <std::size_t N, class Visit>
void for_each_borrower(const ledger<N>& l, quota_id x, const std::array<bool, N>& these, Visit& visit) {
  const auto borrowed = borrowed_dimensions(l, x, these);
  if (borrowed == std::array<bool, N>{}) return;
  visit(x);
  for (const quota_id c : l.tree().children(x)) for_each_borrower(l, c, borrowed, visit);
}
template <std::size_t N, class Visit>
void for_each_descendant(const quota_tree<N>& tree, quota_id x, Visit& visit) {
  for (const quota_id c : tree.children(x)) {
    visit(c);
    for_each_descendant(tree, c, visit);
  }
}

}  // namespace detail

/// Calls `visit(might_yield)` for all who may be asked to yield for a beneficiary, now or once others have
/// gone, and perhaps for more: by relation and priority alone. (As others go, nobody borrows who does not
/// now.) Each quota once. O(quotas that borrow, their siblings and those of the path upwards, with
/// descendants also those).
template <std::size_t N, class Visit>
void for_each_who_might_yield(const ledger<N>& l, const beneficiary<N>& b, Visit visit) {
  constexpr std::int64_t any = std::numeric_limits<std::int32_t>::max();
  const std::int64_t lower = std::int64_t{b.priority} - 1;
  const quota_tree<N>& tree = l.tree();
  if (b.may.within != preempt_within::never) {
    visit(might_yield{b.quota,
                      b.may.within == preempt_within::lower_priority ? lower : std::int64_t{b.priority}});
  }
  if (b.may.children) {
    auto show = [&](quota_id x) { visit(might_yield{x, any}); };
    detail::for_each_descendant(tree, b.quota, show);
  }
  if (b.may.reclaim == preempt_reclaim::never && !asks_others(b)) return;
  const bool is_any = b.may.reclaim == preempt_reclaim::any || b.may.rivals == preempt_rivals::any;
  auto show = [&](quota_id x) { visit(might_yield{x, is_any ? any : lower}); };
  std::array<bool, N> asked{};
  for (std::size_t d = 0; d < N; ++d) asked[d] = b.request[d] > quantity{};
  quota_id side = quota_id::none();
  for (quota_id top = b.quota; top; side = top, top = tree.parent(top)) {
    if (top == b.quota && b.may.children) continue;
    for (const quota_id c : tree.children(top)) {
      if (c != side) detail::for_each_borrower(l, c, asked, show);
    }
  }
}

}  // namespace v0
}  // namespace allot

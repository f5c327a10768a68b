// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/preemption/running_index.hpp>
#include <allot/preemption/settings.hpp>
#include <allot/quota/ledger.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {

/// Who asks for a place.
template <std::size_t N>
struct beneficiary {
  quota_id quota;
  resources<N> request{};
  lane in = lane::any;
  std::int32_t priority = 0;
  instant submitted = 0;
  preempt_settings may{};
};

/// Why a job may be asked to yield.
enum class relation : std::uint8_t {
  /// Its quota uses more than it owns, and the beneficiary's side owns what is asked.
  borrower,
  /// Its quota stands below the beneficiary's.
  descendant,
  /// It is of the beneficiary's own quota.
  same_quota,
};

/// The dimensions that matter to a search: those in which the request does not fit or, when the quota would
/// allow it and only a place is missing, all that it asks for.
template <std::size_t N>
[[nodiscard]] std::array<bool, N> contested_dimensions(const ledger<N>& l, const beneficiary<N>& b) {
  std::array<bool, N> contested{};
  bool any = false;
  for (std::size_t d = 0; d < N; ++d) {
    contested[d] = b.request[d] > quantity{} && b.request[d] > l.headroom(b.quota, d, b.in);
    any = any || contested[d];
  }
  for (std::size_t d = 0; !any && d < N; ++d) contested[d] = b.request[d] > quantity{};
  return contested;
}

/// Whether x uses more than it owns in a contested dimension.
template <std::size_t N>
[[nodiscard]] bool borrows(const ledger<N>& l, quota_id x, const std::array<bool, N>& contested) {
  for (std::size_t d = 0; d < N; ++d) {
    if (contested[d] && l.balance(x, d) < quantity{}) return true;
  }
  return false;
}

/// Whether some quota from the beneficiary's up to `side` owns what is asked: whether what reaches it fits
/// its balance in every contested dimension. Then the request takes back what is the beneficiary's, and the
/// borrowers beyond `side` must yield (hierarchical reclaim, Kueue).
template <std::size_t N>
[[nodiscard]] bool owns_request(const ledger<N>& l, const beneficiary<N>& b, quota_id side,
                                const std::array<bool, N>& contested) {
  resources<N> arriving = b.request;
  for (quota_id x = b.quota;; x = l.tree().parent(x)) {
    bool owns = true;
    for (std::size_t d = 0; d < N; ++d) {
      if (contested[d]) owns = owns && arriving[d] <= l.balance(x, d);
    }
    if (owns) return true;
    if (x == side) return false;
    for (std::size_t d = 0; d < N; ++d) arriving[d] = l.passed_up(x, d, arriving[d]);
  }
}

/// Whether a job may yield by what it is: the priority rules of the beneficiary's quota.
template <std::size_t N>
[[nodiscard]] bool may_preempt(const beneficiary<N>& b, const running_job<N>& victim, relation how) {
  switch (how) {
    case relation::borrower:
      return b.may.reclaim == preempt_reclaim::any ||
             (b.may.reclaim == preempt_reclaim::lower_priority && victim.priority < b.priority);
    case relation::descendant:
      return b.may.children;
    case relation::same_quota:
      break;
  }
  if (b.may.within == preempt_within::never) return false;
  if (victim.priority < b.priority) return true;
  return b.may.within == preempt_within::lower_or_newer_equal && victim.priority == b.priority &&
         victim.submitted > b.submitted;
}

}  // namespace v0
}  // namespace allot

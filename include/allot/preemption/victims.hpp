// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/guard.hpp>
#include <allot/preemption/running_index.hpp>
#include <allot/preemption/victim_order.hpp>

#include <cstddef>
#include <span>

namespace allot {
inline namespace v0 {

/// A job that a search has found to yield.
template <std::size_t N>
struct victim {
  /// The job, or one elastic pod of one.
  running_job<N> job{};
  /// Why it may be preempted.
  relation how = relation::borrower;
  /// The guard's verdict, without the victims before it.
  verdict why{};
  /// The number of the guard's strategy.
  std::size_t strategy = 0;
  /// An elastic pod evicted along with its job, which is the next in the list that is not such a
  /// unit.
  bool with_its_job = false;
};

namespace detail {

/// Victims never make room beyond what the quota could use with all others idle, nor on guaranteed capacity,
/// whose jobs are never victims.
template <std::size_t N>
[[nodiscard]] bool could_ever_fit(const ledger<N>& l, const beneficiary<N>& b) {
  for (std::size_t d = 0; d < N; ++d) {
    if (b.request[d] == quantity{}) continue;
    bool possible = b.request[d] <= l.potential(b.quota, d);
    l.for_each_bound(b.quota, d, b.in, [&](quota_id, quantity room, bool of_all_jobs) {
      possible = possible && (of_all_jobs || b.request[d] <= room);
    });
    if (!possible) return false;
  }
  return true;
}

/// Charges the victims in the ledger again, last to first, has the guard judge each rival, and releases
/// them. Those in [`end`, `from`) are charged already, and stay so.
template <std::size_t N, class Guard, class Visit>
void ask_in_reverse(const Guard& guard, ledger<N>& l, const beneficiary<N>& b, std::span<victim<N>> victims,
                    std::size_t end, std::size_t from, Visit visit) {
  const auto is_rival = [](const victim<N>& v) { return v.how == relation::rival; };
  const auto skipped = [&](std::size_t i) { return i >= end && i < from; };
  if (detail::none_of(victims.begin(), victims.end(), is_rival)) return;
  for (std::size_t i = victims.size(); i-- > 0;) {
    if (skipped(i)) continue;
    victim<N>& v = victims[i];
    l.charge(v.job.quota, v.job.request, v.job.in);
    victim_candidate<N> victim{v.job.quota, v.how, v.job, v.job.request, b.now};
    for (; !v.with_its_job && i > 0 && !skipped(i - 1) && victims[i - 1].with_its_job; --i) {
      const running_job<N>& unit = victims[i - 1].job;
      l.charge(unit.quota, unit.request, unit.in);
      victim.yields += unit.request;
    }
    if (is_rival(v)) visit(v, ask_guard<N>(guard, l, b, victim, v.strategy));
  }
  for (std::size_t i = 0; i < victims.size(); ++i) {
    if (!skipped(i)) l.release(victims[i].job.quota, victims[i].job.request, victims[i].job.in);
  }
}

/// Whether a taken borrower gives back what the beneficiary's side owns, in the dimensions that would be
/// contested with it there. Any other victim does. O(N depth); the ledger is left as before.
template <std::size_t N>
[[nodiscard]] bool has_claim(ledger<N>& l, const beneficiary<N>& b, const victim<N>& v) {
  if (v.how != relation::borrower) return true;
  const quota_id top = l.tree().common_ancestor(v.job.quota, b.quota);
  const quota_id side = top == b.quota ? quota_id::none() : l.tree().side_of(b.quota, top);
  l.charge(v.job.quota, v.job.request, v.job.in);
  const auto contested = contested_dimensions(l, b);
  l.release(v.job.quota, v.job.request, v.job.in);
  return owns_request(l, b, side, contested);
}

/// Whether the same victims would be chosen if only those below `end` and those from `from` on were tried in
/// turn: rivals are fair, and what borrowers give back is the beneficiary's. The one at `end`, to be given
/// back, is charged in the ledger again, as are those between. O(victims); the ledger is left as before.
template <std::size_t N, class Guard>
[[nodiscard]] bool still_fair(const Guard& guard, ledger<N>& l, const beneficiary<N>& b,
                              std::span<victim<N>> victims, std::size_t end, std::size_t from) {
  // A borrower that is back takes nothing from the beneficiary's side.
  if (victims[end].how != relation::borrower) {
    for (std::size_t i = 0; i < victims.size(); ++i) {
      if (i == end) i = from;
      if (i < victims.size() && !has_claim(l, b, victims[i])) return false;
    }
  }
  bool fair = true;
  ask_in_reverse<N>(guard, l, b, victims, end, from,
                    [&](victim<N>&, const verdict& v) { fair = fair && v.fair; });
  return fair;
}

/// Updates the verdicts of the remaining victims.
template <std::size_t N, class Guard>
void refresh_verdicts(const Guard& guard, ledger<N>& l, const beneficiary<N>& b,
                      std::span<victim<N>> victims) {
  ask_in_reverse<N>(guard, l, b, victims, victims.size(), victims.size(),
                    [](victim<N>& v, const verdict& now) { v.why = now; });
}

}  // namespace detail
}  // namespace v0
}  // namespace allot

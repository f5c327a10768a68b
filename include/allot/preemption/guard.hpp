// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/victim_order.hpp>

#include <cstddef>

namespace allot {
inline namespace v0 {

/// A guard: a callable that says whether one more victim is fair, asked in the state without the victims
/// chosen so far and with that one still there. A refusal passes the donor over.
template <class Guard, std::size_t N>
concept victim_guard = requires(const Guard guard, const ledger<N>& l, const beneficiary<N>& b,
                                const donor<N>& d) {
  { guard(l, b, d) } -> std::same_as<bool>;
};

/// No test beyond eligibility. Enough to forbid cycles as long as there are no rivals among the relations: a
/// borrower asked to yield owned less than it used, so its evicted job, back in the queue, asks for more than
/// its side owns and can't reclaim; a job never takes from a higher or equal priority that did not come
/// later, nor from a quota above its own.
struct eligible_is_fair {
  template <std::size_t N>
  [[nodiscard]] constexpr bool operator()(const ledger<N>&, const beneficiary<N>&,
                                          const donor<N>&) const noexcept {
    return true;
  }
};

}  // namespace v0
}  // namespace allot

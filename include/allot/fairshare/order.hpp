// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/fairshare/borrowed_share.hpp>
#include <allot/fairshare/contender.hpp>
#include <allot/fairshare/job_rank.hpp>

#include <concepts>
#include <cstddef>

namespace allot {
inline namespace v0 {

/// An order of quotas: a callable that gives a contender its key; the least key goes first. A key may depend
/// on the specification and on the usage within the contender's own subtree, and on nothing else, so that
/// when usage changes only the path above it has to be keyed again. Keys are totally ordered; ties end in the
/// id of the quota.
template <class Order, std::size_t N>
concept quota_order = requires(const Order order, const ledger<N>& l, const contender<N>& c) {
  { order(l, c) } -> std::totally_ordered;
};

/// Whoever stays within its own supply goes first; then the lowest weighted borrowed share (Kueue's fair
/// sharing); then the best job.
struct within_nominal_then_borrowed_share {
  struct key {
    borrowed_share share;
    job_rank head;

    friend constexpr std::strong_ordering operator<=>(const key& a, const key& b) noexcept {
      if (a.share.borrows != b.share.borrows) return a.share.borrows <=> b.share.borrows;
      if (const auto order = a.share <=> b.share; order != 0) return order;
      return a.head <=> b.head;
    }
    friend constexpr bool operator==(const key& a, const key& b) noexcept { return (a <=> b) == 0; }
  };

  template <std::size_t N>
  [[nodiscard]] key operator()(const ledger<N>& l, const contender<N>& c) const {
    return {share_of(l, c), c.head};
  }
};

/// The best job goes first, whatever its quota uses.
struct best_job_first {
  template <std::size_t N>
  [[nodiscard]] job_rank operator()(const ledger<N>&, const contender<N>& c) const {
    return c.head;
  }
};

}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/fairshare/borrowed_share.hpp>
#include <allot/fairshare/contender.hpp>
#include <allot/fairshare/job_rank.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

namespace allot {
inline namespace v0 {

/// An order of quotas: a callable that returns the key of a contender; the least key comes first. A key may
/// depend on the specification, on the usage within the contender's own subtree, and on other data of the
/// order (by pointer: entitlements, a history, ranks). When usage changes, only the path above it must be
/// rekeyed (`tournament::enter`, `leave`); when anything else does, all quotas (`refresh_all`). Keys are
/// totally ordered; ties are broken by the id of the quota.
template <class Order, std::size_t N>
concept quota_order = requires(const Order order, const ledger<N>& l, const contender<N>& c) {
  { order(l, c) } -> std::totally_ordered;
};

/// A contender within its own supply comes first; then the lowest weighted borrowed share (Kueue's fair
/// sharing); then the best job.
struct within_nominal_then_borrowed_share {
  /// By which contenders are compared, least first.
  struct key {
    /// What it borrows once its job is admitted.
    borrowed_share share;
    /// Its best pending job, which decides between equal shares.
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

/// A contender that, with its job, stays within its own supply in all that the job requests comes first.
struct within_nominal_first {
  template <std::size_t N>
  [[nodiscard]] bool operator()(const ledger<N>& l, const contender<N>& c) const {
    for (std::size_t d = 0; d < N; ++d) {
      const account a = account_of(l, c, d);
      if (c.request[d] > quantity{} && a.used + c.request[d] > a.supply) return true;
    }
    return false;
  }
};

/// The quota of highest priority comes first.
struct highest_priority_first {
  template <std::size_t N>
  [[nodiscard]] std::int64_t operator()(const ledger<N>& l, const contender<N>& c) const {
    return -std::int64_t{l.tree().spec(c.quota).priority};
  }
};

/// The earliest submitted job comes first, whatever its rank within its quota.
struct submission_first {
  template <std::size_t N>
  [[nodiscard]] std::pair<instant, std::uint64_t> operator()(const ledger<N>&, const contender<N>& c) const {
    return {c.head.submitted, c.head.id};
  }
};

/// By the first order; ties by the next, and so on.
template <class... Orders>
class lexicographic {
 public:
  lexicographic() = default;
  explicit lexicographic(Orders... orders) requires(sizeof...(Orders) > 0) : orders_(std::move(orders)...) {}

  template <std::size_t N>
  [[nodiscard]] auto operator()(const ledger<N>& l, const contender<N>& c) const {
    return std::apply([&](const Orders&... each) { return std::make_tuple(each(l, c)...); }, orders_);
  }

 private:
  std::tuple<Orders...> orders_;
};

/// The best job comes first, whatever its quota uses.
struct best_job_first {
  template <std::size_t N>
  [[nodiscard]] job_rank operator()(const ledger<N>&, const contender<N>& c) const {
    return c.head;
  }
};

}  // namespace v0
}  // namespace allot

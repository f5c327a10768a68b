// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/systems/kai/whole_unit_division.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v0 {

/// What KAI-Scheduler v0.13 tracks of its queues: for every quota, what the jobs of its whole subtree use,
/// how much of that is non-preemptible, what they request, and what the quota is owed.
///
/// This is not the ledger's law: usage is summed up to the root, and the only hard bounds are each quota's
/// limit and, for non-preemptible jobs, what it deserves. A dimension without capacity that no quota deserves
/// or requests does not count: KAI's comparisons "in every resource" cover those that count.
///
/// A charge or release is O(depth); release is the exact inverse of charge.
template <std::size_t N = 1>
class share_accounts {
 public:
  using division_type = whole_unit_division<N>;

  /// Starts over with no usage and no requests. O(n).
  void reset(const quota_tree<N>& tree) {
    tree_ = &tree;
    queues_.assign(tree.slots(), queue{});
    requested_.assign(tree.slots(), resources<N>{});
    own_.assign(tree.slots(), own_part{});
    total_ = {};
    for (const quota_id x : tree.top_down()) {
      for (std::size_t d = 0; d < N; ++d) {
        queues_[x.index()].deserved[d] = tree.spec(x).nominal[d];
        queues_[x.index()].limit[d] = limit_of(tree.spec(x), d);
      }
    }
  }
  /// The jobs attached to x itself use `used`, of which `guaranteed` is non-preemptible; its pending jobs
  /// request `asked`. O(depth).
  void set_own(quota_id x, const resources<N>& used, const resources<N>& guaranteed,
               const resources<N>& asked) {
    own_part& own = own_[x.index()];
    for (std::size_t d = 0; d < N; ++d) {
      if (used[d] == own.used[d] && guaranteed[d] == own.guaranteed[d] && asked[d] == own.asked[d]) continue;
      for (quota_id a = x; a; a = tree_->parent(a)) {
        queue& q = queues_[a.index()];
        q.allocated[d] += used[d] - own.used[d];
        q.guaranteed[d] += guaranteed[d] - own.guaranteed[d];
        for (const quantity more : {used[d], asked[d], -own.used[d], -own.asked[d]}) q.requested.add(d, more);
        requested_[a.index()][d] = q.requested.amount(d);
      }
      total_.add(d, used[d]);
      total_.add(d, -own.used[d]);
    }
    own = {used, guaranteed, asked};
  }
  /// Divides the capacity by the current requests. O(n rounds).
  void divide(const resources<N>& capacity, std::span<const per_dimension<std::int64_t, N>> used_lately = {},
              const typename division_type::options& o = {}) {
    capacity_ = capacity;
    unit_ = o.unit;
    division_.update(*tree_, capacity, requested_, used_lately, o);
    counted_.clear();
    for (std::size_t d = 0; d < N; ++d) {
      if (counts(d)) counted_.push_back(d);
    }
    for (const quota_id x : tree_->top_down()) {
      queue& q = queues_[x.index()];
      for (std::size_t d = 0; d < N; ++d) {
        q.fair[d] = division_.fair_share(x)[d];
        q.allocatable[d] = q.deserved[d].is_unlimited()
                               ? q.limit[d]
                               : std::min(q.limit[d], std::max(q.deserved[d], q.fair[d]));
      }
    }
  }

  /// Charges `request` for a job of x, without affecting what `set_own` recorded.
  void charge(quota_id x, const resources<N>& request, capacity_kind in) { change(x, request, in, 1); }
  void release(quota_id x, const resources<N>& request, capacity_kind in) { change(x, request, in, -1); }

  [[nodiscard]] const quota_tree<N>& tree() const noexcept { return *tree_; }
  /// The same tree has moved in memory.
  void follow(const quota_tree<N>& tree) noexcept { tree_ = &tree; }
  /// The total capacity.
  [[nodiscard]] const resources<N>& capacity() const noexcept { return capacity_; }
  /// What all jobs use together.
  [[nodiscard]] resources<N> total() const noexcept { return total_.amount(); }
  [[nodiscard]] quantity total(std::size_t d) const noexcept { return total_.amount(d); }
  [[nodiscard]] std::int64_t unit(std::size_t d) const noexcept { return unit_[d]; }
  /// The dimensions that count.
  [[nodiscard]] std::span<const std::size_t> counted() const noexcept { return counted_; }
  /// What the jobs of the subtree use.
  [[nodiscard]] const resources<N>& allocated(quota_id x) const { return queues_[x.index()].allocated; }
  /// The non-preemptible part of it.
  [[nodiscard]] const resources<N>& guaranteed(quota_id x) const { return queues_[x.index()].guaranteed; }
  [[nodiscard]] const resources<N>& requested(quota_id x) const { return requested_[x.index()]; }
  [[nodiscard]] const resources<N>& deserved(quota_id x) const { return queues_[x.index()].deserved; }
  [[nodiscard]] const resources<N>& limit(quota_id x) const { return queues_[x.index()].limit; }
  [[nodiscard]] const resources<N>& fair_share(quota_id x) const { return queues_[x.index()].fair; }
  /// The larger of what it deserves and its fair share, up to its limit; its limit if it deserves everything.
  [[nodiscard]] const resources<N>& allocatable(quota_id x) const { return queues_[x.index()].allocatable; }

  /// Whether `a` is at most `b` in every dimension that counts.
  [[nodiscard]] bool at_most(const resources<N>& a, const resources<N>& b) const {
    return detail::all_of(counted_.begin(), counted_.end(), [&](std::size_t d) { return a[d] <= b[d]; });
  }

  /// The same of `a + more`.
  [[nodiscard]] bool at_most(const resources<N>& a, const resources<N>& more, const resources<N>& b) const {
    return detail::all_of(counted_.begin(), counted_.end(),
                          [&](std::size_t d) { return a[d] + more[d] <= b[d]; });
  }

  // A later choice of flavors may request what nothing else does, and that is not counted: these look at
  // every dimension.

  /// Whether both amounts together are enough for the request.
  [[nodiscard]] bool suffices(const resources<N>& request, const resources<N>& room,
                              const resources<N>& freed = {}) const {
    for (std::size_t d = 0; d < N; ++d) {
      if (request[d] > quantity{} && request[d] > room[d] + freed[d]) return false;
    }
    return true;
  }

  /// Whether a request respects every limit on the path and, for guaranteed capacity, stays within what every
  /// quota on it deserves. Dimensions not requested are ignored. O(depth).
  [[nodiscard]] bool within_limits(quota_id x, const resources<N>& request, capacity_kind in) const {
    for (quota_id a = x; a; a = tree_->parent(a)) {
      const queue& q = queues_[a.index()];
      for (std::size_t d = 0; d < N; ++d) {
        const quantity then = q.allocated[d] + request[d];
        // A sum too large to be counted is within no limit.
        if (request[d] > quantity{} && (then > q.limit[d] || then.is_unlimited())) return false;
      }
    }
    return in != capacity_kind::guaranteed || within_deserved_of_all(x, request);
  }
  /// The second condition alone.
  [[nodiscard]] bool within_deserved_of_all(quota_id x, const resources<N>& request) const {
    for (quota_id a = x; a; a = tree_->parent(a)) {
      const queue& q = queues_[a.index()];
      for (std::size_t d = 0; d < N; ++d) {
        if (request[d] > quantity{} && q.guaranteed[d] + request[d] > q.deserved[d]) return false;
      }
    }
    return true;
  }

 private:
  struct queue {
    resources<N> allocated;
    resources<N> guaranteed;
    resources<N> deserved;
    resources<N> limit;
    resources<N> fair;
    resources<N> allocatable;
    exact_sum<N> requested;
  };
  struct own_part {
    resources<N> used;
    resources<N> guaranteed;
    resources<N> asked;
  };

  [[nodiscard]] bool counts(std::size_t d) const {
    if (capacity_[d] > quantity{} && !capacity_[d].is_unlimited()) return true;
    const auto all = tree_->top_down();
    return detail::any_of(all.begin(), all.end(), [&](quota_id x) {
      const queue& q = queues_[x.index()];
      return q.deserved[d] > quantity{} || requested_[x.index()][d] > quantity{};
    });
  }

  void change(quota_id x, const resources<N>& request, capacity_kind in, std::int64_t sign) {
    for (std::size_t d = 0; d < N; ++d) {
      if (request[d] == quantity{}) continue;
      const quantity delta = request[d] * sign;
      for (quota_id a = x; a; a = tree_->parent(a)) {
        queue& q = queues_[a.index()];
        q.allocated[d] += delta;
        if (in == capacity_kind::guaranteed) q.guaranteed[d] += delta;
      }
      total_.add(d, delta);
    }
  }

  const quota_tree<N>* tree_ = nullptr;
  vector<queue> queues_;
  vector<resources<N>> requested_;
  vector<own_part> own_;
  resources<N> capacity_;
  exact_sum<N> total_;
  std::array<std::int64_t, N> unit_{};
  vector<std::size_t> counted_;
  division_type division_;
};

}  // namespace v0
}  // namespace allot

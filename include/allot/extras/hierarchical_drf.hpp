// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/contender.hpp>
#include <allot/fairshare/job_rank.hpp>
#include <allot/quota/ledger.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {

/// The dominant shares of H-DRF (Bhattacharya et al., "Hierarchical Scheduling for Diverse Datacenter
/// Workloads", 2013): the usage attributed to a group of quotas in the fair share one level up.
///
/// Simply adding up the usage of its members starves groups whose members need different resources: the group
/// has to grow in both for each member to grow in one. So members are first scaled down to the one with the
/// lowest share, and then added up. *Blocked* members (which can't be given more: a resource that they
/// request is exhausted, or they request nothing) do not determine that lowest share, lest one that is stuck
/// let its siblings run away. With more than the lowest share they are scaled down to it like all others;
/// with less they are not scaled. A group is blocked when all its members are, and then none is scaled. The
/// own jobs of an inner quota are a member of it, like its children.
///
/// Shares here are per weight (of the first dimension). Volcano's rescaling ignores the weights that its
/// order divides by, and does not scale blocked members, so that one that has run ahead holds back its
/// siblings. Members of weight zero are not scaled. Usage is in units of 2^-48 of the capacity, rounded down
/// at each level.
template <std::size_t N>
class hierarchical_drf {
 public:
  /// The share of a quota that uses all of the capacity.
  static constexpr wide one = wide{1} << 48U;

  explicit hierarchical_drf(const resources<N>& capacity) : capacity_(capacity) {}

  /// Recomputes all shares. `is_blocked(x)`: whether the own jobs of x are blocked. O(n).
  template <class IsBlocked>
  void update(const ledger<N>& l, IsBlocked is_blocked) {
    groups_.assign(l.tree().slots(), member{});
    owns_.assign(l.tree().slots(), member{});
    const auto order = l.tree().top_down();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      count_own(l, *it, is_blocked(*it));
      add_up(l, *it);
    }
  }
  /// Recomputes the path of x after its usage, or the blocked state of its jobs, has changed. O(children on
  /// the path).
  void refresh(const ledger<N>& l, quota_id x, bool is_blocked) {
    count_own(l, x, is_blocked);
    for (; x; x = l.tree().parent(x)) add_up(l, x);
  }

  /// The share of the whole subtree, or of its own jobs, in units of 1 / `one`.
  [[nodiscard]] wide share(quota_id x, bool own_jobs) const { return at(x, own_jobs).share; }
  /// Whether the whole subtree, or its own jobs, are blocked.
  [[nodiscard]] bool is_blocked(quota_id x, bool own_jobs) const { return at(x, own_jobs).blocked; }

 private:
  struct member {
    per_dimension<wide, N> use{};
    wide share = 0;
    bool blocked = true;
  };

  [[nodiscard]] const member& at(quota_id x, bool own_jobs) const {
    return (own_jobs ? owns_ : groups_)[x.index()];
  }
  [[nodiscard]] static wide weight_of(const ledger<N>& l, quota_id x) {
    return static_cast<wide>(std::max<std::int64_t>(0, l.tree().spec(x).weight[0].in_milli()));
  }
  static void find_share(member& m) {
    m.share = 0;
    for (std::size_t d = 0; d < N; ++d) m.share = std::max(m.share, m.use[d]);
  }

  void count_own(const ledger<N>& l, quota_id x, bool is_blocked) {
    member& m = owns_[x.index()];
    m.blocked = is_blocked;
    for (std::size_t d = 0; d < N; ++d) {
      const auto used = static_cast<wide>(l.own_usage(x, d).in_milli());
      const bool counts = capacity_[d] > quantity{} && !capacity_[d].is_unlimited();
      m.use[d] = counts ? used * one / static_cast<wide>(capacity_[d].in_milli()) : 0;
    }
    find_share(m);
  }

  void add_up(const ledger<N>& l, quota_id x) {
    member& group = groups_[x.index()];
    group = member{};
    // The lowest share per weight among the members that can still grow, as share / weight.
    wide least_share = 0;
    wide least_weight = 0;
    const auto compare = [&](const member& m, wide weight) {
      group.blocked = group.blocked && m.blocked;
      if (m.blocked || weight == 0) return;
      if (least_weight != 0 && compare_fractions(m.share, weight, least_share, least_weight) >= 0) return;
      least_share = m.share;
      least_weight = weight;
    };
    const auto add = [&](const member& m, wide weight) {
      const wide level = least_weight == 0 || weight == 0 ? m.share : least_share * weight / least_weight;
      const bool as_is = level >= m.share;
      for (std::size_t d = 0; d < N; ++d) group.use[d] += as_is ? m.use[d] : m.use[d] * level / m.share;
    };
    const auto for_each_member = [&](const auto& visit) {
      visit(owns_[x.index()], weight_of(l, x));
      for (const quota_id c : l.tree().children(x)) visit(groups_[c.index()], weight_of(l, c));
    };
    for_each_member(compare);
    for_each_member(add);
    find_share(group);
  }

  resources<N> capacity_;
  vector<member> groups_;
  vector<member> owns_;
};

/// Contenders that can still grow come first, then the lowest share of H-DRF per weight, then the best job.
/// After a `refresh` of a quota, it and its path must be rekeyed, as `tournament::enter` and `leave` do;
/// after an `update`, all quotas.
template <std::size_t N>
struct lowest_hierarchical_share {
  /// By which contenders are compared, least first.
  struct key {
    /// Whether it is blocked: such contenders come last.
    bool blocked = false;
    /// Its hierarchical dominant share, per weight.
    ratio share{};
    /// Its best pending job.
    job_rank head{};

    friend constexpr auto operator<=>(const key&, const key&) noexcept = default;
    friend constexpr bool operator==(const key&, const key&) noexcept = default;
  };

  /// The shares that are compared; must outlive the order.
  const hierarchical_drf<N>* shares;

  [[nodiscard]] key operator()(const ledger<N>& l, const contender<N>& c) const {
    const auto weight =
        static_cast<wide>(std::max<std::int64_t>(0, l.tree().spec(c.quota).weight[0].in_milli()));
    return {shares->is_blocked(c.quota, c.own_jobs), ratio{shares->share(c.quota, c.own_jobs), weight},
            c.head};
  }
};

}  // namespace v0
}  // namespace allot

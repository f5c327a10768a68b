// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/division.hpp>
#include <allot/quota/ledger.hpp>

#include <cstddef>
#include <span>

namespace allot {
inline namespace v0 {
namespace lab {

/// The fair-share division of a demand that changes slightly all the time, recomputed only when the result
/// may differ: the same as `division` at every moment, at lower cost.
template <std::size_t N = 1>
class entitlements {
 public:
  /// A job of the quota has come or gone since the last update.
  void note(quota_id quota, const resources<N>& request, bool came) {
    changes_.push_back({quota, came, request});
  }

  /// Follows the demand. Every change to it since the last update was noted, or `anything_may_differ` (also
  /// for the tree). `none_waits`: usage equals demand. O(changes), or that of a division.
  void update(const ledger<N>& accounts, std::span<const resources<N>> demand, bool none_waits,
              bool anything_may_differ) {
    // If no job is pending and the ledger is sound, the division would give every quota what it has.
    is_demand_met_ = none_waits && accounts.is_sound();
    if (is_demand_met_) {
      is_divided_ = false;
    } else if (!is_divided_ || anything_may_differ || !is_same_division(demand)) {
      division_.update(accounts, demand);
      const auto specs = accounts.tree().specs();
      is_divided_ =
          allot::detail::none_of(specs.begin(), specs.end(), [](const auto& q) { return q.overcommit; });
    }
    changes_.clear();
  }

  /// Whether every quota is entitled to what it uses, which is all its demand.
  [[nodiscard]] bool is_demand_met() const noexcept { return is_demand_met_; }
  /// What the own jobs of x are entitled to. Precondition: `is_demand_met` is false.
  [[nodiscard]] const resources<N>& own(quota_id x) const { return division_.own(x); }

 private:
  struct change {
    quota_id quota;
    bool came = false;
    resources<N> request;
  };

  /// Whether the last division is also that of the present demand. It is if every quota whose demand has
  /// changed demanded more than it was given and still does: a division continues as long as any quota
  /// demands more, and never gets to satisfy these. (Not where a quota overcommits: its guarantee then
  /// depends on its demand.)
  [[nodiscard]] bool is_same_division(std::span<const resources<N>> demand) {
    came_.resize(demand.size());
    for (const change& c : changes_) {
      if (c.came) came_[c.quota.index()] += c.request;
    }
    const bool same = allot::detail::all_of(changes_.begin(), changes_.end(), [&](const change& c) {
      for (std::size_t d = 0; d < N; ++d) {
        // Neither the previous nor the present demand is less.
        const quantity least = demand[c.quota.index()][d] - came_[c.quota.index()][d];
        if (c.request[d] != quantity{} && least <= division_.own(c.quota)[d]) return false;
      }
      return true;
    });
    for (const change& c : changes_) came_[c.quota.index()] = {};
    return same;
  }

  division<N> division_;
  vector<change> changes_;
  /// By quota; zero except while the changes are processed.
  vector<resources<N>> came_;
  bool is_divided_ = false;
  bool is_demand_met_ = false;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

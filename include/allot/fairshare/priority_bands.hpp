// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/surplus.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {

/// Divides surplus by the priority of quotas, highest first: a lower band gets nothing while a claimant in a
/// higher one wants more, not even what rounding leaves (KAI lets a lower band have that). Within a band
/// `Rule` divides. Grants all surplus that is wanted, and a larger surplus never reduces a grant, if the same
/// holds for `Rule`. Stable: equals keep their order. O(n log n) plus the cost of `Rule`; buffers are reused.
template <surplus_rule Rule = proportional_to_weight>
class priority_bands {
 public:
  priority_bands() = default;
  explicit priority_bands(Rule rule) : rule_(std::move(rule)) {}

  void operator()(quantity surplus, std::span<claimant> claimants) {
    order_.resize(claimants.size());
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
    detail::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return claimants[a].priority != claimants[b].priority ? claimants[a].priority > claimants[b].priority
                                                            : a < b;
    });
    for (std::size_t first = 0; first < order_.size() && surplus > quantity{};) {
      const auto priority = claimants[order_[first]].priority;
      band_.clear();
      for (std::size_t i = first; i < order_.size() && claimants[order_[i]].priority == priority; ++i) {
        band_.push_back(claimants[order_[i]]);
      }
      const quantity before = granted_to_band();
      rule_(surplus, band_);
      surplus -= granted_to_band() - before;
      bool all_full = true;
      for (const claimant& c : band_) {
        claimants[order_[first++]].granted = c.granted;
        all_full = all_full && c.granted >= c.wants;
      }
      if (!all_full) return;
    }
  }

  /// Promises are not divided by priority: if there are too many, all get the same fraction.
  void divide_shortage(quantity pool, std::span<claimant> claimants) requires shortage_rule<Rule> {
    rule_.divide_shortage(pool, claimants);
  }

  /// What the rule within a band says of itself; see `ignores_unmet_wants`.
  [[nodiscard]] bool ignores_unmet_wants() const { return allot::ignores_unmet_wants(rule_); }

 private:
  [[nodiscard]] quantity granted_to_band() const {
    quantity sum;
    for (const claimant& c : band_) sum += c.granted;
    return sum;
  }

  vector<std::size_t> order_;
  vector<claimant> band_;
  Rule rule_;
};

}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/quantity.hpp>
#include <allot/fairshare/rounding.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {

/// Who shares a surplus: what it wants in all, by what it is measured, and what it has been given; a rule
/// adds to the last. `division` fills in all but the last two.
struct claimant {
  quota_id quota;
  quantity wants;
  std::int64_t weight = 0;
  quantity granted{};
  /// What of that which is divided is its own, whether it wants it or not.
  quantity guaranteed{};
  /// All that is its own: `guaranteed` and what it never lends.
  quantity owned{};
  /// What it has of its own, and will use, besides that which is divided.
  quantity kept{};
  /// What it uses now of that which is divided.
  quantity used{};
  std::int32_t priority = 0;
  std::uint32_t dimension = 0;
  /// Whether this is the own jobs of `quota` rather than its subtree.
  bool own_jobs = false;
  /// Since when it has been waiting, for rules and roundings that ask; the lesser is the older.
  std::int64_t since = 0;
  /// What it has used lately, in billionths of the capacity, for rules that ask.
  std::int64_t past_use = 0;
};

/// A rule divides a surplus: it adds to what each claimant is granted, never beyond what it wants, and in sum
/// at most the surplus. Claimants come in the order in which ties are broken.
template <class Rule>
concept surplus_rule = requires(Rule rule, quantity surplus, std::span<claimant> claimants) {
  rule(surplus, claimants);
};

/// Whether the division is the same whatever somebody who is not given all it wants wants beyond that, and
/// depends on nothing that changes but wants. Then a longer queue costs nothing.
template <class Rule>
[[nodiscard]] bool ignores_unmet_wants(const Rule& rule) {
  if constexpr (requires { rule.ignores_unmet_wants(); }) {
    return rule.ignores_unmet_wants();
  } else {
    return false;
  }
}

/// Measures: by what a surplus is divided.
struct by_weight {
  [[nodiscard]] std::int64_t operator()(const claimant& c) const noexcept { return c.weight; }
};
/// All that the claimant owns: its quota.
struct by_owned {
  [[nodiscard]] std::int64_t operator()(const claimant& c) const noexcept { return c.owned.in_milli(); }
};

/// Surplus in proportion to a measure, nobody above what it wants: the level is raised for all at once, and
/// whoever is full leaves the rest to the others. Claimants of measure zero share equally what the others
/// leave, once those are full.
///
/// What proportion does not divide is settled by the rounding. With Webster's, in thousandths, everything is
/// given away that somebody wants, and more surplus takes from nobody; so division's laws hold.
/// O(n log n); buffers are kept.
template <class Measure, class Rounding = webster>
class proportional {
 public:
  proportional() = default;
  explicit proportional(Rounding rounding) : rounding_(std::move(rounding)) {}

  /// Precondition: `surplus` and every `wants` are bounded and not negative.
  void operator()(quantity surplus, std::span<claimant> claimants) {
    std::int64_t left = surplus.in_milli();
    left = divide(left, claimants, measure_);
    if (left > 0) divide(left, claimants, [&](const claimant& c) { return measure_(c) == 0 ? 1 : 0; });
  }
  /// Less than was promised: everybody gets the same part of what it wants.
  void divide_shortage(quantity pool, std::span<claimant> claimants) {
    divide(pool.in_milli(), claimants, [](const claimant& c) { return c.wants.in_milli(); });
  }

  [[nodiscard]] bool ignores_unmet_wants() const noexcept { return rounding_.ignores_unmet_wants(); }

 private:
  /// Returns what nobody of positive measure wants.
  template <class By>
  std::int64_t divide(std::int64_t left, std::span<claimant> claimants, By by) {
    portions_.clear();
    for (std::size_t i = 0; i < claimants.size(); ++i) {
      const claimant& c = claimants[i];
      const std::int64_t w = by(c);
      if (w <= 0 || c.wants <= c.granted) continue;
      portions_.push_back({(c.wants - c.granted).in_milli(), static_cast<wide>(w), i, c.since});
    }
    rounding_(left, portions_);
    bool all_full = true;
    for (const portion& p : portions_) {
      claimants[p.place].granted += quantity::milli(p.given);
      left -= p.given;
      all_full = all_full && p.is_full();
    }
    return all_full ? left : 0;
  }

  std::vector<portion> portions_;
  Rounding rounding_;
  [[no_unique_address]] Measure measure_;
};

/// Over-quota weight (KAI), fair weight (Kueue), FairShareWeight (HyperPod).
using proportional_to_weight = proportional<by_weight>;

/// In proportion to what each owns (the demo of Run:ai: quotas of 4, 2 and 2 have 4, 2 and 2 more); those who
/// own nothing share equally what the others leave.
using proportional_to_quota = proportional<by_owned>;

/// HTCondor's `hgq_allocate_surplus`: all get what they want if there is enough; otherwise it goes in
/// proportion to quota, the parent with the quota that is left to itself as a peer of its children (which it
/// is in every `division`), then equally to those without quota; the units that remain, in turn to who has
/// gone unserved longest (`claimant::since`). HTCondor counts in whole slots: give
/// `longest_unserved{gpus(1)}` for whole GPUs.
using parent_as_peer = proportional<by_owned, longest_unserved>;

/// A rule that is first told something of each claimant that `division` does not know, such as what it has
/// used lately or since when it waits: `source(claimant&)` fills it in. When it changes the host divides
/// again.
template <surplus_rule Rule, class Source>
class informed {
 public:
  explicit informed(Source source, Rule rule = Rule{}) : rule_(std::move(rule)), source_(std::move(source)) {}

  void operator()(quantity surplus, std::span<claimant> claimants) {
    for (claimant& c : claimants) source_(c);
    rule_(surplus, claimants);
  }

 private:
  Rule rule_;
  Source source_;
};

}  // namespace v0
}  // namespace allot

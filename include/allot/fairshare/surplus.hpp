// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/rounding.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {

/// A participant in the division of a surplus: what it wants in total, how it is measured, and what it has
/// been granted, to which a rule adds. `division` fills in all but the last two members.
struct claimant {
  /// The quota that takes part in the division, or whose own jobs do.
  quota_id quota;
  /// What it wants in total, the guaranteed part included.
  quantity wants;
  /// Its weight; `division` takes that of the quota, in thousandths. Only its proportion to those of the
  /// other claimants counts, so a rule may set all of them to anything.
  std::int64_t weight = 0;
  /// What it has so far: the guaranteed part, to which the rule adds.
  quantity granted{};
  /// The part of the divided pool that is its own, whether it wants it or not.
  quantity guaranteed{};
  /// All that is its own: `guaranteed` and what it never lends.
  quantity owned{};
  /// What it has of its own, and will use, outside the divided pool.
  quantity kept{};
  /// What it currently uses of the divided pool.
  quantity used{};
  /// The priority of the quota, higher first.
  std::int32_t priority = 0;
  /// The dimension that is divided.
  std::uint32_t dimension = 0;
  /// Whether it represents the own jobs of `quota` rather than its subtree.
  bool own_jobs = false;
  /// The time since which it has been waiting, for rules and roundings that use it; smaller is older.
  std::int64_t since = 0;
  /// Its recent usage, in billionths of the capacity, for rules that use it.
  std::int64_t past_use = 0;
};

/// A rule divides a surplus: it adds to what each claimant is granted, never beyond what it wants, and in sum
/// at most the surplus. Ties are broken in the order of the claimants.
template <class Rule>
concept surplus_rule = requires(Rule rule, quantity surplus, std::span<claimant> claimants) {
  rule(surplus, claimants);
};

/// A rule that also divides a shortage of what was guaranteed. Default: all get the same fraction.
template <class Rule>
concept shortage_rule = surplus_rule<Rule> &&
    requires(Rule rule, quantity pool, std::span<claimant> claimants) {
  rule.divide_shortage(pool, claimants);
};
/// A rule that says whether it is blind to unmet wants; see `ignores_unmet_wants`. Default: it is not.
template <class Rule>
concept want_blind_rule = surplus_rule<Rule> && requires(const Rule rule) {
  { rule.ignores_unmet_wants() } -> std::same_as<bool>;
};

/// Whether the division does not depend on the unmet wants of any claimant, nor on anything else that changes
/// but wants. Then a longer queue costs nothing.
template <class Rule>
[[nodiscard]] bool ignores_unmet_wants(const Rule& rule) {
  if constexpr (want_blind_rule<Rule>) {
    return rule.ignores_unmet_wants();
  } else {
    static_assert(
        !requires(Rule & any) { any.ignores_unmet_wants(); },
        "allot: the surplus rule's ignores_unmet_wants() must be const and return bool");
    return false;
  }
}

/// A rule by which all that is granted depends on the surplus, and on what each claimant measures and lacks
/// of what it wants, by Webster's method in thousandths: as long as `keeps()`, so that a division can be kept
/// and brought up to date. `measure(claimant)` does not depend on wants.
template <class Rule>
concept keeping_rule = want_blind_rule<Rule> && requires(const Rule rule, const claimant& c) {
  { rule.measure(c) } -> std::same_as<std::int64_t>;
  { rule.keeps() } -> std::same_as<bool>;
};

/// Measures: what a surplus is divided in proportion to.
struct by_weight {
  [[nodiscard]] std::int64_t operator()(const claimant& c) const noexcept { return c.weight; }
};
/// All that the claimant owns: its quota.
struct by_owned {
  [[nodiscard]] std::int64_t operator()(const claimant& c) const noexcept { return c.owned.in_milli(); }
};

/// Divides surplus in proportion to a measure, with no claimant above what it wants: the level is raised for
/// all at once, and full claimants leave the rest to the others. Claimants of measure zero share equally what
/// the others leave once those are full.
///
/// The rounding settles what does not divide exactly: unless it leaves something, all surplus that is wanted
/// is granted. With Webster's a larger surplus never reduces a grant, so division's laws hold. O(n log n);
/// buffers are reused.
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
  /// Less than was promised: all get the same fraction of what they want.
  void divide_shortage(quantity pool, std::span<claimant> claimants) {
    divide(pool.in_milli(), claimants, [](const claimant& c) { return c.wants.in_milli(); });
  }

  /// What its rounding says of itself; see `ignores_unmet_wants`.
  [[nodiscard]] bool ignores_unmet_wants() const noexcept { return rounding_.ignores_unmet_wants(); }
  /// See `keeping_rule`.
  [[nodiscard]] std::int64_t measure(const claimant& c) const requires std::same_as<Rounding, webster> {
    return measure_(c);
  }
  /// See `keeping_rule`: not if it rounds to larger units.
  [[nodiscard]] bool keeps() const noexcept requires std::same_as<Rounding, webster> {
    return rounding_.ignores_unmet_wants();
  }

 private:
  /// Returns what no claimant of positive measure wants.
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

  vector<portion> portions_;
  Rounding rounding_;
  [[no_unique_address]] Measure measure_;
};

/// Over-quota weight (KAI), fair weight (Kueue), FairShareWeight (HyperPod).
using proportional_to_weight = proportional<by_weight>;

/// In proportion to what each owns (the Run:ai demo: quotas of 4, 2 and 2 get 4, 2 and 2 more); claimants
/// that own nothing share equally what the others leave.
using proportional_to_quota = proportional<by_owned>;

/// HTCondor's `hgq_allocate_surplus`: all get what they want if there is enough. Otherwise it goes in
/// proportion to quota, with the parent's remaining own quota as a peer of its children (as in every
/// `division`), then equally to claimants without quota; the remaining units go in turn to the longest
/// unserved (`claimant::since`). HTCondor counts in whole slots: pass `longest_unserved{gpus(1)}` for whole
/// GPUs.
using parent_as_peer = proportional<by_owned, longest_unserved>;

/// A rule that is first given data about each claimant that `division` does not know, such as its recent
/// usage or how long it has waited: `source(claimant&)` fills it in. When the data changes, the host must
/// redivide.
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

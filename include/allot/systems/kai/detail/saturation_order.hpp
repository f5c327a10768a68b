// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/systems/kai/detail/share_accounts.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {

/// The position of a quota among its siblings, as KAI-Scheduler v0.13 sees it. The lesser comes first;
/// victims are taken in reverse.
///
/// 1. Not over-utilised, that is, not above the fair share in *every* resource. KAI has three; those that a
///    tree does not have are unlimited, so no quota is above in them: with GPUs alone this rule has no
///    effect.
/// 2. With the job that represents it, still within what it deserves.
/// 3. The higher priority.
/// 4. With the job, using nothing of which it may have none.
/// 5. The smaller dominant share with the job and without the victims it has already given: the largest
///    fraction, over the dimensions, of what it may have (its allocatable share; the total where that is
///    unlimited). Usage where it may have none counts a thousandfold.
/// 6. The same without either.
/// 7. The smaller allocatable share, if it is smaller in one dimension and larger in none.
/// 8. The older.
///
/// Shares are compared exactly. KAI's last step does not strictly order queues of the same age; ids do. KAI's
/// step 7 is only a partial order of vectors, so with several dimensions three queues may form a cycle; the
/// order of comparison then decides, here by age.
template <std::size_t N>
class saturation_standing {
 public:
  /// `with` is the request of the job that represents x, none in a victims queue; `given` is what the victims
  /// that represent it hold.
  saturation_standing() = default;
  saturation_standing(const share_accounts<N>& a, quota_id x, const resources<N>& with,
                      const resources<N>& given)
      : priority_(a.tree().spec(x).priority), allocatable_(&a.allocatable(x)), quota_(x) {
    over_utilised_ = a.counted().size() >= resources_of_kai;
    for (const std::size_t d : a.counted()) {
      const quantity used = a.allocated(x)[d];
      const quantity then = used + with[d];
      if (then > a.deserved(x)[d]) beyond_deserved_ = true;
      if (used <= a.fair_share(x)[d]) over_utilised_ = false;
      quantity most = (*allocatable_)[d];
      if (most == quantity{} && then > quantity{}) uses_what_it_has_not_ = true;
      if (most.is_unlimited()) most = a.capacity()[d];
      if (most.is_unlimited()) continue;
      raise(share_with_, then - given[d], most, a.unit(d));
      raise(share_, used, most, a.unit(d));
    }
  }

  friend std::strong_ordering operator<=>(const saturation_standing& x, const saturation_standing& y) {
    if (const auto o = x.over_utilised_ <=> y.over_utilised_; o != 0) return o;
    if (const auto o = x.beyond_deserved_ <=> y.beyond_deserved_; o != 0) return o;
    if (const auto o = y.priority_ <=> x.priority_; o != 0) return o;
    if (const auto o = x.uses_what_it_has_not_ <=> y.uses_what_it_has_not_; o != 0) return o;
    if (const auto o = x.share_with_ <=> y.share_with_; o != 0) return o;
    if (const auto o = x.share_ <=> y.share_; o != 0) return o;
    const bool x_less = all_at_most(*x.allocatable_, *y.allocatable_);
    const bool y_less = all_at_most(*y.allocatable_, *x.allocatable_);
    if (x_less != y_less) return x_less ? std::strong_ordering::less : std::strong_ordering::greater;
    return x.quota_ <=> y.quota_;
  }
  friend bool operator==(const saturation_standing& x, const saturation_standing& y) {
    return (x <=> y) == 0;
  }

 private:
  /// Usage divided by the share; where the share is zero, a thousand times the usage in units. It takes half
  /// the space of a `ratio`, so that it stays in registers, and a comparison mostly takes two products.
  class share {
   public:
    constexpr share() = default;
    /// Precondition: something is used.
    constexpr share(quantity used, quantity whole, std::int64_t unit)
        : used_(used.in_milli()), whole_(whole > quantity{} ? whole.in_milli() : -unit) {}

    [[nodiscard]] constexpr bool is_zero() const { return used_ == 0; }
    friend constexpr std::strong_ordering operator<=>(share x, share y) {
      if (x.is_of_nothing() != y.is_of_nothing()) return x.exactly() <=> y.exactly();
      const wide ours = static_cast<wide>(x.used_) * magnitude(y.whole_);
      const wide theirs = static_cast<wide>(y.used_) * magnitude(x.whole_);
      if (ours == theirs) return std::strong_ordering::equal;
      return ours < theirs ? std::strong_ordering::less : std::strong_ordering::greater;
    }

   private:
    [[nodiscard]] constexpr bool is_of_nothing() const { return whole_ < 0; }
    [[nodiscard]] static constexpr std::uint64_t magnitude(std::int64_t x) {
      return static_cast<std::uint64_t>(x < 0 ? -x : x);
    }
    [[nodiscard]] constexpr ratio exactly() const {
      return {static_cast<wide>(used_) * (is_of_nothing() ? 1000 : 1), magnitude(whole_)};
    }

    std::int64_t used_ = 0;
    /// Negative where the share is zero: then it is the unit, of which each counts a thousand.
    std::int64_t whole_ = 1;
  };
  static void raise(share& most, quantity used, quantity whole, std::int64_t unit) {
    if (used <= quantity{}) return;
    const share to{used, whole, unit};
    if (N == 1 || most.is_zero() || most < to) most = to;
  }

  static constexpr std::size_t resources_of_kai = 3;

  bool over_utilised_ = false;
  bool beyond_deserved_ = false;
  bool uses_what_it_has_not_ = false;
  std::int32_t priority_ = 0;
  share share_with_{};
  share share_{};
  /// In the accounts.
  const resources<N>* allocatable_ = nullptr;
  quota_id quota_{};
};

}  // namespace v0
}  // namespace allot

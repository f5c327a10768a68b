// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace allot {
inline namespace v0 {

/// Who shares a surplus: what it wants in all, by what it is measured, and what it has been given; a rule
/// adds to the last.
struct claimant {
  quota_id quota;
  quantity wants;
  std::int64_t weight = 0;
  quantity granted{};
};

/// Surplus in proportion to weight, nobody above what it wants: the level is raised for all at once, and
/// whoever is full leaves the rest to the others. Claimants of weight zero share equally what the others
/// leave.
///
/// Thousandths that proportion does not divide are settled by the divisor method of Webster and Sainte-Laguë
/// (nearest rounding), which never takes from anybody when there is more to divide; largest remainders
/// sometimes do (the Alabama paradox). In other words: thousandth after thousandth goes to the claimant that
/// is not full and has the least (2 given + 1) / weight. Ties go to the claimant named first.
/// O(n log n); buffers are kept.
class proportional_to_weight {
 public:
  /// Precondition: `surplus` and every `wants` are bounded and not negative.
  void operator()(quantity surplus, std::span<claimant> claimants) {
    std::int64_t left = surplus.in_milli();
    left = divide(left, claimants, [](const claimant& c) { return c.weight; });
    if (left > 0) divide(left, claimants, [](const claimant& c) { return c.weight == 0 ? 1 : 0; });
  }

 private:
  struct part {
    claimant* who;
    std::int64_t room;
    wide weight;
    std::int64_t given = 0;

    /// By these the thousandths are ordered: that of its next one, and that of its last.
    [[nodiscard]] ratio next() const {
      return given == room ? ratio::infinite() : ratio{2 * static_cast<wide>(given) + 1, weight};
    }
    [[nodiscard]] ratio last() const {
      return given == 0 ? ratio{} : ratio{2 * static_cast<wide>(given) - 1, weight};
    }
  };

  /// Returns what nobody of positive weight wants.
  template <class Weight>
  std::int64_t divide(std::int64_t left, std::span<claimant> claimants, Weight weight_of) {
    parts_.clear();
    wide total = 0;
    for (claimant& c : claimants) {
      const std::int64_t w = weight_of(c);
      if (w <= 0 || c.wants <= c.granted) continue;
      parts_.push_back({&c, (c.wants - c.granted).in_milli(), static_cast<wide>(w)});
      total += static_cast<wide>(w);
    }
    // Who is filled by a lower level comes first.
    std::sort(parts_.begin(), parts_.end(), [](const part& a, const part& b) {
      const auto o =
          compare_fractions(static_cast<wide>(a.room), a.weight, static_cast<wide>(b.room), b.weight);
      return o != 0 ? o < 0 : a.who < b.who;
    });
    const auto is_filled = [&](const part& p) {
      return compare_fractions(static_cast<wide>(p.room), p.weight, static_cast<wide>(left), total) <= 0;
    };
    auto p = parts_.begin();
    for (; p != parts_.end() && is_filled(*p); ++p) {
      p->given = p->room;
      left -= p->room;
      total -= p->weight;
    }
    if (p != parts_.end()) {
      // Nearest rounding at the level left / total gives away nearly all. What is over or missing is then
      // settled one by one; to that end also those who are full may give a thousandth back.
      wide given = 0;
      for (auto q = p; q != parts_.end(); ++q) {
        const wide nearest = (2 * static_cast<wide>(left) * q->weight + total) / (2 * total);
        q->given = static_cast<std::int64_t>(nearest);
        given += nearest;
      }
      const auto wanted = static_cast<wide>(left);
      given < wanted ? hand_out(wanted - given) : take_back(given - wanted);
      left = 0;
    }
    for (const part& each : parts_) each.who->granted += quantity::milli(each.given);
    return left;
  }

  void hand_out(wide count) {
    move(count, +1, [](const part& a, const part& b) {
      const auto o = a.next() <=> b.next();
      return o != 0 ? o > 0 : a.who > b.who;
    });
  }
  void take_back(wide count) {
    move(count, -1, [](const part& a, const part& b) {
      const auto o = a.last() <=> b.last();
      return o != 0 ? o < 0 : a.who < b.who;
    });
  }
  /// Count is at most n / 2, half a thousandth for each rounding.
  template <class ComesLater>
  void move(wide count, std::int64_t by, ComesLater comes_later) {
    if (count == 0) return;
    std::make_heap(parts_.begin(), parts_.end(), comes_later);
    for (; count > 0; --count) {
      std::pop_heap(parts_.begin(), parts_.end(), comes_later);
      parts_.back().given += by;
      std::push_heap(parts_.begin(), parts_.end(), comes_later);
    }
  }

  std::vector<part> parts_;
};

}  // namespace v0
}  // namespace allot

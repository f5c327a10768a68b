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

/// Who shares a surplus: what it still wants, and by what it is measured.
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
/// sometimes do (the Alabama paradox). Ties go to the claimant named first. O(n log n); buffers are kept.
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
    std::size_t full = 0;
    for (; full < parts_.size(); ++full) {
      part& p = parts_[full];
      if (static_cast<wide>(p.room) * total > static_cast<wide>(left) * p.weight) break;
      p.given = p.room;
      left -= p.room;
      total -= p.weight;
    }
    left = round(left, total, std::span{parts_}.subspan(full));
    for (const part& p : parts_) p.who->granted += quantity::milli(p.given);
    return left;
  }

  /// Divides all of `left` among parts none of which it fills. Rounding every exact share to the nearest
  /// is what the method gives for a total that differs a little; from there it is one step after another.
  static std::int64_t round(std::int64_t left, wide total, std::span<part> parts) {
    if (parts.empty()) return left;
    std::int64_t given = 0;
    for (part& p : parts) {
      p.given = static_cast<std::int64_t>((2 * static_cast<wide>(left) * p.weight + total) / (2 * total));
      p.given = std::min(p.given, p.room);
      given += p.given;
    }
    const auto step = [](const part& a, const part& b, std::int64_t da, std::int64_t db) {
      return compare_fractions(static_cast<wide>(2 * a.given + da), a.weight,
                               static_cast<wide>(2 * b.given + db), b.weight);
    };
    for (; given < left; ++given) {
      part* next = nullptr;
      for (part& p : parts) {
        if (p.given == p.room) continue;
        const auto o = next == nullptr ? std::strong_ordering::less : step(p, *next, 1, 1);
        if (o < 0 || (o == 0 && p.who < next->who)) next = &p;
      }
      ++next->given;
    }
    for (; given > left; --given) {
      part* next = nullptr;
      for (part& p : parts) {
        if (p.given == 0) continue;
        const auto o = next == nullptr ? std::strong_ordering::greater : step(p, *next, -1, -1);
        if (o > 0 || (o == 0 && p.who > next->who)) next = &p;
      }
      --next->given;
    }
    return 0;
  }

  std::vector<part> parts_;
};

}  // namespace v0
}  // namespace allot

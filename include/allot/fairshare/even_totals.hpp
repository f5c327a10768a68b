// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/surplus.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v0 {

/// The surplus evens out *totals*: it goes to the claimant with the lowest total per measure, and claimants
/// at the same level rise together, until nothing is left. What a claimant was granted before, and what it
/// keeps, counts toward its total. `proportional`, in contrast, ignores what a claimant had before. Claimants
/// of measure zero share equally what the others leave.
///
/// Exact: thousandth by thousandth, the surplus goes to the lowest (2 total + 1) / measure, the first of
/// equals. So all surplus that is wanted is granted, and a larger surplus never reduces a grant. O(n log n);
/// buffers are reused. Precondition: totals and measures are below 2^60 thousandths.
template <class Measure>
class even_totals {
 public:
  void operator()(quantity surplus, std::span<claimant> claimants) {
    std::int64_t left = divide(surplus.in_milli(), claimants, measure_);
    if (left > 0) divide(left, claimants, [&](const claimant& c) { return measure_(c) == 0 ? 1 : 0; });
  }

  /// True; see `ignores_unmet_wants`.
  [[nodiscard]] bool ignores_unmet_wants() const noexcept { return true; }

 private:
  struct part {
    std::size_t place;
    std::int64_t had;
    std::int64_t room;
    wide weight;
    std::int64_t given = 0;

    [[nodiscard]] wide total() const { return static_cast<wide>(had) + static_cast<wide>(given); }
    [[nodiscard]] ratio next() const {
      return given == room ? ratio::infinite() : ratio{2 * total() + 1, weight};
    }
    /// The key of its last thousandth; zero if it was given none.
    [[nodiscard]] ratio last() const { return given == 0 ? ratio{} : ratio{2 * total() - 1, weight}; }
  };
  /// The level at which a claimant begins to rise, or is full.
  struct turn {
    ratio level;
    wide height;
    wide weight;
    std::size_t part;
    bool begins;
  };

  template <class By>
  std::int64_t divide(std::int64_t left, std::span<claimant> claimants, By by) {
    parts_.clear();
    wide wanted = 0;
    for (std::size_t i = 0; i < claimants.size(); ++i) {
      const claimant& c = claimants[i];
      const std::int64_t w = by(c);
      if (w <= 0 || c.wants <= c.granted) continue;
      parts_.push_back(
          {i, (c.granted + c.kept).in_milli(), (c.wants - c.granted).in_milli(), static_cast<wide>(w)});
      wanted += static_cast<wide>(parts_.back().room);
    }
    if (wanted <= static_cast<wide>(left)) {
      for (const part& p : parts_) claimants[p.place].granted += quantity::milli(p.room);
      return left - static_cast<std::int64_t>(wanted);
    }
    approach(left);
    wide given = 0;
    for (const part& p : parts_) given += static_cast<wide>(p.given);
    const auto target = static_cast<wide>(left);
    given < target ? move(target - given, +1, comes_later) : move(given - target, -1, came_earlier);
    for (const part& p : parts_) claimants[p.place].granted += quantity::milli(p.given);
    return 0;
  }

  /// Rounds every part to nearest at the exact level at which `left` is given away.
  /// Precondition: more than `left` is wanted.
  void approach(std::int64_t left) {
    turns_.clear();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const part& p = parts_[i];
      const auto had = static_cast<wide>(p.had);
      const wide full = had + static_cast<wide>(p.room);
      turns_.push_back({ratio{had, p.weight}, had, p.weight, i, true});
      turns_.push_back({ratio{full, p.weight}, full, p.weight, i, false});
    }
    detail::sort(turns_.begin(), turns_.end(), [](const turn& a, const turn& b) {
      const auto o = a.level <=> b.level;
      if (o != 0) return o < 0;
      return a.part != b.part ? a.part < b.part : a.begins && !b.begins;
    });
    // The amount given away at level x is x * rising - sank, as long as no claimant begins or is full.
    wide rising = 0;
    wide sank = 0;
    wide full = 0;
    for (const turn& t : turns_) {
      // Whether the level that gives away `left` comes before this turn.
      const wide level = static_cast<wide>(left) - full + sank;
      if (rising != 0 && compare_fractions(level, rising, t.height, t.weight) <= 0) break;
      const part& p = parts_[t.part];
      if (t.begins) {
        rising += p.weight;
        sank += static_cast<wide>(p.had);
      } else {
        rising -= p.weight;
        sank -= static_cast<wide>(p.had);
        full += static_cast<wide>(p.room);
      }
    }
    const wide level = static_cast<wide>(left) - full + sank;
    for (part& p : parts_) {
      const auto had = static_cast<wide>(p.had);
      if (compare_fractions(level, rising, had + static_cast<wide>(p.room), p.weight) >= 0) {
        p.given = p.room;
      } else if (compare_fractions(level, rising, had, p.weight) > 0) {
        p.given = static_cast<std::int64_t>((2 * (level * p.weight - had * rising) + rising) / (2 * rising));
      }
    }
  }

  static bool comes_later(const part& a, const part& b) {
    const auto o = a.next() <=> b.next();
    return o != 0 ? o > 0 : a.place > b.place;
  }
  static bool came_earlier(const part& a, const part& b) {
    const auto o = a.last() <=> b.last();
    return o != 0 ? o < 0 : a.place < b.place;
  }
  template <class ComesLater>
  void move(wide count, std::int64_t by, ComesLater later) {
    if (count == 0) return;
    detail::make_heap(parts_.begin(), parts_.end(), later);
    for (; count > 0; --count) {
      detail::pop_heap(parts_.begin(), parts_.end(), later);
      parts_.back().given += by;
      detail::push_heap(parts_.begin(), parts_.end(), later);
    }
  }

  vector<part> parts_;
  vector<turn> turns_;
  [[no_unique_address]] Measure measure_;
};

/// YARN's capacity scheduler: offers go to the most underserved, by the part it has of its guarantee.
using most_under_served_first = even_totals<by_owned>;

/// Armada's demand-capped adjusted shares, as a rule: totals, with guarantees, in proportion to weight.
/// See extras/adjusted_shares.hpp for the shares themselves.
using even_totals_by_weight = even_totals<by_weight>;

}  // namespace v0
}  // namespace allot

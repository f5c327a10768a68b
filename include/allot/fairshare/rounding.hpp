// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {

/// One recipient when an amount is divided in proportion to weight. Amounts are in thousandths.
struct portion {
  /// The most it can be given.
  std::int64_t room = 0;
  /// Above zero.
  wide weight = 1;
  /// Ties go to the lower place.
  std::size_t place = 0;
  /// The time since which it has been waiting, for roundings that use it.
  std::int64_t since = 0;
  /// What it has been given so far.
  std::int64_t given = 0;
  /// While a rounding counts in units: how much smaller than a unit its last one is.
  std::int64_t trimmed = 0;

  /// Whether it has all that it has room for.
  [[nodiscard]] bool is_full() const noexcept { return given == room; }
};

/// The level of an exact division in proportion to weight: all portions before `first` have their `room`; the
/// others share `left` by their weights, `total` in all, and none of them becomes full.
struct water_level {
  /// The first portion that is not full, after they were sorted.
  std::size_t first = 0;
  /// What is left for those that are not full, in milli.
  std::int64_t left = 0;
  /// The sum of their weights.
  wide total = 0;
};

/// Raises the level for all at once; full portions leave the rest to the others. Sorts the portions by when
/// they are full, earliest first. O(n log n).
[[nodiscard]] inline water_level raise_level(std::int64_t left, std::span<portion> portions) {
  detail::sort(portions.begin(), portions.end(), [](const portion& a, const portion& b) {
    const auto o =
        compare_fractions(static_cast<wide>(a.room), a.weight, static_cast<wide>(b.room), b.weight);
    return o != 0 ? o < 0 : a.place < b.place;
  });
  water_level level{0, left, 0};
  for (const portion& p : portions) level.total += p.weight;
  for (portion& p : portions) {
    if (compare_fractions(static_cast<wide>(p.room), p.weight, static_cast<wide>(level.left), level.total) >
        0) {
      break;
    }
    p.given = p.room;
    level.left -= p.room;
    level.total -= p.weight;
    ++level.first;
  }
  return level;
}

// A rounding gives every portion an amount close to its exact part: a multiple of its unit, or what fills the
// portion. `rounding(left, portions)` sets `given`; no portion gets more than its room. What is left at the
// end and is less than a unit goes to the portion that is next in turn, so that `left` is given as far as
// there is room (law 6: conserved); only `rounded_down` leaves something. Units are thousandths unless
// specified: a `quantity` above zero.

/// The divisor method of Webster and Sainte-Laguë (nearest rounding): each unit in turn goes to the portion
/// that is not full and has the least (given + unit / 2) / weight, the first of equals; the last one may get
/// only part of a unit. So a larger amount never reduces a portion, and no portion gets more of a unit than
/// fills it. O(n log n).
class webster {
 public:
  webster() = default;
  explicit webster(quantity unit) : unit_(unit.in_milli()) {
    ALLOT_ASSERT(unit_ > 0, "the unit must be above zero");
  }

  void operator()(std::int64_t left, std::span<portion> portions) const {
    if (portions.empty()) return;
    if (unit_ == 1) return in_units(left, portions);
    for (portion& p : portions) to_units(p, unit_);
    in_units(left / unit_, portions);
    // The last units may be smaller, which leaves something for further ones.
    for (const portion& p : portions) left -= p.given * unit_ - (p.is_full() ? p.trimmed : 0);
    detail::make_heap(portions.data(), portions.data() + portions.size(), comes_later);
    for (;;) {
      detail::pop_heap(portions.data(), portions.data() + portions.size(), comes_later);
      portion& p = portions.back();
      const std::int64_t cost = unit_ - (p.given + 1 == p.room ? p.trimmed : 0);
      if (p.is_full() || cost > left) break;
      ++p.given;
      left -= cost;
      detail::push_heap(portions.data(), portions.data() + portions.size(), comes_later);
    }
    for (portion& p : portions) from_units(p, unit_);
    portion& next = portions.back();
    if (!next.is_full()) next.given += left;
  }

  /// What a portion wants beyond what it was given does not matter: a thousandth never stops others.
  [[nodiscard]] bool ignores_unmet_wants() const noexcept { return unit_ == 1; }

 private:
  /// The units are ordered by these: a portion's next one, and its last.
  [[nodiscard]] static ratio next(const portion& p) {
    return p.is_full() ? ratio::infinite() : ratio{2 * static_cast<wide>(p.given) + 1, p.weight};
  }
  [[nodiscard]] static ratio last(const portion& p) {
    return p.given == 0 ? ratio{} : ratio{2 * static_cast<wide>(p.given) - 1, p.weight};
  }
  static bool comes_later(const portion& a, const portion& b) {
    const auto o = next(a) <=> next(b);
    return o != 0 ? o > 0 : a.place > b.place;
  }
  static bool came_earlier(const portion& a, const portion& b) {
    const auto o = last(a) <=> last(b);
    return o != 0 ? o < 0 : a.place < b.place;
  }

  static void in_units(std::int64_t left, std::span<portion> portions) {
    const water_level level = raise_level(left, portions);
    if (level.first == portions.size()) return;
    // Rounding to nearest at the level gives away nearly all. What is over or missing is then settled unit by
    // unit; for that, full portions may give a unit back, too.
    const auto wanted = static_cast<wide>(level.left);
    wide given = 0;
    for (portion& p : portions.subspan(level.first)) {
      const wide nearest = (2 * wanted * p.weight + level.total) / (2 * level.total);
      p.given = static_cast<std::int64_t>(nearest);
      given += nearest;
    }
    given < wanted ? move(wanted - given, +1, portions, comes_later)
                   : move(given - wanted, -1, portions, came_earlier);
  }
  /// `count` is at most n / 2: half a unit for each rounding.
  template <class ComesLater>
  static void move(wide count, std::int64_t by, std::span<portion> portions, ComesLater later) {
    if (count == 0) return;
    detail::make_heap(portions.data(), portions.data() + portions.size(), later);
    for (; count > 0; --count) {
      detail::pop_heap(portions.data(), portions.data() + portions.size(), later);
      portions.back().given += by;
      detail::push_heap(portions.data(), portions.data() + portions.size(), later);
    }
  }

  static void to_units(portion& p, std::int64_t unit) {
    const std::int64_t units = p.room / unit + (p.room % unit != 0 ? 1 : 0);
    p.trimmed = units * unit - p.room;
    p.room = units;
  }
  static void from_units(portion& p, std::int64_t unit) {
    p.given = p.given * unit - (p.is_full() ? p.trimmed : 0);
    p.room = p.room * unit - p.trimmed;
    p.trimmed = 0;
  }

  std::int64_t unit_ = 1;
};

namespace detail {

/// Rounds every exact part down to units, then deals out the remaining units, one each in turn in the order
/// `Before`. The last one may be part of a unit.
template <class Before>
class floor_then {
 public:
  floor_then() = default;
  explicit floor_then(quantity unit) : unit_(unit.in_milli()) {
    ALLOT_ASSERT(unit_ > 0, "the unit must be above zero");
  }

  void operator()(std::int64_t left, std::span<portion> portions) const {
    const water_level level = raise_level(left, portions);
    left = level.left;
    std::span<portion> short_of = portions.subspan(level.first);
    for (portion& p : short_of) {
      p.given = static_cast<std::int64_t>(static_cast<wide>(level.left) * p.weight / level.total) / unit_;
      p.given *= unit_;
      left -= p.given;
    }
    const Before before{level, unit_};
    detail::sort(short_of.begin(), short_of.end(), before);
    // One turn is enough, except where smaller last units leave something; full portions drop out.
    while (!short_of.empty() && left > 0) {
      for (portion& p : short_of) {
        const std::int64_t more = std::min({unit_, p.room - p.given, left});
        p.given += more;
        left -= more;
      }
      // The others keep their order.
      std::size_t open = 0;
      for (portion& p : short_of) {
        if (!p.is_full()) std::swap(short_of[open++], p);
      }
      short_of = short_of.first(open);
    }
  }
  [[nodiscard]] bool ignores_unmet_wants() const noexcept { return false; }

 private:
  std::int64_t unit_ = 1;
};

struct larger_remainder {
  water_level level;
  std::int64_t unit = 1;

  [[nodiscard]] wide remainder(const portion& p) const {
    // level.left * weight / total less what was given, at most a unit; all times `total`.
    return static_cast<wide>(level.left) * p.weight - static_cast<wide>(p.given) * level.total;
  }
  bool operator()(const portion& a, const portion& b) const {
    const wide x = remainder(a);
    const wide y = remainder(b);
    return x != y ? x > y : a.place < b.place;
  }
};
struct waits_longer {
  water_level level;
  std::int64_t unit = 1;

  bool operator()(const portion& a, const portion& b) const {
    return a.since != b.since ? a.since < b.since : a.place < b.place;
  }
};

}  // namespace detail

/// Hamilton's method: exact parts rounded down, then a unit each by the largest remainder, the first of
/// equals (Koordinator; KAI's leftovers). No portion is a whole unit from its exact part. But one more unit
/// to divide can cost a portion one (the Alabama paradox), so entitlements may fall as capacity grows.
using largest_remainder = detail::floor_then<detail::larger_remainder>;

/// Exact parts rounded down, then a unit each, the longest waiting first (HTCondor's remainders).
/// Not monotone, like every rounding that deals out remainders.
using longest_unserved = detail::floor_then<detail::waits_longer>;

/// Exact parts rounded down; the rest remains undivided: less than a unit for each portion that is not full.
/// A larger amount never reduces a portion.
class rounded_down {
 public:
  rounded_down() = default;
  explicit rounded_down(quantity unit) : unit_(unit.in_milli()) {
    ALLOT_ASSERT(unit_ > 0, "the unit must be above zero");
  }

  void operator()(std::int64_t left, std::span<portion> portions) const {
    const water_level level = raise_level(left, portions);
    for (portion& p : portions.subspan(level.first)) {
      const auto exact = static_cast<std::int64_t>(static_cast<wide>(level.left) * p.weight / level.total);
      p.given = exact - exact % unit_;
    }
  }
  /// False; see `ignores_unmet_wants`.
  [[nodiscard]] bool ignores_unmet_wants() const noexcept { return false; }

 private:
  std::int64_t unit_ = 1;
};

}  // namespace v0
}  // namespace allot

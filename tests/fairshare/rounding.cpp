// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/rounding.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::largest_remainder;
using allot::longest_unserved;
using allot::portion;
using allot::quantity;
using allot::rounded_down;
using allot::webster;
using allot::wide;
using allot_test::random_source;

namespace {

struct part {
  std::int64_t room;
  std::int64_t weight;
  std::int64_t since = 0;
};

template <class Rounding>
std::vector<std::int64_t> divide(const Rounding& rounding, std::int64_t left,
                                 const std::vector<part>& parts) {
  std::vector<portion> portions;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    portions.push_back({parts[i].room, static_cast<wide>(parts[i].weight), i, parts[i].since});
  }
  const std::size_t allocated = allot_test::allocations_in([&] { rounding(left, portions); });
  CHECK(allocated == 0);
  std::vector<std::int64_t> given(parts.size());
  for (const portion& p : portions) {
    given[p.place] = p.given;
    // A rounding works in whole units internally; it leaves the room unchanged.
    CHECK(p.room == parts[p.place].room);
  }
  return given;
}

std::vector<part> random_parts(random_source& random, std::int64_t largest) {
  std::vector<part> parts(1 + random.below(7));
  for (part& p : parts) {
    p = {random.between(1, largest), random.one_in(2) ? random.between(1, 4) : random.between(1, 3000),
         random.between(0, 2)};
  }
  return parts;
}

std::int64_t sum_of(const std::vector<std::int64_t>& given) {
  return std::accumulate(given.begin(), given.end(), std::int64_t{0});
}
std::int64_t room_of(const std::vector<part>& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0},
                         [](std::int64_t s, const part& p) { return s + p.room; });
}

/// Webster's order by its definition: one unit at a time, and of the last one what is left.
std::vector<std::int64_t> unit_by_unit(std::int64_t unit, std::int64_t left, const std::vector<part>& parts) {
  std::vector<std::int64_t> units(parts.size());
  std::vector<std::int64_t> given(parts.size());
  for (;;) {
    std::size_t best = parts.size();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (given[i] == parts[i].room) continue;
      if (best == parts.size() ||
          (2 * units[i] + 1) * parts[best].weight < (2 * units[best] + 1) * parts[i].weight) {
        best = i;
      }
    }
    if (best == parts.size()) return given;
    const std::int64_t cost = std::min({unit, parts[best].room - given[best], left});
    if (cost == 0) return given;
    given[best] += cost;
    ++units[best];
    left -= cost;
  }
}

/// The exact parts, as fractions of a common denominator: those limited by `room`, the others by weight.
/// Found by trying every set of limited ones: `numerator[i] / denominator`.
struct exact_parts {
  std::vector<std::int64_t> numerator;
  std::int64_t denominator = 1;
};
exact_parts by_scanning(std::int64_t left, const std::vector<part>& parts) {
  std::vector<bool> full(parts.size());
  for (;;) {
    std::int64_t rest = left;
    std::int64_t weights = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (full[i]) {
        rest -= parts[i].room;
      } else {
        weights += parts[i].weight;
      }
    }
    bool again = false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!full[i] && parts[i].room * weights <= rest * parts[i].weight) full[i] = again = true;
    }
    if (again) continue;
    exact_parts result{{}, std::max<std::int64_t>(1, weights)};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      result.numerator.push_back(full[i] ? parts[i].room * result.denominator : rest * parts[i].weight);
    }
    return result;
  }
}

}  // namespace

TEST_CASE("rounding: the water level is that found by scanning") {
  allot_test::for_each_seed(1500, [](random_source& random) {
    const auto parts = random_parts(random, 60);
    const std::int64_t left = random.between(0, 200);
    std::vector<portion> portions;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      portions.push_back({parts[i].room, static_cast<wide>(parts[i].weight), i, 0});
    }
    const allot::water_level level = allot::raise_level(left, portions);
    const exact_parts exact = by_scanning(left, parts);
    for (std::size_t k = 0; k < portions.size(); ++k) {
      const portion& p = portions[k];
      const auto numerator = static_cast<wide>(exact.numerator[p.place]);
      const auto denominator = static_cast<wide>(exact.denominator);
      if (k < level.first) {
        CHECK(p.given == p.room);
        CHECK((numerator == static_cast<wide>(p.room) * denominator));
      } else {
        CHECK((static_cast<wide>(level.left) * p.weight * denominator == numerator * level.total));
      }
    }
  });
}

TEST_CASE("rounding: Webster's agrees with the definition, unit by unit") {
  allot_test::for_each_seed(3000, [](random_source& random) {
    const auto parts = random_parts(random, 50);
    const std::int64_t unit = random.between(1, 9);
    const std::int64_t left = random.between(0, 150);
    CHECK(divide(webster{quantity::milli(unit)}, left, parts) == unit_by_unit(unit, left, parts));
  });
}

TEST_CASE("rounding: the properties of each rounding") {
  allot_test::for_each_seed(3000, [](random_source& random) {
    const auto parts = random_parts(random, 50);
    const std::int64_t unit = random.one_in(2) ? 1 : random.between(2, 9);
    const quantity u = quantity::milli(unit);
    const std::int64_t left = random.between(0, 150);
    const exact_parts exact = by_scanning(left, parts);
    // At most so many have a part of a unit: that which is left.
    const auto check_bounds = [&](const std::vector<std::int64_t>& given, int in_part) {
      for (std::size_t i = 0; i < parts.size(); ++i) {
        CHECK(given[i] >= 0);
        CHECK(given[i] <= parts[i].room);
        in_part -= given[i] != parts[i].room && given[i] % unit != 0 ? 1 : 0;
      }
      CHECK(in_part >= 0);
      CHECK(sum_of(given) <= left);
    };
    const auto check_all_is_given = [&](const std::vector<std::int64_t>& given) {
      CHECK(sum_of(given) == std::min(left, room_of(parts)));
    };
    const auto by_webster = divide(webster{u}, left, parts);
    check_bounds(by_webster, 1);
    check_all_is_given(by_webster);
    // Less than a unit from the exact part; where units are given in turns, a claimant with exactly that may
    // get one more.
    const auto check_quota_rule = [&](const std::vector<std::int64_t>& given, std::int64_t tie) {
      if (unit != 1) return;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        CHECK(given[i] * exact.denominator > exact.numerator[i] - exact.denominator);
        CHECK(given[i] * exact.denominator < exact.numerator[i] + exact.denominator + tie);
      }
    };
    const auto hamilton = divide(largest_remainder{u}, left, parts);
    check_bounds(hamilton, 1);
    check_all_is_given(hamilton);
    check_quota_rule(hamilton, 0);
    const auto in_turn = divide(longest_unserved{u}, left, parts);
    check_bounds(in_turn, 1);
    check_all_is_given(in_turn);
    check_quota_rule(in_turn, 1);
    const auto down = divide(rounded_down{u}, left, parts);
    check_bounds(down, 0);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      CHECK(down[i] * exact.denominator <= exact.numerator[i]);
      CHECK((down[i] + unit) * exact.denominator > exact.numerator[i]);
    }
  });
}

TEST_CASE("rounding: with more to divide, Webster's and rounding down reduce no part") {
  allot_test::for_each_seed(300, [](random_source& random) {
    const auto parts = random_parts(random, 40);
    const quantity unit = quantity::milli(random.one_in(2) ? 1 : random.between(2, 9));
    auto by_webster = divide(webster{unit}, 0, parts);
    auto down = by_webster;
    for (std::int64_t left = 1; left < 150; ++left) {
      const auto more = divide(webster{unit}, left, parts);
      const auto more_down = divide(rounded_down{unit}, left, parts);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        CHECK(more[i] >= by_webster[i]);
        CHECK(more_down[i] >= down[i]);
      }
      by_webster = more;
      down = more_down;
    }
  });
}

TEST_CASE("rounding: by largest remainders one more GPU costs a quota one (the Alabama paradox)") {
  const std::vector<part> parts{{100'000, 6}, {100'000, 6}, {100'000, 2}};
  const largest_remainder hamilton{gpus(1)};
  CHECK(divide(hamilton, 10'000, parts) == std::vector<std::int64_t>{4'000, 4'000, 2'000});
  CHECK(divide(hamilton, 11'000, parts) == std::vector<std::int64_t>{5'000, 5'000, 1'000});
  const webster house_monotone{gpus(1)};
  CHECK(divide(house_monotone, 10'000, parts) == std::vector<std::int64_t>{5'000, 4'000, 1'000});
  CHECK(divide(house_monotone, 11'000, parts) == std::vector<std::int64_t>{5'000, 5'000, 1'000});
  CHECK(divide(house_monotone, 12'000, parts) == std::vector<std::int64_t>{5'000, 5'000, 2'000});
}

TEST_CASE("rounding: ties go to the first named, and with longest_unserved to the longest waiting") {
  const std::vector<part> parts{{9, 1, 5}, {9, 1, 3}, {9, 1, 4}};
  CHECK(divide(largest_remainder{}, 5, parts) == std::vector<std::int64_t>{2, 2, 1});
  CHECK(divide(longest_unserved{}, 5, parts) == std::vector<std::int64_t>{1, 2, 2});
  CHECK(divide(longest_unserved{}, 4, parts) == std::vector<std::int64_t>{1, 2, 1});
  CHECK(divide(webster{}, 4, parts) == std::vector<std::int64_t>{2, 1, 1});
  CHECK(divide(rounded_down{}, 5, parts) == std::vector<std::int64_t>{1, 1, 1});
}

TEST_CASE("rounding: a unit that is only part wanted is given in part, never beyond what is wanted") {
  // KAI's trap 22: 0.6 and 0.6 of one GPU became 1 and 0.
  const std::vector<part> parts{{600, 1}, {600, 1}};
  CHECK(divide(webster{gpus(1)}, 1000, parts) == std::vector<std::int64_t>{600, 400});
  CHECK(divide(webster{gpus(1)}, 1200, parts) == std::vector<std::int64_t>{600, 600});
  CHECK(divide(largest_remainder{gpus(1)}, 1000, parts) == std::vector<std::int64_t>{600, 400});
  CHECK(divide(webster{}, 1000, parts) == std::vector<std::int64_t>{500, 500});
}

TEST_CASE("rounding: what is less than a unit goes to the next in turn") {
  const std::vector<part> parts{{9000, 1, 5}, {9000, 1, 3}, {9000, 1, 4}};
  using amounts = std::vector<std::int64_t>;
  CHECK(divide(webster{gpus(1)}, 1500, parts) == amounts{1000, 500, 0});
  CHECK(divide(largest_remainder{gpus(1)}, 4500, parts) == amounts{2000, 1500, 1000});
  CHECK(divide(longest_unserved{gpus(1)}, 4500, parts) == amounts{1000, 2000, 1500});
  CHECK(divide(rounded_down{gpus(1)}, 4500, parts) == amounts{1000, 1000, 1000});
}

TEST_CASE("rounding: without portions") {
  std::vector<portion> none;
  webster{}(5, none);
  webster{gpus(1)}(5, none);
  largest_remainder{}(5, none);
  rounded_down{}(5, none);
  CHECK(none.empty());
  CHECK_THROWS(webster{quantity{}});
  CHECK_THROWS(largest_remainder{quantity::milli(-1)});
}

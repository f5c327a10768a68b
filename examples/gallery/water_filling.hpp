// SPDX-License-Identifier: BSL-1.0
// Weighted max-min fairness of one resource, in exact fractions.
#pragma once

#include <allot/core/ratio.hpp>

#include <algorithm>
#include <span>
#include <vector>

/// A job that wants `size` of the capacity, and has a part of it in proportion to `weight` as far as it wants
/// that.
struct filled {
  allot::wide size = 0;
  allot::wide weight = 1;
  /// Its part of the time, as a fraction.
  allot::wide part = 1;
  allot::wide of = 1;
};
/// Water filling: each job has the same share for its weight, or all that it wants. Exact. O(n log n).
inline void fill(allot::wide capacity, std::span<filled> jobs) {
  std::vector<filled*> order;
  allot::wide weights = 0;
  for (filled& j : jobs) order.push_back(&j), weights += j.weight;
  std::sort(order.begin(), order.end(), [](const filled* a, const filled* b) {
    const auto by_level = allot::ratio{a->size, a->weight} <=> allot::ratio{b->size, b->weight};
    return by_level != 0 ? by_level < 0 : a < b;
  });
  for (filled* j : order) {
    // What is left is capacity/weights for each unit of weight.
    const bool has_all = allot::ratio{j->size, j->weight} <= allot::ratio{capacity, weights};
    j->part = has_all ? 1 : capacity * j->weight;
    j->of = has_all ? 1 : weights * j->size;
    if (!has_all) continue;
    capacity -= j->size;
    weights -= j->weight;
  }
}

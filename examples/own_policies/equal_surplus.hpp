// SPDX-License-Identifier: BSL-1.0
// A surplus rule: the surplus is shared in rounds, equally among all that still want some, whatever their
// weight.
#pragma once

#include <allot/presets/standard.hpp>
#include <allot/systems/own_surplus.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

struct equal_parts {
  void operator()(allot::quantity surplus, std::span<allot::claimant> claimants) const {
    for (std::int64_t left = surplus.in_milli(); left > 0;) {
      const auto wants_more = [](const allot::claimant& c) { return c.granted < c.wants; };
      const auto count = std::count_if(claimants.begin(), claimants.end(), wants_more);
      if (count == 0) return;
      const std::int64_t part = std::max<std::int64_t>(1, left / count);
      for (allot::claimant& c : claimants) {
        if (!wants_more(c) || left == 0) continue;
        const auto more = std::min({part, left, (c.wants - c.granted).in_milli()});
        c.granted += allot::quantity::milli(more);
        left -= more;
      }
    }
  }
};

struct equal_surplus : allot::standard {
  static constexpr std::string_view name = "equal_surplus";
  static constexpr std::string_view summary = "idle GPUs in equal parts, whatever the weights";
  using policies_type = allot::divided_by<equal_parts>;
};

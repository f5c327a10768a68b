// SPDX-License-Identifier: BSL-1.0
// A guard: no job is preempted that is larger than the one it would make room for.
#pragma once

#include <allot/presets/standard.hpp>

#include <cstddef>
#include <string_view>

struct not_larger_than_beneficiary {
  template <std::size_t N>
  bool operator()(const allot::ledger<N>&, const allot::beneficiary<N>& b,
                  const allot::victim_candidate<N>& v) const {
    return v.yields[0] <= b.request[0];
  }
};

struct small_victims : allot::standard {
  static constexpr std::string_view name = "small_victims";
  static constexpr std::string_view summary = "as standard, but a large job does not yield to a small one";
  using policies_type =
      allot::policies<allot::within_nominal_then_borrowed_share, allot::by_settings,
                      allot::lowest_priority_then_highest_share, not_larger_than_beneficiary>;
};

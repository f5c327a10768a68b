// SPDX-License-Identifier: BSL-1.0
// An order: within a quota the job with the smallest request goes first.
#pragma once

#include <allot/presets/standard.hpp>

#include <cstdint>
#include <string_view>

struct by_request {
  template <class View>
  std::int64_t operator()(const View& view, typename View::job j, const allot::queue_settings&) const {
    return view.request(j)[0].in_milli();
  }
};

struct smallest_first : allot::standard {  // all else is as in `standard`
  static constexpr std::string_view name = "smallest_first";
  static constexpr std::string_view summary = "as standard, but small jobs pass large ones";
  using policies_type = allot::policies<allot::within_nominal_then_borrowed_share, by_request>;
};

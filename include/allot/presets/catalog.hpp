// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/presets/pai.hpp>
#include <allot/presets/single_queue.hpp>
#include <allot/presets/standard.hpp>
#include <allot/presets/static_quotas.hpp>

#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {

/// Calls `visit(P{})` for every preset, in the order in which they are listed.
template <class Visit>
constexpr void for_each_preset(Visit visit) {
  visit(standard{});
  visit(static_quotas{});
  visit(pai{});
  visit(fifo{});
  visit(sjf{});
}

/// Calls `visit(P{})` for the preset of that name; returns whether there is one. How a program chooses by
/// configuration: everything behind the call is compiled for the preset.
template <class Visit>
constexpr bool with_preset(std::string_view name, Visit visit) {
  bool found = false;
  for_each_preset([&](auto p) {
    if (p.name == name) {
      found = true;
      visit(p);
    }
  });
  return found;
}

}  // namespace v0
}  // namespace allot

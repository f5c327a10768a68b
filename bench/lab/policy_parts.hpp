// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/presets/options.hpp>

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// A name that a scenario may use, and its meaning in a line.
struct named_part {
  std::string_view name;
  std::string_view summary;
};

/// A kind of part: the key under "set", the names it may have, and a function that sets the name with a given
/// index in the options of a preset.
struct part_kind {
  std::string_view key;
  std::string_view summary;
  std::vector<named_part> names;
  void (*choose)(preset_options&, std::size_t);
};

/// The parts that "set" may contain, in the order of the listing.
[[nodiscard]] const std::vector<part_kind>& settable_parts();

/// An option of one preset, which is given beside "preset".
struct preset_option {
  std::string_view preset;
  std::string_view key;
  std::string_view summary;
};
[[nodiscard]] const std::vector<preset_option>& options_of_presets();

/// The words of options that take one.
inline constexpr std::array<std::string_view, 2> idle_words = {"fcfs", "fair_share"};
inline constexpr std::array<std::string_view, 2> tasks_words = {"fcfs", "ranking"};
inline constexpr std::array<std::string_view, 2> backfill_words = {"queue", "shortest_estimate"};
inline constexpr std::array<std::string_view, 2> strategy_words = {"final_share", "initial_share"};

}  // namespace lab
}  // namespace v0
}  // namespace allot

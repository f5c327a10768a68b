// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/systems/by_name/named_parts.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot {
inline namespace v0 {

class any_preset;

namespace lab {

/// A name that a scenario may use, and its meaning in a line.
struct named_part {
  std::string_view name;
  std::string_view summary;
};

/// A kind of part: the key under "set", the names it may have, and a function that sets the name with a given
/// index.
struct part_kind {
  std::string_view key;
  std::string_view summary;
  vector<named_part> names;
  void (*choose)(named_parts&, std::size_t);
};

/// The parts that "set" may contain, in the order of the listing.
[[nodiscard]] const vector<part_kind>& settable_parts();

/// How the value of an option is written.
enum class option_kind : std::uint8_t {
  /// One of its words; the number is the word's index.
  word,
  /// Zero or one.
  boolean,
  /// A decimal number, in thousandths; at least `least`.
  milli,
  /// A whole number from `least`, or "all".
  count,
  /// A list of its words in their order, or of one of them; the number is an index of `fair_strategies`.
  strategies,
};

/// An option of one preset, which is given beside "preset".
struct preset_option {
  std::string_view preset;
  std::string_view key;
  std::string_view summary;
  option_kind kind;
  /// Sets it in a preset of that name to what was read, as a number.
  void (*set)(any_preset&, std::int64_t);
  vector<std::string_view> words{};
  std::int64_t least = 0;
};
[[nodiscard]] const vector<preset_option>& options_of_presets();

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// What a file is by its content; its name does not matter.
enum class file_kind : std::uint8_t { text, json, other };

struct file_look {
  file_kind kind = file_kind::text;
  /// "JSON: a job log of Philly, which allot import philly reads"; empty if the text looks like
  /// nothing known.
  std::string what{};
};

/// By the beginning of a file, of which a few thousand bytes are enough.
[[nodiscard]] file_look look_of(std::string_view beginning);

}  // namespace lab
}  // namespace v0
}  // namespace allot

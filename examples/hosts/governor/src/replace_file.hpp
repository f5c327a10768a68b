// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

namespace allot_governor {

/// Behind the name of a file that is not whole yet.
inline constexpr const char* being_written = ".new";
/// Replaces a file: writes another one beside it, synchronizes, renames. Empty, or what went wrong.
[[nodiscard]] std::string replace_file(const std::string& path, const std::string& text,
                                       bool synchronize = true);

}  // namespace allot_governor

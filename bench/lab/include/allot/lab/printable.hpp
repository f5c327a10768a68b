// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// What a terminal, or a log, gets to see. Names come from files, so they may hold anything. Figures and data
// for programs (JSON, CSV) are escaped by their own rules instead.

namespace allot {
inline namespace v0 {
namespace lab {

/// Whether all of it is UTF-8. Formats that demand it (JSON, Prometheus' text) can take it as it is then.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// A text of one line in which everything that a terminal would obey is escaped: control characters, also
/// line breaks, what turns the direction of writing, and bytes that are not UTF-8 ("\x1b", "\u202e"). The
/// result is UTF-8.
[[nodiscard]] std::string printable(std::string_view text);
/// The same for a text of several lines. Its line breaks and tabs stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

/// A text of more than about `most` bytes without its middle.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

// What a terminal, or a log, gets to see. Names come from files, so they may hold anything. Figures and data
// for programs (JSON, CSV) are escaped by their own rules instead.

/// A text of one line in which everything that a terminal would obey is escaped: control characters, also
/// line breaks, what turns the direction of writing, and bytes that are not UTF-8 ("\x1b", "\u202e").
[[nodiscard]] std::string printable(std::string_view text);
/// The same for a text of several lines. Its line breaks and tabs stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

/// A text of more than about `most` bytes without its middle.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

/// Prints lines on standard error, as `printable_lines`.
void print_error(std::string_view text);

/// Prints a result on standard output, as it is, and makes sure that it arrives. Returns whether it did; if
/// not, says on standard error that `what` ("the decision") could not be written.
[[nodiscard]] bool print_result(std::string_view text, std::string_view what);

}  // namespace lab
}  // namespace v0
}  // namespace allot

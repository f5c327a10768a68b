// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/lab/printable.hpp>

#include <cstddef>
#include <cstdio>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// How many characters a line of the terminal has that the stream goes to; 80 if it goes to none.
[[nodiscard]] std::size_t terminal_width(std::FILE* stream) noexcept;

/// Whether what is written there is shown with colours: it is a terminal that has them, and NO_COLOR (see
/// no-color.org) does not forbid it.
[[nodiscard]] bool shows_colours(int descriptor);

/// Prints lines on standard error, as `printable_lines`.
void print_error(std::string_view text);

/// Prints a result on standard output, as it is, and makes sure that it arrives. Returns whether it did; if
/// not, says on standard error that `what` ("the decision") could not be written.
[[nodiscard]] bool print_result(std::string_view text, std::string_view what);

}  // namespace lab
}  // namespace v0
}  // namespace allot

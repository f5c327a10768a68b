// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/lab/printable.hpp>

#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// Prints lines on standard error, as `printable_lines`.
void print_error(std::string_view text);

/// Prints a result on standard output, as it is, and makes sure that it arrives. Returns whether it did; if
/// not, says on standard error that `what` ("the decision") could not be written.
[[nodiscard]] bool print_result(std::string_view text, std::string_view what);

}  // namespace lab
}  // namespace v0
}  // namespace allot

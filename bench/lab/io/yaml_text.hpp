// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/io/errors.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// Whether a text in JSON or YAML is the latter: no object, array or comment of JSON begins it, and it is no
/// binary file.
[[nodiscard]] bool is_yaml(std::string_view text);

/// A YAML text as JSON; of several documents, an array of those that are not empty. Plain scalars are what
/// YAML 1.2 takes them for in its JSON schema, so that `0x10`, `1_000` and `yes` are texts. A syntax error,
/// and aliases and keys that are no scalars, which JSON has not, are reported with line and column. Needs
/// yaml-cpp, without which that is the problem.
[[nodiscard]] std::optional<std::string> json_of_yaml(std::string_view file, const std::string& text,
                                                      errors& found);

}  // namespace lab
}  // namespace v0
}  // namespace allot

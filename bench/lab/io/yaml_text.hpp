// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/io/errors.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// Whether a text in JSON or YAML is YAML: it does not begin with an object, array or comment of JSON, and is
/// not binary.
[[nodiscard]] bool is_yaml(std::string_view text);

/// A YAML text as JSON: if it has several documents, an array of those that are not empty. Plain scalars are
/// read by the JSON schema of YAML 1.2: `0x10`, `1_000` and `yes` are texts. Syntax errors are reported with
/// line and column, and so is what JSON lacks: aliases, and keys that are not scalars. Without yaml-cpp the
/// whole text is refused.
[[nodiscard]] std::optional<std::string> json_of_yaml(std::string_view file, const std::string& text,
                                                      errors& found);

}  // namespace lab
}  // namespace v0
}  // namespace allot

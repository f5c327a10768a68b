// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// What an import does with a field of another system's files.
enum class field_use : std::uint8_t {
  /// It is in the result.
  carried,
  /// It is not, though it may change what the system decides: the notes say so.
  note,
  /// It changes nothing that the system decides.
  no_effect,
};

struct imported_field {
  /// "Timelimit", "spec.containers[].volumeMounts": the field with all that is below it, but for what has a
  /// row of its own.
  std::string_view path;
  field_use use = field_use::carried;
  /// What becomes of it, or what it means that it is not carried over, or why that means nothing.
  std::string_view text;
};

/// What is done with each field of a format: fields/NAME.tsv, rows of path, "carried", "note" or "no effect",
/// and text, separated by tabs. Lines that begin with # are comments.
class imported_fields {
 public:
  /// Precondition: the text is such a table, which outlives this.
  explicit imported_fields(std::string_view table);

  /// The row of the field or, if it has none, of the nearest field that it is part of; null if there is none.
  [[nodiscard]] const imported_field* find(std::string_view path) const;
  /// Whether the field has a row, or parts of it have.
  [[nodiscard]] bool knows(std::string_view path) const { return entries_.count(path) > 0; }
  /// Whether parts of the field have rows of their own.
  [[nodiscard]] bool has_parts(std::string_view path) const;

 private:
  struct entry {
    std::optional<imported_field> row{};
    bool has_parts = false;
  };
  /// The fields of the rows, and all that they are part of.
  std::map<std::string_view, entry> entries_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

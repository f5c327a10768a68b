// SPDX-License-Identifier: BSL-1.0
#include "lab/import/import_fields.hpp"

#include "lab/import/import_times.hpp"

#include <allot/core/assert.hpp>

#include <cstddef>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// "a.b[].c" is part of "a.b[]", that of "a.b", and that of "a"; nothing is left of "a".
[[nodiscard]] std::string_view field_of_part(std::string_view path) {
  const std::size_t end = path.find_last_of(".[");
  return path.substr(0, end == std::string_view::npos ? 0 : end);
}

}  // namespace

imported_fields::imported_fields(std::string_view table) {
  while (!table.empty()) {
    std::string_view line = take_until(table, '\n');
    if (line.empty() || line.front() == '#') continue;
    const std::string_view path = take_until(line, '\t');
    const std::string_view use = take_until(line, '\t');
    ALLOT_ASSERT(!path.empty() && !line.empty(), "a row of three texts");
    ALLOT_ASSERT(use == "carried" || use == "note" || use == "no effect", "what is done with a field");
    entries_[path].row = imported_field{path,
                                        use == "carried" ? field_use::carried
                                        : use == "note"  ? field_use::note
                                                         : field_use::no_effect,
                                        line};
    for (auto whole = field_of_part(path); !whole.empty(); whole = field_of_part(whole))
      entries_[whole].has_parts = true;
  }
}

const imported_field* imported_fields::find(std::string_view path) const {
  for (; !path.empty(); path = field_of_part(path)) {
    const auto at = entries_.find(path);
    if (at != entries_.end() && at->second.row) return &*at->second.row;
  }
  return nullptr;
}

bool imported_fields::has_parts(std::string_view path) const {
  const auto at = entries_.find(path);
  return at != entries_.end() && at->second.has_parts;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#include "lab/import/import_fields.hpp"

#include "lab/import/import_times.hpp"

#include <allot/core/assert.hpp>

#include <algorithm>
#include <cstddef>

namespace allot {
inline namespace v0 {
namespace lab {

imported_fields::imported_fields(std::string_view table) {
  while (!table.empty()) {
    std::string_view line = take_until(table, '\n');
    if (line.empty() || line.front() == '#') continue;
    const std::string_view path = take_until(line, '\t');
    const std::string_view use = take_until(line, '\t');
    ALLOT_ASSERT(!path.empty() && !line.empty(), "a row of three texts");
    ALLOT_ASSERT(use == "carried" || use == "note" || use == "no effect", "what is done with a field");
    rows_.push_back({path,
                     use == "carried" ? field_use::carried
                     : use == "note"  ? field_use::note
                                      : field_use::no_effect,
                     line});
  }
}

const imported_field* imported_fields::find(std::string_view path) const {
  for (;;) {
    const auto row =
        std::find_if(rows_.begin(), rows_.end(), [&](const imported_field& f) { return f.path == path; });
    if (row != rows_.end()) return &*row;
    // "a.b[].c" is part of "a.b[]", that of "a.b", and that of "a".
    const std::size_t end = path.find_last_of(".[");
    if (end == std::string_view::npos) return nullptr;
    path = path.substr(0, end);
  }
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

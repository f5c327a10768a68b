// SPDX-License-Identifier: BSL-1.0
#include "lab/import/object_fields.hpp"

#include <algorithm>
#include <cstddef>

namespace allot {
inline namespace v0 {
namespace lab {

struct object_fields::visit {
  const kubernetes_object& object;
  import_log& log;
  std::span<const std::string_view> settled;
  /// What was noted of it.
  std::set<std::string, std::less<>> told{};
};

object_fields::object_fields(std::string_view table) : fields_(table) {
  for (const imported_field& f : fields_.rows()) {
    nodes_[std::string{f.path}].row = &f;
    // "a.b[].c" is part of "a.b[]", that of "a.b", and that of "a".
    for (std::string_view path = f.path;;) {
      const std::size_t end = path.find_last_of(".[");
      if (end == std::string_view::npos) break;
      path = path.substr(0, end);
      nodes_[std::string{path}].has_parts = true;
    }
  }
}

void object_fields::note(const kubernetes_object& object, import_log& log,
                         std::span<const std::string_view> settled) const {
  visit to{object, log, settled};
  look(object.value, object.kind, nullptr, to);
}

void object_fields::look(json_value value, const std::string& path, const imported_field* whole,
                         visit& to) const {
  const bool is_open = value.is_object() || value.is_array();
  if (value.is() == json_value::kind::null || (value.is_string() && value.text().empty())) return;
  const auto at = nodes_.find(path);
  if (at != nodes_.end() && at->second.row != nullptr) whole = at->second.row;
  const bool has_parts = at != nodes_.end() && at->second.has_parts;
  if (is_open && has_parts) {
    value.for_each([&](json_value part) {
      look(part, value.is_array() ? path + "[]" : path + '.' + std::string{part.key()}, whole, to);
    });
    return;
  }
  if (is_open) {
    bool is_empty = true;
    value.for_each([&](json_value) { is_empty = false; });
    if (is_empty) return;
  }
  if (whole != nullptr && whole->use != field_use::note) return;
  const std::string shown = whole != nullptr ? std::string{whole->path} : path;
  if (std::find(to.settled.begin(), to.settled.end(), shown) != to.settled.end()) return;
  if (!to.told.insert(shown).second) return;
  // Without the kind, and without the [] of a list that is meant as a whole.
  std::string text = shown.substr(shown.find('.') + 1);
  if (text.ends_with("[]")) text.resize(text.size() - 2);
  text += " is not carried over: ";
  text += whole != nullptr ? std::string{whole->text} : "this program does not know it";
  to.log.note(to.object.shown(), text);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#include "lab/import/object_fields.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// null, "", [] and {}.
[[nodiscard]] bool is_nothing(json_value value) {
  if (!value.is_object() && !value.is_array())
    return value.is() == json_value::kind::null || (value.is_string() && value.text().empty());
  bool is_empty = true;
  value.for_each([&](json_value) { is_empty = false; });
  return is_empty;
}

struct field_notes {
  const imported_fields& fields;
  const kubernetes_object& object;
  import_log& log;
  std::span<const std::string_view> settled;
  /// What was noted of the object.
  std::set<std::string, std::less<>> told{};

  void look(json_value value, const std::string& path) {
    if (is_nothing(value)) return;
    if ((value.is_object() || value.is_array()) && fields.has_parts(path)) {
      value.for_each([&](json_value part) {
        look(part, value.is_array() ? path + "[]" : path + '.' + std::string{part.key()});
      });
      return;
    }
    const imported_field* const row = fields.find(path);
    if (row != nullptr && row->use != field_use::note) return;
    const std::string shown = row != nullptr ? std::string{row->path} : path;
    if (std::find(settled.begin(), settled.end(), shown) != settled.end()) return;
    if (!told.insert(shown).second) return;
    // Without the kind, and without the [] of a list that is meant as a whole.
    std::string text = shown.substr(shown.find('.') + 1);
    if (text.ends_with("[]")) text.resize(text.size() - 2);
    text += " is not carried over: ";
    text += row != nullptr ? row->text : "this program does not know it";
    log.note(object.shown(), text);
  }
};

}  // namespace

void note_fields(const imported_fields& fields, const kubernetes_object& object, import_log& log,
                 std::span<const std::string_view> settled) {
  field_notes{fields, object, log, settled}.look(object.value, object.kind);
}

void for_each_unknown(const imported_fields& fields, json_value part, std::string_view path,
                      const std::function<void(std::string_view key)>& unknown) {
  if (!part.is_object()) return;
  part.for_each([&](json_value member) {
    const bool is_known = fields.knows(std::string{path}.append(".").append(member.key()));
    if (!is_known && !is_nothing(member)) unknown(member.key());
  });
}

void note_unknown(const imported_fields& fields, const kubernetes_object& object, json_value part,
                  std::string_view path, import_log& log) {
  for_each_unknown(fields, part, path, [&](std::string_view key) {
    log.note(object.shown(), std::string{path}.append(".").append(key).append(" is not carried over"));
  });
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

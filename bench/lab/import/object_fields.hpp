// SPDX-License-Identifier: BSL-1.0
// Kubernetes objects read against the tables of what is done with their fields.
#pragma once

#include "lab/import/import_fields.hpp"
#include "lab/import/import_log.hpp"
#include "lab/import/kubernetes.hpp"

#include <functional>
#include <span>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// Notes, once for each, the fields that are not carried over, with the effect, and those that are in no row.
/// Fields with nothing in them are not there. The paths of the table begin with the kind of the object:
/// "Workload.spec.podSets[].minCount". `settled` are those of which the importer has spoken.
void note_fields(const imported_fields& fields, const kubernetes_object& object, import_log& log,
                 std::span<const std::string_view> settled = {});

/// Calls `unknown(key)` for every member of `part` that is not empty, and that the table does not know.
/// `path` is that of the part in the table.
void for_each_unknown(const imported_fields& fields, json_value part, std::string_view path,
                      const std::function<void(std::string_view key)>& unknown);
/// Notes those members: they are not carried over.
void note_unknown(const imported_fields& fields, const kubernetes_object& object, json_value part,
                  std::string_view path, import_log& log);

}  // namespace lab
}  // namespace v0
}  // namespace allot

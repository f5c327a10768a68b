// SPDX-License-Identifier: BSL-1.0
// What is done with each field of a Kubernetes object: a table of fields read against the object.
#pragma once

#include "lab/import/import_fields.hpp"
#include "lab/import/import_log.hpp"
#include "lab/import/kubernetes.hpp"

#include <allot/core/vector.hpp>

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// A table whose paths begin with the kind of an object: "Workload.spec.podSets[].minCount".
class object_fields {
 public:
  /// Precondition: the text is such a table, which outlives this.
  explicit object_fields(std::string_view table);

  /// Whether the table tells of that kind of objects.
  [[nodiscard]] bool knows(std::string_view kind) const { return nodes_.find(kind) != nodes_.end(); }
  /// Notes, once for each, the fields that are not carried over, with the effect, and those that are in no
  /// row. Fields with nothing in them are not there. `settled` are paths of which the importer has spoken.
  void note(const kubernetes_object& object, import_log& log,
            std::span<const std::string_view> settled = {}) const;

 private:
  struct node {
    const imported_field* row = nullptr;
    /// Parts of the field have rows of their own.
    bool has_parts = false;
  };
  struct visit;
  void look(json_value value, const std::string& path, const imported_field* whole, visit& to) const;

  imported_fields fields_;
  /// The fields of the rows, and all that they are part of.
  std::map<std::string, node, std::less<>> nodes_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

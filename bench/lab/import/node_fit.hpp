// SPDX-License-Identifier: BSL-1.0
// Which nodes a pod of Kubernetes admits, and which admit the pod: node selectors, required node affinities,
// taints and tolerations, as kube-scheduler reads them.
#pragma once

#include "lab/import/kubernetes.hpp"
#include "lab/io/errors.hpp"
#include "lab/io/json_reader.hpp"

#include <allot/core/vector.hpp>

#include <compare>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

using label_map = std::map<std::string, std::string, std::less<>>;

/// An expression of a term: `key` in, notin, exists, doesnotexist, gt or lt `values`.
struct node_requirement {
  std::string key;
  std::string op;
  vector<std::string> values;

  /// Whether Kubernetes accepts it: the operator is one, and has as many values as it takes.
  [[nodiscard]] bool is_valid_for_labels() const;
  [[nodiscard]] bool is_valid_for_fields() const;
  /// Precondition: it is valid.
  [[nodiscard]] bool matches(const label_map& labels) const;
  friend auto operator<=>(const node_requirement&, const node_requirement&) = default;
};

/// All of its requirements must hold. An invalid one fails the term.
struct node_term {
  vector<node_requirement> labels;
  vector<node_requirement> fields;

  /// `node` is the node's name; without one (as a flavor) the fields are not looked at.
  [[nodiscard]] bool matches(const label_map& node_labels, std::string_view node) const;
  friend auto operator<=>(const node_term&, const node_term&) = default;
};

/// The nodes that a pod asks for.
struct node_selection {
  /// spec.nodeSelector.
  label_map selector;
  /// spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution is there: one of its terms
  /// must match, so without terms nothing does.
  bool has_terms = false;
  vector<node_term> terms;

  [[nodiscard]] bool matches(const label_map& node_labels, std::string_view node) const;
  friend auto operator<=>(const node_selection&, const node_selection&) = default;
};

struct node_taint {
  std::string key;
  std::string value;
  std::string effect;

  /// "key=value:effect", as kubectl writes it.
  [[nodiscard]] std::string shown() const;
};

struct node_toleration {
  std::string key;
  /// "" is Equal.
  std::string op;
  std::string value;
  /// "" is any.
  std::string effect;

  [[nodiscard]] bool tolerates(const node_taint& taint) const;
  friend auto operator<=>(const node_toleration&, const node_toleration&) = default;
};

/// The requirements there, an array of expressions: of a term, of a label selector.
[[nodiscard]] vector<node_requirement> read_requirements(json_value in, std::string_view key, errors& found);
/// What the `spec` of a pod or of its template asks of nodes. Reports wrong types; `pod_spec` is an object.
[[nodiscard]] node_selection read_node_selection(json_value pod_spec, errors& found);
/// The taints there: `taints` of a Node's spec, `nodeTaints` of a ResourceFlavor's.
[[nodiscard]] vector<node_taint> read_taints(json_value spec, std::string_view key, errors& found);
/// The `tolerations` of the spec of a pod or a ResourceFlavor.
[[nodiscard]] vector<node_toleration> read_tolerations(json_value spec, errors& found);

/// The first taint that keeps a pod away (NoSchedule, NoExecute) and is not tolerated; null if there is none.
[[nodiscard]] const node_taint* first_untolerated(const vector<node_taint>& taints,
                                                  const vector<node_toleration>& tolerations);

}  // namespace lab
}  // namespace v0
}  // namespace allot

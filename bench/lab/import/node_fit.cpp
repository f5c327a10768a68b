// SPDX-License-Identifier: BSL-1.0
#include "lab/import/node_fit.hpp"

#include <algorithm>
#include <optional>

namespace allot {
inline namespace v0 {
namespace lab {

bool node_requirement::is_valid_for_labels() const {
  if (op == "In" || op == "NotIn") return !values.empty();
  if (op == "Exists" || op == "DoesNotExist") return values.empty();
  return (op == "Gt" || op == "Lt") && values.size() == 1 && parse_whole(values.front()).has_value();
}

bool node_requirement::is_valid_for_fields() const {
  return (op == "In" || op == "NotIn") && values.size() == 1;
}

bool node_requirement::matches(const label_map& labels) const {
  const auto at = labels.find(key);
  const bool has = at != labels.end();
  const auto is_listed = [&] {
    return has && std::find(values.begin(), values.end(), at->second) != values.end();
  };
  if (op == "In") return is_listed();
  if (op == "NotIn") return !is_listed();
  if (op == "Exists") return has;
  if (op == "DoesNotExist") return !has;
  const auto label = has ? parse_whole(at->second) : std::nullopt;
  const auto bound = parse_whole(values.front());
  return label && bound && (op == "Gt" ? *label > *bound : *label < *bound);
}

bool node_term::matches(const label_map& node_labels, std::string_view node) const {
  // A term without requirements matches nothing.
  if (labels.empty() && fields.empty()) return false;
  const auto are_valid = [](const vector<node_requirement>& all, auto is_valid) {
    return std::all_of(all.begin(), all.end(), [&](const node_requirement& r) { return (r.*is_valid)(); });
  };
  if (!are_valid(labels, &node_requirement::is_valid_for_labels) ||
      !are_valid(fields, &node_requirement::is_valid_for_fields)) {
    return false;
  }
  const auto match = [](const vector<node_requirement>& all, const label_map& of) {
    return std::all_of(all.begin(), all.end(), [&](const node_requirement& r) { return r.matches(of); });
  };
  if (!match(labels, node_labels)) return false;
  // A field that a node does not have is an empty text.
  const auto match_field = [&](const node_requirement& r) {
    const bool is_it = r.values.front() == (r.key == "metadata.name" ? node : std::string_view{});
    return is_it == (r.op == "In");
  };
  return node.empty() || std::all_of(fields.begin(), fields.end(), match_field);
}

bool node_selection::matches(const label_map& node_labels, std::string_view node) const {
  for (const auto& [key, value] : selector) {
    const auto at = node_labels.find(key);
    if (at == node_labels.end() || at->second != value) return false;
  }
  return !has_terms || std::any_of(terms.begin(), terms.end(),
                                   [&](const node_term& t) { return t.matches(node_labels, node); });
}

std::string node_taint::shown() const {
  std::string text = key;
  if (!value.empty()) text.append("=").append(value);
  return text.append(":").append(effect);
}

bool node_toleration::tolerates(const node_taint& taint) const {
  if (!effect.empty() && effect != taint.effect) return false;
  if (!key.empty() && key != taint.key) return false;
  if (op.empty() || op == "Equal") return value == taint.value;
  if (op == "Exists") return true;
  if (op != "Gt" && op != "Lt") return false;
  const auto bound = parse_whole(value);
  const auto is = parse_whole(taint.value);
  return bound && is && (op == "Gt" ? *is > *bound : *is < *bound);
}

vector<node_requirement> read_requirements(json_value in, std::string_view key, errors& found) {
  vector<node_requirement> all;
  for (const json_value& e : elements_at(in, {key}, found)) {
    node_requirement r{text_at(e, {"key"}, found), text_at(e, {"operator"}, found), {}};
    for (const json_value& v : elements_at(e, {"values"}, found)) {
      if (auto text = read_string(v, found)) r.values.push_back(std::move(*text));
    }
    all.push_back(std::move(r));
  }
  return all;
}

node_selection read_node_selection(json_value pod_spec, errors& found) {
  node_selection s;
  s.selector = texts_at(pod_spec, {"nodeSelector"}, found);
  const auto required = find_path(
      pod_spec, {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"}, found);
  if (!required) return s;
  s.has_terms = true;
  for (const json_value& t : elements_at(*required, {"nodeSelectorTerms"}, found)) {
    s.terms.push_back(
        {read_requirements(t, "matchExpressions", found), read_requirements(t, "matchFields", found)});
  }
  return s;
}

vector<node_taint> read_taints(json_value spec, std::string_view key, errors& found) {
  vector<node_taint> all;
  for (const json_value& t : elements_at(spec, {key}, found)) {
    all.push_back({text_at(t, {"key"}, found), text_at(t, {"value"}, found), text_at(t, {"effect"}, found)});
  }
  return all;
}

vector<node_toleration> read_tolerations(json_value spec, errors& found) {
  vector<node_toleration> all;
  for (const json_value& t : elements_at(spec, {"tolerations"}, found)) {
    all.push_back({text_at(t, {"key"}, found), text_at(t, {"operator"}, found), text_at(t, {"value"}, found),
                   text_at(t, {"effect"}, found)});
  }
  return all;
}

const node_taint* first_untolerated(const vector<node_taint>& taints,
                                    const vector<node_toleration>& tolerations) {
  const auto keeps_away = [&](const node_taint& t) {
    return (t.effect == "NoSchedule" || t.effect == "NoExecute") &&
           std::none_of(tolerations.begin(), tolerations.end(),
                        [&](const node_toleration& by) { return by.tolerates(t); });
  };
  const auto at = std::find_if(taints.begin(), taints.end(), keeps_away);
  return at == taints.end() ? nullptr : &*at;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#include "lab/import/kueue_flavors.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// What of a selection concerns a flavor with these labels. Terms are alternatives: if nothing is left of
/// one, there is nothing left to ask for.
[[nodiscard]] node_selection relevant(const node_selection& all, const label_map& labels) {
  node_selection some;
  for (const auto& [key, value] : all.selector) {
    if (labels.find(key) != labels.end()) some.selector.emplace(key, value);
  }
  for (const node_term& t : all.terms) {
    node_term kept;
    for (const node_requirement& r : t.labels) {
      if (labels.find(r.key) != labels.end()) kept.labels.push_back(r);
    }
    if (kept.labels.empty()) {
      some.terms.clear();
      break;
    }
    some.terms.push_back(std::move(kept));
  }
  some.has_terms = !some.terms.empty();
  return some;
}

[[nodiscard]] std::int64_t read_slice(json_value from, std::string_view key, errors& found) {
  return whole_at(from, {key}, 1, std::numeric_limits<std::int32_t>::max(), found).value_or(0);
}

}  // namespace

kueue_pod_needs read_kueue_needs(json_value set, errors& found) {
  kueue_pod_needs needs;
  if (const auto spec = find_path(set, {"template", "spec"}, found); spec && expect_object(*spec, found)) {
    needs.nodes = read_node_selection(*spec, found);
    needs.tolerations = read_tolerations(*spec, found);
  }
  const auto asked = find_path(set, {"topologyRequest"}, found);
  if (!asked || !expect_object(*asked, found)) return needs;
  // Kueue writes a request without any of these for every indexed Job: which label tells its pods apart.
  for (const std::string_view key :
       {"required", "preferred", "unconstrained", "podSetGroupName", "podSetSliceRequiredTopology",
        "podSetSliceSize", "podsetSliceRequiredTopologyConstraints"})
    needs.topology.is_there = needs.topology.is_there || find_path(*asked, {key}, found).has_value();
  needs.topology.required = text_at(*asked, {"required"}, found);
  needs.topology.preferred = text_at(*asked, {"preferred"}, found);
  needs.topology.slice_level = text_at(*asked, {"podSetSliceRequiredTopology"}, found);
  for (const std::string* const level :
       {&needs.topology.required, &needs.topology.preferred, &needs.topology.slice_level}) {
    if (!level->empty()) needs.topology.levels.push_back(*level);
  }
  needs.topology.slice = read_slice(*asked, "podSetSliceSize", found);
  bool is_first = true;
  for (const json_value& c : elements_at(*asked, {"podsetSliceRequiredTopologyConstraints"}, found)) {
    needs.topology.levels.push_back(text_at(c, {"topology"}, found));
    needs.topology.has_layers = !is_first;
    if (!std::exchange(is_first, false)) continue;
    needs.topology.slice_level = needs.topology.levels.back();
    needs.topology.slice = read_slice(c, "size", found);
  }
  needs.topology.group = text_at(*asked, {"podSetGroupName"}, found);
  return needs;
}

void kueue_flavors::read(const vector<kubernetes_object>& flavors,
                         const vector<kubernetes_object>& topologies, errors& found) {
  for (const kubernetes_object& o : topologies) {
    vector<std::string>& levels = levels_[o.name];
    for (const json_value& level : elements_at(o.value, {"spec", "levels"}, found))
      levels.push_back(text_at(level, {"nodeLabel"}, found));
  }
  for (const kubernetes_object& o : flavors) {
    entry& f = flavors_[o.name];
    const auto spec = find_path(o.value, {"spec"}, found);
    if (!spec || !expect_object(*spec, found)) continue;
    f.labels = texts_at(*spec, {"nodeLabels"}, found);
    f.taints = read_taints(*spec, "nodeTaints", found);
    f.tolerations = read_tolerations(*spec, found);
    f.topology = text_at(*spec, {"topologyName"}, found);
  }
}

bool kueue_flavors::has_topology(std::string_view name) const {
  const auto at = flavors_.find(name);
  return at != flavors_.end() && !at->second.topology.empty();
}

std::string kueue_flavors::topology_refusal(const entry& flavor, const kueue_topology_request& asked,
                                            bool is_topology_queue) const {
  if (!asked.is_there) {
    const bool is_it = flavor.topology.empty() || is_topology_queue;
    return is_it ? std::string{} : "it is for pods that ask for a topology";
  }
  if (flavor.topology.empty()) return "it has no topology, and its pods ask for one";
  const auto levels = levels_.find(flavor.topology);
  if (levels == levels_.end()) return {};
  for (const std::string& level : asked.levels) {
    if (std::find(levels->second.begin(), levels->second.end(), level) == levels->second.end())
      return "its topology " + flavor.topology + " has no level " + level;
  }
  return {};
}

std::string kueue_flavors::refusal(std::string_view flavor, const kueue_pod_needs& pods,
                                   bool is_topology_queue) const {
  static const entry plain;
  const auto at = flavors_.find(flavor);
  const entry& f = at == flavors_.end() ? plain : at->second;
  if (std::string why = topology_refusal(f, pods.topology, is_topology_queue); !why.empty()) return why;
  vector<node_toleration> tolerations = pods.tolerations;
  for (const node_toleration& t : f.tolerations) tolerations.push_back(t);
  if (const node_taint* const taint = first_untolerated(f.taints, tolerations))
    return "its taint " + taint->shown() + " is not tolerated";
  const node_selection asked = relevant(pods.nodes, f.labels);
  for (const auto& [key, value] : asked.selector) {
    const std::string& own = f.labels.find(key)->second;
    if (own != value) return "its label " + key + " is " + own + ", not " + value;
  }
  return asked.matches(f.labels, {}) ? std::string{} : "its labels are not those of the pods' node affinity";
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

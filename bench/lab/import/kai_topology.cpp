// SPDX-License-Identifier: BSL-1.0
// Topology objects and constraints of KAI (its docs/topology).
#include "lab/import/kai_topology.hpp"

#include <allot/core/vector.hpp>
#include <allot/gpu/topology/topology.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr std::string_view host_label = "kubernetes.io/hostname";

}  // namespace

kai_constraint read_kai_constraint(json_value from, errors& found) {
  const auto text = [&](std::string_view key) { return text_at(from, {"topologyConstraint", key}, found); };
  return {text("topology"), text("requiredTopologyLevel"), text("preferredTopologyLevel")};
}

vector<std::string> labels_for(const kai_constraint& asked, const vector<kubernetes_object>& objects,
                               errors& found) {
  vector<std::string> labels;
  if (asked.required.empty()) return labels;
  for (const kubernetes_object& o : objects) {
    if (o.own_name != asked.topology) continue;
    for (const json_value level : elements_at(o.value, {"spec", "levels"}, found)) {
      labels.push_back(text_at(level, {"nodeLabel"}, found));
      if (labels.back() == asked.required || text_at(level, {"alias"}, found) == asked.required)
        return labels;
    }
  }
  return {};
}

kai_topology::kai_topology(const vector<kubernetes_object>& objects, std::span<const kai_constraint> asked,
                           std::span<const kubernetes_object* const> nodes, errors& found, import_log& log)
    : found_(found), log_(log) {
  if (nodes.empty()) return;
  choose(objects, asked);
  read_domains(nodes);
}

void kai_topology::choose(const vector<kubernetes_object>& objects, std::span<const kai_constraint> asked) {
  const auto wanted = [&](const kubernetes_object& o) {
    return std::count_if(asked.begin(), asked.end(),
                         [&](const kai_constraint& c) { return !c.is_empty() && c.topology == o.own_name; });
  };
  const auto chosen = std::max_element(objects.begin(), objects.end(),
                                       [&](const auto& a, const auto& b) { return wanted(a) < wanted(b); });
  if (chosen == objects.end()) return;
  for (const kubernetes_object& o : objects) {
    if (&o != &*chosen)
      log_.note(o.shown(), "not carried over: a scenario has one topology, here " + chosen->own_name);
  }
  name_ = chosen->own_name;
  for (const json_value level : elements_at(chosen->value, {"spec", "levels"}, found_)) {
    std::string label = text_at(level, {"nodeLabel"}, found_);
    if (label.empty()) continue;
    if (std::string alias = text_at(level, {"alias"}, found_); !alias.empty()) aliases_.emplace(alias, label);
    if (label == host_label) {
      // Below the last level of a scenario there is always the node itself.
      node_label_ = std::move(label);
      continue;
    }
    if (levels_.size() == gpu::any_level) {
      log_.note(chosen->shown(), "its level " + label + " is not carried over: there are too many");
      continue;
    }
    levels_.push_back(std::move(label));
  }
}

void kai_topology::read_domains(std::span<const kubernetes_object* const> nodes) {
  const auto label_of = [&](const kubernetes_object& n, const std::string& key) {
    return text_at(n.value, {"metadata", "labels", key}, found_);
  };
  const auto is_missing = [&](const std::string& level) {
    const bool is_nowhere =
        std::all_of(nodes.begin(), nodes.end(), [&](const auto* n) { return label_of(*n, level).empty(); });
    if (is_nowhere)
      log_.note("Topology " + name_, "its level " + level + " is not carried over: no node has that label");
    return is_nowhere;
  };
  levels_.erase(std::remove_if(levels_.begin(), levels_.end(), is_missing), levels_.end());
  for (const kubernetes_object* n : nodes) {
    vector<std::string>& of = domains_.emplace_back();
    for (const std::string& level : levels_) {
      std::string domain = label_of(*n, level);
      if (domain.empty()) {
        domain = '(' + n->own_name + ')';
        log_.note(n->shown(), "it has no label " + level +
                                  ": taken as one of its own, where only pods that require none of it run");
      }
      of.push_back(std::move(domain));
    }
  }
}

std::optional<std::pair<std::string, std::size_t>> kai_topology::find_level(std::string_view label) const {
  if (const auto alias = aliases_.find(label); alias != aliases_.end()) label = alias->second;
  const auto at = std::find(levels_.begin(), levels_.end(), label);
  if (at != levels_.end()) return std::pair{*at, static_cast<std::size_t>(at - levels_.begin())};
  if (label == node_label_) return std::pair{std::string{"node"}, levels_.size()};
  return std::nullopt;
}

void kai_topology::write_levels(json_writer& json) const {
  if (levels_.empty()) return;
  json.key("topology").begin_array();
  for (const std::string& level : levels_) json.value(level);
  json.end_array();
}

void kai_topology::write_labels(std::size_t node, json_writer& json) const {
  if (levels_.empty()) return;
  json.key("labels").begin_object();
  for (std::size_t i = 0; i < levels_.size(); ++i) json.member(levels_[i], domains_[node][i]);
  json.end_object();
}

void kai_topology::write_constraint(const kubernetes_object& group, const std::string& field,
                                    const kai_constraint& asked, json_writer& json) const {
  if (asked.is_empty()) return;
  const auto leave_out = [&](const std::string& why) {
    log_.note(group.shown(), field + " is not carried over: " + why);
  };
  if (asked.topology != name_ || name_.empty()) {
    return leave_out(asked.topology.empty() ? "it names no topology"
                                            : "the topology " + asked.topology + " is not in the scenario");
  }
  std::optional<std::pair<std::string, std::size_t>> required;
  std::optional<std::pair<std::string, std::size_t>> preferred;
  for (auto [label, to] : {std::pair{&asked.required, &required}, {&asked.preferred, &preferred}}) {
    if (label->empty()) continue;
    *to = find_level(*label);
    if (!*to) return leave_out("the topology has no level " + *label);
  }
  // The required level holds anyway.
  if (required && preferred && preferred->second < required->second) preferred.reset();
  json.key("topology").begin_object();
  if (required) json.member("required", required->first);
  if (preferred) json.member("preferred", preferred->first);
  json.end_object();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

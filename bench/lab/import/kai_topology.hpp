// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/import/import_log.hpp"
#include "lab/import/kubernetes.hpp"
#include "lab/io/errors.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/json_writer.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// A PodGroup's spec.topologyConstraint; missing members are empty.
struct kai_constraint {
  std::string topology{};
  /// Keys of node labels.
  std::string required{};
  std::string preferred{};

  [[nodiscard]] bool is_empty() const noexcept { return required.empty() && preferred.empty(); }
};
/// That of a PodGroup's spec, or of one of its subGroups.
[[nodiscard]] kai_constraint read_kai_constraint(json_value from, errors& found);
/// The labels that a node needs to be in a domain of the required level, as the group's own Topology says.
[[nodiscard]] vector<std::string> labels_for(const kai_constraint& asked,
                                             const vector<kubernetes_object>& objects, errors& found);

/// The topology of a scenario, made from KAI's Topology objects and the labels of nodes. A scenario has only
/// one: of several, the one that most PodGroups name. What is not carried over is noted.
class kai_topology {
 public:
  /// Chooses among `objects` for groups with these constraints. `nodes` are Node objects, all of which must
  /// be in the scenario.
  kai_topology(const vector<kubernetes_object>& objects, std::span<const kai_constraint> asked,
               std::span<const kubernetes_object* const> nodes, errors& found, import_log& log);

  /// Writes the "topology" of the cluster, if there is one.
  void write_levels(json_writer& json) const;
  /// Writes the "labels" of a node, given by index: its domain on each level.
  void write_labels(std::size_t node, json_writer& json) const;
  /// Writes the "topology" of the PodGroup's job, or of one of its pod sets, unless it requests none or one
  /// that can't be carried over; `field` says where it does.
  void write_constraint(const kubernetes_object& group, const std::string& field, const kai_constraint& asked,
                        json_writer& json) const;

 private:
  void choose(const vector<kubernetes_object>& objects, std::span<const kai_constraint> asked);
  void read_domains(std::span<const kubernetes_object* const> nodes);
  /// The scenario's name of a level, with its number (the outermost first); nullopt if there is no such
  /// level.
  [[nodiscard]] std::optional<std::pair<std::string, std::size_t>> find_level(std::string_view label) const;

  errors& found_;
  import_log& log_;
  std::string name_;
  /// The label that identifies a node, if the topology ends with one.
  std::string node_label_;
  vector<std::string> levels_;
  /// Other names of levels, and of nodes.
  std::map<std::string, std::string, std::less<>> aliases_;
  /// For each node, its domains by level.
  vector<vector<std::string>> domains_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

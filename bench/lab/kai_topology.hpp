// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/errors.hpp"
#include "lab/import_log.hpp"
#include "lab/json_writer.hpp"
#include "lab/kubernetes.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// What a PodGroup says in spec.topologyConstraint; what it does not say is empty.
struct kai_constraint {
  std::string topology{};
  /// Keys of labels of nodes.
  std::string required{};
  std::string preferred{};

  [[nodiscard]] bool is_empty() const noexcept { return required.empty() && preferred.empty(); }
};
[[nodiscard]] kai_constraint read_kai_constraint(const kubernetes_object& group, errors& found);

/// The topology of a scenario made of KAI's Topology objects and of the labels of nodes. A scenario has one:
/// of several that one which most PodGroups name. What is not carried over is noted.
class kai_topology {
 public:
  /// Chooses among `objects` for the groups with those constraints. `nodes` are Node objects, of which every
  /// one is to be in the scenario.
  kai_topology(const std::vector<kubernetes_object>& objects, std::span<const kai_constraint> asked,
               std::span<const kubernetes_object* const> nodes, errors& found, import_log& log);

  /// "topology" of the cluster, unless there is none.
  void write_levels(json_writer& json) const;
  /// "labels" of a node, by its place among the nodes: its domain on each level.
  void write_labels(std::size_t node, json_writer& json) const;
  /// "topology" of the job that the PodGroup is, unless it asks for none or for one that can't be carried
  /// over.
  void write_constraint(const kubernetes_object& group, const kai_constraint& asked, bool is_elastic,
                        json_writer& json);

 private:
  void choose(const std::vector<kubernetes_object>& objects, std::span<const kai_constraint> asked);
  void read_domains(std::span<const kubernetes_object* const> nodes);
  /// The scenario's name of a level, with its number, the outermost first; nothing if there is no such level.
  [[nodiscard]] std::optional<std::pair<std::string, std::size_t>> find_level(std::string_view label) const;

  errors& found_;
  import_log& log_;
  std::string name_;
  /// The label that says which node it is, where the topology ends with one.
  std::string node_label_;
  std::vector<std::string> levels_;
  /// Of each node: its domains by level.
  std::vector<std::vector<std::string>> domains_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

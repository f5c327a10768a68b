// SPDX-License-Identifier: BSL-1.0
// Kueue's ResourceFlavors, and which pods they admit.
#pragma once

#include "lab/import/kubernetes.hpp"
#include "lab/import/node_fit.hpp"
#include "lab/io/errors.hpp"
#include "lab/io/json_reader.hpp"

#include <allot/core/vector.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// A pod set's topologyRequest.
struct kueue_topology_request {
  bool is_there = false;
  /// The levels that it names.
  vector<std::string> levels{};
  /// All pods are to be in one domain of that level, or if possible; empty: it does not say.
  std::string required{};
  std::string preferred{};
  /// So many pods each are in one domain of that level; 0: it has no slices.
  std::int64_t slice = 0;
  std::string slice_level{};
  /// It has slices in slices.
  bool has_layers = false;
  /// The group of pod sets that get the same flavors; empty for none.
  std::string group{};
};

/// What the pods of a set ask of their nodes.
struct kueue_pod_needs {
  node_selection nodes{};
  vector<node_toleration> tolerations{};
  kueue_topology_request topology{};
};
/// `set` is an element of spec.podSets.
[[nodiscard]] kueue_pod_needs read_kueue_needs(json_value set, errors& found);

/// The ResourceFlavors and Topologies of a cluster. A flavor that is not among them is one without labels and
/// taints.
class kueue_flavors {
 public:
  void read(const vector<kubernetes_object>& flavors, const vector<kubernetes_object>& topologies,
            errors& found);

  [[nodiscard]] bool has(std::string_view name) const { return flavors_.find(name) != flavors_.end(); }
  [[nodiscard]] bool empty() const noexcept { return flavors_.empty(); }
  [[nodiscard]] bool has_topology(std::string_view name) const;
  /// Why the flavor does not admit such pods, as Kueue sees it: node selectors and affinities count only as
  /// far as their keys are labels of the flavor. Empty if it does. `is_topology_queue`: all flavors of its
  /// ClusterQueue have a topology, so that pods need not ask for one.
  [[nodiscard]] std::string refusal(std::string_view flavor, const kueue_pod_needs& pods,
                                    bool is_topology_queue) const;

 private:
  struct entry {
    label_map labels;
    vector<node_taint> taints;
    vector<node_toleration> tolerations;
    std::string topology;
  };
  [[nodiscard]] std::string topology_refusal(const entry& flavor, const kueue_topology_request& asked,
                                             bool is_topology_queue) const;

  std::map<std::string, entry, std::less<>> flavors_;
  /// The levels of each Topology.
  std::map<std::string, vector<std::string>, std::less<>> levels_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

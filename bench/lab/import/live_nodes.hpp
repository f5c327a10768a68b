// SPDX-License-Identifier: BSL-1.0
// The Nodes of a live cluster as the nodes of a scenario, for the importers of KAI and of plain Kubernetes.
#pragma once

#include "lab/import/import_log.hpp"
#include "lab/import/kubernetes.hpp"
#include "lab/import/node_fit.hpp"
#include "lab/io/errors.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/json_writer.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// What a pod takes of its node.
struct pod_need {
  /// The kind of its devices, as `node_devices` has it; empty for none.
  std::string device{};
  /// In thousandths of the scenario's GPUs: whole ones, or the part that it has of each of `devices`.
  std::int64_t gpu_milli = 0;
  /// Instead: how much memory it has of each of `devices`.
  std::int64_t gpu_memory_mib = 0;
  /// Of how many GPUs it has equal parts.
  std::int64_t devices = 1;
  std::int64_t cpu_milli = 0;
  /// In bytes.
  std::int64_t memory = 0;
  /// What its quota is charged, by resource of the scenario, in thousandths; without GPU memory.
  vector<std::pair<std::string, std::int64_t>> charges{};
  /// The flavors in which its GPUs may be counted, if there is a choice.
  vector<std::string> flavors{};

  /// Takes the CPU and the memory of a request.
  void take_host(const resource_list& request);
  [[nodiscard]] bool is_shared() const noexcept {
    return gpu_memory_mib > 0 || (gpu_milli > 0 && gpu_milli < 1000);
  }
  [[nodiscard]] std::int64_t memory_mib() const noexcept {
    constexpr std::int64_t mib = std::int64_t{1024} * 1024;
    return memory / mib + (memory % mib != 0 ? 1 : 0);
  }
  friend bool operator==(const pod_need&, const pod_need&) = default;
};

/// The devices of one kind on a node.
struct node_devices {
  std::string kind;
  /// How many GPUs of the scenario they are.
  std::int64_t gpus = 0;
};

/// A Node, as far as it matters to all pods alike.
struct live_node {
  const kubernetes_object* object = nullptr;
  label_map labels{};
  vector<node_taint> taints{};
  bool is_cordoned = false;
  /// Why no pod may start there; empty if some may.
  std::string closed{};
  /// By resource of Kubernetes, what it offers to pods.
  resource_list offers{};
  vector<node_devices> devices{};
  std::string gpu_model{};
  std::int64_t gpu_memory_mib = 0;
};

/// What decides on which nodes a pod may start.
struct node_demand {
  node_selection selection{};
  vector<node_toleration> tolerations{};
  /// Extended resources that are not devices: a node must offer that much of them.
  resource_list others{};
  /// Labels that a node must have, whatever their values.
  vector<std::string> labels{};
  /// The value of this label must be the same, or missing on both sides (KAI's node pools).
  std::string pool_label{};
  std::optional<std::string> pool{};
  /// No node will do.
  bool none = false;

  friend auto operator<=>(const node_demand&, const node_demand&) = default;
};

/// Reads what a Node offers: `status.allocatable`, which is `status.capacity` if it is not there.
[[nodiscard]] live_node read_live_node(const kubernetes_object& o, errors& found);
/// What the spec of a pod, or of its template, says of nodes. `is_device(resource)` are counted elsewhere.
[[nodiscard]] node_demand read_node_demand(json_value pod_spec, const resource_list& request,
                                           const std::function<bool(std::string_view)>& is_device,
                                           errors& found);

/// The nodes of a scenario. A Node with devices of several kinds becomes several, which share what its host
/// has. Nodes that the same pods may use are a pool.
class live_nodes {
 public:
  explicit live_nodes(import_log& log) : log_(log) {}

  /// Adds a Node with at most `max_gpus_per_node` GPUs of a kind; others are left out with a note.
  void add(live_node node);
  [[nodiscard]] bool empty() const noexcept { return nodes_.empty(); }
  [[nodiscard]] bool contains(std::string_view node) const { return by_name_.find(node) != by_name_.end(); }
  [[nodiscard]] const vector<live_node>& all() const noexcept { return nodes_; }

  /// A pod that is no job of the scenario takes this on a node.
  void take_off(std::string_view node, const pod_need& need);
  /// Adds a pod that asks for these nodes and devices. Returns the number of the demand, for `write_pools`.
  /// If there are too many kinds of nodes, what pods that wait ask for counts more.
  [[nodiscard]] std::size_t ask(node_demand demand, std::string_view device, const std::string& pod,
                                bool waits);

  /// A pod of a running job that stands on a node, which is there; `groups` name the GPUs that it shares with
  /// others of the same groups. Returns its number.
  std::size_t stand(std::string_view node, const pod_need& need, const vector<std::string>& groups = {});

  /// After all pods: what is left for them, the pools, and where GPUs are shared. Notes what had to be made
  /// to fit.
  void finish();

  // After `finish`.

  /// How many GPUs of a kind all nodes have.
  [[nodiscard]] std::int64_t gpus(std::string_view kind) const;
  /// The CPU and the bytes of all nodes; nullopt if some does not say.
  [[nodiscard]] std::optional<std::int64_t> cpu_milli() const { return sum_of(&part::cpu_milli); }
  [[nodiscard]] std::optional<std::int64_t> memory() const { return sum_of(&part::memory); }
  /// The Nodes whose parts are in the scenario, in order, one for each part.
  [[nodiscard]] vector<const kubernetes_object*> written() const;
  /// The kinds of devices that are there.
  [[nodiscard]] std::set<std::string> kinds() const;

  /// Writes the array of nodes; `more(part, json)` adds members to each.
  void write(json_writer& json, const std::function<void(std::size_t, json_writer&)>& more) const;
  /// The kind of the devices of a written part.
  [[nodiscard]] const std::string& kind_of(std::size_t part) const;
  /// Writes "node_pools", unless the demand allows every node.
  void write_pools(std::size_t demand, json_writer& json) const;
  /// Whether no node of the scenario will do.
  [[nodiscard]] bool is_impossible(std::size_t demand) const;
  /// The name of the node where a pod stands, and its devices, if they must be told.
  [[nodiscard]] const std::string& place_of(std::size_t pod) const;
  [[nodiscard]] const vector<std::int64_t>& devices_of(std::size_t pod) const;

 private:
  /// A node of the scenario.
  struct part {
    std::size_t node = 0;
    std::string name{};
    std::string kind{};
    std::int64_t gpus = 0;
    /// -1: it is not said.
    std::int64_t cpu_milli = -1;
    std::int64_t memory = -1;
    std::int64_t slots = -1;
    /// Of pods that are no jobs of the scenario.
    std::int64_t taken_gpu_milli = 0;
    std::int64_t used_gpus = 0;
    std::int64_t used_cpu_milli = 0;
    std::int64_t used_memory = 0;
    std::int64_t used_slots = 0;
    bool is_left_out = false;
    std::string pool{};
  };
  struct standing_pod {
    std::size_t part = 0;
    pod_need need{};
    vector<std::string> groups{};
    vector<std::int64_t> devices{};
  };
  struct asked_nodes {
    node_demand demand;
    std::string device;
    named_count pods{};
    bool has_waiting = false;
    /// By part.
    vector<bool> allows{};
    bool is_carried = true;
  };

  [[nodiscard]] part* part_for(std::string_view node, std::string_view device);
  [[nodiscard]] std::optional<std::int64_t> sum_of(std::int64_t part::*amount) const;
  [[nodiscard]] bool admits(const asked_nodes& asked, const part& p) const;
  void share_devices();
  void share_devices_of(std::size_t p, const vector<std::size_t>& pods);
  void fit_amounts();
  void make_pools();

  import_log& log_;
  vector<live_node> nodes_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  vector<part> parts_;
  /// Those that are written.
  vector<std::size_t> there_;
  std::map<std::string, vector<std::size_t>, std::less<>> parts_of_;
  vector<standing_pod> standing_;
  vector<asked_nodes> asked_;
  std::map<std::pair<node_demand, std::string>, std::size_t> asked_numbers_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

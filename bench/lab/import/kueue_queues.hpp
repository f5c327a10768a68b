// SPDX-License-Identifier: BSL-1.0
// The queues of a Kueue cluster: ClusterQueues, Cohorts, LocalQueues.
#pragma once

#include "lab/import/import_log.hpp"
#include "lab/import/kubernetes.hpp"
#include "lab/import/kueue_flavors.hpp"
#include "lab/import/resource_names.hpp"
#include "lab/io/errors.hpp"
#include "lab/io/json_reader.hpp"

#include <allot/core/vector.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// A resource in a flavor, as a queue has it.
struct kueue_cell {
  std::string flavor;
  std::string resource;
  nano_amount nominal = 0;
  std::optional<nano_amount> borrow;
  std::optional<nano_amount> lend;
};

struct kueue_resource_group {
  vector<std::string> resources;
  /// Best first.
  vector<std::string> flavors;
};

/// A ClusterQueue or a Cohort.
struct kueue_queue {
  const kubernetes_object* object = nullptr;
  std::string name;
  std::string parent;
  bool is_cohort = false;
  vector<kueue_cell> cells;
  vector<kueue_resource_group> groups;
  /// None, Hold or HoldAndDrain.
  std::string stop;
  [[nodiscard]] static bool is_stop(std::string_view policy) { return !policy.empty() && policy != "None"; }
  /// Why Kueue admits nothing to it, if it is not stopped.
  std::string inactive;
  /// All of its flavors have a topology.
  bool has_topology = false;

  [[nodiscard]] const kueue_resource_group* group_of(std::string_view resource) const {
    const auto at = std::find_if(groups.begin(), groups.end(), [&](const kueue_resource_group& g) {
      return std::find(g.resources.begin(), g.resources.end(), resource) != g.resources.end();
    });
    return at == groups.end() ? nullptr : &*at;
  }
};

struct kueue_local_queue {
  std::string cluster_queue;
  std::string stop;
};

class kueue_queues {
 public:
  /// The objects, which outlive this, are those of a file or, with `knows_all`, all that there are in a
  /// cluster: what is not among them is not there.
  kueue_queues(objects_by_kind& objects, bool knows_all, errors& found, import_log& log)
      : objects_(objects), knows_all_(knows_all), found_(found), log_(log) {}

  /// Reads the queues; `names` gets the resources that they count. Cohorts that are only named are among
  /// them.
  void read(const kueue_flavors& flavors, resource_names& names);

  /// From now on the nominal quota of a Cohort contains those of all below it, as policies want it whose
  /// trees are inclusive.
  void sum_up();

  /// Cohorts first, then ClusterQueues, each by age.
  [[nodiscard]] const vector<kueue_queue>& all() const noexcept { return queues_; }
  /// The ClusterQueue of that name; null if there is none.
  [[nodiscard]] const kueue_queue* find(std::string_view name) const;
  /// The LocalQueue "namespace/name", also one that is known from what it has admitted; null if there is
  /// none.
  [[nodiscard]] const kueue_local_queue* find_local(std::string_view name) const;
  /// Whether the ClusterQueue takes workloads of the namespace: a selector of {} selects all, none selects
  /// none.
  [[nodiscard]] bool selects(const kueue_queue& q, const std::string& space);

 private:
  [[nodiscard]] const vector<kubernetes_object>& objects(const std::string& kind) { return objects_[kind]; }
  void read_queue(const kubernetes_object& o, bool is_cohort, resource_names& names);
  void read_group(json_value value, kueue_queue& to, resource_names& names);
  void read_checks(const kubernetes_object& queue, kueue_queue& to);
  void add_named_cohorts();
  void cut_cycles();
  void tell_names_apart();
  void read_flavors(const kueue_flavors& flavors);
  void read_local_queues();

  objects_by_kind& objects_;
  bool knows_all_;
  errors& found_;
  import_log& log_;
  vector<kueue_queue> queues_;
  std::map<std::string, const kueue_queue*, std::less<>> cluster_queues_;
  /// By "namespace/name".
  std::map<std::string, kueue_local_queue, std::less<>> local_queues_;
  /// "queue/namespace" for which it is not known whether the queue's selector selects the namespace.
  std::set<std::string, std::less<>> unknown_spaces_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

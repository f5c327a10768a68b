// SPDX-License-Identifier: BSL-1.0
// A live Kueue cluster as a scenario: its quotas at once, its Workloads one at a time.
#pragma once

#include "lab/import/kueue_reader.hpp"
#include "lab/io/errors.hpp"
#include "lab/scenario/scenario.hpp"

#include <allot/core/pod_counts.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/flavors.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// An object as the API server sends it.
struct kueue_object {
  /// Of an object that does not say it itself, as those of lists.
  std::string_view kind;
  /// In messages.
  std::string_view name;
  std::string_view text;
};

/// What of such an object a `kueue_cluster` is made of, as a text to compare: the API server sends a
/// ClusterQueue whenever its counters change, and a new cluster is needed only if this does.
[[nodiscard]] std::string relevant_part(std::string_view object);

struct kueue_cluster_options {
  /// The member "policy" of a scenario, as JSON. Empty: `kueue_fair` if some object says that fair sharing is
  /// on, else `kueue`.
  std::string policy{};
  /// See `kueue_options`.
  std::string quota_check_strategy{};
  std::function<bool(std::string_view cluster_queue)> serves{};
};

/// A Workload at a point in time.
struct kueue_reading {
  kueue_standing standing = kueue_standing::malformed;
  /// Why it is no job, or backs off; of one that is on its way out: why it will not be pending again.
  std::string why{};
  /// "namespace/name".
  std::string id{};
  /// In which it waits, or holds quota; empty if it is in none.
  std::string cluster_queue{};
  /// If it is `pending` or `holds`, or `backs_off` until a known time (`ready`). Points in time are in
  /// milliseconds since 1970. Its flavors are those among which it chooses; what holds quota has none: its
  /// request is what it holds, with `running_pods`, a number that Kueue does not change any more.
  std::optional<job_entry> job{};
  /// If there is a job: its pod sets, all of them.
  vector<kueue_pod_set> pod_sets{};
  /// What it holds, in the order of its pod sets, without reclaimable pods.
  vector<kueue_assignment> held{};
  /// Kueue would also assign the places of its pods: they ask for a topology, or its ClusterQueue has no
  /// flavor without one. `assign` does not.
  bool has_topology = false;
  /// What of it is not carried over, or not as it is.
  vector<std::string> notes{};
};

/// Readings do not refer to it.
class kueue_cluster {
 public:
  /// `objects` are all ClusterQueues, Cohorts, LocalQueues, ResourceFlavors, Topologies, AdmissionChecks,
  /// WorkloadPriorityClasses, PriorityClasses and Namespaces of a cluster; when one changes
  /// (`relevant_part`), a new `kueue_cluster` is made. Their order is of no consequence. Nothing if it can't
  /// be; `found` says why.
  [[nodiscard]] static std::optional<kueue_cluster> make(std::span<const kueue_object> objects,
                                                         kueue_cluster_options options, errors& found);
  kueue_cluster(kueue_cluster&& other) noexcept;
  kueue_cluster& operator=(kueue_cluster&& other) noexcept;
  ~kueue_cluster();

  /// Without jobs.
  [[nodiscard]] const lab::scenario& scenario() const noexcept;
  /// Its text, as `parse_quotas_file` takes it.
  [[nodiscard]] const std::string& text() const noexcept;
  /// What of the objects is not carried over, or not as it is.
  [[nodiscard]] const vector<std::string>& notes() const noexcept;

  /// Reads a Workload. It depends on nothing but the objects, the Workload and the time.
  [[nodiscard]] kueue_reading read(std::string_view workload, instant now);

  /// What a Workload that is pending gets (status.admission.podSetAssignments) under the flavors that its job
  /// has picked, with so many pods of each of the job's sets. All resources that its ClusterQueue covers are
  /// there, also those without a choice. One without pods gets them, too, and holds nothing. Nothing if these
  /// are not flavors and numbers of it, as it may have changed since.
  [[nodiscard]] std::optional<vector<kueue_assignment>> assign(std::string_view workload,
                                                               const flavor_pick& pick,
                                                               const pods_by_set& pods, instant now);

 private:
  struct state;
  explicit kueue_cluster(std::unique_ptr<state> of) noexcept;

  std::unique_ptr<state> state_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

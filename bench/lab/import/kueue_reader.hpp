// SPDX-License-Identifier: BSL-1.0
// Kueue's objects as parts of a scenario: the quotas, and each Workload as a job.
#pragma once

#include "lab/import/import_fields.hpp"
#include "lab/import/import_log.hpp"
#include "lab/import/kubernetes.hpp"
#include "lab/import/kueue_flavors.hpp"
#include "lab/import/kueue_queues.hpp"
#include "lab/import/kueue_workload.hpp"
#include "lab/import/resource_names.hpp"
#include "lab/io/errors.hpp"

#include <allot/core/pod_counts.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/json_writer.hpp>
#include <allot/scheduler/flavors.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

struct kueue_options {
  /// "BlockUndeclared" or "IgnoreUndeclared", as in Kueue's configuration; empty: the former, its default.
  std::string quota_check_strategy{};
  /// The objects are all of a cluster: what is not among them is not there.
  bool knows_all = false;
  /// Whether the caller admits in Kueue's place in a ClusterQueue: then its stopPolicy Hold only keeps Kueue
  /// out. Workloads wait in no other. Without: those of all ClusterQueues are read as Kueue sees them.
  std::function<bool(std::string_view cluster_queue)> serves{};
  /// Whether a Cohort's quota is to contain those below it: see `kueue_queues::sum_up`.
  bool sums_up = false;
};

/// What becomes of a Workload.
enum class kueue_standing : std::uint8_t {
  /// It waits for quota.
  pending,
  /// It holds quota, in whatever ClusterQueue, and may be on its way out.
  holds,
  /// It will be pending again: at a known time, or when Kueue says so.
  backs_off,
  finished,
  /// Its LocalQueue or ClusterQueue does not exist.
  no_queue,
  /// It waits in a ClusterQueue of others.
  not_served,
  /// Its LocalQueue or ClusterQueue takes nothing.
  stopped,
  /// As things stand, Kueue would never admit it.
  inadmissible,
  deactivated,
  gated,
  /// It has no pods, or only reclaimable ones.
  no_pods,
  /// It can't be read.
  malformed,
};

struct kueue_place {
  kueue_standing standing = kueue_standing::pending;
  /// Why it is no job.
  std::string why{};
};

/// A Workload, and its ClusterQueue.
struct kueue_entry {
  kueue_workload of;
  const kueue_queue* in = nullptr;
};

/// What the pods of a set have of their ClusterQueue: an element of status.admission.podSetAssignments.
struct kueue_assignment {
  std::string name{};
  std::int64_t count = 0;
  /// By resource.
  std::map<std::string, kueue_assigned, std::less<>> resources{};

  friend bool operator==(const kueue_assignment&, const kueue_assignment&) = default;
};
/// Writes them as the array that Kueue has.
void write_assignments(std::span<const kueue_assignment> all, json_writer& json);

class kueue_reader {
 public:
  /// What is noted and found wrong, now or later, goes to `log` and `found`, which outlive this.
  kueue_reader(objects_by_kind objects, kueue_options options, errors& found, import_log& log);
  kueue_reader(const kueue_reader&) = delete;
  kueue_reader& operator=(const kueue_reader&) = delete;

  /// Reads all but Workloads. What is counted must be chosen before anything is written.
  void read_configuration();
  [[nodiscard]] const vector<kubernetes_object>& all(const std::string& kind) { return objects_[kind]; }
  [[nodiscard]] const kueue_queues& queues() const noexcept { return queues_; }
  /// Has the amounts of the quotas.
  [[nodiscard]] resource_names& names() noexcept { return names_; }

  /// Reads a Workload that is not finished, which outlives the result.
  [[nodiscard]] kueue_entry read(const kubernetes_object& workload);
  /// Finds the queue of a workload, and whether Kueue looks at it there: a reason says why it is no job.
  [[nodiscard]] kueue_place find_place(kueue_entry& e, instant now);

  /// Why a job would not ask for what the workload does, but for less, or in flavors that do not admit it.
  [[nodiscard]] std::string why_not_as_it_is(const kueue_entry& e) const;

  /// Writes "format", "resources", "policy" and "quotas". The policy is JSON; an empty one is that
  /// which the objects tell.
  void write_configuration(std::string_view policy, json_writer& json);
  /// Writes a job. Points in time count from `first`.
  void write_workload(const kueue_entry& e, instant first, instant now, json_writer& json);
  /// What holds quota is in its queue again once it has gone.
  [[nodiscard]] static bool comes_back(const kueue_workload& w) { return !w.is_going || w.stays_out.empty(); }

  /// What a pending workload gets under the flavors that its job has picked, with so many pods of each of the
  /// job's sets; in the order of its own pod sets. Nothing if these are not flavors and numbers of it.
  [[nodiscard]] std::optional<vector<kueue_assignment>> assign(const kueue_entry& e, const flavor_pick& pick,
                                                               const pods_by_set& pods) const;

  /// A resource of which there is none: what Kueue does not admit asks for it, and is in the way of those
  /// behind it as there.
  static constexpr std::string_view inadmissible = "(inadmissible)";

 private:
  /// Resources of a pod set that get one flavor, and the flavors among which they choose.
  struct flavor_choices {
    vector<std::string> resources;
    vector<std::string> flavors;
  };
  /// The request of a pending workload.
  struct pending_shape {
    /// Those with pods.
    vector<const kueue_pod_set*> sets{};
    /// What each of them chooses or, if `is_one`, all of them together.
    vector<vector<flavor_choices>> choices{};
    /// Too many sets or choices for a job: they are one request.
    bool is_one = false;
    kueue_pod_set one{};
    /// A resource for which the sets that are one have no flavor in common.
    std::string torn{};
    /// Where there is no choice, the flavor is named instead.
    bool names_single = false;

    [[nodiscard]] bool is_named(const flavor_choices& c) const {
      return names_single && c.flavors.size() == 1;
    }
  };
  static constexpr instant ms_per_second = 1000;
  using milli_by_dimension = std::map<std::string, std::int64_t>;

  /// Of what is named and not among the objects.
  [[nodiscard]] const char* is_missing() const noexcept {
    return options_.knows_all ? " does not exist" : " is not in the file";
  }
  void note_workload_fields(const kubernetes_object& o);
  [[nodiscard]] static kueue_place check_size(const kueue_workload& w, kueue_standing standing);
  [[nodiscard]] std::string why_never(const kueue_entry& e);
  [[nodiscard]] static vector<const kueue_pod_set*> partners(const kueue_entry& e, const kueue_pod_set& s);
  [[nodiscard]] vector<std::string> admitted_flavors(const kueue_entry& e, const kueue_pod_set& s,
                                                     const kueue_resource_group& g) const;
  [[nodiscard]] std::string refusals(const kueue_entry& e, const kueue_pod_set& s,
                                     const kueue_resource_group& g) const;
  [[nodiscard]] vector<flavor_choices> choices_of(const kueue_entry& e, const kueue_pod_set& s) const;
  [[nodiscard]] pending_shape shape_of(const kueue_entry& e) const;
  void merge_choices(const kueue_entry& e, pending_shape& shape) const;

  [[nodiscard]] bool uses_fair_sharing();
  template <class Get>
  void write_amounts(const kueue_queue& q, std::string_view key, json_writer& json, Get get);
  void write_borrow(const kueue_queue& q, json_writer& json);
  void write_queue(const kueue_queue& q, json_writer& json);
  void write_weight(const kueue_queue& q, json_writer& json);
  bool write_word(const kueue_queue& q, json_writer& json, std::string_view key, std::string_view value,
                  std::string_view path,
                  std::initializer_list<std::pair<std::string_view, std::string_view>> words);
  void write_settings(const kueue_queue& q, json_writer& json);

  [[nodiscard]] std::int64_t priority_of(const kueue_workload& w);
  [[nodiscard]] std::int64_t named_priority(const kueue_workload& w);
  void note_uncounted(const kueue_workload& w, const std::string& resource);
  [[nodiscard]] milli_by_dimension held_by(const kueue_workload& w, const kueue_pod_set& s);
  void write_running_request(const kueue_workload& w, json_writer& json);
  void write_running_pods(const kueue_workload& w, const kueue_pod_set& s, bool is_elastic,
                          json_writer& json);
  void write_pending_request(const kueue_entry& e, json_writer& json);
  void note_shared_flavors(const kueue_entry& e);
  void write_request(const kueue_entry& e, const kueue_pod_set& s, const pending_shape& shape,
                     const vector<flavor_choices>& choices, json_writer& json);

  errors& found_;
  import_log& log_;
  kueue_options options_;
  bool is_kueues_policy_ = true;
  objects_by_kind objects_;
  kueue_queues queues_;
  resource_names names_;
  kueue_flavors flavors_;
  imported_fields fields_;
  /// Resources of the workload that is being written, of which was told that they are left out.
  std::set<std::string> uncounted_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

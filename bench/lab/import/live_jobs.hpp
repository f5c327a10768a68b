// SPDX-License-Identifier: BSL-1.0
// Pods of a live cluster as the jobs of a scenario, for the importers of KAI and of plain Kubernetes.
#pragma once

#include "lab/import/import_log.hpp"
#include "lab/import/kubernetes.hpp"
#include "lab/import/live_nodes.hpp"

#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/json_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// A pod that runs or waits, and may start.
struct live_pod {
  std::string name;
  pod_need need{};
  /// Its number in `live_nodes::ask`.
  std::size_t demand = 0;
  bool is_running = false;
  /// Its number in `live_nodes::stand`, if it runs and there are nodes.
  std::optional<std::size_t> standing{};
  std::optional<instant> started{};
};

/// Pods of which `min` start together. They need not be alike.
struct live_pod_set {
  std::string name{};
  std::int64_t min = 1;
  /// In the order in which they start.
  vector<live_pod> pods{};
};

struct live_job {
  /// What it is called in notes: "PodGroup ns/name".
  std::string shown{};
  std::string id{};
  std::string quota{};
  vector<live_pod_set> sets{};
  std::int64_t priority = 0;
  bool preemptible = true;
  bool semi_preemptible = false;
  std::string job_class{};
  instant submitted = 0;
  /// When it started; without it, when the first of its pods did.
  std::optional<instant> started{};
  /// How long it may run at most.
  std::optional<instant> limit{};
  /// Its pods are being deleted.
  bool is_going = false;
  /// Writes the "topology" of one of its sets (by index), or without one that of the whole.
  std::function<void(std::optional<std::size_t> set, json_writer& json)> write_topology{};
};

/// The jobs of a scenario. Times count from the first submission, and it is the time of the last thing that
/// happened. Pods of a set that differ become pod sets of their own; what can't be said of a job is noted.
class live_jobs {
 public:
  live_jobs(const live_nodes& nodes, import_log& log) : nodes_(nodes), log_(log) {}

  void add(live_job job);
  /// Adds those pods of a job that are being deleted: a job that is evicted, and holds their places until
  /// they are gone. `has_others`: the job has other pods, too.
  void add_leaving(live_job of, live_pod_set pods, bool has_others);
  [[nodiscard]] const vector<live_job>& all() const noexcept { return jobs_; }

  /// Writes the array of jobs.
  void write(json_writer& json) const;

 private:
  /// How long jobs whose end is not known run from now on.
  static constexpr instant otherwise = 3'600'000;

  /// Pods that are alike.
  struct kind {
    std::size_t set = 0;
    std::string name{};
    std::int64_t min = 0;
    vector<const live_pod*> pods{};
    std::int64_t running = 0;
  };

  void write_job(const live_job& job, json_writer& json) const;
  [[nodiscard]] vector<kind> kinds_of(const live_job& job) const;
  void write_one(const live_job& job, const std::string& id, vector<kind> kinds, json_writer& json) const;
  void write_total(const live_job& job, const std::string& id, const vector<kind>& kinds,
                   json_writer& json) const;
  void write_pods(const kind& k, json_writer& json) const;
  void write_state(const live_job& job, const vector<kind>& kinds, json_writer& json) const;
  void write_places(const vector<kind>& kinds, std::int64_t running, json_writer& json) const;

  const live_nodes& nodes_;
  import_log& log_;
  vector<live_job> jobs_;
  instant first_ = 0;
  instant now_ = 0;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/json_reader.hpp"
#include "lab/scenario.hpp"

#include <allot/core/result.hpp>
#include <allot/sim/workload.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// Reads a scenario part by part, in the order in which the parts need one another, and goes on after
/// errors. A part that depends on one that is wrong may stay silent, never complain of what is right.
class scenario_reader {
 public:
  scenario_reader(scenario& to, errors& found) : to_(to), found_(found) {}

  // scenario_cluster.cpp

  void read_resources(json_object& top);
  void read_policy(json_object& top);
  void read_cluster(json_object& top);
  /// The preset and the nodes that the command line has instead of the scenario's.
  void read_command_line(const scenario_source& source);

  // scenario_quotas.cpp

  void read_quotas(json_object& top);
  /// Without quotas: a root that has everything, and below it one for every tenant of the trace.
  void make_quotas_of_tenants();
  /// Reports what keeps the quotas from being a tree, as given and as the preset sees them.
  void check_quotas();

  // scenario_events.cpp

  void read_events(json_object& top);

  // scenario_jobs.cpp

  void read_jobs(json_object& top);
  void check_trace();
  void check_cancellations();
  /// Reports it when the sum of all requests can't be counted.
  void check_total();

 private:
  using problems = std::vector<problem>;

  [[nodiscard]] std::vector<std::string_view> resource_names() const {
    return {to_.resources.begin(), to_.resources.end()};
  }

  // scenario_cluster.cpp
  void choose_preset(std::string name, std::string_view file, std::string_view place);
  /// "16x8".
  void set_nodes(std::string_view text);
  void read_policy_parts(json_value set);
  void read_node(json_value value);
  void build_nodes(const std::string& place);
  [[nodiscard]] std::string place_of_node(const problem& p, std::size_t nth) const;
  /// What the nodes have of a resource; nothing when they do not say.
  [[nodiscard]] std::optional<quantity> amount_of_nodes(std::size_t d) const;
  /// The pools of that name.
  [[nodiscard]] std::uint64_t pools_named(std::string_view pool) const;

  // scenario_quotas.cpp
  [[nodiscard]] std::optional<quantity> read_amount(json_value value, bool may_be_unlimited);
  void read_amounts(json_value value, bool may_be_unlimited, amounts& to);
  void read_nominal(json_value value, bool is_root, amounts& to);
  void set_nominal_of_nodes(json_value value, bool is_root, std::size_t d, amounts& to);
  void read_limits(json_value value, limits<max_resources>& to);
  void read_weights(json_value value, weights<max_resources>& to);
  [[nodiscard]] quota_entry read_quota(json_value value, bool from_event);
  void read_preempt(json_value value, quota_entry& to);
  void read_flavor_choice(json_value value);
  void read_min_runtime(json_value value);
  void read_node_pools(json_value value, quota_entry& to);
  void read_access(json_value value, quota_entry& to);
  void report_quotas(const problems& of_tree, const std::string& remark);
  /// With the resource that it is about, if there are several.
  [[nodiscard]] std::string text_of(const problem& p) const;

  // scenario_events.cpp
  /// An event that has a time, but has not been looked at any further.
  struct dated {
    instant at;
    json_value value;
  };
  /// The quotas as the events leave them, in the order of time.
  struct world;
  [[nodiscard]] std::optional<json_value> kind_of_event(json_value value);
  void read_change(const dated& event, json_value kind, world& now);
  [[nodiscard]] bool apply_changes(const std::vector<event_entry>& together, world& now);

  // scenario_jobs.cpp
  void read_job(json_value value);
  void read_quota_of_job(json_object& job, job_entry& to);
  void read_pods(json_object& job, job_entry& to);
  void read_request(json_value value, job_entry& to);
  void read_state(json_object& job, job_entry& to);
  void read_nodes(json_value value, job_entry& to);
  void read_devices(json_value value, job_entry& to);

  scenario& to_;
  errors& found_;
  /// There is a cluster, but something is wrong with it.
  bool nodes_are_wrong_ = false;
  /// Some amount or name of a quota could not be read.
  bool quotas_are_wrong_ = false;
  /// There may be quotas that are not in `quota_ids_`.
  bool names_are_missing_ = false;
  bool has_quotas_of_tenants_ = false;
  /// By name; those that events add included.
  std::map<std::string, quota_id, std::less<>> quota_ids_;
  std::map<std::string, std::size_t, std::less<>> job_ids_;
};

/// Whether the resource counts GPUs: "gpu", or those of one model as in "h100/gpu".
[[nodiscard]] bool counts_gpus(std::string_view resource) noexcept;
/// "h100" of "h100/gpu", empty of any other.
[[nodiscard]] std::string_view model_of(std::string_view resource) noexcept;

/// What a request asks of the nodes.
struct gpu_request {
  quantity gpus;
  /// Where GPUs of the model are that it names.
  std::uint64_t pools = gpu::all_pools;
  /// Why it can't be; empty if it can.
  std::string problem{};
};
/// The GPUs of a request (of a pod, or of a whole job).
[[nodiscard]] gpu_request gpus_of(const scenario& s, const amounts& request);
/// Whether so many GPUs can be had at all: whole ones, or a fraction of one. Empty, or what was expected.
[[nodiscard]] std::string problem_of_gpus(quantity gpus);

/// The pools of the cluster in which GPUs of this model are, in whatever case it is written.
[[nodiscard]] std::uint64_t pools_of_model(const scenario& s, std::string_view model);

/// Which of the scenario's resources the jobs of a trace ask for.
[[nodiscard]] sim::trace_dimensions dimensions_of_traces(const scenario& s);

/// What the preset makes of the quotas.
void adapt_to_preset(std::string_view preset, std::vector<quota_spec<max_resources>>& specs);

}  // namespace lab
}  // namespace v0
}  // namespace allot

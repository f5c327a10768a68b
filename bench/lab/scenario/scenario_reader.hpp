// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/io/json_reader.hpp"
#include "lab/scenario/scenario.hpp"

#include <allot/core/result.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/trace_csv.hpp>
#include <allot/lab/trace_jobs.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// The requested amount of each resource, by name.
using amounts_by_name = std::map<std::string, quantity, std::less<>>;

/// Reads a scenario part by part, in the order in which the parts depend on each other, and continues after
/// errors. A part that depends on a faulty one may report nothing, but never reports false errors.
class scenario_reader {
 public:
  scenario_reader(scenario& to, errors& found) : to_(to), found_(found) {}

  // scenario_policy.cpp

  void read_policy(json_object& top);
  /// `name` is set to the name of the policy, if one is allowed; else it is null.
  void read_policy_value(json_value value, std::string* name);
  /// The preset and the nodes given on the command line instead of the scenario's.
  void read_command_line(const scenario_source& source);

  // scenario_cluster.cpp

  void read_resources(json_object& top);
  void read_cluster(json_object& top);

  // scenario_flavors.cpp

  /// Finds the flavors by which nodes must be distinguished, before anything else is known about the jobs.
  void find_flavors(json_object& top);

  // scenario_quotas.cpp

  void read_quotas(json_object& top);
  /// Without quotas: makes a root that has everything, and below it a quota for every tenant of the trace.
  void make_quotas_of_tenants();
  /// Reports why the quotas are not a tree, as given and as the preset sees them.
  void check_quotas();
  /// Checks that the settings of each quota make sense under the policy.
  void check_settings();

  // scenario_events.cpp

  void read_events(json_object& top);
  void read_faults(json_object& top);

  // scenario_speeds.cpp

  void read_speeds(json_object& top);

  // scenario_jobs.cpp

  void read_jobs(json_object& top);
  /// A job, which is not added. Reports what is wrong with it.
  [[nodiscard]] job_entry read_job(json_value value);
  /// `places` is of the trace's file, if it has one.
  void check_trace(const trace_places& places);
  void check_cancellations();
  /// Sets what follows from a valid scenario: capacities, and the resource that each dimension counts.
  void finish();
  /// Reports it if the sum of all requests can't be counted.
  void check_total();

 private:
  using problems = vector<problem>;

  [[nodiscard]] vector<std::string_view> resource_names() const {
    return {to_.resources.begin(), to_.resources.end()};
  }

  // scenario_policy.cpp
  void choose_preset(std::string name, std::string_view file, std::string_view place);
  void read_policy_parts(json_value set);
  void read_preset_options(json_object& policy);
  [[nodiscard]] std::optional<std::int64_t> read_preset_option(const preset_option& o, json_value value);
  [[nodiscard]] std::optional<std::int64_t> read_strategies(const preset_option& o, json_value value);

  // scenario_cluster.cpp
  /// "16x8".
  void set_nodes(std::string_view text);
  void read_node(json_value value);
  void build_nodes(const std::string& place);
  [[nodiscard]] std::string place_of_node(const problem& p, std::size_t nth) const;
  /// The capacity of the nodes for a resource; nullopt if they do not state it.
  [[nodiscard]] std::optional<quantity> amount_of_nodes(std::size_t d) const;
  /// The pools with that name.
  [[nodiscard]] std::uint64_t pools_named(std::string_view pool) const;

  // scenario_topology.cpp
  void read_levels(json_value value);
  /// The topology constraints of a job's pods.
  void read_topology_of_job(json_value value, job_entry& to);
  [[nodiscard]] std::optional<std::uint8_t> read_level(json_value value);

  // scenario_mig.cpp
  void read_mig(json_value value, job_entry& to);
  /// Charges quotas for an instance its part of a GPU; the largest part if models differ.
  void charge_mig(json_value request, job_entry& to);

  // scenario_quotas.cpp
  [[nodiscard]] std::optional<quantity> read_amount(json_value value, bool may_be_unlimited);
  void read_amounts(json_value value, bool may_be_unlimited, amounts& to);
  void read_nominal(json_value value, bool is_root, amounts& to,
                    std::array<bool, max_resources>* listed = nullptr);
  void set_nominal_of_nodes(json_value value, bool is_root, std::size_t d, amounts& to);
  void read_limits(json_value value, limits<max_resources>& to);
  void read_weights(json_value value, weights<max_resources>& to);
  [[nodiscard]] quota_entry read_quota(json_value value);
  void read_preempt(json_value value, quota_entry& to);
  /// A policy by name, or with the priorities that bound it.
  [[nodiscard]] std::optional<preempt_reclaim> read_bounded_policy(json_value value,
                                                                   std::optional<priority_bounds>& bounds);
  [[nodiscard]] priority_range read_priority_range(json_object& from);
  [[nodiscard]] std::optional<std::int64_t> read_priority(json_value value) {
    return read_whole(value, -highest_job_priority, highest_job_priority, found_);
  }
  void read_flavor_choice(json_value value, quota_entry& to);
  void read_min_runtime(json_value value, quota_entry& to);
  void read_borrow_backoff(json_value value, quota_entry& to);
  void read_gathering(json_value value, quota_entry& to);
  void read_time_limits(json_value value, quota_entry& to);
  /// The set of those pools: none if the list is empty, all if it is wrong.
  [[nodiscard]] std::uint64_t read_node_pools(json_value value);
  void read_access(json_value value, quota_entry& to);
  /// The first quota that is deeper than allowed, if any.
  [[nodiscard]] std::optional<std::size_t> find_too_deep(
      std::span<const quota_spec<max_resources>> specs) const;
  void report_quotas(const problems& of_tree, const std::string& remark);
  /// With the name of the resource concerned, if there are several.
  [[nodiscard]] std::string text_of(const problem& p) const;

  // scenario_events.cpp
  [[nodiscard]] sim::host_faults::span read_fault_span(json_value value);
  /// A part of 100, in thousandths.
  [[nodiscard]] std::uint32_t read_percent(json_value value);
  /// An event that has a time, but has not been read any further.
  struct dated {
    instant at;
    json_value value;
    std::optional<instant> announced{};
    [[nodiscard]] instant known_since() const { return announced.value_or(without_end); }
  };
  /// The quotas as the events change them, in order of time.
  struct world;
  [[nodiscard]] std::optional<json_value> kind_of_event(json_value value);
  void read_change(const dated& event, json_value kind, world& now);
  void read_node_change(const dated& event, json_value kind);
  [[nodiscard]] bool apply_changes(const vector<event_entry>& together, world& now);

  // scenario_speeds.cpp
  [[nodiscard]] speed_entry read_speed(json_value value);
  [[nodiscard]] std::optional<sim::speed> read_speed_factor(json_value value);
  /// The index of a column of tags of the trace; else `value` is reported.
  [[nodiscard]] std::optional<std::size_t> column_of_tags(std::string_view name, json_value value);
  void read_speeds_by_model(json_value value, speed_entry& to);
  /// Reports the jobs that have no speed in that column.
  void check_speeds(json_value value, const speed_entry& of, std::size_t column);
  void read_speeds_by_pods(json_value value, sim::speed_tables::kind& to);
  void read_speed_apart(json_value value, sim::speed_tables::kind& to);

  // scenario_jobs.cpp
  void read_quota_of_job(json_object& job, job_entry& to);
  /// Of a job, or of a pod set of one.
  [[nodiscard]] std::optional<bool> read_semi_preemptible(json_object& in, const job_entry& job);
  void read_pods(json_object& job, job_entry& to);
  void read_pod_sets(json_value value, job_entry& to);
  [[nodiscard]] pod_set_entry read_pod_set(json_value value, const job_entry& job);
  void read_state(json_object& job, job_entry& to);
  void read_nodes(json_value value, job_entry& to);
  void read_devices(json_value value, job_entry& to);

  // scenario_flavors.cpp
  /// The node's pool together with its flavors.
  [[nodiscard]] std::string pool_of_node(const gpu::node_spec& node) const;
  /// The request, with the flavors that the job accepts, and what its pods need of their hosts.
  void read_request(json_object& job, json_value value, std::optional<json_value> flavors, job_entry& to);
  /// The requested amount of each resource, under the names in the request.
  [[nodiscard]] amounts_by_name read_asked(json_value value, bool has_flavors);
  void read_flavors(json_value value, const amounts_by_name& asked, job_entry& to);
  void add_group(json_value flavors, vector<std::string> resources, const amounts_by_name& asked,
                 job_entry& to);

  // scenario_demand.cpp
  /// Everything about a job that is read before its request: the models, and its part of a device.
  void read_needs(json_object& job, job_entry& to);
  void read_models(json_value value, job_entry& to);
  /// As `models_named`; reports, at `value`, that no node has such a model.
  [[nodiscard]] std::uint64_t find_models(std::string_view name, json_value value);
  /// CPU and memory: as the job states them, else as in its request.
  void read_host(json_object& job, const amounts_by_name& asked, job_entry& to);
  /// A request that is spread over several devices of a pod, or stated in GPU memory.
  void share_devices(json_value request, job_entry& to);
  /// Charges quotas for GPU memory the largest portion that it is on any node that can hold it. KAI-Scheduler
  /// divides by the smallest GPU as long as it does not know the node.
  void charge_gpu_memory(json_value request, job_entry& to);

  scenario& to_;
  errors& found_;
  /// There is a cluster, but it has errors.
  bool nodes_are_wrong_ = false;
  /// There is a topology, but it has errors.
  bool levels_are_wrong_ = false;
  /// Some amount or name of a quota could not be read.
  bool quotas_are_wrong_ = false;
  /// Then nothing is built of them: the time that takes may depend on their depth.
  bool quotas_are_too_deep_ = false;
  /// There may be quotas that are not in `quota_ids_`.
  bool names_are_missing_ = false;
  bool has_quotas_of_tenants_ = false;
  /// These nodes have no models.
  bool has_nodes_of_command_line_ = false;
  /// The flavors by which nodes must be distinguished, in the order in which they are first named.
  vector<std::string> flavors_;
  /// By name; including quotas added by events.
  std::map<std::string, quota_id, std::less<>> quota_ids_;
  std::map<std::string, std::size_t, std::less<>> job_ids_;
};

/// As `read_trace`, with the places in the file.
[[nodiscard]] std::optional<trace> read_trace(const std::string& path, sim::fingerprint& input,
                                              trace_places& places, errors& found);
/// Reports jobs of a trace whose GPUs no scenario could have.
void check_amounts(const trace& t, const std::string& file, const trace_places& places, errors& found);
/// "line 3, column 9 (tenant)".
[[nodiscard]] std::string shown(const text_place& place, std::string_view field);

/// "h100" for "h100/gpu"; empty if there is no flavor.
[[nodiscard]] std::string_view flavor_of(std::string_view resource) noexcept;
/// "gpu" for "h100/gpu", and for "gpu".
[[nodiscard]] std::string_view plain_name(std::string_view resource) noexcept;
/// Whether the resource counts GPUs: "gpu", or those of one flavor as in "h100/gpu".
[[nodiscard]] bool counts_gpus(std::string_view resource) noexcept;
/// The index of a resource.
[[nodiscard]] std::optional<std::size_t> find_resource(const scenario& s, std::string_view name) noexcept;

/// Whether that many GPUs can be requested at all: whole ones, or a fraction of one. Empty, or what was
/// expected.
[[nodiscard]] std::string problem_of_gpus(quantity gpus);

/// With A to Z in lower case.
[[nodiscard]] std::string lower(std::string_view text);

/// Whether `model` is one of several, as a trace writes them: "v100m16|v100m32".
[[nodiscard]] bool is_one_of(std::string_view model, std::string_view models);
/// The GPU models of the nodes with this name, in any case; several names are separated by |.
[[nodiscard]] std::uint64_t models_named(const gpu::cluster& nodes, std::string_view name);
/// Whether a traced job may name this model: some node has it, or no node names a model, or GPUs are counted
/// by flavor, and then a job of another model takes any of the flavors.
[[nodiscard]] bool knows_model(const scenario& s, std::string_view name);
/// The models that a traced job may run on.
[[nodiscard]] std::uint64_t models_of_traced(const scenario& s, name_id gpu_model);

/// The pools with nodes of a flavor: nodes whose model (in any case), pool or value of some label is its
/// name. A flavor that no node has exists in the quotas only and does not restrict the nodes: all pools.
[[nodiscard]] std::uint64_t pools_of_flavor(const scenario& s, std::string_view flavor);
/// Whether some node has the flavor.
[[nodiscard]] bool has_nodes_of(const scenario& s, std::string_view flavor);

/// The flavors of a traced job's GPUs if the scenario counts GPUs by flavor: its model's flavor if that is
/// counted, all flavors if it names no model. No group if its GPUs are counted as "gpu".
[[nodiscard]] std::optional<flavor_group> flavors_of_traced(const scenario& s, name_id gpu_model,
                                                            quantity gpus, std::uint32_t pods);

/// Whether that is a choice, for a pod set.
[[nodiscard]] bool chooses_flavor(const scenario& s, const trace_pod_set& set);

/// The resources of the scenario that the jobs of a trace request.
[[nodiscard]] trace_dimensions dimensions_of_traces(const scenario& s);

/// The initial quotas, as the user gave them. The presets of Kueue let a quota without children use a flavor
/// only if it lists it.
[[nodiscard]] std::vector<quota_spec<max_resources>> given_quotas(const scenario& s);
/// The same for a quota added by an event.
[[nodiscard]] quota_spec<max_resources> given_quota(const scenario& s, const quota_entry& q, bool is_leaf);

/// Adapts the quotas to the preset.
void adapt_to_preset(std::string_view preset, std::vector<quota_spec<max_resources>>& specs);

}  // namespace lab
}  // namespace v0
}  // namespace allot

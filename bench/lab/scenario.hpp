// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/errors.hpp"

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/placement/any_placement.hpp>
#include <allot/gpu/topology/topology.hpp>
#include <allot/lab/trace.hpp>
#include <allot/presets/options.hpp>
#include <allot/quota/access.hpp>
#include <allot/quota/change.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/sim/hash.hpp>
#include <allot/sim/setup.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

class json_value;

/// A scenario may count as many resources as this. Everything is compiled for one and for this many.
inline constexpr std::size_t max_resources = 8;

/// By resource of the scenario; zero beyond them.
using amounts = resources<max_resources>;

struct policy_choice {
  std::string preset = "standard";
  /// Of the quotas that do not say theirs, instead of the preset's.
  std::optional<queue_order> order{};
  std::uint64_t seed = 1;
  /// What is set of the preset's parts and options.
  preset_options options{};
  gpu::placement_name placement = gpu::placement_name::best;
};

/// What a scenario says of a quota; what it leaves open is the preset's to say.
struct quota_entry {
  quota_spec<max_resources> spec{};
  /// The resources of which it says what it is guaranteed, be it nothing.
  std::array<bool, max_resources> listed{};
  std::optional<queue_order> order{};
  std::optional<queue_head> head{};
  std::optional<preempt_within> within{};
  std::optional<preempt_reclaim> reclaim{};
  std::optional<bool> children{};
  std::optional<preempt_borrow> borrow{};
  std::optional<std::int32_t> borrow_max_priority{};
  std::optional<flavor_step> when_can_borrow{};
  std::optional<flavor_step> when_can_preempt{};
  std::optional<instant> min_runtime_preempt{};
  std::optional<instant> min_runtime_reclaim{};
  /// By class of the job: how long a run of it may last.
  std::map<std::string, instant, std::less<>> time_limits{};
  /// Where its jobs may stand, as a set of the cluster's pools.
  std::uint64_t pools = gpu::all_pools;
  /// Who may submit to it; nothing: anyone.
  std::optional<access_rule> access{};

  /// With everything that the quota leaves open as in `otherwise`.
  [[nodiscard]] queue_settings settings(queue_settings otherwise) const;
  /// Of a job of this class; 0: none.
  [[nodiscard]] instant time_limit(std::string_view job_class) const {
    const auto at = time_limits.find(job_class);
    return at == time_limits.end() ? 0 : at->second;
  }
};

enum class job_phase : std::uint8_t { pending, running, evicting };

/// Resources of a job that come in flavors, and the flavors that it accepts, best first.
struct flavor_group {
  struct option {
    std::string name;
    /// Of one pod, or of a job that is a total; nothing where no quota counts the flavor.
    amounts request{};
    /// Where there are nodes of the flavor; of a flavor that no node has, everywhere.
    std::uint64_t pools = gpu::all_pools;
  };
  std::vector<std::string> resources{};
  std::vector<option> options{};
};

struct job_entry {
  std::string id;
  quota_id quota;
  /// Of the whole job, beside what its flavors count.
  amounts request{};
  std::vector<flavor_group> flavors{};
  gpu::pod_request pod_request{};
  /// With how few pods it can run.
  std::uint32_t min_pods = 1;
  std::int32_t priority = 0;
  std::string job_class{};
  bool preemptible = true;
  std::string user{};
  std::vector<std::string> roles{};
  instant submit = 0;
  instant duration = 0;
  std::optional<instant> checkpoint{};
  instant restart = 0;
  /// By when it should be completed; only measured.
  std::optional<instant> deadline{};
  job_phase phase = job_phase::pending;
  instant start = 0;
  /// Of a running job: how many of its pods run.
  std::uint32_t running_pods = 1;
  /// Where the pods of a running job stand; none: the policy chooses.
  std::vector<gpu::pod_location> locations{};
};

/// A change of the quotas, the end of a job that is not wanted any more (by its id), or a change of a node.
struct event_entry {
  instant at = 0;
  std::variant<quota_change<max_resources>, std::string, sim::node_event> what;
  /// Where the event stands in the file.
  std::string place{};
};

/// A valid scenario: the quotas are a tree, names are known, amounts can be counted.
struct scenario {
  /// As the user calls it: in messages.
  std::string file;
  std::vector<std::string> resources;
  policy_choice policy{};
  std::vector<gpu::node_spec> nodes{};
  std::optional<gpu::cluster> cluster{};
  /// The levels in which the nodes are near each other, from coarse to fine: keys of their labels.
  std::vector<std::string> levels{};
  /// What these say of the cluster; there if there are levels, or a job asks for one node.
  std::optional<gpu::topology> nearness{};
  /// Oldest first; the id of a quota is its place here. The first `initial_quotas` are there from the start,
  /// the others are added by events.
  std::vector<quota_entry> quotas{};
  /// What the nodes have; unlimited where there are none, or where they do not say.
  amounts capacity{quantity::unlimited()};
  std::size_t initial_quotas = 0;
  /// In the order of the file. Those of the trace come beside them.
  std::vector<job_entry> jobs{};
  std::string trace_file{};
  std::optional<lab::trace> trace{};
  /// By time; at one time in the order of the file.
  std::vector<event_entry> events{};
  /// Of the bytes of the scenario and its trace, and of the nodes given on the command line.
  sim::fingerprint input{};
};

/// What the command line names. "-" is standard input.
struct scenario_source {
  /// Nothing: there is no scenario file, only `nodes` and `trace`. Then every tenant of the trace is a quota
  /// without a guarantee of its own below one root that has the whole cluster.
  std::optional<std::string> file{};
  /// "16x8": 16 nodes of 8 GPUs, instead of the scenario's cluster.
  std::optional<std::string> nodes{};
  /// Instead of the scenario's trace.
  std::optional<std::string> trace{};
  /// The name of a preset, instead of the scenario's policy.
  std::optional<std::string> policy{};
  /// A policy that has been read, instead of the scenario's; not with `policy`.
  std::optional<policy_choice> chosen{};
  /// A trace that is there already, instead of the scenario's, and what messages call it. Not with `trace`.
  const lab::trace* workload = nullptr;
  std::string workload_name{};
  /// Called as soon as nodes and trace are there, before anything is made of them: it may change the trace,
  /// and adds to `input` what it changes.
  std::function<void(scenario&, errors&)> prepare{};
};

/// The scenario, or nothing, and then everything that is wrong with it is in `found`.
[[nodiscard]] std::optional<scenario> read_scenario(const scenario_source& source, errors& found);

/// A policy alone, as a scenario or an experiment has it: `value` is the name of a preset or an object. In an
/// object `name` takes what it is called, if it says so.
[[nodiscard]] policy_choice read_policy(json_value value, const std::string& file, std::string& name,
                                        errors& found);

/// The same of a scenario whose text is `text`, whatever the file is that `source` names.
[[nodiscard]] std::optional<scenario> parse_scenario(std::string_view text, const scenario_source& source,
                                                     errors& found);

/// A trace alone, from a CSV file; its bytes are added to `input`.
[[nodiscard]] std::optional<trace> read_trace(const std::string& path, sim::fingerprint& input,
                                              errors& found);
/// The same of a trace whose text is `text`.
[[nodiscard]] std::optional<trace> parse_trace(std::string_view text, const std::string& path, errors& found);

/// A job that its quota's access rule turns away. It never reaches the scheduler.
struct refused_job {
  std::string_view id;
  quota_id quota;
  instant submit = 0;
  instant duration = 0;
  /// "zoe may not submit to team-a: it admits the users ana".
  std::string text;
};

/// Where a job of a workload comes from.
struct job_origin {
  /// The index in `scenario::jobs`, or none.
  std::optional<std::uint32_t> entry{};
  /// The index in the jobs of the trace, or none.
  std::optional<std::uint32_t> traced{};
};

/// What the simulator and the scheduler take. Refers to texts of the scenario, which has to live as long.
template <std::size_t N>
struct workload {
  /// The quotas as the user gave them: what the preset makes of them is the simulator's to do. (In the
  /// presets of Kueue a quota without children may not borrow a flavor that it does not list.) The settings
  /// are those of the quotas that are there from the start.
  sim::setup<N> setup;
  /// Of every quota, those that events add included.
  std::vector<queue_settings> settings{};
  /// Of the jobs in `setup.jobs`, in their order.
  std::vector<std::string_view> ids{};
  std::vector<job_origin> origins{};
  /// The classes of jobs, by `job::job_class`; the first is that of no class.
  std::vector<std::string_view> classes{};
  /// By submission, then id.
  std::vector<refused_job> refused{};
};

/// What the user calls a pool of a scenario's cluster, whose name may also tell the flavors of its nodes.
[[nodiscard]] std::string_view pool_as_given(std::string_view pool) noexcept;

/// Jobs of scenario and trace together, sorted by submission, then id; settings from the preset, overlaid by
/// what the quotas say. N is 1 or max_resources, and holds the scenario's resources. A running job is a job
/// like the others here: a simulation, in which nothing runs at the beginning, has to refuse it.
template <std::size_t N>
[[nodiscard]] workload<N> make_workload(const scenario& s);
/// How its policy treats the jobs of each quota, by id; those that events add included.
[[nodiscard]] std::vector<queue_settings> settings_of(const scenario& s);
/// What makes no sense in that: for each problem the number of the quota.
[[nodiscard]] std::vector<std::pair<std::size_t, problem>> contradictions_in(const scenario& s);
extern template workload<1> make_workload<1>(const scenario&);
extern template workload<max_resources> make_workload<max_resources>(const scenario&);

/// Takes the places of the jobs that run, or are on their way out, in `to.setup.where`, and lists them in
/// `to.setup.running`: those whose devices are known first, then those whose nodes are, so that whoever is
/// put where there is room does not stand in their way. A running job of several flavors has the first of
/// them that its quota allows and that has room where it stands. Reports those that do not fit.
template <std::size_t N>
void place_running(const scenario& s, workload<N>& to, errors& found);
extern template void place_running<1>(const scenario&, workload<1>&, errors&);
extern template void place_running<max_resources>(const scenario&, workload<max_resources>&, errors&);

/// Calls `run(std::integral_constant<std::size_t, N>{})` with the smallest N that holds the scenario's
/// resources.
template <class Run>
decltype(auto) with_dimensions(const scenario& s, Run run) {
  return s.resources.size() <= 1 ? run(std::integral_constant<std::size_t, 1>{})
                                 : run(std::integral_constant<std::size_t, max_resources>{});
}

/// The first N.
template <std::size_t N>
[[nodiscard]] resources<N> narrow(const amounts& all) noexcept {
  resources<N> some;
  for (std::size_t d = 0; d < N; ++d) some[d] = all[d];
  return some;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

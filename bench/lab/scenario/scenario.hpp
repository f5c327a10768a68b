// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/io/errors.hpp"

#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/placement/placement_name.hpp>
#include <allot/gpu/topology/topology.hpp>
#include <allot/lab/dimensions.hpp>
#include <allot/lab/trace.hpp>
#include <allot/quota/access.hpp>
#include <allot/quota/change.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/sim/events.hpp>
#include <allot/sim/faults.hpp>
#include <allot/sim/hash.hpp>
#include <allot/sim/speed_tables.hpp>
#include <allot/systems/by_name/named_parts.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace allot {
inline namespace v0 {
namespace lab {

class json_value;
class named_policy;
struct preset_option;

/// By resource of the scenario; zero beyond those.
using amounts = resources<max_resources>;

struct policy_choice {
  std::string preset = "standard";
  /// For quotas that do not state theirs; overrides the preset's.
  std::optional<queue_order> order{};
  std::uint64_t seed = 1;
  /// The parts that are set.
  named_parts parts{};
  /// The options of the preset that are set, as numbers (see `preset_option`).
  vector<std::pair<const preset_option*, std::int64_t>> options{};
  /// By dimension: the number of the resource that it is a flavor of, and the unit of its shares.
  vector<std::uint8_t> resource_of{};
  vector<std::int64_t> share_units{};
  gpu::placement_name placement = gpu::placement_name::best;
  /// The same parts and options as the user gave them, by their keys: {"guard", "final_share"}.
  vector<std::pair<std::string, std::string>> given{};

  /// The preset and all that is set: "standard (guard final_share, placement fgd)".
  [[nodiscard]] std::string full_name() const;
  /// The preset under these parts and options. Empty if there is none of that name. See `policy_of`.
  [[nodiscard]] std::optional<named_policy> policy() const;
};

/// What a scenario says of a quota. The preset decides what it leaves open.
struct quota_entry {
  quota_spec<max_resources> spec{};
  /// The resources for which a nominal is given, even if zero.
  std::array<bool, max_resources> listed{};
  std::optional<queue_order> order{};
  std::optional<queue_head> head{};
  std::optional<preempt_within> within{};
  std::optional<preempt_reclaim> reclaim{};
  std::optional<priority_bounds> reclaim_priorities{};
  std::optional<bool> children{};
  std::optional<bool> children_lower_priority{};
  std::optional<priority_bounds> children_priorities{};
  std::optional<preempt_borrow> borrow{};
  std::optional<std::int64_t> borrow_max_priority{};
  std::optional<flavor_step> when_can_borrow{};
  std::optional<flavor_step> when_can_preempt{};
  std::optional<flavor_preference> flavor_preferred{};
  std::optional<instant> min_runtime_preempt{};
  std::optional<instant> min_runtime_reclaim{};
  std::optional<backoff_times> borrow_backoff{};
  std::optional<instant> gather_longest{};
  std::optional<std::int32_t> gather_percent{};
  std::optional<std::int32_t> wait_if_loss_percent{};
  std::optional<instant> strict_after{};
  std::optional<instant> preempt_after{};
  std::optional<instant> ready_horizon{};
  /// By job class: the time limit of a run.
  std::map<std::string, instant, std::less<>> time_limits{};
  /// Where its jobs may run, as a set of the cluster's pools.
  std::uint64_t pools = gpu::all_pools;
  /// Those of them where its jobs are placed first, as a set; 0: no preference.
  std::uint64_t preferred_pools = 0;
  /// Which users may submit to it; if absent, any.
  std::optional<access_rule> access{};

  /// The settings of this quota, with everything it leaves open taken from `otherwise`.
  [[nodiscard]] queue_settings settings(queue_settings otherwise) const;
  /// The limit for jobs of this class; 0: none.
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
    /// For one pod, or for the whole job with `total`; zero if no quota counts the flavor.
    amounts request{};
    /// The pools with nodes of the flavor; all pools if no node has it.
    std::uint64_t pools = gpu::all_pools;

    friend bool operator==(const option&, const option&) = default;
  };
  vector<std::string> resources{};
  vector<option> options{};

  friend bool operator==(const flavor_group&, const flavor_group&) = default;
};

/// Pods of a job that are alike, beside others that differ.
struct pod_set_entry {
  /// Its number, from 1, if it has none.
  std::string name{};
  gpu::pod_set pods{};
  /// For one pod, without what its flavors count.
  amounts request{};
  vector<flavor_group> flavors{};
  /// Whether those beyond its minimum may be evicted, of a job that may not be.
  bool semi_preemptible = false;

  friend bool operator==(const pod_set_entry&, const pod_set_entry&) = default;
};

struct job_entry {
  std::string id;
  quota_id quota;
  /// For the whole job, without what its flavors count.
  amounts request{};
  vector<flavor_group> flavors{};
  gpu::pod_request pod_request{};
  /// The fewest pods that it can run with.
  std::uint32_t min_pods = 1;
  /// If its pods differ: the sums are above, but for flavors.
  vector<pod_set_entry> sets{};
  std::int64_t priority = 0;
  std::string job_class{};
  bool preemptible = true;
  /// If not: whether its pods beyond the minimum may be evicted.
  bool semi_preemptible = false;
  std::string user{};
  vector<std::string> roles{};
  instant submit = 0;
  instant duration = 0;
  std::optional<instant> checkpoint{};
  instant restart = 0;
  /// When it should be completed; only measured.
  std::optional<instant> deadline{};
  /// From when it can start; 0: at once.
  instant ready = 0;
  /// Its estimated run time, in seconds; 0 if none is given.
  std::int64_t estimate = 0;
  job_phase phase = job_phase::pending;
  instant start = 0;
  /// Running jobs: how many of the pods run.
  std::uint32_t running_pods = 1;
  /// Where the pods of a running job are; empty: the policy chooses.
  vector<gpu::pod_location> locations{};
};

/// How fast jobs of one kind run; the first entry that is for a job counts.
struct speed_entry {
  /// A column of tags of the trace, and the values in it that are meant.
  struct tag_choice {
    std::size_t column = 0;
    vector<std::string> values{};
  };
  /// GPU models for which each job has its own speed, in a column of tags.
  struct model_column {
    /// A set of indices in `gpu::cluster::models`.
    std::uint64_t models = 0;
    std::size_t column = 0;
  };

  /// Empty: of all classes.
  vector<std::string> classes{};
  /// An entry with tags or columns is for traced jobs only.
  vector<tag_choice> tags{};
  vector<model_column> columns{};
  sim::speed_tables::kind of{};
};

/// A change of the quotas, the cancellation of a job (by id), or a change of a node.
struct event_entry {
  instant at = 0;
  std::variant<quota_change<max_resources>, std::string, sim::node_event> what;
  /// The event's place in the file.
  std::string place{};
  /// Of a resize: since when it is known.
  instant known_since = without_end;
};

/// A valid scenario: the quotas are a tree, names are known, amounts can be counted.
struct scenario {
  /// The file as the user named it, for messages.
  std::string file;
  vector<std::string> resources;
  policy_choice policy{};
  vector<gpu::node_spec> nodes{};
  std::optional<gpu::cluster> cluster{};
  /// The topology levels from coarse to fine, as keys of node labels.
  vector<std::string> levels{};
  /// The topology of the cluster; present if there are levels, or if a job requests to run on one node.
  std::optional<gpu::topology> nearness{};
  /// Oldest first; the id of a quota is its index here. The first `initial_quotas` exist from the start, the
  /// others are added by events.
  vector<quota_entry> quotas{};
  /// The capacity of the nodes; unlimited if there are none, or if they do not state it.
  amounts capacity{quantity::unlimited()};
  std::size_t initial_quotas = 0;
  /// In file order. The jobs of the trace are separate.
  vector<job_entry> jobs{};
  std::string trace_file{};
  std::optional<lab::trace> trace{};
  /// By time; events at the same time are in file order.
  vector<event_entry> events{};
  sim::host_faults faults{};
  vector<speed_entry> speeds{};
  /// Of the bytes of the scenario and its trace, and of the nodes given on the command line.
  sim::fingerprint input{};
};

/// The inputs named on the command line. "-" is standard input.
struct scenario_source {
  /// If absent, there is no scenario file, only `nodes` and `trace`. Then every tenant of the trace gets a
  /// quota with an equal part of the cluster, below one root that has all of it.
  std::optional<std::string> file{};
  /// "16x8": 16 nodes of 8 GPUs; replaces the scenario's cluster.
  std::optional<std::string> nodes{};
  /// Replaces the scenario's trace.
  std::optional<std::string> trace{};
  /// The name of a preset; replaces the scenario's policy.
  std::optional<std::string> policy{};
  /// A policy that has been read already; replaces the scenario's. Not with `policy`.
  std::optional<policy_choice> chosen{};
  /// A trace that has been read already, and its name in messages; replaces the scenario's. Not with `trace`.
  const lab::trace* workload = nullptr;
  std::string workload_name{};
  /// Called as soon as nodes and trace have been read, before they are used. It may change the trace, and
  /// adds its changes to `input`.
  std::function<void(scenario&, errors&)> prepare{};
};

/// Reads a scenario. On any error returns nullopt and adds all errors to `found`.
[[nodiscard]] std::optional<scenario> read_scenario(const scenario_source& source, errors& found);

/// Reads a policy as in a scenario or an experiment: `value` is the name of a preset or an object. `name` is
/// set to the object's own name, if it has one.
[[nodiscard]] policy_choice read_policy(json_value value, const std::string& file, std::string& name,
                                        errors& found);

/// The same for a scenario with the text `text`, whatever file `source` names.
[[nodiscard]] std::optional<scenario> parse_scenario(std::string_view text, const scenario_source& source,
                                                     errors& found);

/// A scenario whose jobs come one at a time: those of a live cluster.
class open_scenario {
 public:
  /// As `parse_scenario`.
  [[nodiscard]] static std::optional<open_scenario> parse(std::string_view text,
                                                          const scenario_source& source, errors& found);
  open_scenario(open_scenario&& other) noexcept;
  open_scenario& operator=(open_scenario&& other) noexcept;
  ~open_scenario();

  [[nodiscard]] const scenario& get() const noexcept;
  /// Reads a job as an element of `jobs`. It does not become part of the scenario. On any error returns
  /// nullopt and adds all errors to `found`.
  [[nodiscard]] std::optional<job_entry> read_job(std::string_view text, errors& found);

 private:
  struct state;
  explicit open_scenario(std::unique_ptr<state> of) noexcept;

  std::unique_ptr<state> state_;
};

/// Reads a trace from a CSV file; its bytes are added to `input`.
[[nodiscard]] std::optional<trace> read_trace(const std::string& path, sim::fingerprint& input,
                                              errors& found);
/// The same for a trace with the text `text`.
[[nodiscard]] std::optional<trace> parse_trace(std::string_view text, const std::string& path, errors& found);

/// The user's name of a pool of a scenario's cluster; the internal name may also encode the flavors of its
/// nodes.
[[nodiscard]] std::string_view pool_as_given(std::string_view pool) noexcept;

/// The policy of the scenario. Empty if there is none of that name. It uses estimates if any job has one.
/// O(jobs).
[[nodiscard]] std::optional<named_policy> policy_of(const scenario& s);
/// The policy's settings for the jobs of each quota, by id; including quotas added by events.
[[nodiscard]] vector<queue_settings> settings_of(const scenario& s);
/// Contradictions in those settings, each with the number of the quota.
[[nodiscard]] vector<std::pair<std::size_t, problem>> contradictions_in(const scenario& s);

/// The first N amounts.
template <std::size_t N>
[[nodiscard]] resources<N> narrow(const amounts& all) noexcept {
  resources<N> some;
  for (std::size_t d = 0; d < N; ++d) some[d] = all[d];
  return some;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
//
// What Slurm says of its jobs and nodes, as plain data, and what the governor may do to them. Only
// slurm_client.cpp knows libslurm: the governor is tested against a Slurm that is made up.
#pragma once

#include "limits.hpp"

#include "governor/src/facts.hpp"
#include "governor/src/outcome.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace allot_slurm {

using namespace allot_governor;

/// Seconds since 1970, as Slurm counts.
using seconds = std::int64_t;

/// Names a job: its id or, for a task of an array, the id of the array and the number of the task. A task
/// keeps it when Slurm gives it a record, and so an id, of its own.
struct job_key {
  static constexpr std::uint32_t no_task = 0xffffffff;

  std::uint32_t id = 0;
  std::uint32_t task = no_task;

  friend auto operator<=>(const job_key&, const job_key&) = default;
  friend bool operator==(const job_key&, const job_key&) = default;
};
/// "123" or "123_4", as Slurm's commands take it.
[[nodiscard]] std::string to_string(const job_key& k);
/// Of a component, "123+1", that of its job. None if it is none of these.
[[nodiscard]] std::optional<job_key> parse_job_key(const std::string& text);

struct job_key_hash {
  std::size_t operator()(const job_key& k) const noexcept {
    return static_cast<std::size_t>((std::uint64_t{k.id} << 32 | k.task) * 0x9e3779b97f4a7c15U >> 7);
  }
};

/// Where a job stands, as Slurm says.
enum class run_state : std::uint8_t {
  /// It has no nodes. Held if its priority is 0.
  pending,
  /// It has nodes: running, being configured, suspended or stopped.
  running,
  /// It has ended or is requeued, and its nodes are not clean yet.
  completing,
  /// It is over, and won't run again.
  ended,
};

/// All that the governor and job_submit.lua write into a comment of a job begins with this.
inline constexpr std::string_view comment_mark = "allot: ";
/// What job_submit.lua writes into those of a new job.
inline constexpr std::string_view not_explained = "allot: waits for its turn";

/// Slurm's word for a job that no node, or not enough of them, can run as it asks.
inline constexpr std::string_view bad_constraints = "BadConstraints";

/// What a job asks for, in Slurm's own terms (see request.hpp).
struct raw_request {
  std::string tres_per_job{};
  std::string tres_per_node{};
  std::string tres_per_socket{};
  std::string tres_per_task{};
  std::uint32_t nodes = 1;
  /// 0: no bound.
  std::uint32_t max_nodes = 0;
  std::uint32_t cpus = 1;
  std::uint32_t tasks = 1;
  /// On each node; 0: not said.
  std::uint64_t tmp_disk_mib = 0;
  /// Per node, or per CPU; 0: not said.
  std::uint64_t memory_mib = 0;
  bool memory_is_per_cpu = false;
  bool is_exclusive = false;
  /// All nodes below one switch: --switches=1.
  bool on_one_switch = false;

  friend bool operator==(const raw_request&, const raw_request&) = default;
};

struct job {
  job_key key{};
  /// Of the record in Slurm: a task of an array may have one of its own.
  std::uint32_t record = 0;
  run_state state = run_state::pending;
  /// Pending with priority 0.
  bool is_held = false;
  /// It will be pending again once it is clean.
  bool is_requeued = false;
  /// It is over because it failed, or was ended by a signal: not completed, cancelled or out of time.
  bool has_failed = false;
  /// Whether `requeue` will do: else it is never preempted.
  bool may_requeue = true;
  std::string account{};
  std::string partition{};
  std::string qos{};
  std::string user{};
  std::string name{};
  std::string comment{};
  std::string admin_comment{};
  /// What it still depends on; empty when it may start.
  std::string dependency{};
  /// Nodes that it requires and excludes, as given.
  std::string required_nodes{};
  std::string excluded_nodes{};
  std::string features{};
  std::string reservation{};
  /// Why Slurm does not start it, in Slurm's words.
  std::string why_pending{};
  raw_request request{};
  std::int32_t nice = 0;
  std::uint32_t restarts = 0;
  std::uint32_t user_id = 0;
  /// How many tasks of its array may run at once; 0: any number.
  std::uint32_t array_limit = 0;
  /// In seconds; 0: none.
  seconds time_limit = 0;
  /// To Slurm a requeued job has been submitted again.
  seconds submitted = 0;
  seconds eligible = 0;
  seconds started = 0;
  std::vector<node_share> nodes{};
  /// Of a component of a heterogeneous job: its number.
  std::optional<std::uint32_t> component{};
  /// How many there are of it; 0: it is not known.
  std::uint32_t of_components = 0;
  /// Of a heterogeneous job: its components, as Slurm shows them: those that are not over, or all of them.
  /// See `whole_of`.
  std::vector<job> components{};

  friend bool operator==(const job&, const job&) = default;
};
/// A heterogeneous job, whose components these are, the leader first: it has the nodes of all, and can do
/// what all of them can. What only one can have is the leader's.
[[nodiscard]] job whole_of(std::vector<job> components);
/// Whether it waits without one of its components, which is over: Slurm has requeued the others alone when a
/// node failed, and never starts it.
[[nodiscard]] inline bool lacks_component(const job& whole) {
  return whole.state == run_state::pending && whole.of_components > whole.components.size();
}
/// @{
/// The components of a job; another job is its only one.
[[nodiscard]] inline std::span<const job> parts_of(const job& j) {
  return j.components.empty() ? std::span{&j, 1} : std::span{j.components};
}
[[nodiscard]] inline std::span<job> parts_of(job& j) {
  return j.components.empty() ? std::span{&j, 1} : std::span{j.components};
}
/// @}
/// As Slurm's commands take it: "123", "123_4" or, of a component, "123+1". For them the id of a leader is
/// that of all components.
[[nodiscard]] std::string slurm_name(const job& j);
/// Whether a job as Slurm shows it is the one that was submitted then. A requeue counts as a submission to
/// Slurm.
[[nodiscard]] constexpr bool was_submitted(const job& now, seconds then) noexcept {
  return now.submitted == then || (now.restarts > 0 && now.submitted > then);
}
/// "held by its user" or "held by an operator", if job_submit.lua has marked a held job so: it is not to be
/// released. Else empty.
[[nodiscard]] std::string held_by(const job& j);
/// What such a mark begins with.
inline constexpr std::string_view held_mark = "allot: held by ";

/// A time for which nodes are kept for some jobs, or for maintenance.
struct node_reservation {
  std::string name;
  seconds start = 0;
  seconds end = 0;

  friend bool operator==(const node_reservation&, const node_reservation&) = default;
};

struct node {
  std::string name;
  std::uint32_t gpus = 0;
  /// Of these, how many Slurm counts as used. Those of a job that has ended are free before its node is
  /// clean.
  std::uint32_t gpus_used = 0;
  std::string gpu_type{};
  std::uint32_t cpus = 0;
  std::uint64_t memory_mib = 0;
  /// What it has even if Slurm does not count it; 0: not known.
  std::uint64_t real_memory_mib = 0;
  std::uint64_t tmp_disk_mib = 0;
  /// Whether new jobs may start there, and if not, whether that is because it has failed; and why, in the
  /// words of who closed it.
  bool is_open = true;
  bool is_down = false;
  std::string why_closed{};
  /// When its slurmd started, by the node's clock; 0: not known.
  seconds started = 0;
  /// Its active features, and the partitions that it is in, in order.
  std::vector<std::string> features{};
  std::vector<std::string> partitions{};
  /// Slurm's reservations that have it now or will, by name.
  std::vector<node_reservation> reservations{};

  friend bool operator==(const node&, const node&) = default;
};

/// A switch of topology.conf.
struct network_switch {
  std::string name;
  /// 0: its nodes are attached to it directly.
  std::uint32_t level = 0;
  std::vector<std::string> nodes{};
  std::vector<std::string> switches{};

  friend bool operator==(const network_switch&, const network_switch&) = default;
};

/// What has changed since the last poll.
struct cluster_changes {
  /// New jobs, and those of which something differs.
  std::vector<job> jobs{};
  /// Jobs that Slurm no longer knows.
  std::vector<job_key> gone{};
  /// All nodes, if any of them differs.
  std::optional<std::vector<node>> nodes{};
  /// What Slurm limits, if that has changed; nothing is limited where Slurm enforces no limits.
  std::optional<limits> limited{};
  /// Slurm has started over: everything is in `jobs`, whether it has changed or not.
  bool is_whole = false;
  /// slurmctld's clock has shown this time, if it has said so.
  seconds seen_at = 0;
  /// Processor time that libslurm took to load and unpack, in microseconds.
  std::int64_t load_us = 0;
};

/// New comments, and the nodes on which a pending job may not, or has to, start, as lists; what is absent
/// stays as it is.
struct comments {
  std::optional<std::string> admin{};
  std::optional<std::string> user{};
  std::optional<std::string> excluded{};
  std::optional<std::string> required{};
};

/// A Slurm. Every call blocks until it is answered, or slurmctld is known to be away.
class cluster {
 public:
  cluster() = default;
  cluster(const cluster&) = delete;
  cluster& operator=(const cluster&) = delete;
  virtual ~cluster() = default;

  /// Appends to `to` what has changed since the last successful call.
  [[nodiscard]] virtual outcome poll(cluster_changes& to) = 0;
  /// The switches of topology.conf; none if there is no such topology.
  [[nodiscard]] virtual std::vector<network_switch> topology() = 0;

  /// Lets a pending job start, at once; on exactly these nodes, if it is to require them. Of several that are
  /// released those that are to be `first` start before all others.
  [[nodiscard]] virtual outcome release(const job& j, const std::vector<std::string>& nodes, bool first,
                                        const comments& say) = 0;
  /// Sets the priority of a pending job to 0.
  [[nodiscard]] virtual outcome hold(const job& j, const comments& say) = 0;
  /// Sends a signal to the batch script and the steps of a running job.
  [[nodiscard]] virtual outcome warn(const job& j, int signal) = 0;
  /// Ends a running job, or takes one that has just failed; it is then pending and held.
  [[nodiscard]] virtual outcome requeue(const job& j) = 0;
  /// With `tasks`, to these of its array, which have not started.
  [[nodiscard]] virtual outcome comment(const job& j, const comments& say,
                                        const std::vector<std::uint32_t>& tasks = {}) = 0;
  /// Ends the hold of a pending job: Slurm starts it where and when it likes, not before its user's time.
  [[nodiscard]] virtual outcome let_go(const job& j, const comments& say) = 0;
};

}  // namespace allot_slurm

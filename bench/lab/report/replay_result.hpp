// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/report/measuring.hpp"
#include "lab/report/timeline_log.hpp"

#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/lab/metrics/figures.hpp>
#include <allot/lab/metrics/wait_reasons.hpp>
#include <allot/sim/decision_log.hpp>
#include <allot/sim/job_history.hpp>
#include <allot/sim/run_log.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// A job of a replay and its outcome.
struct replayed_job {
  std::string_view id;
  quota_id quota;
  /// Its number in the simulation; none if its quota's access rule refused it.
  std::optional<sim::job_index> index{};
  instant submit = 0;
  instant duration = 0;
  /// In milli-GPUs.
  std::int64_t gpus = 0;
  std::int64_t priority = 0;
  sim::job_outcome outcome{};
  std::optional<instant> start{};
  std::optional<instant> end{};
  /// Index in `replay_result::classes`.
  std::uint32_t job_class = 0;
  /// The total time it was pending, and by `wait_cause`.
  instant wait = 0;
  std::array<instant, wait_cause_count> wait_for{};
  instant lost = 0;
  std::uint32_t preemptions = 0;
  /// Its estimated run time, in seconds; 0 if none was given.
  std::int64_t estimate = 0;
  /// Its finish-time fairness as a user of its own, in millionths; none unless it is completed.
  std::optional<std::int64_t> fairness{};
  /// The part of its duration that was done and not lost; 0 unless the jobs have speeds.
  instant work = 0;
  /// Why it was refused: a word for programs, and a sentence for people.
  std::string_view reason{};
  std::string explanation{};

  /// Whether it was submitted and has ended, in any way.
  [[nodiscard]] bool is_over() const noexcept {
    return outcome == sim::job_outcome::completed || outcome == sim::job_outcome::cancelled ||
           outcome == sim::job_outcome::time_limit;
  }
};

/// A quota of a replay.
struct replayed_quota {
  std::string name;
  /// None for a root.
  quota_id parent;
  /// The initial value and its changes, by time; in milli-GPUs, none if unbounded.
  vector<std::pair<instant, std::optional<std::int64_t>>> nominal{};
};

/// One quantity over time, thinned: means of equal spans. If empty, it was always zero.
struct drawn_series {
  vector<std::int64_t> means;

  [[nodiscard]] std::int64_t at(std::size_t span) const { return span < means.size() ? means[span] : 0; }
};

/// The whole replay over time, for drawing. All series have the same spans.
struct replayed_time {
  instant begin = 0;
  instant end = 0;
  instant width = 1;
  drawn_series used{};
  drawn_series pending{};
  drawn_series capacity{};
  /// Idle GPUs of partly used nodes.
  drawn_series stranded{};
  /// By quota, in milli-GPUs, except for `pending_of`, which counts jobs.
  vector<drawn_series> used_of{};
  vector<drawn_series> entitled_of{};
  vector<drawn_series> borrowed_of{};
  vector<drawn_series> lent_of{};
  vector<drawn_series> pending_of{};
  /// What the jobs request that hold a reservation with a time.
  vector<drawn_series> reserved_of{};
  /// When the most GPUs were in use, and how many.
  instant busiest = 0;
  std::int64_t most_used = 0;
};

/// Why a replay ended before everything had happened.
enum class stop_reason : std::uint8_t {
  /// The end time was reached.
  until,
  /// The user interrupted it.
  interrupt,
  /// Too many jobs were pending.
  max_queue,
  /// It took too long.
  max_time,
};
/// "interrupt".
[[nodiscard]] std::string_view word_of(stop_reason why) noexcept;
struct early_end {
  stop_reason why{};
  /// In simulated time.
  instant at = 0;
};

/// Where the time of a replay went, as far as it was measured.
struct replay_timing {
  std::chrono::nanoseconds reading{0};
  /// The whole simulation, including the next three.
  std::chrono::nanoseconds simulation{0};
  std::chrono::nanoseconds metrics{0};
  std::chrono::nanoseconds runs{0};
  std::chrono::nanoseconds series{0};
  std::chrono::nanoseconds writing{0};
};

/// Everything that the files of a replay are made of.
struct replay_result {
  std::string policy;
  /// With all that is set, and that by key: see `policy_choice`.
  std::string policy_name{};
  vector<std::pair<std::string, std::string>> policy_given{};
  /// The files that were replayed, without their directories; empty if there was none.
  std::string scenario_file{};
  std::string trace_file{};
  /// What the quotas count, by dimension.
  vector<std::string> resources{};
  std::uint64_t seed = 0;
  std::string input_hash;
  std::string decision_hash;
  /// The jobs that were submitted in it are measured: all of them, unless `measured` says otherwise.
  time_window window{};
  /// How it is measured; set before the run.
  measuring measured{};
  run_figures figures{};
  /// The names of the job classes, as in `figures.classes`; the first is that of jobs without a class.
  vector<std::string> classes{};
  /// By quota id: how each would fare alone. Empty if not requested.
  vector<tenant_alone> alone{};
  /// By quota id, including quotas that were added or removed during the run.
  vector<replayed_quota> quotas{};
  /// False if the quotas were made of the trace's tenants; then the root belongs to no tenant.
  bool has_own_quotas = true;
  /// The quotas that charts and tables show by name, whatever GPU time they have; empty: those with the most.
  vector<quota_id> chosen{};
  /// Null without nodes.
  const gpu::cluster* cluster = nullptr;
  /// By submission, then id.
  vector<replayed_job> jobs{};
  /// Whether they have speeds.
  bool has_speeds = false;
  /// Of jobs whose pods differ, by number in the simulation: "1 router, 2 to 4 prefill".
  std::map<sim::job_index, std::string> pod_sets{};
  sim::run_log log{};
  timeline_log moments{};
  replayed_time time{};
  std::uint64_t decisions = 0;
  std::uint64_t events = 0;
  /// Where the policy would never have come to rest.
  sim::livelocks_seen livelocks{};
  /// Empty: it ran until nothing more happened.
  std::optional<early_end> stopped{};
  replay_timing timing{};

  [[nodiscard]] bool is_inner(quota_id x) const {
    return std::any_of(quotas.begin(), quotas.end(), [x](const replayed_quota& q) { return q.parent == x; });
  }
  /// The id of a job, and its pods if they differ.
  [[nodiscard]] std::string name_of(const replayed_job& j) const {
    std::string name{j.id};
    const auto sets = j.index ? pod_sets.find(*j.index) : pod_sets.end();
    if (sets != pod_sets.end()) name.append(" (").append(sets->second).append(")");
    return name;
  }
  /// Whether the quota is shown: all but a made-up root without jobs.
  [[nodiscard]] bool shows(quota_id x) const {
    return has_own_quotas || quotas[x.index()].parent || figures.quotas[x.index()].of.jobs.total != 0;
  }
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

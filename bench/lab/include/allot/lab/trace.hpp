// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/name_table.hpp>
#include <allot/sim/job.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

using sim::day;
using sim::hour;
using sim::minute;
using sim::second;

/// The highest priority of a job in a file; the lowest is its negative. Programs that read numbers as doubles
/// read it exactly.
inline constexpr std::int64_t highest_job_priority = 1'000'000'000'000'000;

/// Pods of a job that are alike, beside others that differ. The texts are in `trace::words`.
struct trace_pod_set {
  name_id name;
  /// The GPU model requested, or none.
  name_id gpu_model;
  std::uint32_t pods = 1;
  /// The minimum number of them to run with; 0 for all of them.
  std::uint32_t min_pods = 0;
  /// Of all its pods; a multiple of `pods` thousandths.
  quantity gpus;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;

  friend bool operator==(const trace_pod_set&, const trace_pod_set&) = default;
};

/// A job as a workload describes it: what it requests and when, and how long it would run undisturbed.
/// Unspecified fields are none, nothing or zero, as noted. The texts are in the `trace` that holds the job.
struct trace_job {
  /// In `trace::ids`; its index is the position of the job in the order of addition.
  name_id id;
  /// The quota that it is submitted to, in `trace::tenants`, or none.
  name_id tenant;
  /// "train", "inference", ..., the GPU model requested, and the submitting user, in `trace::words`, or none.
  name_id job_class;
  name_id gpu_model;
  name_id user;
  /// Higher first.
  std::int64_t priority = 0;
  /// The size of its gang; 0 if the GPUs are to be split over as few nodes as they need.
  std::uint32_t pods = 0;
  /// The minimum number of pods to run with; 0 for all of them.
  std::uint32_t min_pods = 0;
  bool preemptible = true;

  instant submit = 0;
  /// From when it can start; 0: at once.
  instant ready = 0;
  /// How long it runs with all its pods when nothing interrupts it.
  instant duration = 0;
  /// Of the whole job, not of a pod; a multiple of `pods` thousandths.
  quantity gpus;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  /// Work is saved at this interval of running time, so an eviction loses what was done since. Nothing: work
  /// is never saved and an eviction loses all of it. Zero: it is always saved.
  std::optional<instant> checkpoint;
  /// How long it takes to resume after an eviction.
  instant restart = 0;
  /// The point in time, not the span, by which it should be done.
  std::optional<instant> deadline;
  /// Its estimated run time, in seconds: an estimate or a limit; 0 if none was given. It may run longer.
  std::int64_t estimate = 0;
  /// If it consists of pod sets: how many, and the first of them in `trace::pod_sets`. What it requests is
  /// then their sum; the model is that of a single one.
  std::uint32_t sets = 0;
  std::uint32_t first_set = 0;

  /// Whether its pods differ.
  [[nodiscard]] constexpr bool is_unlike() const noexcept { return sets > 1; }
};

/// A workload: its jobs and the texts that they refer to.
struct trace {
  /// The id of every job ever added, in that order.
  name_table ids;
  name_table tenants;
  /// Classes, GPU models, users and tags.
  name_table words;
  vector<trace_job> jobs;
  /// Those of one job are adjacent.
  vector<trace_pod_set> pod_sets;
  /// The columns of the file that are unknown to the library, in its order.
  vector<std::string> tag_columns;
  /// A value in `words` for each job, in the order of addition, and tag column; none if it is empty.
  vector<name_id> tags;

  /// The pod sets of a job; none if it does not say that it has any.
  [[nodiscard]] std::span<const trace_pod_set> sets_of(const trace_job& job) const {
    return std::span{pod_sets}.subspan(job.first_set, job.sets);
  }
  /// The job's value in a tag column; empty if there is none.
  [[nodiscard]] std::string_view tag(const trace_job& job, std::size_t column) const {
    return words[tags[job.id.index() * tag_columns.size() + column]];
  }
};

/// Whether the job id `a` comes before `b`: ids made of decimal digits only come first, by value ("9" before
/// "10"; of equal values the shorter first: "7" before "07"); the others follow byte by byte. A strict total
/// order. O(length).
[[nodiscard]] bool job_id_less(std::string_view a, std::string_view b) noexcept;

/// Sorts the jobs by submission, then by id. O(n) if they are in that order already, else O(n log n).
void sort_by_submission(trace& t);

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/generate_models.hpp>
#include <allot/lab/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// The jobs of one kind that one tenant submits.
struct workload_part {
  job_model model = job_model::philly;
  /// The quota that it submits to.
  std::string tenant;
  /// Its jobs are named prefix-00001, prefix-00002...; every part has its own prefix.
  std::string prefix;
  std::string job_class;
  std::int32_t priority = 0;
  bool preemptible = true;
  std::optional<instant> checkpoint{};
  instant restart = 0;
  /// Its share of all work, relative to the other parts.
  std::uint64_t work = 1;
  /// The maximum GPUs of a job.
  std::int64_t largest_gpus = 8;
  /// Whether it is quiet for a day or two and then busy, so that there is capacity to lend, and a tenant to
  /// borrow it.
  bool has_phases = false;
};

/// The size of a workload: a number of days, or of jobs.
struct workload_size {
  std::uint64_t seed = 1;
  std::int64_t cluster_gpus = 128;
  /// All work, in thousandths of what the cluster can do in that time.
  std::int64_t load_permille = 900;
  /// Starting on a Monday, 0:00. Nothing: as many as `jobs` need.
  std::optional<std::int64_t> days{};
  std::optional<std::uint64_t> jobs{};
  /// Longer durations are cut to this.
  instant longest = 14 * day;
};

struct generated_job {
  /// The index of its part, and its number there, from 1.
  std::size_t part = 0;
  std::uint64_t number = 0;
  instant submit = 0;
  instant duration = 0;
  quantity gpus;
};

/// Generates a workload one job at a time, in the order of submission: memory for the parts and the hours,
/// however many jobs there are. The same parameters give the same jobs on every machine, and a part does not
/// change when another one does (except for its share of the work).
///
/// Each part submits at random (Poisson) at a rate that follows the hours of the day, weekends and its
/// phases. With `days`, the work matches `load_permille`, whatever the seed: the last job of a part is cut to
/// fit, to a GPU-minute. With `jobs`, there are this many (the last service has fewer replicas if they would
/// be too many), over as many days as give that load, to an hour.
///
/// Jobs are drawn twice: first to count them, because only then is it known how they are spread over time.
/// O(jobs x log parts).
class workload_stream {
 public:
  /// Precondition: at least one part, each with work; 1 to 1,000,000 GPUs and no part with more; a load of 1
  /// to 10,000 permille; either 1 to 10,000 days or at least one job.
  workload_stream(vector<workload_part> parts, const workload_size& size);
  workload_stream(workload_stream&&) noexcept;
  workload_stream& operator=(workload_stream&&) noexcept;
  ~workload_stream();

  [[nodiscard]] const workload_part& part(std::size_t i) const;
  /// The number of jobs.
  [[nodiscard]] std::uint64_t jobs() const noexcept;
  /// The hours over which jobs are submitted.
  [[nodiscard]] std::uint64_t hours() const noexcept;

  /// The next job, or nothing if there is none. Jobs of one instant are in the order of the parts.
  [[nodiscard]] std::optional<generated_job> next();

  /// The name of the job.
  [[nodiscard]] std::string id_of(const generated_job& job) const;

 private:
  class state;

  std::unique_ptr<state> state_;
};

/// The rest of the stream, as a trace. O(jobs) memory.
[[nodiscard]] trace to_trace(workload_stream& stream);

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/time.hpp>
#include <allot/lab/generate_models.hpp>
#include <allot/lab/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// The jobs of one kind that one tenant submits.
struct workload_part {
  job_model model = job_model::philly;
  /// The quota that it submits to.
  std::string tenant;
  /// Its jobs are called prefix-00001, prefix-00002...; no two parts have the same.
  std::string prefix;
  std::string job_class;
  std::int32_t priority = 0;
  bool preemptible = true;
  std::optional<instant> checkpoint{};
  instant restart = 0;
  /// Its part of all the work, relative to the other parts.
  std::uint64_t work = 1;
  /// No job of it has more GPUs.
  std::int64_t largest_gpus = 8;
  /// Whether it is quiet for a day or two and then busy, so that there is something to lend and someone to
  /// borrow it.
  bool has_phases = false;
};

/// How much there is of a workload: so many days of it, or so many jobs.
struct workload_size {
  std::uint64_t seed = 1;
  std::int64_t cluster_gpus = 128;
  /// All work, in thousandths of what the cluster can do in that time.
  std::int64_t load_permille = 900;
  /// From a Monday, 0:00. Nothing: as many as `jobs` need.
  std::optional<std::int64_t> days{};
  std::optional<std::uint64_t> jobs{};
  /// What the tables have beyond is cut.
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

/// Makes a workload one job at a time, in the order of submission: memory for the parts and the hours,
/// however many jobs there are. The same parameters give the same jobs on every machine, and a part does not
/// change when another one does (but for its share of the work).
///
/// Each part submits at random (Poisson) at a rate that follows the hours of the day, weekends and its
/// phases. With `days`, the work is what `load_permille` asks for, whatever the seed: the last job of a part
/// is cut to fit, to a GPU-minute. With `jobs`, there are so many of them, and the days that make that the
/// load, to an hour.
///
/// Jobs are drawn twice: first to count them, because only then it is known how they spread over the time.
/// O(jobs x log parts).
class workload_stream {
 public:
  /// Precondition: a part, whose work is not zero; 1 to 1,000,000 GPUs and no part with more; a load of 1 to
  /// 10,000 permille; either 1 to 10,000 days or a job.
  workload_stream(std::vector<workload_part> parts, const workload_size& size);
  workload_stream(workload_stream&&) noexcept;
  workload_stream& operator=(workload_stream&&) noexcept;
  ~workload_stream();

  [[nodiscard]] const workload_part& part(std::size_t i) const;
  /// How many jobs there are.
  [[nodiscard]] std::uint64_t jobs() const noexcept;
  /// For how long jobs are submitted.
  [[nodiscard]] std::uint64_t hours() const noexcept;

  /// The next job, or nothing when there is none. At one instant in the order of the parts.
  [[nodiscard]] std::optional<generated_job> next();

  /// What the job is called.
  [[nodiscard]] std::string id_of(const generated_job& job) const;

 private:
  class state;

  std::unique_ptr<state> state_;
};

/// Everything that is left in the stream, as a trace. O(jobs) memory.
[[nodiscard]] trace to_trace(workload_stream& stream);

}  // namespace lab
}  // namespace v0
}  // namespace allot

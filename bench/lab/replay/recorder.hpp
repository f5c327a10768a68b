// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/io/atomic_files.hpp"
#include "lab/report/replay_result.hpp"

#include <allot/core/ids.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/thinned_series.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/sim/job_history.hpp>
#include <allot/sim/run_log.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// Why a run was interrupted; empty if unknown.
[[nodiscard]] std::string_view word_of(const sim::interruption& how) noexcept;

/// Writes tenants.csv and collects the series, from the metrics after every instant.
class time_recorder {
 public:
  /// `names` are those of all quotas that will ever exist. With a positive `step`, tenants.csv has, after the
  /// first instant, at most one row for each quota in that much time: the last one.
  time_recorder(output_file& tenants, const vector<std::string>& names, instant step);

  void note(instant now, std::size_t quota, const quota_moment& state);
  /// What the jobs of the quota that hold a reservation with a time request, in milli-GPUs.
  void note_reservation(instant now, std::size_t quota, std::int64_t gpus);
  void note_totals(instant now, std::int64_t used, std::int64_t capacity, std::int64_t stranded,
                   std::uint64_t pending);
  /// To be called once, at the end.
  [[nodiscard]] replayed_time conclude(instant now);

 private:
  /// Allocates only once a value is not zero: most quotas of many never lend.
  struct series {
    thinned_series values{};
    bool is_zero = true;

    void set(instant now, std::int64_t value) {
      values.set(now, value);
      is_zero = false;
    }
    [[nodiscard]] drawn_series conclude(instant now) {
      return is_zero ? drawn_series{} : drawn_series{values.means(now)};
    }
  };
  struct quota_record {
    std::string name_field;
    quota_moment last{};
    /// The time of the change, while its row is yet to be written.
    std::optional<instant> unwritten{};
    series used{};
    series entitled{};
    series borrowed{};
    series lent{};
    series pending{};
    series reserved{};
    std::int64_t last_reserved = 0;
  };

  void begin(instant now);
  /// To be called before the quota changes.
  void write_or_wait(instant now, std::size_t quota, const quota_moment& state);
  void write_unwritten();
  void write(instant now, const quota_record& q, const quota_moment& state);

  output_file* tenants_;
  instant step_;
  /// Quotas whose last change in this step is yet to be written.
  vector<std::size_t> unwritten_;
  instant step_began_ = 0;
  vector<quota_record> quotas_;
  thinned_series used_;
  thinned_series pending_;
  thinned_series capacity_;
  thinned_series stranded_;
  replayed_time result_;
  /// The current time as text, with which several rows begin.
  std::string time_;
  instant time_is_ = 0;
  bool has_begun_ = false;
};

/// Writes events.csv.
class event_writer {
 public:
  event_writer(output_file& file, std::span<const std::string_view> jobs, const vector<std::string>& quotas,
               const gpu::cluster* cluster);

  void write(instant now, std::string_view event, sim::job_index job, quota_id quota);
  /// `event` is "started" or, for one more pod, "grew".
  void write_start(instant now, std::string_view event, sim::job_index job, quota_id quota,
                   std::span<const sim::run_pod> pods);
  /// `event` is "evicted" or, for one pod less, "shrank".
  void write_end(instant now, std::string_view event, sim::job_index job, quota_id quota,
                 const sim::interruption& how);

 private:
  void begin_row(instant now, std::string_view event, sim::job_index job, quota_id quota);
  void end_row();

  output_file* file_;
  std::span<const std::string_view> jobs_;
  vector<std::string> quota_fields_;
  const gpu::cluster* cluster_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/moment_log.hpp"
#include "lab/replay_result.hpp"
#include "lab/staging.hpp"

#include <allot/core/ids.hpp>
#include <allot/core/quantity.hpp>
#include <allot/lab/thinned_series.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/sim/job_history.hpp>
#include <allot/sim/metrics/metrics.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/places.hpp>
#include <allot/sim/run_log.hpp>
#include <allot/sim/simulator.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  time_recorder(output_file& tenants, const std::vector<std::string>& names, instant step);

  void note(instant now, std::size_t quota, const sim::quota_moment& state);
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
    sim::quota_moment last{};
    /// The time of the change, while its row is yet to be written.
    std::optional<instant> unwritten{};
    series used{};
    series entitled{};
    series borrowed{};
    series lent{};
    series pending{};
  };

  void begin(instant now);
  /// To be called before the quota changes.
  void write_or_wait(instant now, std::size_t quota, const sim::quota_moment& state);
  void write_unwritten();
  void write(instant now, const quota_record& q, const sim::quota_moment& state);

  output_file* tenants_;
  instant step_;
  /// Quotas whose last change in this step is yet to be written.
  std::vector<std::size_t> unwritten_;
  instant step_began_ = 0;
  std::vector<quota_record> quotas_;
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
  event_writer(output_file& file, std::span<const std::string_view> jobs,
               const std::vector<std::string>& quotas, const gpu::cluster* cluster);

  void write(instant now, std::string_view event, sim::job_index job, quota_id quota);
  /// `event` is "started" or, for one more pod, "grew".
  void write_start(instant now, std::string_view event, sim::job_index job, quota_id quota,
                   std::span<const gpu::placed_pod> pods);
  /// `event` is "evicted" or, for one pod less, "shrank".
  void write_end(instant now, std::string_view event, sim::job_index job, quota_id quota,
                 const sim::interruption& how);

 private:
  void begin_row(instant now, std::string_view event, sim::job_index job, quota_id quota);
  void end_row();

  output_file* file_;
  std::span<const std::string_view> jobs_;
  std::vector<std::string> quota_fields_;
  const gpu::cluster* cluster_;
};

/// The names of the nodes, without repetition, in the order of the pods: "dgx-0;dgx-3".
void append_nodes(std::string& text, const gpu::cluster& cluster, std::span<const gpu::placed_pod> pods);

/// The idle GPUs, in milli-GPUs, of partly used nodes, where a pod that takes a whole node has no room. 0
/// without nodes.
[[nodiscard]] std::int64_t stranded_in(const sim::places& where);

/// Passes the events of a simulation to all of these. It reads metrics and log, so it must come after them.
/// `Ask(job)` says why a pending job is pending.
template <std::size_t N, class Ask>
class recorder final : public sim::observer<N> {
 public:
  /// `events` may be null.
  recorder(const sim::metrics<N>& metrics, const sim::run_log& log, time_recorder& time, moment_log& moments,
           event_writer* events, Ask why)
      : metrics_(&metrics),
        log_(&log),
        time_(&time),
        moments_(&moments),
        events_(events),
        why_(std::move(why)) {}

  void on(const sim::simulator<N>& sim, const sim::job_event<N>& e) override {
    note(sim, e);
    if (events_ != nullptr) write(sim, e);
  }
  void settled(const sim::simulator<N>& sim) override {
    for (std::size_t i = 0; i < metrics_->quotas(); ++i) {
      time_->note(sim.now(), i, metrics_->now(quota_id{i}));
    }
    const quantity capacity = metrics_->capacity();
    time_->note_totals(sim.now(), metrics_->used(), capacity.is_bounded() ? capacity.in_milli() : 0,
                       stranded_in(sim.where()), metrics_->pending());
    moments_->look(sim.now(), why_);
  }

 private:
  using kind = sim::job_event_kind;

  void note(const sim::simulator<N>& sim, const sim::job_event<N>& e) {
    const sim::job<N>& job = sim.jobs()[e.job];
    const bool is_cut = e.what == kind::shrank || e.what == kind::evicted;
    if (is_cut) moments_->cut(sim.now(), e.job, e.how, e.what == kind::shrank);
    if (e.what == kind::started || e.what == kind::cancelled) {
      moments_->waits_no_more(job.quota, job.priority, e.job);
    } else if (e.what == kind::submitted ||
               (e.what == kind::evicted && sim.history(e.job).outcome == sim::job_outcome::waiting)) {
      moments_->waits(job.quota, job.priority, e.job);
    }
  }
  void write(const sim::simulator<N>& sim, const sim::job_event<N>& e) {
    const quota_id quota = sim.jobs()[e.job].quota;
    switch (e.what) {
      case kind::started:
        return events_->write_start(sim.now(), "started", e.job, quota, log_->pods(*log_->last_run(e.job)));
      case kind::grew:
        return events_->write_start(sim.now(), "grew", e.job, quota, log_->pods(log_->runs().back()));
      case kind::shrank:
        return events_->write_end(sim.now(), "shrank", e.job, quota, e.how);
      case kind::evicted:
        return events_->write_end(sim.now(), "evicted", e.job, quota, e.how);
      case kind::submitted:
        return events_->write(sim.now(), "submitted", e.job, quota);
      case kind::refused:
        return events_->write(sim.now(), "refused", e.job, quota);
      case kind::finished:
        return events_->write(sim.now(), "finished", e.job, quota);
      case kind::cancelled:
        return events_->write(sim.now(), "cancelled", e.job, quota);
    }
  }

  const sim::metrics<N>* metrics_;
  const sim::run_log* log_;
  time_recorder* time_;
  moment_log* moments_;
  event_writer* events_;
  Ask why_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/replay/recorder.hpp"
#include "lab/report/timeline_log.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/metrics/metrics.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/places.hpp>
#include <allot/sim/run_log.hpp>
#include <allot/sim/simulator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// The idle GPUs, in milli-GPUs, of partly used nodes, where a pod that takes a whole node has no room. 0
/// without nodes.
[[nodiscard]] std::int64_t stranded_in(const sim::places& where);

/// Passes the events of a simulation to all of these. It reads metrics and log, so it must come after them.
/// `Ask(job)` says why a pending job is pending.
///
/// What quotas are entitled to and lend changes with others' jobs, a little and for many at once. Of more
/// than `few_quotas` such changes alone are not noted one by one, but for all quotas whenever about as many
/// others have been noted: so what is noted grows with the events, not with their number times that of
/// quotas.
template <std::size_t N, class Ask>
class recorder final : public sim::observer<N> {
 public:
  /// `events` may be null. Or `every_change` is noted, whatever that costs.
  recorder(const lab::metrics<N>& metrics, const sim::run_log& log, time_recorder& time,
           timeline_log& moments, event_writer* events, bool every_change, Ask why)
      : metrics_(&metrics),
        log_(&log),
        time_(&time),
        moments_(&moments),
        events_(events),
        every_change_(every_change),
        why_(std::move(why)) {}

  void on(const sim::simulator<N>& sim, const sim::job_event<N>& e) override {
    note(sim, e);
    if (events_ != nullptr) write(sim, e);
  }
  void settled(const sim::simulator<N>& sim) override {
    note_quotas(sim.now());
    note_reservation(sim);
    const quantity capacity = metrics_->capacity();
    time_->note_totals(sim.now(), metrics_->used(), capacity.is_bounded() ? capacity.in_milli() : 0,
                       stranded_in(sim.places()), metrics_->pending());
    moments_->look(sim.now(), why_);
  }

 private:
  using kind = sim::job_event_kind;
  /// Of so many each change is noted.
  static constexpr std::size_t few_quotas = 16;

  void note_quotas(instant now) {
    noted_ += metrics_->changed().size();
    if (!every_change_ && noted_ + few_quotas < metrics_->quotas()) {
      for (const quota_id x : metrics_->changed()) time_->note(now, x.index(), metrics_->now(x));
      return;
    }
    noted_ = 0;
    for (std::size_t i = 0; i < metrics_->quotas(); ++i) time_->note(now, i, metrics_->now(quota_id{i}));
  }
  void note_reservation(const sim::simulator<N>& sim) {
    // The quotas that had some, and those that have.
    for (const quota_id x : reserving_) reserved_[x.index()] = 0;
    const std::size_t before = reserving_.size();
    sim.scheduler().for_each_reservation([&](job_id id) {
      reserved_.resize(metrics_->quotas());
      const sim::job_index j = sim.scheduler().what(id);
      reserving_.push_back(sim.jobs()[j].quota);
      reserved_[reserving_.back().index()] += metrics_->gpus(sim, j);
    });
    for (const quota_id x : reserving_) time_->note_reservation(sim.now(), x.index(), reserved_[x.index()]);
    reserving_.erase(reserving_.begin(), reserving_.begin() + static_cast<std::ptrdiff_t>(before));
  }

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

  const lab::metrics<N>* metrics_;
  const sim::run_log* log_;
  time_recorder* time_;
  timeline_log* moments_;
  event_writer* events_;
  bool every_change_;
  Ask why_;
  /// How many quotas have changed since all were noted.
  std::size_t noted_ = 0;
  /// By quota, in milli-GPUs; empty until a job holds a reservation.
  vector<std::int64_t> reserved_;
  /// The quotas whose jobs hold reservations; one for each of these.
  vector<quota_id> reserving_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/job_history.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/simulator.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace sim {

/// Where a job runs: its pods, and the nodes.
template <std::size_t N, class Places = places>
class job_place {
 public:
  job_place(const simulator<N, Places>& in, job_index j) noexcept : in_(&in), job_(j) {}

  /// The number of its pods that run.
  [[nodiscard]] std::uint32_t pods() const { return in_->history(job_).work.pods(); }
  /// The number that it has with all of them.
  [[nodiscard]] std::uint32_t all_pods() const { return in_->jobs()[job_].pods(); }
  /// Calls `visit(const gpu::placed_pod&)` for each of them; never without nodes.
  template <class Visit>
  void for_each_pod(Visit visit) const {
    if (!in_->places().has_nodes()) return;
    const auto& policy = in_->scheduler();
    const auto& nodes = in_->places().inventory();
    const job_id id = in_->history(job_).id;
    for (const gpu::placed_pod& p : nodes.pods(policy.place_of(id))) visit(p);
    for (const job_id more : policy.elastic_pods_of(id)) {
      const job_state is = policy.state(more);
      if (is != job_state::running && is != job_state::evicting) continue;
      for (const gpu::placed_pod& p : nodes.pods(policy.place_of(more))) visit(p);
    }
  }
  /// The nodes.
  [[nodiscard]] const Places& places() const noexcept { return in_->places(); }

 private:
  const simulator<N, Places>* in_;
  job_index job_;
};

/// The optional part of a simulation that says how fast jobs work: `progress(job, place, neighbours)` is the
/// speed of a job where it runs now, in thousandths of the nominal speed and at least 1. Neighbours are the
/// other jobs that have a part of one of its GPUs, by index. It is asked when a run begins, and when its
/// number of pods or its neighbours change; the answer depends on nothing else.
template <class P, std::size_t N, class Places = places>
concept progress_part = requires(const P& p, job_index j, const job_place<N, Places>& at,
                                 std::span<const job_index> neighbours) {
  { p(j, at, neighbours) } -> std::convertible_to<speed>;
};

/// Lets the jobs of a simulation work at the speeds that a part says: `sim.run(watch, goes_on, pacing)`, with
/// the same pacing whenever it is continued. What work is, and what is lost, is defined in `job_progress`.
///
/// Durations, checkpoint intervals and estimates are in time at the nominal speed; restarts, starts,
/// evictions and time limits are not. So policies know of a job what its user knows, who can't tell where it
/// will run: on slow GPUs it may overrun its estimate.
template <std::size_t N, class Progress, class Places = places>
class pacing final : public observer<N, Places> {
  static_assert(progress_part<Progress, N, Places>, "progress(job, place, neighbours) is the speed of a job");

 public:
  explicit pacing(Progress of) : of_(std::move(of)) {}

  /// What the simulator tells this, the other observer is told, too.
  void tell(observer<N, Places>& to) noexcept { to_ = &to; }
  /// As declared in `observer`.
  void on(const simulator<N, Places>& sim, const job_event<N>& e) override {
    using kind = job_event_kind;
    if (e.what != kind::submitted && e.what != kind::refused) changed_.push_back(e.job);
    to_->on(sim, e);
  }
  /// @{
  /// As declared in `observer`.
  void waiting(simulator<N, Places>& sim) override { to_->waiting(sim); }
  void settled(const simulator<N, Places>& sim) override { to_->settled(sim); }
  /// @}

  /// All that happens at this instant has: calls `pace(job, since, speed)` for the jobs that run and that
  /// something was changed for, in their order.
  template <class Pace>
  void settle(const simulator<N, Places>& sim, Pace pace) {
    if (changed_.empty()) return;
    put_in_order(changed_);
    for (std::size_t i = 0, moved = changed_.size(); i < moved; ++i) move(sim, changed_[i]);
    put_in_order(changed_);
    // Only jobs that run from the beginning have started before they are first seen here.
    const bool is_first = !std::exchange(has_begun_, true);
    for (const job_index j : changed_) {
      const job_history& h = sim.history(j);
      if (h.outcome != job_outcome::running) continue;
      pace(j, is_first ? h.last_start : sim.now(),
           of_(j, job_place<N, Places>{sim, j}, std::span<const job_index>{neighbours_of(j)}));
    }
    changed_.clear();
  }

 private:
  using device = std::pair<std::size_t, int>;

  static void put_in_order(vector<job_index>& some) {
    std::sort(some.begin(), some.end());
    some.erase(std::unique(some.begin(), some.end()), some.end());
  }
  /// Takes it off the GPUs of which it had a part, and puts it on those of which it has one now. Those beside
  /// it there change, too.
  void move(const simulator<N, Places>& sim, job_index j) {
    if (const auto had = parts_.find(j); had != parts_.end()) {
      for (const device& d : had->second) {
        vector<job_index>& there = on_[d];
        erase_if(there, [j](job_index other) { return other == j; });
        changed_.append(there.begin(), there.end());
        if (there.empty()) on_.erase(d);
      }
      parts_.erase(had);
    }
    if (sim.history(j).outcome != job_outcome::running) return;
    job_place<N, Places>{sim, j}.for_each_pod([&](const gpu::placed_pod& p) {
      if (p.milli == gpu::milli_per_gpu && p.mig.is_none()) return;
      for (std::uint64_t left = p.where.devices; left != 0; left &= left - 1) {
        const device d{p.where.node.index(), std::countr_zero(left)};
        vector<device>& has = parts_[j];
        if (std::find(has.begin(), has.end(), d) != has.end()) continue;
        has.push_back(d);
        vector<job_index>& there = on_[d];
        changed_.append(there.begin(), there.end());
        there.push_back(j);
      }
    });
  }
  [[nodiscard]] const vector<job_index>& neighbours_of(job_index j) {
    neighbours_.clear();
    const auto has = parts_.find(j);
    if (has == parts_.end()) return neighbours_;
    for (const device& d : has->second) {
      for (const job_index other : on_[d]) {
        if (other != j) neighbours_.push_back(other);
      }
    }
    put_in_order(neighbours_);
    return neighbours_;
  }

  Progress of_;
  observer<N, Places>* to_ = nullptr;
  /// Of this instant.
  vector<job_index> changed_;
  bool has_begun_ = false;
  /// The jobs that have a part of a GPU, and the GPUs of which each has one.
  std::map<device, vector<job_index>> on_;
  std::map<job_index, vector<device>> parts_;
  vector<job_index> neighbours_;
};

}  // namespace sim
}  // namespace v0
}  // namespace allot

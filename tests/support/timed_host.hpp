// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/quota/builder.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/same_reasons.hpp"

namespace allot_test {

/// A job with a duration and, optionally, an estimate.
struct timed_job {
  allot::quota_id quota{0};
  std::int64_t gpus = 1;
  allot::instant submit = 0;
  allot::instant duration = 1;
  /// 0: no estimate.
  allot::instant estimate = 0;
  std::int64_t priority = 0;
  bool preemptible = true;
  /// For `ready_later_view`: from when it can start.
  allot::instant ready = 0;
  /// For `saving_view`: the interval at which it saves its work, 0: never, and what a restart costs.
  allot::instant checkpoint = 0;
  allot::instant restart = 0;
};

/// A view whose jobs are their numbers. With a placement each requests its GPUs without constraints.
struct timed_view {
  using job = std::uint32_t;
  const std::vector<timed_job>* jobs = nullptr;

  [[nodiscard]] const timed_job& at(job j) const { return (*jobs)[j]; }
  [[nodiscard]] allot::quota_id quota(job j) const { return at(j).quota; }
  [[nodiscard]] allot::resources<> request(job j) const { return allot::gpus(at(j).gpus); }
  [[nodiscard]] std::int64_t priority(job j) const { return at(j).priority; }
  [[nodiscard]] allot::instant submitted(job j) const { return at(j).submit; }
  [[nodiscard]] std::uint64_t id(job j) const { return j; }
  [[nodiscard]] bool preemptible(job j) const { return at(j).preemptible; }
  [[nodiscard]] allot::instant estimate(job j) const { return at(j).estimate; }
  [[nodiscard]] std::int64_t pod_request(job j) const { return at(j).gpus; }
};

/// The same, whose jobs save their work. (What was saved does not shorten the next run.)
template <class Base = timed_view>
struct saving_view : Base {
  using job = typename Base::job;
  [[nodiscard]] allot::instant checkpoint(job j) const { return Base::at(j).checkpoint; }
  [[nodiscard]] allot::instant restart(job j) const { return Base::at(j).restart; }
};

/// The same, whose jobs are not all ready when they are submitted.
struct ready_later_view : timed_view {
  [[nodiscard]] allot::instant ready_at(job j) const { return at(j).ready; }
};

/// A pool of GPUs without nodes, as a placement.
class gpu_pool {
 public:
  using pod_request = std::int64_t;
  using allocation = std::int64_t;
  struct savepoint {
    std::int64_t free;
    std::int64_t held;
  };

  explicit gpu_pool(std::int64_t gpus = 0) : free_(gpus), all_(gpus) {}
  [[nodiscard]] std::optional<allocation> place(pod_request d) {
    if (d > free_) return std::nullopt;
    free_ -= d;
    return d;
  }
  void release(allocation a) noexcept { free_ += a; }
  void vacate(allocation a) noexcept {
    free_ += a;
    held_ += a;
  }
  void reoccupy(allocation a) noexcept {
    free_ -= a;
    held_ -= a;
  }
  [[nodiscard]] bool ready(allocation) const { return true; }
  [[nodiscard]] static bool has_nodes() { return false; }
  [[nodiscard]] bool could_ever_fit(pod_request d) const { return d <= all_; }
  [[nodiscard]] std::int64_t why_not(pod_request d) const { return d - free_; }
  [[nodiscard]] savepoint save() const { return {free_, held_}; }
  void rollback(savepoint s) noexcept {
    free_ = s.free;
    held_ = s.held;
  }
  void commit(savepoint) noexcept {}

 private:
  std::int64_t free_;
  std::int64_t all_;
  std::int64_t held_ = 0;
};

/// Runs jobs through a scheduler in simulated time. At each instant: the ends, then the submissions in order,
/// then cycles until nothing is decided. It uses only the plan and `wakes_at`.
template <class Scheduler>
class timed_host {
 public:
  explicit timed_host(const std::vector<timed_job>& jobs, Scheduler scheduler)
      : jobs_(jobs), scheduler_(std::move(scheduler)), runs_(jobs.size()) {}

  struct run {
    allot::job_id id{};
    std::optional<allot::instant> start{};
    std::optional<allot::instant> end{};
    /// As of the last look before it started.
    std::optional<allot::reservation> reservation{};
    std::size_t starts = 0;
  };

  /// Runs all jobs to their ends; calls `look(now)` after each instant.
  void run_all(const std::function<void(allot::instant)>& look = {}) {
    std::vector<std::uint32_t> order(jobs_.size());
    for (std::uint32_t j = 0; j < order.size(); ++j) order[j] = j;
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return jobs_[a].submit < jobs_[b].submit; });
    std::size_t next = 0;
    for (;;) {
      std::optional<allot::instant> t = scheduler_.wakes_at();
      const auto consider = [&](allot::instant u) { t = t ? std::min(*t, u) : u; };
      if (next < order.size()) consider(jobs_[order[next]].submit);
      if (!ends_.empty()) consider(ends_.begin()->first);
      if (!t) return;
      now_ = looks_always_ ? std::min(*t, now_ + 1) : *t;
      while (!ends_.empty() && ends_.begin()->first == now_) {
        const std::uint32_t j = ends_.begin()->second;
        ends_.erase(ends_.begin());
        scheduler_.finished(runs_[j].id);
      }
      for (; next < order.size() && jobs_[order[next]].submit == now_; ++next) {
        runs_[order[next]].id = scheduler_.submit(order[next]);
      }
      decide();
      for (run& r : runs_) {
        if (r.id && !r.start) r.reservation = scheduler_.reservation_of(r.id);
      }
      if (look) look(now_);
    }
  }

  /// `look(plan)` is called with each plan before it is carried out.
  void look_at_plans(std::function<void(const typename Scheduler::plan_type&)> look) {
    look_at_plan_ = std::move(look);
  }
  /// From now on there is a step at every instant, whether `wakes_at` says so or not.
  void look_at_each_instant() { looks_always_ = true; }

  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] const run& operator[](std::size_t j) const { return runs_[j]; }
  [[nodiscard]] std::size_t evictions() const { return evictions_; }
  /// How often a plan listed a pending job for that reason, and how often `why` told another story then.
  [[nodiscard]] std::size_t listed(allot::pending_reason why) const {
    return listed_[static_cast<std::size_t>(why)];
  }
  [[nodiscard]] std::size_t disagreements() const { return disagreements_; }
  [[nodiscard]] std::size_t size() const { return runs_.size(); }

 private:
  void decide() {
    for (const auto* plan = &step(); !plan->empty(); plan = &step()) {
      if (look_at_plan_) look_at_plan_(*plan);
      std::vector<allot::job_id> gone;
      for (const auto& e : plan->evictions) {
        run& r = runs_[e.what];
        const auto ends = ends_.equal_range(end_of(e.what));
        for (auto at = ends.first; at != ends.second; ++at) {
          if (at->second != e.what) continue;
          ends_.erase(at);
          break;
        }
        r.start.reset();
        ++evictions_;
        gone.push_back(e.id);
      }
      for (const auto& a : plan->admissions) {
        runs_[a.what].start = now_;
        ++runs_[a.what].starts;
        ends_.emplace(end_of(a.what), a.what);
      }
      for (const allot::job_id id : gone) scheduler_.evicted(id);
    }
  }
  const auto& step() {
    const auto& plan = scheduler_.step(now_);
    for (const auto& h : plan.pending) {
      ++listed_[static_cast<std::size_t>(h.reason)];
      if (!same_reasons(h, scheduler_.why(h.id))) ++disagreements_;
    }
    return plan;
  }
  [[nodiscard]] allot::instant end_of(std::uint32_t j) const { return *runs_[j].start + jobs_[j].duration; }

  const std::vector<timed_job>& jobs_;
  Scheduler scheduler_;
  std::vector<run> runs_;
  std::multimap<allot::instant, std::uint32_t> ends_;
  std::size_t evictions_ = 0;
  std::array<std::size_t, allot::pending_reason_count> listed_{};
  std::size_t disagreements_ = 0;
  allot::instant now_ = 0;
  bool looks_always_ = false;
  std::function<void(const typename Scheduler::plan_type&)> look_at_plan_;
};

}  // namespace allot_test

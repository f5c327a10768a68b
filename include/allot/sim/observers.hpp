// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/resources.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/job_history.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace allot {
inline namespace v0 {
namespace sim {

template <std::size_t N>
class simulator;

enum class job_event_kind : std::uint8_t {
  submitted,
  /// `why_refused` says why.
  refused,
  /// It runs, with what it `borrows`.
  started,
  /// An elastic job that runs has one pod more, `pod`, with what that `borrows`.
  grew,
  /// An elastic job that runs has lost the pod `pod`, `how` says why. When the whole job ends or is evicted,
  /// its pods are not reported one by one.
  shrank,
  /// Its run was cut short, `how` says why. It waits again, unless it was at its time limit.
  evicted,
  finished,
  cancelled,
};

/// What happened to a job of a simulation.
template <std::size_t N>
struct job_event {
  job_event_kind what{};
  job_index job = 0;
  job_id pod{};
  refusal why_refused = refusal::none;
  interruption how{};
  resources<N> borrows{};
};

/// Watches a simulation: derive from it what measures, records or prints.
template <std::size_t N>
class observer {
 public:
  virtual ~observer() = default;

  /// Called after each event.
  virtual void on(const simulator<N>&, const job_event<N>&) {}
  /// Called once an instant, before `settled`: jobs that wait can be asked about (`why`).
  virtual void waiting(simulator<N>&) {}
  /// Called once an instant, after everything that happened at it.
  virtual void settled(const simulator<N>&) {}

 protected:
  observer() = default;
  observer(const observer&) = default;
  observer(observer&&) = default;
  observer& operator=(const observer&) = default;
  observer& operator=(observer&&) = default;
};

/// Several observers of one simulation as one. Each call goes to all of them in the order in which they were
/// given, so a later one may read an earlier one. They are referred to, not owned.
template <std::size_t N>
class observers final : public observer<N> {
 public:
  observers(std::initializer_list<observer<N>*> each) : each_(each) {}

  void on(const simulator<N>& sim, const job_event<N>& e) override {
    for (observer<N>* o : each_) o->on(sim, e);
  }
  void waiting(simulator<N>& sim) override {
    for (observer<N>* o : each_) o->waiting(sim);
  }
  void settled(const simulator<N>& sim) override {
    for (observer<N>* o : each_) o->settled(sim);
  }

 private:
  std::vector<observer<N>*> each_;
};

}  // namespace sim
}  // namespace v0
}  // namespace allot

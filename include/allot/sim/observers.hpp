// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/resources.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/job_history.hpp>

#include <tuple>

namespace allot {
inline namespace v0 {
namespace sim {

/// Watches a simulation. Each is told after it has happened. `settled` is called once an instant, after
/// everything that happened at it.
///
/// `grew` and `shrank` are of an elastic job that runs with one pod more or less than before; `pod` names
/// that pod as long as the job has it. When the whole job ends or goes, its pods are not reported one by one.
/// `evicted` is of every run that is cut short; the job waits again, unless it was at its time limit.
template <class O, class Simulator>
concept observer = requires(O watch, const Simulator& sim, job_index j, job_id pod, refusal why,
                            const interruption& how, const resources<Simulator::n>& borrows) {
  watch.submitted(sim, j);
  watch.refused(sim, j, why);
  watch.started(sim, j, borrows);
  watch.grew(sim, j, pod, borrows);
  watch.shrank(sim, j, pod, how);
  watch.evicted(sim, j, how);
  watch.finished(sim, j);
  watch.cancelled(sim, j);
  watch.settled(sim);
};

/// Tells one observer, if it wants to know.
template <class Observer, class Simulator, class Why>
void tell_of_waiting(Observer& watch, const Simulator& sim, Why why) {
  if constexpr (requires { watch.waiting(sim, why); }) watch.waiting(sim, why);
}

/// Several observers of one simulation as one. Each event is told to all of them in the order in which they
/// were given, so a later one may read an earlier one. They are referred to, not owned.
template <class... Observers>
class observers {
 public:
  explicit observers(Observers&... each) noexcept : each_(each...) {}

  template <class Simulator>
  void submitted(const Simulator& sim, job_index j) {
    for_each([&](auto& o) { o.submitted(sim, j); });
  }
  template <class Simulator>
  void refused(const Simulator& sim, job_index j, refusal why) {
    for_each([&](auto& o) { o.refused(sim, j, why); });
  }
  template <class Simulator>
  void started(const Simulator& sim, job_index j, const resources<Simulator::n>& borrows) {
    for_each([&](auto& o) { o.started(sim, j, borrows); });
  }
  template <class Simulator>
  void grew(const Simulator& sim, job_index j, job_id pod, const resources<Simulator::n>& borrows) {
    for_each([&](auto& o) { o.grew(sim, j, pod, borrows); });
  }
  template <class Simulator>
  void shrank(const Simulator& sim, job_index j, job_id pod, const interruption& how) {
    for_each([&](auto& o) { o.shrank(sim, j, pod, how); });
  }
  template <class Simulator>
  void evicted(const Simulator& sim, job_index j, const interruption& how) {
    for_each([&](auto& o) { o.evicted(sim, j, how); });
  }
  template <class Simulator>
  void finished(const Simulator& sim, job_index j) {
    for_each([&](auto& o) { o.finished(sim, j); });
  }
  template <class Simulator>
  void cancelled(const Simulator& sim, job_index j) {
    for_each([&](auto& o) { o.cancelled(sim, j); });
  }
  template <class Simulator, class Why>
  void waiting(const Simulator& sim, Why why) {
    for_each([&](auto& o) { tell_of_waiting(o, sim, why); });
  }
  template <class Simulator>
  void settled(const Simulator& sim) {
    for_each([&](auto& o) { o.settled(sim); });
  }

 private:
  template <class Visit>
  void for_each(Visit visit) {
    std::apply([&](auto&... o) { (visit(o), ...); }, each_);
  }

  std::tuple<Observers&...> each_;
};

}  // namespace sim
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/sim/job.hpp>

#include <cstddef>
#include <tuple>

namespace allot {
inline namespace v0 {
namespace sim {

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
  void evicted(const Simulator& sim, job_index j, job_index beneficiary, relation how, instant lost) {
    for_each([&](auto& o) { o.evicted(sim, j, beneficiary, how, lost); });
  }
  template <class Simulator>
  void finished(const Simulator& sim, job_index j) {
    for_each([&](auto& o) { o.finished(sim, j); });
  }
  template <class Simulator>
  void cancelled(const Simulator& sim, job_index j) {
    for_each([&](auto& o) { o.cancelled(sim, j); });
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

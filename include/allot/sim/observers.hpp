// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/job_history.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace sim {

class places;
template <std::size_t N, class Places = places>
class simulator;

/// The kind of an event of a job.
enum class job_event_kind : std::uint8_t {
  submitted,
  /// See `why_refused`.
  refused,
  /// It runs; see `borrows`.
  started,
  /// A running elastic job has gained `pod`; see `borrows`.
  grew,
  /// A running elastic job has lost `pod`; see `how`. When the whole job ends or is evicted, its pods are not
  /// reported one by one.
  shrank,
  /// Its run was cut short; see `how`. It is pending again, unless it reached its time limit.
  evicted,
  finished,
  cancelled,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(job_event_kind value) noexcept {
  switch (value) {
    case job_event_kind::submitted:
      return "submitted";
    case job_event_kind::refused:
      return "refused";
    case job_event_kind::started:
      return "started";
    case job_event_kind::grew:
      return "grew";
    case job_event_kind::shrank:
      return "shrank";
    case job_event_kind::evicted:
      return "evicted";
    case job_event_kind::finished:
      return "finished";
    case job_event_kind::cancelled:
      return "cancelled";
  }
  return "";
}

/// What happened to a job of a simulation.
template <std::size_t N>
struct job_event {
  /// What happened.
  job_event_kind what{};
  /// To which job.
  job_index job = 0;
  /// With `grew` and `shrank`, the id of the pod.
  job_id pod{};
  /// With `refused`, why.
  refusal why_refused = refusal::none;
  /// With `evicted` and `shrank`, why.
  interruption how{};
  /// With `started` and `grew`, the part of what it was given that its quota does not own.
  resources<N> borrows{};
};

/// Observes a simulation: derive from it to measure, record or print.
template <std::size_t N, class Places = places>
class observer {
 public:
  virtual ~observer() = default;

  /// Called after each event.
  virtual void on(const simulator<N, Places>&, const job_event<N>&) {}
  /// Called once per instant, before `settled`: pending jobs can be queried (`why`).
  virtual void waiting(simulator<N, Places>&) {}
  /// Called once per instant, after everything that happened at it.
  virtual void settled(const simulator<N, Places>&) {}

 protected:
  observer() = default;
  observer(const observer&) = default;
  observer(observer&&) = default;
  observer& operator=(const observer&) = default;
  observer& operator=(observer&&) = default;
};

/// Several observers of one simulation as one. Each call goes to all of them in the given order, so a later
/// one may read an earlier one. They are referenced, not owned.
template <std::size_t N>
class observers final : public observer<N> {
 public:
  observers(std::initializer_list<observer<N>*> each) : each_(each) {}

  /// @{
  /// As declared in `observer`.
  void on(const simulator<N>& sim, const job_event<N>& e) override {
    for (observer<N>* o : each_) o->on(sim, e);
  }
  void waiting(simulator<N>& sim) override {
    for (observer<N>* o : each_) o->waiting(sim);
  }
  void settled(const simulator<N>& sim) override {
    for (observer<N>* o : each_) o->settled(sim);
  }
  /// @}

 private:
  vector<observer<N>*> each_;
};

}  // namespace sim
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/scheduler/job_state.hpp>
#include <allot/scheduler/reservation.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// How a job that is evicted for another could start again.
enum class way_back : std::uint8_t {
  none,
  /// With a place that is free, or victims of its own.
  elsewhere,
  /// With what it has lost to the other one.
  from_the_beneficiary,
};

/// A job that a plan evicts, and that could start again as soon as it has gone, would lose its work for
/// nothing if others could have made the room. Then the plan is made once more, and the job it was evicted
/// for must do without it (`protection_of_settings_and_detours`). If that one finds no other victims, it may
/// take it after all: then the detour can't be avoided.
///
/// What others leave over counts, too, so that is looked at when all else is decided. And where the one could
/// take back what it loses from the other, it is not evicted for it at all: they would change places for
/// nothing.
template <class Session>
class detours {
 public:
  using record = typename Session::record;

  /// A step begins to decide.
  void begin(const Session& s) {
    if (step_ == s.steps_) return;
    step_ = s.steps_;
    spared_.clear();
    evictions_ = s.plan_.evictions.size();
    first_eviction_ = s.jobs_.nominated().next_number();
  }
  /// Whether that job must do without that victim.
  [[nodiscard]] bool spares(const Session& s, job_id beneficiary, job_id victim) const {
    if (spared_.empty()) return false;
    const job_id whole = whole_job(s, beneficiary);
    return detail::any_of(spared_.begin(), spared_.end(), [&](const pair& p) {
      return p.victim == victim && (p.is_for_all || p.beneficiary == whole) && !p.in_vain;
    });
  }
  /// All is decided. Returns whether to decide again: the plan has been taken back because it evicts jobs
  /// that have a `way_back_of(record, beneficiary)`, or those who must do without such a victim need not any
  /// more.
  template <class WayBack>
  bool avoid(Session& s, WayBack way_back_of) {
    if (s.plan_.evictions.size() > evictions_ && find(s, way_back_of)) {
      take_back(s);
      return true;
    }
    bool any = false;
    for (pair& p : spared_) {
      const bool would_swap = p.back == way_back::from_the_beneficiary;
      if (p.in_vain || would_swap || !waits(s, p.beneficiary)) continue;
      p.in_vain = any = true;
    }
    if (any) s.jobs_.queues().let_requeue();
    return any;
  }

 private:
  struct pair {
    /// The job, of an elastic one the core.
    job_id beneficiary;
    job_id victim;
    way_back back;
    /// Whether no other may evict it, either: it was taken over from one that did.
    bool is_for_all = false;
    /// Whether there were no others.
    bool in_vain = false;
  };

  [[nodiscard]] static job_id whole_job(const Session& s, job_id id) {
    return s.jobs_.contains(id) && s.jobs_.at(id).facts.elastic ? s.jobs_.at(id).facts.core : id;
  }
  /// The job, or one of its pods.
  [[nodiscard]] static bool waits(const Session& s, job_id id) {
    if (!s.jobs_.contains(id)) return false;
    const auto& pods = s.jobs_.at(id).elastic_pods;
    const auto is_pending = [&](job_id unit) { return s.jobs_.state(unit) == job_state::pending; };
    return is_pending(id) || detail::any_of(pods.begin(), pods.end(), is_pending);
  }

  /// Whether the plan gives a further pod to that elastic job: then it has a pod as before.
  [[nodiscard]] static bool gains_pod(const Session& s, job_id core) {
    const auto& pods = s.jobs_.at(core).elastic_pods;
    return detail::any_of(pods.begin(), pods.end(), [&](job_id pod) {
      return s.jobs_.state(pod) == job_state::nominated || s.jobs_.at(pod).admitted_in == s.steps_;
    });
  }
  template <class WayBack>
  [[nodiscard]] bool find(Session& s, WayBack way_back_of) {
    const std::size_t before = spared_.size();
    bool any = false;
    // The last victims, which yield last, come first. Of those for one job only one at a time: perhaps the
    // others are needed then.
    for (std::size_t i = s.plan_.evictions.size(); i-- > evictions_;) {
      const auto& e = s.plan_.evictions[i];
      // A pod goes with its job.
      const bool goes_along = e.core && s.jobs_.state(e.core) != job_state::running;
      if (e.beneficiary.is_none() || e.how == relation::consolidation || goes_along) continue;
      const job_id whole = whole_job(s, e.beneficiary);
      const auto is_known = [&](const pair& p) { return p.beneficiary == whole && p.victim == e.id; };
      if (const auto known = detail::find_if(spared_.begin(), spared_.end(), is_known);
          known != spared_.end()) {
        any = any || !(known->in_vain || std::exchange(known->is_for_all, true));
        continue;
      }
      const auto is_same = [&](const pair& p) { return p.beneficiary == whole; };
      if (detail::any_of(spared_.begin() + static_cast<std::ptrdiff_t>(before), spared_.end(), is_same)) {
        continue;
      }
      const way_back back =
          e.core && gains_pod(s, e.core) ? way_back::elsewhere : way_back_of(s.jobs_.at(e.id), e.beneficiary);
      if (back == way_back::none) continue;
      spared_.push_back({whole, e.id, back});
      any = true;
    }
    return any;
  }
  /// What the plan nominates waits again, and what it evicts runs on. What it has started did not need that.
  void take_back(Session& s) {
    auto& nominations = s.plan_.nominations;
    for (std::size_t i = nominations.size(); i-- > 0;) {
      if (s.jobs_.contains(nominations[i].id)) s.take_back_nomination(s.jobs_.at(nominations[i].id));
    }
    nominations.clear();
    const auto& leaving = s.jobs_.nominated().leaving();
    for (std::size_t i = leaving.size(); i-- > 0;) {
      if (leaving[i].number >= first_eviction_) s.jobs_.take_back_eviction(s.jobs_.at(leaving[i].job));
    }
    s.plan_.evictions.erase(s.plan_.evictions.begin() + static_cast<std::ptrdiff_t>(evictions_),
                            s.plan_.evictions.end());
    s.record_reclaims_again();
    // Some of those that wait again hold reservations again, whose starts others have taken into account.
    s.jobs_.note(delay_cause::owner);
  }

  vector<pair> spared_;
  /// @{
  /// The step, and what there was before it decided anything.
  std::uint64_t step_ = 0;
  std::size_t evictions_ = 0;
  std::uint64_t first_eviction_ = 0;
  /// @}
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/session.hpp>
#include <allot/systems/kai/detail/by_job.hpp>
#include <allot/systems/kai/detail/unit_id.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace allot {
inline namespace v0 {
namespace detail {

/// The *pipelined* units: decided on in this cycle, waiting for evicted jobs to leave.
template <class Session>
class pipelined_units {
 public:
  struct unit {
    unit_id id;
    quota_id quota;
    resources<Session::n> request;
    capacity_kind in = capacity_kind::any;
    std::optional<typename Session::place> where;
    /// It was evicted again: it holds its place like a leaving job, and counts nowhere else.
    bool is_undone = false;
    /// See `cycle_places::undo_search`.
    bool is_stranded = false;
  };

  /// Phases are the actions of all cycles; their numbers never repeat. A cycle begins with one.
  void begin_cycle() {
    all_.clear();
    cycle_ = ++phase_;
  }
  /// Begins the next action; returns its number.
  std::uint64_t begin_phase() noexcept { return ++phase_; }
  void add(const unit& u) {
    mark& m = u.id.is_extra() ? extra_mark(u.id) : marks_[u.id.job()];
    m = {phase_, all_.size()};
    all_.push_back(u);
  }
  [[nodiscard]] std::span<unit> all() noexcept { return all_; }
  [[nodiscard]] std::span<const unit> all() const noexcept { return all_; }

  /// Whether `is(unit)` of one that has not been evicted since.
  template <class Is>
  [[nodiscard]] bool any_of(Is is) const {
    return detail::any_of(all_.begin(), all_.end(), [&](const unit& u) { return !u.is_undone && is(u); });
  }

  /// Whether it is pipelined, or was and has been evicted since.
  [[nodiscard]] bool contains(unit_id id) const { return last(id) >= cycle_; }
  /// Whether it was pipelined when that phase began.
  [[nodiscard]] bool contains_before(unit_id id, std::uint64_t phase) const {
    return contains(id) && last(id) < phase;
  }
  /// Whether it is pipelined and has not been evicted since.
  [[nodiscard]] bool stands(unit_id id) const { return find(id) != nullptr; }
  [[nodiscard]] const unit* find(unit_id id) const {
    // Most are not: that much is told where it is asked.
    return contains(id) ? look_for(id) : nullptr;
  }

 private:
  /// When a unit was last pipelined, and where that is noted.
  struct mark {
    std::uint64_t phase = 0;
    std::size_t at = 0;
  };

  [[nodiscard]] mark& extra_mark(unit_id id) {
    if (extra_marks_.size() <= id.number()) extra_marks_.resize(id.number() + 1);
    return extra_marks_[id.number()];
  }
  [[nodiscard]] const mark* find_mark(unit_id id) const {
    if (!id.is_extra()) return marks_.find(id.job());
    return id.number() < extra_marks_.size() ? &extra_marks_[id.number()] : nullptr;
  }
  [[nodiscard]] std::uint64_t last(unit_id id) const {
    const mark* const m = find_mark(id);
    return m != nullptr ? m->phase : 0;
  }
  [[nodiscard]] const unit* look_for(unit_id id) const {
    const unit& u = all_[find_mark(id)->at];
    // A job that is gone may have left its number to another.
    return u.id == id && !u.is_undone ? &u : nullptr;
  }

  vector<unit> all_;
  by_job<mark> marks_;
  /// By number.
  vector<mark> extra_marks_;
  std::uint64_t phase_ = 0;
  std::uint64_t cycle_ = 1;
};

/// Of the units that ran and are pipelined: which of their pods have been evicted.
template <class Session>
class evicted_pods {
 public:
  using record = typename Session::record;
  /// Pods of a unit, by position; of one with more than 64, all.
  using pod_set = std::uint64_t;

  [[nodiscard]] static std::uint32_t count(const record& r, pod_set pods) {
    if (r.facts.pods >= 64) return r.facts.pods;
    return static_cast<std::uint32_t>(std::popcount(pods & ((pod_set{1} << r.facts.pods) - 1)));
  }
  void set(job_id id, pod_set pods) { pods_[id] = pods; }
  /// More pods of it are evicted; returns how many. None if it did not run.
  std::uint32_t add(const record& r, pod_set pods) {
    pod_set* const evicted = pods_.find(r.facts.id);
    if (r.state != job_state::evicting || evicted == nullptr) return 0;
    const std::uint32_t before = count(r, *evicted);
    return count(r, *evicted |= pods) - before;
  }
  [[nodiscard]] pod_set of(const record& r) const {
    const pod_set* const evicted = pods_.find(r.facts.id);
    return r.state == job_state::evicting && evicted != nullptr ? *evicted : 0;
  }
  /// How many of its pods run where they were and have not been evicted.
  [[nodiscard]] std::uint32_t left(const record& r) const {
    if (r.state != job_state::evicting || pods_.find(r.facts.id) == nullptr) return 0;
    return r.facts.pods - count(r, of(r));
  }

 private:
  by_job<pod_set> pods_;
};

/// The stays in a queue that have been announced, by the tickets of the jobs.
class announcements {
 public:
  [[nodiscard]] bool contains(job_id id, std::uint32_t ticket) const {
    const std::uint32_t* const known = tickets_.find(id);
    return known != nullptr && *known == ticket;
  }
  template <class Record>
  void add(const Record& r) {
    tickets_[r.facts.id] = r.ticket;
  }
  void remove(job_id id) { tickets_[id] = 0; }

 private:
  by_job<std::uint32_t> tickets_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

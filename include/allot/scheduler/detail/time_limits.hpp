// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace allot {
inline namespace v0 {
namespace detail {

/// When runs of jobs reach their time limit, or the end of their protection. A run that ends earlier leaves
/// its entry here until then; the caller knows whether a run still lasts, and has to end then.
class time_limits {
 public:
  struct run {
    job_id job;
    instant since = 0;
    friend auto operator<=>(const run&, const run&) noexcept = default;
  };

  /// Occasionally drops ended runs, those for which `lasts(run, until)` is false, so that they never much
  /// outnumber the others. Amortised O(log runs).
  template <class Lasts>
  void watch(instant until, const run& r, Lasts lasts) {
    if (runs_.size() >= most_runs_) {
      erase_if(runs_, [&](const entry& e) { return !lasts(e.what, e.until); });
      detail::make_heap(runs_.begin(), runs_.end(), ends_later);
      most_runs_ = std::max(least_runs, 2 * runs_.size());
    }
    runs_.push_back({until, r});
    detail::push_heap(runs_.begin(), runs_.end(), ends_later);
  }
  /// Calls `visit(run, until)` for each run whose time has come, earliest first.
  template <class Visit>
  void take_expired(instant now, Visit visit) {
    while (!runs_.empty() && runs_.front().until <= now) {
      detail::pop_heap(runs_.begin(), runs_.end(), ends_later);
      const entry e = runs_.back();
      runs_.pop_back();
      visit(e.what, e.until);
    }
  }

  /// When the next run's time comes, if there is one; drops ended runs before it, for which `lasts(run,
  /// until)` is false.
  template <class Lasts>
  [[nodiscard]] std::optional<instant> next(Lasts lasts) {
    while (!runs_.empty() && !lasts(runs_.front().what, runs_.front().until)) {
      detail::pop_heap(runs_.begin(), runs_.end(), ends_later);
      runs_.pop_back();
    }
    return runs_.empty() ? std::nullopt : std::optional{runs_.front().until};
  }

  /// Calls `visit(run, until)` for each run whose time comes by then, in no particular order. O(these).
  template <class Visit>
  void for_each_by(instant until, Visit visit) const {
    visit_by(0, until, visit);
  }

  /// All runs began and end at other times: earlier or later by that span.
  void rebase(instant by) {
    for (entry& e : runs_) e = {moved(e.until, by), {e.what.job, moved(e.what.since, by)}};
    detail::make_heap(runs_.begin(), runs_.end(), ends_later);
  }

 private:
  struct entry {
    instant until = 0;
    run what{};
    friend auto operator<=>(const entry&, const entry&) noexcept = default;
  };
  /// Those in the heap from i on down.
  template <class Visit>
  void visit_by(std::size_t i, instant until, Visit& visit) const {
    if (i >= runs_.size() || runs_[i].until > until) return;
    visit(runs_[i].what, runs_[i].until);
    visit_by(2 * i + 1, until, visit);
    visit_by(2 * i + 2, until, visit);
  }
  static bool ends_later(const entry& a, const entry& b) { return b < a; }

  static constexpr std::size_t least_runs = 1024;

  vector<entry> runs_;
  std::size_t most_runs_ = least_runs;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

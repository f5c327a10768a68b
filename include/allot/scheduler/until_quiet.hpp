// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/fairshare/tournament.hpp>
#include <allot/preemption/search.hpp>
#include <allot/scheduler/flavor_walk.hpp>
#include <allot/scheduler/workbench.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace allot {
inline namespace v0 {

/// Our cycle: one job after the other, each the one whose turn it is, until nothing more can be decided.
///
/// What a job is given, or who goes for it, is booked at once, so the next decision counts on it: there is
/// nothing to overlap with and nothing to decide twice. Only who lost something or changed its queue is
/// ordered anew, so an unchanged world costs nothing.
template <class Bench, class Policies>
class until_quiet {
 public:
  static constexpr std::size_t n = Bench::n;

  explicit until_quiet(const Policies& policies)
      : turn_(policies.quotas), search_(policies.victims, policies.guard, policies.search_budget) {}

  /// Starts anew on the bench's tree.
  void reset(Bench& bench) { turn_.reset(bench.tree()); }

  /// Decides everything that can be decided now.
  void run(Bench& bench) {
    do {
      if (bench.has_news()) bench.wake_everyone();
      for (show_changes(bench); const quota_id x = turn_.best(bench.tree()); show_changes(bench)) {
        consider(bench, x);
      }
    } while (bench.has_news());
  }

 private:
  using record = typename Bench::record;

  /// Shows the tournament the best jobs and the usage of quotas as they are now.
  void show_changes(Bench& bench) {
    bench.take_touched([&](quota_id x) {
      if (const auto first = bench.first_of(x)) {
        const record& r = bench.at(*first);
        turn_.enter(bench.booked(), x, r.facts.request, r.rank);
      } else {
        turn_.leave(bench.booked(), x);
      }
    });
  }

  void consider(Bench& bench, quota_id x) {
    const job_id id = *bench.first_of(x);
    record& r = bench.at(id);
    const std::size_t first_eviction = bench.plan().evictions.size();
    const auto at = walk_flavors(
        bench, r, [&] { return room_for(bench, r); }, [&] { return make_room(bench, r); });
    if (!at) return bench.hold_first(x, gave_up_ ? hold_reason::not_proven : hold_reason::quota);
    bench.reserve(id, *at, first_eviction);
  }

  /// A place for the job as it is, when its quota allows it.
  [[nodiscard]] std::optional<typename Bench::place> room_for(Bench& bench, const record& r) {
    gave_up_ = false;
    if (!bench.booked().fits(r.facts.quota, r.facts.request, r.facts.in)) return std::nullopt;
    return bench.places().place(r.demand);
  }
  /// A place that others leave for it.
  [[nodiscard]] std::optional<typename Bench::place> make_room(Bench& bench, record& r) {
    if (!r.turns.left_in(bench.epoch())) return std::nullopt;
    const search_outcome outcome = bench.make_room(search_, r);
    gave_up_ = gave_up_ || outcome == search_outcome::not_proven;
    if (outcome != search_outcome::found) return std::nullopt;
    r.turns.take_in(bench.epoch());
    bench.evict_found(search_.victims(), r.facts.id);
    const auto at = bench.places().place(r.demand);
    ALLOT_ASSERT(at.has_value(), "the search found that there is a place");
    return at;
  }

  tournament<n, typename Policies::quota_order_type> turn_;
  victim_search<n, typename Policies::victim_order_type, typename Policies::guard_type> search_;
  bool gave_up_ = false;
};

}  // namespace v0
}  // namespace allot

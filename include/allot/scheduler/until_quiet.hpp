// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/fairshare/tournament.hpp>
#include <allot/preemption/search.hpp>
#include <allot/scheduler/flavor_walk.hpp>
#include <allot/scheduler/workbench.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

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
    std::sort(shown_.begin(), shown_.end());
    shown_.erase(std::unique(shown_.begin(), shown_.end()), shown_.end());
    for (const quota_id x : shown_) {
      if (const auto first = bench.first_of(x)) bench.list_hold(*first, hold_reason::quota);
    }
    shown_.clear();
  }

 private:
  using record = typename Bench::record;

  /// Shows the tournament the best jobs and the usage of quotas as they are now.
  void show_changes(Bench& bench) {
    bench.take_touched([&](quota_id x) {
      shown_.push_back(x);
      if (const auto first = bench.first_of(x)) {
        const record& r = bench.at(*first);
        turn_.enter(bench.booked(), x, r.facts.request, r.rank, prospects_of(bench, x, r));
      } else {
        turn_.leave(bench.booked(), x);
      }
    });
  }

  /// What the jobs of x that may be tried ask for at least, and whether one may make others yield: what can't
  /// be ruled out at a glance counts as hope.
  [[nodiscard]] prospects<n> prospects_of(Bench& bench, quota_id x, const record& first) const {
    auto p = prospects<n>::of_nobody();
    const queue_settings& settings = bench.settings(x);
    const bool first_only = settings.head == queue_head::strict;
    std::int32_t priority = first.facts.priority;
    if (first_only) {
      p.least = first.menu.empty() ? first.facts.request : resources<n>{};
    } else {
      bench.for_each_open_shape(x, [&](const auto& shape) {
        priority = std::max(priority, shape.priority);
        for (std::size_t d = 0; d < n; ++d) {
          p.least[d] = std::min(p.least[d], shape.menu.empty() ? shape.request[d] : quantity{});
        }
      });
    }
    const preempt_settings& may = settings.preempt;
    const auto running = bench.running().jobs_of(x);
    const bool within = may.within != preempt_within::never && !running.empty() &&
                        (may.within == preempt_within::lower_priority ? running.back().priority < priority
                                                                      : running.back().priority <= priority);
    const bool rivals = may.rivals != preempt_rivals::never || may.borrow != preempt_borrow::never;
    if (within || rivals || (may.children && !bench.tree().children(x).empty()))
      return {p.least, ~std::uint64_t{0}};
    if (may.reclaim == preempt_reclaim::never) return p;
    const ledger<n>& l = bench.booked();
    for (std::size_t d = 0; d < n; ++d) {
      if (p.least[d] <= l.supply_of(x, d).own_pool - l.own_usage(x, d)) p.hopes(d);
    }
    return p;
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
  /// The quotas that have changed in this step. Their first jobs are in the plan, tried or not.
  std::vector<quota_id> shown_;
  bool gave_up_ = false;
};

}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/scheduler/job_table.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace detail {

/// The order of KAI-Scheduler v0.13 within a queue: the key (priority, the highest first), jobs below their
/// minimum before those at it before those above it, the older first. Victims go by the reverse.
struct unit_rank {
  std::int64_t key = 0;
  std::uint8_t stage = 0;
  instant submitted = 0;
  std::uint64_t order = 0;
  /// Of the surplus pods of one job.
  std::uint32_t position = 0;

  friend constexpr auto operator<=>(const unit_rank&, const unit_rank&) noexcept = default;
  friend constexpr bool operator==(const unit_rank&, const unit_rank&) noexcept = default;
};

/// Who waits in each quota, and who could yield, in order; sorted anew when the quota has changed and
/// somebody asks.
template <class Bench>
class phases_lines {
 public:
  static constexpr std::size_t n = Bench::n;
  using record = typename Bench::record;

  struct waiting_unit {
    unit_rank rank;
    job_id id;
    resources<n> request;
  };
  struct running_unit {
    unit_rank rank;
    job_id id;
    /// The job it belongs to; the same as `id` but for surplus.
    job_id core;
    quota_id quota;
    bool surplus = false;
    std::uint32_t pods = 1;
    resources<n> request;
    /// What its job holds when its turn to yield comes: this unit and all that yield after it.
    resources<n> stands;
  };

  void reset(std::size_t slots) { lines_.assign(slots, line{}); }
  /// The quota has changed.
  void forget(quota_id x) {
    lines_[x.index()].waiting_is_old = true;
    lines_[x.index()].running_is_old = true;
  }

  /// Who waits in a leaf, the first to go in front; those pipelined since they were listed too.
  [[nodiscard]] std::vector<waiting_unit>& waiting(Bench& bench, quota_id x) {
    line& l = lines_[x.index()];
    if (std::exchange(l.waiting_is_old, false)) list_waiting(bench, x, l.waiting);
    return l.waiting;
  }
  /// Who could yield in a leaf, the first to yield in front.
  [[nodiscard]] std::span<const running_unit> running(Bench& bench, quota_id x) {
    line& l = lines_[x.index()];
    if (std::exchange(l.running_is_old, false)) list_running(bench, x, l.running);
    return l.running;
  }
  [[nodiscard]] waiting_unit unit_of(Bench& bench, const record& r) const {
    unit_rank rank{r.rank.key, 0, r.rank.submitted, r.rank.id, 0};
    if (r.facts.surplus) {
      const record& core = bench.at(r.facts.core);
      rank.stage = bench.running_pods(core) > core.facts.pods ? 2 : 1;
    }
    return {rank, r.facts.id, r.facts.request};
  }

  /// What waits in x, those pods of elastic jobs too that are no units yet.
  [[nodiscard]] static resources<n> asked(Bench& bench, quota_id x) {
    resources<n> sum;
    bench.for_each_waiting(x, [&](job_id id) {
      const record& r = bench.at(id);
      sum += r.facts.request;
      const std::uint32_t to_come = r.facts.surplus ? bench.at(r.facts.core).pods_to_come : r.pods_to_come;
      if (to_come == 0) return;
      if constexpr (requires { bench.view().request(r.what, to_come); }) {
        sum += resources<n>{bench.view().request(r.what, 1)} * to_come;
      }
    });
    return sum;
  }

 private:
  struct line {
    std::vector<waiting_unit> waiting;
    std::vector<running_unit> running;
    bool waiting_is_old = true;
    bool running_is_old = true;
  };
  void list_waiting(Bench& bench, quota_id x, std::vector<waiting_unit>& units) const {
    units.clear();
    bench.for_each_waiting(x, [&](job_id id) { units.push_back(unit_of(bench, bench.at(id))); });
    std::sort(units.begin(), units.end(),
              [](const waiting_unit& a, const waiting_unit& b) { return a.rank < b.rank; });
  }
  void list_running(Bench& bench, quota_id x, std::vector<running_unit>& units) const {
    units.clear();
    for (const running_job<n>& job : bench.running().jobs_of(x)) {
      const record& r = bench.at(job.id);
      running_unit u{{r.rank.key, 1, r.rank.submitted, r.rank.id, 0},
                     job.id,
                     job.id,
                     x,
                     false,
                     r.facts.pods,
                     r.facts.request,
                     r.facts.request};
      if (r.facts.surplus) {
        const record& core = bench.at(r.facts.core);
        u.core = r.facts.core;
        u.surplus = true;
        u.rank.stage = 2;
        u.stands = core.facts.request;
        for (const job_id s : core.surplus) {
          if (bench.at(s).state == job_state::running) {
            ++u.rank.position;
            u.stands += r.facts.request;
          }
          if (s == job.id) break;
        }
      }
      units.push_back(u);
    }
    std::sort(units.begin(), units.end(),
              [](const running_unit& a, const running_unit& b) { return b.rank < a.rank; });
  }

  std::vector<line> lines_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

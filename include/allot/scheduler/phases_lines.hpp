// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/scheduler/job_table.hpp>
#include <allot/scheduler/phases_unit.hpp>
#include <allot/scheduler/placement.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
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
/// In a line by rank, the first that does not stand before it.
template <class Line>
[[nodiscard]] auto first_from(Line& line, const unit_rank& rank) {
  return std::lower_bound(line.begin(), line.end(), rank,
                          [](const auto& u, const unit_rank& r) { return u.rank < r; });
}

/// Who waits in each quota, and who could yield, in order. Those who wait are kept by kind, each kind in
/// order, and only who comes and goes is looked at; those who could yield are sorted anew when the quota has
/// changed and somebody asks.
///
/// `phases_walk` goes through those who wait. While it does, others may come and go: it sees the lines as
/// they were at a `moment`, as long as nothing is swept.
template <class Bench>
class phases_lines {
 public:
  static constexpr std::size_t n = Bench::n;
  using record = typename Bench::record;
  /// Numbers the changes of the lines of who waits.
  using moment = std::uint64_t;

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
    /// On how many devices it stands that it may share; see `device_counting_placement`.
    std::uint64_t shared = 0;
  };
  /// The stay of a unit in its line. Stays are numbered as they begin.
  struct stay {
    unit_rank rank;
    job_id id;
    std::uint64_t number = 0;
    moment came = 0;
    moment left = std::numeric_limits<moment>::max();

    [[nodiscard]] bool was_there(moment then) const noexcept { return came <= then && then < left; }
  };
  /// Those of a quota who ask for the same and have the same chances, by rank.
  struct kind_line {
    std::uint32_t shape = 0;
    bool preemptible = true;
    bool surplus = false;
    unit_kind<n> kind;
    resources<n> request;
    std::vector<stay> stays{};
    /// How many of the stays are over; those before `first` are.
    std::size_t gone = 0;
    std::size_t first = 0;
    bool to_sweep = false;
    /// Counts the changes of `stays`.
    std::uint64_t version = 0;
  };

  void reset(Bench& bench) {
    lines_.assign(bench.tree().slots(), line{});
    where_.clear();
    runs_.clear();
    to_sweep_.clear();
    bench.follow_queues();
    bench.follow_running();
    for (const quota_id x : bench.tree().top_down()) {
      bench.for_each_waiting(x, [&](job_id id) { enter(bench, id); });
    }
  }
  /// The quota has changed.
  void forget(quota_id x) { lines_[x.index()].running.was_touched = lines_[x.index()].surplus_is_old = true; }
  /// Takes note of who has come and gone. With `sweep` those who are gone are forgotten now and then: nobody
  /// walks through a line.
  void follow(Bench& bench, bool sweep) {
    ++now_;
    bench.take_queue_news([&](const auto& news) {
      if (!news.begins) return leave(news.id, news.ticket);
      if (!bench.contains(news.id)) return;
      const record& r = bench.at(news.id);
      if (r.state == job_state::pending && r.ticket == news.ticket) enter(bench, news.id);
    });
    if (!sweep) return;
    for (const auto& [x, kind] : to_sweep_) this->sweep(lines_[x.index()].kinds[kind]);
    to_sweep_.clear();
  }
  [[nodiscard]] moment now() const noexcept { return now_; }

  /// The kinds of those who wait in x. Kinds are added at the end; surplus has the rank and the kind that it
  /// has by now.
  [[nodiscard]] std::span<const kind_line> kinds(Bench& bench, quota_id x) {
    line& l = lines_[x.index()];
    if (std::exchange(l.surplus_is_old, false)) renew_elastic(bench, x);
    return l.kinds;
  }
  /// The same without a look at what has changed.
  [[nodiscard]] std::span<const kind_line> kinds(quota_id x) const { return lines_[x.index()].kinds; }
  /// Who could yield in a leaf.
  struct running_line {
    /// The first to yield at the end.
    std::vector<running_unit> units{};
    /// What they hold together.
    resources<n> sum{};
    std::uint64_t shared = 0;
    bool has_surplus = false;
    /// Whether they have to be listed anew.
    bool is_old = true;
    bool was_touched = true;

    /// What the largest holds, by dimension.
    [[nodiscard]] const resources<n>& largest() const {
      if (!std::exchange(knows_largest, true)) {
        most = {};
        for (const running_unit& u : units) {
          for (std::size_t d = 0; d < n; ++d) most[d] = std::max(most[d], u.request[d]);
        }
      }
      return most;
    }
    mutable resources<n> most{};
    mutable bool knows_largest = false;
  };
  [[nodiscard]] const running_line& running(Bench& bench, quota_id x) {
    bench.take_running_changes([&](const auto& c) { follow_running(bench, c); });
    running_line& l = lines_[x.index()].running;
    // What surplus stands for depends on how much of it runs.
    if (l.is_old || ((l.has_surplus || bench.running().surplus_of(x) > 0) && l.was_touched)) {
      list_running(bench, x, l);
    }
    l.was_touched = false;
    return l;
  }
  [[nodiscard]] static unit_rank rank_of(Bench& bench, const record& r) {
    unit_rank rank{r.rank.key, 0, r.rank.submitted, r.rank.id, 0};
    if (r.facts.surplus) {
      const record& core = bench.at(r.facts.core);
      rank.stage = bench.running_pods(core) > core.facts.pods ? 2 : 1;
    }
    return rank;
  }
  [[nodiscard]] static waiting_unit unit_of(Bench& bench, const record& r) {
    return {rank_of(bench, r), r.facts.id, r.facts.request};
  }

  /// What waits in x, those pods of elastic jobs too that are no units yet. Precondition: followed.
  /// O(elastic jobs that wait).
  [[nodiscard]] resources<n> asked(Bench& bench, quota_id x) {
    resources<n> sum = bench.asked(x);
    if constexpr (requires(const record& r) { bench.view().request(r.what, 1U); }) {
      for (const job_id id : lines_[x.index()].elastic) {
        if (!is_here(bench, x, id)) continue;
        const record& r = bench.at(id);
        const std::uint32_t to_come = r.facts.surplus ? bench.at(r.facts.core).pods_to_come : r.pods_to_come;
        if (to_come > 0) sum += resources<n>{bench.view().request(r.what, 1)} * to_come;
      }
    }
    return sum;
  }

 private:
  struct line {
    std::vector<kind_line> kinds;
    /// Those who are surplus, or of whose jobs more pods may come; perhaps some who have left.
    std::vector<job_id> elastic;
    running_line running;
    bool surplus_is_old = true;
  };
  /// By job: the last of its stays.
  struct last_stay {
    std::uint64_t number = 0;
    std::uint32_t ticket = 0;
    bool gone = true;
    quota_id quota{};
    std::size_t kind = 0;
    unit_rank rank{};
  };

  [[nodiscard]] bool is_here(Bench& bench, quota_id x, job_id id) const {
    const last_stay& last = where_[id.index()];
    return !last.gone && last.quota == x && bench.contains(id) && bench.at(id).ticket == last.ticket &&
           bench.at(id).state == job_state::pending;
  }

  void enter(Bench& bench, job_id id) {
    const record& r = bench.at(id);
    line& l = lines_[r.facts.quota.index()];
    if (r.facts.surplus || r.pods_to_come > 0) {
      std::erase_if(l.elastic, [&](job_id e) { return e == id || !is_here(bench, r.facts.quota, e); });
      l.elastic.push_back(id);
    }
    enter(l, r, unit_kind<n>::of(bench, r), rank_of(bench, r));
  }
  void enter(line& l, const record& r, const unit_kind<n>& kind, const unit_rank& rank) {
    auto at = std::find_if(l.kinds.begin(), l.kinds.end(), [&](const kind_line& k) {
      return k.shape == r.shape && k.preemptible == r.preemptible && k.surplus == r.facts.surplus &&
             k.kind == kind && k.request == r.facts.request;
    });
    if (at == l.kinds.end()) {
      at = l.kinds.insert(at, kind_line{r.shape, r.preemptible, r.facts.surplus, kind, r.facts.request});
    }
    const stay s{rank, r.facts.id, ++stays_, now_};
    // Mostly the last.
    auto place = at->stays.end();
    if (!at->stays.empty() && s.rank < at->stays.back().rank) place = first_from(at->stays, s.rank);
    at->first = std::min(at->first, static_cast<std::size_t>(place - at->stays.begin()));
    at->stays.insert(place, s);
    ++at->version;
    if (where_.size() <= r.facts.id.index()) where_.resize(r.facts.id.index() + 1);
    where_[r.facts.id.index()] = {
        s.number, r.ticket, false, r.facts.quota, static_cast<std::size_t>(at - l.kinds.begin()), rank};
  }
  void leave(job_id id, std::uint32_t ticket) {
    if (where_.size() <= id.index()) return;
    last_stay& last = where_[id.index()];
    if (last.gone || last.ticket != ticket) return;
    last.gone = true;
    kind_line& k = lines_[last.quota.index()].kinds[last.kind];
    auto at = first_from(k.stays, last.rank);
    while (at->number != last.number) ++at;
    at->left = now_;
    ++k.gone;
    if (!std::exchange(k.to_sweep, true)) to_sweep_.push_back({last.quota, last.kind});
  }
  /// The rank of surplus depends on how many pods of its job run, and its kind on how many more there may be.
  void renew_elastic(Bench& bench, quota_id x) {
    line& l = lines_[x.index()];
    for (std::size_t i = 0; i < l.elastic.size(); ++i) {
      const job_id id = l.elastic[i];
      if (!is_here(bench, x, id)) continue;
      const record& r = bench.at(id);
      if (!r.facts.surplus) continue;
      const unit_rank rank = rank_of(bench, r);
      const auto kind = unit_kind<n>::of(bench, r);
      const last_stay& last = where_[id.index()];
      const kind_line& k = l.kinds[last.kind];
      const auto at = first_from(k.stays, rank);
      if (k.kind == kind && at != k.stays.end() && at->rank == rank && at->number == last.number) continue;
      leave(id, last.ticket);
      enter(l, r, kind, rank);
    }
  }
  void sweep(kind_line& k) {
    k.to_sweep = false;
    while (k.first < k.stays.size() && !k.stays[k.first].was_there(now_)) ++k.first;
    if (k.gone <= 16 || k.gone <= k.stays.size() / 2) return;
    std::erase_if(k.stays, [&](const stay& s) { return !s.was_there(now_); });
    k.gone = k.first = 0;
    ++k.version;
  }

  /// Of a unit in a line of those who could yield: where, and its rank.
  struct place_in_line {
    unit_rank rank;
    quota_id quota;
    bool there = false;
  };

  void follow_running(Bench& bench, const typename running_index<n>::change& c) {
    if (runs_.size() <= c.id.index()) runs_.resize(c.id.index() + 1);
    place_in_line& at = runs_[c.id.index()];
    if (at.there) {
      running_line& l = lines_[at.quota.index()].running;
      at.there = false;
      if (!l.is_old) {
        const auto unit = first_from(l.units, at.rank);
        if (l.has_surplus || unit == l.units.end() || unit->id != c.id) {
          l.is_old = true;
        } else {
          for (std::size_t d = 0; d < n; ++d) {
            if (unit->request[d] == l.most[d]) l.knows_largest = false;
          }
          l.sum -= unit->request;
          l.shared -= unit->shared;
          l.units.erase(unit);
        }
      }
    }
    running_line& l = lines_[c.quota.index()].running;
    if (!c.comes || l.is_old) return;
    if (l.has_surplus || !bench.contains(c.id)) {
      l.is_old = l.is_old || l.has_surplus;
      return;
    }
    const record& r = bench.at(c.id);
    if (r.state != job_state::running || r.facts.quota != c.quota) return;
    if (r.facts.surplus) {
      l.is_old = true;
      return;
    }
    const running_unit u = whole_unit(bench, r);
    l.units.insert(first_from(l.units, u.rank), u);
    count(l, u);
    at = {u.rank, c.quota, true};
  }
  static void count(running_line& l, const running_unit& u) {
    l.sum += u.request;
    l.shared += u.shared;
    for (std::size_t d = 0; d < n; ++d) l.most[d] = std::max(l.most[d], u.request[d]);
  }
  [[nodiscard]] static running_unit whole_unit(Bench& bench, const record& r) {
    running_unit u{{r.rank.key, 1, r.rank.submitted, r.rank.id, 0},
                   r.facts.id,
                   r.facts.id,
                   r.facts.quota,
                   false,
                   r.facts.pods,
                   r.facts.request,
                   r.facts.request};
    if constexpr (device_counting_placement<std::remove_cvref_t<decltype(bench.places())>>) {
      u.shared = bench.places().devices_of(r.demand).shared;
    }
    return u;
  }
  void list_running(Bench& bench, quota_id x, running_line& l) {
    for (const running_unit& u : l.units) {
      // Its id may be that of somebody else by now.
      if (runs_[u.id.index()].quota == x) runs_[u.id.index()].there = false;
    }
    l = {};
    l.is_old = false;
    for (const running_job<n>& job : bench.running().jobs_of(x)) {
      const record& r = bench.at(job.id);
      running_unit u = whole_unit(bench, r);
      if (r.facts.surplus) {
        const record& core = bench.at(r.facts.core);
        l.has_surplus = true;
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
      l.units.push_back(u);
      count(l, u);
      if (runs_.size() <= u.id.index()) runs_.resize(u.id.index() + 1);
      runs_[u.id.index()] = {u.rank, x, true};
    }
    l.knows_largest = true;
    std::sort(l.units.begin(), l.units.end(),
              [](const running_unit& a, const running_unit& b) { return a.rank < b.rank; });
  }

  std::vector<line> lines_;
  std::vector<last_stay> where_;
  /// By job.
  std::vector<place_in_line> runs_;
  std::vector<std::pair<quota_id, std::size_t>> to_sweep_;
  std::uint64_t stays_ = 0;
  moment now_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/running_index.hpp>
#include <allot/scheduler/session.hpp>
#include <allot/systems/kai/detail/by_job.hpp>
#include <allot/systems/kai/detail/node_placement.hpp>
#include <allot/systems/kai/detail/unit_id.hpp>
#include <allot/systems/kai/detail/unit_order.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// The potential victims in each quota, in order. A line follows starts and stops; one with elastic pods,
/// whose order depends on how many run, is sorted again when queried after its quota has changed.
template <class Session>
class running_pods {
 public:
  static constexpr std::size_t n = Session::n;
  using record = typename Session::record;
  using on_nodes = node_placement<typename Session::placement_type>;

  using footing = typename on_nodes::footing;

  struct running_unit {
    unit_rank rank;
    unit_id id;
    /// The job it belongs to; the same as `id` except for an elastic pod.
    job_id core;
    quota_id quota;
    bool elastic = false;
    std::uint32_t pods = 1;
    resources<n> request;
    /// How much of it KAI counts as allocated to its job: nothing of a pipelined pod, nor of what is charged
    /// by its place.
    resources<n> holds;
    /// What its job holds when this unit is considered: the unit itself and all considered after it.
    resources<n> stands;
    /// How many shareable devices it runs on; see `node_placement`.
    std::uint64_t shared = 0;
  };

  void reset(Session& session) {
    lines_.assign(session.tree().slots(), running_line{});
    runs_.clear();
    session.books().running().follow();
  }
  /// Takes note of started and stopped jobs. Changes accumulate until then, so call it from time to time even
  /// if no line is queried.
  void follow(Session& session) {
    session.books().running().take_changes([&](const auto& c) { note(session, c); });
  }
  /// The quota has changed.
  void forget(quota_id x) { lines_[x.index()].was_touched = true; }
  /// Whether a unit that is charged by its place has ever run.
  [[nodiscard]] bool charges_places() const noexcept { return charges_places_; }

  struct running_line {
    /// The first to be considered is at the end.
    vector<running_unit> units{};
    /// What they hold in total.
    resources<n> sum{};
    std::uint64_t shared = 0;
    /// How each stands, as `node_placement::might_gain` wants it, in the same order; of how many that does
    /// not say enough; and by dimension, how many request less than their devices.
    vector<footing> footings{};
    bool knows_footings = false;
    std::size_t odd = 0;
    std::array<std::size_t, n> light{};
    bool has_elastic_pods = false;
    /// Whether they must be listed again.
    bool is_old = true;
    bool was_touched = true;

    /// The most that one unit holds, by dimension.
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
  /// The potential victims in a leaf. Valid until a job starts or stops.
  [[nodiscard]] const running_line& line(Session& session, quota_id x) {
    follow(session);
    running_line& l = lines_[x.index()];
    // `stands` of an elastic pod depends on how many of them run.
    if (l.is_old ||
        ((l.has_elastic_pods || session.books().running().elastic_count(x) > 0) && l.was_touched)) {
      list_running(session, x, l);
    }
    l.was_touched = false;
    return l;
  }
  /// The same, and how its units stand. O(units) the first time and after it was listed again.
  [[nodiscard]] const running_line& with_footings(Session& session, quota_id x) {
    static_cast<void>(line(session, x));
    running_line& l = lines_[x.index()];
    if (std::exchange(l.knows_footings, true)) return l;
    l.footings.reserve(l.units.size());
    for (const running_unit& u : l.units) {
      l.footings.push_back(footing_of(session, session.jobs().at(u.id.job())));
      count(l, u, l.footings.back(), 1);
    }
    return l;
  }
  /// A copy of a line, to add pipelined units to.
  static void copy(const running_line& from, running_line& to) {
    to.units = from.units;
    to.sum = from.sum;
    to.shared = from.shared;
    to.most = from.largest();
    to.knows_largest = true;
    to.has_elastic_pods = from.has_elastic_pods;
  }
  /// Adds a pipelined unit, which is active like a running one, to such a copy, in order. Only `running` of
  /// its pods still run where they were.
  static void add_pipelined(Session& session, const record& r, std::uint32_t running, running_line& line) {
    vector<running_unit>& units = line.units;
    running_unit u = unit_of(session, r);
    if (running == 0) u.holds = {};
    if (running > 0 && running < u.pods) u.holds = request_of_pods(r, running);
    if (u.elastic) {
      u.rank.position = 1;
      for (const running_unit& other : units) {
        if (other.elastic && other.core == u.core) ++u.rank.position;
      }
    }
    u.stands = u.holds;
    units.insert(first_from(units, u.rank), u);
    count(line, u);
    line.has_elastic_pods = line.has_elastic_pods || u.elastic;
    if (!line.has_elastic_pods) return;
    resources<n> stands;
    for (running_unit& each : units) {
      if (each.core == u.core) each.stands = stands += each.holds;
    }
  }

 private:
  /// The quota and rank of a unit in a line.
  struct place_in_line {
    unit_rank rank;
    quota_id quota;
    bool there = false;
  };

  void note(Session& session, const typename running_index<n>::change& c) {
    if (c.comes && session.jobs().contains(c.id) && is_charged_by_place(session, session.jobs().at(c.id)))
      charges_places_ = true;
    place_in_line& at = runs_[c.id];
    if (at.there) {
      running_line& l = lines_[at.quota.index()];
      at.there = false;
      if (!l.is_old) {
        const auto unit = first_from(l.units, at.rank);
        if (l.has_elastic_pods || unit == l.units.end() || unit->id != c.id) {
          l.is_old = true;
        } else {
          for (std::size_t d = 0; d < n; ++d) {
            if (unit->request[d] == l.most[d]) l.knows_largest = false;
          }
          l.sum -= unit->request;
          l.shared -= unit->shared;
          if (l.knows_footings) {
            const auto stood = l.footings.begin() + (unit - l.units.begin());
            count(l, *unit, *stood, -1);
            l.footings.erase(stood);
          }
          l.units.erase(unit);
        }
      }
    }
    running_line& l = lines_[c.quota.index()];
    if (!c.comes || l.is_old) return;
    if (l.has_elastic_pods || !session.jobs().contains(c.id)) {
      l.is_old = l.is_old || l.has_elastic_pods;
      return;
    }
    const record& r = session.jobs().at(c.id);
    if (r.state != job_state::running || r.facts.quota != c.quota) return;
    if (r.facts.elastic) {
      l.is_old = true;
      return;
    }
    const running_unit u = unit_of(session, r);
    const auto before = first_from(l.units, u.rank);
    if (l.knows_footings) {
      const footing stands = footing_of(session, r);
      l.footings.insert(l.footings.begin() + (before - l.units.begin()), stands);
      count(l, u, stands, 1);
    }
    l.units.insert(before, u);
    count(l, u);
    at = {u.rank, c.quota, true};
  }
  /// A unit whose part may yield alone, or that is charged by its place, is odd, too.
  [[nodiscard]] static footing footing_of(Session& session, const record& r) {
    footing f = on_nodes::footing_of(session.books().places, r.pod_request, r.where);
    f.odd = f.odd || r.facts.elastic || r.pods_to_come > 0 || !r.elastic_pods.empty() ||
            r.facts.in == capacity_kind::guaranteed || is_charged_by_place(session, r);
    return f;
  }
  static void count(running_line& l, const running_unit& u, const footing& f, int sign) {
    const auto step = static_cast<std::size_t>(sign);
    if (f.odd) l.odd += step;
    for (std::size_t d = 0; d < n; ++d) {
      if (u.request[d].in_milli() < std::int64_t{f.all} * 1000) l.light[d] += step;
    }
  }
  static void count(running_line& l, const running_unit& u) {
    l.sum += u.request;
    l.shared += u.shared;
    for (std::size_t d = 0; d < n; ++d) l.most[d] = std::max(l.most[d], u.request[d]);
  }
  [[nodiscard]] static resources<n> held_by(const Session& session, const record& r) {
    return is_charged_by_place(session, r) ? resources<n>{} : r.facts.request;
  }
  /// An elastic pod stands on what its job has without any.
  [[nodiscard]] static running_unit unit_of(Session& session, const record& r) {
    running_unit u{unit_rank::of(r, 1), unit_id::of(r),      r.facts.id,
                   r.facts.quota,       r.facts.elastic,     r.facts.pods,
                   r.facts.request,     held_by(session, r), held_by(session, r)};
    if (u.elastic) {
      u.core = r.facts.core;
      u.rank.stage = 2;
      u.stands = held_by(session, session.jobs().at(u.core));
    }
    u.shared = on_nodes::shared_devices(session.books().places, r.pod_request);
    return u;
  }
  void list_running(Session& session, quota_id x, running_line& l) {
    for (const running_unit& u : l.units) {
      // Its id may have been reused.
      if (place_in_line& at = runs_[u.id.job()]; at.quota == x) at.there = false;
    }
    l = {};
    l.is_old = false;
    for (const running_job<n>& job : session.books().running().jobs_of(x)) {
      const record& r = session.jobs().at(job.id);
      running_unit u = unit_of(session, r);
      if (u.elastic) {
        l.has_elastic_pods = true;
        for (const job_id s : session.jobs().at(u.core).elastic_pods) {
          if (session.jobs().at(s).state == job_state::running) {
            ++u.rank.position;
            u.stands += u.holds;
          }
          if (s == job.id) break;
        }
      }
      l.units.push_back(u);
      count(l, u);
      runs_[job.id] = {u.rank, x, true};
    }
    l.knows_largest = true;
    detail::sort(l.units.begin(), l.units.end(),
                 [](const running_unit& a, const running_unit& b) { return a.rank < b.rank; });
  }

  vector<running_line> lines_;
  /// By job.
  by_job<place_in_line> runs_;
  bool charges_places_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/pod_counts.hpp>
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

/// The potential victims in each quota, in order. They follow starts and stops; with elastic pods,
/// their order depends on how many run, and they are sorted again when queried after its quota has changed.
template <class Session>
class running_pods {
 public:
  static constexpr std::size_t n = Session::n;
  using record = typename Session::record;
  using on_nodes = node_placement<typename Session::placement_type>;

  using node_share = typename on_nodes::node_share;

  struct running_unit {
    unit_rank rank;
    unit_id id;
    /// The job it belongs to; the same as `id` except for an elastic pod.
    job_id core;
    quota_id quota;
    bool elastic = false;
    /// Of an elastic pod beside unlike ones.
    std::uint8_t set = 0;
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

  /// The session may have moved since the last call of the scheduler.
  void bind(Session& session) noexcept { session_ = &session; }

  void reset() {
    victims_.assign(session_->tree().slots(), victims{});
    runs_.clear();
    session_->books().running().follow();
  }
  /// Takes note of started and stopped jobs. Changes accumulate until then, so call it from time to time even
  /// if no quota is queried.
  void follow() {
    session_->books().running().take_changes([&](const auto& c) { note(c); });
  }
  /// The quota has changed.
  void forget(quota_id x) { victims_[x.index()].was_touched = true; }
  /// Whether a unit that is charged by its place has ever run.
  [[nodiscard]] bool charges_places() const noexcept { return charges_places_; }

  struct victims {
    /// The first to be considered is at the end.
    vector<running_unit> units{};
    /// What they hold in total.
    resources<n> sum{};
    std::uint64_t shared = 0;
    /// How each stands, as `node_placement::might_gain` wants it, in the same order; of how many that does
    /// not say enough; and by dimension, how many request less than their devices.
    vector<node_share> node_shares{};
    bool knows_node_shares = false;
    std::size_t unknown = 0;
    std::array<std::size_t, n> underweight{};
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
  [[nodiscard]] const victims& of(quota_id x) {
    follow();
    victims& v = victims_[x.index()];
    // `stands` of an elastic pod depends on how many of them run.
    if (v.is_old ||
        ((v.has_elastic_pods || session_->books().running().elastic_count(x) > 0) && v.was_touched)) {
      list_running(x, v);
    }
    v.was_touched = false;
    return v;
  }
  /// The same, and how its units stand. O(units) the first time and after it was listed again.
  [[nodiscard]] const victims& with_node_shares(quota_id x) {
    static_cast<void>(of(x));
    victims& v = victims_[x.index()];
    if (std::exchange(v.knows_node_shares, true)) return v;
    v.node_shares.reserve(v.units.size());
    for (const running_unit& u : v.units) {
      v.node_shares.push_back(node_share_of(session_->jobs().at(u.id.job())));
      count(v, u, v.node_shares.back(), 1);
    }
    return v;
  }
  /// A copy of them, to add pipelined units to.
  static void copy(const victims& from, victims& to) {
    to.units = from.units;
    to.sum = from.sum;
    to.shared = from.shared;
    to.most = from.largest();
    to.knows_largest = true;
    to.has_elastic_pods = from.has_elastic_pods;
  }
  /// Adds a pipelined unit, which is active like a running one, to such a copy, in order. Only `running` of
  /// its pods still run where they were, those not in the set `gone`.
  void add_pipelined(const record& r, std::uint32_t running, std::uint64_t gone, victims& all) {
    vector<running_unit>& units = all.units;
    running_unit u = unit_of(r);
    if (running == 0) u.holds = {};
    if (running > 0 && running < u.pods) {
      u.holds = r.has_unlike_pods ? request_of_unlike(r, ~gone) : request_of_pods(r, running);
    }
    if (u.elastic) {
      u.rank.position = 1;
      for (const running_unit& other : units) {
        if (other.elastic && other.core == u.core) ++u.rank.position;
      }
    }
    u.stands = u.holds;
    units.insert(first_from(units, u.rank), u);
    count(all, u);
    all.has_elastic_pods = all.has_elastic_pods || u.elastic;
    if (!all.has_elastic_pods) return;
    if (u.elastic && r.has_unlike_pods && session_->jobs().contains(u.core)) {
      arrange(units, session_->jobs().at(u.core));
      detail::sort(units.begin(), units.end(),
                   [](const running_unit& a, const running_unit& b) { return a.rank < b.rank; });
    }
    resources<n> stands;
    for (running_unit& each : units) {
      if (each.core == u.core) each.stands = stands += each.holds;
    }
  }

 private:
  /// The quota and rank of a unit among the victims.
  struct place_in_order {
    unit_rank rank;
    quota_id quota;
    bool there = false;
  };

  void note(const typename running_index<n>::change& c) {
    if (c.comes && session_->jobs().contains(c.id) &&
        is_charged_by_place(*session_, session_->jobs().at(c.id)))
      charges_places_ = true;
    place_in_order& at = runs_[c.id];
    if (at.there) {
      victims& v = victims_[at.quota.index()];
      at.there = false;
      if (!v.is_old) {
        const auto unit = first_from(v.units, at.rank);
        if (v.has_elastic_pods || unit == v.units.end() || unit->id != c.id) {
          v.is_old = true;
        } else {
          for (std::size_t d = 0; d < n; ++d) {
            if (unit->request[d] == v.most[d]) v.knows_largest = false;
          }
          v.sum -= unit->request;
          v.shared -= unit->shared;
          if (v.knows_node_shares) {
            const auto stood = v.node_shares.begin() + (unit - v.units.begin());
            count(v, *unit, *stood, -1);
            v.node_shares.erase(stood);
          }
          v.units.erase(unit);
        }
      }
    }
    victims& v = victims_[c.quota.index()];
    if (!c.comes || v.is_old) return;
    if (v.has_elastic_pods || !session_->jobs().contains(c.id)) {
      v.is_old = v.is_old || v.has_elastic_pods;
      return;
    }
    const record& r = session_->jobs().at(c.id);
    if (r.state != job_state::running || r.facts.quota != c.quota) return;
    if (r.facts.elastic) {
      v.is_old = true;
      return;
    }
    const running_unit u = unit_of(r);
    const auto before = first_from(v.units, u.rank);
    if (v.knows_node_shares) {
      const node_share stands = node_share_of(r);
      v.node_shares.insert(v.node_shares.begin() + (before - v.units.begin()), stands);
      count(v, u, stands, 1);
    }
    v.units.insert(before, u);
    count(v, u);
    at = {u.rank, c.quota, true};
  }
  /// A unit whose part may yield alone, or that is charged by its place, is odd, too.
  [[nodiscard]] node_share node_share_of(const record& r) const {
    node_share f = on_nodes{session_->books().places}.node_share_of(r.pod_request, r.where);
    f.unknown = f.unknown || r.facts.elastic || r.pods_to_come > 0 || !r.elastic_pods.empty() ||
                r.facts.in == capacity_kind::guaranteed || is_charged_by_place(*session_, r);
    return f;
  }
  static void count(victims& v, const running_unit& u, const node_share& f, int sign) {
    const auto step = static_cast<std::size_t>(sign);
    if (f.unknown) v.unknown += step;
    for (std::size_t d = 0; d < n; ++d) {
      if (u.request[d].in_milli() < std::int64_t{f.all} * 1000) v.underweight[d] += step;
    }
  }
  static void count(victims& v, const running_unit& u) {
    v.sum += u.request;
    v.shared += u.shared;
    for (std::size_t d = 0; d < n; ++d) v.most[d] = std::max(v.most[d], u.request[d]);
  }
  [[nodiscard]] resources<n> held_by(const record& r) const {
    return is_charged_by_place(*session_, r) ? resources<n>{} : r.facts.request;
  }
  /// An elastic pod stands on what its job has without any.
  [[nodiscard]] running_unit unit_of(const record& r) const {
    running_unit u{unit_rank::of(r, 1), unit_id::of(r),  r.facts.id, r.facts.quota, r.facts.elastic, r.set,
                   r.facts.pods,        r.facts.request, held_by(r), held_by(r)};
    if (u.elastic) {
      u.core = r.facts.core;
      u.rank.stage = 2;
      u.stands = held_by(session_->jobs().at(u.core));
    }
    u.shared = on_nodes{session_->books().places}.shared_devices(r.pod_request);
    return u;
  }
  /// What these of the first 64 pods of a job whose pods differ request.
  [[nodiscard]] resources<n> request_of_unlike(const record& core, std::uint64_t pods) const {
    using shown = view_or_default<typename Session::view_type>;
    const pods_by_set has = shown::by_set(session_->view(), core.what, core.facts.pods);
    resources<n> sum;
    std::uint32_t i = 0;
    for (std::size_t s = 0; s < has.size(); ++s) {
      std::uint32_t some = 0;
      for (std::uint32_t left = has[s]; left > 0 && i < 64; --left, ++i) some += pods >> i & 1U;
      if (some > 0) sum += session_->jobs().request_of_pod(core, s) * some;
    }
    return sum;
  }
  void list_running(quota_id x, victims& v) {
    for (const running_unit& u : v.units) {
      // Its id may have been reused.
      if (place_in_order& at = runs_[u.id.job()]; at.quota == x) at.there = false;
    }
    v = {};
    v.is_old = false;
    for (const running_job<n>& job : session_->books().running().jobs_of(x)) {
      const record& r = session_->jobs().at(job.id);
      running_unit u = unit_of(r);
      if (u.elastic) {
        v.has_elastic_pods = true;
        for (const job_id s : session_->jobs().at(u.core).elastic_pods) {
          if (session_->jobs().at(s).state == job_state::running) {
            ++u.rank.position;
            u.stands += u.holds;
          }
          if (s == job.id) break;
        }
      }
      v.units.push_back(u);
      count(v, u);
      runs_[job.id] = {u.rank, x, true};
    }
    v.knows_largest = true;
    if (v.has_elastic_pods) {
      for (const running_unit& u : v.units) {
        if (!u.elastic || u.rank.position != 1 || !session_->jobs().at(u.core).has_unlike_pods) continue;
        arrange(v.units, session_->jobs().at(u.core));
      }
      for (const running_unit& u : v.units) runs_[u.id.job()].rank = u.rank;
    }
    detail::sort(v.units.begin(), v.units.end(),
                 [](const running_unit& a, const running_unit& b) { return a.rank < b.rank; });
  }

  /// Of a job whose pods differ, puts the elastic pods, which have the positions in which they came, in the
  /// order in which they may stay: the last to go first, each set's in the order in which they came.
  void arrange([[maybe_unused]] vector<running_unit>& units, [[maybe_unused]] const record& core) {
    if constexpr (pod_set_view<typename Session::view_type>) {
      using shown = view_or_default<typename Session::view_type>;
      const auto least = [&](std::size_t s) { return shown::pods(session_->view(), core.what, s).least; };
      const std::size_t sets = shown::sets(session_->view(), core.what);
      arranged_.clear();
      pods_by_set has{};
      for (std::size_t s = 0; s < sets; ++s) has[s] = least(s);
      for (std::size_t i = 0; i < units.size(); ++i) {
        if (!units[i].elastic || units[i].core != core.facts.id) continue;
        arranged_.push_back(i);
        ++has[units[i].set];
      }
      detail::sort(arranged_.begin(), arranged_.end(), [&](std::size_t a, std::size_t b) {
        return units[a].rank.position < units[b].rank.position;
      });
      for (std::size_t left = arranged_.size(); left > 0; --left) {
        const std::size_t set = first_to_shrink(sets, least, has);
        // The view may have changed.
        std::size_t i = left - 1;
        while (i > 0 && units[arranged_[i]].set != set) --i;
        --has[units[arranged_[i]].set];
        std::rotate(arranged_.begin() + static_cast<std::ptrdiff_t>(i),
                    arranged_.begin() + static_cast<std::ptrdiff_t>(i + 1),
                    arranged_.begin() + static_cast<std::ptrdiff_t>(left));
      }
      resources<n> stands = held_by(core);
      std::uint32_t position = 0;
      for (const std::size_t i : arranged_) {
        units[i].rank.position = ++position;
        units[i].stands = stands += units[i].holds;
      }
    }
  }

  Session* session_ = nullptr;
  vector<victims> victims_;
  vector<std::size_t> arranged_;
  /// By job.
  by_job<place_in_order> runs_;
  bool charges_places_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/session.hpp>
#include <allot/scheduler/view.hpp>
#include <allot/systems/kai/detail/node_placement.hpp>
#include <allot/systems/kai/detail/pipelined_units.hpp>
#include <allot/systems/kai/detail/unit_id.hpp>
#include <allot/systems/kai/detail/unit_order.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace allot {
inline namespace v0 {
namespace detail {

template <class Session>
class cycle_state;

/// What the cycle knows of places, and finds among them: what is left, by nodes and by sums, with pipelined
/// units where they wait; in a search, only on its candidates; in a trial, as it goes.
template <class Session>
class cycle_places {
 public:
  static constexpr std::size_t n = Session::n;
  using record = typename Session::record;
  using place = typename Session::place;
  using pod_request = typename Session::pod_request;
  using on_nodes = node_placement<typename Session::placement_type>;
  using unit = typename pipelined_units<Session>::unit;

  static constexpr bool knows_capacity = capacity_view<typename Session::view_type>;

  void bind(Session& session, cycle_state<Session>& state) noexcept { session_ = &session, state_ = &state; }
  /// Begins a cycle. If it `counts`, nodes that know what is left are asked only where the sums allow it.
  void begin_cycle(bool counts) {
    leaving_ = {};
    without_place_ = {};
    for (const job_id id : session_->jobs().evicting()) leaving_ += session_->jobs().at(id).facts.request;
    has_nodes_ = placement_or_default::has_nodes(session_->books().places);
    is_bounded_ = knows_room() && (!has_nodes_ || (counts && !state_->running.charges_places()));
  }
  [[nodiscard]] bool has_nodes() const noexcept { return has_nodes_; }
  /// KAI's rules on these nodes.
  [[nodiscard]] on_nodes rules() const { return on_nodes{session_->books().places}; }
  /// A job that holds so much is being evicted.
  void leaves(const resources<n>& request) { leaving_ += request; }
  /// A unit was pipelined there.
  void takes(const std::optional<place>& where, const resources<n>& request) {
    if (where) state_->statement.keep(*where);
    if (has_nodes_ && !where) without_place_ += request;
  }
  /// The unit may be decided on now. What it is charged by its place may be more than what it takes there: so
  /// the nodes alone know what is left.
  void expect(const record& r) {
    if (has_nodes_ && is_charged_by_place(*session_, r)) is_bounded_ = false;
  }
  /// Whether there is enough of everything, regardless of nodes.
  [[nodiscard]] bool has_room(const resources<n>& request) const {
    return fits_in([&](std::size_t d) { return state_->accounts.total(d); }, request);
  }
  /// The same after more has been taken.
  [[nodiscard]] bool has_room(const resources<n>& request, const resources<n>& more) const {
    return fits_in([&](std::size_t d) { return state_->accounts.total(d) + more[d]; }, request);
  }
  /// What is left by what is charged: jobs are moved for no job that requests more (KAI v0.13).
  [[nodiscard]] resources<n> room_as_charged() const {
    return knows_room() ? state_->accounts.capacity() - state_->accounts.total()
                        : resources<n>{quantity::unlimited()};
  }
  /// The most that may be left.
  [[nodiscard]] resources<n> room() const {
    return is_bounded_ ? room_as_charged() : resources<n>{quantity::unlimited()};
  }
  /// The same, and what units that were pipelined without a place do not take.
  [[nodiscard]] resources<n> most_room() const { return room() + without_place_; }
  /// A place where it can start at once if there is one; for pods that are pipelined, wherever they could.
  [[nodiscard]] std::optional<place> find_place(const pod_request& r, const resources<n>& request,
                                                bool waits = false) {
    if (!has_room(request)) return std::nullopt;
    return rules().place(r, waits, no_candidates_);
  }
  /// Determines which nodes are no candidates for the victims and the beneficiary of a search that begins:
  /// see `node_placement`. Only nodes for which units wait can be such, and only `with_fractions`
  /// does it matter. O(their pods x devices).
  void begin_search(bool with_fractions) {
    never_.clear();
    if (!with_fractions) return;
    waits_on_.clear();
    for (const unit& p : state_->pipelined.all()) {
      if (p.where && !p.is_undone) state_->add_nodes_at(*p.where, waits_on_);
    }
    state_->sort_once(waits_on_);
    for (const std::size_t node : waits_on_) {
      if (!rules().is_candidate(node)) never_.push_back(node);
    }
  }
  /// Whether it is a fraction that waits alone on its device, so that a search may strand it: see
  /// `undo_search`. O(units that are pipelined).
  [[nodiscard]] bool may_be_stranded(unit_id id) const {
    const unit* const p = state_->pipelined.find(id);
    return p != nullptr && p->where && (p->is_stranded || rules().is_alone(*p->where));
  }
  /// The same of any unit.
  [[nodiscard]] bool may_strand() const {
    return state_->pipelined.any_of([&](const unit& p) { return p.where && rules().is_alone(*p.where); });
  }
  /// A search is undone in which the unit was evicted, and if it moved, got a place on these nodes. A
  /// fraction that waits alone on its device is stranded if it was to get another one of the same node (as in
  /// KAI v0.13, until the end of the cycle): evicting it again frees no device, and each time that is undone,
  /// its node loses one.
  void undo_search(unit_id id, std::span<const std::size_t> moved_to) {
    for (unit& p : state_->pipelined.all()) {
      if (p.id != id || p.is_undone || !p.where) continue;
      if (p.is_stranded) {
        rules().fill_unused(state_->at(id).pod_request, *p.where, lost_);
        for (const place& at : lost_) state_->statement.keep(at);
        lost_.clear();
      } else if (!moved_to.empty() && rules().is_alone(*p.where)) {
        waits_on_.clear();
        state_->add_nodes_at(*p.where, waits_on_);
        p.is_stranded = waits_on_.front() == moved_to.front();
      }
    }
  }
  /// The unit leaves its place, in a trial.
  void leave(const record& r) {
    const unit* const p = state_->pipelined.find(unit_id::of(r));
    if (p == nullptr) {
      session_->books().places.vacate(r.where);
    } else if (p->where && !p->is_stranded) {
      session_->books().places.vacate(*p->where);
    }
  }
  /// From now on, until `end_trial`, only candidates are considered. Those with victims have to be added.
  void begin_trial() { no_candidates_ = never_; }
  void add_candidates_of(const record& victim) {
    if (no_candidates_.empty()) return;
    waits_on_.clear();
    state_->add_nodes_of(victim, waits_on_);
    erase_if(no_candidates_, [&](std::size_t node) {
      return detail::find(waits_on_.begin(), waits_on_.end(), node) != waits_on_.end();
    });
  }
  void end_trial() {
    no_candidates_.clear();
    overbooked_ = {};
  }
  /// The same if the limits of its quotas allow what it is charged there.
  [[nodiscard]] std::optional<place> find_allowed_place(const record& r, const resources<n>& least) {
    const std::optional<place> where = find_place(r.pod_request, least);
    if (!where || !is_charged_by_place(*session_, r)) return where;
    const resources<n> charge = state_->charge_at(r, r.facts.request, where);
    if (state_->accounts.within_limits(r.facts.quota, charge, r.facts.in)) return where;
    session_->books().places.release(*where);
    return std::nullopt;
  }
  /// A place for a unit that is pipelined, on the given nodes if any: they had room for its pods.
  [[nodiscard]] std::optional<place> take_place_to_wait(const record& r, std::span<const std::size_t> nodes) {
    if (!nodes.empty()) {
      if (const auto at = rules().place_to_wait_on(r.pod_request, nodes)) return at;
    }
    return find_place(r.pod_request, state_->least_charge(r, r.facts.request), true);
  }
  /// A unit placed for an immediate start has to wait: its alternative stays available to others.
  [[nodiscard]] std::optional<place> wait_there(const record& r, const place& where) {
    if (!rules().knows_nodes()) return where;
    waits_on_.clear();
    state_->add_nodes_at(where, waits_on_);
    session_->books().places.release(where);
    return take_place_to_wait(r, waits_on_);
  }
  /// Where an evicted unit would be placed again.
  struct way_back {
    /// Its place, unless its pods are placed one by one.
    std::optional<place> at;
    /// How many of its pods would then have moved.
    std::uint32_t moved = 0;
  };
  /// Places an evicted unit again, in a trial; `nodes` receives the nodes of its pods.
  [[nodiscard]] std::optional<way_back> find_place_back(const record& r, vector<std::size_t>& nodes) {
    const resources<n> least = state_->least_charge(r, r.facts.request);
    const std::optional<place> stood = state_->place_of(r);
    const auto moved = stood && state_->pipelined.stands(unit_id::of(r)) ? state_->evicted.of(r) : 0;
    const bool moves_again = moved != 0 && rules().is_of_whole_pods(r.pod_request);
    // Several pods that were told to move may be given the same place.
    if (!has_room(moves_again ? request_of_pods(r, 1) : least)) return std::nullopt;
    way_back way;
    if (stood) {
      if (moves_again) {
        const auto back = rules().place_moved(r.pod_request, *stood, r.where, moved, no_candidates_, nodes);
        if (!back) return std::nullopt;
        if (back->without_place != 0) overbooked_ += request_of_pods(r, back->without_place);
        return way_back{{}, back->moved};
      }
      const auto at = rules().place_back(r.pod_request, *stood, no_candidates_);
      if (!at) return std::nullopt;
      way = {at->at, at->moved};
    } else {
      way.at = find_place(r.pod_request, least, true);
      if (!way.at) return std::nullopt;
    }
    state_->add_nodes_at(*way.at, nodes);
    return way;
  }
  /// Whether no job being evicted still holds the place or its capacity.
  [[nodiscard]] bool is_free_now(const place& where, const resources<n>& request) const {
    const auto for_each_waiting = [&](const auto& visit) {
      for (const unit& p : state_->pipelined.all()) {
        if (p.where && !p.is_undone) visit(*p.where);
      }
    };
    if (!rules().is_ready(where, for_each_waiting)) return false;
    resources<n> waiting;
    for (const unit& p : state_->pipelined.all()) {
      if (!p.is_undone) waiting += p.request;
    }
    return fits_in([&](std::size_t d) { return state_->accounts.total(d) - waiting[d] + leaving_[d]; },
                   request);
  }

 private:
  [[nodiscard]] bool knows_room() const noexcept { return !has_nodes_ || knows_capacity; }
  /// Whether the request fits where `used(d)` of each dimension is used.
  template <class Used>
  [[nodiscard]] bool fits_in(Used used, const resources<n>& request) const {
    const auto counted = state_->accounts.counted();
    return detail::all_of(counted.begin(), counted.end(), [&](std::size_t d) {
      if (request[d] == quantity{}) return true;
      const quantity then = used(d) + request[d];
      return then.is_bounded() &&
             (!is_bounded_ || then <= state_->accounts.capacity()[d] + without_place_[d] + overbooked_[d]);
    });
  }

  Session* session_ = nullptr;
  cycle_state<Session>* state_ = nullptr;
  vector<std::size_t> waits_on_;
  /// The nodes that are no candidates, unless they have victims; and those that are none at the moment.
  vector<std::size_t> never_;
  vector<std::size_t> no_candidates_;
  /// Devices that are lost until the end of the cycle: see `undo_search`.
  vector<place> lost_;
  /// What the jobs being evicted hold.
  resources<n> leaving_;
  /// What was pipelined in this cycle without a place; and what a trial has given so: see `place_moved`.
  resources<n> without_place_;
  resources<n> overbooked_;
  bool has_nodes_ = false;
  bool is_bounded_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

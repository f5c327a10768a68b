// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/pod_counts.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/systems/kai/detail/cycle_state.hpp>
#include <allot/systems/kai/detail/fair_reclaim.hpp>
#include <allot/systems/kai/detail/scenario_replay.hpp>
#include <allot/systems/kai/detail/shortcuts.hpp>
#include <allot/systems/kai/detail/unit_id.hpp>
#include <allot/systems/kai/detail/unit_order.hpp>
#include <allot/systems/kai/detail/victims_queue.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// Finds victims so that a pending unit can run, as the scenario solver of KAI-Scheduler v0.13 does: not the
/// fewest, but the first in order.
///
/// For the first pod of the unit, then the first two, and so on, victims are taken in order, and after each
/// one its nodes are tried in turn. The scenario of a node evicts every unit taken so far whose job runs
/// there, and all found necessary for fewer pods. They and the pending unit are then placed again, in the
/// order in which quotas and jobs take turns. It succeeds if the unit has its place and those left without
/// one may be evicted. A victim given another place restarts there; one given its own place back is not
/// evicted. Victims found necessary remain so for the next pod, and with them (as in KAI v0.13) pipelined
/// ones that keep their place.
///
/// If some number of pods can't be served, no larger one can: unlike KAI's, the search then ends.
template <class Session, class Walk = job_walk<Session>>
class scenario_solver {
 public:
  static constexpr std::size_t n = Session::n;
  using state_type = cycle_state<Session>;
  using record = typename Session::record;

  explicit scenario_solver(std::int64_t saturation_margin) : fair_(saturation_margin) {}

  void bind(Session& session, state_type& state) noexcept {
    session_ = &session, state_ = &state;
    victims_.bind(session, state);
    replay_.bind(session, state);
    shortcuts_.bind(session, state);
  }
  void reset() {
    victims_.reset(session_->tree());
    replay_.reset(session_->tree());
  }

  /// On success the victims have been evicted, the unit is pipelined, or admitted if nothing has to leave,
  /// and both are in the plan.
  bool solve(const record& r, const victims_wanted& wanted) {
    wanted_ = wanted;
    chosen_.clear();
    recorded_.clear();
    state_->places.expect(r);
    if (!is_worth_moving(r)) return false;
    const bool may_succeed =
        has_victims(r) && !(Walk::takes_shortcuts && shortcuts_.may_skip_search(r, wanted_.how, victims_));
    // A search that can't succeed may leave something behind, too: see `cycle_places::undo_search`.
    may_strand_ = victims_.shared_devices() != 0 && state_->places.may_strand();
    if (!may_succeed && !may_strand_) return false;
    state_->places.begin_search(victims_.shared_devices() > 0 ||
                                state_->places.rules().shared_devices(r.pod_request) > 0);
    replay_.prepare(unit_id::of(r));
    for (std::uint32_t pods = 1; pods <= pods_of_unit(r); ++pods) {
      if (!solve_for(r, pods)) return false;
    }
    carry_out(r);
    return true;
  }
  /// The quotas that lost something in the last successful search.
  [[nodiscard]] std::span<const quota_id> losers() const noexcept { return losers_; }
  /// What of the job is pending now, if that search let it start.
  [[nodiscard]] const std::optional<typename state_type::waiting_unit>& grown() const noexcept {
    return grown_;
  }

 private:
  using replay_type = scenario_replay<Session, Walk>;
  using chosen_unit = typename replay_type::chosen_unit;
  using fate = typename replay_type::fate;

  /// Jobs are moved for no job that requests more than is left. A job that is only moved gives nothing.
  [[nodiscard]] bool is_worth_moving(const record& r) const {
    return wanted_.how != action_kind::consolidation ||
           state_->accounts.suffices(state_->least_charge(r, r.facts.request),
                                     state_->places.room_as_charged());
  }
  /// Whether there are any, and all together hold enough.
  [[nodiscard]] bool has_victims(const record& r) {
    const resources<n> all = victims_.gather(r, wanted_);
    return !victims_.candidates().empty() &&
           state_->accounts.suffices(state_->least_charge(r, r.facts.request), state_->places.most_room(),
                                     all);
  }
  /// Whether so many of its pods can be served; then `recorded_` has the victims.
  [[nodiscard]] bool solve_for(const record& r, std::uint32_t pods) {
    const resources<n> request = state_->least_charge(r, request_of_pods(*session_, r, pods));
    const resources<n> room = state_->places.most_room();
    resources<n> freed;
    for (const std::size_t i : recorded_) freed += chosen_[i].unit->request;
    replay_.suppose(r, pods, chosen_, recorded_);
    if (!recorded_.empty()) {
      tried_ = recorded_;
      const bool fits = replay_.could_fit(chosen_, {}) && state_->accounts.suffices(request, room, freed);
      if (fits || strands()) {
        for (const std::size_t i : tried_) chosen_[i].counted_twice = false;
        if (is_solved(replay_.run(r, pods, chosen_, tried_), r, pods)) return true;
        replay_.suppose(r, pods, chosen_, recorded_);
      }
    }
    start_over();
    // As long as there is no place without all that were taken, there is none without those of one node: then
    // only those scenarios are run that leave something behind.
    bool may_fit = false;
    while (const auto* next = victims_.next()) {
      if (victims_.ends_search(*next)) return false;
      const std::span<const std::size_t> nodes = add(*next);
      freed += next->request;
      if (!may_fit) {
        replay_.suppose_gone(chosen_.back());
        may_fit = replay_.could_fit(chosen_, {}) && state_->accounts.suffices(request, room, freed);
        if (!may_fit && !may_strand_) continue;
        if (may_fit) replay_.suppose(r, pods, chosen_, recorded_);
      }
      // Whether the unit gets a place on a node matters only if a later one is still to be tried.
      std::size_t last = nodes.size();
      for (; may_fit && !may_strand_ && last > 0; --last) {
        gather_on(nodes[last - 1]);
        if (!may_skip_scenario(r, pods)) break;
      }
      for (const std::size_t node : nodes.first(last)) {
        gather_on(node);
        const bool fits = may_fit && replay_.could_fit(chosen_, tried_);
        if (!fits && !strands()) continue;
        add_recorded();
        const bool placed = replay_.run(r, pods, chosen_, tried_);
        if (is_solved(placed, r, pods)) return true;
        suppose_again(r, pods, may_fit);
        if (placed) break;
      }
    }
    return false;
  }
  /// Whether the scenario that was run is a solution; if not, or if it is only one for some of the pods, it
  /// is undone.
  [[nodiscard]] bool is_solved(bool placed, const record& r, std::uint32_t pods) {
    const bool is = placed && is_allowed(r, pods);
    if (!is || pods != pods_of_unit(r)) undo();
    return is && keep();
  }
  /// `tried_` does not have those recorded yet.
  [[nodiscard]] bool may_skip_scenario(const record& r, std::uint32_t pods) const {
    if (!Walk::takes_shortcuts || wanted_.how != action_kind::reclaim || any_elastic_recorded_) return false;
    return shortcuts_.may_skip_scenario(r, pods, fair_, [&](const auto& visit) {
      for (const std::size_t i : tried_) visit(*chosen_[i].unit);
      for (const std::size_t i : recorded_) visit(*chosen_[i].unit);
    });
  }
  /// Takes victims from the first again, all but those recorded.
  void start_over() {
    kept_.clear();
    for (const std::size_t i : recorded_) kept_.push_back(chosen_[i]);
    std::swap(chosen_, kept_);
    for (std::size_t i = 0; i < recorded_.size(); ++i) recorded_[i] = i;
    elastic_taken_ = 0;
    forget_nodes();
    victims_.start(chosen_);
  }
  /// Takes the unit. Returns the nodes of its job.
  std::span<const std::size_t> add(const typename state_type::running_unit& u) {
    const record& unit = state_->at(u.id);
    stands_on_.clear();
    state_->add_nodes_of(unit, stands_on_);
    state_type::sort_once(stands_on_);
    for (const std::size_t node : stands_on_) {
      if (on_node_.size() <= node) on_node_.resize(node + 1);
      if (on_node_[node].empty()) used_nodes_.push_back(node);
      on_node_[node].push_back(chosen_.size());
    }
    chosen_.push_back({&u});
    if (u.elastic) ++elastic_taken_;
    if (!u.elastic && !state_->is_elastic(unit)) return stands_on_;
    state_->nodes_of(u.core, nodes_);
    return nodes_;
  }
  void forget_nodes() {
    for (const std::size_t node : used_nodes_) on_node_[node].clear();
    used_nodes_.clear();
  }
  /// Before those that are there, which come later.
  void add_recorded() {
    const std::size_t others = tried_.size();
    tried_.append(recorded_.begin(), recorded_.end());
    std::rotate(tried_.begin(), tried_.begin() + static_cast<std::ptrdiff_t>(others), tried_.end());
  }
  /// All units taken for this number of the jobs that have one on the node.
  void gather_on(std::size_t node) {
    tried_.clear();
    if (on_node_.size() <= node) return;
    jobs_.clear();
    for (const std::size_t i : on_node_[node]) {
      tried_.push_back(i);
      if (elastic_taken_ > 0) jobs_.push_back(chosen_[i].unit->core);
    }
    // The units of an elastic job are on several nodes.
    for (std::size_t i = recorded_.size(); i < chosen_.size() && !jobs_.empty(); ++i) {
      if (detail::find(jobs_.begin(), jobs_.end(), chosen_[i].unit->core) != jobs_.end()) tried_.push_back(i);
    }
    state_type::sort_once(tried_);
    if (!any_elastic_recorded_) return;
    // Those of these jobs that are recorded come again with them (as in KAI v0.13).
    for (const std::size_t i : recorded_) {
      chosen_[i].counted_twice =
          chosen_[i].unit->elastic && detail::any_of(tried_.begin(), tried_.end(), [&](std::size_t t) {
            return chosen_[t].unit->core == chosen_[i].unit->core;
          });
    }
  }

  [[nodiscard]] bool is_allowed(const record& r, std::uint32_t pods) {
    switch (wanted_.how) {
      case action_kind::consolidation:
        return detail::none_of(tried_.begin(), tried_.end(),
                               [&](std::size_t i) { return chosen_[i].end == fate::gone; });
      case action_kind::reclaim:
        make_bundles();
        return fair_.is_fair(state_->accounts, r.facts.quota, request_of_pods(*session_, r, pods), r.facts.in,
                             bundles_);
      case action_kind::preempt:
        break;
    }
    return true;
  }
  /// For each job, first the pods beyond its minimum, counted in the order in which they were taken, one by
  /// one, then the others together; those that have a place are left out.
  void make_bundles() {
    bundles_.clear();
    done_.clear();
    for (auto at = tried_.begin(); at != tried_.end(); ++at) {
      const std::size_t i = *at;
      const job_id core = chosen_[i].unit->core;
      if (detail::find(done_.begin(), done_.end(), core) != done_.end()) continue;
      const record& job = session_->jobs().at(core);
      if (!state_->is_elastic(job)) {
        if (chosen_[i].end == fate::gone)
          bundles_.push_back({chosen_[i].unit->quota, chosen_[i].unit->request});
        continue;
      }
      done_.push_back(core);
      if (job.has_unlike_pods) {
        make_bundles_by_set(job, at);
        continue;
      }
      const resources<n> pod = request_of_pods(job, 1);
      std::uint32_t together = 0;
      std::uint32_t seen = 0;
      for (auto next = at; next != tried_.end(); ++next) {
        const chosen_unit& c = chosen_[*next];
        if (c.unit->core != core) continue;
        for (std::uint32_t p = 0; p < c.unit->pods; ++p, ++seen) {
          if (c.end != fate::gone) continue;
          seen < job.facts.pods ? static_cast<void>(++together) : bundles_.push_back({c.unit->quota, pod});
        }
      }
      if (together != 0) bundles_.push_back({chosen_[i].unit->quota, pod * together});
    }
  }

  /// The same of a job whose pods differ: each set has a minimum.
  template <class Iterator>
  void make_bundles_by_set([[maybe_unused]] const record& job, [[maybe_unused]] Iterator first) {
    if constexpr (pod_set_view<typename Session::view_type>) {
      using shown = view_or_default<typename Session::view_type>;
      const std::size_t sets = shown::sets(session_->view(), job.what);
      resources<n> together;
      pods_by_set seen{};
      for (auto next = first; next != tried_.end(); ++next) {
        const chosen_unit& c = chosen_[*next];
        if (c.unit->core != job.facts.id) continue;
        for (std::size_t s = 0; s < sets; ++s) {
          const std::uint32_t least = shown::pods(session_->view(), job.what, s).least;
          const std::uint32_t pods = c.unit->elastic ? (c.unit->set == s ? 1 : 0) : least;
          if (pods == 0) continue;
          const resources<n> pod =
              c.unit->elastic ? c.unit->request : session_->jobs().request_of_pod(job, s);
          for (std::uint32_t p = 0; p < pods; ++p, ++seen[s]) {
            if (c.end != fate::gone) continue;
            seen[s] < least ? static_cast<void>(together += pod) : bundles_.push_back({c.unit->quota, pod});
          }
        }
      }
      if (together != resources<n>{}) bundles_.push_back({job.facts.quota, together});
    }
  }

  /// Whether the scenario, with those recorded, might strand a fraction that waits, even if it fails.
  [[nodiscard]] bool strands() const {
    const auto any_may_be = [&](std::span<const std::size_t> units) {
      return detail::any_of(units.begin(), units.end(), [&](std::size_t i) {
        return state_->places.may_be_stranded(chosen_[i].unit->id);
      });
    };
    return may_strand_ && (any_may_be(tried_) || any_may_be(recorded_));
  }
  /// The scenario is undone.
  void undo() const {
    if (!may_strand_) return;
    for (const std::size_t i : tried_) {
      const chosen_unit& c = chosen_[i];
      const bool moved = c.end == fate::moves && c.moved > 0;
      state_->places.undo_search(c.unit->id, moved ? replay_.nodes_of(c) : std::span<const std::size_t>{});
    }
  }
  /// What was supposed before a run that did not succeed: that all taken are gone, or, once there may be a
  /// place without them, only those recorded.
  void suppose_again(const record& r, std::uint32_t pods, bool may_fit) {
    if (!may_fit) {
      tried_.clear();
      for (std::size_t i = 0; i < chosen_.size(); ++i) tried_.push_back(i);
    }
    replay_.suppose(r, pods, chosen_, may_fit ? recorded_ : tried_);
  }
  /// Only units that are evicted or moved are victims, not those that go on running where they are.
  bool keep() {
    recorded_.clear();
    any_elastic_recorded_ = false;
    for (const fate end : {fate::gone, fate::moves}) {
      for (const std::size_t i : tried_) {
        if (chosen_[i].end != end) continue;
        recorded_.push_back(i);
        any_elastic_recorded_ = any_elastic_recorded_ || chosen_[i].unit->elastic;
      }
    }
    return true;
  }

  void carry_out(const record& r) {
    losers_.clear();
    grown_.reset();
    const std::size_t first = session_->plan().evictions.size();
    const job_id beneficiary = state_->announced_as(r);
    for (const std::size_t i : recorded_) {
      const chosen_unit& c = chosen_[i];
      if (c.unit->elastic && goes_with_core(c.unit->core) && !state_->pipelined.stands(c.unit->id)) continue;
      if (!state_->contains(c.unit->id) || keeps_its_place(c)) continue;
      const bool moves = c.end == fate::moves;
      if (c.counted_twice) state_->forget_charge(state_->at(c.unit->id));
      state_->evict(c.unit->id, beneficiary, wanted_.relation(), moves ? c.moved : 0,
                    moves ? replay_.nodes_of(c) : std::span<const std::size_t>{});
      losers_.push_back(c.unit->quota);
    }
    const bool is_known = !unit_id::of(r).is_extra() && state_->announced.contains(r.facts.id, r.ticket);
    // All victims were admitted in this very cycle and have not started, so no job has to leave. KAI
    // pipelines the job, in this cycle and in every later one. Here it starts in the cycle after it was
    // announced.
    if (is_known && session_->plan().evictions.size() == first) {
      const resources<n> least = state_->least_charge(r, r.facts.request);
      const auto where = state_->places.find_place(r.pod_request, least);
      if (where && state_->places.is_free_now(*where, least)) {
        return state_->admit(r.facts.id, *where, grown_);
      }
      if (where) session_->books().places.release(*where);
    }
    state_->pipeline(r, state_->places.take_place_to_wait(r, replay_.own_nodes()));
    for (const std::size_t i : recorded_) {
      const chosen_unit& c = chosen_[i];
      if (c.end != fate::moves || keeps_its_place(c)) continue;
      if (!state_->contains(c.unit->id)) continue;
      const record& moved = state_->at(c.unit->id);
      const bool was_running = moved.state != job_state::pending;
      state_->pipeline(moved, state_->places.take_place_to_wait(moved, replay_.nodes_of(c)));
      // It was admitted or pipelined by this very plan, and waits from now on.
      if (!was_running) state_->announce(moved, session_->plan().evictions.size());
    }
    state_->announce(r, first);
  }
  /// A pipelined unit that was found for fewer pods, or for this number, and needs not move.
  [[nodiscard]] static bool keeps_its_place(const chosen_unit& c) {
    return c.end == fate::moves && c.moved == 0;
  }
  [[nodiscard]] bool goes_with_core(job_id core) const {
    return detail::any_of(recorded_.begin(), recorded_.end(),
                          [&](std::size_t i) { return chosen_[i].unit->id == core; });
  }

  Session* session_ = nullptr;
  state_type* state_ = nullptr;
  victims_wanted wanted_;
  victims_queue<Session> victims_;
  replay_type replay_;
  shortcuts<Session> shortcuts_;
  fair_reclaim<n> fair_;
  /// All that were taken; those found for fewer pods; and those of the last scenario, these first.
  vector<chosen_unit> chosen_;
  vector<chosen_unit> kept_;
  vector<std::size_t> recorded_;
  vector<std::size_t> tried_;
  bool any_elastic_recorded_ = false;
  /// Among those taken for this number.
  std::size_t elastic_taken_ = 0;
  /// Whether scenarios that are undone may strand fractions that wait: see `cycle_places::undo_search`.
  bool may_strand_ = false;
  /// By node: the units taken for this number that run there.
  vector<vector<std::size_t>> on_node_;
  vector<std::size_t> used_nodes_;
  vector<std::size_t> nodes_;
  vector<std::size_t> stands_on_;
  vector<job_id> jobs_;
  vector<job_id> done_;
  vector<reclaim_bundle<n>> bundles_;
  vector<quota_id> losers_;
  std::optional<typename state_type::waiting_unit> grown_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/stamped_set.hpp>
#include <allot/core/vector.hpp>
#include <allot/systems/kai/detail/cycle_state.hpp>
#include <allot/systems/kai/detail/job_walk.hpp>
#include <allot/systems/kai/detail/lazy_tournament.hpp>
#include <allot/systems/kai/detail/saturation_order.hpp>
#include <allot/systems/kai/detail/unit_id.hpp>
#include <allot/systems/kai/detail/unit_order.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// Simulates a scenario: with some units evicted, they and the pending unit are placed again, in the order in
/// which quotas and jobs take turns; then everything is rolled back.
///
/// Every other pending unit keeps its position in that order and is passed over. Of an elastic job that lost
/// only elastic pods, one pod is placed again; of one below its minimum, the minimum.
template <class Session, class Walk = job_walk<Session>>
class scenario_replay {
 public:
  static constexpr std::size_t n = Session::n;
  using state_type = cycle_state<Session>;
  using record = typename Session::record;

  enum class fate : std::uint8_t {
    /// It was not considered, or gets its own place back.
    stays,
    gone,
    /// It gets another place; or it is pipelined and gets its own back, which KAI records as a move, too.
    moves,
  };
  struct chosen_unit {
    /// Valid until the victims of another search are gathered.
    const typename state_type::running_unit* unit;
    fate end = fate::stays;
    /// It is evicted twice over: it was found for fewer pods, and comes again with its job.
    bool counted_twice = false;
    /// How many of its pods move, perhaps none, and to which nodes: see `nodes_of`.
    std::uint32_t moved = 0;
    std::size_t first_node = 0;
    std::size_t nodes = 0;
  };

  void bind(Session& session, state_type& state) noexcept { session_ = &session, state_ = &state; }
  void reset(const quota_tree<n>& tree) {
    turn_.reset(tree);
    leaves_.assign(tree.slots(), leaf{});
    with_waiting_.clear();
    with_involved_.clear();
  }
  /// Collects the units pending besides `own`. Must be called before the first run for `own` after the state
  /// has changed. O(quotas), and O(kinds of pending units) for each that has changed.
  void prepare(unit_id own) {
    marked_.clear();
    with_waiting_.clear();
    with_involved_.clear();
    state_->queues.follow(false);
    const quota_tree<n>& tree = session_->tree();
    for (const quota_id x : tree.top_down()) {
      leaf& l = leaves_[x.index()];
      l.may_wait = state_->is_leaf(x) && state_->waiting(x) != 0;
      l.involved = {};
      l.next_involved = 0;
      if (!l.may_wait) continue;
      with_waiting_.push_back(x);
      static_cast<void>(state_->queues.kinds(x));
      // Only the job's own leaf, and one that has changed, is walked from the start again.
      const bool is_own = state_->at(own).facts.quota == x;
      if (!is_own && l.version == state_->queues.version(x) && l.as_of == state_->changed_at(x)) continue;
      l.version = is_own ? 0 : state_->queues.version(x);
      l.as_of = state_->changed_at(x);
      l.others.start(state_->queues, x, 0, every_kind, others_than(own));
    }
  }

  /// Supposes from now on that the chosen units `recorded` are evicted, for `could_fit`. It ends with the
  /// next `run`.
  void suppose(const record& r, std::uint32_t pods, const vector<chosen_unit>& chosen,
               std::span<const std::size_t> recorded) {
    supposes_ = session_->books().what_if().begin(session_->books().places, pod_request_of(r, pods));
    if (!supposes_) return;
    for (const std::size_t i : recorded) goes(chosen[i]);
  }
  /// Supposes that one more is evicted.
  void suppose_gone(const chosen_unit& c) {
    if (supposes_) goes(c);
  }
  /// Whether `pods` of the pods of `r` would have a place if these units were evicted, too, and no victim
  /// were placed again. True if that can't be determined. O(these units).
  [[nodiscard]] bool could_fit(const vector<chosen_unit>& chosen, std::span<const std::size_t> these) {
    if (!supposes_) return true;
    for (const std::size_t i : these) goes(chosen[i]);
    const bool fits = session_->books().what_if().fits(0).value_or(true);
    for (const std::size_t i : these) {
      if (const auto at = state_->place_of(state_->at(chosen[i].unit->id))) {
        session_->books().what_if().back(session_->books().places, *at);
      }
    }
    return fits;
  }
  /// Whether `pods` of the pods of `r` would have a place if the units with the indices `tried` were evicted.
  /// If so, their fates are written to `chosen`.
  bool run(const record& r, std::uint32_t pods, vector<chosen_unit>& chosen,
           std::span<const std::size_t> tried) {
    nodes_.clear();
    supposes_ = false;
    const typename statement<Session>::trial trial{state_->statement};
    for (const std::size_t i : tried) {
      const record& v = state_->at(chosen[i].unit->id);
      chosen[i].end = fate::gone;
      for (int times = chosen[i].counted_twice ? 2 : 1; times > 0; --times) {
        state_->statement.release(v.facts.quota, state_->charge_of(v), v.facts.in);
      }
    }
    list_involved(r, pods, chosen, tried);
    state_->places.begin_trial();
    for (const std::size_t i : tried) {
      const record& v = state_->at(chosen[i].unit->id);
      state_->places.add_candidates_of(v);
      state_->places.leave(v);
    }
    const bool placed = place_in_turn(r, pods, chosen);
    state_->places.end_trial();
    return placed;
  }

  /// The nodes on which the last successful run placed the pods of a unit that moves.
  [[nodiscard]] std::span<const std::size_t> nodes_of(const chosen_unit& c) const {
    return std::span<const std::size_t>{nodes_}.subspan(c.first_node, c.nodes);
  }
  /// The same for the pending unit.
  [[nodiscard]] std::span<const std::size_t> own_nodes() const {
    return std::span<const std::size_t>{nodes_}.subspan(own_first_, own_nodes_);
  }

 private:
  /// A job to be placed: that of a victim, or the pending one.
  struct involved_job {
    quota_id quota;
    unit_rank rank;
    job_id core;
    resources<n> request;
    bool waits = false;
    /// For a victim: the unit to be placed again.
    std::size_t entry = 0;
    /// That may be stranded: what happens to it outlasts a trial that fails.
    bool outlasts = false;
  };

  struct leaf {
    Walk walk;
    /// The walk before its first step, with no job marked; it is the walk itself until that is `begun`.
    Walk others;
    /// Of the queue and of its quota, when that walk was started.
    std::uint64_t version = 0;
    std::uint64_t as_of = 0;
    bool has_begun = false;
    bool may_wait = false;
    /// The involved jobs, and the next to be placed.
    std::span<const involved_job> involved;
    std::size_t next_involved = 0;

    [[nodiscard]] bool has_involved() const { return next_involved < involved.size(); }
    [[nodiscard]] const involved_job& next() const { return involved[next_involved]; }
  };
  void goes(const chosen_unit& c) const {
    if (const auto at = state_->place_of(state_->at(c.unit->id)))
      session_->books().what_if().gone(session_->books().places, *at);
  }

  static constexpr auto every_kind = [](const auto&) { return true; };
  /// Passes over the job itself, pipelined units, and pods of jobs that have lost some.
  [[nodiscard]] auto others_than(unit_id own) const {
    return [this, own](unit_id id) {
      if (id == own || state_->pipelined.contains(id)) return true;
      const record& w = state_->at(id);
      return w.facts.elastic && marked_.contains(w.facts.core);
    };
  }

  void list_involved(const record& r, std::uint32_t pods, const vector<chosen_unit>& chosen,
                     std::span<const std::size_t> tried) {
    involved_.clear();
    marked_.clear();
    any_marked_ = false;
    outlasting_ = 0;
    // Pods that are to be served rank like a job of their own, below its minimum.
    involved_.push_back(
        {r.facts.quota, unit_rank::of(r, 0), r.facts.id, request_of_pods(*session_, r, pods), true});
    for (const std::size_t i : tried) {
      const auto& u = *chosen[i].unit;
      const record& core = session_->jobs().at(u.core);
      if (!state_->is_elastic(core)) {
        // Its turn depends on what it requests, not on what it was charged where it stood.
        involved_.push_back({u.quota, unit_rank::of(core, 0), u.core, demand_of(*session_, core), false, i});
      } else if (!marked_.contains(u.core)) {
        marked_.insert(u.core);
        any_marked_ = true;
        involved_.push_back(elastic(core, chosen, tried));
      }
      if (state_->places.may_be_stranded(u.id)) outlasts(u.core);
    }
    detail::sort(involved_.begin(), involved_.end(), [](const involved_job& a, const involved_job& b) {
      return a.quota != b.quota ? a.quota < b.quota : a.rank < b.rank;
    });
    for (const quota_id x : with_involved_) leaves_[x.index()].involved = {};
    with_involved_.clear();
    for (std::size_t first = 0; first < involved_.size();) {
      std::size_t last = first;
      while (last < involved_.size() && involved_[last].quota == involved_[first].quota) ++last;
      const quota_id x = involved_[first].quota;
      leaves_[x.index()].involved = std::span<const involved_job>{involved_}.subspan(first, last - first);
      leaves_[x.index()].next_involved = 0;
      with_involved_.push_back(x);
      first = last;
    }
    meeting_ = with_involved_.front();
    for (const quota_id x : with_involved_) meeting_ = session_->tree().common_ancestor(meeting_, x);
    sides_.clear();
    for (const quota_id x : with_involved_) sides_.insert(side_of(x));
  }
  /// Of the lowest quota above all involved jobs, the child above this leaf.
  [[nodiscard]] quota_id side_of(quota_id x) const {
    return x == meeting_ ? x : session_->tree().side_of(x, meeting_);
  }
  /// Whether turns of the leaf may matter. Nothing is charged for jobs that are passed over, and siblings
  /// take their turns among each other in the same order whichever others take part: a side without involved
  /// jobs delays all others alike. With turns of all, the first decision on 400 contended nodes of 40 quotas
  /// takes twice as long, and an event among 100 quotas four times.
  [[nodiscard]] bool may_matter(quota_id x) const {
    return !Walk::takes_shortcuts || sides_.contains(side_of(x));
  }
  /// A unit of the victim may be stranded.
  void outlasts(job_id core) {
    for (involved_job& job : involved_) {
      if (!job.waits && job.core == core && !std::exchange(job.outlasts, true)) ++outlasting_;
    }
  }
  [[nodiscard]] involved_job elastic(const record& core, const vector<chosen_unit>& chosen,
                                     std::span<const std::size_t> tried) const {
    involved_job job{core.facts.quota, unit_rank::of(core, 0), core.facts.id, demand_of(*session_, core)};
    std::uint32_t lost = 0;
    for (const std::size_t i : tried) {
      const auto& u = *chosen[i].unit;
      if (u.core != core.facts.id) continue;
      // The core is taken last; of the elastic pods, the last to arrive is taken first.
      job.entry = i;
      if (!u.elastic) {
        job.request = demand_of(*session_, core);
        return job;
      }
      lost += u.pods;
      job.request = demand_of(*session_, state_->at(u.id));
    }
    job.rank.stage = state_->active_pods(core) > core.facts.pods + lost ? 2 : 1;
    return job;
  }

  bool place_in_turn(const record& r, std::uint32_t pods, vector<chosen_unit>& chosen) {
    const auto left_out = others_than(unit_id::of(r));
    turn_.clear(session_->tree());
    enter_leaves(left_out);
    turn_.start(session_->tree(), key());
    before_ = quota_id::none();
    bool waits = true;
    const resources<n> least = state_->least_charge(r, request_of_pods(*session_, r, pods));
    const auto pod_request = pod_request_of(r, pods);
    for (std::size_t left = involved_.size(); left > 0; --left) {
      const quota_id x = pass_others(left_out);
      leaf& l = leaves_[x.index()];
      const involved_job& job = l.next();
      if (job.waits) waits = false;
      if (!place_next_of(r, pods, chosen, l)) return false;
      // There is ever less room for those that come later.
      if (job.outlasts) --outlasting_;
      if (waits && outlasting_ == 0 &&
          !(state_->places.has_room(least) && state_->places.rules().might_have_room(pod_request))) {
        return false;
      }
      turn_.passed(session_->tree(), x, !is_empty(l));
    }
    return true;
  }
  [[nodiscard]] auto key() const {
    return [this](quota_id x, quota_id of) {
      return saturation_standing<n>{state_->accounts, x, head(leaves_[of.index()]), {}};
    };
  }
  /// Passes over all up to the next involved job; returns its leaf, whose turn it is.
  template <class LeftOut>
  [[nodiscard]] quota_id pass_others(const LeftOut& left_out) {
    for (;;) {
      const quota_id x = turn_.next(state_->accounts.tree(), key());
      leaf& l = leaves_[x.index()];
      const bool passes = !involved_first(l);
      const bool again = std::exchange(before_, passes ? x : quota_id::none()) == x;
      if (passes && !std::exchange(l.has_begun, true)) l.walk.start_like(l.others);
      if (l.has_begun) l.walk.take_turn(again && passes, turn_.keyed_others_than(x));
      if (!passes) return x;
      pass_waiting(x, l, left_out);
      turn_.passed(state_->accounts.tree(), x, !is_empty(l));
    }
  }
  /// Enters the leaves with involved jobs, or with pending ones if they may matter, each from its first.
  template <class LeftOut>
  void enter_leaves(const LeftOut& left_out) {
    for (const quota_id x : with_involved_) {
      if (!leaves_[x.index()].may_wait) turn_.enter(x);
    }
    for (const quota_id x : with_waiting_) {
      if (!may_matter(x)) continue;
      leaf& l = leaves_[x.index()];
      l.has_begun = any_marked_;
      if (any_marked_) l.walk.start(state_->queues, x, 0, every_kind, left_out);
      if (!is_empty(l)) turn_.enter(x);
    }
  }
  /// Passes over the pending unit at the front and, up to the next involved job, those behind it with which
  /// the leaf would come first again. Precondition: no involved job is at the front.
  template <class LeftOut>
  void pass_waiting(quota_id x, leaf& l, const LeftOut& left_out) {
    const auto kinds = state_->queues.kinds(x);
    const auto stops = [&](std::size_t k) { return !l.walk.has_seen(kinds[k].request); };
    std::optional<unit_rank> until;
    if (l.has_involved()) until = l.next().rank;
    if (!stops(l.walk.first().kind) && (!until || l.walk.first().rank < *until)) {
      l.walk.pass_until(state_->queues, x, stops, left_out, until);
    } else {
      l.walk.pass(state_->queues, x, left_out);
    }
  }
  /// Returns false if it is the pending job and has no place.
  bool place_next_of(const record& r, std::uint32_t pods, vector<chosen_unit>& chosen, leaf& l) {
    const involved_job& job = l.involved[l.next_involved++];
    if (job.waits) {
      const auto pod_request = pod_request_of(r, pods);
      const resources<n> least = state_->least_charge(r, job.request);
      if (!state_->accounts.within_limits(r.facts.quota, least, r.facts.in)) return false;
      const auto where = state_->places.find_place(pod_request, least, true);
      if (!where) return false;
      const resources<n> charged = state_->charge_at(r, job.request, where);
      if (!state_->accounts.within_limits(r.facts.quota, charged, r.facts.in)) return false;
      state_->statement.charge(r.facts.quota, charged, r.facts.in);
      own_first_ = nodes_.size();
      state_->add_nodes_at(*where, nodes_);
      own_nodes_ = nodes_.size() - own_first_;
      return true;
    }
    place_victim(chosen[job.entry]);
    return true;
  }

  [[nodiscard]] static const Walk& walk_of(const leaf& l) { return l.has_begun ? l.walk : l.others; }
  [[nodiscard]] static bool is_empty(const leaf& l) {
    return (!l.may_wait || walk_of(l).is_over()) && !l.has_involved();
  }
  [[nodiscard]] static bool involved_first(const leaf& l) {
    if (!l.has_involved()) return false;
    const Walk& walk = walk_of(l);
    return !l.may_wait || walk.is_over() || l.next().rank < walk.first().rank;
  }
  [[nodiscard]] static const resources<n>& head(const leaf& l) {
    return involved_first(l) ? l.next().request : walk_of(l).first().request;
  }

  void place_victim(chosen_unit& back) {
    const record& v = state_->at(back.unit->id);
    const resources<n> least = state_->least_charge(v, v.facts.request);
    if (!state_->accounts.within_limits(v.facts.quota, least, v.facts.in)) return;
    back.first_node = nodes_.size();
    const auto where = state_->places.find_place_back(v, nodes_);
    if (!where) return;
    const resources<n> charged = state_->charge_at(v, v.facts.request, where->at);
    if (!state_->accounts.within_limits(v.facts.quota, charged, v.facts.in)) return;
    state_->statement.charge(v.facts.quota, charged, v.facts.in);
    back.end = where->moved == 0 && !state_->pipelined.stands(unit_id::of(v)) ? fate::stays : fate::moves;
    back.moved = where->moved;
    back.nodes = nodes_.size() - back.first_node;
  }

  Session* session_ = nullptr;
  state_type* state_ = nullptr;
  lazy_tournament<saturation_standing<n>> turn_;
  vector<leaf> leaves_;
  vector<quota_id> with_waiting_;
  vector<quota_id> with_involved_;
  vector<involved_job> involved_;
  /// The lowest quota above them all, and its children above them.
  quota_id meeting_;
  stamped_set<quota_id> sides_;
  /// The leaf whose turn was the last, if it passed over a pending unit.
  quota_id before_;
  vector<std::size_t> nodes_;
  std::size_t own_first_ = 0;
  std::size_t own_nodes_ = 0;
  stamped_set<job_id> marked_;
  bool any_marked_ = false;
  /// How many of the victims still to be placed may be stranded.
  std::size_t outlasting_ = 0;
  /// Whether `could_fit` can tell.
  bool supposes_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

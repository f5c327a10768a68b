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
#include <allot/systems/kai/detail/unit_order.hpp>

#include <algorithm>
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
  using world_type = cycle_state<Session>;
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
    const typename world_type::running_unit* unit;
    fate end = fate::stays;
    /// It is evicted twice over: it was found for fewer pods, and comes again with its job.
    bool twice = false;
    /// How many of its pods move, perhaps none, and to which nodes: see `nodes_of`.
    std::uint32_t moved = 0;
    std::size_t first_node = 0;
    std::size_t nodes = 0;
  };

  void reset(const quota_tree<n>& tree) {
    turn_.reset(tree);
    leaves_.assign(tree.slots(), leaf{});
    with_waiting_.clear();
  }
  /// Collects the units pending besides `own`. Must be called before the first run for `own` after the world
  /// has changed. O(quotas), and O(kinds of pending units) for each that has changed.
  void prepare(Session& session, world_type& world, job_id own) {
    marked_.clear();
    with_waiting_.clear();
    world.lines.follow(session, false);
    for (const quota_id x : session.tree().top_down()) {
      leaf& l = leaves_[x.index()];
      l.may_wait = world_type::is_leaf(session, x) && world.waiting(session, x) != 0;
      l.involved = {};
      l.next_involved = 0;
      if (!l.may_wait) continue;
      with_waiting_.push_back(x);
      static_cast<void>(world.lines.kinds(session, x));
      // Only the job's own leaf, and one that has changed, is walked from the start again.
      const bool is_own = world.at(session, own).facts.quota == x;
      if (!is_own && l.version == world.lines.version(x) && l.as_of == world.changed_at(x)) continue;
      l.version = is_own ? 0 : world.lines.version(x);
      l.as_of = world.changed_at(x);
      l.others.start(world.lines, x, 0, every_kind, others_than(session, world, own));
    }
  }

  /// Supposes from now on that the chosen units `recorded` are evicted, for `could_fit`. It ends with the
  /// next `run`, unless that says otherwise: see `suppose_again`.
  void suppose(Session& session, const world_type& world, const record& r, std::uint32_t pods,
               const vector<chosen_unit>& chosen, std::span<const std::size_t> recorded) {
    supposes_ = session.what_if().begin(session.places(), world_type::pod_request_of(r, pods));
    if (!supposes_) return;
    for (const std::size_t i : recorded) goes(session, world, chosen[i]);
  }
  /// Goes on to suppose that after a run that did not succeed.
  void suppose_again(Session& session, const world_type& world, const record& r, std::uint32_t pods,
                     const vector<chosen_unit>& chosen, std::span<const std::size_t> recorded) {
    if (has_vacated_) suppose(session, world, r, pods, chosen, recorded);
  }
  /// Supposes that one more is evicted.
  void suppose_gone(Session& session, const world_type& world, const chosen_unit& c) {
    if (supposes_) goes(session, world, c);
  }
  /// Whether `pods` of the pods of `r` would have a place if these units were evicted, too, and no victim
  /// were placed again. True if that can't be determined. O(these units).
  [[nodiscard]] bool could_fit(Session& session, const world_type& world, const vector<chosen_unit>& chosen,
                               std::span<const std::size_t> these) {
    if (!supposes_) return true;
    for (const std::size_t i : these) goes(session, world, chosen[i]);
    const bool fits = session.what_if().fits(session.places());
    for (const std::size_t i : these) {
      if (const auto at = world.place_of(world.at(session, chosen[i].unit->id))) {
        session.what_if().back(session.places(), *at);
      }
    }
    return fits;
  }
  /// Whether `pods` of the pods of `r` would have a place if the units with the indices `tried` were evicted.
  /// If so, their fates are written to `chosen`. `may_fit` is what `could_fit` says of them.
  bool run(Session& session, world_type& world, const record& r, std::uint32_t pods,
           vector<chosen_unit>& chosen, std::span<const std::size_t> tried, bool may_fit = true) {
    nodes_.clear();
    auto before = session.places().save();
    charged_.clear();
    has_vacated_ = false;
    may_fit_ = may_fit;
    for (const std::size_t i : tried) {
      const record& v = world.at(session, chosen[i].unit->id);
      chosen[i].end = fate::gone;
      world.accounts.release(v.facts.quota, world.charge_of(v), v.facts.in);
      if (chosen[i].twice) world.accounts.release(v.facts.quota, world.charge_of(v), v.facts.in);
    }
    list_involved(session, world, r, pods, chosen, tried);
    const bool placed = place_in_turn(session, world, r, pods, chosen, tried);
    world.end_trial();
    for (std::size_t i = charged_.size(); i-- > 0;) {
      world.accounts.release(charged_[i].quota, charged_[i].request, charged_[i].in);
    }
    for (const std::size_t i : tried) {
      const record& v = world.at(session, chosen[i].unit->id);
      world.accounts.charge(v.facts.quota, world.charge_of(v), v.facts.in);
      if (chosen[i].twice) world.accounts.charge(v.facts.quota, world.charge_of(v), v.facts.in);
    }
    session.places().rollback(std::move(before));
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
    /// That was told to move, so that it may be promised more than there is, or may be stranded: what happens
    /// to it outlasts a trial that fails.
    bool outlasts = false;
    /// Whether there may be room for it once the pending unit is placed.
    bool is_open = false;
  };
  struct leaf {
    Walk walk;
    /// The walk before its first step, with no job marked; it is the walk itself until that is `begun`.
    Walk others;
    /// Of the line and of its quota, when that walk was started.
    std::uint64_t version = 0;
    std::uint64_t as_of = 0;
    bool has_begun = false;
    bool may_wait = false;
    std::span<const involved_job> involved;
    std::size_t next_involved = 0;
  };
  struct charge {
    quota_id quota;
    resources<n> request;
    capacity_kind in = capacity_kind::any;
  };

  static void goes(Session& session, const world_type& world, const chosen_unit& c) {
    if (const auto at = world.place_of(world.at(session, c.unit->id)))
      session.what_if().gone(session.places(), *at);
  }

  static constexpr auto every_kind = [](const auto&) { return true; };

  /// Passes over the job itself, pipelined units, and pods of jobs that have lost some.
  [[nodiscard]] auto others_than(Session& session, const world_type& world, job_id own) const {
    return [this, &session, &world, own](job_id id) {
      if (id == own || world.is_pipelined(id)) return true;
      const record& w = world.at(session, id);
      return w.facts.elastic && marked_.contains(w.facts.core);
    };
  }

  void list_involved(Session& session, const world_type& world, const record& r, std::uint32_t pods,
                     const vector<chosen_unit>& chosen, std::span<const std::size_t> tried) {
    involved_.clear();
    marked_.clear();
    any_marked_ = false;
    outlasting_ = 0;
    least_of_victims_ = resources<n>{quantity::unlimited()};
    // Pods that are to be served rank like a job of their own, below its minimum.
    involved_.push_back({r.facts.quota, unit_rank::of(r, 0), r.facts.id, request_of_pods(r, pods), true});
    for (const std::size_t i : tried) {
      const auto& u = *chosen[i].unit;
      const record& unit = world.at(session, u.id);
      const record& core = session.at(u.core);
      const resources<n> least = world_type::least_charge(session, unit, unit.facts.request);
      for (std::size_t d = 0; d < n; ++d) least_of_victims_[d] = std::min(least_of_victims_[d], least[d]);
      if (!world.is_elastic(core)) {
        // Its turn depends on what it requests, not on what it was charged where it stood.
        involved_.push_back({u.quota, unit_rank::of(core, 0), u.core, demand_of(session, core), false, i});
        note_outlasting(session, world, chosen);
      } else if (!marked_.contains(u.core)) {
        marked_.insert(u.core);
        any_marked_ = true;
        involved_.push_back(elastic(session, world, core, chosen, tried));
        note_outlasting(session, world, chosen);
      }
    }
    detail::sort(involved_.begin(), involved_.end(), [](const involved_job& a, const involved_job& b) {
      return a.quota != b.quota ? a.quota < b.quota : a.rank < b.rank;
    });
  }
  void note_outlasting(Session& session, const world_type& world, const vector<chosen_unit>& chosen) {
    involved_job& last = involved_.back();
    const record& unit = world.at(session, chosen[last.entry].unit->id);
    last.outlasts = world.was_told(unit) || world.may_be_stranded(session, unit.facts.id);
    if (last.outlasts) ++outlasting_;
  }
  [[nodiscard]] static involved_job elastic(Session& session, const world_type& world, const record& core,
                                            const vector<chosen_unit>& chosen,
                                            std::span<const std::size_t> tried) {
    involved_job job{core.facts.quota, unit_rank::of(core, 0), core.facts.id, demand_of(session, core)};
    std::uint32_t lost = 0;
    for (const std::size_t i : tried) {
      const auto& u = *chosen[i].unit;
      if (u.core != core.facts.id) continue;
      // The core is taken last; of the elastic pods, the last to arrive is taken first.
      job.entry = i;
      if (!u.elastic) {
        job.request = demand_of(session, core);
        return job;
      }
      lost += u.pods;
      job.request = demand_of(session, world.at(session, u.id));
    }
    job.rank.stage = world.active_pods(session, core) > core.facts.pods + lost ? 2 : 1;
    return job;
  }

  bool place_in_turn(Session& session, world_type& world, const record& r, std::uint32_t pods,
                     vector<chosen_unit>& chosen, std::span<const std::size_t> tried) {
    const quota_tree<n>& tree = session.tree();
    const auto key = [&](quota_id x, quota_id of) {
      return saturation_standing<n>{world.accounts, x, head(leaves_[of.index()]), {}};
    };
    const auto left_out = others_than(session, world, r.facts.id);
    turn_.clear(tree);
    enter_leaves(world, left_out);
    turn_.start(tree, key);
    quota_id before;
    bool waits = true;
    const resources<n> least = world_type::least_charge(session, r, request_of_pods(r, pods));
    const auto pod_request = world_type::pod_request_of(r, pods);
    for (std::size_t left = involved_.size(); left > 1;) {
      const quota_id x = turn_.next(tree, key);
      leaf& l = leaves_[x.index()];
      const bool passes = !involved_first(l);
      const bool again = std::exchange(before, passes ? x : quota_id::none()) == x;
      if (passes && !std::exchange(l.has_begun, true)) l.walk = l.others;
      if (l.has_begun) l.walk.take_turn(again && passes, turn_.keyed_others_than(x));
      if (passes) {
        pass_waiting(world, x, l, left_out);
      } else {
        const involved_job& job = l.involved[l.next_involved];
        if (job.waits) waits = false;
        // Most that fail do so because the first victim comes back: then nothing has to be placed. Those that
        // were told to move have to be, for what they are promised, or if they may be stranded.
        if (waits && !has_vacated_ && outlasting_ == 0 &&
            !world.has_room(least, world.at(session, chosen[job.entry].unit->id).facts.request) &&
            comes_back(session, world, chosen[job.entry])) {
          return false;
        }
        if (job.waits && outlasting_ == 0 && takes_all(session, world, r, pods)) return true;
        vacate(session, world, chosen, tried);
        if (!place_next_of(session, world, r, pods, chosen, l)) return false;
        // There is ever less room for those that come later.
        if (job.outlasts) --outlasting_;
        if (job.waits) {
          count_open(session, world, chosen);
        } else if (job.is_open) {
          --open_;
        }
        if (!waits && open_ == 0) return true;
        if (waits && outlasting_ == 0 &&
            !(world.has_room(least) &&
              world_type::on_nodes::might_have_room(session.places(), pod_request))) {
          return false;
        }
        --left;
      }
      turn_.passed(tree, x, !is_empty(l));
    }
    // Only one is left: whatever comes before it, nothing changes until its turn.
    vacate(session, world, chosen, tried);
    const auto last = detail::find_if(involved_.begin(), involved_.end(), [&](const involved_job& job) {
      const leaf& l = leaves_[job.quota.index()];
      return l.next_involved < l.involved.size();
    });
    return place_next_of(session, world, r, pods, chosen, leaves_[last->quota.index()]);
  }
  /// Takes the victims off their nodes, once.
  void vacate(Session& session, world_type& world, const vector<chosen_unit>& chosen,
              std::span<const std::size_t> tried) {
    if (std::exchange(has_vacated_, true)) return;
    supposes_ = false;
    world.begin_trial();
    for (const std::size_t i : tried) {
      const record& v = world.at(session, chosen[i].unit->id);
      world.add_candidates_of(session, v);
      world.leave(session, v);
    }
  }
  /// Whether a victim gets a place for sure if it is the first to be placed.
  [[nodiscard]] static bool comes_back(Session& session, const world_type& world, const chosen_unit& c) {
    const record& v = world.at(session, c.unit->id);
    const auto at = world.place_of(v);
    return at && !is_charged_by_place(session, v) && world.has_room(v.facts.request) &&
           world.accounts.within_limits(v.facts.quota, v.facts.request, v.facts.in) &&
           world_type::on_nodes::comes_back(session.places(), v.pod_request, *at);
  }
  /// Whether the pending unit, which comes first, has a place and leaves no room for any victim. Where it
  /// stands matters only for all of its pods, and is not determined for fewer.
  [[nodiscard]] bool takes_all(Session& session, world_type& world, const record& r, std::uint32_t pods) {
    if (!may_fit_ || !supposes_ || pods == pods_of_unit(r) || is_charged_by_place(session, r)) return false;
    if (!world_type::on_nodes::is_of_whole_pods(session.places(), r.pod_request)) return false;
    const resources<n> request = request_of_pods(r, pods);
    if (!world.has_room(request) || !world.accounts.within_limits(r.facts.quota, request, r.facts.in)) {
      return false;
    }
    return !world.has_room(least_of_victims_, request);
  }
  /// The pending unit has been placed: counts the victims left for which there may be room.
  void count_open(Session& session, const world_type& world, const vector<chosen_unit>& chosen) {
    open_ = 0;
    for (involved_job& job : involved_) {
      const leaf& l = leaves_[job.quota.index()];
      if (job.waits || &job < l.involved.data() + l.next_involved) continue;
      const record& v = world.at(session, chosen[job.entry].unit->id);
      job.is_open = world.has_room(world_type::least_charge(session, v, v.facts.request)) &&
                    world_type::on_nodes::might_have_room(session.places(), world_type::pod_request_of(v, 1));
      if (job.is_open) ++open_;
    }
  }
  /// Enters the leaves with pending or involved jobs, each from its first.
  template <class LeftOut>
  void enter_leaves(const world_type& world, const LeftOut& left_out) {
    for (const quota_id x : with_waiting_) {
      leaves_[x.index()].involved = {};
      leaves_[x.index()].next_involved = 0;
    }
    for (std::size_t first = 0; first < involved_.size();) {
      std::size_t last = first;
      while (last < involved_.size() && involved_[last].quota == involved_[first].quota) ++last;
      leaf& l = leaves_[involved_[first].quota.index()];
      l.involved = std::span<const involved_job>{involved_}.subspan(first, last - first);
      l.next_involved = 0;
      if (!l.may_wait) turn_.enter(involved_[first].quota);
      first = last;
    }
    for (const quota_id x : with_waiting_) {
      leaf& l = leaves_[x.index()];
      l.has_begun = any_marked_;
      if (any_marked_) l.walk.start(world.lines, x, 0, every_kind, left_out);
      if (!is_empty(l)) turn_.enter(x);
    }
  }
  /// Passes over the pending unit at the front and, up to the next involved job, those behind it with which
  /// the leaf would come first again. Precondition: no involved job is at the front.
  template <class LeftOut>
  void pass_waiting(const world_type& world, quota_id x, leaf& l, const LeftOut& left_out) {
    const auto kinds = world.lines.kinds(x);
    const auto stops = [&](std::size_t k) { return !l.walk.has_seen(kinds[k].request); };
    std::optional<unit_rank> until;
    if (l.next_involved < l.involved.size()) until = l.involved[l.next_involved].rank;
    if (!stops(l.walk.first().kind) && (!until || l.walk.first().rank < *until)) {
      l.walk.pass_until(world.lines, x, stops, left_out, until);
    } else {
      l.walk.pass(world.lines, x, left_out);
    }
  }
  /// Returns false if it is the pending job and has no place.
  bool place_next_of(Session& session, world_type& world, const record& r, std::uint32_t pods,
                     vector<chosen_unit>& chosen, leaf& l) {
    const involved_job& job = l.involved[l.next_involved++];
    if (job.waits) {
      const auto pod_request = world_type::pod_request_of(r, pods);
      const resources<n> least = world_type::least_charge(session, r, job.request);
      if (!world.accounts.within_limits(r.facts.quota, least, r.facts.in)) return false;
      const auto where = world.find_place(session, pod_request, least, true);
      if (!where) return false;
      const resources<n> charged = world_type::charge_at(session, r, job.request, where);
      if (!world.accounts.within_limits(r.facts.quota, charged, r.facts.in)) return false;
      charge_for(world, r.facts.quota, charged, r.facts.in);
      own_first_ = nodes_.size();
      world.add_nodes_at(session, *where, nodes_);
      own_nodes_ = nodes_.size() - own_first_;
      return true;
    }
    place_victim(session, world, chosen[job.entry]);
    return true;
  }

  [[nodiscard]] static const Walk& walk_of(const leaf& l) { return l.has_begun ? l.walk : l.others; }
  [[nodiscard]] static bool is_empty(const leaf& l) {
    return (!l.may_wait || walk_of(l).is_over()) && l.next_involved == l.involved.size();
  }
  [[nodiscard]] static bool involved_first(const leaf& l) {
    if (l.next_involved == l.involved.size()) return false;
    const Walk& walk = walk_of(l);
    return !l.may_wait || walk.is_over() || l.involved[l.next_involved].rank < walk.first().rank;
  }
  [[nodiscard]] static const resources<n>& head(const leaf& l) {
    return involved_first(l) ? l.involved[l.next_involved].request : walk_of(l).first().request;
  }

  void charge_for(world_type& world, quota_id x, const resources<n>& request, capacity_kind in) {
    world.accounts.charge(x, request, in);
    charged_.push_back({x, request, in});
  }
  void place_victim(Session& session, world_type& world, chosen_unit& back) {
    const record& v = world.at(session, back.unit->id);
    const resources<n> least = world_type::least_charge(session, v, v.facts.request);
    if (!world.accounts.within_limits(v.facts.quota, least, v.facts.in)) return;
    back.first_node = nodes_.size();
    const auto where = world.find_place_back(session, v, nodes_);
    if (!where) return;
    const resources<n> charged = world_type::charge_at(session, v, v.facts.request, where->at);
    if (!world.accounts.within_limits(v.facts.quota, charged, v.facts.in)) return;
    charge_for(world, v.facts.quota, charged, v.facts.in);
    back.end = where->moved == 0 && !world.stands_pipelined(v.facts.id) ? fate::stays : fate::moves;
    back.moved = where->moved;
    back.nodes = nodes_.size() - back.first_node;
  }

  lazy_tournament<saturation_standing<n>> turn_;
  vector<leaf> leaves_;
  vector<quota_id> with_waiting_;
  vector<involved_job> involved_;
  vector<charge> charged_;
  vector<std::size_t> nodes_;
  std::size_t own_first_ = 0;
  std::size_t own_nodes_ = 0;
  stamped_set<job_id> marked_;
  bool any_marked_ = false;
  /// How many of the victims still to be placed are such.
  std::size_t outlasting_ = 0;
  /// How many of them there may be room for, once the pending unit is placed.
  std::size_t open_ = 0;
  /// By dimension, the least that one of the victims may be charged.
  resources<n> least_of_victims_;
  /// Whether the victims of the scenario have been taken off their nodes.
  bool has_vacated_ = false;
  /// Whether the pending unit would have a place without the victims, as far as `could_fit` can tell.
  bool may_fit_ = false;
  /// Whether `could_fit` can tell.
  bool supposes_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

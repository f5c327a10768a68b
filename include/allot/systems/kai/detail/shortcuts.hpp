// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/vector.hpp>
#include <allot/systems/kai/detail/cycle_state.hpp>
#include <allot/systems/kai/detail/fair_reclaim.hpp>
#include <allot/systems/kai/detail/saturation_order.hpp>
#include <allot/systems/kai/detail/unit_id.hpp>
#include <allot/systems/kai/detail/unit_order.hpp>
#include <allot/systems/kai/detail/victims_queue.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace allot {
inline namespace v0 {
namespace detail {

/// What a search may skip, because it can't matter: KAI does all of it. A walk that takes no shortcuts
/// (`job_walk::takes_shortcuts`) turns them off, and the tests compare the decisions. Each says what it is
/// measured by.
template <class Session>
class shortcuts {
 public:
  static constexpr std::size_t n = Session::n;
  using state_type = cycle_state<Session>;
  using record = typename Session::record;
  using on_nodes = typename state_type::on_nodes;
  using node_share = typename on_nodes::node_share;
  using running_unit = typename state_type::running_unit;

  void bind(Session& session, state_type& state) noexcept { session_ = &session, state_ = &state; }

  /// The whole search: the victims can't be made to give enough. Without it a replay of philly128 by three
  /// quotas of which two are owed little takes three times as long.
  [[nodiscard]] bool may_skip_search(const record& r, action_kind how,
                                     const victims_queue<Session>& victims) {
    if (how == action_kind::preempt || state_->may_overbook()) return false;
    quantity most{};
    if (how == action_kind::reclaim) {
      const auto counted = state_->accounts.counted();
      for (const std::size_t d : counted) most = std::max(most, most_reclaimable(r, d, victims));
      const resources<n> request = state_->least_charge(r, r.facts.request);
      if (counted.size() == 1 &&
          request[counted.front()] > state_->places.most_room()[counted.front()] + most) {
        return true;
      }
    }
    // If no job may be evicted for good, whole devices become free only where a job sharing them moves off.
    if (most == quantity{} &&
        !state_->places.rules().might_fit_after_moves(r.pod_request, victims.shared_devices())) {
      return true;
    }
    return how == action_kind::reclaim && !might_wait_for_turn(r, victims.candidates());
  }

  /// A scenario of a reclaim, whose units `for_each_unit(visit)` visits: those of them that a fair set may
  /// contain do not hold enough, and all others have to come back, or to move. O(units x depth), and once
  /// more for each unit that a fair set contains only with others. Without it the first decision on 400
  /// contended nodes of 40 quotas takes four times as long.
  template <class ForEachUnit>
  [[nodiscard]] bool may_skip_scenario(const record& r, std::uint32_t pods, const fair_reclaim<n>& fair,
                                       const ForEachUnit& for_each_unit) const {
    const resources<n> request = request_of_pods(*session_, r, pods);
    const resources<n> least = state_->least_charge(r, request);
    const resources<n> room = state_->places.most_room();
    if (state_->accounts.suffices(least, room)) return false;
    const quota_tree<n>& tree = session_->tree();
    const auto nearer = [&](quota_id ours) {
      resources<n> sum;
      for_each_unit([&](const running_unit& u) {
        if (tree.side_of(u.quota, tree.parent(ours)) == ours) sum += u.request;
      });
      return sum;
    };
    // Many units in a row are of the same quota and size.
    reclaim_bundle<n> last;
    bool may_be_taken = false;
    resources<n> freed;
    for_each_unit([&](const running_unit& u) {
      if (u.quota != last.quota || u.request != last.amount) {
        last = {u.quota, u.request};
        may_be_taken = fair.may_be_in_fair_set(state_->accounts, r.facts.quota, request, last, nearer);
      }
      // What moves once more may be given what others have.
      if (may_be_taken || state_->was_moved(state_->at(u.id))) freed += u.request;
    });
    return !state_->accounts.suffices(least, room, freed);
  }

 private:
  [[nodiscard]] quantity most_reclaimable(const record& r, std::size_t d,
                                          const victims_queue<Session>& victims) const {
    const quota_tree<n>& tree = session_->tree();
    quantity most{};
    quota_id ours = r.facts.quota;
    for (;; ours = tree.parent(ours)) {
      const quota_id above = tree.parent(ours);
      for (const quota_id side : above ? tree.children(above) : tree.roots()) {
        if (side == ours) continue;
        const quantity excess = fair_reclaim<n>::excess(state_->accounts, ours, side, r.facts.request, d);
        if (excess > quantity{}) most += excess + victims.largest(d);
      }
      if (!above) return most;
    }
  }

  /// Whether a reclaim could succeed although victims are placed again in their turn, and where theirs comes
  /// before that of the pending unit, take their nodes back.
  ///
  /// Among sibling quotas a unit has its turn when the key of its quota is the least with the largest request
  /// ahead of it in its queue, or its own. A sibling's victims wait for theirs no longer than its key is
  /// greater than that, and it is the less, the more of them wait. What is left for the unit is what may wait
  /// then, and what the others leave by moving to unused devices (`node_placement::might_gain`).
  ///
  /// True wherever it can't say: with several dimensions, with victims that are not all siblings', that are
  /// elastic, pipelined, have parts of devices or share several nodes, with closed nodes, or if CPU and
  /// memory of nodes are counted. O(quotas x kinds of pending units), and O(victims) if there are unused
  /// devices.
  [[nodiscard]] bool might_wait_for_turn(const record& r, std::span<const quota_id> candidates) {
    const auto counted = state_->accounts.counted();
    if (counted.size() != 1 || !state_->places.has_nodes() || is_charged_by_place(*session_, r)) return true;
    const std::size_t d = counted.front();
    if (state_->places.room()[d] < quantity{}) return true;
    const quota_id above = session_->tree().parent(r.facts.quota);
    for (const quota_id x : candidates) {
      if (session_->tree().parent(x) != above || state_->has_pipelined(x)) return true;
      if (state_->running.of(x).has_elastic_pods) return true;
      for (quota_id q = x; q; q = session_->tree().parent(q)) {
        if (state_->accounts.allocated(q)[d] > state_->accounts.limit(q)[d]) return true;
      }
    }
    state_->queues.follow(false);
    const unit_rank own = unit_rank::of(r, 0);
    resources<n> ahead = request_of_pods(*session_, r, 1);
    for_each_pending(r.facts.quota, own, unit_id::of(r), [&](const resources<n>& other, const unit_rank&) {
      ahead[d] = std::max(ahead[d], other[d]);
    });
    const standing key{state_->accounts, r.facts.quota, ahead, {}};
    std::int64_t late = 0;
    first_late_.clear();
    for (const quota_id x : candidates) {
      const late_units those = most_late(x, unit_id::of(r), d, key);
      late += those.held / 1000;
      first_late_.push_back(those.first);
    }
    for (const quota_id x : candidates) {
      const auto& those = state_->running.with_node_shares(x);
      if (those.unknown > 0 || those.underweight[d] > 0) return true;
    }
    return state_->places.rules().might_gain(
        pod_request_of(r, 1), static_cast<std::uint64_t>(late),
        [&](const auto& visit) {
          for (std::size_t c = 0; c < candidates.size(); ++c) {
            const auto& node_shares = state_->running.of(candidates[c]).node_shares;
            for (std::size_t i = 0; i < node_shares.size(); ++i) visit(node_shares[i], i >= first_late_[c]);
          }
        },
        tallies_, tallied_);
  }

  using standing = saturation_standing<n>;

  /// The victims of one quota that may wait for their turn when that of the unit comes: the most that they
  /// hold, in milli, and the position of the first of them in their quota.
  struct late_units {
    std::int64_t held = 0;
    std::size_t first = 0;
  };

  /// Calls `visit(request, rank)` for the kinds of units that pend in x, with the rank of the first of each,
  /// if that is before `before`.
  template <class Visit>
  void for_each_pending(quota_id x, const unit_rank& before, unit_id own, Visit visit) const {
    for (const auto& kind : state_->queues.kinds(x)) {
      for (std::size_t i = kind.first; i < kind.stays.size() && kind.stays[i].rank < before; ++i) {
        const auto& stay = kind.stays[i];
        if (!stay.was_there(state_->queues.now()) || stay.id == own || state_->pipelined.contains(stay.id))
          continue;
        visit(kind.request, stay.rank);
        break;
      }
    }
  }
  [[nodiscard]] late_units most_late(quota_id x, unit_id own, std::size_t d, const standing& key) const {
    const auto& those = state_->running.of(x);
    late_units late{0, those.units.size()};
    // Whether the quota may come later with such a request at its front and victims that hold so much.
    const auto is_behind = [&](quantity request, std::int64_t held) {
      resources<n> head;
      resources<n> gone;
      head[d] = request;
      gone[d] = quantity::milli(held);
      const std::size_t before = state_->statement.checkpoint();
      state_->statement.release(x, gone, capacity_kind::any);
      const bool is = key < standing{state_->accounts, x, head, {}};
      state_->statement.rollback(before);
      return is;
    };
    unit_rank last = those.units.back().rank;
    last.stage = 0;
    quantity largest{};
    quantity least = quantity::unlimited();
    std::optional<unit_rank> first;
    for_each_pending(x, last, own, [&](const resources<n>& request, const unit_rank& rank) {
      if (first && *first < rank && request[d] <= largest) return;
      if (request[d] < least && !is_behind(request[d], 1)) return;
      least = std::min(least, request[d]);
      largest = std::max(largest, request[d]);
      if (!first || rank < *first) first = rank;
    });
    // With a victim itself at the front, its quota uses no more than now.
    if (is_behind({}, 0)) {
      largest = std::max(largest, those.largest()[d]);
      late.first = 0;
    } else if (first) {
      first->stage = those.units.front().rank.stage;
      late.first = static_cast<std::size_t>(first_from(those.units, *first) - those.units.begin());
    }
    if (late.first == those.units.size() || !is_behind(largest, 1)) return {0, those.units.size()};
    std::int64_t more = those.sum[d].in_milli() + 1;
    late.held = 1;
    while (late.held + 1 < more) {
      const std::int64_t middle = late.held + (more - late.held) / 2;
      (is_behind(largest, middle) ? late.held : more) = middle;
    }
    return late;
  }

  Session* session_ = nullptr;
  state_type* state_ = nullptr;
  /// By candidate.
  vector<std::size_t> first_late_;
  vector<typename on_nodes::node_tally> tallies_;
  vector<std::uint32_t> tallied_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

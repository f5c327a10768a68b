// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/stamped_set.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/protection.hpp>
#include <allot/systems/kai/detail/cycle_state.hpp>
#include <allot/systems/kai/detail/lazy_tournament.hpp>
#include <allot/systems/kai/detail/saturation_order.hpp>
#include <allot/systems/kai/detail/unit_id.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// The actions that evict running jobs.
enum class action_kind : std::uint8_t { consolidation, reclaim, preempt };

struct victims_wanted {
  action_kind how = action_kind::reclaim;
  /// How many jobs a consolidation may move at most.
  std::size_t most_moved = 0;
  runtime_source source = runtime_source::common_ancestor;

  [[nodiscard]] allot::relation relation() const noexcept {
    switch (how) {
      case action_kind::consolidation:
        return allot::relation::consolidation;
      case action_kind::reclaim:
        return allot::relation::borrower;
      case action_kind::preempt:
        break;
    }
    return allot::relation::same_quota;
  }
};

/// The victims queue: the reverse of the order in which quotas and jobs take turns. What the units already
/// considered hold is deducted from their quota's share. An elastic job gives one elastic pod at a time, then
/// the rest as a whole.
///
/// (As in KAI v0.13, a job considered several times has all that it held deducted each time, and a quota is
/// represented, at every level, by the victims of one leaf alone.)
template <class Session>
class victims_queue {
 public:
  static constexpr std::size_t n = Session::n;
  using state_type = cycle_state<Session>;
  using record = typename Session::record;
  using running_unit = typename state_type::running_unit;

  void bind(Session& session, state_type& state) noexcept { session_ = &session, state_ = &state; }
  void reset(const quota_tree<n>& tree) {
    turn_.reset(tree);
    leaves_.assign(tree.slots(), leaf{});
    candidates_.clear();
  }

  /// Determines which units a search may consider; returns what they hold in total. O(quotas); O(running)
  /// where priorities or minimum runtimes distinguish them.
  resources<n> gather(const record& r, const victims_wanted& wanted) {
    r_ = {r.facts.elastic ? r.facts.core : r.facts.id, r.facts.quota, r.facts.priority};
    wanted_ = wanted;
    candidates_.clear();
    listed_.clear();
    largest_ = {};
    shared_ = 0;
    resources<n> all;
    switch (wanted.how) {
      case action_kind::consolidation:
        list_movable(all);
        break;
      case action_kind::preempt: {
        const auto own = session_->books().running().jobs_of(r_.quota);
        // They are sorted by priority, the lowest at the end.
        const bool any_lower = !own.empty() && own.back().priority < r_.priority;
        const bool only_lower = any_lower && own.front().priority < r_.priority && !r.facts.elastic &&
                                !state_->is_elastic(r) && !session_->queues().guarantees_runtime();
        if (state_->has_pipelined(r_.quota) || (any_lower && !only_lower)) {
          add(r_.quota, all);
        } else if (only_lower) {
          add_all(state_->running.of(r_.quota), r_.quota, all);
        }
        break;
      }
      case action_kind::reclaim:
        for (const quota_id x : session_->tree().top_down()) {
          if (x == r_.quota || !has_active(x)) continue;
          if (session_->queues().guarantees_runtime() || state_->has_forgotten()) {
            add(x, all);
          } else {
            add_all(victims_of(x), x, all);
          }
        }
    }
    return all;
  }
  /// The largest of the units gathered.
  [[nodiscard]] quantity largest(std::size_t d) const { return largest_[d]; }

  /// How many shareable devices they run on; see `node_placement`.
  [[nodiscard]] std::uint64_t shared_devices() const noexcept { return shared_; }
  /// The quotas that they are in.
  [[nodiscard]] std::span<const quota_id> candidates() const noexcept { return candidates_; }

  /// Starts over from the first unit, leaving out those recorded. Precondition: `gather` was called.
  template <class Chosen>
  void start(const vector<Chosen>& recorded) {
    marked_.clear();
    marked_extras_.clear();
    lists_ = true;
    for (const Chosen& c : recorded) {
      c.unit->id.is_extra() ? marked_extras_.push_back(c.unit->id) : marked_.insert(c.unit->id.job());
      lists_ = lists_ && !c.unit->elastic && !state_->is_elastic(session_->jobs().at(c.unit->id.job()));
    }
    next_listed_ = 0;
    if (lists_ && !listed_.empty()) return;
    listed_.clear();
    turn_.clear(session_->tree());
    for (const quota_id x : candidates_) {
      leaf& l = leaves_[x.index()];
      l.left = l.units.size();
      l.given = {};
      skip(l);
      if (l.left > 0) turn_.enter(x);
    }
    turn_.start(session_->tree(), key());
  }
  /// The next victim; none when all have been considered. Valid until the state changes.
  [[nodiscard]] const running_unit* next() {
    for (;;) {
      if (next_listed_ < listed_.size()) {
        const running_unit* const u = listed_[next_listed_++];
        if (is_marked(u->id)) continue;
        return u;
      }
      const quota_id x = turn_.next(session_->tree(), key());
      if (!x) return nullptr;
      leaf& l = leaves_[x.index()];
      const running_unit& u = l.units[--l.left];
      l.given += u.stands;
      const bool known = is_marked(u.id);
      // The job comes back without any of its recorded units.
      while (known && l.left > 0 && l.next().core == u.core && is_marked(l.next().id)) --l.left;
      skip(l);
      turn_.passed(session_->tree(), x, l.left > 0);
      if (lists_) {
        listed_.push_back(&u);
        ++next_listed_;
      }
      if (!known) return &u;
    }
  }
  /// Whether it is the rest of an elastic job that is protected as a whole: KAI rejects every scenario with
  /// it.
  [[nodiscard]] bool ends_search(const running_unit& u) const {
    return !u.elastic && state_->is_elastic(session_->jobs().at(u.id.job())) && is_protected(u);
  }

 private:
  struct leaf {
    /// The next to be considered is the last of the first `left`.
    std::span<const running_unit> units;
    std::size_t left = 0;
    /// What those already considered held, each when it was considered.
    resources<n> given;
    /// Those that run or are pipelined, as of that change, if any are pipelined.
    typename running_pods<Session>::victims active{};
    bool has_pipelined = false;
    std::uint64_t as_of = 0;

    [[nodiscard]] const running_unit& next() const { return units[left - 1]; }
  };
  struct asker {
    job_id core;
    quota_id quota;
    std::int64_t priority = 0;
  };

  [[nodiscard]] bool is_marked(unit_id id) const {
    if (!id.is_extra()) return marked_.contains(id.job());
    return detail::find(marked_extras_.begin(), marked_extras_.end(), id) != marked_extras_.end();
  }
  /// The standing of a quota without the units already considered and the next one.
  [[nodiscard]] auto key() const {
    return [this](quota_id x, quota_id of) {
      const leaf& l = leaves_[of.index()];
      resources<n> given = l.given;
      for (const std::size_t d : state_->accounts.counted()) {
        if (l.left > 0) given[d] += l.next().stands[d];
      }
      return saturation_standing<n>{state_->accounts, x, {}, given};
    };
  }
  void skip(leaf& l) const {
    while (l.left > 0 && !may_yield(l.next())) --l.left;
  }

  [[nodiscard]] bool may_yield(const running_unit& u) const {
    if (u.core == r_.core || state_->seems_inactive(u.core)) return false;
    switch (wanted_.how) {
      case action_kind::consolidation:
        return std::binary_search(movable_.begin(), movable_.end(), u.core);
      case action_kind::preempt:
        if (state_->at(u.id).facts.priority >= r_.priority) return false;
        break;
      case action_kind::reclaim:
        break;
    }
    // The filter lets elastic jobs through.
    const bool elastic = u.elastic || state_->is_elastic(session_->jobs().at(u.id.job()));
    return elastic || !is_protected(u);
  }
  [[nodiscard]] bool is_protected(const running_unit& u) const {
    if (!session_->queues().guarantees_runtime() || state_->at(u.id).state == job_state::pending)
      return false;
    const instant span = guaranteed_runtime(
        session_->tree(), u.quota, r_.quota, wanted_.how == action_kind::preempt, wanted_.source,
        [&](quota_id x) -> const runtime_guarantee& { return session_->queues().settings(x).min_runtime; });
    return span > 0 && session_->now() - session_->jobs().at(u.id.job()).facts.started < span;
  }

  void add(quota_id x, resources<n>& all) {
    const auto& units = victims_of(x).units;
    bool any = false;
    for (const running_unit& u : units) {
      if (may_yield(u)) any = true, count(u, all);
    }
    if (any) ask(x, units);
  }
  /// Whether jobs of the leaf run or are pipelined.
  [[nodiscard]] bool has_active(quota_id x) {
    if (!state_->is_leaf(x)) return false;
    return !session_->books().running().jobs_of(x).empty() || has_pipelined(x);
  }
  [[nodiscard]] bool has_pipelined(quota_id x) {
    leaf& l = leaves_[x.index()];
    if (std::exchange(l.as_of, state_->changed_at(x)) != state_->changed_at(x)) {
      l.has_pipelined = state_->has_pipelined(x);
      l.active.is_old = true;
    }
    return l.has_pipelined;
  }
  /// Those that run or are pipelined. Valid until the state changes.
  [[nodiscard]] const typename running_pods<Session>::victims& victims_of(quota_id x) {
    const auto& those = state_->running.of(x);
    if (!has_pipelined(x)) return those;
    auto& all = leaves_[x.index()].active;
    if (!std::exchange(all.is_old, false)) return all;
    state_->running.copy(those, all);
    state_->for_each_pipelined(x, [&](unit_id id) {
      const record& r = state_->at(id);
      state_->running.add_pipelined(r, state_->evicted.left(r), state_->evicted.of(r), all);
    });
    return all;
  }
  void add_all(const typename running_pods<Session>::victims& those, quota_id x, resources<n>& all) {
    if (those.units.empty()) return;
    all += those.sum;
    shared_ += those.shared;
    for (std::size_t d = 0; d < n; ++d) largest_[d] = std::max(largest_[d], those.largest()[d]);
    ask(x, those.units);
  }
  void ask(quota_id x, std::span<const running_unit> units) {
    candidates_.push_back(x);
    leaves_[x.index()].units = units;
  }
  void count(const running_unit& u, resources<n>& all) {
    all += u.request;
    shared_ += u.shared;
    for (std::size_t d = 0; d < n; ++d) largest_[d] = std::max(largest_[d], u.request[d]);
  }
  /// KAI takes the first ones in the order of a hash table, here the oldest; and one more than configured.
  /// O(quotas x priorities x most that may move).
  void list_movable(resources<n>& all) {
    choose_movable();
    movable_units_.clear();
    first_movable_.clear();
    for (const quota_id x : session_->tree().top_down()) {
      if (!has_active(x)) continue;
      const std::size_t first = movable_units_.size();
      const auto& those = victims_of(x);
      const auto& units = those.units;
      if (those.has_elastic_pods) {
        std::copy_if(units.begin(), units.end(), std::back_inserter(movable_units_),
                     [&](const running_unit& u) { return may_yield(u); });
      } else {
        for (const by_age& j : oldest_) {
          if (j.quota == x) movable_units_.push_back(units[j.position]);
        }
        detail::sort(movable_units_.begin() + static_cast<std::ptrdiff_t>(first), movable_units_.end(),
                     [](const running_unit& a, const running_unit& b) { return a.rank < b.rank; });
      }
      if (movable_units_.size() == first) continue;
      candidates_.push_back(x);
      first_movable_.push_back(first);
    }
    for (const running_unit& u : movable_units_) count(u, all);
    first_movable_.push_back(movable_units_.size());
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      leaves_[candidates_[i].index()].units = std::span<const running_unit>{movable_units_}.subspan(
          first_movable_[i], first_movable_[i + 1] - first_movable_[i]);
    }
  }
  void choose_movable() {
    oldest_.clear();
    const std::size_t limit = wanted_.most_moved + 1;
    for (const quota_id x : session_->tree().top_down()) {
      if (!has_active(x)) continue;
      const auto& units = victims_of(x).units;
      // Within each priority, the oldest come first.
      for (auto u = units.begin(); u != units.end();) {
        const std::int64_t key = u->rank.key;
        std::size_t found = 0;
        for (; u != units.end() && u->rank.key == key && !u->elastic && found < limit; ++u) {
          if (u->core == r_.core || state_->seems_inactive(u->core)) continue;
          ++found;
          oldest_.push_back(
              {u->rank.submitted, u->rank.order, u->core, x, static_cast<std::size_t>(u - units.begin())});
        }
        u = std::partition_point(u, units.end(), [key](const running_unit& v) { return v.rank.key == key; });
      }
    }
    const std::size_t most = std::min(oldest_.size(), limit);
    std::partial_sort(oldest_.begin(), oldest_.begin() + static_cast<std::ptrdiff_t>(most), oldest_.end());
    oldest_.resize(most);
    movable_.clear();
    for (const by_age& j : oldest_) movable_.push_back(j.core);
    detail::sort(movable_.begin(), movable_.end());
  }

  struct by_age {
    instant submitted = 0;
    std::uint64_t order = 0;
    job_id core;
    quota_id quota;
    /// among the victims of its quota.
    std::size_t position = 0;
    friend auto operator<=>(const by_age&, const by_age&) noexcept = default;
  };

  Session* session_ = nullptr;
  state_type* state_ = nullptr;
  asker r_;
  victims_wanted wanted_;
  lazy_tournament<saturation_standing<n>, true> turn_;
  vector<leaf> leaves_;
  vector<quota_id> candidates_;
  /// The units in their order, as far as a search has come, so that the next one does not order them again.
  vector<const running_unit*> listed_;
  std::size_t next_listed_ = 0;
  /// Whether that order holds: not where a part of a job is recorded.
  bool lists_ = false;
  resources<n> largest_;
  std::uint64_t shared_ = 0;
  vector<by_age> oldest_;
  vector<job_id> movable_;
  vector<running_unit> movable_units_;
  vector<std::size_t> first_movable_;
  /// The units recorded; extra pods apart.
  stamped_set<job_id> marked_;
  vector<unit_id> marked_extras_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

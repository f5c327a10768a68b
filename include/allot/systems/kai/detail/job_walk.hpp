// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/vector.hpp>
#include <allot/systems/kai/detail/job_queues.hpp>
#include <allot/systems/kai/detail/unit_id.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// Visits the pending units of a leaf once, in order, as they were when the walk began. Units of kinds for
/// which nothing can be done are passed all at once, so a walk costs O(kinds) for each unit looked at and for
/// each kind, not for each unit.
template <class Session>
class job_walk {
 public:
  static constexpr std::size_t n = Session::n;
  using queues_type = job_queues<Session>;
  using pending_kind = typename queues_type::pending_kind;
  using waiting_unit = typename queues_type::waiting_unit;
  /// Nor need searches be made or scenarios be run that are known to fail (`shortcuts`), or nodes be asked
  /// where the sums forbid it: without that the first decision on 400 contended nodes takes four times as
  /// long.
  static constexpr bool takes_shortcuts = true;
  /// The kind of units that became pending during the walk.
  static constexpr std::size_t no_kind = std::numeric_limits<std::size_t>::max();

  /// The unit at the front.
  struct front {
    unit_id id;
    unit_rank rank;
    resources<n> request;
    std::size_t kind = no_kind;
  };

  /// Starts at the first unit of the kinds for which `wanted(kind)`, skipping those for which `left_out(id)`;
  /// ends after `depth` units unless that is 0.
  template <class Wanted, class LeftOut>
  void start(const queues_type& queues, quota_id x, std::size_t depth, Wanted wanted, LeftOut left_out) {
    begun_ = queues.now();
    seen_.clear();
    came_.clear();
    last_.reset();
    const auto kinds = queues.kinds(x);
    at_.assign(kinds.size(), position{});
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      at_[k].version = kinds[k].version;
      at_[k].index = kinds[k].first;
      if (wanted(kinds[k])) settle(kinds[k], at_[k], left_out);
    }
    find_front(kinds);
    if (depth != 0) stop_after(kinds, depth, left_out);
  }
  /// Starts as another did, of which no unit has been passed.
  void start_like(const job_walk& other) {
    begun_ = other.begun_;
    at_ = other.at_;
    front_ = other.front_;
    last_ = other.last_;
    seen_.clear();
    came_.clear();
  }
  [[nodiscard]] bool is_over() const noexcept { return !front_.has_value(); }
  /// Precondition: it is not over.
  [[nodiscard]] const front& first() const { return *front_; }
  /// The request of the front; nothing when it is over.
  [[nodiscard]] resources<n> request() const { return front_ ? front_->request : resources<n>{}; }
  /// Whether a unit is left that came during the walk, or is of a kind for which `is_good(kind number)`.
  template <class IsGood>
  [[nodiscard]] bool has_left(IsGood is_good) const {
    if (!came_.empty()) return true;
    for (std::size_t k = 0; k < at_.size(); ++k) {
      if (at_[k].left && is_good(k)) return true;
    }
    return false;
  }

  /// One more unit has become pending.
  void add(const waiting_unit& u) {
    came_.insert(first_from(came_, u.rank), u);
    if (!front_ || u.rank < front_->rank) front_ = front{u.id, u.rank, u.request, no_kind};
  }
  /// Brings the next unit to the front.
  template <class LeftOut>
  void pass(const queues_type& queues, quota_id x, LeftOut left_out) {
    const auto kinds = queues.kinds(x);
    if (front_->kind == no_kind) {
      came_.erase(came_.begin());
    } else {
      advance(kinds[front_->kind], at_[front_->kind], left_out);
    }
    find_front(kinds);
  }
  /// Passes the front and all units behind it up to the first that is of a kind for which `stops(kind
  /// number)`, became pending during the walk, or does not rank before `until`. Precondition: the front does.
  template <class Stops, class LeftOut>
  void pass_until(const queues_type& queues, quota_id x, Stops stops, LeftOut left_out,
                  std::optional<unit_rank> until = {}) {
    const auto kinds = queues.kinds(x);
    if (!came_.empty() && (!until || came_.front().rank < *until)) until = came_.front().rank;
    passing_.clear();
    for (std::size_t k = 0; k < at_.size(); ++k) {
      if (!at_[k].left) continue;
      if (!stops(k)) {
        passing_.push_back(k);
      } else if (!until || at_[k].rank < *until) {
        until = at_[k].rank;
      }
    }
    for (const std::size_t k : passing_) {
      if (!until) {
        at_[k].left = false;
        continue;
      }
      if (!(at_[k].rank < *until)) continue;
      const auto& stays = kinds[k].stays;
      at_[k].version = kinds[k].version;
      at_[k].index = static_cast<std::size_t>(first_from(stays, *until) - stays.begin());
      settle(kinds[k], at_[k], left_out);
    }
    find_front(kinds);
  }

  /// The leaf has its turn. `again`: in its second turn in a row its whole path was keyed with the front's
  /// request, so it would come first with that request again as long as no other leaf is keyed and nothing is
  /// decided. Precondition: if `again`, it is not over.
  void take_turn(bool again, bool others_were_keyed) {
    if (!again || others_were_keyed) seen_.clear();
    if (again && !has_seen(front_->request)) seen_.push_back(front_->request);
  }
  /// Whether the leaf would come first with this request: it has with one that is no smaller.
  [[nodiscard]] bool has_seen(const resources<n>& request) const {
    return detail::any_of(seen_.begin(), seen_.end(),
                          [&](const resources<n>& seen) { return all_at_most(request, seen); });
  }

 private:
  struct position {
    std::size_t index = 0;
    /// The version of the kind that `index` refers to: units may have been added since.
    std::uint64_t version = 0;
    unit_rank rank;
    bool left = false;
  };

  /// Finds its index again after units have been added.
  void find_again(const pending_kind& k, position& p) const {
    if (p.version == k.version) return;
    p.version = k.version;
    p.index = static_cast<std::size_t>(first_from(k.stays, p.rank) - k.stays.begin());
    // An earlier stay of the same unit may precede it.
    while (!k.stays[p.index].was_there(begun_)) ++p.index;
  }
  /// Advances to the first unit from here on that was there and is not left out.
  template <class LeftOut>
  void settle(const pending_kind& k, position& p, LeftOut& left_out) const {
    while (p.index < k.stays.size() &&
           (!k.stays[p.index].was_there(begun_) || left_out(k.stays[p.index].id))) {
      ++p.index;
    }
    p.left = p.index < k.stays.size() && !(last_ && *last_ < k.stays[p.index].rank);
    if (p.left) p.rank = k.stays[p.index].rank;
  }
  template <class LeftOut>
  void advance(const pending_kind& k, position& p, LeftOut& left_out) const {
    find_again(k, p);
    ++p.index;
    settle(k, p, left_out);
  }
  void find_front(std::span<const pending_kind> kinds) {
    front_.reset();
    const unit_rank* first = came_.empty() ? nullptr : &came_.front().rank;
    std::size_t kind = no_kind;
    for (std::size_t k = 0; k < at_.size(); ++k) {
      if (!at_[k].left || (first != nullptr && *first < at_[k].rank)) continue;
      first = &at_[k].rank;
      kind = k;
    }
    if (kind != no_kind) {
      find_again(kinds[kind], at_[kind]);
      front_ = front{kinds[kind].stays[at_[kind].index].id, *first, kinds[kind].request, kind};
    } else if (first != nullptr) {
      front_ = front{came_.front().id, *first, came_.front().request, no_kind};
    }
  }
  template <class LeftOut>
  void stop_after(std::span<const pending_kind> kinds, std::size_t depth, LeftOut& left_out) {
    beginning_ = at_;
    std::optional<unit_rank> last;
    for (; depth > 0 && front_; --depth) {
      last = front_->rank;
      advance(kinds[front_->kind], at_[front_->kind], left_out);
      find_front(kinds);
    }
    std::swap(at_, beginning_);
    last_ = last;
    for (position& p : at_) p.left = p.left && !(*last_ < p.rank);
    find_front(kinds);
  }

  typename queues_type::moment begun_ = 0;
  vector<position> at_;
  vector<position> beginning_;
  vector<waiting_unit> came_;
  vector<std::size_t> passing_;
  vector<resources<n>> seen_;
  std::optional<front> front_;
  /// The last rank to visit.
  std::optional<unit_rank> last_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

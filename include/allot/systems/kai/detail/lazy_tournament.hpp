// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/fairshare/winner_trees.hpp>
#include <allot/quota/tree.hpp>

#include <cstddef>
#include <utility>

namespace allot {
inline namespace v0 {

/// Whose turn it is among the leaves of a tree, level by level, the way KAI-Scheduler v0.13 keeps its order:
/// a quota is represented in the match of its siblings by the leaf it last sent, and only the quotas on the
/// path of the last turn are re-evaluated, each when it is at the front.
///
/// A department thus continues to be judged by the job behind the one that had the last turn, even if another
/// of its teams would come first by now: that is found only when its match is replayed, after the choice
/// between the departments has been made. `tournament` has no such delay.
///
/// `Key` is totally ordered and the least comes first, or the greatest with `Reverse`. A key function is
/// called as key(quota, leaf), where `leaf` represents the quota. O(log siblings) per match; no allocation
/// after `reset`.
template <class Key, bool Reverse = false>
class lazy_tournament {
 public:
  /// Starts over on a tree, with no participants. O(n).
  template <std::size_t N>
  void reset(const quota_tree<N>& tree) {
    seats_.assign(tree.slots(), seat{});
    matches_.reset(tree, 0, [&](quota_id x, std::size_t of, std::size_t player) {
      seats_[x.index()].match = of;
      seats_[x.index()].player = player;
    });
    taking_part_.clear();
  }

  /// Removes all participants: no match has to be decided. O(participants, log siblings each).
  template <std::size_t N>
  void clear(const quota_tree<N>& tree) {
    for (const quota_id x : taking_part_) {
      for (quota_id q = x; q && seats_[q.index()].in; q = tree.parent(q)) {
        seat& s = seats_[q.index()];
        s.in = s.stale = false;
        matches_.play(s.match, s.player, false, [](std::size_t, std::size_t) { return false; });
      }
    }
    taking_part_.clear();
  }
  /// The leaf takes part from `start` on.
  void enter(quota_id leaf) { taking_part_.push_back(leaf); }
  /// Keys all participants, the leaves first. O(participants x depth, and log siblings for each quota).
  template <std::size_t N, class KeyOf>
  void start(const quota_tree<N>& tree, KeyOf key) {
    for (const quota_id leaf : taking_part_) {
      seats_[leaf.index()].best = leaf;
      for (quota_id q = leaf; q; q = tree.parent(q)) ++seats_[q.index()].awaits;
    }
    for (const quota_id leaf : taking_part_) {
      // A quota is keyed once all that take part below it are.
      for (quota_id q = leaf; q; q = tree.parent(q)) {
        seat& s = seats_[q.index()];
        if (--s.awaits > 0) continue;
        if (q != leaf) s.best = best_below(tree, q);
        s.stale = false;
        s.in = true;
        s.key = key(q, s.best);
        replay(tree, q);
      }
    }
  }

  /// The leaf whose turn it is, if any takes part. Keys the quotas at the front whose turn has passed.
  template <std::size_t N, class KeyOf>
  [[nodiscard]] quota_id next(const quota_tree<N>& tree, KeyOf key) {
    std::size_t of = tree.slots();
    keyed_ = quota_id::none();
    keyed_several_ = false;
    for (;;) {
      const quota_id front = front_of(tree, of);
      if (!front) return front;
      seat& s = seats_[front.index()];
      if (s.stale) {
        s.stale = false;
        keyed_several_ = keyed_several_ || (keyed_ && keyed_ != s.best);
        keyed_ = s.best;
        s.key = key(front, s.best);
        replay(tree, front);
        continue;
      }
      of = front.index();
      if (!front_of(tree, of)) return represent(tree, front);
    }
  }
  /// Whether the last `next` keyed a quota represented by a leaf other than this one.
  [[nodiscard]] bool keyed_others_than(quota_id leaf) const noexcept {
    return keyed_several_ || (keyed_ && keyed_ != leaf);
  }
  /// The leaf has had its turn; it still takes part, or no longer does.
  template <std::size_t N>
  void passed(const quota_tree<N>& tree, quota_id leaf, bool takes_part) {
    quota_id q = leaf;
    if (!takes_part) {
      for (; q; q = tree.parent(q)) {
        if (q != leaf && front_of(tree, q.index())) break;
        leave(tree, q);
      }
      if (q) seats_[q.index()].best = best_below(tree, q);
    }
    for (; q; q = tree.parent(q)) {
      seats_[q.index()].stale = true;
      if (q != leaf && !takes_part) seats_[q.index()].best = best_below(tree, q);
    }
  }
  /// What x uses or its jobs request has changed for another reason. O(depth log siblings).
  template <std::size_t N, class KeyOf>
  void changed(const quota_tree<N>& tree, quota_id x, KeyOf key) {
    for (quota_id q = x; q; q = tree.parent(q)) {
      seat& s = seats_[q.index()];
      if (!s.in) continue;
      s.key = key(q, s.best);
      replay(tree, q);
    }
  }

 private:
  struct seat {
    bool in = false;
    bool stale = false;
    /// While participants are keyed: how many below it are still to come.
    std::size_t awaits = 0;
    /// The leaf that represents the quota.
    quota_id best{};
    Key key{};
    std::size_t match = 0;
    std::size_t player = 0;
  };
  template <std::size_t N>
  [[nodiscard]] static quota_id player(const quota_tree<N>& tree, std::size_t of, std::size_t i) {
    return of == tree.slots() ? tree.roots()[i] : tree.children(quota_id{of})[i];
  }
  template <std::size_t N>
  [[nodiscard]] quota_id front_of(const quota_tree<N>& tree, std::size_t of) const {
    const std::size_t w = matches_.winner(of);
    return w == winner_trees::none ? quota_id::none() : player(tree, of, w);
  }
  template <std::size_t N>
  [[nodiscard]] quota_id best_below(const quota_tree<N>& tree, quota_id x) const {
    const quota_id front = front_of(tree, x.index());
    return front ? seats_[front.index()].best : quota_id::none();
  }
  /// The chosen leaf represents every quota on its path from now on.
  template <std::size_t N>
  quota_id represent(const quota_tree<N>& tree, quota_id leaf) {
    for (quota_id q = leaf; q; q = tree.parent(q)) seats_[q.index()].best = leaf;
    return leaf;
  }

  template <std::size_t N>
  void leave(const quota_tree<N>& tree, quota_id x) {
    seat& s = seats_[x.index()];
    s.in = false;
    s.stale = false;
    replay(tree, x);
  }
  template <std::size_t N>
  void replay(const quota_tree<N>& tree, quota_id x) {
    const seat& s = seats_[x.index()];
    matches_.play(s.match, s.player, s.in,
                  [&](std::size_t a, std::size_t b) { return before(tree, s.match, a, b); });
  }
  template <std::size_t N>
  [[nodiscard]] bool before(const quota_tree<N>& tree, std::size_t of, std::size_t a, std::size_t b) const {
    const Key& x = seats_[player(tree, of, a).index()].key;
    const Key& y = seats_[player(tree, of, b).index()].key;
    return Reverse ? y < x : x < y;
  }

  vector<seat> seats_;
  winner_trees matches_;
  vector<quota_id> taking_part_;
  /// The leaf that represented the quotas keyed by the last `next`.
  quota_id keyed_{};
  bool keyed_several_ = false;
};

}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/fairshare/contender.hpp>
#include <allot/fairshare/order.hpp>

#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {

/// Whose turn it is: at every inner quota the children (and its own jobs) compete, each child represented by
/// the best waiting job of its subtree; the winner of the root's match is the job that is tried next.
///
/// Each quota keeps its match as a winner tree. When a quota's head or usage changes, only the path above it
/// is keyed again and only that path's matches are replayed: O(sum over the path of log children), without
/// allocation.
template <std::size_t N, quota_order<N> Order>
class tournament {
 public:
  using key = decltype(std::declval<const Order&>()(std::declval<const ledger<N>&>(),
                                                    std::declval<const contender<N>&>()));

  explicit tournament(Order order = {}) : order_(std::move(order)) {}

  /// Starts anew on a tree, with nobody waiting. O(n).
  void reset(const quota_tree<N>& tree) {
    seats_.assign(tree.slots(), seat{});
    matches_.assign(tree.slots() + 1, match{});
    std::size_t total = 0;
    const auto enrol = [&](match& m, std::span<const quota_id> players, std::size_t own_jobs) {
      m = {total, players.size() + own_jobs};
      total += 2 * m.size;
      for (std::size_t i = 0; i < players.size(); ++i) seats_[players[i].index()].player = own_jobs + i;
    };
    for (const quota_id x : tree.top_down()) enrol(matches_[x.index()], tree.children(x), 1);
    enrol(matches_.back(), tree.roots(), 0);
    winners_.assign(total, nobody);
  }

  /// `x` has a waiting job: its best one asks for `request` and ranks as `head`.
  void enter(const ledger<N>& l, quota_id x, const resources<N>& request, const job_rank& head) {
    seat& s = seats_[x.index()];
    s.waits = true;
    s.request = request;
    s.head = head;
    replay(l, x);
  }
  /// None of x's own jobs takes part any more. To be called, like `enter`, also when only the usage of x has
  /// changed: its subtree may compete for others.
  void leave(const ledger<N>& l, quota_id x) {
    seats_[x.index()].waits = false;
    replay(l, x);
  }

  /// The quota whose best own job goes next, none when nobody waits. O(1).
  [[nodiscard]] quota_id best(const quota_tree<N>& tree) const {
    const match& roots = matches_.back();
    if (roots.size == 0) return quota_id::none();
    const std::size_t w = winners_[roots.first + 1];
    return w == nobody ? quota_id::none() : seats_[tree.roots()[w].index()].best;
  }

 private:
  static constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();

  /// A quota, as the place of its own jobs and as a player in the match of its parent.
  struct seat {
    bool waits = false;
    resources<N> request{};
    job_rank head{};
    key own_key{};
    /// The quota whose own job represents the subtree, none when nobody waits there.
    quota_id best{};
    /// What of that job's request reaches this quota.
    resources<N> arriving{};
    key child_key{};
    std::size_t player = 0;
  };
  /// A winner tree over `size` players: the leaf of player i is at `first + size + i`, the winner at
  /// `first + 1`. In the match of a quota player 0 is its own jobs and player i + 1 its child i; in the last
  /// match the players are the roots.
  struct match {
    std::size_t first = 0;
    std::size_t size = 0;
  };

  void replay(const ledger<N>& l, quota_id x) {
    const quota_tree<N>& tree = l.tree();
    seat& own = seats_[x.index()];
    if (own.waits) own.own_key = order_(l, contender<N>{x, true, own.request, own.head});
    play(matches_[x.index()], 0, own.waits,
         [&](std::size_t a, std::size_t b) { return before(tree, x, a, b); });
    for (quota_id child = x;;) {
      represent(l, child);
      const seat& s = seats_[child.index()];
      const quota_id p = tree.parent(child);
      play(p ? matches_[p.index()] : matches_.back(), s.player, !s.best.is_none(),
           [&](std::size_t a, std::size_t b) { return before(tree, p, a, b); });
      if (!p) return;
      child = p;
    }
  }

  /// Player `i` has changed: replays its matches up to the winner.
  template <class Before>
  void play(const match& m, std::size_t i, bool takes_part, Before before) {
    std::size_t at = m.size + i;
    winners_[m.first + at] = takes_part ? i : nobody;
    for (at /= 2; at >= 1; at /= 2) {
      const std::size_t a = winners_[m.first + 2 * at];
      const std::size_t b = winners_[m.first + 2 * at + 1];
      winners_[m.first + at] = a == nobody || (b != nobody && before(b, a)) ? b : a;
    }
  }

  /// Makes the winner of c's match the representative of c's subtree.
  void represent(const ledger<N>& l, quota_id c) {
    seat& s = seats_[c.index()];
    const std::size_t w = winners_[matches_[c.index()].first + 1];
    if (w == nobody) {
      s.best = quota_id::none();
      return;
    }
    if (w == 0) {
      s.best = c;
      s.arriving = s.request;
    } else {
      const quota_id below = l.tree().children(c)[w - 1];
      const seat& from = seats_[below.index()];
      s.best = from.best;
      for (std::size_t d = 0; d < N; ++d) s.arriving[d] = l.passed_up(below, d, from.arriving[d]);
    }
    s.child_key = order_(l, contender<N>{c, false, s.arriving, seats_[s.best.index()].head});
  }

  [[nodiscard]] bool before(const quota_tree<N>& tree, quota_id parent, std::size_t a, std::size_t b) const {
    const key& x = key_of(tree, parent, a);
    const key& y = key_of(tree, parent, b);
    return x < y || (x == y && a < b);
  }
  [[nodiscard]] const key& key_of(const quota_tree<N>& tree, quota_id parent, std::size_t player) const {
    if (!parent) return seats_[tree.roots()[player].index()].child_key;
    if (player == 0) return seats_[parent.index()].own_key;
    return seats_[tree.children(parent)[player - 1].index()].child_key;
  }

  std::vector<seat> seats_;
  std::vector<match> matches_;
  std::vector<std::size_t> winners_;
  [[no_unique_address]] Order order_;
};

}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/quota/tree.hpp>

#include <cstddef>
#include <limits>
#include <span>

namespace allot {
inline namespace v0 {

/// A winner tree for each quota, in which its children compete, and one for the roots (Knuth, TAOCP 5.4.1):
/// when one player changes, O(log players) matches are replayed. The caller decides the matches: `before` is
/// called with the numbers of two players of one tree.
///
/// A quota's tree is numbered by the quota's index; the tree of the roots is the last. The `reserved` players
/// before the children are the caller's own, e.g. the jobs of the quota itself. Nothing allocates after
/// `reset`.
class winner_trees {
 public:
  /// Denotes no player.
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  /// Starts without participants. Calls `visit(quota, tree, player)` for each quota, with its place. O(n).
  template <std::size_t N, class Visit>
  void reset(const quota_tree<N>& tree, std::size_t reserved, Visit visit) {
    trees_.assign(tree.slots() + 1, one{});
    std::size_t nodes = 0;
    const auto enrol = [&](std::size_t number, std::span<const quota_id> players, std::size_t first_player) {
      trees_[number] = {nodes, first_player + players.size()};
      nodes += 2 * trees_[number].size;
      for (std::size_t i = 0; i < players.size(); ++i) visit(players[i], number, first_player + i);
    };
    for (const quota_id x : tree.top_down()) enrol(x.index(), tree.children(x), reserved);
    enrol(of_roots(), tree.roots(), 0);
    winners_.assign(nodes, none);
  }

  /// The number of the tree in which the roots compete.
  [[nodiscard]] std::size_t of_roots() const noexcept { return trees_.size() - 1; }
  /// The number of nodes of all trees; a player's own is `leaf`, the last match of a tree is `final`.
  [[nodiscard]] std::size_t nodes() const noexcept { return winners_.size(); }
  /// The number of a player's own node.
  [[nodiscard]] std::size_t leaf(std::size_t tree, std::size_t player) const {
    return trees_[tree].first + trees_[tree].size + player;
  }
  /// The number of the node of a tree's last match.
  [[nodiscard]] std::size_t final(std::size_t tree) const { return trees_[tree].first + 1; }

  /// The winner of the tree, `none` if there is no participant. O(1).
  [[nodiscard]] std::size_t winner(std::size_t tree) const {
    return trees_[tree].size == 0 ? none : winners_[final(tree)];
  }
  /// Sets whether the player takes part; plays no match (see `play_all`).
  void seat(std::size_t tree, std::size_t player, bool takes_part) {
    winners_[leaf(tree, player)] = takes_part ? player : none;
  }
  /// Plays all matches of a tree. `merge(node, left, right)` is called after each. O(players).
  template <class Before, class Merge>
  void play_all(std::size_t tree, Before before, Merge merge) {
    for (std::size_t at = trees_[tree].size; at-- > 1;) meet(trees_[tree], at, before, merge);
  }
  /// The player has changed: replays its matches. O(log players).
  template <class Before, class Merge>
  void play(std::size_t tree, std::size_t player, bool takes_part, Before before, Merge merge) {
    seat(tree, player, takes_part);
    const one t = trees_[tree];
    for (std::size_t at = (t.size + player) / 2; at >= 1; at /= 2) meet(t, at, before, merge);
  }
  /// The same without a `merge`.
  template <class Before>
  void play(std::size_t tree, std::size_t player, bool takes_part, Before before) {
    play(tree, player, takes_part, before, [](std::size_t, std::size_t, std::size_t) {});
  }
  /// The first player of the tree, by `before`, that `passes(player)`; `none` if there is none. No node is
  /// entered for which `may_pass(node)` is false. O(log players) if the winner of each node entered passes;
  /// at worst all below the nodes entered are asked.
  template <class Before, class MayPass, class Passes>
  [[nodiscard]] std::size_t first_where(std::size_t tree, Before before, MayPass may_pass,
                                        Passes passes) const {
    std::size_t first = none;
    if (trees_[tree].size > 0) look_below(trees_[tree], 1, before, may_pass, passes, first);
    return first;
  }

 private:
  /// Node `i` of a tree is at `first + i`: the final is 1, the matches that feed `i` are `2 i` and `2 i + 1`,
  /// the players start at `size`.
  struct one {
    std::size_t first = 0;
    std::size_t size = 0;
  };

  template <class Before, class MayPass, class Passes>
  void look_below(one t, std::size_t at, Before& before, MayPass& may_pass, Passes& passes,
                  std::size_t& first) const {
    const std::size_t winner = winners_[t.first + at];
    if (winner == none || (first != none && !before(winner, first)) || !may_pass(t.first + at)) return;
    if (passes(winner)) {
      first = winner;
      return;
    }
    if (at >= t.size) return;
    const std::size_t its = winners_[t.first + 2 * at] == winner ? 2 * at : 2 * at + 1;
    look_below(t, its, before, may_pass, passes, first);
    look_below(t, its ^ 1, before, may_pass, passes, first);
  }
  template <class Before, class Merge>
  void meet(one t, std::size_t at, Before before, Merge merge) {
    const std::size_t left = t.first + 2 * at;
    const std::size_t a = winners_[left];
    const std::size_t b = winners_[left + 1];
    winners_[t.first + at] = a == none || (b != none && before(b, a)) ? b : a;
    merge(t.first + at, left, left + 1);
  }

  vector<one> trees_;
  vector<std::size_t> winners_;
};

}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/winner_trees.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::quota_id;
using allot::winner_trees;

TEST_CASE("winner_trees: the winner is the best participant, and each node covers those below it") {
  allot_test::for_each_seed(40, [](allot_test::random_source& random) {
    const auto tree =
        allot::build_quota_tree(allot_test::random_quotas<1>(random, {.most_quotas = 12})).value();
    winner_trees matches;
    std::map<std::size_t, std::vector<std::size_t>> players;
    matches.reset(tree, 1,
                  [&](quota_id, std::size_t of, std::size_t player) { players[of].push_back(player); });
    for (const quota_id x : tree.top_down()) players[x.index()].push_back(0);
    // The value of each player, less is better; and per node, how many take part below it.
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> worth;
    std::vector<std::size_t> count(matches.nodes(), 0);
    const auto merge = [&](std::size_t node, std::size_t left, std::size_t right) {
      count[node] = count[left] + count[right];
    };
    for (int i = 0; i < 60; ++i) {
      const std::size_t of = random.one_in(4) ? matches.of_roots() : random.below(tree.slots());
      if (players[of].empty()) continue;
      const std::size_t player = players[of][random.below(players[of].size())];
      const bool takes_part = !random.one_in(3);
      const auto before = [&](std::size_t a, std::size_t b) { return worth[{of, a}] < worth[{of, b}]; };
      worth.erase({of, player});
      if (takes_part) worth[{of, player}] = 100 * random.below(50) + player;
      count[matches.leaf(of, player)] = takes_part ? 1 : 0;
      if (random.one_in(2)) {
        matches.seat(of, player, takes_part);
        matches.play_all(of, before, merge);
      } else {
        matches.play(of, player, takes_part, before, merge);
      }
      std::size_t best = winner_trees::none;
      std::size_t those = 0;
      for (const auto& [who, value] : worth) {
        if (who.first != of) continue;
        ++those;
        if (best == winner_trees::none || value < worth[{of, best}]) best = who.second;
      }
      REQUIRE(matches.winner(of) == best);
      REQUIRE(count[matches.final(of)] == those);

      // The best of those that pass, whether or not the nodes above them could tell.
      const std::size_t every = 1 + random.below(4);
      const auto passes = [&](std::size_t p) { return p % every == 0; };
      std::size_t first = winner_trees::none;
      for (const auto& [who, value] : worth) {
        if (who.first != of || !passes(who.second)) continue;
        if (first == winner_trees::none || value < worth[{of, first}]) first = who.second;
      }
      const auto any_below = [&](std::size_t node) { return count[node] > 0; };
      REQUIRE(matches.first_where(of, before, any_below, passes) == first);
    }
  });
}

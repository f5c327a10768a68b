// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/builder.hpp>
#include <allot/systems/kai/detail/lazy_tournament.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"

using allot::lazy_tournament;
using allot::quota_id;
using allot::quota_spec;
using allot_test::random_source;

namespace {

allot::quota_tree<> random_tree(random_source& random) {
  std::vector<quota_spec<>> specs(random.below(14) + 1);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    specs[i].name = "q" + std::to_string(i);
    if (i > 0 && !random.one_in(4)) specs[i].parent = "q" + std::to_string(random.below(i));
    specs[i].inclusive = specs[i].overcommit = true;
  }
  return allot::build_quota_tree(specs).value();
}

/// KAI's heaps under the notifications that they get: the key of a queue that had its turn is updated only
/// when it reaches the front.
class by_hand {
 public:
  using key_type = std::pair<int, std::size_t>;
  struct seat {
    bool in = false;
    bool stale = false;
    key_type key{};
    quota_id best{};
  };

  by_hand(const allot::quota_tree<>& tree, bool reverse)
      : tree_(&tree), reverse_(reverse), seats_(tree.slots()) {}

  template <class KeyOf>
  void start(const std::vector<quota_id>& leaves, KeyOf key) {
    seats_.assign(tree_->slots(), seat{});
    for (const quota_id leaf : leaves) {
      for (quota_id q = leaf; q; q = tree_->parent(q)) at(q).in = true;
    }
    for (std::size_t i = tree_->top_down().size(); i-- > 0;) {
      const quota_id q = tree_->top_down()[i];
      if (!at(q).in) continue;
      at(q).best = is_leaf(q) ? q : at(front(tree_->children(q))).best;
      at(q).key = key(q, at(q).best);
    }
  }
  template <class KeyOf>
  quota_id next(KeyOf key) {
    std::span<const quota_id> line = tree_->roots();
    for (;;) {
      const quota_id q = front(line);
      if (!q) return q;
      if (at(q).stale) {
        at(q).stale = false;
        at(q).key = key(q, at(q).best);
      } else if (is_leaf(q)) {
        for (quota_id a = q; a; a = tree_->parent(a)) at(a).best = q;
        return q;
      } else {
        line = tree_->children(q);
      }
    }
  }
  void passed(quota_id leaf, bool stays) {
    if (!stays) at(leaf).in = false;
    for (quota_id q = leaf; q; q = tree_->parent(q)) {
      if (q != leaf) {
        const quota_id f = front(tree_->children(q));
        if (!f) at(q).in = false;
        if (f && !stays) at(q).best = at(f).best;
      }
      at(q).stale = at(q).in;
    }
  }

 private:
  [[nodiscard]] seat& at(quota_id q) { return seats_[q.index()]; }
  [[nodiscard]] bool is_leaf(quota_id q) const { return tree_->children(q).empty(); }
  [[nodiscard]] quota_id front(std::span<const quota_id> line) {
    quota_id best;
    for (const quota_id q : line) {
      if (!at(q).in) continue;
      if (!best || (reverse_ ? at(best).key < at(q).key : at(q).key < at(best).key)) best = q;
    }
    return best;
  }

  const allot::quota_tree<>* tree_;
  bool reverse_;
  std::vector<seat> seats_;
};

template <bool Reverse>
void compare(random_source& random) {
  const auto tree = random_tree(random);
  std::vector<int> value(tree.slots());
  for (int& v : value) v = static_cast<int>(random.below(5));
  const auto key = [&](quota_id q, quota_id best) {
    return by_hand::key_type{value[q.index()] + value[best.index()], q.index()};
  };
  lazy_tournament<by_hand::key_type, Reverse> turn;
  turn.reset(tree);
  by_hand expected{tree, Reverse};
  for (int round = 0; round < 3; ++round) {
    std::vector<quota_id> leaves;
    std::vector<int> jobs(tree.slots());
    turn.clear(tree);
    for (const quota_id q : tree.top_down()) {
      if (!tree.children(q).empty() || random.one_in(4)) continue;
      leaves.push_back(q);
      jobs[q.index()] = static_cast<int>(random.below(4)) + 1;
      turn.enter(q);
    }
    turn.start(tree, key);
    expected.start(leaves, key);
    for (int turns = 0;; ++turns) {
      const quota_id q = turn.next(tree, key);
      REQUIRE(q == expected.next(key));
      if (!q) break;
      // A turn changes the usage from here to the root.
      for (quota_id a = q; a; a = tree.parent(a)) value[a.index()] += static_cast<int>(random.below(3)) - 1;
      const bool stays = --jobs[q.index()] > 0;
      turn.passed(tree, q, stays);
      expected.passed(q, stays);
      if (turns == 5 && random.one_in(4)) break;  // Abandoned halfway.
    }
  }
}

}  // namespace

TEST_CASE("lazy_tournament: without participants there is no winner") {
  const auto tree = allot::build_quota_tree<1>({{.name = "a"}}).value();
  lazy_tournament<int> turn;
  turn.reset(tree);
  const auto key = [](quota_id, quota_id) { return 0; };
  turn.start(tree, key);
  CHECK_FALSE(turn.next(tree, key));
}

TEST_CASE("lazy_tournament: equals KAI's heaps, which rekey only the front") {
  allot_test::for_each_seed(300, [](random_source& random) {
    compare<false>(random);
    compare<true>(random);
  });
}

TEST_CASE("lazy_tournament: a changed quota is rekeyed in place") {
  const auto tree = allot::build_quota_tree<1>({{.name = "a"}, {.name = "b"}}).value();
  int of_a = 2;
  const auto key = [&](quota_id q, quota_id) { return q.index() == 0 ? of_a : 1; };
  lazy_tournament<int> turn;
  turn.reset(tree);
  turn.enter(quota_id{0});
  turn.enter(quota_id{1});
  turn.start(tree, key);
  of_a = 0;
  CHECK(turn.next(tree, key) == quota_id{1});
  turn.changed(tree, quota_id{0}, key);
  CHECK(turn.next(tree, key) == quota_id{0});
}

TEST_CASE("lazy_tournament: reports whether other quotas were keyed on the way to the winner") {
  const auto tree = allot::build_quota_tree<1>({{.name = "a"}, {.name = "b"}}).value();
  std::vector<int> keys{0, 2};
  const auto key = [&](quota_id q, quota_id) { return keys[q.index()]; };
  lazy_tournament<int> turn;
  turn.reset(tree);
  turn.enter(quota_id{0});
  turn.enter(quota_id{1});
  turn.start(tree, key);
  CHECK(turn.next(tree, key) == quota_id{0});
  CHECK_FALSE(turn.keyed_others_than(quota_id{0}));  // None had a turn.
  keys[0] = 1;
  turn.passed(tree, quota_id{0}, true);
  CHECK(turn.next(tree, key) == quota_id{0});
  CHECK_FALSE(turn.keyed_others_than(quota_id{0}));
  keys[0] = 3;
  turn.passed(tree, quota_id{0}, true);
  CHECK(turn.next(tree, key) == quota_id{1});
  CHECK(turn.keyed_others_than(quota_id{1}));
}

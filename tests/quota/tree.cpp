// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/builder.hpp>
#include <allot/quota/tree.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::quota_id;
using allot::quota_tree;

namespace {

/// root1 { a { b }, c }, root2; in an order in which children precede parents.
quota_tree<> small_tree() {
  std::vector<allot::quota_spec<>> specs{{.name = "b", .parent = "a"},
                                         {.name = "root1"},
                                         {.name = "c", .parent = "root1"},
                                         {.name = "a", .parent = "root1"},
                                         {.name = "root2"}};
  return quota_tree<>{std::move(specs)};
}

}  // namespace

TEST_CASE("tree: ids follow the order of the specification, and siblings are listed oldest first") {
  const quota_tree<> t = small_tree();
  const quota_id b{0}, root1{1}, c{2}, a{3}, root2{4};
  CHECK(t.slots() == 5);
  CHECK(t.name(a) == "a");
  CHECK(t.spec(b).parent == "a");
  CHECK(t.parent(b) == a);
  CHECK(t.parent(root1).is_none());
  const auto kids = t.children(root1);
  CHECK(std::vector<quota_id>(kids.begin(), kids.end()) == std::vector{c, a});
  const auto roots = t.roots();
  CHECK(std::vector<quota_id>(roots.begin(), roots.end()) == std::vector{root1, root2});
  const auto all = t.top_down();
  CHECK(std::vector<quota_id>(all.begin(), all.end()) == std::vector{root1, root2, c, a, b});
  CHECK(t.depth(b) == 2);
  CHECK(t.depth(root2) == 0);
}

TEST_CASE("tree: quotas are found by name") {
  const quota_tree<> t = small_tree();
  CHECK(t.find("c") == quota_id{2});
  CHECK(t.find("d").is_none());
  CHECK(t.find("").is_none());
}

TEST_CASE("tree: common ancestors and sides") {
  const quota_tree<> t = small_tree();
  const quota_id b{0}, root1{1}, c{2}, a{3}, root2{4};
  CHECK(t.common_ancestor(b, c) == root1);
  CHECK(t.common_ancestor(b, a) == a);
  CHECK(t.common_ancestor(b, b) == b);
  CHECK(t.common_ancestor(b, root2).is_none());
  CHECK(t.side_of(b, root1) == a);
  CHECK(t.side_of(b, a) == b);
}

TEST_CASE("tree: a removed quota leaves an empty slot") {
  const std::vector<allot::quota_spec<>> specs{
      {.name = "root"}, {.name = "x", .parent = "root"}, {.name = "y", .parent = "root"}};
  const quota_tree<> t{specs, {false, true, false}};
  CHECK(t.slots() == 3);
  CHECK_FALSE(t.contains(quota_id{1}));
  CHECK(t.contains(quota_id{2}));
  CHECK(t.find("x").is_none());
  CHECK(t.find("y") == quota_id{2});
  CHECK(t.top_down().size() == 2);
  CHECK(t.position(quota_id{2}) == 1);
  CHECK(t != quota_tree<>{specs});
  CHECK(t == quota_tree<>{specs, {false, true, false}});
}

TEST_CASE("tree: a quota may get another specification, but no other name or parent") {
  quota_tree<> t{{{.name = "root"}, {.name = "x", .parent = "root"}}};
  const quota_id x{1};
  allot::quota_spec<> more{.name = "x", .parent = "root", .nominal = allot::gpus(4)};
  t.exchange(x, more);
  CHECK(t.spec(x).nominal == allot::gpus(4));
  CHECK(more == allot::quota_spec<>{.name = "x", .parent = "root"});
  allot::quota_spec<> renamed{.name = "y", .parent = "root"};
  allot::quota_spec<> moved{.name = "x"};
  CHECK_THROWS_AS(t.exchange(x, renamed), allot_test::assertion_failed);
  CHECK_THROWS_AS(t.exchange(x, moved), allot_test::assertion_failed);
  CHECK_THROWS_AS(t.exchange(quota_id{2}, more), allot_test::assertion_failed);
  CHECK_THROWS_AS(t.exchange(quota_id::none(), more), allot_test::assertion_failed);
}

TEST_CASE("tree: an unknown quota has default properties") {
  const std::vector<allot::quota_spec<>> specs{{.name = "root", .priority = 7},
                                               {.name = "x", .parent = "root", .priority = 7},
                                               {.name = "y", .parent = "root", .priority = 7}};
  const quota_tree<> t{specs, {false, true, false}};
  const quota_id root{0}, removed{1}, y{2}, unknown{3};
  for (const quota_id x : {removed, unknown, quota_id{70'000}, quota_id::none()}) {
    CHECK_FALSE(t.contains(x));
    CHECK(t.spec(x) == allot::quota_spec<>{});
    CHECK(t.name(x).empty());
    CHECK(t.parent(x).is_none());
    CHECK(t.children(x).empty());
    CHECK(t.depth(x) == 0);
    CHECK(t.position(x) == t.top_down().size());
    for (const quota_id other : {root, y, removed, unknown, x}) {
      CHECK(t.common_ancestor(x, other).is_none());
      CHECK(t.common_ancestor(other, x).is_none());
      CHECK(t.side_of(x, other).is_none());
    }
    if (x) CHECK(t.side_of(y, x).is_none());
  }
  CHECK(t.side_of(root, y).is_none());
  CHECK(t.side_of(y, y).is_none());
  // Quotas of different trees are each on the side of their own root.
  CHECK(t.side_of(y, quota_id::none()) == root);
  // The former data of a removed quota is not part of the tree.
  auto others = specs;
  others[1].priority = 1;
  CHECK(t == quota_tree<>{others, {false, true, false}});
}

TEST_CASE("tree: the properties of random trees are consistent") {
  allot_test::for_each_seed(500, [](allot_test::random_source& random) {
    const auto specs = allot_test::random_quotas<1>(random, {.most_quotas = 30});
    const quota_tree<> t{specs};
    std::size_t k = 0;
    std::size_t edges = 0;
    for (const quota_id x : t.top_down()) {
      CHECK(t.position(x) == k++);
      CHECK(t.find(t.name(x)) == x);
      CHECK(t.spec(x) == specs[x.index()]);
      const quota_id p = t.parent(x);
      CHECK((p ? std::string{t.name(p)} : std::string{}) == specs[x.index()].parent);
      CHECK(t.depth(x) == (p ? t.depth(p) + 1 : 0));
      if (p) CHECK(t.position(p) < t.position(x));
      CHECK(std::is_sorted(t.children(x).begin(), t.children(x).end()));
      for (const quota_id c : t.children(x)) CHECK(t.parent(c) == x);
      edges += t.children(x).size();
    }
    CHECK(k == specs.size());
    CHECK(edges + t.roots().size() == k);
    // A common ancestor is above both, and no child of it is.
    const quota_id x = random.pick(t.top_down());
    const quota_id y = random.pick(t.top_down());
    const auto above = [&](quota_id a, quota_id of) {
      while (of && of != a) of = t.parent(of);
      return of == a;
    };
    const quota_id common = t.common_ancestor(x, y);
    for (const quota_id a : t.top_down()) {
      const bool both = above(a, x) && above(a, y);
      CHECK(both == (common && above(a, common)));
    }
    if (common && common != x) CHECK(above(t.side_of(x, common), x));
  });
}

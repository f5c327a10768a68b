// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/fair_tree.hpp>
#include <allot/fairshare/tournament.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::fair_tree;
using allot::fair_weight;
using allot::gpus;
using allot::ledger;
using allot::quota_id;
using allot::quota_spec;
using allot::quota_tree;

static_assert(allot::quota_order<allot::fair_tree_rank_first, 1>);

namespace {

struct entry {
  const char* name;
  const char* parent;
  std::int64_t shares;
  std::int64_t usage = 0;
};

std::map<std::string, std::size_t> ranks(const std::vector<entry>& entries) {
  std::vector<quota_spec<>> specs;
  std::vector<std::int64_t> usage;
  for (const entry& e : entries) {
    specs.push_back({.name = e.name, .parent = e.parent, .weight = fair_weight::milli(e.shares)});
    usage.push_back(e.usage);
  }
  const auto tree = allot::build_quota_tree<1>(std::move(specs)).value();
  fair_tree order;
  order.update(tree, 0, usage);
  std::map<std::string, std::size_t> result;
  for (const quota_id x : tree.top_down()) {
    if (tree.children(x).empty()) result[std::string{tree.name(x)}] = order.rank(x);
  }
  return result;
}
using rank_map = std::map<std::string, std::size_t>;

}  // namespace

TEST_CASE("fair_tree: users follow their account, best account first") {
  // Equal shares; a used a quarter of everything, b the rest. Within an account, the user with less usage is
  // first.
  CHECK(ranks({{"a", "", 1},
               {"b", "", 1},
               {"a1", "a", 1, 20},
               {"a2", "a", 1, 5},
               {"b1", "b", 1, 70},
               {"b2", "b", 1, 5}}) == rank_map{{"a2", 0}, {"a1", 1}, {"b2", 2}, {"b1", 3}});
  // Shares compensate for it.
  CHECK(ranks({{"a", "", 1},
               {"b", "", 4},
               {"a1", "a", 1, 20},
               {"a2", "a", 5, 5},
               {"b1", "b", 9, 70},
               {"b2", "b", 1, 5}}) == rank_map{{"b1", 1}, {"b2", 0}, {"a2", 2}, {"a1", 3}});
}

TEST_CASE("fair_tree: no shares come last, no usage first, and no shares without usage last") {
  CHECK(ranks({{"x", "", 0, 0}, {"y", "", 1, 0}, {"z", "", 1, 9}, {"w", "", 0, 9}}) ==
        rank_map{{"y", 0}, {"z", 1}, {"w", 2}, {"x", 2}});
  CHECK(ranks({{"x", "", 1, 0}, {"y", "", 1, 0}}) == rank_map{{"x", 0}, {"y", 0}});
}

TEST_CASE("fair_tree: equal users share a rank, and the next is counted after them") {
  CHECK(ranks({{"a", "", 2, 20}, {"b", "", 1, 10}, {"c", "", 1, 5}, {"d", "", 1, 50}}) ==
        rank_map{{"c", 0}, {"a", 1}, {"b", 1}, {"d", 3}});
}

TEST_CASE("fair_tree: equal accounts merge their children") {
  // a and b have equal usage. So their users are compared with one another, by each user's level share in its
  // own account: a1 0.5/0.25, b1 0.5/0.4, b2 0.5/0.6, a2 0.5/0.75.
  CHECK(ranks({{"a", "", 1},
               {"b", "", 1},
               {"a1", "a", 1, 25},
               {"a2", "a", 1, 75},
               {"b1", "b", 1, 40},
               {"b2", "b", 1, 60}}) == rank_map{{"a1", 0}, {"b1", 1}, {"b2", 2}, {"a2", 3}});
  // And equals among the merged share a rank.
  CHECK(ranks({{"a", "", 1},
               {"b", "", 1},
               {"a1", "a", 1, 25},
               {"a2", "a", 1, 75},
               {"b1", "b", 1, 50},
               {"b2", "b", 3, 50},
               {"b3", "b", 0, 0}}) == rank_map{{"a1", 0}, {"b2", 1}, {"a2", 2}, {"b1", 3}, {"b3", 4}});
}

TEST_CASE("fair_tree: a user equal to an account has the rank of its best user") {
  CHECK(ranks({{"u", "", 1, 100}, {"a", "", 1}, {"a1", "a", 1, 30}, {"a2", "a", 1, 70}, {"v", "", 1, 200}}) ==
        rank_map{{"u", 0}, {"a1", 0}, {"a2", 2}, {"v", 3}});
  // Also through several levels, and with two equal users.
  CHECK(ranks({{"u", "", 1, 100},
               {"w", "", 2, 200},
               {"a", "", 1},
               {"m", "a", 1},
               {"a1", "m", 1, 30},
               {"a2", "m", 1, 70}}) == rank_map{{"u", 0}, {"w", 0}, {"a1", 0}, {"a2", 3}});
}

TEST_CASE("fair_tree: own jobs of an account are a user beside its children") {
  const auto tree =
      allot::build_quota_tree<1>({{.name = "a", .weight = fair_weight::whole(2)},
                                  {.name = "b", .parent = "a", .weight = fair_weight::whole(1)}})
          .value();
  fair_tree order;
  const std::vector<std::int64_t> usage{30, 10};
  order.update(tree, 0, usage);
  CHECK(order.users() == 1);
  CHECK(order.rank(quota_id{0}) == 2);
  order.update(tree, 0, usage, [](quota_id) { return true; });
  // 2/3 of the shares for 3/4 of the usage, against 1/3 for 1/4.
  CHECK(order.users() == 2);
  CHECK(order.rank(quota_id{1}) == 0);
  CHECK(order.rank(quota_id{0}) == 1);
  CHECK((order.factor(quota_id{1}) == allot::ratio{1, 1}));
  CHECK((order.factor(quota_id{0}) == allot::ratio{1, 2}));
}

TEST_CASE("fair_tree: the smallest difference of usage is no tie") {
  constexpr std::int64_t much = std::int64_t{1} << 60;
  CHECK(ranks({{"a", "", 1000, much}, {"b", "", 1000, much - 1}}) == rank_map{{"b", 0}, {"a", 1}});
  CHECK(ranks({{"a", "", 1000, much}, {"b", "", 1000, much}}) == rank_map{{"a", 0}, {"b", 0}});
}

namespace {

/// By the definition: all users, ordered by the level shares on their paths, level by level. That is
/// equivalent as long as no account is tied with a user or with an account of other depth below.
struct path {
  quota_id user;
  std::vector<double> level_shares;
};

}  // namespace

TEST_CASE("fair_tree: without ties between users and accounts, by the level shares on the path") {
  allot_test::for_each_seed(400, [](allot_test::random_source& random) {
    auto specs = allot_test::random_quotas<1>(random);
    for (auto& s : specs) s.weight[0] = fair_weight::milli(random.between(1, 1'000'000));
    const quota_tree<> tree{specs};
    std::vector<std::int64_t> own(specs.size());
    for (const quota_id x : tree.top_down()) {
      if (tree.children(x).empty()) own[x.index()] = random.between(1, 1'000'000'000);
    }
    std::vector<std::int64_t> sum = own;
    std::int64_t all = 0;
    const auto order = tree.top_down();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      (tree.parent(*it) ? sum[tree.parent(*it).index()] : all) += sum[it->index()];
    }
    const auto level_share = [&](quota_id x) {
      const quota_id p = tree.parent(x);
      std::int64_t shares = 0;
      for (const quota_id s : p ? tree.children(p) : tree.roots())
        shares += tree.spec(s).weight[0].in_milli();
      const double part =
          static_cast<double>(tree.spec(x).weight[0].in_milli()) / static_cast<double>(shares);
      return part / (static_cast<double>(sum[x.index()]) / static_cast<double>(p ? sum[p.index()] : all));
    };
    std::vector<path> users;
    for (const quota_id x : order) {
      if (!tree.children(x).empty()) continue;
      path p{x, {}};
      for (quota_id q = x; q; q = tree.parent(q))
        p.level_shares.insert(p.level_shares.begin(), level_share(q));
      users.push_back(p);
    }
    std::sort(users.begin(), users.end(),
              [](const path& a, const path& b) { return a.level_shares > b.level_shares; });
    fair_tree ranked;
    ranked.update(tree, 0, own);
    CHECK(ranked.users() == users.size());
    for (std::size_t i = 0; i < users.size(); ++i) {
      // An only child has everything: its level share is 1, up to the rounding of doubles.
      CHECK(ranked.rank(users[i].user) == i);
    }
  });
}

TEST_CASE("fair_tree: in a tournament the rank of the job's own quota counts") {
  const ledger<> l{allot::build_quota_tree<1>({{.name = "root"},
                                               {.name = "a", .parent = "root"},
                                               {.name = "b", .parent = "root"},
                                               {.name = "a1", .parent = "a"},
                                               {.name = "a2", .parent = "a"},
                                               {.name = "b1", .parent = "b"}})
                       .value()};
  const std::vector<std::int64_t> usage{0, 0, 0, 10, 50, 60};
  fair_tree ranks_;
  ranks_.update(l.tree(), 0, usage);
  // a and b are merged: b1 has all of its account, a1 a sixth, a2 five sixths of half the shares.
  allot::tournament<1, allot::fair_tree_rank_first> turns{{&ranks_}};
  turns.reset(l.tree());
  const quota_id a1{3}, a2{4}, b1{5};
  turns.enter(l, a2, gpus(0), {0, 0, 1});
  turns.enter(l, b1, gpus(0), {0, 0, 2});
  CHECK(turns.best(l.tree()) == b1);
  turns.enter(l, a1, gpus(0), {0, 0, 3});
  CHECK(turns.best(l.tree()) == a1);
  const std::vector<std::int64_t> later{0, 0, 0, 60, 50, 10};
  ranks_.update(l.tree(), 0, later);
  turns.refresh_all(l);
  CHECK(turns.best(l.tree()) == b1);
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/builder.hpp>
#include <allot/systems/kai/detail/fair_reclaim.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/seeds.hpp"

using allot::capacity_kind;
using allot::fair_reclaim;
using allot::gpus;
using allot::quota_id;
using allot::quota_spec;
using allot::reclaim_bundle;
using allot::resources;
using allot::share_accounts;
using allot_test::random_source;

namespace {

struct queue {
  const char* name;
  const char* parent = "";
  std::int64_t deserved = 0;
  std::int64_t used = 0;
  std::int64_t waiting = 0;
  std::int64_t weight = 1;
};

/// A cluster of queues without jobs: KAI's strategies alone.
class books_of {
 public:
  books_of(std::int64_t capacity, const std::vector<queue>& queues) : tree_(tree_of(queues)) {
    books.reset(tree_);
    for (const queue& q : queues) {
      if (q.used + q.waiting > 0) books.set_own(id(q.name), gpus(q.used), {}, gpus(q.waiting));
    }
    books.divide(gpus(capacity));
  }
  books_of(const books_of&) = delete;
  books_of& operator=(const books_of&) = delete;

  [[nodiscard]] quota_id id(const char* name) const { return tree_.find(name); }
  [[nodiscard]] bool may_reclaim(const char* who, std::int64_t request,
                                 capacity_kind in = capacity_kind::any) const {
    return fair_reclaim<>::may_reclaim(books, id(who), gpus(request), in);
  }
  struct taken {
    const char* from;
    std::int64_t amount;
  };
  [[nodiscard]] bool is_fair(const char* who, std::int64_t request, const std::vector<taken>& from,
                             std::int64_t margin = 1000) const {
    std::vector<reclaim_bundle<1>> bundles;
    for (const taken& t : from) bundles.push_back({id(t.from), gpus(t.amount)});
    fair_reclaim<> fair{margin};
    const bool verdict = fair.is_fair(books, id(who), gpus(request), capacity_kind::any, bundles);
    CHECK(fair.is_fair(books, id(who), gpus(request), capacity_kind::any, bundles) == verdict);  // Trap 3.
    return verdict;
  }

  /// The same as far as one of the bundles tells.
  [[nodiscard]] bool might_be_fair(const char* who, std::int64_t request, const std::vector<taken>& from,
                                   const taken& one) const {
    const auto nearer = [&](quota_id ours) {
      std::int64_t sum = 0;
      for (const taken& t : from) {
        if (tree_.side_of(id(t.from), tree_.parent(ours)) == ours) sum += t.amount;
      }
      return resources<1>{gpus(sum)};
    };
    return fair_reclaim<>{}.may_be_in_fair_set(books, id(who), gpus(request),
                                               {id(one.from), gpus(one.amount)}, nearer);
  }

  share_accounts<> books;

 private:
  static allot::quota_tree<> tree_of(const std::vector<queue>& queues) {
    std::vector<quota_spec<>> specs;
    for (const queue& q : queues) {
      quota_spec<> s;
      s.name = q.name;
      s.parent = q.parent;
      s.nominal = gpus(q.deserved);
      s.weight = allot::fair_weight::whole(q.weight);
      s.inclusive = s.overcommit = true;
      specs.push_back(s);
    }
    return allot::build_quota_tree(specs).value();
  }
  allot::quota_tree<> tree_;
};

/// Two departments with two teams each, which use all there is.
std::vector<queue> random_queues(random_source& random) {
  std::vector<queue> queues{{"d1"}, {"d2"}, {"a", "d1"}, {"b", "d1"}, {"c", "d2"}, {"e", "d2"}};
  for (queue& q : queues) {
    q.deserved = random.between(0, 4);
    q.weight = random.between(0, 3);
    if (*q.parent == '\0') continue;
    q.used = random.between(0, 6);
    q.waiting = random.between(0, 6);
  }
  return queues;
}
std::int64_t capacity_of(const std::vector<queue>& queues) {
  std::int64_t used = 0;
  for (const queue& q : queues) used += q.used;
  return used;
}

}  // namespace

TEST_CASE("fair_reclaim: the gate, and trap 25") {
  const books_of b{14, {{"a", "", 0, 14}, {"b", "", 0, 0, 14}}};
  CHECK(b.may_reclaim("b", 7));
  CHECK_FALSE(b.may_reclaim("b", 8));  // However far the other exceeds its share.
  CHECK_FALSE(b.may_reclaim("b", 1, capacity_kind::guaranteed));
}

TEST_CASE("fair_reclaim: a queue over its fair share yields, another does not") {
  const books_of b{8, {{"a", "", 1, 6, 4}, {"b", "", 1, 2, 4}}};
  CHECK(b.is_fair("b", 1, {{"a", 1}}));
  CHECK(b.is_fair("b", 2, {{"a", 1}, {"a", 1}}));
  CHECK_FALSE(b.is_fair("b", 3, {{"a", 1}, {"a", 1}, {"a", 1}}));  // The third is within its share.
}

TEST_CASE("fair_reclaim: deserved capacity is reclaimed from queues over their deserved share") {
  // a has eight of ten, which is less than its fair share.
  const books_of b{10, {{"a", "", 2, 8, 8, 9}, {"b", "", 4, 2, 1, 1}}};
  CHECK(b.is_fair("b", 1, {{"a", 1}}));
  const books_of within{10, {{"a", "", 8, 8, 8, 9}, {"b", "", 4, 2, 1, 1}}};
  CHECK_FALSE(within.is_fair("b", 1, {{"a", 1}}));
}

TEST_CASE("fair_reclaim, trap 29: the last bundle may take a queue below what it deserves") {
  const books_of b{10, {{"a", "", 5, 8, 0}, {"b", "", 2, 2, 5}}};
  CHECK(b.is_fair("b", 1, {{"a", 8}}));
}

TEST_CASE("fair_reclaim: between departments the departments' shares count") {
  const books_of b{
      8, {{"d1", "", 2}, {"d2", "", 2}, {"a", "d1", 0, 3}, {"b", "d2", 4, 3}, {"c", "d2", 2, 2, 2}}};
  // d1 has less than its share of four, d2 more.
  CHECK_FALSE(b.is_fair("c", 1, {{"a", 1}}));
  CHECK_FALSE(b.is_fair("c", 1, {{"b", 1}}));
}

TEST_CASE("fair_reclaim, trap 18: a third department over its share does not block the reclaim") {
  const books_of b{9,
                   {{"d1", "", 1},
                    {"d2", "", 1},
                    {"d3", "", 1},
                    {"a", "d1", 1, 2, 8},
                    {"b", "d2", 1, 3, 6},
                    {"c", "d3", 1, 4, 8}}};
  CHECK(b.is_fair("a", 1, {{"c", 1}}));
  CHECK_FALSE(b.is_fair("a", 1, {{"b", 1}}));
}

TEST_CASE("fair_reclaim: the margin, where the beneficiary's department is over its share") {
  // With the job d1 has five of its four, and the other keeps five of four.
  const std::vector<queue> queues{
      {"d1", "", 0, 4}, {"d2", "", 0, 6}, {"a", "d1", 6, 0, 2}, {"b", "d2", 0, 0, 6}};
  std::vector<queue> busy = queues;
  busy[0].used = busy[1].used = 0;
  busy[2] = {"a", "d1", 6, 4, 3};
  busy[3] = {"b", "d2", 0, 6, 6};
  const books_of b{10, busy};
  CHECK(b.is_fair("a", 1, {{"b", 1}}));
  CHECK_FALSE(b.is_fair("a", 2, {{"b", 1}, {"b", 1}}));
}

TEST_CASE("fair_reclaim: what one bundle tells of a set") {
  // Of a set with that bundle alone, everything; of others, that they are not fair.
  std::size_t fair = 0;
  std::size_t told = 0;
  allot_test::for_each_seed(4000, [&](random_source& random) {
    const std::vector<queue> queues = random_queues(random);
    const books_of b{capacity_of(queues), queues};
    const std::string who = queues[2 + random.below(4)].name;
    const std::int64_t request = random.between(1, 4);
    std::vector<books_of::taken> set;
    for (std::int64_t i = random.between(1, 3); i > 0; --i) {
      const queue& q = queues[2 + random.below(4)];
      if (q.name != who) set.push_back({q.name, random.between(1, 3)});
    }
    const bool is_fair = b.is_fair(who.c_str(), request, set);
    fair += is_fair ? 1U : 0U;
    for (const books_of::taken& t : set) {
      CHECK(b.might_be_fair(who.c_str(), request, {t}, t) == b.is_fair(who.c_str(), request, {t}));
      const bool might_be = b.might_be_fair(who.c_str(), request, set, t);
      told += might_be ? 0U : 1U;
      if (!might_be) CHECK_FALSE(is_fair);
    }
  });
  if (!allot_test::all_cases_run()) return;
  CHECK(fair > 500);
  CHECK(told > 500);
}

TEST_CASE("fair_reclaim: a fair reclaim is not reversed") {
  allot_test::for_each_seed(4000, [](random_source& random) {
    std::vector<queue> queues = random_queues(random);
    // Taking from a department without any share is always fair (as in KAI v0.13), so two of them may take
    // from each other for ever.
    if (queues[0].deserved + queues[0].weight + queues[1].deserved + queues[1].weight == 0) return;
    const std::int64_t capacity = capacity_of(queues);
    const books_of before{capacity, queues};
    const std::size_t x = 2 + random.below(4);
    const std::size_t y = 2 + random.below(4);
    if (x == y || queues[y].used == 0 || queues[x].waiting == 0) return;
    const std::int64_t amount = random.between(1, std::min(queues[y].used, queues[x].waiting));
    // One GPU at a time, so that no queue gives more than its excess.
    const std::vector<books_of::taken> bundles(static_cast<std::size_t>(amount), {queues[y].name, 1});
    if (!before.may_reclaim(queues[x].name, amount) || !before.is_fair(queues[x].name, amount, bundles))
      return;
    queues[x].used += amount, queues[x].waiting -= amount;
    queues[y].used -= amount, queues[y].waiting += amount;
    const books_of after{capacity, queues};
    for (std::int64_t back = 1; back <= queues[x].used; ++back) {
      const bool again = after.may_reclaim(queues[y].name, back) &&
                         after.is_fair(queues[y].name, back, {{queues[x].name, back}});
      CHECK_FALSE(again);
    }
  });
}

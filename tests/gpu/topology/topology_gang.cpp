// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/topology/topology_gang.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/gang_oracle.hpp>
#include <tests/gpu/random_topology.hpp>
#include <tests/support/count_allocations.hpp>
#include <tests/support/seeds.hpp>
#include <tests/support/throwing_assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using gpu::domain_id;
using gpu::gang_group;
using gpu::gang_obstacle;
using gpu::gang_place;
using gpu::gang_planner;
using gpu::gang_request;
using gpu::gang_share;
using gpu::node_id;
using gpu::node_rooms;
using gpu::topology;

namespace {

/// Two spines of two leaves of three nodes each, and the room on each node.
struct small_world {
  allot_test::labelled_cluster c;
  topology t;
  node_rooms rooms;
  gang_planner planner;

  static allot_test::labelled_cluster make() {
    allot_test::labelled_cluster made;
    made.levels = {"spine", "leaf"};
    std::vector<gpu::node_spec> specs(12);
    for (std::size_t n = 0; n < specs.size(); ++n) {
      specs[n].name = "n" + std::to_string(n);
      specs[n].gpus = 8;
      made.path.push_back({"s" + std::to_string(n / 6), "l" + std::to_string(n / 3)});
      specs[n].labels = {{"spine", made.path.back()[0]}, {"leaf", made.path.back()[1]}};
    }
    made.nodes = gpu::build_cluster(std::move(specs)).value();
    return made;
  }
  explicit small_world(const std::vector<std::uint32_t>& room)
      : c(make()),
        t(gpu::topology_from_labels(c.nodes, c.levels).value()),
        rooms(t, [&](node_id n) { return room[n.index()]; }),
        planner(t) {}

  /// The node indices and pods of a plan, and its region.
  [[nodiscard]] std::string plan(gang_request r, std::uint64_t budget = gang_planner::default_budget) {
    const gang_place p = planner.plan(rooms, r, budget);
    if (!p.found) return explain(t, c.nodes, p.why);
    std::string text = p.domain ? t.name(p.domain) : p.level ? "node" : "cluster";
    std::optional<std::uint32_t> group;
    for (const gang_share& s : p.shares) {
      if (r.groups.size() > 1 && group != s.group) text += " |";
      group = s.group;
      text += " n" + std::to_string(s.node.index()) + "x" + std::to_string(s.pods);
    }
    return text;
  }
  [[nodiscard]] std::string plan(std::uint64_t pods, std::optional<std::size_t> required = {},
                                 std::optional<std::size_t> preferred = {}, std::uint64_t least = 0) {
    const gang_group one{pods, least == 0 ? pods : least};
    return plan({{&one, 1}, required, preferred});
  }
};
constexpr std::size_t spine = 0;
constexpr std::size_t leaf = 1;
constexpr std::size_t node = 2;

}  // namespace

TEST_CASE("topology_gang: the finest and fullest domain that holds all pods, then the fewest nodes") {
  small_world w{{1, 2, 3, 0, 4, 4, 3, 3, 0, 8, 0, 1}};
  CHECK(w.plan(2) == "node n1x2");
  CHECK(w.plan(3) == "node n2x3");
  CHECK(w.plan(5) == "node n9x5");
  // Not on the first leaf, where only three nodes together have room for six.
  CHECK(w.plan(6, leaf, leaf) == "l0 n0x1 n1x2 n2x3");
  CHECK(w.plan(5, leaf, leaf) == "l0 n1x2 n2x3");
  CHECK(w.plan(4, leaf, leaf) == "l0 n0x1 n2x3");
  CHECK(w.plan(9, leaf) == "l3 n9x8 n11x1");
  CHECK(w.plan(14, spine) == "s0 n0x1 n1x2 n2x3 n4x4 n5x4");
  // The largest leaf is filled, and the rest is placed in the smallest that suffices.
  CHECK(w.plan(10, {}, spine) == "s0 n1x2 n4x4 n5x4");
  CHECK(w.plan(29) == "cluster n0x1 n1x2 n2x3 n4x4 n5x4 n6x3 n7x3 n9x8 n11x1");
  CHECK(w.plan(16, {}, leaf) == "cluster n0x1 n6x3 n7x3 n9x8 n11x1");
}

TEST_CASE("topology_gang: the reason, the best domain, and what it lacks") {
  small_world w{{1, 2, 3, 0, 4, 4, 3, 3, 0, 8, 0, 1}};
  CHECK(w.plan(9, node) == "no node has room for 9 pods: the best, node n9, has room for 8, 1 fewer");
  CHECK(w.plan(12, leaf) == "no leaf has room for 12 pods: the best, leaf s1/l3, has room for 9, 3 fewer");
  CHECK(w.plan(20, spine) == "no spine has room for 20 pods: the best, spine s1, has room for 15, 5 fewer");
  CHECK(w.plan(30) == "the cluster has room for 29 pods, and at least 30 pods must start");
  const gang_group one{12, 12};
  const gang_place p = w.planner.plan(w.rooms, {{&one, 1}, leaf, {}});
  CHECK_FALSE(p.found);
  CHECK(p.why.reason == gang_obstacle::no_domain);
  CHECK(p.why.best == w.t.find("l3"));
  CHECK(p.why.lacking() == 3);
  CHECK(p.shares.empty());

  const std::string invalid = explain(w.t, w.c.nodes, {gang_obstacle::invalid_request, {}, {}, {}, 0, 0, 0});
  CHECK(w.plan(0) == invalid);
  CHECK(w.plan(3, {}, {}, 4) == invalid);
  CHECK(w.plan(3, leaf, spine) == invalid);
  CHECK(w.plan(3, 3) == invalid);
  CHECK(w.plan(3, {}, 3) == invalid);
  CHECK(w.plan({}) == invalid);
  const gang_group wrong_level{1, 1, 3};
  CHECK(w.plan({{&wrong_level, 1}}) == invalid);
  CHECK(explain(w.t, w.c.nodes, {}) == "it has a place");
}

TEST_CASE("topology_gang: a preferred level is left only for want of room, and nothing finer is sought") {
  small_world w{{0, 0, 5, 2, 2, 0, 9, 0, 0, 3, 3, 3}};
  // A node of the third leaf would hold them, but the fullest leaf is preferred.
  CHECK(w.plan(4, {}, leaf) == "l1 n3x2 n4x2");
  CHECK(w.plan(4) == "node n2x4");
  CHECK(w.plan(12, {}, leaf) == "s1 n6x9 n9x3");
  CHECK(w.plan(12, leaf, leaf).substr(0, 7) == "no leaf");
  CHECK(w.plan(19, spine, leaf).substr(0, 8) == "no spine");
  CHECK(w.plan(8, {}, node) == "node n6x8");
  CHECK(w.plan(10, {}, node) == "s1 n6x9 n9x1");
}

TEST_CASE("topology_gang: elastic gangs") {
  small_world w{{0, 0, 5, 2, 2, 0, 9, 0, 0, 3, 3, 2}};
  // All pods where they fit.
  CHECK(w.plan(8, leaf, {}, 2) == "node n6x8");
  // More than any node or leaf holds: size before nearness, as no level is preferred.
  CHECK(w.plan(12, leaf, {}, 2) == "l2 n6x9");
  CHECK(w.plan(40, spine, {}, 2) == "s1 n6x9 n9x3 n10x3 n11x2");
  CHECK(w.plan(40, {}, {}, 2) == "cluster n2x5 n3x2 n4x2 n6x9 n9x3 n10x3 n11x2");
  // A preferred level takes precedence over size.
  CHECK(w.plan(40, {}, leaf, 2) == "l2 n6x9");
  CHECK(w.plan(40, {}, leaf, 10) == "s1 n6x9 n9x3 n10x3 n11x2");
  CHECK(w.plan(7, {}, leaf, 6) == "l3 n9x3 n10x3 n11x1");
}

TEST_CASE("topology_gang: sub-groups with levels of their own") {
  small_world w{{4, 4, 0, 2, 2, 2, 0, 0, 0, 6, 0, 0}};
  const std::vector<gang_group> two{{2, 2, node}, {3, 3, leaf}};
  CHECK(w.plan({two, spine, spine}) == "s1 | n9x2 | n9x3");
  CHECK(w.plan({two, leaf, leaf}) == "l1 | n3x2 | n4x2 n5x1");
  // Minimums of 2 and 3 exceed the room for 4, though either would fit.
  small_world narrow{{0, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0}};
  CHECK(narrow.plan({two, leaf, leaf}) == "the cluster has room for 4 pods, and at least 5 pods must start");
  const std::vector<gang_group> apart{{4, 4, node}, {4, 4, node}, {6, 6, leaf}};
  CHECK(w.plan({apart, spine, spine}) == "s0 | n0x4 | n1x4 | n3x2 n4x2 n5x2");
  const std::vector<gang_group> wide{{5, 5, node}, {5, 5, node}};
  CHECK(w.plan({wide, spine, spine}) ==
        "spine s0 has room for 14 pods, but group 0 gets no domain of its level beside the other groups");
  const std::vector<gang_group> grows{{6, 2, node}, {9, 1, leaf}, {3, 1}};
  CHECK(w.plan({grows, spine, spine}) == "s0 | n3x2 | n4x2 n5x2 | n0x3");
  // A group whose level is not finer than the gang's domain is placed anywhere in it.
  const std::vector<gang_group> loose{{3, 3, spine}, {2, 2}};
  CHECK(w.plan({loose, leaf, leaf}) == "l1 | n3x2 n4x1 | n5x2");
}

TEST_CASE("topology_gang: a search that is given up says so") {
  small_world w{{5, 4, 3, 3, 3, 3, 0, 0, 0, 0, 0, 0}};
  const std::vector<gang_group> many{{3, 3, node}, {3, 3, node}, {3, 3, node},
                                     {3, 3, node}, {3, 3, node}, {3, 3, node}};
  CHECK(w.plan({many, spine, spine}, 6).substr(0, 2) == "s0");
  CHECK(w.plan({many, spine, spine}, 5) ==
        "spine s0 has room for 21 pods, but group 5 got no domain of its level within the search's budget");
  const std::vector<gang_group> seven(7, gang_group{3, 3, node});
  CHECK(w.plan({seven, spine, spine}) ==
        "spine s0 has room for 21 pods, but group 6 gets no domain of its level beside the other groups");
}

namespace {

/// The nodes of a share must suffice for its group's request, and no fewer sub-domains would suffice.
struct checked_plan {
  const allot_test::gang_oracle& oracle;
  const allot_test::labelled_cluster& c;
  const std::vector<std::uint32_t>& rooms;

  void check(const topology& t, const gang_request& r, const gang_place& p) const {
    const auto expected = oracle.choose(r);
    REQUIRE(p.found == expected.found);
    if (!p.found) {
      REQUIRE(p.why.reason != gang_obstacle::none);
      REQUIRE(p.why.reason != gang_obstacle::not_proven);
      REQUIRE(p.shares.empty());
      REQUIRE((p.why.lacking() > 0) == (p.why.reason != gang_obstacle::groups));
      return;
    }
    REQUIRE(p.level == expected.level);
    std::vector<std::size_t> region;
    if (p.domain) {
      for (const node_id n : t.nodes(p.domain)) region.push_back(n.index());
      std::sort(region.begin(), region.end());
      REQUIRE(region == expected.nodes);
    } else {
      region = expected.nodes;
    }
    std::vector<std::uint64_t> on_node(rooms.size());
    std::vector<std::uint64_t> of_group(r.groups.size());
    std::vector<std::vector<std::size_t>> nodes_of(r.groups.size());
    std::uint64_t pods = 0;
    for (std::size_t i = 0; i < p.shares.size(); ++i) {
      const gang_share& s = p.shares[i];
      REQUIRE(s.pods > 0);
      REQUIRE(std::count(region.begin(), region.end(), s.node.index()) == 1);
      if (i > 0) {
        REQUIRE(std::pair{p.shares[i - 1].group, t.position(p.shares[i - 1].node)} <
                std::pair{s.group, t.position(s.node)});
      }
      on_node[s.node.index()] += s.pods;
      of_group[s.group] += s.pods;
      nodes_of[s.group].push_back(s.node.index());
      pods += s.pods;
    }
    REQUIRE(p.pods == pods);
    for (std::size_t n = 0; n < rooms.size(); ++n) REQUIRE(on_node[n] <= rooms[n]);
    std::vector<std::vector<std::size_t>> may_use;
    for (std::size_t g = 0; g < r.groups.size(); ++g) {
      REQUIRE(of_group[g] >= r.groups[g].min_pods);
      REQUIRE(of_group[g] <= r.groups[g].pods);
      may_use.push_back(part_of(t, r.groups[g], p, region, nodes_of[g]));
    }
    // No group could have one more pod where it is placed.
    for (std::size_t g = 0; g < r.groups.size(); ++g) {
      if (of_group[g] == r.groups[g].pods) continue;
      std::vector<std::uint64_t> more = of_group;
      ++more[g];
      REQUIRE_FALSE(oracle.match(may_use, more));
    }
    if (r.groups.size() == 1 && may_use[0].size() == region.size()) check_fewest(p.level, region, on_node);
  }

  /// The nodes that a group may use: those of its own domain, in which all its pods must be.
  [[nodiscard]] std::vector<std::size_t> part_of(const topology& t, const gang_group& g, const gang_place& p,
                                                 const std::vector<std::size_t>& region,
                                                 const std::vector<std::size_t>& nodes) const {
    if (!g.level || (p.level && *g.level <= *p.level)) return region;
    if (*g.level == t.node_level()) {
      REQUIRE(nodes.size() == 1);
      return nodes;
    }
    const domain_id d = t.domain_of(node_id{nodes[0]}, *g.level);
    REQUIRE(d);
    for (const std::size_t n : nodes) REQUIRE(t.domain_of(node_id{n}, *g.level) == d);
    std::vector<std::size_t> all;
    for (const node_id n : t.nodes(d)) all.push_back(n.index());
    return all;
  }

  /// Among the parts of a region, no fewer could hold its pods; at most one of them is not full, and no
  /// unused part with less room could hold that one's pods. The same holds in each part.
  void check_fewest(std::optional<std::size_t> level, const std::vector<std::size_t>& region,
                    const std::vector<std::uint64_t>& on_node) const {
    if (level && *level == c.levels.size()) return;
    const std::size_t next = level ? *level + 1 : 0;
    std::vector<std::vector<std::size_t>> parts;
    std::vector<std::optional<std::size_t>> part_level;
    std::vector<bool> in_part(rooms.size());
    for (const auto& part : oracle.levels[next]) {
      if (std::count(region.begin(), region.end(), part.nodes[0]) == 0) continue;
      parts.push_back(part.nodes);
      part_level.push_back(next);
      for (const std::size_t n : part.nodes) in_part[n] = true;
    }
    for (const std::size_t n : region) {
      if (in_part[n]) continue;
      parts.push_back({n});
      part_level.push_back(c.levels.size());
    }
    std::vector<std::uint64_t> room;
    std::vector<std::uint64_t> used;
    std::uint64_t total = 0;
    for (const auto& part : parts) {
      room.push_back(0);
      used.push_back(0);
      for (const std::size_t n : part) room.back() += rooms[n], used.back() += on_node[n];
      total += used.back();
    }
    std::vector<std::uint64_t> largest = room;
    std::sort(largest.begin(), largest.end(), std::greater<>{});
    std::size_t fewest = 0;
    for (std::uint64_t sum = 0; sum < total; ++fewest) sum += largest[fewest];
    REQUIRE(static_cast<std::size_t>(std::count_if(used.begin(), used.end(), [](auto u) { return u > 0; })) ==
            fewest);
    std::size_t partial = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (used[i] == 0 || used[i] == room[i]) continue;
      ++partial;
      for (std::size_t k = 0; k < parts.size(); ++k) {
        if (used[k] == 0 && room[k] >= used[i]) REQUIRE(room[k] >= room[i]);
      }
    }
    REQUIRE(partial <= 1);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (used[i] > 0) check_fewest(part_level[i], parts[i], on_node);
    }
  }
};

}  // namespace

TEST_CASE("topology_gang: plans of random gangs are those of an oracle that tries everything") {
  std::map<gang_obstacle, int> refusals;
  std::map<bool, int> with_level;
  allot_test::for_each_seed(4000, [&](allot_test::random_source& random) {
    const allot_test::labelled_cluster c = allot_test::random_labelled_cluster(random, 8);
    const topology t = gpu::topology_from_labels(c.nodes, c.levels, {.allow_outside = true}).value();
    std::vector<std::uint32_t> free;
    for (std::size_t n = 0; n < c.nodes.size(); ++n)
      free.push_back(static_cast<std::uint32_t>(random.below(5)));
    const node_rooms rooms{t, [&](node_id n) { return free[n.index()]; }};
    gpu::node_classes classes{t, 5};
    for (std::size_t n = 0; n < c.nodes.size(); ++n) classes.set(node_id{n}, free[n]);
    const std::vector<std::uint32_t> same{0, 1, 2, 3, 4};
    const gpu::class_rooms counted{classes, same};
    gang_planner planner{t};
    gang_planner second{t};
    for (int k = 0; k < 4; ++k) {
      std::vector<gang_group> groups(random.one_in(2) ? 1 : 1 + random.below(4));
      for (gang_group& g : groups) {
        g.min_pods = 1 + random.below(groups.size() == 1 ? 10 : 4);
        g.pods = g.min_pods + (random.one_in(2) ? random.below(6) : 0);
        if (groups.size() > 1 ? random.below(3) > 0 : random.one_in(6))
          g.level = random.below(t.node_level() + 1);
      }
      gang_request r{groups, {}, {}};
      if (random.one_in(2)) r.required = random.below(t.node_level() + 1);
      if (random.one_in(2)) {
        const std::size_t from = r.required.value_or(0);
        r.preferred = from + random.below(t.node_level() + 1 - from);
      }
      const allot_test::gang_oracle oracle{c, free};
      const gang_place p = planner.plan(rooms, r);
      checked_plan{oracle, c, free}.check(t, r, p);
      const gang_place other = second.plan(counted, r);
      REQUIRE(other.found == p.found);
      REQUIRE(other.why == p.why);
      REQUIRE(std::equal(p.shares.begin(), p.shares.end(), other.shares.begin(), other.shares.end()));
      ++refusals[p.why.reason];
      ++with_level[p.found && p.level.has_value()];
    }
  });
  // The cases must not all be of one kind.
  if (allot_test::all_cases_run()) {
    for (const auto reason :
         {gang_obstacle::none, gang_obstacle::no_room, gang_obstacle::no_domain, gang_obstacle::groups}) {
      CHECK(refusals[reason] > 50);
    }
    CHECK(with_level[true] > 500);
  }
}

TEST_CASE("topology_gang: a workspace that has seen such a gang does not allocate") {
  small_world w{{4, 4, 1, 2, 2, 2, 0, 0, 3, 6, 0, 0}};
  const std::vector<gang_group> groups{{6, 2, node}, {9, 1, leaf}, {3, 1}};
  const gang_group one{20, 3};
  const auto all = [&] {
    std::uint64_t pods = 0;
    pods += w.planner.plan(w.rooms, {groups, spine, leaf}).pods;
    pods += w.planner.plan(w.rooms, {{&one, 1}, {}, {}}).pods;
    pods += w.planner.plan(w.rooms, {{&one, 1}, node, {}}).pods;
    return pods;
  };
  const std::uint64_t before = all();
  std::uint64_t after = 0;
  CHECK(allot_test::allocations_in([&] { after = all(); }) == 0);
  CHECK(before == after);
  CHECK(before > 20);
}

TEST_CASE("topology_gang: rooms of another topology are a broken precondition") {
  small_world w{std::vector<std::uint32_t>(12, 1)};
  small_world other{std::vector<std::uint32_t>(12, 1)};
  const gang_group one{1, 1};
  CHECK_THROWS_AS(static_cast<void>(w.planner.plan(other.rooms, {{&one, 1}})), allot_test::assertion_failed);
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/topology/topology.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_topology.hpp>
#include <tests/support/seeds.hpp>
#include <tests/support/throwing_assert.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace gpu = allot::gpu;
using gpu::domain_id;
using gpu::node_id;
using gpu::topology;

namespace {

std::vector<std::size_t> ids(std::span<const node_id> nodes) {
  std::vector<std::size_t> all;
  for (const node_id n : nodes) all.push_back(n.index());
  return all;
}
std::vector<std::size_t> ids(gpu::domain_range range) {
  std::vector<std::size_t> all;
  for (const domain_id d : range) all.push_back(d.index());
  return all;
}

/// Two spines; the second has no racks, the first three, one of which is empty; node 4 is outside.
topology small() {
  constexpr std::size_t none = topology::part::no_parent;
  return topology{{"spine", "rack"},
                  {{"r1", 2, {node_id{5}, node_id{0}}},
                   {"r2", 2, {}},
                   {"s1", none, {}},
                   {"s2", none, {}},
                   {"r3", 2, {node_id{3}, node_id{2}, node_id{1}}}},
                  6};
}

}  // namespace

TEST_CASE("topology: a small one by hand") {
  const topology t = small();
  CHECK(t.levels() == 2);
  CHECK(t.node_level() == 2);
  CHECK(t.level_name(1) == "rack");
  CHECK(t.level_name(2) == "node");
  CHECK(t.find_level("spine") == 0U);
  CHECK(t.find_level("node") == 2U);
  CHECK_FALSE(t.find_level("leaf"));
  CHECK(t.size() == 5);
  const domain_id s1{0}, s2{1}, r1{2}, r2{3}, r3{4};
  CHECK(t.name(s1) == "s1");
  CHECK(t.name(r3) == "r3");
  CHECK(t.qualified_name(r3) == "s1/r3");
  CHECK(ids(t.children(s1)) == std::vector<std::size_t>{2, 3, 4});
  CHECK(t.children(s2).empty());
  CHECK(t.children(r1).empty());
  CHECK(ids(t.domains_of(1)) == std::vector<std::size_t>{2, 3, 4});
  CHECK(ids(t.domains_in(s1, 1)) == std::vector<std::size_t>{2, 3, 4});
  CHECK(t.domains_in(s2, 1).empty());
  CHECK(ids(t.nodes()) == std::vector<std::size_t>{0, 5, 1, 2, 3, 4});
  CHECK(ids(t.nodes(s1)) == std::vector<std::size_t>{0, 5, 1, 2, 3});
  CHECK(t.nodes(s2).empty());
  CHECK(t.nodes(r2).empty());
  CHECK(ids(t.nodes(r3)) == std::vector<std::size_t>{1, 2, 3});
  CHECK(t.first_position(r3) == 2);
  CHECK(ids(t.nodes_outside()) == std::vector<std::size_t>{4});
  CHECK(t.domain_of(node_id{2}) == r3);
  CHECK(t.domain_of(node_id{2}, 0) == s1);
  CHECK(t.domain_of(node_id{4}).is_none());
  CHECK(t.common_domain(node_id{0}, node_id{5}) == r1);
  CHECK(t.common_domain(node_id{0}, node_id{3}) == s1);
  CHECK(t.common_domain(node_id{0}, node_id{4}).is_none());
  CHECK(t.common_domain(node_id{4}, node_id{4}).is_none());
  CHECK(t.find("r3") == r3);
  CHECK(t.find("s1/r3") == r3);
  CHECK_FALSE(t.find("r4"));
}

TEST_CASE("topology: repeated names are found by their path") {
  constexpr std::size_t none = topology::part::no_parent;
  const topology t{{"spine", "rack"}, {{"a", none, {}}, {"b", none, {}}, {"r", 0, {}}, {"r", 1, {}}}, 0};
  CHECK_FALSE(t.find("r"));
  CHECK(t.find("a/r") == domain_id{2});
  CHECK(t.find("b/r") == domain_id{3});
}

TEST_CASE("topology: one without levels has all nodes outside") {
  const topology t{{}, {}, 3};
  CHECK(t.size() == 0);
  CHECK(t.node_level() == 0);
  CHECK(t.nodes_outside().size() == 3);
  CHECK(t.domain_of(node_id{1}).is_none());
  CHECK(t.common_domain(node_id{1}, node_id{1}).is_none());
  CHECK(topology{}.nodes().empty());
  CHECK(topology{}.domains().empty());
}

TEST_CASE("topology: an invalid topology is a broken precondition") {
  constexpr std::size_t none = topology::part::no_parent;
  using allot_test::assertion_failed;
  CHECK_THROWS_AS((topology{{}, {{"a", none, {}}}, 0}), assertion_failed);
  CHECK_THROWS_AS((topology{{"x"}, {{"a", 0, {}}}, 0}), assertion_failed);
  CHECK_THROWS_AS((topology{{"x"}, {{"a", none, {node_id{1}}}}, 1}), assertion_failed);
  CHECK_THROWS_AS((topology{{"x"}, {{"a", none, {node_id{0}}}, {"b", none, {node_id{0}}}}, 1}),
                  assertion_failed);
  CHECK_THROWS_AS((topology{{"x", "y"}, {{"a", none, {node_id{0}}}}, 1}), assertion_failed);
  const topology t = small();
  CHECK_THROWS_AS(static_cast<void>(t.name(domain_id{5})), assertion_failed);
  CHECK_THROWS_AS(static_cast<void>(t.domains_of(2)), assertion_failed);
  CHECK_THROWS_AS(static_cast<void>(t.domain_of(node_id{6})), assertion_failed);
  CHECK_THROWS_AS(static_cast<void>(t.domains_in(domain_id{2}, 0)), assertion_failed);
  CHECK_THROWS_AS(static_cast<void>(t.level_name(3)), assertion_failed);
}

TEST_CASE("topology: everything agrees with the labels that random clusters were given") {
  allot_test::for_each_seed(300, [](allot_test::random_source& random) {
    const allot_test::labelled_cluster c = allot_test::random_labelled_cluster(random, 20);
    const topology t = gpu::topology_from_labels(c.nodes, c.levels, {.allow_outside = true}).value();
    REQUIRE(t.levels() == c.levels.size());
    REQUIRE(t.nodes().size() == c.nodes.size());
    const auto label = [&](node_id n, std::size_t l) -> std::optional<std::vector<std::string>> {
      const auto& path = c.path[n.index()];
      if (path.empty()) return std::nullopt;
      return std::vector(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(l) + 1);
    };
    std::vector<bool> seen(c.nodes.size());
    for (std::size_t p = 0; p < t.nodes().size(); ++p) {
      const node_id n = t.nodes()[p];
      REQUIRE(t.position(n) == p);
      REQUIRE_FALSE(seen[n.index()]);
      seen[n.index()] = true;
    }
    for (std::size_t i = 0; i < c.nodes.size(); ++i) {
      const node_id a{i};
      for (std::size_t l = 0; l < t.levels(); ++l) {
        const domain_id d = t.domain_of(a, l);
        REQUIRE(d.is_none() == !label(a, l));
        if (!d) continue;
        REQUIRE(t.level_of(d) == l);
        REQUIRE(t.name(d) == label(a, l)->back());
        REQUIRE(t.parent(d) == (l == 0 ? domain_id::none() : t.domain_of(a, l - 1)));
        REQUIRE(t.find(t.qualified_name(d)) == d);
      }
      for (std::size_t k = 0; k < c.nodes.size(); ++k) {
        const node_id b{k};
        domain_id finest;
        for (std::size_t l = 0; l < t.levels(); ++l) {
          const bool same = label(a, l) && label(a, l) == label(b, l);
          REQUIRE((t.domain_of(a, l) && t.domain_of(a, l) == t.domain_of(b, l)) == same);
          if (same) finest = t.domain_of(a, l);
        }
        REQUIRE(t.common_domain(a, b) == finest);
      }
    }
    for (const domain_id d : t.domains()) {
      std::vector<node_id> inside;
      for (const node_id n : t.nodes()) {
        if (t.domain_of(n, t.level_of(d)) == d) inside.push_back(n);
      }
      REQUIRE(std::equal(inside.begin(), inside.end(), t.nodes(d).begin(), t.nodes(d).end()));
      REQUIRE_FALSE(inside.empty());
      REQUIRE(t.nodes()[t.first_position(d)] == inside.front());
      for (std::size_t l = t.level_of(d); l < t.levels(); ++l) {
        std::vector<std::size_t> below;
        for (const domain_id x : t.domains_of(l)) {
          if (t.domain_of(t.nodes(x).front(), t.level_of(d)) == d) below.push_back(x.index());
        }
        REQUIRE(ids(t.domains_in(d, l)) == below);
      }
      for (const domain_id child : t.children(d)) REQUIRE(t.parent(child) == d);
    }
  });
}

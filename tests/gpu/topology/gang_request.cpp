// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/topology/gang_request.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>

#include <set>
#include <string>
#include <string_view>

namespace gpu = allot::gpu;
using gpu::domain_id;
using gpu::gang_obstacle;
using gpu::gang_shortage;
using gpu::node_id;
using gpu::topology;

namespace {

constexpr gang_obstacle all_obstacles[] = {gang_obstacle::none,    gang_obstacle::invalid_request,
                                           gang_obstacle::no_room, gang_obstacle::no_domain,
                                           gang_obstacle::groups,  gang_obstacle::not_proven};

}  // namespace

TEST_CASE("gang_request: every obstacle has a name and a sentence of its own") {
  const gpu::cluster nodes = allot_test::equal_nodes(2, 8);
  const topology t{{"rack"}, {{"r", topology::part::no_parent, {node_id{0}, node_id{1}}}}, 2};
  std::set<std::string_view> names;
  std::set<std::string> sentences;
  for (const gang_obstacle o : all_obstacles) {
    names.insert(to_string(o));
    sentences.insert(explain(t, nodes, {o, 0, domain_id{0}, {}, 3, 5, 1}));
  }
  CHECK(names.size() == 6);
  CHECK(sentences.size() == 6);
  CHECK(to_string(gang_obstacle::not_proven) == "not_proven");
}

TEST_CASE("gang_request: sentences name the place and what it lacks") {
  const gpu::cluster nodes = allot_test::equal_nodes(2, 8);
  const topology t{{"rack"}, {{"r", topology::part::no_parent, {node_id{0}, node_id{1}}}}, 2};
  CHECK(explain(t, nodes, {gang_obstacle::no_domain, 0, domain_id{0}, {}, 1, 2, 0}) ==
        "no rack has room for 2 pods: the best, rack r, has room for 1, 1 fewer");
  CHECK(explain(t, nodes, {gang_obstacle::no_domain, 1, {}, node_id{1}, 0, 1, 0}) ==
        "no node has room for 1 pod: the best, node n-1, has room for 0, 1 fewer");
  CHECK(explain(t, nodes, {gang_obstacle::no_domain, 0, {}, {}, 0, 1, 0}) ==
        "no rack has room for 1 pod: there is none");
  CHECK(explain(t, nodes, {gang_obstacle::groups, {}, {}, {}, 9, 4, 2}) ==
        "the cluster has room for 9 pods, but group 2 gets no domain of its level beside the other groups");
}

TEST_CASE("gang_request: the missing amount") {
  gang_shortage why;
  CHECK(why.lacking() == 0);
  why.needed = 5;
  why.room = 3;
  CHECK(why.lacking() == 2);
  why.room = 7;
  CHECK(why.lacking() == 0);
}

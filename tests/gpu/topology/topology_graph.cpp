// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/topology/topology_graph.hpp>

#include <doctest/doctest.h>
#include <boost/concept/assert.hpp>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <boost/graph/graphviz.hpp>
#include <boost/graph/topological_sort.hpp>
#include <tests/gpu/random_topology.hpp>
#include <tests/support/seeds.hpp>
#include <tests/support/throwing_assert.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using allot::problem_code;
using gpu::domain_id;
using gpu::node_id;
using gpu::topology;
using gpu::topology_graph;
using gpu::topology_vertex;

namespace {

BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<topology_graph>));
BOOST_CONCEPT_ASSERT((boost::EdgeListGraphConcept<topology_graph>));
BOOST_CONCEPT_ASSERT((boost::IncidenceGraphConcept<topology_graph>));
BOOST_CONCEPT_ASSERT((boost::BidirectionalGraphConcept<topology_graph>));
BOOST_CONCEPT_ASSERT((boost::AdjacencyGraphConcept<topology_graph>));
BOOST_CONCEPT_ASSERT(
    (boost::ReadablePropertyGraphConcept<topology_graph, topology_vertex, boost::vertex_index_t>));
BOOST_CONCEPT_ASSERT(
    (boost::ReadablePropertyGraphConcept<topology_graph, topology_vertex, boost::vertex_name_t>));

using strings = std::vector<std::string>;
using named_vertex = boost::property<boost::vertex_name_t, std::string>;
using user_graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, named_vertex>;
/// Vertices that are pointers, and edges that can be followed backwards.
using linked_graph = boost::adjacency_list<boost::listS, boost::listS, boost::bidirectionalS, named_vertex>;

/// The names are added as vertices in the order in which the edges mention them.
template <class Graph = user_graph>
Graph graph_of(std::initializer_list<std::pair<const char*, const char*>> edges, const strings& alone = {}) {
  Graph g;
  const auto vertex = [&g](const std::string& name) {
    const auto [first, last] = vertices(g);
    for (auto v = first; v != last; ++v) {
      if (get(boost::vertex_name, g, *v) == name) return *v;
    }
    return add_vertex(named_vertex{name}, g);
  };
  for (const auto& [from, to] : edges) {
    const auto a = vertex(from);
    add_edge(a, vertex(to), g);
  }
  for (const std::string& name : alone) vertex(name);
  return g;
}
template <class Graph>
allot::result<topology> compiled(const gpu::cluster& nodes, strings levels, const Graph& g,
                                 gpu::topology_options options = {}) {
  return gpu::topology_from_graph(nodes, std::move(levels), g, get(boost::vertex_name, g), options);
}

gpu::cluster nodes(std::size_t count) {
  std::vector<gpu::node_spec> specs(count);
  for (std::size_t n = 0; n < count; ++n) {
    specs[n].name = "n" + std::to_string(n);
    specs[n].gpus = 8;
  }
  return gpu::build_cluster(std::move(specs)).value();
}
strings texts(const allot::result<topology>& made) {
  REQUIRE_FALSE(made);
  strings all;
  for (const allot::problem& p : made.problems()) all.push_back(p.text);
  return all;
}

template <class Range>
auto as_vector(Range range) {
  return std::vector(range.first, range.second);
}

struct count_odd_edges : boost::dfs_visitor<> {
  std::size_t* odd;
  explicit count_odd_edges(std::size_t& n) : odd(&n) {}
  void back_edge(gpu::topology_edge, const topology_graph&) const { ++*odd; }
  void forward_or_cross_edge(gpu::topology_edge, const topology_graph&) const { ++*odd; }
};

}  // namespace

TEST_CASE("topology_graph: a graph of the user's is compiled") {
  const auto g = graph_of({{"s", "l1"}, {"l1", "n2"}, {"s", "l2"}, {"l2", "n0"}, {"l1", "n1"}});
  const auto made = compiled(nodes(3), {"spine", "leaf"}, g);
  REQUIRE(made);
  const topology& t = made.value();
  CHECK(t.size() == 3);
  CHECK(t.qualified_name(t.domain_of(node_id{0})) == "s/l2");
  CHECK(t.qualified_name(t.domain_of(node_id{2})) == "s/l1");
  CHECK(t.common_domain(node_id{1}, node_id{2}) == t.find("l1"));

  const auto linked =
      compiled(nodes(3), {"spine", "leaf"},
               graph_of<linked_graph>({{"s", "l1"}, {"l1", "n2"}, {"s", "l2"}, {"l2", "n0"}, {"l1", "n1"}}));
  REQUIRE(linked);
  CHECK(linked.value() == t);
  // A repeated edge adds nothing.
  const auto twice = compiled(nodes(1), {"rack"}, graph_of({{"r", "n0"}, {"r", "n0"}}));
  CHECK(twice);
  // An empty domain is a domain too; a node may have no domain only if that is allowed.
  const auto alone = graph_of({{"s", "l1"}, {"l1", "n0"}, {"s", "l2"}}, {"n1"});
  CHECK(texts(compiled(nodes(2), {"spine", "leaf"}, alone)) == strings{"the node n1 is in no leaf"});
  CHECK(compiled(nodes(2), {"spine", "leaf"}, alone, {.allow_outside = true}).value().size() == 3);
}

TEST_CASE("topology_graph: every cycle is reported once with all its members") {
  const auto made =
      compiled(nodes(1), {"a", "b", "c"},
               graph_of({{"x", "y"}, {"y", "z"}, {"z", "x"}, {"q", "q"}, {"s", "y"}, {"z", "n0"}}));
  CHECK(texts(made) == strings{"the edges go in a circle: x -> y -> z -> x",
                               "the edges go in a circle: q -> q", "y has more than one parent: x, s"});
  CHECK(made.problems()[0].code == problem_code::cycle);
}

TEST_CASE("topology_graph: two parents, unknown nodes, and levels that do not fit") {
  CHECK(texts(compiled(
            nodes(2), {"leaf", "rack"},
            graph_of({{"a", "r"}, {"b", "r"}, {"r", "n0"}, {"b", "q"}, {"q", "n1"}, {"q", "n0"}}))) ==
        strings{"r has more than one parent: a, b", "the node n0 is in a/r and in b/q"});
  const auto unknown = compiled(nodes(1), {"rack"}, graph_of({{"r", "n0"}, {"r", "n7"}, {"r", "m"}}));
  CHECK(texts(unknown) == strings{"n7 is in the position of a node, but the cluster has no such node",
                                  "m is in the position of a node, but the cluster has no such node"});
  CHECK(unknown.problems()[0].code == problem_code::unknown_name);
  CHECK(texts(compiled(nodes(2), {"leaf", "rack"}, graph_of({{"a", "n0"}, {"a", "r"}, {"r", "n1"}}))) ==
        strings{"nodes are in a, which is a leaf: only a rack can have nodes"});
  CHECK(texts(compiled(nodes(1), {"rack"}, graph_of({{"a", "b"}, {"b", "c"}, {"c", "n0"}}))) ==
        strings{"a/b is deeper than the 1 levels that there are"});
  CHECK(texts(compiled(nodes(2), {"rack"}, graph_of({{"r", "n0"}}))) == strings{"the node n1 is in no rack"});
  CHECK(compiled(nodes(2), {"rack"}, graph_of({{"r", "n0"}}), {.allow_outside = true}));
  CHECK(compiled(nodes(2), {}, graph_of({}, {"n0", "n1"})));
}

TEST_CASE("topology_graph: another cluster's topology is a broken precondition") {
  const topology t{{}, {}, 2};
  CHECK_THROWS_AS((topology_graph{t, nodes(3)}), allot_test::assertion_failed);
}

TEST_CASE("topology_graph: the ranges of random topologies are consistent") {
  allot_test::for_each_seed(200, [](allot_test::random_source& random) {
    const allot_test::labelled_cluster c = allot_test::random_labelled_cluster(random);
    const topology t = gpu::topology_from_labels(c.nodes, c.levels, {.allow_outside = true}).value();
    const topology_graph g{t, c.nodes};
    std::vector<std::pair<topology_vertex, topology_vertex>> from_out;
    std::vector<std::pair<topology_vertex, topology_vertex>> from_in;
    std::vector<std::pair<topology_vertex, topology_vertex>> from_list;
    REQUIRE(as_vector(vertices(g)).size() == num_vertices(g));
    for (const topology_vertex v : as_vector(vertices(g))) {
      REQUIRE((g.domain(v) ? g.vertex(g.domain(v)) : g.vertex(g.node(v))) == v);
      REQUIRE(g.domain(v).is_none() == static_cast<bool>(g.node(v)));
      for (const auto e : as_vector(out_edges(v, g))) from_out.emplace_back(source(e, g), target(e, g));
      for (const auto e : as_vector(in_edges(v, g))) from_in.emplace_back(source(e, g), target(e, g));
      REQUIRE(as_vector(out_edges(v, g)).size() == out_degree(v, g));
      REQUIRE(as_vector(adjacent_vertices(v, g)).size() == out_degree(v, g));
      REQUIRE(degree(v, g) == in_degree(v, g) + out_degree(v, g));
      REQUIRE(get(get(boost::vertex_index, g), v) == get(boost::vertex_index, g, v));
      REQUIRE(get(get(boost::vertex_name, g), v) == get(boost::vertex_name, g, v));
      REQUIRE(g.name(v) == (g.domain(v) ? t.name(g.domain(v)) : c.nodes.name(g.node(v))));
    }
    for (const auto e : as_vector(edges(g))) from_list.emplace_back(source(e, g), target(e, g));
    REQUIRE(from_list.size() == num_edges(g));
    for (auto* each : {&from_out, &from_in, &from_list}) std::sort(each->begin(), each->end());
    REQUIRE(from_out == from_in);
    REQUIRE(from_out == from_list);
    for (const auto& [up, v] : from_out) {
      REQUIRE(g.domain(up) == (g.domain(v) ? t.parent(g.domain(v)) : t.domain_of(g.node(v))));
    }

    std::size_t odd = 0;
    boost::depth_first_search(g, boost::visitor(count_odd_edges{odd}));
    REQUIRE(odd == 0);
    std::vector<topology_vertex> inner_first;
    boost::topological_sort(g, std::back_inserter(inner_first));
    REQUIRE(inner_first.size() == num_vertices(g));
  });
}

TEST_CASE("topology_graph: a topology as a graph compiles to itself") {
  allot_test::for_each_seed(200, [](allot_test::random_source& random) {
    const allot_test::labelled_cluster c = allot_test::random_labelled_cluster(random);
    const topology t = gpu::topology_from_labels(c.nodes, c.levels, {.allow_outside = true}).value();
    const topology_graph g{t, c.nodes};
    const auto again = compiled(c.nodes, c.levels, g, {.allow_outside = true});
    REQUIRE(again);
    REQUIRE(again.value() == t);
  });
}

TEST_CASE("topology_graph: boost::write_graphviz writes it") {
  const gpu::cluster c = nodes(3);
  const topology t{
      {"rack"},
      {{"a", topology::part::no_parent, {node_id{1}}}, {"b", topology::part::no_parent, {node_id{0}}}},
      3};
  const topology_graph g{t, c};
  std::ostringstream out;
  boost::write_graphviz(out, g, boost::make_label_writer(get(boost::vertex_name, g)));
  CHECK(out.str() ==
        "digraph G {\n"
        "0[label=a];\n1[label=b];\n2[label=n1];\n3[label=n0];\n4[label=n2];\n"
        "0->2 ;\n1->3 ;\n"
        "}\n");
}

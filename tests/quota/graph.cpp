// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/builder.hpp>
#include <allot/quota/change.hpp>
#include <allot/quota/graph.hpp>

#include <doctest/doctest.h>
#include <boost/concept/assert.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <boost/graph/graphviz.hpp>
#include <boost/graph/topological_sort.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/print.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::ledger;
using allot::quota_id;
using allot::quota_tree;

namespace {

using graph = quota_tree<2>;
BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<graph>));
BOOST_CONCEPT_ASSERT((boost::EdgeListGraphConcept<graph>));
BOOST_CONCEPT_ASSERT((boost::IncidenceGraphConcept<graph>));
BOOST_CONCEPT_ASSERT((boost::BidirectionalGraphConcept<graph>));
BOOST_CONCEPT_ASSERT((boost::AdjacencyGraphConcept<graph>));
BOOST_CONCEPT_ASSERT((boost::ReadablePropertyGraphConcept<graph, quota_id, boost::vertex_index_t>));
BOOST_CONCEPT_ASSERT((boost::ReadablePropertyGraphConcept<graph, quota_id, boost::vertex_name_t>));

/// root1 { a { b }, c }, root2; in an order in which children precede parents.
std::vector<allot::quota_spec<>> small_specs() {
  return {{.name = "b", .parent = "a", .nominal = gpus(2)},
          {.name = "root1"},
          {.name = "c", .parent = "root1", .nominal = gpus(1)},
          {.name = "a", .parent = "root1", .nominal = gpus(4)},
          {.name = "root2"}};
}
quota_tree<> small_tree() {
  return allot::build_quota_tree(small_specs()).value();
}

/// A random tree from which some leaves were removed, so that ids are no longer dense.
quota_tree<> random_tree(allot_test::random_source& random) {
  ledger<> l{allot::build_quota_tree(allot_test::random_quotas<1>(random)).value()};
  for (int i = 0; i < 3; ++i) {
    const quota_id x = random.pick(l.tree().top_down());
    if (l.tree().top_down().size() > 1 && l.tree().children(x).empty()) {
      [[maybe_unused]] const auto done = allot::apply(l, allot::remove_quota{x});
    }
  }
  return l.tree();
}

template <class Range>
auto as_vector(Range range) {
  return std::vector(range.first, range.second);
}

struct record_discovered : boost::bfs_visitor<> {
  std::vector<quota_id>* order;
  explicit record_discovered(std::vector<quota_id>& to) : order(&to) {}
  void discover_vertex(quota_id x, const quota_tree<>&) const { order->push_back(x); }
};
struct check_forest : boost::dfs_visitor<> {
  std::vector<quota_id>* finished;
  std::size_t* odd_edges;
  check_forest(std::vector<quota_id>& to, std::size_t& odd) : finished(&to), odd_edges(&odd) {}
  void finish_vertex(quota_id x, const quota_tree<>&) const { finished->push_back(x); }
  void back_edge(allot::quota_edge, const quota_tree<>&) const { ++*odd_edges; }
  void forward_or_cross_edge(allot::quota_edge, const quota_tree<>&) const { ++*odd_edges; }
};

}  // namespace

TEST_CASE("graph: vertices, edges and degrees of a small tree") {
  const quota_tree<> t = small_tree();
  const quota_id b{0}, root1{1}, c{2}, a{3}, root2{4};
  CHECK(num_vertices(t) == 5);
  CHECK(num_edges(t) == 3);
  CHECK(as_vector(vertices(t)) == std::vector{root1, root2, c, a, b});
  CHECK(as_vector(adjacent_vertices(root1, t)) == std::vector{c, a});
  CHECK(out_degree(root1, t) == 2);
  CHECK(in_degree(root1, t) == 0);
  CHECK(in_degree(b, t) == 1);
  CHECK(degree(a, t) == 2);
  const auto in = as_vector(in_edges(a, t));
  REQUIRE(in.size() == 1);
  CHECK(source(in[0], t) == root1);
  CHECK(target(in[0], t) == a);
  CHECK(boost::graph_traits<quota_tree<>>::null_vertex().is_none());
}

TEST_CASE("graph: the ranges of random trees are consistent, also with removed quotas") {
  allot_test::for_each_seed(300, [](allot_test::random_source& random) {
    const quota_tree<> t = random_tree(random);
    std::vector<std::pair<quota_id, quota_id>> from_out;
    std::vector<std::pair<quota_id, quota_id>> from_in;
    std::vector<std::pair<quota_id, quota_id>> from_list;
    std::vector<bool> index_seen(num_vertices(t));
    for (const quota_id x : as_vector(vertices(t))) {
      for (const auto e : as_vector(out_edges(x, t))) from_out.emplace_back(source(e, t), target(e, t));
      for (const auto e : as_vector(in_edges(x, t))) from_in.emplace_back(source(e, t), target(e, t));
      CHECK(as_vector(out_edges(x, t)).size() == out_degree(x, t));
      CHECK(as_vector(in_edges(x, t)).size() == in_degree(x, t));
      CHECK(get(boost::vertex_name, t, x) == t.name(x));
      CHECK(get(get(boost::vertex_name, t), x) == t.name(x));
      // Dense, as required by algorithms that keep a colour for each vertex.
      const std::size_t i = get(get(boost::vertex_index, t), x);
      CHECK(i == get(boost::vertex_index, t, x));
      REQUIRE(i < num_vertices(t));
      CHECK_FALSE(index_seen[i]);
      index_seen[i] = true;
    }
    for (const auto e : as_vector(edges(t))) from_list.emplace_back(source(e, t), target(e, t));
    CHECK(from_list.size() == num_edges(t));
    for (auto* each : {&from_out, &from_in, &from_list}) std::sort(each->begin(), each->end());
    CHECK(from_out == from_in);
    CHECK(from_out == from_list);
    for (const auto& [p, x] : from_out) CHECK(t.parent(x) == p);
  });
}

TEST_CASE("graph: Boost's searches and topological sort run on the tree itself") {
  allot_test::for_each_seed(200, [](allot_test::random_source& random) {
    const quota_tree<> t = random_tree(random);
    const quota_id top = random.pick(t.top_down());

    std::vector<quota_id> found;
    boost::breadth_first_search(t, top, boost::visitor(record_discovered{found}));
    std::vector<quota_id> expected;
    for (const quota_id x : t.top_down()) {
      if (t.common_ancestor(x, top) == top) expected.push_back(x);
    }
    CHECK(found == expected);

    std::vector<quota_id> finished;
    std::size_t odd_edges = 0;
    boost::depth_first_search(t, boost::visitor(check_forest{finished, odd_edges}));
    CHECK(finished.size() == num_vertices(t));
    CHECK(odd_edges == 0);

    std::vector<quota_id> children_first;
    boost::topological_sort(t, std::back_inserter(children_first));
    std::vector<std::size_t> place(t.slots());
    for (std::size_t i = 0; i < children_first.size(); ++i) place[children_first[i].index()] = i;
    for (const quota_id x : t.top_down()) {
      if (const quota_id p = t.parent(x)) CHECK(place[x.index()] < place[p.index()]);
    }
  });
}

TEST_CASE("graph: boost::write_graphviz writes the tree") {
  const quota_tree<> t = small_tree();
  std::ostringstream out;
  boost::write_graphviz(out, t, boost::make_label_writer(get(boost::vertex_name, t)));
  CHECK(out.str() ==
        "digraph G {\n"
        "0[label=root1];\n1[label=root2];\n2[label=c];\n3[label=a];\n4[label=b];\n"
        "0->2 ;\n0->3 ;\n3->4 ;\n"
        "}\n");
}

TEST_CASE("graph: write_graphviz shows usage, loans and excess") {
  auto specs = small_specs();
  specs[2].name = "say \"c\" \\";
  specs[4].borrow = allot::limit::none();
  ledger<> l{allot::build_quota_tree(specs).value()};
  l.charge(quota_id{0}, allot::quantity::milli(4500));
  l.charge(quota_id{4}, gpus(1));
  std::ostringstream out;
  allot::write_graphviz(out, l);
  CHECK(out.str() == R"dot(digraph quotas {
  node [shape=box];
  q1 [label="root1\ngpu: 4.5 of 0"];
  q4 [label="root2\ngpu: 1 of 0, borrows 1", color=red];
  q2 [label="say \"c\" \\\ngpu: 0 of 1"];
  q3 [label="a\ngpu: 4.5 of 4"];
  q0 [label="b\ngpu: 4.5 of 2, borrows 2.5"];
  q1 -> q2;
  q1 -> q3;
  q3 -> q0;
}
)dot");
}

TEST_CASE("graph: dimensions without a name are numbered") {
  ledger<2> l{allot::build_quota_tree<2>({{.name = "all"}}).value()};
  std::ostringstream out;
  allot::write_graphviz(out, l);
  CHECK(out.str() ==
        "digraph quotas {\n  node [shape=box];\n  q0 [label=\"all\\n0: 0 of 0\\n1: 0 of 0\"];\n}\n");
  out.str({});
  allot::write_graphviz(out, l, {"h100 \"gpu\"", "cpu"});
  CHECK(out.str().find(R"(\nh100 \"gpu\": 0 of 0\ncpu: 0 of 0)") != std::string::npos);
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/topology/topology_builder.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_topology.hpp>
#include <tests/support/seeds.hpp>
#include <tests/support/traces.hpp>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using allot::problem;
using allot::problem_code;
using gpu::domain_id;
using gpu::domain_spec;
using gpu::node_id;
using gpu::topology;

namespace {

gpu::cluster nodes(std::size_t count) {
  std::vector<gpu::node_spec> specs(count);
  for (std::size_t n = 0; n < count; ++n) {
    specs[n].name = "n" + std::to_string(n);
    specs[n].gpus = 8;
  }
  return gpu::build_cluster(std::move(specs)).value();
}
const std::vector<std::string> two_levels{"leaf", "rack"};

std::vector<std::string> texts(const allot::result<topology>& made) {
  REQUIRE_FALSE(made);
  std::vector<std::string> all;
  for (const problem& p : made.problems()) all.push_back(p.text);
  return all;
}
using strings = std::vector<std::string>;

gpu::node_spec labelled(std::string name, std::vector<gpu::label> labels) {
  gpu::node_spec s;
  s.name = std::move(name);
  s.gpus = 8;
  s.labels = std::move(labels);
  return s;
}

}  // namespace

TEST_CASE("topology_builder: domains by hand, in any order") {
  const auto made = gpu::build_topology(nodes(5), {two_levels,
                                                   {{"r2", "a", {"n3", "n1"}},
                                                    {"b", "", {}},
                                                    {"a", "", {}},
                                                    {"r1", "a", {"n0"}},
                                                    {"r3", "b", {"n4", "n2"}}}});
  REQUIRE(made);
  const topology& t = made.value();
  CHECK(t.name(domain_id{0}) == "b");
  CHECK(t.qualified_name(t.domain_of(node_id{1})) == "a/r2");
  CHECK(t.common_domain(node_id{1}, node_id{0}) == t.find("a"));
  CHECK(t.nodes_outside().empty());
}

TEST_CASE("topology_builder: one name under two parents is two domains, or a problem if names are unique") {
  const gpu::topology_spec spec{
      {"spine", "leaf", "rack"},
      {{"s", "", {}}, {"a", "s", {}}, {"b", "s", {}}, {"r", "a", {"n0"}}, {"r", "b", {"n1"}}}};
  const auto made = gpu::build_topology(nodes(2), spec);
  REQUIRE(made);
  CHECK(made.value().domain_of(node_id{0}) != made.value().domain_of(node_id{1}));
  const auto refused = gpu::build_topology(nodes(2), spec, {.unique_names = true});
  CHECK(texts(refused) == strings{"r has more than one parent: it is s/a/r and s/b/r"});
  CHECK(refused.problems()[0].code == problem_code::more_than_one_parent);

  const gpu::topology_spec below{{"leaf", "rack", "nvlink"},
                                 {{"a", "", {}},
                                  {"b", "", {}},
                                  {"r", "a", {}},
                                  {"r", "b", {}},
                                  {"x", "a/r", {"n0"}},
                                  {"y", "b/r", {"n1"}}}};
  REQUIRE(gpu::build_topology(nodes(2), below));
  CHECK(gpu::build_topology(nodes(2), below).value().find("b/r/y") ==
        gpu::build_topology(nodes(2), below).value().domain_of(node_id{1}));
}

TEST_CASE("topology_builder: all problems of a specification are reported at once") {
  const auto made = gpu::build_topology(nodes(3), {{"leaf", "leaf", "", "node"},
                                                   {{"a", "b", {}},
                                                    {"b", "c", {}},
                                                    {"c", "a", {}},
                                                    {"d", "d", {}},
                                                    {"", "", {}},
                                                    {"e", "nowhere", {}},
                                                    {"f", "", {"n7", "n1"}},
                                                    {"f", "", {"n1", "n2", "n2"}},
                                                    {"g", "f", {}}}});
  CHECK(texts(made) == strings{"e names the parent nowhere, which does not exist",
                               "f has the node n7, which is not in the cluster",
                               "g names the parent f, of which there is more than one: write it with its own "
                               "parent, as in a/b",
                               "there is more than one level named leaf", "level 2 needs a name",
                               "no level can be named node: that is the finest one, which is always there",
                               "the parents form a cycle: a -> b -> c -> a",
                               "the parents form a cycle: d -> d", "a domain needs a name",
                               "there is more than one domain f", "the node n1 is in f and in f",
                               "f has the node n2 more than once"});
  std::vector<problem_code> codes;
  for (const problem& p : made.problems()) codes.push_back(p.code);
  CHECK(codes == std::vector{problem_code::unknown_parent, problem_code::unknown_name,
                             problem_code::unknown_parent, problem_code::duplicate_name,
                             problem_code::empty_name, problem_code::duplicate_name, problem_code::cycle,
                             problem_code::cycle, problem_code::empty_name, problem_code::duplicate_name,
                             problem_code::more_than_one_parent, problem_code::duplicate_name});
}

TEST_CASE("topology_builder: a node in two racks, above the racks, or in none") {
  CHECK(texts(gpu::build_topology(
            nodes(2), {two_levels, {{"a", "", {}}, {"r1", "a", {"n0", "n1"}}, {"r2", "a", {"n0"}}}})) ==
        strings{"the node n0 is in a/r1 and in a/r2"});
  CHECK(texts(gpu::build_topology(nodes(1), {two_levels, {{"a", "", {"n0"}}}})) ==
        strings{"nodes are in a, which is a leaf: only a rack can have nodes"});
  const gpu::topology_spec partial{two_levels, {{"a", "", {}}, {"r1", "a", {"n1"}}}};
  const auto refused = gpu::build_topology(nodes(3), partial);
  CHECK(texts(refused) == strings{"the node n0 is in no rack", "the node n2 is in no rack"});
  CHECK(refused.problems()[0].code == problem_code::missing);
  const auto allowed = gpu::build_topology(nodes(3), partial, {.allow_outside = true});
  REQUIRE(allowed);
  CHECK(allowed.value().nodes_outside().size() == 2);
}

TEST_CASE("topology_builder: domains below the finest level are refused, in each line once") {
  CHECK(texts(gpu::build_topology(
            nodes(1), {two_levels, {{"a", "", {}}, {"b", "a", {}}, {"c", "b", {"n0"}}, {"d", "c", {}}}})) ==
        strings{"a/b/c is deeper than the 2 levels that there are"});
  CHECK(texts(gpu::build_topology(nodes(1), {{}, {{"a", "", {}}}})) ==
        strings{"a is deeper than the 0 levels that there are"});
  CHECK(gpu::build_topology(nodes(1), {{}, {}}));
}

TEST_CASE("topology_builder: labels, counted nodes, and nodes that lack one") {
  gpu::node_spec counted = labelled("c", {{"rack", "r2"}, {"leaf", "a"}});
  counted.count = 3;
  const std::vector<gpu::node_spec> specs{labelled("x", {{"leaf", "b"}, {"rack", "r2"}}), counted,
                                          labelled("y", {{"rack", "r1"}, {"zone", "z"}, {"leaf", "b"}})};
  const gpu::cluster c = gpu::build_cluster(specs).value();
  const auto made = gpu::topology_from_labels(c, two_levels);
  REQUIRE(made);
  const topology& t = made.value();
  CHECK(t.size() == 5);
  // In the order of first mention.
  CHECK(t.qualified_name(domain_id{0}) == "b");
  CHECK(t.qualified_name(domain_id{1}) == "a");
  CHECK(t.nodes(*t.find("a/r2")).size() == 3);
  CHECK(t.domain_of(*c.find("y")) == t.find("b/r1"));
  CHECK(texts(gpu::topology_from_labels(c, two_levels, {.unique_names = true})) ==
        strings{"r2 has more than one parent: it is b/r2 and a/r2"});
  // Without labels, everything is one row.
  CHECK(gpu::topology_from_labels(c, {}).value().nodes_outside().size() == 5);

  std::vector<gpu::node_spec> lacking = specs;
  lacking[1].labels = {{"leaf", "a"}};
  lacking[2].labels = {{"leaf", "b"}, {"rack", ""}};
  const gpu::cluster l = gpu::build_cluster(lacking).value();
  const auto refused = gpu::topology_from_labels(l, {"leaf", "rack", "row"});
  CHECK(texts(refused) == strings{"x has no label row", "c has no label rack", "c has no label row",
                                  "y has no label rack", "y has no label row"});
  CHECK(refused.problems()[1].field == "rack");
  const auto allowed = gpu::topology_from_labels(l, two_levels, {.allow_outside = true});
  REQUIRE(allowed);
  CHECK(allowed.value().nodes_outside().size() == 4);
  CHECK(allowed.value().size() == 2);
  CHECK(texts(gpu::topology_from_labels(l, {"leaf", "leaf"})) ==
        strings{"there is more than one level named leaf"});
}

TEST_CASE("topology_builder: the same topology by labels and by hand") {
  allot_test::for_each_seed(200, [](allot_test::random_source& random) {
    const allot_test::labelled_cluster c = allot_test::random_labelled_cluster(random);
    const auto by_labels = gpu::topology_from_labels(c.nodes, c.levels, {.allow_outside = true});
    REQUIRE(by_labels);
    const topology& t = by_labels.value();
    gpu::topology_spec spec{c.levels, {}};
    for (const domain_id d : t.domains()) {
      // Names are made unique, so that every domain can be named as a parent.
      domain_spec s{t.qualified_name(d), t.parent(d) ? t.qualified_name(t.parent(d)) : "", {}};
      std::replace(s.name.begin(), s.name.end(), '/', '.');
      std::replace(s.parent.begin(), s.parent.end(), '/', '.');
      if (t.children(d).empty()) {
        for (const node_id n : t.nodes(d)) s.nodes.push_back(c.nodes.name(n));
      }
      spec.domains.push_back(std::move(s));
    }
    const auto by_hand = gpu::build_topology(c.nodes, spec, {.allow_outside = true, .unique_names = true});
    REQUIRE(by_hand);
    const topology& h = by_hand.value();
    REQUIRE(h.size() == t.size());
    REQUIRE(std::equal(h.nodes().begin(), h.nodes().end(), t.nodes().begin(), t.nodes().end()));
    for (const domain_id d : t.domains()) {
      REQUIRE(h.parent(d) == t.parent(d));
      REQUIRE(h.nodes(d).size() == t.nodes(d).size());
    }
  });
}

TEST_CASE("topology_builder: the topology of the lingjun cluster loads") {
  const auto path = allot_test::find_trace("lingjun/topo.csv");
  if (!path) {
    MESSAGE("skipped: lingjun/topo.csv is not there");
    return;
  }
  std::ifstream in{*path};
  std::string line;
  REQUIRE(std::getline(in, line));
  REQUIRE(line == "ip,DSW,PSW,ASW");
  std::vector<gpu::node_spec> specs;
  std::map<std::string, std::size_t> hosts_of;
  while (std::getline(in, line)) {
    std::istringstream fields{line};
    strings f(4);
    for (std::string& field : f) REQUIRE(std::getline(fields, field, ','));
    specs.push_back(labelled(f[0], {{"DSW", f[1]}, {"PSW", f[2]}, {"ASW", f[3]}}));
    ++hosts_of[f[1] + "/" + f[2] + "/" + f[3]];
  }
  REQUIRE(specs.size() == 847);
  const gpu::cluster c = gpu::build_cluster(std::move(specs)).value();
  const auto made = gpu::topology_from_labels(c, {"DSW", "PSW", "ASW"});
  REQUIRE(made);
  const topology& t = made.value();
  CHECK(t.domains_of(0).size() == 1);
  CHECK(t.domains_of(1).size() == 3);
  // 48 names, which recur under each PSW: an S1 there is another switch, with at most eight hosts.
  std::set<std::string> names;
  for (const domain_id d : t.domains_of(2)) names.insert(t.name(d));
  CHECK(names.size() == 48);
  CHECK(t.domains_of(2).size() == 119);
  CHECK(hosts_of.size() == 119);
  CHECK_FALSE(gpu::topology_from_labels(c, {"DSW", "PSW", "ASW"}, {.unique_names = true}));
  CHECK(t.nodes(domain_id{0}).size() == 847);
  for (const domain_id d : t.domains_of(2)) CHECK(t.nodes(d).size() == hosts_of.at(t.qualified_name(d)));
}

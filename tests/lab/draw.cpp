// SPDX-License-Identifier: BSL-1.0
#include "lab/report/draw.hpp"

#include "lab/io/errors.hpp"
#include "lab/scenario/scenario.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace lab = allot::lab;

namespace {

lab::scenario read(const std::string& members) {
  lab::errors found;
  lab::scenario_source source;
  source.file = "somewhere/teams.json";
  auto s = lab::parse_scenario("{\"format\": \"allot-scenario/1\", " + members + "}", source, found);
  REQUIRE_MESSAGE(s, found.to_string());
  return std::move(*s);
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("draw: the tree of quotas with nominal, limits and weights") {
  const lab::scenario s = read(R"("quotas": [
    {"name": "root", "nominal": {"gpu": 16}, "inclusive": true},
    {"name": "a", "parent": "root", "nominal": {"gpu": 8}, "lend": {"gpu": 2}, "borrow": {"percent": 50}, "weight": 2.5},
    {"name": "b", "parent": "root", "nominal": {"gpu": 4}, "static": true, "priority": 3},
    {"name": "b1", "parent": "b", "lend": "none"}])");
  CHECK(lab::draw_quotas(s) ==
        R"dot(digraph G {
graph [label="quotas of teams.json", labelloc=t, rankdir=TB];
node [shape=box];
0 [label="root\ninclusive\ngpu: nominal 16"];
1 [label="a\ngpu: nominal 8, lends at most 2, borrows at most 4, weight 2.5"];
2 [label="b\nstatic, priority 3\ngpu: nominal 4, weight 1", style=dashed];
3 [label="b1\ngpu: nominal 0, lends nothing, borrows all, weight 1"];
0->1 ;
0->2 ;
2->3 ;
}
)dot");
}

TEST_CASE("draw: several resources, several roots, quotas of events are not there yet") {
  const std::string text = lab::draw_quotas(read(R"("resources": ["gpu", "cpu"],
    "quotas": [{"name": "x", "nominal": {"gpu": 1, "cpu": 2}}, {"name": "y", "nominal": "unlimited"}],
    "events": [{"at_s": 1, "add_quota": {"name": "late"}}])"));
  CHECK(has(text, R"("x\ngpu: nominal 1\ncpu: nominal 2")"));
  CHECK(has(text, R"("y\ngpu: nominal unlimited\ncpu: nominal unlimited")"));
  CHECK_FALSE(has(text, "late"));
  CHECK_FALSE(has(text, "->"));
}

TEST_CASE("draw: the topology, with the nodes in it") {
  const lab::scenario s = read(R"("cluster": {"topology": ["block", "rack"], "nodes": [
    {"name": "n", "count": 2, "gpus": 8, "gpu_model": "H100", "labels": {"block": "b1", "rack": "r1"}},
    {"name": "m", "gpus": 1, "pool": "train", "labels": {"block": "b1", "rack": "r2"}},
    {"name": "cut", "gpus": 1, "gpu_model": "A100-40GB", "mig": true,
     "labels": {"block": "b1", "rack": "r2"}}]})");
  CHECK(lab::draw_topology(s) ==
        R"dot(digraph G {
graph [label="topology of teams.json", labelloc=t, rankdir=LR];
node [shape=box];
0 [label="block b1\n4 nodes, 18 GPUs", style=rounded];
1 [label="rack r1\n2 nodes, 16 GPUs", style=rounded];
2 [label="rack r2\n2 nodes, 2 GPUs", style=rounded];
3 [label="n-0\n8 GPUs H100"];
4 [label="n-1\n8 GPUs H100"];
5 [label="m\n1 GPU, pool train"];
6 [label="cut\n1 GPU A100-40GB, in MIG mode"];
0->1 ;
0->2 ;
1->3 ;
1->4 ;
2->5 ;
2->6 ;
}
)dot");
}

TEST_CASE("draw: without levels the topology is the nodes") {
  const std::string text =
      lab::draw_topology(read(R"("cluster": {"nodes": [{"name": "n", "count": 2, "gpus": 8}]})"));
  CHECK(has(text, "0 [label=\"n-0\\n8 GPUs\"];\n1 [label=\"n-1\\n8 GPUs\"];\n}"));
}

TEST_CASE("draw: names mean nothing to GraphViz") {
  const std::string text = lab::draw_quotas(read(R"("quotas": [{"name": "say \"x\" \\N &lt;\n\u001b[2J"}])"));
  CHECK(has(text, R"([label="say \"x\" \\N &amp;lt;\\x0a\\x1b[2J\ngpu: nominal 0"])"));
  const std::string longer =
      lab::draw_quotas(read("\"quotas\": [{\"name\": \"" + std::string(4000, 'k') + "\"}]"));
  CHECK(longer.size() < 600);
  CHECK(has(longer, "more bytes"));
}

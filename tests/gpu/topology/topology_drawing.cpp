// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/topology/topology_drawing.hpp>

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using allot::gpus;
using gpu::gang_share;
using gpu::node_fill;
using gpu::node_id;
using gpu::topology;

namespace {

gpu::cluster three_nodes() {
  std::vector<gpu::node_spec> specs(3);
  for (std::size_t n = 0; n < specs.size(); ++n) {
    specs[n].name = "n" + std::to_string(n);
    specs[n].gpus = 8;
  }
  specs[2].name = "\"x\"\\";
  return gpu::build_cluster(std::move(specs)).value();
}

}  // namespace

TEST_CASE("topology_drawing: domains are boxes, nodes show how full they are and the gang's pods") {
  constexpr std::size_t none = topology::part::no_parent;
  const gpu::cluster c = three_nodes();
  const topology t{
      {"leaf", "rack"}, {{"L", none, {}}, {"r1", 0, {node_id{1}, node_id{0}}}, {"r\"2", 0, {}}}, 3};
  const auto fill = [](node_id n) {
    return node_fill{allot::quantity::milli(4500) * static_cast<std::int64_t>(n.index()), gpus(8)};
  };
  const std::vector<gang_share> gang{{node_id{0}, 0, 4}, {node_id{1}, 0, 1}};
  std::ostringstream out;
  write_graphviz(out, t, c, fill, gang);
  CHECK(out.str() == R"dot(digraph topology {
  compound=true;
  node [shape=box, style=filled];
  subgraph cluster_0 {
    label="leaf L";
    subgraph cluster_1 {
      label="rack r1";
      n0 [label="n0\n0 of 8\n4 pods", fillcolor=gray100, color=blue, penwidth=3];
      n1 [label="n1\n4.5 of 8\n1 pod", fillcolor=gray78, color=blue, penwidth=3];
    }
    subgraph cluster_2 {
      label="rack r\"2";
    }
  }
  n2 [label="\"x\"\\\n9 of 8", fillcolor=gray60];
}
)dot");
}

TEST_CASE("topology_drawing: several groups are told apart, also on one node") {
  const gpu::cluster c = three_nodes();
  const topology t{{}, {}, 3};
  const std::vector<gang_share> gang{{node_id{1}, 0, 2}, {node_id{1}, 3, 1}};
  std::ostringstream out;
  write_graphviz(
      out, t, c, [](node_id) { return node_fill{}; }, gang);
  CHECK(out.str().find("n1 [label=\"n1\\n0 of 0\\ngroup 0: 2 pods\\ngroup 3: 1 pod\", fillcolor=gray100") !=
        std::string::npos);
  std::ostringstream none;
  write_graphviz(none, t, c, [](node_id) { return node_fill{}; });
  CHECK(none.str().find("blue") == std::string::npos);
}

// SPDX-License-Identifier: BSL-1.0
#include "../src/topology.hpp"

#include "governor/src/places.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace allot_slurm;

namespace {

[[nodiscard]] allot::gpu::cluster four_nodes() {
  return allot::gpu::build_cluster({{.name = "n", .count = 4, .gpus = 8}}).value();
}
/// Two leaves below a spine; Slurm lists all nodes of a switch, and also those of another partition.
[[nodiscard]] std::vector<network_switch> two_leaves() {
  return {{"spine", 1, {"n-0", "n-1", "n-2", "n-3", "other"}, {"leaf1", "leaf2", "leaf3"}},
          {"leaf1", 0, {"n-0", "n-1"}, {}},
          {"leaf2", 0, {"n-2", "n-3"}, {}},
          {"leaf3", 0, {"other"}, {}}};
}

[[nodiscard]] std::set<std::size_t> nodes_of(const slurm_places& in, slurm_places::allocation a) {
  std::set<std::size_t> all;
  in.for_each_node(a, [&](std::size_t n) { CHECK(all.insert(n).second); });
  return all;
}

}  // namespace

TEST_CASE("topology: the switches of topology.conf") {
  const auto nodes = four_nodes();
  const auto t = topology_of(nodes, two_leaves());
  REQUIRE(t);
  CHECK(t->levels() == 2);
  CHECK(t->domains_of(0).size() == 1);
  CHECK(t->domains_of(1).size() == 2);
  CHECK(!topology_of(nodes, {}));
}

TEST_CASE("topology: a gang stays below a switch, its pods on different nodes") {
  auto nodes = four_nodes();
  slurm_places places{nodes, *topology_of(nodes, two_leaves())};
  allot::gpu::pod_request whole;
  whole.gpus = allot::gpus(8);
  // The first node is taken.
  REQUIRE(places.place(whole));
  allot::gpu::pod_request gang;
  gang.pods = 2;
  gang.gpus = allot::gpus(2);
  gang.required_level = 1;
  CHECK(places.must_spread(gang));
  const auto first = places.place(gang);
  REQUIRE(first);
  CHECK(nodes_of(places, *first) == std::set<std::size_t>{2, 3});
  gang.pods = 3;
  CHECK(!places.place(gang));
  CHECK(!places.could_ever_fit(gang));
  gang.required_level = allot::gpu::any_level;
  const auto anywhere = places.place(gang);
  REQUIRE(anywhere);
  CHECK(nodes_of(places, *anywhere) == std::set<std::size_t>{1, 2, 3});
  gang.pods = 5;
  CHECK(!places.could_ever_fit(gang));
  CHECK(places.why_not(gang).is_never());
}

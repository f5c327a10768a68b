// SPDX-License-Identifier: BSL-1.0
#include "../src/machines.hpp"

#include "governor/src/where.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace allot_slurm;

namespace {

[[nodiscard]] engine_setup four_nodes(const std::vector<network_switch>& switches) {
  std::vector<node> nodes(4);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    nodes[n].name = "n-" + std::to_string(n);
    nodes[n].gpus = 8;
  }
  machines known = machines_of(nodes, switches);
  return {.quotas = {.policy = allot::lab::named_policy{allot::any_preset{allot::standard{}}}},
          .places_jobs = true,
          .one_pod_a_machine = true,
          .machines = std::move(known.all),
          .levels = std::move(known.levels)};
}
/// Two leaves below a spine; Slurm lists all nodes of a switch, and also those of another partition.
[[nodiscard]] std::vector<network_switch> two_leaves() {
  return {{"spine", 1, {"n-0", "n-1", "n-2", "n-3", "other"}, {"leaf1", "leaf2", "leaf3"}},
          {"leaf1", 0, {"n-0", "n-1"}, {}},
          {"leaf2", 0, {"n-2", "n-3"}, {}},
          {"leaf3", 0, {"other"}, {}}};
}

[[nodiscard]] std::set<std::size_t> nodes_of(const host_places& in, host_places::allocation a) {
  std::set<std::size_t> all;
  in.for_each_node(a, [&](std::size_t n) { CHECK(all.insert(n).second); });
  return all;
}

}  // namespace

TEST_CASE("topology: the switches of topology.conf") {
  const engine_setup all = four_nodes(two_leaves());
  CHECK(all.levels == std::vector<std::string>{"switch1", "switch"});
  CHECK(all.machines[1].domains == std::vector<std::string>{"spine", "leaf1"});
  CHECK(all.machines[2].domains == std::vector<std::string>{"spine", "leaf2"});
  CHECK(four_nodes({}).levels.empty());
  // What is no tree of equal depth above all nodes is none.
  auto uneven = two_leaves();
  uneven.front().switches = {"leaf1"};
  CHECK(four_nodes(uneven).levels.empty());
  CHECK(four_nodes(uneven).machines.front().domains.empty());
  auto crossed = two_leaves();
  crossed[1].nodes.push_back("n-2");
  CHECK(four_nodes(crossed).levels.empty());
}

TEST_CASE("topology: a gang stays below a switch, its pods on different nodes") {
  host_places places = places_of(four_nodes(two_leaves())).value();
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

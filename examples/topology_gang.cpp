// SPDX-License-Identifier: BSL-1.0
//
// A gang of 64 GPUs must run in one leaf of the network. It gets the fullest leaf with enough room, and the
// resulting cluster is drawn for GraphViz. It says what the best leaf lacks for a gang that fits in none. If
// it only prefers a leaf, it gets the fewest leaves that hold it.
#include <allot/core/text.hpp>
#include <allot/gpu/topology/topology_builder.hpp>
#include <allot/gpu/topology/topology_drawing.hpp>
#include <allot/gpu/topology/topology_gang.hpp>
#include <allot/gpu/topology_inventory.hpp>

#include <fmt/core.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace gpu = allot::gpu;
using gpu::node_id;

/// Leaves a and b are below one spine, c and d below another. Each has five nodes of 16 GPUs.
gpu::cluster make_cluster() {
  std::vector<gpu::node_spec> specs;
  for (const char leaf : {'a', 'b', 'c', 'd'}) {
    gpu::node_spec s;
    s.name = std::string{leaf};
    s.count = 5;
    s.gpus = 16;
    s.labels = {{"spine", leaf < 'c' ? "spine-1" : "spine-2"}, {"leaf", std::string{"leaf-"} + leaf}};
    specs.push_back(std::move(s));
  }
  return gpu::build_cluster(std::move(specs)).value();
}

class machines {
 public:
  /// Marks GPUs of a node as in use.
  void occupy(const std::string& node, std::int64_t gpus) {
    const gpu::pod_location where{nodes_.find(node).value()};
    if (!inventory_.place_at({.gpus = allot::gpus(gpus)}, {&where, 1})) fmt::print("{} is full\n", node);
  }

  /// Places pods of eight GPUs each, all or none, and says where. The result is valid until the next call.
  gpu::gang_place place(const std::string& name, std::uint32_t pods, std::optional<std::size_t> required,
                        std::optional<std::size_t> preferred) {
    const gpu::node_rooms rooms{
        topology_, [&](node_id n) { return std::popcount(inventory_.index().free_devices(n)) / 8; }};
    const gpu::gang_group group{.pods = pods, .min_pods = pods};
    const gpu::gang_place found = planner_.plan(rooms, {{&group, 1}, required, preferred});
    if (!found.found) {
      fmt::print("{}: {}\n", name, explain(topology_, nodes_, found.why));
      return found;
    }
    fmt::print("{}: {} pods in {}\n", name, found.pods,
               found.domain ? topology_.qualified_name(found.domain) : "several spines");
    std::vector<gpu::pod_location> where;
    for (const gpu::gang_share& s : found.shares) {
      fmt::print("  {} on {}\n", s.pods, nodes_.name(s.node));
      where.insert(where.end(), s.pods, gpu::pod_location{s.node});
    }
    if (!inventory_.place_at({.gpus = allot::gpus(8), .pods = pods}, where))
      fmt::print("  no room after all\n");
    return found;
  }

  [[nodiscard]] std::string draw(const gpu::gang_place& gang) const {
    std::ostringstream out;
    write_graphviz(
        out, topology_, nodes_,
        [&](node_id n) {
          return gpu::node_fill{inventory_.index().used(n), allot::gpus(nodes_.gpus(n))};
        },
        gang.shares);
    return out.str();
  }
  [[nodiscard]] std::optional<std::size_t> level(const char* name) const {
    return topology_.find_level(name);
  }

 private:
  gpu::cluster nodes_ = make_cluster();
  gpu::topology topology_ = gpu::topology_from_labels(nodes_, {"spine", "leaf"}).value();
  gpu::topology_inventory inventory_{nodes_};
  gpu::gang_planner planner_{topology_};
};

}  // namespace

int main() {
  machines cluster;
  cluster.occupy("a-0", 16);
  cluster.occupy("a-1", 3);
  cluster.occupy("b-0", 8);
  cluster.occupy("b-1", 4);
  cluster.occupy("d-4", 1);
  const auto leaf = cluster.level("leaf");

  const gpu::gang_place gang = cluster.place("pretrain", 8, leaf, {});
  fmt::print("\n{}\n", cluster.draw(gang));

  cluster.place("wider", 11, leaf, {});
  cluster.place("wider", 11, {}, leaf);
}

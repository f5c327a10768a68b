// SPDX-License-Identifier: BSL-1.0
// Nodes that would have to be added to admit a job.
#include "lab/decide/explain_remedies.hpp"
#include "lab/scenario/scenario_reader.hpp"

#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/topology/topology_builder.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// How many pods, at most `most`, fit on an empty node, whatever the names of its pool and model.
[[nodiscard]] std::uint64_t room_on(gpu::node_spec node, gpu::pod_shape pod, std::uint64_t most) {
  node.count.reset();
  pod.pools = gpu::all_pools;
  pod.models = gpu::all_models;
  const auto made = gpu::build_cluster({std::move(node)});
  if (!made) return 0;
  const gpu::free_index empty{made.value()};
  const auto here = empty.layout().types().front().shape_on(pod);
  return here ? std::min(most, empty.pods_with_room(gpu::node_id{0}, *here, most)) : 0;
}

}  // namespace

std::string remedy_finder::add_nodes(scenario& to) const {
  if (!to.cluster) return {};
  const gpu::unplaceable why = now_.scheduler().places().why_not(demand_);
  const auto pods = gpu::split(pods_without_room(why, demand_), *to.cluster);
  if (!pods) return {};
  vector<gpu::node_spec> specs;
  std::optional<gpu::node_spec> alike;
  for (std::size_t i = 0; i < to.cluster->size(); ++i) {
    const gpu::node_id node{i};
    const auto& of_node = to.cluster->position_of(node);
    if (of_node.spec >= specs.size()) specs.push_back(to.cluster->spec(node));
    const gpu::node_type& type = to.cluster->type_of(node);
    const bool suits = type.shape_on(pods->each) && (!pods->has_rest() || type.shape_on(pods->rest));
    const bool is_near = !why.best_domain || to.nearness->domain_of(node, why.level) == why.best_domain;
    if (suits && is_near && !alike) alike = to.cluster->spec(node);
  }
  if (!alike) return {};
  const std::uint64_t missing = why.pods - std::min(why.pods, why.pods_with_room);
  const std::uint64_t per_node = std::max<std::uint64_t>(1, room_on(*alike, pods->each, missing));
  const std::uint64_t nodes = std::max<std::uint64_t>(1, (missing + per_node - 1) / per_node);
  alike->name = "(another)";
  alike->count = static_cast<std::int64_t>(nodes);
  specs.push_back(*alike);
  auto made = gpu::build_cluster(std::move(specs));
  if (!made) return {};
  const std::string near = why.best_domain ? fmt::format(" in {} {}", to.nearness->level_name(why.level),
                                                         to.nearness->qualified_name(why.best_domain))
                                           : "";
  // Where the policy knows it as the nodes' (KAI).
  for (std::size_t i = 0; i < to.resources.size(); ++i) {
    if (plain_name(to.resources[i]) != "gpu" || to.capacity[i].is_unlimited()) continue;
    const std::string_view flavor = flavor_of(to.resources[i]);
    const std::uint64_t pools = flavor.empty() ? gpu::all_pools : pools_of_flavor(to, flavor);
    to.capacity[i] += made.value().gpus_in(pools) - to.cluster->gpus_in(pools);
  }
  to.cluster = std::move(made).value();
  if (to.nearness) to.nearness = gpu::topology_from_labels(*to.cluster, to.levels).value();
  return fmt::format("there {} {} more node{} of {} GPUs{}", nodes == 1 ? "was" : "were", nodes,
                     nodes == 1 ? "" : "s", alike->gpus, near);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

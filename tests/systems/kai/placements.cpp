// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/kai/placements.hpp>

#include <allot/gpu/inventory.hpp>
#include <allot/sim/places.hpp>

// The reference inventory has everything that runai can use; runai requires none of it from a placement.
static_assert(allot::node_aware_placement<allot::gpu::inventory>);
static_assert(allot::podded_request<allot::gpu::pod_request> &&
              allot::pooled_request<allot::gpu::pod_request>);
// The places of a simulation are not it themselves, but have such an inventory.
static_assert(!allot::node_aware_placement<allot::sim::places> &&
              allot::node_aware_placement<allot::sim::places::inventory_type> &&
              allot::optional_nodes_placement<allot::sim::places>);
static_assert(!allot::node_aware_placement<allot::no_placement> &&
              !allot::optional_nodes_placement<allot::no_placement>);
static_assert(!allot::podded_request<int> && !allot::pooled_request<int> &&
              !allot::podded_request<const allot::gpu::pod_request>);

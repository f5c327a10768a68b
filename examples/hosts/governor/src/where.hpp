// SPDX-License-Identifier: BSL-1.0
//
// A host's machines as allot's nodes, and where jobs run that the scheduler did not place.
#pragma once

#include "governor/src/engine.hpp"
#include "governor/src/places.hpp"

#include <allot/core/quantity.hpp>
#include <allot/core/result.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/lab/quotas_file.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace allot_governor {

/// The machines with the placement that the file names. Or what is wrong with them.
[[nodiscard]] allot::result<host_places> places_of(const engine_setup& setup);
/// What the machines have of a resource; unlimited if there are none.
[[nodiscard]] allot::quantity total_of(std::string_view resource, const engine_setup& setup);

/// How a place is taken at a scheduler: its `take_place`.
using place_taker = std::function<std::optional<allot::gpu::allocation_id>(
    const allot::gpu::pod_request&, std::span<const allot::gpu::pod_location>)>;
/// Where a job runs is a fact: it gets its place even if the books say that there is no room, then without
/// what does not fit. None without nodes. `nodes` are those of `places`.
[[nodiscard]] allot::gpu::allocation_id take(const host_places& places, host_places::host_nodes nodes,
                                             const place_taker& take_place,
                                             const std::vector<node_share>& where,
                                             const allot::gpu::pod_request& pods);
/// A place by names, in their order, or `by_pod`, in the order of its pods; none without nodes.
[[nodiscard]] std::vector<node_share> shares_of(const host_places& places, allot::gpu::allocation_id a,
                                                bool by_pod = false);

}  // namespace allot_governor

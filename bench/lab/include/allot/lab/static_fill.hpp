// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/result.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/typical_pods.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/lab/openb_csv.hpp>

#include <cstdint>
#include <functional>
#include <optional>

namespace allot {
inline namespace v0 {
namespace lab {

// A static fill: pods arrive one after another and stay, until they request more than the cluster has. How
// much of it they get measures a placement policy. The experiment of "Beware of Fragmentation" (Weng et al.,
// ATC 2023), as in its simulator.

/// A cluster of these machines, in an order determined by the seed: policies break ties by the lowest node,
/// and the published figures do so in a random order of the nodes that is fixed for a run. Or the problems,
/// as reported by `gpu::build_cluster`; reading the machines has checked everything but sizes.
[[nodiscard]] result<gpu::cluster> openb_cluster(const vector<openb_node>& nodes, std::uint64_t seed);

/// What the pods request of that cluster, in the order of their names. A pod that accepts none of the
/// cluster's models can't be placed.
[[nodiscard]] vector<gpu::pod_shape> openb_shapes(const vector<openb_pod>& pods, const gpu::cluster& layout);

/// The workload by which fragmentation is measured: each pod as often as it occurs, the most frequent 95
/// percent.
[[nodiscard]] gpu::typical_pods typical_of(const vector<gpu::pod_shape>& pods);

struct fill_options {
  /// The GPUs that arriving pods request, in thousandths of those of the cluster.
  std::int64_t arrivals_milli = 1300;
  std::uint64_t seed = 1;
};

/// The order of arrivals: all pods in a random order, then random ones again and again while the GPUs
/// requested, with one device of the next, stay within `arrivals_milli`. If all of them request more than
/// that, pods are left out at random. O(arrivals), more if many are left out.
[[nodiscard]] vector<std::uint32_t> fill_arrivals(const vector<gpu::pod_shape>& pods, quantity gpus,
                                                  const fill_options& options);

/// The state when about this many percent of the cluster's GPUs had been requested.
struct fill_row {
  std::int64_t arrived_pct = 0;
  /// GPUs that are used, and that are fragments (see `gpu::fragmentation`), in hundredths of a percent of
  /// all.
  std::int64_t allocated = 0;
  std::int64_t fragmented = 0;

  friend bool operator==(const fill_row&, const fill_row&) = default;
};

/// Any `gpu::placement_policy`.
using placement_choice =
    std::function<std::optional<gpu::pod_location>(const gpu::free_index& from, const gpu::pod_shape& pod)>;

/// Places the pods in the order of `arrivals` (indexes into `pods`), each where the policy says; one that
/// does not fit is skipped, but has arrived. A row for each percent from 0 to `last_pct`. Precondition: the
/// cluster has GPUs.
[[nodiscard]] vector<fill_row> static_fill(const gpu::cluster& layout, const vector<gpu::pod_shape>& pods,
                                           const vector<std::uint32_t>& arrivals,
                                           const gpu::typical_pods& typical, const placement_choice& choose,
                                           std::int64_t last_pct);

}  // namespace lab
}  // namespace v0
}  // namespace allot

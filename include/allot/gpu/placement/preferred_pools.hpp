// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/best_fit.hpp>
#include <allot/gpu/placement/indexed_best_fit.hpp>
#include <allot/gpu/pod_request.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Places each pod by another policy, on nodes of the first of these that has room: the pools that its owner
/// prefers; those that no owner prefers; all that it accepts. So what a quota owns stays in one piece for it,
/// and its own jobs leave last what others would need: without that a quota can have as many GPUs free as it
/// owns, and its jobs wait since they are scattered (the sharing anomaly that HiveD's cells are against; Zhao
/// et al., OSDI '20). It guarantees nothing: others are in a preferred pool if there is room nowhere else.
///
/// Nothing if and only if the other policy finds nothing. At most three of its choices for each pod; a copy
/// copies the table.
template <placement_policy Policy = indexed_best_fit>
class preferred_pools {
 public:
  preferred_pools() = default;
  /// By owner (`pod_request::owner`), a set of pools; empty: none. Owners beyond have none.
  explicit preferred_pools(vector<std::uint64_t> by_owner, Policy in_them = {})
      : by_owner_(std::move(by_owner)), in_them_(std::move(in_them)) {
    for (const std::uint64_t pools : by_owner_) of_nobody_ &= ~pools;
  }

  /// Whether the other policy does.
  [[nodiscard]] bool uses_ends() const noexcept { return uses_expected_ends(in_them_); }
  /// Whether the other policy does: see `gpu::finds_all_room`.
  [[nodiscard]] bool finds_all_room() const noexcept { return gpu::finds_all_room(in_them_); }

  [[nodiscard]] std::optional<pod_location> operator()(const free_index& from, const pod_shape& pod) const {
    const std::uint64_t own = pod.owner < by_owner_.size() ? by_owner_[pod.owner] : 0;
    pod_shape in = pod;
    for (const std::uint64_t pools : {own, of_nobody_}) {
      in.pools = pod.pools & pools;
      if (in.pools == 0) continue;
      if (const auto at = in_them_(from, in)) return at;
    }
    return in_them_(from, pod);
  }

 private:
  vector<std::uint64_t> by_owner_;
  std::uint64_t of_nobody_ = all_pools;
  Policy in_them_;
};

static_assert(placement_policy<preferred_pools<>>);

}  // namespace gpu
}  // namespace v0
}  // namespace allot

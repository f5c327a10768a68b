// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/gpu/detail/occupancy.hpp>
#include <allot/gpu/pod_request.hpp>

namespace allot {
inline namespace v0 {
namespace gpu {

/// What a host may change in an inventory that a scheduler places its jobs in: nodes, and when jobs end, but
/// no places. It refers to the inventory.
class host_nodes {
 public:
  explicit host_nodes(occupancy& of) noexcept : of_(&of) {}

  /// @{
  /// Those of the inventory: see `occupancy`.
  bool close(node_id n) { return of_->close(n); }
  bool reopen(node_id n) { return of_->reopen(n); }
  bool expect_end(allocation_id a, instant end) { return of_->expect_end(a, end); }
  void expect_outages(vector<outage> all) { of_->expect_outages(std::move(all)); }
  /// @}

 private:
  occupancy* of_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/surplus.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace allot {
inline namespace v0 {

/// No division: the surplus is first come, first served (HyperPod's other mode). A claimant that uses some of
/// it came before those that wait. So each first keeps what it uses; then, in the same order, each gets what
/// it waits for. The order is by `claimant::since`, then as listed (older quotas first).
///
/// All surplus that is wanted is granted, and a larger surplus never reduces a grant. The result depends on
/// usage, so the host must redivide when usage changes (`division::change_demand` does so for the path of a
/// quota). O(n log n); buffers are reused.
class first_come {
 public:
  void operator()(quantity surplus, std::span<claimant> claimants) {
    order_.resize(claimants.size());
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
    detail::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return claimants[a].since != claimants[b].since ? claimants[a].since < claimants[b].since : a < b;
    });
    const auto raise_to = [&](claimant& c, quantity most) {
      const quantity more = std::clamp(most - c.granted, quantity{}, surplus);
      c.granted += more;
      surplus -= more;
    };
    for (const std::size_t i : order_)
      raise_to(claimants[i], std::min(claimants[i].used, claimants[i].wants));
    for (const std::size_t i : order_) raise_to(claimants[i], claimants[i].wants);
  }

 private:
  vector<std::size_t> order_;
};

}  // namespace v0
}  // namespace allot

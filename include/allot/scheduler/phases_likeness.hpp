// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/resources.hpp>
#include <allot/scheduler/phases_world.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace allot {
inline namespace v0 {
namespace detail {

/// The units that failed in a phase, one for each kind: same priority, and the same places would do. Another
/// of the kind is *easier* when fewer pods of its job wait, or its pods ask for less; others are not tried
/// (KAI's scheduling signatures and representatives, v0.13).
template <class Bench>
class failed_units {
 public:
  static constexpr std::size_t n = Bench::n;
  using record = typename Bench::record;

  void clear() noexcept { kinds_.clear(); }
  /// Whether the unit is worth trying. O(kinds).
  [[nodiscard]] bool is_easier(Bench& bench, const record& r) const {
    const kind k = kind_of(bench, r);
    for (const kind& failed : kinds_) {
      if (!failed.is_like(k)) continue;
      return failed.pods > k.pods || (all_at_most(k.pod, failed.pod) && k.pod != failed.pod);
    }
    return true;
  }
  /// The unit has failed.
  void add(Bench& bench, const record& r) {
    const kind k = kind_of(bench, r);
    for (kind& failed : kinds_) {
      if (!failed.is_like(k)) continue;
      if (k.pods <= failed.pods && all_at_most(k.pod, failed.pod)) failed = k;
      return;
    }
    kinds_.push_back(k);
  }

 private:
  struct kind {
    std::int32_t priority = 0;
    lane in = lane::any;
    std::uint64_t pools = 0;
    std::uint32_t pods = 1;
    resources<n> pod{};

    [[nodiscard]] bool is_like(const kind& other) const {
      return priority == other.priority && in == other.in && pools == other.pools;
    }
  };

  [[nodiscard]] static kind kind_of(Bench& bench, const record& r) {
    using world = phases_world<Bench>;
    kind k{r.facts.priority, r.facts.in, 0, world::pods_of(r), world::request_of(r, 1)};
    k.pods += r.facts.surplus ? bench.at(r.facts.core).pods_to_come : r.pods_to_come;
    if constexpr (requires { r.demand.pools; }) k.pools = r.demand.pools;
    return k;
  }

  std::vector<kind> kinds_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

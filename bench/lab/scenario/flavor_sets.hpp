// SPDX-License-Identifier: BSL-1.0
// The choices of flavors of many jobs, as a scheduler's view shows them.
#pragma once

#include "lab/scenario/scenario.hpp"

#include <allot/core/vector.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/sim/job.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// Collects the choices of flavors without duplicates.
template <std::size_t N>
class flavor_sets {
 public:
  /// Adds to these.
  explicit flavor_sets(vector<sim::flavor_set<N>>& all) : all_(all) {}

  /// The number of a choice, as in `sim::job::flavors`.
  [[nodiscard]] std::uint32_t number(const vector<flavor_group>& groups) {
    if (groups.empty()) return 0;
    sim::flavor_set<N> set;
    const std::size_t placed = placed_group(groups);
    set.placed_group = placed == groups.size() ? 0 : placed;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      vector<resources<N>> options;
      for (const flavor_group::option& o : groups[g].options) {
        options.push_back(narrow<N>(o.request));
        if (g == placed) set.pools.push_back(o.pools);
      }
      set.menu.add_group(options);
    }
    auto key = std::tuple{set.menu, set.placed_group, set.pools};
    const auto next = static_cast<std::uint32_t>(all_.size() + 1);
    const auto [at, is_new] = numbers_.try_emplace(std::move(key), next);
    if (is_new) all_.push_back(std::move(set));
    return at->second;
  }

 private:
  /// The group that decides where pods run: that with the GPUs; if there is none, the first whose flavors
  /// nodes have.
  [[nodiscard]] static std::size_t placed_group(const vector<flavor_group>& groups) {
    std::size_t first = groups.size();
    for (std::size_t g = groups.size(); g-- > 0;) {
      const auto& names = groups[g].resources;
      if (std::find(names.begin(), names.end(), "gpu") != names.end()) return g;
      const auto& options = groups[g].options;
      const auto restricts = [](const flavor_group::option& o) { return o.pools != gpu::all_pools; };
      if (std::any_of(options.begin(), options.end(), restricts)) first = g;
    }
    return first;
  }

  vector<sim::flavor_set<N>>& all_;
  std::map<std::tuple<flavor_menu<N>, std::size_t, vector<std::uint64_t>>, std::uint32_t> numbers_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

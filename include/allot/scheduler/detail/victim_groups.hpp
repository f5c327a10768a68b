// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/possible_victims.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace detail {

/// Group numbers for the running jobs that may be preempted: jobs of one quota and one priority share a
/// group. A quota with many priorities still has few groups, each of which then covers a range of them, so
/// there are never more than `most_of_quota` times the quotas.
class victim_groups {
 public:
  static constexpr std::size_t most_of_quota = 8;

  void resize(std::size_t slots) { of_quota_.resize(slots); }

  /// Adds a job; returns its group. O(groups of the quota); allocates if the group is new.
  std::uint32_t add(quota_id x, std::int64_t priority) {
    auto& groups = of_quota_[x.index()];
    auto at = place_of(groups, priority);
    if ((at == groups.end() || at->lowest != priority) && groups.size() < most_of_quota) {
      // No job changes its group: while numbers are left, each group has only one priority.
      at = groups.insert(at == groups.end() ? groups.begin() : at + 1, group{priority, count_++, 0});
    } else if (at == groups.end()) {
      at = groups.begin();
      at->lowest = priority;
    }
    ++at->jobs;
    return at->number;
  }
  /// Removes a job; returns its group. Precondition: it was added.
  std::uint32_t remove(quota_id x, std::int64_t priority) {
    auto& groups = of_quota_[x.index()];
    const auto at = place_of(groups, priority);
    ALLOT_ASSERT(at != groups.end() && at->jobs > 0, "no such job was added");
    --at->jobs;
    return at->number;
  }
  /// Calls `visit(group)` for each group with such jobs, perhaps with others too. O(groups of the quota).
  template <class Visit>
  void for_each(const possible_victims& these, Visit visit) const {
    for (const group& g : of_quota_[these.quota.index()]) {
      if (g.lowest > these.highest_priority) return;
      if (g.jobs > 0) visit(g.number);
    }
  }

 private:
  struct group {
    std::int64_t lowest;
    std::uint32_t number;
    std::size_t jobs;
  };
  using list = vector<group>;  // by priority, lowest first

  /// The last group whose lowest priority is at most `priority`; the end if there is none.
  [[nodiscard]] static list::iterator place_of(list& groups, std::int64_t priority) {
    const auto next =
        detail::find_if(groups.begin(), groups.end(), [&](const group& g) { return g.lowest > priority; });
    return next == groups.begin() ? groups.end() : next - 1;
  }

  vector<list> of_quota_;
  std::uint32_t count_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

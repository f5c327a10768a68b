// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/guard.hpp>
#include <allot/quota/shortfall.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/view.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {

/// Why `submit` does not take a job. Such a job could not be admitted whatever happened.
enum class refusal : std::uint8_t {
  none,
  unknown_quota,
  /// A negative amount, or one that does not fit the arithmetic.
  invalid_request,
  /// No state of the cluster has a place for it.
  larger_than_cluster,
};

/// Why a job waits.
enum class hold_reason : std::uint8_t {
  /// Its quota does not allow it: see `binding`.
  quota,
  /// Its quota allows it but it has no place: see `placement`.
  placement,
  /// It stands behind the first job of a strict queue.
  behind_head,
  /// The search for victims reached its budget before it proved that there are none.
  not_proven,
  /// It is reserved: it starts when those who were told to go have gone.
  evictions,
};

/// What one cycle decides. Lists are in the order of the decisions.
template <job_view View, placement Placement>
struct plan {
  static constexpr std::size_t n = dimensions<View>;
  using job = typename View::job;
  using place = typename Placement::allocation;
  using unplaceable =
      decltype(std::declval<const Placement&>().why_not(std::declval<const typename Placement::demand&>()));

  /// Start it: it has its share and its place.
  struct admission {
    job_id id;
    job what{};
    quota_id quota;
    place where{};
    /// What of it its quota does not own itself. From whom, `loans` says.
    resources<n> borrows{};
    /// Which of its flavors it got.
    flavor_pick pick{};
    std::uint32_t pods = 1;
    /// An elastic job grows by these pods: the id is that of the surplus, this the job's own.
    job_id core{};
  };
  /// Tell it to go, and report `evicted` when it has gone. With an elastic job all its surplus goes.
  struct eviction {
    job_id id;
    job what{};
    quota_id quota;
    /// For whom; in the same plan, under `reservations`. None: for a reason of its own, `how` says which.
    job_id beneficiary;
    relation how{};
    std::uint32_t pods = 1;
    /// An elastic job shrinks by these pods: the id is that of the surplus, this the job's own.
    job_id core{};
    /// The rule by which it is fair, and the shares that it compared, if it needed one.
    verdict why{};
  };
  /// It will be admitted when those who were told to go have gone. Until then nobody else gets its share.
  struct reservation {
    job_id id;
    job what{};
    quota_id quota;
    /// Its own victims: `count` evictions of this plan from `first` on. Without any it waits for the victims
    /// of others.
    std::size_t first = 0;
    std::size_t count = 0;
  };
  /// It waits. Listed are the jobs that were tried, and the first one of each quota whose queue or usage has
  /// changed since the last plan.
  struct hold {
    job_id id;
    job what{};
    quota_id quota;
    hold_reason reason{};
    /// Which quota's bound stops it and how much is missing there; `for_each_shortfall` lists all.
    std::optional<shortfall> binding{};
    std::optional<unplaceable> placement{};
  };

  std::vector<admission> admissions;
  std::vector<eviction> evictions;
  std::vector<reservation> reservations;
  std::vector<hold> holds;

  /// Whether nothing was decided; holds are news, not decisions.
  [[nodiscard]] bool empty() const noexcept {
    return admissions.empty() && evictions.empty() && reservations.empty();
  }
  void clear() noexcept {
    admissions.clear();
    evictions.clear();
    reservations.clear();
    holds.clear();
  }
};

}  // namespace v0
}  // namespace allot

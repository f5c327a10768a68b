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
#include <string_view>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {

/// Why a call of the host is not carried out. It has then changed nothing.
enum class refusal : std::uint8_t {
  /// It is carried out.
  none,
  unknown_quota,
  /// A negative amount, one that does not fit the arithmetic, fewer pods than the job needs, or a job that
  /// needs none. Such a job could not be admitted whatever happened.
  invalid_request,
  /// No state of the cluster has a place for it. Nor could such a job ever be admitted.
  larger_than_cluster,
  /// The id is that of no job, or of one that has gone.
  unknown_job,
  /// The job is not where this can happen to it: see the call.
  wrong_state,
  /// The job does not accept these flavors.
  unknown_flavors,
  /// The placement has not given that place, or has taken it back.
  unknown_place,
  /// The elastic job runs with as many pods as it may have.
  has_all_pods,
};

/// The name of the enumerator.
[[nodiscard]] constexpr std::string_view to_string(refusal why) noexcept {
  switch (why) {
    case refusal::none:
      break;
    case refusal::unknown_quota:
      return "unknown_quota";
    case refusal::invalid_request:
      return "invalid_request";
    case refusal::larger_than_cluster:
      return "larger_than_cluster";
    case refusal::unknown_job:
      return "unknown_job";
    case refusal::wrong_state:
      return "wrong_state";
    case refusal::unknown_flavors:
      return "unknown_flavors";
    case refusal::unknown_place:
      return "unknown_place";
    case refusal::has_all_pods:
      return "has_all_pods";
  }
  return "none";
}

/// The id of a job that was taken, or why it was not.
struct [[nodiscard]] submission {
  job_id id{};
  refusal why_not = refusal::none;

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return why_not == refusal::none; }
  /// None when the job was refused.
  [[nodiscard]] constexpr operator job_id() const noexcept { return id; }
};

/// Why a job waits.
enum class pending_reason : std::uint8_t {
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
  /// It does not wait: it runs, or is no job of this scheduler. Never in a plan.
  not_waiting,
};

/// What one cycle decides. Lists are in the order of the decisions.
template <job_view View, placement Placement>
struct plan {
  static constexpr std::size_t n = dimensions<View>;
  using job = typename View::job;
  using place = typename Placement::allocation;
  using unplaceable = decltype(std::declval<const Placement&>().why_not(
      std::declval<const typename Placement::pod_request&>()));

  /// Start it: it has its share and its place.
  struct admission {
    job_id id{};
    job what{};
    quota_id quota{};
    place where{};
    /// What of it its quota does not own itself. From whom, `loans` says.
    resources<n> borrows{};
    /// Which of its flavors it got.
    flavor_pick pick{};
    std::uint32_t pods = 1;
    /// An elastic job grows by these pods: the id is that of the elastic pod, this the job's own.
    job_id core{};
  };
  /// Tell it to go, and report `evicted` when it has gone. With an elastic job all its elastic pods go.
  struct eviction {
    job_id id{};
    job what{};
    quota_id quota{};
    /// For whom; in the same plan, under `reservations` (or `admissions`, when it can start before this one
    /// has gone after all). None: for a reason of its own, `how` says which.
    job_id beneficiary{};
    relation how{};
    std::uint32_t pods = 1;
    /// An elastic job shrinks by these pods: the id is that of the elastic pod, this the job's own.
    job_id core{};
    /// The rule by which it is fair, and the shares that it compared, if it needed one.
    verdict why{};
  };
  /// It will be admitted when those who were told to go have gone. Until then nobody else gets its share.
  struct reservation {
    job_id id{};
    job what{};
    quota_id quota{};
    /// Its own victims: `count` evictions of this plan from `first` on. Without any it waits for the victims
    /// of others.
    std::size_t first = 0;
    std::size_t count = 0;
  };
  /// It waits. Listed are the jobs that were tried, and the first one of each quota whose queue or usage has
  /// changed since the last plan.
  struct pending_job {
    job_id id{};
    job what{};
    quota_id quota{};
    pending_reason reason{};
    /// Which quota's bound stops it and how much is missing there; `for_each_shortfall` lists all.
    std::optional<shortfall> binding{};
    std::optional<unplaceable> placement{};
  };

  std::vector<admission> admissions;
  std::vector<eviction> evictions;
  std::vector<reservation> reservations;
  std::vector<pending_job> pending;

  /// Whether nothing was decided; pending jobs are news, not decisions.
  [[nodiscard]] bool empty() const noexcept {
    return admissions.empty() && evictions.empty() && reservations.empty();
  }
  void clear() noexcept {
    admissions.clear();
    evictions.clear();
    reservations.clear();
    pending.clear();
  }
};

}  // namespace v0
}  // namespace allot

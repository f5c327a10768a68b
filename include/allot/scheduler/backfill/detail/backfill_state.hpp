// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/backfill/availability.hpp>
#include <allot/scheduler/backfill/detail/owned_profile.hpp>

#include <optional>

namespace allot {
inline namespace v0 {
namespace detail {

/// What reservations are made and renewed with.
template <class Session>
struct backfill_state {
  /// The time to come of the whole tree.
  availability<Session> profile;
  /// That of what single quotas own.
  owned_profile<Session> owned;
  /// The job that has claimed capacity of reservations since they were renewed last; none if none has.
  job_id claimant{};
  /// When a job did so last.
  std::optional<instant> claimed_at;
  /// Whether a job has ended otherwise than expected since no job held a reservation.
  bool ended_early = false;
  /// Whether a reserved start has become unknown since reservations were last looked through.
  bool has_lost_start = false;
  /// The reservations to renew.
  vector<typename Session::reservation_entry> to_keep;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

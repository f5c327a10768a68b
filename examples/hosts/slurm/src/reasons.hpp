// SPDX-License-Identifier: BSL-1.0
//
// What has to happen before Slurm starts a job, by the reason that it gives for not starting it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace allot_slurm {

enum class cure : std::uint8_t {
  /// Nodes with room for it: its turn comes, or they are mended.
  room,
  /// Time, or the end of jobs that have nothing to do with its nodes: those that it depends on, that use up a
  /// limit, or that hold licenses.
  time,
  /// Somebody has to alter the job, or what it may have.
  somebody,
};

/// Takes Slurm's names ("Resources", "QOSGrpGRES") and texts that begin with one ("ReqNodeNotAvail, ...").
/// What it does not know is cured by room.
[[nodiscard]] inline cure cure_of(std::string_view why_pending) {
  using namespace std::string_view_literals;
  constexpr std::array for_time{"AccountingPolicy"sv,
                                "AssociationJobLimit"sv,
                                "AssociationResourceLimit"sv,
                                "AssociationTimeLimit"sv,
                                "BeginTime"sv,
                                "BurstBufferResources"sv,
                                "BurstBufferStageIn"sv,
                                "Dependency"sv,
                                "FedJobLock"sv,
                                "JobArrayTaskLimit"sv,
                                "Licenses"sv,
                                "PowerNotAvail"sv,
                                "PowerReserved"sv,
                                "QOSJobLimit"sv,
                                "QOSResourceLimit"sv,
                                "QOSTimeLimit"sv,
                                "Reservation"sv};
  constexpr std::array for_somebody{"AccountNotAllowed"sv,
                                    "BadConstraints"sv,
                                    "BurstBufferOperation"sv,
                                    "DeadLine"sv,
                                    "DependencyNeverSatisfied"sv,
                                    "InactiveLimit"sv,
                                    "InvalidAccount"sv,
                                    "InvalidQOS"sv,
                                    "JobHeldAdmin"sv,
                                    "JobHeldUser"sv,
                                    "JobHoldMaxRequeue"sv,
                                    "JobLaunchFailure"sv,
                                    "MaxMemPerLimit"sv,
                                    "NonZeroExitCode"sv,
                                    "OutOfMemory"sv,
                                    "PartitionConfig"sv,
                                    "PartitionDown"sv,
                                    "PartitionInactive"sv,
                                    "PartitionNodeLimit"sv,
                                    "PartitionTimeLimit"sv,
                                    "QOSNotAllowed"sv,
                                    "QOSUsageThreshold"sv,
                                    "ReservationDeleted"sv,
                                    "SystemFailure"sv,
                                    "TimeLimit"sv};
  const std::string_view name = why_pending.substr(0, why_pending.find_first_of(", "));
  if (std::find(for_time.begin(), for_time.end(), name) != for_time.end()) return cure::time;
  if (std::find(for_somebody.begin(), for_somebody.end(), name) != for_somebody.end()) return cure::somebody;
  // Limits, of which every version has more: those on a single job are there to stay, all others pass when
  // other jobs end.
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  const bool is_of_policy = name.starts_with("QOS") || name.starts_with("Assoc");
  if (is_of_policy && (has("PerJob") || has("PerNode") || has("QOSMin"))) return cure::somebody;
  return is_of_policy || has("PerUser") || has("PerAccount") ? cure::time : cure::room;
}

/// Whether it would start if other jobs made way for it.
[[nodiscard]] inline bool room_cures(std::string_view why_pending) {
  return cure_of(why_pending) == cure::room;
}

}  // namespace allot_slurm

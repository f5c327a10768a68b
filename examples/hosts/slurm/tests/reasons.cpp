// SPDX-License-Identifier: BSL-1.0
#include "../src/reasons.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

using namespace allot_slurm;

namespace {

// All that slurm_job_reason_string of Slurm 22.05 says.
constexpr const char* cured_by_room =
    "None Priority Resources ReqNodeNotAvail FrontEndDown SchedDefer NodeDown BlockMaxError "
    "BlockFreeAction Cleaning Prolog";
constexpr const char* cured_by_time =
    "Dependency BeginTime Licenses AssociationJobLimit AssociationResourceLimit "
    "AssociationTimeLimit Reservation QOSJobLimit QOSResourceLimit QOSTimeLimit QOSGrpCpuLimit "
    "QOSGrpCPUMinutesLimit QOSGrpCPURunMinutesLimit QOSGrpJobsLimit QOSGrpMemLimit QOSGrpNodeLimit "
    "QOSGrpSubmitJobsLimit QOSGrpWallLimit QOSMaxCpuPerUserLimit QOSMaxJobsPerUserLimit "
    "QOSMaxNodePerUserLimit QOSMaxSubmitJobPerUserLimit AssocGrpCpuLimit AssocGrpCPUMinutesLimit "
    "AssocGrpCPURunMinutesLimit AssocGrpJobsLimit AssocGrpMemLimit AssocGrpNodeLimit "
    "AssocGrpSubmitJobsLimit AssocGrpWallLimit AssocMaxJobsLimit AssocMaxSubmitJobLimit "
    "JobArrayTaskLimit BurstBufferResources BurstBufferStageIn PowerNotAvail PowerReserved "
    "AssocGrpUnknown AssocGrpUnknownMinutes AssocGrpUnknownRunMinutes AssocGrpMemMinutes "
    "AssocGrpMemRunMinutes AssocGrpNodeMinutes AssocGrpNodeRunMinutes AssocGrpEnergy "
    "AssocGrpEnergyMinutes AssocGrpEnergyRunMinutes AssocGrpGRES AssocGrpGRESMinutes "
    "AssocGrpGRESRunMinutes AssocGrpLicense AssocGrpLicenseMinutes AssocGrpLicenseRunMinutes "
    "AssocGrpBB AssocGrpBBMinutes AssocGrpBBRunMinutes QOSGrpUnknown QOSGrpUnknownMinutes "
    "QOSGrpUnknownRunMinutes QOSMaxUnknownPerUser QOSGrpMemoryMinutes QOSGrpMemoryRunMinutes "
    "QOSMaxMemoryPerUser QOSGrpEnergy QOSGrpEnergyMinutes QOSGrpEnergyRunMinutes "
    "QOSMaxEnergyPerUser QOSGrpNodeMinutes QOSGrpNodeRunMinutes QOSGrpGRES QOSGrpGRESMinutes "
    "QOSGrpGRESRunMinutes QOSMaxGRESPerUser QOSGrpLicense QOSGrpLicenseMinutes "
    "QOSGrpLicenseRunMinutes QOSMaxLicensePerUser QOSGrpBB QOSGrpBBMinutes QOSGrpBBRunMinutes "
    "QOSMaxBBPerUser MaxBBPerAccount MaxCpuPerAccount MaxEnergyPerAccount MaxGRESPerAccount "
    "MaxNodePerAccount MaxLicensePerAccount MaxMemoryPerAccount MaxUnknownPerAccount "
    "MaxJobsPerAccount MaxSubmitJobsPerAccount AccountingPolicy FedJobLock AssocGrpBilling "
    "AssocGrpBillingMinutes AssocGrpBillingRunMinutes QOSGrpBilling QOSGrpBillingMinutes "
    "QOSGrpBillingRunMinutes QOSMaxBillingPerUser MaxBillingPerAccount";
constexpr const char* cured_by_somebody =
    "PartitionNodeLimit PartitionTimeLimit PartitionDown PartitionInactive JobHeldAdmin JobHeldUser "
    "BadConstraints SystemFailure JobLaunchFailure NonZeroExitCode TimeLimit InactiveLimit "
    "InvalidAccount InvalidQOS QOSUsageThreshold QOSNotAllowed AccountNotAllowed "
    "DependencyNeverSatisfied QOSMaxCpuPerJobLimit QOSMaxCpuMinutesPerJobLimit "
    "QOSMaxNodePerJobLimit QOSMaxWallDurationPerJobLimit QOSMinCpuNotSatisfied "
    "AssocMaxCpuPerJobLimit AssocMaxCpuMinutesPerJobLimit AssocMaxNodePerJobLimit "
    "AssocMaxWallDurationPerJobLimit JobHoldMaxRequeue BurstBufferOperation AssocMaxUnknownPerJob "
    "AssocMaxUnknownPerNode AssocMaxUnknownMinutesPerJob AssocMaxCpuPerNode AssocMaxMemPerJob "
    "AssocMaxMemPerNode AssocMaxMemMinutesPerJob AssocMaxNodeMinutesPerJob AssocMaxEnergyPerJob "
    "AssocMaxEnergyPerNode AssocMaxEnergyMinutesPerJob AssocMaxGRESPerJob AssocMaxGRESPerNode "
    "AssocMaxGRESMinutesPerJob AssocMaxLicensePerJob AssocMaxLicenseMinutesPerJob AssocMaxBBPerJob "
    "AssocMaxBBPerNode AssocMaxBBMinutesPerJob QOSMaxUnknownPerJob QOSMaxUnknownPerNode "
    "QOSMaxUnknownMinutesPerJob QOSMinUnknown QOSMaxCpuPerNode QOSMaxMemoryMinutesPerJob "
    "QOSMaxMemoryPerJob QOSMaxMemoryPerNode QOSMinMemory QOSMaxEnergyPerJob QOSMaxEnergyPerNode "
    "QOSMaxEnergyMinutesPerJob QOSMinEnergy QOSMaxNodeMinutesPerJob QOSMinNode QOSMaxGRESPerJob "
    "QOSMaxGRESPerNode QOSMaxGRESMinutesPerJob QOSMinGRES QOSMaxLicensePerJob "
    "QOSMaxLicenseMinutesPerJob QOSMinLicense QOSMaxBBPerJob QOSMaxBBPerNode QOSMinBB DeadLine "
    "PartitionConfig OutOfMemory MaxMemPerLimit AssocMaxBillingPerJob AssocMaxBillingPerNode "
    "AssocMaxBillingMinutesPerJob QOSMaxBillingPerJob QOSMaxBillingPerNode "
    "QOSMaxBillingMinutesPerJob QOSMinBilling ReservationDeleted";

void check_all(const char* names, cure by) {
  std::istringstream in{names};
  std::string name;
  while (in >> name) {
    CAPTURE(name);
    CHECK(cure_of(name) == by);
    CHECK(room_cures(name) == (by == cure::room));
  }
}

}  // namespace

TEST_CASE("reasons: what cures each of Slurm's reasons") {
  check_all(cured_by_room, cure::room);
  check_all(cured_by_time, cure::time);
  check_all(cured_by_somebody, cure::somebody);
}

TEST_CASE("reasons: texts, names of other versions, and none") {
  CHECK(room_cures(""));
  CHECK(room_cures("ReqNodeNotAvail, UnavailableNodes:n3"));
  CHECK(room_cures(
      "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"));
  CHECK(cure_of("BadConstraints, whatever") == cure::somebody);
  CHECK(cure_of("QOSGrpSomethingNew") == cure::time);
  CHECK(cure_of("MaxSomethingNewPerAccount") == cure::time);
  CHECK(cure_of("QOSMaxSomethingNewPerJob") == cure::somebody);
  CHECK(room_cures("reason 230"));
}

// SPDX-License-Identifier: BSL-1.0
// What Slurm would not start because of a limit of its own is not tried, and nobody gives way to it.
#include "governor.hpp"

namespace allot_slurm {

void governor::take_limits(limits l) {
  limits_.take(std::move(l));
  for (const auto& [k, r] : records_) count(r);
}

void governor::count(const record& r) {
  const bool runs =
      r.at == phase::released || r.at == phase::running || r.at == phase::leaving || r.at == phase::foreign;
  const bool waits = r.at == phase::waiting;
  limits_.count(r.is,
                runs    ? limit_usage::as::running
                : waits ? limit_usage::as::waiting
                        : limit_usage::as::nothing,
                config_.quota_of(r.is.account).value_or(config_.quotas.quotas.size()));
}

std::string governor::limited(const job& j) const {
  const auto quota = config_.quota_of(j.account);
  return quota ? limits_.obstacle(j, *quota) : std::string{};
}

/// Others have used up a limit since those that wait were looked at.
void governor::recheck_limits() {
  if (limits_checked_ == limits_.version()) return;
  limits_checked_ = limits_.version();
  for (auto& [k, r] : records_) {
    if (r.at == phase::waiting && !limited(r.is).empty()) evaluate(r);
  }
}

}  // namespace allot_slurm

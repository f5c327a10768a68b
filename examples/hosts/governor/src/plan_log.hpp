// SPDX-License-Identifier: BSL-1.0
//
// What the log says of plans.
#pragma once

#include "governor/src/engine.hpp"
#include "governor/src/log.hpp"

#include <allot/lab/quotas_file.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace allot_governor {

/// "n1,n2".
[[nodiscard]] std::string names_of(const std::vector<node_share>& where);
/// "8 gpu, 64 cpu"; empty: nothing.
[[nodiscard]] std::string borrowed_text(const amounts& borrows, const allot::lab::quotas_file& quotas);

/// What would be done; `evict` is the word for an eviction. The scheduler of who only observes starts over
/// with each change, so only jobs are told that are not among `told`, which are those of this plan then.
void log_only(const decision& d, std::string_view evict, decision_log& log, std::set<job_name>& told);
/// That a job is next when its victims have left.
void log_nomination(const decision::nomination& n, const std::string& user, decision_log& log);
/// That a job waits with a reservation, unless its first start is the one that was told last.
void log_reservation(const job_name& job, const std::string& user, const allot::reservation& r,
                     allot::instant& told, decision_log& log);

}  // namespace allot_governor

// SPDX-License-Identifier: BSL-1.0
//
// The live page: one HTML file that needs no server of its own.
#pragma once

#include "governor/src/history.hpp"
#include "governor/src/snapshot.hpp"

#include <string>

namespace allot_governor {

/// The last hours as charts, quotas as bars, nodes with who is where, and every job that does not run with
/// the reason. It loads itself again every `refresh_s` seconds. The name of a quota or a user is a link that
/// leaves the jobs of others out. Its one script loads it again, and it forbids any other, so nothing that a
/// user calls a job can run; texts are escaped all the same.
[[nodiscard]] std::string page_of(const snapshot& s, unsigned refresh_s = 5, const history& past = {});

}  // namespace allot_governor

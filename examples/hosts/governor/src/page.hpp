// SPDX-License-Identifier: BSL-1.0
//
// The live page: one HTML file that needs no server of its own.
#pragma once

#include "governor/src/history.hpp"
#include "governor/src/snapshot.hpp"

#include <string>

namespace allot_governor {

/// The last hours as charts, quotas as bars, nodes with their jobs, and the reason of every job that does not
/// run. The name of a quota or a user is a link that hides all other jobs. Its only script reloads it every
/// `refresh_s` seconds; it forbids any other, so nothing that a user calls a job can run, and texts are
/// escaped all the same.
[[nodiscard]] std::string page_of(const snapshot& s, unsigned refresh_s = 5, const history& past = {});

}  // namespace allot_governor

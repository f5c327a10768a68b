// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "governor/src/history.hpp"
#include "governor/src/page_text.hpp"
#include "governor/src/snapshot.hpp"

#include <string>

namespace allot_governor {

/// The last hours as a part of the page: charts of the GPUs in use, of waiting jobs and of evictions, with
/// the figures of each instant under the pointer. Empty if there is nothing yet.
[[nodiscard]] std::string history_charts(const history& past, const snapshot& s,
                                         const quota_colours& colours);

}  // namespace allot_governor

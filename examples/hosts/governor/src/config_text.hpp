// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "governor/src/facts.hpp"

#include <allot/lab/quotas_file.hpp>

#include <string>
#include <vector>

namespace allot_governor {

/// What differs between the quotas of two configurations, in one line for the log; empty: nothing.
[[nodiscard]] std::string changes_between(const allot::lab::quotas_file& before,
                                          const allot::lab::quotas_file& after);
/// That a configuration was refused, and why: the first reason, and how many more there are.
[[nodiscard]] std::string refused_text(const std::vector<std::string>& problems, milliseconds at);

}  // namespace allot_governor

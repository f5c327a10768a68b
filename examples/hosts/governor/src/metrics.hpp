// SPDX-License-Identifier: BSL-1.0
//
// Prometheus text metrics for the textfile collector of node_exporter.
#pragma once

#include "governor/src/snapshot.hpp"

#include <string>

namespace allot_governor {

/// A series for each quota and resource, and totals: none for a job or a node, so that there are as many
/// tomorrow as today.
[[nodiscard]] std::string metrics_of(const snapshot& s);

}  // namespace allot_governor

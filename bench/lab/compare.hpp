// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// `allot compare A B [...]`: the summaries of two or more replays side by side on standard output, each
/// figure with its difference from the first. A run is named by its directory or its summary.json. Returns
/// the exit status: 0, or 2 when one of them can't be read.
int compare(const std::vector<std::string>& runs);

}  // namespace lab
}  // namespace v0
}  // namespace allot

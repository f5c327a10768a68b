// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// `allot compare A B [...] --html FILE`: a page that shows two or more replays side by side: their figures
/// with differences from the first, the GPUs of each quota, how many jobs were pending, and how long they
/// waited. A run is named by its directory or its summary.json. Curves are drawn from the tenants.csv and
/// jobs.csv beside it, for the runs that have them. If a sweep or a directory of replays is among the runs,
/// the page is `page_of_sides`, made of their summaries, with the figures in `curves` over the loads of
/// sweeps. `common`: also the figures of the jobs that were completed on all sides. `force`: the page may
/// replace a file. Returns the exit status: 0, or 2 if something can't be read or written; then nothing is
/// written.
int write_comparison_page(const vector<std::string>& runs, const std::string& path, bool force,
                          const vector<std::string>& curves = {}, bool common = false);

}  // namespace lab
}  // namespace v0
}  // namespace allot

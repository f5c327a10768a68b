// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/io/atomic_files.hpp"
#include "lab/report/replay_result.hpp"

#include <allot/core/vector.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// The values of one figure of all jobs that have it, sorted: its cumulative distribution.
struct distribution {
  /// As in the summary: "jct_s".
  std::string_view name{};
  /// Decimals that a value has: milliseconds have 3 of a second.
  int decimals = 3;
  vector<std::int64_t> values{};

  /// The value below or at which so many thousandths of the jobs are. Precondition: there are values.
  [[nodiscard]] std::int64_t at(std::size_t thousandths) const;
};

/// The wait for the first start of the jobs that started; and of those that completed the whole wait, the
/// completion time, the slowdown and the finish-time fairness as users of their own. Of the jobs submitted in
/// the window, as in the summary.
[[nodiscard]] std::array<distribution, 5> distributions_of(const replay_result& r);

/// cdf.csv: a row for each percent, and for each tenth of the last one.
void write_distributions(output_file& file, const replay_result& r);

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/replay_result.hpp"
#include "lab/staging.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// `wall_ms`: how long the replay took, in the only figure that is not the same every time.
void write_summary(output_file& file, const replay_result& r, std::int64_t wall_ms);
void write_jobs(output_file& file, const replay_result& r);
/// Chrome trace events, by time: a process is a node, a thread a GPU (or a share of one), a slice the run of
/// a job; and counters of the GPUs and the waiting jobs of each quota. Without nodes the processes are
/// quotas. More than `most_jobs` no viewer likes: then those that had the most GPU time are in it. Returns
/// what is left out, as a sentence, or nothing.
std::string write_chrome_trace(output_file& file, const replay_result& r, std::size_t most_jobs = 100'000);

/// What the files call a job's state.
[[nodiscard]] std::string_view word_of(sim::job_outcome outcome) noexcept;

/// An amount or a time in thousandths as a decimal number.
[[nodiscard]] std::string decimal(std::int64_t thousandths);
/// Millionths as a decimal number of at most six places.
[[nodiscard]] std::string decimal_of_millionths(std::int64_t millionths);

}  // namespace lab
}  // namespace v0
}  // namespace allot

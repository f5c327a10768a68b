// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/io/atomic_files.hpp"
#include "lab/report/replay_result.hpp"

#include <allot/gpu/cluster.hpp>
#include <allot/sim/run_log.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// The version of the program: "0.2.0".
[[nodiscard]] std::string own_version();

/// `wall_ms`: how long the replay took, the only figure that differs between runs.
void write_summary(output_file& file, const replay_result& r, std::int64_t wall_ms);
void write_jobs(output_file& file, const replay_result& r);
/// Writes Chrome trace events, by time: a process is a node, a thread a GPU (or a share of one), a slice a
/// run of a job; plus counters of the GPUs and the pending jobs of each quota. Without nodes the processes
/// are quotas. Viewers cannot handle more than `most_jobs`: beyond that only the jobs with the most GPU time
/// are included. Returns a sentence on what is left out, or an empty string.
std::string write_chrome_trace(output_file& file, const replay_result& r, std::size_t most_jobs = 100'000);

/// An amount or a time in thousandths as a decimal number.
[[nodiscard]] std::string decimal(std::int64_t thousandths);
/// Millionths as a decimal number with at most six decimals.
[[nodiscard]] std::string decimal_of_millionths(std::int64_t millionths);

/// The names of the nodes, without repetition, in the order of the pods: "dgx-0;dgx-3".
void append_nodes(std::string& text, const gpu::cluster& cluster, std::span<const sim::run_pod> pods);

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/report/replay_result.hpp"

#include <allot/core/ratio.hpp>
#include <allot/lab/json_writer.hpp>
#include <allot/lab/metrics/figures.hpp>
#include <allot/lab/metrics/statistics.hpp>

#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

// Parts of summary.json. Everything is exact until it is written here as decimals. Unknown values, and means
// of nothing, are null.

void write_counts(json_writer& json, const job_counts& jobs);
/// A sample of times, or of other amounts in thousandths.
void write_sample(json_writer& json, std::string_view name, const sample_summary& s);
void write_hours(json_writer& json, std::string_view name, wide gpu_time);
/// `part` of `whole`; 0 if `whole` is 0.
void write_rate(json_writer& json, std::string_view name, wide part, wide whole);

/// The times of some jobs: completion, queueing, waiting and its causes, slowdown.
void write_times(json_writer& json, const job_figures& f);
/// How else the jobs fared.
void write_hardships(json_writer& json, const job_figures& f);
/// Finish-time fairness, "finish_time_fairness".
void write_finish_times(json_writer& json, const finish_time_figures& f);
/// How quotas reclaimed what they had lent.
void write_claims(json_writer& json, const reclaim_figures& f);
/// The time window of the figures, and how the cluster was used in it.
void write_window(json_writer& json, const replay_result& r);
void write_cluster(json_writer& json, const replay_result& r);
/// The figures by job class and job size.
void write_groups(json_writer& json, const replay_result& r);
/// What sharing means to the tenants, if they were replayed alone.
void write_isolated(json_writer& json, const replay_result& r);

}  // namespace lab
}  // namespace v0
}  // namespace allot

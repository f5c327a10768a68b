// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include "lab/io/atomic_files.hpp"
#include "lab/io/number_text.hpp"
#include "lab/report/replay_result.hpp"
#include "lab/report/report_chart.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// Writes report.html: one self-contained page that needs no network. Curves are plain SVG. A script shows
/// the figures under the pointer and any instant of the replay. The same result gives the same bytes.
void write_report(output_file& file, const replay_result& r);

/// The charts of the report as separate files: their names, and their contents.
inline constexpr std::string_view chart_files[] = {"gpus.svg",        "quotas.svg",       "lending.svg",
                                                   "waiting.svg",     "reserved.svg",     "utilisation.svg",
                                                   "preemptions.svg", "waiting_times.svg"};
/// The contents of `chart_files`, in their order; empty if there is nothing to draw.
[[nodiscard]] vector<std::string> standalone_charts(const replay_result& r);

/// A figure of a sample, "-" if the sample is empty.
[[nodiscard]] std::string human_time(const sample_summary& s, instant figure);

namespace report {

/// "5 unfinished (3 waiting, 2 not yet submitted)", "0 unfinished".
[[nodiscard]] std::string unfinished_jobs(const job_counts& jobs);

/// A ratio in millionths, which is not negative, with so many decimals, at most three: rounded once.
[[nodiscard]] std::string index_text(std::int64_t millionths, unsigned places);

/// Jain's index; "–" if nobody ever wanted anything.
[[nodiscard]] std::string jain_text(const run_figures& f);

/// A coloured part of the curves: a quota, or all quotas that share the last colour.
struct layer {
  std::string name;
  std::size_t colour = 0;
  vector<std::size_t> quotas;
};

/// The quotas that had jobs, or lent, in order. If there are more than colours, those with the least GPU
/// time, used and lent, are merged at the end; or all but those that were chosen.
[[nodiscard]] vector<layer> layers_of(const replay_result& r);
/// By quota: the number of its layer; `otherwise` for quotas without one.
[[nodiscard]] vector<std::size_t> layers_by_quota(const replay_result& r, const vector<layer>& layers,
                                                  std::size_t otherwise);

/// By quota: the number of its layer's colour; `most_colours` for quotas without one.
[[nodiscard]] vector<std::size_t> colours_of(const replay_result& r, const vector<layer>& layers);

// Texts.

[[nodiscard]] std::string escaped(std::string_view text);
/// The same for a name in a table, which page.css breaks if it is long.
[[nodiscard]] std::string escaped_name(std::string_view name);
/// The text, of a value with its unit, as HTML that does not break between lines.
[[nodiscard]] std::string unbroken(std::string_view text);
/// Appends a JSON string that is safe in a script element, whatever the text.
void append_json_string(std::string& json, std::string_view text);
// The page itself (report_page.cpp).

void begin_page(std::string& html, std::string_view title);
/// With this script, after what all scripts share; without either if it is empty.
void end_page(std::string& html, std::string_view script);
/// Names for a title: the first five, and how many more there are.
[[nodiscard]] std::string listed_names(const vector<std::string>& names);

// The charts (report_charts.cpp).

/// Series as curves over the time of the replay.
[[nodiscard]] chart::steps curve_of(const replayed_time& t, const vector<std::int64_t>& means);
[[nodiscard]] vector<std::int64_t> sum_of(const vector<drawn_series>& of_quota,
                                          const vector<std::size_t>& quotas, std::size_t spans);
/// Draws layers on top of each other, each covering the ones below it.
void stack(chart& c, const vector<chart::steps>& layers, const vector<std::string>& css);
/// Of the jobs that started, the part that had started after each waiting time: at `cdf_points` positions of
/// the axis, in millionths.
inline constexpr std::size_t cdf_points = 200;
[[nodiscard]] vector<std::int64_t> cdf_of(vector<instant> waits, const log_time_axis& axis);

/// A figure of each job as a distribution.
struct drawn_distribution {
  std::string_view name;
  std::string_view title;
  std::string_view note;
  std::string_view axis_title;
  log_time_axis axis;
  /// By layer, the parts of the jobs up to each position of the axis; empty for layers without such jobs. The
  /// last is of all jobs.
  vector<vector<std::int64_t>> parts{};
  /// A multiple, not a span of time.
  bool is_ratio = false;
};
/// Of the waits before the first start, of all waiting, completion and slowdown, as far as there are any.
[[nodiscard]] vector<drawn_distribution> distributions_of(const replay_result& r,
                                                          const vector<layer>& layers);

struct report_charts {
  /// In page order: GPUs in use, lending, waiting, utilisation, preemptions, and the distributions by their
  /// names. Charts with nothing to show are omitted.
  vector<chart> all;
  /// One for each layer that is a single quota, and whether all of them have one scale.
  vector<chart> quotas;
  bool has_one_scale = true;

  [[nodiscard]] const chart* find(std::string_view name) const;
};
[[nodiscard]] report_charts charts_of(const replay_result& r, const vector<layer>& layers,
                                      const vector<drawn_distribution>& distributions);
/// The number of spans in which preemptions are counted.
inline constexpr std::size_t preemption_spans = 120;
/// By layer, how many runs were interrupted in each span.
[[nodiscard]] vector<vector<std::uint32_t>> preemptions_of(const replay_result& r,
                                                           const vector<layer>& layers);
/// By layer, how long the started jobs waited.
[[nodiscard]] vector<vector<instant>> waits_of(const replay_result& r, const vector<layer>& layers);

// Any instant (report_moment.cpp).

/// A period during which something holds.
struct interval {
  instant begin = 0;
  instant end = 0;
};
/// The instants that a page shows if it may include at most `most` intervals: empty if all of them fit.
/// Otherwise every candidate, or every second, fourth and so on; at least one.
[[nodiscard]] vector<instant> stops_for(std::span<const interval> all, std::span<const instant> candidates,
                                        std::size_t most);
/// Whether it holds at any of the stops; without stops, at any time.
[[nodiscard]] bool is_seen(const interval& i, std::span<const instant> stops);
/// The GPUs of a pod: "3:0-7", or "4:2*500" for half of one.
void append_place(std::string& text, const sim::run_pod& pod);
/// The data for the script, as JSON in a script element.
void write_data(std::string& html, const replay_result& r, const vector<layer>& layers,
                const vector<drawn_distribution>& distributions);
/// The slider and what it moves.
void write_moment(std::string& html, const replay_result& r);

// Tables (report_tables.cpp).

void write_head(std::string& html, const replay_result& r);
void write_tiles(std::string& html, const replay_result& r);
void write_wait_tables(std::string& html, const replay_result& r, const vector<layer>& layers);
void write_preemptions(std::string& html, const replay_result& r, const vector<layer>& layers);
void write_quota_table(std::string& html, const replay_result& r);
void write_unfinished(std::string& html, const replay_result& r);
void write_refused(std::string& html, const replay_result& r);
/// What the figures of all pages mean, and then `more`, as HTML.
void write_definitions(std::string& html, std::string_view more);

/// The quotas that tables list, in their order: at most `most`, those that were chosen and those with the
/// most GPU time.
[[nodiscard]] vector<quota_id> listed_quotas(const replay_result& r, std::size_t most);
/// By job number in the simulation.
[[nodiscard]] vector<const replayed_job*> jobs_by_index(const replay_result& r);
/// When a run ended; for a run that never did, the end of the replay.
[[nodiscard]] instant end_of(const replay_result& r, const vector<const replayed_job*>& jobs,
                             const sim::job_run& run);

}  // namespace report
}  // namespace lab
}  // namespace v0
}  // namespace allot

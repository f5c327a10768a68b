// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/replay_result.hpp"
#include "lab/staging.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// Writes report.html: one page that needs nothing else, not even the network. Curves are plain SVG; a script
/// of a few lines shows the figures under the pointer. The same result gives the same bytes.
void write_report(output_file& file, const replay_result& r);

namespace report {

/// As many quotas have a colour of their own; the others share one.
inline constexpr std::size_t most_colours = 9;

/// A coloured part of the curves: a quota, or all those that share a colour.
struct layer {
  std::string name;
  std::size_t colour = 0;
  std::vector<std::size_t> quotas;
};

/// The quotas that are shown, in their order; those with the least GPU time together at the end when there
/// are more than colours.
[[nodiscard]] std::vector<layer> layers_of(const replay_result& r);

/// By quota: the number of its layer's colour, and `most_colours` for those without one.
[[nodiscard]] std::vector<std::size_t> colours_of(const replay_result& r, const std::vector<layer>& layers);

[[nodiscard]] std::string escaped(std::string_view text);
/// "53,069".
[[nodiscard]] std::string grouped(std::uint64_t n);
/// A span of time in a unit that suits it: "45 s", "12 min", "3.4 h", "2.5 d".
[[nodiscard]] std::string human_time(instant milliseconds);
/// A figure of a sample, "-" when there is none.
[[nodiscard]] std::string human_time(const sim::sample_summary& s, instant figure);
/// Thousandths, rounded to `places` decimals, with the thousands grouped.
[[nodiscard]] std::string rounded(std::int64_t thousandths, unsigned places);
/// Millionths as a percentage: "62.97 %".
[[nodiscard]] std::string percent(std::int64_t millionths);

// The parts of the page (report_charts.cpp, report_nodes.cpp).

void write_time_charts(std::string& html, const replay_result& r, const std::vector<layer>& layers);
void write_quota_charts(std::string& html, const replay_result& r, const std::vector<layer>& layers);
void write_node_map(std::string& html, const replay_result& r, const std::vector<layer>& layers);

}  // namespace report
}  // namespace lab
}  // namespace v0
}  // namespace allot

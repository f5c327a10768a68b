// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include "lab/io/deviation.hpp"
#include "lab/report/report_chart.hpp"
#include "lab/report/run_summary.hpp"
#include "lab/sweep/compare.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// The figures that are drawn if nobody says which, and what they are called.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 10> drawn_figures = {
    {{"allocation_rate", "Utilisation"},
     {"queue_s/mean", "Wait before the first start, mean"},
     {"queue_s/p99", "Wait, 99th percentile"},
     {"worst_tenant/queue_s/mean", "Wait of the worst tenant, mean"},
     {"jct_s/mean", "Completion, mean"},
     {"isolated/sharing_anomaly_s", "Sharing anomaly"},
     {"preemptions", "Preemptions"},
     {"lost_gpu_h", "Lost, GPU-h"},
     {"jain", "Fairness (Jain)"},
     {"fair_share_error_gpu_h", "Short of fair shares, GPU-h"}}};

/// What the policies of one scenario do over its loads: one figure.
struct load_curves {
  /// One load.
  struct point {
    /// In thousandths.
    std::int64_t load = 0;
    mean_and_deviation value{};
  };
  struct curve {
    std::string side;
    /// By load, as far as there are values.
    vector<point> points;
  };

  std::string scenario;
  std::string figure;
  /// What people call it.
  std::string title;
  figure_kind kind{};
  /// The loads are multiples of the arrivals, not parts of what the cluster can do.
  bool is_of_arrivals = false;
  /// In thousandths, ascending; two or more.
  vector<std::int64_t> loads;
  /// Every side that ran the scenario, in order, also those without a value.
  vector<curve> curves;
  /// The most runs that a mean is of.
  std::size_t most_runs = 0;
  /// Which part of the runs is measured, if it is the same part and not the whole.
  std::string measured{};
};

/// The curves of the figures (those of `drawn_figures` if there are none) for every scenario that ran at two
/// loads or more. Figures without any value are left out.
[[nodiscard]] vector<load_curves> curves_over_load(const vector<run_group>& groups,
                                                   const vector<std::string>& figures);

/// Lines with dots at the means, and bands between the percentiles.
/// `for_script` says which of them it is.
[[nodiscard]] report::chart chart_of(const load_curves& c, std::string_view for_script = {});

/// Tables of the same: "text", "markdown" or "csv" (exact, a row per point).
[[nodiscard]] std::string curve_tables(const vector<load_curves>& all, std::string_view format);
/// A part of a page for each scenario; each is `curves-0` and so on.
[[nodiscard]] std::string curve_figures(const vector<load_curves>& all);
/// What these parts are called, each once and in their order.
[[nodiscard]] vector<std::string> curve_headings(const vector<load_curves>& all);
/// The same for the script of the page, which draws the charts again when somebody hides a policy.
[[nodiscard]] std::string curve_data(const vector<load_curves>& all);
/// The names of the files that the charts are written to, in their order: letters, digits, '.', '-' and '_',
/// each name once.
[[nodiscard]] vector<std::string> curve_files(const vector<load_curves>& all);

}  // namespace lab
}  // namespace v0
}  // namespace allot

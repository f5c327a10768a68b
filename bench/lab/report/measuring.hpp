// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/io/errors.hpp"

#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/isolation.hpp>
#include <allot/lab/metrics/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// The command-line options for measuring; times are decimal numbers of seconds.
struct measuring_options {
  /// "FROM,TO", either of which may be omitted.
  std::string window{};
  std::string warm_up{};
  bool no_drain = false;
  std::string grace{};
  bool isolated = false;
};

/// How a replay is measured.
struct measuring {
  /// The window of integrals over time, and of the submissions of jobs whose times count; by default the
  /// whole run.
  std::optional<instant> from{};
  std::optional<instant> to{};
  /// Leave out this long after the first submission, and everything after the last one.
  instant warm_up = 0;
  bool no_drain = false;
  /// How long a quota may wait for what it has lent before it counts as a violation.
  instant grace = 60'000;
  /// Also replay every tenant alone.
  bool isolated = false;

  [[nodiscard]] time_window window(instant first_submit, instant last_submit) const {
    time_window w;
    if (from) w.begin = *from;
    if (to) w.end = *to;
    if (warm_up > 0) w.begin = std::max(w.begin, first_submit + warm_up);
    // The last submission is still in the window.
    if (no_drain) w.end = std::min(w.end, last_submit + 1);
    return w;
  }
};

/// Reads the options; errors are added to `found`.
[[nodiscard]] measuring read_measuring(const measuring_options& options, errors& found);

/// The options that choose the window, as `read_measuring` takes them: "warm_up" and "43200". Only those that
/// are not the default, so there are none if the whole run is measured.
[[nodiscard]] vector<std::pair<std::string_view, std::string>> window_options(const measuring& m);
/// The same for people: "without the first 12h, up to the last submission". Empty for the whole run.
[[nodiscard]] std::string window_text(const measuring& m);
/// Why nothing would be measured of a replay that ends at `until`; empty if something may be.
[[nodiscard]] std::string nothing_measured(const measuring& m, std::optional<instant> until);

/// How a tenant fares alone.
struct tenant_alone {
  /// On a cluster of its nominal, in milli-GPUs; none if the nominal is zero or unbounded.
  std::optional<std::int64_t> quota_gpus{};
  anomaly_figures anomaly{};
  /// On its weight share of the cluster.
  std::optional<std::int64_t> share_gpus{};
  finish_time_figures finish_time{};
  /// How many of its jobs could never run there.
  std::size_t too_large_for_quota = 0;
  std::size_t too_large_for_share = 0;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

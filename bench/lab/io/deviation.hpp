// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// The mean of some values and their sample standard deviation (over n - 1); no deviation for fewer than two
/// values. Between `p10` and `p90` are four fifths of them, and nothing that no value reaches.
struct mean_and_deviation {
  std::size_t count = 0;
  double mean = 0;
  std::optional<double> deviation{};
  double p10 = 0;
  double p90 = 0;
};

/// The percentile of sorted values, between two of them in proportion. Precondition: there is one.
[[nodiscard]] inline double percentile_of(std::span<const double> sorted, double percent) {
  const double place = percent / 100 * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double part = place - static_cast<double>(below);
  return sorted[below] + (part == 0 ? 0 : part * (sorted[below + 1] - sorted[below]));
}

[[nodiscard]] inline mean_and_deviation summarize_values(std::span<const double> values) {
  mean_and_deviation s{values.size()};
  if (values.empty()) return s;
  for (const double v : values) s.mean += v;
  s.mean /= static_cast<double>(values.size());
  vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  s.p10 = percentile_of(sorted, 10);
  s.p90 = percentile_of(sorted, 90);
  if (values.size() < 2) return s;
  double squares = 0;
  for (const double v : values) squares += (v - s.mean) * (v - s.mean);
  s.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return s;
}

/// The difference between two configurations in one figure.
struct figure_difference {
  /// Pairs of runs with the same seed. If 0, the difference is that of the means.
  std::size_t pairs = 0;
  double mean = 0;
  /// Of the differences within pairs; without pairs, of the difference of two independent runs.
  std::optional<double> deviation{};
  /// The 95 % confidence interval of the mean reaches so far up and down: that of Student's t over the pairs,
  /// or of Welch's without pairs. Nothing if the deviation is unknown.
  std::optional<double> half_width{};

  /// The ends of that interval.
  [[nodiscard]] std::optional<double> low_95() const noexcept { return from_mean(-1); }
  [[nodiscard]] std::optional<double> high_95() const noexcept { return from_mean(1); }
  /// Whether it is no larger than its deviation, so that another seed might show the opposite. False with
  /// only one run on each side, since the deviation is then unknown.
  [[nodiscard]] bool is_within_deviation() const noexcept {
    return deviation && mean != 0 && std::abs(mean) <= *deviation;
  }

 private:
  [[nodiscard]] std::optional<double> from_mean(int sign) const noexcept {
    return half_width ? std::optional{mean + sign * *half_width} : std::nullopt;
  }
};

/// The bound that Student's t stays within, on either side, in 95 of 100 samples. Precondition: degrees > 0.
[[nodiscard]] double student_t_95(double degrees);

/// A value and the seed of its run.
using seeded_value = std::pair<std::uint64_t, double>;

/// The difference from `from` to `to`. Runs with the same seed have the same workload, so their differences
/// deviate less than the runs do: if every seed occurs once, common seeds are compared pair by pair. Returns
/// nullopt if one side is empty.
[[nodiscard]] std::optional<figure_difference> difference_of(std::span<const seeded_value> from,
                                                             std::span<const seeded_value> to);

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#include "lab/io/deviation.hpp"

#include <boost/math/distributions/students_t.hpp>

namespace allot {
inline namespace v0 {
namespace lab {

double student_t_95(double degrees) {
  return boost::math::quantile(boost::math::students_t{degrees}, 0.975);
}

std::optional<figure_difference> difference_of(std::span<const seeded_value> from,
                                               std::span<const seeded_value> to) {
  if (from.empty() || to.empty()) return std::nullopt;
  vector<double> pairs;
  bool is_paired = true;
  for (const auto& [seed, value] : to) {
    std::size_t partners = 0;
    std::size_t twins = 0;
    for (const auto& other : to) twins += other.first == seed ? 1U : 0U;
    for (const auto& [other_seed, other_value] : from) {
      if (other_seed != seed) continue;
      ++partners;
      pairs.push_back(value - other_value);
    }
    is_paired = is_paired && partners <= 1 && twins == 1;
  }
  if (is_paired && !pairs.empty()) {
    const mean_and_deviation s = summarize_values(pairs);
    figure_difference d{s.count, s.mean, s.deviation};
    const auto n = static_cast<double>(s.count);
    if (d.deviation) d.half_width = student_t_95(n - 1) * *d.deviation / std::sqrt(n);
    return d;
  }
  const auto values = [](std::span<const seeded_value> all) {
    vector<double> plain;
    for (const auto& v : all) plain.push_back(v.second);
    return summarize_values(plain);
  };
  const mean_and_deviation a = values(from);
  const mean_and_deviation b = values(to);
  figure_difference d{0, b.mean - a.mean, {}};
  if (!a.deviation || !b.deviation) return d;
  d.deviation = std::hypot(*a.deviation, *b.deviation);
  const auto of_mean = [](const mean_and_deviation& s) {
    return *s.deviation * *s.deviation / static_cast<double>(s.count);
  };
  const auto squared = [](const mean_and_deviation& s, double v) {
    return v * v / static_cast<double>(s.count - 1);
  };
  const double variance = of_mean(a) + of_mean(b);
  d.half_width = 0;
  if (variance > 0) {
    const double degrees = variance * variance / (squared(a, of_mean(a)) + squared(b, of_mean(b)));
    d.half_width = student_t_95(degrees) * std::sqrt(variance);
  }
  return d;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

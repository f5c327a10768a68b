// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/estimates.hpp>

#include <allot/core/assert.hpp>

#include <algorithm>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr std::int64_t most_seconds = 1'000'000'000'000;
/// The largest estimate, as a multiple of the duration.
constexpr std::int64_t most_times = 10;
/// What people round to.
constexpr std::int64_t five_minutes = 300;
/// Far from the streams that the jobs are drawn from.
constexpr std::uint64_t stream_of_estimates = std::uint64_t{1} << 40U;

constexpr std::array<std::int64_t, 20> popular = {
    300,    600,    900,    1'200,  1'800,  3'600,   7'200,   10'800,  14'400,  21'600,
    28'800, 36'000, 43'200, 64'800, 86'400, 129'600, 172'800, 259'200, 604'800, 1'209'600};

/// A round value of at least `seconds`, as a person would choose it.
[[nodiscard]] std::int64_t draw_round(random_stream& random, std::int64_t seconds) {
  const std::int64_t low = (seconds + five_minutes - 1) / five_minutes;
  const std::int64_t high = std::max(low, seconds * most_times / five_minutes);
  const auto* const first = std::lower_bound(popular.begin(), popular.end(), low * five_minutes);
  const auto* const last = std::upper_bound(first, popular.end(), high * five_minutes);
  const bool is_popular = draw_chance(random, 9, 10);
  if (!is_popular || first == last) return draw_between(random, low, high) * five_minutes;
  return first[draw_below(random, static_cast<std::uint64_t>(last - first))];
}

}  // namespace

std::optional<estimate_model> find_estimate_model(std::string_view name) noexcept {
  for (std::size_t i = 0; i < estimate_models.size(); ++i) {
    if (estimate_models[i].name == name) return static_cast<estimate_model>(i);
  }
  return std::nullopt;
}

const std::array<std::int64_t, 20>& popular_estimates() noexcept {
  return popular;
}

estimator::estimator(estimate_model model, std::uint64_t seed) noexcept
    : model_(model), random_(seed, stream_of_estimates) {}

std::int64_t estimator::operator()(instant duration) {
  ALLOT_ASSERT(duration >= 0 && duration <= most_seconds * second, "a duration of at most 10^12 seconds");
  const std::int64_t seconds = std::max<std::int64_t>(1, (duration + second - 1) / second);
  const auto drawn = [&]() -> std::int64_t {
    switch (model_) {
      case estimate_model::none:
        return 0;
      case estimate_model::exact:
        return seconds;
      case estimate_model::doubled:
        return 2 * seconds;
      case estimate_model::f_model:
        return draw_between(random_, seconds, most_times * seconds);
      case estimate_model::tsafrir:
        return draw_round(random_, seconds);
    }
    return 0;
  };
  return std::min(drawn(), most_seconds);
}

void set_estimates(trace& t, estimate_model model, std::uint64_t seed) {
  estimator draw{model, seed};
  for (trace_job& job : t.jobs) job.estimate = draw(job.duration);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/lab/random.hpp>
#include <allot/lab/trace.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// How wrong the estimates of a workload are. None is shorter than its job: most HPC systems end a job there.
enum class estimate_model : std::uint8_t {
  /// Jobs have no estimates.
  none,
  /// The duration, in whole seconds and rounded up.
  exact,
  /// Twice the duration. (Backfilling often does better with these than with exact ones.)
  doubled,
  /// Evenly between the duration and ten times that: the f-model of Mu'alem and Feitelson (2001), with f = 9.
  f_model,
  /// In the manner of Tsafrir, Etsion and Feitelson (2005): people give multiples of 5 minutes, in nine cases
  /// of ten one of 20 round values, and at most ten times the duration (or 5 minutes, if that is more).
  tsafrir,
};

/// A model of estimates, and a line about it.
struct estimate_model_name {
  std::string_view name;
  std::string_view summary;
};

/// The models as options name them, in the order of `estimate_model`.
inline constexpr std::array<estimate_model_name, 5> estimate_models = {
    {{"none", "the column estimate_s is not there"},
     {"exact", "the duration"},
     {"doubled", "twice the duration"},
     {"f_model", "evenly from the duration to ten times that (Mu'alem and Feitelson)"},
     {"tsafrir", "as people give them: round values, up to ten times too long (Tsafrir)"}}};

/// The name of the model.
[[nodiscard]] constexpr std::string_view name_of(estimate_model model) noexcept {
  return estimate_models[static_cast<std::size_t>(model)].name;
}

/// Whether the estimates depend on a seed.
[[nodiscard]] constexpr bool is_random(estimate_model model) noexcept {
  return model == estimate_model::f_model || model == estimate_model::tsafrir;
}

/// The model of that name.
[[nodiscard]] std::optional<estimate_model> find_estimate_model(std::string_view name) noexcept;

/// The values that people give most often in `estimate_model::tsafrir`, in seconds, in ascending order.
[[nodiscard]] const std::array<std::int64_t, 20>& popular_estimates() noexcept;

/// Draws the estimates of a workload, one job after the other. It has a stream of random numbers of its own,
/// so the jobs are the same whatever the model, and the same seed gives the same estimates on every machine.
class estimator {
 public:
  /// For the jobs of the workload of that seed.
  estimator(estimate_model model, std::uint64_t seed) noexcept;

  /// The estimate of the job, in whole seconds: at least 1, at least the duration, and at most 10^12.
  /// 0 with `estimate_model::none`. Precondition: the duration is not negative and at most 10^12 seconds.
  [[nodiscard]] std::int64_t operator()(instant duration);

 private:
  estimate_model model_;
  random_stream random_;
};

/// Gives every job an estimate, in the order of the jobs. Estimates that were there are replaced. O(jobs).
void set_estimates(trace& t, estimate_model model, std::uint64_t seed);

}  // namespace lab
}  // namespace v0
}  // namespace allot

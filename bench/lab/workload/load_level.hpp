// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/lab/trace.hpp>

#include <cstdint>
#include <optional>

namespace allot {
inline namespace v0 {
namespace lab {

/// The work that the jobs of a trace request, in GPUs times duration, as a part of what `gpus` can do from
/// the first submission to the last, in thousandths, rounded to the nearest. Jobs larger than `gpus` never
/// run and do not count. Returns nullopt if that time is zero, there are no GPUs, or the load is above a
/// million.
[[nodiscard]] std::optional<std::int64_t> offered_load(const trace& t, quantity gpus);

/// Moves the arrivals closer together or further apart: each submission is at `numerator / denominator` of
/// its time after the first one, rounded to the nearest millisecond. Durations stay, and so does the time
/// from a submission to its deadline. Jobs keep their order. Precondition: both are positive, and the times
/// fit.
void scale_arrivals(trace& t, std::int64_t numerator, std::int64_t denominator);

/// Scales the arrivals so that `offered_load` is `load`, in thousandths. Returns whether there was a load to
/// scale.
[[nodiscard]] bool set_load(trace& t, quantity gpus, std::int64_t load);

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/lab/trace.hpp>

#include <cstddef>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// When jobs are submitted, and how long the longest of them runs.
struct trace_times {
  std::size_t rows = 0;
  instant first_submit = 0;
  instant last_submit = 0;
  instant longest = 0;

  void add(instant submit, instant duration);
};
[[nodiscard]] trace_times times_of(const trace& t);

/// What is hard to believe of a trace: that it spans decades, or that a job runs for a year. Mostly its times
/// are in another unit. Empty if there is nothing.
[[nodiscard]] std::string doubt_of_times(const trace_times& times);

}  // namespace lab
}  // namespace v0
}  // namespace allot

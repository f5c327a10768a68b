// SPDX-License-Identifier: BSL-1.0
#include "lab/workload/doubtful_times.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace allot {
inline namespace v0 {
namespace lab {

void trace_times::add(instant submit, instant duration) {
  first_submit = rows == 0 ? submit : std::min(first_submit, submit);
  last_submit = rows == 0 ? submit : std::max(last_submit, submit);
  longest = std::max(longest, duration);
  ++rows;
}

trace_times times_of(const trace& t) {
  trace_times times;
  for (const trace_job& j : t.jobs) times.add(j.submit, j.duration);
  return times;
}

std::string doubt_of_times(const trace_times& times) {
  constexpr instant year = 365 * day;
  constexpr instant long_trace = 10 * year;
  const instant span = times.last_submit - times.first_submit;
  std::string text;
  if (span >= long_trace) text = fmt::format("jobs are submitted over {} years", span / year);
  if (times.longest >= year) {
    if (!text.empty()) text += ", and ";
    text += fmt::format("a job runs for {} days", times.longest / day);
  }
  if (!text.empty()) text += ": are the times in another unit than seconds, as in milliseconds?";
  return text;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

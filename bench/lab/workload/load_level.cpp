// SPDX-License-Identifier: BSL-1.0
#include "lab/workload/load_level.hpp"

#include <allot/core/ratio.hpp>

#include <algorithm>
#include <limits>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

struct offer {
  instant first = 0;
  /// From the first submission to the last.
  instant span = 0;
  /// In milli-GPUs times milliseconds.
  wide work = 0;
};

/// Without the work of jobs that request more than `gpus`, which never run.
offer offer_of(const trace& t, quantity gpus) {
  offer o;
  if (t.jobs.empty()) return o;
  instant last = std::numeric_limits<instant>::min();
  o.first = std::numeric_limits<instant>::max();
  for (const trace_job& j : t.jobs) {
    o.first = std::min(o.first, j.submit);
    last = std::max(last, j.submit);
    if (j.gpus > gpus) continue;
    o.work += static_cast<wide>(j.gpus.in_milli()) * static_cast<wide>(j.duration);
  }
  o.span = last - o.first;
  return o;
}

}  // namespace

std::optional<std::int64_t> offered_load(const trace& t, quantity gpus) {
  const offer o = offer_of(t, gpus);
  const wide supply = static_cast<wide>(gpus.in_milli()) * static_cast<wide>(o.span);
  if (supply == 0) return std::nullopt;
  const wide permille = (o.work * 1000 + supply / 2) / supply;
  constexpr wide most = 1'000'000'000;
  return permille > most ? std::nullopt : std::optional{static_cast<std::int64_t>(permille)};
}

void scale_arrivals(trace& t, std::int64_t numerator, std::int64_t denominator) {
  const instant first = offer_of(t, quantity{}).first;
  const auto by = static_cast<wide>(denominator);
  for (trace_job& j : t.jobs) {
    const wide after = static_cast<wide>(j.submit - first) * static_cast<wide>(numerator);
    const instant submit = first + static_cast<instant>((2 * after + by) / (2 * by));
    if (j.deadline) *j.deadline += submit - j.submit;
    if (j.ready != 0) j.ready += submit - j.submit;
    j.submit = submit;
  }
}

bool set_load(trace& t, quantity gpus, std::int64_t load) {
  const offer o = offer_of(t, gpus);
  // The span in which the work is that load, at least a millisecond.
  const wide rate = static_cast<wide>(gpus.in_milli()) * static_cast<wide>(load);
  if (rate == 0 || o.span == 0 || o.work == 0) return false;
  const wide span = std::max<wide>(1, (2 * o.work * 1000 + rate) / (2 * rate));
  if (span > static_cast<wide>(std::numeric_limits<instant>::max() / 4)) return false;
  scale_arrivals(t, static_cast<std::int64_t>(span), o.span);
  return true;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#include "governor/src/waiting_text.hpp"

#include "governor/src/log.hpp"
#include "governor/src/snapshot_text.hpp"

#include <cstddef>
#include <string_view>

namespace allot_governor {

namespace {

/// Of many only the first digit is told: the others change all the time, and each new text is a call.
[[nodiscard]] std::string turn_text(std::size_t before) {
  if (before == 0) return {};
  std::size_t step = 1;
  while (before / step >= 10) step *= 10;
  std::string text = (step > 1 ? "more than " : "") + std::to_string(before / step * step);
  return text + (before == 1 ? " job of its quota goes before it; " : " jobs of its quota go before it; ");
}

}  // namespace

std::string waiting_text(engine& of, const job_name& job, allot::addressee whom, milliseconds now) {
  std::string text = of.why(job, whom);
  if (text.empty()) return text;
  constexpr std::string_view begins = "it waits: ";
  if (text.starts_with(begins)) {
    text.erase(0, begins.size());
    if (whom == allot::addressee::users) text.insert(0, turn_text(of.jobs_before(job)));
    text.insert(0, "waits: ");
  }
  const auto p = of.reservation_of(job);
  if (!p || p->start == allot::without_end) return text;
  if (p->gathers_since) return text + "; it gathers what becomes free until " + time_text(p->start);
  if (p->start > now) return text + start_clause(p->start);
  return text + "; it starts as soon as a job has ended that runs longer than expected";
}

}  // namespace allot_governor

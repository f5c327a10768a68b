// SPDX-License-Identifier: BSL-1.0
#include "governor/src/resume.hpp"

#include <algorithm>
#include <utility>

namespace allot_governor {

event resume_from(const saved_state& s, allot::delay_cause changed, milliseconds now,
                  const std::function<std::optional<continued_job>(const job_identity&)>& find) {
  event e;
  e.is = event::kind::resume;
  allot::scheduler_memory& m = e.state.memory;
  m = s.memory;
  // What could not start then may now: while nobody looked, machines may have come back.
  m.must_requeue = true;
  if (changed != allot::delay_cause::none) {
    m.cause = changed;
    m.starts_may_move = true;
  }
  // After a step of the clock.
  m.now = std::min(m.now, now);
  for (const auto& u : s.units) {
    const bool held = u.state == allot::job_state::running || u.state == allot::job_state::evicting;
    auto j = find(u.what);
    if (held && (!j || !j->holds)) {
      // Others may have it now, sooner than was expected. If it waits again it is submitted again: a pending
      // unit without news would never be tried.
      m.starts_may_move = true;
      m.freed_until = allot::without_end;
      continue;
    }
    if (!j) continue;
    auto& to = e.state.units.emplace_back();
    static_cast<allot::unit_state&>(to) = u;
    to.what = j->name;
    if (j->holds) {
      to.where = std::move(j->where);
      if (!held) to.state = allot::job_state::running;
      if (j->started != 0) {
        to.since = j->started;
      } else if (!held) {
        to.since = now;
      }
      if (j->has_chosen) to.pick = {};
      to.pods = std::max<std::uint32_t>(1, j->what.pods.total ? 1 : j->what.pods.pods);
    } else {
      if (to.state == allot::job_state::nominated) to.where = u.where;
      const bool is_early = to.state == allot::job_state::pending && j->what.ready > m.now;
      to.ready_at = is_early ? std::optional{j->what.ready} : std::nullopt;
    }
    e.jobs.emplace_back(std::move(j->name), std::move(j->what));
  }
  return e;
}

}  // namespace allot_governor

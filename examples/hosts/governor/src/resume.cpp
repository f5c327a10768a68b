// SPDX-License-Identifier: BSL-1.0
#include "governor/src/resume.hpp"

#include <algorithm>
#include <utility>

namespace allot_governor {

event resume_from(const saved_state& s, allot::delay_cause changed, milliseconds now,
                  const std::function<std::optional<continued_job>(const job_identity&)>& find) {
  event e;
  e.is = event::kind::resume;
  e.state.memory = s.memory;
  if (changed != allot::delay_cause::none) {
    e.state.memory.cause = changed;
    e.state.memory.starts_may_move = e.state.memory.must_requeue = true;
  }
  // After a step of the clock.
  e.state.memory.now = std::min(e.state.memory.now, now);
  bool has_freed = false;
  for (const auto& u : s.units) {
    const bool held = u.state == allot::job_state::running || u.state == allot::job_state::evicting;
    auto j = find(u.what);
    const bool has_left = held && (!j || !j->holds);
    has_freed = has_freed || has_left;
    // One that waits again is submitted again: a pending unit without news would never be tried.
    if (!j || has_left) continue;
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
      const bool is_early = to.state == allot::job_state::pending && j->what.ready > e.state.memory.now;
      to.ready_at = is_early ? std::optional{j->what.ready} : std::nullopt;
    }
    e.jobs.emplace_back(std::move(j->name), std::move(j->what));
  }
  // The scheduler of `s` does not know that others may have it now.
  if (has_freed) {
    auto& m = e.state.memory;
    m.starts_may_move = m.must_requeue = true;
    m.freed_until = allot::without_end;
    m.touched.clear();
    for (std::size_t x = 0; x < m.quotas.size(); ++x) m.touched.push_back(allot::quota_id{x});
  }
  return e;
}

}  // namespace allot_governor

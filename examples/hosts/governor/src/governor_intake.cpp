// SPDX-License-Identifier: BSL-1.0
// What the host says becomes events for the scheduler.
#include "governor/src/backoff.hpp"
#include "governor/src/governor.hpp"

#include <algorithm>
#include <utility>

namespace allot_governor {

namespace {

using stage = job_report::stage;

/// After a run of this length the failures before it no longer count.
constexpr std::int64_t long_run_ms = 300'000;

}  // namespace

/// Returns whether the scheduler may decide.
bool governor::take_in(changes&& c) {
  if (c.quotas) reconfigure(std::move(*c.quotas));
  if (c.machines) take_in_machines(std::move(*c.machines), std::move(c.levels));
  std::vector<job_name> changed;
  for (job_report& j : c.jobs) {
    const job_name name = j.name;
    if (const record* const r = find(name); r != nullptr && r->is.uid != j.uid) forget(name);
    if (j.at == stage::ended) {
      forget(name);
      continue;
    }
    learn(records_[name], std::move(j));
    changed.push_back(name);
  }
  for (const job_name& name : c.gone) forget(name);
  if (!quotas_) return false;
  const bool is_news = !changed.empty() || !c.gone.empty();
  // In observe mode nothing that was decided has happened, so each change starts from the host's state.
  if (starts_over_ || engine_ == nullptr || (options_.observes && is_news)) {
    start_over();
    if (engine_ == nullptr) return false;
  } else {
    for (const job_name& name : changed) {
      record* const r = find(name);
      if (r != nullptr) take_in(*r);
    }
    // What they had there has been given back by now.
    tell_lost_gpus();
  }
  for (const job_name& name : c.cured) end_backoff(name);
  return true;
}

void governor::end_backoff(const job_name& cured) {
  record* const r = find(cured);
  if (r == nullptr || r->at != phase::not_ready || r->backs_off_until <= now_.wall) return;
  r->backs_off_until = now_.wall;
  evaluate(*r);
}

void governor::take_in_machines(std::vector<machine_report> now, std::vector<std::string> levels) {
  const std::vector<machine_report> before = std::exchange(machines_, std::move(now));
  const bool are_same = std::equal(machines_.begin(), machines_.end(), before.begin(), before.end(),
                                   [](const auto& a, const auto& b) { return a.is == b.is; }) &&
                        levels_ == levels;
  levels_ = std::move(levels);
  if (!are_same && engine_ != nullptr && !starts_over_) starts_over_ = allot::delay_cause::cluster;
  std::set<std::string_view> closed;
  for (const machine_report& m : before) {
    if (!m.is_open) closed.insert(m.is.name);
  }
  bool has_opened = false;
  for (const machine_report& m : machines_) {
    if (m.is_open == (closed.count(m.is.name) == 0)) continue;
    log_("node", {{"node", m.is.name}, {"state", m.state}, {"why", m.why}});
    // A new scheduler is told of those that are closed.
    if (starts_over_ || engine_ == nullptr) continue;
    event e;
    e.is = m.is_open ? event::kind::open : event::kind::close;
    e.node = m.is.name;
    tell(e);
    has_opened = has_opened || m.is_open;
  }
  if (!has_opened) return;
  // What could never start without these machines may do now.
  for (auto& [name, r] : records_) {
    if (r.at != phase::refused) continue;
    r.told = {};
    evaluate(r);
  }
}

/// They are told as jobs that are not governed.
void governor::tell_lost_gpus() {
  std::map<std::string, std::uint32_t> now;
  for (const machine_report& m : machines_) {
    if (m.lost_gpus > 0) now[m.is.name] = m.lost_gpus;
  }
  const auto say = [&](event::kind what, const std::string& node, std::uint32_t gpus) {
    event e;
    e.is = what;
    e.key = "lost GPUs of " + node;
    if (gpus > 0) e.where = {{node, gpus, 0}};
    tell(e);
  };
  for (const auto& [node, gpus] : lost_) {
    const auto at = now.find(node);
    if (at == now.end() || at->second != gpus) say(event::kind::foreign_gone, node, 0);
  }
  for (const auto& [node, gpus] : now) {
    const auto at = lost_.find(node);
    if (at == lost_.end() || at->second != gpus) say(event::kind::foreign, node, gpus);
  }
  lost_ = std::move(now);
}

void governor::forget(const job_name& name) {
  record* const r = find(name);
  if (r == nullptr) return;
  if (r->at == phase::foreign && engine_ != nullptr) {
    tell(event::kind::foreign_gone, name);
  } else {
    drop(*r);
  }
  enter(*r, phase::unknown);
  backing_off_.erase(name);
  records_.erase(name);
}

/// The scheduler no longer knows it.
void governor::drop(const record& r) {
  if (engine_ == nullptr || !engine_->contains(r.is.name)) return;
  tell(has_share(r) ? event::kind::finished : event::kind::cancel, r.is.name);
}

void governor::learn(record& r, job_report&& is) {
  const bool had_no_reason = !r.is.is_told;
  r.is = std::move(is);
  if (had_no_reason && r.is.is_told) dirty(r);
}

void governor::take_in(record& r) {
  if (!r.is.is_governed || (r.at == phase::foreign && r.is.at != stage::waiting)) return take_in_foreign(r);
  if (r.at == phase::foreign) {
    tell(event::kind::foreign_gone, r.is.name);
    enter(r, phase::unknown);
  }
  if (r.is.at == stage::waiting) {
    if (has_share(r)) return take_in_ended_run(r);
    return evaluate(r);
  }
  take_in_holding(r);
}

/// What it has of machines is not free; nobody counts it.
void governor::take_in_foreign(record& r) {
  if (r.at != phase::foreign) drop(r);
  const bool has_machines = r.is.at != stage::waiting && !r.is.where.empty();
  if (has_machines == (r.at == phase::foreign)) {
    if (!has_machines) enter(r, phase::unknown);
    return;
  }
  event e;
  e.is = has_machines ? event::kind::foreign : event::kind::foreign_gone;
  e.key = r.is.name;
  if (r.is.what) e.what.pods = r.is.what->pods;
  e.where = r.is.where;
  tell(e);
  enter(r, has_machines ? phase::foreign : phase::unknown);
}

/// It had its share, and waits again. Returns whether its start has failed.
bool governor::note_ended_run(record& r) {
  const bool was_released = r.at == phase::released;
  if (std::exchange(r.is_in_doubt, false) && was_released) return false;
  if (!was_released) {
    log_("left", {{"job", r.is.name}, {"restarts", std::to_string(r.is.restarts)}});
    if (r.has_run && now_.wall - r.is.started > long_run_ms) r.failures = 0;
  }
  if (!r.is.has_failed.value_or(was_released)) return false;
  ++totals_.failed_starts;
  r.backs_off_until = count_failure(r);
  r.reason = "it is tried again later: " +
             (r.is.why_not_started.empty() ? "it was started, and did not run" : r.is.why_not_started);
  log_("failed", {{"job", r.is.name}, {"user", r.is.user}, {"why", r.reason}});
  return true;
}

void governor::take_in_ended_run(record& r) {
  const bool was_released = r.at == phase::released;
  if (note_ended_run(r) && was_released) {
    tell(event::kind::start_failed, r.is.name, r.backs_off_until);
    enter(r, phase::waiting);
  } else {
    give_back(r);
  }
  evaluate(r);
}

/// It starts, runs or leaves.
void governor::take_in_holding(record& r) {
  const job_report& j = r.is;
  r.is_in_doubt = false;
  if (!has_share(r)) {
    if (!j.was_forced) ++totals_.ran_unasked;
    adopt(r, true);
  } else {
    facts is = j.has ? *j.has : j.what ? *j.what : r.told;
    // Of no concern to who has its share.
    is.ready = r.told.ready;
    is.preempts = r.told.preempts;
    const bool asks_for_more = j.has ? !engine_->counts_for(j.name, is) : is != r.told;
    const bool moved =
        quotas_->places_jobs && !j.where.empty() && !is_same_place(engine_->where(j.name), j.where);
    // Who waits for it to leave would start at once if it were another job from now on.
    if (moved || (asks_for_more && r.at != phase::leaving)) {
      event e;
      e.is = event::kind::alter;
      e.key = j.name;
      e.what = r.told = is;
      e.at = j.started;
      e.where = j.where;
      tell(e);
      if (moved) log_("adopt", {{"job", j.name}, {"why", "it runs on other machines"}});
      if (!has_share(r)) return adopt(r, true);
    } else if (r.at == phase::released && j.at == stage::running) {
      tell(event::kind::started, j.name, j.started);
    }
  }
  if (!has_share(r)) return;
  if (j.at == stage::running) r.has_run = true;
  const bool is_evicted = engine_->state(j.name) == allot::job_state::evicting;
  if (j.at == stage::leaving) {
    if (!is_evicted && !j.keeps_share) tell(event::kind::evicting, j.name);
    if (r.at != phase::leaving) {
      if (!j.keeps_share) r.leaves_since = now_.steady;
      r.reason = j.keeps_share ? j.not_ready : "it is being evicted, not by the governor";
      enter(r, phase::leaving);
      r.has_run = true;
    }
    return;
  }
  if (r.at == phase::leaving && is_evicted) return;
  enter(r, j.at == stage::starting ? phase::released : phase::running);
}

void governor::wait_with(record& r, phase as, std::string reason) {
  const job_name& name = r.is.name;
  if (engine_->contains(name)) tell(event::kind::cancel, name);
  if (as == phase::refused && std::exchange(r.refusal, reason) != reason) {
    ++totals_.refused;
    log_("refuse", {{"job", name}, {"user", r.is.user}, {"account", r.is.account}, {"why", reason}});
  }
  if (r.reason != reason) dirty(r);
  r.reason = std::move(reason);
  enter(r, as);
}

/// Whether a job that waits may be tried, and as what.
void governor::evaluate(record& r) {
  const job_report& j = r.is;
  if (!j.blocked.empty()) return wait_with(r, phase::not_ready, j.blocked);
  if (!j.what || !j.refused.empty()) {
    r.told = {};
    return wait_with(r, phase::refused, j.refused);
  }
  facts what = *j.what;
  what.ready = std::max(what.ready, r.backs_off_until);
  // For the same reason as before.
  if (r.at == phase::refused && what == r.told) return wait_with(r, phase::refused, r.reason);
  if (!engine_->contains(j.name) || what != r.told) {
    event e;
    e.is = engine_->contains(j.name) ? event::kind::alter : event::kind::submit;
    e.key = j.name;
    e.what = r.told = what;
    tell(e);
    r.is_untried = true;
  }
  if (!engine_->contains(j.name)) {
    const bool could_fit = engine_->could_ever_fit(what);
    if (!could_fit && j.later && engine_->could_ever_fit(*j.later))
      return wait_with(r, phase::not_ready, j.why_later);
    std::string never = engine_->why_never(what);
    if (never.empty()) {
      never = could_fit ? "its request can't be counted"
                        : "the cluster has no place for it: " + engine_->why_no_place(what);
    }
    return wait_with(r, phase::refused, std::move(never));
  }
  if (what.ready <= now_.wall) {
    backing_off_.erase(j.name);
    return enter(r, phase::waiting);
  }
  // The scheduler knows when it is ready.
  backing_off_.insert(j.name);
  std::string why =
      r.backs_off_until > now_.wall && r.backs_off_until >= j.what->ready ? r.reason : j.not_ready;
  if (why.empty()) why = "it begins at " + time_text(what.ready);
  if (r.reason != why) dirty(r);
  r.reason = std::move(why);
  enter(r, phase::not_ready);
}

/// Those whose time has come, which the scheduler knows without being told.
void governor::end_backoffs() {
  std::erase_if(backing_off_, [this](const job_name& name) {
    record* const r = find(name);
    if (r == nullptr || r->at != phase::not_ready) return true;
    if (r->told.ready > now_.wall) return false;
    enter(*r, phase::waiting);
    return true;
  });
}

}  // namespace allot_governor

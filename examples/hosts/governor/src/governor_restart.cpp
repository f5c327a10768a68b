// SPDX-License-Identifier: BSL-1.0
// A new scheduler for the jobs as the host knows them: at the start, under other quotas, when machines come
// or go, after a step of the clock.
#include "governor/src/events_log.hpp"
#include "governor/src/governor.hpp"
#include "governor/src/resume.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace allot_governor {

namespace {
using stage = job_report::stage;
}  // namespace

memory governor::remembers() const {
  // Until there is a scheduler, what was remembered is still to be used.
  return engine_ == nullptr ? remembered_.value_or(memory{}) : stands();
}

memory governor::stands() const {
  memory m;
  if (engine_ == nullptr) return m;
  const auto identity = [&](const job_name& name) {
    const auto at = records_.find(name);
    return job_identity{name, at == records_.end() ? std::string{} : at->second.is.uid};
  };
  m.state = engine_->state().transformed([&](const auto& u) { return identity(u.what); },
                                         [](const auto& u) { return u.where; });
  for (const job_name& name : leaving_) {
    const record& r = records_.at(name);
    if (engine_->state(name) != allot::job_state::evicting) continue;
    const bool is_told = r.is.at == stage::leaving && r.leaves_since;
    m.leaving.push_back({identity(name), is_told ? now_.wall - (now_.steady - *r.leaves_since) : 0});
  }
  for (const auto& [name, r] : records_) {
    if (r.failures > 0) m.backoffs.push_back({identity(name), r.backs_off_until, r.failures});
  }
  host_.remember(m);
  return m;
}

governor::record* governor::find(const job_identity& job) {
  record* const r = find(job.name);
  return r != nullptr && r->is.uid == job.uid ? r : nullptr;
}

/// A job that has its share becomes the scheduler's.
void governor::adopt(record& r, bool is_news) {
  const job_report& j = r.is;
  if (engine_->contains(j.name)) tell(event::kind::cancel, j.name);
  const std::optional<facts>& what = j.has ? j.has : j.what;
  event e;
  e.key = j.name;
  e.where = j.where;
  if (!what) {
    // It runs although it may not: nobody counts it, and what it has is not free.
    if (r.at != phase::foreign)
      log_("refuse", {{"job", j.name}, {"user", j.user}, {"state", "running"}, {"why", j.refused}});
    e.is = event::kind::foreign;
    tell(e);
    return enter(r, phase::foreign);
  }
  e.is = event::kind::adopt;
  e.what = r.told = *what;
  e.at = j.started == 0 ? now_.wall : j.started;
  tell(e);
  if (engine_->contains(j.name)) note_adopted(r, is_news);
}

void governor::note_adopted(record& r, bool is_news) {
  const job_report& j = r.is;
  // A new scheduler in a governor that runs takes over what it had: that is no news.
  if (is_news) {
    ++totals_.adopted;
    log_("adopt", {{"job", j.name},
                   {"user", j.user},
                   {"account", j.account},
                   {"state", j.at == stage::starting ? "released" : "running"}});
  }
  enter(r, j.at == stage::starting ? phase::released : phase::running);
}

void governor::resume(const saved_state& s, allot::delay_cause changed) {
  tell(resume_from(s, changed, now_.wall, [&](const job_identity& job) -> std::optional<continued_job> {
    record* const r = find(job);
    if (r == nullptr || !r->is.is_governed) return std::nullopt;
    const job_report& j = r->is;
    const bool holds = j.at != stage::waiting;
    const std::optional<facts>& what = holds && j.has ? j.has : j.what;
    if (!what || (!holds && (!j.blocked.empty() || !j.refused.empty()))) return std::nullopt;
    r->told = *what;
    if (!holds) r->told.ready = std::max(what->ready, r->backs_off_until);
    return continued_job{j.name, r->told, holds, j.where, j.started, j.has.has_value()};
  }));
}

bool governor::make_engine() {
  engine_setup setup{.quotas = quotas_->file,
                     .text = quotas_->text,
                     .own_key = quotas_->own_key,
                     .places_jobs = quotas_->places_jobs,
                     .one_pod_a_machine = quotas_->one_pod_a_machine,
                     .has_other_machines = quotas_->has_other_machines,
                     .levels = levels_};
  for (const machine_report& m : machines_) setup.machines.push_back(m.is);
  auto made = engine::make(std::move(setup));
  if (made) {
    why_no_engine_.clear();
    engine_ = std::move(made).value();
    return true;
  }
  // Without a scheduler nothing is decided; the next change of machines or quotas may mend it.
  const std::string why = made.problems().front().text;
  if (why != why_no_engine_) log_("config", {{"state", "unusable"}, {"why", why}});
  why_no_engine_ = why;
  engine_.reset();
  return false;
}

void governor::start_over() {
  const bool is_first = engine_ == nullptr;
  const memory m = remembered_ ? *std::exchange(remembered_, std::nullopt) : stands();
  if (!make_engine()) {
    remembered_ = m;
    return;
  }
  const auto changed = std::exchange(starts_over_, std::nullopt).value_or(allot::delay_cause::none);
  if (next_events_) around_.events = std::exchange(next_events_, {});
  if (around_.events) around_.events(to_json(engine_->setup()));
  if (is_frozen_) tell({.is = event::kind::freeze});
  for (const auto& b : m.backoffs) {
    record* const r = find(b.job);
    // Some have the host's words alone.
    if (r == nullptr || b.failures == 0) continue;
    r->backs_off_until = b.until;
    r->failures = b.failures;
    if (r->reason.empty()) r->reason = "it is tried again later: it was started, and did not run";
  }
  leaving_.clear();
  backing_off_.clear();
  std::vector<record*> all;
  for (auto& [name, r] : records_) all.push_back(&r);
  std::stable_sort(all.begin(), all.end(), [](const record* a, const record* b) {
    return std::tie(a->is.submitted, a->is.name) < std::tie(b->is.submitted, b->is.name);
  });
  for (record* const r : all) {
    const bool had_share = r->at == phase::released || r->at == phase::running || r->at == phase::leaving;
    if (had_share && r->is.at == stage::waiting) static_cast<void>(note_ended_run(*r));
  }
  if (m.state) resume(*m.state, changed);
  std::vector<record*> waiting;
  for (record* const r : all) {
    // It does not leave while it is told.
    const auto leaves_since = std::exchange(r->leaves_since, std::nullopt);
    const auto leaves_how = r->leaves_how;
    const std::int64_t since = r->since;
    const bool had_run = r->has_run;
    r->at = phase::unknown;
    if (!r->is.is_governed) {
      take_in_foreign(*r);
    } else if (r->is.at == stage::waiting) {
      waiting.push_back(r);
    } else {
      engine_->contains(r->is.name) ? note_adopted(*r, is_first) : adopt(*r, is_first);
      if (r->at == phase::released || r->at == phase::running) {
        r->since = since;
        r->has_run = had_run || r->is.at != stage::starting;
      }
    }
    r->leaves_since = leaves_since;
    r->leaves_how = leaves_how;
  }
  lost_.clear();
  tell_lost_gpus();
  const auto leaves = [&](record& r) {
    if (!has_share(r)) return;
    if (engine_->state(r.is.name) == allot::job_state::running) tell(event::kind::evicting, r.is.name);
    const bool had_run = r.has_run;
    if (!r.leaves_since) r.leaves_since = now_.steady;
    enter(r, phase::leaving);
    r.has_run = had_run;
    if (r.reason.empty()) r.reason = "it yields, as was decided before";
  };
  if (!options_.observes) {
    for (const auto& l : m.leaving) {
      record* const r = find(l.job);
      if (r == nullptr || r->is.at == stage::waiting) continue;
      if (!r->leaves_since && l.since != 0)
        r->leaves_since = now_.steady - std::max<std::int64_t>(0, now_.wall - l.since);
      leaves(*r);
    }
  }
  for (record* const r : all) {
    if (r->is.at == stage::leaving) r->is.keeps_share ? enter(*r, phase::leaving) : leaves(*r);
    if (r->at != phase::leaving) r->leaves_since.reset();
  }
  for (const machine_report& on : machines_) {
    if (on.is_open) continue;
    event e;
    e.is = event::kind::close;
    e.node = on.is.name;
    tell(e);
  }
  for (record* const r : waiting) {
    if (engine_->contains(r->is.name)) r->at = phase::waiting;
    r->is_untried = true;
    evaluate(*r);
  }
}

}  // namespace allot_governor

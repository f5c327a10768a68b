// SPDX-License-Identifier: BSL-1.0
// A new scheduler for the jobs as Slurm knows them: at the start, under another configuration, when machines
// come or go, after a step of the clock.
#include "governor.hpp"
#include "governor/src/resume.hpp"
#include "machines.hpp"
#include "words.hpp"

#include "governor/src/events_log.hpp"

#include <algorithm>
#include <utility>

namespace allot_slurm {

bool governor::is_older(const record* a, const record* b) {
  if (a->is.submitted != b->is.submitted) return a->is.submitted < b->is.submitted;
  return a->is.key < b->is.key;
}

job_identity governor::identity_of(const job& j) {
  return {to_string(j.key), std::to_string(j.submitted)};
}

memory governor::remembers() const {
  // Until there is a scheduler, what was remembered is still to be used.
  if (engine_ == nullptr) return remembered_.value_or(memory{});
  return stands();
}

memory governor::stands() const {
  memory m;
  if (engine_ == nullptr) return m;
  const auto identity = [&](const job_name& n) {
    const record* const r = find(n);
    return r == nullptr ? job_identity{n, "0"} : identity_of(r->is);
  };
  m.state = engine_->state().transformed([&](const auto& u) { return identity(u.what); },
                                         [](const auto& u) { return u.where; });
  for (const auto& u : m.state->units) {
    if (u.state != allot::job_state::evicting) continue;
    const record* const r = find(u.what.name);
    const bool is_warned = r != nullptr && r->warned;
    m.leaving.push_back({u.what, is_warned ? now_.wall - (now_.steady - *r->warned) : 0});
  }
  for (const auto& [k, r] : records_) {
    if (r.failures > 0 || r.had_victims || r.is_impossible)
      m.backoffs.push_back({identity_of(r.is), r.backs_off_until, r.failures, own_words(r)});
  }
  return m;
}

/// What is remembered of starts that failed.
std::string governor::own_words(const record& r) {
  std::string own;
  const auto add = [&](bool is, const char* word) {
    if (is) own.append(own.empty() ? "" : ",").append(word);
  };
  add(r.had_victims, "had_victims");
  add(r.is_spent, "spent");
  add(r.is_impossible, "impossible");
  add(r.needs == cure::time, "needs_time");
  add(r.needs == cure::somebody, "needs_somebody");
  return own;
}
void governor::read_own_words(record& r, std::string_view own) {
  r.had_victims = has_word(own, "had_victims");
  r.is_spent = has_word(own, "spent");
  r.is_impossible = has_word(own, "impossible");
  r.needs = has_word(own, "needs_time")       ? cure::time
            : has_word(own, "needs_somebody") ? cure::somebody
                                              : cure::room;
}

bool governor::was_admitted(const record& r) const {
  if (r.at == phase::released || r.at == phase::leaving) return true;
  return r.at == phase::unknown && r.is.admin_comment.starts_with(std::string{mark} + "admitted");
}

/// A job that has nodes, or is about to get them, becomes the scheduler's.
void governor::adopt(record& r, bool is_news) {
  const job& j = r.is;
  std::string problem;
  auto what = facts_of(j, problem);
  if (!what) {
    // It runs although it may not: nobody counts it, and what it has is not free.
    if (r.at != phase::foreign) {
      log_("refuse", {{"job", to_string(j.key)}, {"user", j.user}, {"state", "running"}, {"why", problem}});
    }
    event e;
    if (engine_->contains(name(r))) {
      e.is = event::kind::cancel;
      e.key = name(r);
      tell(e);
    }
    e.is = event::kind::foreign;
    e.key = name(r);
    e.where = j.nodes;
    tell(e);
    enter(r, phase::foreign);
    return;
  }
  if (engine_->contains(name(r))) {
    event e;
    e.is = event::kind::cancel;
    e.key = name(r);
    tell(e);
  }
  const bool is_pending = j.state == run_state::pending;
  event e;
  e.is = event::kind::adopt;
  e.key = name(r);
  e.what = r.what = *what;
  e.at = is_pending ? now_.wall : j.started * 1000;
  e.where = is_pending ? r.sent_to : j.nodes;
  tell(e);
  if (engine_->contains(e.key)) note_adopted(r, is_news);
}

void governor::note_adopted(record& r, bool is_news) {
  const job& j = r.is;
  const bool is_pending = j.state == run_state::pending;
  const char* const state = is_pending                      ? "released"
                            : j.state == run_state::running ? "running"
                                                            : "completing";
  // A new scheduler in a governor that runs takes over what it had: that is no news.
  if (is_news) {
    ++totals_.adopted;
    log_("adopt", {{"job", to_string(j.key)}, {"user", j.user}, {"account", j.account}, {"state", state}});
  }
  enter(r, is_pending ? phase::released : phase::running);
  if (is_pending) {
    r.released = now_.steady;
    r.released_after = j.restarts;
  }
  if (is_pending) return;
  r.ran_since = j.started * 1000;
  r.ran_on.clear();
  for (const node_share& s : j.nodes) r.ran_on.push_back(s.node);
}

void governor::resume(const saved_state& s, allot::delay_cause changed, const std::vector<record*>& holding,
                      const std::vector<record*>& waiting) {
  const auto is_in = [](const std::vector<record*>& all, const record* r) {
    return std::binary_search(all.begin(), all.end(), r, is_older);
  };
  tell(resume_from(s, changed, now_.wall, [&](const job_identity& i) -> std::optional<continued_job> {
    record* const known = find(i);
    if (known == nullptr) return std::nullopt;
    record& r = *known;
    const bool holds = is_in(holding, &r);
    if (!holds && (!is_in(waiting, &r) || r.is.state != run_state::pending || !blocked(r).empty()))
      return std::nullopt;
    std::string problem;
    auto what = facts_of(r.is, problem);
    if (!what) return std::nullopt;
    if (!holds) what->ready = ready_at(r);
    what->preempts = may_preempt(r);
    r.what = *what;
    const bool has_run = r.is.state != run_state::pending;
    return continued_job{name(r), std::move(*what), holds, has_run ? r.is.nodes : r.sent_to,
                         has_run ? r.is.started * 1000 : 0};
  }));
}

void governor::start_over() {
  const bool is_first = engine_ == nullptr;
  const memory m = remembered_ ? *std::exchange(remembered_, std::nullopt) : stands();
  machines known =
      machines_of(nodes_, config_.slurm.places_jobs ? slurm_.topology() : std::vector<network_switch>{});
  engine_setup setup{.quotas = config_.quotas,
                     .text = config_.text,
                     .own_key = std::string{words.key},
                     .places_jobs = config_.slurm.places_jobs,
                     .one_pod_a_machine = true,
                     .machines = std::move(known.all),
                     .levels = std::move(known.levels)};
  auto made = engine::make(std::move(setup));
  if (!made) {
    // Without a scheduler nothing is decided; the next change of nodes or configuration may mend it.
    const std::string why = made.problems().front().text;
    if (why != why_no_engine_) log_("config", {{"state", "unusable"}, {"why", why}});
    why_no_engine_ = why;
    engine_.reset();
    return;
  }
  why_no_engine_.clear();
  const auto changed = std::exchange(starts_over_, std::nullopt).value_or(allot::delay_cause::none);
  engine_ = std::move(made).value();
  pool_like_.clear();
  for (const node& n : nodes_) pool_like_.emplace(pool_of(n), n);
  if (next_events_) around_.events = std::exchange(next_events_, {});
  if (around_.events) around_.events(to_json(engine_->setup()));
  if (is_frozen_) tell({.is = event::kind::freeze});
  // Who is what, before anything is told.
  std::vector<record*> holding;
  std::vector<record*> waiting;
  // A requeue gave them another time of submission.
  const auto was = [&](const job_identity& i) {
    record* const r = find(i.name);
    if (r != nullptr && is_same(r->is, i)) r->is.submitted = submitted_of(i);
  };
  for (const auto& b : m.backoffs) was(b.job);
  for (const auto& l : m.leaving) was(l.job);
  if (m.state) {
    for (const auto& u : m.state->units) was(u.what);
  }
  for (const auto& b : m.backoffs) {
    if (record* r = find(b.job)) {
      r->backs_off_until = b.until;
      r->failures = b.failures;
      read_own_words(*r, b.own);
      if (!r->tried_as) r->tried_as = r->is;
      if (r->reason.empty() && r->failures > 0) r->reason = "it is tried again later: Slurm did not start it";
    }
  }
  limited_.clear();
  strays_.clear();
  leaving_.clear();
  released_.clear();
  not_ready_.clear();
  settling_.clear();
  for (auto& [k, r] : records_) {
    const bool has_nodes = r.is.state == run_state::running || r.is.state == run_state::completing;
    const bool admitted = r.is.state == run_state::pending && !r.is.is_held && was_admitted(r);
    if (admitted && r.sent_to.empty()) {
      for (const job& part : parts_of(r.is)) {
        const auto on = places_in(part.admin_comment);
        r.sent_to.insert(r.sent_to.end(), on.begin(), on.end());
      }
    }
    r.at = phase::unknown;
    r.settles_until.reset();
    r.is_reserved_out = false;
    count(r);
    if (r.is.state == run_state::ended) {
      // It died of a warning, and is requeued.
      enter(r, phase::leaving);
      continue;
    }
    if (!config_.governs(r.is.partition)) {
      take_in(r);
    } else if (has_nodes || (admitted && !observes_)) {
      holding.push_back(&r);
    } else {
      waiting.push_back(&r);
    }
  }
  std::sort(holding.begin(), holding.end(), is_older);
  std::sort(waiting.begin(), waiting.end(), is_older);
  for (auto& [name, lost] : lost_) {
    if (lost.is_told) tell(lost_on(name));
  }
  if (m.state) resume(*m.state, changed, holding, waiting);
  for (record* r : holding) {
    const auto warned = r->warned;
    const bool had_run = r->has_run;
    engine_->contains(name(*r)) ? note_adopted(*r, is_first) : adopt(*r, is_first);
    r->warned = warned;
    if (r->at == phase::released) r->has_run = had_run;
  }
  const auto leaves = [&](record& r) {
    event e;
    e.is = event::kind::evicting;
    e.key = name(r);
    const auto warned = r.warned;
    const bool had_run = r.has_run;
    if (!engine_->contains(e.key)) return;
    if (engine_->state(e.key) == allot::job_state::running) tell(e);
    if (engine_->state(e.key) != allot::job_state::evicting) return;
    enter(r, phase::leaving);
    r.warned = warned;
    r.has_run = had_run;
  };
  for (const auto& l : m.leaving) {
    record* const r = find(l.job);
    if (r == nullptr && is_first) {
      log_("requeue", {{"job", l.job.name},
                       {"failed",
                        "it left while there was no governor, and Slurm has forgotten it (MinJobAge): it "
                        "has to be submitted again"}});
    }
    if (r == nullptr || observes_) continue;
    if (l.since != 0 && !r->warned) r->warned = now_.steady - std::max<std::int64_t>(0, now_.wall - l.since);
    leaves(*r);
  }
  for (record* r : holding) {
    if (r->is.state == run_state::completing) clean_up(*r);
  }
  for (const std::string& name : closed_) {
    event e;
    e.is = event::kind::close;
    e.node = name;
    tell(e);
  }
  for (record* r : waiting) {
    if (!r->is.is_held && !observes_) {
      const bool is_forced = r->is.admin_comment.starts_with(forced_mark);
      (is_forced ? forced_ : strays_).insert(r->is.key);
    }
    if (engine_->contains(name(*r))) enter(*r, phase::waiting);
    evaluate(*r);
  }
}

}  // namespace allot_slurm

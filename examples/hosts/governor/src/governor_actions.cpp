// SPDX-License-Identifier: BSL-1.0
// What the scheduler decides becomes commands for the host.
#include "governor/src/backoff.hpp"
#include "governor/src/events_log.hpp"
#include "governor/src/governor.hpp"
#include "governor/src/plan_log.hpp"
#include "governor/src/waiting_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace allot_governor {

namespace {

using stage = job_report::stage;

/// Between two commands for the same job, if the first did not help.
constexpr std::int64_t retry_ms = 2000;
/// Between two reasons of a job that goes on waiting, and how many such ones there are in a second.
constexpr std::int64_t told_again_ms = 10'000;
constexpr std::int64_t told_a_second = 3;
/// Bounds of what one tick may cost.
constexpr std::size_t most_checks = 200;
constexpr std::size_t most_looked_at = most_checks / 4;

[[nodiscard]] std::string gpus_text(const facts& f) {
  const auto gpus = [](const allot::gpu::pod_request& each, std::uint32_t pods) {
    return each.gpus.in_milli() / 1000 * (each.total ? 1 : pods);
  };
  std::int64_t sum = f.sets.empty() ? gpus(f.pods, f.pods.pods) : 0;
  for (const auto& s : f.sets) sum += gpus(s.pods.each, s.pods.pods);
  return sum == 0 ? std::string{} : std::to_string(sum);
}

}  // namespace

/// Until nothing more can start: in some policies a step decides on one job of each quota.
void governor::decide() {
  std::vector<command> all;
  bool is_settled = false;
  while (!is_settled && all.size() < options_.starts_per_tick) {
    const decision& d = engine_->step(now_.wall);
    if (around_.events) around_.events(to_json(d, now_.wall));
    is_settled = d.admissions.empty() || !d.evictions.empty();
    // Who is to start may be a victim already.
    if (!d.evictions.empty()) carry_out(std::exchange(all, {}));
    act(d, all);
  }
  if (options_.observes) return;
  // Until then nobody knows why the others wait.
  if (is_settled) add_explanations(all);
  carry_out(std::move(all));
}

void governor::act(const decision& d, std::vector<command>& all) {
  if (options_.observes) return log_only(d, options_.words.eviction, log_, would_do_);
  // A victim may go at once, and the governor before it sees that.
  if (!d.evictions.empty() && around_.remember) around_.remember(stands());
  std::vector<command> stops;
  for (const auto& e : d.evictions) {
    record* const r = find(e.key);
    if (r == nullptr) continue;
    // It could not be started just now.
    if (r->at == phase::not_ready) {
      give_back(*r);
      continue;
    }
    evict(*r, e);
    add_stop(*r, stops);
  }
  carry_out(std::move(stops));
  for (const auto& n : d.nominations) {
    record* const r = find(n.key);
    log_nomination(n, r == nullptr ? "" : r->is.user, log_);
    if (r != nullptr) dirty(*r);
  }
  // Under kueue they are given what victims leave, and these run on if they do not know.
  const bool may_start = d.admissions.empty() || engine_->scheduler().ledger().is_sound() ||
                         std::all_of(leaving_.begin(), leaving_.end(), [this](const job_name& name) {
                           const record& r = records_.at(name);
                           return r.is_told_to_leave || r.is.at == stage::leaving;
                         });
  for (const auto& a : d.admissions) {
    record* const r = find(a.key);
    if (r == nullptr) continue;
    if (!may_start) {
      put_off(*r, now_.wall + retry_ms, "it is tried again later: who is to leave was not told yet");
      continue;
    }
    command& c = all.emplace_back();
    c.is = command::kind::start;
    c.job = &r->is;
    c.admission = a;
    c.borrows = borrowed_text(a.borrows, quotas_->file);
  }
  for (const job_name& name : d.pending) {
    record* const r = find(name);
    if (r == nullptr) continue;
    dirty(*r);
    // Asked after the first attempt: until a policy has decided once, it may not know the capacity.
    std::string never = std::exchange(r->is_untried, false) ? engine_->why_never(name) : std::string{};
    if (!never.empty()) {
      wait_with(*r, phase::refused, std::move(never));
    } else if (const auto p = engine_->reservation_of(name)) {
      log_reservation(name, r->is.user, *p, r->told_start, log_);
    }
  }
}

void governor::evict(record& r, const decision::eviction& e) {
  const bool had_run = r.has_run || r.is.at == stage::running;
  enter(r, phase::leaving);
  r.leaves_since = now_.steady;
  if (std::exchange(r.was_evicted, true)) ++totals_.evicted_again;
  r.has_run = had_run;
  r.is_told_to_leave = false;
  r.next_try = 0;
  r.reason = e.text;
  r.leaves_how = e.how;
}

void governor::add_stop(record& r, std::vector<command>& all) {
  const bool can_be_asked = r.is.at == stage::starting || r.is.at == stage::running;
  if (!can_be_asked || r.is_in_doubt || now_.steady < r.next_try) return;
  command& c = all.emplace_back();
  c.is = command::kind::stop;
  c.job = &r.is;
  c.why = {r.reason, r.reason, {}};
  c.beneficiary = engine_->beneficiary(r.is.name);
  c.how = r.leaves_how.value_or(allot::relation{});
}

void governor::push_out_all() {
  if (options_.observes) return;
  std::vector<command> all;
  for (const job_name& name : leaving_) add_stop(records_.at(name), all);
  carry_out(std::move(all));
}

/// Carries out, and takes in what the answers say of the jobs.
void governor::carry_out(std::vector<command> all) {
  if (all.empty()) return;
  host_.carry_out(all);
  constexpr std::array<const char*, 4> words{"start", "force", "stop", "explain"};
  // The records may go while the answers are read.
  std::vector<std::pair<job_name, command>> answers;
  for (command& c : all) answers.emplace_back(c.job->name, std::move(c));
  for (auto& [name, c] : answers) {
    const char* const word = words[static_cast<std::size_t>(c.is)];
    ++last_.calls;
    ++totals_.calls;
    if (!c.result) ++totals_.failed_calls;
    if (c.result.is == outcome::kind::away) {
      note_away(c.result.text);
    } else if (!c.result && !c.is_logged) {
      failed_calls_.log(log_, options_.words.log, word, c.result.text);
    }
    record* const r = find(name);
    if (r == nullptr) continue;
    if (c.is == command::kind::start) note_start(*r, c);
    if (c.is == command::kind::force) log_forced(name, c.by, c.result.text);
    if (c.is == command::kind::stop) note_stop(*r, c);
    if (c.is == command::kind::explain) note_explanation(*r, c);
    if (!c.after) continue;
    learn(*r, std::move(*c.after));
    r->is.at == stage::ended ? forget(name) : take_in(*r);
  }
}

void governor::note_start(record& r, const command& c) {
  const job_name& name = r.is.name;
  // What may have been started keeps its share until the host knows.
  r.is_in_doubt = c.result.is == outcome::kind::away || c.result.is == outcome::kind::in_doubt;
  if (c.result || r.is_in_doubt) {
    enter(r, phase::released);
    r.is.at = stage::starting;
    r.is.where = c.admission.where;
  }
  if (c.result) {
    ++totals_.released;
    totals_.waited_ms += std::max<std::int64_t>(0, now_.wall - r.waits_since);
    return log_("release", {{"job", name},
                            {"user", r.is.user},
                            {"account", r.is.account},
                            {"gpus", gpus_text(r.told)},
                            {"quota", quotas_->file.quotas[r.told.quota.index()].spec.name},
                            {"nodes", names_of(c.admission.where)},
                            {"borrows", c.borrows}});
  }
  // What has been started a moment before may keep it from that.
  if (c.result.is == outcome::kind::too_late && c.after && !c.after->blocked.empty()) return give_back(r);
  log_("release", {{"job", name}, {"failed", c.result.text}});
  if (r.is_in_doubt) return;
  // It waits again. If it runs all the same, it is adopted.
  milliseconds until = now_.wall + retry_ms;
  if (c.result.is == outcome::kind::refused) {
    ++totals_.failed_starts;
    until = count_failure(r);
  }
  put_off(r, until, "it is tried again later: " + c.result.text);
}

/// It was admitted, and does not start.
void governor::put_off(record& r, milliseconds until, std::string why) {
  r.backs_off_until = r.told.ready = until;
  r.reason = std::move(why);
  tell(event::kind::start_failed, r.is.name, until);
  enter(r, phase::not_ready);
  backing_off_.insert(r.is.name);
}

void governor::note_stop(record& r, const command& c) {
  if (r.at != phase::leaving) return;
  r.next_try = now_.steady + retry_ms;
  if (!c.is_logged) {
    log_(options_.words.eviction, {{"job", r.is.name},
                                   {"user", r.is.user},
                                   {"for", c.beneficiary.value_or("")},
                                   {"why", r.reason},
                                   {"failed", c.result.text}});
  }
  if (c.result) {
    r.is_told_to_leave = true;
    ++totals_.requeued;
    return;
  }
  if (c.result.is != outcome::kind::refused) return;
  // It runs on, and those for whom it was to leave look for others.
  tell(event::kind::not_evicted, r.is.name, count_failure(r));
  enter(r, r.has_run ? phase::running : phase::released);
  take_in(r);
}

void governor::note_explanation(record& r, const command& c) {
  if (c.result) {
    r.is.said = c.why.for_users;
    return;
  }
  r.next_told = 0;
  dirty(r);
}

void governor::start(const job_name& name, const std::string& by) {
  record* const r = find(name);
  std::string why_not;
  if (options_.observes) {
    why_not = "it only observes";
  } else if (is_away_) {
    why_not = std::string{options_.words.server} + " does not answer";
  } else if (r == nullptr || engine_ == nullptr || !shown(r->at)) {
    why_not = "there is no such job, or it is not governed";
  } else if (r->is.at != stage::waiting && (r->is.at != stage::starting || r->at == phase::leaving)) {
    why_not = "it does not wait";
  } else if (r->is.at == stage::starting) {
    why_not = "it is released already";
  }
  if (!why_not.empty()) return log_forced(name, by, why_not);
  std::vector<command> all(1);
  all[0].is = command::kind::force;
  all[0].job = &r->is;
  all[0].by = by;
  carry_out(std::move(all));
}

void governor::log_forced(const job_name& name, const std::string& by, const std::string& why_not) {
  const record* const r = find(name);
  const bool is_ours = r != nullptr && shown(r->at);
  log_("start", {{"job", name},
                 {"user", is_ours ? r->is.user : std::string{}},
                 {"account", is_ours ? r->is.account : std::string{}},
                 {"by", by},
                 {"why", "an operator has asked for it"},
                 {"failed", why_not}});
}

/// Returns when it may be tried again.
milliseconds governor::count_failure(record& r) {
  const milliseconds until = now_.wall + backoff_ms(r.failures);
  r.failures = std::min<std::uint32_t>(r.failures + 1, 1000);
  return until;
}

explanation governor::explanation_of(const record& r) {
  switch (r.at) {
    case phase::refused:
      return {"refused: " + r.reason, "refused: " + r.reason, {}};
    case phase::not_ready:
      return {"waits: " + r.reason, "waits: " + r.reason, {}};
    case phase::waiting:
      break;
    default:
      return {};
  }
  explanation all;
  all.for_operators = waiting_text(*engine_, r.is.name, allot::addressee::operators, now_.wall);
  all.for_users = waiting_text(*engine_, r.is.name, allot::addressee::users, now_.wall);
  const auto p = engine_->reservation_of(r.is.name);
  if (p && p->start != allot::without_end && !p->gathers_since && p->start > now_.wall)
    all.latest_start = p->start;
  return all;
}

/// Those who wait are told why, if that has changed.
void governor::add_explanations(std::vector<command>& all) {
  // What has not changed may wait for another reason by now: all are looked at in turn.
  auto next = records_.upper_bound(next_to_check_);
  for (std::size_t i = 0; i < std::min(most_looked_at, records_.size()); ++i) {
    if (next == records_.end()) next = records_.begin();
    next_to_check_ = next->first;
    if (next->second.at == phase::waiting) dirty(next->second);
    ++next;
  }
  const auto is_commanded = [&](const job_report& j) {
    return std::any_of(all.begin(), all.end(), [&](const command& c) { return c.job == &j; });
  };
  std::size_t said = 0;
  std::size_t checked = 0;
  for (std::size_t left = dirty_.size(); left > 0 && !is_away_; --left) {
    if (said >= options_.explanations_per_tick || ++checked > most_checks) return;
    const job_name name = dirty_.front();
    dirty_.pop_front();
    record* const r = find(name);
    if (r == nullptr) continue;
    r->is_dirty = false;
    if (!r->is.is_told || is_commanded(r->is)) continue;
    const bool is_reserved = engine_->reservation_of(name).has_value();
    if (r->at == r->told_as && is_reserved == r->told_reserved && now_.steady < r->next_told) {
      dirty(*r);
      continue;
    }
    explanation why = explanation_of(*r);
    if (why.for_users.empty() || host_.shows(r->is, why)) continue;
    ++said;
    r->told_as = r->at;
    r->told_reserved = is_reserved;
    // With each start those behind it have another text: however many they are, so many are told in a second.
    r->next_told = now_.steady +
                   std::max(told_again_ms, static_cast<std::int64_t>(records_.size()) * 1000 / told_a_second);
    command& c = all.emplace_back();
    c.is = command::kind::explain;
    c.job = &r->is;
    c.why = std::move(why);
  }
}

}  // namespace allot_governor

// SPDX-License-Identifier: BSL-1.0
#include "governor/src/governor.hpp"

#include "governor/src/config_text.hpp"
#include "governor/src/events_log.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace allot_governor {

governor::governor(governor_options options, host& of, surroundings around)
    : options_(options), host_(of), around_(std::move(around)), log_(around_.log) {}

governor::~governor() = default;

void governor::reconfigure(governed_quotas q) {
  quotas_ = std::move(q);
  accept_config();
  if (engine_ != nullptr || !starts_over_) starts_over_ = allot::delay_cause::quotas;
}

void governor::note_refused_config(const std::vector<std::string>& problems) {
  ++totals_.reloads_refused;
  refused_config_ = refused_text(problems, now_.wall);
}

void governor::freeze(bool is_frozen) {
  if (std::exchange(is_frozen_, is_frozen) == is_frozen || engine_ == nullptr) return;
  tell({.is = is_frozen ? event::kind::freeze : event::kind::thaw});
}

void governor::tell(const event& e) {
  const std::string_view why_not = engine_->apply(e);
  if (around_.events) around_.events(to_json(e, why_not));
}
void governor::tell(event::kind what, const job_name& name, allot::instant at) {
  event e;
  e.is = what;
  e.key = name;
  e.at = at;
  tell(e);
}

void governor::set_time(moment now) {
  const std::int64_t step = clock_.set(now);
  now_ = clock_.now();
  log_.set_time(now_.wall);
  if (step == 0) return;
  for (auto& [k, r] : records_) {
    if (r.backs_off_until != 0) r.backs_off_until += step;
  }
  log_(options_.words.log,
       {{"clock", step < 0 ? "back" : "on"}, {"by_s", std::to_string(std::abs(step) / 1000)}});
  if (step < 0 && !starts_over_) starts_over_ = allot::delay_cause::none;
}

void governor::tick(moment now) {
  const std::int64_t begin = cpu_us();
  ++totals_.ticks;
  last_ = {};
  set_time(now);
  changes c;
  const outcome polled = host_.poll(c);
  const std::int64_t load_us = c.load_us;
  const auto account = [&] {
    last_.load_us = load_us;
    last_.tick_us = cpu_us() - begin - load_us;
    totals_.load_us += last_.load_us;
    totals_.tick_us += last_.tick_us;
  };
  if (!polled) {
    ++totals_.away;
    note_away(polled.text);
    return account();
  }
  // The clock here may be behind the host's, whose times the jobs have.
  clock_.saw(c.seen_at);
  now_ = clock_.now();
  if (std::exchange(is_away_, false)) log_(options_.words.log, {{"state", "back"}});
  if (!take_in(std::move(c))) return account();
  end_backoffs();
  push_out_all();
  decide();
  account();
}

std::optional<milliseconds> governor::wakes_at() {
  if (engine_ == nullptr) return std::nullopt;
  return engine_->wakes_at();
}

governor::record* governor::find(const job_name& name) {
  const auto at = records_.find(name);
  return at == records_.end() ? nullptr : &at->second;
}

bool governor::has_share(const record& r) const {
  if (engine_ == nullptr || !engine_->contains(r.is.name)) return false;
  const auto state = engine_->state(r.is.name);
  return state == allot::job_state::running || state == allot::job_state::evicting;
}

void governor::enter(record& r, phase to) {
  to == phase::leaving ? void(leaving_.insert(r.is.name)) : void(leaving_.erase(r.is.name));
  if (to != phase::leaving && r.leaves_since) {
    ++totals_.reclaimed;
    totals_.reclaim_ms += now_.steady - *std::exchange(r.leaves_since, std::nullopt);
  }
  if (to != phase::leaving) r.leaves_how.reset();
  const bool had_share = r.at == phase::released || r.at == phase::running || r.at == phase::leaving;
  if (had_share || r.at == phase::unknown) {
    r.waits_since = had_share || r.is.restarts > 0 ? now_.wall : r.is.submitted;
  }
  if (to == phase::running) r.has_run = true;
  if (to == phase::waiting || to == phase::released) r.has_run = false;
  if (to != r.at) {
    r.since = now_.steady;
    dirty(r);
  }
  r.at = to;
  host_.stands(r.is, shown(to));
}

std::optional<job_phase> governor::shown(phase p) {
  switch (p) {
    case phase::refused:
      return job_phase::refused;
    case phase::not_ready:
      return job_phase::not_ready;
    case phase::waiting:
      return job_phase::waiting;
    case phase::released:
      return job_phase::released;
    case phase::running:
      return job_phase::running;
    case phase::leaving:
      return job_phase::leaving;
    default:
      return std::nullopt;
  }
}

void governor::note_away(const std::string& why) {
  if (!std::exchange(is_away_, true)) log_(options_.words.log, {{"state", "away"}, {"why", why}});
}

/// What the scheduler counts for it is free again, and it waits.
void governor::give_back(record& r) {
  tell(event::kind::evicted, r.is.name);
  enter(r, phase::waiting);
}

void governor::dirty(record& r) {
  if (std::exchange(r.is_dirty, true)) return;
  dirty_.push_back(r.is.name);
}

}  // namespace allot_governor

// SPDX-License-Identifier: BSL-1.0
#include "governor.hpp"

#include "governor/src/config_text.hpp"
#include "governor/src/events_log.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

namespace allot_slurm {

seconds submitted_of(const job_identity& i) {
  seconds at = 0;
  std::from_chars(i.uid.data(), i.uid.data() + i.uid.size(), at);
  return at;
}

governor::governor(config c, cluster& slurm, surroundings around, bool observes)
    : config_(std::move(c)),
      slurm_(slurm),
      around_(std::move(around)),
      observes_(observes),
      log_(around_.log) {}

governor::~governor() = default;

void governor::reconfigure(config c) {
  config_ = std::move(c);
  refused_config_.clear();
  starts_over_ = allot::delay_cause::quotas;
}

void governor::note_refused_config(const std::vector<std::string>& problems) {
  ++totals_.reloads_refused;
  refused_config_ = refused_text(problems, now_.wall);
}

void governor::freeze(bool is_frozen) {
  if (std::exchange(is_frozen_, is_frozen) == is_frozen || engine_ == nullptr) return;
  tell({.is = is_frozen ? event::kind::freeze : event::kind::thaw});
}

const governor::record* governor::find(const job_name& n) const {
  const auto k = parse_job_key(n);
  const auto at = k ? records_.find(*k) : records_.end();
  return at == records_.end() ? nullptr : &at->second;
}

governor::record* governor::find(const job_identity& i) {
  record* const r = find(i.name);
  return r != nullptr && r->is.submitted == submitted_of(i) ? r : nullptr;
}

void governor::tell(const event& e) {
  const std::string_view why_not = engine_->apply(e);
  if (around_.events) around_.events(to_json(e, why_not));
}

void governor::set_time(moment now) {
  const std::int64_t step = clock_.set(now);
  now_ = clock_.now();
  log_.set_time(now_.wall);
  if (step == 0) return;
  for (auto& [k, r] : records_) {
    if (r.backs_off_until != 0) r.backs_off_until += step;
  }
  log_("slurm", {{"clock", step < 0 ? "back" : "on"}, {"by_s", std::to_string(std::abs(step) / 1000)}});
  if (step < 0 && !starts_over_) starts_over_ = allot::delay_cause::none;
}

void governor::tick(moment now) {
  const std::int64_t begin = cpu_us();
  ++totals_.ticks;
  last_ = {};
  set_time(now);
  changes c;
  const outcome polled = slurm_.poll(c);
  const auto account = [&] {
    last_.load_us = c.load_us;
    last_.tick_us = cpu_us() - begin - c.load_us;
    totals_.load_us += last_.load_us;
    totals_.tick_us += last_.tick_us;
  };
  if (!polled) {
    ++totals_.away;
    if (!is_away_) log_("slurm", {{"state", "away"}, {"why", polled.text}});
    is_away_ = true;
    // What has been learned before the failure is not lost.
    static_cast<void>(take_in(std::move(c)));
    return account();
  }
  // The clock here may be behind that of slurmctld, whose times the jobs have.
  clock_.saw(c.seen_at * 1000);
  now_ = clock_.now();
  if (is_away_) log_("slurm", {{"state", "back"}});
  is_away_ = false;
  const bool has_new_nodes = c.nodes.has_value();
  if (!take_in(std::move(c))) return account();
  settle_all();
  if (has_new_nodes || some_have_ended_) end_backoffs();
  recheck_limits();
  foresee_reservations();
  retry_unready();
  push_out_all();
  hold_strays();
  if (!lost_.empty() || has_new_nodes) find_lost_gpus();
  hold_unstarted();
  take_lost_gpus();
  const decision& d = engine_->step(now_.wall);
  if (around_.events) around_.events(to_json(d, now_.wall));
  act(d);
  comment_some();
  account();
}

void governor::enter(record& r, phase to) {
  const job_key& k = r.is.key;
  const auto keep = [&](std::set<job_key>& all, bool is_in) {
    is_in ? void(all.insert(k)) : void(all.erase(k));
  };
  keep(leaving_, to == phase::leaving);
  keep(released_, to == phase::released);
  keep(not_ready_, to == phase::not_ready);
  const bool counts =
      to == phase::waiting || to == phase::released || to == phase::running || to == phase::leaving;
  if (r.is.array_limit > 0 && counts) {
    limited_[k.id].insert(k);
  } else if (const auto at = limited_.find(k.id); at != limited_.end() && !counts) {
    at->second.erase(k);
    if (at->second.empty()) limited_.erase(at);
  }
  if (to != phase::leaving) {
    r.warned.reset();
    if (r.leaves_since) {
      ++totals_.reclaimed;
      totals_.reclaim_ms += now_.steady - *std::exchange(r.leaves_since, std::nullopt);
    }
  }
  const bool had_share = r.at == phase::released || r.at == phase::running || r.at == phase::leaving;
  if (had_share || r.at == phase::unknown) {
    r.waits_since = had_share || r.is.restarts > 0 ? now_.wall : r.is.submitted * 1000;
  }
  if (to == phase::running) r.has_run = true;
  if (to == phase::waiting || to == phase::released) r.has_run = false;
  if (to != r.at) dirty(r);
  r.at = to;
  count(r);
}

void governor::give_back(record& r) {
  event e;
  e.is = event::kind::evicted;
  e.key = name(r);
  tell(e);
  enter(r, phase::waiting);
}

void governor::dirty(record& r) {
  if (r.is_dirty) return;
  r.is_dirty = true;
  dirty_.push_back(r.is.key);
}

bool governor::done(const outcome& o, std::string_view call) {
  ++last_.calls;
  ++totals_.calls;
  if (!o) ++totals_.failed_calls;
  constexpr std::size_t most_told = 100;
  if (!o && o.is != outcome::kind::away && failures_told_.size() < most_told &&
      failures_told_.insert(std::string{call} + ' ' + o.text).second) {
    log_("slurm", {{"call", std::string{call}}, {"failed", o.text}, {"why", "said once for each reason"}});
  }
  if (o.is == outcome::kind::away && !is_away_) {
    is_away_ = true;
    log_("slurm", {{"state", "away"}, {"why", o.text}});
  }
  return static_cast<bool>(o);
}

}  // namespace allot_slurm

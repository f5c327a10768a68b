// SPDX-License-Identifier: BSL-1.0
// What the scheduler decides becomes calls to Slurm.
#include "governor.hpp"
#include "governor/src/plan_log.hpp"

#include <algorithm>
#include <utility>

namespace allot_slurm {

namespace {

/// Between two calls for the same job, if the first did not help.
constexpr std::int64_t retry_ms = 2000;
/// When Slurm has said that it is not room that a released job waits for, it is believed after that.
constexpr std::int64_t answer_ms = 10'000;
/// Bounds what one tick may cost slurmctld.
constexpr std::size_t most_holds = 50;

[[nodiscard]] std::uint64_t gpus_asked(const facts& f) {
  const auto gpus_of = [](const allot::gpu::pod_request& each, std::uint32_t pods) {
    return static_cast<std::uint64_t>(each.gpus.in_milli() / 1000) * pods;
  };
  std::uint64_t sum = 0;
  for (const auto& s : f.sets) sum += gpus_of(s.pods.each, s.pods.pods);
  return f.sets.empty() ? gpus_of(f.pods, f.pods.pods) : sum;
}

/// Those of one component, of nodes that are listed one component after the other.
[[nodiscard]] std::vector<node_share> nodes_of(std::size_t component, const std::vector<node_share>& where,
                                               const facts& f) {
  if (f.sets.empty()) return where;
  auto first = where.begin();
  const auto left = [&] { return where.end() - first; };
  const auto pods = [&](std::size_t c) {
    return c < f.sets.size() ? std::ptrdiff_t{f.sets[c].pods.pods} : 0;
  };
  for (std::size_t c = 0; c < component; ++c) first += std::min(pods(c), left());
  return {first, first + std::min(pods(component), left())};
}

void set_held(job& j, bool is_held) {
  j.is_held = is_held;
  for (job& part : parts_of(j)) part.is_held = is_held;
}

}  // namespace

outcome governor::call_for_parts(record& r, std::string_view call, const part_call& make) {
  outcome o;
  for (job& part : parts_of(r.is)) {
    comments say;
    const auto made = make(part, say);
    if (!made) continue;
    o = *made;
    if (!done(o, call)) break;
    note(part, say);
  }
  const job& leader = parts_of(r.is).front();
  if (leader.component) {
    r.is.admin_comment = leader.admin_comment;
    r.is.comment = leader.comment;
    r.is.excluded_nodes = leader.excluded_nodes;
    r.is.required_nodes = leader.required_nodes;
  }
  return o;
}

void governor::act(const decision& d) {
  if (observes_) return log_only(d, "warn", log_, would_do_);
  // A victim may die of the warning, and the governor before it sees that.
  if (!d.evictions.empty() && around_.remember) around_.remember(stands());
  for (const auto& e : d.evictions) evict(e);
  for (const auto& r : d.nominations) {
    record* const by = find(r.key);
    log_nomination(r, by == nullptr ? "" : by->is.user, log_);
    if (by != nullptr) dirty(*by);
  }
  for (const auto& a : d.admissions) admit(a);
  for (const job_name& k : d.pending) {
    record* const known = find(k);
    if (known == nullptr) continue;
    record& r = *known;
    dirty(r);
    if (const auto p = engine_->reservation_of(k)) log_reservation(k, r.is.user, *p, r.told_start, log_);
  }
}

void governor::admit(const decision::admission& a) {
  record* const known = find(a.key);
  if (known == nullptr) return;
  record& r = *known;
  // Another that the same limit of Slurm's concerns may just have been released.
  if (!limited(r.is).empty()) {
    give_back(r);
    return evaluate(r);
  }
  // Where its user names nodes, or a reservation of Slurm's, Slurm finds the place: the scheduler knows them
  // not, and follows.
  bool names_nodes = false;
  for (std::size_t i = 0; i < parts_of(r.is).size(); ++i) {
    const job& part = parts_of(r.is)[i];
    names_nodes = names_nodes || !part.reservation.empty() || !own_exclusions(part).empty() ||
                  (!part.required_nodes.empty() && pinned_nodes(part).empty() &&
                   part.required_nodes != names_of(nodes_of(i, r.sent_to, r.what)));
  }
  std::vector<node_share> sent_to;
  if (!names_nodes) sent_to = a.where;
  const std::string borrows = borrowed_text(a.borrows, config_.quotas);
  const std::string lent =
      borrows.empty() ? "" : "; its quota borrows " + borrows + " for it, and may have to give that back";
  outcome o{outcome::kind::away, {}};
  if (!is_away_) {
    // Where Slurm chooses the nodes, nobody who borrows gets what was freed for an owner.
    const bool first = !config_.slurm.places_jobs && borrows.empty();
    const job tried_as = r.is;
    std::size_t number = 0;
    o = call_for_parts(r, "release", [&](const job& part, comments& say) {
      std::string where;
      std::vector<std::string> nodes;
      for (const node_share& s : nodes_of(number++, sent_to, r.what)) {
        where.append(nodes.empty() ? " on " : " ").append(s.node).append(1, ':');
        where.append(std::to_string(s.gpus));
        nodes.push_back(s.node);
      }
      say = comments_for(part, "admitted" + where + lent, "admitted" + lent, nodes_to_avoid(r));
      return slurm_.release(part, nodes, first, say);
    });
    if (o) {
      r.tried_as = tried_as;
      set_held(r.is, false);
      r.is.why_pending.clear();
      r.sent_to = sent_to;
      r.released = now_.steady;
      r.released_after = r.is.restarts;
      enter(r, phase::released);
      ++totals_.released;
      totals_.waited_ms += std::max<std::int64_t>(0, now_.wall - r.waits_since);
      log_("release", {{"job", a.key},
                       {"user", r.is.user},
                       {"account", r.is.account},
                       {"gpus", std::to_string(gpus_asked(r.what))},
                       {"quota", config_.quotas.quotas[r.what.quota.index()].spec.name},
                       {"nodes", names_of(sent_to)},
                       {"borrows", borrows}});
      return;
    }
  }
  // It has not been released, as far as can be known: it waits again. If it starts all the same, it is
  // adopted.
  give_back(r);
  if (o.is == outcome::kind::away) return;
  log_("release", {{"job", a.key}, {"failed", o.text}});
  fail(r, cure::room, "Slurm does not release it: " + o.text);
  if (o.is == outcome::kind::too_late) r.backs_off_until = now_.wall + retry_ms;
  wait_with(r, phase::not_ready, r.reason);
}

void governor::evict(const decision::eviction& e) {
  record* const known = find(e.key);
  if (known == nullptr) return;
  record& r = *known;
  if (e.beneficiary) {
    if (record* const by = find(*e.beneficiary)) by->had_victims = true;
  }
  if (r.settles_until) return settle(r);
  const bool had_run = r.has_run || r.is.state == run_state::running;
  enter(r, phase::leaving);
  r.leaves_since = now_.steady;
  if (std::exchange(r.was_evicted, true)) ++totals_.evicted_again;
  r.has_run = had_run;
  r.next_try = 0;
  r.reason = e.text;
  push_out(r);
}

/// The next step of a job on its way out.
void governor::push_out(record& r) {
  const job& j = r.is;
  if (is_away_ || observes_ || r.settles_until || now_.steady < r.next_try) return;
  const job_name id = name(r);
  const job_name for_whom = engine_->beneficiary(id).value_or(job_name{});
  if (j.state == run_state::pending) {
    if (j.is_held) return;
    const std::string text = "waits: it had been admitted, and yields";
    const outcome o = call_for_parts(r, "hold", [&](const job& part, comments& say) {
      say = comments_for(part, text, text);
      return slurm_.hold(part, say);
    });
    if (!o) {
      r.next_try = now_.steady + retry_ms;
      return;
    }
    // It has started in between if Slurm does not say that it is held the next time.
    log_("hold", {{"job", id}, {"for", for_whom}, {"why", "it yields before it has started"}});
    set_held(r.is, true);
    give_back(r);
    return;
  }
  if (j.state == run_state::ended) {
    // It died of the warning.
    const outcome o = slurm_.requeue(j);
    r.next_try = now_.steady + retry_ms;
    if (done(o, "requeue")) ++totals_.requeued;
    log_("requeue", {{"job", id},
                     {"user", j.user},
                     {"for", for_whom},
                     {"why", "it ended when it was warned"},
                     {"failed", o.text}});
    if (o.is == outcome::kind::refused || o.is == outcome::kind::too_late) {
      const job_key over = j.key;
      forget(over);
    }
    return;
  }
  if (j.state != run_state::running) return;
  if (!r.warned) {
    r.warned = now_.steady;
    ++totals_.warned;
    if (config_.slurm.grace_ms > 0) {
      const outcome o = slurm_.warn(j, config_.slurm.signal);
      static_cast<void>(done(o, "warn"));
      log_("warn", {{"job", id},
                    {"user", j.user},
                    {"for", for_whom},
                    {"grace_s", std::to_string(config_.slurm.grace_ms / 1000)},
                    {"why", r.reason},
                    {"failed", o.text}});
      return;
    }
  }
  if (now_.steady - *r.warned < config_.slurm.grace_ms) return;
  // Any governor can tell by it that this was none of somebody else's requeues.
  if (!was_told_to_yield(j)) {
    const std::string text = std::string{yields} + r.reason;
    const outcome told = call_for_parts(r, "comment", [&](const job& part, comments& say) {
      say = comments_for(part, text, text);
      return slurm_.comment(part, say);
    });
    if (!told) {
      r.next_try = now_.steady + retry_ms;
      return;
    }
  }
  const outcome o = slurm_.requeue(j);
  r.next_try = now_.steady + retry_ms;
  if (done(o, "requeue")) ++totals_.requeued;
  // With a grace the warning has said why.
  log_("requeue", {{"job", id},
                   {"user", j.user},
                   {"for", for_whom},
                   {"why", config_.slurm.grace_ms > 0 ? "" : r.reason},
                   {"failed", o.text}});
}

void governor::push_out_all() {
  const std::vector<job_key> all{leaving_.begin(), leaving_.end()};
  for (const job_key& k : all) {
    if (const auto at = records_.find(k); at != records_.end()) push_out(at->second);
  }
}

/// Jobs of the governed partitions that nobody has admitted are held.
void governor::hold_strays() {
  if (observes_) return;
  std::size_t held = 0;
  for (auto next = strays_.begin(); next != strays_.end() && !is_away_ && held < most_holds;) {
    const job_key k = *next++;
    const auto at = records_.find(k);
    if (at == records_.end()) {
      strays_.erase(k);
      continue;
    }
    record& r = at->second;
    if (now_.steady < r.next_try) continue;
    ++held;
    const outcome o = call_for_parts(r, "hold", [&](const job& part, comments& say) {
      // It has been released, so nobody holds it any more.
      if (part.admin_comment.starts_with(held_mark) || part.comment.starts_with(held_mark))
        say = comments_for(part, "waits", "waits", nodes_to_avoid(r));
      return slurm_.hold(part, say);
    });
    if (o) {
      set_held(r.is, true);
      strays_.erase(k);
      ++totals_.held_again;
      log_("hold", {{"job", to_string(k)}, {"user", r.is.user}, {"why", "it was not admitted"}});
    } else {
      r.next_try = now_.steady + retry_ms;
      if (o.is != outcome::kind::away) log_("hold", {{"job", to_string(k)}, {"failed", o.text}});
    }
  }
}

/// A job that Slurm is still to start: a node that it avoids has settled, or one where it ran has failed.
void governor::avoid_nodes(record& r) {
  const std::string avoid = nodes_to_avoid(r);
  if (avoid == avoided_nodes(r.is)) return;
  const outcome o = call_for_parts(r, "comment", [&](const job& part, comments& say) {
    say = comments_for(part, "admitted", {}, avoid);
    say.user.reset();
    return slurm_.comment(part, say);
  });
  if (!o) r.next_try = now_.steady + retry_ms;
}

/// Jobs that were released and that Slurm does not start, or not where they were sent, give their share back.
/// One that stays released starts in the instant in which its node returns, and dies with its former run
/// there.
void governor::hold_unstarted() {
  if (observes_) return;
  const std::vector<job_key> all{released_.begin(), released_.end()};
  for (const job_key& k : all) {
    const auto at = records_.find(k);
    if (at == records_.end() || is_away_) continue;
    record& r = at->second;
    if (r.is.state != run_state::pending || now_.steady < r.next_try) continue;
    const auto gone = std::find_if(r.sent_to.begin(), r.sent_to.end(),
                                   [&](const node_share& s) { return closed_.count(s.node) != 0; });
    const auto lost = std::find_if(r.sent_to.begin(), r.sent_to.end(), [&](const node_share& s) {
      const auto on = lost_.find(s.node);
      return on != lost_.end() && on->second.count > 0 && !on->second.is_told;
    });
    const cure needs = r.is.why_pending.starts_with("BeginTime") ? cure::room : cure_of(r.is.why_pending);
    const std::int64_t patience =
        needs == cure::room ? config_.slurm.start_ms : std::min(config_.slurm.start_ms, answer_ms);
    const bool is_late = now_.steady - r.released >= patience;
    // What was freed for it is kept for it, as long as it is room that it waits for: others on the nodes end,
    // and where Slurm chooses the nodes, it starts before all others.
    const bool is_kept = !config_.slurm.places_jobs && r.had_victims && needs == cure::room;
    std::string why;
    bool failed = false;
    if (was_requeued(r)) {
      why = "it was requeued before it was seen to run";
    } else if (gone != r.sent_to.end()) {
      why = "no job may start on " + gone->node;
    } else if (lost != r.sent_to.end()) {
      why = "Slurm counts GPUs of " + lost->node + " as used that no job has";
    } else if (is_late && !is_kept) {
      failed = true;
      why = "Slurm did not start it: " + (r.is.why_pending.empty() ? "no reason" : r.is.why_pending);
    } else {
      avoid_nodes(r);
      continue;
    }
    const outcome o =
        call_for_parts(r, "hold", [&](const job& part, comments& say) { return slurm_.hold(part, say); });
    if (!o) {
      r.next_try = now_.steady + retry_ms;
      continue;
    }
    set_held(r.is, true);
    log_("hold", {{"job", to_string(k)}, {"user", r.is.user}, {"why", why}});
    give_back(r);
    if (failed) fail(r, needs, why);
    evaluate(r);
  }
}

void governor::start(const job_key& k, const std::string& by) {
  const auto at = records_.find(k);
  const bool is_ours = at != records_.end() && engine_ != nullptr && config_.governs(at->second.is.partition);
  std::string why_not;
  if (observes_) {
    why_not = "it only observes";
  } else if (is_away_) {
    why_not = "slurmctld does not answer";
  } else if (!is_ours) {
    why_not = "there is no such job, or it is not governed";
  } else if (at->second.is.state != run_state::pending || at->second.at == phase::leaving) {
    why_not = "it does not wait";
  } else if (at->second.at == phase::released) {
    why_not = "it is released already";
  } else {
    record& r = at->second;
    const std::string text = std::string{forced_mark.substr(mark.size())} + (by.empty() ? "" : " by " + by);
    const outcome o = call_for_parts(r, "release", [&](const job& part, comments& say) {
      say = comments_for(part, text, text);
      if (!pinned_nodes(part).empty()) {
        say.required = "";
        say.admin = std::string{mark} + text;
      }
      return slurm_.release(part, {}, true, say);
    });
    if (o) {
      set_held(r.is, false);
      strays_.erase(k);
      forced_.insert(k);
      evaluate(r);
    } else {
      why_not = o.text;
    }
  }
  log_("start", {{"job", to_string(k)},
                 {"user", is_ours ? at->second.is.user : std::string{}},
                 {"account", is_ours ? at->second.is.account : std::string{}},
                 {"by", by},
                 {"why", "an operator has asked for it"},
                 {"failed", why_not}});
}

void governor::retry_unready() {
  const std::vector<job_key> all{not_ready_.begin(), not_ready_.end()};
  for (const job_key& k : all) {
    const auto at = records_.find(k);
    if (at == records_.end()) continue;
    // After a step of the clock it is ready at another time.
    const record& r = at->second;
    const bool has_moved = engine_->contains(name(r)) && r.what.ready != ready_at(r);
    if (has_moved || unready(r).empty()) evaluate(at->second);
  }
}

}  // namespace allot_slurm

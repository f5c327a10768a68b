// SPDX-License-Identifier: BSL-1.0
// What is to be done becomes calls to Slurm.
#include "governor/src/plan_log.hpp"
#include "slurm_host.hpp"

#include <algorithm>

namespace allot_slurm {

namespace {

/// Between two calls for the same job, if the first did not help.
constexpr std::int64_t retry_ms = 2000;
/// When Slurm has said that it is not room that a released job waits for, it is believed after that.
constexpr std::int64_t answer_ms = 10'000;
/// Bounds what one tick may cost slurmctld.
constexpr std::size_t most_holds = 50;

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

/// The number of nodes is its user's: with others than it may have, Slurm chooses, and the governor follows.
[[nodiscard]] bool may_be_pinned(const job& j, std::size_t nodes) {
  return nodes > 0 && nodes >= j.request.nodes && (j.request.max_nodes == 0 || nodes <= j.request.max_nodes);
}

void set_held(job& j, bool is_held) {
  j.is_held = is_held;
  for (job& part : parts_of(j)) part.is_held = is_held;
}

}  // namespace

bool slurm_host::done(const outcome& o, std::string_view call) {
  ++calls_;
  ++totals_.calls;
  if (!o) ++totals_.failed_calls;
  if (!o && o.is != outcome::kind::away) failed_calls_.log(*log_, "slurm", call, o.text);
  is_away_ = is_away_ || o.is == outcome::kind::away;
  return static_cast<bool>(o);
}

outcome slurm_host::call_for_parts(record& r, std::string_view call, const part_call& make) {
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

/// What is to be done though the governor has decided nothing.
void slurm_host::tend() {
  if (!observes_) {
    for (const job_key& k : std::set<job_key>{leaving_}) push_out(records_.at(k));
    hold_strays();
  }
  find_lost_gpus();
  if (!observes_) hold_unstarted();
}

void slurm_host::release(record& r, command& c) {
  // Another that the same limit of Slurm's concerns may just have been released.
  if (std::string why = limited(r.is); !why.empty()) {
    c.result = {outcome::kind::too_late, std::move(why)};
    c.after = report(r);
    return;
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
  if (names_nodes) c.admission.where.clear();
  r.sent_to = c.admission.where;
  const std::string lent =
      c.borrows.empty() ? "" : "; its quota borrows " + c.borrows + " for it, and may have to give that back";
  // Where Slurm chooses the nodes, nobody who borrows gets what was freed for an owner.
  const bool first = !config_.slurm.places_jobs && c.borrows.empty();
  const job tried_as = r.is;
  std::size_t number = 0;
  c.result = call_for_parts(r, "release", [&](const job& part, comments& say) {
    std::string where;
    std::string list;
    std::vector<std::string> nodes;
    for (const node_share& s : nodes_of(number++, r.sent_to, r.what)) {
      where.append(nodes.empty() ? " on " : " ").append(s.node).append(1, ':');
      where.append(std::to_string(s.gpus));
      list.append(nodes.empty() ? "" : ",").append(s.node);
      nodes.push_back(s.node);
    }
    say = comments_for(part, "admitted" + where + lent, "admitted" + lent, nodes_to_avoid(r));
    // It may yield before the next poll says what it requires now.
    if (may_be_pinned(part, nodes.size())) {
      say.required = std::move(list);
    } else if (!pinned_nodes(part).empty()) {
      say.required = "";
    }
    return slurm_.release(part, nodes, first, say);
  });
  if (c.result.is == outcome::kind::away) {
    r.is_in_doubt = true;
  } else if (c.result) {
    r.tried_as = tried_as;
    set_held(r.is, false);
    r.is.why_pending.clear();
    r.at = stage::starting;
    r.is_stray = false;
    r.has_failed.reset();
    r.released = now_.steady;
    r.released_after = r.is.restarts;
  } else {
    c.result.text = "Slurm does not release it: " + c.result.text;
    fail(r, cure::room, c.result.text);
  }
  file(r);
  if (c.result) c.after = report(r);
}

void slurm_host::force(record& r, command& c) {
  const std::string text =
      std::string{forced_mark.substr(comment_mark.size())} + (c.by.empty() ? "" : " by " + c.by);
  c.result = call_for_parts(r, "release", [&](const job& part, comments& say) {
    say = comments_for(part, text, text);
    if (!pinned_nodes(part).empty()) {
      say.required = "";
      say.admin = std::string{comment_mark} + text;
    }
    return slurm_.release(part, {}, true, say);
  });
  if (!c.result) return;
  set_held(r.is, false);
  r.is_stray = false;
  r.is_forced = true;
  file(r);
  c.after = report(r);
}

void slurm_host::stop(record& r, command& c) {
  if (record* const by = c.beneficiary ? find(*c.beneficiary) : nullptr) {
    by->had_victims = true;
    file(*by);
  }
  if (r.at == stage::starting) {
    const std::string text = "waits: it had been admitted, and yields";
    c.result = call_for_parts(r, "hold", [&](const job& part, comments& say) {
      say = comments_for(part, text, text);
      return slurm_.hold(part, say);
    });
    if (!c.result) return;
    // It has started in between if Slurm does not say that it is held the next time.
    log("hold",
        {{"job", name(r)}, {"for", c.beneficiary.value_or("")}, {"why", "it yields before it has started"}});
    set_held(r.is, true);
    r.at = stage::waiting;
    r.has_failed = false;
  } else if (r.at == stage::running) {
    r.leaves = {c.why.for_operators, c.beneficiary.value_or(""), {}};
    r.at = stage::leaving;
    r.next_try = 0;
    push_out(r);
  }
  file(r);
  c.after = report(r);
}

/// The next step of a job on its way out.
void slurm_host::push_out(record& r) {
  const job& j = r.is;
  if (is_away_ || now_.steady < r.next_try) return;
  record::order& order = *r.leaves;
  const auto requeue = [&](std::string why) {
    const outcome o = slurm_.requeue(j);
    r.next_try = now_.steady + retry_ms;
    if (done(o, "requeue")) ++totals_.requeued;
    log("requeue", {{"job", name(r)},
                    {"user", j.user},
                    {"for", order.for_whom},
                    {"why", std::move(why)},
                    {"failed", o.text}});
    return o;
  };
  if (j.state == run_state::ended) {
    // A governor before this one may have warned it.
    if (!order.warned) order.warned = now_.steady;
    const outcome o = requeue("it ended when it was warned");
    if (o.is == outcome::kind::refused || o.is == outcome::kind::too_late) forget(job_key{j.key});
    return;
  }
  if (j.state != run_state::running) return;
  if (!order.warned) {
    order.warned = now_.steady;
    ++totals_.warned;
    if (config_.slurm.grace_ms > 0) {
      const outcome o = slurm_.warn(j, config_.slurm.signal);
      static_cast<void>(done(o, "warn"));
      log("warn", {{"job", name(r)},
                   {"user", j.user},
                   {"for", order.for_whom},
                   {"grace_s", std::to_string(config_.slurm.grace_ms / 1000)},
                   {"why", order.why},
                   {"failed", o.text}});
    }
  }
  // Any governor can tell by it that this was none of somebody else's requeues.
  if (!was_told_to_yield(j) && !is_away_) {
    const std::string text = std::string{yields} + order.why;
    const outcome told = call_for_parts(r, "comment", [&](const job& part, comments& say) {
      say = comments_for(part, text, text);
      return slurm_.comment(part, say);
    });
    if (!told) r.next_try = now_.steady + retry_ms;
  }
  if (is_away_ || !was_told_to_yield(j) || now_.steady - *order.warned < config_.slurm.grace_ms) return;
  // With a grace the warning has said why.
  static_cast<void>(requeue(config_.slurm.grace_ms > 0 ? "" : order.why));
}

/// Jobs of the governed partitions that nobody has admitted are held.
void slurm_host::hold_strays() {
  std::size_t held = 0;
  for (const job_key& k : std::set<job_key>{strays_}) {
    record& r = records_.at(k);
    if (is_away_ || held >= most_holds) return;
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
      r.is_stray = false;
      ++totals_.held_again;
      log("hold", {{"job", name(r)}, {"user", r.is.user}, {"why", "it was not admitted"}});
      file(r);
    } else {
      r.next_try = now_.steady + retry_ms;
      if (o.is != outcome::kind::away) log("hold", {{"job", name(r)}, {"failed", o.text}});
    }
  }
}

/// A job that Slurm is still to start: a node that it avoids has settled, or one where it ran has failed.
void slurm_host::avoid_nodes(record& r) {
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
void slurm_host::hold_unstarted() {
  for (const job_key& k : std::set<job_key>{starting_}) {
    record& r = records_.at(k);
    if (is_away_) return;
    if (now_.steady < r.next_try) continue;
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
    // A release does away with the delay, so what is delayed was requeued after it: an adopted job tells by
    // that.
    const bool was_requeued =
        r.is.restarts != r.released_after || (r.is.restarts > 0 && r.is.eligible * 1000 > now_.wall);
    if (was_requeued) {
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
    log("hold", {{"job", name(r)}, {"user", r.is.user}, {"why", why}});
    r.at = stage::waiting;
    r.has_failed = false;
    if (failed) fail(r, needs, why);
    file(r);
  }
}

void slurm_host::explain(record& r, command& c) {
  std::vector<std::uint32_t> tasks;
  std::vector<record*> those;
  for (auto at = records_.lower_bound({r.is.key.id, 0}); r.is.key.task != job_key::no_task; ++at) {
    if (at == records_.end() || at->first.id != r.is.key.id) break;
    if (!shares(at->second, r)) continue;
    those.push_back(&at->second);
    tasks.push_back(at->first.task);
  }
  if (tasks.size() == 1) tasks.clear();
  c.result = call_for_parts(r, "comment", [&](const job& part, comments& say) -> std::optional<outcome> {
    say = comments_for(part, c.why.for_operators, c.why.for_users);
    if (!say.admin && !say.user) return std::nullopt;
    const outcome told = slurm_.comment(part, say, tasks);
    // The tasks that share its record.
    if (told && !tasks.empty()) {
      for (record* const one : those) note(one->is, say);
    }
    return told;
  });
}

bool slurm_host::shows(const job_report& j, const explanation& why) const {
  const record* const r = find(j.name);
  if (r == nullptr) return true;
  const auto parts = parts_of(r->is);
  return std::all_of(parts.begin(), parts.end(), [&](const job& part) {
    const comments say = comments_for(part, why.for_operators, why.for_users);
    return !say.admin && !say.user;
  });
}

}  // namespace allot_slurm

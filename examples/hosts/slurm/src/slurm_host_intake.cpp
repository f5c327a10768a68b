// SPDX-License-Identifier: BSL-1.0
// What Slurm says becomes what this host knows.
#include "slurm_host.hpp"

#include <algorithm>

namespace allot_slurm {

namespace {

/// Slurm's answers on nodes and on jobs are of two moments; what differs for so long does so for good.
constexpr std::int64_t lost_ms = 10'000;
/// How long a job that waits for others to end waits at least, if some do, before it is tried again.
constexpr std::int64_t retry_after_ends_ms = 30'000;

[[nodiscard]] bool is_same_machine(const node& a, const node& b) {
  return a.name == b.name && a.gpus == b.gpus && a.gpu_type == b.gpu_type && a.cpus == b.cpus &&
         a.memory_mib == b.memory_mib && a.features == b.features && a.partitions == b.partitions &&
         a.reservations == b.reservations;
}

/// Whether a job asks for the same: what Slurm could not run it can't run now.
[[nodiscard]] bool asks_for_the_same(const job& a, const job& b) {
  return std::equal(parts_of(a).begin(), parts_of(a).end(), parts_of(b).begin(), parts_of(b).end(),
                    [](const job& x, const job& y) {
                      return x.request == y.request && x.partition == y.partition && x.account == y.account &&
                             x.qos == y.qos && x.features == y.features &&
                             own_requirements(x) == own_requirements(y) &&
                             own_exclusions(x) == own_exclusions(y) && x.reservation == y.reservation &&
                             x.time_limit == y.time_limit;
                    });
}

}  // namespace

void slurm_host::take_in_cluster(cluster_changes&& c) {
  if (c.nodes) take_in_nodes(std::move(*c.nodes));
  if (c.limited) {
    limits_.take(std::move(*c.limited));
    for (auto& [k, r] : records_) count(r);
  }
  close_nodes();
  for (job& j : c.jobs) {
    const job_key k = j.key;
    auto at = records_.find(k);
    // Another job that got the id of one that Slurm has forgotten.
    if (at != records_.end() && !was_submitted(j, at->second.is.submitted)) {
      forget(k);
      at = records_.end();
    }
    const bool is_first = at == records_.end();
    const recalled* const before = is_first ? was(j) : nullptr;
    // A requeue gave it another time of submission.
    if (!is_first) j.submitted = at->second.is.submitted;
    if (before != nullptr) j.submitted = before->submitted;
    if (j.state == run_state::ended) {
      // What dies of the warning comes back.
      const bool was_leaving = is_first ? before != nullptr && before->leaves : at->second.leaves.has_value();
      if (!was_leaving || !j.has_failed || !j.may_requeue) {
        forget(k);
        recalled_.erase(to_string(k));
        continue;
      }
    }
    record& r = records_[k];
    r.is = std::move(j);
    take_in(r, is_first);
  }
  for (const job_key& k : c.gone) forget(k);
}

/// What was remembered of it; null: nothing.
const slurm_host::recalled* slurm_host::was(const job& j) const {
  const auto at = recalled_.find(to_string(j.key));
  return at != recalled_.end() && was_submitted(j, at->second.submitted) ? &at->second : nullptr;
}

void slurm_host::take_in_nodes(std::vector<node> now) {
  are_nodes_news_ = true;
  const std::vector<node>& before = facts_.nodes();
  const bool are_same = std::equal(now.begin(), now.end(), before.begin(), before.end(), is_same_machine);
  facts_.take(std::move(now), known_.levels.size());
  if (are_same) return;
  read_machines();
  const auto is_gone = [&](const std::string& name) {
    return std::none_of(known_.all.begin(), known_.all.end(),
                        [&](const machine& m) { return m.name == name; });
  };
  std::erase_if(closed_, is_gone);
  std::erase_if(lost_, [&](const auto& l) { return is_gone(l.first); });
  for (const auto& [k, r] : records_) changed_.insert(k);
}

void slurm_host::read_machines() {
  are_nodes_news_ = true;
  std::vector<node> nodes = facts_.nodes();
  known_ = machines_of(nodes, config_.slurm.places_jobs ? slurm_.topology() : std::vector<network_switch>{});
  facts_.take(std::move(nodes), known_.levels.size());
}

/// Also what has changed with time alone: a node has settled.
void slurm_host::close_nodes() {
  for (const node& n : facts_.nodes()) {
    const std::int64_t up_for = now_.wall - n.started * 1000;
    const bool is_closed = !n.is_open || (up_for >= 0 && up_for < settle_ms);
    if (is_closed == (closed_.count(n.name) != 0)) continue;
    is_closed ? void(closed_.insert(n.name)) : void(closed_.erase(n.name));
    are_nodes_news_ = true;
  }
}

/// Slurm 22.05 loses count if a requeued job is still to be cleaned up on one node and that node fails: what
/// the job's next run has stays used after its end. Only slurmctld's restart sets it free.
void slurm_host::find_lost_gpus() {
  if (lost_.empty() && !are_nodes_news_) return;
  std::map<std::string, std::uint32_t> excess;
  for (const node& n : facts_.nodes()) {
    if (n.gpus_used > 0) excess[n.name] = n.gpus_used;
  }
  for (const auto& [k, r] : records_) {
    if (r.is.state != run_state::running) continue;
    for (const node_share& s : r.is.nodes) {
      if (const auto at = excess.find(s.node); at != excess.end()) at->second -= std::min(at->second, s.gpus);
    }
  }
  for (const auto& [name, count] : excess) {
    if (count > 0) lost_.try_emplace(name);
  }
  for (auto at = lost_.begin(); at != lost_.end();) {
    const std::string& name = at->first;
    lost_gpus& lost = at->second;
    const auto now = excess.find(name);
    const std::uint32_t seen = now == excess.end() ? 0 : now->second;
    if (lost.seen != seen) {
      lost.seen = seen;
      lost.since = now_.steady;
    }
    if (lost.count != seen && now_.steady - lost.since >= lost_ms) {
      lost.count = seen;
      lost.is_told = false;
      are_nodes_news_ = true;
      log("node", {{"node", name},
                   {"lost_gpus", std::to_string(seen)},
                   {"why", seen == 0 ? "Slurm counts them as free again"
                                     : "Slurm counts them as used, and no job has them: restart slurmctld"}});
    }
    at = lost.count == 0 && seen == 0 ? lost_.erase(at) : std::next(at);
  }
}

void slurm_host::forget(const job_key& k) {
  const auto at = records_.find(k);
  if (at == records_.end()) return;
  gone_.insert(to_string(k));
  some_have_ended_ = true;
  // Out of all lists; others may share its record.
  const std::uint32_t limit = at->second.is.array_limit;
  const bool was_counted = at->second.is_counted;
  at->second = {};
  at->second.is.key = k;
  at->second.is.array_limit = limit;
  at->second.is_counted = was_counted;
  file(at->second);
  records_.erase(at);
}

/// Keeps the lists of jobs; the governor is to be told of this one.
void slurm_host::file(record& r) {
  const auto keep = [&](std::set<job_key>& all, bool is_in) {
    is_in ? void(all.insert(r.is.key)) : void(all.erase(r.is.key));
  };
  keep(starting_, has_share(r) && r.at == stage::starting);
  keep(leaving_, r.leaves.has_value());
  keep(settling_, r.settles_until.has_value());
  keep(strays_, r.is_stray);
  keep(failing_, r.failed_at != 0 || r.had_victims || r.is_impossible);
  keep(blocked_, r.is_governed && r.at == stage::waiting && !r.blocked.empty());
  changed_.insert(r.is.key);
  count(r);
}

/// Slurm's own limits count it.
void slurm_host::count(record& r) {
  const bool waits = r.is_governed && r.at == stage::waiting && r.phase == job_phase::waiting;
  const bool is_counted = r.is.array_limit > 0 && (has_share(r) || waits);
  if (std::exchange(r.is_counted, is_counted) != is_counted) {
    std::size_t& tasks = counted_[r.is.key.id];
    is_counted ? ++tasks : --tasks;
  }
  const bool runs = has_share(r) || (!r.is_governed && !r.is.nodes.empty());
  limits_.count(r.is,
                runs    ? limit_usage::as::running
                : waits ? limit_usage::as::waiting
                        : limit_usage::as::nothing,
                config_.quota_of(r.is.account).value_or(config_.quotas.quotas.size()));
}

void slurm_host::take_in(record& r, bool is_first) {
  const bool governs = config_.governs(r.is.partition);
  if (governs != r.is_governed && !is_first) {
    record again;
    again.is = std::move(r.is);
    again.is_counted = r.is_counted;
    r = std::move(again);
    is_first = true;
  }
  r.is_governed = governs;
  const job& j = r.is;
  if (!governs) {
    r.at = j.state == run_state::pending ? stage::waiting : stage::running;
    return file(r);
  }
  if (is_first) take_in_first(r);
  if (r.tried_as && !asks_for_the_same(j, *r.tried_as)) {
    r.had_victims = r.is_spent = r.is_impossible = false;
    r.tried_as.reset();
  }
  switch (j.state) {
    case run_state::pending:
      if (!is_first) take_in_pending(r);
      break;
    case run_state::running:
      take_in_running(r);
      break;
    case run_state::completing:
      r.at = r.leaves || j.is_requeued ? stage::leaving : stage::running;
      break;
    case run_state::ended:
      r.at = stage::leaving;
      break;
  }
  file(r);
}

/// A job that was not known.
void slurm_host::take_in_first(record& r) {
  const job& j = r.is;
  const bool waits = j.state == run_state::pending;
  if (const recalled* const before = was(j)) {
    r.had_victims = has_word(before->own, "had_victims");
    r.is_spent = has_word(before->own, "spent");
    r.is_impossible = has_word(before->own, "impossible");
    r.needs = has_word(before->own, "needs_time")       ? cure::time
              : has_word(before->own, "needs_somebody") ? cure::somebody
                                                        : cure::room;
    if (before->has_failed) {
      r.failed_at = 1;
      r.tried_as = j;
    }
    if (before->leaves && !waits) {
      r.leaves = record::order{"it yields, as was decided before", {}, {}};
      if (before->warned != 0)
        r.leaves->warned = now_.steady - std::max<std::int64_t>(0, now_.wall - before->warned);
    }
  }
  if (!waits || j.is_held) return;
  if (was_admitted(j) && !observes_) {
    r.at = stage::starting;
    r.released = now_.steady;
    r.released_after = j.restarts;
    for (const job& part : parts_of(j)) {
      const auto on = places_in(part.admin_comment);
      r.sent_to.insert(r.sent_to.end(), on.begin(), on.end());
    }
    return;
  }
  r.is_forced = j.admin_comment.starts_with(forced_mark);
  r.is_stray = !r.is_forced;
}

void slurm_host::take_in_running(record& r) {
  const job& j = r.is;
  r.ran_since = j.started * 1000;
  r.ran_on.clear();
  r.ran_after = j.restarts;
  for (const node_share& s : j.nodes) r.ran_on.push_back(s.node);
  r.is_stray = r.is_in_doubt = r.had_victims = r.is_spent = r.is_impossible = false;
  r.failed_at = 0;
  r.tried_as.reset();
  r.settles_until.reset();
  r.at = r.leaves ? stage::leaving : stage::running;
}

void slurm_host::take_in_pending(record& r) {
  const job& j = r.is;
  if (std::exchange(r.is_in_doubt, false) && r.at == stage::waiting && !j.is_held && was_admitted(j)) {
    r.at = stage::starting;
    r.released = now_.steady;
    r.released_after = j.restarts;
  }
  if (r.at == stage::starting) {
    // What Slurm has not started yet `hold_unstarted` looks after.
    if (j.is_held) take_back_unstarted(r);
    return;
  }
  if (r.settles_until) return;
  if (has_share(r)) {
    some_have_ended_ = true;
    const bool was_told = r.leaves.has_value();
    const bool gave_way = (was_told && r.leaves->warned) || was_told_to_yield(j) || !j.is_held;
    r.leaves.reset();
    r.has_failed = false;
    if (gave_way && !was_told) {
      // Nobody took its share from it: what was lent of that meanwhile would be taken back at once.
      r.settles_until = now_.steady + settle_ms;
      r.is_stray = !j.is_held;
      return;
    }
    r.at = stage::waiting;
    gave_way ? void(r.settles_wall = now_.wall + settle_ms) : take_in_held(r);
  }
  r.is_forced = r.is_forced && !j.is_held;
  r.is_stray = !j.is_held && !r.is_forced;
}

/// It ran, and was requeued and held, not by the governor. There was a reason for that, so it stays held
/// until somebody releases it; but Slurm itself does so with what it could not launch.
void slurm_host::take_in_held(record& r) {
  const job& j = r.is;
  if (j.why_pending.find("launch") == std::string::npos && !observes_) {
    const std::string text = std::string{held_mark.substr(comment_mark.size())} +
                             "requeuehold: scontrol release " + to_string(j.key);
    const outcome o = call_for_parts(r, "comment", [&](const job& part, comments& say) {
      say = comments_for(part, text, "waits: it is " + text, nodes_to_avoid(r));
      return slurm_.comment(part, say);
    });
    if (o) return;
  }
  fail(r, cure::room, "it was requeued and held, not by the governor");
}

/// It was released, has not run, and is held again, not by the governor: Slurm holds what it can't run as it
/// is asked, and people hold jobs. Who released it at once would be answered at once, for ever.
void slurm_host::take_back_unstarted(record& r) {
  const job& j = r.is;
  const bool cant_run = j.why_pending == bad_constraints;
  const std::string why = cant_run ? "Slurm can't run it as it asks (" + j.why_pending + ")"
                                   : "it was held by someone else after its release" +
                                         (j.why_pending.empty() ? "" : " (" + j.why_pending + ")");
  log("hold", {{"job", name(r)}, {"user", j.user}, {"why", why}});
  r.at = stage::waiting;
  r.has_failed = false;
  if (cant_run) {
    ++totals_.failed_starts;
    r.is_impossible = true;
    if (!r.tried_as) r.tried_as = j;
  } else if (held_by(j).empty()) {
    fail(r, cure::room, why);
  }
}

/// Slurm did not start the job although it was released. Nobody is evicted for it again if evictions have not
/// helped, or would not.
void slurm_host::fail(record& r, cure needs, const std::string& why) {
  r.has_failed = true;
  r.why_failed = why;
  r.failed_at = now_.wall;
  r.needs = needs;
  r.saw_room = facts_.nodes_have_room(r.is, r.what, closed_);
  if (r.had_victims || needs != cure::room) r.is_spent = true;
}

/// Those that were requeued have kept their share until their nodes were clean; now they wait for it.
void slurm_host::settle_all() {
  for (const job_key& k : std::set<job_key>{settling_}) {
    record& r = records_.at(k);
    if (*r.settles_until > now_.steady) continue;
    r.settles_until.reset();
    r.settled_for = r.is.restarts;
    r.at = stage::waiting;
    file(r);
  }
}

/// What a job waits for may have come: the nodes have room for it that they had not when it failed; or some
/// jobs have ended, if it is others' ends that it waits for.
void slurm_host::find_cured(std::vector<job_name>& to) {
  const bool some_have_ended = std::exchange(some_have_ended_, false);
  if (!are_nodes_news_ && !some_have_ended) return;
  for (const job_key& k : failing_) {
    record& r = records_.at(k);
    if (r.at != stage::waiting || r.failed_at == 0) continue;
    bool is_cured = false;
    if (r.needs == cure::room) {
      const bool had_room = std::exchange(r.saw_room, facts_.nodes_have_room(r.is, r.what, closed_));
      is_cured = r.saw_room && !had_room;
    } else if (r.needs == cure::time) {
      is_cured = some_have_ended && now_.wall - r.failed_at >= retry_after_ends_ms;
    }
    if (is_cured) to.push_back(name(r));
  }
}

/// Who is to be told of although Slurm has said nothing new: others have used up a limit, or are done with
/// it; time has passed; or another one was told the reason that several share.
void slurm_host::find_changed() {
  for (const job_key& k : blocked_) {
    const record& r = records_.at(k);
    if (blocked(r) != r.blocked) changed_.insert(k);
  }
  const bool is_limited = std::exchange(limits_checked_, limits_.version()) != limits_.version();
  const bool is_reserved = config_.slurm.places_jobs && !facts_.reservations().empty();
  if (is_limited || is_reserved) {
    for (const auto& [k, r] : records_) {
      if (r.at != stage::waiting || r.phase != job_phase::waiting) continue;
      const bool is_ruled_out = is_reserved && now_.wall > r.ruled_out_at;
      if (is_ruled_out || (is_limited && !limited(r.is).empty())) changed_.insert(k);
    }
  }
  std::set<std::uint32_t> arrays;
  for (const job_key& k : changed_) {
    if (k.task != job_key::no_task) arrays.insert(k.id);
  }
  for (const std::uint32_t id : arrays) {
    std::set<std::uint32_t> told;
    for (auto at = records_.lower_bound({id, 0}); at != records_.end() && at->first.id == id; ++at) {
      const record& r = at->second;
      const bool waits = r.is.state == run_state::pending && r.at == stage::waiting;
      if (waits && told.insert(r.is.record).second && !r.is_told) changed_.insert(at->first);
    }
  }
}

}  // namespace allot_slurm

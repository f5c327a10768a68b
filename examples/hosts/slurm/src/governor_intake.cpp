// SPDX-License-Identifier: BSL-1.0
// What Slurm says becomes events for the scheduler.
#include "governor.hpp"
#include "governor/src/backoff.hpp"
#include "request.hpp"

#include <allot/quota/access.hpp>

#include <algorithm>

namespace allot_slurm {

namespace {

/// How long a job that was requeued is kept back, and a node that has just started: slurmd revokes the
/// credential of the run that has ended a moment later, is told to end what ran there before the node failed
/// when it is back, and would end a new run of the same job with the old one.
constexpr std::int64_t settle_ms = 3000;
constexpr const char* is_reserved_out =
    "the nodes that it could have are reserved in Slurm before its time limit is over";
constexpr const char* just_requeued =
    "it has just been requeued, and its nodes are still cleaning up after it";

/// Slurm's answers on nodes and on jobs are of two moments; what differs for so long does so for good.
constexpr std::int64_t lost_ms = 10'000;

[[nodiscard]] bool is_same_machine(const node& a, const node& b) {
  return a.name == b.name && a.gpus == b.gpus && a.gpu_type == b.gpu_type && a.cpus == b.cpus &&
         a.memory_mib == b.memory_mib && a.features == b.features && a.partitions == b.partitions &&
         a.reservations == b.reservations;
}

[[nodiscard]] std::uint32_t gpus_of(const job& j) {
  std::uint32_t sum = 0;
  for (const node_share& s : j.nodes) sum += s.gpus;
  return sum;
}

/// When its user has put it off, until when; else 0. After a requeue Slurm delays the next start; a release
/// does away with that. What its user has not put off could start when it was submitted, whatever the clock
/// said then.
[[nodiscard]] std::int64_t begins_at(const job& j) {
  return j.restarts == 0 && j.eligible > j.submitted ? j.eligible * 1000 : 0;
}

/// The nodes that its user requires: those of a pin are the governor's.
[[nodiscard]] std::string own_requirements(const job& j) {
  return pinned_nodes(j).empty() ? j.required_nodes : std::string{};
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

[[nodiscard]] allot::quantity whole(std::uint64_t amount) {
  return allot::quantity::whole(
      static_cast<std::int64_t>(std::min<std::uint64_t>(amount, 1'000'000'000'000)));
}

[[nodiscard]] std::string component_text(std::size_t number) {
  return "its component " + std::to_string(number);
}

/// The pods of a component. Those whose sum alone is given fill whole nodes, as they do in a job of its own;
/// none if that leaves some for a smaller one.
[[nodiscard]] std::optional<allot::gpu::pod_set> set_of(const allot::gpu::pod_request& pods,
                                                        const largest_node& largest) {
  allot::gpu::pod_set s{.each = pods, .pods = pods.pods};
  s.each.pods = 1;
  s.each.total = false;
  if (!pods.total) return s;
  const auto nodes = allot::gpu::split(pods, static_cast<std::uint32_t>(largest.gpus));
  if (!nodes || nodes->has_rest()) return std::nullopt;
  s.pods = static_cast<std::uint32_t>(nodes->pods);
  s.each.gpus = allot::quantity::whole(nodes->each.devices);
  s.each.cpu_milli = nodes->each.cpu_milli;
  s.each.memory_mib = nodes->each.memory_mib;
  return s;
}

/// After a run of this length the failures before it no longer count.
constexpr std::int64_t long_run_ms = 300'000;

/// How long a job that waits for others to end waits at least, if some do, before it is tried again.
constexpr std::int64_t retry_after_ends_ms = 30'000;

}  // namespace

/// Returns whether the scheduler may decide.
bool governor::take_in(changes&& c) {
  if (c.nodes) take_in_nodes(std::move(*c.nodes));
  if (c.limited) take_limits(std::move(*c.limited));
  open_and_close_nodes();
  std::vector<job_key> changed;
  for (job& j : c.jobs) {
    const job_key k = j.key;
    auto at = records_.find(k);
    // Another job that got the id of one that Slurm has forgotten.
    if (at != records_.end() && !was_submitted(j, at->second.is.submitted)) {
      forget(k);
      at = records_.end();
    } else if (at != records_.end()) {
      j.submitted = at->second.is.submitted;
    }
    if (j.state == run_state::ended) {
      // What dies of the warning comes back.
      const bool was_leaving =
          at != records_.end()
              ? at->second.at == phase::leaving
              : remembered_ && std::any_of(remembered_->leaving.begin(), remembered_->leaving.end(),
                                           [&](const auto& l) { return is_same(j, l.job); });
      const bool comes_back = was_leaving && j.has_failed && j.may_requeue;
      if (!comes_back) {
        forget(k);
        continue;
      }
    }
    records_[k].is = std::move(j);
    changed.push_back(k);
  }
  for (const job_key& k : c.gone) forget(k);
  if (is_away_) return false;
  if (starts_over_ || engine_ == nullptr || observes_) {
    if (!starts_over_ && observes_ && engine_ != nullptr && changed.empty() && c.gone.empty()) return true;
    start_over();
    return engine_ != nullptr;
  }
  for (const job_key& k : changed) {
    if (const auto at = records_.find(k); at != records_.end()) take_in(at->second);
  }
  return true;
}

void governor::take_in_nodes(std::vector<node> now) {
  const bool same_machines =
      std::equal(now.begin(), now.end(), nodes_.begin(), nodes_.end(), is_same_machine);
  nodes_ = std::move(now);
  largest_ = {};
  largest_in_.clear();
  for (const node& n : nodes_) {
    largest_.look_at(n);
    for (const std::string& p : n.partitions) largest_in_[p].look_at(n);
  }
  if (same_machines) return;
  reservations_.clear();
  for (const node& n : nodes_) {
    for (const node_reservation& r : n.reservations) reservations_.emplace(r.name, r);
  }
  // At a start they are as they were.
  if (engine_ != nullptr) starts_over_ = allot::delay_cause::cluster;
  const auto is_gone = [&](const std::string& name) {
    return std::none_of(nodes_.begin(), nodes_.end(), [&](const node& n) { return n.name == name; });
  };
  std::erase_if(closed_, is_gone);
  std::erase_if(lost_, [&](const auto& l) { return is_gone(l.first); });
}

/// Also what has changed with time alone: a node has settled.
void governor::open_and_close_nodes() {
  for (const node& n : nodes_) {
    const std::int64_t up_for = now_.wall - n.started * 1000;
    const bool settles = n.is_open && up_for >= 0 && up_for < settle_ms;
    const bool is_closed = !n.is_open || settles;
    if (is_closed == (closed_.count(n.name) != 0)) continue;
    is_closed ? void(closed_.insert(n.name)) : void(closed_.erase(n.name));
    log_("node", {{"node", n.name},
                  {"state", !is_closed  ? "up"
                            : settles   ? "starting"
                            : n.is_down ? "down"
                                        : "drained"},
                  {"why", n.why_closed}});
    if (starts_over_ || engine_ == nullptr) continue;
    event e;
    e.is = is_closed ? event::kind::close : event::kind::open;
    e.node = n.name;
    tell(e);
  }
}

/// Slurm 22.05 loses count if a requeued job is still to be cleaned up on one node and that node fails: what
/// the job's next run has stays used after its end. Only slurmctld's restart sets it free.
void governor::find_lost_gpus() {
  std::map<std::string, std::uint32_t> excess;
  for (const node& n : nodes_) {
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
      if (lost.is_told) {
        event e = lost_on(name);
        e.is = event::kind::foreign_gone;
        e.where.clear();
        tell(e);
      }
      lost.count = seen;
      lost.is_told = false;
      log_("node",
           {{"node", name},
            {"lost_gpus", std::to_string(seen)},
            {"why", seen == 0 ? "Slurm counts them as free again"
                              : "Slurm counts them as used, and no job has them: restart slurmctld"}});
    }
    at = lost.count == 0 && seen == 0 ? lost_.erase(at) : std::next(at);
  }
}

/// Tells the scheduler of them, once what was released to them has been held: until then it has them in the
/// books.
void governor::take_lost_gpus() {
  for (auto& [name, lost] : lost_) {
    if (lost.count == 0 || lost.is_told) continue;
    const bool is_awaited =
        std::any_of(released_.begin(), released_.end(), [&, &node = name](const job_key& k) {
          const record& r = records_.at(k);
          return std::any_of(r.sent_to.begin(), r.sent_to.end(),
                             [&](const auto& s) { return s.node == node; });
        });
    if (is_awaited) continue;
    lost.is_told = true;
    tell(lost_on(name));
  }
}

/// They are told as a job that is not governed, with an id that no job has.
event governor::lost_on(const std::string& name) const {
  const auto at = std::find_if(nodes_.begin(), nodes_.end(), [&](const node& n) { return n.name == name; });
  event e;
  e.is = event::kind::foreign;
  e.key = to_string(job_key{0, static_cast<std::uint32_t>(at - nodes_.begin())});
  e.where = {{name, lost_.at(name).count, 0}};
  return e;
}

void governor::forget(const job_key& k) {
  const auto at = records_.find(k);
  if (at == records_.end()) return;
  record& r = at->second;
  some_have_ended_ = true;
  if (engine_ != nullptr) {
    event e;
    e.key = to_string(k);
    if (r.at == phase::foreign) {
      e.is = event::kind::foreign_gone;
      tell(e);
    } else if (engine_->contains(e.key)) {
      const auto state = engine_->state(e.key);
      const bool held_share = state == allot::job_state::running || state == allot::job_state::evicting;
      e.is = held_share ? event::kind::finished : event::kind::cancel;
      tell(e);
    }
  }
  // Out of all lists.
  enter(r, phase::unknown);
  strays_.erase(k);
  settling_.erase(k);
  forced_.erase(k);
  records_.erase(at);
}

void governor::take_in(record& r) {
  const job& j = r.is;
  if (!config_.governs(j.partition)) {
    if (r.at != phase::foreign && r.at != phase::unknown) {
      // It has been moved out of the governed partitions.
      const job moved = j;
      forget(moved.key);
      records_[moved.key].is = moved;
      return take_in(records_[moved.key]);
    }
    const bool has_nodes = j.state != run_state::pending;
    if (has_nodes == (r.at == phase::foreign)) return;
    event e;
    e.is = has_nodes ? event::kind::foreign : event::kind::foreign_gone;
    e.key = name(r);
    e.where = j.nodes;
    tell(e);
    r.at = has_nodes ? phase::foreign : phase::unknown;
    return count(r);
  }
  if (r.at == phase::foreign) {
    // It runs and can't be counted.
    if (j.state != run_state::pending) return;
    event e;
    e.is = event::kind::foreign_gone;
    e.key = name(r);
    tell(e);
    r.at = phase::unknown;
  }
  switch (j.state) {
    case run_state::pending:
      return take_in_pending(r);
    case run_state::running:
      return take_in_running(r);
    case run_state::completing:
      return clean_up(r);
    case run_state::ended:
      return;
  }
}

/// A job that was requeued holds its share until its nodes are clean, and then waits for that again: what was
/// lent of it in between would be taken back at once.
void governor::clean_up(record& r) {
  if (!r.is.is_requeued || !engine_->contains(name(r))) return;
  if (engine_->state(name(r)) != allot::job_state::running) return;
  enter(r, phase::leaving);
  r.has_run = true;
}

void governor::take_in_running(record& r) {
  const job& j = r.is;
  r.ran_since = j.started * 1000;
  r.ran_on.clear();
  for (const node_share& s : j.nodes) r.ran_on.push_back(s.node);
  strays_.erase(j.key);
  settling_.erase(j.key);
  const bool had_settled = !std::exchange(r.settles_until, std::nullopt).has_value();
  r.had_victims = r.is_spent = r.is_impossible = false;
  r.tried_as.reset();
  const auto state = engine_->state(name(r));
  const bool holds = state == allot::job_state::running || state == allot::job_state::evicting;
  if (!holds) {
    if (forced_.erase(j.key) == 0) ++totals_.ran_unasked;
    return adopt(r, true);
  }
  std::string problem;
  auto what = facts_of(j, problem);
  // A run is not ended by what can't be read any more.
  if (!what) what = r.what;
  what->ready = r.what.ready;
  what->preempts = r.what.preempts;
  const bool moved = config_.slurm.places_jobs && !is_same_place(engine_->where(name(r)), j.nodes);
  if (moved || *what != r.what) {
    const bool has_fewer = what->sets.size() < r.what.sets.size();
    event e;
    e.is = event::kind::alter;
    e.key = name(r);
    e.what = r.what = *what;
    e.at = j.started * 1000;
    e.where = j.nodes;
    tell(e);
    if (moved) {
      const char* const why = has_fewer ? "a component of it is over" : "Slurm chose other nodes";
      log_("adopt", {{"job", to_string(j.key)}, {"why", why}});
    }
  } else if (r.at == phase::released) {
    event e;
    e.is = event::kind::started;
    e.key = name(r);
    e.at = j.started * 1000;
    tell(e);
  }
  if (r.at == phase::leaving && had_settled) {
    // It started before it could be held.
    r.has_run = true;
  } else {
    enter(r, phase::running);
  }
}

void governor::take_in_pending(record& r) {
  const job& j = r.is;
  const auto state = engine_->state(name(r));
  const bool holds = state == allot::job_state::running || state == allot::job_state::evicting;
  if (holds) {
    // Released, and Slurm has not started it yet (hold_unstarted() looks after it); or not held yet.
    if (!r.has_run && !j.is_held) return;
    if (!r.has_run && r.at != phase::leaving) return take_back_unstarted(r);
    if (r.settles_until) return;
    log_("requeue", {{"job", to_string(j.key)}, {"state", "left"}, {"restarts", std::to_string(j.restarts)}});
    some_have_ended_ = true;
    if (now_.wall - r.ran_since > long_run_ms) r.failures = 0;
    const bool gave_way = r.warned || was_told_to_yield(j) || !j.is_held || !r.has_run;
    if (gave_way && state == allot::job_state::running) {
      // Nobody took its share from it: what was lent of that meanwhile would be taken back at once.
      r.settles_until = now_.steady + settle_ms;
      r.reason = just_requeued;
      settling_.insert(j.key);
      enter(r, phase::leaving);
      if (!j.is_held) strays_.insert(j.key);
      return;
    }
    give_back(r);
    if (!gave_way) {
      take_in_held(r);
    } else if (r.backs_off_until < now_.wall + settle_ms) {
      r.backs_off_until = now_.wall + settle_ms;
      r.reason = just_requeued;
    }
  }
  if (j.is_held) {
    strays_.erase(j.key);
    forced_.erase(j.key);
  } else if (forced_.count(j.key) == 0) {
    strays_.insert(j.key);
  }
  evaluate(r);
}

/// It ran, and was requeued and held, not by the governor. There was a reason for that, so it stays held
/// until somebody releases it; but Slurm itself does so with what it could not launch.
void governor::take_in_held(record& r) {
  const job& j = r.is;
  if (j.why_pending.find("launch") == std::string::npos) {
    const std::string text =
        std::string{held_mark.substr(mark.size())} + "requeuehold: scontrol release " + to_string(j.key);
    const outcome o = call_for_parts(r, "comment", [&](const job& part, comments& say) {
      say = comments_for(part, text, "waits: it is " + text, nodes_to_avoid(r));
      return slurm_.comment(part, say);
    });
    if (o) return;
  }
  fail(r, cure::room, "it was requeued and held, not by the governor");
}

/// It was requeued, and has kept its share until its nodes are clean; now it waits for it.
void governor::settle(record& r) {
  settling_.erase(r.is.key);
  r.settles_until.reset();
  r.settled_for = r.is.restarts;
  give_back(r);
  evaluate(r);
}
void governor::settle_all() {
  const std::vector<job_key> all{settling_.begin(), settling_.end()};
  for (const job_key& k : all) {
    const auto at = records_.find(k);
    if (at != records_.end() && *at->second.settles_until <= now_.steady) settle(at->second);
  }
}

/// It was released, has not run, and is held again, not by the governor: Slurm holds what it can't run as it
/// is asked, and people hold jobs. Who released it at once would be answered at once, for ever.
void governor::take_back_unstarted(record& r) {
  const job& j = r.is;
  const bool cant_run = j.why_pending == bad_constraints;
  const std::string why = cant_run ? "Slurm can't run it as it asks (" + j.why_pending + ")"
                                   : "it was held by someone else after its release" +
                                         (j.why_pending.empty() ? "" : " (" + j.why_pending + ")");
  log_("hold", {{"job", to_string(j.key)}, {"user", j.user}, {"why", why}});
  ++totals_.failed_starts;
  give_back(r);
  strays_.erase(j.key);
  if (cant_run) {
    r.is_impossible = true;
    if (!r.tried_as) r.tried_as = j;
  } else if (held_by(j).empty()) {
    fail(r, cure::room, why);
  }
  evaluate(r);
}

/// Slurm did not start the job although it was released. It is tried again, later each time. Nobody is
/// evicted for it again if evictions have not helped, or would not.
void governor::fail(record& r, cure needs, const std::string& why) {
  ++totals_.failed_starts;
  r.failures = std::min<std::uint32_t>(r.failures + 1, 1000);
  r.failed_at = now_.wall;
  r.needs = needs;
  r.saw_room = nodes_have_room(r);
  r.backs_off_until = now_.wall + backoff_ms(r.failures - 1);
  r.reason = "it is tried again later: " + why;
  if (r.had_victims || needs != cure::room) r.is_spent = true;
}

/// Why no node of its partition could run it, even empty. Slurm checks memory and disk also where it does not
/// count them.
std::string governor::why_no_node(const job& j) const {
  std::uint64_t memory = 0;
  std::uint64_t disk = 0;
  std::uint64_t cpus = 0;
  for (const auto& [partition, largest] : largest_in_) {
    if (!has_word(j.partition, partition)) continue;
    memory = std::max(memory, largest.memory_mib);
    disk = std::max(disk, largest.tmp_disk_mib);
    cpus = std::max(cpus, largest.cpus);
  }
  const raw_request& r = j.request;
  const auto lacks = [&](std::uint64_t asked, std::uint64_t most, const char* what) {
    return (j.component ? component_text(*j.component) + ": " : "") + "no node of its partition has " +
           std::to_string(asked) + what + ": the largest has " + std::to_string(most);
  };
  if (memory > 0 && !r.memory_is_per_cpu && r.memory_mib > memory)
    return lacks(r.memory_mib, memory, " MiB of memory");
  if (disk > 0 && r.tmp_disk_mib > disk) return lacks(r.tmp_disk_mib, disk, " MiB of temporary disk");
  if (cpus > 0 && r.max_nodes > 0 && r.cpus > r.max_nodes * cpus)
    return lacks((r.cpus + r.max_nodes - 1) / r.max_nodes, cpus, " CPUs");
  return {};
}

/// Whether others may be evicted for the job: not if that has not helped before, nor if its user names nodes,
/// which the scheduler does not know.
bool governor::may_preempt(const record& r) const {
  const auto parts = parts_of(r.is);
  return !r.is_spent && std::all_of(parts.begin(), parts.end(), [](const job& part) {
    return own_requirements(part).empty() && own_exclusions(part).empty() && part.reservation.empty();
  });
}

/// Whether by Slurm's count there are nodes with enough free GPUs for it.
bool governor::nodes_have_room(const record& r) const {
  const auto have_room = [&](const allot::gpu::pod_request& asked, std::uint32_t pods) {
    const std::int64_t each = asked.gpus.in_milli() / 1000;
    std::int64_t together = 0;
    std::uint32_t with_room = 0;
    for (const node& n : nodes_) {
      const bool is_in = std::any_of(n.partitions.begin(), n.partitions.end(),
                                     [&](const std::string& p) { return has_word(r.is.partition, p); });
      if (!is_in || closed_.count(n.name) != 0) continue;
      const std::int64_t free = std::int64_t{n.gpus} - n.gpus_used;
      together += std::max<std::int64_t>(free, 0);
      if (free >= each) ++with_room;
    }
    return asked.total ? together >= each : with_room >= pods;
  };
  const auto& sets = r.what.sets;
  return sets.empty() ? have_room(r.what.pods, r.what.pods.pods)
                      : std::all_of(sets.begin(), sets.end(),
                                    [&](const auto& s) { return have_room(s.pods.each, s.pods.pods); });
}

/// A backoff ends when what the job waits for may have come: the nodes have room for it that they had not
/// when it failed; or some jobs have ended, if it is others' ends that it waits for.
void governor::end_backoffs() {
  const bool some_have_ended = std::exchange(some_have_ended_, false);
  const std::vector<job_key> all{not_ready_.begin(), not_ready_.end()};
  for (const job_key& k : all) {
    record& r = records_.at(k);
    if (r.failures == 0 || r.backs_off_until <= now_.wall) continue;
    bool ends = false;
    if (r.needs == cure::room) {
      const bool had_room = std::exchange(r.saw_room, nodes_have_room(r));
      ends = r.saw_room && !had_room;
    } else if (r.needs == cure::time) {
      ends = some_have_ended && now_.wall - r.failed_at >= retry_after_ends_ms;
    }
    if (!ends) continue;
    r.backs_off_until = now_.wall;
    evaluate(r);
  }
}

void governor::wait_with(record& r, phase as, std::string reason) {
  const job_name k = name(r);
  if (engine_->contains(k)) {
    event e;
    e.is = event::kind::cancel;
    e.key = k;
    tell(e);
  }
  if (as == phase::refused && (r.at != phase::refused || r.reason != reason)) {
    ++totals_.refused;
    log_("refuse", {{"job", k}, {"user", r.is.user}, {"account", r.is.account}, {"why", reason}});
  }
  if (r.reason != reason) dirty(r);
  r.reason = std::move(reason);
  enter(r, as);
}

/// Whether a job that was released has run since then and been requeued, although nobody has seen it run.
bool governor::was_requeued(const record& r) const {
  // A release does away with the delay, so what is delayed was requeued after it: an adopted job tells by
  // that.
  return r.is.restarts != r.released_after || (r.is.restarts > 0 && r.is.eligible * 1000 > now_.wall);
}

/// Before that a job is not tried: its user has put it off, its nodes are still cleaning up, or it backs off.
/// 0: at once.
std::int64_t governor::ready_at(const record& r) const {
  return std::max({begins_at(r.is), reservation_begins_at(r.is), r.backs_off_until});
}
/// When the reservation that it names begins, if that is to come; 0 if it names none, or one that nobody
/// knows.
std::int64_t governor::reservation_begins_at(const job& j) const {
  std::int64_t begins = 0;
  for (const job& part : parts_of(j)) {
    const auto its = reservations_.find(part.reservation);
    const std::int64_t at = its != reservations_.end() ? its->second.start * 1000 : 0;
    if (at > now_.wall) begins = std::max(begins, at);
  }
  return begins;
}

/// Whether reservations let the job start on the node now: it is in its own, and none begins before its time
/// limit.
bool governor::admits(const node& n, const job& j) const {
  const seconds now = now_.wall / 1000;
  bool is_in_its_own = j.reservation.empty();
  for (const node_reservation& r : n.reservations) {
    if (r.name == j.reservation) {
      is_in_its_own = true;
    } else if (r.end > now && (j.time_limit == 0 || now + j.time_limit > r.start)) {
      return false;
    }
  }
  return is_in_its_own;
}
/// When the next reservation begins to rule out nodes for it; without_end if none will.
std::int64_t governor::ruled_out_at(const job& j) const {
  std::int64_t next = allot::without_end;
  if (j.time_limit == 0) return next;
  for (const auto& [name, r] : reservations_) {
    const std::int64_t at = (r.start - j.time_limit) * 1000;
    if (at >= now_.wall) next = std::min(next, at);
  }
  return next;
}
/// Time passes, and jobs that wait would run into reservations.
void governor::foresee_reservations() {
  if (reservations_.empty() || !config_.slurm.places_jobs) return;
  for (auto& [k, r] : records_) {
    if (r.at == phase::waiting && now_.wall > r.ruled_out_at) evaluate(r);
  }
}

/// What keeps a job from being tried, and nobody knows until when; empty if nothing does.
std::string governor::blocked(const record& r) const {
  const job& j = r.is;
  if (const std::string held = held_by(j); !held.empty()) return "it is " + held;
  if (r.is_reserved_out) return is_reserved_out;
  if (forced_.count(j.key) != 0) return "an operator has started it: Slurm is to find nodes for it";
  if (!j.dependency.empty()) return "it depends on other jobs: " + j.dependency;
  if (j.array_limit > 0) {
    // The scheduler knows no more tasks than may run, and of those that wait the first.
    if (ready_at(r) > now_.wall) return not_yet(r);
    const auto at = limited_.find(j.key.id);
    const bool is_known = is_counted(j.key);
    std::size_t others = at == limited_.end() ? 0 : at->second.size() - (is_known ? 1 : 0);
    for (auto task = records_.lower_bound({j.key.id, 0});
         !is_known && others < j.array_limit && task->first < j.key; ++task) {
      if (comes_before_others(task->second)) ++others;
    }
    if (others >= j.array_limit) {
      return "its array runs at most " + std::to_string(j.array_limit) + " tasks at once";
    }
  }
  return limited(j);
}

/// Whether it is among the tasks of its array that the scheduler knows.
bool governor::is_counted(const job_key& task) const {
  const auto at = limited_.find(task.id);
  return at != limited_.end() && at->second.count(task) != 0;
}
/// Whether it is a task of an array that only waits until fewer of its tasks run.
bool governor::comes_before_others(const record& r) const {
  return !is_counted(r.is.key) && r.is.state == run_state::pending && r.at != phase::refused &&
         r.is.dependency.empty() && held_by(r.is).empty() && ready_at(r) <= now_.wall;
}

/// What keeps a job from being tried now; empty if nothing does.
std::string governor::unready(const record& r) const {
  std::string why = blocked(r);
  return why.empty() && ready_at(r) > now_.wall ? not_yet(r) : why;
}
std::string governor::not_yet(const record& r) const {
  const std::int64_t begin = std::max(begins_at(r.is), reservation_begins_at(r.is));
  return begin > now_.wall ? "it begins at " + time_text(begin) : r.reason;
}

/// Whether a pending job may be tried, and as what.
void governor::evaluate(record& r) {
  // Slurm delays the next start of what it requeues, which a release does away with. So what a governor sees
  // delayed for the first time has just been requeued, also if this governor did not see it run: it was
  // killed, the node failed, or the run was too short.
  if (r.is.restarts != r.settled_for && r.is.eligible * 1000 > now_.wall &&
      r.backs_off_until < now_.wall + settle_ms) {
    r.backs_off_until = now_.wall + settle_ms;
    r.reason = just_requeued;
  }
  r.settled_for = r.is.restarts;
  if (r.tried_as && !asks_for_the_same(r.is, *r.tried_as)) {
    r.had_victims = r.is_spent = r.is_impossible = false;
    r.tried_as.reset();
  }
  if (r.is_impossible) {
    return wait_with(r, phase::refused,
                     "Slurm can't run it as it asks (" + std::string{bad_constraints} +
                         "): no node has all of it; change what it asks for, or submit another");
  }
  // That ends with a reservation, and then there is another scheduler.
  if (std::string why = blocked(r); !why.empty()) return wait_with(r, phase::not_ready, std::move(why));
  if (!reservations_.empty()) r.ruled_out_at = ruled_out_at(r.is);
  std::string problem;
  auto what = facts_of(r.is, problem);
  if (!what) return wait_with(r, phase::refused, std::move(problem));
  std::string never = engine_->why_never(*what);
  for (const job& part : parts_of(r.is)) {
    if (never.empty()) never = why_no_node(part);
  }
  if (!never.empty()) return wait_with(r, phase::refused, std::move(never));
  what->ready = ready_at(r);
  what->preempts = may_preempt(r);
  if (!engine_->contains(name(r)) || *what != r.what) {
    event e;
    e.key = name(r);
    e.what = r.what = *what;
    e.is = engine_->contains(e.key) ? event::kind::alter : event::kind::submit;
    tell(e);
  }
  if (engine_->contains(name(r))) {
    // The scheduler knows when it is ready, and does not lend for seconds what it will take back.
    std::string why = unready(r);
    if (why.empty()) return enter(r, phase::waiting);
    if (r.reason != why) dirty(r);
    r.reason = std::move(why);
    return enter(r, phase::not_ready);
  }
  const bool could_fit = engine_->could_ever_fit(*what);
  if (!reservations_.empty() && !could_fit) {
    facts anywhere = *what;
    anywhere.pods.pools = allot::gpu::all_pools;
    for (auto& s : anywhere.sets) s.pods.each.pools = allot::gpu::all_pools;
    r.is_reserved_out = engine_->could_ever_fit(anywhere);
    if (r.is_reserved_out) return wait_with(r, phase::not_ready, is_reserved_out);
  }
  wait_with(r, phase::refused,
            could_fit ? "its request can't be counted"
                      : "the cluster has no place for it: " + engine_->why_no_place(*what));
}

std::optional<facts> governor::facts_of(const job& j, std::string& problem) const {
  const auto quota = config_.quota_of(j.account);
  if (!quota) {
    problem = "its account \"" + j.account + "\" has no quota";
    return std::nullopt;
  }
  const auto& of = config_.quotas.quotas[*quota];
  if (of.access && j.state == run_state::pending) {
    allot::role_table table;
    table.set_rule(allot::quota_id{*quota}, *of.access);
    const auto roles = around_.groups ? around_.groups(j) : std::vector<std::string>{};
    const allot::principal who{j.user, roles};
    if (!table.decide(who, allot::quota_id{*quota}).allowed) {
      problem = table.explain(who, allot::quota_id{*quota}, of.spec.name);
      return std::nullopt;
    }
  }
  facts f;
  f.quota = allot::quota_id{*quota};
  if (j.components.empty()) {
    auto pods = pods_of(j, f.request, problem);
    if (!pods) return std::nullopt;
    f.pods = *pods;
  } else if (!take_components(j, f, problem)) {
    return std::nullopt;
  }
  if (const auto at = config_.slurm.qos.find(j.qos); at != config_.slurm.qos.end()) f.priority = at->second;
  // In Slurm nice orders jobs and never preempts: its turn is as if it had been submitted later.
  f.submitted = (j.submitted + j.nice) * 1000;
  f.rank = std::uint64_t{j.key.id} << 32 | (j.key.task == job_key::no_task ? 0 : j.key.task);
  f.preemptible = j.may_requeue;
  f.estimate = j.time_limit * 1000;
  f.pods.estimate.span = f.estimate;
  return f;
}

/// A heterogeneous job is one gang, with a set of pods for each component.
bool governor::take_components(const job& j, facts& f, std::string& problem) const {
  f.pods.pods = 0;
  for (const job& part : j.components) {
    const std::string whose = component_text(*part.component);
    amounts request{};
    if (!config_.governs(part.partition)) {
      problem = whose + " is for the partition \"" + part.partition + "\", which is not governed";
    } else if (part.account != j.account || part.qos != j.qos) {
      problem = whose + " has another account or QOS than the first: give all the same";
    } else if (f.sets.size() == allot::most_pod_sets) {
      problem = "it has more than " + std::to_string(allot::most_pod_sets) + " components";
    } else if (auto pods = pods_of(part, request, problem); !pods) {
      problem = whose + ": " + problem;
    } else if (const auto set = set_of(*pods, largest_)) {
      auto& to = f.sets.emplace_back();
      to.pods = *set;
      for (std::size_t d = 0; d < dimensions; ++d)
        to.request[d] = allot::quantity::milli(request[d].in_milli() / set->pods);
      f.request += request;
      f.pods.pods += set->pods;
      continue;
    } else {
      problem = whose + ": say on how many nodes its GPUs are, as in --nodes=2 --gres=gpu:4";
    }
    return false;
  }
  const auto leaf = config_.slurm.places_jobs && engine_ != nullptr ? engine_->leaf_level() : std::nullopt;
  if (leaf && f.pods.pods > 1) f.pods.preferred_level = *leaf;
  return true;
}

std::optional<std::uint64_t> governor::pools(std::string_view partition, std::string_view constraint,
                                             const std::function<bool(const node&)>& admit) const {
  bool is_read = true;
  const std::uint64_t all = engine_->pools([&](const std::string& pool) {
    const node& like = pool_like_.find(pool)->second;
    const auto fits = satisfies(like.features, constraint);
    is_read = is_read && fits;
    const bool is_in =
        std::find(like.partitions.begin(), like.partitions.end(), partition) != like.partitions.end();
    return is_in && fits.value_or(false) && (!admit || admit(like));
  });
  return is_read ? std::optional{all} : std::nullopt;
}

std::optional<need> governor::need_of(const job& j, amounts& request, std::string& problem) const {
  auto read = read_need(j.request, largest_);
  if (!read.value) {
    problem = std::move(read.problem);
    return std::nullopt;
  }
  need& n = *read.value;
  if (const std::uint32_t has = gpus_of(j); has > 0 && j.state == run_state::running) {
    n.gpus = has;
    n.is_total = n.is_total || n.gpus % n.nodes != 0;
  }
  bool counts_gpus = n.gpus == 0;
  bool has_gpu_dimension = false;
  for (std::size_t d = 0; d < config_.dimensions.size(); ++d) {
    const config::dimension& counts = config_.dimensions[d];
    switch (counts.what) {
      case config::counted::gpus:
        has_gpu_dimension = true;
        if (!counts.gpu_type.empty() && counts.gpu_type != n.gpu_type) break;
        request[d] += whole(n.gpus);
        counts_gpus = true;
        break;
      case config::counted::cpus:
        request[d] += whole(n.cpus);
        break;
      case config::counted::memory_mib:
        request[d] += whole(n.memory_mib);
        break;
      case config::counted::nodes:
        request[d] += whole(n.nodes);
        break;
    }
  }
  if (has_gpu_dimension && !counts_gpus) {
    problem = n.gpu_type.empty() ? "the quotas count GPUs by type: say which, as in --gpus=TYPE:1"
                                 : "no quota counts GPUs of the type \"" + n.gpu_type + '"';
    return std::nullopt;
  }
  return std::move(read.value);
}

std::optional<allot::gpu::pod_request> governor::pods_of(const job& j, amounts& request,
                                                         std::string& problem) const {
  const auto needs = need_of(j, request, problem);
  if (!needs) return std::nullopt;
  const need& n = *needs;
  allot::gpu::pod_request p;
  const auto host = [](std::uint64_t amount) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(amount, allot::gpu::max_host_amount));
  };
  const std::uint64_t parts = n.is_total ? 1 : n.nodes;
  const auto part = [&](std::uint64_t amount) { return (amount + parts - 1) / parts; };
  p.total = n.is_total;
  p.pods = static_cast<std::uint32_t>(std::min<std::uint64_t>(parts, 1'000'000));
  p.gpus = whole(part(n.gpus));
  p.cpu_milli = host(part(n.cpus) * 1000);
  p.memory_mib = host(part(n.memory_mib));
  if (config_.slurm.places_jobs && engine_ != nullptr) {
    std::string partition = j.partition;
    for (const std::string& governed : config_.slurm.partitions) {
      if (config_.governs(j.partition) && has_word(j.partition, governed)) {
        partition = governed;
        break;
      }
    }
    const auto all = pools(partition, j.features);
    const auto free_pools =
        !reservations_.empty() && j.state == run_state::pending
            ? pools(partition, j.features, [&](const node& like) { return admits(like, j); })
            : all;
    p.models = engine_->models(n.gpu_type);
    if (j.state == run_state::pending) {
      if (!all) {
        problem = "its constraint \"" + j.features + "\" is not understood: use names with & or |";
      } else if (*all == 0) {
        problem = "no node of its partition satisfies \"" + j.features + '"';
      } else if (p.models == 0) {
        problem = "no node has GPUs of the type \"" + n.gpu_type + '"';
      }
      if (!problem.empty()) return std::nullopt;
    }
    p.pools = free_pools.value_or(allot::gpu::all_pools);
    if (const auto leaf = engine_->leaf_level(); leaf && (p.total || p.pods > 1)) {
      (j.request.on_one_switch ? p.required_level : p.preferred_level) = *leaf;
    }
  }
  return p;
}

}  // namespace allot_slurm

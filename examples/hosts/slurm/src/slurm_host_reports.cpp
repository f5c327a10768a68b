// SPDX-License-Identifier: BSL-1.0
// What the governor is told.
#include "slurm_host.hpp"

#include <algorithm>

namespace allot_slurm {

namespace {

constexpr const char* just_requeued =
    "it has just been requeued, and its nodes are still cleaning up after it";
constexpr const char* is_reserved_out =
    "the nodes that it could have are reserved in Slurm before its time limit is over";

/// When its user has put it off, until when; else 0. After a requeue Slurm delays the next start; a release
/// does away with that. What its user has not put off could start when it was submitted, whatever the clock
/// said then.
[[nodiscard]] milliseconds begins_at(const job& j) {
  return j.restarts == 0 && j.eligible > j.submitted ? j.eligible * 1000 : 0;
}

}  // namespace

job_report slurm_host::report(record& r) {
  const job& s = r.is;
  job_report j;
  j.name = name(r);
  j.uid = std::to_string(s.submitted);
  j.is_governed = r.is_governed;
  j.at = r.at;
  j.submitted = s.submitted * 1000;
  j.user = s.user;
  j.account = s.account;
  j.title = s.name;
  j.restarts = s.restarts;
  j.was_forced = r.is_forced;
  j.has_failed = r.has_failed;
  j.where = r.at == stage::starting ? r.sent_to : s.nodes;
  r.is_in_doubt = false;
  if (!r.is_governed) return j;
  if (r.at == stage::waiting) {
    report_waiting(r, j);
    return j;
  }
  r.blocked.clear();
  j.started = r.at == stage::starting ? 0 : s.started * 1000;
  j.what = facts_.of(s, now_.wall, j.refused);
  if (j.what) r.what = *j.what;
  j.why_not_started = s.why_pending;
  j.keeps_share = r.at == stage::leaving && !r.leaves;
  if (j.keeps_share) j.not_ready = just_requeued;
  return j;
}

void slurm_host::report_waiting(record& r, job_report& j) {
  const job& s = r.is;
  j.started = r.ran_since;
  j.why_not_started = r.why_failed;
  // Slurm delays the next start of what it requeues, which a release does away with. So what a governor sees
  // delayed for the first time has just been requeued, also if this governor did not see it run: it was
  // killed, the node failed, or the run was too short.
  if (s.restarts != r.settled_for && s.eligible * 1000 > now_.wall)
    r.settles_wall = std::max(r.settles_wall, now_.wall + settle_ms);
  r.settled_for = s.restarts;
  r.blocked = blocked(r);
  j.what = facts_.of(s, now_.wall, j.refused);
  if (r.is_impossible) {
    r.blocked.clear();
    j.refused = "Slurm can't run it as it asks (" + std::string{bad_constraints} +
                "): no node has all of it; change what it asks for, or submit another";
  }
  for (const job& part : parts_of(s)) {
    if (j.refused.empty()) j.refused = facts_.why_no_node(part);
  }
  j.blocked = r.blocked;
  r.blocked.empty() ? void(blocked_.erase(s.key)) : void(blocked_.insert(s.key));
  const auto shared = std::find_if(records_.lower_bound({s.key.id, 0}), records_.end(),
                                   [&](const auto& of) { return shares(of.second, r); });
  r.is_told = !r.is_forced && (s.key.task == job_key::no_task || shared->first == s.key);
  j.is_told = r.is_told;
  if (!j.what) {
    // What is its quota is known.
    if (const auto quota = config_.quota_of(s.account)) j.what.emplace().quota = allot::quota_id{*quota};
    return;
  }
  r.what = *j.what;
  j.what->ready = ready_at(r);
  j.what->preempts = may_preempt(r);
  if (r.settles_wall > now_.wall && r.settles_wall == j.what->ready) j.not_ready = just_requeued;
  if (config_.slurm.places_jobs && !facts_.reservations().empty()) {
    r.ruled_out_at = facts_.ruled_out_at(s, now_.wall);
    std::string problem;
    j.later = facts_.of(s, now_.wall, problem, true);
    j.why_later = is_reserved_out;
  }
  // Until the governor says otherwise.
  if (!j.blocked.empty() || !j.refused.empty() || j.what->ready > now_.wall) return;
  r.phase = job_phase::waiting;
  count(r);
}

/// Before that a job is not tried: its user has put it off, or its nodes are still cleaning up.
milliseconds slurm_host::ready_at(const record& r) const {
  return std::max({begins_at(r.is), facts_.reservation_begins_at(r.is, now_.wall), r.settles_wall});
}

/// What keeps a job from being tried, and nobody knows until when; empty if nothing does.
std::string slurm_host::blocked(const record& r) const {
  const job& j = r.is;
  if (const std::string held = held_by(j); !held.empty()) return "it is " + held;
  if (r.is_forced) return "an operator has started it: Slurm is to find nodes for it";
  if (!j.dependency.empty()) return "it depends on other jobs: " + j.dependency;
  if (j.array_limit > 0 && !r.is_counted) {
    // The scheduler knows no more tasks than may run, and of those that wait the first.
    if (const milliseconds at = ready_at(r); at > now_.wall)
      return at == r.settles_wall ? just_requeued : "it begins at " + time_text(at);
    const auto known = counted_.find(j.key.id);
    std::size_t others = known == counted_.end() ? 0 : known->second;
    for (auto task = records_.lower_bound({j.key.id, 0}); others < j.array_limit && task->first < j.key;
         ++task) {
      if (comes_before_others(task->second)) ++others;
    }
    if (others >= j.array_limit)
      return "its array runs at most " + std::to_string(j.array_limit) + " tasks at once";
  }
  return limited(j);
}

std::string slurm_host::limited(const job& j) const {
  const auto quota = config_.quota_of(j.account);
  return quota ? limits_.obstacle(j, *quota) : std::string{};
}

/// Whether it is a task of an array that only waits until fewer of its tasks run.
bool slurm_host::comes_before_others(const record& r) const {
  const bool backs_off = r.phase == job_phase::not_ready && r.blocked.empty();
  return !r.is_counted && r.is.state == run_state::pending && r.phase != job_phase::refused && !backs_off &&
         !r.is_impossible && r.is.dependency.empty() && held_by(r.is).empty() && ready_at(r) <= now_.wall;
}

/// Whether others may be evicted for the job: not if that has not helped before, nor if its user names nodes,
/// which the scheduler does not know.
bool slurm_host::may_preempt(const record& r) const {
  const auto parts = parts_of(r.is);
  return !r.is_spent && std::all_of(parts.begin(), parts.end(), [](const job& part) {
    return own_requirements(part).empty() && own_exclusions(part).empty() && part.reservation.empty();
  });
}

/// Tasks of an array that share a record share its comments: those of the first.
bool slurm_host::shares(const record& r, const record& with) const {
  return r.is.key.id == with.is.key.id && r.is.record == with.is.record && r.at == stage::waiting &&
         r.is.state == run_state::pending;
}

/// Where Slurm chooses the nodes: those of the job's last run that are down or have just come back. slurmd
/// there is still to be told to end that run, and would end the next one with it.
std::string slurm_host::nodes_to_avoid(const record& r) const {
  std::string list;
  if (config_.slurm.places_jobs || r.is.restarts == 0) return list;
  const bool was_seen = !r.ran_on.empty() && r.is.restarts <= r.ran_after + 1;
  for (const std::string& n : closed_) {
    const bool ran_there = !was_seen || std::find(r.ran_on.begin(), r.ran_on.end(), n) != r.ran_on.end();
    if (ran_there) list.append(list.empty() ? "" : ",").append(n);
  }
  return list;
}

void slurm_host::report_machines(changes& to) {
  // Reservations begin and end with time alone.
  if (!std::exchange(are_nodes_news_, false) && facts_.reservations().empty()) return;
  std::vector<machine_report> now;
  for (const node& n : facts_.nodes()) {
    machine_report& m = now.emplace_back();
    m.is = known_.all[now.size() - 1];
    const bool is_reserved = std::any_of(n.reservations.begin(), n.reservations.end(), [&](const auto& r) {
      return r.start * 1000 <= now_.wall && now_.wall < r.end * 1000;
    });
    m.is_open = closed_.count(n.name) == 0;
    m.state = !n.is_open    ? n.is_down ? "down" : "drained"
              : !m.is_open  ? "starting"
              : is_reserved ? "reserved"
                            : "up";
    m.why = n.why_closed;
    const auto lost = lost_.find(n.name);
    if (lost == lost_.end()) continue;
    m.lost_gpus = lost->second.count;
    lost->second.is_told = true;
  }
  if (now == machines_) return;
  machines_ = now;
  to.machines = std::move(now);
  to.levels = known_.levels;
}

}  // namespace allot_slurm

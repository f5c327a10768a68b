// SPDX-License-Identifier: BSL-1.0
#include "slurm_host.hpp"

#include "governor/src/snapshot_quotas.hpp"
#include "words.hpp"

#include <algorithm>
#include <charconv>

namespace allot_slurm {

slurm_host::slurm_host(config c, cluster& slurm, job_facts::groups_of groups, bool observes)
    : config_(std::move(c)), slurm_(slurm), observes_(observes), facts_(config_, std::move(groups)) {}

void slurm_host::reconfigure(config c) {
  config_ = std::move(c);
  are_quotas_news_ = true;
  read_machines();
  for (auto& [k, r] : records_) {
    if (config_.governs(r.is.partition) != r.is_governed) take_in(r, true);
    changed_.insert(k);
  }
}

void slurm_host::step(moment now) {
  const std::int64_t step = clock_.set(now);
  now_ = clock_.now();
  calls_ = 0;
  if (step == 0) return;
  for (auto& [k, r] : records_) {
    if (r.settles_wall == 0) continue;
    r.settles_wall += step;
    changed_.insert(k);
  }
}

outcome slurm_host::poll(changes& to) {
  cluster_changes c;
  const outcome polled = slurm_.poll(c);
  to.load_us = c.load_us;
  to.seen_at = c.seen_at * 1000;
  clock_.saw(to.seen_at);
  now_ = clock_.now();
  is_away_ = !polled;
  // What has been learned before a failure is not lost.
  take_in_cluster(std::move(c));
  if (!polled) return polled;
  for (const auto& [job, known] : std::exchange(recalled_, {})) {
    if (!known.leaves || find(job) != nullptr) continue;
    log("requeue", {{"job", job},
                    {"failed",
                     "it left while there was no governor, and Slurm has forgotten it (MinJobAge): it has "
                     "to be submitted again"}});
  }
  settle_all();
  tend();
  if (is_away_) return {outcome::kind::away, "a call was not answered"};
  find_cured(to.cured);
  find_changed();
  if (std::exchange(are_quotas_news_, false)) {
    to.quotas = governed_quotas{.file = config_.quotas,
                                .text = config_.text,
                                .own_key = std::string{words.key},
                                .places_jobs = config_.slurm.places_jobs,
                                .one_pod_a_machine = true};
  }
  report_machines(to);
  for (const job_key& k : std::exchange(changed_, {})) {
    if (const auto at = records_.find(k); at != records_.end()) to.jobs.push_back(report(at->second));
  }
  for (const job_name& n : std::exchange(gone_, {})) {
    if (find(n) == nullptr) to.gone.push_back(n);
  }
  return {};
}

void slurm_host::carry_out(std::span<command> all) {
  for (command& c : all) {
    record* const r = find(c.job->name);
    c.is_logged = true;
    if (is_away_) {
      c.result = {outcome::kind::away, "slurmctld does not answer"};
      if (r != nullptr && c.is == command::kind::start) {
        r->is_in_doubt = true;
        changed_.insert(r->is.key);
      }
      continue;
    }
    if (r == nullptr || std::to_string(r->is.submitted) != c.job->uid) {
      c.result = {outcome::kind::too_late, "it is gone"};
      continue;
    }
    switch (c.is) {
      case command::kind::start:
        release(*r, c);
        break;
      case command::kind::force:
        force(*r, c);
        break;
      case command::kind::stop:
        stop(*r, c);
        break;
      case command::kind::explain:
        explain(*r, c);
        break;
    }
  }
}

const slurm_host::record* slurm_host::find(const job_name& n) const {
  const auto k = parse_job_key(n);
  const auto at = k ? records_.find(*k) : records_.end();
  return at == records_.end() ? nullptr : &at->second;
}

void slurm_host::stands(const job_report& job, std::optional<job_phase> at) {
  record* const r = find(job.name);
  if (r == nullptr || std::to_string(r->is.submitted) != job.uid) return;
  r->phase = at;
  count(*r);
}

// What outlives a governor.

void slurm_host::remember(memory& to) const {
  for (const job_key& k : failing_) {
    const record& r = records_.at(k);
    std::string own;
    const auto add = [&](bool is, const char* word) {
      if (is) own.append(own.empty() ? "" : ",").append(word);
    };
    add(r.had_victims, "had_victims");
    add(r.is_spent, "spent");
    add(r.is_impossible, "impossible");
    add(r.needs == cure::time, "needs_time");
    add(r.needs == cure::somebody, "needs_somebody");
    const job_identity job{name(r), std::to_string(r.is.submitted)};
    auto at =
        std::find_if(to.backoffs.begin(), to.backoffs.end(), [&](const auto& b) { return b.job == job; });
    if (at == to.backoffs.end() && own.empty()) continue;
    if (at == to.backoffs.end()) at = to.backoffs.insert(at, memory::backoff{.job = job});
    at->own = std::move(own);
  }
}

void slurm_host::recall(const memory& of) {
  const auto known = [&](const job_identity& job) -> recalled& {
    recalled& r = recalled_[job.name];
    std::from_chars(job.uid.data(), job.uid.data() + job.uid.size(), r.submitted);
    return r;
  };
  for (const auto& b : of.backoffs) {
    recalled& r = known(b.job);
    r.own = b.own;
    r.has_failed = true;
  }
  if (of.state) {
    for (const auto& u : of.state->units) {
      recalled& r = known(u.what);
      r.leaves = u.state == allot::job_state::evicting;
    }
  }
  for (const auto& l : of.leaving) {
    recalled& r = known(l.job);
    r.leaves = true;
    r.warned = l.since;
  }
}

// What is shown.

void slurm_host::describe(snapshot& to) const {
  to.since_start.warned = totals_.warned;
  to.since_start.requeued = totals_.requeued;
  to.since_start.held_again = totals_.held_again;
  to.since_start.failed_starts += totals_.failed_starts;
  to.since_start.calls = totals_.calls;
  to.since_start.failed_calls = totals_.failed_calls;
  to.last.calls = calls_;
  for (snapshot::job& j : to.jobs) {
    const record* const r = find(j.id);
    if (r == nullptr) continue;
    j.comment = r->is.admin_comment;
    j.host_reason = r->is.why_pending;
    // Of many the scheduler is not asked.
    const bool is_explained = r->is.admin_comment.starts_with(comment_mark) && j.comment != not_explained;
    if (j.phase == job_phase::waiting && is_explained && j.reason.empty()) {
      j.reason = told_reason(r->is);
      if (j.reason.starts_with("waits: ")) j.reason.erase(0, 7);
    }
    for (const job& part : r->is.components) {
      amounts has{};
      std::string unread;
      static_cast<void>(facts_.need_of(part, has, unread));
      // Where only the sum of its GPUs is given, they say how many nodes.
      const auto& sets = r->what.sets;
      const std::size_t number = j.components.size();
      j.components.push_back({number < sets.size() ? sets[number].pods.pods : part.request.nodes,
                              row_of(has, to.resources.size())});
    }
  }
}

}  // namespace allot_slurm

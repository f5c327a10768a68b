// SPDX-License-Identifier: BSL-1.0
// The state after a tick, as plain data.
#include "governor/src/governor.hpp"
#include "governor/src/snapshot_quotas.hpp"

#include <algorithm>
#include <utility>

namespace allot_governor {

namespace {

using stage = job_report::stage;

/// For how many jobs the scheduler is asked why they wait, so that a snapshot stays cheap.
constexpr std::size_t most_asked = 100;

}  // namespace

snapshot governor::snapshot_view() {
  snapshot s;
  s.words = options_.words;
  s.cluster = cluster_name_;
  s.now = now_.wall;
  s.observes = options_.observes;
  s.is_away = is_away_;
  s.refused_config = refused_config_;
  s.since_start = totals_;
  s.last = last_;
  s.log = {log_.last().begin(), log_.last().end()};
  if (quotas_) show_quotas(s, quotas_->file, engine_.get());
  for (const machine_report& m : machines_) {
    // One without anything is where jobs are that have no place.
    if (m.is.gpus > 0 || m.is.cpus > 0)
      s.nodes.push_back({m.is.name, m.state, m.is.gpus, {}, m.lost_gpus, m.why});
  }
  show_jobs(s);
  host_.describe(s);
  return s;
}

void governor::show_jobs(snapshot& s) {
  std::map<std::string, std::size_t> node_at;
  for (std::size_t i = 0; i < s.nodes.size(); ++i) node_at[s.nodes[i].name] = i;
  std::vector<std::pair<snapshot::job, const record*>> waiting;
  for (const auto& [name, r] : records_) {
    const job_report& j = r.is;
    const auto at = shown(r.at);
    const bool is_governed = at.has_value();
    const std::optional<facts>& what = j.at != stage::waiting && j.has ? j.has : j.what;
    const auto quota = is_governed && what ? std::optional{what->quota.index()} : std::nullopt;
    const bool has_machines = j.at != stage::waiting;
    if (has_machines) {
      for (const node_share& share : j.where) {
        const auto on = node_at.find(share.node);
        if (on != node_at.end() && share.gpus > 0)
          s.nodes[on->second].used.push_back({name, quota, share.gpus});
      }
    }
    if (!is_governed) continue;
    snapshot::job to;
    to.id = name;
    to.name = j.title;
    to.user = j.user;
    to.account = j.account;
    to.quota = quota;
    to.phase = *at;
    ++s.phases[static_cast<std::size_t>(to.phase)];
    if (what) to.request = row_of(first_request(*what), s.resources.size());
    to.preemptible = !what || what->preemptible;
    to.submitted = j.submitted;
    to.restarts = j.restarts;
    to.host_reason = j.why_not_started;
    const bool runs = r.at == phase::running || r.at == phase::leaving || r.at == phase::released;
    to.since = r.at == phase::running && j.started > 0 ? j.started
               : runs                                  ? now_.wall - (now_.steady - r.since)
                                                       : to.submitted;
    if (r.at == phase::not_ready && r.failures > 0 && r.backs_off_until > now_.wall) ++s.backing_off;
    if (quota && runs) ++(r.at == phase::released ? s.quotas[*quota].released : s.quotas[*quota].running);
    if (quota && !runs) ++s.quotas[*quota].waiting;
    if (runs && r.at != phase::released) {
      to.started = j.started;
      if (what && what->estimate > 0 && j.started > 0) to.ends = j.started + what->estimate;
    }
    if (runs) {
      for (const node_share& share : j.where) {
        if (std::find(to.nodes.begin(), to.nodes.end(), share.node) == to.nodes.end())
          to.nodes.push_back(share.node);
      }
    }
    const bool has_reason = r.at == phase::refused || r.at == phase::not_ready || r.at == phase::leaving;
    if (has_reason) to.reason = r.reason;
    if (engine_ != nullptr) {
      const auto p = engine_->reservation_of(name);
      if (p && p->start != allot::without_end && !p->gathers_since) to.latest_start = p->start;
      if (const auto b = engine_->beneficiary(name)) to.beneficiary = *b;
    }
    runs ? s.jobs.push_back(std::move(to)) : void(waiting.emplace_back(std::move(to), &r));
  }
  const auto older = [](const auto& a, const auto& b) { return a.submitted < b.submitted; };
  std::stable_sort(s.jobs.begin(), s.jobs.end(), older);
  std::stable_sort(waiting.begin(), waiting.end(),
                   [&](const auto& a, const auto& b) { return older(a.first, b.first); });
  if (waiting.size() > snapshot::most_waiting) waiting.resize(snapshot::most_waiting);
  std::size_t asked = 0;
  for (auto& [to, r] : waiting) {
    if (r->at == phase::waiting && engine_ != nullptr && ++asked <= most_asked) {
      to.before = engine_->jobs_before(to.id);
      to.reason = explanation_of(*r).for_operators;
      constexpr std::string_view begins = "waits: ";
      if (to.reason.starts_with(begins)) to.reason.erase(0, begins.size());
    }
    s.jobs.push_back(std::move(to));
  }
}

}  // namespace allot_governor

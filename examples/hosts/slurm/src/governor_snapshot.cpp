// SPDX-License-Identifier: BSL-1.0
// The state after a tick, as plain data.
#include "governor.hpp"
#include "governor/src/snapshot_quotas.hpp"
#include "words.hpp"

#include <algorithm>

namespace allot_slurm {

namespace {

/// For how many jobs the scheduler is asked why they wait, so that a snapshot stays cheap.
constexpr std::size_t most_asked = 100;

}  // namespace

snapshot governor::snapshot_view() const {
  snapshot s;
  s.words = words;
  s.cluster = cluster_name_;
  s.now = now_.wall;
  s.observes = observes_;
  s.is_away = is_away_;
  s.refused_config = refused_config_;
  s.since_start = totals_;
  s.last = last_;
  s.log = {log_.last().begin(), log_.last().end()};
  show_quotas(s, config_.quotas, engine_.get());
  const auto row = [&](const amounts& a) { return row_of(a, s.resources.size()); };
  std::map<std::string, std::size_t> node_at;
  for (const node& each : nodes_) {
    node_at[each.name] = s.nodes.size();
    const bool is_reserved =
        std::any_of(each.reservations.begin(), each.reservations.end(),
                    [&](const auto& r) { return r.start * 1000 <= now_.wall && now_.wall < r.end * 1000; });
    const char* const state = !each.is_open ? each.is_down ? "down" : "drained"
                              : is_reserved ? "reserved"
                                            : "up";
    s.nodes.push_back({each.name, state, each.gpus, {}, 0, each.why_closed});
  }
  for (const auto& [name, lost] : lost_) {
    const auto at = node_at.find(name);
    if (at == node_at.end() || lost.count == 0) continue;
    s.nodes[at->second].lost_gpus = lost.count;
  }
  std::vector<std::pair<snapshot::job, const record*>> waiting;
  for (const auto& [k, r] : records_) {
    const job& j = r.is;
    const bool is_governed = r.at != phase::foreign && r.at != phase::unknown;
    const auto quota = is_governed ? config_.quota_of(j.account) : std::nullopt;
    const std::vector<node_share>& where = j.nodes.empty() ? r.sent_to : j.nodes;
    const bool has_nodes = j.state == run_state::running || j.state == run_state::completing;
    for (const node_share& share : has_nodes || r.at == phase::released ? where : std::vector<node_share>{}) {
      const auto at = node_at.find(share.node);
      if (at == node_at.end() || share.gpus == 0) continue;
      s.nodes[at->second].used.push_back({to_string(k), quota, share.gpus});
    }
    if (!is_governed) continue;
    snapshot::job to;
    to.id = to_string(k);
    to.name = j.name;
    to.user = j.user;
    to.account = j.account;
    to.quota = quota;
    switch (r.at) {
      case phase::refused:
        to.phase = job_phase::refused;
        break;
      case phase::not_ready:
        to.phase = job_phase::not_ready;
        break;
      case phase::released:
        to.phase = job_phase::released;
        break;
      case phase::running:
        to.phase = job_phase::running;
        break;
      case phase::leaving:
        to.phase = job_phase::leaving;
        break;
      default:
        to.phase = job_phase::waiting;
    }
    ++s.phases[static_cast<std::size_t>(to.phase)];
    to.request = row(r.what.request);
    for (const job& part : j.components) {
      amounts has{};
      std::string unread;
      static_cast<void>(need_of(part, has, unread));
      // Where only the sum of its GPUs is given, they say how many nodes.
      const auto& sets = r.what.sets;
      const std::size_t number = to.components.size();
      to.components.push_back({number < sets.size() ? sets[number].pods.pods : part.request.nodes, row(has)});
    }
    to.preemptible = j.may_requeue;
    to.submitted = j.submitted * 1000;
    to.restarts = j.restarts;
    to.comment = j.admin_comment;
    to.host_reason = j.why_pending;
    const auto on_wall = [&](std::int64_t steady) { return now_.wall - (now_.steady - steady); };
    to.since = r.at == phase::released ? on_wall(r.released)
               : r.warned              ? on_wall(*r.warned)
               : has_nodes             ? j.started * 1000
                                       : to.submitted;
    const bool runs = r.at == phase::running || r.at == phase::leaving || r.at == phase::released;
    if (r.at == phase::not_ready && r.failures > 0 && r.backs_off_until > now_.wall) ++s.backing_off;
    if (quota && runs) ++(r.at == phase::released ? s.quotas[*quota].released : s.quotas[*quota].running);
    if (quota && !runs) ++s.quotas[*quota].waiting;
    if (has_nodes) to.started = j.started * 1000;
    if (has_nodes && j.time_limit > 0) to.ends = (j.started + j.time_limit) * 1000;
    if (runs) {
      for (const node_share& share : where) {
        // Components may share one.
        if (std::find(to.nodes.begin(), to.nodes.end(), share.node) == to.nodes.end())
          to.nodes.push_back(share.node);
      }
    }
    if (r.at == phase::refused || r.at == phase::not_ready || r.at == phase::leaving) {
      to.reason = r.reason;
    } else if (!runs && j.admin_comment.starts_with(mark) && j.admin_comment != not_explained) {
      to.reason = told_reason(j);
    }
    if (engine_ != nullptr) {
      if (const auto p = engine_->reservation_of(to.id);
          p && p->start != allot::without_end && !p->gathers_since) {
        to.latest_start = p->start;
      }
      to.beneficiary = engine_->beneficiary(to.id).value_or(job_name{});
    }
    runs ? s.jobs.push_back(std::move(to)) : void(waiting.emplace_back(std::move(to), &r));
  }
  const auto older = [](const auto& a, const auto& b) { return a.submitted < b.submitted; };
  std::stable_sort(s.jobs.begin(), s.jobs.end(), older);
  std::stable_sort(waiting.begin(), waiting.end(),
                   [&](const auto& a, const auto& b) { return older(a.first, b.first); });
  if (waiting.size() > snapshot::most_waiting) waiting.resize(snapshot::most_waiting);
  // Those whose comment is not written yet, or never is, since nothing may be touched.
  std::size_t asked = 0;
  std::size_t counted = 0;
  for (auto& [to, r] : waiting) {
    // What a job asks for that was never tried, nobody has read.
    if (std::string unread; r->what == facts{}) {
      if (const auto what = facts_of(r->is, unread)) to.request = row(what->request);
    }
    if (r->at == phase::waiting && engine_ != nullptr && ++counted <= most_asked) {
      to.before = engine_->jobs_before(to.id);
    }
    if (to.reason.empty() && engine_ != nullptr && ++asked <= most_asked) {
      to.reason = explanation(*r, allot::addressee::operators);
    }
    s.jobs.push_back(std::move(to));
  }
  return s;
}

}  // namespace allot_slurm

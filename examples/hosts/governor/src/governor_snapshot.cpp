// SPDX-License-Identifier: BSL-1.0
// The state after a tick, as plain data.
#include "governor/src/governor.hpp"

#include <allot/fairshare/borrowed_share.hpp>
#include <allot/fairshare/division.hpp>
#include <allot/quota/loans.hpp>
#include <allot/systems/by_name/selectable_surplus.hpp>

#include <algorithm>
#include <utility>

namespace allot_governor {

namespace {

using stage = job_report::stage;

/// For how many jobs the scheduler is asked why they wait, so that a snapshot stays cheap.
constexpr std::size_t most_asked = 100;

[[nodiscard]] amounts_row row_of(const amounts& a, std::size_t n) {
  amounts_row r;
  for (std::size_t d = 0; d < n; ++d) r.push_back(a[d]);
  return r;
}

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
  if (quotas_) show_quotas(s);
  for (const machine_report& m : machines_) s.nodes.push_back({m.is.name, m.state, m.is.gpus, {}, 0, m.why});
  show_jobs(s);
  return s;
}

void governor::show_quotas(snapshot& s) const {
  const auto& file = quotas_->file;
  s.policy = file.policy_name;
  s.resources = {file.resources.begin(), file.resources.end()};
  const std::size_t n = s.resources.size();
  for (const auto& q : file.quotas) {
    snapshot::quota& to = s.quotas.emplace_back();
    to.name = q.spec.name;
    to.nominal = row_of(q.spec.nominal, n);
    to.entitled = to.used = to.borrowed = to.lent = to.requested = row_of({}, n);
    for (std::size_t i = 0; i < file.quotas.size(); ++i) {
      if (!q.spec.parent.empty() && file.quotas[i].spec.name == q.spec.parent) to.parent = i;
    }
  }
  if (engine_ == nullptr || engine_->scheduler().tree().slots() != s.quotas.size()) return;
  const host_scheduler& policy = engine_->scheduler();
  const auto& held = policy.ledger();
  const allot::loan_book<dimensions> loans{held};
  std::vector<amounts> used(s.quotas.size());
  std::vector<amounts> wanted(s.quotas.size());
  for (std::size_t i = 0; i < s.quotas.size(); ++i) {
    const allot::quota_id x{i};
    wanted[i] = held.own_usage(x) + policy.requested(x);
  }
  allot::division<dimensions, allot::selectable_surplus> shares{};
  shares.update(held, wanted);
  const auto order = held.tree().top_down();
  for (auto x = order.rbegin(); x != order.rend(); ++x) {
    used[x->index()] += held.own_usage(*x);
    if (const allot::quota_id p = held.tree().parent(*x)) used[p.index()] += used[x->index()];
  }
  for (std::size_t i = 0; i < s.quotas.size(); ++i) {
    const allot::quota_id x{i};
    snapshot::quota& to = s.quotas[i];
    to.used = row_of(used[i], n);
    to.entitled = row_of(policy.entitled(x).value_or(shares.entitled(x)), n);
    to.requested = row_of(policy.requested(x), n);
    for (std::size_t d = 0; d < n; ++d) {
      to.borrowed[d] = loans.borrowed(x, d);
      to.lent[d] = loans.lent(x, d);
    }
    to.share = share_of(held, allot::contender<dimensions>{x}).weighted.approximate();
  }
  for (std::size_t d = 0; d < n; ++d) {
    for (const allot::loan& l : loans.loans(d))
      s.loans.push_back({d, l.lender.index(), l.borrower.index(), l.amount});
  }
  for (const allot::job_id id : policy.nominated()) {
    snapshot::reservation& to = s.reservations.emplace_back();
    to.job = engine_->key_of(id);
    to.quota = policy.quota(id).index();
    for (const allot::job_id v : policy.evicting()) {
      if (policy.beneficiary_of(v) == id) to.waits_for.push_back(engine_->key_of(v));
    }
  }
  for (const allot::job_id id : policy.reservations()) {
    const auto p = policy.reservation_of(id);
    snapshot::reservation& to = s.reservations.emplace_back();
    to.job = engine_->key_of(id);
    to.quota = policy.quota(id).index();
    // When a job that gathers starts nobody knows.
    if (p->start != allot::without_end && !p->gathers_since) to.start = p->start;
    if (p->first_start != allot::without_end && !p->gathers_since) to.first_start = p->first_start;
    if (p->cause != allot::delay_cause::none) to.cause = to_string(p->cause);
  }
}

void governor::show_jobs(snapshot& s) {
  std::map<std::string, std::size_t> node_at;
  for (std::size_t i = 0; i < s.nodes.size(); ++i) node_at[s.nodes[i].name] = i;
  std::vector<std::pair<snapshot::job, const record*>> waiting;
  for (const auto& [name, r] : records_) {
    const job_report& j = r.is;
    const bool is_governed = r.at != phase::foreign && r.at != phase::unknown;
    const std::optional<facts>& what = j.at != stage::waiting && j.has ? j.has : j.what;
    const auto quota = is_governed && what ? std::optional{what->quota.index()} : std::nullopt;
    const bool has_machines = j.at != stage::waiting;
    if (has_machines) {
      for (const node_share& share : j.where) {
        const auto at = node_at.find(share.node);
        if (at != node_at.end() && share.gpus > 0)
          s.nodes[at->second].used.push_back({name, quota, share.gpus});
      }
    }
    if (!is_governed) continue;
    snapshot::job to;
    to.id = name;
    to.name = j.title;
    to.user = j.user;
    to.account = j.account;
    to.quota = quota;
    to.phase = r.at == phase::refused     ? job_phase::refused
               : r.at == phase::not_ready ? job_phase::not_ready
               : r.at == phase::released  ? job_phase::released
               : r.at == phase::running   ? job_phase::running
               : r.at == phase::leaving   ? job_phase::leaving
                                          : job_phase::waiting;
    ++s.phases[static_cast<std::size_t>(to.phase)];
    to.request = row_of(what ? what->request : amounts{}, s.resources.size());
    to.preemptible = !what || what->preemptible;
    to.submitted = j.submitted;
    to.restarts = j.restarts;
    to.host_reason = j.why_not_started;
    const bool runs = r.at == phase::running || r.at == phase::leaving || r.at == phase::released;
    to.since = runs ? now_.wall - (now_.steady - r.since) : to.submitted;
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

// SPDX-License-Identifier: BSL-1.0
#pragma once

// The state of a simulation, for `cluster_state`. Included only where `run_replay` is instantiated.

#include "lab/io/time_text.hpp"
#include "lab/replay/planned_nodes.hpp"
#include "lab/report/dashboard.hpp"
#include "lab/scenario/explain.hpp"
#include "lab/scenario/scenario.hpp"
#include "lab/scenario/workload.hpp"

#include <allot/core/vector.hpp>
#include <allot/fairshare/borrowed_share.hpp>
#include <allot/gpu/reason.hpp>
#include <allot/lab/metrics/metrics.hpp>
#include <allot/quota/supply.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/scheduler/sentences.hpp>
#include <allot/sim/simulator.hpp>
#include <allot/systems/kai/runai.hpp>

#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {
namespace detail {

/// The state of the quota whose bound blocks a job, for `explain`.
template <std::size_t N>
[[nodiscard]] standing standing_in(const scenario& s,
                                   const typename sim::simulator<N>::scheduler_type& policy, quota_id x,
                                   std::size_t d) {
  const auto& assumed = policy.assumed();
  if (s.policy.preset == runai::name && !assumed.tree().parent(x) && s.capacity[d].is_bounded()) {
    // The capacity does not follow from what the quotas deserve.
    return {quantity{}, quantity{}, s.capacity[d], assumed.total_usage(x)[d]};
  }
  return {assumed.supply_of(x, d).borrow, assumed.borrowed(x, d), assumed.total_supply(x, d),
          assumed.drawn(x, d)};
}

/// Why a job is pending: a word and a sentence.
template <std::size_t N>
void explain_waiting(const scenario& s, sim::simulator<N>& sim, const vector<std::string_view>& ids,
                     const planned_nodes& planned, std::span<const std::string_view> sets, sim::job_index j,
                     cluster_state::job& to) {
  const auto h = sim.why(j);
  const auto& policy = sim.scheduler();
  const std::string_view queue = policy.tree().name(h.quota);
  if (h.reason == pending_reason::evictions) {
    to.reason = "reserved";
    to.text = "it starts when the jobs being evicted have left";
  } else if (h.ready_at) {
    to.reason = to_string(pending_reason::not_ready);
    to.text = "it is not ready before " + clock_time(*h.ready_at);
  } else if (h.binding) {
    const shortfall& b = *h.binding;
    to.reason = to_string(b.kind);
    const auto set = lacking_set(policy.view(), j, policy.pick(sim.history(j).id), b);
    to.text = explain(b, policy.tree().name(b.quota), s.resources[b.dimension],
                      standing_in<N>(s, policy, b.quota, b.dimension), to.id,
                      policy.request(sim.history(j).id)[b.dimension], set ? sets[*set] : std::string_view{});
  } else if (h.backs_off) {
    to.reason = to_string(pending_reason::backoff);
    to.text = explain(h.backs_off, queue, s.resources[h.backs_off.dimension]);
  } else if (h.placement && h.placement->reason != gpu::obstacle::none) {
    to.reason = gpu::to_string(h.placement->reason);
    to.text = explain(*h.placement, sim.places(), sets);
  } else if (h.kept_for && policy.state(h.kept_for) != job_state::unknown) {
    to.reason = "behind_head";
    to.text = std::string{ids[policy.what(h.kept_for)]} + " of " +
              std::string{policy.tree().name(policy.quota(h.kept_for))} +
              " is ready soon, and would take it back";
  } else if (h.resized_at) {
    to.reason = "resize";
    to.text = explain_resize(*h.resized_at, queue);
  } else if (policy.settings(h.quota).head == queue_head::strict) {
    to.reason = "behind_head";
    to.text = "an earlier job of " + std::string{queue} + " does not fit, and no other may pass it";
  } else if (policy.settings(h.quota).head == queue_head::reserve) {
    to.reason = "behind_head";
    to.text = "there is room for it, but it would delay a job that holds a reservation";
  } else {
    to.reason = "waits_turn";
    to.text = "there is room for it, but its turn has not come";
  }
  tell_finding(h.reason, h.preempts_at, to.reason, to.text);
  if (!h.reservation) return;
  const auto name_of_job = [&](sim::job_index other) { return ids[other]; };
  const auto nodes = planned.of(j);
  to.text += "; " + sentence(policy, *h.reservation, sim.now(), name_of_job, clock_time,
                             nodes.empty() ? std::string{} : text_of_nodes(*s.cluster, nodes));
}

/// Calls `visit(placed pod)` for all pods of a running job.
template <std::size_t N, class Visit>
void for_each_pod(const sim::simulator<N>& sim, sim::job_index j, Visit visit) {
  if (!sim.places().has_nodes()) return;
  const auto& policy = sim.scheduler();
  const auto& nodes = sim.places().inventory();
  const job_id id = sim.history(j).id;
  for (const gpu::placed_pod& p : nodes.pods(policy.place_of(id))) visit(p);
  for (const job_id more : policy.elastic_pods_of(id)) {
    if (policy.state(more) != job_state::running) continue;
    for (const gpu::placed_pod& p : nodes.pods(policy.place_of(more))) visit(p);
  }
}

/// How many pods of each set run, of a job whose pods differ.
template <std::size_t N>
[[nodiscard]] pods_by_set running_by_set(const sim::simulator<N>& sim, sim::job_index j) {
  const auto& policy = sim.scheduler();
  const job_id id = sim.history(j).id;
  pods_by_set has = policy.view().by_set(j, policy.pods(id));
  for (const job_id more : policy.elastic_pods_of(id)) {
    if (policy.state(more) == job_state::running) ++has[policy.set_of(more).index()];
  }
  return has;
}

template <std::size_t N>
void take_quotas(const scenario& s, const sim::simulator<N>& sim, const lab::metrics<N>& metrics,
                 const per_dimension<bool, N>& gpus, cluster_state& to) {
  const ledger<N>& accounts = sim.accounts();
  for (std::size_t i = 0; i < s.quotas.size(); ++i) {
    cluster_state::quota& q = to.quotas.emplace_back();
    const quota_id x{i};
    q.name = s.quotas[i].spec.name;
    q.exists = accounts.tree().contains(x);
    if (!q.exists) continue;
    q.parent = accounts.tree().parent(x);
    quantity nominal;
    for (std::size_t d = 0; d < N; ++d) {
      if (gpus[d]) nominal += accounts.tree().spec(x).nominal[d];
    }
    if (nominal.is_bounded()) q.nominal = nominal.in_milli();
    if (i < metrics.quotas()) q.now = metrics.now(x);
    q.share = share_of(accounts, contender<N>{x}).weighted;
  }
}

/// The state after everything that has happened up to `at`.
template <std::size_t N>
[[nodiscard]] cluster_state state_of(const scenario& s, sim::simulator<N>& sim, const workload<N>& w,
                                     const lab::metrics<N>& metrics, const per_dimension<bool, N>& gpus,
                                     instant at, std::size_t most_reasons) {
  cluster_state to;
  to.policy = s.policy.full_name();
  to.at = at;
  to.used = metrics.used();
  take_quotas<N>(s, sim, metrics, gpus, to);
  if (sim.places().has_nodes()) {
    const auto& inventory = sim.places().inventory();
    const gpu::cluster& layout = inventory.layout();
    for (std::size_t n = 0; n < layout.size(); ++n) {
      const gpu::node_id node{n};
      // The name is the scenario's, which outlives the simulation.
      to.nodes.push_back({s.cluster->name(node), inventory.is_closed(node), {}});
      to.nodes.back().devices.resize(layout.gpus(node));
    }
    to.capacity = (inventory.total() - inventory.closed()).in_milli();
  } else if (metrics.capacity().is_bounded()) {
    to.capacity = metrics.capacity().in_milli();
  }
  const planned_nodes planned{sim.places(), [&](auto visit) { sim.for_each_planned_place(visit); }};
  for (sim::job_index j = 0; j < sim.jobs().size(); ++j) {
    const sim::job<N>& job = sim.jobs()[j];
    const sim::job_history& h = sim.history(j);
    const std::span<const std::string_view> sets = w.sets_of(job);
    switch (h.outcome) {
      case sim::job_outcome::future:
        ++to.to_come;
        break;
      case sim::job_outcome::waiting: {
        cluster_state::job& waits = to.waiting.emplace_back();
        waits.id = w.ids[j];
        if (!sets.empty()) waits.pods = text_of_sets(sim.scheduler().view().sets_of(j), sets);
        waits.quota = job.quota;
        waits.gpus = metrics.gpus(sim, j);
        waits.since = job.submit;
        if (to.waiting.size() <= most_reasons) explain_waiting(s, sim, w.ids, planned, sets, j, waits);
        break;
      }
      case sim::job_outcome::running: {
        cluster_state::job& runs = to.running.emplace_back();
        runs.id = w.ids[j];
        if (!sets.empty()) runs.pods = text_of_sets(running_by_set(sim, j), sets);
        runs.quota = job.quota;
        runs.gpus = metrics.gpus(sim, j) * h.work.pods() / job.pods();
        runs.since = h.last_start;
        ++to.quotas[job.quota.index()].running;
        for_each_pod(sim, j, [&](const gpu::placed_pod& p) {
          cluster_state::node& node = to.nodes[p.where.node.index()];
          if (std::find(runs.nodes.begin(), runs.nodes.end(), node.name) == runs.nodes.end()) {
            runs.nodes.push_back(node.name);
          }
          for (std::uint64_t left = p.where.devices; left != 0; left &= left - 1) {
            cluster_state::device& device = node.devices[static_cast<std::size_t>(std::countr_zero(left))];
            device.is_shared = device.is_shared || (device.quota && device.quota != job.quota);
            device.quota = job.quota;
          }
        });
        break;
      }
      default:
        ++to.over;
    }
  }
  std::stable_sort(to.running.begin(), to.running.end(),
                   [](const auto& a, const auto& b) { return a.since < b.since; });
  return to;
}

}  // namespace detail
}  // namespace lab
}  // namespace v0
}  // namespace allot

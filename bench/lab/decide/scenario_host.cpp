// SPDX-License-Identifier: BSL-1.0
#include "lab/decide/scenario_host.hpp"

#include "lab/scenario/explain.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

template <std::size_t N>
[[nodiscard]] quota_tree<N> tree_of_everything() {
  std::vector<quota_spec<N>> one(1);
  one.front().name = "cluster";
  one.front().nominal = resources<N>{quantity::unlimited()};
  return quota_tree<N>{std::move(one)};
}

}  // namespace

template <std::size_t N>
scenario_host<N>::scenario_host(const scenario& s, workload<N> w, quota_tree<N> of_user,
                                const named_policy& preset)
    : file(s),
      jobs(std::move(w)),
      accounts(std::move(of_user)),
      single_queue(preset.ignores_quotas),
      not_preemptible(policies_for<sim::workload_view<N>, sim::places>(preset).not_preemptible),
      scheduler(sim::workload_view<N>{.jobs = jobs.setup.jobs,
                                      .single_queue = single_queue,
                                      .flavor_sets = jobs.setup.flavor_sets,
                                      .total = jobs.setup.capacity,
                                      .unlike = jobs.setup.unlike,
                                      .before_outages = sim::are_announced(jobs.setup.node_events)},
                single_queue ? tree_of_everything<N>() : accounts, std::move(jobs.setup.where),
                policies_for<sim::workload_view<N>, sim::places>(preset)),
      ids(jobs.setup.jobs.size()) {
  sim::link_flavors<N>(jobs.setup.unlike, jobs.setup.flavor_sets);
  const auto& settings = jobs.setup.settings;
  for (std::size_t i = 0; i < scheduler.tree().slots(); ++i) {
    // Errors in the settings were reported when the scenario was read.
    static_cast<void>(scheduler.configure(quota_id{i}, single_queue ? preset.defaults() : settings[i]));
  }
  adopt_running();
  submit_pending();
}

template <std::size_t N>
void scenario_host<N>::adopt_running() {
  for (const sim::running_job_at_start& r : jobs.setup.running) {
    const job_id id = scheduler.adopt(r.which, r.since, r.where, r.pick);
    ids[r.which] = id;
    vector<job_id> elastic_pods;
    std::uint32_t pods = jobs.setup.jobs[r.which].fewest_pods();
    for (const gpu::allocation_id at : r.elastic_pods) {
      const auto set = scheduler.view().next_set(r.which, pods++);
      elastic_pods.push_back(scheduler.adopt_elastic_pod(id, r.since, at, set));
    }
    now = std::max(now, r.since);
    if (!r.is_going) continue;
    scheduler.evicting(id);
    going.append(elastic_pods.begin(), elastic_pods.end());
    going.push_back(id);
  }
}

template <std::size_t N>
void scenario_host<N>::submit_pending() {
  const auto reject = [&](job_index j, std::string reason, std::string text) {
    rejected.push_back({j, std::move(reason), std::move(text)});
  };
  for (job_index j = 0; j < jobs.setup.jobs.size(); ++j) {
    const sim::job<N>& job = jobs.setup.jobs[j];
    now = std::max(now, job.submit);
    if (ids[j]) continue;  // It runs.
    if (!accounts.contains(job.quota)) {
      reject(j, "unknown_quota",
             file.quotas[job.quota.index()].spec.name + " is a quota that an event adds later");
      continue;
    }
    if (scheduler.refuses(j) == refusal::larger_than_cluster) {
      const gpu::pod_request pod_request = scheduler.view().pod_request(j, job.fewest_pods(), {});
      const gpu::unplaceable why = why_never(pod_request, scheduler.places());
      reject(j, std::string{gpu::to_string(why.reason)}, explain(why, scheduler.places(), jobs.sets_of(job)));
      continue;
    }
    ids[j] = scheduler.submit(j);
    if (!ids[j]) reject(j, "invalid_request", "the request can't be counted");
  }
}

template <std::size_t N>
void scenario_host<N>::expect_what_is_known(errors& found) {
  // What would have happened by now has not.
  auto& events = jobs.setup.node_events;
  erase_if(events, [this](const sim::node_event& e) { return e.at <= now; });
  scheduler.nodes().expect_outages(sim::known_outages(events, now));
  const auto known = sim::known_resizes<N>(jobs.setup.quota_events, scheduler.tree(), now);
  const vector<problem> wrong = scheduler.expect_changes(known);
  scheduler.retry();
  if (wrong.empty()) return;
  std::string places;
  for (const event_entry& e : file.events) {
    if (e.at > now && e.known_since <= now) places.append(places.empty() ? "" : ", ").append(e.place);
  }
  for (const problem& p : wrong) found.add(file.file, places, p.text);
}

template <std::size_t N>
std::unique_ptr<scenario_host<N>> host_jobs(const scenario& s, errors& found) {
  const auto preset = policy_of(s);
  workload<N> w = make_workload<N>(s);
  const std::size_t before = found.size();
  place_running(s, w, found);
  if (found.size() != before || !preset) return nullptr;
  const auto given = w.setup.quotas.specs();
  std::vector<quota_spec<N>> specs(given.begin(), given.end());
  if (!preset->ignores_quotas) preset->adapt(specs);
  auto host = std::make_unique<scenario_host<N>>(s, std::move(w), quota_tree<N>{std::move(specs)}, *preset);
  host->expect_what_is_known(found);
  return found.size() == before ? std::move(host) : nullptr;
}

template struct scenario_host<1>;
template struct scenario_host<max_resources>;
template std::unique_ptr<scenario_host<1>> host_jobs<1>(const scenario&, errors&);
template std::unique_ptr<scenario_host<max_resources>> host_jobs<max_resources>(const scenario&, errors&);

}  // namespace lab
}  // namespace v0
}  // namespace allot

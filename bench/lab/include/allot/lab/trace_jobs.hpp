// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/trace.hpp>
#include <allot/quota/spec.hpp>
#include <allot/sim/job.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// Which dimensions of a quota tree count what the jobs of a trace request; what none counts is not limited.
struct trace_dimensions {
  std::optional<std::size_t> gpu = 0;
  /// In cores.
  std::optional<std::size_t> cpu{};
  /// In MiB.
  std::optional<std::size_t> memory{};
};

/// A job of a trace as a simulation takes it. A job without pods is a total, split over as few nodes as its
/// size needs; one with pods is a gang of equal ones, elastic if it can run with fewer. CPU and memory are
/// divided like the GPUs or over the pods, rounded up. It may run on every model: which one `gpu_model` is
/// depends on the nodes. Its class is not numbered. Precondition: its GPUs are a multiple of its pods, in
/// thousandths. Of one whose pods differ the pods themselves are those of `to_unlike`.
template <std::size_t N = 1>
[[nodiscard]] sim::job<N> to_job(const trace_job& from, quota_id quota,
                                 const trace_dimensions& counted = {}) {
  sim::job<N> j;
  j.quota = quota;
  if (counted.gpu) j.request[*counted.gpu] = from.gpus;
  if (counted.cpu) j.request[*counted.cpu] = quantity::milli(from.cpu_milli);
  if (counted.memory) j.request[*counted.memory] = quantity::whole(from.memory_mib);
  j.pod_request.cpu_milli = from.cpu_milli;
  j.pod_request.memory_mib = from.memory_mib;
  if (from.is_unlike()) {
    j.pod_request.pods = from.pods;
    j.pod_request.cpu_milli = j.pod_request.memory_mib = 0;
    j.min_pods = from.min_pods;
  } else if (from.pods == 0) {
    j.pod_request.gpus = from.gpus;
    j.pod_request.total = true;
  } else {
    ALLOT_ASSERT(from.gpus.in_milli() % from.pods == 0, "the GPUs of a gang are split evenly over its pods");
    j.pod_request.gpus = quantity::milli(from.gpus.in_milli() / from.pods);
    j.pod_request.pods = from.pods;
    const auto each = [&](std::int64_t amount) {
      return amount / from.pods + (amount % from.pods != 0 ? 1 : 0);
    };
    j.pod_request.cpu_milli = each(from.cpu_milli);
    j.pod_request.memory_mib = each(from.memory_mib);
    j.min_pods = from.min_pods;
  }
  j.priority = from.priority;
  j.preemptible = from.preemptible;
  j.submit = from.submit;
  j.ready = from.ready;
  j.duration = from.duration;
  j.checkpoint = from.checkpoint;
  j.restart = from.restart;
  j.deadline = from.deadline;
  j.estimate = from.estimate * second;
  return j;
}

/// The pods of a job whose pods differ, each with its equal part of what its set requests: of CPU and memory,
/// as of other jobs, rounded up, also for the quotas.
template <std::size_t N = 1>
[[nodiscard]] sim::unlike_pods<N> to_unlike(std::span<const trace_pod_set> sets,
                                            const trace_dimensions& counted = {}) {
  sim::unlike_pods<N> all;
  for (const trace_pod_set& of : sets) {
    const auto each = [&](std::int64_t amount) { return amount / of.pods + (amount % of.pods != 0 ? 1 : 0); };
    gpu::pod_set& set = all.sets.emplace_back();
    set.each.gpus = quantity::milli(of.gpus.in_milli() / of.pods);
    set.each.cpu_milli = each(of.cpu_milli);
    set.each.memory_mib = each(of.memory_mib);
    set.pods = of.pods;
    set.min_pods = of.min_pods;
    auto& share = all.shares.emplace_back();
    if (counted.gpu) share.request[*counted.gpu] = set.each.gpus;
    if (counted.cpu) share.request[*counted.cpu] = quantity::milli(set.each.cpu_milli);
    if (counted.memory) share.request[*counted.memory] = quantity::whole(set.each.memory_mib);
  }
  return all;
}

/// Sorts the trace by submission, then id, and returns its jobs in that order: job j is `t.jobs[j]` from then
/// on. `quotas[i]` is the quota of the trace's tenant i, `without_tenant` that of the jobs that name none.
template <std::size_t N = 1>
[[nodiscard]] vector<sim::job<N>> to_jobs(trace& t, std::span<const quota_id> quotas, quota_id without_tenant,
                                          const trace_dimensions& counted = {}) {
  ALLOT_ASSERT(quotas.size() == t.tenants.size(), "one quota for each tenant");
  sort_by_submission(t);
  vector<sim::job<N>> jobs;
  jobs.reserve(t.jobs.size());
  for (const trace_job& from : t.jobs) {
    jobs.push_back(to_job<N>(from, from.tenant ? quotas[from.tenant.index()] : without_tenant, counted));
  }
  return jobs;
}

/// The quotas of a trace without any: one root that has the whole cluster, and below it a quota of weight 1
/// for each tenant, which owns an equal part of it (rounded down to a thousandth; nothing of what is
/// unlimited), lends all of it and may borrow everything. So jobs that must not be preempted have something
/// to run on. Tenant i is quota i + 1, and the root, quota 0, is for jobs without a tenant. It is named
/// "cluster", in parentheses as long as a tenant has that name.
template <std::size_t N = 1>
[[nodiscard]] std::vector<quota_spec<N>> tenant_quotas(const trace& t, const resources<N>& cluster) {
  std::vector<quota_spec<N>> specs(1);
  specs.front().name = "cluster";
  while (t.tenants.find(specs.front().name)) specs.front().name = '(' + specs.front().name + ')';
  specs.front().nominal = cluster;
  specs.front().inclusive = true;
  specs.reserve(t.tenants.size() + 1);
  resources<N> part;
  for (std::size_t d = 0; d < N && t.tenants.size() != 0; ++d) {
    if (cluster[d].is_unlimited()) continue;
    part[d] = quantity::milli(cluster[d].in_milli() / static_cast<std::int64_t>(t.tenants.size()));
  }
  for (std::size_t i = 0; i < t.tenants.size(); ++i) {
    quota_spec<N> tenant;
    tenant.name = std::string{t.tenants[name_id{i}]};
    tenant.parent = specs.front().name;
    tenant.nominal = part;
    specs.push_back(std::move(tenant));
  }
  return specs;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

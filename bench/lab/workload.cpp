// SPDX-License-Identifier: BSL-1.0
// What a simulator or scheduler takes, made of a scenario that has been read.
#include "lab/scenario.hpp"
#include "lab/scenario_reader.hpp"

#include <allot/presets/catalog.hpp>
#include <allot/quota/builder.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// A job of the scenario or of its trace, before the two are one list.
struct candidate {
  instant submit = 0;
  std::string_view id;
  job_origin origin{};
};

[[nodiscard]] std::vector<candidate> candidates_of(const scenario& s) {
  std::vector<candidate> all;
  all.reserve(s.jobs.size() + (s.trace ? s.trace->jobs.size() : 0));
  for (std::uint32_t i = 0; i < s.jobs.size(); ++i) {
    all.push_back({s.jobs[i].submit, s.jobs[i].id, {.entry = i}});
  }
  for (std::uint32_t i = 0; s.trace && i < s.trace->jobs.size(); ++i) {
    const sim::trace_job& j = s.trace->jobs[i];
    all.push_back({j.submit, s.trace->ids[j.id], {.traced = i}});
  }
  const auto before = [](const candidate& a, const candidate& b) {
    return a.submit != b.submit ? a.submit < b.submit : sim::job_id_less(a.id, b.id);
  };
  if (!std::is_sorted(all.begin(), all.end(), before)) std::sort(all.begin(), all.end(), before);
  return all;
}

template <std::size_t N>
[[nodiscard]] quota_spec<N> narrow_spec(const quota_spec<max_resources>& all) {
  quota_spec<N> some{.name = all.name,
                     .parent = all.parent,
                     .nominal = narrow<N>(all.nominal),
                     .priority = all.priority,
                     .inclusive = all.inclusive,
                     .overcommit = all.overcommit,
                     .is_static = all.is_static};
  for (std::size_t d = 0; d < N; ++d) {
    some.lend[d] = all.lend[d];
    some.borrow[d] = all.borrow[d];
    some.weight[d] = all.weight[d];
  }
  return some;
}

template <std::size_t N>
[[nodiscard]] std::optional<limits<N>> narrow_limits(const std::optional<limits<max_resources>>& all) {
  if (!all) return std::nullopt;
  limits<N> some;
  for (std::size_t d = 0; d < N; ++d) some[d] = (*all)[d];
  return some;
}

template <std::size_t N>
struct narrow_change {
  [[nodiscard]] quota_change<N> operator()(const resize_quota<max_resources>& c) const {
    resize_quota<N> change{c.quota};
    if (c.nominal) change.nominal = narrow<N>(*c.nominal);
    change.lend = narrow_limits<N>(c.lend);
    change.borrow = narrow_limits<N>(c.borrow);
    return change;
  }
  [[nodiscard]] quota_change<N> operator()(const reweight_quota<max_resources>& c) const {
    reweight_quota<N> change{c.quota};
    for (std::size_t d = 0; d < N; ++d) change.weight[d] = c.weight[d];
    return change;
  }
  [[nodiscard]] quota_change<N> operator()(const add_quota<max_resources>& c) const {
    return add_quota<N>{narrow_spec<N>(c.spec)};
  }
  [[nodiscard]] quota_change<N> operator()(const remove_quota& c) const { return c; }
  [[nodiscard]] quota_change<N> operator()(const move_quota& c) const { return c; }
};

template <std::size_t N>
[[nodiscard]] sim::job<N> job_of(const job_entry& j) {
  return {.quota = j.quota,
          .request = narrow<N>(j.request),
          .demand = j.demand,
          .priority = j.priority,
          .preemptible = j.preemptible,
          .submit = j.submit,
          .duration = j.duration,
          .checkpoint = j.checkpoint,
          .restart = j.restart};
}

/// By the index of the tenant; a trace without tenants submits to the oldest quota.
[[nodiscard]] std::vector<quota_id> quotas_of_tenants(const scenario& s) {
  std::vector<quota_id> result(s.trace ? s.trace->tenants.size() : 0, quota_id{0});
  for (std::size_t i = 0; i < s.quotas.size() && s.trace; ++i) {
    if (const auto tenant = s.trace->tenants.find(s.quotas[i].spec.name))
      result[tenant.index()] = quota_id{i};
  }
  return result;
}

[[nodiscard]] role_table access_of(const scenario& s) {
  role_table table;
  for (std::size_t i = 0; i < s.quotas.size(); ++i) {
    if (s.quotas[i].access) table.set_rule(quota_id{i}, *s.quotas[i].access);
  }
  return table;
}

[[nodiscard]] std::string explain_refusal(const role_table& access, principal who, quota_id quota,
                                          const std::string& name) {
  if (who.user.empty()) who.user = "a user without a name";
  return access.explain(who, quota, name);
}

[[nodiscard]] std::vector<queue_settings> settings_of(const scenario& s) {
  queue_settings otherwise;
  with_preset(s.policy.preset, [&](auto p) { otherwise = p.defaults(); });
  otherwise.order = s.policy.order.value_or(otherwise.order);
  std::vector<queue_settings> result;
  for (std::size_t i = 0; i < s.initial_quotas; ++i) result.push_back(s.quotas[i].settings(otherwise));
  return result;
}

}  // namespace

template <std::size_t N>
workload<N> make_workload(const scenario& s) {
  std::vector<quota_spec<N>> specs;
  for (std::size_t i = 0; i < s.initial_quotas; ++i) specs.push_back(narrow_spec<N>(s.quotas[i].spec));
  workload<N> result{.setup = {.quotas = quota_tree<N>{std::move(specs)},
                               .settings = settings_of(s),
                               .where = s.cluster ? sim::places{gpu::inventory{*s.cluster}} : sim::places{},
                               .jobs = {}}};

  const std::vector<candidate> candidates = candidates_of(s);
  const std::vector<quota_id> tenants = quotas_of_tenants(s);
  const sim::trace_dimensions counted = dimensions_of_traces(s);
  const role_table access = access_of(s);
  result.setup.jobs.reserve(candidates.size());
  result.ids.reserve(candidates.size());
  result.origins.reserve(candidates.size());
  for (const candidate& c : candidates) {
    sim::job<N> job;
    principal who;
    bool waits = true;
    if (c.origin.entry) {
      const job_entry& j = s.jobs[*c.origin.entry];
      job = job_of<N>(j);
      who = {j.user, j.roles};
      waits = j.phase == job_phase::pending;
    } else {
      const sim::trace_job& j = s.trace->jobs[*c.origin.traced];
      job = sim::to_job<N>(j, j.tenant ? tenants[j.tenant.index()] : quota_id{0}, counted);
      job.demand.pools = s.quotas[job.quota.index()].pools;
      who = {s.trace->words[j.user]};
    }
    // What runs has been admitted by whoever was asked then.
    if (waits && !access.decide(who, job.quota).allowed) {
      const std::string& name = s.quotas[job.quota.index()].spec.name;
      result.refused.push_back(
          {c.id, job.quota, job.submit, job.duration, explain_refusal(access, who, job.quota, name)});
      continue;
    }
    result.setup.jobs.push_back(std::move(job));
    result.ids.push_back(c.id);
    result.origins.push_back(c.origin);
  }

  for (const event_entry& e : s.events) {
    if (const auto* change = std::get_if<quota_change<max_resources>>(&e.what)) {
      result.setup.quota_events.push_back({e.at, std::visit(narrow_change<N>{}, *change)});
      continue;
    }
    const auto& id = std::get<std::string>(e.what);
    const auto at = std::find(result.ids.begin(), result.ids.end(), id);
    if (at == result.ids.end()) continue;  // its quota turned it away
    result.setup.cancels.push_back({e.at, static_cast<sim::job_index>(at - result.ids.begin())});
  }
  return result;
}

template workload<1> make_workload<1>(const scenario&);
template workload<max_resources> make_workload<max_resources>(const scenario&);

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
// Makes the input of a simulator or scheduler from a scenario that has been read.
#include "lab/scenario/workload.hpp"
#include "lab/scenario/flavor_sets.hpp"
#include "lab/scenario/scenario.hpp"
#include "lab/scenario/scenario_reader.hpp"

#include <allot/core/vector.hpp>
#include <allot/gpu/placement/preferred_pools.hpp>
#include <allot/lab/metrics/cluster_moment.hpp>
#include <allot/lab/named_policy.hpp>
#include <allot/lab/simulators.hpp>
#include <allot/quota/builder.hpp>
#include <allot/systems/by_name/any_preset.hpp>
#include <allot/systems/kai/runai.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// A job of the scenario or of its trace, before the two lists are merged.
struct candidate {
  instant submit = 0;
  std::string_view id;
  job_origin origin{};
};

[[nodiscard]] vector<candidate> candidates_of(const scenario& s) {
  vector<candidate> all;
  all.reserve(s.jobs.size() + (s.trace ? s.trace->jobs.size() : 0));
  for (std::uint32_t i = 0; i < s.jobs.size(); ++i) {
    all.push_back({s.jobs[i].submit, s.jobs[i].id, {.entry = i}});
  }
  for (std::uint32_t i = 0; s.trace && i < s.trace->jobs.size(); ++i) {
    const trace_job& j = s.trace->jobs[i];
    all.push_back({j.submit, s.trace->ids[j.id], {.traced = i}});
  }
  const auto before = [](const candidate& a, const candidate& b) {
    return a.submit != b.submit ? a.submit < b.submit : job_id_less(a.id, b.id);
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

/// Numbers the job classes in order of appearance.
class class_numbers {
 public:
  explicit class_numbers(vector<std::string_view>& names) : names_(names) { names_.emplace_back(); }

  [[nodiscard]] std::uint32_t operator()(std::string_view name) {
    const auto [at, is_new] = numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return at->second;
  }

 private:
  vector<std::string_view>& names_;
  std::map<std::string_view, std::uint32_t> numbers_{{std::string_view{}, 0}};
};

template <std::size_t N>
[[nodiscard]] sim::job<N> job_of(const scenario& s, const job_entry& j, flavor_sets<N>& flavors,
                                 vector<sim::unlike_pods<N>>& unlike) {
  sim::job<N> job{.quota = j.quota,
                  .request = narrow<N>(j.request),
                  .pod_request = j.pod_request,
                  .min_pods = j.pod_request.total ? 0 : j.min_pods,
                  .flavors = flavors.number(j.flavors),
                  .priority = j.priority,
                  .preemptible = j.preemptible,
                  .semi_preemptible = j.semi_preemptible,
                  .submit = j.submit,
                  .ready = j.ready,
                  .duration = j.duration,
                  .checkpoint = j.checkpoint,
                  .restart = j.restart,
                  .time_limit = s.quotas[j.quota.index()].time_limit(j.job_class),
                  .estimate = j.estimate * sim::second,
                  .deadline = j.deadline};
  if (j.sets.empty()) return job;
  sim::unlike_pods<N>& pods = unlike.emplace_back();
  job.unlike = static_cast<std::uint32_t>(unlike.size());
  for (const pod_set_entry& of : j.sets) {
    pods.sets.push_back(of.pods);
    pods.shares.push_back({narrow<N>(of.request), flavors.number(of.flavors), of.semi_preemptible});
  }
  return job;
}

/// Gives a traced job its pods that differ.
template <std::size_t N>
void add_traced_sets(const scenario& s, const trace_job& from, const trace_dimensions& counted,
                     bool counts_flavors, flavor_sets<N>& flavors, sim::job<N>& job, workload<N>& to) {
  const std::span<const trace_pod_set> sets = s.trace->sets_of(from);
  sim::unlike_pods<N>& pods = to.setup.unlike.emplace_back(to_unlike<N>(sets, counted));
  job.unlike = static_cast<std::uint32_t>(to.setup.unlike.size());
  job.request = {};
  auto& names = to.set_names.emplace_back();
  for (std::size_t i = 0; i < sets.size(); ++i) {
    names.push_back(s.trace->words[sets[i].name]);
    gpu::pod_request& each = pods.sets[i].each;
    each.pools = job.pod_request.pools;
    each.models = models_of_traced(s, sets[i].gpu_model);
    auto group =
        counts_flavors ? flavors_of_traced(s, sets[i].gpu_model, sets[i].gpus, sets[i].pods) : std::nullopt;
    if (group && group->options.size() == 1) {
      // No choice, of which a job may have few.
      each.pools &= group->options.front().pools;
      pods.shares[i].request += narrow<N>(group->options.front().request);
    } else if (group) {
      pods.shares[i].flavors = flavors.number({std::move(*group)});
    }
    job.request += pods.shares[i].request * std::int64_t{sets[i].pods};
  }
}

/// KAI charges GPU memory by the node on which it runs. Until then it counts as what it is, unrounded, of the
/// smallest GPU of the cluster. `unlike` has its sets, if its pods differ.
template <std::size_t N>
void charge_as_kai_does(const scenario& s, sim::job<N>& job, vector<sim::unlike_pods<N>>& unlike) {
  if (s.policy.preset != runai::name || !s.cluster) return;
  const auto d = find_resource(s, "gpu");
  if (!d || *d >= N) return;
  std::int64_t least = 0;
  for (const gpu::node_type& t : s.cluster->types()) {
    const std::int64_t counted = t.gpu_memory_mib / 100 * 100;
    if (t.gpus > 0 && counted > 0 && (least == 0 || counted < least)) least = counted;
  }
  if (least == 0) return;
  const auto part_of = [&](const gpu::pod_request& each) {
    return quantity::milli((each.gpu_memory_mib * gpu::milli_per_gpu + least - 1) / least) *
           static_cast<std::int64_t>(each.devices);
  };
  if (job.pod_request.gpu_memory_mib > 0) {
    job.request[*d] = part_of(job.pod_request) * job.pods();
    job.charged_by_memory = static_cast<std::uint8_t>(*d);
  }
  if (job.unlike == 0) return;
  sim::unlike_pods<N>& of = unlike[job.unlike - 1];
  for (std::size_t i = 0; i < of.sets.size(); ++i) {
    if (of.sets[i].each.gpu_memory_mib == 0) continue;
    quantity& pod = of.shares[i].request[*d];
    const quantity part = part_of(of.sets[i].each);
    job.request[*d] += (part - pod) * of.sets[i].pods;
    pod = part;
    job.charged_by_memory = static_cast<std::uint8_t>(*d);
  }
}

/// By tenant index; a trace without tenants submits to the oldest quota.
[[nodiscard]] vector<quota_id> quotas_of_tenants(const scenario& s) {
  vector<quota_id> result(s.trace ? s.trace->tenants.size() : 0, quota_id{0});
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

template <std::size_t N>
[[nodiscard]] sim::places places_of(const scenario& s, const sim::workload_view<N>& workload) {
  const gpu::placement_name name = s.policy.placement;
  gpu::typical_pods typical;
  const auto named = named_policy::find(s.policy.preset);
  const own_policy* own = named ? named->own() : nullptr;
  const bool is_own = own != nullptr && own->placement != nullptr;
  if (is_own || name == gpu::placement_name::fgd) typical = typical_pods_of(*s.cluster, workload);
  gpu::any_placement policy = is_own ? own->placement(*s.cluster, typical)
                                     : gpu::any_placement{name, *s.cluster, typical, s.policy.seed};
  vector<std::uint64_t> preferred;
  for (const quota_entry& q : s.quotas) preferred.push_back(q.preferred_pools);
  if (std::any_of(preferred.begin(), preferred.end(), [](std::uint64_t pools) { return pools != 0; })) {
    policy = gpu::any_placement{gpu::preferred_pools{std::move(preferred), std::move(policy)}};
  }
  if (s.nearness) return sim::places{*s.cluster, *s.nearness, std::move(policy)};
  return sim::places{*s.cluster, std::move(policy)};
}

}  // namespace

std::optional<named_policy> policy_of(const scenario& s) {
  std::optional<named_policy> policy = s.policy.policy();
  const auto has_estimate = [](const auto& j) { return j.estimate > 0; };
  if (policy && (std::any_of(s.jobs.begin(), s.jobs.end(), has_estimate) ||
                 (s.trace && std::any_of(s.trace->jobs.begin(), s.trace->jobs.end(), has_estimate)))) {
    policy->use_estimates();
  }
  return policy;
}

namespace {

/// What a scheduler of jobs from a scenario can do under that policy, however many resources there are.
[[nodiscard]] cycle_abilities abilities_of(const named_policy& by) {
  using view = sim::workload_view<1>;
  using policies = any_policies<view, sim::places>;
  const policies parts = by.policies_for<view, sim::places>();
  const policies::cycle<session<view, sim::places>> cycle{parts};
  return {.reserves = cycle.reserves(),
          .knows_ends = session<view, sim::places>::has_expected_ends,
          .backs_off = cycle.backs_off(),
          .delays_preemption = cycle.delays_preemption(),
          .knows_submissions = timed_view<view>,
          .knows_flavors = flavored_view<view>,
          .knows_ready_times = ready_view<view>};
}

}  // namespace

vector<queue_settings> settings_of(const scenario& s) {
  queue_settings otherwise;
  if (const auto p = policy_of(s)) {
    otherwise = p->defaults();
    // To other cycles a job that is not ready is not there.
    if (abilities_of(*p).reserves) otherwise.ready_horizon = sim::minute;
  }
  otherwise.order = s.policy.order.value_or(otherwise.order);
  vector<queue_settings> result;
  result.reserve(s.quotas.size());
  for (const quota_entry& q : s.quotas) result.push_back(q.settings(otherwise));
  return result;
}

vector<std::pair<std::size_t, problem>> contradictions_in(const scenario& s) {
  const auto preset = policy_of(s);
  // Where quotas are ignored, so are their settings.
  if (preset && preset->ignores_quotas) return {};
  const std::optional<bool> judges_rivals = preset ? preset->judges_rivals() : false;
  std::optional<cycle_abilities> can;
  if (preset) can = abilities_of(*preset);
  const vector<queue_settings> settings = settings_of(s);
  vector<std::pair<std::size_t, problem>> found;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const std::string& name = s.quotas[i].spec.name;
    vector<problem> wrong = contradictions(name, settings[i], judges_rivals);
    if (wrong.empty() && can) wrong = unsupported(name, settings[i], *can);
    for (problem& p : wrong) found.emplace_back(i, std::move(p));
  }
  return found;
}

template <std::size_t N>
workload<N> make_workload(const scenario& s) {
  std::vector<quota_spec<N>> specs;
  for (const quota_spec<max_resources>& spec : given_quotas(s)) specs.push_back(narrow_spec<N>(spec));
  vector<queue_settings> settings = settings_of(s);
  const auto from_the_start = settings.begin() + static_cast<std::ptrdiff_t>(s.initial_quotas);
  workload<N> result{.setup = {.quotas = quota_tree<N>{std::move(specs)},
                               .settings = {settings.begin(), from_the_start},
                               .where = {},
                               .jobs = {}}};
  result.setup.capacity = narrow<N>(s.capacity);
  result.setup.faults = s.faults;
  result.settings = std::move(settings);
  flavor_sets<N> flavors{result.setup.flavor_sets};
  class_numbers class_of{result.classes};

  const vector<candidate> candidates = candidates_of(s);
  const vector<quota_id> tenants = quotas_of_tenants(s);
  const trace_dimensions counted = dimensions_of_traces(s);
  const role_table access = access_of(s);
  const bool counts_flavors = std::any_of(s.resources.begin(), s.resources.end(), [](const std::string& r) {
    return counts_gpus(r) && !flavor_of(r).empty();
  });
  result.setup.jobs.reserve(candidates.size());
  result.ids.reserve(candidates.size());
  result.origins.reserve(candidates.size());
  for (const candidate& c : candidates) {
    sim::job<N> job;
    principal who;
    bool waits = true;
    if (c.origin.entry) {
      const job_entry& j = s.jobs[*c.origin.entry];
      job = job_of<N>(s, j, flavors, result.setup.unlike);
      if (job.unlike != 0) {
        auto& names = result.set_names.emplace_back();
        for (const pod_set_entry& set : j.sets) names.push_back(set.name);
      }
      charge_as_kai_does(s, job, result.setup.unlike);
      job.job_class = class_of(j.job_class);
      who = {j.user, j.roles};
      waits = j.phase == job_phase::pending;
    } else {
      const trace_job& j = s.trace->jobs[*c.origin.traced];
      job = to_job<N>(j, j.tenant ? tenants[j.tenant.index()] : quota_id{0}, counted);
      const quota_entry& quota = s.quotas[job.quota.index()];
      job.pod_request.pools = quota.pools;
      job.pod_request.models = models_of_traced(s, j.gpu_model);
      job.job_class = class_of(j.job_class ? s.trace->words[j.job_class] : std::string_view{});
      if (j.job_class && !quota.time_limits.empty())
        job.time_limit = quota.time_limit(s.trace->words[j.job_class]);
      if (j.is_unlike()) {
        add_traced_sets(s, j, counted, counts_flavors, flavors, job, result);
      } else if (const auto group =
                     counts_flavors ? flavors_of_traced(s, j.gpu_model, j.gpus, j.pods) : std::nullopt) {
        job.flavors = flavors.number({*group});
      }
      who = {s.trace->words[j.user]};
    }
    // Running jobs were admitted before, so access was checked then.
    if (waits && !access.decide(who, job.quota).allowed) {
      const std::string& name = s.quotas[job.quota.index()].spec.name;
      result.refused.push_back({c.id, job.quota, job.submit, job.duration, job.estimate / sim::second,
                                explain_refusal(access, who, job.quota, name)});
      continue;
    }
    result.setup.jobs.push_back(std::move(job));
    result.ids.push_back(c.id);
    result.origins.push_back(c.origin);
  }

  if (s.cluster) {
    result.setup.where = places_of<N>(s, {.jobs = result.setup.jobs, .unlike = result.setup.unlike});
  }

  if (!s.speeds.empty()) {
    result.speeds = speeds_of(s, result.origins);
    for (sim::job_index j = 0; s.cluster && j < result.ids.size(); ++j) {
      for (std::size_t m = 0; m < s.cluster->models().size(); ++m)
        result.setup.tags.push_back(result.speeds->on_model(j, m));
    }
  }

  const auto cancels = [](const event_entry& e) { return std::holds_alternative<std::string>(e.what); };
  std::unordered_map<std::string_view, sim::job_index> numbers;
  if (std::any_of(s.events.begin(), s.events.end(), cancels)) {
    for (sim::job_index j = 0; j < result.ids.size(); ++j) numbers.emplace(result.ids[j], j);
  }
  for (const event_entry& e : s.events) {
    if (const auto* change = std::get_if<quota_change<max_resources>>(&e.what)) {
      result.setup.quota_events.push_back({e.at, std::visit(narrow_change<N>{}, *change), e.known_since});
      continue;
    }
    if (const auto* change = std::get_if<sim::node_event>(&e.what)) {
      result.setup.node_events.push_back(*change);
      continue;
    }
    const auto& id = std::get<std::string>(e.what);
    const auto at = numbers.find(id);
    if (at == numbers.end()) continue;  // refused by its quota's access rule
    result.setup.cancels.push_back({e.at, at->second});
  }
  return result;
}

template workload<1> make_workload<1>(const scenario&);
template workload<max_resources> make_workload<max_resources>(const scenario&);

}  // namespace lab
}  // namespace v0
}  // namespace allot

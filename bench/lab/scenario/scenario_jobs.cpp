// SPDX-License-Identifier: BSL-1.0
#include "lab/scenario/scenario_reader.hpp"

#include <allot/core/text.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/flavors.hpp>

#include <algorithm>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

// Jobs of the scenario.

void scenario_reader::read_jobs(json_object& top) {
  const auto value = top.find("jobs");
  if (!value || !expect_array(*value, found_)) return;
  value->for_each([&](json_value element) {
    job_entry job = read_job(element);
    if (!element.is_object()) return;
    if (!job.id.empty()) job_ids_.try_emplace(job.id, to_.jobs.size());
    to_.jobs.push_back(std::move(job));
  });
}

job_entry scenario_reader::read_job(json_value value) {
  job_entry j;
  if (!expect_object(value, found_)) return j;
  json_object job{value, found_};
  if (const auto id = job.require("id")) {
    j.id = read_string(*id, found_).value_or("");
    if (id->is_string() && j.id.empty()) {
      id->report(found_, "a job needs an id");
    } else if (!j.id.empty() && job_ids_.count(j.id) > 0) {
      id->report(found_, "there is more than one job \"" + j.id + '"');
    } else if (to_.trace && to_.trace->ids.find(j.id)) {
      id->report(found_, "there is a job \"" + j.id + "\" in the trace " + to_.trace_file + " too");
    }
  }
  read_quota_of_job(job, j);
  if (const auto v = job.find("preemptible")) j.preemptible = read_bool(*v, found_).value_or(true);
  j.semi_preemptible = read_semi_preemptible(job, j).value_or(false);
  if (const auto sets = job.find("pod_sets")) {
    if (const auto topology = job.find("topology")) read_topology_of_job(*topology, j);
    read_pod_sets(*sets, j);
    for (const std::string_view key :
         {"pods", "min_pods", "request", "flavors", "total", "gpu_model", "node_pools", "gpu_memory_mib",
          "devices_per_pod", "mig", "cpu_milli", "memory_mib", "slice", "spread"}) {
      // A key that is not there is not asked for, or it would be recommended.
      if (!job.value().find(key)) continue;
      job.find(key)->report(found_, "each of the pod_sets says that (expected it there)");
    }
  } else {
    read_pods(job, j);
    read_needs(job, j);
    const auto flavors = job.find("flavors");
    if (const auto request = job.require("request")) {
      read_request(job, *request, flavors, j);
    } else {
      read_host(job, {}, j);
    }
  }
  const auto time = [&](std::string_view key) -> std::optional<instant> {
    const auto v = job.find(key);
    return v ? read_milli(*v, found_) : std::nullopt;
  };
  const auto text = [&](std::string_view key, std::string& to) {
    if (const auto v = job.find(key)) to = read_string(*v, found_).value_or("");
  };
  if (const auto priority = job.find("priority")) j.priority = read_priority(*priority).value_or(0);
  text("class", j.job_class);
  text("user", j.user);
  if (const auto roles = job.find("roles")) j.roles = read_strings(*roles, found_);
  j.submit = time("submit_s").value_or(0);
  j.ready = time("ready_s").value_or(0);
  j.duration = time("duration_s").value_or(0);
  j.checkpoint = time("checkpoint_s");
  j.restart = time("restart_s").value_or(0);
  j.deadline = time("deadline_s");
  if (j.deadline && *j.deadline < j.submit) {
    job.find("deadline_s")->report(found_, "expected a point in time, as submit_s is one, and not before it");
  }
  if (const auto estimate = job.find("estimate_s")) {
    constexpr std::int64_t most_seconds = 1'000'000'000'000;
    j.estimate = read_whole(*estimate, 1, most_seconds, found_).value_or(0);
  }
  read_state(job, j);
  job.reject_unknown();
  return j;
}

std::optional<bool> scenario_reader::read_semi_preemptible(json_object& in, const job_entry& job) {
  const auto v = in.find("semi_preemptible");
  if (!v) return std::nullopt;
  if (job.preemptible) {
    v->report(found_, "the job may be preempted as a whole (expected \"preemptible\": false beside it)");
  }
  return read_bool(*v, found_);
}

void scenario_reader::read_quota_of_job(json_object& job, job_entry& to) {
  const auto value = to_.quotas.size() == 1 ? job.find("quota") : job.require("quota");
  if (!value) {
    to.quota = quota_id{0};
    return;
  }
  const auto name = read_string(*value, found_);
  if (!name) return;
  const auto at = quota_ids_.find(*name);
  if (at != quota_ids_.end()) {
    to.quota = at->second;
    to.pod_request.pools = to_.quotas[at->second.index()].pools;
  } else if (!names_are_missing_) {
    vector<std::string_view> names;
    for (const auto& [known, id] : quota_ids_) names.push_back(known);
    value->report(found_, "there is no quota \"" + *name + '"' + did_you_mean(nearest(*name, names)));
  }
}

void scenario_reader::read_pods(json_object& job, job_entry& to) {
  constexpr std::int64_t most_pods = 1'000'000;
  if (const auto total = job.find("total")) to.pod_request.total = read_bool(*total, found_).value_or(false);
  const auto pods_value = job.find("pods");
  const auto pods =
      pods_value ? read_whole(*pods_value, 1, most_pods, found_) : std::optional<std::int64_t>{1};
  if (pods.value_or(1) > 1 && to.pod_request.total) {
    pods_value->report(found_, "a total is split over as few nodes as its size needs (expected no \"pods\")");
  }
  to.pod_request.pods = static_cast<std::uint32_t>(pods.value_or(1));
  to.min_pods = to.pod_request.pods;
  const auto min_pods = job.find("min_pods");
  if (!min_pods || !pods) return;
  to.min_pods = static_cast<std::uint32_t>(read_whole(*min_pods, 1, *pods, found_).value_or(*pods));
}

void scenario_reader::read_state(json_object& job, job_entry& to) {
  constexpr job_phase phases[] = {job_phase::pending, job_phase::running, job_phase::evicting};
  if (const auto state = job.find("state")) {
    if (const auto word = read_word(*state, {"pending", "running", "evicting"}, found_))
      to.phase = phases[*word];
  }
  const auto start = job.find("start_s");
  to.start = start ? read_milli(*start, found_).value_or(0) : to.submit;
  to.running_pods = to.pod_request.pods;
  const auto running_pods = job.find("running_pods");
  if (running_pods) {
    const auto n = read_whole(*running_pods, to.min_pods, to.pod_request.pods, found_);
    to.running_pods = static_cast<std::uint32_t>(n.value_or(to.pod_request.pods));
  }
  const auto nodes = job.find("nodes");
  const auto devices = job.find("devices");
  // A pending job may still name its former nodes.
  if (to.phase == job_phase::pending || !to_.cluster) return;
  const std::size_t before = found_.size();
  if (nodes) {
    read_nodes(*nodes, to);
    if (!running_pods && to.locations.size() >= to.min_pods && to.locations.size() < to.pod_request.pods) {
      to.running_pods = static_cast<std::uint32_t>(to.locations.size());
    } else if (found_.size() == before && !to.pod_request.total && !to.locations.empty() &&
               to.locations.size() != to.running_pods) {
      std::string text = "expected a node for each of the ";
      const bool is_elastic = to.min_pods < to.pod_request.pods && !running_pods;
      if (is_elastic) text += std::to_string(to.min_pods) + " to ";
      text += std::to_string(to.running_pods) + " pods, found " + std::to_string(to.locations.size());
      nodes->report(found_, std::move(text));
    }
  }
  if (devices && found_.size() == before) read_devices(*devices, to);
}

void scenario_reader::read_nodes(json_value value, job_entry& to) {
  if (!expect_array(value, found_)) return;
  value.for_each([&](json_value element) {
    const auto name = read_string(element, found_);
    if (!name) return;
    if (const auto node = to_.cluster->find(*name)) {
      to.locations.push_back({*node});
    } else {
      element.report(found_, "there is no node \"" + *name + '"');
    }
  });
}

void scenario_reader::read_devices(json_value value, job_entry& to) {
  if (!expect_array(value, found_)) return;
  std::size_t pod = 0;
  value.for_each([&](json_value of_pod) {
    if (!expect_array(of_pod, found_)) return;
    if (pod == to.locations.size()) {
      of_pod.report(found_, "there is no node for the pod that has these devices");
      return;
    }
    gpu::pod_location& at = to.locations[pod++];
    of_pod.for_each([&](json_value device) {
      const auto last = static_cast<std::int64_t>(to_.cluster->gpus(at.node)) - 1;
      const auto d = read_whole(device, 0, last, found_);
      if (!d) return;
      const std::uint64_t bit = std::uint64_t{1} << *d;
      if ((at.devices & bit) != 0) device.report(found_, "the device is there twice");
      at.devices |= bit;
    });
  });
  if (pod != to.locations.size()) {
    value.report(found_, "expected the devices of " + std::to_string(to.locations.size()) + " pods, found " +
                             std::to_string(pod));
  }
}

// Jobs of the trace.

trace_dimensions dimensions_of_traces(const scenario& s) {
  return {find_resource(s, "gpu"), find_resource(s, "cpu"), find_resource(s, "memory_mib")};
}

void check_amounts(const trace& t, const std::string& file, const trace_places& places, errors& found) {
  std::size_t jobs = 0;
  std::string place;
  std::string text;
  const auto check = [&](const trace_job& j, quantity gpus) {
    std::string wrong = problem_of_gpus(gpus);
    if (wrong.empty() || ++jobs > 1) return;
    place = "job " + std::string{t.ids[j.id]};
    if (places.mixed_gpus) place.insert(0, shown(*places.mixed_gpus, "gpus") + ": ");
    text = std::move(wrong);
  };
  for (const trace_job& j : t.jobs) {
    if (j.is_unlike()) {
      for (const auto& set : to_unlike<1>(t.sets_of(j)).sets) check(j, set.each.gpus);
    } else {
      check(j, to_job<1>(j, {}).pod_request.gpus);
    }
  }
  if (jobs > 1) text += "; and so in " + std::to_string(jobs - 1) + " more";
  if (jobs > 0) found.add(file, place, std::move(text));
}

/// Errors in single fields were reported by the trace reader. Of problems shared by many jobs, the first is
/// reported, with its place in the file if there is one, and the others are counted.
void scenario_reader::check_trace(const trace_places& places) {
  if (!to_.trace) return;
  const trace& t = *to_.trace;
  struct shared_problem {
    std::size_t jobs = 0;
    std::string place{};
    std::string text{};
  };
  std::map<std::string, shared_problem> shared;
  const auto report = [&](const std::string& key, const trace_job& j, trace_column column,
                          const std::optional<text_place>& place, auto text) {
    shared_problem& p = shared[key];
    if (++p.jobs > 1) return;
    const std::string id = "job " + std::string{t.ids[j.id]};
    if (place) p.place = shown(*place, trace_column_names[static_cast<std::size_t>(column)]) + ": " + id;
    if (!place) p.place = id;
    p.text = text();
  };
  const auto place_of_tenant = [&](name_id tenant) {
    return tenant.index() < places.tenants.size() ? std::optional{places.tenants[tenant.index()]}
                                                  : std::nullopt;
  };
  const auto place_of_model = [&](name_id model) -> std::optional<text_place> {
    for (const auto& [known, place] : places.models) {
      if (known == model) return place;
    }
    return std::nullopt;
  };
  for (const trace_job& j : t.jobs) {
    if (j.tenant.is_none() && to_.quotas.size() > 1 && !has_quotas_of_tenants_) {
      report("tenant", j, trace_column::tenant, places.without_tenant,
             [] { return std::string{"the job has no tenant (expected the name of a quota)"}; });
    } else if (j.tenant && !names_are_missing_ && quota_ids_.find(t.tenants[j.tenant]) == quota_ids_.end()) {
      const std::string name{t.tenants[j.tenant]};
      report("tenant " + name, j, trace_column::tenant, place_of_tenant(j.tenant),
             [&] { return "the tenant \"" + name + "\" is not a quota of the scenario"; });
    }
    const auto check_model = [&](name_id model) {
      if (!model || knows_model(to_, t.words[model])) return;
      const std::string name{t.words[model]};
      report("gpu_model " + name, j, trace_column::gpu_model, place_of_model(model),
             [&] { return "no node has the GPU model \"" + name + '"'; });
    };
    check_model(j.gpu_model);
    std::size_t groups = 0;
    for (const trace_pod_set& set : t.sets_of(j)) {
      if (!j.is_unlike()) continue;
      check_model(set.gpu_model);
      groups += chooses_flavor(to_, set) ? 1U : 0U;
    }
    if (groups > most_flavor_groups) {
      report("groups", j, trace_column::pod_set, std::nullopt, [&] {
        return "the pod sets of a job choose at most " + std::to_string(most_flavor_groups) +
               " flavors together, found " + std::to_string(groups) + " without the gpu_model of one flavor";
      });
    }
  }
  check_amounts(t, to_.trace_file, places, found_);
  for (auto& [key, p] : shared) {
    if (p.jobs > 1) p.text += "; and so in " + std::to_string(p.jobs - 1) + " more";
    found_.add(to_.trace_file, p.place, std::move(p.text));
  }
}

void scenario_reader::check_cancellations() {
  for (const event_entry& e : to_.events) {
    const auto* id = std::get_if<std::string>(&e.what);
    if (id == nullptr || job_ids_.count(*id) > 0 || (to_.trace && to_.trace->ids.find(*id))) continue;
    found_.add(to_.file, e.place, "there is no job \"" + *id + '"');
  }
}

void scenario_reader::check_total() {
  amounts sum;
  const auto add = [&](const vector<flavor_group>& flavors, std::int64_t pods) {
    for (const flavor_group& g : flavors) {
      amounts most;
      for (const flavor_group::option& o : g.options) {
        for (std::size_t d = 0; d < max_resources; ++d) most[d] = std::max(most[d], o.request[d]);
      }
      sum += most * pods;
    }
  };
  for (const job_entry& j : to_.jobs) {
    sum += j.request;
    add(j.flavors, j.pod_request.total ? 1 : j.pod_request.pods);
    for (const pod_set_entry& s : j.sets) add(s.flavors, s.pods.pods);
  }
  if (to_.trace) {
    const auto counted = dimensions_of_traces(to_);
    for (const trace_job& j : to_.trace->jobs) sum += to_job<max_resources>(j, {}, counted).request;
  }
  if (!is_valid_request(sum)) {
    found_.add(to_.file, "/jobs", "all jobs together ask for more than can be counted");
  }
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

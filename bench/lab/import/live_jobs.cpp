// SPDX-License-Identifier: BSL-1.0
#include "lab/import/live_jobs.hpp"

#include <allot/core/pod_counts.hpp>
#include <allot/core/vector.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

void live_jobs::add(live_job job) {
  first_ = jobs_.empty() ? job.submitted : std::min(first_, job.submitted);
  now_ = std::max({now_, job.submitted, job.started.value_or(job.submitted)});
  for (const live_pod_set& set : job.sets) {
    for (const live_pod& p : set.pods) now_ = std::max(now_, p.started.value_or(job.submitted));
  }
  jobs_.push_back(std::move(job));
}

void live_jobs::add_leaving(live_job of, live_pod_set pods, bool has_others) {
  if (has_others) {
    of.id += "/leaving";
    log_.note(of.shown, counted(pods.pods.size(), "of its pods is", "of its pods are") +
                            " being deleted: the job " + of.id + ", which is evicted");
  }
  of.is_going = true;
  of.sets.push_back(std::move(pods));
  add(std::move(of));
}

void live_jobs::write(json_writer& json) const {
  json.begin_array();
  for (const live_job& job : jobs_) write_job(job, json);
  json.end_array();
}

vector<live_jobs::kind> live_jobs::kinds_of(const live_job& job) const {
  vector<kind> all;
  std::set<std::string> names;
  for (std::size_t s = 0; s < job.sets.size(); ++s) {
    const live_pod_set& set = job.sets[s];
    vector<const live_pod*> pods;
    for (const bool running : {true, false}) {
      for (const live_pod& p : set.pods) {
        if (p.is_running == running) pods.push_back(&p);
      }
    }
    const std::size_t first = all.size();
    std::int64_t number = 0;
    for (const live_pod* p : pods) {
      const auto is_alike = [&](const kind& k) {
        return k.set == s && k.pods.front()->need == p->need && k.pods.front()->demand == p->demand;
      };
      auto at = std::find_if(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(), is_alike);
      if (at == all.end()) {
        all.push_back({s, {}, 0, {}, 0});
        at = all.end() - 1;
      }
      at->pods.push_back(p);
      at->running += p->is_running ? 1 : 0;
      // The first of them are those that it needs.
      at->min += number++ < set.min ? 1 : 0;
    }
    for (std::size_t k = first; k < all.size(); ++k) {
      std::string name = set.name;
      if (all.size() - first > 1) name.append(name.empty() ? "" : "-").append(std::to_string(k - first + 1));
      while (!name.empty() && !names.insert(name).second) name += '\'';
      all[k].name = std::move(name);
    }
  }
  return all;
}

void live_jobs::write_job(const live_job& job, json_writer& json) const {
  vector<kind> running;
  vector<kind> waiting;
  for (kind& k : kinds_of(job)) {
    if (k.min == 0) {
      k.min = 1;
      log_.note(job.shown, "of its pods like " + k.pods.front()->name +
                               " it needs none to start, here one (others come one by one)");
    }
    (k.running > 0 ? running : waiting).push_back(std::move(k));
  }
  if (running.empty()) {
    if (waiting.size() > most_pod_sets) return write_total(job, job.id, waiting, json);
    return write_one(job, job.id, std::move(waiting), json);
  }
  // More sets than a job has: they run anyway.
  for (std::size_t part = 0; part * most_pod_sets < running.size(); ++part) {
    const auto from = running.begin() + static_cast<std::ptrdiff_t>(part * most_pod_sets);
    const auto to =
        running.begin() + static_cast<std::ptrdiff_t>(std::min(running.size(), (part + 1) * most_pod_sets));
    std::string id = job.id;
    if (part > 0) id.append("/").append(std::to_string(part + 1));
    if (part == 1)
      log_.note(job.shown, "its pods are of more than " + std::to_string(most_pod_sets) +
                               " kinds: becomes several jobs, which may be evicted apart");
    vector<kind> kinds;
    for (auto k = from; k != to; ++k) kinds.push_back(*k);
    write_one(job, id, std::move(kinds), json);
  }
  if (waiting.empty()) return;
  log_.note(job.shown, "runs, but none of its pods like " + waiting.front().pods.front()->name +
                           ": those that wait are the job " + job.id + "/waiting");
  if (waiting.size() > most_pod_sets) return write_total(job, job.id + "/waiting", waiting, json);
  write_one(job, job.id + "/waiting", std::move(waiting), json);
}

void live_jobs::write_one(const live_job& job, const std::string& id, vector<kind> kinds,
                          json_writer& json) const {
  std::int64_t running = 0;
  for (kind& k : kinds) {
    running += k.running;
    if (k.running > 0) k.min = std::min(k.min, k.running);
  }
  if (running > 0 && kinds.size() > 1) {
    // Beyond the minimums a scenario has them in the order in which they grow.
    const auto has = pods_of_sets(
        kinds.size(), [&](std::size_t k) { return static_cast<std::uint32_t>(kinds[k].min); },
        [&](std::size_t k) { return static_cast<std::uint32_t>(kinds[k].pods.size()); },
        static_cast<std::uint64_t>(running));
    bool is_as_grown = true;
    for (std::size_t k = 0; k < kinds.size(); ++k)
      is_as_grown = is_as_grown && has[k] == static_cast<std::uint64_t>(kinds[k].running);
    if (!is_as_grown) {
      for (kind& k : kinds) k.min = k.running;
      log_.note(job.shown,
                "its sets of pods run in numbers that a scenario can't tell: it needs all that it has");
    }
  }
  json.begin_object().member("id", id).member("quota", job.quota);
  if (kinds.size() == 1) {
    write_pods(kinds.front(), json);
    if (job.write_topology)
      job.write_topology(job.sets.size() > 1 || !job.sets.front().name.empty()
                             ? std::optional{kinds.front().set}
                             : std::nullopt,
                         json);
  } else {
    if (job.write_topology) job.write_topology(std::nullopt, json);
    json.key("pod_sets").begin_array();
    for (const kind& k : kinds) {
      json.begin_object();
      if (!k.name.empty()) json.member("name", k.name);
      write_pods(k, json);
      const bool is_named = job.sets.size() > 1 || !job.sets[k.set].name.empty();
      if (job.write_topology && is_named) job.write_topology(k.set, json);
      json.end_object();
    }
    json.end_array();
  }
  write_state(job, kinds, json);
  json.end_object();
}

void live_jobs::write_pods(const kind& k, json_writer& json) const {
  const pod_need& need = k.pods.front()->need;
  const auto pods = static_cast<std::int64_t>(k.pods.size());
  json.member("pods", pods);
  if (need.devices > 1) json.member("devices_per_pod", need.devices);
  if (k.min < pods) json.member("min_pods", k.min);
  json.key("request").begin_object();
  bool charges_cpu = false;
  bool charges_memory = false;
  for (const auto& [resource, amount] : need.charges) {
    charges_cpu = charges_cpu || resource == "cpu";
    charges_memory = charges_memory || resource == "memory_mib";
    if (amount > 0) json.key(resource).raw(milli_text(amount));
  }
  json.end_object();
  if (!need.flavors.empty()) {
    json.key("flavors").begin_array();
    for (const std::string& f : need.flavors) json.value(f);
    json.end_array();
  }
  if (need.gpu_memory_mib > 0) json.member("gpu_memory_mib", need.gpu_memory_mib);
  if (nodes_.empty()) return;
  if (need.cpu_milli > 0 && !charges_cpu) json.member("cpu_milli", need.cpu_milli);
  if (need.memory > 0 && !charges_memory) json.member("memory_mib", need.memory_mib());
  nodes_.write_pools(k.pods.front()->demand, json);
  if (nodes_.is_impossible(k.pods.front()->demand)) {
    log_.note("Pod " + k.pods.front()->name,
              "no node of the file may take it (its node selector, affinity and tolerations, and what nodes "
              "offer and say of themselves): " +
                  std::string{k.running > 0 ? "it runs where it is" : "it waits for ever"});
  }
}

void live_jobs::write_total(const live_job& job, const std::string& id, const vector<kind>& kinds,
                            json_writer& json) const {
  log_.note(job.shown, "its pods are of more than " + std::to_string(most_pod_sets) +
                           " kinds: carried over as one request of all together, for any node");
  std::map<std::string, std::int64_t> sum;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  constexpr std::int64_t most = most_milli / 1'000'000;
  for (const kind& k : kinds) {
    const auto pods = static_cast<std::int64_t>(k.pods.size());
    const pod_need& need = k.pods.front()->need;
    for (const auto& [resource, amount] : need.charges) sum[resource] += std::min(amount, most * 1000) * pods;
    if (need.gpu_memory_mib > 0) sum["gpu"] += 1000 * need.devices * pods;
    cpu += std::min(need.cpu_milli, most) * pods;
    memory += std::min(need.memory_mib(), most) * pods;
  }
  json.begin_object().member("id", id).member("quota", job.quota).member("total", true);
  json.key("request").begin_object();
  for (auto& [resource, amount] : sum) {
    // A job has whole GPUs, or a part of one.
    if (resource.ends_with("gpu") && amount > 1000) amount = (amount + 999) / 1000 * 1000;
    if (amount > 0) json.key(resource).raw(milli_text(amount));
  }
  json.end_object();
  if (!nodes_.empty()) {
    if (cpu > 0 && sum.find("cpu") == sum.end()) json.member("cpu_milli", cpu);
    if (memory > 0 && sum.find("memory_mib") == sum.end()) json.member("memory_mib", memory);
  }
  write_state(job, {}, json);
  json.end_object();
}

void live_jobs::write_state(const live_job& job, const vector<kind>& kinds, json_writer& json) const {
  json.member("priority", job.priority).member("preemptible", job.preemptible);
  if (job.semi_preemptible) json.member("semi_preemptible", true);
  if (!job.job_class.empty()) json.member("class", job.job_class);
  json.key("submit_s").raw(milli_text(job.submitted - first_));
  std::int64_t running = 0;
  std::int64_t pods = 0;
  std::optional<instant> started = job.started;
  for (const kind& k : kinds) {
    running += k.running;
    pods += static_cast<std::int64_t>(k.pods.size());
    for (const live_pod* p : k.pods) {
      if (!p->is_running || job.started) continue;
      const instant at = p->started.value_or(job.submitted);
      started = started ? std::min(*started, at) : at;
    }
  }
  instant ran = 0;
  if (running > 0) {
    const instant start =
        std::clamp(started.value_or(job.submitted), job.submitted, std::max(now_, job.submitted));
    ran = now_ - start;
    json.member("state", job.is_going ? "evicting" : "running");
    json.key("start_s").raw(milli_text(start - first_));
    if (running < pods) json.member("running_pods", running);
    write_places(kinds, running, json);
  }
  constexpr instant per_second = 1000;
  const instant lasts = job.limit ? std::max(*job.limit, ran + per_second) : ran + otherwise;
  json.key("duration_s").raw(milli_text(lasts));
  if (job.limit)
    json.member("estimate_s", std::max<std::int64_t>(1, (*job.limit + per_second - 1) / per_second));
}

void live_jobs::write_places(const vector<kind>& kinds, std::int64_t running, json_writer& json) const {
  if (nodes_.empty()) return;
  // The minimums set by set, then the others as they come.
  vector<const live_pod*> in_order;
  pods_by_set has{};
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    for (; static_cast<std::int64_t>(has[k]) < kinds[k].min; ++has[k])
      in_order.push_back(kinds[k].pods[has[k]]);
  }
  while (static_cast<std::int64_t>(in_order.size()) < running) {
    const std::size_t k = next_to_grow(
        kinds.size(), [&](std::size_t of) { return static_cast<std::uint64_t>(kinds[of].min); },
        [&](std::size_t of) { return static_cast<std::uint64_t>(kinds[of].pods.size()); }, has);
    if (k == kinds.size()) break;
    in_order.push_back(kinds[k].pods[has[k]++]);
  }
  json.key("nodes").begin_array();
  for (const live_pod* p : in_order) json.value(nodes_.place_of(*p->standing));
  json.end_array();
  const auto must_be_told = [&](const live_pod* p) { return !nodes_.devices_of(*p->standing).empty(); };
  if (std::none_of(in_order.begin(), in_order.end(), must_be_told)) return;
  json.key("devices").begin_array();
  for (const live_pod* p : in_order) {
    json.begin_array();
    for (const std::int64_t d : nodes_.devices_of(*p->standing)) json.value(d);
    json.end_array();
  }
  json.end_array();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

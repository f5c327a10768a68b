// SPDX-License-Identifier: BSL-1.0
//
// A cluster that is made up: an API with faults, and what Kueue's controllers do there to Workloads of
// ClusterQueues on Hold, as it was tried on the real one (FACTS.md).
#pragma once

#include "fake_api.hpp"
#include "kueue_host.hpp"

#include <doctest/doctest.h>

#include <boost/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace kueue_tests {

namespace json = boost::json;
using allot_kueue::instant;
using allot_kueue::object_name;
using allot_kueue::resource;
using allot_kueue::text_at;

inline const std::string kueue_api = "kueue.x-k8s.io/v1beta2";
inline const resource workloads{kueue_api, "Workload", "workloads"};
inline const resource cluster_queues{kueue_api, "ClusterQueue", "clusterqueues"};
inline const resource local_queues{kueue_api, "LocalQueue", "localqueues"};
inline const resource flavors{kueue_api, "ResourceFlavor", "resourceflavors"};
inline const resource topologies{kueue_api, "Topology", "topologies"};
inline const resource namespaces{"v1", "Namespace", "namespaces"};
inline const resource nodes{"v1", "Node", "nodes"};
inline const resource pods{"v1", "Pod", "pods"};

class made_up_kueue {
 public:
  struct truth {
    std::string queue;
    std::int64_t gpus = 0;
    instant lasts = 0;
    int ends = 0;
    int evictions = 0;
    json::array pod_sets{};
  };
  /// Pods of a Job that are alike.
  struct pod_set {
    std::string name{"main"};
    std::int64_t count = 1;
    std::int64_t gpus = 0;
    json::object topology{};
    /// Of their template's spec.
    json::object more{};
  };

  explicit made_up_kueue(std::uint64_t seed) : api(seed), dice_(seed) {
    api.now = 1'800'000'000'000;
    api.set(flavors, {{"metadata", {{"name", "default"}}}, {"spec", json::object{}}});
    api.set(namespaces, {{"metadata", {{"name", "default"}}}});
  }

  allot_test::fake_api api;
  std::map<std::string, truth> jobs;
  /// What no governor may do.
  std::vector<std::string> faults;
  /// Kueue's controllers do nothing.
  bool is_away = false;

  void set_queue(const std::string& name, std::int64_t gpus, const std::string& stop = "Hold",
                 bool labelled = true, const char* reclaim = "Any", const std::string& flavor = "default") {
    json::object labels;
    if (labelled) labels["allot.dev/governed"] = "true";
    api.set(cluster_queues,
            {{"metadata", {{"name", name}, {"labels", labels}}},
             {"spec",
              {{"cohortName", "all"},
               {"stopPolicy", stop},
               {"namespaceSelector", json::object{}},
               {"preemption", {{"reclaimWithinCohort", reclaim}, {"withinClusterQueue", "LowerPriority"}}},
               {"resourceGroups",
                {{{"coveredResources", {"nvidia.com/gpu"}},
                  {"flavors",
                   {{{"name", flavor},
                     {"resources", {{{"name", "nvidia.com/gpu"}, {"nominalQuota", gpus}}}}}}}}}}}}});
    api.set(local_queues,
            {{"metadata", {{"name", name}, {"namespace", "default"}}}, {"spec", {{"clusterQueue", name}}}});
  }

  /// A Job of so many pods, which are alike.
  std::string submit(const std::string& queue, std::int64_t count, std::int64_t gpus, instant lasts,
                     std::int64_t priority = 0) {
    return submit(queue, {{.count = count, .gpus = gpus}}, lasts, priority);
  }
  std::string submit(const std::string& queue, const std::vector<pod_set>& sets, instant lasts,
                     std::int64_t priority = 0, const json::object& annotations = {}) {
    std::string name = "job-" + std::to_string(++last_);
    truth t{queue, 0, lasts};
    for (const pod_set& s : sets) {
      t.gpus += s.count * s.gpus;
      json::object spec = s.more;
      spec["containers"] =
          json::array{{{"name", "c"}, {"resources", {{"requests", {{"nvidia.com/gpu", s.gpus}}}}}}};
      json::object set{{"name", s.name}, {"count", s.count}, {"template", {{"spec", spec}}}};
      if (!s.topology.empty()) set["topologyRequest"] = s.topology;
      t.pod_sets.push_back(std::move(set));
    }
    api.set(workloads, {{"metadata",
                         {{"name", name},
                          {"namespace", "default"},
                          {"generation", 1},
                          {"annotations", annotations},
                          {"creationTimestamp", allot_kueue::time_text(api.now)},
                          {"ownerReferences", {{{"kind", "Job"}, {"name", name}, {"uid", "of-" + name}}}}}},
                        {"spec", {{"queueName", queue}, {"priority", priority}, {"podSets", t.pod_sets}}}});
    jobs["default/" + name] = std::move(t);
    return "default/" + name;
  }
  /// Its Workload is deleted: its Job stops, and makes another one of that name.
  void make_again(const std::string& name) {
    json::object o = object(name);
    if (is_true(o, "Finished")) return;
    api.remove(workloads, name_of(name));
    seen_.erase(name);
    o.erase("status");
    o["metadata"].get_object().erase("uid");
    api.set(workloads, std::move(o));
  }
  void remove(const std::string& name) {
    api.remove(workloads, name_of(name));
    jobs.erase(name);
    remove_pods(name);
    seen_.erase(name);
  }

  [[nodiscard]] const json::object& object(const std::string& name) const {
    const json::object* const o = api.find(workloads, name_of(name));
    REQUIRE(o != nullptr);
    return *o;
  }
  [[nodiscard]] bool is(const std::string& name, std::string_view condition) const {
    return is_true(object(name), condition);
  }
  [[nodiscard]] std::string message(const std::string& name, std::string_view condition) const {
    for (const json::value& c : conditions_of(object(name))) {
      if (c.at("type").as_string() == condition) return json::value_to<std::string>(c.at("message"));
    }
    return {};
  }
  [[nodiscard]] bool holds(const std::string& name) const {
    const json::object& o = object(name);
    return is_true(o, "QuotaReserved") && !is_true(o, "Finished") &&
           !text_at(o, {"status", "admission", "clusterQueue"}).empty();
  }

  // Nodes: n1, n2, ... of 8 GPUs, two of them a rack, of the flavor "racks" whose topology has racks.

  void add_nodes(std::size_t count) {
    const json::array levels{{{"nodeLabel", "rack"}}, {{"nodeLabel", "kubernetes.io/hostname"}}};
    api.set(topologies, {{"metadata", {{"name", "racks"}}}, {"spec", {{"levels", levels}}}});
    api.set(flavors, {{"metadata", {{"name", "racks"}}},
                      {"spec", {{"topologyName", "racks"}, {"nodeLabels", {{"pool", "racks"}}}}}});
    for (std::size_t i = 0; i < count; ++i) set_node("n" + std::to_string(i + 1), true);
  }
  void set_node(const std::string& name, bool is_ready, json::object labels = {}, json::array taints = {}) {
    labels["rack"] = rack_of(name);
    labels["pool"] = "racks";
    labels["kubernetes.io/hostname"] = "host-" + name;
    const json::object ready{{"type", "Ready"}, {"status", is_ready ? "True" : "False"}};
    api.set(
        nodes,
        {{"metadata", {{"name", name}, {"labels", labels}}},
         {"spec", {{"taints", taints}}},
         {"status",
          {{"allocatable", {{"nvidia.com/gpu", 8}, {"cpu", "63500m"}, {"memory", "500Gi"}, {"pods", "110"}}},
           {"conditions", {ready}}}}});
    is_ready ? void(down_.erase(name)) : void(down_.emplace(name, api.now));
  }
  [[nodiscard]] static std::string rack_of(const std::string& node) {
    return "r" + std::to_string((std::stoul(node.substr(1)) + 1) / 2);
  }
  /// One that Kueue knows nothing of.
  void set_pod(const std::string& name, const std::string& node, std::int64_t gpus,
               const std::string& workload = {}) {
    json::object annotations;
    if (!workload.empty()) annotations["kueue.x-k8s.io/workload"] = workload;
    const json::object container{{"resources", {{"requests", {{"nvidia.com/gpu", gpus}}}}}};
    api.set(pods, {{"metadata", {{"name", name}, {"namespace", "default"}, {"annotations", annotations}}},
                   {"spec", {{"nodeName", node}, {"containers", json::array{container}}}},
                   {"status", {{"phase", "Running"}}}});
    pods_[name] = {node, gpus};
  }
  void remove_pod(const std::string& name) {
    api.remove(pods, {"default", name});
    pods_.erase(name);
  }
  /// Of each pod of a set.
  [[nodiscard]] static std::int64_t gpus_of_pod(const truth& t, const std::string& set) {
    const auto is_it = [&](const json::value& s) { return s.at("name").as_string() == set; };
    const json::value& of = *std::find_if(t.pod_sets.begin(), t.pod_sets.end(), is_it);
    const json::value& container = of.at("template").at("spec").at("containers").at(0);
    return container.at("resources").at("requests").at("nvidia.com/gpu").to_number<std::int64_t>();
  }
  [[nodiscard]] std::int64_t gpus_of_pods(const std::string& node) const {
    std::int64_t sum = 0;
    for (const auto& [name, p] : pods_) sum += p.first == node ? p.second : 0;
    return sum;
  }
  /// By pod set: the node of each pod, by rank.
  [[nodiscard]] std::map<std::string, std::vector<std::string>> places(const std::string& name) const {
    std::map<std::string, std::vector<std::string>> all;
    const json::value* const sets = find_at(object(name), "podSetAssignments");
    if (sets == nullptr) return all;
    for (const json::value& s : sets->as_array()) {
      const json::value* const at = s.as_object().if_contains("topologyAssignment");
      if (at == nullptr) continue;
      const json::object& slice = at->at("slices").at(0).as_object();
      auto& to = all[json::value_to<std::string>(s.at("name"))];
      const json::array& hosts = slice.at("valuesPerLevel").at(0).at("individual").at("roots").as_array();
      for (std::size_t h = 0; h < hosts.size(); ++h) {
        const std::string host = json::value_to<std::string>(hosts[h]);
        to.insert(to.end(), slice.at("podCounts").at("individual").at(h).to_number<std::size_t>(),
                  host.substr(std::string_view{"host-"}.size()));
      }
    }
    return all;
  }

  /// Time passes; Kueue sees what has changed, and jobs end.
  void advance(instant by) {
    api.advance(by);
    if (is_away) return;
    std::vector<std::string> names;
    for (const auto& [name, t] : jobs) names.push_back(name);
    for (const std::string& name : names) look_at(name);
    for (auto at = leaving_.begin(); at != leaving_.end();) {
      if (at->second > api.now) {
        ++at;
        continue;
      }
      remove_pod(at->first);
      at = leaving_.erase(at);
    }
  }

 private:
  struct seen {
    instant admitted = 0;
    instant evicted = 0;
    std::string admission;
  };

  [[nodiscard]] static object_name name_of(const std::string& name) {
    return {name.substr(0, name.find('/')), name.substr(name.find('/') + 1)};
  }
  [[nodiscard]] static const json::array& conditions_of(const json::object& o) {
    static const json::array none;
    const json::value* const status = o.if_contains("status");
    if (status == nullptr) return none;
    const json::value* const all = status->as_object().if_contains("conditions");
    return all == nullptr ? none : all->as_array();
  }
  [[nodiscard]] static bool is_true(const json::object& o, std::string_view type) {
    for (const json::value& c : conditions_of(o)) {
      if (c.at("type").as_string() == type) return c.at("status").as_string() == "True";
    }
    return false;
  }
  void set_condition(json::object& o, std::string_view type, bool is, std::string_view reason) const {
    json::array all = conditions_of(o);
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const json::value& c) { return c.at("type").as_string() == type; });
    json::object c{{"type", type},
                   {"status", is ? "True" : "False"},
                   {"reason", reason},
                   {"message", "made up"},
                   {"lastTransitionTime", allot_kueue::time_text(api.now)}};
    same == all.end() ? void(all.push_back(std::move(c))) : void(*same = std::move(c));
    json::value& status = o["status"];
    if (!status.is_object()) status.emplace_object();
    status.get_object()["conditions"] = std::move(all);
  }

  [[nodiscard]] static const json::value* find_at(const json::object& o, std::string_view key) {
    const json::value* const status = o.if_contains("status");
    const json::value* const admission =
        status == nullptr ? nullptr : status->as_object().if_contains("admission");
    return admission == nullptr ? nullptr : admission->as_object().if_contains(key);
  }
  /// Its pods are on their nodes, once these have room.
  void bind_pods(const std::string& name) {
    const std::string own = name.substr(name.find('/') + 1);
    std::size_t nth = 0;
    for (const auto& [set, on] : places(name)) {
      for (const std::string& node : on) {
        const std::string pod =
            own + '-' + std::to_string(nth++) + '-' + std::to_string(jobs.at(name).evictions);
        const std::int64_t gpus = gpus_of_pod(jobs.at(name), set);
        if (pods_.count(pod) == 0 && gpus_of_pods(node) + gpus <= 8) set_pod(pod, node, gpus, own);
      }
    }
  }
  /// They take a while.
  void remove_pods(const std::string& name) {
    const std::string begin = name.substr(name.find('/') + 1) + '-';
    for (const auto& [pod, at] : pods_) {
      if (pod.starts_with(begin)) leaving_.emplace(pod, api.now + static_cast<instant>(dice_.below(3000)));
    }
  }
  /// As Kueue notes it, some seconds later.
  [[nodiscard]] json::array lost_nodes(const std::string& name) const {
    std::set<std::string> lost;
    for (const auto& [set, on] : places(name)) {
      for (const std::string& node : on) {
        const auto at = down_.find(node);
        if (at != down_.end() && api.now - at->second > 3000) lost.insert("host-" + node);
      }
    }
    json::array all;
    for (const std::string& node : lost) all.push_back(json::object{{"name", node}});
    return all;
  }

  void look_at(const std::string& name) {
    const json::object* const found = api.find(workloads, name_of(name));
    if (found == nullptr || is_true(*found, "Finished")) return;
    const json::object& now = *found;
    seen& s = seen_[name];
    truth& t = jobs.at(name);
    const json::value* const status = now.if_contains("status");
    const json::value* const admission =
        status == nullptr ? nullptr : status->as_object().if_contains("admission");
    const std::string text = admission == nullptr ? std::string{} : json::serialize(*admission);
    // The webhook refuses that.
    if (!s.admission.empty() && !text.empty() && s.admission != text)
      faults.push_back(name + ": its admission was changed");
    s.admission = text;
    json::object o;
    if (conditions_of(now).empty()) {
      o = now;
      set_condition(o, "QuotaReserved", false, "Inadmissible");
    } else if (is_true(now, "Evicted") && is_true(now, "QuotaReserved")) {
      if (s.evicted == 0) s.evicted = api.now + static_cast<instant>(dice_.below(3000));
      if (api.now < s.evicted) return;
      ++t.evictions;
      o = now;
      o["status"].get_object().erase("admission");
      o["status"].get_object().erase("unhealthyNodes");
      remove_pods(name);
      set_condition(o, "QuotaReserved", false, "Pending");
      set_condition(o, "Admitted", false, "NoReservation");
      set_condition(o, "Requeued", true, "Preempted");
      s = {};
    } else if (is_true(now, "Admitted") && is_true(now, "QuotaReserved")) {
      if (s.admitted == 0) s.admitted = api.now;
      bind_pods(name);
      const json::array lost = lost_nodes(name);
      if (lost.empty() && api.now - s.admitted < t.lasts) return;
      o = now;
      if (!lost.empty()) {
        o["status"].get_object()["unhealthyNodes"] = lost;
      } else {
        o["status"].get_object().erase("unhealthyNodes");
        ++t.ends;
        set_condition(o, "Finished", true, "Succeeded");
        remove_pods(name);
      }
    } else {
      return;
    }
    api.set(workloads, std::move(o));
  }

  allot_test::random_source dice_;
  std::map<std::string, seen> seen_;
  /// By name: the node and the GPUs of a pod; when one is gone.
  std::map<std::string, std::pair<std::string, std::int64_t>> pods_;
  std::map<std::string, instant> leaving_;
  std::map<std::string, instant> down_;
  std::uint64_t last_ = 0;
};

}  // namespace kueue_tests

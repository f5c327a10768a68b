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
inline const resource namespaces{"v1", "Namespace", "namespaces"};

class made_up_kueue {
 public:
  struct truth {
    std::string queue;
    std::int64_t gpus = 0;
    instant lasts = 0;
    int ends = 0;
    int evictions = 0;
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
                 bool labelled = true, const char* reclaim = "Any") {
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
                   {{{"name", "default"},
                     {"resources", {{{"name", "nvidia.com/gpu"}, {"nominalQuota", gpus}}}}}}}}}}}}});
    api.set(local_queues,
            {{"metadata", {{"name", name}, {"namespace", "default"}}}, {"spec", {{"clusterQueue", name}}}});
  }

  /// A Job of so many pods, which are alike.
  std::string submit(const std::string& queue, std::int64_t pods, std::int64_t gpus, instant lasts,
                     std::int64_t priority = 0) {
    std::string name = "job-" + std::to_string(++last_);
    api.set(
        workloads,
        {{"metadata",
          {{"name", name},
           {"namespace", "default"},
           {"generation", 1},
           {"creationTimestamp", allot_kueue::time_text(api.now)},
           {"ownerReferences", {{{"kind", "Job"}, {"name", name}, {"uid", "of-" + name}}}}}},
         {"spec",
          {{"queueName", queue},
           {"priority", priority},
           {"podSets",
            {{{"name", "main"},
              {"count", pods},
              {"template",
               {{"spec",
                 {{"containers",
                   {{{"name", "c"}, {"resources", {{"requests", {{"nvidia.com/gpu", gpus}}}}}}}}}}}}}}}}}});
    jobs["default/" + name] = {queue, pods * gpus, lasts};
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

  /// Time passes; Kueue sees what has changed, and jobs end.
  void advance(instant by) {
    api.advance(by);
    if (is_away) return;
    std::vector<std::string> names;
    for (const auto& [name, t] : jobs) names.push_back(name);
    for (const std::string& name : names) look_at(name);
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
      set_condition(o, "QuotaReserved", false, "Pending");
      set_condition(o, "Admitted", false, "NoReservation");
      set_condition(o, "Requeued", true, "Preempted");
      s = {};
    } else if (is_true(now, "Admitted") && is_true(now, "QuotaReserved")) {
      if (s.admitted == 0) s.admitted = api.now;
      if (api.now - s.admitted < t.lasts) return;
      ++t.ends;
      o = now;
      set_condition(o, "Finished", true, "Succeeded");
    } else {
      return;
    }
    api.set(workloads, std::move(o));
  }

  allot_test::random_source dice_;
  std::map<std::string, seen> seen_;
  std::uint64_t last_ = 0;
};

}  // namespace kueue_tests

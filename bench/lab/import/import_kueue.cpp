// SPDX-License-Identifier: BSL-1.0
// Converts Kueue's objects to a scenario: ClusterQueues and Cohorts become its quotas, Workloads its jobs.
#include "lab/import/kubernetes.hpp"
#include "lab/import/resource_names.hpp"

#include <allot/core/pod_counts.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/json_writer.hpp>
#include <allot/scheduler/flavors.hpp>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr std::int64_t most_pods = 1'000'000;

/// A resource in a flavor, as a queue has it.
struct cell {
  std::string flavor;
  std::string resource;
  nano_amount nominal = 0;
  std::optional<nano_amount> borrow;
  std::optional<nano_amount> lend;
};

struct resource_group {
  vector<std::string> resources;
  /// Best first.
  vector<std::string> flavors;
};

/// A ClusterQueue or a Cohort.
struct kueue_queue {
  const kubernetes_object* object = nullptr;
  std::string name;
  std::string parent;
  bool is_cohort = false;
  vector<cell> cells;
  vector<resource_group> groups;
};

struct pod_set {
  std::string name;
  std::int64_t count = 1;
  std::optional<std::int64_t> min_count;
  /// For one pod.
  resource_list request;
  std::map<std::string, std::string, std::less<>> node_selector;
};

/// What an admitted workload has: amounts by flavor, then by resource.
using assignment = std::map<std::string, resource_list, std::less<>>;

/// The pods of a set that run.
struct running_set {
  std::string name;
  std::int64_t pods = 0;
  assignment assigned;
};

struct workload_entry {
  const kubernetes_object* object = nullptr;
  const kueue_queue* in = nullptr;
  vector<pod_set> pod_sets;
  std::int64_t priority = 0;
  bool is_admitted = false;
  bool is_going = false;
  vector<running_set> running;
  instant created = 0;
  instant started = 0;
  std::optional<instant> longest;
};

class kueue_importer {
 public:
  kueue_importer(json_value root, errors& found, import_log& log, const import_options& options)
      : found_(found), log_(log), options_(options), objects_(read_objects(root, found)) {}

  [[nodiscard]] std::string run() {
    for (const auto& [kind, objects] : objects_) {
      static constexpr std::string_view known[] = {"ClusterQueue",         "Cohort",         "Workload",
                                                   "LocalQueue",           "ResourceFlavor", "PriorityClass",
                                                   "WorkloadPriorityClass"};
      if (std::find(std::begin(known), std::end(known), kind) != std::end(known)) continue;
      log_.note(kind, counted(objects.size(), "object is", "objects are") + " not carried over");
    }
    read_queues();
    if (queues_.empty() && found_.empty()) {
      found_.add(
          shown_path(options_.file), {},
          "there is no ClusterQueue (expected the output of: kubectl get clusterqueues,cohorts,workloads -A "
          "-o json)");
    }
    if (!found_.empty()) return {};
    read_flavors();
    read_local_queues();
    read_workloads();
    if (!found_.empty()) return {};
    choose_resources();
    return write();
  }

 private:
  [[nodiscard]] const vector<kubernetes_object>& all(const std::string& kind) { return objects_[kind]; }

  // Queues.

  void read_queues() {
    std::map<std::string, bool, std::less<>> names;
    for (const kubernetes_object& o : all("ClusterQueue")) names[o.name] = true;
    for (const kubernetes_object& o : all("Cohort")) read_queue(o, true);
    for (const kubernetes_object& o : all("ClusterQueue")) read_queue(o, false);
    // Cohorts that are only named exist too.
    vector<std::string> implicit;
    for (const kueue_queue& q : queues_) {
      const auto is_it = [&](const kueue_queue& c) { return c.is_cohort && c.name == q.parent; };
      if (q.parent.empty() || std::any_of(queues_.begin(), queues_.end(), is_it)) continue;
      if (std::find(implicit.begin(), implicit.end(), q.parent) == implicit.end())
        implicit.push_back(q.parent);
    }
    for (std::string& name : implicit) {
      kueue_queue cohort;
      cohort.name = std::move(name);
      cohort.is_cohort = true;
      queues_.insert(queues_.begin(), std::move(cohort));
    }
    // A ClusterQueue and a Cohort may have the same name; quotas may not.
    for (kueue_queue& q : queues_) {
      if (!q.parent.empty() && names.count(q.parent) > 0) q.parent = "cohort " + q.parent;
      if (!q.is_cohort || names.count(q.name) == 0) continue;
      log_.note("Cohort " + q.name, "called \"cohort " + q.name + "\", because a ClusterQueue has that name");
      q.name = "cohort " + q.name;
    }
  }

  void read_queue(const kubernetes_object& o, bool is_cohort) {
    kueue_queue q;
    q.object = &o;
    q.name = o.name;
    q.is_cohort = is_cohort;
    for (const std::string_view key : {"parentName", "parent", "cohortName", "cohort"}) {
      if (q.parent.empty() && is_cohort == (key.starts_with("parent")))
        q.parent = text_at(o.value, {"spec", key}, found_);
    }
    for (const json_value& group : elements_at(o.value, {"spec", "resourceGroups"}, found_))
      read_group(group, q);
    if (const auto spec = find_path(o.value, {"spec"}, found_)) {
      if (is_cohort) {
        note_unknown(o, *spec, "spec", {"parentName", "parent", "resourceGroups", "fairSharing"}, log_);
      } else {
        note_unknown(o, *spec, "spec",
                     {"cohort", "cohortName", "resourceGroups", "fairSharing", "queueingStrategy",
                      "preemption", "flavorFungibility", "namespaceSelector", "stopPolicy"},
                     log_);
        note_selector(o, *spec);
      }
      if (const auto fair = find_path(*spec, {"fairSharing"}, found_)) {
        note_unknown(o, *fair, "spec.fairSharing", {"weight"}, log_);
      }
    }
    queues_.push_back(std::move(q));
  }

  void note_selector(const kubernetes_object& o, json_value spec) {
    // {} admits every namespace, as does a quota without "access".
    const auto selector = find_path(spec, {"namespaceSelector"}, found_);
    bool is_empty = true;
    if (selector) selector->for_each([&](json_value) { is_empty = false; });
    if (!is_empty)
      log_.note(o.shown(), "spec.namespaceSelector is not carried over: any job may be submitted to it");
  }

  void read_group(json_value value, kueue_queue& to) {
    resource_group group;
    for (const json_value& r : elements_at(value, {"coveredResources"}, found_)) {
      if (auto name = read_string(r, found_)) group.resources.push_back(std::move(*name));
    }
    for (const json_value& flavor : elements_at(value, {"flavors"}, found_)) {
      const std::string name = text_at(flavor, {"name"}, found_);
      group.flavors.push_back(name);
      for (const json_value& r : elements_at(flavor, {"resources"}, found_)) {
        cell c{name, text_at(r, {"name"}, found_), 0, {}, {}};
        if (const auto v = find_path(r, {"nominalQuota"}, found_)) c.nominal = read_amount_of(*v, found_);
        if (const auto v = find_path(r, {"borrowingLimit"}, found_)) c.borrow = read_amount_of(*v, found_);
        if (const auto v = find_path(r, {"lendingLimit"}, found_)) c.lend = read_amount_of(*v, found_);
        names_.add(c.resource, name);
        to.cells.push_back(std::move(c));
      }
    }
    to.groups.push_back(std::move(group));
  }

  void read_flavors() {
    for (const kubernetes_object& o : all("ResourceFlavor")) {
      if (auto labels = texts_at(o.value, {"spec", "nodeLabels"}, found_); !labels.empty()) {
        flavor_labels_[o.name] = std::move(labels);
      }
      if (const auto spec = find_path(o.value, {"spec"}, found_))
        note_unknown(o, *spec, "spec", {"nodeLabels"}, log_);
    }
  }

  void read_local_queues() {
    for (const kubernetes_object& o : all("LocalQueue")) {
      local_queues_[o.name] = text_at(o.value, {"spec", "clusterQueue"}, found_);
      if (const auto spec = find_path(o.value, {"spec"}, found_))
        note_unknown(o, *spec, "spec", {"clusterQueue"}, log_);
    }
    // A LocalQueue is inferred from its admitted workloads.
    for (const kubernetes_object& o : all("Workload")) {
      const std::string local = local_queue_of(o);
      const std::string admitted = text_at(o.value, {"status", "admission", "clusterQueue"}, found_);
      if (!local.empty() && !admitted.empty()) local_queues_.try_emplace(local, admitted);
    }
  }

  [[nodiscard]] std::string local_queue_of(const kubernetes_object& o) {
    const std::string name = text_at(o.value, {"spec", "queueName"}, found_);
    return name.empty() ? name : o.space + '/' + name;
  }

  [[nodiscard]] const kueue_queue* find_queue(std::string_view name) const {
    for (const kueue_queue& q : queues_) {
      if (!q.is_cohort && q.name == name) return &q;
    }
    return nullptr;
  }

  // Workloads.

  void read_workloads() {
    std::size_t finished = 0;
    for (const kubernetes_object& o : all("Workload")) {
      const auto condition = find_condition(o.value, "Finished", found_);
      if (condition && condition->is_true) {
        ++finished;
      } else {
        read_workload(o);
      }
    }
    if (finished > 0)
      log_.note("Workload", counted(finished, "that is finished is", "that are finished are") + " left out");
  }

  void read_workload(const kubernetes_object& o) {
    workload_entry w;
    w.object = &o;
    w.created = o.created.value_or(0);
    w.is_admitted = find_path(o.value, {"status", "admission", "clusterQueue"}, found_).has_value();
    std::string name = text_at(o.value, {"status", "admission", "clusterQueue"}, found_);
    if (name.empty()) {
      const std::string local = local_queue_of(o);
      if (local.empty()) return log_.note(o.shown(), "left out: it has no spec.queueName");
      const auto at = local_queues_.find(local);
      if (at != local_queues_.end()) {
        name = at->second;
      } else if (find_queue(local.substr(local.find('/') + 1)) != nullptr) {
        name = local.substr(local.find('/') + 1);
        log_.note(o.shown(), "taken to the ClusterQueue " + name + ", which is called as its LocalQueue is");
      } else {
        return log_.note(o.shown(),
                         "left out: the LocalQueue " + local +
                             " is not in the file (kubectl get ...,localqueues says where it leads)");
      }
    }
    w.in = find_queue(name);
    if (w.in == nullptr)
      return log_.note(o.shown(), "left out: the ClusterQueue " + name + " is not in the file");
    if (const auto active = find_path(o.value, {"spec", "active"}, found_); active && !w.is_admitted) {
      if (!read_bool(*active, found_).value_or(true))
        return log_.note(o.shown(), "left out: spec.active is false");
    }
    const std::string stop = text_at(w.in->object->value, {"spec", "stopPolicy"}, found_);
    if (!w.is_admitted && !stop.empty() && stop != "None") {
      return log_.note(o.shown(), "left out: it waits in a ClusterQueue whose stopPolicy is " + stop);
    }
    w.priority = priority_of(o);
    if (const auto s =
            whole_at(o.value, {"spec", "maximumExecutionTimeSeconds"}, 0, std::int64_t{1} << 31U, found_)) {
      w.longest = *s * ms_per_second;
    }
    for (const json_value& set : elements_at(o.value, {"spec", "podSets"}, found_)) read_pod_set(o, set, w);
    if (const auto spec = find_path(o.value, {"spec"}, found_)) {
      note_unknown(o, *spec, "spec",
                   {"queueName", "podSets", "priority", "priorityClassName", "priorityClassSource",
                    "priorityClassRef", "active", "maximumExecutionTimeSeconds"},
                   log_);
    }
    if (w.pod_sets.empty()) return log_.note(o.shown(), "left out: it has no pod sets");
    if (w.is_admitted) read_admission(o, w);
    // A workload that was requeued is pending from then on.
    const auto evicted = find_condition(o.value, "Evicted", found_);
    w.is_going = w.is_admitted && evicted && evicted->is_true;
    workloads_.push_back(std::move(w));
  }

  [[nodiscard]] std::int64_t priority_of(const kubernetes_object& o) {
    if (const auto p = whole_at(o.value, {"spec", "priority"}, -most_priority, most_priority, found_))
      return *p;
    std::string name = text_at(o.value, {"spec", "priorityClassName"}, found_);
    if (name.empty()) name = text_at(o.value, {"spec", "priorityClassRef", "name"}, found_);
    if (name.empty()) return 0;
    for (const char* kind : {"WorkloadPriorityClass", "PriorityClass"}) {
      for (const kubernetes_object& c : all(kind)) {
        if (c.own_name != name) continue;
        return whole_at(c.value, {"value"}, -most_priority, most_priority, found_).value_or(0);
      }
    }
    log_.note(o.shown(), "its priority class " + name + " is not in the file: the priority is 0");
    return 0;
  }

  void read_pod_set(const kubernetes_object& o, json_value value, workload_entry& w) {
    pod_set set;
    set.name = text_at(value, {"name"}, found_);
    set.count = whole_at(value, {"count"}, 0, most_pods, found_).value_or(1);
    set.min_count = whole_at(value, {"minCount"}, 0, most_pods, found_);
    const std::string path = "spec.podSets." + set.name;
    note_unknown(o, value, path, {"name", "count", "minCount", "template"}, log_);
    if (const auto spec = find_path(value, {"template", "spec"}, found_);
        spec && expect_object(*spec, found_)) {
      set.request = request_of_pod(*spec, found_);
      set.node_selector = texts_at(*spec, {"nodeSelector"}, found_);
      if (find_path(*spec, {"affinity", "nodeAffinity"}, found_)) {
        log_.note(o.shown(), path + ".template.spec.affinity.nodeAffinity is not carried over");
      }
    }
    if (set.count == 0) return;
    set.request["pods"] = 1'000'000'000;
    w.pod_sets.push_back(std::move(set));
  }

  void read_admission(const kubernetes_object& o, workload_entry& w) {
    const auto reserved = find_condition(o.value, "QuotaReserved", found_);
    w.started = reserved && reserved->since ? *reserved->since : w.created;
    for (const json_value& a : elements_at(o.value, {"status", "admission", "podSetAssignments"}, found_)) {
      const std::string name = text_at(a, {"name"}, found_);
      const auto set = std::find_if(w.pod_sets.begin(), w.pod_sets.end(),
                                    [&](const pod_set& s) { return s.name == name; });
      const std::int64_t count =
          whole_at(a, {"count"}, 0, most_pods, found_).value_or(set == w.pod_sets.end() ? 1 : set->count);
      resource_list usage;
      if (const auto v = find_path(a, {"resourceUsage"}, found_)) {
        usage = read_resource_list(*v, found_);
      } else if (set != w.pod_sets.end()) {
        add_amounts(usage, set->request, count);
      }
      if (count == 0) continue;
      running_set& running = w.running.emplace_back(running_set{name, count, {}});
      const auto flavors = find_path(a, {"flavors"}, found_);
      if (!flavors || !expect_object(*flavors, found_)) continue;
      flavors->for_each([&](json_value f) {
        const std::string resource{f.key()};
        const auto amount = usage.find(resource);
        if (amount != usage.end())
          add_amounts(running.assigned[std::string{f.text()}], {{resource, amount->second}});
      });
    }
  }

  // What is counted.

  void choose_resources() {
    for (const kueue_queue& q : queues_) {
      for (const cell& c : q.cells) {
        names_.add_amount(c.resource, c.nominal);
        names_.add_amount(c.resource, c.borrow.value_or(0));
        names_.add_amount(c.resource, c.lend.value_or(0));
      }
    }
    for (const workload_entry& w : workloads_) {
      for (const pod_set& s : w.pod_sets) {
        for (const auto& [resource, amount] : s.request) names_.add_amount(resource, amount);
      }
      for (const running_set& s : w.running) {
        for (const auto& [flavor, usage] : s.assigned) {
          for (const auto& [resource, amount] : usage) names_.add_amount(resource, amount);
        }
      }
    }
    names_.choose(log_);
    if (names_.dimensions().empty()) {
      found_.add(shown_path(options_.file), {},
                 "no ClusterQueue counts any resource (expected spec.resourceGroups)");
    }
  }

  // The scenario.

  [[nodiscard]] std::string write() {
    if (!found_.empty()) return {};
    json_writer json{2};
    json.begin_object().member("format", "allot-scenario/1");
    json.key("resources").begin_array();
    for (const std::string& d : names_.dimensions()) json.value(d);
    json.end_array();
    json.member("policy", uses_fair_sharing() ? "kueue_fair" : "kueue");
    json.key("quotas").begin_array();
    for (const kueue_queue& q : queues_) write_queue(q, json);
    json.end_array();
    find_times();
    json.key("jobs").begin_array();
    for (const workload_entry& w : workloads_) write_workload(w, json);
    json.end_array().end_object();
    return json.text();
  }

  [[nodiscard]] bool uses_fair_sharing() {
    for (const kueue_queue& q : queues_) {
      if (q.object == nullptr) continue;
      const bool is_weighted = find_path(q.object->value, {"spec", "fairSharing"}, found_).has_value();
      if (!is_weighted && !find_path(q.object->value, {"status", "fairSharing"}, found_)) continue;
      log_.note({}, "fair sharing is configured in " + q.object->shown() +
                        ": the policy is kueue_fair (--policy kueue decides without)");
      return true;
    }
    return false;
  }

  /// The amounts of a queue that `get` has, by dimension.
  template <class Get>
  void write_amounts(const kueue_queue& q, std::string_view key, json_writer& json, Get get) {
    bool is_open = false;
    for (const cell& c : q.cells) {
      const std::string dimension = names_.dimension(c.resource, c.flavor);
      const std::optional<nano_amount> amount = get(c);
      if (dimension.empty() || !amount) continue;
      if (!std::exchange(is_open, true)) json.key(key).begin_object();
      json.key(dimension).raw(milli_text(names_.milli(c.resource, *amount, false)));
    }
    if (is_open) json.end_object();
  }

  void write_borrow(const kueue_queue& q, json_writer& json) {
    if (q.parent.empty()) return;
    std::map<std::string, std::int64_t> most;
    for (const cell& c : q.cells) {
      const std::string dimension = names_.dimension(c.resource, c.flavor);
      if (!dimension.empty() && c.borrow) most[dimension] = names_.milli(c.resource, *c.borrow, false);
    }
    // A ClusterQueue may not use what it does not list. For resources with flavors the presets enforce that.
    for (const std::string& d : names_.dimensions()) {
      if (q.is_cohort || d.find('/') != std::string::npos) continue;
      const auto lists = [&](const cell& c) { return names_.dimension(c.resource, c.flavor) == d; };
      if (std::none_of(q.cells.begin(), q.cells.end(), lists)) most[d] = 0;
    }
    if (most.empty()) return;
    json.key("borrow").begin_object();
    for (const auto& [dimension, milli] : most) json.key(dimension).raw(milli_text(milli));
    json.end_object();
  }

  void write_queue(const kueue_queue& q, json_writer& json) {
    json.begin_object().member("name", q.name);
    if (!q.parent.empty()) json.member("parent", q.parent);
    write_amounts(q, "nominal", json, [](const cell& c) { return std::optional{c.nominal}; });
    if (!q.parent.empty()) write_amounts(q, "lend", json, [](const cell& c) { return c.lend; });
    write_borrow(q, json);
    if (q.object != nullptr) {
      if (const auto weight = find_path(q.object->value, {"spec", "fairSharing", "weight"}, found_)) {
        json.key("weight").raw(
            milli_text(static_cast<std::int64_t>(read_amount_of(*weight, found_) / 1'000'000)));
      }
      if (!q.is_cohort) write_settings(q, json);
    }
    json.end_object();
  }

  /// Writes the scenario's word for one of Kueue's, and notes a word that has no counterpart.
  /// Returns whether it was one of the words.
  bool write_word(const kueue_queue& q, json_writer& json, std::string_view key, std::string_view value,
                  std::string_view path,
                  std::initializer_list<std::pair<std::string_view, std::string_view>> words) {
    if (value.empty()) return false;
    for (const auto& [theirs, ours] : words) {
      if (theirs == value) {
        json.member(key, ours);
        return true;
      }
    }
    log_.note(q.object->shown(),
              std::string{path}.append(": \"").append(value).append("\" is not carried over"));
    return false;
  }

  void write_settings(const kueue_queue& q, json_writer& json) {
    const auto has_spec = find_path(q.object->value, {"spec"}, found_);
    if (!has_spec) return;
    const json_value spec = *has_spec;
    const auto text = [&](std::initializer_list<std::string_view> path) {
      return text_at(spec, path, found_);
    };
    write_word(q, json, "head", text({"queueingStrategy"}), "spec.queueingStrategy",
               {{"StrictFIFO", "strict"}, {"BestEffortFIFO", "best_effort"}});
    if (const auto preemption = find_path(spec, {"preemption"}, found_);
        preemption && expect_object(*preemption, found_)) {
      note_unknown(*q.object, *preemption, "spec.preemption",
                   {"withinClusterQueue", "reclaimWithinCohort", "borrowWithinCohort"}, log_);
      json.key("preempt").begin_object();
      write_word(q, json, "within", text({"preemption", "withinClusterQueue"}),
                 "spec.preemption.withinClusterQueue",
                 {{"Never", "never"},
                  {"LowerPriority", "lower_priority"},
                  {"LowerOrNewerEqualPriority", "lower_or_newer_equal"}});
      write_word(q, json, "reclaim", text({"preemption", "reclaimWithinCohort"}),
                 "spec.preemption.reclaimWithinCohort",
                 {{"Never", "never"}, {"LowerPriority", "lower_priority"}, {"Any", "any"}});
      if (find_path(*preemption, {"borrowWithinCohort", "policy"}, found_)) {
        json.key("borrow").begin_object();
        const std::string policy = text({"preemption", "borrowWithinCohort", "policy"});
        if (!write_word(q, json, "policy", policy, "spec.preemption.borrowWithinCohort.policy",
                        {{"Never", "never"}, {"LowerPriority", "lower_priority"}})) {
          // Kueue's own default.
          json.member("policy", "never");
        }
        const auto most = whole_at(*preemption, {"borrowWithinCohort", "maxPriorityThreshold"},
                                   -most_priority, most_priority, found_);
        // It bounds nothing where nothing is preempted.
        if (most && policy == "LowerPriority") json.member("max_priority", *most);
        json.end_object();
      }
      json.end_object();
    }
    if (const auto choice = find_path(spec, {"flavorFungibility"}, found_);
        choice && expect_object(*choice, found_)) {
      note_unknown(*q.object, *choice, "spec.flavorFungibility", {"whenCanBorrow", "whenCanPreempt"}, log_);
      json.key("flavor_choice").begin_object();
      write_word(q, json, "when_can_borrow", text({"flavorFungibility", "whenCanBorrow"}),
                 "spec.flavorFungibility.whenCanBorrow",
                 {{"Borrow", "borrow"}, {"MayStopSearch", "borrow"}, {"TryNextFlavor", "try_next"}});
      write_word(q, json, "when_can_preempt", text({"flavorFungibility", "whenCanPreempt"}),
                 "spec.flavorFungibility.whenCanPreempt",
                 {{"Preempt", "preempt"}, {"MayStopSearch", "preempt"}, {"TryNextFlavor", "try_next"}});
      json.end_object();
    }
  }

  /// The first and the last point in time in the workloads. Times count from the first; the last is taken as
  /// the time when the file was made.
  void find_times() {
    if (workloads_.empty()) return;
    first_ = workloads_.front().created;
    for (const workload_entry& w : workloads_) {
      first_ = std::min(first_, w.created);
      now_ = std::max({now_, w.created, w.started});
    }
    log_.note(
        {},
        "times count from the oldest workload; how long workloads will run is not known: from now on each "
        "runs for an hour, unless it has a maximumExecutionTimeSeconds");
  }

  void write_workload(const workload_entry& w, json_writer& json) {
    json.begin_object().member("id", w.object->name).member("quota", w.in->name);
    if (w.is_admitted) {
      write_running_request(w, json);
    } else {
      write_pending_request(w, json);
    }
    json.member("priority", w.priority);
    for (const json_value& owner : elements_at(w.object->value, {"metadata", "ownerReferences"}, found_)) {
      const std::string kind = text_at(owner, {"kind"}, found_);
      if (kind.empty()) continue;
      json.member("class", kind);
      break;
    }
    json.key("submit_s").raw(milli_text(w.created - first_));
    const instant elapsed = w.is_admitted ? std::max<instant>(0, now_ - w.started) : 0;
    constexpr instant otherwise = 3'600'000;
    json.key("duration_s").raw(milli_text(w.longest ? std::max(*w.longest, elapsed) : elapsed + otherwise));
    if (w.longest && *w.longest > 0) json.member("estimate_s", *w.longest / ms_per_second);
    if (w.is_admitted) {
      json.member("state", w.is_going ? "evicting" : "running");
      json.key("start_s").raw(milli_text(std::max<instant>(0, w.started - first_)));
    }
    json.end_object();
  }

  void note_uncounted(const workload_entry& w, const std::string& resource) {
    // The pods of a workload are counted only if some queue counts pods.
    if (resource == "pods") return;
    log_.note(w.object->shown(), "asks for " + resource + ", which is not counted: left out");
  }

  using amounts_of_dimensions = std::map<std::string, std::int64_t>;

  [[nodiscard]] amounts_of_dimensions request_of_running(const workload_entry& w,
                                                         const assignment& assigned) {
    amounts_of_dimensions request;
    for (const auto& [flavor, usage] : assigned) {
      for (const auto& [resource, amount] : usage) {
        if (amount == 0) continue;
        const std::string dimension = names_.dimension(resource, flavor);
        if (dimension.empty()) {
          std::string text{"has "};
          text.append(resource).append(" of the flavor ").append(flavor);
          log_.note(w.object->shown(), text.append(", which no quota counts: left out"));
        } else {
          request[dimension] += names_.milli(resource, amount, true);
        }
      }
    }
    return request;
  }

  void write_running_request(const workload_entry& w, json_writer& json) {
    vector<amounts_of_dimensions> requests;
    amounts_of_dimensions all;
    bool is_even = !w.running.empty() && w.running.size() <= most_pod_sets;
    for (const running_set& s : w.running) {
      requests.push_back(request_of_running(w, s.assigned));
      for (const auto& [dimension, milli] : requests.back()) {
        all[dimension] += milli;
        is_even = is_even && milli % s.pods == 0;
      }
    }
    const auto write_amounts = [&](const amounts_of_dimensions& request, std::int64_t pods) {
      json.key("request").begin_object();
      for (const auto& [dimension, milli] : request) json.key(dimension).raw(milli_text(milli / pods));
      json.end_object();
    };
    if (!is_even) {
      json.member("total", true);
      return write_amounts(all, 1);
    }
    const bool is_one = w.running.size() == 1;
    if (!is_one) json.key("pod_sets").begin_array();
    for (std::size_t i = 0; i < w.running.size(); ++i) {
      const running_set& s = w.running[i];
      if (!is_one) json.begin_object();
      if (!is_one && !s.name.empty()) json.member("name", s.name);
      json.member("pods", s.pods);
      write_amounts(requests[i], s.pods);
      if (!is_one) json.end_object();
      const auto asked = std::find_if(w.pod_sets.begin(), w.pod_sets.end(),
                                      [&](const pod_set& p) { return p.name == s.name; });
      if (asked == w.pod_sets.end() || asked->count == s.pods) continue;
      log_.note(w.object->shown(), (is_one ? "runs with " : "pod set " + s.name + " runs with ") +
                                       std::to_string(s.pods) + " of " + std::to_string(asked->count) +
                                       " pods, and stays so");
    }
    if (!is_one) json.end_array();
  }

  void write_pending_request(const workload_entry& w, json_writer& json) {
    if (w.pod_sets.size() == 1) {
      write_pods(w.pod_sets.front(), json);
      return write_request(w, w.pod_sets.front().request, w.pod_sets, json);
    }
    std::size_t groups = 0;
    for (const pod_set& s : w.pod_sets) groups += groups_of(w, s);
    if (groups <= most_flavor_groups && w.pod_sets.size() <= most_pod_sets) {
      json.key("pod_sets").begin_array();
      for (const pod_set& s : w.pod_sets) {
        json.begin_object();
        if (!s.name.empty()) json.member("name", s.name);
        write_pods(s, json);
        write_request(w, s.request, std::span{&s, 1}, json);
        json.end_object();
      }
      json.end_array();
      return;
    }
    resource_list all;
    bool is_elastic = false;
    for (const pod_set& s : w.pod_sets) {
      add_amounts(all, s.request, s.count);
      is_elastic = is_elastic || s.min_count.has_value();
    }
    json.member("total", true);
    log_.note(w.object->shown(),
              "its pod sets choose too many flavors to be told apart: they are one request");
    if (is_elastic) log_.note(w.object->shown(), "minCount is not carried over: it has several pod sets");
    write_request(w, all, w.pod_sets, json);
  }

  static void write_pods(const pod_set& s, json_writer& json) {
    json.member("pods", s.count);
    if (s.min_count && *s.min_count < s.count) {
      json.member("min_pods", std::max<std::int64_t>(1, *s.min_count));
    }
  }

  /// How many groups of flavors a pod set chooses from.
  [[nodiscard]] std::size_t groups_of(const workload_entry& w, const pod_set& s) const {
    return static_cast<std::size_t>(
        std::count_if(w.in->groups.begin(), w.in->groups.end(), [&](const resource_group& g) {
          return std::any_of(g.resources.begin(), g.resources.end(), [&](const std::string& r) {
            const auto asked = s.request.find(r);
            return asked != s.request.end() && asked->second != 0 && names_.has_flavors(r);
          });
        }));
  }

  void write_request(const workload_entry& w, const resource_list& asked, std::span<const pod_set> sets,
                     json_writer& json) {
    json.key("request").begin_object();
    vector<std::string> by_flavor;
    for (const auto& [name, amount] : asked) {
      const std::string& resource = name;
      if (amount == 0) continue;
      if (!names_.counts(resource)) {
        note_uncounted(w, resource);
        continue;
      }
      const std::string milli = milli_text(names_.milli(resource, amount, true));
      const bool is_grouped =
          std::any_of(w.in->groups.begin(), w.in->groups.end(), [&](const resource_group& g) {
            return std::find(g.resources.begin(), g.resources.end(), resource) != g.resources.end() &&
                   !flavors_for(sets, g, resource).empty();
          });
      if (!names_.has_flavors(resource)) {
        json.key(names_.plain(resource)).raw(milli);
      } else if (is_grouped) {
        json.key(names_.plain(resource)).raw(milli);
        by_flavor.push_back(resource);
      } else {
        // Its queue has none of it in any flavor.
        json.key(names_.dimension(resource, names_.first_flavor(resource))).raw(milli);
      }
    }
    json.end_object();
    write_flavors(w, sets, by_flavor, json);
  }

  /// The flavors of a group that are counted for the resource and admitted by the workload's node selectors.
  [[nodiscard]] vector<std::string> flavors_for(std::span<const pod_set> sets, const resource_group& g,
                                                const std::string& resource) const {
    vector<std::string> counted_ones;
    vector<std::string> admitted;
    for (const std::string& flavor : g.flavors) {
      if (names_.dimension(resource, flavor).empty()) continue;
      counted_ones.push_back(flavor);
      if (is_selected(sets, g, flavor)) admitted.push_back(flavor);
    }
    return admitted.empty() ? counted_ones : admitted;
  }

  /// A selector counts only if some flavor of the group has a label with that key.
  [[nodiscard]] bool is_selected(std::span<const pod_set> sets, const resource_group& g,
                                 const std::string& flavor) const {
    const auto label = [&](const std::string& f, const std::string& key) -> std::optional<std::string> {
      const auto labels = flavor_labels_.find(f);
      if (labels == flavor_labels_.end()) return std::nullopt;
      const auto at = labels->second.find(key);
      return at == labels->second.end() ? std::nullopt : std::optional{at->second};
    };
    for (const pod_set& s : sets) {
      for (const auto& [key, value] : s.node_selector) {
        const bool tells_apart =
            std::any_of(g.flavors.begin(), g.flavors.end(),
                        [&, &k = key](const std::string& f) { return label(f, k).has_value(); });
        if (tells_apart && label(flavor, key) != value) return false;
      }
    }
    return true;
  }

  void write_flavors(const workload_entry& w, std::span<const pod_set> sets,
                     const vector<std::string>& by_flavor, json_writer& json) {
    if (by_flavor.empty()) return;
    json.key("flavors").begin_array();
    for (const resource_group& g : w.in->groups) {
      vector<std::string> resources;
      for (const std::string& r : g.resources) {
        if (std::find(by_flavor.begin(), by_flavor.end(), r) != by_flavor.end()) resources.push_back(r);
      }
      if (resources.empty()) continue;
      json.begin_object().key("resources").begin_array();
      for (const std::string& r : resources) json.value(names_.plain(r));
      json.end_array().key("flavors").begin_array();
      for (const std::string& f : flavors_for(sets, g, resources.front())) json.value(f);
      json.end_array().end_object();
    }
    json.end_array();
  }

  static constexpr instant ms_per_second = 1000;

  errors& found_;
  import_log& log_;
  const import_options& options_;
  std::map<std::string, vector<kubernetes_object>> objects_;
  /// Cohorts first, then ClusterQueues, each by age.
  vector<kueue_queue> queues_;
  vector<workload_entry> workloads_;
  resource_names names_;
  std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>> flavor_labels_;
  /// The ClusterQueue of each "namespace/name".
  std::map<std::string, std::string, std::less<>> local_queues_;
  instant first_ = 0;
  instant now_ = 0;
};

}  // namespace

std::string make_kueue_scenario(json_value root, errors& found, import_log& log,
                                const import_options& options) {
  return kueue_importer{root, found, log, options}.run();
}

int import_kueue(packed_input& file, import_log& log, const import_options& options) {
  return import_objects(file, log, options, make_kueue_scenario);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
// Converts Kueue's objects to a scenario: ClusterQueues and Cohorts become its quotas, Workloads its jobs.
#include "lab/import/kubernetes.hpp"
#include "lab/import/kueue_flavors.hpp"
#include "lab/import/kueue_queues.hpp"
#include "lab/import/kueue_workload.hpp"
#include "lab/import/object_fields.hpp"
#include "lab/import/resource_names.hpp"

#include <allot/core/pod_counts.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/json_writer.hpp>
#include <allot/scheduler/flavors.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace embedded {
extern const std::string_view kueue_tsv;
}  // namespace embedded

namespace {

/// The most pods of a job of a scenario.
constexpr std::int64_t most_pods = 1'000'000;
/// A resource of which there is none: what Kueue does not admit asks for it, and is in the way of those
/// behind it as there.
constexpr std::string_view inadmissible = "(inadmissible)";

struct workload_entry {
  kueue_workload of;
  const kueue_queue* in = nullptr;
};

/// Resources of a pod set that get one flavor, and the flavors among which they choose.
struct flavor_choices {
  vector<std::string> resources;
  vector<std::string> flavors;
};

class kueue_importer {
 public:
  kueue_importer(json_value root, errors& found, import_log& log, const import_options& options)
      : found_(found), log_(log), options_(options), objects_(read_objects(root, found)) {}

  [[nodiscard]] std::string run() {
    for (const auto& [kind, objects] : objects_) {
      for (const kubernetes_object& o : objects) {
        if (fields_.knows(kind) && kind != "Workload") note_fields(fields_, o, log_);
      }
      if (fields_.knows(kind) || kind == "PriorityClass" || kind == "Namespace") continue;
      log_.note(kind, counted(objects.size(), "object is", "objects are") + " not carried over");
    }
    flavors_.read(all("ResourceFlavor"), all("Topology"), found_);
    queues_.read(flavors_, names_);
    if (queues_.all().empty() && found_.empty()) {
      found_.add(
          shown_path(options_.file), {},
          "there is no ClusterQueue (expected the output of: kubectl get clusterqueues,cohorts,workloads -A "
          "-o json)");
    }
    if (!found_.empty()) return {};
    read_workloads();
    if (!found_.empty()) return {};
    choose_resources();
    return write();
  }

 private:
  [[nodiscard]] const vector<kubernetes_object>& all(const std::string& kind) { return objects_[kind]; }

  // Workloads.

  void read_workloads() {
    vector<workload_entry> read;
    std::size_t finished = 0;
    for (const kubernetes_object& o : all("Workload")) {
      const auto condition = find_condition(o.value, "Finished", found_);
      if (condition && condition->is_true) {
        ++finished;
        continue;
      }
      note_workload_fields(o);
      workload_entry w{read_kueue_workload(o, found_, log_), nullptr};
      now_ = std::max(now_, w.of.latest);
      read.push_back(std::move(w));
    }
    if (finished > 0)
      log_.note("Workload", counted(finished, "that is finished is", "that are finished are") + " left out");
    if (!found_.empty()) return;
    for (workload_entry& w : read) {
      if (const std::string why = find_place(w); !why.empty()) {
        log_.note(w.of.object->shown(), "left out: " + why);
      } else {
        workloads_.push_back(std::move(w));
      }
    }
  }

  void note_workload_fields(const kubernetes_object& o) {
    vector<std::string_view> settled;
    std::set<std::string> closed;
    for (const json_value& g : elements_at(o.value, {"spec", "preemptionGates"}, found_))
      closed.insert(text_at(g, {"name"}, found_));
    for (const json_value& g : elements_at(o.value, {"status", "preemptionGates"}, found_)) {
      if (text_at(g, {"position"}, found_) == "Open") closed.erase(text_at(g, {"name"}, found_));
    }
    if (closed.empty()) settled.push_back("Workload.spec.preemptionGates[]");
    note_fields(fields_, o, log_, settled);
  }

  /// Finds the queue of a workload, and whether Kueue looks at it there. Returns why it is left out, if it
  /// is.
  [[nodiscard]] std::string find_place(workload_entry& e) {
    kueue_workload& w = e.of;
    const kueue_local_queue* const lq = queues_.find_local(w.local_queue);
    const std::string local_stop = lq == nullptr ? std::string{} : lq->stop;
    std::string name = w.holds_in;
    if (name.empty()) {
      if (w.local_queue.empty()) return "it has no spec.queueName";
      const std::string own = w.local_queue.substr(w.local_queue.find('/') + 1);
      if (lq != nullptr) {
        name = lq->cluster_queue;
      } else if (queues_.find(own) != nullptr) {
        name = own;
        log_.note(w.object->shown(),
                  "taken to the ClusterQueue " + name + ", which is called as its LocalQueue is");
      } else {
        return "the LocalQueue " + w.local_queue +
               " is not in the file (kubectl get ...,localqueues says where it leads)";
      }
    }
    e.in = queues_.find(name);
    if (e.in == nullptr) return "the ClusterQueue " + name + " is not in the file";
    std::string stopped;
    if (is_stopped(local_stop)) stopped = "a LocalQueue whose stopPolicy is " + local_stop;
    if (is_stopped(e.in->stop)) stopped = "a ClusterQueue whose stopPolicy is " + e.in->stop;
    if (w.holds_quota()) {
      const bool is_drained = e.in->stop == drains || local_stop == drains;
      w.is_going = w.is_going || is_drained;
      if (!stopped.empty()) w.stays_out = "it is in " + stopped;
      if (w.ready.value_or(0) <= now_) w.ready.reset();
      if (w.running_pods() == 0) return "it holds nothing: all of its pods are reclaimable";
      return check_size(w);
    }
    if (!w.is_out.empty()) return w.is_out;
    const bool is_late = w.ready.value_or(0) > now_;
    if (!w.backs_off.empty() && !is_late) return w.backs_off;
    if (!is_late) w.ready.reset();
    if (!stopped.empty()) return "it waits in " + stopped;
    if (!e.in->inactive.empty()) return "it waits in the ClusterQueue " + name + ": " + e.in->inactive;
    if (!queues_.selects(*e.in, w.object->space)) {
      const bool has_none = !find_path(e.in->object->value, {"spec", "namespaceSelector"}, found_);
      return "the ClusterQueue " + name + " selects no workloads of the namespace " + w.object->space +
             (has_none ? ", nor of any other: it has no spec.namespaceSelector" : "");
    }
    if (w.is_inadmissible.empty()) w.is_inadmissible = why_never(e);
    return check_size(w);
  }

  static constexpr std::string_view drains = "HoldAndDrain";
  [[nodiscard]] static bool is_stopped(std::string_view policy) {
    return !policy.empty() && policy != "None";
  }

  [[nodiscard]] static std::string check_size(const kueue_workload& w) {
    std::int64_t pods = 0;
    for (const kueue_pod_set& s : w.pod_sets) pods += std::max(s.pods, s.running_pods);
    if (pods == 0) return w.pod_sets.empty() ? "it has no pod sets" : "it has no pods";
    return pods <= most_pods
               ? std::string{}
               : "it has " + std::to_string(pods) + " pods; a job has at most " + std::to_string(most_pods);
  }

  /// Why Kueue never admits the pending workload as things stand: what no flavor covers, or admits.
  [[nodiscard]] std::string why_never(const workload_entry& e) {
    for (const kueue_pod_set& s : e.of.pod_sets) {
      if (s.pods == 0) continue;
      for (const auto& [resource, amount] : s.request) {
        const kueue_resource_group* const g = e.in->group_of(resource);
        if (g == nullptr) {
          if (amount == 0 || resource == "pods") continue;
          const std::string text = "asks for " + resource + ", which its ClusterQueue does not cover";
          if (options_.quota_check_strategy != "IgnoreUndeclared") return text;
          log_.note(e.of.object->shown(), text + ": left out");
        } else if (admitted_flavors(e, s, *g).empty()) {
          return "no flavor for " + resource + " admits its pod set " + s.name + ": " + refusals(e, s, *g);
        }
      }
    }
    return {};
  }

  /// The pod sets that get their flavors together with this one: a group of pod sets, or it alone.
  [[nodiscard]] static vector<const kueue_pod_set*> partners(const workload_entry& e,
                                                             const kueue_pod_set& s) {
    vector<const kueue_pod_set*> all;
    for (const kueue_pod_set& other : e.of.pod_sets) {
      const std::string& group = s.needs.topology.group;
      if (&other == &s || (!group.empty() && other.needs.topology.group == group)) all.push_back(&other);
    }
    return all;
  }

  /// The flavors of a group of resources that admit a pod set, best first.
  [[nodiscard]] vector<std::string> admitted_flavors(const workload_entry& e, const kueue_pod_set& s,
                                                     const kueue_resource_group& g) const {
    vector<std::string> admitted;
    const auto sets = partners(e, s);
    for (const std::string& f : g.flavors) {
      const auto admits = [&](const kueue_pod_set* p) {
        return flavors_.refusal(f, p->needs, e.in->has_topology).empty();
      };
      if (std::all_of(sets.begin(), sets.end(), admits)) admitted.push_back(f);
    }
    return admitted;
  }
  [[nodiscard]] std::string refusals(const workload_entry& e, const kueue_pod_set& s,
                                     const kueue_resource_group& g) const {
    std::string text;
    for (const std::string& f : g.flavors) {
      for (const kueue_pod_set* const p : partners(e, s)) {
        const std::string why = flavors_.refusal(f, p->needs, e.in->has_topology);
        if (why.empty()) continue;
        text.append(text.empty() ? "" : "; ").append(f).append(": ").append(why);
        break;
      }
    }
    return text.empty() ? "it has none" : text;
  }

  // What is counted.

  void choose_resources() {
    for (const kueue_queue& q : queues_.all()) {
      for (const kueue_cell& c : q.cells) {
        names_.add_amount(c.resource, c.nominal);
        names_.add_amount(c.resource, c.borrow.value_or(0));
        names_.add_amount(c.resource, c.lend.value_or(0));
      }
    }
    bool any_inadmissible = false;
    for (const workload_entry& w : workloads_) {
      any_inadmissible = any_inadmissible || !w.of.is_inadmissible.empty();
      for (const kueue_pod_set& s : w.of.pod_sets) {
        for (const auto& [resource, amount] : s.request) names_.add_request(resource, amount, s.pods);
        for (const auto& [resource, a] : s.assigned) names_.add_request(resource, a.amount, 1);
      }
    }
    names_.choose(log_);
    if (any_inadmissible && !names_.dimensions().empty()) names_.add_plain(std::string{inadmissible});
    for (const workload_entry& w : workloads_) {
      if (w.of.is_inadmissible.empty()) continue;
      const bool is_left_out = !names_.counts(inadmissible);
      log_.note(
          w.of.object->shown(),
          (is_left_out ? "left out: Kueue does not admit it: " : "is not admitted: ") + w.of.is_inadmissible);
      if (is_left_out && text_at(w.in->object->value, {"spec", "queueingStrategy"}, found_) == "StrictFIFO") {
        log_.note(w.of.object->shown(),
                  "there it is in the way of those behind it, as its ClusterQueue is strict");
      }
    }
    if (!names_.counts(inadmissible)) {
      erase_if(workloads_, [](const workload_entry& w) { return !w.of.is_inadmissible.empty(); });
    }
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
    for (const kueue_queue& q : queues_.all()) write_queue(q, json);
    json.end_array();
    find_times();
    json.key("jobs").begin_array();
    for (const workload_entry& w : workloads_) write_workload(w, json);
    json.end_array();
    if (!gone_.empty()) {
      json.key("events").begin_array();
      for (const std::string& id : gone_) {
        json.begin_object().key("at_s").raw(milli_text(now_ - first_));
        json.key("cancel").begin_object().member("job", id).end_object().end_object();
      }
      json.end_array();
    }
    json.end_object();
    return json.text();
  }

  [[nodiscard]] bool uses_fair_sharing() {
    for (const kueue_queue& q : queues_.all()) {
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
    for (const kueue_cell& c : q.cells) {
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
    for (const kueue_cell& c : q.cells) {
      const std::string dimension = names_.dimension(c.resource, c.flavor);
      if (!dimension.empty() && c.borrow) most[dimension] = names_.milli(c.resource, *c.borrow, false);
    }
    // A ClusterQueue may not use what it does not list. For resources with flavors the presets enforce that.
    for (const std::string& d : names_.dimensions()) {
      if (q.is_cohort || d.find('/') != std::string::npos || d == inadmissible) continue;
      const auto lists = [&](const kueue_cell& c) { return names_.dimension(c.resource, c.flavor) == d; };
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
    write_amounts(q, "nominal", json, [](const kueue_cell& c) { return std::optional{c.nominal}; });
    if (!q.parent.empty()) write_amounts(q, "lend", json, [](const kueue_cell& c) { return c.lend; });
    write_borrow(q, json);
    if (q.object != nullptr) {
      write_weight(q, json);
      if (!q.is_cohort) write_settings(q, json);
    }
    json.end_object();
  }

  void write_weight(const kueue_queue& q, json_writer& json) {
    const auto value = find_path(q.object->value, {"spec", "fairSharing", "weight"}, found_);
    if (!value) return;
    constexpr nano_amount milli = nano / 1000;
    const nano_amount weight = read_amount_of(*value, found_);
    // A weight of 0 is something else than a small one.
    const nano_amount rounded =
        std::clamp<nano_amount>(weight / milli + (weight % milli != 0 ? 1 : 0), 0, most_milli);
    const std::string text = milli_text(static_cast<std::int64_t>(rounded));
    if (rounded * milli != weight) {
      log_.note(q.object->shown(), "spec.fairSharing.weight: " + value->shown() + " is taken as " + text);
    }
    json.key("weight").raw(text);
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
        const auto most = read_priority(*preemption, {"borrowWithinCohort", "maxPriorityThreshold"}, found_);
        // It bounds nothing where nothing is preempted.
        if (most && policy == "LowerPriority") json.member("max_priority", std::max(*most, -most_priority));
        json.end_object();
      }
      json.end_object();
    }
    if (const auto choice = find_path(spec, {"flavorFungibility"}, found_);
        choice && expect_object(*choice, found_)) {
      json.key("flavor_choice").begin_object();
      write_word(q, json, "when_can_borrow", text({"flavorFungibility", "whenCanBorrow"}),
                 "spec.flavorFungibility.whenCanBorrow",
                 {{"Borrow", "borrow"}, {"MayStopSearch", "borrow"}, {"TryNextFlavor", "try_next"}});
      write_word(q, json, "when_can_preempt", text({"flavorFungibility", "whenCanPreempt"}),
                 "spec.flavorFungibility.whenCanPreempt",
                 {{"Preempt", "preempt"}, {"MayStopSearch", "preempt"}, {"TryNextFlavor", "try_next"}});
      write_word(q, json, "preference", text({"flavorFungibility", "preference"}),
                 "spec.flavorFungibility.preference",
                 {{"BorrowingOverPreemption", "borrowing_over_preemption"},
                  {"PreemptionOverBorrowing", "preemption_over_borrowing"}});
      json.end_object();
    }
  }

  /// The first and the last point in time in the workloads. Times count from the first; the last is taken as
  /// the time when the file was made.
  void find_times() {
    if (workloads_.empty()) return;
    first_ = now_;
    for (const workload_entry& w : workloads_)
      first_ = std::min({first_, w.of.created, w.of.queued, w.of.started});
    log_.note(
        {},
        "times count from the oldest workload; how long workloads will run is not known: from now on each "
        "runs for an hour, unless it has a maximumExecutionTimeSeconds");
    const bool any_choice = std::any_of(workloads_.begin(), workloads_.end(), [&](const workload_entry& w) {
      return w.of.holds_quota() &&
             std::any_of(w.in->groups.begin(), w.in->groups.end(),
                         [](const kueue_resource_group& g) { return g.flavors.size() > 1; });
    });
    if (any_choice)
      log_.note({}, "workloads that run keep their flavors, also when they are evicted and start again");
  }

  void write_workload(const workload_entry& e, json_writer& json) {
    const kueue_workload& w = e.of;
    json.begin_object().member("id", w.object->name).member("quota", e.in->name);
    if (w.holds_quota()) {
      write_running_request(w, json);
    } else {
      write_pending_request(e, json);
    }
    json.member("priority", priority_of(w));
    for (const json_value& owner : elements_at(w.object->value, {"metadata", "ownerReferences"}, found_)) {
      const std::string kind = text_at(owner, {"kind"}, found_);
      if (kind.empty()) continue;
      json.member("class", kind);
      break;
    }
    json.key("submit_s").raw(milli_text(w.queued - first_));
    const bool comes_back = !w.is_going || w.stays_out.empty();
    if (!w.holds_quota() || w.is_going) {
      constexpr instant a_century = 3'155'760'000'000;
      if (!comes_back) {
        json.key("ready_s").raw(milli_text(now_ + a_century - first_));
      } else if (w.ready) {
        json.key("ready_s").raw(milli_text(*w.ready - first_));
      }
    }
    const instant elapsed = w.holds_quota() ? std::max<instant>(0, now_ - w.started) : 0;
    constexpr instant otherwise = 3'600'000;
    json.key("duration_s").raw(milli_text(w.longest ? std::max(*w.longest, elapsed) : elapsed + otherwise));
    if (w.longest) json.member("estimate_s", *w.longest / ms_per_second);
    if (w.holds_quota()) {
      json.member("state", w.is_going ? "evicting" : "running");
      json.key("start_s").raw(milli_text(std::max<instant>(0, w.started - first_)));
      if (!comes_back) {
        gone_.push_back(w.object->name);
        log_.note(w.object->shown(), "is being evicted and does not come back: " + w.stays_out);
      } else if (!w.stays_out.empty()) {
        log_.note(w.object->shown(), "runs; once evicted it is pending here, and not there: " + w.stays_out);
      }
    }
    json.end_object();
  }

  [[nodiscard]] std::int64_t priority_of(const kueue_workload& w) {
    const std::int64_t priority = named_priority(w);
    if (priority >= -most_priority) return priority;
    log_.note(w.object->shown(), "the priority " + std::to_string(priority) + " is taken as " +
                                     std::to_string(-most_priority) + ", the lowest of a scenario");
    return -most_priority;
  }
  [[nodiscard]] std::int64_t named_priority(const kueue_workload& w) {
    if (w.priority) return *w.priority;
    const json_value value = w.object->value;
    std::string name = text_at(value, {"spec", "priorityClassName"}, found_);
    std::string kind = text_at(value, {"spec", "priorityClassRef", "kind"}, found_);
    if (name.empty()) name = text_at(value, {"spec", "priorityClassRef", "name"}, found_);
    if (text_at(value, {"spec", "priorityClassSource"}, found_) == "scheduling.k8s.io/priorityclass")
      kind = "PriorityClass";
    if (name.empty()) return 0;
    for (const char* k : {"WorkloadPriorityClass", "PriorityClass"}) {
      for (const kubernetes_object& c : all(k)) {
        if (c.own_name != name || (!kind.empty() && kind != k)) continue;
        return read_priority(c.value, {"value"}, found_).value_or(0);
      }
    }
    log_.note(w.object->shown(), "its priority class " + name + " is not in the file: the priority is 0");
    return 0;
  }

  void note_uncounted(const kueue_workload& w, const std::string& resource) {
    // The pods of a workload are counted only if some queue counts pods.
    if (resource == "pods" || !uncounted_.insert(w.object->name + ' ' + resource).second) return;
    log_.note(w.object->shown(), "asks for " + resource + ", which is not counted: left out");
  }

  using milli_by_dimension = std::map<std::string, std::int64_t>;

  /// What the pods of a set hold together.
  [[nodiscard]] milli_by_dimension held_by(const kueue_workload& w, const kueue_pod_set& s) {
    milli_by_dimension held;
    for (const auto& [resource, a] : s.assigned) {
      if (a.amount == 0) continue;
      const std::string dimension = names_.dimension(resource, a.flavor);
      if (dimension.empty()) {
        std::string text{"has "};
        text.append(resource).append(" of the flavor ").append(a.flavor);
        log_.note(w.object->shown(), text.append(", which no quota counts: left out"));
      } else {
        held[dimension] += names_.milli(resource, a.amount, true);
      }
    }
    return held;
  }

  static void write_amounts(const milli_by_dimension& amounts, std::int64_t pods, json_writer& json) {
    json.key("request").begin_object();
    for (const auto& [dimension, milli] : amounts) json.key(dimension).raw(milli_text(milli / pods));
    json.end_object();
  }

  void write_running_request(const kueue_workload& w, json_writer& json) {
    vector<const kueue_pod_set*> sets;
    vector<milli_by_dimension> held;
    std::size_t elastic = 0;
    bool is_even = true;
    for (const kueue_pod_set& s : w.pod_sets) {
      if (s.running_pods == 0) continue;
      sets.push_back(&s);
      held.push_back(held_by(w, s));
      for (const auto& [dimension, milli] : held.back()) is_even = is_even && milli % s.running_pods == 0;
      elastic += is_partial(s) ? 1U : 0U;
    }
    if (!is_even || sets.size() > most_pod_sets) {
      milli_by_dimension all;
      for (const milli_by_dimension& h : held) {
        for (const auto& [dimension, milli] : h) all[dimension] += milli;
      }
      json.member("total", true);
      log_.note(w.object->shown(), is_even
                                       ? "its pod sets are too many to be told apart: they are one request"
                                       : "its pods hold different amounts: they are one request");
      return write_amounts(all, 1, json);
    }
    if (sets.size() == 1) {
      write_running_pods(w, *sets.front(), elastic == 1, json);
      write_amounts(held.front(), sets.front()->running_pods, json);
    } else {
      json.key("pod_sets").begin_array();
      for (std::size_t i = 0; i < sets.size(); ++i) {
        json.begin_object();
        if (!sets[i]->name.empty()) json.member("name", sets[i]->name);
        write_running_pods(w, *sets[i], elastic == 1, json);
        write_amounts(held[i], sets[i]->running_pods, json);
        json.end_object();
      }
      json.end_array();
    }
    // Which pods run is clear if only one of the sets has more that could.
    if (elastic == 1 && w.running_pods() < asked_pods(sets)) json.member("running_pods", w.running_pods());
  }
  /// Whether it could run with fewer pods than it asks for, and with the number that run.
  [[nodiscard]] static bool is_partial(const kueue_pod_set& s) {
    return s.min_pods && *s.min_pods < s.pods && *s.min_pods <= s.running_pods;
  }
  [[nodiscard]] static std::int64_t asked_pods(const vector<const kueue_pod_set*>& sets) {
    std::int64_t n = 0;
    for (const kueue_pod_set* const s : sets) n += is_partial(*s) ? s->pods : s->running_pods;
    return n;
  }
  void write_running_pods(const kueue_workload& w, const kueue_pod_set& s, bool is_elastic,
                          json_writer& json) {
    if (is_elastic && is_partial(s)) return write_pods(s, json);
    json.member("pods", s.running_pods);
    if (s.running_pods == s.pods) return;
    log_.note(w.object->shown(), (s.name.empty() ? std::string{} : "pod set " + s.name + ": ") +
                                     "runs with " + std::to_string(s.running_pods) + " of " +
                                     std::to_string(s.pods) + " pods, and stays so");
  }

  void write_pending_request(const workload_entry& e, json_writer& json) {
    vector<const kueue_pod_set*> sets;
    std::size_t groups = 0;
    std::size_t choices = 0;
    for (const kueue_pod_set& s : e.of.pod_sets) {
      if (s.pods == 0) continue;
      sets.push_back(&s);
      for (const flavor_choices& c : choices_of(e, s)) {
        ++groups;
        choices += c.flavors.size() > 1 ? 1U : 0U;
      }
    }
    note_shared_flavors(e);
    // Where there is no choice, the flavor can be named instead.
    const bool names_single = groups > most_flavor_groups;
    if (sets.size() == 1) {
      write_pods(*sets.front(), json);
      return write_request(e, *sets.front(), names_single, json);
    }
    if (choices <= most_flavor_groups && sets.size() <= most_pod_sets) {
      json.key("pod_sets").begin_array();
      for (const kueue_pod_set* const s : sets) {
        json.begin_object();
        if (!s->name.empty()) json.member("name", s->name);
        write_pods(*s, json);
        write_request(e, *s, names_single, json);
        json.end_object();
      }
      json.end_array();
      return;
    }
    write_as_one(e, sets, json);
  }

  void note_shared_flavors(const workload_entry& e) {
    for (const kueue_pod_set& s : e.of.pod_sets) {
      const auto all = partners(e, s);
      if (all.front() != &s || all.size() == 1) continue;
      const auto cs = choices_of(e, s);
      if (std::none_of(cs.begin(), cs.end(), [](const flavor_choices& c) { return c.flavors.size() > 1; }))
        continue;
      log_.note(e.of.object->shown(), "its pod sets of the group " + s.needs.topology.group +
                                          " choose their flavors each for itself; there they get the same");
    }
  }

  /// Too many choices for a job: its pod sets are one request, which chooses among the flavors that all of
  /// them admit.
  void write_as_one(const workload_entry& e, const vector<const kueue_pod_set*>& sets, json_writer& json) {
    kueue_pod_set one;
    bool is_elastic = false;
    for (const kueue_pod_set* const s : sets) {
      add_amounts(one.request, s->request, s->pods);
      is_elastic = is_elastic || s->min_pods.has_value();
    }
    json.member("total", true);
    log_.note(e.of.object->shown(),
              "its pod sets, or the flavors that they choose, are too many to be told apart: they are one "
              "request");
    if (is_elastic) log_.note(e.of.object->shown(), "minCount is not carried over: it has several pod sets");
    vector<flavor_choices> choices = choices_of(e, one);
    for (flavor_choices& c : choices) {
      for (const kueue_pod_set* const s : sets) {
        for (const flavor_choices& of_set : choices_of(e, *s)) {
          if (e.in->group_of(of_set.resources.front()) != e.in->group_of(c.resources.front())) continue;
          const auto is_left = [&](const std::string& f) {
            return std::find(of_set.flavors.begin(), of_set.flavors.end(), f) != of_set.flavors.end();
          };
          if (std::any_of(c.flavors.begin(), c.flavors.end(), is_left))
            erase_if(c.flavors, [&](const std::string& f) { return !is_left(f); });
        }
      }
    }
    write_choices(e, one, choices, false, json);
  }

  static void write_pods(const kueue_pod_set& s, json_writer& json) {
    json.member("pods", s.pods);
    if (s.min_pods && *s.min_pods < s.pods) {
      json.member("min_pods", std::max<std::int64_t>(1, *s.min_pods));
    }
  }

  /// What a pod set chooses: for each group of resources of its ClusterQueue that come in flavors, which of
  /// these admit it.
  [[nodiscard]] vector<flavor_choices> choices_of(const workload_entry& e, const kueue_pod_set& s) const {
    vector<flavor_choices> all;
    for (const kueue_resource_group& g : e.in->groups) {
      flavor_choices c;
      for (const std::string& r : g.resources) {
        const auto asked = s.request.find(r);
        if (asked != s.request.end() && asked->second != 0 && names_.has_flavors(r)) c.resources.push_back(r);
      }
      if (c.resources.empty()) continue;
      c.flavors = admitted_flavors(e, s, g);
      // What is not admitted asks for its flavors as if it were.
      if (c.flavors.empty()) c.flavors = g.flavors;
      erase_if(c.flavors, [&](const std::string& f) {
        return std::any_of(c.resources.begin(), c.resources.end(),
                           [&](const std::string& r) { return names_.dimension(r, f).empty(); });
      });
      if (!c.flavors.empty()) all.push_back(std::move(c));
    }
    return all;
  }

  void write_request(const workload_entry& e, const kueue_pod_set& s, bool names_single, json_writer& json) {
    write_choices(e, s, choices_of(e, s), names_single, json);
  }

  void write_choices(const workload_entry& e, const kueue_pod_set& s, const vector<flavor_choices>& choices,
                     bool names_single, json_writer& json) {
    const auto choice_of = [&](const std::string& resource) -> const flavor_choices* {
      for (const flavor_choices& c : choices) {
        if (std::find(c.resources.begin(), c.resources.end(), resource) != c.resources.end()) return &c;
      }
      return nullptr;
    };
    json.key("request").begin_object();
    for (const auto& [resource, amount] : s.request) {
      if (amount == 0 || e.in->group_of(resource) == nullptr) continue;
      const flavor_choices* const c = choice_of(resource);
      if (!names_.counts(resource) || (names_.has_flavors(resource) && c == nullptr)) {
        note_uncounted(e.of, resource);
        continue;
      }
      const bool is_named = c != nullptr && names_single && c->flavors.size() == 1;
      json.key(is_named ? names_.dimension(resource, c->flavors.front()) : names_.plain(resource))
          .raw(milli_text(names_.milli(resource, amount, true)));
    }
    const bool is_later = &s > e.of.pod_sets.begin() && &s < e.of.pod_sets.end() &&
                          std::any_of(e.of.pod_sets.begin(), &s, [](const auto& o) { return o.pods > 0; });
    if (!e.of.is_inadmissible.empty() && !is_later) json.key(inadmissible).raw("1");
    json.end_object();
    bool is_open = false;
    for (const flavor_choices& c : choices) {
      if (names_single && c.flavors.size() == 1) continue;
      if (!std::exchange(is_open, true)) json.key("flavors").begin_array();
      json.begin_object().key("resources").begin_array();
      for (const std::string& r : c.resources) json.value(names_.plain(r));
      json.end_array().key("flavors").begin_array();
      for (const std::string& f : c.flavors) json.value(f);
      json.end_array().end_object();
    }
    if (is_open) json.end_array();
  }

  static constexpr instant ms_per_second = 1000;

  errors& found_;
  import_log& log_;
  const import_options& options_;
  objects_by_kind objects_;
  kueue_queues queues_{objects_, found_, log_};
  vector<workload_entry> workloads_;
  resource_names names_;
  kueue_flavors flavors_;
  imported_fields fields_{embedded::kueue_tsv};
  /// Workloads that are not there any more once they have gone.
  vector<std::string> gone_;
  /// "workload resource", of which was told that it is left out.
  std::set<std::string> uncounted_;
  instant first_ = 0;
  instant now_ = 0;
};

}  // namespace

std::string make_kueue_scenario(json_value root, errors& found, import_log& log,
                                const import_options& options) {
  return kueue_importer{root, found, log, options}.run();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

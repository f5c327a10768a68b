// SPDX-License-Identifier: BSL-1.0
// Converts the objects of KAI, which Run:ai is built on, to a scenario: Queues become its quotas, PodGroups
// with their Pods its jobs, and Nodes, if there are any, its cluster.
#include "lab/import/kai_topology.hpp"
#include "lab/import/kubernetes.hpp"

#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/json_writer.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr std::int64_t non_preemptible_from = 100;
constexpr std::int64_t default_priority = 50;
/// KAI's value for no bound.
constexpr std::int64_t unlimited = -1000;

/// A resource that KAI divides: its key in a Queue, its name in the scenario, and how many billionths of the
/// scenario's unit are one unit of a Queue (GPUs, milli-CPUs, megabytes) and one of Kubernetes (GPUs, cores,
/// bytes).
struct counted_resource {
  std::string_view key;
  std::string_view name;
  nano_amount unit_in_queue;
  nano_amount kubernetes_per_unit;
};
constexpr std::array<counted_resource, 3> kai_resources = {
    {{"gpu", "gpu", nano, 1}, {"cpu", "cpu", nano / 1000, 1}, {"memory", "memory_mb", nano, 1'000'000}}};

/// In thousandths; `unlimited` for no bound.
struct queue_resource {
  bool is_said = false;
  std::int64_t quota = 0;
  std::int64_t limit = 0;
  std::int64_t weight = 0;

  /// The guaranteed amount: never more than the limit.
  [[nodiscard]] std::int64_t guaranteed() const {
    return limit != unlimited && (quota == unlimited || quota > limit) ? limit : quota;
  }
};

struct kai_queue {
  const kubernetes_object* object = nullptr;
  std::string parent;
  std::int64_t priority = 100;
  std::array<queue_resource, kai_resources.size()> resources{};
  std::optional<instant> preempt_min_runtime;
  std::optional<instant> reclaim_min_runtime;
  bool has_children = false;
};

/// For one pod, in thousandths, by `kai_resources`.
using pod_request = std::array<std::int64_t, kai_resources.size()>;

struct pod {
  const kubernetes_object* object = nullptr;
  pod_request request{};
  /// In bytes; rounded in `request`.
  std::int64_t memory_bytes = 0;
  /// The number of GPUs of which it has equal fractions.
  std::int64_t devices = 1;
  std::string node;
  std::optional<instant> started;
  bool is_going = false;
};

struct group {
  const kubernetes_object* object = nullptr;
  std::string queue;
  std::string priority_class;
  std::int64_t priority = default_priority;
  bool preemptible = true;
  std::int64_t min_member = 1;
  kai_constraint nearness;
  /// Pods with a node first.
  vector<pod> pods;
};

struct node {
  const kubernetes_object* object = nullptr;
  std::string name;
  std::string model;
  std::int64_t gpus = 0;
  std::int64_t gpu_memory_mib = 0;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int64_t pod_slots = 0;
};

class kai_importer {
 public:
  kai_importer(json_value root, errors& found, import_log& log, const import_options& options)
      : found_(found), log_(log), options_(options), objects_(read_objects(root, found)) {}

  [[nodiscard]] std::string run() {
    for (const auto& [kind, objects] : objects_) {
      static constexpr std::string_view known[] = {"Queue", "PodGroup",      "Pod",
                                                   "Node",  "PriorityClass", "Topology"};
      if (std::find(std::begin(known), std::end(known), kind) != std::end(known)) continue;
      log_.note(kind, counted(objects.size(), "object is", "objects are") + " not carried over");
    }
    for (const kubernetes_object& o : all("Queue")) read_queue(o);
    if (queues_.empty() && found_.empty()) {
      found_.add(
          shown_path(options_.file), {},
          "there is no Queue (expected the output of: kubectl get queues,podgroups,pods,nodes -A -o json)");
    }
    link_queues();
    for (const kubernetes_object& o : all("Node")) read_node(o);
    for (const kubernetes_object& o : all("PodGroup")) read_group(o);
    for (const kubernetes_object& o : all("Pod")) read_pod(o);
    if (pods_without_group_ > 0) {
      log_.note("Pod", counted(pods_without_group_, "that is in no PodGroup of the file is",
                               "that are in no PodGroup of the file are") +
                           " not carried over");
    }
    read_topology();
    if (!found_.empty()) return {};
    choose_resources();
    return write();
  }

 private:
  [[nodiscard]] const vector<kubernetes_object>& all(const std::string& kind) { return objects_[kind]; }

  // Queues.

  void read_queue(const kubernetes_object& o) {
    kai_queue q;
    q.object = &o;
    q.parent = text_at(o.value, {"spec", "parentQueue"}, found_);
    q.priority = whole_at(o.value, {"spec", "priority"}, -most_priority, most_priority, found_).value_or(100);
    q.preempt_min_runtime = read_span(o, "preemptMinRuntime");
    q.reclaim_min_runtime = read_span(o, "reclaimMinRuntime");
    for (std::size_t r = 0; r < kai_resources.size(); ++r) {
      const auto value = find_path(o.value, {"spec", "resources", kai_resources[r].key}, found_);
      if (!value || !expect_object(*value, found_)) continue;
      queue_resource& to = q.resources[r];
      to.is_said = true;
      to.quota = read_bound(*value, "quota", r);
      to.limit = read_bound(*value, "limit", r);
      if (const auto weight = find_path(*value, {"overQuotaWeight"}, found_)) {
        to.weight = static_cast<std::int64_t>(read_amount_of(*weight, found_) / (nano / 1000));
      }
      note_unknown(o, *value, std::string{"spec.resources."}.append(kai_resources[r].key),
                   {"quota", "limit", "overQuotaWeight"}, log_);
    }
    if (const auto spec = find_path(o.value, {"spec"}, found_)) {
      note_unknown(
          o, *spec, "spec",
          {"displayName", "parentQueue", "priority", "resources", "preemptMinRuntime", "reclaimMinRuntime"},
          log_);
    }
    queues_.push_back(std::move(q));
  }

  [[nodiscard]] std::optional<instant> read_span(const kubernetes_object& o, std::string_view key) {
    const auto value = find_path(o.value, {"spec", key}, found_);
    if (!value) return std::nullopt;
    if (value->is_string()) {
      if (const auto span = parse_go_duration(value->text())) return span;
    }
    value->report(found_, "expected a span of time, as in \"5m\" or \"1h30m\", found " + value->shown());
    return std::nullopt;
  }

  [[nodiscard]] std::int64_t read_bound(json_value resource, std::string_view key, std::size_t r) {
    const auto value = find_path(resource, {key}, found_);
    if (!value) return 0;
    const auto n = read_quantity(*value, found_);
    if (!n) return 0;
    if (*n == -nano) return unlimited;
    if (*n < 0) {
      value->report(found_, "expected an amount, or -1 for no bound, found " + value->shown());
      return 0;
    }
    return static_cast<std::int64_t>(
        std::min<nano_amount>(*n * kai_resources[r].unit_in_queue / nano / (nano / 1000), most_milli));
  }

  void link_queues() {
    std::map<std::string_view, kai_queue*> by_name;
    for (kai_queue& q : queues_) by_name.emplace(q.object->name, &q);
    for (kai_queue& q : queues_) {
      if (q.parent.empty()) continue;
      if (const auto parent = by_name.find(q.parent); parent != by_name.end()) {
        parent->second->has_children = true;
        continue;
      }
      log_.note(q.object->shown(),
                "its parent " + q.parent + " is not in the file: it is taken to have none");
      q.parent.clear();
    }
  }

  // Nodes.

  void read_node(const kubernetes_object& o) {
    node n;
    n.object = &o;
    n.name = o.name;
    n.gpus = amount_at(o, "nvidia.com/gpu") / 1000;
    if (n.gpus > static_cast<std::int64_t>(gpu::max_gpus_per_node)) {
      return log_.note(o.shown(), "left out: it has " + std::to_string(n.gpus) + " GPUs (expected at most " +
                                      std::to_string(gpu::max_gpus_per_node) + ")");
    }
    if (const auto cordoned = find_path(o.value, {"spec", "unschedulable"}, found_);
        cordoned && read_bool(*cordoned, found_).value_or(false)) {
      log_.note(o.shown(), "spec.unschedulable is not carried over: jobs may start on it");
    }
    n.model = text_at(o.value, {"metadata", "labels", "nvidia.com/gpu.product"}, found_);
    const auto memory = find_path(o.value, {"metadata", "labels", "nvidia.com/gpu.memory"}, found_);
    if (memory) n.gpu_memory_mib = static_cast<std::int64_t>(read_amount_of(*memory, found_) / nano);
    n.cpu_milli = amount_at(o, "cpu");
    constexpr std::int64_t mib = std::int64_t{1024} * 1024 * 1000;
    n.memory_mib = amount_at(o, "memory") / mib;
    n.pod_slots = amount_at(o, "pods") / 1000;
    nodes_.push_back(std::move(n));
  }

  /// What a node offers to pods, in thousandths of Kubernetes' unit.
  [[nodiscard]] std::int64_t amount_at(const kubernetes_object& o, std::string_view resource) {
    for (const std::string_view which : {"allocatable", "capacity"}) {
      const auto value = find_path(o.value, {"status", which, resource}, found_);
      if (!value) continue;
      // A million cores, an exbibyte.
      const nano_amount most = resource == "memory" ? nano_amount{1} << 60U : nano_amount{1'000'000};
      const nano_amount amount = read_amount_of(*value, found_);
      if (amount > most * nano) {
        value->report(found_, "expected at most " + std::to_string(static_cast<std::int64_t>(most)) +
                                  ", found " + value->shown());
        return 0;
      }
      return static_cast<std::int64_t>(amount / (nano / 1000));
    }
    return 0;
  }

  // Jobs.

  void read_group(const kubernetes_object& o) {
    group g;
    g.object = &o;
    g.queue = text_at(o.value, {"spec", "queue"}, found_);
    g.min_member = whole_at(o.value, {"spec", "minMember"}, 0, 1'000'000, found_).value_or(1);
    g.priority_class = text_at(o.value, {"spec", "priorityClassName"}, found_);
    g.priority = priority_of(o, g.priority_class);
    const std::string preemptibility = text_at(o.value, {"spec", "preemptibility"}, found_);
    g.preemptible =
        preemptibility.empty() ? g.priority < non_preemptible_from : preemptibility == "preemptible";
    if (const auto spec = find_path(o.value, {"spec"}, found_)) {
      note_unknown(o, *spec, "spec",
                   {"queue", "minMember", "priorityClassName", "preemptibility", "markUnschedulable",
                    "schedulingBackoff", "parallelism", "completions", "backoffLimit", "topologyConstraint"},
                   log_);
    }
    g.nearness = read_kai_constraint(o, found_);
    group_numbers_.emplace(std::pair{o.space, o.own_name}, groups_.size());
    groups_.push_back(std::move(g));
  }

  [[nodiscard]] std::int64_t priority_of(const kubernetes_object& o, const std::string& name) {
    static constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> shipped = {
        {{"train", 50}, {"build-preemptible", 75}, {"build", 100}, {"inference", 125}}};
    if (name.empty()) return default_priority;
    for (const kubernetes_object& c : all("PriorityClass")) {
      if (c.own_name != name) continue;
      return whole_at(c.value, {"value"}, -most_priority, most_priority, found_).value_or(default_priority);
    }
    for (const auto& [known, priority] : shipped) {
      if (known == name) return priority;
    }
    log_.note(o.shown(), "its priority class " + name + " is not in the file: the priority is " +
                             std::to_string(default_priority));
    return default_priority;
  }

  void read_pod(const kubernetes_object& o) {
    const std::string phase = text_at(o.value, {"status", "phase"}, found_);
    const std::string name = text_at(o.value, {"metadata", "annotations", "pod-group-name"}, found_);
    const auto known = group_numbers_.find(std::pair{o.space, name});
    if (name.empty() || known == group_numbers_.end()) {
      ++pods_without_group_;
      return;
    }
    group* const g = &groups_[known->second];
    if (phase == "Succeeded" || phase == "Failed") return;
    pod p;
    p.object = &o;
    p.node = text_at(o.value, {"spec", "nodeName"}, found_);
    p.started = time_at(o.value, {"status", "startTime"}, found_);
    p.is_going = find_path(o.value, {"metadata", "deletionTimestamp"}, found_).has_value();
    const auto spec = find_path(o.value, {"spec"}, found_);
    if (!spec) return;
    for (const auto& [resource, amount] : request_of_pod(*spec, found_)) {
      const std::size_t r = resource == "nvidia.com/gpu" ? 0U : resource == "cpu" ? 1U : 2U;
      if (r == 2 && resource != "memory") {
        if (amount > 0)
          log_.note(o.shown(), "asks for " + resource + ", which KAI's queues do not count: left out");
        continue;
      }
      if (r == 2) {
        constexpr nano_amount most = std::numeric_limits<std::int64_t>::max() / 1'000'000;
        p.memory_bytes = static_cast<std::int64_t>(std::min(most, (amount + nano - 1) / nano));
      }
      // Rounded up to a thousandth.
      const nano_amount unit = kai_resources[r].kubernetes_per_unit * (nano / 1000);
      p.request[r] = static_cast<std::int64_t>(std::min<nano_amount>((amount + unit - 1) / unit, most_milli));
    }
    if (!read_fraction(o, p)) {
      unusable_.insert(g->object);
      return;
    }
    const auto behind = p.node.empty() ? g->pods.end()
                                       : std::find_if(g->pods.begin(), g->pods.end(),
                                                      [](const pod& other) { return other.node.empty(); });
    g->pods.insert(behind, std::move(p));
  }

  /// A fraction of a GPU, requested by annotations. Returns false if its size is unknown.
  [[nodiscard]] bool read_fraction(const kubernetes_object& o, pod& p) {
    const auto annotation = [&](std::string_view key) {
      return find_path(o.value, {"metadata", "annotations", key}, found_);
    };
    std::int64_t milli = 0;
    if (const auto fraction = annotation("gpu-fraction")) {
      milli = static_cast<std::int64_t>(
          std::min<nano_amount>(read_amount_of(*fraction, found_) / (nano / 1000), 1000));
    } else if (const auto memory = annotation("gpu-memory")) {
      const nano_amount asked = read_amount_of(*memory, found_) / nano;
      std::int64_t smallest = 0;
      for (const node& n : nodes_) {
        if (n.gpu_memory_mib > 0 && (smallest == 0 || n.gpu_memory_mib < smallest))
          smallest = n.gpu_memory_mib;
      }
      if (smallest == 0) {
        log_.note(o.shown(),
                  "asks for " + std::string{memory->text()} +
                      " MiB of a GPU, and no node in the file says what a GPU has: its PodGroup is left out");
        return false;
      }
      // In hundredths, as in KAI.
      constexpr std::int64_t hundredth = 10;
      const nano_amount hundredths = (asked * 100 + smallest - 1) / smallest;
      milli = static_cast<std::int64_t>(std::min<nano_amount>(hundredths, 100)) * hundredth;
    } else {
      return true;
    }
    std::int64_t devices = 1;
    if (const auto n = annotation("gpu-fraction-num-devices")) {
      devices = static_cast<std::int64_t>(std::min<nano_amount>(read_amount_of(*n, found_) / nano, 64));
    }
    devices = std::max<std::int64_t>(1, devices);
    p.devices = milli < 1000 ? devices : 1;
    p.request[0] = milli * devices;
    return true;
  }

  void read_topology() {
    vector<kai_constraint> asked;
    for (const group& g : groups_) asked.push_back(g.nearness);
    vector<const kubernetes_object*> nodes;
    for (const node& n : nodes_) nodes.push_back(n.object);
    topology_.emplace(all("Topology"), asked, nodes, found_, log_);
  }

  // The scenario.

  /// GPUs always; CPU and memory if some queue bounds them.
  void choose_resources() {
    is_counted_[0] = true;
    for (std::size_t r = 1; r < kai_resources.size(); ++r) {
      const bool is_said = std::any_of(queues_.begin(), queues_.end(),
                                       [&](const kai_queue& q) { return q.resources[r].is_said; });
      is_counted_[r] = std::any_of(queues_.begin(), queues_.end(), [&](const kai_queue& q) {
        return q.resources[r].is_said &&
               (q.resources[r].quota != unlimited || q.resources[r].limit != unlimited);
      });
      if (is_counted_[r]) continue;
      log_.note(kai_resources[r].key,
                is_said ? "no queue bounds it: not counted"
                        : "no queue says anything of it: not counted (KAI would allow none)");
    }
  }

  [[nodiscard]] std::string write() {
    json_writer json{2};
    json.begin_object().member("format", "allot-scenario/1");
    json.key("resources").begin_array();
    for (std::size_t r = 0; r < kai_resources.size(); ++r) {
      if (is_counted_[r]) json.value(kai_resources[r].name);
    }
    json.end_array();
    json.member("policy", "runai");
    write_nodes(json);
    json.key("quotas").begin_array();
    write_root(json);
    for (const kai_queue& q : queues_) write_queue(q, json);
    json.end_array();
    find_times();
    json.key("jobs").begin_array();
    for (const group& g : groups_) write_group(g, json);
    json.end_array().end_object();
    return json.text();
  }

  void write_nodes(json_writer& json) {
    if (nodes_.empty()) return;
    json.key("cluster").begin_object();
    topology_->write_levels(json);
    json.key("nodes").begin_array();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const node& n = nodes_[i];
      json.begin_object().member("name", n.name).member("gpus", n.gpus);
      if (!n.model.empty()) json.member("gpu_model", n.model);
      if (n.gpu_memory_mib > 0) json.member("gpu_memory_mib", n.gpu_memory_mib);
      if (n.cpu_milli > 0) json.member("cpu_milli", n.cpu_milli);
      if (n.memory_mib > 0) json.member("memory_mib", n.memory_mib);
      if (n.pod_slots > 0) json.member("pod_slots", n.pod_slots);
      topology_->write_labels(i, json);
      json.end_object();
    }
    json.end_array().end_object();
  }

  /// Queues without a parent share the cluster, so they get a common parent here.
  void write_root(json_writer& json) {
    root_ = "cluster";
    const auto is_taken = [&] {
      return std::any_of(queues_.begin(), queues_.end(),
                         [&](const kai_queue& q) { return q.object->name == root_; });
    };
    while (is_taken()) root_ = '(' + root_ + ')';
    json.begin_object().member("name", root_).member("inclusive", true).member("overcommit", true);
    json.key("nominal").begin_object();
    for (std::size_t r = 0; r < kai_resources.size(); ++r) {
      if (!is_counted_[r]) continue;
      json.key(kai_resources[r].name);
      if (r < 2 && !nodes_.empty()) {
        json.value("cluster");
        continue;
      }
      const std::int64_t all = guaranteed_to_all(r);
      if (all == unlimited) {
        json.value("unlimited");
      } else {
        json.raw(milli_text(all));
      }
      if (nodes_.empty()) {
        log_.note(root_, std::string{"there are no nodes in the file, so the cluster is taken to have "}
                             .append(all == unlimited ? "unlimited" : milli_text(all))
                             .append(" ")
                             .append(kai_resources[r].name)
                             .append(": what its queues are guaranteed, or use if that is more"));
      }
    }
    json.end_object().end_object();
  }

  /// What the queues without a parent own together, or what all jobs use if that is more.
  [[nodiscard]] std::int64_t guaranteed_to_all(std::size_t r) const {
    std::int64_t sum = 0;
    for (const kai_queue& q : queues_) {
      if (!q.parent.empty()) continue;
      const std::int64_t quota = q.resources[r].guaranteed();
      if (quota == unlimited) return unlimited;
      sum = std::min(most_milli, sum + quota);
    }
    std::int64_t used = 0;
    for (const group& g : groups_) {
      for (const pod& p : g.pods) {
        if (!p.node.empty()) used = std::min(most_milli, used + p.request[r]);
      }
    }
    return std::max(sum, used);
  }

  void write_queue(const kai_queue& q, json_writer& json) {
    json.begin_object().member("name", q.object->name).member("parent", q.parent.empty() ? root_ : q.parent);
    if (q.has_children) json.member("inclusive", true).member("overcommit", true);
    std::array<std::optional<std::int64_t>, kai_resources.size()> borrow{};
    json.key("nominal").begin_object();
    for (std::size_t r = 0; r < kai_resources.size(); ++r) {
      if (!is_counted_[r]) continue;
      const queue_resource& own = q.resources[r];
      const std::int64_t guaranteed = own.guaranteed();
      if (!own.is_said) {
        log_.note(q.object->shown(), std::string{"it does not specify "}.append(kai_resources[r].key) +
                                         ", of which KAI then allows it none");
      }
      json.key(kai_resources[r].name);
      if (guaranteed == unlimited) {
        json.value("unlimited");
      } else {
        json.raw(milli_text(guaranteed));
        if (own.limit != unlimited) borrow[r] = own.limit - guaranteed;
      }
    }
    json.end_object();
    if (std::any_of(borrow.begin(), borrow.end(), [](const auto& b) { return b.has_value(); })) {
      json.key("borrow").begin_object();
      for (std::size_t r = 0; r < kai_resources.size(); ++r) {
        if (borrow[r]) json.key(kai_resources[r].name).raw(milli_text(*borrow[r]));
      }
      json.end_object();
    }
    json.key("weight").begin_object();
    for (std::size_t r = 0; r < kai_resources.size(); ++r) {
      if (is_counted_[r]) json.key(kai_resources[r].name).raw(milli_text(q.resources[r].weight));
    }
    json.end_object();
    json.member("priority", q.priority);
    if (q.preempt_min_runtime || q.reclaim_min_runtime) {
      json.key("min_runtime_s").begin_object();
      if (q.preempt_min_runtime) json.key("preempt").raw(milli_text(*q.preempt_min_runtime));
      if (q.reclaim_min_runtime) json.key("reclaim").raw(milli_text(*q.reclaim_min_runtime));
      json.end_object();
    }
    json.end_object();
  }

  void find_times() {
    bool any = false;
    for (const group& g : groups_) {
      const instant created = g.object->created.value_or(0);
      first_ = any ? std::min(first_, created) : created;
      now_ = std::max(now_, created);
      any = true;
      for (const pod& p : g.pods) now_ = std::max(now_, p.started.value_or(created));
    }
    if (any) {
      log_.note(
          {},
          "times count from the oldest PodGroup; how long jobs will run is not known: from now on each runs "
          "for an hour");
    }
  }

  [[nodiscard]] const kai_queue* find_queue(const std::string& name) const {
    for (const kai_queue& q : queues_) {
      if (q.object->name == name) return &q;
    }
    return nullptr;
  }

  void write_group(const group& g, json_writer& json) {
    const kai_queue* const in = find_queue(g.queue);
    const auto leave_out = [&](const std::string& why) { log_.note(g.object->shown(), "left out: " + why); };
    if (unusable_.count(g.object) > 0) return;
    if (g.pods.empty()) return leave_out("it has no pods that run or wait in the file");
    if (in == nullptr)
      return leave_out(g.queue.empty() ? "it names no queue"
                                       : "its queue " + g.queue + " is not in the file");
    if (in->has_children)
      return leave_out("its queue " + g.queue + " has queues below it, so KAI runs no jobs in it");
    const auto pods = static_cast<std::int64_t>(g.pods.size());
    const auto running = static_cast<std::int64_t>(
        std::count_if(g.pods.begin(), g.pods.end(), [](const pod& p) { return !p.node.empty(); }));
    const bool is_even = std::all_of(g.pods.begin(), g.pods.end(), [&](const pod& p) {
      if (p.devices != g.pods.front().devices) return false;
      for (std::size_t r = 0; r < kai_resources.size(); ++r) {
        if (is_counted_[r] && p.request[r] != g.pods.front().request[r]) return false;
      }
      return true;
    });
    json.begin_object().member("id", g.object->name).member("quota", g.queue);
    pod_request request = g.pods.front().request;
    std::int64_t memory_bytes = g.pods.front().memory_bytes;
    std::int64_t min_pods = std::clamp<std::int64_t>(g.min_member, 1, pods);
    if (is_even) {
      if (running > 0) min_pods = std::min(min_pods, running);
      json.member("pods", pods);
      if (g.pods.front().devices > 1) json.member("devices_per_pod", g.pods.front().devices);
      if (min_pods < pods) json.member("min_pods", min_pods);
      if (running > 0 && running < g.min_member) {
        log_.note(g.object->shown(), "runs with " + std::to_string(running) + " of the " +
                                         std::to_string(g.min_member) +
                                         " pods that it needs: taken as it is");
      }
    } else {
      request = {};
      memory_bytes = 0;
      std::size_t counted_pods = 0;
      for (const pod& p : g.pods) {
        if (running > 0 && p.node.empty()) continue;
        ++counted_pods;
        memory_bytes += std::min(p.memory_bytes, most_milli);
        for (std::size_t r = 0; r < kai_resources.size(); ++r)
          request[r] = std::min(most_milli, request[r] + p.request[r]);
      }
      round_gpus(g, request);
      json.member("total", true);
      log_.note(g.object->shown(), "its pods ask for different amounts: carried over as one request of " +
                                       counted(counted_pods, "pod", "pods") + " together");
    }
    json.key("request").begin_object();
    for (std::size_t r = 0; r < kai_resources.size(); ++r) {
      if (is_counted_[r] && request[r] > 0) json.key(kai_resources[r].name).raw(milli_text(request[r]));
    }
    json.end_object();
    write_host_needs(request[1], memory_bytes, json);
    topology_->write_constraint(*g.object, g.nearness, is_even && min_pods < pods, json);
    json.member("priority", g.priority).member("preemptible", g.preemptible);
    if (!g.priority_class.empty()) json.member("class", g.priority_class);
    const instant created = g.object->created.value_or(first_);
    json.key("submit_s").raw(milli_text(created - first_));
    constexpr instant otherwise = 3'600'000;
    instant started = created;
    if (running > 0) {
      started = std::max(created, g.pods.front().started.value_or(created));
      const bool is_going =
          std::all_of(g.pods.begin(), g.pods.end(), [](const pod& p) { return p.is_going; });
      json.member("state", is_going ? "evicting" : "running");
      json.key("start_s").raw(milli_text(started - first_));
      if (is_even && running < pods) json.member("running_pods", running);
      write_places(g, is_even, json);
    }
    json.key("duration_s").raw(milli_text((running > 0 ? now_ - started : 0) + otherwise));
    json.end_object();
  }

  /// What a pod, or all pods, need of CPU and memory on their nodes.
  void write_host_needs(std::int64_t cpu_milli, std::int64_t memory_bytes, json_writer& json) {
    if (nodes_.empty()) return;
    if (cpu_milli > 0 && !is_counted_[1]) json.member("cpu_milli", cpu_milli);
    constexpr std::int64_t mib = std::int64_t{1024} * 1024;
    if (memory_bytes > 0) json.member("memory_mib", (memory_bytes + mib - 1) / mib);
  }

  /// If several pods together request a part of a GPU beyond whole ones, requests whole ones instead.
  void round_gpus(const group& g, pod_request& request) {
    if (request[0] < 1000 || request[0] % 1000 == 0) return;
    request[0] = (request[0] / 1000 + 1) * 1000;
    log_.note(g.object->shown(),
              "together they ask for parts of GPUs: rounded up to " + milli_text(request[0]));
  }

  void write_places(const group& g, bool is_even, json_writer& json) {
    if (nodes_.empty() || !is_even) return;
    vector<std::string> places;
    for (const pod& p : g.pods) {
      if (p.node.empty()) continue;
      const bool is_known =
          std::any_of(nodes_.begin(), nodes_.end(), [&](const node& n) { return n.name == p.node; });
      if (!is_known) {
        return log_.note(g.object->shown(),
                         "runs on " + p.node + ", which is not among the nodes: placed again");
      }
      places.push_back(p.node);
    }
    json.key("nodes").begin_array();
    for (const std::string& place : places) json.value(place);
    json.end_array();
  }

  errors& found_;
  import_log& log_;
  const import_options& options_;
  std::map<std::string, vector<kubernetes_object>> objects_;
  vector<kai_queue> queues_;
  vector<node> nodes_;
  vector<group> groups_;
  /// By namespace and name.
  std::map<std::pair<std::string, std::string>, std::size_t> group_numbers_;
  /// Groups in which some pod can't be counted.
  std::set<const kubernetes_object*> unusable_;
  std::array<bool, kai_resources.size()> is_counted_{};
  std::optional<kai_topology> topology_;
  std::size_t pods_without_group_ = 0;
  std::string root_;
  instant first_ = 0;
  instant now_ = 0;
};

}  // namespace

std::string make_kai_scenario(json_value root, errors& found, import_log& log,
                              const import_options& options) {
  return kai_importer{root, found, log, options}.run();
}

int import_kai(packed_input& file, import_log& log, const import_options& options) {
  return import_objects(file, log, options, make_kai_scenario);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
// Converts the objects of KAI, which Run:ai is built on, to a scenario: Queues become its quotas, PodGroups
// with their Pods its jobs, and Nodes, if there are any, its cluster.
#include "lab/import/kai_topology.hpp"
#include "lab/import/kubernetes.hpp"
#include "lab/import/live_jobs.hpp"
#include "lab/import/live_nodes.hpp"
#include "lab/import/live_pods.hpp"
#include "lab/import/object_fields.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/json_writer.hpp>
#include <allot/lab/timestamp.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace embedded {
extern const std::string_view kai_queue_tsv;
extern const std::string_view kai_pod_group_tsv;
}  // namespace embedded

namespace {

constexpr std::int64_t non_preemptible_from = 100;
constexpr std::int64_t default_priority = 50;
/// KAI's value for no bound.
constexpr std::int64_t unlimited = -1000;

/// A resource that KAI divides: its key in a Queue, its name in the scenario, and how many billionths of the
/// scenario's unit are one unit of a Queue (GPUs, milli-CPUs, megabytes).
struct counted_resource {
  std::string_view key;
  std::string_view name;
  nano_amount unit_in_queue;
};
constexpr std::array<counted_resource, 3> kai_resources = {
    {{"gpu", "gpu", nano}, {"cpu", "cpu", nano / 1000}, {"memory", "memory_mb", nano}}};

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

constexpr std::string_view gpu_kind = "gpu";
/// Whole GPUs of a node that KAI gives to instances only.
constexpr std::string_view closed_gpu_kind = "gpu beside MIG";
constexpr std::string_view node_pool_label = "kai.scheduler/node-pool";

struct group_pod {
  pod_facts facts;
  pod_need need{};
  std::string set{};
  vector<std::string> gpu_groups{};
  /// KAI's MIG of old, which it starts no more.
  bool is_legacy_mig = false;
};

/// Pods that start together: of a leaf of the tree of subGroups, or all.
struct pod_subset {
  std::string name{};
  std::int64_t min = 1;
  kai_constraint nearness{};
  std::string field{};
};

struct group {
  const kubernetes_object* object = nullptr;
  std::string queue{};
  std::string priority_class{};
  std::int64_t priority = default_priority;
  bool preemptible = true;
  bool semi_preemptible = false;
  std::optional<instant> started{};
  std::optional<std::string> pool{};
  kai_constraint nearness{};
  vector<pod_subset> subsets{};
  /// The pods that are safe, if it is semi-preemptible, with their namespace.
  std::set<std::string> core{};
  /// Why it is not carried over.
  std::string left_out{};
  vector<group_pod> pods{};
};

/// How many g an instance has, as KAI reads it ("nvidia.com/mig-3g.20gb"); 0 if it can't.
[[nodiscard]] std::int64_t slices_of(std::string_view resource) {
  if (!resource.starts_with(mig_prefix) || !resource.ends_with("gb")) return 0;
  resource.remove_prefix(mig_prefix.size());
  resource.remove_suffix(2);
  const std::size_t point = resource.find("g.");
  if (point == std::string_view::npos) return 0;
  const auto digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (!digits(resource.substr(0, point)) || !digits(resource.substr(point + 2))) return 0;
  return std::min<std::int64_t>(parse_whole(resource.substr(0, point)).value_or(0), 64);
}

[[nodiscard]] bool is_gpu(std::string_view resource) {
  return resource == "nvidia.com/gpu" || resource == "amd.com/gpu";
}
[[nodiscard]] bool is_device(std::string_view resource) {
  return is_gpu(resource) || resource.starts_with(mig_prefix);
}

class kai_importer {
 public:
  kai_importer(json_value root, errors& found, import_log& log, const import_options& options)
      : found_(found),
        log_(log),
        options_(options),
        objects_(read_objects(root, found)),
        nodes_(log),
        jobs_(nodes_, log) {}

  [[nodiscard]] std::string run() {
    note_other_kinds(objects_,
                     {"Queue", "PodGroup", "Pod", "Node", "PriorityClass", "Topology", "BindRequest"}, log_);
    for (const kubernetes_object& o : all("Queue")) read_queue(o);
    if (queues_.empty() && found_.empty()) {
      found_.add(
          shown_path(options_.file), {},
          "there is no Queue (expected the output of: kubectl get queues,podgroups,pods,nodes -A -o json)");
    }
    link_queues();
    choose_resources();
    for (const kubernetes_object& o : all("Node")) read_node(o);
    for (const kubernetes_object& o : all("PodGroup")) read_group(o);
    count_pools();
    read_bindings();
    for (const kubernetes_object& o : all("Pod")) read_pod(o);
    for (group& g : groups_) take_group(g);
    notes_.write(log_);
    if (others_running_.size() > 0) {
      log_.note("Pod " + others_running_.names(),
                counted(others_running_.size(),
                        "is in no PodGroup of the file: what it holds is taken off its node",
                        "are in no PodGroup of the file: what they hold is taken off their nodes"));
    }
    if (others_waiting_.size() > 0) {
      log_.note("Pod " + others_waiting_.names(), counted(others_waiting_.size(), "that waits", "that wait") +
                                                      " and is in no PodGroup of the file: not carried over");
    }
    if (!found_.empty()) return {};
    nodes_.finish();
    read_topology();
    if (!found_.empty()) return {};
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
        to.weight = static_cast<std::int64_t>(
            std::min<nano_amount>(read_amount_of(*weight, found_) / (nano / 1000), most_milli));
      }
      if (find_path(*value, {"lendingLimit"}, found_)) {
        log_.note(o.shown(),
                  std::string{"spec.resources."}
                      .append(kai_resources[r].key)
                      .append(".lendingLimit is not carried over: it lends all that it does not use"));
      }
      note_unknown(queue_fields_, o, *value, std::string{"spec.resources."}.append(kai_resources[r].key),
                   log_);
    }
    if (const auto resources = find_path(o.value, {"spec", "resources"}, found_))
      note_unknown(queue_fields_, o, *resources, "spec.resources", log_);
    if (const auto spec = find_path(o.value, {"spec"}, found_))
      note_unknown(queue_fields_, o, *spec, "spec", log_);
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

  /// KAI forgets queues whose parent is not there, with all below them.
  void link_queues() {
    index_queues();
    const auto is_orphan = [&](const kai_queue& q) {
      return !q.parent.empty() && find_queue(q.parent) == nullptr;
    };
    for (;;) {
      const auto q = std::find_if(queues_.begin(), queues_.end(), is_orphan);
      if (q == queues_.end()) break;
      log_.note(q->object->shown(),
                "left out: its parent " + q->parent + " is not in the file, and KAI ignores such a queue");
      queues_.erase(q);
      index_queues();
    }
    std::set<std::string_view> in_cycles;
    for (const kai_queue& q : queues_) {
      const kai_queue* at = &q;
      for (std::size_t steps = 0; steps <= queues_.size() && !at->parent.empty(); ++steps)
        at = find_queue(at->parent);
      if (at->parent.empty()) continue;
      log_.note(q.object->shown(), "left out: its parents form a cycle");
      in_cycles.insert(q.object->name);
    }
    erase_if(queues_, [&](const kai_queue& q) { return in_cycles.count(q.object->name) > 0; });
    index_queues();
    for (const kai_queue& q : queues_) {
      if (!q.parent.empty()) find_queue(q.parent)->has_children = true;
    }
  }

  void index_queues() {
    queues_by_name_.clear();
    for (kai_queue& q : queues_) queues_by_name_.emplace(q.object->name, &q);
  }
  [[nodiscard]] kai_queue* find_queue(std::string_view name) const {
    const auto at = queues_by_name_.find(name);
    return at == queues_by_name_.end() ? nullptr : at->second;
  }

  /// GPUs always; CPU and memory if some queue bounds them.
  void choose_resources() {
    is_counted_[0] = true;
    for (std::size_t r = 1; r < kai_resources.size(); ++r) {
      is_counted_[r] = std::any_of(queues_.begin(), queues_.end(), [&](const kai_queue& q) {
        return q.resources[r].is_said &&
               (q.resources[r].quota != unlimited || q.resources[r].limit != unlimited);
      });
    }
  }

  void note_resources() {
    for (std::size_t r = 1; r < kai_resources.size(); ++r) {
      if (is_counted_[r]) continue;
      const bool is_said = std::any_of(queues_.begin(), queues_.end(),
                                       [&](const kai_queue& q) { return q.resources[r].is_said; });
      log_.note(kai_resources[r].key,
                is_said ? "no queue bounds it: not counted"
                        : "no queue says anything of it: not counted (KAI would allow none)");
    }
  }

  // Nodes.

  void read_node(const kubernetes_object& o) {
    live_node n = read_live_node(o, found_);
    const auto label = [&](std::string_view key) {
      const auto at = n.labels.find(key);
      return at == n.labels.end() ? std::string{} : at->second;
    };
    n.gpu_model = label("nvidia.com/gpu.product");
    if (n.gpu_model.empty()) n.gpu_model = label("amd.com/gpu.product-name");
    if (const std::string text = label("nvidia.com/gpu.memory"); !text.empty()) {
      const auto memory = parse_whole(text);
      constexpr std::int64_t bytes_from = std::int64_t{1} << 20U;
      // Some versions of the label are in bytes.
      n.gpu_memory_mib = std::max<std::int64_t>(0, memory.value_or(0));
      if (n.gpu_memory_mib >= bytes_from) n.gpu_memory_mib /= bytes_from;
      if (!memory) {
        log_.note(o.shown(), "its label nvidia.com/gpu.memory \"" + text +
                                 "\" is no whole number: no pod that asks for GPU memory runs there");
      }
    }
    n.closed = problem_of(o);
    std::int64_t gpus = 0;
    vector<node_devices> instances;
    for (const auto& [resource, amount] : n.offers) {
      const auto count = static_cast<std::int64_t>(std::min<nano_amount>(amount / nano, 1000));
      if (is_gpu(resource)) gpus += count;
      if (!resource.starts_with(mig_prefix) || count == 0) continue;
      const std::int64_t slices = slices_of(resource);
      if (slices > 0) {
        instances.push_back({resource, count * slices});
      } else {
        log_.note(o.shown(), resource +
                                 ": KAI reads no size from its name, and counts no GPU for it; pods that "
                                 "ask for it do not start here");
      }
    }
    const bool is_mig = is_mig_node(n, !instances.empty());
    const bool takes_instances_only = is_mig && label("nvidia.com/mig.strategy") == "mixed";
    if (!is_mig && !instances.empty()) {
      log_.note(o.shown(),
                "its label node-role.kubernetes.io/mig-enabled says that it has no MIG instances: "
                "none starts there");
      for (node_devices& d : instances) d.kind.insert(0, "closed ");
    }
    n.devices.push_back({std::string{takes_instances_only ? closed_gpu_kind : gpu_kind}, gpus});
    for (node_devices& d : instances) n.devices.push_back(std::move(d));
    nodes_.add(std::move(n));
  }

  [[nodiscard]] static bool is_mig_node(const live_node& n, bool has_instances) {
    const auto at = n.labels.find("node-role.kubernetes.io/mig-enabled");
    if (at == n.labels.end()) return has_instances;
    static constexpr std::string_view yes[] = {"1", "t", "T", "true", "TRUE", "True"};
    return std::find(std::begin(yes), std::end(yes), at->second) != std::end(yes);
  }

  /// Why KAI starts nothing on a node.
  [[nodiscard]] std::string problem_of(const kubernetes_object& o) {
    std::string why;
    for (const json_value& c : elements_at(o.value, {"status", "conditions"}, found_)) {
      const std::string type = text_at(c, {"type"}, found_);
      const std::string status = text_at(c, {"status"}, found_);
      const bool is_bad = type == "Ready" ? status != "True"
                                          : (type == "MemoryPressure" || type == "DiskPressure" ||
                                             type == "PIDPressure" || type == "NetworkUnavailable") &&
                                                status != "False";
      if (is_bad)
        why.append(why.empty() ? "its condition is " : ", ").append(type).append("=").append(status);
    }
    return why;
  }

  // PodGroups.

  void read_group(const kubernetes_object& o) {
    group g;
    g.object = &o;
    g.queue = text_at(o.value, {"spec", "queue"}, found_);
    g.priority_class = text_at(o.value, {"spec", "priorityClassName"}, found_);
    g.priority = priority_of(o, g.priority_class);
    const std::string preemptibility = text_at(o.value, {"spec", "preemptibility"}, found_);
    g.preemptible = g.priority < non_preemptible_from;
    if (preemptibility == "preemptible" || preemptibility == "non-preemptible" ||
        preemptibility == "semi-preemptible") {
      g.preemptible = preemptibility == "preemptible";
      g.semi_preemptible = preemptibility == "semi-preemptible";
    } else if (!preemptibility.empty()) {
      log_.note(o.shown(), "spec.preemptibility " + preemptibility + " is none: its priority decides");
    }
    g.started = annotated_time(o, "kai.scheduler/last-start-timestamp");
    if (const auto labels = find_path(o.value, {"metadata", "labels"}, found_)) {
      if (const auto pool = find_path(*labels, {node_pool_label}, found_))
        g.pool = read_string(*pool, found_);
    }
    for (const json_value& pod : elements_at(o.value, {"status", "schedulingState", "corePods"}, found_)) {
      if (auto name = read_string(pod, found_)) g.core.insert((o.space.empty() ? "" : o.space + '/') + *name);
    }
    read_spec(o, g);
    const kai_queue* const in = find_queue(g.queue);
    if (in == nullptr) {
      g.left_out = g.queue.empty() ? "it names no queue" : "its queue " + g.queue + " is not in the file";
    } else if (in->has_children) {
      g.left_out = "its queue " + g.queue + " has queues below it, so KAI runs no jobs in it";
    }
    group_numbers_.emplace(std::pair{o.space, o.own_name}, groups_.size());
    groups_.push_back(std::move(g));
  }

  void read_spec(const kubernetes_object& o, group& g) {
    const auto spec = find_path(o.value, {"spec"}, found_);
    const std::int64_t min_member =
        spec ? whole_at(*spec, {"minMember"}, 0, 1'000'000, found_).value_or(1) : 1;
    if (spec) {
      g.nearness = read_kai_constraint(*spec, found_);
      read_subgroups(o, *spec, g);
      note_unknown(group_fields_, o, *spec, "spec", log_);
      const auto is_not = [&](std::string_view field, std::string_view effect) {
        if (find_path(*spec, {field}, found_))
          log_.note(o.shown(),
                    std::string{"spec."}.append(field).append(" is not carried over: ").append(effect));
      };
      is_not("preemptionDelay", "it may have others evicted at once");
      is_not("stalenessGracePeriod", "with fewer pods than it needs it runs on");
      if (whole_at(*spec, {"schedulingBackoff"}, -most_priority, most_priority, found_).value_or(-1) != -1)
        g.left_out = backoff_of(o, g);
    }
    if (g.subsets.empty()) g.subsets.push_back({{}, min_member, {}, {}});
  }

  /// A group that was found unschedulable on its node pool is not tried there again.
  [[nodiscard]] std::string backoff_of(const kubernetes_object& o, const group& g) {
    std::int64_t last = -2;
    std::string pool;
    for (const json_value& c : elements_at(o.value, {"status", "schedulingConditions"}, found_)) {
      const std::int64_t number = parse_whole(text_at(c, {"transitionID"}, found_)).value_or(-1);
      if (number > last) pool = text_at(c, {"nodePool"}, found_);
      last = std::max(last, number);
    }
    if (last == -2 || pool != g.pool.value_or("default")) return {};
    return "its spec.schedulingBackoff lets KAI try it once, and it found no place "
           "(status.schedulingConditions)";
  }

  void read_subgroups(const kubernetes_object& o, json_value spec, group& g) {
    struct subgroup {
      std::string name;
      std::string parent;
      std::optional<std::int64_t> min;
      kai_constraint nearness;
      bool has_children = false;
    };
    vector<subgroup> read;
    std::string wrong;
    bool has_min_subgroup = find_path(spec, {"minSubGroup"}, found_).has_value();
    for (const json_value& s : elements_at(spec, {"subGroups"}, found_)) {
      subgroup sub{text_at(s, {"name"}, found_), text_at(s, {"parent"}, found_),
                   whole_at(s, {"minMember"}, -1'000'000, 1'000'000, found_), read_kai_constraint(s, found_)};
      for (char& c : sub.parent) {
        if ('A' <= c && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      }
      has_min_subgroup = has_min_subgroup || find_path(s, {"minSubGroup"}, found_);
      const auto is_same = [&](const subgroup& other) { return other.name == sub.name; };
      if (std::any_of(read.begin(), read.end(), is_same)) wrong = "there are two named " + sub.name;
      read.push_back(std::move(sub));
    }
    const auto find = [&](std::string_view name) {
      return std::find_if(read.begin(), read.end(), [&](const subgroup& s) { return s.name == name; });
    };
    for (const subgroup& s : read) {
      if (s.parent.empty()) continue;
      if (const auto parent = find(s.parent); parent != read.end()) {
        parent->has_children = true;
      } else if (wrong.empty()) {
        wrong = "the parent " + s.parent + " of " + s.name + " is not there";
      }
    }
    for (const subgroup& s : read) {
      if (!s.has_children && !s.min && wrong.empty()) wrong = s.name + " has no minMember";
    }
    if (!wrong.empty()) {
      log_.note(o.shown(),
                "spec.subGroups is not carried over: " + wrong +
                    ", so KAI has one group that needs one pod, and leaves pods of subgroups alone");
      g.subsets.push_back({});
      return;
    }
    if (has_min_subgroup)
      log_.note(o.shown(), "minSubGroup is not carried over: it needs all of its subgroups");
    for (const subgroup& s : read) {
      if (s.has_children) {
        if (!s.nearness.is_empty())
          log_.note(o.shown(),
                    "spec.subGroups." + s.name +
                        ".topologyConstraint is not carried over: the sets of pods below it may be "
                        "far from each other");
        continue;
      }
      g.subsets.push_back({s.name, std::max<std::int64_t>(0, *s.min), s.nearness,
                           "spec.subGroups." + s.name + ".topologyConstraint"});
    }
  }

  [[nodiscard]] std::optional<instant> annotated_time(const kubernetes_object& o, std::string_view key) {
    const std::string text = text_at(o.value, {"metadata", "annotations", key}, found_);
    if (text.empty()) return std::nullopt;
    const auto t = parse_timestamp(text);
    if (!t)
      log_.note(o.shown(), std::string{"its annotation "}.append(key).append(
                               " \"" + text + "\" is no time: ignored, as KAI does"));
    return t;
  }

  [[nodiscard]] std::int64_t priority_of(const kubernetes_object& o, const std::string& name) {
    static constexpr std::array<std::pair<std::string_view, std::int64_t>, 6> shipped = {
        {{"train", 50},
         {"build-preemptible", 75},
         {"build", 100},
         {"inference", 125},
         {"system-cluster-critical", 2'000'000'000},
         {"system-node-critical", 2'000'001'000}}};
    std::int64_t otherwise = default_priority;
    const auto value_of = [&](const kubernetes_object& c) {
      return whole_at(c.value, {"value"}, -most_priority - 1, most_priority, found_).value_or(0);
    };
    for (const kubernetes_object& c : all("PriorityClass")) {
      if (!name.empty() && c.own_name == name) return value_of(c);
      const auto is_default = find_path(c.value, {"globalDefault"}, found_);
      if (is_default && read_bool(*is_default, found_).value_or(false)) otherwise = value_of(c);
    }
    if (name.empty()) return otherwise;
    for (const auto& [known, priority] : shipped) {
      if (known == name && (all("PriorityClass").empty() || name.starts_with("system-"))) return priority;
    }
    log_.note(o.shown(), "its priority class " + name + " is not in the file: the priority is " +
                             std::to_string(otherwise));
    return otherwise;
  }

  void count_pools() {
    std::set<std::optional<std::string>> pools;
    for (const group& g : groups_) pools.insert(g.pool);
    has_several_pools_ = pools.size() > 1;
    if (!has_several_pools_) return;
    log_.note(node_pool_label, "PodGroups are of " + std::to_string(pools.size()) +
                                   " node pools: each keeps to its nodes, but quotas and shares are those of "
                                   "all together, where KAI has a scheduler for each");
  }

  // Pods.

  /// Pods whose place is decided, but which have no node yet.
  void read_bindings() {
    for (const kubernetes_object& o : all("BindRequest")) {
      const std::string pod = text_at(o.value, {"spec", "podName"}, found_);
      const std::string node = text_at(o.value, {"spec", "selectedNode"}, found_);
      if (text_at(o.value, {"status", "phase"}, found_) != "Failed") bindings_[{o.space, pod}] = node;
    }
  }

  void read_pod(const kubernetes_object& o) {
    group_pod p;
    p.facts = read_pod_facts(o, found_);
    pod_facts& f = p.facts;
    if (f.stage == pod_stage::waiting || f.stage == pod_stage::gated) {
      if (const auto bound = bindings_.find({o.space, o.own_name}); bound != bindings_.end()) {
        f.node = bound->second;
        f.stage = pod_stage::running;
      }
    }
    if (f.phase == "Unknown") {
      notes_.add("its status.phase is Unknown: KAI counts nothing of it", o.name);
      f.stage = pod_stage::ended;
    }
    const std::string name = text_at(o.value, {"metadata", "annotations", "pod-group-name"}, found_);
    const auto known = group_numbers_.find(std::pair{o.space, name});
    if (f.stage == pod_stage::ended || !f.spec) return;
    read_need(o, p);
    if (name.empty() || known == group_numbers_.end()) return take_other(p);
    p.set = text_at(o.value, {"metadata", "labels", "kai.scheduler/subgroup-name"}, found_);
    if (const auto labels = find_path(o.value, {"metadata", "labels"}, found_)) {
      std::string first = text_at(*labels, {"runai-gpu-group"}, found_);
      if (!first.empty() && p.need.devices == 1) p.gpu_groups.push_back(std::move(first));
      labels->for_each([&](json_value label) {
        if (p.need.devices > 1 && label.key().starts_with("runai-gpu-group/") && label.is_string())
          p.gpu_groups.emplace_back(label.text());
      });
    }
    notes_.look_at(*f.spec, o.name, found_);
    groups_[known->second].pods.push_back(std::move(p));
  }

  /// A pod that KAI does not schedule.
  void take_other(const group_pod& p) {
    const kubernetes_object& o = *p.facts.object;
    if (p.facts.node.empty()) {
      // Those of other schedulers are none of KAI's business.
      if (text_at(*p.facts.spec, {"schedulerName"}, found_) == "kai-scheduler") others_waiting_.add(o.name);
      return;
    }
    others_running_.add(o.name);
    pod_need need = p.need;
    // They hold the GPUs that others share, which are counted for these.
    static constexpr std::string_view reservations[] = {"kai-resource-reservation", "runai-reservation",
                                                        "resource-reservation"};
    const std::string app = text_at(o.value, {"metadata", "labels", "app"}, found_);
    if (std::find(std::begin(reservations), std::end(reservations), app) != std::end(reservations))
      need.gpu_milli = 0;
    nodes_.take_off(p.facts.node, need);
  }

  void read_need(const kubernetes_object& o, group_pod& p) {
    pod_need& need = p.need;
    std::int64_t instances = 0;
    for (const auto& [resource, amount] : p.facts.request) {
      const std::int64_t whole = whole_of(amount, 1'000'000);
      if (is_gpu(resource)) {
        need.gpu_milli += whole * 1000;
      } else if (resource.starts_with(mig_prefix) && whole > 0) {
        ++instances;
        need.device = resource;
        need.gpu_milli = whole * slices_of(resource) * 1000;
        if (slices_of(resource) == 0) {
          p.is_legacy_mig = true;
          notes_.add("asks for " + resource +
                         ", of which KAI reads no size and counts no GPU: it does not start here",
                     o.name);
        }
      }
    }
    need.take_host(p.facts.request);
    if (instances > 1) {
      notes_.add("asks for MIG instances of several kinds, which have no place here: it never starts",
                 o.name);
      p.is_legacy_mig = true;
    }
    read_fraction(o, p);
    if (const auto annotations = find_path(o.value, {"metadata", "annotations"}, found_)) {
      annotations->for_each([&](json_value a) {
        if (!a.key().starts_with(mig_prefix) || !a.is_string() || !parse_whole(a.text())) return;
        notes_.add("asks for MIG by annotation, which KAI starts no more", o.name);
        p.is_legacy_mig = true;
        need.device = std::string{a.key()};
        need.gpu_milli = std::clamp<std::int64_t>(*parse_whole(a.text()), 0, 64) * slices_of(a.key()) * 1000;
      });
    }
    if (need.device.empty() && (need.gpu_milli > 0 || need.gpu_memory_mib > 0)) need.device = gpu_kind;
    const std::array<std::int64_t, 3> charges = {need.gpu_milli * need.devices, need.cpu_milli,
                                                 milli_of(nano_amount{need.memory} * nano, nano * 1'000'000)};
    for (std::size_t r = 0; r < kai_resources.size(); ++r) {
      if (is_counted_[r]) need.charges.emplace_back(kai_resources[r].name, charges[r]);
    }
  }

  /// A part of a GPU, requested by annotations. If one is wrong KAI ignores them all.
  void read_fraction(const kubernetes_object& o, group_pod& p) {
    const auto annotations = find_path(o.value, {"metadata", "annotations"}, found_);
    if (!annotations) return;
    const auto text_of = [&](std::string_view key) { return text_at(*annotations, {key}, found_); };
    const auto ignore = [&](std::string_view key, std::string_view value, std::string_view expected) {
      notes_.add(std::string{"its annotation "}
                     .append(key)
                     .append(" \"")
                     .append(value)
                     .append("\" is no ")
                     .append(expected)
                     .append(": KAI counts no part of a GPU for it, nor does this"),
                 o.name);
    };
    std::int64_t devices = 1;
    if (const auto n = find_path(*annotations, {"gpu-fraction-num-devices"}, found_); n && n->is_string()) {
      devices = parse_whole(n->text()).value_or(0);
      if (devices <= 0) return ignore("gpu-fraction-num-devices", n->text(), "whole number above 0");
    }
    std::optional<std::int64_t> memory;
    bool is_wrong = false;
    annotations->for_each([&](json_value a) {
      constexpr std::string_view prefix = "nvidia.com/container.";
      if (is_wrong || !a.key().starts_with(prefix) || !a.is_string()) return;
      const bool is_request = a.key().ends_with(".gpu-memory.request");
      if (!is_request && !a.key().ends_with(".gpu-memory.limit")) return;
      const auto amount = parse_kubernetes_quantity(a.text());
      is_wrong = !amount || *amount <= 0;
      if (is_wrong) return ignore(a.key(), a.text(), "quantity above 0");
      constexpr nano_amount mib = nano * 1024 * 1024;
      const auto n = static_cast<std::int64_t>(std::min<nano_amount>(*amount / mib, std::int64_t{1} << 40U));
      if (is_request || !memory) memory = n;
    });
    if (is_wrong) return;
    const std::string fraction = text_of("gpu-fraction");
    const std::string by_memory = text_of("gpu-memory");
    if (!memory && !fraction.empty()) {
      const auto part = parse_fraction(fraction);
      if (!part || *part <= 0 || *part >= nano)
        return ignore("gpu-fraction", fraction, "number between 0 and 1");
      p.need.gpu_milli = std::max<std::int64_t>(1, static_cast<std::int64_t>(*part / (nano / 1000)));
      if (p.need.gpu_milli % 10 != 0) {
        notes_.add("its annotation gpu-fraction \"" + fraction +
                       "\": KAI charges its queue whole hundredths, here thousandths",
                   o.name);
      }
    } else if (!memory && !by_memory.empty()) {
      const bool has_sign = by_memory.front() == '+' || by_memory.front() == '-';
      const auto n = parse_whole(by_memory);
      if (has_sign || !n || *n <= 0) return ignore("gpu-memory", by_memory, "whole number of MiB above 0");
      memory = std::min<std::int64_t>(*n, std::int64_t{1} << 40U);
    } else if (!memory) {
      return;
    }
    p.need.devices = std::min<std::int64_t>(devices, 64);
    if (memory) {
      p.need.gpu_milli = 0;
      p.need.gpu_memory_mib = std::max<std::int64_t>(1, *memory);
    }
  }

  /// A number as Go's ParseFloat reads it, but not in hexadecimal, in billionths.
  [[nodiscard]] static std::optional<nano_amount> parse_fraction(std::string_view text) {
    const bool has_suffix = text.find_first_not_of("0123456789.eE+-") != std::string_view::npos;
    return has_suffix || text.ends_with('E') ? std::nullopt : parse_kubernetes_quantity(text);
  }

  // Jobs.

  void take_group(group& g) {
    const kubernetes_object& o = *g.object;
    const auto leave_out = [&](const std::string& why) {
      log_.note(o.shown(), "left out: " + why);
      for (const group_pod& p : g.pods) {
        if (!p.facts.node.empty()) nodes_.take_off(p.facts.node, p.need);
      }
    };
    const auto runs = [](const group_pod& p) { return p.facts.stage == pod_stage::running; };
    const bool is_running = std::any_of(g.pods.begin(), g.pods.end(), runs);
    if (!g.left_out.empty()) return leave_out(g.left_out);
    if (g.pods.empty()) return leave_out("it has no pods that run or wait in the file");
    if (const std::string why = problem_of_memory(g); !why.empty()) return leave_out(why);
    live_job job;
    job.shown = o.shown();
    job.id = o.name;
    job.quota = g.queue;
    job.priority = g.priority;
    job.preemptible = g.preemptible;
    job.semi_preemptible = g.semi_preemptible;
    job.job_class = g.priority_class;
    job.submitted = o.created.value_or(0);
    job.started = is_running ? g.started : std::nullopt;
    live_job going = job;
    live_pod_set leaving;
    std::string unready;
    for (std::size_t s = 0; s < g.subsets.size(); ++s) {
      const pod_subset& subset = g.subsets[s];
      live_pod_set set{subset.name, subset.min, {}};
      std::size_t gated = 0;
      for (const group_pod& p : g.pods) {
        if (p.set != subset.name) continue;
        if (p.facts.stage == pod_stage::gated) {
          ++gated;
          continue;
        }
        const bool is_leaving = p.facts.stage == pod_stage::going;
        if (auto pod = take_pod(g, subset, p)) (is_leaving ? leaving : set).pods.push_back(std::move(*pod));
      }
      // The core of a semi-preemptible job is what KAI says.
      std::stable_partition(set.pods.begin(), set.pods.end(),
                            [&](const live_pod& p) { return g.core.count(p.name) > 0; });
      const auto there = static_cast<std::int64_t>(set.pods.size());
      if (gated > 0)
        log_.note(o.shown(), counted(gated, "of its pods has", "of its pods have") +
                                 " scheduling gates: not carried over, since KAI waits for these to go");
      if (there < set.min) {
        unready = (subset.name.empty() ? "" : "of its subgroup " + subset.name + ' ') +
                  counted(static_cast<std::size_t>(there), "pod is", "pods are") +
                  " there without gates, and it needs " + std::to_string(set.min);
      }
      const auto running = static_cast<std::int64_t>(
          std::count_if(set.pods.begin(), set.pods.end(), [](const live_pod& p) { return p.is_running; }));
      if (running > 0 && running < set.min) {
        log_.note(o.shown(), "runs with " + std::to_string(running) + " of the " + std::to_string(set.min) +
                                 " pods that it needs: taken as it is");
      }
      job.sets.push_back(std::move(set));
    }
    note_strays(g);
    const auto has_pods = [](const live_pod_set& s) { return !s.pods.empty(); };
    const bool has_others = std::any_of(job.sets.begin(), job.sets.end(), has_pods);
    if (!leaving.pods.empty()) {
      leaving.min = static_cast<std::int64_t>(leaving.pods.size());
      if (!has_others && g.subsets.size() == 1)
        leaving.min = std::clamp<std::int64_t>(g.subsets.front().min, 1, leaving.min);
      jobs_.add_leaving(std::move(going), std::move(leaving), has_others);
      if (!has_others) return;
    }
    if (!has_others) return log_.note(o.shown(), "left out: no pod of it may start");
    if (!unready.empty()) {
      // Its pods wait until all are there.
      std::size_t waiting = 0;
      for (live_pod_set& set : job.sets) {
        const auto waits = [](const live_pod& p) { return !p.is_running; };
        waiting += static_cast<std::size_t>(std::count_if(set.pods.begin(), set.pods.end(), waits));
        set.pods.erase(std::remove_if(set.pods.begin(), set.pods.end(), waits), set.pods.end());
      }
      const std::string why = "it is not ready: " + unready;
      if (!is_running)
        return log_.note(o.shown(),
                         "left out: " + why +
                             " (KAI lets it wait, but counts what its pods ask for as demand of its queue)");
      if (waiting > 0)
        log_.note(o.shown(), counted(waiting, "of its pods waits", "of its pods wait") +
                                 ", and is not carried over: " + why);
    }
    add_job(g, std::move(job));
  }

  void add_job(const group& g, live_job job) {
    vector<std::size_t> numbers;
    vector<live_pod_set> sets;
    for (std::size_t s = 0; s < job.sets.size(); ++s) {
      if (job.sets[s].pods.empty()) continue;
      numbers.push_back(s);
      sets.push_back(std::move(job.sets[s]));
    }
    job.sets = std::move(sets);
    if (job.sets.empty()) return;
    const group* const of = &g;
    job.write_topology = [this, of, numbers](std::optional<std::size_t> set, json_writer& json) {
      const kubernetes_object& o = *of->object;
      if (!set) return topology_->write_constraint(o, "spec.topologyConstraint", of->nearness, json);
      const pod_subset& subset = of->subsets[numbers[*set]];
      if (numbers.size() == 1 && subset.nearness.is_empty())
        return topology_->write_constraint(o, "spec.topologyConstraint", of->nearness, json);
      topology_->write_constraint(o, subset.field, subset.nearness, json);
    };
    jobs_.add(std::move(job));
  }

  void note_strays(const group& g) {
    for (const group_pod& p : g.pods) {
      const auto is_its = [&](const pod_subset& s) { return s.name == p.set; };
      if (std::any_of(g.subsets.begin(), g.subsets.end(), is_its)) continue;
      notes_.add((p.set.empty() ? "is in no subgroup of its PodGroup"
                                : "is in a subgroup that its PodGroup does not have, " + p.set) +
                     ": KAI leaves it alone",
                 p.facts.object->name);
      if (!p.facts.node.empty()) nodes_.take_off(p.facts.node, p.need);
    }
  }

  /// A pod of a job; nothing if it runs where no node is known.
  [[nodiscard]] std::optional<live_pod> take_pod(const group& g, const pod_subset& subset,
                                                 const group_pod& p) {
    const kubernetes_object& o = *p.facts.object;
    live_pod pod{o.name, p.need};
    pod.is_running = p.facts.stage != pod_stage::waiting;
    pod.started = p.facts.started;
    if (pod.is_running && !nodes_.empty()) {
      if (!nodes_.contains(p.facts.node)) {
        notes_.add("runs on " + p.facts.node + ", which is not among the nodes: not carried over", o.name);
        return std::nullopt;
      }
      pod.standing = nodes_.stand(p.facts.node, p.need, p.gpu_groups);
    }
    node_demand demand = read_node_demand(*p.facts.spec, p.facts.request, is_device, found_);
    demand.none = p.is_legacy_mig;
    if (has_several_pools_ || g.pool) {
      demand.pool_label = node_pool_label;
      demand.pool = g.pool;
    }
    const kai_constraint& nearness = subset.nearness.required.empty() ? g.nearness : subset.nearness;
    demand.labels = labels_for(nearness, all("Topology"), found_);
    notes_.add_others(demand.others, o.name);
    pod.demand = nodes_.ask(std::move(demand), p.need.device, o.name, !pod.is_running);
    return pod;
  }

  /// What part of a GPU its pods are can't be told.
  [[nodiscard]] std::string problem_of_memory(const group& g) const {
    for (const group_pod& p : g.pods) {
      if (p.need.gpu_memory_mib == 0) continue;
      const auto says = [&](const live_node& n) {
        return n.gpu_memory_mib > 0 && (p.facts.node.empty() || n.object->own_name == p.facts.node);
      };
      if (std::any_of(nodes_.all().begin(), nodes_.all().end(), says)) continue;
      return p.facts.object->name + " asks for " + std::to_string(p.need.gpu_memory_mib) +
             " MiB of a GPU, and no node in the file says what a GPU has";
    }
    return {};
  }

  void read_topology() {
    vector<kai_constraint> asked;
    for (const group& g : groups_) {
      asked.push_back(g.nearness);
      for (const pod_subset& s : g.subsets) asked.push_back(s.nearness);
    }
    topology_.emplace(all("Topology"), asked, nodes_.written(), found_, log_);
  }

  // The scenario.

  [[nodiscard]] std::string write() {
    note_resources();
    json_writer json{2};
    json.begin_object().member("format", "allot-scenario/1");
    json.key("resources").begin_array();
    for (std::size_t r = 0; r < kai_resources.size(); ++r) {
      if (is_counted_[r]) json.value(kai_resources[r].name);
    }
    json.end_array();
    json.member("policy", "runai");
    if (!nodes_.written().empty()) {
      json.key("cluster").begin_object();
      topology_->write_levels(json);
      json.key("nodes");
      nodes_.write(json, [&](std::size_t node, json_writer& to) { topology_->write_labels(node, to); });
      json.end_object();
    }
    json.key("quotas").begin_array();
    write_root(json);
    for (const kai_queue& q : queues_) write_queue(q, json);
    json.end_array();
    if (!jobs_.all().empty()) {
      log_.note(
          {},
          "times count from the oldest PodGroup; how long jobs will run is not known: from now on each runs "
          "for an hour");
    }
    json.key("jobs");
    jobs_.write(json);
    json.end_object();
    return json.text();
  }

  /// Queues without a parent share the cluster, so they get a common parent here.
  void write_root(json_writer& json) {
    root_ = "cluster";
    while (find_queue(root_) != nullptr) root_ = '(' + root_ + ')';
    json.begin_object().member("name", root_).member("inclusive", true).member("overcommit", true);
    json.key("nominal").begin_object();
    const bool has_nodes = !nodes_.written().empty();
    for (std::size_t r = 0; r < kai_resources.size(); ++r) {
      if (!is_counted_[r]) continue;
      json.key(kai_resources[r].name);
      if (has_nodes && (r == 0 || (r == 1 && nodes_.cpu_milli()))) {
        json.value("cluster");
        continue;
      }
      if (const auto bytes = nodes_.memory(); has_nodes && r == 2 && bytes) {
        // In units of a million bytes.
        json.raw(milli_text(*bytes / 1000));
        continue;
      }
      const std::int64_t amount = guaranteed_to_all(r);
      if (amount == unlimited) {
        json.value("unlimited");
      } else {
        json.raw(milli_text(amount));
      }
      log_.note(root_,
                std::string{has_nodes ? "not all nodes say what they have" : "there are no nodes in the file"}
                    .append(", so the cluster is taken to have ")
                    .append(amount == unlimited ? "unlimited" : milli_text(amount))
                    .append(" ")
                    .append(kai_resources[r].name)
                    .append(": what its queues are guaranteed, or use if that is more"));
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
    for (const live_job& job : jobs_.all()) {
      for (const live_pod_set& set : job.sets) {
        for (const live_pod& p : set.pods) {
          for (const auto& [resource, amount] : p.need.charges) {
            if (p.is_running && resource == kai_resources[r].name) used = std::min(most_milli, used + amount);
          }
        }
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

  errors& found_;
  import_log& log_;
  const import_options& options_;
  objects_by_kind objects_;
  imported_fields queue_fields_{embedded::kai_queue_tsv};
  imported_fields group_fields_{embedded::kai_pod_group_tsv};
  vector<kai_queue> queues_;
  std::map<std::string_view, kai_queue*> queues_by_name_;
  live_nodes nodes_;
  vector<group> groups_;
  /// By namespace and name.
  std::map<std::pair<std::string, std::string>, std::size_t> group_numbers_;
  bool has_several_pools_ = false;
  std::map<std::pair<std::string, std::string>, std::string> bindings_;
  pod_notes notes_;
  named_count others_running_;
  named_count others_waiting_;
  std::array<bool, kai_resources.size()> is_counted_{};
  std::optional<kai_topology> topology_;
  live_jobs jobs_;
  std::string root_;
};

}  // namespace

std::string make_kai_scenario(json_value root, errors& found, import_log& log,
                              const import_options& options) {
  return kai_importer{root, found, log, options}.run();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

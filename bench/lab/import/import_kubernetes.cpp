// SPDX-License-Identifier: BSL-1.0
// Converts a cluster of Kubernetes that has neither Kueue nor KAI to a scenario: Nodes become its cluster,
// Pods, by their owners, its jobs, and namespaces its quotas.
#include "lab/import/kubernetes.hpp"
#include "lab/import/live_jobs.hpp"
#include "lab/import/live_nodes.hpp"
#include "lab/import/live_pods.hpp"
#include "lab/scenario/scenario.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/json_writer.hpp>

#include <algorithm>
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

/// What device plugins call GPUs, and other accelerators.
constexpr std::string_view device_resources[] = {
    "nvidia.com/gpu",        "nvidia.com/gpu.shared",     "amd.com/gpu",
    "gpu.intel.com/i915",    "gpu.intel.com/xe",          "habana.ai/gaudi",
    "aws.amazon.com/neuron", "aws.amazon.com/neuroncore", "google.com/tpu"};

/// Labels that say which model a node's GPUs are.
constexpr std::string_view model_labels[] = {
    "nvidia.com/gpu.product",           "amd.com/gpu.product-name",
    "beta.amd.com/gpu.product-name",    "gpu.intel.com/product",
    "cloud.google.com/gke-accelerator", "cloud.google.com/gke-tpu-accelerator",
    "k8s.amazonaws.com/accelerator",    "gpu.nvidia.com/model"};

/// Who controls an object.
struct controller {
  std::string kind;
  std::string name;
  friend auto operator<=>(const controller&, const controller&) = default;
};

struct owned_pod {
  pod_facts facts;
  pod_need need;
  /// The Job that controls it; empty if none does.
  std::string job;
};

/// Pods with one owner.
struct owned_pods {
  const kubernetes_object* object = nullptr;
  controller owner;
  vector<owned_pod> pods{};
  /// Pods that a Job has yet to make: its template, and how many.
  struct missing {
    const kubernetes_object* job;
    json_value spec;
    std::int64_t pods;
    pod_need need{};
  };
  vector<missing> to_come{};
  bool is_gang = false;
  std::optional<instant> started{};
  std::optional<instant> limit{};
};

class kubernetes_importer {
 public:
  kubernetes_importer(json_value root, errors& found, import_log& log, const import_options& options)
      : found_(found),
        log_(log),
        options_(options),
        objects_(read_objects(root, found)),
        nodes_(log),
        jobs_(nodes_, log) {}

  [[nodiscard]] std::string run() {
    note_other_kinds(objects_, {"Node", "Pod", "Job", "PriorityClass", "ResourceQuota"}, log_);
    if (all("Node").empty() && all("Pod").empty() && found_.empty()) {
      found_.add(shown_path(options_.file), {},
                 "there is no Node and no Pod (expected the output of: kubectl get "
                 "nodes,pods,jobs,priorityclasses,resourcequotas -A -o json)");
    }
    read_quotas_file();
    for (const kubernetes_object& o : all("Node")) read_node(o);
    for (const kubernetes_object& o : all("Pod")) read_pod(o);
    for (const kubernetes_object& o : all("Job")) read_job(o);
    for (const kubernetes_object& o : all("ResourceQuota")) read_quota(o);
    if (!found_.empty()) return {};
    choose_kinds();
    for (auto& [key, owned] : owned_) take_owned(key.first, owned);
    notes_.write(log_);
    if (others_.size() > 0) {
      log_.note("Pod " + others_.names(),
                counted(others_.size(),
                        "runs without GPUs, or for a node itself: what it holds is taken off its node",
                        "run without GPUs, or for a node itself: what they hold is taken off their nodes"));
    }
    if (others_waiting_.size() > 0)
      log_.note("Pod " + others_waiting_.names(),
                counted(others_waiting_.size(), "waits", "wait") + " for no GPU: not carried over");
    if (!found_.empty()) return {};
    nodes_.finish();
    return write();
  }

 private:
  [[nodiscard]] const vector<kubernetes_object>& all(const std::string& kind) { return objects_[kind]; }

  [[nodiscard]] bool is_device(std::string_view resource) const {
    return resource.starts_with(mig_prefix) ||
           std::find(std::begin(device_resources), std::end(device_resources), resource) !=
               std::end(device_resources) ||
           std::find(options_.gpu_resources.begin(), options_.gpu_resources.end(), resource) !=
               options_.gpu_resources.end();
  }

  // Nodes.

  void read_node(const kubernetes_object& o) {
    live_node n = read_live_node(o, found_);
    for (const std::string_view key : model_labels) {
      const auto at = n.labels.find(key);
      if (at != n.labels.end() && n.gpu_model.empty()) n.gpu_model = at->second;
    }
    for (const auto& [resource, amount] : n.offers) {
      if (!is_device(resource)) continue;
      n.devices.push_back({resource, static_cast<std::int64_t>(std::min<nano_amount>(amount / nano, 1000))});
    }
    if (const auto at = n.labels.find("nvidia.com/gpu.replicas"); at != n.labels.end()) {
      if (parse_whole(at->second).value_or(1) > 1)
        log_.note(o.shown(), "its GPUs are shared by time, " + at->second +
                                 " times each: every share counts as a GPU, as it does for Kubernetes");
    }
    const auto ready = find_condition(o.value, "Ready", found_);
    if (ready && !ready->is_true) n.closed = "its condition Ready is not True";
    nodes_.add(std::move(n));
  }

  // Pods and their owners.

  [[nodiscard]] std::optional<controller> controller_of(json_value object) {
    for (const json_value& ref : elements_at(object, {"metadata", "ownerReferences"}, found_)) {
      const auto controls = find_path(ref, {"controller"}, found_);
      if (!controls || !read_bool(*controls, found_).value_or(false)) continue;
      return controller{text_at(ref, {"kind"}, found_), text_at(ref, {"name"}, found_)};
    }
    return std::nullopt;
  }

  [[nodiscard]] const kubernetes_object* find_job(std::string_view space, std::string_view name) {
    for (const kubernetes_object& o : all("Job")) {
      if (o.space == space && o.own_name == name) return &o;
    }
    return nullptr;
  }

  /// Whose pods these are in the end: a Job may be one of a JobSet's, a ReplicaSet is one of a Deployment's.
  [[nodiscard]] controller owner_of(const kubernetes_object& o) {
    auto of = controller_of(o.value);
    if (!of) return {o.kind, o.own_name};
    const auto label = [&](std::string_view key) {
      return text_at(o.value, {"metadata", "labels", key}, found_);
    };
    if (of->kind == "ReplicaSet") {
      const std::string hash = label("pod-template-hash");
      if (!hash.empty() && of->name.size() > hash.size() + 1 && of->name.ends_with('-' + hash))
        return {"Deployment", of->name.substr(0, of->name.size() - hash.size() - 1)};
    } else if (of->kind == "Job") {
      if (const std::string set = label("jobset.sigs.k8s.io/jobset-name"); !set.empty())
        return {"JobSet", set};
      const kubernetes_object* const job = find_job(o.space, of->name);
      if (auto above = job != nullptr ? controller_of(job->value) : std::nullopt;
          above && above->kind != "CronJob")
        return *above;
    } else if (of->kind == "StatefulSet") {
      if (const std::string set = label("leaderworkerset.sigs.k8s.io/name"); !set.empty())
        return {"LeaderWorkerSet", set};
    } else if (of->kind == "CronJob") {
      return {o.kind, o.own_name};
    }
    return *of;
  }

  [[nodiscard]] owned_pods& owned_by(const kubernetes_object& o, const controller& owner) {
    owned_pods& owned = owned_[{o.space, owner}];
    if (owned.object == nullptr) {
      owned.object = &o;
      owned.owner = owner;
      // Their pods are of use alone; those of others, such as a PyTorchJob, are not.
      static constexpr std::string_view singles[] = {"Pod",        "Job",         "Deployment",
                                                     "ReplicaSet", "StatefulSet", "ReplicationController"};
      owned.is_gang = std::find(std::begin(singles), std::end(singles), owner.kind) == std::end(singles);
    }
    return owned;
  }

  void read_pod(const kubernetes_object& o) {
    pod_facts f = read_pod_facts(o, found_);
    if (f.stage == pod_stage::ended || !f.spec) return;
    pod_need need = need_of(f.request, o.name);
    const auto of = controller_of(o.value);
    const bool is_static =
        find_path(o.value, {"metadata", "annotations", "kubernetes.io/config.mirror"}, found_).has_value();
    if (is_static || (of && (of->kind == "DaemonSet" || of->kind == "Node"))) {
      if (!f.node.empty()) {
        others_.add(o.name);
        nodes_.take_off(f.node, need);
      }
      return;
    }
    owned_pods& owned = owned_by(o, owner_of(o));
    const auto limit = whole_at(*f.spec, {"activeDeadlineSeconds"}, 1, most_seconds, found_);
    if (limit && owned.owner.kind == "Pod") owned.limit = *limit * 1000;
    owned.pods.push_back({std::move(f), std::move(need), of && of->kind == "Job" ? of->name : std::string{}});
  }

  /// Without what is charged to its quota.
  [[nodiscard]] pod_need need_of(const resource_list& request, const std::string& pod) {
    pod_need need;
    need.take_host(request);
    for (const auto& [resource, amount] : request) {
      if (amount <= 0 || !is_device(resource)) continue;
      if (!need.device.empty()) {
        notes_.add("asks for " + resource + " beside " + need.device +
                       ": not carried over, a pod has devices of one kind",
                   pod);
        continue;
      }
      need.device = resource;
      need.gpu_milli = whole_of(amount, 1'000'000) * 1000;
    }
    return need;
  }

  void read_job(const kubernetes_object& o) {
    for (const std::string_view end : {"Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"}) {
      if (const auto c = find_condition(o.value, end, found_); c && c->is_true) return;
    }
    if (find_path(o.value, {"metadata", "deletionTimestamp"}, found_)) return;
    const auto spec = find_path(o.value, {"spec"}, found_);
    const auto pod_spec = spec ? find_path(*spec, {"template", "spec"}, found_) : std::nullopt;
    if (!pod_spec) return;
    const auto parallelism = whole_at(*spec, {"parallelism"}, 0, most_pods, found_).value_or(1);
    const auto completions =
        whole_at(*spec, {"completions"}, 0, std::numeric_limits<std::int32_t>::max(), found_);
    const std::int64_t succeeded =
        whole_at(o.value, {"status", "succeeded"}, 0, std::numeric_limits<std::int32_t>::max(), found_)
            .value_or(0);
    std::int64_t wanted = parallelism;
    if (completions) wanted = std::clamp<std::int64_t>(*completions - succeeded, 0, parallelism);
    controller owner{"Job", o.own_name};
    if (const auto above = controller_of(o.value); above && above->kind != "CronJob") owner = *above;
    owned_pods& owned = owned_by(o, owner);
    if (owner.kind == "Job") owned.object = &o;
    const bool has_index = text_at(*spec, {"completionMode"}, found_) == "Indexed";
    // As many at once as there are in all: they work together.
    if (has_index && completions && *completions == parallelism && parallelism > 1) owned.is_gang = true;
    if (const auto start = time_at(o.value, {"status", "startTime"}, found_))
      owned.started = owned.started ? std::min(*owned.started, *start) : start;
    if (const auto limit = whole_at(*spec, {"activeDeadlineSeconds"}, 1, most_seconds, found_))
      owned.limit = std::min(owned.limit.value_or(*limit * 1000), *limit * 1000);
    const auto there = std::count_if(owned.pods.begin(), owned.pods.end(), [&](const owned_pod& p) {
      return p.job == o.own_name && p.facts.stage != pod_stage::going;
    });
    const auto suspended = find_path(*spec, {"suspend"}, found_);
    if (suspended && read_bool(*suspended, found_).value_or(false)) {
      if (there > 0) return;
      log_.note(o.shown(), "is suspended: it waits here, and starts when there is room");
    }
    if (there >= wanted) return;
    if (!elements_at(*pod_spec, {"schedulingGates"}, found_).empty()) {
      log_.note(o.shown(),
                "its pods to come have scheduling gates: not carried over, since Kubernetes waits "
                "for these to go");
      return;
    }
    owned.to_come.push_back(
        {&o, *pod_spec, wanted - there, need_of(request_of_pod(*pod_spec, found_), o.name)});
  }

  // Quotas.

  void read_quota(const kubernetes_object& o) {
    if (quotas_file_)
      return log_.note(o.shown(), "not carried over: the file of --quotas says who owns what");
    const auto is_scoped = [&] {
      return !elements_at(o.value, {"spec", "scopes"}, found_).empty() ||
             find_path(o.value, {"spec", "scopeSelector"}, found_).has_value();
    };
    if (is_scoped())
      return log_.note(o.shown(), "not carried over: it bounds only pods of its scopes, here it bounds none");
    const auto hard = find_path(o.value, {"spec", "hard"}, found_);
    if (!hard || !expect_object(*hard, found_)) return;
    std::string others;
    hard->for_each([&](json_value bound) {
      std::string_view key = bound.key();
      if (key.starts_with("requests.") && is_device(key.substr(9))) {
        const auto n = static_cast<std::int64_t>(
            std::min<nano_amount>(read_amount_of(bound, found_) / (nano / 1000), most_milli));
        std::int64_t& least = bounds_[o.space].try_emplace(std::string{key.substr(9)}, n).first->second;
        least = std::min(least, n);
        return;
      }
      static constexpr std::string_view of_pods[] = {"cpu",
                                                     "requests.cpu",
                                                     "limits.cpu",
                                                     "memory",
                                                     "requests.memory",
                                                     "limits.memory",
                                                     "pods",
                                                     "count/pods",
                                                     "requests.ephemeral-storage",
                                                     "limits.ephemeral-storage",
                                                     "ephemeral-storage"};
      const bool is_of_pods = std::find(std::begin(of_pods), std::end(of_pods), key) != std::end(of_pods);
      if (is_of_pods || key.starts_with("requests.")) others.append(others.empty() ? "" : ", ").append(key);
    });
    if (!others.empty())
      log_.note(o.shown(), "its bounds of " + others +
                               " are not carried over: quotas count GPUs here, and more pods may start");
  }

  void read_quotas_file() {
    if (options_.quotas.empty()) return;
    packed_input file{options_.quotas};
    const auto text = file.problem().empty() ? file.read_all() : std::nullopt;
    if (!text) return found_.add(shown_path(options_.quotas), {}, file.problem());
    quotas_file_ = json_document::parse(shown_path(options_.quotas), *text, found_);
    if (!quotas_file_ || !expect_object(quotas_file_->root(), found_)) return;
    const json_value root = quotas_file_->root();
    for (const json_value& r : elements_at(root, {"resources"}, found_)) {
      if (auto name = read_string(r, found_)) resources_.push_back(std::move(*name));
    }
    if (resources_.empty()) resources_.push_back("gpu");
    for (const json_value& q : elements_at(root, {"quotas"}, found_)) {
      names_of_file_.insert(text_at(q, {"name"}, found_));
    }
    if (names_of_file_.empty())
      found_.add(shown_path(options_.quotas), "/quotas", "expected at least one quota");
  }

  /// Which devices are counted, and how they are called.
  void choose_kinds() {
    std::set<std::string> kinds = nodes_.kinds();
    for (const auto& [key, owned] : owned_) {
      for (const owned_pod& p : owned.pods) kinds.insert(p.need.device);
      for (const auto& m : owned.to_come) kinds.insert(m.need.device);
    }
    for (const auto& [space, bounds] : bounds_) {
      for (const auto& [resource, amount] : bounds) kinds.insert(resource);
    }
    kinds.erase("");
    if (quotas_file_) return;
    if (kinds.size() <= 1) {
      resources_.push_back("gpu");
      for (const std::string& kind : kinds) dimensions_.emplace(kind, "gpu");
      return;
    }
    for (const std::string& kind : kinds) {
      if (resources_.size() == max_resources) {
        log_.note(kind, "is not carried over: this program counts at most " + std::to_string(max_resources) +
                            " kinds of devices; pods with it are left out");
        continue;
      }
      resources_.push_back(kind + "/gpu");
      dimensions_.emplace(kind, resources_.back());
    }
  }

  /// What a pod's quota is charged. Returns false if its devices are not counted.
  [[nodiscard]] bool charge(pod_need& need) const {
    const auto counts = [&](std::string_view resource) {
      return std::find(resources_.begin(), resources_.end(), resource) != resources_.end();
    };
    if (counts("cpu")) need.charges.emplace_back("cpu", need.cpu_milli);
    if (counts("memory_mib"))
      need.charges.emplace_back("memory_mib", std::min(need.memory_mib(), most_milli / 1000) * 1000);
    if (need.device.empty()) return true;
    if (!quotas_file_) {
      const auto at = dimensions_.find(need.device);
      if (at == dimensions_.end()) return false;
      need.charges.emplace_back(at->second, need.gpu_milli);
      return true;
    }
    if (counts(need.device + "/gpu")) {
      need.charges.emplace_back(need.device + "/gpu", need.gpu_milli);
      return true;
    }
    for (const std::string& r : resources_) {
      if (counts("gpu") || !r.ends_with("/gpu")) continue;
      need.flavors.push_back(r.substr(0, r.size() - 4));
    }
    need.charges.emplace_back("gpu", need.gpu_milli);
    return counts("gpu") || !need.flavors.empty();
  }

  // Jobs.

  [[nodiscard]] std::int64_t priority_of(json_value pod_spec, const std::string& pod) {
    if (const auto p = whole_at(pod_spec, {"priority"}, -most_priority - 1, most_priority, found_)) return *p;
    const std::string name = text_at(pod_spec, {"priorityClassName"}, found_);
    std::int64_t otherwise = 0;
    for (const kubernetes_object& c : all("PriorityClass")) {
      const std::int64_t value =
          whole_at(c.value, {"value"}, -most_priority - 1, most_priority, found_).value_or(0);
      if (!name.empty() && c.own_name == name) return value;
      const auto is_default = find_path(c.value, {"globalDefault"}, found_);
      if (is_default && read_bool(*is_default, found_).value_or(false)) otherwise = value;
    }
    if (!name.empty()) {
      notes_.add(
          "its priority class " + name + " is not in the file: the priority is " + std::to_string(otherwise),
          pod);
    }
    return otherwise;
  }

  void take_owned(const std::string& space, owned_pods& owned) {
    const std::string shown = owned.owner.kind + ' ' + (space.empty() ? "" : space + '/') + owned.owner.name;
    const auto has_device = [](const auto& p) { return !p.need.device.empty(); };
    const bool uses_gpus = std::any_of(owned.pods.begin(), owned.pods.end(), has_device) ||
                           std::any_of(owned.to_come.begin(), owned.to_come.end(), has_device);
    const auto take_off_all = [&](named_count* running, named_count* waiting) {
      for (const owned_pod& p : owned.pods) {
        const bool has_node = !p.facts.node.empty();
        named_count* const to = has_node ? running : waiting;
        if (to != nullptr) to->add(p.facts.object->name);
        if (has_node) nodes_.take_off(p.facts.node, p.need);
      }
    };
    if (!uses_gpus) return take_off_all(&others_, &others_waiting_);
    const std::string quota = space.empty() ? "default" : space;
    const auto leave_out = [&](const std::string& why) {
      log_.note(shown, "left out: " + why);
      take_off_all(nullptr, nullptr);
    };
    if (quotas_file_ && names_of_file_.count(quota) == 0)
      return leave_out("its namespace " + quota + " is no quota of the file of --quotas");
    live_job job;
    job.shown = shown;
    job.id = (space.empty() ? "" : space + '/') + owned.owner.name;
    if (!ids_.insert(job.id).second) job.id += " (" + owned.owner.kind + ')';
    job.quota = quota;
    job.submitted = owned.object->created.value_or(0);
    job.limit = owned.limit;
    live_pod_set set;
    live_pod_set leaving;
    std::size_t gated = 0;
    bool is_first = true;
    const auto know = [&](json_value spec, const std::string& pod) {
      notes_.look_at(spec, pod, found_);
      const std::int64_t priority = priority_of(spec, pod);
      if (is_first) job.job_class = text_at(spec, {"priorityClassName"}, found_);
      if (!is_first && priority != job.priority)
        log_.note(shown, "its pods have several priorities: the highest counts for all");
      job.priority = is_first ? priority : std::max(job.priority, priority);
      is_first = false;
    };
    const auto demand_of = [&](json_value spec, const resource_list& request, const pod_need& need,
                               const std::string& pod, bool waits) {
      node_demand demand = read_node_demand(
          spec, request, [&](std::string_view r) { return is_device(r); }, found_);
      notes_.add_others(demand.others, pod);
      return nodes_.ask(std::move(demand), need.device, pod, waits);
    };
    for (auto& [f, need, of_job] : owned.pods) {
      if (!charge(need)) {
        notes_.add("asks for " + need.device + ", which is not counted: not carried over", f.object->name);
        if (!f.node.empty()) nodes_.take_off(f.node, need);
        continue;
      }
      if (f.stage == pod_stage::gated) {
        ++gated;
        continue;
      }
      know(*f.spec, f.object->name);
      if (!f.node.empty() && !nodes_.empty() && !nodes_.contains(f.node)) {
        notes_.add("runs on " + f.node + ", which is not among the nodes: not carried over", f.object->name);
        continue;
      }
      live_pod pod{f.object->name, need};
      pod.is_running = !f.node.empty();
      pod.started = f.started;
      if (pod.is_running && !nodes_.empty()) pod.standing = nodes_.stand(f.node, need);
      pod.demand = demand_of(*f.spec, f.request, need, f.object->name, !pod.is_running);
      (f.stage == pod_stage::going ? leaving : set).pods.push_back(std::move(pod));
    }
    for (owned_pods::missing& m : owned.to_come) {
      if (!charge(m.need)) {
        notes_.add("asks for " + m.need.device + ", which is not counted: not carried over", m.job->name);
        continue;
      }
      const std::string name = m.job->name + " (to come)";
      know(m.spec, name);
      live_pod pod{name, m.need};
      pod.demand = demand_of(m.spec, request_of_pod(m.spec, found_), m.need, name, true);
      if (set.pods.size() + static_cast<std::size_t>(m.pods) > most_pods) {
        log_.note(shown, "has more than " + std::to_string(most_pods) + " pods: the others are left out");
        m.pods = 0;
      }
      for (std::int64_t n = 0; n < m.pods; ++n) set.pods.push_back(pod);
    }
    if (gated > 0)
      log_.note(shown, counted(gated, "of its pods has", "of its pods have") +
                           " scheduling gates: not carried over, since Kubernetes waits for these to go");
    if (!leaving.pods.empty()) {
      const bool has_others = !set.pods.empty();
      leaving.min = owned.is_gang || has_others ? static_cast<std::int64_t>(leaving.pods.size()) : 1;
      jobs_.add_leaving(job, std::move(leaving), has_others);
    }
    if (set.pods.empty()) return;
    const auto runs = [](const live_pod& p) { return p.is_running; };
    const bool is_running = std::any_of(set.pods.begin(), set.pods.end(), runs);
    if (owned.is_gang && gated > 0) {
      if (!is_running)
        return log_.note(shown, "left out: its pods work together, and wait for those with gates");
      set.pods.erase(
          std::remove_if(set.pods.begin(), set.pods.end(), [&](const live_pod& p) { return !runs(p); }),
          set.pods.end());
    }
    set.min = owned.is_gang ? static_cast<std::int64_t>(set.pods.size()) : 1;
    if (is_running) job.started = owned.started;
    job.sets.push_back(std::move(set));
    jobs_.add(std::move(job));
  }

  // The scenario.

  [[nodiscard]] std::string write() {
    json_writer json{2};
    json.begin_object().member("format", "allot-scenario/1");
    json.key("resources").begin_array();
    for (const std::string& r : resources_) json.value(r);
    json.end_array();
    if (quotas_file_) {
      if (const auto policy = find_path(quotas_file_->root(), {"policy"}, found_)) {
        json.key("policy");
        write_value(*policy, json);
      }
    } else {
      json.member("policy", "standard");
    }
    if (!nodes_.written().empty()) {
      json.key("cluster").begin_object().key("nodes");
      nodes_.write(json, [&](std::size_t node, json_writer& to) {
        const std::string& kind = nodes_.kind_of(node);
        // The label by which nodes of a flavor are known.
        if (resources_.size() > 1 && !kind.empty())
          to.key("labels").begin_object().member("device", kind).end_object();
      });
      json.end_object();
    }
    json.key("quotas");
    if (quotas_file_) {
      write_value(*find_path(quotas_file_->root(), {"quotas"}, found_), json);
    } else {
      write_quotas(json);
    }
    if (!jobs_.all().empty()) {
      log_.note(
          {},
          "times count from the oldest owner of pods; how long jobs will run is not known: from now on each "
          "runs for an hour, or as long as its activeDeadlineSeconds says");
    }
    json.key("jobs");
    jobs_.write(json);
    json.end_object();
    return json.text();
  }

  void write_quotas(json_writer& json) {
    std::set<std::string> spaces;
    for (const live_job& job : jobs_.all()) spaces.insert(job.quota);
    for (const auto& [space, bounds] : bounds_) spaces.insert(space);
    std::string root = "cluster";
    while (spaces.count(root) > 0) root = '(' + root + ')';
    json.begin_array()
        .begin_object()
        .member("name", root)
        .member("inclusive", true)
        .member("overcommit", true);
    const bool has_nodes = !nodes_.written().empty();
    json.key("nominal").begin_object();
    for (const std::string& r : resources_) {
      json.key(r);
      if (!has_nodes || r == "gpu") {
        json.value(has_nodes ? "cluster" : "unlimited");
      } else {
        // A kind of devices that no node has is none of the cluster's.
        json.value(nodes_.gpus(std::string_view{r}.substr(0, r.size() - std::string_view{"/gpu"}.size())));
      }
    }
    json.end_object().end_object();
    if (!has_nodes) log_.note(root, "there are no nodes in the file, so the cluster has no bounds");
    for (const std::string& space : spaces) {
      json.begin_object().member("name", space).member("parent", root);
      const auto at = bounds_.find(space);
      const bool has_bounds = at != bounds_.end();
      const bounds_by_device bounds = has_bounds ? at->second : bounds_by_device{};
      json.key("nominal").begin_object();
      for (const auto& [device, dimension] : dimensions_) {
        const auto bound = bounds.find(device);
        json.key(dimension).raw(milli_text(bound == bounds.end() ? 0 : bound->second));
      }
      json.end_object();
      if (!has_bounds) {
        log_.note(space, "has no ResourceQuota of GPUs: it owns none here, and borrows what others leave");
      } else {
        // A ResourceQuota is a limit.
        json.key("borrow").begin_object();
        for (const auto& [device, dimension] : dimensions_) {
          if (bounds.count(device) > 0) json.member(dimension, std::int64_t{0});
        }
        json.end_object();
      }
      json.end_object();
    }
    json.end_array();
  }

  static constexpr std::int64_t most_pods = 1'000'000;
  static constexpr std::int64_t most_seconds = 1'000'000'000;

  errors& found_;
  import_log& log_;
  const import_options& options_;
  objects_by_kind objects_;
  live_nodes nodes_;
  /// By namespace and owner.
  std::map<std::pair<std::string, controller>, owned_pods> owned_;
  /// In thousandths.
  using bounds_by_device = std::map<std::string, std::int64_t>;
  /// By namespace.
  std::map<std::string, bounds_by_device> bounds_;
  std::optional<json_document> quotas_file_;
  std::set<std::string> names_of_file_;
  vector<std::string> resources_;
  /// The scenario's resources, by device.
  std::map<std::string, std::string, std::less<>> dimensions_;
  std::set<std::string> ids_;
  pod_notes notes_;
  named_count others_;
  named_count others_waiting_;
  live_jobs jobs_;
};

}  // namespace

std::string make_kubernetes_scenario(json_value root, errors& found, import_log& log,
                                     const import_options& options) {
  return kubernetes_importer{root, found, log, options}.run();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

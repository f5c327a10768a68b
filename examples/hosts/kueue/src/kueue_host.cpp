// SPDX-License-Identifier: BSL-1.0
#include "kueue_host.hpp"

#include <allot/core/pod_counts.hpp>
#include <allot/lab/json_writer.hpp>
#include <allot/lab/quotas_file.hpp>
#include <allot/lab/timestamp.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace allot_kueue {

namespace json = boost::json;

using allot::lab::kueue_standing;
using allot_governor::command;
using allot_governor::job_report;
using stage = job_report::stage;
using result = allot_governor::outcome;

namespace {

constexpr std::string_view kueue_version = "kueue.x-k8s.io/v1beta2";

[[nodiscard]] const resource& workloads() {
  static const resource of{std::string{kueue_version}, "Workload", "workloads"};
  return of;
}

/// What the quotas come from.
[[nodiscard]] std::vector<resource> configuration_kinds() {
  const std::string kueue{kueue_version};
  return {{kueue, "ClusterQueue", "clusterqueues"},
          {kueue, "Cohort", "cohorts"},
          {kueue, "LocalQueue", "localqueues"},
          {kueue, "ResourceFlavor", "resourceflavors"},
          {kueue, "Topology", "topologies"},
          {kueue, "AdmissionCheck", "admissionchecks"},
          {kueue, "WorkloadPriorityClass", "workloadpriorityclasses"},
          {"scheduling.k8s.io/v1", "PriorityClass", "priorityclasses"},
          {"v1", "Namespace", "namespaces"}};
}

[[nodiscard]] const json::array& list_at(const json::object& from,
                                         std::initializer_list<std::string_view> path) {
  static const json::array none;
  const json::object* at = &from;
  for (const std::string_view key : path) {
    const json::value* const v = at->if_contains(key);
    if (v == nullptr) return none;
    if (const json::array* const list = v->if_array()) return *list;
    at = v->if_object();
    if (at == nullptr) return none;
  }
  return none;
}

[[nodiscard]] const json::object* object_at(const json::object& from, std::string_view key) {
  const json::value* const v = from.if_contains(key);
  return v == nullptr ? nullptr : v->if_object();
}

[[nodiscard]] const json::object* condition(const json::object& workload, std::string_view type) {
  for (const json::value& c : list_at(workload, {"status", "conditions"})) {
    const json::object* const o = c.if_object();
    if (o != nullptr && text_at(*o, {"type"}) == type) return o;
  }
  return nullptr;
}
[[nodiscard]] bool is_true(const json::object& workload, std::string_view type) {
  const json::object* const c = condition(workload, type);
  return c != nullptr && text_at(*c, {"status"}) == "True";
}

/// Versions are numbers that grow, as the API promises since 1.35 and etcd has always had it.
[[nodiscard]] std::uint64_t number_of(std::string_view version) {
  std::uint64_t n = 0;
  std::from_chars(version.data(), version.data() + version.size(), n);
  return n;
}

/// The order of their submission, in seconds as the API has it; in a second the first digits of their uids.
[[nodiscard]] std::uint64_t rank_of(instant submitted, std::string_view uid) {
  std::uint32_t digits = 0;
  std::from_chars(uid.data(), uid.data() + std::min<std::size_t>(uid.size(), 8), digits, 16);
  return static_cast<std::uint64_t>(submitted / 1000) << 32U | digits;
}

/// Conditions as they will be: all that are there but our own, which is applied under our own name.
class conditions {
 public:
  conditions(const json::object& workload, const moment& now)
      : all_(list_at(workload, {"status", "conditions"})), time_(time_text(now.wall)) {
    all_.erase(std::remove_if(all_.begin(), all_.end(),
                              [](const json::value& c) {
                                return c.is_object() &&
                                       text_at(c.get_object(), {"type"}) == waiting_condition;
                              }),
               all_.end());
    const json::object* const meta = object_at(workload, "metadata");
    if (const json::value* const g = meta == nullptr ? nullptr : meta->if_contains("generation"))
      generation_ = *g;
  }

  void set(std::string_view type, bool is, std::string_view reason, std::string_view message) {
    const std::string_view status = is ? "True" : "False";
    json::object* at = find(type);
    if (at == nullptr) {
      all_.emplace_back(json::object{});
      at = &all_.back().get_object();
      (*at)["type"] = type;
    }
    if (text_at(*at, {"status"}) != status) (*at)["lastTransitionTime"] = time_;
    (*at)["status"] = status;
    (*at)["reason"] = reason;
    (*at)["message"] = message;
    if (!generation_.is_null()) (*at)["observedGeneration"] = generation_;
  }
  /// If it is True.
  void end(std::string_view type, std::string_view reason) {
    const json::object* const at = find(type);
    if (at == nullptr || text_at(*at, {"status"}) != "True") return;
    set(type, false, reason, "Previously: " + std::string{text_at(*at, {"message"})});
  }
  [[nodiscard]] json::array take() { return std::move(all_); }

 private:
  [[nodiscard]] json::object* find(std::string_view type) {
    for (json::value& c : all_) {
      if (c.is_object() && text_at(c.get_object(), {"type"}) == type) return &c.get_object();
    }
    return nullptr;
  }

  json::array all_;
  std::string time_;
  json::value generation_{};
};

/// One that has lost its lease in the meantime must not be answered later.
constexpr instant write_timeout = 4000;
/// Of writes, how many are under way: Kueue's webhooks look at each, and all of them must be answered in that
/// time. Beside admissions, only a few of those that no decision waits for.
constexpr std::size_t at_once = 32;
constexpr std::size_t asides_at_once = 4;

/// Server-side apply of a part of the status. With a version, only if the object still has it.
[[nodiscard]] request apply_status(const json::object& workload, json::object status,
                                   std::string_view manager, std::string_view version) {
  request r = patch_status_apply(workloads(), name_of(workload), std::move(status), manager, version,
                                 contested::taken);
  r.timeout = write_timeout;
  return r;
}

/// Kueue writes admissions by server-side apply under this name. What is applied under it is Kueue's to take
/// away after an eviction; what it has applied before and is left out is removed.
constexpr std::string_view kueue_manager = "kueue-admission";

/// What Kueue has applied besides admission and conditions.
[[nodiscard]] json::object kept_status(const json::object& workload) {
  json::object kept;
  const json::object* const status = object_at(workload, "status");
  if (status == nullptr) return kept;
  for (const char* const key : {"admission", "requeueState", "accumulatedPastExecutionTimeSeconds",
                                "schedulingStats", "admissionChecks"}) {
    if (const json::value* const v = status->if_contains(key)) kept[key] = *v;
  }
  return kept;
}

/// The checks that have not agreed yet.
[[nodiscard]] std::string unready_checks(const json::object& workload) {
  std::string names;
  for (const json::value& c : list_at(workload, {"status", "admissionChecks"})) {
    const json::object* const o = c.if_object();
    if (o == nullptr || text_at(*o, {"state"}) == "Ready") continue;
    names.append(names.empty() ? "" : ", ").append(text_at(*o, {"name"}));
  }
  return names;
}

/// It runs with what it was admitted with, whatever it could have.
[[nodiscard]] allot_governor::facts what_it_holds(const allot::lab::job_entry& j, std::uint64_t rank) {
  allot_governor::facts f = allot_governor::facts_of(j, rank);
  f.min_pods = 0;
  const std::uint32_t runs = j.running_pods;
  if (f.pods.total || runs >= f.pods.pods || runs == 0) return f;
  if (f.sets.empty()) {
    for (std::size_t d = 0; d < allot_governor::dimensions; ++d)
      f.request[d] = allot::quantity::milli(f.request[d].in_milli() / f.pods.pods) * std::int64_t{runs};
    f.pods.pods = runs;
    return f;
  }
  std::uint32_t less = f.pods.pods - runs;
  for (auto& s : f.sets) {
    const std::uint32_t here = std::min(less, s.pods.pods - s.pods.fewest());
    f.request -= s.request * std::int64_t{here};
    s.pods.pods -= here;
    s.pods.min_pods = 0;
    less -= here;
  }
  f.pods.pods = runs;
  return f;
}

/// Whether what was asked may still be carried out, or was not for the version that it was for.
[[nodiscard]] bool is_open(outcome::kind k) {
  return k == outcome::kind::away || k == outcome::kind::too_many_requests || k == outcome::kind::conflict;
}

/// All pods of each of its sets.
[[nodiscard]] allot::pods_by_set all_pods(const allot_governor::facts& f) {
  allot::pods_by_set pods{};
  if (f.sets.empty()) pods[0] = f.pods.pods;
  for (std::size_t s = 0; s < f.sets.size(); ++s) pods[s] = f.sets[s].pods.pods;
  return pods;
}

/// Why its pods are not placed on nodes, though it is known what they ask for.
[[nodiscard]] std::string why_not_placed(const json::object& workload) {
  constexpr const char* replaced = "kueue.x-k8s.io/workload-slice-replacement-for";
  if (const json::object* const meta = object_at(workload, "metadata")) {
    const json::object* const notes = object_at(*meta, "annotations");
    if (notes != nullptr && notes->contains(replaced))
      return "it takes the place of another Workload's pods, and allot-kueue does not place such (elastic) "
             "ones";
  }
  for (const json::value& c : list_at(workload, {"status", "admissionChecks"})) {
    if (!list_at(c.as_object(), {"podSetUpdates"}).empty())
      return "an admission check changes what its pods ask of nodes, which allot-kueue does not read";
  }
  return {};
}

/// Kueue's word for a preemption, in the condition Preempted.
[[nodiscard]] std::string_view preemption_word(allot::relation how) {
  switch (how) {
    case allot::relation::borrower:
      return "InCohortReclamation";
    case allot::relation::rival:
      return "InCohortFairSharing";
    default:
      return "InClusterQueue";
  }
}

/// Messages of conditions have at most 32 KiB; nobody reads that much.
[[nodiscard]] std::string cut(std::string text) {
  constexpr std::size_t most = 1000;
  if (text.size() > most) text.replace(most - 3, std::string::npos, "...");
  return text;
}

}  // namespace

/// The objects of a kind, as texts.
class kueue_host::configuration_handler final : public object_handler {
 public:
  configuration_handler(kueue_host& of, std::string kind) : of_(of), kind_(std::move(kind)) {}
  void on_set(json::object object) override {
    const std::string name = name_of(object).text();
    object["kind"] = kind_;
    std::string text = json::serialize(object);
    std::string relevant = allot::lab::relevant_part(text);
    described& known = of_.configuration_[kind_][name];
    const bool is_same = known.relevant == relevant;
    known = {std::move(text), std::move(relevant)};
    if (is_same) return;
    of_.is_reread_ = true;
  }
  void on_gone(const object_name& name, std::string_view) override {
    if (of_.configuration_[kind_].erase(name.text()) != 0) of_.is_reread_ = true;
  }
  void on_synced() override {}

 private:
  kueue_host& of_;
  std::string kind_;
};

class kueue_host::workload_handler final : public object_handler {
 public:
  explicit workload_handler(kueue_host& of) : of_(of) {}
  void on_set(json::object object) override { of_.set_workload(std::move(object)); }
  void on_gone(const object_name& name, std::string_view version) override {
    const std::string text = name.text();
    // An answer to a request of ours may have said more by now: that another one has its name.
    const auto at = of_.workloads_.find(text);
    if (at != of_.workloads_.end() && number_of(version) < number_of(at->second.version)) return;
    of_.workloads_.erase(text);
    of_.changed_.erase(text);
    of_.gone_.insert(text);
  }
  void on_synced() override {}

 private:
  kueue_host& of_;
};

class kueue_host::node_handler final : public object_handler {
 public:
  explicit node_handler(kueue_host& of) : of_(of) {}
  void on_set(json::object object) override {
    const std::string name = name_of(object).text();
    // Kubelets say every few seconds that they are there.
    std::string text = json::serialize(relevant_part(object));
    std::string& known = texts_[name];
    if (known == text) return;
    known = std::move(text);
    of_.topology_.set_node(name, known);
    of_.are_nodes_news_ = true;
  }
  void on_gone(const object_name& name, std::string_view) override {
    texts_.erase(name.text());
    of_.topology_.remove_node(name.text());
    of_.are_nodes_news_ = true;
  }
  void on_synced() override {}

 private:
  [[nodiscard]] static json::object relevant_part(const json::object& node) {
    const auto some = [](const json::object* from, std::initializer_list<const char*> keys) {
      json::object to;
      for (const char* const key : keys) {
        if (const json::value* const v = from == nullptr ? nullptr : from->if_contains(key)) to[key] = *v;
      }
      return to;
    };
    json::object status = some(object_at(node, "status"), {"allocatable", "capacity"});
    if (const json::object* const ready = condition(node, "Ready"))
      status["conditions"] = json::array{some(ready, {"type", "status"})};
    return {{"kind", "Node"},
            {"metadata", some(object_at(node, "metadata"), {"name", "labels"})},
            {"spec", some(object_at(node, "spec"), {"taints", "unschedulable"})},
            {"status", std::move(status)}};
  }

  kueue_host& of_;
  std::map<std::string, std::string> texts_{};
};

class kueue_host::pod_handler final : public object_handler {
 public:
  explicit pod_handler(kueue_host& of) : of_(of) {}
  void on_set(json::object object) override {
    of_.topology_.set_pod(name_of(object).text(), json::serialize(object));
    of_.are_nodes_news_ = true;
  }
  void on_gone(const object_name& name, std::string_view) override {
    of_.topology_.remove_pod(name.text());
    of_.are_nodes_news_ = true;
  }
  void on_synced() override {}

 private:
  kueue_host& of_;
};

/// Objects of a kind, and who is told of them.
struct kueue_host::watched {
  watched(api_server& server, const resource& what, std::unique_ptr<object_handler> to, std::uint64_t seed)
      : handler(std::move(to)), watches(server, what, *handler, {.seed = seed}) {}

  std::unique_ptr<object_handler> handler;
  reflector watches;
};

kueue_host::kueue_host(api_server& server, kueue_host_options options)
    : server_(server),
      options_(std::move(options)),
      on_workloads_(std::make_unique<watched>(server, workloads(), std::make_unique<workload_handler>(*this),
                                              options_.seed)),
      events_(server, {.component = options_.name, .instance = options_.instance, .seed = options_.seed}),
      aside_backoff_(options_.seed) {
  for (const resource& of : configuration_kinds())
    on_configuration_.push_back(
        std::make_unique<watched>(server, of, std::make_unique<configuration_handler>(*this, of.kind),
                                  options_.seed + on_configuration_.size() + 1));
}

kueue_host::~kueue_host() {
  for (const auto& [name, a] : asides_) server_.drop(a.sent);
}

void kueue_host::step(const moment& now) {
  now_ = now;
  for (const auto& k : on_configuration_) k->watches.step(now);
  on_workloads_->watches.step(now);
  events_.step(now);
  take_asides();
  if (is_reread_ && is_synced()) reread_configuration();
  for (const auto& n : on_nodes_) n->watches.step(now);
}

std::vector<const reflector*> kueue_host::watches() const {
  std::vector<const reflector*> all{&on_workloads_->watches};
  for (const auto& k : on_configuration_) all.push_back(&k->watches);
  for (const auto& n : on_nodes_) all.push_back(&n->watches);
  return all;
}

instant kueue_host::due() const {
  instant at = events_.due();
  const bool has_asides = !to_tidy_.empty() || !to_tell_.empty();
  if (has_asides && asides_not_before_ > now_.steady) at = std::min(at, asides_not_before_);
  for (const reflector* const w : watches()) at = std::min(at, w->due());
  return at;
}

bool kueue_host::is_synced() const {
  const auto all = watches();
  return std::all_of(all.begin(), all.end(), [](const reflector* w) { return w->is_synced(); });
}

std::string kueue_host::problem() const {
  std::string text;
  for (const reflector* const w : watches()) {
    if (text.empty() && w->stale_since()) text = w->problem();
  }
  if (text.empty() && !is_synced()) return "not everything has been read yet";
  return text.empty() ? problem_ : text;
}

std::vector<std::string> kueue_host::notes() const {
  std::vector<std::string> all = notes_;
  all.insert(all.end(), topology_.notes().begin(), topology_.notes().end());
  return all;
}

void kueue_host::tell_all_again() {
  for (const auto& [name, w] : workloads_) changed_.insert(name);
  gone_.clear();
  // What another governor decided is not to be decided again.
  in_doubt_.clear();
  to_tidy_.clear();
  to_tell_.clear();
  are_quotas_news_ = cluster_.has_value();
  told_machines_.clear();
  topology_.tell_all_usage();
}

/// What is older than what is known already, an answer to a request of ours, comes late.
void kueue_host::set_workload(json::object object) {
  const std::string name = name_of(object).text();
  if (json::value* const meta = object.if_contains("metadata"); meta != nullptr && meta->is_object())
    meta->get_object().erase("managedFields");
  const std::string version{text_at(object, {"metadata", "resourceVersion"})};
  const auto at = workloads_.find(name);
  if (at != workloads_.end() && number_of(version) <= number_of(at->second.version)) return;
  std::string text = json::serialize(object);
  workloads_[name] = {std::move(object), std::move(text), version};
  gone_.erase(name);
  changed_.insert(name);
}

/// Reads the quotas again. Those before stay in force if they can't be read.
void kueue_host::reread_configuration() {
  is_reread_ = false;
  served_.clear();
  std::map<std::string, std::set<std::string>> governed_of_root;
  std::map<std::string, std::set<std::string>> others_of_root;
  std::vector<std::string> not_on_hold;
  const auto object_of = [](const std::string& text) {
    const auto o = parse_object(text);
    return o ? *o : json::object{};
  };
  std::map<std::string, std::string> parent_of;
  for (const auto& [name, cohort] : configuration_["Cohort"])
    parent_of[name] = std::string{text_at(object_of(cohort.text), {"spec", "parentName"})};
  const auto root_of = [&](std::string cohort) {
    for (std::size_t i = 0; i < parent_of.size(); ++i) {
      const auto up = parent_of.find(cohort);
      if (up == parent_of.end() || up->second.empty()) break;
      cohort = up->second;
    }
    return cohort;
  };
  for (const auto& [name, queue] : configuration_["ClusterQueue"]) {
    const json::object q = object_of(queue.text);
    const json::object* const meta = object_at(q, "metadata");
    const json::object* const labels = meta == nullptr ? nullptr : object_at(*meta, "labels");
    const bool is_labelled = labels != nullptr && labels->contains(options_.label);
    const bool is_served = is_labelled && text_at(q, {"spec", "stopPolicy"}) == "Hold";
    if (is_served) served_.insert(name);
    if (is_labelled && !is_served) {
      const std::string_view policy = text_at(q, {"spec", "stopPolicy"});
      not_on_hold.push_back("ClusterQueue " + name + " is not governed: its stopPolicy is " +
                            std::string{policy.empty() ? "None" : policy} + ", and not Hold");
    }
    const std::string cohort = root_of(std::string{text_at(q, {"spec", "cohortName"})});
    if (!cohort.empty()) (is_served ? governed_of_root : others_of_root)[cohort].insert(name);
  }
  std::vector<allot::lab::kueue_object> all;
  for (const auto& [what, objects] : configuration_) {
    for (const auto& [name, o] : objects) all.push_back({what, name, o.text});
  }
  allot::lab::errors found;
  auto made =
      allot::lab::kueue_cluster::make(all,
                                      {.policy = options_.policy,
                                       .quota_check_strategy = options_.quota_check_strategy,
                                       .serves = [this](std::string_view name) { return serves(name); }},
                                      found);
  problem_ = made ? std::string{} : "the quotas can't be read: " + found.to_string();
  while (problem_.ends_with('\n')) problem_.pop_back();
  if (!made) return;
  cluster_ = std::move(made);
  reread_topologies();
  notes_.assign(cluster_->notes().begin(), cluster_->notes().end());
  notes_.insert(notes_.end(), not_on_hold.begin(), not_on_hold.end());
  for (const auto& [root, governed] : governed_of_root) {
    const auto others = others_of_root.find(root);
    if (others == others_of_root.end()) continue;
    const auto names = [](const auto& some) {
      std::string text;
      for (const std::string& one : some) text += (text.empty() ? "" : ", ") + one;
      return text;
    };
    notes_.push_back("cohort " + root + ": allot governs " + names(governed) + ", and not " +
                     names(others->second) +
                     ": Kueue admits there at the same time, and may use what is lent here (label all "
                     "of a cohort, or none)");
  }
  if (quotas_text_ != cluster_->text()) {
    quotas_text_ = cluster_->text();
    are_quotas_news_ = true;
  }
  for (const auto& [name, w] : workloads_) changed_.insert(name);
}

/// Nodes and Pods are read if pods are to be placed on nodes, and else are no business of ours.
void kueue_host::reread_topologies() {
  topology::names flavors;
  for (const std::string& name : served_) {
    const auto queue = parse_object(configuration_["ClusterQueue"].at(name).text);
    for (const json::value& g : list_at(*queue, {"spec", "resourceGroups"})) {
      for (const json::value& f : list_at(g.as_object(), {"flavors"}))
        flavors.emplace(text_at(f.as_object(), {"name"}));
    }
  }
  const auto all = [this](const char* what) {
    return [this, what](const auto& visit) {
      for (const auto& [name, o] : configuration_[what]) visit(name, o.text);
    };
  };
  const bool was_needed = topology_.is_needed();
  if (topology_.configure(flavors, all("ResourceFlavor"), all("Topology"))) are_quotas_news_ = true;
  topology_.begin_demands();
  if (topology_.is_needed() == was_needed) return;
  on_nodes_.clear();
  topology_.forget_all();
  if (was_needed) return;
  const auto watch = [this](const resource& what, std::unique_ptr<object_handler> to) {
    const std::uint64_t seed = options_.seed + on_configuration_.size() + on_nodes_.size() + 1;
    on_nodes_.push_back(std::make_unique<watched>(server_, what, std::move(to), seed));
  };
  watch({"v1", "Node", "nodes"}, std::make_unique<node_handler>(*this));
  watch({"v1", "Pod", "pods"}, std::make_unique<pod_handler>(*this));
}

/// A write without an answer is sent again until there is one, or until the Workload has another version: it
/// may be carried out late, whatever the Workload looks like until then.
void kueue_host::settle_doubts() {
  const auto close = [&] {
    std::erase_if(in_doubt_, [&](const auto& d) {
      const auto at = workloads_.find(d.first);
      const bool is_open = at != workloads_.end() && at->second.version == d.second.version;
      if (!is_open) changed_.insert(d.first);
      return !is_open;
    });
  };
  close();
  if (in_doubt_.empty() || !options_.may_write()) return;
  std::vector<request> requests;
  for (const auto& [name, d] : in_doubt_) {
    requests.push_back(d.is_refused ? get(workloads(), name_of(workloads_.at(name).object)) : d.sent);
    requests.back().timeout = write_timeout;
  }
  const auto answers = ask_all(std::move(requests));
  auto answer = answers.begin();
  for (auto at = in_doubt_.begin(); at != in_doubt_.end();) {
    doubt& d = at->second;
    const std::optional<response>& said = *answer++;
    outcome o = said ? outcome_of(*said) : outcome{outcome::kind::away};
    if (o) set_workload(std::move(o.object));
    const bool is_read = o && std::exchange(d.is_refused, false);
    if (o.is == outcome::kind::conflict) d.is_refused = true;
    if (is_read || is_open(o.is)) {
      ++at;
      continue;
    }
    changed_.insert(at->first);
    at = in_doubt_.erase(at);
  }
  close();
}

result kueue_host::poll(allot_governor::changes& to) {
  if (!is_synced()) return {result::kind::away, problem()};
  // What is known may be out of date: what has changed is told when that is over.
  const reflector& workloads = on_workloads_->watches;
  if (workloads.stale_since()) return {result::kind::away, workloads.problem()};
  if (!cluster_) return {result::kind::away, problem()};
  if (std::exchange(are_quotas_news_, false)) {
    auto reading = allot::lab::parse_quotas_file(quotas_text_, "the cluster", {});
    if (reading.value) {
      const bool places = topology_.is_needed();
      to.quotas.emplace(allot_governor::governed_quotas{.file = std::move(*reading.value),
                                                        .text = quotas_text_,
                                                        .places_jobs = places,
                                                        .has_other_machines = places});
    } else {
      problem_ = reading.problems.front();
    }
  }
  const std::size_t doubts = in_doubt_.size();
  settle_doubts();
  if (in_doubt_.size() < doubts) topology_.tell_usage_again();
  if (std::exchange(are_nodes_news_, false)) changed_.insert(stopping_.begin(), stopping_.end());
  const auto note_all = [this] {
    for (const auto& [name, w] : workloads_) changed_.insert(name);
  };
  if (topology_.is_needed() && topology_.sort_into_pools()) note_all();
  for (const std::string& name : std::exchange(gone_, {})) {
    topology_.leave(name);
    held_.erase(name);
    stopping_.erase(name);
    to.gone.push_back(name);
  }
  report_changed(to);
  if (!topology_.is_needed()) return {};
  // What nodes are for, and so what is asked of them, may be told otherwise from now on.
  if (topology_.sort_into_pools()) {
    note_all();
    report_changed(to);
  }
  if (told_machines_ != topology_.machines()) {
    to.machines = told_machines_ = topology_.machines();
    to.levels = topology_.levels();
  }
  topology_.tell_usage(to);
  return {};
}

void kueue_host::report_changed(allot_governor::changes& to) {
  for (const std::string& name : std::exchange(changed_, {})) {
    // Before that it is as it was.
    if (in_doubt_.count(name) != 0) continue;
    if (auto j = report(name)) to.jobs.push_back(std::move(*j));
  }
}

/// Kueue takes the admission of who is evicted away while pods still stop: their nodes are not free.
bool kueue_host::stops(const job_report& j, kueue_standing standing) {
  const auto held = held_.find(j.name);
  const bool is_it = held != held_.end() && held->second.uid == j.uid &&
                     standing != kueue_standing::finished && topology_.has_pods(j.name);
  is_it ? void(stopping_.insert(j.name)) : void(stopping_.erase(j.name));
  if (is_it) return true;
  if (held != held_.end()) held_.erase(held);
  topology_.leave(j.name);
  return false;
}

std::optional<job_report> kueue_host::report(const std::string& name) {
  const auto at = workloads_.find(name);
  if (at == workloads_.end()) return std::nullopt;
  const workload& w = at->second;
  const allot::lab::kueue_reading r = cluster_->read(w.text, now_.wall);
  job_report j;
  j.name = name;
  j.uid = text_at(w.object, {"metadata", "uid"});
  j.account = r.cluster_queue;
  j.title = name;
  for (const json::value& owner : list_at(w.object, {"metadata", "ownerReferences"})) {
    if (const json::object* const o = owner.if_object())
      j.title = std::string{text_at(*o, {"kind"})} + ' ' + std::string{text_at(*o, {"name"})};
    break;
  }
  if (is_true(w.object, waiting_condition))
    j.said = text_at(*condition(w.object, waiting_condition), {"message"});
  const std::uint64_t rank = r.job ? rank_of(r.job->submit, j.uid) : 0;
  const bool is_served = serves(r.cluster_queue);
  const auto made = allot::lab::parse_timestamp(text_at(w.object, {"metadata", "creationTimestamp"}));
  j.submitted = r.job ? r.job->submit : made.value_or(now_.wall);
  if (r.standing != kueue_standing::holds && stops(j, r.standing)) {
    job_report still = held_.at(name);
    still.at = stage::leaving;
    still.said = j.said;
    return still;
  }
  switch (r.standing) {
    case kueue_standing::finished:
      j.at = stage::ended;
      return j;
    case kueue_standing::holds: {
      const bool leaves = r.job && r.job->phase == allot::lab::job_phase::evicting;
      j.at = leaves ? stage::leaving : is_true(w.object, "Admitted") ? stage::running : stage::starting;
      if (r.job) {
        j.has = what_it_holds(*r.job, rank);
        if (topology_.is_needed())
          topology_.stand(*j.has, j.where, name, r,
                          list_at(w.object, {"status", "admission", "podSetAssignments"}));
        j.started = r.job->start;
        // Whoever admits there has the say.
        if (!is_served) j.has->preemptible = false;
      }
      // See `tidying`; of those that just run there is nothing to do.
      const bool is_in_trouble =
          is_true(w.object, "Evicted") || !list_at(w.object, {"status", "unhealthyNodes"}).empty();
      if (!j.said.empty() || (is_served && is_in_trouble)) to_tidy_.insert(name);
      if (!j.where.empty()) held_[name] = j;
      break;
    }
    case kueue_standing::pending:
      if (const std::string checks = unready_checks(w.object); !checks.empty())
        j.blocked = "its admission checks have not agreed yet: " + checks;
      break;
    case kueue_standing::inadmissible:
    case kueue_standing::malformed:
      j.refused = r.why;
      break;
    case kueue_standing::backs_off:
      j.not_ready = r.why;
      if (!r.job) j.blocked = r.why;
      break;
    case kueue_standing::not_served:
      j.is_governed = false;
      if (!j.said.empty()) to_tidy_.insert(name);
      break;
    case kueue_standing::no_pods:
      // It needs nothing, and nobody need decide: see `tidying`.
      j.blocked = r.why;
      if (is_served) to_tidy_.insert(name);
      if (is_true(w.object, "QuotaReserved")) j.at = stage::ended;
      break;
    default:
      j.blocked = r.why;
      break;
  }
  if (j.at == stage::waiting && j.is_governed && !is_served && j.blocked.empty()) j.is_governed = false;
  if (j.at == stage::waiting && r.job) {
    j.what = allot_governor::facts_of(*r.job, rank);
    // Kueue decides once with how many pods it runs; a policy that lets jobs grow later can't do that here.
    const std::string& preset = cluster_->scenario().policy.preset;
    if (preset != "kueue" && preset != "kueue_fair") {
      j.what->min_pods = 0;
      for (auto& s : j.what->sets) s.pods.min_pods = 0;
    }
    if (topology_.is_needed() && is_served) {
      const auto first = cluster_->assign(w.text, {}, all_pods(*j.what), now_.wall);
      std::string why = first ? topology_.ask(*j.what, r, {first->data(), first->size()})
                              : "it is not known which flavors it would get";
      if (why.empty() && topology::places(*j.what)) why = why_not_placed(w.object);
      if (j.refused.empty()) j.refused = std::move(why);
    }
  }
  if (j.at == stage::waiting && !j.what && j.refused.empty() && j.blocked.empty() && j.is_governed)
    j.refused = "it can't be read";
  return j;
}

std::optional<request> kueue_host::request_for(const command& c, std::string& problem) {
  const auto at = workloads_.find(c.job->name);
  if (at == workloads_.end() || text_at(at->second.object, {"metadata", "uid"}) != c.job->uid) {
    problem = "it is gone";
    return std::nullopt;
  }
  const workload& w = at->second;
  if (c.is == command::kind::start) {
    allot::pods_by_set pods{};
    pods[0] = c.admission.pods;
    std::copy(c.admission.pods_of_sets.begin(), c.admission.pods_of_sets.end(), pods.begin());
    auto r = admission(w, c.job->account, c.admission.pick, pods, &c);
    if (!r) problem = "it has changed since it was read";
    return r;
  }
  return eviction(w, "Preempted", cut(c.why.for_users), preemption_word(c.how));
}

/// `how` is that of a preemption.
request kueue_host::eviction(const workload& w, std::string_view reason, const std::string& message,
                             std::string_view how) const {
  conditions say{w.object, now_};
  json::object status = kept_status(w.object);
  say.set("Evicted", true, reason, message);
  if (!how.empty()) say.set("Preempted", true, how, message);
  status["conditions"] = say.take();
  return apply_status(w.object, std::move(status), kueue_manager, w.version);
}

std::optional<request> kueue_host::admission(const workload& w, const std::string& queue,
                                             const allot::flavor_pick& pick, const allot::pods_by_set& pods,
                                             const command* of) {
  const auto assigned = cluster_->assign(w.text, pick, pods, now_.wall);
  if (!assigned) return std::nullopt;
  allot::lab::json_writer text;
  allot::lab::write_assignments({assigned->data(), assigned->size()}, text);
  json::array sets = json::parse(text.text()).as_array();
  if (of != nullptr && topology_.is_needed() &&
      (!of->job->what || !topology_.assign(sets, *of->job->what, of->admission))) {
    return std::nullopt;
  }
  conditions say{w.object, now_};
  json::object status = kept_status(w.object);
  status["admission"] = json::object{{"clusterQueue", queue}, {"podSetAssignments", std::move(sets)}};
  say.set("QuotaReserved", true, "QuotaReserved",
          "Quota reserved in ClusterQueue " + queue + " by " + options_.name);
  say.set("Admitted", true, "Admitted", "The workload is admitted");
  for (const char* const type : {"Evicted", "Preempted"}) say.end(type, "QuotaReserved");
  status["conditions"] = say.take();
  return apply_status(w.object, std::move(status), kueue_manager, w.version);
}

json::object kueue_host::waiting(bool is, std::string_view reason, std::string message,
                                 const json::object& w) const {
  const std::string_view status = is ? "True" : "False";
  const json::object* const before = condition(w, waiting_condition);
  const bool is_same = before != nullptr && text_at(*before, {"status"}) == status;
  return {{"type", waiting_condition},
          {"status", status},
          {"reason", reason},
          {"message", std::move(message)},
          {"lastTransitionTime",
           is_same ? std::string{text_at(*before, {"lastTransitionTime"})} : time_text(now_.wall)}};
}

void kueue_host::take_answer(command& c, doubt d, const response& answer) {
  outcome o = outcome_of(answer);
  using is = outcome::kind;
  switch (o.is) {
    case is::done:
      set_workload(std::move(o.object));
      break;
    case is::not_found:
    case is::gone:
      c.result = {result::kind::too_late, o.text};
      return;
    case is::conflict:
      // Perhaps by a write of ours whose answer was lost.
    case is::away:
    case is::too_many_requests:
      d.is_refused = o.is == is::conflict;
      c.result = {d.is_refused ? result::kind::in_doubt : result::kind::away, o.text};
      in_doubt_[c.job->name] = std::move(d);
      return;
    default:
      c.result = {result::kind::refused, o.text};
      return;
  }
  const auto at = workloads_.find(c.job->name);
  if (at == workloads_.end()) return;
  if (c.is == command::kind::start)
    tell_event(at->second, "Normal", "Admitted",
               "Admitted by ClusterQueue " + c.job->account +
                   (c.borrows.empty() ? "" : ", which borrows " + c.borrows));
  if (c.is == command::kind::stop) tell_event(at->second, "Normal", "Preempted", cut(c.why.for_users));
  c.after = report(c.job->name);
}

std::vector<std::optional<response>> kueue_host::ask_all(std::vector<request> requests) {
  return ask(server_, std::move(requests), at_once, [this] { return options_.may_write(); });
}

void kueue_host::carry_out(std::span<command> all) {
  std::vector<request> requests;
  std::vector<std::pair<command*, doubt>> of;
  const bool may_write = options_.may_write();
  constexpr const char* no_leader = "another one governs";
  for (command& c : all) {
    if (c.is == command::kind::explain) {
      to_tell_[c.job->name] = c.why;
      continue;
    }
    to_tell_.erase(c.job->name);
    std::string problem = no_leader;
    auto r = may_write ? request_for(c, problem) : std::nullopt;
    if (!r) {
      c.result = {result::kind::too_late, problem};
      c.after = report(c.job->name);
      continue;
    }
    of.push_back({&c, {*r, workloads_.at(c.job->name).version}});
    requests.push_back(std::move(*r));
  }
  writes_ += requests.size();
  const auto answers = ask_all(std::move(requests));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i]) {
      take_answer(*of[i].first, std::move(of[i].second), *answers[i]);
    } else {
      of[i].first->result = {result::kind::too_late, no_leader};
    }
  }
}

/// If it is still said to wait.
std::optional<request> kueue_host::end_of_waiting(const workload& w, std::string_view reason,
                                                  std::string message) const {
  if (!is_true(w.object, waiting_condition)) return std::nullopt;
  json::object status{{"conditions", {waiting(false, reason, std::move(message), w.object)}}};
  return apply_status(w.object, std::move(status), options_.name, {});
}

std::optional<request> kueue_host::tidying(const workload& w) {
  const allot::lab::kueue_reading r = cluster_->read(w.text, now_.wall);
  if (!serves(r.cluster_queue)) {
    return end_of_waiting(w, "NotGoverned", "allot does not govern its ClusterQueue any more");
  }
  if (!is_true(w.object, "QuotaReserved")) {
    // Evicted as its last pods succeeded: its Job ends when it goes on.
    if (r.standing != kueue_standing::no_pods || !unready_checks(w.object).empty()) return std::nullopt;
    return admission(w, r.cluster_queue, {}, {});
  }
  if (!is_true(w.object, "Evicted")) {
    if (const json::array& lost = list_at(w.object, {"status", "unhealthyNodes"}); !lost.empty()) {
      // Kueue's scheduler replaces such nodes, or does this.
      const std::string node{text_at(lost.front().as_object(), {"name"})};
      return eviction(w, "NodeFailures", "The node " + node + " that it was assigned has failed");
    }
    // Not with the admission: a condition that two managers apply can be removed by neither, and Kueue could
    // not take the admission away.
    return end_of_waiting(w, "Admitted", "it was admitted");
  }
  // Nobody else does, of a Workload that no controller has made.
  if (!list_at(w.object, {"metadata", "ownerReferences"}).empty()) return std::nullopt;
  conditions say{w.object, now_};
  say.set("QuotaReserved", false, "Pending", "It was evicted");
  say.set("Admitted", false, "NoReservation", "It was evicted");
  json::object status = kept_status(w.object);
  status.erase("admission");
  status["conditions"] = say.take();
  return apply_status(w.object, std::move(status), kueue_manager, w.version);
}

/// If it still waits.
std::optional<request> kueue_host::telling(const workload& w, const allot_governor::explanation& why) {
  if (is_true(w.object, "QuotaReserved") || is_true(w.object, "Finished")) return std::nullopt;
  json::object status{
      {"conditions",
       {waiting(true, why.latest_start ? "Reserved" : "Waiting", cut(why.for_users), w.object)}}};
  return apply_status(w.object, std::move(status), options_.name, {});
}

void kueue_host::tidy() {
  if (to_tidy_.empty() && to_tell_.empty()) return;
  if (now_.steady < asides_not_before_ || !options_.may_write()) return;
  const auto send_some = [this](auto& names, auto name_at, auto request_for) {
    for (auto at = names.begin(); at != names.end() && asides_.size() < asides_at_once;) {
      const std::string& name = name_at(*at);
      // One at a time; the answer says what it is then.
      if (asides_.count(name) != 0 || in_doubt_.count(name) != 0) {
        ++at;
        continue;
      }
      const auto w = workloads_.find(name);
      aside a;
      if (auto r = w == workloads_.end() ? std::nullopt : request_for(w->second, *at, a)) {
        a.sent = server_.submit(std::move(*r));
        asides_.emplace(name, std::move(a));
        ++writes_;
      }
      at = names.erase(at);
    }
  };
  send_some(
      to_tidy_, [](const std::string& name) -> const std::string& { return name; },
      [this](const workload& w, const std::string&, aside&) { return tidying(w); });
  send_some(
      to_tell_, [](const auto& tells) -> const std::string& { return tells.first; },
      [this](const workload& w, const auto& tells, aside& a) {
        a.why = tells.second;
        if (const json::object* const said = condition(w.object, waiting_condition))
          a.reason_before = text_at(*said, {"reason"});
        return telling(w, tells.second);
      });
}

void kueue_host::take_asides() {
  for (auto at = asides_.begin(); at != asides_.end();) {
    const std::optional<response> answer = server_.take(at->second.sent);
    if (!answer) {
      ++at;
      continue;
    }
    const std::string name = at->first;
    const aside a = std::move(at->second);
    at = asides_.erase(at);
    outcome o = outcome_of(*answer);
    // One that is gone the watch tells.
    if (o.is == outcome::kind::not_found) continue;
    if (!o) {
      if (a.why) {
        to_tell_.emplace(name, *a.why);
      } else {
        to_tidy_.insert(name);
      }
      asides_not_before_ = now_.steady + aside_backoff_.after_failure(o.retry_after);
      continue;
    }
    aside_backoff_.reset();
    const json::object* const said = a.why ? condition(o.object, waiting_condition) : nullptr;
    // Numbers that change are in the condition alone.
    const bool is_news = said != nullptr && text_at(*said, {"reason"}) != a.reason_before;
    set_workload(std::move(o.object));
    const auto w = workloads_.find(name);
    if (is_news && w != workloads_.end()) tell_event(w->second, "Normal", "Waiting", cut(a.why->for_users));
  }
}

void kueue_host::tell_event(const workload& w, std::string_view type, std::string_view reason,
                            std::string_view message) {
  events_.tell({std::string{kueue_version}, "Workload", name_of(w.object),
                std::string{text_at(w.object, {"metadata", "uid"})}},
               type, reason, message, now_);
}

}  // namespace allot_kueue

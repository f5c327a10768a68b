// SPDX-License-Identifier: BSL-1.0
#include "lab/import/kueue_queues.hpp"

#include "lab/import/kueue_workload.hpp"
#include "lab/import/node_fit.hpp"

#include <cstddef>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// The label that every namespace has.
constexpr std::string_view name_label = "kubernetes.io/metadata.name";

}  // namespace

void kueue_queues::read(const kueue_flavors& flavors, resource_names& names) {
  for (const kubernetes_object& o : objects("Cohort")) read_queue(o, true, names);
  for (const kubernetes_object& o : objects("ClusterQueue")) read_queue(o, false, names);
  add_named_cohorts();
  cut_cycles();
  tell_names_apart();
  read_flavors(flavors);
  read_local_queues();
}

void kueue_queues::add_named_cohorts() {
  vector<std::string> implicit;
  for (const kueue_queue& q : queues_) {
    const auto is_it = [&](const kueue_queue& c) { return c.is_cohort && c.name == q.parent; };
    if (q.parent.empty() || std::any_of(queues_.begin(), queues_.end(), is_it)) continue;
    if (std::find(implicit.begin(), implicit.end(), q.parent) == implicit.end()) implicit.push_back(q.parent);
  }
  for (std::string& name : implicit) {
    kueue_queue cohort;
    cohort.name = std::move(name);
    cohort.is_cohort = true;
    queues_.insert(queues_.begin(), std::move(cohort));
  }
}

/// A ClusterQueue and a Cohort may have the same name; quotas may not.
void kueue_queues::tell_names_apart() {
  std::set<std::string_view> names;
  for (const kubernetes_object& o : objects("ClusterQueue")) names.insert(o.name);
  for (kueue_queue& q : queues_) {
    if (!q.parent.empty() && names.count(q.parent) > 0) q.parent = "cohort " + q.parent;
    if (!q.is_cohort || names.count(q.name) == 0) continue;
    log_.note("Cohort " + q.name, "called \"cohort " + q.name + "\", because a ClusterQueue has that name");
    q.name = "cohort " + q.name;
  }
}

void kueue_queues::read_queue(const kubernetes_object& o, bool is_cohort, resource_names& names) {
  kueue_queue q;
  q.object = &o;
  q.name = o.name;
  q.is_cohort = is_cohort;
  for (const std::string_view key : {"parentName", "parent", "cohortName", "cohort"}) {
    if (q.parent.empty() && is_cohort == (key.starts_with("parent")))
      q.parent = text_at(o.value, {"spec", key}, found_);
  }
  for (const json_value& group : elements_at(o.value, {"spec", "resourceGroups"}, found_))
    read_group(group, q, names);
  q.stop = text_at(o.value, {"spec", "stopPolicy"}, found_);
  const auto active = find_condition(o.value, "Active", found_);
  const bool is_that_it_stopped = active && active->reason == "Stopped" && kueue_queue::is_stop(q.stop);
  if (active && !active->is_true && !is_that_it_stopped) {
    q.inactive = "it is not Active" + (active->reason.empty() ? "" : " (" + active->reason + ')');
  }
  if (find_path(o.value, {"metadata", "deletionTimestamp"}, found_)) q.inactive = "it is being deleted";
  read_checks(o, q);
  queues_.push_back(std::move(q));
}

void kueue_queues::read_checks(const kubernetes_object& queue, kueue_queue& to) {
  std::set<std::string> checks;
  for (const json_value& c : elements_at(queue.value, {"spec", "admissionChecks"}, found_))
    checks.insert(read_string(c, found_).value_or(""));
  for (const json_value& c :
       elements_at(queue.value, {"spec", "admissionChecksStrategy", "admissionChecks"}, found_)) {
    checks.insert(text_at(c, {"name"}, found_));
  }
  for (const kubernetes_object& o : objects("AdmissionCheck")) {
    if (checks.erase(o.name) == 0) continue;
    if (text_at(o.value, {"spec", "controllerName"}, found_) != "kueue.x-k8s.io/multikueue") continue;
    log_.note(queue.shown(), "its workloads run in other clusters (MultiKueue, " + o.shown() +
                                 "); whether these have room for them is not known here");
  }
  if (knows_all_ && !checks.empty()) to.inactive = "there is no AdmissionCheck " + *checks.begin();
}

/// Kueue admits nothing below a cycle of cohorts. A tree has none.
void kueue_queues::cut_cycles() {
  std::map<std::string_view, const kueue_queue*> cohorts;
  for (const kueue_queue& q : queues_) {
    if (q.is_cohort) cohorts.emplace(q.name, &q);
  }
  const auto is_endless = [&](const kueue_queue& q) {
    const kueue_queue* at = &q;
    for (std::size_t i = 0; !at->parent.empty() && i <= queues_.size(); ++i) at = cohorts.at(at->parent);
    return !at->parent.empty();
  };
  for (kueue_queue& q : queues_) {
    if (is_endless(q) && !q.is_cohort) q.inactive = "its cohorts form a cycle";
  }
  for (kueue_queue& q : queues_) {
    if (!q.is_cohort || !is_endless(q)) continue;
    log_.note("Cohort " + q.name, "its parent " + q.parent +
                                      " is left out, because they form a cycle; what is below gets nothing");
    q.parent.clear();
  }
}

void kueue_queues::read_group(json_value value, kueue_queue& to, resource_names& names) {
  kueue_resource_group group;
  for (const json_value& r : elements_at(value, {"coveredResources"}, found_)) {
    if (auto name = read_string(r, found_)) group.resources.push_back(std::move(*name));
  }
  for (const json_value& flavor : elements_at(value, {"flavors"}, found_)) {
    const std::string name = text_at(flavor, {"name"}, found_);
    group.flavors.push_back(name);
    for (const json_value& r : elements_at(flavor, {"resources"}, found_)) {
      kueue_cell c{name, text_at(r, {"name"}, found_), 0, {}, {}};
      const auto read = [&](std::string_view key) {
        const auto v = find_path(r, {key}, found_);
        return v ? std::optional{read_kueue_amount(c.resource, *v, found_)} : std::nullopt;
      };
      c.nominal = read("nominalQuota").value_or(0);
      c.borrow = read("borrowingLimit");
      c.lend = read("lendingLimit");
      names.add(c.resource, name);
      to.cells.push_back(std::move(c));
    }
  }
  to.groups.push_back(std::move(group));
}

void kueue_queues::read_flavors(const kueue_flavors& flavors) {
  std::set<std::string, std::less<>> unknown;
  for (kueue_queue& q : queues_) {
    bool has_flavors = false;
    q.has_topology = true;
    for (const kueue_resource_group& g : q.groups) {
      for (const std::string& f : g.flavors) {
        has_flavors = true;
        q.has_topology = q.has_topology && flavors.has_topology(f);
        if (flavors.has(f)) continue;
        unknown.insert(f);
        if (knows_all_) q.inactive = "there is no ResourceFlavor " + f;
      }
    }
    q.has_topology = q.has_topology && has_flavors;
    if (!q.is_cohort) cluster_queues_.emplace(q.name, &q);
  }
  if (flavors.empty() || knows_all_) return;
  for (const std::string& f : unknown) {
    log_.note("ResourceFlavor " + f,
              "it is not in the file: taken as one without labels and taints, which admits every workload");
  }
}

void kueue_queues::read_local_queues() {
  for (const kubernetes_object& o : objects("LocalQueue")) {
    local_queues_[o.name] = {text_at(o.value, {"spec", "clusterQueue"}, found_),
                             text_at(o.value, {"spec", "stopPolicy"}, found_)};
  }
  // A LocalQueue is inferred from its admitted workloads.
  for (const kubernetes_object& o : objects("Workload")) {
    const std::string name = text_at(o.value, {"spec", "queueName"}, found_);
    const std::string admitted = text_at(o.value, {"status", "admission", "clusterQueue"}, found_);
    if (name.empty() || admitted.empty()) continue;
    local_queues_.try_emplace(o.space + '/' + name, kueue_local_queue{admitted, {}});
  }
}

void kueue_queues::sum_up() {
  const auto add = [](vector<kueue_cell>& to, const vector<kueue_cell>& more) {
    for (const kueue_cell& c : more) {
      const auto same = std::find_if(to.begin(), to.end(), [&](const kueue_cell& own) {
        return own.flavor == c.flavor && own.resource == c.resource;
      });
      if (same == to.end()) {
        to.push_back({c.flavor, c.resource, c.nominal, std::nullopt, std::nullopt});
      } else {
        same->nominal += c.nominal;
      }
    }
  };
  // Each one's own, to everyone above it.
  vector<vector<kueue_cell>> own;
  for (const kueue_queue& q : queues_) own.push_back(q.cells);
  const auto find_cohort = [&](const std::string& name) {
    return std::find_if(queues_.begin(), queues_.end(),
                        [&](const kueue_queue& q) { return q.is_cohort && q.name == name; });
  };
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    for (auto up = find_cohort(queues_[i].parent); up != queues_.end(); up = find_cohort(up->parent))
      add(up->cells, own[i]);
  }
}

const kueue_queue* kueue_queues::find(std::string_view name) const {
  const auto at = cluster_queues_.find(name);
  return at == cluster_queues_.end() ? nullptr : at->second;
}

const kueue_local_queue* kueue_queues::find_local(std::string_view name) const {
  const auto at = local_queues_.find(name);
  return at == local_queues_.end() ? nullptr : &at->second;
}

bool kueue_queues::selects(const kueue_queue& q, const std::string& space) {
  const auto selector = find_path(q.object->value, {"spec", "namespaceSelector"}, found_);
  if (!selector) return false;
  const label_map wanted = texts_at(*selector, {"matchLabels"}, found_);
  vector<node_requirement> all_of;
  for (const auto& [key, value] : wanted) all_of.push_back({key, "In", {value}});
  for (node_requirement& r : read_requirements(*selector, "matchExpressions", found_))
    all_of.push_back(std::move(r));
  label_map labels = {{std::string{name_label}, space}};
  bool is_known = false;
  for (const kubernetes_object& o : objects("Namespace")) {
    if (o.name != space) continue;
    is_known = true;
    labels.merge(texts_at(o.value, {"metadata", "labels"}, found_));
  }
  for (const node_requirement& r : all_of) {
    if (!is_known && !knows_all_ && r.key != name_label) {
      if (unknown_spaces_.insert(q.name + '/' + space).second) {
        log_.note(q.object->shown(), "spec.namespaceSelector asks for labels of the namespace " + space +
                                         ", which is not in the file: taken as selected (kubectl get "
                                         "...,namespaces says it)");
      }
      continue;
    }
    if (!r.is_valid_for_labels() || !r.matches(labels)) return false;
  }
  return true;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#include "lab/import/live_pods.hpp"

#include "lab/import/object_fields.hpp"

#include <algorithm>

namespace allot {
inline namespace v0 {
namespace lab {

namespace embedded {
extern const std::string_view kubernetes_pod_tsv;
}  // namespace embedded

namespace {

/// What a running pod was given, where that is more than it asks for now: its containers may have been
/// resized in place.
void raise_to_given(json_value object, resource_list& request, errors& found) {
  resource_list given;
  for (const json_value& c : elements_at(object, {"status", "containerStatuses"}, found)) {
    auto of_container = find_path(c, {"allocatedResources"}, found);
    if (!of_container) of_container = find_path(c, {"resources", "requests"}, found);
    if (of_container) add_amounts(given, read_resource_list(*of_container, found));
  }
  for (const auto& [resource, amount] : given) {
    const auto at = request.find(resource);
    if (at != request.end()) at->second = std::max(at->second, amount);
  }
}

[[nodiscard]] bool has_any(json_value from, std::initializer_list<std::string_view> path, errors& found) {
  return !elements_at(from, path, found).empty();
}

}  // namespace

pod_facts read_pod_facts(const kubernetes_object& o, errors& found) {
  pod_facts p;
  p.object = &o;
  p.spec = find_path(o.value, {"spec"}, found);
  p.phase = text_at(o.value, {"status", "phase"}, found);
  p.started = time_at(o.value, {"status", "startTime"}, found);
  if (p.spec) {
    p.node = text_at(*p.spec, {"nodeName"}, found);
    p.request = request_of_pod(*p.spec, found);
  }
  const bool is_deleted = find_path(o.value, {"metadata", "deletionTimestamp"}, found).has_value();
  if (p.phase == "Succeeded" || p.phase == "Failed" || (is_deleted && p.node.empty())) {
    p.stage = pod_stage::ended;
  } else if (is_deleted) {
    p.stage = pod_stage::going;
  } else if (!p.node.empty()) {
    p.stage = pod_stage::running;
  } else if (p.spec && has_any(*p.spec, {"schedulingGates"}, found)) {
    p.stage = pod_stage::gated;
  }
  if (p.stage == pod_stage::running || p.stage == pod_stage::going) raise_to_given(o.value, p.request, found);
  return p;
}

pod_notes::pod_notes() : fields_(embedded::kubernetes_pod_tsv) {}

void pod_notes::add_others(const resource_list& others, const std::string& pod) {
  for (const auto& [resource, amount] : others)
    add("asks for " + resource + ": it starts only where nodes have as much, but what is used is not counted",
        pod);
}

void pod_notes::look_at(json_value spec, const std::string& pod, errors& found) {
  const auto is_not = [&](std::string_view field, std::string_view effect) {
    add(std::string{field}.append(" is not carried over: ").append(effect), pod);
  };
  if (const auto affinity = find_path(spec, {"affinity"}, found)) {
    if (has_any(*affinity, {"podAffinity", "requiredDuringSchedulingIgnoredDuringExecution"}, found))
      is_not("spec.affinity.podAffinity", "they may start far from the pods that they must be near");
    if (has_any(*affinity, {"podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"}, found))
      is_not("spec.affinity.podAntiAffinity", "they may start beside pods that they must avoid");
    if (has_any(*affinity, {"nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"}, found) ||
        has_any(*affinity, {"podAffinity", "preferredDuringSchedulingIgnoredDuringExecution"}, found) ||
        has_any(*affinity, {"podAntiAffinity", "preferredDuringSchedulingIgnoredDuringExecution"}, found))
      is_not("what spec.affinity prefers", "of the nodes that they may have any is as good");
  }
  if (has_any(spec, {"topologySpreadConstraints"}, found))
    is_not("spec.topologySpreadConstraints", "they may start beside each other");
  if (has_any(spec, {"resourceClaims"}, found))
    is_not("spec.resourceClaims", "the devices that they claim are counted neither on nodes nor in quotas");
  for (const std::string_view which : {"workloadRef", "schedulingGroup"}) {
    if (find_path(spec, {which}, found))
      is_not("spec." + std::string{which}, "they may start without their group");
  }
  if (text_at(spec, {"preemptionPolicy"}, found) == "Never")
    is_not("spec.preemptionPolicy Never", "others may be evicted for them");
  const auto has_port = [&](std::string_view containers) {
    for (const json_value& c : elements_at(spec, {containers}, found)) {
      for (const json_value& port : elements_at(c, {"ports"}, found)) {
        if (find_path(port, {"hostPort"}, found)) return true;
      }
    }
    return false;
  };
  if (has_port("containers") || has_port("initContainers"))
    is_not("hostPort", "two of them may start on a node, on which they exclude each other");
  for (const json_value& v : elements_at(spec, {"volumes"}, found)) {
    if (!find_path(v, {"persistentVolumeClaim"}, found) && !find_path(v, {"ephemeral"}, found)) continue;
    is_not("where their volumes are", "they may start on nodes from which these can't be reached");
    break;
  }
  for_each_unknown(fields_, spec, "spec", [&](std::string_view key) {
    add("spec." + std::string{key} + " is not carried over", pod);
  });
}

void pod_notes::write(import_log& log, const std::string& kind) const {
  for (const auto& [text, pods] : notes_) log.note(kind + ' ' + pods.names(), text);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

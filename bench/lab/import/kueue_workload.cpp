// SPDX-License-Identifier: BSL-1.0
#include "lab/import/kueue_workload.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr std::int64_t most_count = std::numeric_limits<std::int32_t>::max();
constexpr instant ms_per_second = 1000;

[[nodiscard]] nano_amount kueue_unit(std::string_view resource) {
  constexpr nano_amount milli = nano / 1000;
  return resource == "cpu" ? milli : nano;
}

[[nodiscard]] std::map<std::string, std::int64_t, std::less<>> read_reclaimable(json_value workload,
                                                                                errors& found) {
  std::map<std::string, std::int64_t, std::less<>> pods;
  for (const json_value& r : elements_at(workload, {"status", "reclaimablePods"}, found))
    pods[text_at(r, {"name"}, found)] = whole_at(r, {"count"}, 0, most_count, found).value_or(0);
  return pods;
}

/// What Kueue has found that a pod of each set asks for, if it is in the status. It knows LimitRanges and
/// what its configuration makes of resources.
void take_effective_requests(json_value workload, kueue_workload& to, errors& found) {
  for (const json_value& r : elements_at(workload, {"status", "resourceRequests"}, found)) {
    const std::string name = text_at(r, {"name"}, found);
    const auto set = std::find_if(to.pod_sets.begin(), to.pod_sets.end(),
                                  [&](const kueue_pod_set& s) { return s.name == name; });
    const auto resources = find_path(r, {"resources"}, found);
    if (set == to.pod_sets.end() || !resources || set->pods == 0) continue;
    resource_list each = read_resource_list(*resources, found);
    each.erase("pods");
    bool is_even = true;
    for (auto& [resource, amount] : each) {
      is_even = is_even && amount % (set->pods * kueue_unit(resource)) == 0;
      amount /= set->pods;
    }
    // It is of another number of pods, before some of them became reclaimable.
    if (is_even) set->request = std::move(each);
  }
}

/// Kueue admits no pods whose containers request more than their limits.
void check_limits(json_value pod_spec, const std::string& set, kueue_workload& to, errors& found) {
  for (const std::string_view key : {"initContainers", "containers"}) {
    for (const json_value& c : elements_at(pod_spec, {key}, found)) {
      const auto requests = find_path(c, {"resources", "requests"}, found);
      const auto limits = find_path(c, {"resources", "limits"}, found);
      if (!requests || !limits) continue;
      const resource_list most = read_resource_list(*limits, found);
      for (const auto& [resource, amount] : read_resource_list(*requests, found)) {
        const auto limit = most.find(resource);
        if (limit == most.end() || kueue_amount(resource, amount) <= kueue_amount(resource, limit->second)) {
          continue;
        }
        to.is_inadmissible =
            "a container of its pod set " + set + " requests more " + resource + " than its limit";
      }
    }
  }
}

void read_pod_sets(const kubernetes_object& o, kueue_workload& to, errors& found) {
  const auto reclaimable = read_reclaimable(o.value, found);
  for (const json_value& value : elements_at(o.value, {"spec", "podSets"}, found)) {
    kueue_pod_set set;
    set.name = text_at(value, {"name"}, found);
    const auto gone = reclaimable.find(set.name);
    const std::int64_t less = gone == reclaimable.end() ? 0 : gone->second;
    const std::int64_t count = whole_at(value, {"count"}, 0, most_count, found).value_or(1);
    set.pods = std::max<std::int64_t>(0, count - less);
    set.min_pods = whole_at(value, {"minCount"}, 0, most_count, found);
    if (const auto spec = find_path(value, {"template", "spec"}, found);
        spec && expect_object(*spec, found)) {
      for (const auto& [resource, amount] : request_of_pod(*spec, found))
        set.request[resource] = kueue_amount(resource, amount);
      check_limits(*spec, set.name, to, found);
    }
    set.needs = read_kueue_needs(value, found);
    to.pod_sets.push_back(std::move(set));
  }
  take_effective_requests(o.value, to, found);
  for (kueue_pod_set& s : to.pod_sets) s.request["pods"] = nano;
}

void read_assignment(json_value value, kueue_workload& to, errors& found) {
  const std::string name = text_at(value, {"name"}, found);
  const auto set = std::find_if(to.pod_sets.begin(), to.pod_sets.end(),
                                [&](const kueue_pod_set& s) { return s.name == name; });
  if (set == to.pod_sets.end()) return;
  const std::int64_t count = whole_at(value, {"count"}, 0, most_count, found).value_or(set->pods);
  resource_list usage;
  if (const auto v = find_path(value, {"resourceUsage"}, found)) {
    for (const auto& [resource, amount] : read_resource_list(*v, found))
      usage[resource] = kueue_amount(resource, amount);
  } else {
    add_amounts(usage, set->request, count);
  }
  set->running_pods = std::min(count, set->pods);
  const auto flavors = find_path(value, {"flavors"}, found);
  if (!flavors || !expect_object(*flavors, found)) return;
  flavors->for_each([&](json_value f) {
    const auto used = usage.find(f.key());
    if (used == usage.end()) return;
    nano_amount amount = used->second;
    const nano_amount unit = kueue_unit(used->first);
    // What is reclaimed is told by pods, whole units each.
    if (set->running_pods < count) amount = amount / unit / count * unit * set->running_pods;
    set->assigned[used->first] = {read_string(f, found).value_or(""), amount};
  });
}

void read_admission_checks(const kubernetes_object& o, kueue_workload& to, errors& found, import_log& log) {
  named_count waits;
  for (const json_value& check : elements_at(o.value, {"status", "admissionChecks"}, found)) {
    const std::string name = text_at(check, {"name"}, found);
    const std::string state = text_at(check, {"state"}, found);
    if (state == "Pending") waits.add(name);
    if (state != "Retry" && state != "Rejected") continue;
    const std::string text = "its admission check " + name + " says " + state;
    const auto since = time_at(check, {"lastTransitionTime"}, found);
    const auto wait = whole_at(check, {"requeueAfterSeconds"}, 0, most_count, found);
    if (to.holds_quota()) to.is_going = true;
    if (state == "Rejected") to.stays_out = text;
    if (state == "Retry" && since && wait) {
      to.ready = std::max(to.ready.value_or(0), *since + *wait * ms_per_second);
    } else if (!to.holds_quota()) {
      to.is_inadmissible = text;
    }
  }
  if (!waits.empty() && to.holds_quota() && !to.is_going) {
    log.note(o.shown(), "runs here; there it holds its quota and waits for " +
                            waits.text("admission check", "admission checks"));
  }
}

void read_conditions(const kubernetes_object& o, kueue_workload& to, errors& found) {
  for (const json_value& c : elements_at(o.value, {"status", "conditions"}, found))
    to.latest = std::max(to.latest, time_at(c, {"lastTransitionTime"}, found).value_or(0));
  const auto evicted = find_condition(o.value, "Evicted", found);
  const auto requeued = find_condition(o.value, "Requeued", found);
  if (evicted && evicted->is_true) {
    to.is_going = to.holds_quota();
    // Such a workload goes to the end of those of its priority.
    const bool goes_back = evicted->reason == "PodsReadyTimeout" || evicted->reason == "AdmissionCheck";
    if (goes_back && evicted->since) to.queued = *evicted->since;
  }
  to.ready = time_at(o.value, {"status", "requeueState", "requeueAt"}, found);
  if (requeued && !requeued->is_true) {
    const std::string why =
        "its condition Requeued is False" + (requeued->reason.empty() ? "" : " (" + requeued->reason + ')');
    if (!to.holds_quota()) to.backs_off = why;
    if (to.is_going) to.stays_out = why;
  }
}

void read_annotations(const kubernetes_object& o, kueue_workload& to, errors& found, import_log& log) {
  const auto all = find_path(o.value, {"metadata", "annotations"}, found);
  if (!all || !all->is_object()) return;
  const auto text = [&](std::string_view key) {
    const auto at = all->find(key);
    return at && at->is_string() ? std::string{at->text()} : std::string{};
  };
  if (const std::string gate = text("kueue.x-k8s.io/admission-gated-by"); !gate.empty() && !to.holds_quota())
    to.is_out = "it is gated by " + gate;
  if (const std::string old = text("kueue.x-k8s.io/workload-slice-replacement-for"); !old.empty()) {
    log.note(o.shown(), "it replaces " + old +
                            ": here both are counted in full, there it needs only what is " +
                            "new, in the same flavors");
  }
  if (const std::string boost = text("kueue.x-k8s.io/priority-boost"); !boost.empty()) {
    log.note(o.shown(), "the annotation kueue.x-k8s.io/priority-boost is not carried over: its priority is " +
                            std::to_string(to.priority.value_or(0)) + " (where PriorityBoost is on: and " +
                            boost + ')');
  }
  if (const auto estimate = all->find("allot.dev/estimate-seconds")) {
    const auto seconds = estimate->is_string() ? parse_whole(estimate->text()) : std::nullopt;
    if (seconds && 1 <= *seconds && *seconds <= most_count) {
      to.estimate = *seconds * ms_per_second;
    } else {
      log.note(o.shown(),
               "the annotation allot.dev/estimate-seconds is left out: expected whole seconds, 1 to " +
                   std::to_string(most_count) + ", found " + estimate->shown());
    }
  }
}

}  // namespace

nano_amount kueue_amount(std::string_view resource, nano_amount amount) {
  constexpr nano_amount most = std::numeric_limits<std::int64_t>::max();
  const nano_amount unit = kueue_unit(resource);
  return std::min(most, amount / unit + (amount % unit > 0 ? 1 : 0)) * unit;
}

nano_amount read_kueue_amount(std::string_view resource, json_value value, errors& found) {
  return kueue_amount(resource, read_amount_of(value, found));
}

std::optional<std::int64_t> read_priority(json_value from, std::initializer_list<std::string_view> path,
                                          errors& found) {
  return whole_at(from, path, std::numeric_limits<std::int32_t>::min(), most_priority, found);
}

kueue_workload read_kueue_workload(const kubernetes_object& object, errors& found, import_log& log) {
  kueue_workload w;
  w.object = &object;
  w.created = object.created.value_or(0);
  w.queued = w.created;
  w.latest = w.created;
  const std::string queue = text_at(object.value, {"spec", "queueName"}, found);
  if (!queue.empty()) w.local_queue = object.space + '/' + queue;
  const auto reserved = find_condition(object.value, "QuotaReserved", found);
  if (!reserved || reserved->is_true)
    w.holds_in = text_at(object.value, {"status", "admission", "clusterQueue"}, found);
  w.started = reserved && reserved->since ? *reserved->since : w.created;
  w.priority = read_priority(object.value, {"spec", "priority"}, found);
  read_conditions(object, w, found);
  read_pod_sets(object, w, found);
  if (w.holds_quota()) {
    for (const json_value& a : elements_at(object.value, {"status", "admission", "podSetAssignments"}, found))
      read_assignment(a, w, found);
  }
  read_admission_checks(object, w, found, log);
  read_annotations(object, w, found, log);
  if (const auto active = find_path(object.value, {"spec", "active"}, found);
      active && !read_bool(*active, found).value_or(true)) {
    w.is_deactivated = true;
    w.is_out = "spec.active is false";
  } else if (const auto target = find_condition(object.value, "DeactivationTarget", found);
             target && target->is_true) {
    w.is_deactivated = true;
    w.is_out = "its condition DeactivationTarget is True";
  }
  if (w.holds_quota() && !w.is_out.empty()) {
    w.stays_out = w.is_out;
    w.is_going = true;
  }
  if (const auto most =
          whole_at(object.value, {"spec", "maximumExecutionTimeSeconds"}, 0, most_count, found)) {
    std::int64_t past = 0;
    for (const std::string_view key :
         {"accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds"}) {
      past = std::max(past, whole_at(object.value, {"status", key}, 0, most_count, found).value_or(0));
    }
    w.longest = std::max<std::int64_t>(1, *most - past) * ms_per_second;
  }
  return w;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

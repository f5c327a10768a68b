// SPDX-License-Identifier: BSL-1.0
#include "lab/import/kueue_reader.hpp"

#include "lab/import/object_fields.hpp"

#include <allot/lab/decimal.hpp>

#include <algorithm>
#include <set>

namespace allot {
inline namespace v0 {
namespace lab {

namespace embedded {
extern const std::string_view kueue_tsv;
}  // namespace embedded

namespace {

/// The most pods of a job of a scenario.
constexpr std::int64_t most_pods = 1'000'000;
constexpr std::string_view drains = "HoldAndDrain";

void write_held(const std::map<std::string, std::int64_t>& amounts, std::int64_t pods, json_writer& json) {
  json.key("request").begin_object();
  for (const auto& [dimension, milli] : amounts) json.key(dimension).raw(milli_text(milli / pods));
  json.end_object();
}

/// Whether it could run with fewer pods than it asks for, and with the number that run.
[[nodiscard]] bool is_partial(const kueue_pod_set& s) {
  return s.min_pods && *s.min_pods < s.pods && *s.min_pods <= s.running_pods;
}

[[nodiscard]] std::int64_t asked_pods(const vector<const kueue_pod_set*>& sets) {
  std::int64_t n = 0;
  for (const kueue_pod_set* const s : sets) n += is_partial(*s) ? s->pods : s->running_pods;
  return n;
}
[[nodiscard]] std::int64_t fewest_pods(const kueue_pod_set& s) {
  return s.min_pods && *s.min_pods < s.pods ? std::max<std::int64_t>(1, *s.min_pods) : s.pods;
}

void write_pods(const kueue_pod_set& s, json_writer& json) {
  json.member("pods", s.pods);
  if (s.min_pods && *s.min_pods < s.pods) json.member("min_pods", fewest_pods(s));
}

}  // namespace

kueue_reader::kueue_reader(objects_by_kind objects, kueue_options options, errors& found, import_log& log)
    : found_(found),
      log_(log),
      options_(std::move(options)),
      objects_(std::move(objects)),
      queues_(objects_, options_.knows_all, found, log),
      fields_(embedded::kueue_tsv) {}

void kueue_reader::read_configuration() {
  for (const auto& [kind, objects] : objects_) {
    for (const kubernetes_object& o : objects) {
      if (fields_.knows(kind) && kind != "Workload") note_fields(fields_, o, log_);
    }
    if (fields_.knows(kind) || kind == "PriorityClass" || kind == "Namespace") continue;
    log_.note(kind, counted(objects.size(), "object is", "objects are") + " not carried over");
  }
  flavors_.read(all("ResourceFlavor"), all("Topology"), found_);
  queues_.read(flavors_, names_);
  if (options_.sums_up) queues_.sum_up();
  for (const kueue_queue& q : queues_.all()) {
    for (const kueue_cell& c : q.cells) {
      names_.add_amount(c.resource, c.nominal);
      names_.add_amount(c.resource, c.borrow.value_or(0));
      names_.add_amount(c.resource, c.lend.value_or(0));
    }
  }
}

// Workloads.

kueue_entry kueue_reader::read(const kubernetes_object& workload) {
  note_workload_fields(workload);
  return {read_kueue_workload(workload, found_, log_), nullptr};
}

void kueue_reader::note_workload_fields(const kubernetes_object& o) {
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

kueue_place kueue_reader::find_place(kueue_entry& e, instant now) {
  using standing = kueue_standing;
  kueue_workload& w = e.of;
  const kueue_local_queue* const lq = queues_.find_local(w.local_queue);
  const std::string local_stop = lq == nullptr ? std::string{} : lq->stop;
  std::string name = w.holds_in;
  if (name.empty()) {
    if (w.local_queue.empty()) return {standing::no_queue, "it has no spec.queueName"};
    const std::string own = w.local_queue.substr(w.local_queue.find('/') + 1);
    if (lq != nullptr) {
      name = lq->cluster_queue;
    } else if (!options_.knows_all && queues_.find(own) != nullptr) {
      name = own;
      log_.note(w.object->shown(),
                "taken to the ClusterQueue " + name + ", which is called as its LocalQueue is");
    } else {
      return {standing::no_queue,
              "the LocalQueue " + w.local_queue + is_missing() +
                  (options_.knows_all ? "" : " (kubectl get ...,localqueues says where it leads)")};
    }
  }
  e.in = queues_.find(name);
  if (e.in == nullptr) return {standing::no_queue, "the ClusterQueue " + name + is_missing()};
  const bool is_served = options_.serves && options_.serves(name);
  const std::string stop = is_served && e.in->stop == "Hold" ? std::string{} : e.in->stop;
  std::string stopped_in;
  if (kueue_queue::is_stop(local_stop)) stopped_in = "a LocalQueue whose stopPolicy is " + local_stop;
  if (kueue_queue::is_stop(stop)) stopped_in = "a ClusterQueue whose stopPolicy is " + stop;
  if (w.holds_quota()) {
    w.is_going = w.is_going || stop == drains || local_stop == drains;
    if (!stopped_in.empty()) w.stays_out = "it is in " + stopped_in;
    if (w.ready.value_or(0) <= now) w.ready.reset();
    if (w.running_pods() == 0)
      return {standing::no_pods, "it holds nothing: all of its pods are reclaimable"};
    return check_size(w, standing::holds);
  }
  if (options_.serves && !is_served)
    return {standing::not_served, "the ClusterQueue " + name + " is not served"};
  if (!w.is_out.empty()) return {w.is_deactivated ? standing::deactivated : standing::gated, w.is_out};
  const bool is_late = w.ready.value_or(0) > now;
  if (!w.backs_off.empty() && !is_late) return {standing::backs_off, w.backs_off};
  if (!is_late) w.ready.reset();
  if (!stopped_in.empty()) return {standing::stopped, "it waits in " + stopped_in};
  if (!e.in->inactive.empty())
    return {standing::stopped, "it waits in the ClusterQueue " + name + ": " + e.in->inactive};
  if (!queues_.selects(*e.in, w.object->space)) {
    const bool has_none = !find_path(e.in->object->value, {"spec", "namespaceSelector"}, found_);
    return {standing::inadmissible,
            "the ClusterQueue " + name + " selects no workloads of the namespace " + w.object->space +
                (has_none ? ", nor of any other: it has no spec.namespaceSelector" : "")};
  }
  if (w.is_inadmissible.empty()) w.is_inadmissible = why_never(e);
  return check_size(w, is_late ? standing::backs_off : standing::pending);
}

kueue_place kueue_reader::check_size(const kueue_workload& w, kueue_standing standing) {
  std::int64_t pods = 0;
  for (const kueue_pod_set& s : w.pod_sets) pods += std::max(s.pods, s.running_pods);
  if (pods == 0)
    return {kueue_standing::no_pods, w.pod_sets.empty() ? "it has no pod sets" : "it has no pods"};
  if (pods <= most_pods) return {standing, {}};
  return {kueue_standing::malformed,
          "it has " + std::to_string(pods) + " pods; a job has at most " + std::to_string(most_pods)};
}

/// Why Kueue never admits the pending workload as things stand: what no flavor covers, or admits.
std::string kueue_reader::why_never(const kueue_entry& e) {
  for (const kueue_pod_set& s : e.of.pod_sets) {
    if (s.pods == 0) continue;
    for (const auto& [resource, amount] : s.request) {
      const kueue_resource_group* const g = e.in->group_of(resource);
      if (g == nullptr) {
        if (amount == 0 || resource == "pods") continue;
        const std::string text = "asks for " + resource + ", which its ClusterQueue does not cover";
        if (options_.quota_check_strategy != "IgnoreUndeclared") return text;
        log_.note(e.of.object->shown(), text + ": left out");
        continue;
      }
      const auto admitted = admitted_flavors(e, s, *g);
      if (admitted.empty())
        return "no flavor for " + resource + " admits its pod set " + s.name + ": " + refusals(e, s, *g);
      const auto is_uncounted = [&, &of = resource](const std::string& f) {
        return names_.dimension(of, f).empty();
      };
      if (options_.serves && amount != 0 && std::all_of(admitted.begin(), admitted.end(), is_uncounted)) {
        return "asks for " + resource + " of flavors that are not counted: at most " +
               std::to_string(max_resources) + " resources, flavors told apart, are";
      }
    }
  }
  return {};
}

/// The pod sets that get their flavors together with this one: a group of pod sets, or it alone.
vector<const kueue_pod_set*> kueue_reader::partners(const kueue_entry& e, const kueue_pod_set& s) {
  vector<const kueue_pod_set*> all;
  for (const kueue_pod_set& other : e.of.pod_sets) {
    const std::string& group = s.needs.topology.group;
    if (&other == &s || (!group.empty() && other.needs.topology.group == group)) all.push_back(&other);
  }
  return all;
}

/// The flavors of a group of resources that admit a pod set, best first.
vector<std::string> kueue_reader::admitted_flavors(const kueue_entry& e, const kueue_pod_set& s,
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
std::string kueue_reader::refusals(const kueue_entry& e, const kueue_pod_set& s,
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

std::string kueue_reader::why_not_as_it_is(const kueue_entry& e) const {
  for (const kueue_pod_set& s : e.of.pod_sets) {
    const auto too_much = [](const std::string& resource) {
      return "it asks for more " + resource + " than can be counted";
    };
    for (const auto& [resource, a] : s.assigned) {
      if (!names_.can_say(resource, a.amount)) return too_much(resource);
    }
    for (const auto& [resource, amount] : s.request) {
      if (!e.of.holds_quota() && !names_.can_say(resource, amount)) return too_much(resource);
    }
  }
  if (e.of.holds_quota()) return {};
  const std::string torn = shape_of(e).torn;
  return torn.empty() ? torn
                      : "its pod sets choose among too many flavors to be told apart, and no flavor of " +
                            torn + " admits all of them";
}

// The scenario.

void kueue_reader::write_configuration(std::string_view policy, json_writer& json) {
  json.member("format", "allot-scenario/1");
  json.key("resources").begin_array();
  for (const std::string& d : names_.dimensions()) json.value(d);
  json.end_array();
  // Policies of other systems say themselves who may pass whom: BestEffortFIFO is what Kueue fills in.
  const auto names = [&](std::string_view preset) { return policy.find(preset) != std::string_view::npos; };
  is_kueues_policy_ = policy.empty() || names(R"("kueue")") || names(R"("kueue_fair")");
  json.key("policy");
  if (policy.empty()) {
    json.value(uses_fair_sharing() ? "kueue_fair" : "kueue");
  } else {
    json.raw(policy);
  }
  json.key("quotas").begin_array();
  for (const kueue_queue& q : queues_.all()) write_queue(q, json);
  json.end_array();
}

bool kueue_reader::uses_fair_sharing() {
  for (const kueue_queue& q : queues_.all()) {
    if (q.object == nullptr) continue;
    const bool is_weighted = find_path(q.object->value, {"spec", "fairSharing"}, found_).has_value();
    if (!is_weighted && !find_path(q.object->value, {"status", "fairSharing"}, found_)) continue;
    log_.note({}, "fair sharing is configured in " + q.object->shown() + ": the policy is kueue_fair" +
                      (options_.knows_all ? "" : " (--policy kueue decides without)"));
    return true;
  }
  return false;
}

/// The amounts of a queue that `get` has, by dimension.
template <class Get>
void kueue_reader::write_amounts(const kueue_queue& q, std::string_view key, json_writer& json, Get get) {
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

void kueue_reader::write_borrow(const kueue_queue& q, json_writer& json) {
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

void kueue_reader::write_queue(const kueue_queue& q, json_writer& json) {
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

void kueue_reader::write_weight(const kueue_queue& q, json_writer& json) {
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
bool kueue_reader::write_word(const kueue_queue& q, json_writer& json, std::string_view key,
                              std::string_view value, std::string_view path,
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

void kueue_reader::write_settings(const kueue_queue& q, json_writer& json) {
  const auto has_spec = find_path(q.object->value, {"spec"}, found_);
  if (!has_spec) return;
  const json_value spec = *has_spec;
  const auto text = [&](std::initializer_list<std::string_view> path) { return text_at(spec, path, found_); };
  if (const std::string strategy = text({"queueingStrategy"});
      is_kueues_policy_ || strategy != "BestEffortFIFO")
    write_word(q, json, "head", strategy, "spec.queueingStrategy",
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

void kueue_reader::write_workload(const kueue_entry& e, instant first, instant now, json_writer& json) {
  const kueue_workload& w = e.of;
  uncounted_.clear();
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
  json.key("submit_s").raw(milli_text(w.queued - first));
  const bool is_back = comes_back(w);
  if (!w.holds_quota() || w.is_going) {
    constexpr instant a_century = 3'155'760'000'000;
    if (!is_back) {
      json.key("ready_s").raw(milli_text(now + a_century - first));
    } else if (w.ready) {
      json.key("ready_s").raw(milli_text(*w.ready - first));
    }
  }
  const instant elapsed = w.holds_quota() ? std::max<instant>(0, now - w.started) : 0;
  constexpr instant otherwise = 3'600'000;
  const std::optional<instant> expected = w.expected();
  json.key("duration_s").raw(milli_text(expected ? std::max(*expected, elapsed) : elapsed + otherwise));
  if (expected) json.member("estimate_s", *expected / ms_per_second);
  if (w.holds_quota()) {
    json.member("state", w.is_going ? "evicting" : "running");
    json.key("start_s").raw(milli_text(std::max<instant>(0, w.started - first)));
    if (!is_back) {
      log_.note(w.object->shown(), "is being evicted and does not come back: " + w.stays_out);
    } else if (!w.stays_out.empty()) {
      log_.note(w.object->shown(), "runs; once evicted it is pending here, and not there: " + w.stays_out);
    }
  }
  json.end_object();
}

std::int64_t kueue_reader::priority_of(const kueue_workload& w) {
  const std::int64_t priority = named_priority(w);
  if (priority >= -most_priority) return priority;
  log_.note(w.object->shown(), "the priority " + std::to_string(priority) + " is taken as " +
                                   std::to_string(-most_priority) + ", the lowest of a scenario");
  return -most_priority;
}
std::int64_t kueue_reader::named_priority(const kueue_workload& w) {
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
  log_.note(w.object->shown(), "its priority class " + name + is_missing() + ": the priority is 0");
  return 0;
}

void kueue_reader::note_uncounted(const kueue_workload& w, const std::string& resource) {
  // The pods of a workload are counted only if some queue counts pods.
  if (resource == "pods" || !uncounted_.insert(resource).second) return;
  log_.note(w.object->shown(), "asks for " + resource + ", which is not counted: left out");
}

/// What the pods of a set hold together.
kueue_reader::milli_by_dimension kueue_reader::held_by(const kueue_workload& w, const kueue_pod_set& s) {
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

void kueue_reader::write_running_request(const kueue_workload& w, json_writer& json) {
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
    log_.note(w.object->shown(), is_even ? "its pod sets are too many to be told apart: they are one request"
                                         : "its pods hold different amounts: they are one request");
    return write_held(all, 1, json);
  }
  if (sets.size() == 1) {
    write_running_pods(w, *sets.front(), elastic == 1, json);
    write_held(held.front(), sets.front()->running_pods, json);
  } else {
    json.key("pod_sets").begin_array();
    for (std::size_t i = 0; i < sets.size(); ++i) {
      json.begin_object();
      if (!sets[i]->name.empty()) json.member("name", sets[i]->name);
      write_running_pods(w, *sets[i], elastic == 1, json);
      write_held(held[i], sets[i]->running_pods, json);
      json.end_object();
    }
    json.end_array();
  }
  // Which pods run is clear if only one of the sets has more that could.
  if (elastic == 1 && w.running_pods() < asked_pods(sets)) json.member("running_pods", w.running_pods());
}
void kueue_reader::write_running_pods(const kueue_workload& w, const kueue_pod_set& s, bool is_elastic,
                                      json_writer& json) {
  if (is_elastic && is_partial(s)) return write_pods(s, json);
  json.member("pods", s.running_pods);
  if (s.running_pods == s.pods) return;
  log_.note(w.object->shown(), (s.name.empty() ? std::string{} : "pod set " + s.name + ": ") + "runs with " +
                                   std::to_string(s.running_pods) + " of " + std::to_string(s.pods) +
                                   " pods, and stays so");
}

void kueue_reader::write_pending_request(const kueue_entry& e, json_writer& json) {
  const pending_shape shape = shape_of(e);
  note_shared_flavors(e);
  if (shape.is_one) {
    json.member("total", true);
    log_.note(e.of.object->shown(),
              "its pod sets, or the flavors that they choose, are too many to be told apart: they are one "
              "request");
    if (std::any_of(shape.sets.begin(), shape.sets.end(),
                    [](const auto* s) { return s->min_pods.has_value(); }))
      log_.note(e.of.object->shown(), "minCount is not carried over: it has several pod sets");
    return write_request(e, shape.one, shape, shape.choices.front(), json);
  }
  if (shape.sets.size() == 1) {
    write_pods(*shape.sets.front(), json);
    return write_request(e, *shape.sets.front(), shape, shape.choices.front(), json);
  }
  json.key("pod_sets").begin_array();
  for (std::size_t i = 0; i < shape.sets.size(); ++i) {
    const kueue_pod_set& s = *shape.sets[i];
    json.begin_object();
    if (!s.name.empty()) json.member("name", s.name);
    write_pods(s, json);
    write_request(e, s, shape, shape.choices[i], json);
    json.end_object();
  }
  json.end_array();
}

void kueue_reader::note_shared_flavors(const kueue_entry& e) {
  for (const kueue_pod_set& s : e.of.pod_sets) {
    const auto all = partners(e, s);
    if (all.front() != &s || all.size() == 1) continue;
    const auto cs = choices_of(e, s);
    if (std::none_of(cs.begin(), cs.end(), [](const flavor_choices& c) { return c.flavors.size() > 1; }))
      continue;
    log_.note(e.of.object->shown(),
              "its pod sets of the group " + s.needs.topology.group +
                  (options_.knows_all ? " get the first flavor that admits all of them, and no other"
                                      : " choose their flavors each for itself; there they get the same"));
  }
}

kueue_reader::pending_shape kueue_reader::shape_of(const kueue_entry& e) const {
  pending_shape shape;
  std::size_t groups = 0;
  std::size_t choices = 0;
  for (const kueue_pod_set& s : e.of.pod_sets) {
    if (s.pods == 0) continue;
    shape.sets.push_back(&s);
    shape.choices.push_back(choices_of(e, s));
    for (flavor_choices& c : shape.choices.back()) {
      // What pod sets of a group choose each for itself, Kueue would not take.
      if (options_.knows_all && partners(e, s).size() > 1) c.flavors.resize(1);
      ++groups;
      choices += c.flavors.size() > 1 ? 1U : 0U;
    }
  }
  shape.names_single = groups > most_flavor_groups;
  if (shape.sets.size() > 1 && (choices > most_flavor_groups || shape.sets.size() > most_pod_sets)) {
    merge_choices(e, shape);
  }
  return shape;
}

/// One request chooses among the flavors that all of its pod sets admit.
void kueue_reader::merge_choices(const kueue_entry& e, pending_shape& shape) const {
  shape.is_one = true;
  shape.names_single = false;
  for (const kueue_pod_set* const s : shape.sets) add_amounts(shape.one.request, s->request, s->pods);
  vector<flavor_choices> merged = choices_of(e, shape.one);
  for (flavor_choices& c : merged) {
    for (const vector<flavor_choices>& choices : shape.choices) {
      for (const flavor_choices& of_set : choices) {
        if (e.in->group_of(of_set.resources.front()) != e.in->group_of(c.resources.front())) continue;
        const auto is_left = [&](const std::string& f) {
          return std::find(of_set.flavors.begin(), of_set.flavors.end(), f) != of_set.flavors.end();
        };
        if (std::any_of(c.flavors.begin(), c.flavors.end(), is_left)) {
          erase_if(c.flavors, [&](const std::string& f) { return !is_left(f); });
        } else {
          shape.torn = c.resources.front();
        }
      }
    }
  }
  shape.choices = {std::move(merged)};
}

/// What a pod set chooses: for each group of resources of its ClusterQueue that come in flavors, which of
/// these admit it.
vector<kueue_reader::flavor_choices> kueue_reader::choices_of(const kueue_entry& e,
                                                              const kueue_pod_set& s) const {
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

void kueue_reader::write_request(const kueue_entry& e, const kueue_pod_set& s, const pending_shape& shape,
                                 const vector<flavor_choices>& choices, json_writer& json) {
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
    const bool is_named = c != nullptr && shape.is_named(*c);
    json.key(is_named ? names_.dimension(resource, c->flavors.front()) : names_.plain(resource))
        .raw(milli_text(names_.milli(resource, amount, true)));
  }
  const bool is_later = &s > e.of.pod_sets.begin() && &s < e.of.pod_sets.end() &&
                        std::any_of(e.of.pod_sets.begin(), &s, [](const auto& o) { return o.pods > 0; });
  if (!e.of.is_inadmissible.empty() && !is_later) json.key(inadmissible).raw("1");
  json.end_object();
  bool is_open = false;
  for (const flavor_choices& c : choices) {
    if (shape.is_named(c)) continue;
    if (!std::exchange(is_open, true)) json.key("flavors").begin_array();
    json.begin_object().key("resources").begin_array();
    for (const std::string& r : c.resources) json.value(names_.plain(r));
    json.end_array().key("flavors").begin_array();
    for (const std::string& f : c.flavors) json.value(f);
    json.end_array().end_object();
  }
  if (is_open) json.end_array();
}

// The way back.

std::optional<vector<kueue_assignment>> kueue_reader::assign(const kueue_entry& e, const flavor_pick& pick,
                                                             const pods_by_set& pods) const {
  const pending_shape shape = shape_of(e);
  std::size_t group = 0;
  // By set of the job.
  vector<std::map<const kueue_resource_group*, std::string_view>> picked;
  for (const vector<flavor_choices>& choices : shape.choices) {
    picked.emplace_back();
    for (const flavor_choices& c : choices) {
      const std::size_t f = shape.is_named(c) ? 0 : pick[group++];
      if (f >= c.flavors.size()) return std::nullopt;
      picked.back().emplace(e.in->group_of(c.resources.front()), c.flavors[f]);
    }
  }
  // What is not counted goes with the rest of its group, or is as free as anything in the first flavor. A set
  // without pods holds nothing of whatever it is.
  const auto flavor_of = [&](const kueue_pod_set& s, std::size_t set, const kueue_resource_group& g) {
    if (s.pods > 0) {
      if (const auto at = picked[set].find(&g); at != picked[set].end()) return std::string{at->second};
    }
    const auto admitted = admitted_flavors(e, s, g);
    return admitted.empty() ? g.flavors.front() : admitted.front();
  };
  vector<kueue_assignment> all;
  std::size_t nth = 0;
  for (const kueue_pod_set& s : e.of.pod_sets) {
    const std::size_t set = shape.is_one ? 0 : nth;
    const std::int64_t count = s.pods == 0 || shape.is_one ? s.pods : pods[set];
    nth += s.pods > 0 ? 1U : 0U;
    if (count < fewest_pods(s) || count > s.pods) return std::nullopt;
    kueue_assignment& a = all.emplace_back(kueue_assignment{s.name, count, {}});
    for (const auto& [resource, amount] : s.request) {
      const kueue_resource_group* const g = e.in->group_of(resource);
      if (g == nullptr || g->flavors.empty()) continue;
      a.resources.emplace(resource, kueue_assigned{flavor_of(s, set, *g), amount * count});
    }
  }
  return all;
}

void write_assignments(std::span<const kueue_assignment> all, json_writer& json) {
  json.begin_array();
  for (const kueue_assignment& a : all) {
    json.begin_object().member("name", a.name).key("flavors").begin_object();
    for (const auto& [resource, has] : a.resources) json.member(resource, has.flavor);
    json.end_object().key("resourceUsage").begin_object();
    for (const auto& [resource, has] : a.resources) json.member(resource, kubernetes_quantity(has.amount));
    json.end_object().member("count", a.count).end_object();
  }
  json.end_array();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#include "lab/import/kueue_cluster.hpp"

#include "lab/io/json_reader.hpp"
#include "lab/scenario/scenario_reader.hpp"

#include <allot/lab/json_writer.hpp>

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// Writes the members of an object that are among `keys`.
void write_members(json_value object, std::initializer_list<std::string_view> keys, json_writer& json) {
  json.begin_object();
  if (object.is_object()) {
    object.for_each([&](json_value member) {
      if (std::find(keys.begin(), keys.end(), member.key()) == keys.end()) return;
      write_value(member, json.key(member.key()));
    });
  }
  json.end_object();
}

/// Whether under the policy, as a scenario says it, a parent's quota contains its children's.
[[nodiscard]] bool has_inclusive_quotas(const std::string& policy) {
  errors ignored;
  const auto document = json_document::parse("the policy", policy, ignored);
  if (!document) return false;
  const json_value said = document->root();
  const auto preset = said.is_object() ? said.find("preset") : std::optional{said};
  if (!preset || !preset->is_string()) return false;
  std::vector<quota_spec<max_resources>> tree{{.name = "parent"}, {.name = "child", .parent = "parent"}};
  adapt_to_preset(preset->text(), tree);
  return tree.front().inclusive;
}

}  // namespace

std::string relevant_part(std::string_view object) {
  errors found;
  const auto document = json_document::parse({}, object, found);
  if (!document || !document->root().is_object()) return std::string{object};
  json_writer json{0};
  json.begin_object();
  document->root().for_each([&](json_value member) {
    if (member.key() == "metadata") {
      write_members(member, {"namespace", "name", "creationTimestamp", "labels"}, json.key("metadata"));
    } else if (member.key() == "status") {
      json.member("fair", find_path(member, {"fairSharing"}, found).has_value());
      json.key("conditions").begin_array();
      for (const json_value& c : elements_at(member, {"conditions"}, found))
        write_members(c, {"type", "status", "reason"}, json);
      json.end_array();
    } else {
      write_value(member, json.key(member.key()));
    }
  });
  return json.end_object().text();
}

struct kueue_cluster::state {
  /// What the reader's objects refer to.
  vector<std::unique_ptr<const json_document>> documents{};
  vector<std::string> notes_of_objects{};
  /// Of one call.
  errors found{};
  vector<std::string> notes{};
  import_log log{[this](std::string line) { notes.push_back(std::move(line)); }};
  std::optional<kueue_reader> reader{};
  std::optional<open_scenario> quotas{};
  std::string text_of_quotas{};

  void read(std::span<const kueue_object> objects, kueue_cluster_options options);
  /// Reads the Workload; calls `visit(entry, place)` unless it can't be read.
  template <class Visit>
  void with_workload(std::string_view text, instant now, Visit visit);
  void read_job(const kueue_entry& e, instant now, kueue_reading& to);
};

kueue_cluster::kueue_cluster(std::unique_ptr<state> of) noexcept : state_(std::move(of)) {}
kueue_cluster::kueue_cluster(kueue_cluster&& other) noexcept = default;
kueue_cluster& kueue_cluster::operator=(kueue_cluster&& other) noexcept = default;
kueue_cluster::~kueue_cluster() = default;

const scenario& kueue_cluster::scenario() const noexcept {
  return state_->quotas->get();
}

const std::string& kueue_cluster::text() const noexcept {
  return state_->text_of_quotas;
}

const vector<std::string>& kueue_cluster::notes() const noexcept {
  return state_->notes_of_objects;
}

std::optional<kueue_cluster> kueue_cluster::make(std::span<const kueue_object> objects,
                                                 kueue_cluster_options options, errors& found) {
  auto of = std::make_unique<state>();
  of->read(objects, std::move(options));
  found.add_all(of->found);
  if (!of->quotas || !of->found.empty()) return std::nullopt;
  of->notes_of_objects = std::exchange(of->notes, {});
  return kueue_cluster{std::move(of)};
}

void kueue_cluster::state::read(std::span<const kueue_object> objects, kueue_cluster_options options) {
  object_collector all;
  for (const kueue_object& o : objects) {
    std::string shown{o.kind};
    auto document = json_document::parse(shown.append(" ").append(o.name), o.text, found);
    if (!document) continue;
    documents.push_back(std::make_unique<const json_document>(std::move(*document)));
    all.add(documents.back()->root(), found, o.kind);
  }
  reader.emplace(all.take(),
                 kueue_options{std::move(options.quota_check_strategy), true, std::move(options.serves),
                               has_inclusive_quotas(options.policy)},
                 found, log);
  reader->read_configuration();
  resource_names& names = reader->names();
  // Workloads are not known yet. Where the quotas can be counted to the byte, what workloads ask for can be.
  for (const kueue_queue& q : reader->queues().all()) {
    for (const kueue_cell& c : q.cells) names.add_amount(c.resource, nano);
  }
  names.choose(log);
  if (names.dimensions().empty())
    found.add("the cluster", {}, "no ClusterQueue counts any resource (expected spec.resourceGroups)");
  if (!found.empty()) return;
  json_writer json;
  json.begin_object();
  reader->write_configuration(options.policy, json);
  json.end_object();
  scenario_source source;
  source.file = "the cluster";
  text_of_quotas = json.text();
  if (found.empty()) quotas = open_scenario::parse(text_of_quotas, source, found);
}

template <class Visit>
void kueue_cluster::state::with_workload(std::string_view text, instant now, Visit visit) {
  found = {};
  notes.clear();
  const auto document = json_document::parse("the Workload", text, found);
  const auto object = document ? read_object(document->root(), found, "Workload") : std::nullopt;
  if (!object) return;
  kueue_entry e;
  kueue_place place{kueue_standing::finished, "it is finished"};
  const auto finished = find_condition(object->value, "Finished", found);
  if (finished && finished->is_true) {
    e.of.object = &*object;
  } else {
    e = reader->read(*object);
    place = reader->find_place(e, now);
  }
  if (place.why.empty() && !e.of.holds_quota() && !e.of.is_inadmissible.empty())
    place = {kueue_standing::inadmissible, e.of.is_inadmissible};
  visit(std::as_const(e), std::move(place));
}

void kueue_cluster::state::read_job(const kueue_entry& e, instant now, kueue_reading& to) {
  const kueue_workload& w = e.of;
  if (std::string why = reader->why_not_as_it_is(e); !why.empty()) {
    to.standing = w.holds_quota() ? kueue_standing::malformed : kueue_standing::inadmissible;
    to.why = std::move(why);
    return;
  }
  json_writer json{0};
  reader->write_workload(e, 0, now, json);
  to.job = quotas->read_job(json.text(), found);
  to.pod_sets = w.pod_sets;
  if (!w.holds_quota()) {
    if (to.standing == kueue_standing::backs_off) {
      to.why = w.backs_off.empty() ? "it is not to be tried before a time that its status says" : w.backs_off;
    }
    return;
  }
  to.why = w.stays_out;
  for (const kueue_pod_set& s : w.pod_sets) to.held.push_back({s.name, s.running_pods, s.assigned});
}

kueue_reading kueue_cluster::read(std::string_view workload, instant now) {
  state& s = *state_;
  kueue_reading r;
  s.with_workload(workload, now, [&](const kueue_entry& e, kueue_place place) {
    r.id = e.of.object->name;
    r.standing = place.standing;
    r.why = std::move(place.why);
    if (e.in != nullptr) {
      r.cluster_queue = e.in->name;
      r.has_topology = e.in->has_topology ||
                       std::any_of(e.of.pod_sets.begin(), e.of.pod_sets.end(),
                                   [](const kueue_pod_set& set) { return set.needs.topology.is_there; });
    }
    if (r.why.empty() && s.found.empty()) s.read_job(e, now, r);
  });
  if (!s.found.empty()) {
    const errors::error& first = s.found.kept().front();
    r.standing = kueue_standing::malformed;
    r.why = first.place.empty() ? first.text : first.place + ": " + first.text;
    r.job.reset();
  }
  r.notes = std::exchange(s.notes, {});
  return r;
}

std::optional<vector<kueue_assignment>> kueue_cluster::assign(std::string_view workload,
                                                              const flavor_pick& pick,
                                                              const pods_by_set& pods, instant now) {
  state& s = *state_;
  std::optional<vector<kueue_assignment>> all;
  s.with_workload(workload, now, [&](const kueue_entry& e, const kueue_place& place) {
    const bool is_asked = place.why.empty() || place.standing == kueue_standing::no_pods;
    if (is_asked && !e.of.holds_quota() && s.found.empty()) all = s.reader->assign(e, pick, pods);
  });
  return all;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

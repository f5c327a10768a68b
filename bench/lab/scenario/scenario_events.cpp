// SPDX-License-Identifier: BSL-1.0
#include "lab/scenario/scenario_reader.hpp"

#include "lab/io/files.hpp"

#include <allot/core/vector.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/change.hpp>
#include <allot/quota/ledger.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// A change that a running simulation could not make must be found while reading, so all changes are tried
/// out here: on the quotas as the user gave them, and as the preset sees them.
struct scenario_reader::world {
  /// By id, after the changes so far.
  std::vector<quota_spec<max_resources>> specs;
  vector<bool> removed;
  ledger<max_resources> given;
  ledger<max_resources> adapted;
  /// Changes at the current instant.
  vector<event_entry> together{};
};

void scenario_reader::read_events(json_object& top) {
  const auto value = top.find("events");
  if (!value || !expect_array(*value, found_)) return;
  vector<dated> events;
  value->for_each([&](json_value element) {
    if (!expect_object(element, found_)) return;
    json_object event{element, found_};
    const auto at = event.require("at_s");
    const auto milli = at ? read_milli(*at, found_) : std::nullopt;
    if (!milli) return;
    dated& read = events.emplace_back(dated{*milli, element});
    if (const auto since = event.find("announced_s")) {
      read.announced = read_milli(*since, found_);
      if (read.announced > read.at)
        since->report(found_, "what is announced is yet to happen (expected a time before at_s)");
    }
  });
  std::stable_sort(events.begin(), events.end(), [](const dated& a, const dated& b) { return a.at < b.at; });

  if (quotas_are_too_deep_) {
    names_are_missing_ = true;
    return;
  }
  std::vector<quota_spec<max_resources>> specs = given_quotas(to_);
  auto given = build_quota_tree(specs);
  auto adapted_specs = specs;
  adapt_to_preset(to_.policy.preset, adapted_specs);
  auto adapted = build_quota_tree(std::move(adapted_specs));
  // The errors have been reported. Events can only be read against quotas that are a tree.
  if (!given || !adapted) {
    names_are_missing_ = true;
    return;
  }
  vector<bool> removed(specs.size());
  world now{std::move(specs), std::move(removed), ledger{std::move(given).value()},
            ledger{std::move(adapted).value()}};
  for (const dated& e : events) {
    const bool is_later = !now.together.empty() && now.together.front().at != e.at;
    if (is_later && !apply_changes(std::exchange(now.together, {}), now)) return;
    if (const auto kind = kind_of_event(e.value)) read_change(e, *kind, now);
  }
  static_cast<void>(apply_changes(now.together, now));
}

/// The kind of event: the only member besides the time.
std::optional<json_value> scenario_reader::kind_of_event(json_value value) {
  json_object event{value, found_};
  static_cast<void>(event.find("at_s"));
  static_cast<void>(event.find("announced_s"));
  std::optional<json_value> kind;
  bool is_refused = false;
  for (const auto* key : {"resize", "add_quota", "remove_quota", "move_quota", "reweight", "cancel",
                          "node_down", "node_up", "drain"}) {
    const auto member = event.find(key);
    if (!member) continue;
    if (kind) {
      member->report(found_, "one event can't do two things (expected another event at the same time)");
    } else if (expect_object(*member, found_)) {
      kind = member;
    } else {
      is_refused = true;
    }
  }
  const std::size_t before = found_.size();
  event.reject_unknown();
  if (!kind && !is_refused && found_.size() == before) {
    value.report(found_,
                 "nothing happens here (expected resize, add_quota, remove_quota, move_quota, reweight, "
                 "cancel, node_down, node_up or drain)");
  }
  return found_.size() == before ? kind : std::nullopt;
}

void scenario_reader::read_node_change(const dated& event, json_value kind) {
  json_object what{kind, found_};
  const auto value = what.require("node");
  what.reject_unknown();
  const auto name = value ? read_string(*value, found_) : std::nullopt;
  if (!name || nodes_are_wrong_) return;
  if (!to_.cluster) return value->report(found_, "there is no cluster of which this could be a node");
  const auto node = to_.cluster->find(*name);
  if (!node) return value->report(found_, "there is no node \"" + *name + '"');
  const sim::node_change happens = kind.key() == "node_down" ? sim::node_change::down
                                   : kind.key() == "node_up" ? sim::node_change::up
                                                             : sim::node_change::drain;
  to_.events.push_back(
      {event.at, sim::node_event{event.at, *node, happens, event.known_since()}, value->pointer()});
}

void scenario_reader::read_change(const dated& event, json_value kind, world& now) {
  if (event.announced && kind.key() != "resize" && kind.key() != "node_down" && kind.key() != "node_up")
    return kind.report(found_, "only resize, node_down and node_up can be announced");
  const bool is_of_node = kind.key() == "node_down" || kind.key() == "node_up" || kind.key() == "drain";
  if (is_of_node) return read_node_change(event, kind);
  const std::size_t before = found_.size();
  json_object what{kind, found_};
  const auto quota_named = [&](std::string_view key) {
    const auto value = what.find(key);
    const auto name = value ? read_string(*value, found_) : std::nullopt;
    if (!name) return quota_id::none();
    const auto at = quota_ids_.find(*name);
    if (at == quota_ids_.end() || now.removed[at->second.index()]) {
      value->report(found_, "there is no quota \"" + *name + "\" at this time");
      return quota_id::none();
    }
    return at->second;
  };
  const auto record = [&](auto change) {
    // All errors at one time are reported, but a faulty change is not tried out.
    if (found_.size() != before) return;
    now.together.push_back({event.at, std::move(change), kind.pointer(), event.known_since()});
  };

  if (kind.key() == "cancel") {
    if (const auto job = what.require("job")) {
      if (auto id = read_string(*job, found_))
        to_.events.push_back({event.at, std::move(*id), job->pointer()});
    }
  } else if (kind.key() == "add_quota") {
    const std::size_t index = to_.quotas.size();
    quota_entry q = read_quota(kind);
    if (found_.size() == before && !quota_ids_.try_emplace(q.spec.name, quota_id{index}).second) {
      kind.report(found_, "there is or was a quota \"" + q.spec.name + "\" (expected a new name)");
    }
    record(quota_change<max_resources>{add_quota<max_resources>{given_quota(to_, q, true)}});
    if (found_.size() != before) return;
    now.specs.push_back(q.spec);
    now.removed.push_back(false);
    to_.quotas.push_back(std::move(q));
    return;
  } else {
    static_cast<void>(what.require("quota"));
    const quota_id x = quota_named("quota");
    if (kind.key() == "resize") {
      resize_quota<max_resources> change{x};
      quota_spec<max_resources> otherwise;
      quota_spec<max_resources>& s = x ? now.specs[x.index()] : otherwise;
      if (const auto nominal = what.find("nominal")) {
        read_nominal(*nominal, s.parent.empty(), s.nominal);
        change.nominal = s.nominal;
      }
      if (const auto lend = what.find("lend")) read_limits(*lend, s.lend), change.lend = s.lend;
      if (const auto borrow = what.find("borrow")) read_limits(*borrow, s.borrow), change.borrow = s.borrow;
      if (!change.nominal && !change.lend && !change.borrow) {
        kind.report(found_, "expected \"nominal\", \"lend\" or \"borrow\"");
      }
      record(quota_change<max_resources>{change});
    } else if (kind.key() == "reweight") {
      quota_spec<max_resources> otherwise;
      quota_spec<max_resources>& s = x ? now.specs[x.index()] : otherwise;
      if (const auto weight = what.require("weight")) read_weights(*weight, s.weight);
      record(quota_change<max_resources>{reweight_quota<max_resources>{x, s.weight}});
    } else if (kind.key() == "remove_quota") {
      record(quota_change<max_resources>{remove_quota{x}});
      if (x) now.removed[x.index()] = true;
    } else {
      const quota_id parent = quota_named("parent");
      record(quota_change<max_resources>{move_quota{x, parent}});
      if (x) now.specs[x.index()].parent = parent ? now.specs[parent.index()].name : std::string{};
    }
  }
  what.reject_unknown();
}

/// Changes at one time are one transition. Returns whether it was valid: nothing can be said about what
/// follows an invalid one.
bool scenario_reader::apply_changes(const vector<event_entry>& together, world& now) {
  if (together.empty()) return true;
  vector<quota_change<max_resources>> changes;
  changes.reserve(together.size());
  for (const event_entry& e : together) changes.push_back(std::get<quota_change<max_resources>>(e.what));
  const auto report = [&](const problems& all, const std::string& remark) {
    for (const problem& p : all) {
      // The last change of the quota that the problem concerns, or else the last of all.
      const event_entry* about = &together.back();
      for (const event_entry& e : together) {
        const quota_id x = std::visit(
            [&](const auto& c) {
              if constexpr (requires { c.quota; }) {
                return c.quota;
              } else {
                return quota_ids_.find(c.spec.name)->second;
              }
            },
            std::get<quota_change<max_resources>>(e.what));
        if (now.specs[x.index()].name == p.subject) about = &e;
      }
      found_.add(to_.file, about->place, text_of(p) + remark);
    }
    return false;
  };
  const auto may_be_deeper = [](const quota_change<max_resources>& c) {
    return std::holds_alternative<add_quota<max_resources>>(c) || std::holds_alternative<move_quota>(c);
  };
  const bool is_deeper = std::any_of(changes.begin(), changes.end(), may_be_deeper);
  if (const auto deep = is_deeper ? find_too_deep(now.specs) : std::nullopt) {
    found_.add(to_.file, together.back().place,
               "the quota " + now.specs[*deep].name + " is then too deep in its tree (expected at most " +
                   std::to_string(limits_of_input().depth) + " levels; --max-depth N raises the limit)");
    return false;
  }
  auto over = allot::apply(now.given, std::span<const quota_change<max_resources>>{changes});
  if (!over) return report(over.problems(), {});
  for (quota_change<max_resources>& c : changes) {
    auto* addition = std::get_if<add_quota<max_resources>>(&c);
    if (addition == nullptr) continue;
    std::vector<quota_spec<max_resources>> one{addition->spec};
    adapt_to_preset(to_.policy.preset, one);
    addition->spec = one.front();
  }
  over = allot::apply(now.adapted, std::span<const quota_change<max_resources>>{changes});
  if (!over) return report(over.problems(), " (as the preset " + to_.policy.preset + " sees it)");
  to_.events.append(together.begin(), together.end());
  return true;
}

void scenario_reader::read_faults(json_object& top) {
  const auto value = top.find("faults");
  if (!value || !expect_object(*value, found_)) return;
  json_object faults{*value, found_};
  sim::host_faults& to = to_.faults;
  if (const auto v = faults.find("start_s")) to.start = read_fault_span(*v);
  if (const auto v = faults.find("eviction_s")) to.eviction = read_fault_span(*v);
  if (const auto v = faults.find("failed_starts_percent")) to.failed_starts = read_percent(*v);
  if (const auto v = faults.find("failed_evictions_percent")) to.failed_evictions = read_percent(*v);
  if (const auto v = faults.find("start_again_after_s"))
    to.start_again_after = read_milli(*v, found_).value_or(0);
  if (const auto v = faults.find("evict_again_after_s"))
    to.evict_again_after = read_milli(*v, found_).value_or(0);
  if (const auto v = faults.find("replace_failed_pods"))
    to.replaces_failed_pods = read_bool(*v, found_).value_or(false);
  if (const auto v = faults.find("seed")) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    to.seed = static_cast<std::uint64_t>(read_whole(*v, 0, most, found_).value_or(1));
  }
  faults.reject_unknown();
}

/// 30, or [10, 60].
sim::host_faults::span scenario_reader::read_fault_span(json_value value) {
  if (!value.is_array()) {
    const instant exactly = read_milli(value, found_).value_or(0);
    return {exactly, exactly};
  }
  vector<instant> bounds;
  value.for_each([&](json_value bound) { bounds.push_back(read_milli(bound, found_).value_or(0)); });
  if (bounds.size() == 2 && bounds[0] <= bounds[1]) return {bounds[0], bounds[1]};
  value.report(found_, "expected a time, or the least and the most");
  return {};
}

std::uint32_t scenario_reader::read_percent(json_value value) {
  const auto part = read_milli(value, found_);
  if (!part || *part <= 100'000) return static_cast<std::uint32_t>(part.value_or(0));
  value.report(found_, "expected at most 100, found " + value.shown());
  return 0;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

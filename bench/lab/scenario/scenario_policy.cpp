// SPDX-License-Identifier: BSL-1.0
#include "lab/scenario/policy_parts.hpp"
#include "lab/scenario/scenario_reader.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/named_policy.hpp>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

std::string policy_choice::full_name() const {
  std::string text;
  for (const auto& [key, value] : given) {
    text.append(text.empty() ? " (" : ", ").append(key).append(" ").append(value);
  }
  return preset + text + (text.empty() ? "" : ")");
}

std::optional<named_policy> policy_choice::policy() const {
  auto chosen = named_policy::find(preset);
  if (!chosen) return chosen;
  // A surplus rule may be chosen for any preset: it then shows in what quotas are entitled to.
  if (parts.chooses_any()) static_cast<void>(chosen->choose(parts));
  any_preset* const listed = chosen->preset();
  if (listed == nullptr) return chosen;
  listed->visit([](auto& p) {
    // By default in seconds, as KAI's; here times are milliseconds.
    if constexpr (requires { p.window, p.period; }) p.window *= 1000, p.period *= 1000;
  });
  for (const auto& [option, value] : options) option->set(*listed, value);
  listed->visit([&](auto& p) {
    if constexpr (requires { p.resource_of; }) p.resource_of = resource_of;
    if constexpr (requires { p.share_units; }) p.share_units = share_units;
  });
  return chosen;
}

void scenario_reader::choose_preset(std::string name, std::string_view file, std::string_view place) {
  if (named_policy::find(name)) {
    to_.policy.preset = std::move(name);
    return;
  }
  vector<std::string_view> names;
  for (const named_policy& p : all_policies()) names.push_back(p.name);
  found_.add(file, place, "there is no preset \"" + name + '"' + meant_or_expected(name, names));
}

void scenario_reader::read_policy(json_object& top) {
  if (const auto value = top.find("policy")) read_policy_value(*value, nullptr);
}

void scenario_reader::read_policy_value(json_value value, std::string* name) {
  if (value.is_string()) return choose_preset(std::string{value.text()}, to_.file, value.pointer());
  if (!value.is_object()) {
    value.report(found_, "expected the name of a preset or an object, found " + value.shown());
    return;
  }
  json_object policy{value, found_};
  if (name != nullptr) {
    if (const auto given = policy.find("name")) *name = read_string(*given, found_).value_or("");
  }
  if (const auto preset = policy.require("preset")) {
    if (auto preset_name = read_string(*preset, found_)) {
      choose_preset(std::move(*preset_name), to_.file, preset->pointer());
    }
  }
  if (const auto set = policy.find("set")) read_policy_parts(*set);
  read_preset_options(policy);
  policy.reject_unknown();
}

policy_choice read_policy(json_value value, const std::string& file, std::string& name, errors& found) {
  scenario s;
  s.file = file;
  scenario_reader{s, found}.read_policy_value(value, &name);
  return s.policy;
}

void scenario_reader::read_policy_parts(json_value set) {
  if (!expect_object(set, found_)) return;
  json_object parts{set, found_};
  // The division of entitlements can be chosen for any preset that has quotas.
  const auto preset = named_policy::find(to_.policy.preset);
  const auto takes = [&](std::string_view key) {
    if (key == "placement") return preset->own() == nullptr || preset->own()->placement == nullptr;
    return key == "surplus" || key == "rounding" ? !preset->ignores_quotas : preset->takes_parts;
  };
  for (const part_kind& kind : settable_parts()) {
    const auto value = parts.find(kind.key);
    if (!value) continue;
    // Concerns the jobs of a quota, not the quotas.
    if (kind.key == "queue_order" && value->is_string() && value->text() == "fifo") {
      to_.policy.order = queue_order::fifo;
      to_.policy.given.emplace_back(kind.key, "fifo");
      continue;
    }
    vector<std::string_view> names;
    for (const named_part& n : kind.names) names.push_back(n.name);
    const auto word = read_word(*value, names, found_);
    if (!word) continue;
    kind.choose(to_.policy.parts, *word);
    to_.policy.given.emplace_back(kind.key, names[*word]);
    if (kind.key == "placement") to_.policy.placement = static_cast<gpu::placement_name>(*word);
    if (!takes(kind.key)) {
      value->report(found_, "the preset " + to_.policy.preset + " has its own " + std::string{kind.key} +
                                ", which can't be set");
    }
  }
  if (const auto seed = parts.find("seed")) {
    const auto n = read_whole(*seed, 0, 1'000'000'000'000, found_);
    to_.policy.seed = static_cast<std::uint64_t>(n.value_or(1));
  }
  parts.reject_unknown();
}

namespace {

/// The value of an option without quotes: "fcfs", "0.5", "final_share + initial_share".
[[nodiscard]] std::string shown_option(json_value value) {
  if (!value.is_array()) return std::string{value.text()};
  std::string text;
  value.for_each([&](json_value element) { text.append(text.empty() ? "" : " + ").append(element.text()); });
  return text;
}

}  // namespace

std::optional<std::int64_t> scenario_reader::read_preset_option(const preset_option& o, json_value value) {
  switch (o.kind) {
    case option_kind::word:
      return read_word(value, o.words, found_);
    case option_kind::boolean:
      return read_bool(value, found_);
    case option_kind::milli: {
      const auto milli = read_milli(value, found_);
      if (milli && *milli < o.least) {
        value.report(found_,
                     "expected at least " + std::to_string(o.least / 1000) + ", found " + value.shown());
      }
      return milli;
    }
    case option_kind::count:
      if (value.is_string() && value.text() == "all") return std::int64_t{reserve_all};
      if (value.is_string()) {
        value.report(found_, "expected a number or \"all\", found " + value.shown());
        return std::nullopt;
      }
      return read_whole(value, o.least, 1'000'000, found_);
    case option_kind::strategies:
      return read_strategies(o, value);
  }
  return std::nullopt;
}

std::optional<std::int64_t> scenario_reader::read_strategies(const preset_option& o, json_value value) {
  if (!expect_array(value, found_)) return std::nullopt;
  vector<std::size_t> strategies;
  value.for_each([&](json_value element) {
    const auto w = read_word(element, o.words, found_);
    if (!w) return;
    if (std::find(strategies.begin(), strategies.end(), *w) != strategies.end()) {
      element.report(found_, "the strategy is there twice");
    }
    strategies.push_back(*w);
  });
  // Kueue accepts only these three lists.
  if (strategies == vector<std::size_t>{0}) return static_cast<int>(fair_strategies::final_share);
  if (strategies == vector<std::size_t>{1}) return static_cast<int>(fair_strategies::initial_share);
  if (strategies == vector<std::size_t>{0, 1}) {
    return static_cast<int>(fair_strategies::final_then_initial);
  }
  value.report(found_,
               R"(expected ["final_share"], ["initial_share"] or ["final_share", "initial_share"], found )" +
                   value.shown());
  return std::nullopt;
}

void scenario_reader::read_preset_options(json_object& policy) {
  vector<std::string_view> seen;
  for (const preset_option& o : options_of_presets()) {
    if (std::find(seen.begin(), seen.end(), o.key) != seen.end()) continue;
    seen.push_back(o.key);
    const auto value = policy.find(o.key);
    if (!value) continue;
    const auto& all = options_of_presets();
    const auto own = std::find_if(all.begin(), all.end(), [&](const preset_option& other) {
      return other.key == o.key && other.preset == to_.policy.preset;
    });
    if (own == all.end()) {
      value->report(found_, "\"" + std::string{o.key} + "\" is an option of the preset " +
                                std::string{o.preset} + ", not of " + to_.policy.preset);
      continue;
    }
    to_.policy.given.emplace_back(o.key, shown_option(*value));
    if (const auto number = read_preset_option(*own, *value)) to_.policy.options.emplace_back(&*own, *number);
  }
}

void scenario_reader::read_command_line(const scenario_source& source) {
  if (source.policy) {
    // Options and parts belong to the preset that they were written for; the placement does not.
    const policy_choice given = to_.policy;
    to_.policy = {};
    to_.policy.seed = given.seed;
    to_.policy.placement = given.placement;
    for (const auto& part : given.given) {
      if (part.first == "placement") to_.policy.given.push_back(part);
    }
    choose_preset(*source.policy, "--policy", {});
  } else if (source.chosen) {
    to_.policy = *source.chosen;
  }
  if (!source.nodes) return;
  to_.input.add_text(*source.nodes);
  set_nodes(*source.nodes);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

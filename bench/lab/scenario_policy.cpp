// SPDX-License-Identifier: BSL-1.0
#include "lab/policy_parts.hpp"
#include "lab/scenario_reader.hpp"

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

void scenario_reader::choose_preset(std::string name, std::string_view file, std::string_view place) {
  if (named_policy::find(name)) {
    to_.policy.preset = std::move(name);
    return;
  }
  std::vector<std::string_view> names;
  for (const named_policy& p : all_policies()) names.push_back(p.name);
  const std::string_view meant = nearest(name, names);
  std::string text = "there is no preset \"" + name + '"';
  if (!meant.empty()) text.append(" (did you mean \"").append(meant).append("\"?)");
  if (meant.empty()) text.append(" (expected ").append(listed(names)).append(")");
  found_.add(file, place, std::move(text));
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
    std::vector<std::string_view> names;
    for (const named_part& n : kind.names) names.push_back(n.name);
    const auto word = read_word(*value, names, found_);
    if (!word) continue;
    kind.choose(to_.policy.options, *word);
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

void scenario_reader::read_preset_options(json_object& policy) {
  preset_options& options = to_.policy.options;
  const auto option = [&](std::string_view key) {
    const auto value = policy.find(key);
    if (!value) return value;
    std::vector<std::string> presets;
    for (const preset_option& o : options_of_presets()) {
      if (o.key == key && o.preset != to_.policy.preset) presets.emplace_back(o.preset);
      if (o.key != key || o.preset != to_.policy.preset) continue;
      to_.policy.given.emplace_back(key, shown_option(*value));
      return value;
    }
    value->report(found_, "\"" + std::string{key} + "\" is an option of the preset " + presets.front() +
                              ", not of " + to_.policy.preset);
    return std::optional<json_value>{};
  };
  const auto word = [&](std::string_view key, const auto& words, auto& to) {
    using choice = typename std::remove_reference_t<decltype(to)>::value_type;
    const auto v = option(key);
    const auto chosen = v ? read_word(*v, {words.begin(), words.end()}, found_) : std::nullopt;
    if (chosen) to = static_cast<choice>(*chosen);
  };
  const auto number = [&](std::string_view key, std::optional<std::int64_t>& to) {
    const auto v = option(key);
    if (v) to = read_milli(*v, found_);
    return v;
  };
  word("idle", idle_words, options.idle);
  word("tasks", tasks_words, options.tasks);
  if (const auto v = option("strategies"); v && expect_array(*v, found_)) {
    std::vector<std::size_t> strategies;
    v->for_each([&](json_value element) {
      const auto w = read_word(element, {strategy_words.begin(), strategy_words.end()}, found_);
      if (!w) return;
      if (std::find(strategies.begin(), strategies.end(), *w) != strategies.end()) {
        element.report(found_, "the strategy is there twice");
      }
      strategies.push_back(*w);
    });
    // Kueue accepts only these three lists.
    if (strategies == std::vector<std::size_t>{0}) {
      options.strategies = fair_strategies::final_share;
    } else if (strategies == std::vector<std::size_t>{1}) {
      options.strategies = fair_strategies::initial_share;
    } else if (strategies == std::vector<std::size_t>{0, 1}) {
      options.strategies = fair_strategies::final_then_initial;
    } else {
      v->report(found_,
                R"(expected ["final_share"], ["initial_share"] or ["final_share", "initial_share"], found )" +
                    v->shown());
    }
  }
  word("backfill", backfill_words, options.backfill);
  if (const auto v = option("reservations")) {
    if (v->is_string() && v->text() == "all") {
      options.reservations = reserve_all;
    } else if (v->is_string()) {
      v->report(found_, "expected a number or \"all\", found " + v->shown());
    } else if (const auto n = read_whole(*v, to_.policy.preset == "easy" ? 1 : 0, 1'000'000, found_)) {
      options.reservations = static_cast<std::uint32_t>(*n);
    }
  }
  if (const auto v = option("preserve_scan_progress")) options.preserve_scan_progress = read_bool(*v, found_);
  if (const auto v = option("float_shares")) options.float_shares = read_bool(*v, found_);
  number("k", options.k);
  number("half_life_s", options.half_life);
  number("window_s", options.window);
  const auto multiplier = number("saturation_multiplier", options.saturation_multiplier);
  if (options.saturation_multiplier && *options.saturation_multiplier < 1000) {
    multiplier->report(found_, "expected at least 1, found " + multiplier->shown());
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

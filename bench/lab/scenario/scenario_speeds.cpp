// SPDX-License-Identifier: BSL-1.0
// How fast jobs run: by GPU model, pods, neighbours, and where their pods are.
#include "lab/scenario/scenario_reader.hpp"
#include "lab/scenario/workload.hpp"

#include <allot/core/text.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/decimal.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr std::int64_t fastest = 1'000'000;
constexpr const char* expected_speed = "expected a speed from 0.001 to 1000, found ";

[[nodiscard]] bool has(const vector<std::string>& some, std::string_view text) {
  return std::any_of(some.begin(), some.end(), [&](const std::string& s) { return s == text; });
}

/// In a column of tags, where an empty field is no speed of its own: 0, as in `speed_tables::kind::by_model`.
[[nodiscard]] std::optional<sim::speed> speed_in(std::string_view field) {
  if (field.empty()) return 0;
  const parsed_milli said = parse_milli(field);
  const bool is_speed = said.problem == decimal_problem::none && said.value >= 1 && said.value <= fastest;
  return is_speed ? std::optional{static_cast<sim::speed>(said.value)} : std::nullopt;
}

void set_models(sim::speed_tables::kind& of, std::uint64_t models, sim::speed to) {
  for (std::size_t m = 0; m < of.by_model.size(); ++m) {
    if ((models >> m & 1U) != 0) of.by_model[m] = to;
  }
}

[[nodiscard]] bool is_for_class(const speed_entry& e, std::string_view job_class) {
  return e.classes.empty() || has(e.classes, job_class);
}
[[nodiscard]] bool is_for_traced(const speed_entry& e, const trace& t, const trace_job& job) {
  return is_for_class(e, t.words[job.job_class]) &&
         std::all_of(e.tags.begin(), e.tags.end(),
                     [&](const speed_entry::tag_choice& c) { return has(c.values, t.tag(job, c.column)); });
}
[[nodiscard]] bool is_for_entry(const speed_entry& e, const job_entry& job) {
  return e.tags.empty() && e.columns.empty() && is_for_class(e, job.job_class);
}

}  // namespace

sim::speed_tables speeds_of(const scenario& s, const vector<job_origin>& jobs) {
  vector<sim::speed_tables::kind> kinds;
  vector<std::uint32_t> kind_of;
  // By entry, and what its columns say of a job.
  std::map<std::pair<const speed_entry*, vector<sim::speed>>, std::uint32_t> known;
  for (const job_origin& j : jobs) {
    const trace_job* const traced = j.traced ? &s.trace->jobs[*j.traced] : nullptr;
    const auto e = std::find_if(s.speeds.begin(), s.speeds.end(), [&](const speed_entry& of) {
      return traced != nullptr ? is_for_traced(of, *s.trace, *traced) : is_for_entry(of, s.jobs[*j.entry]);
    });
    if (e == s.speeds.end()) {
      kind_of.push_back(0);
      continue;
    }
    vector<sim::speed> own;
    for (const auto& c : e->columns) own.push_back(*speed_in(s.trace->tag(*traced, c.column)));
    const auto number = static_cast<std::uint32_t>(kinds.size() + 1);
    const auto [at, is_new] = known.try_emplace({&*e, own}, number);
    kind_of.push_back(at->second);
    if (!is_new) continue;
    kinds.push_back(e->of);
    for (std::size_t c = 0; c < own.size(); ++c) set_models(kinds.back(), e->columns[c].models, own[c]);
  }
  return {std::move(kinds), std::move(kind_of)};
}

std::set<std::size_t> columns_of_speeds(const scenario& s) {
  std::set<std::size_t> columns;
  for (const speed_entry& e : s.speeds) {
    for (const auto& t : e.tags) columns.insert(t.column);
    for (const auto& c : e.columns) columns.insert(c.column);
  }
  return columns;
}

void scenario_reader::read_speeds(json_object& top) {
  const auto value = top.find("speeds");
  if (!value || !expect_array(*value, found_)) return;
  value->for_each([&](json_value entry) {
    if (expect_object(entry, found_)) to_.speeds.push_back(read_speed(entry));
  });
}

speed_entry scenario_reader::read_speed(json_value value) {
  const auto one_or_more = [&](json_value of) {
    vector<std::string> some;
    if (of.is_array()) {
      some = read_strings(of, found_);
      if (some.empty()) of.report(found_, "expected at least one");
    } else if (auto text = read_string(of, found_)) {
      some.push_back(std::move(*text));
    }
    return some;
  };
  speed_entry to;
  const std::size_t before = found_.size();
  json_object entry{value, found_};
  if (const auto v = entry.find("class")) to.classes = one_or_more(*v);
  if (const auto v = entry.find("tags"); v && expect_object(*v, found_)) {
    v->for_each([&](json_value of) {
      const auto column = column_of_tags(of.key(), of);
      auto values = one_or_more(of);
      if (column) to.tags.push_back({*column, std::move(values)});
    });
  }
  const auto models = entry.find("gpu_model");
  const auto pods = entry.find("pods");
  const auto neighbours = entry.find("neighbours");
  const auto apart = entry.find("apart");
  if (models && expect_object(*models, found_)) read_speeds_by_model(*models, to);
  if (found_.size() == before) {
    for (const auto& c : to.columns) check_speeds(*models, to, c.column);
  }
  if (pods && expect_object(*pods, found_)) read_speeds_by_pods(*pods, to.of);
  if (neighbours && expect_array(*neighbours, found_)) {
    neighbours->for_each([&](json_value of) {
      if (const auto said = read_speed_factor(of)) to.of.by_neighbours.push_back(*said);
    });
  }
  if (apart && expect_object(*apart, found_)) read_speed_apart(*apart, to.of);
  if (!models && !pods && !neighbours && !apart) {
    value.report(found_, R"(expected one of "gpu_model", "pods", "neighbours" and "apart", or several)");
  }
  entry.reject_unknown();
  return to;
}

std::optional<sim::speed> scenario_reader::read_speed_factor(json_value value) {
  const auto milli = read_milli(value, found_);
  if (!milli) return std::nullopt;
  if (*milli >= 1 && *milli <= fastest) return static_cast<sim::speed>(*milli);
  value.report(found_, expected_speed + value.shown());
  return std::nullopt;
}

std::optional<std::size_t> scenario_reader::column_of_tags(std::string_view name, json_value value) {
  if (!to_.trace) {
    // A faulty trace has been reported.
    if (to_.trace_file.empty()) value.report(found_, "only the jobs of a trace have tags");
    return std::nullopt;
  }
  const vector<std::string>& columns = to_.trace->tag_columns;
  const auto at = std::find(columns.begin(), columns.end(), name);
  if (at != columns.end()) return static_cast<std::size_t>(at - columns.begin());
  value.report(found_, "the trace has no column of tags \"" + std::string{name} + '"' +
                           did_you_mean(nearest(name, {columns.begin(), columns.end()})));
  return std::nullopt;
}

void scenario_reader::read_speeds_by_model(json_value value, speed_entry& to) {
  // Nodes of the command line have no models.
  if (nodes_are_wrong_ || has_nodes_of_command_line_) return;
  if (!to_.cluster) return value.report(found_, "only nodes have a GPU model (expected a \"cluster\")");
  to.of.by_model.resize(to_.cluster->models().size());
  value.for_each([&](json_value of) {
    const std::uint64_t models = find_models(of.key(), of);
    if (!of.is_string()) return set_models(to.of, models, read_speed_factor(of).value_or(0));
    const std::string column{*read_string(of, found_)};
    if (const auto at = column_of_tags(column, of)) to.columns.push_back({models, *at});
  });
}

void scenario_reader::check_speeds(json_value value, const speed_entry& of, std::size_t column) {
  const trace& t = *to_.trace;
  const auto is_wrong = [&](const trace_job& j) {
    return is_for_traced(of, t, j) && !speed_in(t.tag(j, column));
  };
  const auto first = std::find_if(t.jobs.begin(), t.jobs.end(), is_wrong);
  if (first == t.jobs.end()) return;
  const auto more = std::count_if(first + 1, t.jobs.end(), is_wrong);
  value.report(found_, "in the column \"" + t.tag_columns[column] + "\" of job \"" +
                           std::string{t.ids[first->id]} + "\": " + expected_speed + '"' +
                           std::string{t.tag(*first, column)} + '"' +
                           (more == 0 ? "" : "; and so in " + std::to_string(more) + " more"));
}

void scenario_reader::read_speeds_by_pods(json_value value, sim::speed_tables::kind& to) {
  value.for_each([&](json_value of) {
    const std::string_view key = of.key();
    std::uint32_t pods = 0;
    std::from_chars(key.data(), key.data() + key.size(), pods);
    if (pods == 0 || key != std::to_string(pods)) {
      return of.report(found_, "expected a number of pods as the key, found \"" + std::string{key} + '"');
    }
    if (const auto said = read_speed_factor(of)) to.by_pods.emplace_back(pods, *said);
  });
  std::sort(to.by_pods.begin(), to.by_pods.end());
  const std::pair<std::uint32_t, sim::speed> one{1, sim::nominal_speed};
  if (!to.by_pods.empty() && to.by_pods.front() == one) return;
  value.report(found_, "how many times as fast as with one pod: expected \"1\": 1 as the first");
}

void scenario_reader::read_speed_apart(json_value value, sim::speed_tables::kind& to) {
  json_object apart{value, found_};
  const auto level = apart.require("level");
  const auto speed = apart.require("speed");
  if (level && !nodes_are_wrong_ && !levels_are_wrong_) {
    if (!to_.cluster) {
      level->report(found_, "only nodes have a topology (expected a \"cluster\")");
    } else if (const auto at = read_level(*level)) {
      to.level = *at;
    }
  }
  if (speed) to.apart = read_speed_factor(*speed).value_or(sim::nominal_speed);
  apart.reject_unknown();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

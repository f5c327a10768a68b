// SPDX-License-Identifier: BSL-1.0
#include "lab/sweep/sweep_results.hpp"

#include "lab/io/deviation.hpp"
#include "lab/io/json_reader.hpp"
#include "lab/io/packed_input.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/csv.hpp>
#include <allot/lab/json_writer.hpp>
#include <allot/lab/text_table.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr std::string_view sweep_format = "allot-sweep/1";
constexpr std::string_view point_format = "allot-point/1";
constexpr std::string_view table_format = "allot-table/1";
constexpr std::array<std::string_view, 4> state_words = {"missing", "done", "stopped", "failed"};

std::string_view word_of(swept_point::state is) {
  return state_words[static_cast<std::size_t>(is)];
}

/// The only figure that differs between runs.
constexpr std::string_view wall_time = "wall_s";

void write_point_head(json_writer& json, const swept_point& p) {
  json.member("name", p.name).member("scenario", p.scenario).member("policy", p.policy);
  json.member("load", p.load).member("seed", p.seed).member("key", p.key);
  if (!p.measured.empty()) json.member("measured", p.measured);
}

std::string text_member(json_object& of, std::string_view key, errors& found) {
  const auto v = of.require(key);
  return v ? read_string(*v, found).value_or("") : std::string{};
}

void read_point_head(json_object& of, swept_point& p, errors& found) {
  p.name = text_member(of, "name", found);
  p.scenario = text_member(of, "scenario", found);
  p.policy = text_member(of, "policy", found);
  p.load = text_member(of, "load", found);
  p.key = text_member(of, "key", found);
  if (const auto measured = of.find("measured")) p.measured = read_string(*measured, found).value_or("");
  if (const auto seed = of.require("seed")) {
    p.seed = static_cast<std::uint64_t>(read_whole(*seed, 0, 1'000'000'000'000, found).value_or(0));
  }
}

/// The points of one scenario, load and policy, which differ only in their seeds.
struct configuration {
  const swept_point* first = nullptr;
  vector<const swept_point*> points;

  [[nodiscard]] std::size_t done() const {
    return static_cast<std::size_t>(std::count_if(points.begin(), points.end(), [](const swept_point* p) {
      return p->is == swept_point::state::done;
    }));
  }
  [[nodiscard]] vector<seeded_value> values_of(std::string_view figure) const {
    vector<seeded_value> values;
    for (const swept_point* p : points) {
      if (p->is != swept_point::state::done) continue;
      if (const auto v = p->summary->find(figure)) values.emplace_back(p->seed, *v);
    }
    return values;
  }
};

bool is_same_world(const swept_point& a, const swept_point& b) {
  return a.scenario == b.scenario && a.load == b.load;
}

/// In the order of the points.
vector<configuration> configurations_of(const sweep_record& sweep) {
  vector<configuration> all;
  for (const swept_point& p : sweep.points) {
    const auto at = std::find_if(all.begin(), all.end(), [&](const configuration& c) {
      return is_same_world(*c.first, p) && c.first->policy == p.policy;
    });
    configuration& c = at != all.end() ? *at : all.emplace_back(configuration{&p, {}});
    c.points.push_back(&p);
  }
  return all;
}

/// The configuration that this one is compared with; null if it is the baseline itself.
const configuration* baseline_of(const sweep_record& sweep, const vector<configuration>& all,
                                 const configuration& c) {
  if (sweep.baseline.empty() || c.first->policy == sweep.baseline) return nullptr;
  for (const configuration& other : all) {
    if (other.first->policy == sweep.baseline && is_same_world(*other.first, *c.first)) return &other;
  }
  return nullptr;
}

/// The names of all figures of all points, in order of first appearance.
vector<std::string> figure_names(const sweep_record& sweep) {
  vector<std::string> names;
  std::set<std::string_view> seen;
  for (const swept_point& p : sweep.points) {
    if (!p.summary) continue;
    for (const auto& [name, value] : p.summary->figures) {
      if (seen.insert(name).second) names.push_back(name);
    }
  }
  return names;
}

/// The values of one figure for one configuration.
struct figure_cell {
  mean_and_deviation all{};
  std::optional<figure_difference> difference{};
};

figure_cell cell_of(const configuration& c, const configuration* baseline, std::string_view figure) {
  figure_cell cell;
  const auto values = c.values_of(figure);
  vector<double> plain;
  plain.reserve(values.size());
  for (const seeded_value& v : values) plain.push_back(v.second);
  cell.all = summarize_values(plain);
  if (baseline != nullptr) cell.difference = difference_of(baseline->values_of(figure), values);
  return cell;
}

void append_field(std::string& text, std::string_view field) {
  text += ',';
  append_csv_field(text, field);
}

std::string title_of(const swept_point& p) {
  return p.load.empty() ? p.scenario : p.scenario + ", load " + p.load;
}

}  // namespace

std::size_t sweep_record::count(swept_point::state is) const {
  return static_cast<std::size_t>(
      std::count_if(points.begin(), points.end(), [is](const swept_point& p) { return p.is == is; }));
}

std::string directory_of_point(const std::string& sweep_directory, const std::string& point) {
  return sweep_directory + '/' + points_directory + '/' + point;
}

std::string to_json(const sweep_record& sweep) {
  json_writer json{2};
  json.begin_object().member("format", sweep_format);
  json.member("experiment", sweep.experiment).member("id", sweep.id).member("baseline", sweep.baseline);
  json.key("points").begin_array();
  for (const swept_point& p : sweep.points) {
    json.begin_object();
    write_point_head(json, p);
    json.end_object();
  }
  json.end_array().end_object();
  return json.text();
}

std::optional<sweep_record> read_sweep_file(const std::string& directory, errors& found) {
  const std::size_t before = found.size();
  const std::string path = directory + '/' + sweep_file;
  packed_input file{path};
  const auto text = file.read_all();
  if (!text) {
    found.add(path, {}, file.problem() + " (expected the directory of a sweep)");
    return std::nullopt;
  }
  const auto document = json_document::parse(path, *text, found);
  if (!document || !expect_object(document->root(), found)) return std::nullopt;
  json_object top{document->root(), found};
  sweep_record sweep;
  if (const auto is = top.require("format"); is && is->text() != sweep_format) {
    is->report(found, "expected \"" + std::string{sweep_format} + "\", found " + is->shown());
    return std::nullopt;
  }
  sweep.experiment = text_member(top, "experiment", found);
  sweep.id = text_member(top, "id", found);
  sweep.baseline = text_member(top, "baseline", found);
  if (const auto points = top.require("points"); points && expect_array(*points, found)) {
    points->for_each([&](json_value value) {
      if (!expect_object(value, found)) return;
      json_object point{value, found};
      read_point_head(point, sweep.points.emplace_back(), found);
    });
  }
  if (found.size() != before) return std::nullopt;
  return sweep;
}

std::string point_json(const swept_point& p) {
  json_writer json{1};
  json.begin_object().member("format", point_format);
  write_point_head(json, p);
  json.member("state", word_of(p.is)).member("reason", p.reason);
  json.end_object();
  return json.text();
}

void read_point(const std::string& sweep_directory, swept_point& p) {
  errors ignored;
  const std::string directory = directory_of_point(sweep_directory, p.name);
  packed_input file{directory + "/point.json"};
  const auto text = file.read_all();
  if (!text) return;
  const auto document = json_document::parse("point.json", *text, ignored);
  if (!document || !document->root().is_object()) return;
  json_object top{document->root(), ignored};
  swept_point there;
  const auto format = top.find("format");
  read_point_head(top, there, ignored);
  const std::string state = text_member(top, "state", ignored);
  const std::string reason = text_member(top, "reason", ignored);
  const auto at = std::find(state_words.begin(), state_words.end(), state);
  if (!ignored.empty() || !format || format->text() != point_format || there.key != p.key ||
      at == state_words.end()) {
    return;
  }
  const auto is = static_cast<swept_point::state>(at - state_words.begin());
  if (is == swept_point::state::done || is == swept_point::state::stopped) {
    auto summary = read_summary(p.name, directory + "/summary.json", ignored);
    if (!summary) return;
    // The experiment has its own name for a policy that sets something.
    if (summary->policy != p.policy) summary->policy.insert(0, p.policy + " = ");
    p.summary = std::move(*summary);
  }
  p.is = is;
  p.reason = reason;
}

std::string results_csv(const sweep_record& sweep) {
  const vector<std::string> names = figure_names(sweep);
  std::string text = "point,scenario,policy,load,seed,state,reason,input_hash,decision_hash";
  for (const std::string& name : names) append_field(text, name);
  text += '\n';
  for (const swept_point& p : sweep.points) {
    append_csv_field(text, p.name);
    append_field(text, p.scenario);
    append_field(text, p.policy);
    append_field(text, p.load);
    append_field(text, std::to_string(p.seed));
    append_field(text, word_of(p.is));
    append_field(text, p.reason);
    append_field(text, p.summary ? p.summary->input.hash : "");
    append_field(text, p.summary ? p.summary->decision_hash : "");
    for (const std::string& name : names) {
      const auto value = p.summary ? p.summary->find(name) : std::nullopt;
      append_field(text, value ? plain_number(*value) : "");
    }
    text += '\n';
  }
  return text;
}

std::string table_csv(const sweep_record& sweep) {
  const vector<configuration> all = configurations_of(sweep);
  vector<std::string> names = figure_names(sweep);
  erase(names, wall_time);
  std::string text = "scenario,policy,load,points,done";
  for (const std::string& name : names) {
    append_field(text, name);
    append_field(text, name + " sd");
    if (sweep.baseline.empty()) continue;
    append_field(text, name + " difference");
    append_field(text, name + " difference sd");
  }
  for (const std::string& name : sweep.baseline.empty() ? vector<std::string>{} : names) {
    append_field(text, name + " difference low 95");
    append_field(text, name + " difference high 95");
  }
  text += '\n';
  for (const configuration& c : all) {
    append_csv_field(text, c.first->scenario);
    append_field(text, c.first->policy);
    append_field(text, c.first->load);
    append_field(text, std::to_string(c.points.size()));
    append_field(text, std::to_string(c.done()));
    const configuration* baseline = baseline_of(sweep, all, c);
    std::string intervals;
    for (const std::string& name : names) {
      const figure_cell cell = cell_of(c, baseline, name);
      append_field(text, cell.all.count == 0 ? "" : plain_number(cell.all.mean));
      append_field(text, cell.all.deviation ? plain_number(*cell.all.deviation) : "");
      if (sweep.baseline.empty()) continue;
      const auto& d = cell.difference;
      append_field(text, d ? plain_number(d->mean) : "");
      append_field(text, d && d->deviation ? plain_number(*d->deviation) : "");
      for (const auto& bound : {d ? d->low_95() : std::nullopt, d ? d->high_95() : std::nullopt}) {
        append_field(intervals, bound ? plain_number(*bound) : "");
      }
    }
    text += intervals;
    text += '\n';
  }
  return text;
}

std::string table_json(const sweep_record& sweep) {
  const vector<configuration> all = configurations_of(sweep);
  vector<std::string> names = figure_names(sweep);
  erase(names, wall_time);
  json_writer json{4};
  json.begin_object().member("format", table_format);
  json.member("experiment", sweep.experiment).key("baseline");
  sweep.baseline.empty() ? json.null() : json.value(sweep.baseline);
  json.key("rows").begin_array();
  const auto number = [&](std::string_view key, const std::optional<double>& n) {
    json.key(key);
    n ? json.raw(plain_number(*n)) : json.null();
  };
  for (const configuration& c : all) {
    json.begin_object().member("scenario", c.first->scenario).member("policy", c.first->policy);
    json.member("load", c.first->load).member("points", std::uint64_t{c.points.size()});
    json.member("done", std::uint64_t{c.done()});
    json.key("figures").begin_object();
    const configuration* baseline = baseline_of(sweep, all, c);
    for (const std::string& name : names) {
      const figure_cell cell = cell_of(c, baseline, name);
      if (cell.all.count == 0) continue;
      json.key(name).begin_object().member("n", std::uint64_t{cell.all.count});
      number("mean", cell.all.mean);
      number("sd", cell.all.deviation);
      if (const auto& d = cell.difference) {
        json.member("pairs", std::uint64_t{d->pairs});
        number("difference", d->mean);
        number("difference_sd", d->deviation);
        json.key("within_deviation");
        d->deviation ? json.value(d->is_within_deviation()) : json.null();
        number("difference_low_95", d->low_95());
        number("difference_high_95", d->high_95());
      }
      json.end_object();
    }
    json.end_object().end_object();
  }
  json.end_array().end_object();
  return json.text();
}

namespace {

/// The columns of the table for people.
vector<shown_figure> columns_of(const sweep_record& sweep) {
  const vector<shown_figure> all = {{"allocation_rate", "utilisation", figure_kind::rate},
                                    {"useful_utilisation", "useful", figure_kind::rate},
                                    {"queue_s/mean", "wait", figure_kind::time},
                                    {"queue_s/p99", "p99", figure_kind::time},
                                    {"worst_tenant/queue_s/mean", "worst tenant", figure_kind::time},
                                    {"isolated/sharing_anomaly_s", "sharing anomaly", figure_kind::time},
                                    {"jct_s/mean", "completion", figure_kind::time},
                                    {"preemptions", "preemptions", figure_kind::count},
                                    {"lost_gpu_h", "lost GPU-h", figure_kind::gpu_hours},
                                    {"jain", "Jain", figure_kind::index},
                                    {"fair_share_error_gpu_h", "short, GPU-h", figure_kind::gpu_hours},
                                    {"jobs/unfinished", "unfinished", figure_kind::count}};
  const vector<std::string> names = figure_names(sweep);
  vector<shown_figure> columns;
  for (const shown_figure& f : all) {
    if (std::find(names.begin(), names.end(), f.name) != names.end()) columns.push_back(f);
  }
  return columns;
}

std::string shown_cell(const figure_cell& cell, figure_kind kind) {
  if (cell.all.count == 0) return "-";
  std::string text = shown(cell.all.mean, kind);
  if (cell.all.deviation) text += " ± " + shown(*cell.all.deviation, kind);
  if (cell.difference && cell.difference->is_within_deviation()) text += " ~";
  return text;
}

std::string as_table(const vector<vector<std::string>>& rows, bool markdown) {
  if (markdown) return markdown_table(rows);
  text_table table{rows.front()};
  for (std::size_t r = 1; r < rows.size(); ++r) table.add(rows[r]);
  return table.text();
}

}  // namespace

std::string shown_table(const sweep_record& sweep, bool markdown) {
  const vector<configuration> all = configurations_of(sweep);
  const vector<shown_figure> columns = columns_of(sweep);
  std::string text;
  bool has_deviation = false;
  vector<const swept_point*> worlds;
  for (const configuration& c : all) {
    const auto same = [&](const swept_point* w) { return is_same_world(*w, *c.first); };
    if (std::none_of(worlds.begin(), worlds.end(), same)) worlds.push_back(c.first);
  }
  for (const swept_point* world : worlds) {
    vector<vector<std::string>> rows(1, {"policy"});
    for (const shown_figure& f : columns) rows.front().push_back(f.label);
    std::size_t seeds = 0;
    for (const configuration& c : all) {
      if (!is_same_world(*world, *c.first)) continue;
      seeds = std::max(seeds, c.points.size());
      vector<std::string> row{c.first->policy};
      if (c.done() < c.points.size()) row.front() += fmt::format(" ({} of {})", c.done(), c.points.size());
      const configuration* baseline = baseline_of(sweep, all, c);
      for (const shown_figure& f : columns) {
        const figure_cell cell = cell_of(c, baseline, f.name);
        has_deviation = has_deviation || cell.all.deviation;
        row.push_back(shown_cell(cell, f.kind));
      }
      rows.push_back(std::move(row));
    }
    if (!text.empty()) text += '\n';
    const std::string title =
        fmt::format("{}, {} {}{}", title_of(*world), seeds, seeds == 1 ? "seed" : "seeds",
                    world->measured.empty() ? "" : "; measured " + world->measured);
    text += markdown ? "**" + markdown_text(title) + "**\n\n" : title + '\n';
    text += as_table(rows, markdown);
  }
  if (has_deviation) {
    text += "\nmean ± standard deviation over the seeds";
    if (!sweep.baseline.empty()) {
      text += "; ~: the difference to " + sweep.baseline + " is within the deviation of the differences";
    }
    text += '\n';
  }
  return text;
}

vector<run_group> groups_of_sweep(const std::string& directory, errors& found) {
  auto sweep = read_sweep_file(directory, found);
  if (!sweep) return {};
  for (swept_point& p : sweep->points) read_point(directory, p);
  const auto differ = [&](auto get) {
    return std::any_of(sweep->points.begin(), sweep->points.end(),
                       [&](const swept_point& p) { return get(p) != get(sweep->points.front()); });
  };
  const bool several_scenarios = differ([](const swept_point& p) { return p.scenario; });
  const bool several_loads = differ([](const swept_point& p) { return p.load; });
  vector<run_group> groups;
  for (const configuration& c : configurations_of(*sweep)) {
    run_group group{c.first->policy, {}};
    if (several_scenarios) group.label.insert(0, c.first->scenario + '/');
    if (several_loads && !c.first->load.empty()) group.label += '@' + c.first->load;
    group.side = c.first->policy;
    group.scenario = c.first->scenario;
    group.load = c.first->load;
    if (several_scenarios) group.set = c.first->scenario;
    if (several_loads && !c.first->load.empty()) {
      group.set += (group.set.empty() ? "load " : ", load ") + c.first->load;
    }
    for (const swept_point* p : c.points) {
      if (p->is == swept_point::state::done) group.runs.push_back(*p->summary);
    }
    if (group.runs.empty()) continue;
    groups.push_back(std::move(group));
    // The baseline is what the others of its set are compared with.
    if (c.first->policy != sweep->baseline) continue;
    const auto first = std::find_if(groups.begin(), groups.end(),
                                    [&](const run_group& g) { return g.set == groups.back().set; });
    std::rotate(first, groups.end() - 1, groups.end());
  }
  if (groups.empty()) found.add(directory, {}, "no point of the sweep is done");
  return groups;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

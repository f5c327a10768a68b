// SPDX-License-Identifier: BSL-1.0
#include "lab/sweep/compare.hpp"

#include "lab/io/atomic_files.hpp"
#include "lab/io/files.hpp"
#include "lab/io/json_reader.hpp"
#include "lab/io/number_text.hpp"
#include "lab/io/terminal.hpp"
#include "lab/sweep/compare_common.hpp"
#include "lab/sweep/compare_curves.hpp"
#include "lab/sweep/sweep_results.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/csv.hpp>
#include <allot/lab/text_table.hpp>
#include <allot/lab/trace.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

namespace fs = std::filesystem;

/// The replays directly below a directory, by name ("seed-9" before "seed-10").
vector<fs::path> replays_below(const std::string& directory) {
  vector<fs::path> all;
  std::error_code error;
  for (fs::directory_iterator at{directory, error}, end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (is_partial(at->path().string())) continue;
    if (fs::exists(at->path() / "summary.json", ignored)) all.push_back(at->path());
  }
  const auto key = [](const fs::path& p) {
    const std::string name = p.filename().string();
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    return std::pair{name.substr(0, digits), name.substr(digits)};
  };
  std::sort(all.begin(), all.end(), [&](const fs::path& a, const fs::path& b) {
    const auto x = key(a);
    const auto y = key(b);
    return x.first != y.first ? x.first < y.first : job_id_less(x.second, y.second);
  });
  return all;
}

void read_group(std::string name, vector<run_group>& to, errors& found) {
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  if (is_partial(name) || is_partial(fs::path{name}.parent_path().string())) {
    return found.add(name, {}, "it is not a finished run: one is being written there, or was interrupted");
  }
  std::error_code error;
  if (!fs::is_directory(name, error)) {
    if (auto run = read_summary(name, name, found)) to.push_back({name, {std::move(*run)}});
    return;
  }
  if (fs::exists(fs::path{name} / sweep_file, error)) {
    for (run_group& g : groups_of_sweep(name, found)) to.push_back(std::move(g));
    return;
  }
  if (fs::exists(fs::path{name} / "summary.json", error)) {
    if (auto run = read_summary(name, name + "/summary.json", found)) to.push_back({name, {std::move(*run)}});
    return;
  }
  run_group group{name, {}};
  for (const fs::path& p : replays_below(name)) {
    if (auto run = read_summary(p.string(), (p / "summary.json").string(), found)) {
      group.runs.push_back(std::move(*run));
    }
  }
  if (!group.runs.empty()) {
    to.push_back(std::move(group));
  } else if (found.empty()) {
    found.add(name, {},
              "there is no replay in it (expected the directory of a replay or of a sweep, or replays "
              "below it)");
  }
}

template <class Visit>
void for_each_run(const vector<run_group>& groups, Visit visit) {
  for (const run_group& g : groups) {
    for (const run_summary& r : g.runs) visit(r);
  }
}

void add_once(vector<std::string>& to, std::string_view name) {
  if (std::find(to.begin(), to.end(), name) == to.end()) to.emplace_back(name);
}

/// The names of all figures, in order of first appearance.
vector<std::string> all_figures(const vector<run_group>& groups) {
  vector<std::string> names;
  for_each_run(groups, [&](const run_summary& r) {
    for (const auto& [name, value] : r.figures) add_once(names, name);
  });
  return names;
}

vector<std::string> tenants_of(const vector<run_group>& groups) {
  vector<std::string> names;
  for_each_run(groups, [&](const run_summary& r) {
    for (const auto& [name, value] : r.figures) {
      if (const std::string tenant = tenant_of(name); !tenant.empty()) add_once(names, tenant);
    }
  });
  return names;
}

/// The rows of the table: figures, and titles, which have no name.
vector<shown_figure> figures_to_show(const vector<run_group>& groups, const compare_options& options) {
  vector<shown_figure> rows;
  if (options.all || !options.figures.empty()) {
    for (const std::string& name : options.all ? all_figures(groups) : options.figures) {
      rows.push_back({name, name, kind_of(name)});
    }
    return rows;
  }
  rows = figures_shown_first();
  for (const std::string& tenant : tenants_of(groups)) {
    rows.push_back({});
    rows.push_back({{}, tenant});
    for (shown_figure& f : figures_of_tenant(tenant)) rows.push_back(std::move(f));
  }
  return rows;
}

/// The columns of a table with a row for each of many configurations.
vector<shown_figure> figures_of_configurations(const vector<run_group>& groups,
                                               const compare_options& options) {
  if (options.all || !options.figures.empty()) return figures_to_show(groups, options);
  vector<shown_figure> columns;
  for (shown_figure& f : figures_shown_first()) {
    const auto is_it = [&](const auto& drawn) { return drawn.first == f.name; };
    if (std::any_of(drawn_figures.begin(), drawn_figures.end(), is_it)) columns.push_back(std::move(f));
  }
  return columns;
}

bool any_has_several_runs(const vector<run_group>& groups) {
  return std::any_of(groups.begin(), groups.end(), [](const run_group& g) { return g.runs.size() > 1; });
}

std::string version_of(const run_summary& r) {
  return r.version;
}

std::string policies_of(const run_group& group) {
  std::string text = texts_of(group, [](const run_summary& r) { return r.policy; });
  if (group.runs.size() > 1) text += fmt::format(" x{}", group.runs.size());
  return text;
}

std::string shown_summary(const mean_and_deviation& s, figure_kind kind) {
  if (s.count == 0) return "-";
  return shown(s.mean, kind) + (s.deviation ? " ± " + shown(*s.deviation, kind) : "");
}

/// "-52.1 to -43.0 %": the 95 % confidence interval of a difference, relative to the mean of the first side.
std::string shown_interval(const figure_difference& d, double first, figure_kind kind) {
  if (!d.half_width || (d.mean == 0 && *d.half_width == 0)) return "";
  const double low = *d.low_95();
  const double high = *d.high_95();
  const bool is_share = kind == figure_kind::rate || kind == figure_kind::index;
  if (is_share || first <= 0 || first + low < 0) {
    return shown_difference(low, kind) + " to " + shown_difference(high, kind);
  }
  const auto percent = [first](double n) { return fmt::format("{:+.1f}", n / first * 100); };
  return percent(low) + " to " + percent(high) + " %";
}

/// A figure of one side, how far it is from the first one's, and the confidence interval of that.
struct compared_value {
  std::string value;
  std::string difference;
  std::string interval;
};
compared_value compared_with(const vector<seeded_value>& first, const run_group& side,
                             const shown_figure& f) {
  const auto values = values_of(side, f.name);
  const auto d = difference_of(first, values);
  std::string difference = d ? relative_difference(d->mean, summary_of(first).mean, f.kind) : "";
  if (d && d->is_within_deviation()) difference.insert(0, "~ ");
  return {shown_summary(summary_of(values), f.kind), std::move(difference),
          d ? shown_interval(*d, summary_of(first).mean, f.kind) : ""};
}
bool has_values(const side_set& set, std::string_view figure) {
  return std::any_of(set.sides.begin(), set.sides.end(),
                     [&](const run_group* side) { return !values_of(*side, figure).empty(); });
}

/// The table for people.
struct figure_table {
  /// The cells, the head first.
  vector<vector<std::string>> rows{};
  /// Whether it has figures over other jobs on each side.
  bool has_marks = false;
};

/// A row for each figure, and two columns for each side but the first.
figure_table table_of(const side_set& set, const vector<shown_figure>& figures, const other_jobs& others) {
  figure_table table;
  vector<vector<std::string>>& rows = table.rows;
  const bool has_intervals = std::any_of(set.sides.begin(), set.sides.end(),
                                         [](const run_group* side) { return side->runs.size() > 1; });
  const auto row_of = [&](std::string name, auto text_of) {
    vector<std::string>& row = rows.emplace_back(std::size_t{1}, std::move(name));
    for (std::size_t i = 0; i < set.sides.size(); ++i) {
      row.push_back(text_of(i));
      if (i != 0) row.resize(row.size() + (has_intervals ? 2 : 1));
    }
  };
  row_of({}, [&](std::size_t i) { return set.names[i]; });
  if (has_intervals) {
    for (std::size_t i = 1; i < set.sides.size(); ++i) rows.front()[3 * i + 1] = "95 %";
  }
  row_of("policy", [&](std::size_t i) { return policies_of(*set.sides[i]); });
  row_of("seed", [&](std::size_t i) { return seeds_of(*set.sides[i]); });
  row_of("allot", [&](std::size_t i) { return texts_of(*set.sides[i], version_of); });
  for (const shown_figure& f : figures) {
    if (f.name.empty()) {
      row_of(f.label, [](std::size_t) { return std::string{}; });
      continue;
    }
    if (!has_values(set, f.name)) continue;
    const std::string_view mark = others.mark_of(f.name);
    vector<std::string>& row = rows.emplace_back(std::size_t{1}, f.label + std::string{mark});
    const auto first = values_of(*set.sides.front(), f.name);
    for (std::size_t i = 0; i < set.sides.size(); ++i) {
      compared_value c = compared_with(first, *set.sides[i], f);
      row.push_back(std::move(c.value));
      if (i == 0) continue;
      row.push_back(std::move(c.difference));
      if (has_intervals) row.push_back(std::move(c.interval));
    }
    table.has_marks = table.has_marks || !mark.empty();
  }
  return table;
}

/// A row for each side, and two columns for each figure.
figure_table table_of_configurations(const side_set& set, const vector<shown_figure>& figures,
                                     const other_jobs& others) {
  figure_table table;
  vector<vector<std::string>>& rows = table.rows;
  rows.emplace_back(std::size_t{1}, "policy");
  for (const std::string& name : set.names) rows.emplace_back(std::size_t{1}, name);
  for (const shown_figure& f : figures) {
    if (f.name.empty() || !has_values(set, f.name)) continue;
    const std::string_view mark = others.mark_of(f.name);
    rows.front().push_back(f.label + std::string{mark});
    rows.front().emplace_back();
    const auto first = values_of(*set.sides.front(), f.name);
    for (std::size_t i = 0; i < set.sides.size(); ++i) {
      compared_value c = compared_with(first, *set.sides[i], f);
      rows[i + 1].push_back(std::move(c.value));
      rows[i + 1].push_back(i == 0 ? std::string{} : std::move(c.difference));
    }
    table.has_marks = table.has_marks || !mark.empty();
  }
  return table;
}

/// The first two rows are the names of the sides and their policies.
std::string as_text(const vector<vector<std::string>>& rows, std::size_t width) {
  const vector<std::string>& policies = rows[1];
  // A long name of a policy would make its column so wide that no other has room beside it.
  const auto is_long = [](const std::string& p) { return p.size() > 24; };
  const bool is_wide = std::any_of(policies.begin(), policies.end(), is_long);
  std::string text;
  if (is_wide) {
    text = "policy\n";
    for (std::size_t c = 1; c < policies.size(); ++c) {
      if (policies[c].empty()) continue;
      text.append("  ").append(printable(rows.front()[c])).append(": ");
      text.append(printable(policies[c])).append("\n");
    }
    text += '\n';
  }
  text_table table{rows.front()};
  for (std::size_t r = is_wide ? 2 : 1; r < rows.size(); ++r) table.add(rows[r]);
  return text + table.text(width);
}

/// All figures, one per row: exact, for programs.
std::string as_csv(const vector<run_group>& groups, const vector<std::string>& figures) {
  std::string text = "figure";
  const auto field = [&](std::string_view s) {
    text += ',';
    append_csv_field(text, s);
  };
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::string& label = groups[g].label;
    field(label + " runs");
    field(label + " mean");
    field(label + " sd");
    if (g == 0) continue;
    field(label + " difference");
    field(label + " difference sd");
    field(label + " within deviation");
  }
  // Columns that later versions added come after those of all sides.
  for (std::size_t g = 1; g < groups.size(); ++g) {
    field(groups[g].label + " difference low 95");
    field(groups[g].label + " difference high 95");
  }
  text += '\n';
  // Each is compared with the first of its set.
  vector<const run_group*> first_of(groups.size(), &groups.front());
  for (const side_set& set : sets_of(groups)) {
    for (const run_group* side : set.sides)
      first_of[static_cast<std::size_t>(side - groups.data())] = set.sides.front();
  }
  for (const std::string& name : figures) {
    append_csv_field(text, name);
    vector<std::optional<double>> bounds;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto values = values_of(groups[g], name);
      const mean_and_deviation s = summary_of(values);
      field(std::to_string(s.count));
      field(s.count == 0 ? "" : plain_number(s.mean));
      field(s.deviation ? plain_number(*s.deviation) : "");
      if (g == 0) continue;
      const auto base = first_of[g] == &groups[g] ? vector<seeded_value>{} : values_of(*first_of[g], name);
      const auto d = difference_of(base, values);
      field(d ? plain_number(d->mean) : "");
      field(d && d->deviation ? plain_number(*d->deviation) : "");
      field(!d || !d->deviation ? "" : d->is_within_deviation() ? "true" : "false");
      bounds.push_back(d ? d->low_95() : std::nullopt);
      bounds.push_back(d ? d->high_95() : std::nullopt);
    }
    for (const auto& bound : bounds) field(bound ? plain_number(*bound) : "");
    text += '\n';
  }
  return text;
}

/// What the signs of all tables mean.
std::string remarks_on_all(const vector<run_group>& groups) {
  std::string text;
  if (any_has_several_runs(groups)) {
    text +=
        "\nmean ± standard deviation over the runs; ~: the difference is within the deviation (of the "
        "differences\nbetween runs of one seed, where each seed is there once); 95 %: the confidence "
        "interval of the difference (Student's t\nof these differences, else Welch's)\n";
  }
  for_each_run(groups, [&](const run_summary& r) {
    if (!r.stopped.empty()) text += fmt::format("\n{} ended early ({}).\n", r.label, r.stopped);
  });
  return text;
}

/// Remarks on the runs of a set besides their figures. `on_jobs` is the one on figures over other jobs on
/// each side, if there are any.
std::string remarks(const side_set& set, const std::string& on_jobs) {
  std::string text;
  if (const std::string part = measured_by_all(set.sides); !part.empty()) text += "\nmeasured " + part + '\n';
  if (!on_jobs.empty()) text += '\n' + on_jobs + '\n';
  const std::string& first_name = set.names.front();
  const std::string first_part = measured_by(*set.sides.front());
  for (std::size_t i = 1; i < set.sides.size(); ++i) {
    const std::string other = remark_on_window(measured_by(*set.sides[i]), first_part, first_name);
    if (!other.empty()) text += '\n' + set.names[i] + ' ' + other + '\n';
    const shared_input shared = shared_by(*set.sides.front(), *set.sides[i]);
    if (shared == shared_input::all) continue;
    text += '\n' + set.names[i] + ' ' + remark_on(shared, first_name) + '\n';
  }
  return text;
}

/// What the configurations of several sets are, said once: what each is compared with, and policies that have
/// names of their own.
std::string configurations_of(const vector<run_group>& groups, const vector<side_set>& sets) {
  vector<std::string> lines;
  for (const side_set& set : sets) {
    for (std::size_t i = 0; i < set.sides.size(); ++i) {
      const std::string policy = texts_of(*set.sides[i], [](const run_summary& r) { return r.policy; });
      if (policy != set.names[i]) add_once(lines, set.names[i] + ": " + policy);
    }
  }
  const std::string& first = sets.front().names.front();
  const auto same = [&](const side_set& s) { return s.names.front() == first; };
  std::string text = grouped(groups.size()) + " configurations, each compared with ";
  text += std::all_of(sets.begin(), sets.end(), same) ? first : "the first of its table";
  text += '\n';
  for (const std::string& line : lines) text += "  " + line + '\n';
  return text;
}

/// Reports figures that no run has.
void check_figures(const vector<run_group>& groups, const vector<std::string>& figures, const char* option,
                   errors& found) {
  if (!found.empty() || figures.empty()) return;
  const vector<std::string> known = all_figures(groups);
  for (const std::string& f : figures) {
    if (std::find(known.begin(), known.end(), f) != known.end()) continue;
    const std::string_view meant = nearest(f, {known.begin(), known.end()});
    const std::string hint =
        meant.empty() ? "--format csv lists all" : "did you mean \"" + std::string{meant} + "\"?";
    found.add(option, {}, "none of the runs has a figure \"" + f + "\" (" + hint + ')');
  }
}

/// Writes the drawings, and their names into `written`. Returns what could not be written, or an empty
/// string.
std::string write_drawings(const vector<load_curves>& curves, const compare_options& options,
                           std::string& written) {
  const vector<std::string> names = curve_files(curves);
  std::error_code error;
  fs::create_directories(options.svg, error);
  if (error) return "can't make the directory " + options.svg + ": " + error.message();
  // All of them or none.
  for (const std::string& name : names) {
    const std::string path = (fs::path{options.svg} / name).string();
    if (!options.force && fs::exists(fs::symlink_status(path, error))) {
      return path + " exists (--force replaces it)";
    }
  }
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const report::chart drawn = chart_of(curves[i]);
    const std::string svg = report::standalone_svg(std::span{&drawn, 1}, drawn.title());
    std::string problem = publish_file((fs::path{options.svg} / names[i]).string(), svg, options.force);
    if (!problem.empty()) return problem;
    written += (written.empty() ? "" : ", ") + names[i];
  }
  return {};
}

int compare_over_load(const compare_options& options, const vector<run_group>& groups, errors& found) {
  check_curves(groups, options.curves, options.curves.empty() ? "--svg" : "--curve", found);
  if (!found.empty()) return complain(found);
  const vector<load_curves> curves = curves_over_load(groups, options.curves);
  std::string text = curve_tables(curves, options.format);
  if (!options.svg.empty()) {
    std::string written;
    const std::string problem = write_drawings(curves, options, written);
    if (!problem.empty()) return complain(problem);
    // A table for programs has nothing else on standard output.
    const std::string where = printable(options.svg + ": " + written) + '\n';
    options.format == "csv" ? print_error(where) : void(text += '\n' + where);
  }
  return print_result(text, "the comparison") ? 0 : bad_input_status;
}

}  // namespace

std::string texts_of(const run_group& group, const std::function<std::string(const run_summary&)>& text_of) {
  vector<std::string> texts;
  for (const run_summary& r : group.runs) add_once(texts, text_of(r));
  std::string all;
  for (const std::string& t : texts) all += (all.empty() ? "" : ", ") + t;
  return all;
}

std::string seeds_of(const run_group& group) {
  vector<std::uint64_t> seeds;
  for (const run_summary& r : group.runs) seeds.push_back(r.seed);
  std::sort(seeds.begin(), seeds.end());
  seeds.erase(std::unique(seeds.begin(), seeds.end()), seeds.end());
  if (seeds.size() < 3) return texts_of(group, [](const run_summary& r) { return std::to_string(r.seed); });
  const bool has_gaps = seeds.back() - seeds.front() >= seeds.size();
  return std::to_string(seeds.front()) + (has_gaps ? " ... " : " to ") + std::to_string(seeds.back());
}

std::string measured_by(const run_group& group) {
  return texts_of(group, [](const run_summary& r) { return measured_part(r.measured); });
}

std::string measured_by_all(const vector<const run_group*>& sides) {
  const std::string first = measured_by(*sides.front());
  const bool is_whole = first == measured_part({});
  const auto same = [&](const run_group* g) { return measured_by(*g) == first; };
  return is_whole || !std::all_of(sides.begin(), sides.end(), same) ? std::string{} : first;
}

vector<side_set> sets_of(const vector<run_group>& groups) {
  vector<side_set> sets;
  for (const run_group& g : groups) {
    const auto same = [&](const side_set& s) { return s.name == g.set; };
    auto at = std::find_if(sets.begin(), sets.end(), same);
    if (at == sets.end()) at = sets.insert(sets.end(), side_set{g.set, {}, {}});
    at->sides.push_back(&g);
    at->names.push_back(g.side);
  }
  const auto is_alone = [](const side_set& s) { return s.sides.size() == 1; };
  if (sets.size() < 2 || !std::all_of(sets.begin(), sets.end(), is_alone)) return sets;
  side_set all;
  for (const run_group& g : groups) {
    all.sides.push_back(&g);
    all.names.push_back(g.label);
  }
  return {std::move(all)};
}

shared_input shared_by(const run_group& a, const run_group& b) {
  if (a.runs.size() != b.runs.size()) return shared_input::none;
  const auto by_seed = [](const run_group& g) {
    vector<const run_summary*> runs;
    for (const run_summary& r : g.runs) runs.push_back(&r);
    std::sort(runs.begin(), runs.end(), [](const run_summary* x, const run_summary* y) {
      return std::tie(x->seed, x->input.hash) < std::tie(y->seed, y->input.hash);
    });
    return runs;
  };
  const auto of_a = by_seed(a);
  const auto of_b = by_seed(b);
  shared_input least = shared_input::all;
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    if (of_a.size() > 1 && of_a[i]->seed != of_b[i]->seed) return shared_input::none;
    least = std::max(least, shared_by(of_a[i]->input, of_b[i]->input));
  }
  return least;
}

vector<seeded_value> values_of(const run_group& group, std::string_view figure) {
  vector<seeded_value> values;
  for (const run_summary& r : group.runs) {
    if (const auto v = r.find(figure)) values.emplace_back(r.seed, *v);
  }
  return values;
}

mean_and_deviation summary_of(const vector<seeded_value>& values) {
  vector<double> plain;
  plain.reserve(values.size());
  for (const seeded_value& v : values) plain.push_back(v.second);
  return summarize_values(plain);
}

vector<run_group> read_groups(const vector<std::string>& names, errors& found) {
  vector<run_group> groups;
  for (const std::string& name : names) {
    const std::size_t before = groups.size();
    read_group(name, groups, found);
    // Two sweeps may have policies with the same name.
    if (names.size() == 1 || groups.size() < before + 2) continue;
    for (std::size_t g = before; g < groups.size(); ++g) {
      groups[g].label.insert(0, name + ':');
      groups[g].side.insert(0, name + ':');
    }
  }
  return groups;
}

std::string compared(const vector<run_group>& groups, const compare_options& options) {
  if (options.format == "csv") {
    return as_csv(groups, options.figures.empty() ? all_figures(groups) : options.figures);
  }
  const vector<side_set> sets = sets_of(groups);
  const bool is_markdown = options.format == "markdown";
  // Many configurations are rows: there are fewer figures to look at first.
  const bool has_several = sets.size() > 1;
  std::string text = has_several ? configurations_of(groups, sets) : std::string{};
  const vector<shown_figure> figures =
      has_several ? figures_of_configurations(groups, options) : figures_to_show(groups, options);
  for (const side_set& set : sets) {
    const other_jobs others = other_jobs_of(set.sides);
    const figure_table table = (has_several ? table_of_configurations : table_of)(set, figures, others);
    if (has_several)
      text += is_markdown ? "\n**" + markdown_text(set.name) + "**\n\n" : '\n' + printable(set.name) + '\n';
    if (is_markdown) {
      text += markdown_table(table.rows);
    } else if (has_several) {
      text_table shown{table.rows.front()};
      for (std::size_t r = 1; r < table.rows.size(); ++r) shown.add(table.rows[r]);
      text += shown.text(options.width);
    } else {
      text += as_text(table.rows, options.width);
    }
    text += remarks(set, table.has_marks ? remark_on_jobs(others, set.sides) : std::string{});
  }
  return text + remarks_on_all(groups);
}

void check_curves(const vector<run_group>& groups, const vector<std::string>& curves, const char* option,
                  errors& found) {
  check_figures(groups, curves, option, found);
  if (!found.empty() || !curves_over_load(groups, curves).empty()) return;
  found.add(option, {},
            "expected a sweep that ran a scenario at two loads or more: there is none among the runs");
}

int compare(const compare_options& options) {
  errors found;
  vector<run_group> groups = read_groups(options.runs, found);
  if (options.common && found.empty()) add_common_figures(groups, found);
  if (!options.curves.empty() || !options.svg.empty()) return compare_over_load(options, groups, found);
  if (found.empty() && groups.size() < 2) {
    found.add(options.runs.front(), {}, "expected two sides or more to compare, found one");
  }
  check_figures(groups, options.figures, "--figures", found);
  if (!found.empty()) return complain(found);
  std::string text = compared(groups, options);
  if (options.format != "csv") text = printable_lines(text);
  return print_result(text, "the comparison") ? 0 : bad_input_status;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#include "lab/sweep/compare.hpp"

#include "lab/io/atomic_files.hpp"
#include "lab/io/files.hpp"
#include "lab/io/json_reader.hpp"
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

vector<const run_group*> sides_of(const vector<run_group>& groups) {
  vector<const run_group*> sides;
  for (const run_group& g : groups) sides.push_back(&g);
  return sides;
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

std::string versions_of(const run_group& group) {
  return texts_of(group, [](const run_summary& r) { return r.version; });
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

/// The table for people.
struct figure_table {
  /// The cells, the head first.
  vector<vector<std::string>> rows{};
  /// Whether it has figures over other jobs on each side.
  bool has_marks = false;
};

figure_table table_of(const vector<run_group>& groups, const compare_options& options,
                      const other_jobs& others) {
  figure_table table;
  vector<vector<std::string>>& rows = table.rows;
  vector<std::string>& head = rows.emplace_back(std::size_t{1});
  for (std::size_t g = 0; g < groups.size(); ++g) {
    head.push_back(groups[g].label);
    if (g != 0) head.emplace_back();
  }
  const auto row_of = [&](std::string name, auto text_of) {
    vector<std::string> row{std::move(name)};
    for (std::size_t g = 0; g < groups.size(); ++g) {
      row.push_back(text_of(groups[g]));
      if (g != 0) row.emplace_back();
    }
    rows.push_back(std::move(row));
  };
  row_of("policy", policies_of);
  row_of("seed", seeds_of);
  row_of("allot", versions_of);
  for (const shown_figure& f : figures_to_show(groups, options)) {
    const std::string_view mark = others.mark_of(f.name);
    vector<std::string> row{f.label + std::string{mark}};
    bool any = f.name.empty();
    const auto first = values_of(groups.front(), f.name);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto values = values_of(groups[g], f.name);
      any = any || !values.empty();
      row.push_back(f.name.empty() ? "" : shown_summary(summary_of(values), f.kind));
      if (g == 0) continue;
      const auto d = difference_of(first, values);
      std::string difference = d ? relative_difference(d->mean, summary_of(first).mean, f.kind) : "";
      if (d && d->is_within_deviation()) difference.insert(0, "~ ");
      row.push_back(std::move(difference));
    }
    if (!any) continue;
    rows.push_back(std::move(row));
    table.has_marks = table.has_marks || !mark.empty();
  }
  return table;
}

/// The first two rows are the names of the sides and their policies.
std::string as_text(const vector<vector<std::string>>& rows) {
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
  return text + table.text();
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
  text += '\n';
  for (const std::string& name : figures) {
    append_csv_field(text, name);
    const auto first = values_of(groups.front(), name);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto values = values_of(groups[g], name);
      const mean_and_deviation s = summary_of(values);
      field(std::to_string(s.count));
      field(s.count == 0 ? "" : plain_number(s.mean));
      field(s.deviation ? plain_number(*s.deviation) : "");
      if (g == 0) continue;
      const auto d = difference_of(first, values);
      field(d ? plain_number(d->mean) : "");
      field(d && d->deviation ? plain_number(*d->deviation) : "");
      field(!d || !d->deviation ? "" : d->is_within_deviation() ? "true" : "false");
    }
    text += '\n';
  }
  return text;
}

/// Remarks on the runs besides their figures. `on_jobs` is the one on figures over other jobs on each side,
/// if there are any.
std::string remarks(const vector<run_group>& groups, const std::string& on_jobs) {
  std::string text;
  const bool has_several =
      std::any_of(groups.begin(), groups.end(), [](const auto& g) { return g.runs.size() > 1; });
  if (has_several) {
    text +=
        "\nmean ± standard deviation over the runs; ~: the difference is within the deviation (of the "
        "differences\nbetween runs of one seed, where each seed is there once)\n";
  }
  if (const std::string part = measured_by_all(groups); !part.empty()) text += "\nmeasured " + part + '\n';
  const std::string first_part = measured_by(groups.front());
  if (!on_jobs.empty()) text += '\n' + on_jobs + '\n';
  for (std::size_t g = 1; g < groups.size(); ++g) {
    const std::string other = remark_on_window(measured_by(groups[g]), first_part, groups.front().label);
    if (!other.empty()) text += '\n' + groups[g].label + ' ' + other + '\n';
    const shared_input shared = shared_by(groups.front(), groups[g]);
    if (shared == shared_input::all) continue;
    text += '\n' + groups[g].label + ' ' + remark_on(shared, groups.front().label) + '\n';
  }
  for_each_run(groups, [&](const run_summary& r) {
    if (!r.stopped.empty()) text += fmt::format("\n{} ended early ({}).\n", r.label, r.stopped);
  });
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

std::string measured_by_all(const vector<run_group>& groups) {
  const std::string first = measured_by(groups.front());
  const bool is_whole = first == measured_part({});
  const auto same = [&](const run_group& g) { return measured_by(g) == first; };
  return is_whole || !std::all_of(groups.begin(), groups.end(), same) ? std::string{} : first;
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
  const vector<const run_group*> sides = sides_of(groups);
  const other_jobs others = other_jobs_of(sides);
  const figure_table table = table_of(groups, options, others);
  const std::string on_jobs = table.has_marks ? remark_on_jobs(others, sides) : std::string{};
  return (options.format == "markdown" ? markdown_table(table.rows) : as_text(table.rows)) +
         remarks(groups, on_jobs);
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

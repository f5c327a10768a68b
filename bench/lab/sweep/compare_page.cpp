// SPDX-License-Identifier: BSL-1.0
#include "lab/sweep/compare_page.hpp"

#include "lab/io/atomic_files.hpp"
#include "lab/io/errors.hpp"
#include "lab/io/packed_input.hpp"
#include "lab/io/terminal.hpp"
#include "lab/report/report.hpp"
#include "lab/report/result_files.hpp"
#include "lab/report/run_summary.hpp"
#include "lab/sweep/compare.hpp"
#include "lab/sweep/compare_common.hpp"
#include "lab/sweep/compare_sides_page.hpp"
#include "lab/sweep/sweep_results.hpp"

#include <allot/core/vector.hpp>
#include <allot/core/version.hpp>
#include <allot/lab/csv.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/thinned_series.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

// The file of that name: .cmake/embed.cmake makes a string of it.
namespace embedded {
extern const std::string_view compare_js;
}  // namespace embedded

namespace {

using namespace report;

constexpr std::int64_t million = 1'000'000;
constexpr std::size_t most_points = 400;

/// The contents of a run's files.
struct compared_run {
  run_summary summary;
  /// Curves, by tenant number in `comparison::tenants`; empty if there is no tenants.csv.
  instant begin = 0;
  instant end = 0;
  instant width = 1;
  vector<vector<std::int64_t>> used{};
  vector<std::int64_t> pending{};
  /// How long the started jobs waited.
  vector<instant> waits{};

  [[nodiscard]] const std::string& label() const noexcept { return summary.label; }
};

/// The columns of a CSV file by name, row by row.
class csv_rows {
 public:
  explicit csv_rows(std::string_view text) : reader_(string_source{text}) {
    if (reader_.next() != csv_reader::outcome::record) return;
    for (std::size_t i = 0; i < reader_.size(); ++i) columns_.emplace(reader_.text(i), i);
  }
  [[nodiscard]] bool has(std::string_view name) const { return columns_.find(name) != columns_.end(); }
  [[nodiscard]] bool next() { return reader_.next() == csv_reader::outcome::record; }
  [[nodiscard]] std::string_view text(std::string_view name) {
    const std::size_t at = columns_.find(name)->second;
    return at < reader_.size() ? std::string_view{reader_.text(at)} : std::string_view{};
  }
  /// In thousandths; nullopt if the field is empty or not a number.
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view name) {
    const auto parsed = parse_milli(text(name));
    return parsed.problem == decimal_problem::none ? std::optional{parsed.value} : std::nullopt;
  }

 private:
  csv_reader reader_;
  std::map<std::string, std::size_t, std::less<>> columns_{};
};

class comparison {
 public:
  void add(std::string label, errors& found) {
    while (label.size() > 1 && label.back() == '/') label.pop_back();
    std::error_code error;
    const bool is_directory = std::filesystem::is_directory(label, error);
    const std::string path = is_directory ? label + "/summary.json" : label;
    // The run is named after its directory, wherever that is.
    const std::filesystem::path directory =
        is_directory ? std::filesystem::path{label} : std::filesystem::path{path}.parent_path();
    std::string name = directory.filename().string();
    if (name.empty() || name == "." || name == "..") name = label;
    auto summary = read_summary(std::move(name), path, found);
    if (!summary) return;
    compared_run run{std::move(*summary)};
    for (const auto& [figure, value] : run.summary.figures) {
      if (const std::string tenant = tenant_of(figure); !tenant.empty()) static_cast<void>(number_of(tenant));
    }
    read_series(run, beside(path, "tenants.csv"));
    read_waits(run, beside(path, "jobs.csv"));
    most_completed_ = std::max(most_completed_, completed_jobs(run));
    runs_.push_back(std::move(run));
  }

  /// Adds the figures of the jobs that all runs completed.
  void add_common(errors& found) {
    vector<run_group> sides = as_sides();
    add_common_figures(sides, found);
    for (std::size_t i = 0; i < runs_.size(); ++i) runs_[i].summary = std::move(sides[i].runs.front());
  }

  [[nodiscard]] std::string page() {
    const vector<run_group> sides = as_sides();
    for (const run_group& g : sides) sides_.push_back(&g);
    others_ = other_jobs_of(sides_);
    choose_layers();
    std::string html;
    vector<std::string> names;
    for (const compared_run& r : runs_) names.push_back(r.label());
    begin_page(html, "Comparison: " + listed_names(names));
    write_head(html);
    html += "<main>\n";
    write_figures(html);
    write_gpus(html);
    write_waiting(html);
    write_waits(html);
    write_tenants(html);
    write_compared_definitions(html);
    html += "</main>\n";
    end_page(html, embedded::compare_js);
    return html;
  }

 private:
  [[nodiscard]] vector<run_group> as_sides() const {
    vector<run_group> sides;
    for (const compared_run& r : runs_) sides.push_back({r.label(), {r.summary}});
    return sides;
  }

  std::size_t number_of(const std::string& tenant) {
    const auto at = std::find(tenants_.begin(), tenants_.end(), tenant);
    if (at != tenants_.end()) return static_cast<std::size_t>(at - tenants_.begin());
    tenants_.push_back(tenant);
    return tenants_.size() - 1;
  }

  /// A run may consist of its summary alone; then there is nothing to draw.
  void read_series(compared_run& run, const std::string& path) {
    packed_input file{path};
    const auto text = file.read_all();
    if (!text) return;
    csv_rows rows{*text};
    for (const std::string_view name : {"time_s", "quota", "used", "pending"}) {
      if (!rows.has(name)) return;
    }
    struct tenant_series {
      thinned_series used;
      std::int64_t waits = 0;
    };
    std::map<std::size_t, tenant_series> of;
    std::optional<thinned_series> pending;
    std::int64_t all_waiting = 0;
    bool has_begun = false;
    while (rows.next()) {
      const auto time = rows.number("time_s");
      const auto used = rows.number("used");
      const auto waits = rows.number("pending");
      if (!time || !used || !waits || (has_begun && *time < run.end)) continue;
      if (!std::exchange(has_begun, true)) {
        run.begin = *time;
        pending.emplace(*time, most_points);
      }
      run.end = *time;
      tenant_series& s = of.try_emplace(number_of(std::string{rows.text("quota")}),
                                        tenant_series{thinned_series{run.begin, most_points}})
                             .first->second;
      s.used.set(*time, *used);
      all_waiting += *waits - std::exchange(s.waits, *waits);
      pending->set(*time, all_waiting);
    }
    if (run.end <= run.begin) return;
    run.pending = pending->means(run.end);
    run.width = pending->width();
    for (auto& [tenant, s] : of) {
      if (run.used.size() <= tenant) run.used.resize(tenant + 1);
      run.used[tenant] = s.used.means(run.end);
    }
  }
  static void read_waits(compared_run& run, const std::string& path) {
    packed_input file{path};
    const auto text = file.read_all();
    if (!text) return;
    csv_rows rows{*text};
    if (!rows.has("submit_s") || !rows.has("start_s")) return;
    while (rows.next()) {
      const auto submit = rows.number("submit_s");
      const auto start = rows.number("start_s");
      if (submit && start) run.waits.push_back(std::max<instant>(0, *start - *submit));
    }
  }

  /// The tenants with the most GPU time over all runs have a colour of their own.
  void choose_layers() {
    vector<wide> had(tenants_.size(), 0);
    for (const compared_run& r : runs_) {
      for (std::size_t t = 0; t < r.used.size(); ++t) {
        for (const std::int64_t used : r.used[t]) {
          had[t] += wide{static_cast<std::uint64_t>(used)} * static_cast<std::uint64_t>(r.width);
        }
      }
    }
    vector<std::size_t> order;
    for (std::size_t t = 0; t < tenants_.size(); ++t) {
      if (had[t] != 0) order.push_back(t);
    }
    vector<std::size_t> alone = order;
    std::stable_sort(alone.begin(), alone.end(),
                     [&](std::size_t a, std::size_t b) { return had[a] > had[b]; });
    alone.resize(std::min(alone.size(), most_colours));
    std::sort(alone.begin(), alone.end());
    layer others{"others", most_colours, {}};
    for (const std::size_t t : order) {
      if (std::binary_search(alone.begin(), alone.end(), t)) {
        layers_.push_back({tenants_[t], layers_.size(), {t}});
      } else {
        others.quotas.push_back(t);
      }
    }
    if (!others.quotas.empty()) layers_.push_back(std::move(others));
    for (const compared_run& r : runs_) {
      if (r.pending.empty()) continue;
      begin_ = has_curves_ ? std::min(begin_, r.begin) : r.begin;
      end_ = has_curves_ ? std::max(end_, r.end) : r.end;
      has_curves_ = true;
    }
  }

  /// Runs have other colours than quotas, as far as there are enough colours.
  static std::string colour_of_run(std::size_t i) {
    constexpr std::array<int, most_colours> order = {0, 5, 2, 6, 1, 4, 3, 7};
    return std::to_string(i < order.size() ? order[i] : static_cast<int>(most_colours));
  }

  [[nodiscard]] chart::steps curve(const compared_run& r, const vector<std::int64_t>& means) const {
    chart::steps steps;
    const auto position = [&](instant t) {
      return static_cast<std::int64_t>(wide{static_cast<std::uint64_t>(t - begin_)} * million /
                                       static_cast<std::uint64_t>(end_ - begin_));
    };
    for (std::size_t i = 0; i < means.size(); ++i) {
      steps.emplace_back(position(r.begin + static_cast<instant>(i) * r.width), means[i]);
    }
    if (!means.empty()) steps.emplace_back(position(r.end), means.back());
    return steps;
  }

  /// For the script: what lies where on the axis, in seconds.
  [[nodiscard]] std::string time_axis() const {
    return "time:" + decimal(begin_) + ':' + decimal(end_ - begin_);
  }

  void write_head(std::string& html) const {
    html += "<header><h1>" + grouped(runs_.size()) + " replays compared</h1>\n";
    html += "<p>differences are from the first; the best figures are bold, and those within 1 % of them";
    std::string unfinished;
    for (const compared_run& r : runs_) {
      if (!has_done_the_work(r)) unfinished += (unfinished.empty() ? "" : ", ") + r.label();
    }
    if (!unfinished.empty()) html += "; not those of " + escaped(unfinished) + ", which completed fewer jobs";
    html += "</p>\n";
    vector<std::pair<std::string_view, shared_input>> others;
    for (std::size_t i = 1; i < runs_.size(); ++i) {
      others.emplace_back(runs_[i].label(), shared_by(runs_.front().summary.input, runs_[i].summary.input));
    }
    write_other_inputs(html, runs_.front().label(), others);
    const std::string first_part = measured_part(runs_.front().summary.measured);
    for (const compared_run& r : runs_) {
      write_other_window(html, r.label(), measured_part(r.summary.measured), runs_.front().label(),
                         first_part);
    }
    html += "</header>\n";
  }

  [[nodiscard]] static double completed_jobs(const compared_run& r) {
    return r.summary.find("jobs/completed").value_or(0);
  }
  /// A run that leaves jobs undone is not better for its other figures.
  [[nodiscard]] bool has_done_the_work(const compared_run& r) const {
    return completed_jobs(r) >= 0.99 * most_completed_;
  }
  /// Too close for one run each to say which is better: 1 %, or a point of a rate.
  [[nodiscard]] static bool is_close(double a, double b, figure_kind kind) {
    return std::abs(a - b) <= 0.01 * (kind == figure_kind::rate ? 1 : std::max(std::abs(a), std::abs(b)));
  }

  /// A figure in all runs.
  struct compared_figure {
    shown_figure figure;
    vector<std::optional<double>> values{};
    std::optional<double> best{};
    /// Zeros say nothing.
    bool any = false;
    bool differ = false;
  };
  [[nodiscard]] compared_figure in_all_runs(const shown_figure& f) const {
    compared_figure c{f};
    for (const compared_run& r : runs_) {
      const auto value = c.values.emplace_back(r.summary.find(f.name));
      c.any = c.any || (value && *value != 0);
      if (!value || !has_done_the_work(r)) continue;
      if (!c.best || (f.better == preferred::less ? *value < *c.best : *value > *c.best)) c.best = value;
    }
    c.differ = c.best && std::any_of(c.values.begin(), c.values.end(),
                                     [&](const auto& v) { return v && !is_close(*v, *c.best, f.kind); });
    return c;
  }
  void write_value(std::string& html, const compared_figure& c, std::size_t run) const {
    const auto first = c.values[0];
    const auto value = c.values[run];
    const bool wins = c.differ && c.figure.better != preferred::neither && value &&
                      has_done_the_work(runs_[run]) && is_close(*value, *c.best, c.figure.kind);
    html += wins ? "<td class=win>" : "<td>";
    html += value ? shown(*value, c.figure.kind) : "-";
    if (run == 0 || !value || !first) return;
    html += "<small>" + relative_difference(*value - *first, *first, c.figure.kind) + "</small>";
  }
  void write_figures(std::string& html) const {
    html += "<figure><div class=\"scroll tall\"><table class=beside>\n<thead><tr><th>";
    for (const compared_run& r : runs_) html += "<th scope=col>" + escaped(r.label());
    html += "</thead>\n";
    const auto fact = [&](std::string_view name, auto text_of) {
      html.append("<tr><td>").append(name);
      for (const compared_run& r : runs_) html += "<td><code>" + escaped(text_of(r.summary)) + "</code>";
      html += '\n';
    };
    fact("policy", [](const run_summary& r) { return r.policy; });
    fact("seed", [](const run_summary& r) { return std::to_string(r.seed); });
    fact("allot", [](const run_summary& r) { return r.version; });
    fact("input", [](const run_summary& r) { return r.input.hash; });
    fact("decisions", [](const run_summary& r) { return r.decision_hash; });
    fact("measured", [](const run_summary& r) { return measured_part(r.measured); });
    for (const shown_figure& f : figures_shown_first()) {
      const compared_figure c = in_all_runs(f);
      if (!c.any) continue;
      html += "<tr><td>" + label_of(f, others_);
      for (std::size_t i = 0; i < runs_.size(); ++i) write_value(html, c, i);
      html += '\n';
    }
    html += "</table></div>";
    if (const std::string remark = remark_on_jobs(others_, sides_); !remark.empty()) {
      html += "<p class=note>" + escaped(remark) + "</p>";
    }
    html += "</figure>\n";
  }

  void write_gpus(std::string& html) const {
    if (!has_curves_ || end_ <= begin_ || layers_.empty()) return;
    std::int64_t most = 1000;
    vector<vector<vector<std::int64_t>>> of(runs_.size());
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const compared_run& r = runs_[i];
      vector<std::int64_t> all(r.pending.size(), 0);
      for (const layer& l : layers_) {
        auto& sum = of[i].emplace_back(r.pending.size(), 0);
        for (const std::size_t t : l.quotas) {
          if (t >= r.used.size()) continue;
          for (std::size_t k = 0; k < std::min(sum.size(), r.used[t].size()); ++k) sum[k] += r.used[t][k];
        }
        for (std::size_t k = 0; k < sum.size(); ++k) all[k] += sum[k];
      }
      for (const std::int64_t n : all) most = std::max(most, n);
    }
    html +=
        "<figure><figcaption><h2>GPUs in use</h2><p>by the jobs of each quota; all on one scale</p>"
        "</figcaption>\n<div class=\"panels two\">\n";
    std::string legend;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (runs_[i].pending.empty()) continue;
      chart c{"gpus", runs_[i].label(), "GPUs in use by quota", "stack:" + time_axis()};
      c.set_ticks(time_ticks(begin_, end_), std::string{time_axis_title});
      c.set_values(scale_for(most), "GPUs");
      vector<chart::steps> curves;
      vector<std::string> css;
      for (std::size_t k = 0; k < layers_.size(); ++k) {
        curves.push_back(curve(runs_[i], of[i][k]));
        css.push_back("area q" + std::to_string(layers_[k].colour));
        c.explain("q" + std::to_string(layers_[k].colour), layers_[k].name);
      }
      stack(c, curves, css);
      html += "<div><h3>" + escaped(runs_[i].label()) + "</h3>";
      c.write_plot(html);
      html += "</div>\n";
      legend.clear();
      c.write_legend(legend);
    }
    html += "</div>" + legend + "</figure>\n";
  }
  void write_waiting(std::string& html) const {
    if (!has_curves_ || end_ <= begin_) return;
    chart c{"waiting", "Waiting jobs", "how many are submitted and do not run", "lines:" + time_axis()};
    c.set_ticks(time_ticks(begin_, end_), std::string{time_axis_title});
    std::int64_t most = 1000;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (runs_[i].pending.empty()) continue;
      for (const std::int64_t n : runs_[i].pending) most = std::max(most, n);
      c.line(curve(runs_[i], runs_[i].pending), "curve s" + colour_of_run(i));
      c.explain("q" + colour_of_run(i), runs_[i].label());
    }
    c.set_values(scale_for(most, true), "jobs");
    c.make_tall();
    c.write_figure(html);
  }
  void write_waits(std::string& html) const {
    instant longest = 0;
    bool any = false;
    for (const compared_run& r : runs_) {
      for (const instant w : r.waits) longest = std::max(longest, w);
      any = any || !r.waits.empty();
    }
    if (!any) return;
    const log_time_axis axis{longest};
    chart c{"waiting_times", "How long jobs wait",
            "the part of the jobs that had started after so long; of those that started at all",
            "lines:log:" + decimal(axis.end())};
    c.set_ticks(axis.ticks(), std::string{wait_axis_title});
    c.make_tall();
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (runs_[i].waits.empty()) continue;
      const vector<std::int64_t> part = cdf_of(runs_[i].waits, axis);
      chart::steps steps;
      for (std::size_t k = 0; k < part.size(); ++k) {
        steps.emplace_back(static_cast<std::int64_t>(k) * million / static_cast<std::int64_t>(cdf_points - 1),
                           part[k] / 10);
      }
      c.line(std::move(steps), "curve s" + colour_of_run(i));
      c.explain("q" + colour_of_run(i), runs_[i].label());
    }
    c.set_values({100'000, 25'000}, "%");
    c.write_figure(html);
  }
  void write_tenants(std::string& html) const {
    struct row {
      std::size_t tenant;
      vector<compared_figure> figures{};
    };
    vector<row> rows;
    for (std::size_t t = 0; t < tenants_.size(); ++t) {
      const std::string jobs = figure_of_tenant(tenants_[t], "jobs/total");
      const bool has_jobs = std::any_of(runs_.begin(), runs_.end(), [&](const compared_run& r) {
        return r.summary.find(jobs).value_or(0) != 0;
      });
      if (!has_jobs) continue;
      row& to = rows.emplace_back(row{t});
      for (const shown_figure& f : figures_of_tenant(tenants_[t])) to.figures.push_back(in_all_runs(f));
    }
    if (rows.empty()) return;
    vector<std::size_t> columns;
    for (std::size_t c = 0; c < rows.front().figures.size(); ++c) {
      const auto has_any = [c](const row& r) { return r.figures[c].any; };
      if (std::any_of(rows.begin(), rows.end(), has_any)) columns.push_back(c);
    }
    html += "<figure><figcaption><h2>Each quota</h2></figcaption>";
    html += "<div class=\"scroll tall\"><table class=\"wide below\">\n<thead><tr><th scope=col>quota, run";
    for (const std::size_t c : columns)
      html += "<th scope=col>" + label_of(rows.front().figures[c].figure, others_);
    html += "</thead>\n";
    for (const row& r : rows) {
      const auto of = std::find_if(layers_.begin(), layers_.end(), [&](const layer& l) {
        return std::find(l.quotas.begin(), l.quotas.end(), r.tenant) != l.quotas.end();
      });
      for (std::size_t i = 0; i < runs_.size(); ++i) {
        html += "<tr><td>";
        if (of != layers_.end()) html += "<b class=\"dot q" + std::to_string(of->colour) + "\"></b>";
        html += escaped_name(tenants_[r.tenant]) + "<small>" + escaped(runs_[i].label()) + "</small>";
        for (const std::size_t c : columns) write_value(html, r.figures[c], i);
        html += '\n';
      }
    }
    html += "</table></div></figure>\n";
  }

  vector<compared_run> runs_;
  double most_completed_ = 0;
  vector<std::string> tenants_;
  vector<layer> layers_;
  /// While the page is made.
  vector<const run_group*> sides_;
  other_jobs others_{};
  instant begin_ = 0;
  instant end_ = 0;
  bool has_curves_ = false;
};

/// For a sweep, or replays below the directory, there are means to show, and no curves.
bool has_several_runs(const std::string& name) {
  std::error_code error;
  const std::filesystem::path p{name};
  if (!std::filesystem::is_directory(p, error)) return false;
  return std::filesystem::exists(p / sweep_file, error) ||
         !std::filesystem::exists(p / "summary.json", error);
}

}  // namespace

int write_comparison_page(const vector<std::string>& runs, const std::string& path, bool force,
                          const vector<std::string>& curves, bool common) {
  errors found;
  std::string html;
  if (std::any_of(runs.begin(), runs.end(), has_several_runs)) {
    vector<run_group> groups = read_groups(runs, found);
    if (common && found.empty()) add_common_figures(groups, found);
    if (found.empty() && groups.size() < 2) {
      found.add(runs.front(), {}, "expected two sides or more to compare, found one");
    }
    if (!curves.empty()) check_curves(groups, curves, "--curve", found);
    if (found.empty()) html = page_of_sides(groups, curves);
  } else if (!curves.empty()) {
    check_curves({}, {}, "--curve", found);
  } else {
    comparison c;
    for (const std::string& run : runs) c.add(run, found);
    if (common && found.empty()) c.add_common(found);
    if (found.empty()) html = c.page();
  }
  if (!found.empty()) return complain(found);
  if (path == "-") return print_result(html, "the page") ? 0 : bad_input_status;
  const std::string problem = publish_file(path, html, force);
  return problem.empty() ? 0 : complain(problem);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

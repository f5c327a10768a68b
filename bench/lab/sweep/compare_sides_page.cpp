// SPDX-License-Identifier: BSL-1.0
#include <allot/core/vector.hpp>

#include "lab/sweep/compare_sides_page.hpp"

#include "lab/io/deviation.hpp"
#include "lab/report/report.hpp"
#include "lab/sweep/compare_common.hpp"
#include "lab/sweep/compare_curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

// compare_sides.css, without its last newline: .cmake/embed.cmake makes a string of it.
namespace embedded {
extern const std::string_view compare_sides_css;
extern const std::string_view compare_js;
}  // namespace embedded

namespace {

using report::escaped;

/// "59.4 % ± 2.6 %".
std::string shown_with_deviation(const mean_and_deviation& s, figure_kind kind) {
  if (s.count == 0) return "-";
  return shown(s.mean, kind) + (s.deviation ? " ± " + shown(*s.deviation, kind) : "");
}

void write_bars(std::string& html, const side_set& set, std::string_view name, std::string_view title) {
  vector<mean_and_deviation> all;
  double least = 0;
  double most = 0;
  for (const run_group* side : set.sides) {
    const mean_and_deviation& s = all.emplace_back(summary_of(values_of(*side, name)));
    if (s.count == 0) continue;
    least = std::min({least, s.mean, s.p10});
    most = std::max({most, s.mean, s.p90});
  }
  // Bars of length zero are omitted.
  if (least == 0 && most == 0) return;
  // What has a natural end is shown as a part of it.
  const figure_kind kind = kind_of(name);
  const bool has_end = (kind == figure_kind::rate || name == "jain") && most <= 1;
  if (has_end) most = 1;
  constexpr double width = 1000;
  const auto position = [&](double value) {
    return std::clamp((value - least) / (most - least), 0.0, 1.0) * width;
  };
  html +=
      fmt::format("<div><h3>{} <small>{} to {}</small></h3>\n", title, least < 0 ? shown(least, kind) : "0",
                  !has_end                    ? shown(most, kind)
                  : kind == figure_kind::rate ? "100 %"
                                              : "1");
  for (std::size_t i = 0; i < set.sides.size(); ++i) {
    const mean_and_deviation& s = all[i];
    const std::string value = shown_with_deviation(s, kind);
    const std::string side = escaped(set.names[i]);
    html += fmt::format("<div class=team><span>{}</span><span class=t>{}</span><div class=bar>", side, value);
    html += fmt::format(
        "<svg viewBox=\"0 0 1000 14\" preserveAspectRatio=none role=img aria-label=\"{}: {}\">", side, value);
    if (s.count != 0) {
      const double zero = position(0);
      const double mean = position(s.mean);
      html += fmt::format("<rect class=q{} x={:.1f} y=0 width={:.1f} height=14 />",
                          std::min(i, report::most_colours), std::min(zero, mean), std::abs(mean - zero));
      if (least < 0) html += fmt::format("<path class=zero d=\"M{:.1f} 0V14\"/>", zero);
      if (s.p10 < s.p90) {
        const double from = position(s.p10);
        const double to = position(s.p90);
        html +=
            fmt::format("<path class=whisker d=\"M{0:.1f} 7H{1:.1f}M{0:.1f} 3V11M{1:.1f} 3V11\"/>", from, to);
      }
    }
    html += "</svg></div></div>\n";
  }
  html += "</div>\n";
}

constexpr std::string_view within_deviation =
    "<abbr title=\"no larger than its deviation between runs of one seed: it may be chance\">~</abbr>&nbsp;";

void write_row(std::string& html, const side_set& set, const other_jobs& others, const shown_figure& f) {
  vector<vector<seeded_value>> values;
  bool any = false;
  for (const run_group* side : set.sides) {
    for (const auto& [seed, value] : values.emplace_back(values_of(*side, f.name))) any = any || value != 0;
  }
  // A row of zeros says nothing.
  if (!any) return;
  html += "<tr><td>" + label_of(f, others);
  const mean_and_deviation first = summary_of(values.front());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const mean_and_deviation s = summary_of(values[i]);
    html += "<td>" + (s.count == 0 ? "-" : shown(s.mean, f.kind));
    std::string below = s.deviation ? "± " + shown(*s.deviation, f.kind) : "";
    const auto base =
        i == 0 ? std::span<const seeded_value>{} : std::span<const seeded_value>{values.front()};
    const auto d = difference_of(base, values[i]);
    const std::string difference = d ? relative_difference(d->mean, first.mean, f.kind) : "";
    if (!difference.empty()) {
      below.append(below.empty() ? "" : ", ")
          .append(d->is_within_deviation() ? within_deviation : "")
          .append(difference);
    }
    if (!below.empty()) html += "<small>" + below + "</small>";
  }
  html += '\n';
}

vector<std::string> tenants_of(const side_set& set) {
  vector<std::string> names;
  for (const run_group* side : set.sides) {
    for (const run_summary& r : side->runs) {
      for (const auto& [name, value] : r.figures) {
        const std::string tenant = tenant_of(name);
        if (tenant.empty() || std::find(names.begin(), names.end(), tenant) != names.end()) continue;
        names.push_back(tenant);
      }
    }
  }
  return names;
}

void write_table(std::string& html, const side_set& set) {
  const auto row = [&](std::string_view title, std::string_view cell, auto text_of) {
    html += fmt::format("<tr><{} class=t>{}", cell, title);
    for (const run_group* side : set.sides) html += fmt::format("<{}>{}", cell, text_of(*side));
    html += '\n';
  };
  html += "<div class=\"scroll tall gap\"><table>\n<thead><tr><th>";
  for (const std::string& name : set.names) html += "<th scope=col>" + escaped(name);
  html += "</thead>\n";
  row("runs", "td", [](const run_group& side) { return grouped(side.runs.size()); });
  // A sweep has its own names for policies.
  const auto texts = [&](std::string_view title, auto text_of) {
    row(title, "td", [&](const run_group& side) { return escaped(texts_of(side, text_of)); });
  };
  texts("policy", [](const run_summary& r) { return r.policy; });
  row("seed", "td", [](const run_group& side) { return escaped(seeds_of(side)); });
  texts("allot", [](const run_summary& r) { return r.version; });
  row("measured", "td", [](const run_group& side) { return escaped(measured_by(side)); });
  const other_jobs others = other_jobs_of(set.sides);
  for (const shown_figure& f : figures_shown_first()) write_row(html, set, others, f);
  for (const std::string& tenant : tenants_of(set)) {
    row(escaped(tenant), "th", [](const run_group&) { return std::string{}; });
    for (const shown_figure& f : figures_of_tenant(tenant)) write_row(html, set, others, f);
  }
  html += "</table></div>\n";
  if (const std::string remark = remark_on_jobs(others, set.sides); !remark.empty()) {
    html += "<p class=note>" + escaped(remark) + "</p>\n";
  }
}

/// `is_alone`: the page has no other table, so that this one need not be folded.
void write_set(std::string& html, const side_set& set, std::size_t number, bool is_alone) {
  html += "<figure id=set-" + std::to_string(number) + '>';
  if (!set.name.empty()) html += "<figcaption><h2>" + escaped(set.name) + "</h2></figcaption>\n";
  vector<std::pair<std::string_view, shared_input>> others;
  const std::string first_part = measured_by(*set.sides.front());
  for (std::size_t i = 0; i < set.sides.size(); ++i) {
    others.emplace_back(set.names[i], shared_by(*set.sides.front(), *set.sides[i]));
  }
  write_other_inputs(html, set.names.front(), others);
  for (std::size_t i = 0; i < set.sides.size(); ++i) {
    write_other_window(html, set.names[i], measured_by(*set.sides[i]), set.names.front(), first_part);
  }
  html += "<div class=\"panels two\">\n";
  for (const auto& [name, title] : drawn_figures) write_bars(html, set, name, title);
  html += "</div>\n";
  html += is_alone ? "<h3 class=gap>All figures</h3>"
                   : "<details><summary>All figures, and each quota's</summary>";
  write_table(html, set);
  html += is_alone ? "</figure>\n" : "</details></figure>\n";
}

/// Links to the parts of the page.
void write_contents(std::string& html, const vector<load_curves>& curves, const vector<side_set>& sets) {
  const vector<std::string> headings = curve_headings(curves);
  if (headings.size() + sets.size() < 2) return;
  html += "<nav class=contents aria-label=contents>";
  const auto link = [&](std::string_view part, std::size_t i, std::string_view text) {
    html += fmt::format("<a href=\"#{}-{}\">{}</a> ", part, i, escaped(text));
  };
  for (std::size_t i = 0; i < headings.size(); ++i) link("curves", i, headings[i]);
  for (std::size_t i = 0; i < sets.size(); ++i)
    link("set", i, sets[i].name.empty() ? "All figures" : sets[i].name);
  html += "</nav>\n";
}

void write_head(std::string& html, const vector<run_group>& groups, const vector<side_set>& sets) {
  std::size_t runs = 0;
  std::size_t most = 0;
  for (const run_group& g : groups) {
    runs += g.runs.size();
    most = std::max(most, g.runs.size());
  }
  html += "<header><h1>" + grouped(groups.size()) + " configurations compared</h1>\n<p>" + grouped(runs) +
          " replays";
  if (most > 1) {
    html +=
        "; mean ± standard deviation over the runs of each; the lines on the bars reach from their 10th to "
        "their 90th percentile; ~: the difference is within the deviation of the differences between runs of "
        "one seed";
  }
  const std::string& first = sets.front().names.front();
  const auto same = [&](const side_set& s) { return s.names.front() == first; };
  html += "; differences are from ";
  html += std::all_of(sets.begin(), sets.end(), same) ? escaped(first) : "the first of each table";
  html += "</p>\n";
  const auto is_whole = [](const run_group& g) { return measured_by(g) == measured_part({}); };
  if (std::any_of(groups.begin(), groups.end(), is_whole)) {
    html +=
        "<p>Whole runs are measured, with the time after the last submission in which the cluster drains: "
        "the longer the queue is then, the lower the utilisation. --no-drain leaves it out.</p>\n";
  }
  for (const run_group& g : groups) {
    for (const run_summary& r : g.runs) {
      if (r.stopped.empty()) continue;
      html += "<p><b>" + escaped(r.label) + " ended early (" + escaped(r.stopped) + ").</b></p>\n";
    }
  }
  html += "</header>\n";
}

}  // namespace

void write_other_inputs(std::string& html, std::string_view first,
                        const vector<std::pair<std::string_view, shared_input>>& runs) {
  for (const shared_input shared : {shared_input::jobs, shared_input::none}) {
    std::string names;
    for (const auto& [name, with_first] : runs) {
      if (with_first == shared) names += (names.empty() ? "" : ", ") + escaped(name);
    }
    if (names.empty()) continue;
    html += "<p><b>" + names + "</b> " + escaped(remark_on(shared, first)) + "</p>\n";
  }
}

void write_other_window(std::string& html, std::string_view run, std::string_view part,
                        std::string_view first, std::string_view part_of_first) {
  const std::string remark = remark_on_window(part, part_of_first, first);
  if (remark.empty()) return;
  html.append("<p><b>").append(escaped(run)).append("</b> ").append(escaped(remark)).append("</p>\n");
}

std::string label_of(const shown_figure& f, const other_jobs& others) {
  constexpr std::string_view unit = "GPU-h";
  std::string label = escaped(f.label);
  if (const std::size_t at = label.find(unit); at != std::string::npos) {
    label.replace(at, unit.size(), report::unbroken(unit));
  }
  if (others.mark_of(f.name).empty()) return label;
  return label + "&nbsp;<abbr title=\"over other jobs on each side: see below\">*</abbr>";
}

void write_compared_definitions(std::string& html) {
  report::write_definitions(html,
                            R"html(<dt>Worst tenant<dd>The quota for which the figure is worst, whichever
that is on each side.
<dt>Sharing anomaly<dd>How much longer the jobs of the worst-off quota wait than if it were alone on what it
owns. Less is better; below zero, sharing is a gain.
<dt>Finish-time fairness<dd>The completion time of a job over what it would have been with an equal part of the
cluster for each job there was: 2 is twice as long. Less is better, and nobody has reason to complain up to 1;
1.05 leaves room for chance.
<dt>*<dd>The figure is over the jobs that each side completed (of waits: started), and those may be others on
each side: a side that leaves out the long ones seems better than it is.
<dt>±, ~<dd>The standard deviation over the runs of one side. A difference with ~ is no larger than its own
deviation between runs of one seed: it may be chance.
)html");
}

std::string page_of_sides(const vector<run_group>& groups, const vector<std::string>& curves) {
  std::string html;
  const vector<side_set> sets = sets_of(groups);
  const vector<load_curves> over_load = curves_over_load(groups, curves);
  vector<std::string> names;
  for (const side_set& set : sets) {
    for (const std::string& name : set.names) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  report::begin_page(html, "Comparison: " + report::listed_names(names));
  html.append("<style>").append(embedded::compare_sides_css).append("</style>\n");
  write_head(html, groups, sets);
  write_contents(html, over_load, sets);
  html += "<main>\n";
  html += curve_figures(over_load);
  for (std::size_t i = 0; i < sets.size(); ++i) write_set(html, sets[i], i, sets.size() == 1);
  write_compared_definitions(html);
  html += "</main>\n";
  html += curve_data(over_load);
  report::end_page(html, embedded::compare_js);
  return html;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

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
}  // namespace embedded

namespace {

using report::escaped;

/// Sides that are compared with each other.
struct side_set {
  std::string_view name;
  vector<const run_group*> sides;
};

vector<side_set> sets_of(const vector<run_group>& groups) {
  vector<side_set> sets;
  for (const run_group& g : groups) {
    const auto same = [&](const side_set& s) { return s.name == g.set; };
    auto at = std::find_if(sets.begin(), sets.end(), same);
    if (at == sets.end()) at = sets.insert(sets.end(), {g.set, {}});
    at->sides.push_back(&g);
  }
  return sets;
}

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
    least = std::min(least, s.mean - s.deviation.value_or(0));
    most = std::max(most, s.mean + s.deviation.value_or(0));
  }
  // Bars of length zero are omitted, and a deviation does not reach below zero unless some mean does.
  const auto is_negative = [](const mean_and_deviation& s) { return s.count != 0 && s.mean < 0; };
  if (std::none_of(all.begin(), all.end(), is_negative)) least = 0;
  if (least == 0 && most == 0) return;
  constexpr double width = 1000;
  const auto position = [&](double value) {
    return std::clamp((value - least) / (most - least), 0.0, 1.0) * width;
  };
  const figure_kind kind = kind_of(name);
  html += fmt::format("<div><h3>{}</h3>\n", title);
  for (std::size_t i = 0; i < set.sides.size(); ++i) {
    const mean_and_deviation& s = all[i];
    const std::string value = shown_with_deviation(s, kind);
    const std::string side = escaped(set.sides[i]->side);
    html += fmt::format("<div class=team><span>{}</span><span class=t>{}</span><div class=bar>", side, value);
    html += fmt::format(
        "<svg viewBox=\"0 0 1000 14\" preserveAspectRatio=none role=img aria-label=\"{}: {}\">", side, value);
    if (s.count != 0) {
      const double zero = position(0);
      const double mean = position(s.mean);
      html += fmt::format("<rect class=q{} x={:.1f} y=0 width={:.1f} height=14 />",
                          std::min(i, report::most_colours), std::min(zero, mean), std::abs(mean - zero));
      if (least < 0) html += fmt::format("<path class=zero d=\"M{:.1f} 0V14\"/>", zero);
      if (s.deviation.value_or(0) > 0) {
        const double from = position(s.mean - *s.deviation);
        const double to = position(s.mean + *s.deviation);
        html +=
            fmt::format("<path class=whisker d=\"M{0:.1f} 7H{1:.1f}M{0:.1f} 3V11M{1:.1f} 3V11\"/>", from, to);
      }
    }
    html += "</svg></div></div>\n";
  }
  html += "</div>\n";
}

void write_row(std::string& html, const side_set& set, const other_jobs& others, const shown_figure& f) {
  vector<vector<seeded_value>> values;
  bool any = false;
  for (const run_group* side : set.sides) {
    for (const auto& [seed, value] : values.emplace_back(values_of(*side, f.name))) any = any || value != 0;
  }
  // A row of zeros says nothing.
  if (!any) return;
  html += "<tr><td>" + escaped(f.label) + std::string{others.mark_of(f.name)};
  const mean_and_deviation first = summary_of(values.front());
  for (std::size_t i = 0; i < values.size(); ++i) {
    html += "<td>" + shown_with_deviation(summary_of(values[i]), f.kind);
    if (i == 0) continue;
    const auto d = difference_of(values.front(), values[i]);
    html += "<td><small>";
    if (d && d->is_within_deviation()) html += "~ ";
    if (d) html += relative_difference(d->mean, first.mean, f.kind);
    html += "</small>";
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
  // Every side but the first has two columns: the value, and the difference.
  const auto row = [&](std::string_view title, std::string_view cell, auto text_of) {
    html += fmt::format("<tr><{} class=t>{}", cell, title);
    for (std::size_t i = 0; i < set.sides.size(); ++i) {
      html += fmt::format("<{}>{}", cell, text_of(*set.sides[i]));
      if (i != 0) html += fmt::format("<{}>", cell);
    }
    html += '\n';
  };
  html += "<div class=\"scroll gap\"><table>\n";
  row({}, "th", [](const run_group& side) { return escaped(side.side); });
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

void write_set(std::string& html, const side_set& set) {
  html += "<figure>";
  if (!set.name.empty()) html += "<figcaption><h2>" + escaped(set.name) + "</h2></figcaption>\n";
  vector<std::pair<std::string_view, shared_input>> others;
  for (const run_group* side : set.sides)
    others.emplace_back(side->side, shared_by(*set.sides.front(), *side));
  write_other_inputs(html, set.sides.front()->side, others);
  const std::string first_part = measured_by(*set.sides.front());
  for (const run_group* side : set.sides) {
    write_other_window(html, side->side, measured_by(*side), set.sides.front()->side, first_part);
  }
  html += "<div class=\"panels two\">\n";
  for (const auto& [name, title] : drawn_figures) write_bars(html, set, name, title);
  html += "</div>\n";
  write_table(html, set);
  html += "</figure>\n";
}

void write_head(std::string& html, const vector<run_group>& groups) {
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
        "; mean ± standard deviation over the runs of each, which the lines on the bars show; ~: the "
        "difference is within the deviation of the differences between runs of one seed";
  }
  html += "; differences are from the first</p>\n";
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

std::string page_of_sides(const vector<run_group>& groups, const vector<std::string>& curves) {
  std::string html;
  std::string title = "Comparison:";
  for (const run_group& g : groups) title += (&g == groups.data() ? " " : ", ") + g.label;
  report::begin_page(html, title);
  html.append("<style>").append(embedded::compare_sides_css).append("</style>\n");
  write_head(html, groups);
  html += "<main>\n";
  html += curve_figures(curves_over_load(groups, curves));
  for (const side_set& set : sets_of(groups)) write_set(html, set);
  html += "</main>\n";
  report::end_page(html, false);
  return html;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

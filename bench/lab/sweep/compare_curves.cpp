// SPDX-License-Identifier: BSL-1.0
#include "lab/sweep/compare_curves.hpp"

#include "lab/report/report.hpp"
#include "lab/report/result_files.hpp"

#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/csv.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/text_table.hpp>
#include <allot/lab/trace.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

using report::chart;

/// The load of a sweep's point: "0.9", or "x2.6" of the arrivals.
struct read_load {
  std::int64_t value = 0;
  bool is_of_arrivals = false;
};
std::optional<read_load> load_of(const run_group& g) {
  std::string_view text = g.load;
  const bool is_of_arrivals = !text.empty() && text.front() == 'x';
  if (is_of_arrivals) text.remove_prefix(1);
  const auto parsed = parse_milli(text);
  if (text.empty() || parsed.problem != decimal_problem::none || parsed.value <= 0) return std::nullopt;
  return read_load{parsed.value, is_of_arrivals};
}

/// The sides that ran one scenario, at loads of one kind.
struct loaded_scenario {
  std::string name;
  bool is_of_arrivals = false;
  std::set<std::int64_t> loads{};
  vector<std::string> sides{};
  vector<std::pair<std::int64_t, const run_group*>> groups{};
};

vector<loaded_scenario> loaded_scenarios(const vector<run_group>& groups) {
  vector<loaded_scenario> all;
  for (const run_group& g : groups) {
    const auto load = load_of(g);
    if (!load) continue;
    const auto same = [&](const loaded_scenario& s) {
      return s.name == g.scenario && s.is_of_arrivals == load->is_of_arrivals;
    };
    auto at = std::find_if(all.begin(), all.end(), same);
    if (at == all.end()) at = all.insert(all.end(), loaded_scenario{g.scenario, load->is_of_arrivals});
    at->loads.insert(load->value);
    if (std::find(at->sides.begin(), at->sides.end(), g.side) == at->sides.end()) at->sides.push_back(g.side);
    at->groups.emplace_back(load->value, &g);
  }
  erase_if(all, [](const loaded_scenario& s) { return s.loads.size() < 2; });
  return all;
}

std::string title_of(std::string_view figure) {
  for (const auto& [name, title] : drawn_figures) {
    if (name == figure) return std::string{title};
  }
  return std::string{figure};
}

/// The part that all sides of a scenario measure, if it is not the whole.
std::string measured_by_sides(const loaded_scenario& s) {
  const std::string first = measured_by(*s.groups.front().second);
  const auto same = [&](const auto& g) { return measured_by(*g.second) == first; };
  const bool is_whole = first == measured_part({});
  return is_whole || !std::all_of(s.groups.begin(), s.groups.end(), same) ? std::string{} : first;
}

std::string load_text(const load_curves& c, std::int64_t load) {
  return (c.is_of_arrivals ? "x" : "") + decimal(load);
}

std::string heading_of(const load_curves& c) {
  return c.scenario + (c.is_of_arrivals ? " over arrivals" : " over load");
}
std::string measured_text(const load_curves& c) {
  return c.measured.empty() ? std::string{} : "; measured " + c.measured;
}
std::string note_of(const load_curves& c) {
  return (c.most_runs > 1 ? "means over the seeds; bands from the 10th to the 90th percentile of them"
                          : "one run each") +
         measured_text(c);
}

std::string shown_mean(const mean_and_deviation& s, figure_kind kind) {
  if (s.count == 0) return "-";
  return shown(s.mean, kind) + (s.deviation ? " ± " + shown(*s.deviation, kind) : "");
}

/// What the values of a figure are divided by on its axis, and the name of that.
struct axis_unit {
  double size = 1;
  std::string name{};
};
axis_unit unit_for(const load_curves& c, double most) {
  switch (c.kind) {
    case figure_kind::time:
      // As texts have it.
      if (most < 120) return {1, "s"};
      if (most < 7200) return {60, "min"};
      if (most < 2 * 86'400) return {3600, "h"};
      return {86'400, "d"};
    case figure_kind::rate:
      return {0.01, "%"};
    case figure_kind::gpu_hours:
      return {1, "GPU-h"};
    case figure_kind::count:
      return {1, c.figure.find("jobs/") != std::string::npos ? "jobs" : "count"};
    case figure_kind::index:
      return {1, "index"};
    case figure_kind::plain:
      break;
  }
  return {1, "value"};
}

const load_curves::point* find_load(const load_curves::curve& c, std::int64_t load) {
  const auto at = std::find_if(c.points.begin(), c.points.end(),
                               [&](const load_curves::point& p) { return p.load == load; });
  return at == c.points.end() ? nullptr : &*at;
}

}  // namespace

vector<load_curves> curves_over_load(const vector<run_group>& groups, const vector<std::string>& figures) {
  vector<std::string> names = figures;
  if (names.empty()) {
    for (const auto& [name, title] : drawn_figures) names.emplace_back(name);
  }
  vector<load_curves> all;
  for (const loaded_scenario& s : loaded_scenarios(groups)) {
    const std::string measured = measured_by_sides(s);
    for (const std::string& figure : names) {
      load_curves c{s.name,
                    figure,
                    title_of(figure),
                    kind_of(figure),
                    s.is_of_arrivals,
                    {s.loads.begin(), s.loads.end()},
                    {}};
      c.measured = measured;
      for (const std::string& side : s.sides) c.curves.push_back({side, {}});
      for (const auto& [load, group] : s.groups) {
        const mean_and_deviation value = summary_of(values_of(*group, figure));
        if (value.count == 0) continue;
        c.most_runs = std::max(c.most_runs, value.count);
        const auto at = std::find(s.sides.begin(), s.sides.end(), group->side) - s.sides.begin();
        c.curves[static_cast<std::size_t>(at)].points.push_back({load, value});
      }
      for (load_curves::curve& curve : c.curves) {
        std::stable_sort(curve.points.begin(), curve.points.end(),
                         [](const auto& a, const auto& b) { return a.load < b.load; });
      }
      if (c.most_runs != 0) all.push_back(std::move(c));
    }
  }
  return all;
}

report::chart chart_of(const load_curves& c, std::string_view for_script) {
  using report::million;
  chart drawn{"curve", c.scenario + ": " + c.title, note_of(c), std::string{for_script}};
  double least = 0;
  double most = 0;
  bool any = false;
  for (const load_curves::curve& curve : c.curves) {
    for (const load_curves::point& p : curve.points) {
      const double low = std::min(p.value.mean, p.value.p10);
      const double high = std::max(p.value.mean, p.value.p90);
      least = any ? std::min(least, low) : low;
      most = any ? std::max(most, high) : high;
      any = true;
    }
  }
  const axis_unit unit = unit_for(c, std::max(std::abs(least), std::abs(most)));
  const auto milli = [&](double value) {
    constexpr double limit = 1e12;
    return std::llround(std::clamp(value / unit.size, -limit, limit) * 1000);
  };
  const report::range y = report::range_for(milli(least), milli(most));
  drawn.set_values(y.y, unit.name, y.bottom);
  drawn.show_signs();
  drawn.make_tall();

  // Dots at the ends are not cut in two.
  constexpr std::int64_t margin = 40'000;
  const std::int64_t first = c.loads.front();
  const std::int64_t span = c.loads.back() - first;
  const auto position = [&](std::int64_t load) {
    const auto part = wide{static_cast<std::uint64_t>(load - first)} *
                      static_cast<std::uint64_t>(million - 2 * margin) / static_cast<std::uint64_t>(span);
    return margin + static_cast<std::int64_t>(part);
  };
  vector<report::tick> ticks;
  constexpr std::int64_t least_distance = 60'000;
  for (const std::int64_t load : c.loads) {
    if (!ticks.empty() && position(load) - ticks.back().at < least_distance) continue;
    ticks.push_back({position(load), load_text(c, load)});
  }
  drawn.set_ticks(std::move(ticks), c.is_of_arrivals ? "arrivals, as a multiple of those of the workload"
                                                     : "load: the work as a part of what the cluster can do");

  const auto css_of = [](std::size_t i, std::string_view kind) {
    std::string css{kind};
    css += std::to_string(i % report::most_colours);
    if (i >= report::most_colours) css += " dash" + std::to_string(1 + i / report::most_colours % 2);
    return css;
  };
  // All bands are below all lines.
  for (const bool is_band : {true, false}) {
    for (std::size_t i = 0; i < c.curves.size(); ++i) {
      // Where a load has no value, the line is interrupted.
      chart::steps line;
      chart::steps upper;
      chart::steps lower;
      const auto finish = [&] {
        if (is_band && upper.size() > 1) {
          upper.append(lower.rbegin(), lower.rend());
          drawn.polygon(std::move(upper), css_of(i, "band q"));
        }
        if (!is_band && !line.empty()) drawn.polyline(std::move(line), css_of(i, "curve s"));
        line.clear();
        upper.clear();
        lower.clear();
      };
      for (const std::int64_t load : c.loads) {
        const load_curves::point* const p = find_load(c.curves[i], load);
        if (p == nullptr) {
          finish();
          continue;
        }
        line.emplace_back(position(load), milli(p->value.mean));
        upper.emplace_back(position(load), milli(p->value.p90));
        lower.emplace_back(position(load), milli(p->value.p10));
      }
      finish();
    }
  }
  for (std::size_t i = 0; i < c.curves.size(); ++i) {
    drawn.explain(css_of(i, "rule curve s"),
                  c.curves[i].side + (c.curves[i].points.empty() ? " (no value)" : ""));
  }
  return drawn;
}

std::string curve_tables(const vector<load_curves>& all, std::string_view format) {
  std::string text;
  if (format == "csv") {
    text = "figure,scenario,policy,load,runs,mean,sd,p10,p90\n";
    for (const load_curves& c : all) {
      for (const load_curves::curve& curve : c.curves) {
        for (const load_curves::point& p : curve.points) {
          append_csv_field(text, c.figure);
          for (const std::string& field :
               {c.scenario, curve.side, load_text(c, p.load), std::to_string(p.value.count),
                plain_number(p.value.mean), p.value.deviation ? plain_number(*p.value.deviation) : "",
                plain_number(p.value.p10), plain_number(p.value.p90)}) {
            append_csv_field(text += ',', field);
          }
          text += '\n';
        }
      }
    }
    return text;
  }
  for (const load_curves& c : all) {
    vector<vector<std::string>> rows(1, {c.is_of_arrivals ? "arrivals" : "load"});
    for (const std::int64_t load : c.loads) rows.front().push_back(load_text(c, load));
    for (const load_curves::curve& curve : c.curves) {
      vector<std::string>& row = rows.emplace_back(std::size_t{1}, curve.side);
      for (const std::int64_t load : c.loads) {
        const load_curves::point* const p = find_load(curve, load);
        row.push_back(p == nullptr ? "-" : shown_mean(p->value, c.kind));
      }
    }
    if (!text.empty()) text += '\n';
    const std::string title =
        heading_of(c) + ": " + c.title + " (" +
        (c.most_runs > 1 ? "mean ± standard deviation over the seeds" : "one run each") + measured_text(c) +
        ')';
    if (format == "markdown") {
      text += "**" + markdown_text(title) + "**\n\n" + markdown_table(rows);
      continue;
    }
    text_table table{rows.front()};
    for (std::size_t r = 1; r < rows.size(); ++r) table.add(rows[r]);
    text += printable(title) + '\n' + table.text();
  }
  return text;
}

std::string curve_figures(const vector<load_curves>& all) {
  using report::escaped;
  std::string html;
  std::size_t parts = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string heading = heading_of(all[i]);
    if (i == 0 || heading != heading_of(all[i - 1])) {
      if (i != 0) html += "</div></figure>\n";
      html += "<figure id=curves-" + std::to_string(parts++) + "><figcaption><h2>" + escaped(heading) +
              "</h2><p>" + escaped(note_of(all[i]));
      html += "</p></figcaption>\n<div class=\"panels two\">\n";
    }
    const chart c = chart_of(all[i], "curve:" + std::to_string(i));
    html += "<div><h3>" + escaped(all[i].title) + "</h3>";
    c.write_plot(html);
    c.write_legend(html);
    html += "</div>\n";
  }
  if (!all.empty()) html += "</div></figure>\n";
  return html;
}

vector<std::string> curve_headings(const vector<load_curves>& all) {
  vector<std::string> headings;
  for (const load_curves& c : all) {
    if (headings.empty() || headings.back() != heading_of(c)) headings.push_back(heading_of(c));
  }
  return headings;
}

std::string curve_data(const vector<load_curves>& all) {
  using report::append_json_string;
  constexpr std::array<std::string_view, 6> kinds = {"count", "time", "gpu_hours", "rate", "index", "plain"};
  std::string json = "<script type=\"application/json\" id=curves>[";
  for (const load_curves& c : all) {
    json += json.back() == '[' ? "{\"kind\":\"" : ",{\"kind\":\"";
    json.append(kinds[static_cast<std::size_t>(c.kind)]).append("\",\"loads\":[");
    for (const std::int64_t load : c.loads) {
      if (json.back() != '[') json += ',';
      json += decimal(load);
    }
    json += "],\"sides\":[";
    for (const load_curves::curve& curve : c.curves) {
      json += json.back() == '[' ? "{\"name\":" : ",{\"name\":";
      append_json_string(json, curve.side);
      json += ",\"points\":[";
      for (const std::int64_t load : c.loads) {
        if (json.back() != '[') json += ',';
        const load_curves::point* const p = find_load(curve, load);
        if (p == nullptr) {
          json += "null";
          continue;
        }
        json.append("[").append(plain_number(p->value.mean)).append(",").append(plain_number(p->value.p10));
        json.append(",").append(plain_number(p->value.p90)).append(",");
        json.append(p->value.deviation ? plain_number(*p->value.deviation) : "null").append("]");
      }
      json += "]}";
    }
    json += "]}";
  }
  return json + "]</script>\n";
}

vector<std::string> curve_files(const vector<load_curves>& all) {
  constexpr std::size_t longest = 100;
  vector<std::string> files;
  std::set<std::string> taken;
  for (const load_curves& c : all) {
    std::string stem;
    for (const char letter : c.scenario + '.' + c.figure + (c.is_of_arrivals ? ".arrivals" : "")) {
      const bool is_fine = ('a' <= letter && letter <= 'z') || ('A' <= letter && letter <= 'Z') ||
                           ('0' <= letter && letter <= '9') || letter == '-' || letter == '_' ||
                           (letter == '.' && !stem.empty());
      if (stem.size() < longest) stem += is_fine ? letter : '-';
    }
    std::string name = stem;
    for (int i = 2; !taken.insert(name).second; ++i) name = stem + '-' + std::to_string(i);
    files.push_back(name + ".svg");
  }
  return files;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#include "lab/report/report.hpp"

#include "lab/report/result_files.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/trace.hpp>

#include <algorithm>

namespace allot {
inline namespace v0 {
namespace lab {

// The file of that name: .cmake/embed.cmake makes a string of it.
namespace embedded {
extern const std::string_view page_js;
}  // namespace embedded

std::string human_time(const sample_summary& s, instant figure) {
  return s.count == 0 ? "-" : human_time(figure);
}

namespace report {

vector<layer> layers_of(const replay_result& r) {
  vector<std::size_t> shown;
  for (std::size_t x = 0; x < r.quotas.size(); ++x) {
    const job_figures& of = r.figures.quotas[x].of;
    const bool is_chosen = std::find(r.chosen.begin(), r.chosen.end(), quota_id{x}) != r.chosen.end();
    // A quota without jobs may still lend.
    const bool has_any = of.jobs.total != 0 || of.allocated != 0 || of.lent != 0;
    if (is_chosen || (r.shows(quota_id{x}) && has_any)) shown.push_back(x);
  }
  vector<std::size_t> alone = shown;
  if (!r.chosen.empty()) {
    alone.clear();
    for (const quota_id x : r.chosen) alone.push_back(x.index());
    std::sort(alone.begin(), alone.end());
  } else if (shown.size() > most_colours) {
    const auto time_of = [&](std::size_t x) {
      return r.figures.quotas[x].of.allocated + r.figures.quotas[x].of.lent;
    };
    std::stable_sort(alone.begin(), alone.end(),
                     [&](std::size_t a, std::size_t b) { return time_of(a) > time_of(b); });
    alone.resize(most_colours);
    std::sort(alone.begin(), alone.end());
  }
  vector<layer> layers;
  layer others{"others", most_colours, {}};
  for (const std::size_t x : shown) {
    if (std::binary_search(alone.begin(), alone.end(), x)) {
      layers.push_back({r.quotas[x].name, layers.size(), {x}});
    } else {
      others.quotas.push_back(x);
    }
  }
  if (!others.quotas.empty()) {
    others.name = grouped(others.quotas.size()) + (others.quotas.size() == 1 ? " other" : " others");
    layers.push_back(std::move(others));
  }
  return layers;
}

vector<std::size_t> layers_by_quota(const replay_result& r, const vector<layer>& layers,
                                    std::size_t otherwise) {
  vector<std::size_t> numbers(r.quotas.size(), otherwise);
  for (std::size_t k = 0; k < layers.size(); ++k) {
    for (const std::size_t x : layers[k].quotas) numbers[x] = k;
  }
  return numbers;
}

vector<std::size_t> colours_of(const replay_result& r, const vector<layer>& layers) {
  vector<std::size_t> colours(r.quotas.size(), most_colours);
  for (const layer& l : layers) {
    for (const std::size_t x : l.quotas) colours[x] = l.colour;
  }
  return colours;
}

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '&':
        html += "&amp;";
        break;
      case '"':
        html += "&quot;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string escaped_name(std::string_view name) {
  return "<span class=name>" + escaped(name) + "</span>";
}

std::string unbroken(std::string_view text) {
  std::string html;
  for (const char c : text) {
    if (c == ' ') {
      html += "&nbsp;";
    } else if (c == '-') {
      html += "&#8209;";
    } else {
      html += c;
    }
  }
  return html;
}

void append_json_string(std::string& json, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  json += '"';
  // What comes before `from` is written.
  std::size_t from = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    // The text must not end the string or the script element, nor begin a comment.
    if (c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || byte < 0x20 || byte == 0x7F) {
      json.append(text, from, i - from);
      json.append("\\u00").append(1, digits[byte >> 4U]).append(1, digits[byte & 0xFU]);
      from = i + 1;
    }
  }
  json.append(text, from) += '"';
}

std::string unfinished_jobs(const job_counts& jobs) {
  std::string parts;
  const auto add = [&parts](std::size_t n, std::string_view what) {
    if (n != 0) parts.append(parts.empty() ? " (" : ", ").append(grouped(n)).append(what);
  };
  add(jobs.waiting, " waiting");
  add(jobs.running, " running");
  add(jobs.future, " not yet submitted");
  return grouped(jobs.unfinished) + " unfinished" + parts + (parts.empty() ? "" : ")");
}

std::string index_text(std::int64_t millionths, unsigned places) {
  return rounded(places == 3 ? (millionths + 500) / 1000 : millionths / 1000, places);
}

std::string jain_text(const run_figures& f) {
  const auto index = mean_jain(f);
  return index ? index_text(*index, 3) : "–";
}

vector<const replayed_job*> jobs_by_index(const replay_result& r) {
  vector<const replayed_job*> jobs;
  for (const replayed_job& j : r.jobs) {
    if (j.index) jobs.push_back(&j);
  }
  return jobs;
}

instant end_of(const replay_result& r, const vector<const replayed_job*>& jobs, const sim::job_run& run) {
  const bool goes_on =
      run.end == run.begin && !run.evicted && jobs[run.job]->outcome == sim::job_outcome::running;
  return goes_on ? r.time.end : run.end;
}

}  // namespace report

namespace {

using namespace report;

void write_chart(std::string& html, const report_charts& charts, std::string_view name) {
  if (const chart* c = charts.find(name)) c->write_figure(html);
}

void write_quota_charts(std::string& html, const report_charts& charts) {
  if (charts.quotas.empty()) return;
  html +=
      "<figure><figcaption><h2>Each quota against what it owns</h2><p>what its jobs hold, of its own and "
      "borrowed, and what others hold of it; ";
  html += charts.has_one_scale ? "all on one scale" : "<b>each on its own scale</b>";
  html += "</p></figcaption>\n<div class=panels>\n";
  for (const chart& c : charts.quotas) {
    html.append("<div><h3>").append(escaped(c.title())).append("</h3><p class=note>");
    html.append(escaped(c.note())).append("</p>");
    c.write_plot(html);
    html += "</div>\n";
  }
  html +=
      "</div><p class=legend><span><b class=\"own q0\"></b>of its own</span>"
      "<span><b class=\"q0 pale\"></b>borrowed</span><span><b class=lent></b>lent to others</span>"
      "<span><b class=\"rule nominal\"></b>what it owns</span>"
      "<span><b class=\"rule entitled\"></b>its fair share of what everybody wants</span></p></figure>\n";
}

/// Two distributions side by side, with one legend.
void write_pair(std::string& html, const report_charts& charts, std::string_view first,
                std::string_view second) {
  const chart* left = charts.find(first);
  const chart* right = charts.find(second);
  if (left == nullptr || right == nullptr) return write_chart(html, charts, left == nullptr ? second : first);
  html += "<figure><div class=\"panels two\">\n";
  for (const chart* c : {left, right}) {
    html.append("<div><h2>")
        .append(escaped(c->title()))
        .append("</h2><p class=note>")
        .append(escaped(c->note()));
    html += "</p>\n";
    c->write_plot(html);
    html += "</div>\n";
  }
  html += "</div>\n";
  left->write_legend(html);
  html += "</figure>\n";
}

}  // namespace

void write_report(output_file& file, const replay_result& r) {
  std::string& html = file.text();
  const vector<layer> layers = layers_of(r);
  const vector<drawn_distribution> distributions = distributions_of(r, layers);
  const report_charts charts = charts_of(r, layers, distributions);
  const bool has_time = r.time.end > r.time.begin;
  std::string title =
      r.policy_name + ", seed " + std::to_string(r.seed) + ": " + grouped(r.jobs.size()) + " jobs";
  if (!r.scenario_file.empty()) title += ", " + r.scenario_file;
  begin_page(html, title);
  write_head(html, r);
  html += "<main>\n";
  write_tiles(html, r);
  if (has_time) html += "<div id=tools></div>\n";
  write_chart(html, charts, "gpus");
  if (has_time) write_moment(html, r);
  write_quota_charts(html, charts);
  write_chart(html, charts, "lending");
  write_chart(html, charts, "waiting");
  write_chart(html, charts, "reserved");
  write_pair(html, charts, "waiting_times", "total_wait");
  write_wait_tables(html, r, layers);
  write_pair(html, charts, "completion", "slowdown");
  write_chart(html, charts, "utilisation");
  write_chart(html, charts, "preemptions");
  write_preemptions(html, r, layers);
  write_quota_table(html, r);
  write_unfinished(html, r);
  write_refused(html, r);
  write_definitions(html,
                    R"html(<dt>Why a job waits<dd>What its scheduler says of the first jobs in every queue,
asked at some hundred instants evenly over the time; in between, the last answer stands.
)html");
  html += "</main>\n";
  if (has_time) write_data(html, r, layers, distributions);
  end_page(html, has_time ? embedded::page_js : std::string_view{});
}

vector<std::string> standalone_charts(const replay_result& r) {
  const vector<layer> layers = layers_of(r);
  const report_charts charts = charts_of(r, layers, distributions_of(r, layers));
  vector<std::string> files;
  for (const std::string_view name : chart_files) {
    const std::string_view stem = name.substr(0, name.find('.'));
    std::string& text = files.emplace_back();
    if (stem == "quotas") {
      if (!charts.quotas.empty()) text = standalone_svg(charts.quotas, r.policy_name + ": each quota");
    } else if (const chart* c = charts.find(stem)) {
      text = standalone_svg(std::span{c, 1}, r.policy_name + ": " + c->title());
    }
  }
  return files;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

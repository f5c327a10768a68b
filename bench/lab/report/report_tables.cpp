// SPDX-License-Identifier: BSL-1.0
// The texts and tables of the report.
#include "lab/report/report.hpp"
#include "lab/report/result_files.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/metrics/statistics.hpp>
#include <allot/lab/trace.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace allot {
inline namespace v0 {
namespace lab {
namespace report {

namespace {

void tile(std::string& html, std::string_view name, std::string_view value, const std::string& below = {}) {
  html.append("<div><dt>").append(name).append("</dt><dd><b>").append(value).append("</b>");
  if (!below.empty()) html.append("<small>").append(below).append("</small>");
  html += "</dd></div>\n";
}

std::string hardware(const replay_result& r) {
  if (r.cluster == nullptr) return "quotas alone, no nodes";
  std::string text = rounded(r.cluster->gpus().in_milli(), 0) + " GPUs on ";
  return text + grouped(r.cluster->size()) + (r.cluster->size() == 1 ? " node" : " nodes");
}

void fact(std::string& html, std::string_view name, const std::string& value) {
  html.append("<div><dt>").append(name).append("</dt><dd><code>").append(escaped(value));
  html.append("</code></dd></div>\n");
}

void open_table(std::string& html, std::string_view css = {}) {
  html.append("<div class=scroll><table class=\"").append(css).append("\">\n<tr>");
}
void heading(std::string& html, std::string_view text, bool is_text = false) {
  html.append(is_text ? "<th class=t scope=col>" : "<th scope=col>").append(text);
}
void cell(std::string& html, const std::string& text) {
  html.append(text == "0" || text == "0.0" ? "<td class=zero>" : "<td>").append(text);
}
void text_cell(std::string& html, std::string_view text) {
  html.append("<td class=t>").append(escaped(text));
}
void name_cell(std::string& html, std::string_view name) {
  html.append("<td class=t>").append(escaped_name(name));
}
void named_cell(std::string& html, std::size_t colour, std::string_view name) {
  html.append("<td class=t><b class=\"dot q").append(std::to_string(colour)).append("\"></b>");
  html.append(escaped_name(name));
}

/// Classes of jobs by requested GPUs.
struct size_class {
  std::int64_t most;
  std::string_view name;
};
constexpr std::array<size_class, 7> sizes = {{{999, "under 1 GPU"},
                                              {1'000, "1 GPU"},
                                              {4'000, "2–4"},
                                              {8'000, "5–8"},
                                              {16'000, "9–16"},
                                              {64'000, "17–64"},
                                              {INT64_MAX, "more"}}};
[[nodiscard]] std::size_t size_of(std::int64_t gpus) {
  std::size_t i = 0;
  while (gpus > sizes[i].most) ++i;
  return i;
}

std::string part_in_percent(std::size_t part, std::size_t whole) {
  return rounded(rate_in_millionths(part, whole) / 10, 1) + " %";
}

/// The reason of an interruption, for people.
std::string_view reason_for(const sim::interruption& how) {
  if (how.why == sim::interruption::cause::node_down) return "its node failed";
  if (how.why == sim::interruption::cause::start_failed) return "its start failed";
  if (how.why == sim::interruption::cause::told_before) return "already being evicted";
  switch (how.how) {
    case relation::borrower:
      return "the lender wants it back";
    case relation::descendant:
      return "the quota above wants it";
    case relation::same_quota:
      return "higher priority, same quota";
    case relation::rival:
      return "fair share";
    case relation::borrower_while_borrowing:
      return "the lender's jobs go first";
    case relation::consolidation:
      return "moved to make room";
    case relation::resized:
      return "its quota became smaller";
    case relation::time_limit:
      return "its time was up";
  }
  return "";
}

struct toll {
  std::uint64_t runs = 0;
  wide lost = 0;
};
[[nodiscard]] wide lost_in(const cut_short& c, const replayed_job& j) {
  return wide{static_cast<std::uint64_t>(j.gpus)} *
         static_cast<std::uint64_t>(std::max<instant>(0, c.how.lost));
}

/// Which jobs were preempted for which: victims in rows, beneficiaries in columns.
void write_matrix(std::string& html, const replay_result& r, const vector<layer>& layers,
                  const vector<const replayed_job*>& jobs) {
  const vector<std::size_t> layer_of = layers_by_quota(r, layers, 0);
  const std::size_t n = layers.size();
  vector<toll> tolls(n * (n + 1));
  const auto of = [&](std::size_t row, std::size_t column) -> toll& { return tolls[row * (n + 1) + column]; };
  for (const cut_short& c : r.moments.cuts()) {
    if (c.is_pod) continue;
    const replayed_job& victim = *jobs[c.job];
    const std::size_t row = layer_of[victim.quota.index()];
    const std::size_t column = c.how.beneficiary ? layer_of[jobs[*c.how.beneficiary]->quota.index()] : n;
    ++of(row, column).runs;
    of(row, column).lost += lost_in(c, victim);
  }
  bool has_nobody = false;
  for (std::size_t row = 0; row < n; ++row) has_nobody = has_nobody || of(row, n).runs != 0;
  html +=
      "<h3 class=gap>Preemptions by pair of quotas</h3><p class=note>runs cut short, and the GPU time that "
      "was "
      "lost</p>";
  open_table(html);
  heading(html, "jobs of");
  for (const layer& l : layers) heading(html, escaped_name("for " + l.name));
  if (has_nobody) heading(html, "for nobody");
  html += '\n';
  for (std::size_t row = 0; row < n; ++row) {
    html += "<tr>";
    named_cell(html, layers[row].colour, layers[row].name);
    for (std::size_t column = 0; column < n + (has_nobody ? 1 : 0); ++column) {
      const toll& t = of(row, column);
      if (t.runs == 0) {
        html += "<td class=zero>–";
        continue;
      }
      html.append("<td>")
          .append(grouped(t.runs))
          .append(" <small>")
          .append(human_hours(t.lost))
          .append("</small>");
    }
    html += '\n';
  }
  html += "</table></div>\n";
}

}  // namespace

void write_head(std::string& html, const replay_result& r) {
  html.append("<header><h1>Replay under ").append(escaped(r.policy_name)).append("</h1>\n<p>");
  html.append(grouped(r.jobs.size()))
      .append(r.jobs.size() == 1 ? " job on " : " jobs on ")
      .append(hardware(r));
  html.append(", ").append(human_time(r.figures.makespan()));
  html += " from the first submission to the last end</p>\n";
  if (r.stopped) {
    html.append("<p><b>Ended early, at ").append(human_instant(r.stopped->at)).append(" (");
    html.append(word_of(r.stopped->why)).append("): what ran then had run until then.</b></p>\n");
  }
  html += "<dl class=facts>\n";
  if (!r.scenario_file.empty()) fact(html, "scenario", r.scenario_file);
  if (!r.trace_file.empty()) fact(html, "trace", r.trace_file);
  fact(html, "seed", std::to_string(r.seed));
  fact(html, "input", r.input_hash);
  fact(html, "decisions", r.decision_hash);
  fact(html, "allot", own_version());
  if (const std::string part = window_text(r.measured); !part.empty()) fact(html, "measured", part);
  html += "</dl></header>\n";
}

void write_tiles(std::string& html, const replay_result& r) {
  const run_figures& f = r.figures;
  const auto spread = [](const sample_summary& s) {
    return unbroken("median " + human_time(s, s.p50)) + ", " + unbroken("p99 " + human_time(s, s.p99));
  };
  html += "<dl class=tiles>\n";
  if (f.capacity_is_bounded) {
    tile(html, "Utilisation", percent(rate_in_millionths(f.of.allocated, f.capacity)),
         unbroken(human_hours(f.of.allocated)) + " allocated");
  }
  tile(html, "Mean wait", human_time(f.of.queue, f.of.queue.mean()), spread(f.of.queue));
  tile(html, "Mean completion time", human_time(f.of.jct, f.of.jct.mean()), spread(f.of.jct));
  tile(html, "Completed jobs", grouped(f.of.jobs.completed),
       unfinished_jobs(f.of.jobs) + ", " + grouped(f.of.jobs.refused) + " refused");
  tile(html, "Preemptions", grouped(f.of.preemptions), unbroken(human_hours(f.of.lost)) + " lost");
  tile(html, "Borrowed", unbroken(human_hours(f.of.borrowed)), "of other quotas");
  tile(html, "Fairness (Jain)", jain_text(f),
       unbroken(human_hours(f.of.fair_share_error)) + " short of fair shares");
  if (f.capacity_is_bounded && r.cluster != nullptr) {
    tile(html, "Fragmentation", percent(rate_in_millionths(f.stranded, f.idle)), "of the idle GPU time");
  }
  html += "</dl>\n";
}

void write_wait_tables(std::string& html, const replay_result& r, const vector<layer>& layers) {
  auto waits = waits_of(r, layers);
  vector<instant> all;
  for (const auto& w : waits) all.append(w.begin(), w.end());
  if (all.empty()) return;
  const vector<std::size_t> layer_of = layers_by_quota(r, layers, 0);
  // By layer (the last one for all jobs), and by size.
  using by_size = std::array<vector<instant>, sizes.size()>;
  vector<by_size> sized(layers.size() + 1);
  std::array<bool, sizes.size()> any{};
  for (const replayed_job& j : r.jobs) {
    if (!j.start) continue;
    const std::size_t size = size_of(j.gpus);
    any[size] = true;
    const instant wait = std::max<instant>(0, *j.start - j.submit);
    sized[layer_of[j.quota.index()]][size].push_back(wait);
    sized.back()[size].push_back(wait);
  }
  html += "<div class=\"scroll gap\"><table>\n<tr class=groups><th colspan=7><th class=group colspan=";
  html += std::to_string(std::count(any.begin(), any.end(), true)) + ">median by GPUs of the job\n<tr>";
  for (const std::string_view name : {"wait", "jobs", "at once", "median", "p90", "p99", "longest"}) {
    heading(html, name);
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (any[i]) heading(html, sizes[i].name);
  }
  html += '\n';
  const auto row = [&](vector<instant>& of, by_size& by, const auto& write_name) {
    if (of.empty()) return;
    html += "<tr>";
    write_name();
    const sample_summary s = summarize(of);
    const auto at_once = static_cast<std::size_t>(std::count(of.begin(), of.end(), instant{0}));
    cell(html, grouped(s.count));
    cell(html, part_in_percent(at_once, s.count));
    for (const instant figure : {s.p50, s.p90, s.p99, s.max}) cell(html, human_time(s, figure));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (!any[i]) continue;
      const sample_summary of_size = summarize(by[i]);
      cell(html, of_size.count == 0 ? "–" : human_time(of_size, of_size.p50));
    }
    html += '\n';
  };
  for (std::size_t k = 0; k < layers.size(); ++k) {
    row(waits[k], sized[k], [&] { named_cell(html, layers[k].colour, layers[k].name); });
  }
  if (layers.size() > 1) row(all, sized.back(), [&] { text_cell(html, "all jobs"); });
  html += "</table></div>\n";
}

void write_preemptions(std::string& html, const replay_result& r, const vector<layer>& layers) {
  constexpr std::size_t most = 300;
  constexpr std::size_t most_open = 12;
  const auto cuts = r.moments.cuts();
  if (cuts.empty()) {
    html +=
        "<figure><figcaption><h2>Preemptions</h2><p>no job had to make way for "
        "another</p></figcaption></figure>\n";
    return;
  }
  const auto jobs = jobs_by_index(r);
  const auto colours = colours_of(r, layers);
  write_matrix(html, r, layers, jobs);

  vector<std::size_t> shown(cuts.size());
  for (std::size_t i = 0; i < shown.size(); ++i) shown[i] = i;
  if (shown.size() > most) {
    const auto dearer = [&](std::size_t a, std::size_t b) {
      const wide of_a = lost_in(cuts[a], *jobs[cuts[a].job]);
      const wide of_b = lost_in(cuts[b], *jobs[cuts[b].job]);
      return of_a != of_b ? of_a > of_b : a < b;
    };
    std::nth_element(shown.begin(), shown.begin() + most, shown.end(), dearer);
    shown.resize(most);
    std::sort(shown.begin(), shown.end());
  }
  html += "<h3 class=gap>One by one</h3><p class=note>";
  html += cuts.size() > most ? "the " + grouped(most) + " of " + grouped(cuts.size()) +
                                   " that lost most, by time; all are in events.csv (--events)"
                             : std::string{"by time"};
  html += "; a time is a link to that instant</p>";
  const auto head = [&] {
    open_table(html);
    heading(html, "when", true);
    heading(html, "job", true);
    heading(html, "GPUs");
    heading(html, "for", true);
    heading(html, "why", true);
    heading(html, "lost");
    html += '\n';
  };
  const auto job_cell = [&](const replayed_job& j) {
    named_cell(html, colours[j.quota.index()], r.name_of(j));
  };
  head();
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (i == most_open) {
      html += "</table></div>\n<details><summary>" + grouped(shown.size() - most_open) + " more</summary>";
      head();
    }
    const cut_short& c = cuts[shown[i]];
    const replayed_job& victim = *jobs[c.job];
    html.append("<tr><td class=t><button type=button class=at data-at=\"")
        .append(decimal(c.at))
        .append("\">");
    html.append(human_instant(c.at)).append("</button>");
    job_cell(victim);
    cell(html, c.is_pod ? "a pod" : decimal(victim.gpus));
    if (c.how.beneficiary) {
      job_cell(*jobs[*c.how.beneficiary]);
    } else {
      html += "<td class=t>–";
    }
    text_cell(html, reason_for(c.how));
    cell(html, c.is_pod ? "0" : human_hours(lost_in(c, victim)));
    html += '\n';
  }
  html += "</table></div>\n";
  if (shown.size() > most_open) html += "</details>\n";
}

vector<quota_id> listed_quotas(const replay_result& r, std::size_t most) {
  vector<quota_id> listed;
  for (const quota_figures& q : r.figures.quotas) {
    if (r.shows(q.quota)) listed.push_back(q.quota);
  }
  if (listed.size() <= most) return listed;
  const auto is_chosen = [&](quota_id x) {
    return std::find(r.chosen.begin(), r.chosen.end(), x) != r.chosen.end();
  };
  const auto has_more = [&](quota_id a, quota_id b) {
    if (is_chosen(a) != is_chosen(b)) return is_chosen(a);
    const wide x = r.figures.quotas[a.index()].of.allocated;
    const wide y = r.figures.quotas[b.index()].of.allocated;
    return x != y ? x > y : a < b;
  };
  const auto end = listed.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(listed.begin(), end, listed.end(), has_more);
  listed.erase(end, listed.end());
  std::sort(listed.begin(), listed.end());
  return listed;
}

void write_quota_table(std::string& html, const replay_result& r) {
  // Two hundred bytes each.
  constexpr std::size_t most = 2000;
  html += "<figure><figcaption><h2>All figures</h2></figcaption>";
  open_table(html, "wide");
  for (const std::string_view name :
       {"quota", "jobs", "wait mean", "wait p99", "wait longest", "completion mean", "completion p99",
        "GPU-h", "borrowed", "lent", "short of fair share", "preemp&shy;tions", "GPU&#8209;h lost",
        "unfin&shy;ished", "refused"}) {
    heading(html, name);
  }
  html += '\n';
  const auto row = [&html](const job_figures& f) {
    const auto gpu_hours = [&html](wide amount) { cell(html, rounded(milli_gpu_hours(amount), 1)); };
    cell(html, grouped(f.jobs.total));
    cell(html, human_time(f.queue, f.queue.mean()));
    cell(html, human_time(f.queue, f.queue.p99));
    cell(html, f.jobs.total == f.jobs.refused ? "-" : human_time(f.max_wait));
    cell(html, human_time(f.jct, f.jct.mean()));
    cell(html, human_time(f.jct, f.jct.p99));
    gpu_hours(f.allocated);
    gpu_hours(f.borrowed);
    gpu_hours(f.lent);
    gpu_hours(f.fair_share_error);
    cell(html, grouped(f.preemptions));
    gpu_hours(f.lost);
    cell(html, grouped(f.jobs.unfinished));
    cell(html, grouped(f.jobs.refused));
    html += '\n';
  };
  const vector<quota_id> listed = listed_quotas(r, most);
  for (const quota_id x : listed) {
    html += "<tr>";
    name_cell(html, r.quotas[x.index()].name);
    row(r.figures.quotas[x.index()].of);
  }
  // Not "all": a quota may be called so.
  html += "<tr><td>all jobs";
  row(r.figures.of);
  html += "</table></div>";
  if (const std::size_t all = listed_quotas(r, r.quotas.size()).size(); all > listed.size()) {
    html.append("<p>The ").append(grouped(listed.size())).append(" quotas with the most GPU time of ");
    html.append(grouped(all)).append("; summary.json has all.");
  }
  html += "</figure>\n";
}

void write_unfinished(std::string& html, const replay_result& r) {
  constexpr std::size_t most = 20;
  if (r.figures.of.jobs.unfinished == 0) return;
  const auto jobs = jobs_by_index(r);
  std::map<sim::job_index, wait_reason> last;
  for (const timeline_log::moment& m : r.moments.moments()) {
    for (const timeline_log::note& n : m.waiting) {
      const sim::job_outcome o = jobs[n.job]->outcome;
      if (o == sim::job_outcome::waiting) last[n.job] = n.why;
    }
  }
  html.append("<figure><figcaption><h2>Unfinished jobs</h2><p>");
  html.append(grouped(r.figures.of.jobs.unfinished));
  html += r.figures.of.jobs.unfinished > most ? ", the first 20 of them here; all are in jobs.csv" : "";
  html += "; the means above do not count them</p></figcaption>";
  open_table(html);
  heading(html, "job", true);
  heading(html, "quota", true);
  heading(html, "GPUs");
  heading(html, "submitted", true);
  heading(html, "state", true);
  heading(html, "why, when last seen", true);
  html += '\n';
  std::size_t shown = 0;
  for (const replayed_job& j : r.jobs) {
    const bool is_unfinished = j.outcome == sim::job_outcome::waiting ||
                               j.outcome == sim::job_outcome::running ||
                               j.outcome == sim::job_outcome::future;
    if (!is_unfinished || shown++ >= most) continue;
    html += "<tr>";
    name_cell(html, r.name_of(j));
    name_cell(html, r.quotas[j.quota.index()].name);
    cell(html, decimal(j.gpus));
    text_cell(html, human_instant(j.submit));
    text_cell(html, to_string(j.outcome));
    const auto why = j.index ? last.find(*j.index) : last.end();
    std::string text;
    if (why != last.end()) {
      const wait_reason& w = why->second;
      text = sentence(w, w.at && w.at.index() < r.quotas.size() ? r.quotas[w.at.index()].name : "",
                      w.dimension < r.resources.size() ? r.resources[w.dimension] : "gpu",
                      r.moments.nodes(w.nodes));
    }
    text_cell(html, text);
    html += '\n';
  }
  html += "</table></div></figure>\n";
}

void write_refused(std::string& html, const replay_result& r) {
  constexpr std::size_t most = 20;
  if (r.figures.of.jobs.refused == 0) return;
  html.append("<figure><figcaption><h2>Refused jobs</h2><p>").append(grouped(r.figures.of.jobs.refused));
  html += r.figures.of.jobs.refused > most ? ", the first 20 of them here; all are in jobs.csv" : "";
  html += "</p></figcaption>";
  open_table(html);
  heading(html, "job", true);
  heading(html, "quota", true);
  heading(html, "GPUs");
  heading(html, "why", true);
  html += '\n';
  std::size_t shown = 0;
  for (const replayed_job& j : r.jobs) {
    if (j.outcome != sim::job_outcome::refused || shown++ >= most) continue;
    html += "<tr>";
    name_cell(html, r.name_of(j));
    name_cell(html, r.quotas[j.quota.index()].name);
    cell(html, decimal(j.gpus));
    text_cell(html, j.explanation.empty() ? j.reason : std::string_view{j.explanation});
    html += '\n';
  }
  html += "</table></div></figure>\n";
}

void write_definitions(std::string& html, std::string_view more) {
  html += R"html(<figure><figcaption><h2>What the figures mean</h2></figcaption><dl class=means>
<dt>Utilisation<dd>GPUs that running jobs held, of those there were, over the time from the first
submission to the last end of a run. Useful utilisation leaves out what was lost. More is better.
<dt>Wait<dd>From the submission of a job to its first start. The longest counts jobs that never started, too.
Wait in all has the time after preemptions as well, of the jobs that completed. Less is better.
<dt>Completion time<dd>From the submission of a job to its end; of the jobs that completed. Less is better.
<dt>p99<dd>99 % of the jobs have this value or less. The median is the value of the job in the middle.
<dt>Fair share<dd>What each quota's jobs would have if the GPUs were divided at every moment by what the
quotas own, then by weight, given what everybody wants. Short of it: what was due and not had, added up over
time. Less is better.
<dt>Fairness (Jain)<dd>1 when all quotas have the same part of their fair share, less when some have more of
it than others; the average over the time in which somebody wanted something. More is better.
<dt>Borrowed, lent<dd>GPU time that a quota's own jobs had of other quotas, and others' jobs of it.
<dt>Preemptions<dd>Runs cut short, most of them to make room for other jobs. Less is better.
<dt>Lost<dd>GPU time that came to nothing: work since the last checkpoint of an evicted job, and its restart.
Less is better.
<dt>Fragmentation<dd>Of the idle GPU time, the part on nodes that were partly in use, where a pod that needs a
whole node finds no room. Less is better.
)html";
  html.append(more).append("</dl></figure>\n");
}

}  // namespace report
}  // namespace lab
}  // namespace v0
}  // namespace allot

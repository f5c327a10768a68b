// SPDX-License-Identifier: BSL-1.0
#include "lab/report.hpp"

#include "lab/outputs.hpp"

#include <allot/sim/trace.hpp>

#include <algorithm>
#include <numeric>

namespace allot {
inline namespace v0 {
namespace lab {

namespace report {

std::vector<layer> layers_of(const replay_result& r) {
  std::vector<std::size_t> shown;
  for (std::size_t x = 0; x < r.quotas.size(); ++x) {
    if (r.shows(quota_id{x})) shown.push_back(x);
  }
  std::vector<std::size_t> alone = shown;
  if (shown.size() > most_colours) {
    std::stable_sort(alone.begin(), alone.end(), [&](std::size_t a, std::size_t b) {
      return r.figures.quotas[a].of.allocated > r.figures.quotas[b].of.allocated;
    });
    alone.resize(most_colours);
    std::sort(alone.begin(), alone.end());
  }
  std::vector<layer> layers;
  layer others{"others", most_colours, {}};
  for (const std::size_t x : shown) {
    if (std::binary_search(alone.begin(), alone.end(), x)) {
      layers.push_back({r.quotas[x].name, layers.size(), {x}});
    } else {
      others.quotas.push_back(x);
    }
  }
  if (!others.quotas.empty()) layers.push_back(std::move(others));
  return layers;
}

std::vector<std::size_t> colours_of(const replay_result& r, const std::vector<layer>& layers) {
  std::vector<std::size_t> colours(r.quotas.size(), most_colours);
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

std::string grouped(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t i = digits.size(); i > 3;) digits.insert(i -= 3, 1, ',');
  return digits;
}

std::string rounded(std::int64_t thousandths, unsigned places) {
  const bool negative = thousandths < 0;
  auto n = static_cast<std::uint64_t>(negative ? -thousandths : thousandths);
  std::uint64_t unit = 1;
  for (unsigned i = places; i < 3; ++i) unit *= 10;
  n = (n + unit / 2) / unit * unit;
  std::string text = negative && n != 0 ? "-" : "";
  text += grouped(n / 1000);
  if (places > 0) text.append(".").append(std::to_string(1000 + n % 1000), 1, places);
  return text;
}

std::string percent(std::int64_t millionths) {
  return rounded(millionths / 10, 2) + " %";
}

std::string human_time(instant milliseconds) {
  using namespace sim;
  const auto in = [&](instant unit) { return (milliseconds * 1000 + unit / 2) / unit; };
  if (milliseconds < 10 * second) return rounded(in(second), milliseconds % second == 0 ? 0 : 1) + " s";
  if (milliseconds < 2 * minute) return rounded(in(second), 0) + " s";
  if (milliseconds < 2 * hour) return rounded(in(minute), 0) + " min";
  if (milliseconds < 2 * day) return rounded(in(hour), 1) + " h";
  return rounded(in(day), 1) + " d";
}

std::string human_time(const sim::sample_summary& s, instant figure) {
  return s.count == 0 ? "-" : human_time(figure);
}

}  // namespace report

namespace {

using namespace report;

constexpr std::string_view style = R"css(
:root{color-scheme:light dark;--back:#fff;--ink:#1d2330;--soft:#646c7d;--line:#dfe3ea;--panel:#f6f7f9;
--c0:#3572c6;--c1:#e0862b;--c2:#2f9e73;--c3:#c2569a;--c4:#7a63c7;
--c5:#c4473f;--c6:#2a9fb8;--c7:#9a8a2a;--c8:#7b5a43;--c9:#9aa1ad}
@media(prefers-color-scheme:dark){:root{
--back:#14171d;--ink:#e6e9ef;--soft:#98a0b0;--line:#2d323d;--panel:#1c2028;
--c0:#5b93e0;--c1:#eda04f;--c2:#45b98b;--c3:#d778b3;--c4:#9c88e0;
--c5:#e0706a;--c6:#4cbcd4;--c7:#b8a846;--c8:#a8836a;--c9:#737b89}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1100px;padding:20px 16px 48px;background:var(--back);color:var(--ink);
font:15px/1.45 system-ui,sans-serif}
h1{font-size:24px;margin:0}h2{font-size:17px;margin:0}h3{font-size:14px;margin:0 0 4px;font-weight:600}
header p,figcaption p,.note{color:var(--soft);margin:2px 0 0}
header code{font-size:12px}
.tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:10px;margin:18px 0 6px;padding:0}
.tiles div{background:var(--panel);border-radius:8px;padding:10px 12px}
.tiles span{display:block;color:var(--soft);font-size:13px}
.tiles b{font-size:21px;font-weight:600;font-variant-numeric:tabular-nums}
@media(max-width:760px){.tiles{grid-template-columns:repeat(2,1fr)}}
.tiles small{display:block;color:var(--soft)}
figure{margin:28px 0 0}figcaption{margin-bottom:8px}
.chart{position:relative;padding:6px 0 20px 56px}
.plot{position:relative;height:120px;border-bottom:1px solid var(--soft)}
.tall .plot{height:260px}
.plot svg{position:absolute;inset:0;width:100%;height:100%;display:block}
.y{position:absolute;left:0;top:6px;bottom:20px;width:50px}
.y i,.x i{position:absolute;font-style:normal;font-size:12px;color:var(--soft);white-space:nowrap}
.y i{right:0;transform:translateY(50%)}
.x{position:relative;height:0}.x i{transform:translateX(-50%);top:3px}
path{vector-effect:non-scaling-stroke;fill:none;stroke-width:1}
.grid{stroke:var(--line)}.capacity{stroke:var(--ink);stroke-width:1.5}
.entitled{stroke:var(--ink);stroke-width:1;opacity:.75}
.nominal{stroke:var(--soft);stroke-width:1.5;stroke-dasharray:6 4}
.area{stroke:none}.waiting{fill:var(--c5);opacity:.75}.utilisation{fill:var(--c0);opacity:.75}
.q0{fill:var(--c0);background:var(--c0)}.q1{fill:var(--c1);background:var(--c1)}
.q2{fill:var(--c2);background:var(--c2)}.q3{fill:var(--c3);background:var(--c3)}
.q4{fill:var(--c4);background:var(--c4)}.q5{fill:var(--c5);background:var(--c5)}
.q6{fill:var(--c6);background:var(--c6)}.q7{fill:var(--c7);background:var(--c7)}
.q8{fill:var(--c8);background:var(--c8)}.q9{fill:var(--c9);background:var(--c9)}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;margin:4px 0 0 56px;font-size:13px}
.legend b,#tip b{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:6px}
.grid-of-charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(300px,1fr));gap:14px 28px}
.cursor{position:absolute;top:0;bottom:0;width:1px;background:var(--ink);opacity:.5;display:none}
#tip{position:fixed;z-index:1;display:none;pointer-events:none;
background:var(--back);border:1px solid var(--line);
border-radius:6px;box-shadow:0 2px 8px #0004;padding:6px 10px;font-size:13px;white-space:pre;
font-variant-numeric:tabular-nums}
.nodes{display:grid;grid-template-columns:repeat(auto-fill,minmax(180px,1fr));gap:8px 14px}
.nodes span{font-size:12px;color:var(--soft)}
.nodes p{display:flex;flex-wrap:wrap;gap:2px;margin:0}
.nodes p b{display:flex;flex-direction:column-reverse;width:18px;height:18px;
background:var(--line);border-radius:3px;overflow:hidden}
.nodes u{display:block;height:100%}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:14px;font-variant-numeric:tabular-nums;white-space:nowrap}
th,td{padding:4px 12px 4px 0;text-align:right;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--soft);vertical-align:bottom;white-space:normal}
th:first-child,td:first-child{text-align:left}
dl{columns:2 380px;margin:8px 0 0;font-size:14px}dt{font-weight:600}dd{margin:0 0 8px;color:var(--soft);
break-before:avoid}
)css";

constexpr std::string_view script = R"js(
(()=>{const d=JSON.parse(document.getElementById('data').textContent),tip=document.getElementById('tip'),
all=[...document.querySelectorAll('.plot')],cursors=all.map(p=>p.querySelector('.cursor'));
const f=x=>x.toLocaleString('en',{maximumFractionDigits:1});
const when=s=>{const t=Math.round(s),h=t%86400;return 'day '+Math.floor(t/86400)+', '+
String(Math.floor(h/3600)).padStart(2,'0')+':'+String(Math.floor(h%3600/60)).padStart(2,'0')};
const hide=()=>{tip.style.display='none';cursors.forEach(c=>c.style.display='none')};
all.forEach(p=>{p.addEventListener('pointermove',e=>{const b=p.getBoundingClientRect(),
x=Math.min(1,Math.max(0,(e.clientX-b.left)/b.width)),
i=Math.min(d.pending.length-1,Math.floor(x*d.span/d.width));
cursors.forEach(c=>{c.style.display='block';c.style.left=x*100+'%'});
tip.textContent='';const line=(t,q)=>{const r=document.createElement('div');if(q!==undefined){
const m=document.createElement('b');m.className='q'+q;r.append(m)}r.append(t);tip.append(r)};
line(when(d.begin+i*d.width));let sum=0;
d.names.forEach((n,k)=>{const u=d.used[k][i];sum+=u;line(n+'  '+f(u),d.colours[k])});
line('in use  '+f(sum)+(d.capacity[i]?' of '+f(d.capacity[i]):''));line('waiting  '+f(d.pending[i]));
tip.style.display='block';const w=tip.offsetWidth;
tip.style.left=Math.max(4,e.clientX+16+w>innerWidth?e.clientX-w-16:e.clientX+16)+'px';
tip.style.top=Math.max(4,Math.min(e.clientY+12,innerHeight-tip.offsetHeight-8))+'px'});
p.addEventListener('pointerleave',hide)});addEventListener('scroll',hide,{passive:true})})();
)js";

void tile(std::string& html, std::string_view name, std::string_view value, const std::string& below = {}) {
  html.append("<div><span>").append(name).append("</span><b>").append(value).append("</b>");
  if (!below.empty()) html.append("<small>").append(below).append("</small>");
  html += "</div>\n";
}

std::string hours(wide gpu_time) {
  const std::int64_t milli = sim::milli_gpu_hours(gpu_time);
  return rounded(milli, milli < 100'000 ? 1 : 0) + " GPU-h";
}

std::string hardware(const replay_result& r) {
  if (r.cluster == nullptr) return "quotas alone, no nodes";
  std::string text = rounded(r.cluster->gpus().in_milli(), 0) + " GPUs on ";
  return text + grouped(r.cluster->size()) + (r.cluster->size() == 1 ? " node" : " nodes");
}

void write_head(std::string& html, const replay_result& r) {
  html += "<!doctype html>\n<html lang=en><meta charset=utf-8>\n";
  html += "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n<title>";
  html.append(escaped(r.policy)).append(", ").append(grouped(r.jobs.size())).append(" jobs</title>\n<style>");
  html.append(style).append("</style>\n<header><h1>").append(escaped(r.policy)).append("</h1>\n<p>");
  html.append(grouped(r.jobs.size())).append(" jobs, ").append(hardware(r)).append(", ");
  html.append(human_time(r.figures.makespan()))
      .append(" from the first submission to the last end</p>\n<p><code>input ");
  html.append(r.input_hash).append(" · seed ").append(std::to_string(r.seed)).append(" · decisions ");
  html.append(r.decision_hash).append("</code></p></header>\n");
}

void write_tiles(std::string& html, const replay_result& r) {
  const sim::run_figures& f = r.figures;
  const auto spread = [](const sim::sample_summary& s) {
    return "median " + human_time(s, s.p50) + ", p99 " + human_time(s, s.p99);
  };
  html += "<div class=tiles>\n";
  if (f.capacity_is_bounded) {
    tile(html, "Utilisation", percent(sim::rate_in_millionths(f.of.allocated, f.capacity)),
         hours(f.of.allocated));
  }
  tile(html, "Mean wait", human_time(f.of.queue, f.of.queue.mean()), spread(f.of.queue));
  tile(html, "Mean completion time", human_time(f.of.jct, f.of.jct.mean()), spread(f.of.jct));
  tile(html, "Completed jobs", grouped(f.of.jobs.completed),
       grouped(f.of.jobs.unfinished) + " unfinished, " + grouped(f.of.jobs.refused) + " refused");
  tile(html, "Preemptions", grouped(f.of.preemptions), hours(f.of.lost) + " lost");
  tile(html, "Borrowed", hours(f.of.borrowed));
  tile(html, "Fairness (Jain)",
       rounded(sim::rate_in_millionths(f.jain, static_cast<wide>(f.active) * 1'000'000'000) / 1000, 3),
       hours(f.of.fair_share_error) + " short of fair shares");
  if (f.capacity_is_bounded && r.cluster != nullptr) {
    tile(html, "Fragmentation", percent(sim::rate_in_millionths(f.stranded, f.idle)), "of the idle GPU time");
  }
  html += "</div>\n";
}

void write_quota_table(std::string& html, const replay_result& r) {
  html += "<figure><figcaption><h2>Quotas</h2></figcaption><div class=scroll><table>\n<tr>";
  for (const std::string_view name :
       {"quota", "jobs", "wait mean", "p99", "longest", "completion mean", "p99", "GPU-h", "borrowed", "lent",
        "short of fair share", "preemptions", "lost", "unfinished", "refused"}) {
    html.append("<th>").append(name);
  }
  html += '\n';
  for (const sim::quota_figures& q : r.figures.quotas) {
    if (!r.shows(q.quota)) continue;
    const sim::job_figures& f = q.of;
    html.append("<tr><td>").append(escaped(r.quotas[q.quota.index()].name));
    const auto cell = [&html](const std::string& text) { html.append("<td>").append(text); };
    const auto gpu_hours = [&cell](wide amount) { cell(rounded(sim::milli_gpu_hours(amount), 1)); };
    cell(grouped(f.jobs.total));
    cell(human_time(f.queue, f.queue.mean()));
    cell(human_time(f.queue, f.queue.p99));
    cell(human_time(f.max_wait));
    cell(human_time(f.jct, f.jct.mean()));
    cell(human_time(f.jct, f.jct.p99));
    gpu_hours(f.allocated);
    gpu_hours(f.borrowed);
    gpu_hours(f.lent);
    gpu_hours(f.fair_share_error);
    cell(grouped(f.preemptions));
    gpu_hours(f.lost);
    cell(grouped(f.jobs.unfinished));
    cell(grouped(f.jobs.refused));
    html += '\n';
  }
  html += "</table></div></figure>\n";
}

void write_refused(std::string& html, const replay_result& r) {
  constexpr std::size_t most = 20;
  if (r.figures.of.jobs.refused == 0) return;
  html.append("<figure><figcaption><h2>Refused jobs</h2><p>").append(grouped(r.figures.of.jobs.refused));
  html += r.figures.of.jobs.refused > most ? ", the first 20 of them here; all are in jobs.csv" : "";
  html += "</p></figcaption><div class=scroll><table>\n<tr><th>job<th>quota<th>GPUs<th>reason\n";
  std::size_t shown = 0;
  for (const replayed_job& j : r.jobs) {
    if (j.outcome != sim::job_outcome::refused || shown++ == most) continue;
    html.append("<tr><td>")
        .append(escaped(j.id))
        .append("<td>")
        .append(escaped(r.quotas[j.quota.index()].name));
    html.append("<td>").append(decimal(j.gpus)).append("<td>");
    html.append(escaped(j.explanation.empty() ? j.reason : std::string_view{j.explanation})).append("\n");
  }
  html += "</table></div></figure>\n";
}

constexpr std::string_view definitions = R"html(
<figure><figcaption><h2>What the figures mean</h2></figcaption><dl>
<dt>Utilisation<dd>GPUs that running jobs held, of those there were, over the time from the first
submission to the last end of a run.
<dt>Wait<dd>From the submission of a job to its first start. The longest counts jobs that never started, too.
<dt>Completion time<dd>From the submission of a job to its end; of the jobs that completed.
<dt>Fair share<dd>What each quota's jobs would have if the GPUs were divided at every moment by what the
quotas own, then by weight, given what everybody wants. Short of it: what was due and not had, added up over
time.
<dt>Fairness (Jain)<dd>1 when all quotas have the same part of their fair share; the average over the time in
which somebody wanted something.
<dt>Borrowed, lent<dd>GPU time that a quota's own jobs had of other quotas, and others' jobs of it.
<dt>Lost<dd>GPU time that came to nothing: work since the last checkpoint of an evicted job, and its restart.
<dt>Fragmentation<dd>Of the idle GPU time, the part on nodes that were partly in use, where a pod that needs a
whole node finds no room.
</dl></figure>
)html";

}  // namespace

void write_report(output_file& file, const replay_result& r) {
  std::string& html = file.text();
  const std::vector<layer> layers = layers_of(r);
  write_head(html, r);
  write_tiles(html, r);
  write_time_charts(html, r, layers);
  write_quota_charts(html, r, layers);
  write_quota_table(html, r);
  write_node_map(html, r, layers);
  write_refused(html, r);
  html.append(definitions);
  if (r.time.end > r.time.begin)
    html.append("<div id=tip></div>\n<script>").append(script).append("</script>\n");
  html += "</html>\n";
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

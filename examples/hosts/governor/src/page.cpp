// SPDX-License-Identifier: BSL-1.0
#include "governor/src/page.hpp"

#include "governor/src/log.hpp"
#include "governor/src/page_history.hpp"
#include "governor/src/page_text.hpp"
#include "governor/src/resource_words.hpp"
#include "governor/src/snapshot_text.hpp"

#include <allot/core/text.hpp>

#include "lab/report/report.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace allot_governor {

namespace {

using allot::quantity;

constexpr std::size_t most_rows = 200;
/// So many jobs of each list are in the page, so that those of one quota or user can be picked out.
constexpr std::size_t most_picked = 1000;
constexpr std::size_t many_quotas = 12;
/// With more nodes than this, the jobs of a node are only in its tooltip.
constexpr std::size_t most_nodes_with_jobs = 128;

constexpr std::string_view style = R"css(
:root{color-scheme:light dark;--back:#fff;--ink:#1b212c;--soft:#5d6675;--line:#e1e5eb;--panel:#f5f6f8;
--idle:#e4e8ee;--lent:#b9c0cb;--busy:#5f6e84;--alarm:#b3401a;--warn:#fbeee8;--row:table-row;
--c0:#0072b2;--c1:#e69f00;--c2:#009e73;--c3:#cc79a7;--c4:#56b4e9;--c5:#d55e00;--c6:#8a6fb8;--c7:#a39b2d;
--c8:#8d95a3}
@media(prefers-color-scheme:dark){:root{--back:#12151b;--ink:#e5e9f0;--soft:#9aa4b4;--line:#2b313c;
--panel:#1b2029;--idle:#2a303b;--lent:#566071;--busy:#7c8ca3;--alarm:#f08a5d;--warn:#33211a;
--c0:#3d9bd9;--c1:#eeb13a;--c2:#29b68a;--c3:#dd92ba;--c4:#86cdf5;--c5:#ee7d2e;--c6:#ab94da;--c7:#c4bb50;
--c8:#77818f}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;overflow-wrap:anywhere;max-width:1320px;padding:24px 20px 56px;background:var(--back);
color:var(--ink);font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
h1{font-size:26px;line-height:1.2;margin:0}h2{font-size:18px;line-height:1.3;margin:32px 0 8px}
h3{font-size:15px;margin:14px 0 6px;font-weight:600}
a{color:inherit;text-decoration:underline dotted;text-underline-offset:3px}a:hover{text-decoration-style:solid}
header p,.note{color:var(--soft);margin:2px 0 0}.note{font-size:13px}
header p.alert{color:var(--alarm);background:var(--warn);border-left:4px solid;border-radius:4px;font-weight:600;
margin:10px 0 0;padding:6px 12px}
.only{display:none;position:fixed;z-index:1;left:0;right:0;bottom:0;margin:0;padding:10px 20px;text-align:center;
background:var(--ink);color:var(--back)}.only:target{display:block}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;margin:20px 0 0}
.tiles div{background:var(--panel);border-radius:8px;padding:10px 14px;min-width:0}
.tiles dt{color:var(--soft);font-size:13px}.tiles dd{margin:0;font-size:22px;font-weight:600}
.tiles dd,td,.figures{font-variant-numeric:tabular-nums}
figure{margin:12px 0 0;min-width:0}figcaption h3{margin:0}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,340px),1fr));gap:0 28px}
.over{position:relative}
.chart{position:relative;padding:24px 8px 22px 46px}
.hover{position:absolute;inset:24px 8px 22px 46px}
.hover i{position:absolute;top:0;bottom:0}.hover i:hover{background:var(--ink);opacity:.18}
.plot{position:relative;height:100px;border-bottom:1px solid var(--soft)}.tall .plot{height:220px}
.plot b{display:none}
.plot svg{position:absolute;inset:0;width:100%;height:100%;display:block;overflow:visible}
.y{position:absolute;left:0;top:24px;bottom:22px;width:40px}
.y em{position:absolute;left:0;top:-24px;font-style:normal;white-space:nowrap}
.y i,.y em,.x i{font-size:12px;line-height:16px;color:var(--soft);font-variant-numeric:tabular-nums}
.y i,.x i{position:absolute;font-style:normal;white-space:nowrap}
.y i{right:0;transform:translateY(50%)}
.x{position:relative;height:0}.x i{transform:translateX(-50%);top:4px}.x i.end{transform:none;right:-6px}
path{vector-effect:non-scaling-stroke;fill:none;stroke-width:1;stroke-linejoin:round}
.grid{stroke:var(--line)}.axis{stroke:var(--soft)}.capacity{stroke:var(--ink);stroke-width:1.5}
.busy{fill:var(--busy)}.outside{fill:var(--lent);background:var(--lent)}
.quotas{columns:2;column-gap:40px}
.quota{break-inside:avoid;display:flex;flex-wrap:wrap;gap:0 12px;padding-bottom:12px;font-size:14px}
.quota .figures{margin-left:auto;text-align:right;color:var(--soft)}
.bar{flex:0 0 100%;position:relative;height:14px;border-radius:3px;background:var(--idle);margin-top:2px}
.bar i{position:absolute;top:0;bottom:0}
.bar u{position:absolute;top:-3px;bottom:-1px;border-left:2px dashed var(--ink)}
.bar s,.fair{border:5px solid transparent;border-bottom:7px solid var(--ink);border-top:0}
.bar s{position:absolute;top:100%;margin-left:-4px}
.dot{display:inline-block;width:11px;height:11px;border-radius:2px;margin-right:6px}
.lent{background:var(--lent)}.mark{border-left:2px dashed var(--ink);margin-right:4px}
.fair{display:inline-block;margin-right:4px}
.q0{background-color:var(--c0);fill:var(--c0);color:#fff}.q1{background-color:var(--c1);fill:var(--c1);color:#14171c}
.q2{background-color:var(--c2);fill:var(--c2);color:#fff}.q3{background-color:var(--c3);fill:var(--c3);color:#14171c}
.q4{background-color:var(--c4);fill:var(--c4);color:#14171c}.q5{background-color:var(--c5);fill:var(--c5);color:#fff}
.q6{background-color:var(--c6);fill:var(--c6);color:#fff}.q7{background-color:var(--c7);fill:var(--c7);color:#14171c}
.q8{background-color:var(--c8);fill:var(--c8);color:#14171c}
@media(prefers-color-scheme:dark){.q0,.q2,.q5,.q6,.q8{color:#0d1014}}
.borrowed{background-image:repeating-linear-gradient(45deg,transparent 0 4px,var(--back) 4px 7px)}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:13px;color:var(--soft);margin:6px 0 0}
.legend b.area{display:inline-block;width:11px;height:11px;border-radius:2px;margin-right:6px}
.nodes{display:grid;grid-template-columns:repeat(auto-fill,minmax(200px,1fr));gap:12px 18px}
.dense{grid-template-columns:repeat(auto-fill,minmax(110px,1fr));gap:6px 10px}
.node{min-width:0;font-size:12px;line-height:16px;color:var(--soft)}
.node strong{font-weight:600;color:var(--ink)}
.gpus{display:flex;gap:2px;height:18px;margin:2px 0}
.gpus b{flex:1 1 0;min-width:2px;border-radius:3px;overflow:hidden;white-space:nowrap;text-align:center;
font-size:11px;line-height:18px;font-weight:400;overflow-wrap:normal}
.gpus b.free{background:var(--idle)}.gpus b.lost{border:2px solid var(--alarm)}
.dense .gpus{height:10px}.dense .gpus b{font-size:0}
.down .gpus{opacity:.35}.state{color:var(--alarm);font-weight:600}
table{border-collapse:collapse;font-size:14px;width:100%}
th,td{padding:4px 14px 4px 0;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600;color:var(--soft);font-size:13px;overflow-wrap:normal}
td small,td .note{font-size:13px;color:var(--soft)}
td{min-width:6em}td.n{white-space:nowrap}td.why{min-width:16em}td .dot{margin-right:4px}
.j{display:var(--row)}.m{display:none}
pre{font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,"DejaVu Sans Mono",monospace;background:var(--panel);
border-radius:8px;padding:10px 14px;margin:0;white-space:pre-wrap}
@media(max-width:900px){:root{--row:block}.quotas{columns:1}
table,tbody,tr{display:block}thead{display:none}tr{border-bottom:1px solid var(--line);padding:6px 0}
td{display:inline-block;min-width:0;border:0;padding:0 14px 0 0}td.why{display:block;min-width:0}td.n{white-space:normal}
td[data-head]::before{content:attr(data-head) " ";color:var(--soft)}
td:empty{display:none}}
@media(max-width:640px){body{padding:18px 14px 40px}h1{font-size:22px}
.tiles{grid-template-columns:repeat(2,1fr);gap:8px}.nodes{grid-template-columns:repeat(auto-fill,minmax(140px,1fr))}
.dense{grid-template-columns:repeat(auto-fill,minmax(80px,1fr))}
.x i:nth-child(even){display:none}}
)css";

/// Reloads the page. A refresh by markup, for browsers without scripts, does not while the jobs of one quota
/// or user are picked: the address then has a fragment.
constexpr std::string_view script =
    "const s=document.documentElement.dataset.refresh;if(s>0)setTimeout(()=>location.reload(),1000*s)";
/// The SHA-256 of that: of no other script.
constexpr std::string_view script_hash = "SqrlMc3AmxzzdRmvQsRTlxFf27FzMf8aUVEfZ5PBTnw=";

/// A part of the width: "37.5".
[[nodiscard]] std::string percent(quantity a, quantity most) {
  if (most <= quantity{}) return "0";
  const quantity part = std::clamp(a, quantity{}, most);
  const double tenths = 1000 * static_cast<double>(part.in_milli()) / static_cast<double>(most.in_milli());
  const auto n = static_cast<std::int64_t>(tenths);
  return std::to_string(n / 10) + '.' + std::to_string(n % 10);
}

class page_writer {
 public:
  page_writer(const snapshot& s, unsigned refresh_s, const history& past)
      : s_(s), refresh_s_(refresh_s), past_(past), colours_(colours_of(s)) {
    for (const auto& j : s.jobs) by_id_.emplace(j.id, &j);
    find_what_can_be_picked();
  }

  [[nodiscard]] std::string write() {
    write_head();
    write_tiles();
    html_ += history_charts(past_, s_, colours_);
    write_quotas();
    write_loans();
    write_reservations();
    write_jobs("Waiting", job_phase::waiting);
    write_jobs("Leaving", job_phase::leaving);
    write_jobs("Released, not started yet", job_phase::released);
    write_jobs("Not ready", job_phase::not_ready);
    write_jobs("Refused", job_phase::refused);
    write_nodes();
    write_running();
    write_log();
    html_ += "</main></body></html>\n";
    return std::move(html_);
  }

 private:
  [[nodiscard]] std::string css_of(std::optional<std::size_t> quota) const {
    return "q" + std::to_string(quota && *quota < colours_.of.size() ? colours_.of[*quota] : most_colours);
  }
  /// Its name; if it has jobs, a link that hides all others.
  [[nodiscard]] std::string quota_text(std::optional<std::size_t> quota) const {
    const std::string name = html(quota_name(s_, quota));
    if (!quota || *quota >= below_.size() || below_[*quota].empty()) return name;
    return "<a href=#k" + std::to_string(*quota) + ">" + name + "</a>";
  }
  [[nodiscard]] std::string user_text(const std::string& user) const {
    const auto at = users_.find(user);
    const std::string name = html(user, 32);
    return at == users_.end() ? name : "<a href=#w" + std::to_string(at->second) + ">" + name + "</a>";
  }
  /// The classes by which the jobs of a quota and a user are picked.
  [[nodiscard]] std::string picked_by(std::optional<std::size_t> quota, std::string_view user) const {
    std::string css;
    if (quota && *quota < s_.quotas.size()) css += " k" + std::to_string(*quota);
    if (const auto at = users_.find(user); at != users_.end()) css += " w" + std::to_string(at->second);
    return css;
  }
  [[nodiscard]] std::string dot(std::optional<std::size_t> quota) const {
    return "<b class=\"dot " + css_of(quota) + "\"></b>";
  }

  void find_what_can_be_picked() {
    below_.resize(s_.quotas.size());
    std::array<std::size_t, job_phase_names.size()> listed{};
    for (const auto& j : s_.jobs) {
      if (++listed[static_cast<std::size_t>(j.phase)] > most_picked) continue;
      if (!j.user.empty()) users_.emplace(j.user, users_.size());
      if (j.quota && *j.quota < below_.size()) below_[*j.quota] = {*j.quota};
    }
    for (std::size_t x = 0; x < below_.size(); ++x) {
      if (below_[x].empty() || below_[x].front() != x) continue;
      auto above = s_.quotas[x].parent;
      for (std::size_t depth = 0; above && *above < below_.size() && depth < below_.size(); ++depth) {
        below_[*above].push_back(x);
        above = s_.quotas[*above].parent;
      }
    }
  }

  /// Rules that hide all other jobs while the browser's address names a quota or user: also after a reload.
  void write_pick_rules() {
    const auto rules = [this](const std::string& id, const std::string& classes) {
      const std::string of = "#" + id + ":target~main ";
      html_ += of + ".j:not(" + classes + "){display:none}" + of + ".m:is(" + classes +
               "){display:var(--row)}" + of + ".gpus b:not(" + classes + ",.free){opacity:.2}\n";
    };
    for (std::size_t x = 0; x < below_.size(); ++x) {
      std::string classes;
      for (const std::size_t y : below_[x]) classes += (classes.empty() ? ".k" : ",.k") + std::to_string(y);
      if (!classes.empty()) rules("k" + std::to_string(x), classes);
    }
    for (std::size_t w = 0; w < users_.size(); ++w) rules("w" + std::to_string(w), ".w" + std::to_string(w));
  }
  void write_pick_notes() {
    const auto note = [this](const std::string& id, const std::string& whose) {
      html_ += "<p class=only id=" + id + ">Only jobs of " + whose + ": <a href=#all>show all</a></p>\n";
    };
    for (std::size_t x = 0; x < below_.size(); ++x) {
      if (!below_[x].empty()) note("k" + std::to_string(x), "quota " + html(s_.quotas[x].name));
    }
    std::map<std::size_t, std::string_view> by_number;
    for (const auto& [user, w] : users_) by_number[w] = user;
    for (const auto& [w, user] : by_number) note("w" + std::to_string(w), "user " + html(user, 32));
  }

  void write_head() {
    html_ +=
        "<!doctype html>\n<html lang=en data-refresh=" + std::to_string(refresh_s_) +
        "><head><meta charset=utf-8>\n<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
        "style-src 'unsafe-inline'; script-src 'sha256-";
    html_.append(script_hash).append("'\">\n");
    if (refresh_s_ != 0) {
      html_ += "<script>";
      html_.append(script).append("</script><noscript><meta http-equiv=refresh content=");
      html_ += std::to_string(refresh_s_) + "></noscript>\n";
    }
    html_ += "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n<title>";
    html_ += html(s_.cluster) + ": " + s_.words.program() + "</title>\n<style>";
    html_.append(style);
    write_pick_rules();
    html_ += "</style></head>\n<body>\n<header><h1>" + html(s_.cluster) + "</h1><p>" + s_.words.program() +
             ", policy " + html(s_.policy, 200) + ", as of " + time_text(s_.now);
    if (refresh_s_ != 0) {
      html_ += "; this page loads itself again every " + plural(refresh_s_, "second") +
               ": if that time stands still, " + s_.words.program() + " does not run";
    }
    html_ += "</p>\n";
    const auto alert = [this](const std::string& text) {
      html_ += "<p class=alert role=alert>" + text + "</p>\n";
    };
    if (s_.is_away) alert(s_.words.away());
    if (s_.frozen) alert("The governor is " + html(sentence(*s_.frozen), 600));
    if (!s_.refused_config.empty()) alert("Not in force: " + html(s_.refused_config, 600));
    if (s_.observes) alert("It observes only: nothing is released, warned or requeued");
    html_ += "</header>\n";
    write_pick_notes();
    html_ += "<main>\n";
  }

  void write_tiles() {
    std::size_t gpus = 0;
    std::size_t used = 0;
    std::size_t up = 0;
    for (const auto& n : s_.nodes) {
      if (n.state == "up") {
        gpus += n.gpus;
        ++up;
      }
      for (const auto& u : n.used) used += u.gpus;
    }
    const auto tile = [this](std::string_view what, const std::string& figure) {
      html_.append("<div><dt>").append(what).append("</dt><dd>").append(figure).append("</dd></div>");
    };
    const auto count = [this](job_phase p) { return std::to_string(count_in(s_, p)); };
    html_ += "<dl class=tiles>";
    if (!s_.nodes.empty()) {
      tile("GPUs in use, of those on nodes that are up",
           std::to_string(used) + " of " + std::to_string(gpus));
      tile("nodes up", std::to_string(up) + " of " + std::to_string(s_.nodes.size()));
    }
    tile("jobs running", count(job_phase::running));
    if (count_in(s_, job_phase::released) > 0) tile("released, not started", count(job_phase::released));
    tile("jobs waiting", count(job_phase::waiting));
    tile("leaving to make room", count(job_phase::leaving));
    html_ += "</dl>\n";
  }

  void write_quotas() {
    html_ += "<h2>Quotas</h2>\n";
    for (std::size_t d = 0; d < s_.resources.size(); ++d) {
      html_ += "<h3>" + html(shown_resource(s_.resources[d])) + "</h3>\n";
      // A long list is set in two columns; and on one scale with the quotas at the top, the bars of many
      // small ones could not be seen.
      const bool are_many = s_.quotas.size() > many_quotas;
      const std::vector<tree_line> lines = tree_order(s_);
      std::map<std::size_t, quantity> most;
      const auto scale_of = [&](const tree_line& line) -> quantity& {
        return most[are_many ? line.depth : 0];
      };
      for (const tree_line& line : lines)
        scale_of(line) = std::max(scale_of(line), end_of(s_.quotas[line.quota], d));
      html_ += are_many ? "<div class=quotas>\n" : "<div>\n";
      for (const tree_line& line : lines) write_quota(line, d, scale_of(line));
      html_ += "</div>\n";
    }
    html_ +=
        "<p class=legend><span><b class=\"dot q0\"></b>of its own</span>"
        "<span><b class=\"dot q0 borrowed\"></b>borrowed</span>"
        "<span><b class=\"dot lent\"></b>lent to others</span>"
        "<span><b class=mark></b>what it owns</span>"
        "<span><b class=fair></b>its fair share of what everybody wants</span>";
    if (s_.quotas.size() > many_quotas) html_ += "<span>bars of one level have one scale</span>";
    html_ += "</p>\n";
  }

  struct parts {
    quantity own;
    quantity lent;
    quantity borrowed;
    /// Where what is borrowed begins.
    quantity edge;
  };
  [[nodiscard]] static parts parts_of(const snapshot::quota& q, std::size_t d) {
    parts p;
    p.borrowed = std::max(amount_of(q.borrowed, d), quantity{});
    p.own = std::max(amount_of(q.used, d) - p.borrowed, quantity{});
    p.lent = std::max(amount_of(q.lent, d), quantity{});
    p.edge = p.own + p.lent;
    const quantity nominal = amount_of(q.nominal, d);
    if (nominal.is_bounded()) p.edge = std::max(p.edge, nominal);
    return p;
  }
  /// The right end of its bar.
  [[nodiscard]] static quantity end_of(const snapshot::quota& q, std::size_t d) {
    const parts p = parts_of(q, d);
    quantity end = p.edge + p.borrowed;
    const quantity fair = amount_of(q.entitled, d);
    if (fair.is_bounded()) end = std::max(end, fair);
    return end.is_bounded() ? end : quantity{};
  }

  void write_quota(const tree_line& line, std::size_t d, quantity most) {
    const snapshot::quota& q = s_.quotas[line.quota];
    const parts p = parts_of(q, d);
    const auto amount = [d](const amounts_row& row) { return to_string(amount_of(row, d)); };
    html_ += "<div class=quota><span style=\"padding-left:" +
             std::to_string(16 * std::min<std::size_t>(line.depth, 8)) + "px\">" + dot(line.quota) +
             quota_text(line.quota) + "</span><span class=figures>uses " + amount(q.used) + " of " +
             amount(q.nominal);
    if (p.borrowed != quantity{}) html_ += ", borrows " + to_string(p.borrowed);
    if (p.lent != quantity{}) html_ += ", lends " + to_string(p.lent);
    if (amount_of(q.requested, d) != quantity{}) html_ += ", wants " + amount(q.requested) + " more";
    if (d == 0) {
      html_ += "; " + std::to_string(q.running) + " running, " +
               (q.released > 0 ? std::to_string(q.released) + " released, " : "") +
               std::to_string(q.waiting) + " waiting, share " + decimal_text(q.share);
    }
    html_ += "</span><div class=bar>";
    const auto segment = [&](const std::string& css, quantity from, quantity size) {
      if (size <= quantity{}) return;
      html_ += "<i class=\"" + css + "\" style=\"left:" + percent(from, most) +
               "%;width:" + percent(std::min(size, most - std::min(from, most)), most) + "%\"></i>";
    };
    segment(css_of(line.quota), quantity{}, p.own);
    segment("lent", p.own, p.lent);
    segment(css_of(line.quota) + " borrowed", p.edge, p.borrowed);
    const auto rule = [&](char tag, quantity at) {
      if (!at.is_bounded() || at <= quantity{}) return;
      html_.append("<").append(1, tag).append(" style=\"left:").append(percent(at, most)).append("%\"></");
      html_.append(1, tag).append(">");
    };
    rule('u', amount_of(q.nominal, d));
    rule('s', amount_of(q.entitled, d));
    html_ += "</div></div>\n";
  }

  void write_loans() {
    if (s_.loans.empty()) return;
    html_ += "<h2>Loans</h2>\n<table><thead><tr><th>lender<th>borrower<th>amount</thead><tbody>\n";
    for (std::size_t i = 0; i < std::min(most_rows, s_.loans.size()); ++i) {
      const auto& l = s_.loans[i];
      html_ += "<tr><td>" + dot(l.lender) + quota_text(l.lender) + "<td data-head=to>" + dot(l.borrower) +
               quota_text(l.borrower) + "<td>" + html(amount_text(s_, l.amount, l.resource)) + '\n';
    }
    html_ += "</tbody></table>\n";
    write_rest(s_.loans.size());
  }

  /// "by 21:14:05 (in 12 min)".
  [[nodiscard]] std::string start_text(milliseconds at) const {
    return clock_text(at, s_.now) + (at > s_.now ? " (in " + span_text(at - s_.now) + ')' : " (due)");
  }

  void write_reservations() {
    if (s_.reservations.empty()) return;
    html_ +=
        "<h2>Reservations</h2>\n<table><thead><tr><th>job<th>quota<th>starts at the latest<th>when these "
        "have left<th>notes</thead><tbody>\n";
    for (std::size_t i = 0; i < std::min(most_rows, s_.reservations.size()); ++i) {
      const auto& r = s_.reservations[i];
      html_ += "<tr class=\"j" + picked_by(r.quota, user_of(r.job)) + "\"><td>" + html(r.job) + "<td>" +
               dot(r.quota) + quota_text(r.quota) + "<td class=n data-head=\"starts by\">" +
               (r.start ? start_text(*r.start) : "as soon as they have") +
               "<td data-head=\"when these have left:\">";
      constexpr std::size_t most = 20;
      for (std::size_t k = 0; k < std::min(most, r.waits_for.size()); ++k) {
        html_ += (k == 0 ? "" : ", ") + html(r.waits_for[k]);
      }
      if (r.waits_for.size() > most) html_ += " and " + std::to_string(r.waits_for.size() - most) + " more";
      html_ += "<td class=why>";
      if (r.start && r.first_start && *r.first_start != *r.start) {
        html_ += "first promised: " + clock_text(*r.first_start, s_.now);
        if (!r.cause.empty()) html_ += "; later because: " + html(r.cause, 400);
      }
      html_ += '\n';
    }
    html_ += "</tbody></table>\n";
    write_rest(s_.reservations.size());
  }

  void write_rest(std::size_t all) {
    if (all > most_rows) {
      html_ += "<p class=note>and " + std::to_string(all - most_rows) + " more</p>\n";
    }
  }

  void write_job_cells(const snapshot::job& j, std::size_t row) {
    html_ += "<tr class=\"j" + std::string{row < most_rows ? "" : " m"} + picked_by(j.quota, j.user) +
             "\"><td>" + html(j.id) + " <small>" + html(j.name, 40) + "</small><td>" + user_text(j.user) +
             "<td>" + dot(j.quota) + (j.quota ? quota_text(j.quota) : html(j.account)) + "<td>" +
             html(request_text(s_, j));
  }
  [[nodiscard]] std::string_view user_of(const std::string& job) const {
    const auto at = by_id_.find(job);
    return at == by_id_.end() ? std::string_view{} : std::string_view{at->second->user};
  }

  void write_jobs(std::string_view title, job_phase phase) {
    const std::vector<const snapshot::job*> jobs = jobs_in(s_, phase);
    if (jobs.empty()) return;
    const std::size_t all = std::max(jobs.size(), count_in(s_, phase));
    html_.append("<h2>").append(title).append(" (").append(std::to_string(all)).append(")</h2>\n");
    const bool any_reservation =
        std::any_of(jobs.begin(), jobs.end(), [](const auto* j) { return j->latest_start.has_value(); });
    const bool is_released = phase == job_phase::released;
    html_ += "<table><thead><tr><th>job<th>user<th>quota<th>asks for<th>";
    html_ += is_released ? "released" : "submitted";
    html_ +=
        any_reservation ? "<th>starts at the latest<th>why</thead><tbody>\n" : "<th>why</thead><tbody>\n";
    for (std::size_t i = 0; i < std::min(most_picked, jobs.size()); ++i) {
      const snapshot::job& j = *jobs[i];
      write_job_cells(j, i);
      html_ += is_released ? "<td class=n data-head=released>" + span_text(s_.now - j.since) + " ago"
                           : "<td class=n data-head=submitted>" + span_text(s_.now - j.submitted) + " ago";
      if (j.latest_start) {
        html_ += "<td class=n data-head=\"starts by\">" + start_text(*j.latest_start);
      } else if (any_reservation) {
        html_ += "<td>";
      }
      html_ += "<td class=why>";
      html_ +=
          j.beneficiary.empty() ? html(reason_text(s_, j), 600) : "makes room for " + html(j.beneficiary);
      html_ += '\n';
    }
    html_ += "</tbody></table>\n";
    write_rest(all);
  }

  void write_running() {
    const std::vector<const snapshot::job*> jobs = jobs_in(s_, job_phase::running);
    if (jobs.empty()) return;
    html_ += "<h2>Running (" + std::to_string(std::max(jobs.size(), count_in(s_, job_phase::running))) +
             ")</h2>\n<table><thead><tr><th>job<th>user<th>quota<th>has<th>started<th>ends at "
             "the latest<th>on</thead><tbody>\n";
    for (std::size_t i = 0; i < std::min(most_picked, jobs.size()); ++i) {
      const snapshot::job& j = *jobs[i];
      write_job_cells(j, i);
      html_ += "<td class=n data-head=started>" + span_text(s_.now - j.started) + " ago<td class=n";
      html_ += j.ends != 0 ? " data-head=\"ends by\">" + clock_text(j.ends, s_.now) : std::string{">"};
      html_ += "<td class=why>";
      constexpr std::size_t most = 16;
      for (std::size_t k = 0; k < std::min(most, j.nodes.size()); ++k) {
        html_ += (k == 0 ? "" : ", ") + html(j.nodes[k]);
      }
      if (j.nodes.size() > most) html_ += " and " + std::to_string(j.nodes.size() - most) + " more";
      if (!j.preemptible) html_ += " <small>(never preempted)</small>";
      if (j.restarts != 0) html_ += " <small>(restarted " + plural(j.restarts, "time") + ")</small>";
      html_ += '\n';
    }
    html_ += "</tbody></table>\n";
    write_rest(jobs.size());
  }

  void write_nodes() {
    if (s_.nodes.empty()) return;
    const bool is_dense = s_.nodes.size() > most_nodes_with_jobs;
    std::map<std::string_view, std::size_t> states;
    for (const auto& n : s_.nodes) ++states[n.state];
    html_ += "<h2>Nodes (" + std::to_string(s_.nodes.size());
    for (const auto& [state, count] : states) html_ += ", " + std::to_string(count) + ' ' + html(state, 20);
    html_ += ")</h2>\n<div class=\"nodes";
    html_ += is_dense ? " dense\">\n" : "\">\n";
    for (const auto& n : s_.nodes) {
      html_ += n.state == "up" ? "<div class=node><strong>" : "<div class=\"node down\"><strong>";
      html_ += html(n.name) + "</strong>";
      if (n.state != "up") html_ += " <span class=state>" + html(n.state, 20) + "</span>";
      html_ += "<div class=gpus>";
      for (const auto& u : n.used) {
        html_ += "<b class=\"" + css_of(u.quota) + picked_by(u.quota, user_of(u.job)) +
                 "\" style=\"flex-grow:" + std::to_string(u.gpus) + "\" title=\"" + who_is(u) + ": " +
                 plural(u.gpus, "GPU") + "\">" + (u.job.empty() ? "" : html(u.job, 20)) + "</b>";
      }
      if (n.lost_gpus > 0) {
        html_ += "<b class=lost style=\"flex-grow:" + std::to_string(n.lost_gpus) +
                 "\" title=\"lost: " + plural(n.lost_gpus, "GPU") + "\"></b>";
      }
      for (std::size_t used = taken_of(n); used < n.gpus; ++used) html_ += "<b class=free title=free></b>";
      html_ += "</div></div>\n";
    }
    html_ += "</div>\n";
    write_node_table();
  }
  [[nodiscard]] static std::size_t taken_of(const snapshot::node& n) {
    std::size_t taken = n.lost_gpus;
    for (const auto& u : n.used) taken += u.gpus;
    return taken;
  }

  /// Those that need attention come first.
  void write_node_table() {
    html_ += "<table><thead><tr><th>node<th>state<th>GPUs taken<th>by<th>why</thead><tbody>\n";
    std::size_t rows = 0;
    for (const bool is_up : {false, true}) {
      for (const auto& n : s_.nodes) {
        if ((n.state == "up") != is_up || ++rows > most_rows) continue;
        html_ += "<tr><td>" + html(n.name) + (is_up ? "<td>" : "<td class=state>") + html(n.state, 20) +
                 "<td class=n>" + std::to_string(taken_of(n)) + " of " + std::to_string(n.gpus) +
                 "<td data-head=\"by\">";
        std::string list;
        for (const auto& u : n.used)
          list += (list.empty() ? "" : "; ") + who_is(u) + ": " + std::to_string(u.gpus);
        if (n.lost_gpus > 0) {
          list += (list.empty() ? "lost until " : "; lost until ") + std::string{s_.words.server} +
                  " restarts: " + std::to_string(n.lost_gpus);
        }
        html_ += (list.empty() ? "nobody" : list) + "<td class=why>" + html(n.why, 400) + '\n';
      }
    }
    html_ += "</tbody></table>\n";
    write_rest(rows);
  }
  /// "123 ana".
  [[nodiscard]] std::string who_is(const snapshot::node::use& u) const {
    if (!u.quota) return html(u.job) + " not governed";
    const std::string_view user = user_of(u.job);
    return html(u.job) + (user.empty() ? "" : ' ' + html(user, 32));
  }

  /// Without the states of nodes: they are in the table of nodes, and would hide the rest.
  void write_log() {
    std::string lines;
    for (std::size_t i = s_.log.size(); i-- > 0;) {
      const std::string_view line = s_.log[i];
      const std::size_t word = line.find(' ');
      if (word == std::string_view::npos || !line.substr(word).starts_with(" node "))
        lines += html(line, 400) + '\n';
    }
    if (!lines.empty()) html_ += "<h2>Last decisions</h2>\n<pre>" + lines + "</pre>\n";
  }

  const snapshot& s_;
  unsigned refresh_s_;
  const history& past_;
  quota_colours colours_;
  /// By quota, those with listed jobs among it and those below it.
  std::vector<std::vector<std::size_t>> below_{};
  /// Those of the listed jobs, numbered.
  std::map<std::string, std::size_t, std::less<>> users_{};
  std::unordered_map<std::string_view, const snapshot::job*> by_id_{};
  std::string html_{};
};

}  // namespace

std::string html(std::string_view text, std::size_t most) {
  return allot::lab::report::escaped(shown_text(text, most));
}

quota_colours colours_of(const snapshot& s) {
  const std::vector<tree_line> lines = tree_order(s);
  // The quotas that have a colour of their own if those below this depth share that of the one above them.
  const auto coloured = [&](std::size_t depth) {
    std::vector<std::size_t> own;
    for (const tree_line& line : lines) {
      if (line.depth <= depth) own.push_back(line.quota);
    }
    return own;
  };
  std::size_t depth = 0;
  std::size_t deepest = 0;
  for (const tree_line& line : lines) deepest = std::max(deepest, line.depth);
  while (depth < deepest && coloured(depth + 1).size() <= most_colours) ++depth;
  // Leaves have most of the jobs. The order is that of the file, so that a colour
  // means the same on every page.
  quota_colours c;
  c.of.assign(s.quotas.size(), most_colours);
  const std::vector<bool> inner = inner_quotas(s);
  for (const bool is_inner : {false, true}) {
    for (const std::size_t x : coloured(depth)) {
      if (inner[x] != is_inner || c.names.size() == most_colours) continue;
      c.of[x] = c.names.size();
      c.names.push_back(s.quotas[x].name);
    }
  }
  for (const tree_line& line : lines) {
    const auto above = s.quotas[line.quota].parent;
    if (line.depth > depth && above && *above < c.of.size()) c.of[line.quota] = c.of[*above];
  }
  return c;
}

std::string plural(std::size_t n, std::string_view what) {
  return std::to_string(n) + ' ' + std::string{what} + (n == 1 ? "" : "s");
}

std::string clock_text(milliseconds at, milliseconds now) {
  constexpr std::size_t day = 10;
  std::string text = time_text(at);
  if (text.compare(0, day, time_text(now), 0, day) == 0) return text.substr(day + 1);
  text[day] = ' ';
  return text;
}

std::string page_of(const snapshot& s, unsigned refresh_s, const history& past) {
  return page_writer{s, refresh_s, past}.write();
}

}  // namespace allot_governor

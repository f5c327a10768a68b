// SPDX-License-Identifier: BSL-1.0
#include "governor/src/page.hpp"

#include "governor/src/log.hpp"
#include "governor/src/snapshot_text.hpp"

#include <allot/core/text.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace allot_governor {

namespace {

using allot::quantity;

// The colours of Okabe and Ito, which people with any colour vision can tell apart, and two more, as in the
// reports of the program allot; the last is for everything else.
constexpr std::size_t most_colours = 8;
constexpr std::size_t most_rows = 200;
/// With more nodes than this, the jobs of a node are only in its tooltip.
constexpr std::size_t most_nodes_with_jobs = 128;

constexpr std::string_view style = R"css(
:root{color-scheme:light dark;--back:#fff;--ink:#1b212c;--soft:#5d6675;--line:#e1e5eb;--panel:#f5f6f8;
--idle:#e4e8ee;--lent:#b9c0cb;--alarm:#b3401a;
--c0:#0072b2;--c1:#e69f00;--c2:#009e73;--c3:#cc79a7;--c4:#56b4e9;--c5:#d55e00;--c6:#8a6fb8;--c7:#a39b2d;
--c8:#8d95a3}
@media(prefers-color-scheme:dark){:root{--back:#12151b;--ink:#e5e9f0;--soft:#9aa4b4;--line:#2b313c;
--panel:#1b2029;--idle:#2a303b;--lent:#566071;--alarm:#f08a5d;
--c0:#3d9bd9;--c1:#eeb13a;--c2:#29b68a;--c3:#dd92ba;--c4:#86cdf5;--c5:#ee7d2e;--c6:#ab94da;--c7:#c4bb50;
--c8:#77818f}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;overflow-wrap:break-word;max-width:1160px;padding:24px 20px 56px;background:var(--back);
color:var(--ink);font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
h1{font-size:26px;line-height:1.2;margin:0}h2{font-size:18px;line-height:1.3;margin:32px 0 8px}
h3{font-size:15px;margin:14px 0 6px;font-weight:600}
header p,.note{color:var(--soft);margin:2px 0 0}
.alert{color:var(--alarm);font-weight:600;margin:10px 0 0}
.tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:10px;margin:20px 0 0}
.tiles div{background:var(--panel);border-radius:8px;padding:10px 14px;min-width:0}
.tiles dt{color:var(--soft);font-size:13px}.tiles dd{margin:0;font-size:22px;font-weight:600}
.tiles dd,td,.figures{font-variant-numeric:tabular-nums}
.quota{display:flex;flex-wrap:wrap;gap:0 12px;margin-bottom:10px;font-size:14px}
.quota .figures{margin-left:auto;text-align:right;color:var(--soft)}
.bar{flex:0 0 100%;position:relative;height:14px;border-radius:3px;background:var(--idle);margin-top:2px}
.bar i{position:absolute;top:0;bottom:0}
.bar u{position:absolute;top:-3px;bottom:-3px;border-left:2px dashed var(--ink)}
.bar s{position:absolute;top:-3px;bottom:-3px;border-left:1px solid var(--ink)}
.dot{display:inline-block;width:11px;height:11px;border-radius:2px;margin-right:6px}
.lent{background:var(--lent)}.mark{border-left:2px dashed var(--ink);margin-right:4px}
.fair{border-left:1px solid var(--ink);margin-right:4px}
.q0{background-color:var(--c0);color:#fff}.q1{background-color:var(--c1);color:#14171c}
.q2{background-color:var(--c2);color:#fff}.q3{background-color:var(--c3);color:#14171c}
.q4{background-color:var(--c4);color:#14171c}.q5{background-color:var(--c5);color:#fff}
.q6{background-color:var(--c6);color:#fff}.q7{background-color:var(--c7);color:#14171c}
.q8{background-color:var(--c8);color:#14171c}
@media(prefers-color-scheme:dark){.q0,.q2,.q5,.q6,.q8{color:#0d1014}}
.borrowed{background-image:repeating-linear-gradient(45deg,transparent 0 4px,var(--back) 4px 7px)}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:13px;color:var(--soft);margin:0}
.nodes{display:grid;grid-template-columns:repeat(auto-fill,minmax(200px,1fr));gap:12px 18px}
.dense{grid-template-columns:repeat(auto-fill,minmax(110px,1fr));gap:6px 10px}
.node{min-width:0;font-size:12px;line-height:16px;color:var(--soft)}
.node strong{font-weight:600;color:var(--ink)}
.gpus{display:flex;gap:2px;height:18px;margin:2px 0}
.node,.quota span{overflow-wrap:anywhere}
.gpus b{flex:1 1 0;min-width:2px;border-radius:3px;overflow:hidden;white-space:nowrap;text-align:center;
font-size:11px;line-height:18px;font-weight:400;overflow-wrap:normal}
.gpus b.free{background:var(--idle)}.gpus b.lost{border:2px solid var(--alarm)}
.dense .gpus{height:10px}.dense .gpus b{font-size:0}
.down .gpus{opacity:.35}.state{color:var(--alarm)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:14px;width:100%}
th,td{padding:4px 14px 4px 0;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600;color:var(--soft);font-size:13px}
td small,td .note{font-size:13px;color:var(--soft)}
td.n{white-space:nowrap}td.why{min-width:16em}
pre{font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,"DejaVu Sans Mono",monospace;background:var(--panel);
border-radius:8px;padding:10px 14px;margin:0;white-space:pre-wrap}
@media(max-width:640px){body{padding:18px 14px 40px}h1{font-size:22px}
.tiles{grid-template-columns:repeat(2,1fr);gap:8px}.nodes{grid-template-columns:repeat(auto-fill,minmax(140px,1fr))}
.dense{grid-template-columns:repeat(auto-fill,minmax(80px,1fr))}
table,tbody,tr{display:block}thead{display:none}tr{border-bottom:1px solid var(--line);padding:6px 0}
td{display:inline-block;border:0;padding:0 12px 0 0}td.why{display:block;min-width:0}td.n{white-space:normal}
td[data-head]::before{content:attr(data-head) " ";color:var(--soft)}
td:empty{display:none}}
)css";

/// A text of a user: of one line, nothing in it is markup, and not too long.
[[nodiscard]] std::string html(std::string_view text, std::size_t most = 60) {
  std::string escaped;
  for (const char c : shown_text(text, most)) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

/// A part of the width: "37.5".
[[nodiscard]] std::string percent(quantity a, quantity most) {
  if (most <= quantity{}) return "0";
  const quantity part = std::clamp(a, quantity{}, most);
  const double tenths = 1000 * static_cast<double>(part.in_milli()) / static_cast<double>(most.in_milli());
  const auto n = static_cast<std::int64_t>(tenths);
  return std::to_string(n / 10) + '.' + std::to_string(n % 10);
}

[[nodiscard]] std::string plural(std::size_t n, std::string_view what) {
  return std::to_string(n) + ' ' + std::string{what} + (n == 1 ? "" : "s");
}

class page_writer {
 public:
  page_writer(const snapshot& s, unsigned refresh_s)
      : s_(s), refresh_s_(refresh_s), colours_(s.quotas.size(), most_colours) {
    // Quotas without others below them have most of the jobs. The order is that of the file, so that a colour
    // means the same on every page.
    const std::vector<bool> inner = inner_quotas(s);
    std::size_t next = 0;
    for (const bool is_inner : {false, true}) {
      for (const tree_line& line : tree_order(s)) {
        if (inner[line.quota] == is_inner && next < most_colours) colours_[line.quota] = next++;
      }
    }
    for (const auto& j : s.jobs) by_id_.emplace(j.id, &j);
  }

  [[nodiscard]] std::string write() {
    write_head();
    write_tiles();
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
    return "q" + std::to_string(quota && *quota < colours_.size() ? colours_[*quota] : most_colours);
  }
  [[nodiscard]] std::string quota_text(std::optional<std::size_t> quota) const {
    return html(quota_name(s_, quota));
  }
  [[nodiscard]] std::string dot(std::optional<std::size_t> quota) const {
    return "<b class=\"dot " + css_of(quota) + "\"></b>";
  }

  void write_head() {
    html_ += "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n";
    html_ +=
        "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
        "'unsafe-inline'\">\n";
    if (refresh_s_ != 0) html_ += "<meta http-equiv=refresh content=" + std::to_string(refresh_s_) + ">\n";
    html_ += "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n<title>";
    html_ += html(s_.cluster) + ": quotas</title>\n<style>";
    html_.append(style).append("</style></head>\n<body>\n<header><h1>").append(html(s_.cluster));
    html_ += "</h1><p>policy " + html(s_.policy, 200) + ", as of " + time_text(s_.now);
    if (refresh_s_ != 0) {
      html_ += "; this page loads itself again every " + plural(refresh_s_, "second") +
               ": if that time stands still, " + s_.words.program() + " does not run";
    }
    html_ += "</p>\n";
    if (s_.is_away) {
      html_ += "<p class=alert role=alert>" + s_.words.away() + "</p>\n";
    }
    if (s_.frozen) {
      html_ += "<p class=alert>The governor is " + html(sentence(*s_.frozen), 600) + "</p>\n";
    }
    if (!s_.refused_config.empty()) html_ += "<p class=alert>" + html(s_.refused_config, 600) + "</p>\n";
    if (s_.observes) {
      html_ += "<p class=alert>It observes only: nothing is released, warned or requeued</p>\n";
    }
    html_ += "</header>\n<main>\n";
  }

  void write_tiles() {
    std::size_t gpus = 0;
    std::size_t used = 0;
    for (const auto& n : s_.nodes) {
      if (n.state == "up") gpus += n.gpus;
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
      html_ += "<h3>" + html(s_.resources[d]) + "</h3>\n";
      quantity most{};
      for (const auto& q : s_.quotas) most = std::max(most, end_of(q, d));
      for (const tree_line& line : tree_order(s_)) write_quota(line, d, most);
    }
    html_ +=
        "<p class=legend><span><b class=\"dot q0\"></b>of its own</span>"
        "<span><b class=\"dot q0 borrowed\"></b>borrowed</span>"
        "<span><b class=\"dot lent\"></b>lent to others</span>"
        "<span><b class=mark></b>what it owns</span>"
        "<span><b class=fair></b>its fair share of what everybody wants</span></p>\n";
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
             html(q.name) + "</span><span class=figures>uses " + amount(q.used) + " of " + amount(q.nominal);
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
    return time_text(at) + (at > s_.now ? " (in " + span_text(at - s_.now) + ')' : " (due)");
  }

  void write_reservations() {
    if (s_.reservations.empty()) return;
    html_ +=
        "<h2>Reservations</h2>\n<table><thead><tr><th>job<th>quota<th>starts at the latest<th>when these "
        "have left<th>notes</thead><tbody>\n";
    for (std::size_t i = 0; i < std::min(most_rows, s_.reservations.size()); ++i) {
      const auto& r = s_.reservations[i];
      html_ += "<tr><td class=n>" + html(r.job) + "<td class=n>" + dot(r.quota) + quota_text(r.quota) +
               "<td class=n data-head=\"starts by\">" +
               (r.start ? start_text(*r.start) : "as soon as they have") +
               "<td data-head=\"when these have left:\">";
      constexpr std::size_t most = 20;
      for (std::size_t k = 0; k < std::min(most, r.waits_for.size()); ++k) {
        html_ += (k == 0 ? "" : ", ") + html(r.waits_for[k]);
      }
      if (r.waits_for.size() > most) html_ += " and " + std::to_string(r.waits_for.size() - most) + " more";
      html_ += "<td class=why>";
      if (r.start && r.first_start && *r.first_start != *r.start) {
        html_ += "first promised: " + time_text(*r.first_start);
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

  void write_job_cells(const snapshot::job& j) {
    html_ += "<tr><td class=n>" + html(j.id) + " <small>" + html(j.name, 40) + "</small><td>" +
             html(j.user, 32) + "<td class=n>" + dot(j.quota) +
             (j.quota ? quota_text(j.quota) : html(j.account)) + "<td>" + html(request_text(s_, j));
  }

  void write_jobs(std::string_view title, job_phase phase) {
    const std::vector<const snapshot::job*> jobs = jobs_in(s_, phase);
    if (jobs.empty()) return;
    const std::size_t all = std::max(jobs.size(), count_in(s_, phase));
    html_.append("<h2>").append(title).append(" (").append(std::to_string(all)).append(")</h2>\n");
    const bool any_reservation =
        std::any_of(jobs.begin(), jobs.end(), [](const auto* j) { return j->latest_start.has_value(); });
    const bool is_released = phase == job_phase::released;
    html_ += "<div class=scroll><table><thead><tr><th>job<th>user<th>quota<th>asks for<th>";
    html_ += is_released ? "released" : "submitted";
    html_ +=
        any_reservation ? "<th>starts at the latest<th>why</thead><tbody>\n" : "<th>why</thead><tbody>\n";
    for (std::size_t i = 0; i < std::min(most_rows, jobs.size()); ++i) {
      const snapshot::job& j = *jobs[i];
      write_job_cells(j);
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
    html_ += "</tbody></table></div>\n";
    write_rest(all);
  }

  void write_running() {
    const std::vector<const snapshot::job*> jobs = jobs_in(s_, job_phase::running);
    if (jobs.empty()) return;
    html_ +=
        "<h2>Running (" + std::to_string(std::max(jobs.size(), count_in(s_, job_phase::running))) +
        ")</h2>\n<div class=scroll><table><thead><tr><th>job<th>user<th>quota<th>has<th>started<th>ends at "
        "the latest<th>on</thead><tbody>\n";
    for (std::size_t i = 0; i < std::min(most_rows, jobs.size()); ++i) {
      const snapshot::job& j = *jobs[i];
      write_job_cells(j);
      html_ += "<td class=n data-head=started>" + span_text(s_.now - j.started) + " ago<td class=n";
      html_ += j.ends != 0 ? " data-head=\"ends by\">" + time_text(j.ends) : std::string{">"};
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
    html_ += "</tbody></table></div>\n";
    write_rest(jobs.size());
  }

  void write_nodes() {
    if (s_.nodes.empty()) return;
    const bool is_dense = s_.nodes.size() > most_nodes_with_jobs;
    html_ += "<h2>Nodes (" + std::to_string(s_.nodes.size()) + ")</h2>\n<div class=\"nodes";
    html_ += is_dense ? " dense\">\n" : "\">\n";
    for (const auto& n : s_.nodes) {
      html_ += n.state == "up" ? "<div class=node><strong>" : "<div class=\"node down\"><strong>";
      html_ += html(n.name) + "</strong>";
      if (n.state != "up") html_ += " <span class=state>" + html(n.state) + "</span>";
      if (!n.why.empty()) html_ += " <small>" + html(n.why, 80) + "</small>";
      html_ += "<div class=gpus>";
      std::size_t used = 0;
      std::string list;
      for (const auto& u : n.used) {
        used += u.gpus;
        const std::string who = who_is(u);
        html_ += "<b class=" + css_of(u.quota) + " style=\"flex-grow:" + std::to_string(u.gpus) +
                 "\" title=\"" + who + ": " + plural(u.gpus, "GPU") + "\">" +
                 (u.job.empty() ? "" : html(u.job, 20)) + "</b>";
        if (!list.empty()) list += "; ";
        list += who + ": " + std::to_string(u.gpus);
      }
      if (n.lost_gpus > 0) {
        used += n.lost_gpus;
        html_ += "<b class=lost style=\"flex-grow:" + std::to_string(n.lost_gpus) +
                 "\" title=\"lost: " + plural(n.lost_gpus, "GPU") + "\"></b>";
        if (!list.empty()) list += "; ";
        list += "lost until " + std::string{s_.words.server} + " restarts: " + std::to_string(n.lost_gpus);
      }
      for (; used < n.gpus; ++used) html_ += "<b class=free title=free></b>";
      html_ += "</div>";
      if (!is_dense) html_ += list;
      html_ += "</div>\n";
    }
    html_ += "</div>\n";
  }
  /// "123 ana".
  [[nodiscard]] std::string who_is(const snapshot::node::use& u) const {
    if (!u.quota) return html(u.job) + " not governed";
    const auto at = by_id_.find(u.job);
    return html(u.job) + (at == by_id_.end() ? "" : ' ' + html(at->second->user, 32));
  }

  void write_log() {
    if (s_.log.empty()) return;
    html_ += "<h2>Last decisions</h2>\n<pre>";
    for (std::size_t i = s_.log.size(); i-- > 0;) html_ += html(s_.log[i], 400) + '\n';
    html_ += "</pre>\n";
  }

  const snapshot& s_;
  unsigned refresh_s_;
  std::vector<std::size_t> colours_;
  std::unordered_map<std::string_view, const snapshot::job*> by_id_{};
  std::string html_{};
};

}  // namespace

std::string page_of(const snapshot& s, unsigned refresh_s) {
  return page_writer{s, refresh_s}.write();
}

}  // namespace allot_governor

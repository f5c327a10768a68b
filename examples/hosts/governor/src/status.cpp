// SPDX-License-Identifier: BSL-1.0
#include "governor/src/status.hpp"

#include "governor/src/log.hpp"
#include "governor/src/resource_words.hpp"
#include "governor/src/snapshot_text.hpp"

#include <allot/core/text.hpp>
#include <allot/lab/json_writer.hpp>
#include <allot/lab/text_table.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace allot_governor {

namespace {

using allot::quantity;
using allot::lab::json_writer;

/// In UTF-8 characters.
[[nodiscard]] std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// Text broken at spaces, each line indented.
void append_wrapped(std::string& to, std::string_view text, std::size_t indent, std::size_t width) {
  std::string line;
  std::size_t used = 0;
  const auto flush = [&] {
    to.append(indent, ' ').append(line).append("\n");
    line.clear();
    used = 0;
  };
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t size = width_of(word);
    if (used != 0 && indent + used + 1 + size > width) flush();
    if (used != 0) line += ' ';
    used += (used != 0 ? 1 : 0) + size;
    line += word;
  }
  if (!line.empty()) flush();
}

class text_writer {
 public:
  text_writer(const snapshot& s, const status_options& options) : s_(s), options_(options) {}

  [[nodiscard]] std::string write() {
    write_head();
    for (std::size_t d = 0; d < s_.resources.size(); ++d) write_quotas(d);
    write_nodes();
    write_loans();
    write_reservations();
    if (options_.with_running) write_jobs("Running", job_phase::running);
    write_jobs("Leaving", job_phase::leaving);
    write_jobs("Released, not started yet", job_phase::released);
    write_jobs("Waiting", job_phase::waiting);
    write_jobs("Not ready", job_phase::not_ready);
    write_jobs("Refused", job_phase::refused);
    return std::move(text_);
  }

 private:
  void write_head() {
    text_ = "cluster " + shown_text(s_.cluster) + ", policy " + shown_text(s_.policy, 200) + ", " +
            time_text(s_.now) + '\n';
    if (s_.is_away) text_ += s_.words.away() + '\n';
    if (s_.frozen) append_wrapped(text_, shown_text(sentence(*s_.frozen), 1000), 0, options_.width);
    if (!s_.refused_config.empty()) {
      append_wrapped(text_, shown_text(s_.refused_config, 1000), 0, options_.width);
    }
    if (s_.observes) text_ += "observes only: nothing is released, warned or requeued\n";
  }

  void write_quotas(std::size_t d) {
    const bool is_first = d == 0;
    std::vector<std::string> head{"quota", "nominal", "used",    "lent",    "borrowed",
                                  "wants", "share",   "running", "waiting", "entitled"};
    if (!is_first) head.erase(head.begin() + 6, head.begin() + 9);
    allot::lab::text_table table{std::move(head)};
    for (const tree_line& line : tree_order(s_)) {
      const snapshot::quota& q = s_.quotas[line.quota];
      const auto amount = [d](const amounts_row& row) { return to_string(amount_of(row, d)); };
      std::vector<std::string> row{
          std::string(2 * std::min<std::size_t>(line.depth, 10), ' ') + shown_text(q.name, 40),
          amount(q.nominal),
          amount(q.used),
          amount(q.lent),
          amount(q.borrowed),
          amount(q.requested)};
      if (is_first) {
        row.push_back(decimal_text(q.share));
        row.push_back(std::to_string(q.running));
        row.push_back(std::to_string(q.waiting));
      }
      row.push_back(amount(q.entitled));
      table.add(std::move(row));
    }
    text_ += "\nQuotas: " + shown_text(shown_resource(s_.resources[d])) + '\n' + table.text(options_.width);
  }

  void write_nodes() {
    if (s_.nodes.empty()) return;
    std::size_t up = 0;
    std::size_t gpus = 0;
    std::size_t used = 0;
    std::size_t outside = 0;
    std::vector<std::string> jobs_outside;
    std::string others;
    const auto note = [&](const snapshot::node& n, const std::string& what) {
      others.append(others.empty() ? " " : ", ").append(shown_text(n.name)).append(" ").append(what);
    };
    for (const auto& n : s_.nodes) {
      for (const auto& u : n.used) {
        used += u.gpus;
        if (u.quota) continue;
        outside += u.gpus;
        if (std::find(jobs_outside.begin(), jobs_outside.end(), u.job) == jobs_outside.end())
          jobs_outside.push_back(u.job);
      }
      if (n.lost_gpus > 0) {
        const char* const gpus_lost = n.lost_gpus == 1 ? " GPU" : " GPUs";
        note(n,
             "lost " + std::to_string(n.lost_gpus) + gpus_lost + ": restart " + std::string{s_.words.server});
      }
      if (n.state == "up") {
        ++up;
        gpus += n.gpus;
        continue;
      }
      note(n, shown_text(n.state) + (n.why.empty() ? "" : " (" + shown_text(n.why, 80) + ")"));
    }
    text_ += "\nNodes: " + std::to_string(up) + " of " + std::to_string(s_.nodes.size()) + " up with " +
             std::to_string(gpus) + " GPUs, " + std::to_string(used) + " GPUs in use\n";
    if (outside > 0) {
      constexpr std::size_t most = 20;
      std::string line = std::to_string(outside) + " of them by jobs without a quota:";
      for (std::size_t i = 0; i < std::min(most, jobs_outside.size()); ++i)
        line.append(i == 0 ? " " : ", ").append(shown_text(jobs_outside[i]));
      if (jobs_outside.size() > most) line += " and " + std::to_string(jobs_outside.size() - most) + " more";
      append_wrapped(text_, line, 2, options_.width);
    }
    append_wrapped(text_, others.empty() ? others : others.substr(1), 2, options_.width);
  }

  void write_loans() {
    if (s_.loans.empty()) return;
    text_ += "\nLoans\n";
    for (const auto& l : s_.loans) {
      text_ += "  " + shown_text(quota_name(s_, l.lender)) + " lends " +
               shown_text(amount_text(s_, l.amount, l.resource)) + " to " +
               shown_text(quota_name(s_, l.borrower)) + '\n';
    }
  }

  void write_reservations() {
    if (s_.reservations.empty()) return;
    text_ += "\nReservations\n";
    for (const auto& r : s_.reservations) {
      std::string line = r.job + " of " + quota_name(s_, r.quota);
      line += r.start ? " starts by " + time_text(*r.start) : " is next";
      if (!r.waits_for.empty()) {
        line += ", when these have left:";
        constexpr std::size_t most = 20;
        for (std::size_t i = 0; i < std::min(most, r.waits_for.size()); ++i) {
          line.append(i == 0 ? " " : ", ").append(r.waits_for[i]);
        }
        if (r.waits_for.size() > most) {
          line += " and " + std::to_string(r.waits_for.size() - most) + " more";
        }
      }
      if (r.first_start && r.start && *r.first_start != *r.start) {
        line += "; first promised: " + time_text(*r.first_start);
        if (!r.cause.empty()) line += "; later because: " + r.cause;
      }
      append_wrapped(text_, shown_text(line, 1000), 2, options_.width);
    }
  }

  /// A line of columns for each job, and below it why.
  void write_jobs(std::string_view title, job_phase phase) {
    const std::vector<const snapshot::job*> jobs = jobs_in(s_, phase);
    if (jobs.empty()) return;
    const std::size_t all = std::max(count_in(s_, phase), jobs.size());
    const std::size_t shown = std::min(jobs.size(), options_.most_jobs);
    text_.append("\n").append(title).append(" (").append(std::to_string(all));
    if (shown < all) text_ += ", the first " + std::to_string(shown) + " are listed";
    text_ += ")\n";
    const bool is_released = phase == job_phase::released;
    std::vector<std::vector<std::string>> rows;
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < shown; ++i) {
      const snapshot::job& j = *jobs[i];
      rows.push_back({shown_text(j.id), shown_text(j.user, 24),
                      shown_text(j.quota ? quota_name(s_, j.quota) : j.account, 32),
                      shown_text(request_text(s_, j)),
                      is_released                   ? "released " + span_text(s_.now - j.since) + " ago"
                      : phase == job_phase::running ? "for " + span_text(s_.now - j.started)
                                                    : "for " + span_text(s_.now - j.submitted)});
      if (j.latest_start) rows.back().push_back("starts by " + time_text(*j.latest_start));
      widths.resize(std::max(widths.size(), rows.back().size()));
      for (std::size_t c = 0; c < rows.back().size(); ++c) {
        widths[c] = std::max(widths[c], width_of(rows.back()[c]));
      }
    }
    for (std::size_t i = 0; i < shown; ++i) {
      std::string line = " ";
      for (std::size_t c = 0; c < rows[i].size(); ++c) {
        line.append(" ").append(rows[i][c]).append(widths[c] - width_of(rows[i][c]) + 1, ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text_ += line + '\n';
      const snapshot::job& j = *jobs[i];
      const std::string why = j.beneficiary.empty() ? reason_text(s_, j) : "makes room for " + j.beneficiary;
      append_wrapped(text_, shown_text(why, 1000), 6, options_.width);
    }
  }

  const snapshot& s_;
  const status_options& options_;
  std::string text_{};
};

class status_json_writer {
 public:
  explicit status_json_writer(const snapshot& s) : s_(s) {}

  [[nodiscard]] std::string write() {
    w_.begin_object().member("format", status_format(s_.words));
    text("cluster", s_.cluster);
    text("policy", s_.policy);
    w_.member("now", seconds_of(s_.now));
    w_.member("observes", s_.observes).member(std::string{s_.words.server_key} + "_answers", !s_.is_away);
    w_.key("frozen");
    if (s_.frozen) {
      w_.begin_object();
      time("since", s_.frozen->since);
      time("until", s_.frozen->until);
      text("by", s_.frozen->by);
      text("why", s_.frozen->why);
      w_.end_object();
    } else {
      w_.null();
    }
    text_or_null("refused_configuration", s_.refused_config);
    texts("resources", s_.resources);
    write_quotas();
    write_jobs();
    write_nodes();
    write_loans();
    write_reservations();
    write_totals();
    texts("log", s_.log);
    w_.end_object();
    return w_.text();
  }

 private:
  /// Rounded down, also before 1970.
  [[nodiscard]] static std::int64_t seconds_of(milliseconds t) { return t / 1000 - (t % 1000 < 0 ? 1 : 0); }
  void time(std::string_view key, std::optional<milliseconds> t) {
    w_.key(key);
    if (t) {
      w_.value(seconds_of(*t));
    } else {
      w_.null();
    }
  }
  void text(std::string_view key, std::string_view value) { w_.member(key, utf8_text(value)); }
  void text_or_null(std::string_view key, std::string_view value) {
    w_.key(key);
    if (value.empty()) {
      w_.null();
    } else {
      w_.value(utf8_text(value));
    }
  }
  void texts(std::string_view key, const std::vector<std::string>& all) {
    w_.key(key).begin_array();
    for (const std::string& t : all) w_.value(utf8_text(t));
    w_.end_array();
  }
  void quota(std::string_view key, std::optional<std::size_t> x) {
    w_.key(key);
    if (x && *x < s_.quotas.size()) {
      w_.value(utf8_text(s_.quotas[*x].name));
    } else {
      w_.null();
    }
  }
  void amounts(std::string_view key, const amounts_row& row) {
    w_.key(key).begin_object();
    for (std::size_t d = 0; d < s_.resources.size(); ++d) {
      w_.member(utf8_text(s_.resources[d]), amount_of(row, d));
    }
    w_.end_object();
  }
  static std::uint64_t count(std::size_t n) { return n; }

  void write_quotas() {
    w_.key("quotas").begin_array();
    for (const auto& q : s_.quotas) {
      w_.begin_object();
      text("name", q.name);
      quota("parent", q.parent);
      amounts("nominal", q.nominal);
      amounts("entitled", q.entitled);
      amounts("used", q.used);
      amounts("borrowed", q.borrowed);
      amounts("lent", q.lent);
      amounts("requested", q.requested);
      w_.key("share");
      if (std::isfinite(q.share)) {
        w_.raw(decimal_text(q.share));
      } else {
        w_.null();
      }
      w_.member("running", count(q.running))
          .member("released", count(q.released))
          .member("waiting", count(q.waiting))
          .end_object();
    }
    w_.end_array();
  }
  void write_jobs() {
    w_.key("phases").begin_object();
    for (std::size_t p = 0; p < job_phase_names.size(); ++p)
      w_.member(job_phase_names[p], count(s_.phases[p]));
    w_.end_object();
    w_.member("backing_off", count(s_.backing_off));
    w_.key("jobs").begin_array();
    for (const auto& j : s_.jobs) {
      const bool runs = j.phase == job_phase::running || j.phase == job_phase::leaving;
      w_.begin_object();
      text("id", j.id);
      text("name", j.name);
      text("user", j.user);
      text("account", j.account);
      quota("quota", j.quota);
      w_.member("phase", job_phase_names[static_cast<std::size_t>(j.phase)]);
      if (!j.request.empty()) amounts("request", j.request);
      if (!j.components.empty()) {
        w_.key("components").begin_array();
        for (const auto& c : j.components) {
          w_.begin_object().member("nodes", count(c.nodes));
          amounts("request", c.request);
          w_.end_object();
        }
        w_.end_array();
      }
      w_.member("preemptible", j.preemptible);
      time("submitted", j.submitted);
      time("started", runs ? std::optional{j.started} : std::nullopt);
      time("ends", j.ends != 0 ? std::optional{j.ends} : std::nullopt);
      texts("nodes", j.nodes);
      text("reason", j.reason);
      time("promised", j.latest_start);
      text_or_null("beneficiary", j.beneficiary);
      w_.member("restarts", std::uint64_t{j.restarts});
      time("since", j.since);
      w_.key("before");
      if (j.before) {
        w_.value(*j.before);
      } else {
        w_.null();
      }
      text("comment", j.comment);
      text(std::string{s_.words.key} + "_reason", j.host_reason);
      w_.end_object();
    }
    w_.end_array();
  }
  void write_nodes() {
    w_.key("nodes").begin_array();
    for (const auto& n : s_.nodes) {
      w_.begin_object();
      text("name", n.name);
      text("state", n.state);
      if (!n.why.empty()) text("why", n.why);
      w_.member("gpus", count(n.gpus)).key("used").begin_array();
      for (const auto& u : n.used) {
        w_.begin_object();
        text_or_null("job", u.quota ? u.job : std::string{});
        if (!u.quota) text("ungoverned", u.job);
        quota("quota", u.quota);
        w_.member("gpus", count(u.gpus)).end_object();
      }
      w_.end_array().member("lost_gpus", count(n.lost_gpus)).end_object();
    }
    w_.end_array();
  }
  void write_loans() {
    w_.key("loans").begin_array();
    for (const auto& l : s_.loans) {
      w_.begin_object();
      text("resource", l.resource < s_.resources.size() ? s_.resources[l.resource] : "");
      quota("lender", l.lender);
      quota("borrower", l.borrower);
      w_.member("amount", l.amount).end_object();
    }
    w_.end_array();
  }
  void write_reservations() {
    w_.key("reservations").begin_array();
    for (const auto& r : s_.reservations) {
      w_.begin_object();
      text("job", r.job);
      quota("quota", r.quota);
      texts("waits_for", r.waits_for);
      time("start", r.start);
      time("first_start", r.first_start);
      text("cause", r.cause);
      w_.end_object();
    }
    w_.end_array();
  }
  void write_totals() {
    const auto& t = s_.since_start;
    w_.key("since_start").begin_object();
    w_.member("ticks", t.ticks).member("released", t.released).member("warned", t.warned);
    w_.member("waited_ms", t.waited_ms).member("requeued", t.requeued);
    w_.member("evicted_again", t.evicted_again).member("reclaimed", t.reclaimed);
    w_.member("reclaim_ms", t.reclaim_ms).member("held_again", t.held_again);
    w_.member("ran_unasked", t.ran_unasked).member("refused", t.refused).member("adopted", t.adopted);
    w_.member("failed_starts", t.failed_starts).member("reloads_refused", t.reloads_refused);
    w_.member("calls", t.calls).member("failed_calls", t.failed_calls).member("ticks_away", t.away);
    w_.member("load_us", t.load_us).member("tick_us", t.tick_us).end_object();
    w_.key("last_tick").begin_object();
    w_.member("load_us", s_.last.load_us).member("tick_us", s_.last.tick_us);
    w_.member("calls", count(s_.last.calls)).end_object();
  }

  const snapshot& s_;
  json_writer w_{};
};

}  // namespace

std::string status_text(const snapshot& s, const status_options& options) {
  return text_writer{s, options}.write();
}

std::string status_json(const snapshot& s) {
  return status_json_writer{s}.write();
}

}  // namespace allot_governor

// SPDX-License-Identifier: BSL-1.0
#include "governor/src/metrics.hpp"

#include "governor/src/snapshot_text.hpp"

#include <allot/core/quantity.hpp>
#include <allot/core/text.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>

namespace allot_governor {

namespace {

using allot::quantity;

[[nodiscard]] std::string number(quantity q) {
  if (q.is_bounded()) return to_string(q);
  return q.is_unlimited() ? "+Inf" : "-Inf";
}
[[nodiscard]] std::string number(double n) {
  if (std::isnan(n)) return "NaN";
  if (std::isinf(n)) return n < 0 ? "-Inf" : "+Inf";
  return decimal_text(n);
}
[[nodiscard]] std::string number(std::uint64_t n) {
  return std::to_string(n);
}
/// Microseconds as seconds, exactly.
[[nodiscard]] std::string seconds_text(std::int64_t us) {
  const std::int64_t n = us < 0 ? 0 : us;
  return std::to_string(n / 1'000'000) + '.' + std::to_string(1'000'000 + n % 1'000'000).substr(1);
}

class metrics_writer {
 public:
  explicit metrics_writer(const snapshot& s) : s_(s) {}

  [[nodiscard]] std::string write() {
    write_state();
    write_quotas();
    write_loans();
    write_nodes();
    write_totals();
    return std::move(text_);
  }

 private:
  using labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  void metric(std::string_view name, std::string_view type, std::string_view help) {
    name_ = "allot_";
    name_.append(s_.words.key).append("_").append(name);
    text_.append("# HELP ").append(name_).append(" ").append(help).append("\n");
    text_.append("# TYPE ").append(name_).append(" ").append(type).append("\n");
  }
  void sample(labels of, std::string_view value) {
    text_ += name_;
    char before = '{';
    for (const auto& [label, content] : of) {
      text_.append(1, before).append(label).append("=\"");
      for (const char c : utf8_text(content)) {
        if (c == '\n') {
          text_ += "\\n";
          continue;
        }
        if (c == '\\' || c == '"') text_ += '\\';
        text_ += c;
      }
      text_ += '"';
      before = ',';
    }
    if (before == ',') text_ += '}';
    text_.append(" ").append(value).append("\n");
  }
  void single(std::string_view name, std::string_view type, std::string_view help, std::string_view value) {
    metric(name, type, help);
    sample({}, value);
  }

  void write_state() {
    metric("info", "gauge", "What this governor is; always 1.");
    sample({{"cluster", s_.cluster}, {"policy", s_.policy}}, "1");
    single("observes", "gauge", "1 if decisions are only logged (--observe).", s_.observes ? "1" : "0");
    single("frozen", "gauge", "1 if nobody is evicted (" + s_.words.program() + " freeze).",
           s_.frozen ? "1" : "0");
    single(std::string{s_.words.server_key} + "_up", "gauge",
           "1 if " + server_ + " answered in the last tick.", s_.is_away ? "0" : "1");
    single("last_tick_timestamp_seconds", "gauge", "When the last tick began, in seconds since 1970.",
           number(quantity::milli(s_.now)));
    metric("jobs", "gauge", "Governed jobs by phase.");
    for (std::size_t p = 0; p < job_phase_names.size(); ++p) {
      sample({{"phase", job_phase_names[p]}}, number(std::uint64_t{s_.phases[p]}));
    }
    single("jobs_backing_off", "gauge", "Jobs that are tried again later because a start failed.",
           number(std::uint64_t{s_.backing_off}));
    milliseconds longest = 0;
    for (const auto& j : s_.jobs) {
      if (j.phase == job_phase::released) longest = std::max(longest, s_.now - j.since);
    }
    single("released_longest_seconds", "gauge",
           "For how long the job that has waited longest for " + host_ + " after its release has done so.",
           number(quantity::milli(longest)));
    single("reservations", "gauge", "Jobs that capacity is held for.",
           number(std::uint64_t{s_.reservations.size()}));
  }

  void by_resource(std::string_view name, std::string_view help, amounts_row snapshot::quota::*row) {
    metric(name, "gauge", help);
    for (const auto& q : s_.quotas) {
      for (std::size_t d = 0; d < s_.resources.size(); ++d) {
        sample({{"quota", q.name}, {"resource", s_.resources[d]}}, number(amount_of(q.*row, d)));
      }
    }
  }
  void write_quotas() {
    by_resource("quota_nominal", "What the quota is guaranteed, as configured.", &snapshot::quota::nominal);
    by_resource("quota_entitled", "What the fair-share division gives the quota now.",
                &snapshot::quota::entitled);
    by_resource("quota_used", "What the jobs in the subtree of the quota use.", &snapshot::quota::used);
    by_resource("quota_borrowed", "What the quota's own jobs use of other quotas' pools.",
                &snapshot::quota::borrowed);
    by_resource("quota_lent", "What other quotas' jobs use of the quota's own pool.", &snapshot::quota::lent);
    by_resource("quota_requested", "What the quota's own waiting jobs request.", &snapshot::quota::requested);
    metric("quota_share", "gauge", "The weighted part that the quota borrows of what it could borrow.");
    for (const auto& q : s_.quotas) sample({{"quota", q.name}}, number(q.share));
    metric("quota_running_jobs", "gauge", "The quota's own jobs that run.");
    for (const auto& q : s_.quotas) sample({{"quota", q.name}}, number(std::uint64_t{q.running}));
    metric("quota_released_jobs", "gauge", "The quota's own jobs that are released and not started yet.");
    for (const auto& q : s_.quotas) sample({{"quota", q.name}}, number(std::uint64_t{q.released}));
    metric("quota_waiting_jobs", "gauge", "The quota's own jobs that wait.");
    for (const auto& q : s_.quotas) sample({{"quota", q.name}}, number(std::uint64_t{q.waiting}));
  }

  void write_loans() {
    metric("loan", "gauge", "What the jobs of one quota use of another's pool.");
    // No series twice, whatever the snapshot holds: the collector would refuse the whole file.
    std::map<std::array<std::size_t, 3>, quantity> all;
    for (const auto& l : s_.loans) {
      const bool is_known =
          l.lender < s_.quotas.size() && l.borrower < s_.quotas.size() && l.resource < s_.resources.size();
      if (is_known) all[{l.lender, l.borrower, l.resource}] += l.amount;
    }
    for (const auto& [of, amount] : all) {
      sample({{"lender", s_.quotas[of[0]].name},
              {"borrower", s_.quotas[of[1]].name},
              {"resource", s_.resources[of[2]]}},
             number(amount));
    }
  }

  void write_nodes() {
    constexpr std::array<std::string_view, 4> states{"up", "down", "drained", "reserved"};
    std::array<std::uint64_t, states.size()> nodes{};
    std::array<std::uint64_t, states.size()> gpus{};
    std::uint64_t governed = 0;
    std::uint64_t foreign = 0;
    std::uint64_t lost = 0;
    for (const auto& n : s_.nodes) {
      for (std::size_t i = 0; i < states.size(); ++i) {
        if (n.state != states[i]) continue;
        ++nodes[i];
        gpus[i] += n.gpus;
      }
      for (const auto& u : n.used) (u.quota ? governed : foreign) += u.gpus;
      lost += n.lost_gpus;
    }
    metric("nodes", "gauge", "Nodes of the governed partitions by state.");
    for (std::size_t i = 0; i < states.size(); ++i) sample({{"state", states[i]}}, number(nodes[i]));
    metric("gpus", "gauge", "GPUs of these nodes by the node's state.");
    for (std::size_t i = 0; i < states.size(); ++i) sample({{"state", states[i]}}, number(gpus[i]));
    metric("gpus_used", "gauge", "GPUs in use, by whether the job that uses them is governed.");
    sample({{"governed", "yes"}}, number(governed));
    sample({{"governed", "no"}}, number(foreign));
    single("gpus_lost", "gauge", "GPUs that " + host_ + " counts as used although no job has them.",
           number(lost));
  }

  void write_totals() {
    const auto& t = s_.since_start;
    const auto counter = [this](std::string_view name, std::string_view help, std::uint64_t n) {
      single(name, "counter", help, number(n));
    };
    counter("ticks_total", "Ticks: polls with their decisions.", t.ticks);
    counter("ticks_away_total", "Ticks in which " + server_ + " did not answer.", t.away);
    counter("releases_total", "Jobs released.", t.released);
    counter("warnings_total", "Jobs warned that they must yield.", t.warned);
    counter("requeues_total", "Jobs requeued to make room.", t.requeued);
    single("released_waits_seconds_total", "counter",
           "How long the jobs that were released have waited for that.", seconds_text(t.waited_ms * 1000));
    counter("evicted_again_total", "Decisions to evict a job that had been evicted before.", t.evicted_again);
    counter("reclaims_total", "Jobs that were to make room and have left.", t.reclaimed);
    single("reclaim_seconds_total", "counter", "How long they took from that decision on.",
           seconds_text(t.reclaim_ms * 1000));
    counter("refusals_total", "Jobs refused.", t.refused);
    counter("failed_starts_total", "Jobs that were released, and that " + host_ + " did not start.",
            t.failed_starts);
    counter("reloads_refused_total", "Configurations that were refused at a reload.", t.reloads_refused);
    counter("adoptions_total", "Jobs that ran already when the governor started.", t.adopted);
    counter("interventions_undone_total", "Jobs held again that somebody else had released.", t.held_again);
    counter("unasked_runs_total", "Jobs that ran without having been released by the governor.",
            t.ran_unasked);
    counter("calls_total", "Calls to " + server_ + " that change something.", t.calls);
    counter("failed_calls_total", "Such calls that failed.", t.failed_calls);
    single("tick_cpu_seconds_total", "counter", "CPU time of ticks without load and unpack.",
           seconds_text(t.tick_us));
    single("load_cpu_seconds_total", "counter",
           "CPU time of " + std::string{s_.words.client} + " to load and unpack jobs and nodes.",
           seconds_text(t.load_us));
    single("last_tick_cpu_seconds", "gauge", "CPU time of the last tick without load and unpack.",
           seconds_text(s_.last.tick_us));
    single("last_load_cpu_seconds", "gauge", "CPU time of load and unpack in the last tick.",
           seconds_text(s_.last.load_us));
    single("last_tick_calls", "gauge", "Calls to " + server_ + " in the last tick that change something.",
           number(std::uint64_t{s_.last.calls}));
  }

  const snapshot& s_;
  const std::string host_{s_.words.host};
  const std::string server_{s_.words.server};
  std::string name_{};
  std::string text_{};
};

}  // namespace

std::string metrics_of(const snapshot& s) {
  return metrics_writer{s}.write();
}

}  // namespace allot_governor

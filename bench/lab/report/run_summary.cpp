// SPDX-License-Identifier: BSL-1.0
#include <allot/core/vector.hpp>

#include "lab/report/run_summary.hpp"

#include "lab/io/json_reader.hpp"
#include "lab/io/packed_input.hpp"
#include "lab/report/measuring.hpp"
#include "lab/report/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <system_error>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

std::optional<double> number_of(json_value value) {
  if (!value.is_number()) return std::nullopt;
  double n = 0;
  const std::string_view text = value.text();
#ifdef __cpp_lib_to_chars
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  const bool is_read = error == std::errc{} && end == text.data() + text.size();
#else
  // libc++ reads integers only. The text has the form of a number of JSON.
  const std::string copy{text};
  char* end = nullptr;
  n = std::strtod(copy.c_str(), &end);
  const bool is_read = end == copy.c_str() + copy.size();
#endif
  return is_read && std::isfinite(n) ? std::optional{n} : std::nullopt;
}

/// A part of a path; slashes in it are escaped as in JSON pointers.
std::string path_part(std::string_view key) {
  std::string part;
  for (const char c : key) {
    if (c == '~') part += "~0";
    if (c == '/') part += "~1";
    if (c != '~' && c != '/') part += c;
  }
  return part;
}

constexpr std::string_view of_tenants = "tenants/";

/// The tenant's name as in the name of its figure.
std::string_view tenant_part(std::string_view name) {
  if (name.substr(0, of_tenants.size()) != of_tenants) return {};
  name.remove_prefix(of_tenants.size());
  const std::size_t end = name.find('/');
  return end == std::string_view::npos ? std::string_view{} : name.substr(0, end);
}

/// "lost_gpu_h" for "tenants/a/lost_gpu_h"; other names are unchanged.
std::string_view without_tenant(std::string_view name) {
  const std::string_view tenant = tenant_part(name);
  if (!tenant.empty()) name.remove_prefix(of_tenants.size() + tenant.size() + 1);
  return name;
}

void flatten(json_value value, const std::string& path, run_summary& to) {
  value.for_each([&](json_value member) {
    std::string name = path;
    if (!name.empty()) name += '/';
    name += path_part(member.key());
    if (member.is_object()) return flatten(member, name, to);
    if (const auto n = number_of(member)) to.figures.emplace_back(std::move(name), *n);
  });
}

/// Adds the maximum over the tenants of the figures of waiting and completion.
void add_worst_tenant(run_summary& to) {
  constexpr std::array<std::string_view, 7> parts = {
      "queue_s/mean", "queue_s/p90", "queue_s/p99", "wait_s/mean", "jct_s/mean", "jct_s/p99", "max_wait_s"};
  for (const std::string_view part : parts) {
    std::optional<double> most;
    for (const auto& [name, value] : to.figures) {
      if (tenant_part(name).empty() || without_tenant(name) != part) continue;
      most = std::max(most.value_or(value), value);
    }
    if (most) to.figures.emplace_back("worst_tenant/" + std::string{part}, *most);
  }
}

std::string sign_of(double n) {
  return n < 0 ? "" : "+";
}

std::int64_t milli(double n) {
  return std::llround(n * 1000);
}
std::int64_t millionths(double n) {
  return std::llround(n * 1'000'000);
}

}  // namespace

std::optional<double> run_summary::find(std::string_view name) const {
  const auto at = std::lower_bound(
      by_name.begin(), by_name.end(), name,
      [&](std::uint32_t i, std::string_view key) { return std::string_view{figures[i].first} < key; });
  if (at == by_name.end() || figures[*at].first != name) return std::nullopt;
  return figures[*at].second;
}

void run_summary::sort_names() {
  by_name.resize(figures.size());
  std::iota(by_name.begin(), by_name.end(), 0U);
  std::sort(by_name.begin(), by_name.end(),
            [&](std::uint32_t a, std::uint32_t b) { return figures[a].first < figures[b].first; });
}

std::optional<run_summary> parse_summary(std::string label, const std::string& path, std::string_view text,
                                         errors& found) {
  const auto document = json_document::parse(shown_path(path), text, found);
  if (!document) return std::nullopt;
  const json_value top = document->root();
  const auto text_of = [&](std::string_view key) {
    const auto value = top.is_object() ? top.find(key) : std::nullopt;
    return value ? std::string{value->text()} : std::string{};
  };
  if (text_of("format") != "allot-summary/1") {
    found.add(shown_path(path), "/format",
              "expected \"allot-summary/1\": this is not the summary of a replay");
    return std::nullopt;
  }
  run_summary run;
  run.label = std::move(label);
  run.policy = text_of(top.find("policy_name") ? "policy_name" : "policy");
  run.version = text_of("version");
  run.input.hash = text_of("input_hash");
  run.input.jobs_hash = text_of("jobs_hash");
  run.decision_hash = text_of("decision_hash");
  if (const auto stopped = top.find("stopped"); stopped && stopped->is_object()) {
    if (const auto reason = stopped->find("reason")) run.stopped = reason->text();
  }
  if (const auto measured = top.find("measured"); measured && measured->is_object()) {
    const auto option = [&](std::string_view key) {
      const auto value = measured->find(key);
      return value ? std::string{value->text()} : std::string{};
    };
    errors ignored;
    run.measured = window_text(read_measuring(
        {.window = option("window"), .warm_up = option("warm_up"), .no_drain = option("no_drain") == "true"},
        ignored));
  }
  const std::string seed = text_of("seed");
  std::from_chars(seed.data(), seed.data() + seed.size(), run.seed);
  flatten(top, {}, run);
  erase_if(run.figures, [](const auto& f) { return f.first == "seed"; });
  add_worst_tenant(run);
  run.sort_names();
  return run;
}

shared_input shared_by(const run_input& a, const run_input& b) {
  if (a.hash == b.hash) return shared_input::all;
  const bool has_jobs = !a.jobs_hash.empty() && a.jobs_hash == b.jobs_hash;
  return has_jobs ? shared_input::jobs : shared_input::none;
}

std::string remark_on(shared_input shared, std::string_view first) {
  const std::string name{first};
  switch (shared) {
    case shared_input::all:
      return {};
    case shared_input::jobs:
      return "ran the jobs of " + name + " on other nodes or under other quotas.";
    case shared_input::none:
      break;
  }
  return "ran other jobs than " + name + ": their differences are not those of policies.";
}

std::string measured_part(std::string_view measured) {
  return std::string{measured.empty() ? "the whole run" : measured};
}

std::string remark_on_window(std::string_view part, std::string_view part_of_first, std::string_view first) {
  if (part == part_of_first) return {};
  std::string text = "measures another part of its run (";
  text.append(part).append(") than ").append(first).append(" (").append(part_of_first);
  return text + "): their figures are of other times and jobs.";
}

std::optional<run_summary> read_summary(std::string label, const std::string& path, errors& found) {
  packed_input file{path};
  const auto text = file.read_all();
  if (!text) {
    found.add(shown_path(path), {},
              file.problem() + " (expected the directory of a replay or of a sweep, or a summary.json)");
    return std::nullopt;
  }
  auto run = parse_summary(std::move(label), path, *text, found);
  if (run) run->directory = std::filesystem::path{path}.parent_path().string();
  return run;
}

std::string tenant_of(std::string_view name) {
  std::string tenant;
  const std::string_view part = tenant_part(name);
  for (std::size_t i = 0; i < part.size(); ++i) {
    const bool stands_for_other = part[i] == '~' && i + 1 < part.size();
    tenant += !stands_for_other ? part[i] : part[++i] == '0' ? '~' : '/';
  }
  return tenant;
}

figure_kind kind_of(std::string_view name) {
  name = without_tenant(name);
  const auto ends_in = [](std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
  };
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("gpu_h")) return figure_kind::gpu_hours;
  if (has("finish_time_fairness/")) {
    return ends_in(name, "/jobs") ? figure_kind::count
           : has("/above_")       ? figure_kind::rate
                                  : figure_kind::index;
  }
  if (has("rate") || has("fragmentation") || has("utilisation")) return figure_kind::rate;
  if (has("jain") || has("satisfaction") || has("slowdown") || has("rho") || has("ftf") || has("ratio")) {
    return figure_kind::index;
  }
  if (ends_in(name, "_s") || has("_s/")) return figure_kind::time;
  if (has("jobs/") || name == "common/jobs" || has("preemptions") || ends_in(name, "decisions") ||
      ends_in(name, "events") || ends_in(name, "livelocks") || ends_in(name, "failures") ||
      ends_in(name, "given_up")) {
    return figure_kind::count;
  }
  return figure_kind::plain;
}

vector<shown_figure> figures_shown_first() {
  return {{"jobs/completed", "completed", figure_kind::count, preferred::more},
          {"jobs/unfinished", "unfinished", figure_kind::count, preferred::less},
          {"jobs/refused", "refused", figure_kind::count, preferred::less},
          {"allocation_rate", "utilisation", figure_kind::rate, preferred::more},
          {"useful_utilisation", "useful utilisation", figure_kind::rate, preferred::more},
          {"queue_s/mean", "wait, mean", figure_kind::time, preferred::less},
          {"queue_s/p50", "wait, median", figure_kind::time, preferred::less},
          {"queue_s/p99", "wait, p99", figure_kind::time, preferred::less},
          {"max_wait_s", "longest wait", figure_kind::time, preferred::less},
          {"wait_s/mean", "wait in all, mean", figure_kind::time, preferred::less},
          {"wait_s/p99", "wait in all, p99", figure_kind::time, preferred::less},
          {"worst_tenant/queue_s/mean", "wait of the worst tenant, mean", figure_kind::time, preferred::less},
          {"isolated/sharing_anomaly_s", "sharing anomaly", figure_kind::time, preferred::less},
          {"jct_s/mean", "completion, mean", figure_kind::time, preferred::less},
          {"jct_s/p50", "completion, median", figure_kind::time, preferred::less},
          {"jct_s/p99", "completion, p99", figure_kind::time, preferred::less},
          {"common/jobs", "jobs completed on all sides", figure_kind::count},
          {"common/queue_s/mean", "  their wait, mean", figure_kind::time, preferred::less},
          {"common/queue_s/p99", "  their wait, p99", figure_kind::time, preferred::less},
          {"common/jct_s/mean", "  their completion, mean", figure_kind::time, preferred::less},
          {"common/jct_s/p99", "  their completion, p99", figure_kind::time, preferred::less},
          {"end_s", "last end", figure_kind::time, preferred::less},
          {"preemptions", "preemptions", figure_kind::count, preferred::less},
          {"lost_gpu_h", "lost GPU-h", figure_kind::gpu_hours, preferred::less},
          {"borrowed_gpu_h", "borrowed GPU-h", figure_kind::gpu_hours},
          {"jain", "Jain", figure_kind::index, preferred::more},
          {"finish_time_fairness/mean", "finish-time fairness, mean", figure_kind::index, preferred::less},
          {"finish_time_fairness/max", "finish-time fairness, worst", figure_kind::index, preferred::less},
          {"finish_time_fairness/above_1.05", "jobs above 1.05", figure_kind::rate, preferred::less},
          {"fair_share_error_gpu_h", "short of fair share, GPU-h", figure_kind::gpu_hours, preferred::less},
          {"fragmentation", "fragmentation", figure_kind::rate, preferred::less}};
}

std::string figure_of_tenant(std::string_view tenant, std::string_view figure) {
  return std::string{of_tenants} + path_part(tenant) + '/' + std::string{figure};
}

vector<shown_figure> figures_of_tenant(std::string_view tenant) {
  const auto of = [&](std::string_view figure) { return figure_of_tenant(tenant, figure); };
  return {{of("queue_s/mean"), "  wait, mean", figure_kind::time, preferred::less},
          {of("queue_s/p99"), "  wait, p99", figure_kind::time, preferred::less},
          {of("wait_s/mean"), "  wait in all, mean", figure_kind::time, preferred::less},
          {of("jct_s/mean"), "  completion, mean", figure_kind::time, preferred::less},
          {of("allocated_gpu_h"), "  GPU-h", figure_kind::gpu_hours},
          {of("borrowed_gpu_h"), "  borrowed GPU-h", figure_kind::gpu_hours},
          {of("lent_gpu_h"), "  lent GPU-h", figure_kind::gpu_hours},
          {of("preemptions"), "  preemptions", figure_kind::count, preferred::less}};
}

std::string shown(double value, figure_kind kind) {
  switch (kind) {
    case figure_kind::count:
      // A mean of counts is not a count.
      return rounded(milli(value), value == std::round(value) ? 0 : 1);
    case figure_kind::time:
      return value < 0 ? "-" + human_time(milli(-value)) : human_time(milli(value));
    case figure_kind::gpu_hours:
      return rounded(milli(value), 1);
    case figure_kind::rate:
      // As the summary has it, in millionths: rounded once.
      return rounded(millionths(value) / 10, 2) + " %";
    case figure_kind::index:
      return rounded(milli(value), 3);
    case figure_kind::plain:
      return rounded(milli(value), value == std::round(value) ? 0 : 3);
  }
  return {};
}

std::string shown_difference(double difference, figure_kind kind) {
  if (difference == 0) return "=";
  if (kind == figure_kind::rate) return sign_of(difference) + rounded(millionths(difference) / 10, 2) + " pt";
  return sign_of(difference) + shown(difference, kind);
}

std::string relative_difference(double difference, double first, figure_kind kind) {
  if (difference == 0) return "=";
  if (kind == figure_kind::rate || kind == figure_kind::index) return shown_difference(difference, kind);
  if (first == 0) return "";
  if (first < 0 || first + difference < 0) return shown_difference(difference, kind);
  const double percent = difference / first * 100;
  if (percent > 999) return "x" + rounded(milli((first + difference) / first), 1);
  return sign_of(percent) + rounded(milli(percent), 1) + " %";
}

std::string plain_number(double value) {
  std::string text = fmt::format("{:.6f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

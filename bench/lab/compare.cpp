// SPDX-License-Identifier: BSL-1.0
#include "lab/compare.hpp"

#include "lab/errors.hpp"
#include "lab/files.hpp"
#include "lab/json_reader.hpp"
#include "lab/report.hpp"
#include "lab/text_table.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

using report::grouped;
using report::human_time;
using report::rounded;

/// The summary of one run. Its figures are floating-point here: they are only shown.
class run_summary {
 public:
  run_summary(std::string label, json_document document)
      : label_(std::move(label)), document_(std::move(document)) {}

  [[nodiscard]] const std::string& label() const noexcept { return label_; }

  [[nodiscard]] std::optional<json_value> find(std::initializer_list<std::string_view> path) const {
    std::optional<json_value> at = document_.root();
    for (const std::string_view key : path) {
      if (!at || !at->is_object()) return std::nullopt;
      at = at->find(key);
    }
    return at;
  }
  [[nodiscard]] std::string text(std::initializer_list<std::string_view> path) const {
    const auto value = find(path);
    return value ? std::string{value->text()} : std::string{};
  }
  [[nodiscard]] std::optional<double> number(std::initializer_list<std::string_view> path) const {
    const auto value = find(path);
    if (!value || !value->is_number()) return std::nullopt;
    double n = 0;
    const std::string_view text = value->text();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional{n} : std::nullopt;
  }

 private:
  std::string label_;
  json_document document_;
};

std::optional<run_summary> read_run(std::string label, errors& found) {
  while (label.size() > 1 && label.back() == '/') label.pop_back();
  std::error_code error;
  const bool is_directory = std::filesystem::is_directory(label, error);
  const std::string path = is_directory ? label + "/summary.json" : label;
  input_file file{path};
  const auto text = file.read_all();
  if (!text) {
    found.add(shown_path(path), {},
              file.problem() + " (expected the directory of a replay, or its summary.json)");
    return std::nullopt;
  }
  auto document = json_document::parse(shown_path(path), *text, found);
  if (!document) return std::nullopt;
  run_summary run{std::move(label), std::move(*document)};
  const auto format = run.find({"format"});
  if (!format || format->text() != "allot-summary/1") {
    found.add(shown_path(path), "/format",
              "expected \"allot-summary/1\": this is not the summary of a replay");
    return std::nullopt;
  }
  return run;
}

enum class kind {
  count,
  /// Seconds.
  time,
  gpu_hours,
  /// A part of one, shown in percent.
  rate,
  /// A part of one, shown as it is.
  index,
};

std::string shown(double value, kind is) {
  const auto milli = [](double n) { return static_cast<std::int64_t>(std::llround(n * 1000)); };
  switch (is) {
    case kind::count:
      return grouped(static_cast<std::uint64_t>(std::llround(value)));
    case kind::time:
      return human_time(milli(value));
    case kind::gpu_hours:
      return rounded(milli(value), 1);
    case kind::rate:
      return rounded(milli(value * 100), 2) + " %";
    case kind::index:
      return rounded(milli(value), 3);
  }
  return {};
}

/// How the value differs from that of the first run: in percent of it, in points of a rate.
std::string difference(double value, double first, kind is) {
  const auto with_sign = [](double n, unsigned places) {
    const auto milli = static_cast<std::int64_t>(std::llround(n * 1000));
    return (milli < 0 ? "" : "+") + rounded(milli, places);
  };
  if (value == first) return "=";
  if (is == kind::rate) return with_sign((value - first) * 100, 2) + " pt";
  if (is == kind::index) return with_sign(value - first, 3);
  if (first == 0) return "";
  const double percent = (value - first) / first * 100;
  return percent > 999 ? "x" + rounded(std::llround(value / first * 1000), 1) : with_sign(percent, 1) + " %";
}

class comparison {
 public:
  explicit comparison(const std::vector<run_summary>& runs) : runs_(runs), table_(head_of(runs)) {}

  void figure(const std::string& name, kind is, std::initializer_list<std::string_view> path) {
    std::vector<std::string> row{name};
    std::optional<double> first;
    bool any = false;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const auto value = runs_[i].number(path);
      any = any || value;
      row.push_back(value ? shown(*value, is) : "-");
      if (i == 0) {
        first = value;
      } else {
        row.push_back(value && first ? difference(*value, *first, is) : "");
      }
    }
    if (any) table_.add(std::move(row));
  }
  void words(const std::string& name, std::initializer_list<std::string_view> path) {
    std::vector<std::string> row{name};
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      row.push_back(runs_[i].text(path));
      if (i != 0) row.emplace_back();
    }
    table_.add(std::move(row));
  }
  void gap(const std::string& title = {}) {
    std::vector<std::string> row(2 * runs_.size());
    row.front() = title;
    table_.add(std::move(row));
  }
  [[nodiscard]] std::string text() const { return table_.text(); }

 private:
  static std::vector<std::string> head_of(const std::vector<run_summary>& runs) {
    std::vector<std::string> head{""};
    for (const run_summary& r : runs) {
      head.push_back(r.label());
      if (head.size() > 2) head.emplace_back();
    }
    return head;
  }

  const std::vector<run_summary>& runs_;
  text_table table_;
};

std::vector<std::string> tenants_of(const std::vector<run_summary>& runs) {
  std::vector<std::string> names;
  for (const run_summary& r : runs) {
    const auto tenants = r.find({"tenants"});
    if (!tenants || !tenants->is_object()) continue;
    tenants->for_each([&](json_value tenant) {
      for (const std::string& known : names) {
        if (known == tenant.key()) return;
      }
      names.emplace_back(tenant.key());
    });
  }
  return names;
}

std::string compared(const std::vector<run_summary>& runs) {
  comparison c{runs};
  c.words("policy", {"policy"});
  c.figure("completed", kind::count, {"jobs", "completed"});
  c.figure("unfinished", kind::count, {"jobs", "unfinished"});
  c.figure("refused", kind::count, {"jobs", "refused"});
  c.figure("utilisation", kind::rate, {"allocation_rate"});
  c.figure("wait, mean", kind::time, {"queue_s", "mean"});
  c.figure("wait, median", kind::time, {"queue_s", "p50"});
  c.figure("wait, p99", kind::time, {"queue_s", "p99"});
  c.figure("longest wait", kind::time, {"max_wait_s"});
  c.figure("completion, mean", kind::time, {"jct_s", "mean"});
  c.figure("completion, median", kind::time, {"jct_s", "p50"});
  c.figure("completion, p99", kind::time, {"jct_s", "p99"});
  c.figure("last end", kind::time, {"end_s"});
  c.figure("preemptions", kind::count, {"preemptions"});
  c.figure("lost GPU-h", kind::gpu_hours, {"lost_gpu_h"});
  c.figure("borrowed GPU-h", kind::gpu_hours, {"borrowed_gpu_h"});
  c.figure("Jain", kind::index, {"jain"});
  c.figure("short of fair share, GPU-h", kind::gpu_hours, {"fair_share_error_gpu_h"});
  c.figure("fragmentation", kind::rate, {"fragmentation"});
  for (const std::string& name : tenants_of(runs)) {
    c.gap();
    c.gap(name);
    c.figure("  wait, mean", kind::time, {"tenants", name, "queue_s", "mean"});
    c.figure("  wait, p99", kind::time, {"tenants", name, "queue_s", "p99"});
    c.figure("  completion, mean", kind::time, {"tenants", name, "jct_s", "mean"});
    c.figure("  GPU-h", kind::gpu_hours, {"tenants", name, "allocated_gpu_h"});
    c.figure("  borrowed GPU-h", kind::gpu_hours, {"tenants", name, "borrowed_gpu_h"});
    c.figure("  lent GPU-h", kind::gpu_hours, {"tenants", name, "lent_gpu_h"});
    c.figure("  preemptions", kind::count, {"tenants", name, "preemptions"});
  }
  return c.text();
}

}  // namespace

int compare(const std::vector<std::string>& names) {
  errors found;
  std::vector<run_summary> runs;
  for (const std::string& name : names) {
    if (auto run = read_run(name, found)) runs.push_back(std::move(*run));
  }
  if (!found.empty()) {
    std::fputs(found.to_string().c_str(), stderr);
    return bad_input_status;
  }
  std::fputs(compared(runs).c_str(), stdout);
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].text({"input_hash"}) == runs.front().text({"input_hash"})) continue;
    std::printf("\n%s is of another input than %s.\n", runs[i].label().c_str(), runs.front().label().c_str());
  }
  return 0;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#include "governor/src/snapshot_text.hpp"

#include "governor/src/log.hpp"
#include "governor/src/resource_words.hpp"

#include <allot/core/text.hpp>
#include <allot/lab/printable.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace allot_governor {

namespace {

constexpr std::string_view start_begins = "; it starts at ";
constexpr std::string_view start_ends = " at the latest";

}  // namespace

std::vector<tree_line> tree_order(const snapshot& s) {
  const std::size_t count = s.quotas.size();
  std::vector<std::vector<std::size_t>> below(count);
  std::vector<tree_line> open;
  for (std::size_t x = count; x-- > 0;) {
    const auto parent = s.quotas[x].parent;
    if (parent && *parent < count) {
      below[*parent].push_back(x);
    } else {
      open.push_back({x, 0});
    }
  }
  std::vector<tree_line> lines;
  while (!open.empty()) {
    const tree_line next = open.back();
    open.pop_back();
    lines.push_back(next);
    for (const std::size_t x : below[next.quota]) open.push_back({x, next.depth + 1});
  }
  return lines;
}

std::vector<bool> inner_quotas(const snapshot& s) {
  std::vector<bool> inner(s.quotas.size());
  for (const auto& q : s.quotas) {
    if (q.parent && *q.parent < inner.size()) inner[*q.parent] = true;
  }
  return inner;
}

allot::quantity amount_of(const amounts_row& row, std::size_t resource) {
  return resource < row.size() ? row[resource] : allot::quantity{};
}

std::string amount_text(const snapshot& s, allot::quantity q, std::size_t resource) {
  std::string text = to_string(q);
  if (resource < s.resources.size()) text.append(" ").append(shown_resource(s.resources[resource]));
  return text;
}

std::string amounts_text(const snapshot& s, const amounts_row& row) {
  std::string text;
  for (std::size_t d = 0; d < row.size(); ++d) {
    if (row[d] == allot::quantity{}) continue;
    if (!text.empty()) text += ", ";
    text += amount_text(s, row[d], d);
  }
  return text.empty() ? "nothing" : text;
}
std::string request_text(const snapshot& s, const snapshot::job& j) {
  std::string text = j.request.empty() ? "unknown" : amounts_text(s, j.request);
  for (const auto& c : j.components) {
    text.append(&c == &j.components.front() ? " on " : " + ").append(std::to_string(c.nodes));
  }
  return j.components.empty() ? text : text + " nodes";
}

std::string quota_name(const snapshot& s, std::optional<std::size_t> quota) {
  return quota && *quota < s.quotas.size() ? s.quotas[*quota].name : "-";
}

std::string decimal_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  const double most = 1e15;
  return to_string(allot::quantity::milli(std::llround(std::clamp(number, -most, most) * 1000)));
}

std::string span_text(milliseconds span) {
  const std::int64_t s = std::max<std::int64_t>(span, 0) / 1000;
  const auto tenths = [s](std::int64_t unit) {
    const std::int64_t n = (10 * s + unit / 2) / unit;
    return std::to_string(n / 10) + '.' + std::to_string(n % 10);
  };
  if (s < 120) return std::to_string(s) + " s";
  if (s < 7200) return std::to_string(s / 60) + " min";
  if (s < 172'800) return tenths(3600) + " h";
  return tenths(86'400) + " d";
}

std::string start_clause(milliseconds at) {
  return std::string{start_begins} + time_text(at) + std::string{start_ends};
}

std::string reason_text(const snapshot& s, const snapshot::job& j) {
  const std::size_t start = j.reason.rfind(start_begins);
  if (j.latest_start && start != std::string::npos && j.reason.ends_with(start_ends))
    return j.reason.substr(0, start);
  if (j.phase != job_phase::released || j.host_reason.empty()) return j.reason;
  return std::string{s.words.host} + " does not start it: " + j.host_reason;
}

std::vector<const snapshot::job*> jobs_in(const snapshot& s, job_phase phase) {
  std::vector<const snapshot::job*> jobs;
  for (const auto& j : s.jobs) {
    if (j.phase == phase) jobs.push_back(&j);
  }
  return jobs;
}

std::size_t count_in(const snapshot& s, job_phase phase) {
  return s.phases[static_cast<std::size_t>(phase)];
}

std::string utf8_text(std::string_view text) {
  constexpr std::size_t most = 4000;
  std::string kept = allot::lab::is_utf8(text) ? std::string{text} : allot::lab::printable(text);
  return kept.size() <= most ? kept : allot::lab::shortened(kept, most);
}

std::string shown_text(std::string_view text, std::size_t most) {
  // Shortened first: an escape must not be cut in two.
  return allot::lab::printable(allot::lab::shortened(text, most));
}

}  // namespace allot_governor

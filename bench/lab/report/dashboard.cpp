// SPDX-License-Identifier: BSL-1.0
#include "lab/report/dashboard.hpp"

#include "lab/io/time_text.hpp"
#include "lab/report/report.hpp"
#include "lab/report/result_files.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/text_table.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// For all further quotas.
constexpr char other_letter = '#';
/// More nodes than a screen can show well.
constexpr std::size_t most_nodes = 128;
constexpr std::size_t screen = 100;

char letter_of(quota_id x) {
  return x.index() < letters.size() ? letters[x.index()] : other_letter;
}

std::string gpus(std::int64_t milli) {
  return decimal(milli);
}

void append_nodes(std::string& text, const cluster_state& state) {
  if (state.nodes.empty()) return;
  text +=
      "\nNodes (a GPU each: the letter of the quota that uses it, . free, % of several quotas, x closed)\n";
  const std::size_t shown = std::min(state.nodes.size(), most_nodes);
  std::size_t name_width = 0;
  std::size_t most_devices = 0;
  for (std::size_t n = 0; n < shown; ++n) {
    name_width = std::max(name_width, state.nodes[n].name.size());
    most_devices = std::max(most_devices, state.nodes[n].devices.size());
  }
  const std::size_t cell = name_width + 1 + most_devices + 3;
  const std::size_t columns = std::max<std::size_t>(1, (screen - 2) / cell);
  const std::size_t lines = (shown + columns - 1) / columns;
  for (std::size_t line = 0; line < lines; ++line) {
    std::string row = "  ";
    for (std::size_t n = line; n < shown; n += lines) {
      const cluster_state::node& node = state.nodes[n];
      std::string devices;
      for (const cluster_state::device& d : node.devices) {
        const char idle = node.is_closed ? 'x' : '.';
        devices += d.is_shared ? '%' : d.quota ? letter_of(d.quota) : idle;
      }
      row += fmt::format("{:<{}} {:<{}}", node.name, name_width, devices, most_devices + 3);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text.append(row).append("\n");
  }
  if (shown < state.nodes.size()) {
    text += fmt::format("  ... and {} more nodes\n", grouped(state.nodes.size() - shown));
  }
}

std::string share_of(const ratio& share) {
  return share.is_infinite() ? "inf" : fmt::format("{:.3f}", share.approximate());
}

void append_quotas(std::string& text, const cluster_state& state) {
  text_table table{
      {"Quotas", "nominal", "used", "entitled", "borrowed", "lent", "share", "running", "waiting"}};
  for (std::size_t i = 0; i < state.quotas.size(); ++i) {
    const cluster_state::quota& q = state.quotas[i];
    if (!q.exists) continue;
    table.add({fmt::format("{} {}", letter_of(quota_id{i}), q.name), q.nominal ? gpus(*q.nominal) : "-",
               gpus(q.now.used), gpus(q.now.entitled), gpus(q.now.borrowed), gpus(q.now.lent),
               share_of(q.share), grouped(q.running), grouped(q.now.pending)});
  }
  text.append("\n").append(table.text());
}

std::string nodes_of(const cluster_state::job& j) {
  constexpr std::size_t most_named = 4;
  std::string names;
  for (std::size_t n = 0; n < std::min(j.nodes.size(), most_named); ++n) {
    if (n != 0) names += ' ';
    names += j.nodes[n];
  }
  if (j.nodes.size() > most_named) names += fmt::format(" and {} more", j.nodes.size() - most_named);
  if (!j.pods.empty()) names += (names.empty() ? "" : "; ") + j.pods;
  return names;
}

/// A table whose last column is text.
void append_jobs(std::string& text, const cluster_state& state, const vector<cluster_state::job>& jobs,
                 const char* time_title, const char* last_title, std::size_t rows,
                 std::string (*last)(const cluster_state::job&)) {
  if (jobs.empty()) return;
  vector<vector<std::string>> cells = {{"job", "quota", "GPUs", time_title, last_title}};
  for (std::size_t i = 0; i < std::min(rows, jobs.size()); ++i) {
    const cluster_state::job& j = jobs[i];
    cells.push_back({std::string{j.id}, std::string{state.quotas[j.quota.index()].name}, gpus(j.gpus),
                     human_time(state.at - j.since), last(j)});
  }
  vector<std::size_t> widths(4);
  for (const auto& row : cells) {
    for (std::size_t c = 0; c < widths.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  for (const auto& row : cells) {
    std::string line = fmt::format("  {:<{}}  {:<{}}  {:>{}}  {:>{}}  {}", row[0], widths[0], row[1],
                                   widths[1], row[2], widths[2], row[3], widths[3], row[4]);
    line.erase(line.find_last_not_of(' ') + 1);
    text.append(line).append("\n");
  }
  if (jobs.size() > rows) text += fmt::format("  ... and {} more\n", grouped(jobs.size() - rows));
}

}  // namespace

std::string dashboard(const cluster_state& state, std::size_t rows) {
  std::string text = fmt::format("{} at {} ({} s)", state.policy, clock_time(state.at), decimal(state.at));
  text += fmt::format(": {} GPUs in use", gpus(state.used));
  if (state.capacity) {
    text += fmt::format(" of {}", gpus(*state.capacity));
    if (*state.capacity > 0) {
      text += fmt::format(" ({})", percent(state.used * 1'000'000 / *state.capacity));
    }
  }
  text += fmt::format(", {} running, {} waiting, {} over, {} to come\n", grouped(state.running.size()),
                      grouped(state.waiting.size()), grouped(state.over), grouped(state.to_come));
  append_nodes(text, state);
  append_quotas(text, state);
  text += fmt::format("\nRunning: {}\n", grouped(state.running.size()));
  append_jobs(text, state, state.running, "for", "on", rows, nodes_of);
  text += fmt::format("\nWaiting: {}\n", grouped(state.waiting.size()));
  append_jobs(text, state, state.waiting, "for", "because", rows, [](const cluster_state::job& j) {
    const std::string why = j.reason.empty() ? std::string{} : fmt::format("{}: {}", j.reason, j.text);
    return j.pods.empty() ? why : why + (why.empty() ? "" : "; ") + "it asks for " + j.pods;
  });
  return text;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

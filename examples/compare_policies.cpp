// SPDX-License-Identifier: BSL-1.0
//
// One tree, one backlog, and the decisions of each preset, side by side. Of 16 GPUs vision owns 8, speech 4
// and chat 4. While vision is idle, the others queue up; then vision submits its jobs.
#include <allot/allot.hpp>
#include <allot/core/text.hpp>
#include <allot/systems/by_name/any_preset.hpp>

#include <fmt/core.h>

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

struct job {
  const char* name;
  const char* team;
  int gpus;
  int priority;
  int minutes;
};
constexpr std::array<job, 8> backlog{{{"s1", "speech", 4, 0, 50},
                                      {"s2", "speech", 6, 0, 40},
                                      {"s3", "speech", 2, 5, 30},
                                      {"s4", "speech", 2, 0, 20},
                                      {"c1", "chat", 4, 0, 60},
                                      {"c2", "chat", 2, 5, 10},
                                      {"c3", "chat", 2, 0, 10},
                                      {"c4", "chat", 4, 0, 30}}};
constexpr std::array<job, 2> claim{{{"v1", "vision", 6, 0, 60}, {"v2", "vision", 2, 0, 60}}};

using allot::fair_weight;
using tree_type = allot::quota_tree<1>;

struct jobs_view {
  using job = const ::job*;
  const tree_type* names;

  allot::quota_id quota(job j) const { return names->find(j->team); }
  allot::resources<> request(job j) const { return allot::gpus(j->gpus); }
  int priority(job j) const { return j->priority; }
  allot::instant duration(job j) const { return j->minutes; }
  allot::instant estimate(job j) const { return j->minutes; }
};

std::vector<allot::quota_spec<>> quotas() {
  return {{.name = "cluster", .nominal = allot::gpus(16), .inclusive = true},
          {.name = "vision", .parent = "cluster", .nominal = allot::gpus(8), .weight = fair_weight::whole(2)},
          {.name = "speech", .parent = "cluster", .nominal = allot::gpus(4)},
          {.name = "chat", .parent = "cluster", .nominal = allot::gpus(4)}};
}

/// The outcome of each job, by name, and the usage of the teams: the column of a preset.
using column = std::map<std::string, std::string>;

column decide(const allot::any_preset& preset) {
  const tree_type names = allot::build_quota_tree(quotas()).value();
  //! [by name]
  auto s = allot::make_scheduler(preset, jobs_view{&names}, quotas()).value();
  //! [by name]

  column result;
  int started = 0;
  const auto submit = [&](const auto& jobs) {
    for (const job& j : jobs) result[j.name] = s.submit(&j) ? "waits" : "is refused";
    allot::settle(s, 0, [&](const auto& plan) {
      for (const auto& a : plan.admissions) {
        std::string& cell = result[a.what->name];
        const std::string before = cell == "waits" ? "" : cell;
        cell = fmt::format("{}{}{}.", before, before.empty() ? "" : ", ", ++started);
      }
      for (const auto& e : plan.evictions) {
        result[e.what->name] += " out";
        s.evicted(e.id);
      }
    });
  };
  submit(backlog);
  submit(claim);
  std::map<std::string, int> used;
  for (const auto& jobs : {std::vector<job>(backlog.begin(), backlog.end()), {claim.begin(), claim.end()}}) {
    for (const job& j : jobs) {
      const std::string& now = result[j.name];
      if (now.back() == '.') used[j.team] += j.gpus;
    }
  }
  for (const char* team : {"vision", "speech", "chat"}) result[team] = std::to_string(used[team]);
  return result;
}

}  // namespace

int main() {
  std::vector<std::pair<std::string, column>> columns;
  allot::for_each_preset(
      [&](auto p) { columns.emplace_back(p.name, decide(*allot::any_preset::find(p.name))); });
  const auto row = [&](const std::string& title, const std::string& key) {
    fmt::print("{:<28}", title);
    for (const auto& [name, cells] : columns) fmt::print("{:>15}", key.empty() ? name : cells.at(key));
    fmt::print("\n");
  };
  const auto rows = [&](const auto& jobs) {
    for (const job& j : jobs) {
      row(fmt::format("{} {:<7}{:>2} GPUs{}", j.name, j.team, j.gpus,
                      j.priority > 0 ? fmt::format(", priority {}", j.priority) : ""),
          j.name);
    }
  };
  row("The order of the starts", "");
  rows(backlog);
  fmt::print("Then vision wants its own.\n");
  rows(claim);
  fmt::print("In the end the teams use (of 8, 4 and 4 that they own)\n");
  for (const char* team : {"vision", "speech", "chat"}) row(team, team);
}

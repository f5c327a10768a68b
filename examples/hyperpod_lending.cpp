// SPDX-License-Identifier: BSL-1.0
//
// Task governance as in Amazon SageMaker HyperPod. Of a cluster of 16 GPUs, 6 are allocated to team-a and 5
// to team-b; the other 5 are a pool for any team that may borrow. First the lending modes, one task at a
// time; then the same backlog under the four policies of the cluster.
#include <allot/allot.hpp>
#include <allot/systems/by_name/any_preset.hpp>

#include <fmt/core.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace {

using allot::gpus;
using allot::hyperpod;
using allot::hyperpod_idle;
using allot::hyperpod_sharing;
using allot::hyperpod_tasks;

struct task {
  std::string name;
  allot::quota_id team;
  int gpus;
  int priority;
};
struct tasks_view {
  using job = const task*;
  allot::quota_id quota(job t) const { return t->team; }
  allot::resources<> request(job t) const { return gpus(t->gpus); }
  int priority(job t) const { return t->priority; }
};

struct team {
  std::string name;
  int allocated;
  hyperpod_sharing sharing = hyperpod_sharing::lend_and_borrow;
  int borrow_percent = 50;
  int weight = 1;
};

/// A cluster of `all` GPUs, some of which are allocated to `teams`.
class cluster {
 public:
  cluster(int all, const std::vector<team>& teams, const hyperpod& policy = {})
      : scheduler_(allot::make_scheduler(policy, tasks_view{}, quotas_of(all, teams)).value()) {}

  /// What happens when a task is submitted.
  std::string run(const std::string& of_team, int size, int priority = 0) {
    const allot::job_id id = submit("task", of_team, size, priority);
    std::string told;
    allot::settle(scheduler_, 0, [&](const auto& plan) {
      for (const auto& a : plan.admissions) {
        if (a.id != id) continue;
        const bool owns_all = a.borrows[0] == allot::quantity{};
        told += owns_all ? "starts" : "starts, " + to_string(a.borrows[0]) + " of them borrowed";
      }
      for (const auto& e : plan.evictions) {
        told += fmt::format("preempts a task of {} and ", e.what->gpus);
        scheduler_.evicted(e.id);
      }
    });
    if (scheduler_.state(id) == allot::job_state::running) return told;
    const allot::shortfall lacks = *scheduler_.why(id).binding;
    const bool may_not = lacks.kind == allot::bound::borrow_limit;
    return "waits for " + to_string(lacks.missing) +
           (may_not ? " that it may not borrow" : " that are not idle");
  }
  allot::job_id submit(const std::string& name, const std::string& of_team, int size, int priority) {
    tasks_.push_back({name, scheduler_.tree().find(of_team), size, priority});
    return scheduler_.submit(&tasks_.back());
  }
  /// The tasks that start, in order.
  std::string start_all() {
    std::string line;
    for (const auto& a : scheduler_.step(0).admissions) line += " " + a.what->name;
    return line;
  }

 private:
  static std::vector<allot::quota_spec<>> quotas_of(int all, const std::vector<team>& teams) {
    std::vector<allot::quota_spec<>> specs{{.name = "cluster", .nominal = gpus(all)}};
    for (const team& t : teams) {
      specs.push_back({.name = t.name,
                       .parent = "cluster",
                       .nominal = gpus(t.allocated),
                       .weight = allot::fair_weight::whole(t.weight)});
      hyperpod::share(specs.back(), t.sharing, t.borrow_percent);
    }
    return specs;
  }
  allot::scheduler_for<hyperpod, tasks_view> scheduler_;
  std::deque<task> tasks_;
};

}  // namespace

int main() {
  const auto lend = hyperpod_sharing::lend, both = hyperpod_sharing::lend_and_borrow;
  fmt::print("team-a uses 2 of its 6 GPUs, team-b all of its 5. team-b asks for 4 more.\n");
  const auto ask = [](const char* mode, int all, const team& a, const team& b) {
    cluster c{all, {a, b}};
    c.run("team-a", 2);
    c.run("team-b", 5);
    fmt::print("  {:<48} it {}\n", mode, c.run("team-b", 4));
  };
  ask("team-a does not lend:", 11, {"team-a", 6, hyperpod_sharing::dont_lend}, {"team-b", 5, both, 100});
  ask("team-a lends, team-b does not borrow:", 11, {"team-a", 6, lend}, {"team-b", 5, lend});
  ask("team-b borrows up to 50 % of its own:", 11, {"team-a", 6, lend}, {"team-b", 5, both});
  ask("up to 100 %:", 11, {"team-a", 6, lend}, {"team-b", 5, both, 100});
  ask("team-a does not lend, but 5 GPUs are nobody's:", 16, {"team-a", 6, hyperpod_sharing::dont_lend},
      {"team-b", 5, both, 100});

  fmt::print("\nteam-b borrows 6, and team-a wants its own back.\n");
  cluster c{11, {{"team-a", 6}, {"team-b", 5, both, 200}}};
  for (const int size : {5, 4, 2}) c.run("team-b", size, 90);
  for (const int size : {2, 4}) fmt::print("  a task of {} {}\n", size, c.run("team-a", size));

  fmt::print("\n4 idle GPUs, and a backlog of two teams of which late-comer has the weight 3:\n");
  for (const auto idle : {hyperpod_idle::fcfs, hyperpod_idle::fair_share}) {
    for (const auto tasks : {hyperpod_tasks::fcfs, hyperpod_tasks::ranking}) {
      cluster p{
          6, {{"early", 1, both, 500}, {"late-comer", 1, both, 500, 3}}, {.idle = idle, .tasks = tasks}};
      p.run("early", 1);
      p.run("late-comer", 1);
      for (const int i : {1, 2, 3, 4}) p.submit(fmt::format("e{}", i), "early", 1, i == 2 ? 80 : 0);
      for (const int i : {1, 2, 3, 4}) p.submit(fmt::format("l{}", i), "late-comer", 1, i == 3 ? 80 : 0);
      fmt::print("  idle compute: {:<24}tasks: {:<23}{}\n",
                 idle == hyperpod_idle::fcfs ? "first come first serve," : "fair share,",
                 tasks == hyperpod_tasks::fcfs ? "first come first serve:" : "ranked:", p.start_all());
    }
  }
}

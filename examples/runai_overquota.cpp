// SPDX-License-Identifier: BSL-1.0
//
// The over-quota demonstration of Run:ai: four teams share 16 GPUs, of which a owns 4, b 2, c 2 and d 8. Idle
// GPUs are lent in proportion to what the teams own, and return to their owner by pausing as few jobs as
// possible, chosen fairly. The division says which team is entitled to how much; the scheduler says which
// jobs start and which pause.
#include <allot/allot.hpp>
#include <allot/core/text.hpp>
#include <allot/fairshare/division.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/presets/standard.hpp>
#include <allot/systems/kai/runai.hpp>

#include <fmt/core.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace {

using allot::quantity;
using allot::quota_id;

struct job {
  std::string name;
  quota_id team;
  quantity each;
  std::uint32_t pods;
};
struct jobs_view {
  using job = const ::job*;
  quota_id quota(job j) const { return j->team; }
  allot::resources<> request(job j) const { return j->each * j->pods; }
  int priority(job) const { return 0; }
  allot::gpu::pod_request pod_request(job j) const { return {.gpus = j->each, .pods = j->pods}; }
};

std::vector<allot::quota_spec<>> teams() {
  std::vector<allot::quota_spec<>> specs{{.name = "cluster", .nominal = allot::gpus(16), .inclusive = true}};
  for (const auto& [name, gpus] : std::map<std::string, int>{{"a", 4}, {"b", 2}, {"c", 2}, {"d", 8}}) {
    specs.push_back({.name = name,
                     .parent = "cluster",
                     .nominal = allot::gpus(gpus),
                     .weight = allot::fair_weight::whole(gpus)});
  }
  return specs;
}

allot::gpu::inventory nodes() {
  return allot::gpu::inventory{allot::gpu::build_cluster({{.name = "dgx", .count = 2, .gpus = 8}}).value()};
}

template <class Preset>
class demonstration {
 public:
  explicit demonstration(bool aloud) : aloud_(aloud) {
    act("1. While d is idle and a is content, b and c use everything, down to half a GPU.");
    submit("a", "train", 4);
    for (const char* team : {"b", "c"}) {
      submit(team, "notebooks", 2, quantity::milli(500));
      submit(team, "sweep", 1);
      submit(team, "train1", 2);
      submit(team, "train2", 2);
    }
    settle();
    act("2. d claims 4 of its 8: one job each of b and c is paused, for they borrow most.");
    submit("d", "eval", 4);
    settle();
    act("3. d is done. a has more to do, and of what is idle twice as much is due to it as to b or c.");
    finish("d-eval");
    for (int i = 1; i <= 4; ++i) submit("a", fmt::format("more{}", i), 1);
    settle();
    act("4. d claims all that it owns: everybody is back to quota.");
    submit("d", "train", 8);
    settle();
  }
  const std::string& outcome() const { return outcome_; }

 private:
  void act(const char* title) const {
    if (aloud_) fmt::print("{}\n", title);
  }
  /// A gang of `pods` pods, each of one GPU unless stated otherwise.
  void submit(const std::string& team, const std::string& what, std::uint32_t pods,
              quantity each = allot::gpus(1)) {
    jobs_.push_back({team + "-" + what, scheduler_.tree().find(team), each, pods});
    ids_[jobs_.back().name] = scheduler_.submit(&jobs_.back());
  }
  void finish(const std::string& name) {
    scheduler_.finished(ids_.at(name));
    ids_.erase(name);
  }

  void settle() {
    std::map<std::string, std::string> paused;
    allot::settle(scheduler_, ++now_, [&](const auto& plan) {
      for (const auto& e : plan.evictions) {
        paused[e.what->name] = scheduler_.what(e.beneficiary)->name;
        scheduler_.evicted(e.id);
      }
    });
    report(paused);
  }
  void report(const std::map<std::string, std::string>& paused) {
    const auto& ledger = scheduler_.ledger();
    std::vector<allot::resources<>> demand(ledger.tree().slots());
    for (const auto& [name, id] : ids_) demand[scheduler_.what(id)->team.index()] += scheduler_.request(id);
    allot::division<> owed;
    owed.update(ledger, demand);
    if (aloud_) fmt::print("  team  owns  wants  is entitled to  uses\n");
    for (const quota_id x : ledger.tree().children(ledger.tree().find("cluster"))) {
      const quantity used = ledger.own_usage(x, 0);
      outcome_ += fmt::format("{} {}; ", ledger.tree().name(x), to_string(used));
      if (!aloud_) continue;
      fmt::print("  {:<4}{:>6}{:>7}{:>16}{:>6}\n", ledger.tree().name(x),
                 to_string(ledger.tree().spec(x).nominal[0]), to_string(demand[x.index()][0]),
                 to_string(owed.own(x)[0]), to_string(used));
    }
    if (aloud_) {
      for (const auto& [name, by] : paused) fmt::print("  {} was paused for {}\n", name, by);
      fmt::print("  {} of {} GPUs are in use\n\n", to_string(scheduler_.places().used()),
                 to_string(scheduler_.places().total()));
    }
    outcome_ += "\n";
  }

  bool aloud_;
  allot::scheduler<jobs_view, allot::gpu::inventory, typename Preset::policies_type> scheduler_ =
      allot::make_scheduler(Preset{}, jobs_view{}, teams(), nodes()).value();
  std::deque<job> jobs_;
  std::map<std::string, allot::job_id> ids_;
  std::string outcome_;
  allot::instant now_ = 0;
};

}  // namespace

int main() {
  const demonstration<allot::standard> ours{true};
  const demonstration<allot::runai> theirs{false};
  fmt::print("Under the preset runai the teams use {}.\n",
             ours.outcome() == theirs.outcome() ? "as much in every act" : "\n" + theirs.outcome());
}

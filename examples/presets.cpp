// SPDX-License-Identifier: BSL-1.0
//
// Every preset in C++: how each is made, with the settings and options that belong to it. All are given the
// same jobs; see compare_policies.cpp for how their decisions differ on a longer list, and
// systems/by_name/any_preset.hpp for the choice of a preset by name.
#include <allot/allot.hpp>
#include <allot/systems/kai/runai.hpp>
#include <allot/systems/kueue/kueue.hpp>
#include <allot/systems/kueue/kueue_fair.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using allot::fair_weight;
using allot::gpus;

//! [view]
struct job {
  const char* name;
  const char* team;
  int gpus;
  int minutes;
};

struct jobs_view {
  using job = const ::job*;
  const allot::quota_tree<>* names;  // the teams by name

  allot::quota_id quota(job j) const { return names->find(j->team); }
  allot::resources<> request(job j) const { return gpus(j->gpus); }
  int priority(job) const { return 0; }
  allot::instant duration(job j) const { return j->minutes; }  // for sjf
  allot::instant estimate(job j) const { return j->minutes; }  // for easy and conservative
};
//! [view]

//! [quotas]
std::vector<allot::quota_spec<>> quotas() {
  return {{.name = "lab", .nominal = gpus(16), .inclusive = true},
          {.name = "vision", .parent = "lab", .nominal = gpus(8), .weight = fair_weight::whole(2)},
          {.name = "speech", .parent = "lab", .nominal = gpus(8)}};
}
//! [quotas]

constexpr const char* head[] = {"best effort", "strict", "reserve"};
constexpr const char* within[] = {"none", "lower priority", "lower priority, or newer"};
constexpr const char* reclaim[] = {"nothing", "lower", "all"};

/// How the scheduler treats the jobs of speech, and what the quotas may use before anything runs.
template <class Scheduler>
void show(const char* preset, const Scheduler& scheduler) {
  const allot::queue_settings& s = scheduler.settings(scheduler.tree().find("speech"));
  std::printf("%-14s %-10s %-12s%-16s%-9s", preset,
              s.order == allot::queue_order::priority ? "priority" : "submission",
              head[static_cast<std::size_t>(s.head)], within[static_cast<std::size_t>(s.preempt.within)],
              reclaim[static_cast<std::size_t>(s.preempt.reclaim)]);
  for (const char* name : {"lab", "vision", "speech"}) {
    const allot::quota_id q = scheduler.tree().find(name);
    const bool exists = scheduler.tree().contains(q);
    std::printf("%8s", exists ? to_string(scheduler.ledger().headroom(q)[0]).c_str() : "-");
  }
  std::printf("\n");
}

}  // namespace

int main() {
  const allot::quota_tree<> names = allot::build_quota_tree(quotas()).value();
  const jobs_view view{&names};
  std::printf("%-14s %-10s %-12s%-16s%-9s%8s%8s%8s\n", "", "order", "head", "preempts", "reclaims", "lab",
              "vision", "speech");
  {
    //! [standard]
    auto scheduler = allot::make_scheduler(allot::standard{}, view, quotas()).value();
    //! [standard]
    //! [settings]
    // As speech has been treated until now, but for one thing.
    allot::queue_settings of_speech = scheduler.settings(names.find("speech"));
    of_speech.backfill = allot::backfill_order::shortest_estimate;
    const auto problems = scheduler.configure(names.find("speech"), of_speech);
    //! [settings]
    for (const allot::problem& p : problems) std::printf("%s\n", p.text.c_str());
    show("standard", scheduler);
  }
  {
    //! [static_quotas]
    auto scheduler = allot::make_scheduler(allot::static_quotas{}, view, quotas()).value();
    //! [static_quotas]
    show("static_quotas", scheduler);
  }
  {
    //! [pai]
    auto scheduler = allot::make_scheduler(allot::pai{}, view, quotas()).value();
    // Jobs of the lab itself may take from vision and speech, even what those own.
    allot::queue_settings of_lab = allot::pai::defaults();
    of_lab.preempt.children = true;
    const auto problems = scheduler.configure(names.find("lab"), of_lab);
    //! [pai]
    for (const allot::problem& p : problems) std::printf("%s\n", p.text.c_str());
    show("pai", scheduler);
  }
  {
    //! [runai]
    const allot::runai preset{
        .k = 500,                // past usage counts, by half of KAI's default
        .half_life = 86'400,     // in the unit of step(now), here seconds
        .share_units = {1'000},  // fair shares are rounded to whole GPUs (the default)
    };
    auto scheduler = allot::make_scheduler(preset, view, quotas()).value();
    //! [runai]
    show("runai", scheduler);
  }
  {
    //! [hyperpod]
    auto teams = quotas();
    allot::hyperpod::share(teams[1], allot::hyperpod_sharing::lend_and_borrow, 100);  // in percent
    allot::hyperpod::share(teams[2], allot::hyperpod_sharing::lend);
    const allot::hyperpod preset{.idle = allot::hyperpod_idle::fcfs};  // else by fair-share weight
    auto scheduler = allot::make_scheduler(preset, view, teams).value();
    //! [hyperpod]
    show("hyperpod", scheduler);
  }
  {
    //! [kueue]
    auto scheduler = allot::make_scheduler(allot::kueue{}, view, quotas()).value();
    // Without this nothing is preempted, which is Kueue's default.
    allot::queue_settings reclaims = allot::kueue::defaults();
    reclaims.preempt.reclaim = allot::preempt_reclaim::any;           // reclaimWithinCohort: Any
    reclaims.preempt.within = allot::preempt_within::lower_priority;  // withinClusterQueue: LowerPriority
    const auto problems = scheduler.configure(names.find("speech"), reclaims);
    //! [kueue]
    for (const allot::problem& p : problems) std::printf("%s\n", p.text.c_str());
    show("kueue", scheduler);
  }
  {
    //! [kueue_fair]
    const allot::kueue_fair preset{
        .strategies = allot::fair_strategies::final_share,  // only LessThanOrEqualToFinalShare
        .float_shares = true,  // to compare with a cluster of Kueue; exact shares are the default
    };
    auto scheduler = allot::make_scheduler(preset, view, quotas()).value();
    allot::queue_settings reclaims = allot::kueue_fair::defaults();
    reclaims.preempt.reclaim = allot::preempt_reclaim::any;
    const auto problems = scheduler.configure(names.find("speech"), reclaims);
    //! [kueue_fair]
    for (const allot::problem& p : problems) std::printf("%s\n", p.text.c_str());
    show("kueue_fair", scheduler);
  }
  {
    //! [fifo]
    auto scheduler = allot::make_scheduler(allot::fifo{}, view, quotas()).value();
    //! [fifo]
    show("fifo", scheduler);
  }
  {
    //! [sjf]
    auto scheduler = allot::make_scheduler(allot::sjf{}, view, quotas()).value();
    //! [sjf]
    show("sjf", scheduler);
  }
  {
    //! [easy]
    auto scheduler = allot::make_scheduler(allot::easy{}, view, quotas()).value();
    //! [easy]
    show("easy", scheduler);
  }
  {
    //! [conservative]
    auto scheduler = allot::make_scheduler(allot::conservative{}, view, quotas()).value();
    //! [conservative]
    show("conservative", scheduler);
  }
}

// SPDX-License-Identifier: BSL-1.0
//
// What would be otherwise if a quota, a job or a node changed? Asked of a scheduler that is at work, which
// stays as it is. Two teams own 8 GPUs each, on 5 nodes of 4.
#include <allot/allot.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/scheduler/explain_change.hpp>
#include <allot/scheduler/sentences.hpp>

#include <fmt/core.h>

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

namespace {

using allot::gpus;

struct job {
  std::string name;
  allot::quota_id team;
  int gpus;
  int priority;
  std::uint64_t number;
};
/// It points to the host's jobs: a copy of it shows the same ones.
struct jobs_view {
  using job = const ::job*;
  allot::quota_id quota(job j) const { return j->team; }
  allot::resources<> request(job j) const { return gpus(j->gpus); }
  int priority(job j) const { return j->priority; }
  allot::instant submitted(job j) const { return static_cast<allot::instant>(j->number); }
  std::uint64_t id(job j) const { return j->number; }
  allot::gpu::pod_request pod_request(job j) const { return {.gpus = gpus(j->gpus), .total = true}; }
};

allot::gpu::inventory five_nodes() {
  allot::gpu::node_spec node;
  node.name = "node";
  node.count = 5;
  node.gpus = 4;
  return allot::gpu::inventory{allot::gpu::build_cluster({node}).value()};
}

template <class Told>
void tell(const char* change, Told& told) {
  fmt::print("If {}:\n", change);
  const auto list = [&](const char* what, const auto& ids) {
    for (const allot::job_id id : ids) fmt::print("  {} {}\n", told.without.what(id)->name, what);
  };
  list("starts", told.effects.started);
  list("does not start", told.effects.not_started);
  list("has to go", told.effects.evicted);
  list("need not go", told.effects.not_evicted);
  // The two schedulers that were compared answer all else.
  const allot::dimension_names<1> names{"GPUs"};
  for (const auto& r : told.effects.reasons) {
    const auto name = [](const job* j) { return j->name; };
    const auto time = [](allot::instant t) { return fmt::format("t{}", t); };
    fmt::print("  {}\n", sentence(told.with, told.with.why(r.job), names, name, time));
  }
}

}  // namespace

int main() {
  auto lab = allot::make_scheduler(allot::standard{}, jobs_view{},
                                   {{.name = "lab"},
                                    {.name = "vision", .parent = "lab", .nominal = gpus(8)},
                                    {.name = "speech", .parent = "lab", .nominal = gpus(8)}},
                                   five_nodes())
                 .value();
  const allot::quota_id vision = lab.tree().find("vision");
  const allot::quota_id speech = lab.tree().find("speech");
  std::deque<job> jobs;
  const auto submit = [&](const char* name, allot::quota_id team, int size) {
    jobs.push_back({name, team, size, 0, jobs.size()});
    return static_cast<allot::job_id>(lab.submit(&jobs.back()));
  };
  submit("train", vision, 8);
  submit("tune", vision, 4);
  submit("serve", speech, 4);
  allot::settle(lab, 0, [](const auto&) {});
  submit("sweep", vision, 4);
  const allot::job_id eval = submit("eval", vision, 4);
  allot::settle(lab, 1, [](const auto&) {});

  //! [quota]
  auto more = allot::explain_change(lab, 1, [&](auto& copy) {
    const allot::quota_change<1> change = allot::resize_quota<1>{.quota = vision, .nominal = gpus(12)};
    if (!copy.apply({&change, 1})) fmt::print("The quotas can't be like that.\n");
  });
  tell("vision had 4 GPUs more", more);
  //! [quota]

  //! [job]
  auto urgent = allot::explain_change(lab, 1, [&](auto& copy) {
    int& priority = jobs.back().priority;
    const int before = std::exchange(priority, 1);
    if (copy.update(eval) != allot::refusal::none) fmt::print("It is refused.\n");
    priority = before;
  });
  tell("eval had a higher priority", urgent);
  //! [job]

  //! [node]
  auto lost =
      allot::explain_change(lab, 1, [](auto& copy) { allot::lose_node(copy, allot::gpu::node_id{0}); });
  tell("the first node went away", lost);
  //! [node]
}

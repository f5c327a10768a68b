// SPDX-License-Identifier: BSL-1.0
//
// Jobs whose pods differ on a placement of your own (own_placement.hpp), which knows single pods: a leader
// that needs CPUs, and workers with GPUs. All of them find a machine, or none starts. Further workers run on
// GPUs that the other team does not use, and go one by one when it does.
#include <allot/allot.hpp>
#include <allot/scheduler/sentences.hpp>
#include <allot/scheduler/with_pod_sets.hpp>

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "own_placement.hpp"

namespace {

using allot::pod_set_id;
using own_placement::amounts;

amounts of(std::int64_t cpus, std::int64_t gib, std::int64_t gpus) {
  return {allot::quantity::whole(cpus), allot::quantity::whole(gib), allot::gpus(gpus)};
}

/// At most 16 pods start together; with_pod_sets<machines, 64> would be 64.
using machines = allot::with_pod_sets<own_placement::machines>;

struct pod_set {
  amounts each;
  std::uint32_t pods = 1;
  std::uint32_t at_least = 1;
};
struct job {
  std::string name;
  allot::quota_id team;
  std::vector<pod_set> sets;
};
struct jobs_view {
  using job = const ::job*;
  allot::quota_id quota(job j) const { return j->team; }
  int priority(job) const { return 0; }

  std::size_t sets(job j) const { return j->sets.size(); }
  std::uint32_t pod_sets(job j) const { return static_cast<std::uint32_t>(sets(j)); }
  std::uint32_t pods(job j, pod_set_id s) const { return j->sets[s.index()].pods; }
  std::uint32_t min_pods(job j, pod_set_id s) const { return j->sets[s.index()].at_least; }
  amounts request(job j, pod_set_id s) const { return j->sets[s.index()].each; }
  machines::pod_request pod_request(job j, pod_set_id s) const { return request(j, s); }

  std::uint32_t pods(job j) const { return sum(j, &pod_set::pods); }
  std::uint32_t min_pods(job j) const { return sum(j, &pod_set::at_least); }
  amounts request(job j) const { return request(j, pods(j)); }
  amounts request(job j, std::uint32_t pods) const {
    amounts all;
    for (const auto& set : pod_request(j, pods)) all += set.each * set.pods;
    return all;
  }
  //! [sets]
  machines::pod_request pod_request(job j) const { return pod_request(j, pods(j)); }
  machines::pod_request pod_request(job j, std::uint32_t pods) const {
    const allot::pods_by_set counts = allot::pods_of_sets(
        sets(j), [j](std::size_t s) { return j->sets[s].at_least; },
        [j](std::size_t s) { return j->sets[s].pods; }, pods);
    machines::pod_request r;
    for (std::size_t s = 0; s < sets(j); ++s) r.add(j->sets[s].each, counts[s]);
    return r;
  }
  //! [sets]

 private:
  static std::uint32_t sum(job j, std::uint32_t pod_set::*of) {
    std::uint32_t all = 0;
    for (const pod_set& s : j->sets) all += s.*of;
    return all;
  }
};

class host {
 public:
  void submit(const std::string& team, const std::string& name, std::vector<pod_set> sets) {
    jobs_.push_back({name, lab_.tree().find(team), std::move(sets)});
    ids_[name] = lab_.submit(&jobs_.back());
  }

  void settle() {
    allot::settle(lab_, 0, [&](const auto& plan) {
      for (const auto& e : plan.evictions) {
        fmt::print("  {}\n", sentence(lab_, e, names_, name_of));
        lab_.evicted(e.id);
      }
      for (const auto& a : plan.admissions) {
        std::string on;
        for (const auto at : a.where)
          on.append(on.empty() ? "" : ", ").append(lab_.places().name(lab_.places().machine_of(at)));
        fmt::print("  {}, on {}\n", sentence(lab_, a, names_, name_of), on);
      }
    });
    for (const auto& [name, id] : ids_) {
      if (lab_.state(id) == allot::job_state::pending)
        fmt::print("  {}\n", sentence(lab_, lab_.why(id), names_, name_of));
    }
  }

 private:
  static const std::string& name_of(const job* j) { return j->name; }

  const allot::dimension_names<3> names_{"CPUs", "GiB", "GPUs"};
  allot::scheduler_for<allot::standard, jobs_view, machines> lab_ =
      allot::make_scheduler(
          allot::standard{}, jobs_view{},
          {{.name = "lab"},
           {.name = "training", .parent = "lab", .nominal = of(80, 512, 8)},
           {.name = "serving", .parent = "lab", .nominal = of(80, 512, 8)}},
          machines{own_placement::machines{
              {{"gpu-1", of(64, 384, 8)}, {"gpu-2", of(64, 384, 8)}, {"cpu-1", of(32, 256, 0)}}}})
          .value();
  std::deque<job> jobs_;
  std::map<std::string, allot::job_id> ids_;
};

}  // namespace

int main() {
  host h;
  fmt::print("1. A leader and two to four workers: all GPUs are idle.\n");
  h.submit("training", "pretrain", {{of(24, 64, 0)}, {of(8, 64, 4), 4, 2}});
  h.settle();

  fmt::print("2. Serving wants a router and a replica. Two workers run on its GPUs, and one has to go.\n");
  h.submit("serving", "chat", {{of(8, 32, 0)}, {of(16, 64, 4)}});
  h.settle();

  fmt::print("3. The index of a search finds no machine, so what reads it does not start either.\n");
  h.submit("serving", "search", {{of(4, 16, 0)}, {of(52, 64, 0)}});
  h.settle();
}

// SPDX-License-Identifier: BSL-1.0
//
// A host that shows everything a view can show (quickstart.cpp shows only what it must): when a job was
// submitted and its number, flavors, elastic jobs, priorities, non-preemptible jobs, time limits,
// checkpoints, expected durations, the capacity, and what it needs of the nodes. Its times are std::chrono's.
// Two clusters of GPUs, H100 and A100, are dimensions of their own; research may borrow at most 2 H100.
#include <allot/allot.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/scheduler/sentences.hpp>

#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace {

namespace gpu = allot::gpu;
using std::chrono::hours;
/// Hours since the host has started.
using time_point = std::chrono::time_point<std::chrono::steady_clock, hours>;
using amounts = allot::resources<2>;  // h100/gpu, a100/gpu

const gpu::cluster nodes = gpu::build_cluster({{.name = "h", .count = 2, .gpus = 4, .gpu_model = "H100"},
                                               {.name = "a", .count = 2, .gpus = 4, .gpu_model = "A100"}})
                               .value();

struct job {
  std::string name;
  allot::quota_id team{};
  /// By preference; one GPU for each pod.
  std::vector<std::string> models;
  std::uint32_t pods = 1;
  std::uint32_t min_pods = 1;
  int priority = 0;
  bool preemptible = true;
  hours expected{1};
  hours most{0};
  hours checkpoint{0};
  std::uint64_t number = 0;
  time_point submitted{};
  time_point ready{};
};

struct everything {
  using job = const ::job*;
  // A point in time is none of the spans below, and neither is a number.
  using time_point = ::time_point;

  // What every host shows.
  allot::quota_id quota(job j) const { return j->team; }
  amounts request(job) const { return amounts{allot::quantity{}}; }  // besides its flavors
  int priority(job j) const { return j->priority; }

  // The order among equals.
  time_point submitted(job j) const { return j->submitted; }
  std::uint64_t id(job j) const { return j->number; }

  // From when it can start: these jobs, at once.
  time_point ready_at(job j) const { return j->ready; }

  // Whether, when and at what cost it may go.
  bool preemptible(job j) const { return j->preemptible; }
  hours duration(job j) const { return j->expected; }
  hours time_limit(job j) const { return j->most; }
  hours estimate(job j) const { return j->expected; }
  hours checkpoint(job j) const { return j->checkpoint; }
  hours restart(job) const { return hours{1}; }

  // Elastic jobs run with any number of pods from `min_pods` to `pods`.
  std::uint32_t pods(job j) const { return j->pods; }
  std::uint32_t min_pods(job j) const { return j->min_pods; }
  amounts request(job j, std::uint32_t) const { return request(j); }

  // The GPU models it accepts, and what it needs of the nodes under each.
  allot::flavor_menu<2> flavors(job j, std::uint32_t of_pods) const {
    std::vector<amounts> options;
    for (const std::string& model : j->models) {
      const allot::quantity all = allot::gpus(of_pods), none;
      options.push_back(model == "H100" ? amounts{all, none} : amounts{none, all});
    }
    allot::flavor_menu<2> menu;
    menu.add_group(options);
    return menu;
  }
  gpu::pod_request pod_request(job j) const { return pod_request(j, j->pods, {}); }
  gpu::pod_request pod_request(job j, std::uint32_t of_pods, const allot::flavor_pick& pick) const {
    gpu::pod_request r{.gpus = allot::gpus(1), .pods = of_pods};
    r.models = std::uint64_t{1} << nodes.find_model(j->models[pick[0]]).value();
    return r;
  }

  /// Jobs may use more or less of their quota where they run, as a part of a GPU's memory is. These do not.
  bool is_charged_by_place(job) const { return false; }
  amounts request_at(job, const amounts& asked, const gpu::inventory&,
                     const gpu::inventory::allocation&) const {
    return asked;
  }

  /// For policies that divide it.
  amounts capacity() const { return {allot::gpus(8), allot::gpus(8)}; }
};
static_assert(allot::clocked_view<everything> && allot::timed_view<everything> &&
              allot::ready_view<everything> && allot::identified_view<everything> &&
              allot::preemptible_view<everything> && allot::duration_view<everything> &&
              allot::placed_view<everything, gpu::inventory> && allot::elastic_view<everything> &&
              allot::flavored_view<everything> && allot::time_limited_view<everything> &&
              allot::estimated_view<everything> && allot::checkpointed_view<everything> &&
              allot::capacity_view<everything> && allot::charging_view<everything, gpu::inventory>);

/// Takes from the job that loses the least work.
using policies =
    allot::policies<allot::within_nominal_then_borrowed_share, allot::by_settings, allot::cheapest_lost_work>;

class host {
 public:
  void submit(const std::string& team, job j, time_point now) {
    j.team = lab_.tree().find(team);
    j.number = jobs_.size();
    j.submitted = now;
    jobs_.push_back(std::move(j));
    ids_[jobs_.back().name] = lab_.submit(&jobs_.back());
  }
  void finished(const std::string& name) { lab_.finished(ids_.at(name)); }
  void settle(time_point now) {
    allot::settle(lab_, now, [&](const auto& plan) {
      for (const auto& e : plan.evictions) {
        fmt::print("  {}\n", sentence(lab_, e, names_, name_of));
        // A job that has run for as long as it may is over.
        e.how == allot::relation::time_limit ? lab_.finished(e.id) : lab_.evicted(e.id);
      }
      for (const auto& a : plan.admissions) {
        std::string where;
        for (const gpu::placed_pod& pod : lab_.places().pods(a.where))
          where += (where.empty() ? "" : ", ") + std::string{nodes.name(pod.where.node)};
        fmt::print("  {}: {}\n", sentence(lab_, a, names_, name_of), where);
      }
    });
    for (const auto& [name, id] : ids_) {
      if (lab_.state(id) == allot::job_state::pending)
        fmt::print("  {}\n", sentence(lab_, lab_.why(id), names_, name_of));
    }
    if (const auto next = lab_.wakes_at())
      fmt::print("  the next hour at which something is due: {}\n", next->time_since_epoch().count());
  }

 private:
  static const std::string& name_of(const job* j) { return j->name; }

  const allot::dimension_names<2> names_{"h100/gpu", "a100/gpu"};
  std::deque<job> jobs_;
  allot::scheduler<everything, gpu::inventory, policies> lab_{
      everything{},
      allot::build_quota_tree<2>(
          {{.name = "lab"},
           {.name = "research",
            .parent = "lab",
            .nominal = {allot::gpus(4), allot::gpus(4)},
            .borrow = {allot::limit::at_most(allot::gpus(2)), allot::limit::percent(100)}},
           {.name = "product", .parent = "lab", .nominal = {allot::gpus(4), allot::gpus(4)}}})
          .value(),
      gpu::inventory{nodes}};
  std::map<std::string, allot::job_id> ids_;
};

}  // namespace

int main() {
  const std::vector<std::string> h100{"H100"}, any{"H100", "A100"};
  const auto hour = [](int h) { return time_point{hours{h}}; };
  host h;
  fmt::print("Hour 0. search is elastic: it starts with 2 pods, and grows to what research may borrow.\n");
  h.submit("research", {.name = "search", .models = h100, .pods = 8, .min_pods = 2, .checkpoint = hours{6}},
           hour(0));
  h.settle(hour(0));
  fmt::print("Hour 1. tune and sweep accept A100s, too, of which research may borrow as many as it owns.\n");
  h.submit("research", {.name = "tune", .models = any, .pods = 4, .min_pods = 4, .expected = hours{50}},
           hour(1));
  h.submit("research", {.name = "sweep", .models = any, .pods = 4, .min_pods = 4, .checkpoint = hours{1}},
           hour(1));
  h.settle(hour(1));
  fmt::print("Hour 5. serve may not be evicted, so it only uses what product owns, and takes that back.\n");
  h.submit("product", {.name = "serve", .models = h100, .pods = 4, .min_pods = 4, .preemptible = false},
           hour(5));
  h.settle(hour(5));
  fmt::print(
      "Hour 7. nightly may run for 3 hours. Of those that borrow, sweep loses least: it saves its work.\n");
  h.submit("product", {.name = "nightly", .models = {"A100"}, .pods = 2, .min_pods = 2, .most = hours{3}},
           hour(7));
  h.settle(hour(7));
  fmt::print("Hour 10. That time is over.\n");
  h.settle(hour(10));
}

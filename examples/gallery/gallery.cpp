// SPDX-License-Identifier: BSL-1.0
//
// Policies of the field, each a header, on worlds that are small enough to follow by hand.
#include <allot/gpu/cluster.hpp>
#include <allot/lab/simulators.hpp>
#include <allot/quota/builder.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/progress.hpp>
#include <allot/sim/speed_tables.hpp>

#include <fmt/core.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "gavel.hpp"
#include "gavel_models.hpp"
#include "gittins.hpp"
#include "qssf.hpp"
#include "rlscheduler.hpp"
#include "srtf.hpp"
#include "themis.hpp"
#include "tiresias.hpp"

namespace {

using allot::gpus;
using allot::sim::second;
using kind = allot::sim::speed_tables::kind;

/// Times in seconds.
struct given {
  std::int64_t submit = 0;
  std::int64_t duration = 0;
  allot::quantity size = gpus(1);
  std::int64_t estimate = 0;
  std::int64_t restart = 0;
};

/// One node.
std::vector<allot::gpu::node_spec> of_gpus(std::int64_t number) {
  return {{.name = "n", .gpus = number}};
}
/// What becomes of the jobs A, B, C... on these nodes; all work is saved.
template <class Preset>
void tell(const char* what, const std::vector<allot::gpu::node_spec>& specs, const std::vector<given>& all,
          allot::sim::speed_tables speeds = {}) {
  std::vector<allot::sim::job<1>> jobs;
  for (const given& g : all) {
    allot::sim::job<1>& j = jobs.emplace_back();
    j.quota = allot::quota_id{0};
    j.request[0] = j.pod_request.gpus = g.size;
    j.pod_request.total = true;
    j.submit = g.submit * second;
    j.duration = g.duration * second;
    j.estimate = g.estimate * second;
    j.restart = g.restart * second;
    j.checkpoint = 0;
  }
  const auto nodes = allot::gpu::build_cluster(specs).value();
  allot::sim::setup<1> world{
      .quotas = allot::build_quota_tree<1>({{.name = "all", .nominal = nodes.gpus()}}).value(),
      .settings = {Preset::defaults()},
      .where = allot::sim::places{nodes},
      .jobs = jobs,
      .capacity = nodes.gpus()};
  for (allot::sim::job_index j = 0; j < all.size(); ++j) {
    for (std::size_t m = 0; m < nodes.models().size(); ++m) world.tags.push_back(speeds.on_model(j, m));
  }
  auto sim = allot::sim::simulator<1>::make(std::move(world), Preset{}).value();
  allot::sim::pacing<1, allot::sim::speed_tables> pacing{std::move(speeds)};
  allot::sim::observers<1> nobody{};
  const auto forever = [](allot::instant) { return true; };
  if (!sim.run(nobody, forever, pacing).empty()) return;
  fmt::print("{}\n", what);
  for (allot::sim::job_index j = 0; j < all.size(); ++j) {
    const auto& h = sim.history(j);
    fmt::print("  {} starts at {}, ends at {}{}\n", static_cast<char>('A' + j), h.first_start / second,
               h.end / second, h.preemptions == 0 ? "" : fmt::format(", preempted {} times", h.preemptions));
  }
}

/// Three of four jobs take ten minutes, the fourth a hundred.
struct mostly_short : by_gittins_index {
  static constexpr std::int64_t known[] = {600, 600, 600, 6'000};
  mostly_short() { services = known; }
};
struct gittins_mostly_short : gittins {
  using policies_type = ranked_policies<mostly_short>;
};

/// With backfilling.
struct wfp3_easy : wfp3 {
  static constexpr allot::queue_settings defaults() {
    allot::queue_settings all = wfp3::defaults();
    all.head = allot::queue_head::best_effort;
    return all;
  }
};

}  // namespace

int main() {
  tell<srtf>("SRTF: the shorter goes first, if it is shorter by more than a restart of 5 s", of_gpus(1),
             {{0, 100, gpus(1), 0, 5}, {10, 20}, {20, 50}, {81, 87}});
  tell<qssf>("QSSF: by predicted GPU time, right or wrong, blocked by its head", of_gpus(2),
             {{0, 10, gpus(2), 10}, {0, 15, gpus(1), 15}, {0, 1}, {0, 5, gpus(1), 30}});
  tell<tiresias>("Tiresias: who has had an hour of a GPU yields", of_gpus(1), {{0, 7'200}, {600, 1'000}});
  fmt::print("The Gittins index, of the services 1, 2 and 10\n");
  for (const std::int64_t attained : {0, 1, 2}) {
    const std::array<std::int64_t, 3> services{1, 2, 10};
    const largest_first index = gittins_index(services, attained);
    fmt::print("  of a job that has had {}: {}/{}\n", attained, static_cast<int>(index.numerator),
               static_cast<int>(index.denominator));
  }
  tell<gittins_mostly_short>("Gittins: who is likely to end soon goes on, who is not yields", of_gpus(1),
                             {{0, 6'000}, {300, 600}});
  tell<themis>("Themis: when a lease of 20 minutes has ended, the worst off is next", of_gpus(1),
               {{0, 6'000}, {300, 600}, {0, 3'000}});
  tell<wfp3>("WFP3: who has waited longest for what it will run, and stays next until it fits", of_gpus(2),
             {{0, 100, gpus(1), 100}, {10, 100, gpus(2), 100}, {20, 50, gpus(2), 50}, {30, 10, gpus(1), 10}});
  tell<wfp3_easy>(
      "WFP3, backfilled: D ends before B can start", of_gpus(2),
      {{0, 100, gpus(1), 100}, {10, 100, gpus(2), 100}, {20, 50, gpus(2), 50}, {30, 10, gpus(1), 10}});
  tell<unicep>(
      "UNICEP: one GPU goes before two", of_gpus(2),
      {{0, 100, gpus(2), 100}, {5, 10, gpus(2), 10}, {10, 50, gpus(2), 50}, {20, 100, gpus(1), 100}});
  fmt::print("Water filling: 3 GPUs, jobs of 1, 1 and 4\n ");
  std::array<filled, 3> jobs{{{1, 1}, {1, 1}, {4, 1}}};
  fill(3, jobs);
  for (const filled& j : jobs) fmt::print(" {}/{}", static_cast<int>(j.part), static_cast<int>(j.of));
  fmt::print(" of the time\n");
  tell<gavel_las>("Gavel, LAS: rounds of 6 minutes in turn", of_gpus(1), {{0, 720}, {0, 720}});
  tell<gavel_makespan>("Gavel, makespan: by what is left", of_gpus(1), {{0, 1'440}, {0, 360}});

  const std::vector<allot::gpu::node_spec> two_models = {{.name = "v", .gpus = 1, .gpu_model = "V100"},
                                                         {.name = "k", .gpus = 1, .gpu_model = "K80"}};
  // A is four times as fast on a V100 as on a K80, B twice; there are one V100 and two K80, of which a job
  // uses one at a time. With the V100 for x of the time A does 1/4 + 3x/4, where an equal share would do
  // 1.5, and B 1 - x/2, where it would do 2: relative to that both do the same for x = 4/9.
  const by_model capacity{1'000, 2'000};
  const auto like = [](by_model speed, std::int64_t of) {
    return gavel_class{1'000, std::move(speed), 1'000, of};
  };
  const gavel_class a = like({1'000, 250}, 1'500'000), b = like({1'000, 500}, 2'000'000);
  fmt::print("Gavel, LAS: the time on a V100 and on two K80, in millionths\n");
  const auto parts = divide_time(capacity, {{a, 1}, {b, 1}});
  for (const gavel_class* c : {&a, &b}) fmt::print("  {} {}\n", parts.at(*c)[0], parts.at(*c)[1]);
  const kind half{.by_model = {1'000, 500}}, quarter{.by_model = {1'000, 250}};
  tell<gavel_las>("Gavel, LAS, which does not know that B is slow on the K80", two_models,
                  {{0, 1'440}, {0, 1'440}}, {{quarter}, {0, 1}});
  tell<gavel_las_models>("Gavel, LAS, which knows it", two_models, {{0, 1'440}, {0, 1'440}},
                         {{quarter}, {0, 1}});
  tell<gavel_makespan_models>("Gavel, makespan: the longer job has the faster GPU", two_models,
                              {{0, 720}, {0, 1'440}}, {{half}, {1, 1}});
  tell<gavel_makespan_models>("Gavel, makespan: jobs of one length take turns", two_models,
                              {{0, 1'440}, {0, 1'440}}, {{half}, {1, 1}});
  const allot::quantity part = allot::quantity::milli(500);
  tell<srtf>("Speeds: 100 s of work each, at six tenths while the other is there", of_gpus(1),
             {{0, 100, part}, {40, 100, part}}, {{{.by_neighbours = {600}}}, {1, 1}});
}

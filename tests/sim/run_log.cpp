// SPDX-License-Identifier: BSL-1.0
#include <allot/sim/observers.hpp>
#include <allot/sim/run_log.hpp>
#include <allot/systems/by_name/catalog.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/sim/random_world.hpp"
#include "tests/sim/small_world.hpp"

using namespace allot_test;
using allot::fifo;
using allot::standard;
using allot::sim::job;
using allot::sim::job_run;
using allot::sim::run_log;

namespace {

/// "0: 0-45 evicted" for each run, in seconds.
std::vector<std::string> told(const run_log& log) {
  std::vector<std::string> runs;
  for (const job_run& r : log.runs()) {
    runs.push_back(std::to_string(r.job) + ": " + std::to_string(r.begin / second) + '-' +
                   std::to_string(r.end / second) + (r.evicted ? " evicted" : ""));
  }
  return runs;
}

}  // namespace

TEST_CASE("run_log: every run of a job, evicted or not") {
  std::vector<job<1>> jobs = {job_of(b, 8, 0, 100), job_of(a, 4, 45, 20)};
  jobs[0].checkpoint = 0;
  run_log log;
  allot::sim::run_logger<1> runs{log};
  const auto sim = run<standard>(world<standard>(siblings({4, 4}), std::move(jobs)), runs);
  CHECK(told(log) == std::vector<std::string>{"0: 0-45 evicted", "1: 45-65", "0: 65-120"});
  REQUIRE(log.last_run(0) != nullptr);
  CHECK(log.last_run(0)->begin == 65 * second);
  CHECK(log.pods(*log.last_run(0)).empty());
}

TEST_CASE("run_log: where each pod ran, and nothing for jobs that never ran") {
  auto s = world<fifo>(siblings({16}),
                       {job_of(a, 3, 0, 10), job_of(a, 10, 1, 10), job_of(a, 17, 2, 1), job_of(a, 16, 3, 1)});
  s.where = nodes(2, 8);
  s.cancels = {{5 * second, 1}, {6 * second, 3}};
  run_log log;
  allot::sim::run_logger<1> runs{log};
  const auto sim = run<fifo>(std::move(s), runs);
  CHECK(told(log) == std::vector<std::string>{"0: 0-10", "1: 1-5"});
  CHECK(log.last_run(2) == nullptr);
  CHECK(log.last_run(3) == nullptr);
  const auto small = log.pods(log.runs()[0]);
  REQUIRE(small.size() == 1);
  CHECK(small[0].where.node == allot::gpu::node_id{0});
  CHECK(small[0].where.devices == 0b111);
  // A whole node, and the rest beside the other job.
  const auto large = log.pods(log.runs()[1]);
  REQUIRE(large.size() == 2);
  CHECK(large[0].where == allot::gpu::pod_location{allot::gpu::node_id{1}, 0xFF});
  CHECK(large[1].where == allot::gpu::pod_location{allot::gpu::node_id{0}, 0b11000});
}

TEST_CASE("run_log: an elastic pod is a run of its own") {
  job<1> elastic = job_of(b, 4, 0, 100);
  elastic.pod_request = {gpus(1), 4};
  elastic.min_pods = 2;
  auto s = world<standard>(siblings({4, 2}), {elastic, job_of(a, 3, 50, 20)});
  s.where = nodes(1, 6);
  s.cancels = {{90 * second, 0}};
  run_log log;
  allot::sim::run_logger<1> runs{log};
  const auto sim = run<standard>(std::move(s), runs);
  // The last to start is the first to be evicted.
  CHECK(told(log) ==
        std::vector<std::string>{"0: 0-90", "0: 0-90", "0: 0-50 evicted", "1: 50-70", "0: 70-90"});
  CHECK_FALSE(log.runs()[0].elastic);
  CHECK(log.runs()[1].elastic);
  CHECK(log.pods(log.runs()[0]).size() == 2);
  CHECK(log.pods(log.runs()[4]).size() == 1);
  CHECK(log.last_run(0) == &log.runs()[0]);
}

TEST_CASE("run_log: runs never overuse a device, and times add up") {
  for_each_seed(100, [](random_source& random) {
    const random_world given = make_random_world(random);
    run_log log;
    allot::sim::run_logger<1> runs{log};
    const auto sim = run<standard>(given.setup_for<standard>(), runs);
    // In pod-milliseconds.
    std::vector<instant> ran(sim.jobs().size());
    for (const job_run& r : log.runs()) {
      REQUIRE(r.begin <= r.end);
      ran[r.job] += (r.end - r.begin) * (r.elastic ? 1 : sim.jobs()[r.job].fewest_pods());
    }
    for (job_index j = 0; j < sim.jobs().size(); ++j) {
      const auto& h = sim.history(j);
      if (h.outcome != allot::sim::job_outcome::completed) continue;
      // In the last millisecond there may not be work for all pods.
      const auto& job = sim.jobs()[j];
      const instant idle = ran[j] - job.duration * job.pods() - h.work.lost();
      REQUIRE(idle >= 0);
      REQUIRE(idle < job.pods());
    }
    if (given.nodes.empty()) return;
    for (const job_run& at : log.runs()) {
      // The usage of each device at the instant at which this run begins, after everything that begins then.
      std::vector<std::vector<std::uint32_t>> used(static_cast<std::size_t>(*given.nodes[0].count),
                                                   std::vector<std::uint32_t>(64));
      for (const job_run& r : log.runs()) {
        if (r.begin > at.begin || r.end <= at.begin) continue;
        for (const auto& pod : log.pods(r)) {
          for (std::uint32_t d = 0; d < 64; ++d) {
            if ((pod.where.devices >> d & 1U) != 0) used[pod.where.node.index()][d] += pod.milli;
          }
        }
      }
      for (const auto& node : used) {
        for (const std::uint32_t milli : node) REQUIRE(milli <= 1000);
      }
    }
  });
}

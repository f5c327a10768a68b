// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/metrics/metrics.hpp>
#include <allot/lab/metrics/node_time.hpp>
#include <allot/sim/observers.hpp>
#include <allot/systems/by_name/catalog.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/sim/random_world.hpp"
#include "tests/sim/small_world.hpp"
#include "tests/support/seeds.hpp"

using namespace allot_test;
using allot::wide;
using allot::lab::gpu_time_by_node;
using allot::sim::job;

TEST_CASE("node_time: two nodes, worked by hand") {
  // 3 GPUs of the first node for 10 s; from 2 on 4 of the other for 5; half a device of the first from 4
  // to 8.
  std::vector<job<1>> jobs = {job_of(a, 3, 0, 10), job_of(a, 4, 2, 5), job_of(a, 1, 4, 4)};
  jobs[2].request = allot::resources<1>{allot::quantity::milli(500)};
  jobs[2].pod_request.gpus = allot::quantity::milli(500);
  auto s = world<allot::fifo>(siblings({8}), std::move(jobs));
  s.where = nodes(2, 4);
  allot::sim::run_log log;
  allot::sim::run_logger<1> runs{log};
  static_cast<void>(run<allot::fifo>(std::move(s), runs));
  CHECK(gpu_time_by_node(log, 2, {}) ==
        std::vector<wide>{wide{3'000} * 10'000 + wide{500} * 4'000, wide{4'000} * 5'000});
  CHECK(gpu_time_by_node(log, 2, {6 * second, 9 * second}) ==
        std::vector<wide>{wide{3'000} * 3'000 + wide{500} * 2'000, wide{4'000} * 1'000});
  CHECK(gpu_time_by_node(log, 2, {50 * second, 60 * second}) == std::vector<wide>{0, 0});
}

TEST_CASE("node_time: the nodes together have what the jobs had") {
  for_each_seed(60, [](random_source& random) {
    const random_world given = make_random_world(random);
    if (given.nodes.empty()) return;
    allot::lab::metrics<1> m;
    allot::sim::run_log log;
    allot::sim::run_logger<1> runs{log};
    allot::sim::observers<1> both{&m, &runs};
    const auto sim = run<allot::standard>(given.setup_for<allot::standard>(), both);
    const auto times = gpu_time_by_node(log, static_cast<std::size_t>(*given.nodes[0].count), {});
    CHECK(std::accumulate(times.begin(), times.end(), wide{0}) == m.figures(sim).of.allocated);
  });
}

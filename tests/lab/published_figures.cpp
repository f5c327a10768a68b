// SPDX-License-Identifier: BSL-1.0
// What others have published of a real workload, from its file.
#include <allot/lab/metrics/metrics.hpp>
#include <allot/lab/trace_csv.hpp>
#include <allot/lab/trace_jobs.hpp>
#include <allot/presets/single_queue.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <utility>
#include <vector>

#include "tests/sim/small_world.hpp"
#include "tests/support/traces.hpp"

using namespace allot_test;
using allot::lab::run_figures;

TEST_CASE("published figures: the Helios simulator's for FIFO on philly128") {
  const auto path = find_trace("philly128/jobs.csv");
  if (!path) {
    MESSAGE("skipped: there is no philly128/jobs.csv (set ALLOT_TRACES to the directory of the traces)");
    return;
  }
  std::ifstream file{*path, std::ios::binary};
  auto reading = allot::lab::read_trace_csv(file);
  REQUIRE(reading);
  const auto figures = [&](auto preset) {
    using preset_type = decltype(preset);
    auto specs = allot::lab::tenant_quotas<1>(reading.value, allot::resources<1>{gpus(128)});
    std::vector<quota_id> quotas;
    for (std::size_t i = 1; i < specs.size(); ++i) quotas.emplace_back(i);
    auto s = world<preset_type>(std::move(specs), allot::lab::to_jobs<1>(reading.value, quotas, quota_id{0}));
    s.where = nodes(16, 8);
    allot::lab::metrics<1> m{{}};
    auto sim = allot::sim::simulator<1>::make(std::move(s), preset);
    REQUIRE(sim);
    REQUIRE(sim.value().run(m).empty());
    return m.figures(sim.value());
  };
  const run_figures f = figures(allot::fifo{});
  CHECK(f.of.jobs == allot::lab::job_counts{.total = 53'069, .completed = 53'069});
  // To a tenth of a second, as published.
  const auto is_about = [](instant figure, double seconds) {
    return std::abs(static_cast<double>(figure) / 1000 - seconds) <= 0.1;
  };
  CHECK(is_about(f.of.jct.mean(), 84'976.3));
  CHECK(is_about(f.of.queue.mean(), 80'230.0));
  CHECK(f.of.jct.p50 == 17'614 * second);
  CHECK(f.of.jct.p99 == 420'481 * second);
  CHECK(f.of.queue.p50 == 14'782 * second);
  CHECK(f.of.queue.p99 == 408'354 * second);
  CHECK(f.end == 6'145'778 * second);
  // No quota stops a job, and no job is evicted.
  CHECK(f.of.waited[allot::lab::wait_cause::fair_share] == 0);
  CHECK(f.of.waited.total() == f.of.queue.sum);
  CHECK(f.of.waited.total() == f.of.wait.sum);
  CHECK(f.lost_of_allocated == 0);
  // All the work was done and nothing else.
  allot::wide work = 0;
  for (const auto& j : reading.value.jobs) {
    work += static_cast<allot::wide>(j.gpus.in_milli()) * static_cast<allot::wide>(j.duration);
  }
  CHECK(f.of.allocated == work);

  // Shortest first does the same work, sooner for most jobs; the long ones are delayed.
  const run_figures sjf = figures(allot::sjf{});
  CHECK(sjf.of.allocated == work);
  CHECK(sjf.of.queue.mean() < f.of.queue.mean() / 10);
  CHECK(sjf.of.jct.p50 < f.of.jct.p50 / 5);
}

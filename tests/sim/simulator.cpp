// SPDX-License-Identifier: BSL-1.0
#include <allot/sim/simulator.hpp>
#include <allot/systems/by_name/catalog.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/sim/random_world.hpp"
#include "tests/sim/small_world.hpp"
#include "tests/support/seeds.hpp"

using namespace allot_test;
using allot::fifo;
using allot::quantity;
using allot::refusal;
using allot::sjf;
using allot::standard;
using allot::static_quotas;
using allot::sim::hour;
using allot::sim::job;
using allot::sim::job_outcome;

TEST_CASE("simulator: at one instant ends come before arrivals, and all arrivals before decisions") {
  // Two GPUs. Job 1 arrives when job 0 ends; of jobs 2 and 3, which arrive together, the larger is first.
  auto s = world<fifo>(siblings({2}),
                       {job_of(a, 2, 0, 10), job_of(a, 2, 10, 5), job_of(a, 2, 15, 1), job_of(a, 1, 15, 1)});
  s.where = nodes(1, 2);
  diary seen;
  const auto sim = run<fifo>(std::move(s), seen);
  CHECK(seen.lines == log_lines{"0 submit 0", "0 start 0", "10 finish 0", "10 submit 1", "10 start 1",
                                "15 finish 1", "15 submit 2", "15 submit 3", "15 start 2", "16 finish 2",
                                "16 start 3", "17 finish 3"});
  CHECK(seen.settled_at == std::vector<instant>{0, 10 * second, 15 * second, 16 * second, 17 * second});
  CHECK(sim.now() == 17 * second);
  CHECK(sim.events() == 8);
  CHECK(sim.decisions() == 4);
}

TEST_CASE("simulator: the head of a single queue blocks, under sjf the shortest is the head") {
  const std::vector<job<1>> jobs = {job_of(a, 1, 0, 10), job_of(a, 2, 1, 10), job_of(a, 1, 2, 5)};
  auto first_come = world<fifo>(siblings({2}), jobs);
  first_come.where = nodes(1, 2);
  auto shortest = world<sjf>(siblings({2}), jobs);
  shortest.where = nodes(1, 2);
  diary seen;
  // Job 2 would fit beside job 0, but job 1 precedes it.
  const auto one = run<fifo>(std::move(first_come), seen);
  CHECK(one.history(1).first_start == 10 * second);
  CHECK(one.history(2).first_start == 20 * second);
  const auto other = run<sjf>(std::move(shortest), seen);
  CHECK(other.history(2).first_start == 2 * second);
  CHECK(other.history(1).first_start == 10 * second);
}

TEST_CASE(
    "sim/simulator: an eviction keeps the work up to the last checkpoint, and going on costs a restart") {
  std::vector<job<1>> jobs = {job_of(b, 8, 0, 100), job_of(a, 4, 45, 20), job_of(a, 4, 67, 10)};
  jobs[0].checkpoint = 30 * second;
  jobs[0].restart = 5 * second;
  diary seen;
  const auto sim = run<standard>(world<standard>(siblings({4, 4}), std::move(jobs)), seen);
  // At 45, 30 of the 45 seconds are saved. The second run is cut short while it still restarts, which costs
  // only the 2 seconds that it took; the third restarts in full and does the 70 seconds that are left.
  CHECK(seen.lines == log_lines{"0 submit 0", "0 start 0, borrows 4", "45 submit 1",
                                "45 evict 0 for 1 (borrower), lost 15", "45 start 1", "65 finish 1",
                                "65 start 0, borrows 4", "67 submit 2", "67 evict 0 for 2 (borrower), lost 0",
                                "67 start 2", "77 finish 2", "77 start 0, borrows 4", "152 finish 0"});
  const auto& h = sim.history(0);
  CHECK(h.outcome == job_outcome::completed);
  CHECK(h.first_start == 0);
  CHECK(h.last_start == 77 * second);
  CHECK(h.end == 152 * second);
  CHECK(h.preemptions == 2);
  CHECK(h.lost() == (15 + 2 + 5) * second);
}

TEST_CASE("simulator: checkpoints are taken by the work of the job, not by the clock of one run") {
  // 20 s of work in the first run, 0 saved; after two evictions at 40 s of work, there is one checkpoint.
  std::vector<job<1>> jobs = {job_of(b, 8, 0, 100), job_of(a, 4, 50, 10), job_of(a, 4, 70, 10)};
  jobs[0].checkpoint = 40 * second;
  diary seen;
  const auto sim = run<standard>(world<standard>(siblings({4, 4}), std::move(jobs)), seen);
  // First run 0-50: 40 saved, 10 lost. Second run 60-70: 10 more, in all 50 of work: nothing new saved.
  CHECK(sim.history(0).lost() == 20 * second);
  CHECK(sim.history(0).end == (80 + 60) * second);
}

TEST_CASE("simulator: without checkpoints everything is lost, with the checkpoint 0 nothing") {
  for (const bool always_saved : {false, true}) {
    std::vector<job<1>> jobs = {job_of(b, 8, 0, 100), job_of(a, 4, 45, 20)};
    if (always_saved) jobs[0].checkpoint = 0;
    diary seen;
    const auto sim = run<standard>(world<standard>(siblings({4, 4}), std::move(jobs)), seen);
    CHECK(sim.history(0).lost() == (always_saved ? 0 : 45 * second));
    CHECK(sim.history(0).end == (always_saved ? 120 : 165) * second);
  }
}

TEST_CASE("simulator: a job of zero duration starts and ends at one instant") {
  diary seen;
  const auto sim = run<standard>(
      world<standard>(siblings({1}), {job_of(a, 1, 3, 0), job_of(a, 1, 3, 0), job_of(a, 1, 3, 1)}), seen);
  CHECK(seen.lines == log_lines{"3 submit 0", "3 submit 1", "3 submit 2", "3 start 0", "3 finish 0",
                                "3 start 1", "3 finish 1", "3 start 2", "4 finish 2"});
  CHECK(sim.history(1).end == 3 * second);
}

TEST_CASE("simulator: changes of quotas at one instant are one transition") {
  // 8 GPUs in all. Moving 4 from a to b makes a's job a borrower, and b's job reclaims its own.
  std::vector<job<1>> jobs = {job_of(a, 4, 0, 100), job_of(b, 8, 10, 20)};
  jobs[0].checkpoint = 0;
  auto s = world<standard>(siblings({4, 4}), std::move(jobs));
  using change = allot::resize_quota<1>;
  s.quota_events = {{50 * second, change{.quota = b, .nominal = allot::resources<1>{gpus(8)}}},
                    {50 * second, change{.quota = a, .nominal = allot::resources<1>{gpus(0)}}}};
  diary seen;
  const auto sim = run<standard>(std::move(s), seen);
  CHECK(seen.lines == log_lines{"0 submit 0", "0 start 0", "10 submit 1",
                                "50 evict 0 for 1 (borrower), lost 0", "50 start 1", "70 finish 1",
                                "70 start 0, borrows 4", "120 finish 0"});
  CHECK(sim.accounts().tree().spec(b).nominal == allot::resources<1>{gpus(8)});
}

TEST_CASE("simulator: an invalid change stops the simulation, with its time and problems") {
  auto specs = siblings({4, 4});
  specs[0].inclusive = true;
  specs[0].nominal = allot::resources<1>{gpus(8)};
  auto s = world<standard>(std::move(specs), {job_of(a, 4, 0, 100)});
  s.quota_events = {
      {50 * second, allot::resize_quota<1>{.quota = b, .nominal = allot::resources<1>{gpus(5)}}}};
  diary seen;
  std::vector<allot::problem> problems;
  const auto sim = run<standard>(std::move(s), seen, &problems);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == allot::problem_code::exceeds_parent);
  CHECK(sim.now() == 50 * second);
  CHECK(sim.history(0).outcome == job_outcome::running);
}

TEST_CASE("simulator: an added quota takes jobs, and a removed one cancels its jobs") {
  std::vector<job<1>> jobs = {
      job_of(quota_id{3}, 1, 5, 10), job_of(a, 1, 10, 100),          job_of(a, 9, 10, 5),
      job_of(b, 1, 15, 10),          job_of(quota_id{3}, 1, 20, 10), job_of(a, 1, 60, 5)};
  auto s = world<standard>(siblings({4, 4}), std::move(jobs));
  allot::quota_spec<1> c;
  c.name = "c";
  c.parent = "root";
  c.nominal = allot::resources<1>{gpus(1)};
  s.quota_events = {{20 * second, allot::add_quota<1>{c}}, {50 * second, allot::remove_quota{a}}};
  diary seen;
  const auto sim = run<standard>(std::move(s), seen);
  // Job 0 arrives before its quota; job 2 exceeds all of them; 1 and 2 are removed with a, and 5 arrives too
  // late.
  CHECK(seen.lines == log_lines{"5 refuse 0", "10 submit 1", "10 submit 2", "10 start 1", "15 submit 3",
                                "15 start 3", "20 submit 4", "20 start 4", "25 finish 3", "30 finish 4",
                                "50 cancel 1", "50 cancel 2", "60 refuse 5"});
  CHECK(sim.history(0).why_refused == refusal::unknown_quota);
  CHECK(sim.history(1).outcome == job_outcome::cancelled);
  CHECK(sim.history(1).end == 50 * second);
  CHECK(sim.history(5).outcome == job_outcome::refused);
  CHECK_FALSE(sim.accounts().tree().contains(a));
}

TEST_CASE("simulator: a job can be cancelled before its submission, while pending and while running") {
  auto s = world<fifo>(
      siblings({2}), {job_of(a, 2, 0, 100), job_of(a, 2, 1, 10), job_of(a, 2, 2, 10), job_of(a, 2, 50, 10)});
  s.where = nodes(1, 2);
  // Twice, and after the end: nothing more happens.
  s.cancels = {{5 * second, 1}, {20 * second, 0}, {40 * second, 3}, {45 * second, 3}, {45 * second, 2}};
  diary seen;
  const auto sim = run<fifo>(std::move(s), seen);
  CHECK(seen.lines == log_lines{"0 submit 0", "0 start 0", "1 submit 1", "2 submit 2", "5 cancel 1",
                                "20 cancel 0", "20 start 2", "30 finish 2", "40 cancel 3"});
  CHECK(sim.history(2).outcome == job_outcome::completed);
  CHECK(sim.history(3).outcome == job_outcome::cancelled);
}

TEST_CASE("simulator: a job cancelled and resubmitted at one instant is handled in that order") {
  auto s = world<fifo>(siblings({2}), {job_of(a, 2, 0, 100), job_of(a, 2, 7, 1)});
  s.where = nodes(1, 2);
  s.cancels = {{7 * second, 0}};
  diary seen;
  const auto sim = run<fifo>(std::move(s), seen);
  CHECK(seen.lines ==
        log_lines{"0 submit 0", "0 start 0", "7 cancel 0", "7 submit 1", "7 start 1", "8 finish 1"});
  CHECK(sim.history(0).end == 7 * second);
}

TEST_CASE("simulator: jobs that can never run are refused, the others run") {
  std::vector<job<1>> jobs = {job_of(a, 17, 0, 5), job_of(a, 16, 0, 5), job_of(quota_id{7}, 1, 0, 5),
                              job_of(a, 1, 1, 5)};
  jobs[3].request = allot::resources<1>{quantity::milli(-1000)};
  auto s = world<fifo>(siblings({16}), std::move(jobs));
  s.where = nodes(2, 8);
  diary seen;
  const auto sim = run<fifo>(std::move(s), seen);
  CHECK(seen.lines ==
        log_lines{"0 refuse 0", "0 submit 1", "0 refuse 2", "0 start 1", "1 refuse 3", "5 finish 1"});
  CHECK(sim.history(0).why_refused == refusal::larger_than_cluster);
  CHECK(sim.history(2).why_refused == refusal::unknown_quota);
  CHECK(sim.history(3).why_refused == refusal::invalid_request);
}

TEST_CASE("simulator: a job that its quota never allows waits to the end") {
  diary seen;
  const auto sim = run<static_quotas>(
      world<static_quotas>(siblings({4, 4}), {job_of(a, 5, 0, 10), job_of(b, 4, 0, 10)}), seen);
  CHECK(sim.history(0).outcome == job_outcome::waiting);
  CHECK(sim.history(1).outcome == job_outcome::completed);
  CHECK(sim.waiting()[a.index()] == 1);
  CHECK(sim.demand()[a.index()] == allot::resources<1>{gpus(5)});
}

namespace {

/// Checks that the books of the simulator are those of the running pods and the pending jobs.
void audit(const allot::sim::simulator<1>& sim) {
  const std::size_t slots = sim.accounts().tree().slots();
  std::vector<quantity> used(slots);
  std::vector<quantity> wanted(slots);
  std::vector<std::uint32_t> waiting(slots);
  quantity all;
  std::uint64_t lacking = 0;
  for (job_index j = 0; j < sim.jobs().size(); ++j) {
    const auto& h = sim.history(j);
    const auto& job = sim.jobs()[j];
    const std::uint32_t pods = h.work.pods();
    REQUIRE((pods > 0) == (h.outcome == job_outcome::running));
    if (pods == 0 && h.outcome != job_outcome::waiting) continue;
    const std::size_t x = job.quota.index();
    wanted[x] += job.request[0];
    if (pods == 0) {
      ++waiting[x];
      continue;
    }
    REQUIRE(pods >= job.fewest_pods());
    REQUIRE(pods <= job.pods());
    lacking += job.pods() - pods;
    const quantity has = quantity::milli(job.request[0].in_milli() / job.pods() * pods);
    used[x] += has;
    all += has;
  }
  for (std::size_t x = 0; x < slots; ++x) {
    REQUIRE(sim.accounts().own_usage(quota_id{x}, 0) == used[x]);
    REQUIRE(sim.demand()[x][0] == wanted[x]);
    REQUIRE(sim.waiting()[x] == waiting[x]);
  }
  REQUIRE(sim.lacking() == lacking);
  // The usage as the scheduler computes it, in its own tree.
  for (std::size_t x = 0; x < slots && sim.scheduler().tree().slots() == slots; ++x) {
    REQUIRE(sim.scheduler().ledger().own_usage(quota_id{x}, 0) == used[x]);
  }
  if (sim.places().has_nodes()) {
    REQUIRE(sim.places().inventory().used() == all);
    REQUIRE(sim.places().inventory().held() == quantity{});
  }
}

}  // namespace

TEST_CASE(
    "sim/simulator: usage is that of the running pods and lawful at every instant, under every preset") {
  for_each_seed(200, [](random_source& random) {
    const random_world given = make_random_world(random);
    allot::for_each_preset([&](auto preset) {
      using preset_type = decltype(preset);
      INFO("under " << preset_type::name);
      // A named system may overcommit.
      const bool is_sound = std::string_view{preset_type::name} == "standard" && given.events.empty();
      std::size_t instants = 0;
      each_instant<1> watch{[&](const auto& sim) {
        ++instants;
        audit(sim);
        if (is_sound) REQUIRE(sim.accounts().is_sound());
      }};
      const auto sim = run<preset_type>(given.setup_for<preset_type>(), watch);
      CHECK(instants > 0);
      for (job_index j = 0; j < sim.jobs().size(); ++j) {
        const auto& h = sim.history(j);
        const auto& job = sim.jobs()[j];
        const bool was_cancelled = std::any_of(given.cancels.begin(), given.cancels.end(),
                                               [&](const auto& c) { return c.which == j; });
        const bool is_over = h.outcome == job_outcome::completed || h.outcome == job_outcome::refused ||
                             h.outcome == job_outcome::waiting ||
                             (h.outcome == job_outcome::cancelled && was_cancelled);
        REQUIRE(is_over);
        if (h.outcome != job_outcome::completed) continue;
        // It did all of its work, did not wait before its submission, and lost nothing unless cut short.
        REQUIRE(h.work.left() == 0);
        REQUIRE(h.first_start >= job.submit);
        REQUIRE(h.end >= h.first_start + job.duration + h.lost());
        REQUIRE(h.runs == 1 + h.preemptions + h.node_failures);
        if (h.runs > 1) continue;
        REQUIRE(h.lost() == 0);
        const instant with_fewest = (job.duration * job.pods() + job.fewest_pods() - 1) / job.fewest_pods();
        REQUIRE(h.end <= h.first_start + with_fewest);
      }
    });
  });
}

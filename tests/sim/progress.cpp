// SPDX-License-Identifier: BSL-1.0
// Jobs that work at other speeds than the nominal one.
#include <allot/presets/standard.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/progress.hpp>
#include <allot/sim/simulator.hpp>
#include <allot/sim/speed_tables.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/random_world.hpp"
#include "tests/sim/rich_world.hpp"
#include "tests/sim/small_world.hpp"
#include "tests/support/seeds.hpp"

using namespace allot_test;
using allot::standard;
using allot::sim::job;
using allot::sim::job_outcome;
using allot::sim::job_place;
using allot::sim::pacing;
using allot::sim::speed;
using allot::sim::speed_tables;

namespace {

constexpr auto forever = [](instant) { return true; };

/// Runs it under `standard` at these speeds.
template <class Progress>
allot::sim::simulator<1> run_at(allot::sim::setup<1> s, allot::sim::observer<1>& watch, Progress speeds) {
  auto sim = simulator_of("standard", std::move(s));
  REQUIRE(sim);
  pacing<1, Progress> paced{std::move(speeds)};
  CHECK(sim->run(watch, forever, paced).empty());
  return std::move(*sim);
}

/// By job, whatever else.
struct by_job {
  std::vector<speed> of;
  speed operator()(job_index j, const job_place<1>&, std::span<const job_index>) const { return of[j]; }
};
/// Calls a function, which may be random.
struct as_told {
  std::function<speed(job_index, std::span<const job_index>)> say;
  speed operator()(job_index j, const job_place<1>&, std::span<const job_index> beside) const {
    return say(j, beside);
  }
};

/// Nodes with one GPU each of two models, of which V100 comes first.
allot::sim::places two_models() {
  std::vector<allot::gpu::node_spec> specs(2);
  specs[0] = {.name = "v", .gpus = 1, .gpu_model = "V100"};
  specs[1] = {.name = "k", .gpus = 1, .gpu_model = "K80"};
  return allot::sim::places{allot::gpu::build_cluster(specs).value()};
}

job<1> half_gpu(instant submit_s, instant duration_s) {
  job<1> j = job_of(a, 1, submit_s, duration_s);
  j.request[0] = j.pod_request.gpus = allot::quantity::milli(500);
  return j;
}

}  // namespace

TEST_CASE("progress: a job works at the speed of the slowest GPU model that it runs on") {
  auto s = world<standard>(siblings({2}),
                           {gang_of(a, 1, 0, 0, 100), gang_of(a, 1, 0, 0, 100), gang_of(a, 2, 0, 1, 100)});
  s.where = two_models();
  const auto& layout = s.where.inventory().layout();
  speed_tables::kind slow;
  slow.by_model.resize(layout.models().size());
  slow.by_model[layout.find_model("K80").value()] = 250;
  diary seen;
  const auto sim = run_at(std::move(s), seen, speed_tables{{slow}, {1, 1, 1}});
  CHECK(sim.history(0).end == 100 * second);
  CHECK(sim.history(1).end == 400 * second);
  CHECK(sim.history(2).end == 800 * second);
  CHECK(sim.history(2).lost() == 0);
}

TEST_CASE("progress: jobs on one GPU slow each other down, from when they meet until they part") {
  auto s = world<standard>(siblings({2}), {half_gpu(0, 100), half_gpu(40, 100)});
  s.where = nodes(1, 1);
  speed_tables::kind shares;
  shares.by_neighbours = {600};
  diary seen;
  const auto sim = run_at(std::move(s), seen, speed_tables{{shares}, {1, 1}});
  // 40 s alone, then the other 60 s of work at six tenths; the second has done as much then, and is alone.
  CHECK(sim.history(0).end == 140 * second);
  CHECK(sim.history(1).end == 180 * second);
}

TEST_CASE(
    "progress: what fewer pods do follows the measured points, and all of them do what the duration says") {
  speed_tables::kind curve;
  curve.by_pods = {{1, 1000}, {2, 1800}, {4, 2400}};
  auto small = world<standard>(siblings({2}), {gang_of(a, 4, 2, 0, 100)});
  small.where = nodes(1, 2);
  diary seen;
  const auto sim = run_at(std::move(small), seen, speed_tables{{curve}, {1}});
  // Two pods do 1.8/2.4 of what four do: 0.75 in place of half of it.
  CHECK(sim.history(0).work.current_speed() == 1500);
  CHECK(sim.history(0).end == 133'334);
  auto four = world<standard>(siblings({4}), {gang_of(a, 4, 2, 0, 100)});
  four.where = nodes(1, 4);
  CHECK(run_at(std::move(four), seen, speed_tables{{curve}, {1}}).history(0).end == 100 * second);
}

TEST_CASE("progress: a gang in two racks is slower than in one") {
  std::vector<allot::gpu::node_spec> specs(2);
  specs[0] = {.name = "x", .gpus = 2, .labels = {{"rack", "r1"}}};
  specs[1] = {.name = "y", .gpus = 2, .labels = {{"rack", "r2"}}};
  auto s = world<standard>(siblings({4}),
                           {gang_of(a, 1, 0, 0, 100), gang_of(a, 3, 0, 0, 60), gang_of(a, 2, 0, 200, 60)});
  s.where = racks_of(specs);
  speed_tables::kind kind;
  kind.level = 0;
  kind.apart = 500;
  diary seen;
  const auto sim = run_at(std::move(s), seen, speed_tables{{kind}, {1, 1, 1}});
  CHECK(sim.history(1).end == 120 * second);
  CHECK(sim.history(2).end == 260 * second);
}

TEST_CASE("progress: a job that loses work loses the time that it took, and work is saved by work") {
  // At a fifth of the speed 10 s of work take 50 s; at 70 s it has done 14 s, of which 10 are saved.
  std::vector<job<1>> jobs = {job_of(b, 4, 0, 100), job_of(a, 4, 70, 10)};
  jobs[0].checkpoint = 10 * second;
  jobs[0].restart = 5 * second;
  diary seen;
  const auto sim = run_at(world<standard>(siblings({4, 0}), std::move(jobs)), seen, by_job{{200, 1000}});
  CHECK(seen.lines == log_lines{"0 submit 0", "0 start 0, borrows 4", "70 submit 1",
                                "70 evict 0 for 1 (borrower), lost 20", "70 start 1", "80 finish 1",
                                "80 start 0, borrows 4", "535 finish 0"});
  CHECK(sim.history(0).lost() == 25 * second);
  CHECK(sim.scheduler().view().runs(0) == 2);
  CHECK(sim.scheduler().view().done(0, sim.now()) == 100 * second);
  CHECK(sim.scheduler().view().attained(0, sim.now()) == (70 + 455) * second);
}

TEST_CASE("progress: estimates are in nominal time, so a slow job overruns and a reserved start is late") {
  std::vector<job<1>> jobs = {job_of(a, 3, 0, 100), job_of(a, 4, 1, 10), job_of(a, 1, 2, 50)};
  for (auto& j : jobs) j.estimate = j.duration;
  auto s = world<standard>(siblings({4}), std::move(jobs));
  standard preset;
  preset.use_estimates();
  for (auto& settings : s.settings) settings = preset.defaults();
  diary seen;
  const auto sim = run_at(std::move(s), seen, by_job{{500, 1000, 1000}});
  // The third was to end before the reserved start at 100, and has; the second starts when the first ends.
  CHECK(seen.lines == log_lines{"0 submit 0", "0 start 0", "1 submit 1", "2 submit 2", "2 start 2",
                                "52 finish 2", "200 finish 0", "200 start 1", "210 finish 1"});
}

TEST_CASE("progress: jobs that run from the beginning have had their speed since they started") {
  auto s = world<standard>(siblings({4}), {job_of(a, 2, 0, 100), job_of(a, 2, 30, 10)});
  s.running = {{.which = 0, .since = 0}, {.which = 1, .since = 30 * second}};
  diary seen;
  const auto sim = run_at(std::move(s), seen, by_job{{2000, 500}});
  CHECK(sim.history(0).end == 50 * second);
  CHECK(sim.history(1).end == 50 * second);
}

TEST_CASE("progress: at the nominal speed everything is as without, also when it is paused") {
  for_each_seed(60, [](random_source& random) {
    const auto s = make_random_world(random).setup_for<standard>();
    diary without;
    diary with;
    const auto plain = run<standard>(s, without);
    auto sim = simulator_of("standard", s);
    const as_told nominal{[](job_index, auto) { return allot::sim::nominal_speed; }};
    pacing<1, as_told> paced{nominal};
    for (instant t = 0; t < 100 * second; t += random.between(1, 30) * second) {
      CHECK(sim->run(
                   with, [&](instant next) { return next <= t; }, paced)
                .empty());
    }
    CHECK(sim->run(with, forever, paced).empty());
    REQUIRE(with.lines == without.lines);
    REQUIRE(sim->decision_hash().hex() == plain.decision_hash().hex());
    for (job_index j = 0; j < s.jobs.size(); ++j) {
      REQUIRE(sim->history(j).end == plain.history(j).end);
      REQUIRE(sim->history(j).lost() == plain.history(j).lost());
    }
  });
}

namespace {

/// Counts what each job does between two instants by the speeds that were told, in thousandths of a
/// pod-millisecond, and compares that with the books of the simulator.
class audit final : public allot::sim::observer<1> {
 public:
  explicit audit(const allot::sim::setup<1>& s)
      : told(s.jobs.size(), 1000), faults_(s.faults), counts_(s.jobs.size()) {}

  void on(const allot::sim::simulator<1>& sim, const allot::sim::job_event<1>& e) override {
    using kind = allot::sim::job_event_kind;
    const auto& job = sim.jobs()[e.job];
    count& c = counts_[e.job];
    if (e.what == kind::submitted) c.left = job.duration * job.pods() * 1000;
    pass(sim);
    if (e.what == kind::finished) {
      // All work is done, and was not a millisecond before.
      REQUIRE(c.done >= c.left);
      REQUIRE((c.done - c.last < c.left || c.left == 0));
      REQUIRE(sim.history(e.job).work.left() == 0);
    }
    if (e.what == kind::evicted && sim.history(e.job).outcome == job_outcome::waiting) {
      const std::int64_t all = job.duration * job.pods() * 1000;
      std::int64_t done = all - c.left + std::min(c.done, c.left);
      const std::int64_t before = all - c.left;
      if (!job.checkpoint) {
        done = 0;
      } else if (const std::int64_t unit = *job.checkpoint * job.pods() * 1000; unit > 0) {
        done = std::max(before, done / unit * unit);
      }
      c.left = all - done;
      c.done = c.last = 0;
      // The books round up, once.
      REQUIRE(sim.history(e.job).work.left() == (c.left + 999) / 1000);
      ++evicted;
    }
    const bool ends = e.what == kind::finished || e.what == kind::cancelled || e.what == kind::evicted;
    c.works = c.works && !ends;
  }
  void settled(const allot::sim::simulator<1>& sim) override {
    pass(sim);
    for (job_index j = 0; j < counts_.size(); ++j) {
      const auto& h = sim.history(j);
      if (h.outcome != job_outcome::running) {
        counts_[j].works = false;
        continue;
      }
      count& c = counts_[j];
      if (!c.works || c.run != h.runs || c.started != h.last_start) {
        c.works = true;
        c.run = h.runs;
        c.started = h.last_start;
        c.done = c.last = 0;
        c.from = h.last_start + starts_in(sim, j) + (h.runs > 1 ? sim.jobs()[j].restart : 0);
        c.since = h.last_start;
      }
      c.pods = h.work.pods();
      c.rate = std::int64_t{told[j]} * c.pods;
    }
  }

  std::size_t evicted = 0;
  /// By job, what it works at now.
  std::vector<speed> told;

 private:
  struct count {
    bool works = false;
    std::uint32_t run = 0;
    std::uint32_t pods = 0;
    instant started = 0;
    instant since = 0;
    instant from = 0;
    std::int64_t rate = 0;
    /// Work of the job before this run, what this run has done, and in its last millisecond.
    std::int64_t left = 0;
    std::int64_t done = 0;
    std::int64_t last = 0;
  };

  [[nodiscard]] instant starts_in(const allot::sim::simulator<1>& sim, job_index j) const {
    return faults_.of_start(j, sim.history(j).starts - 1).takes;
  }
  void pass(const allot::sim::simulator<1>& sim) {
    for (count& c : counts_) {
      if (!c.works) continue;
      const instant since = std::max(c.since, c.from);
      if (sim.now() > since) {
        c.done += (sim.now() - since) * c.rate;
        c.last = c.rate;
      }
      c.since = std::max(c.since, sim.now());
    }
  }

  allot::sim::host_faults faults_;
  std::vector<count> counts_;
};

}  // namespace

TEST_CASE("progress: work is conserved exactly, whatever the speeds, preemptions, failures and resizes") {
  std::size_t evicted = 0;
  std::size_t completed = 0;
  for_each_seed(150, [&](random_source& random) {
    auto s = make_random_world(random).setup_for<standard>();
    // Half of the worlds have estimates, right or wrong, and reservations.
    if (random.one_in(2)) {
      standard preset;
      preset.use_estimates();
      for (auto& settings : s.settings) settings = preset.defaults();
      for (auto& j : s.jobs) j.estimate = random.between(0, 25) * second;
    }
    const std::size_t jobs = s.jobs.size();
    audit books{s};
    const as_told speeds{[&](job_index j, std::span<const job_index>) {
      constexpr speed some[] = {1, 333, 500, 999, 1000, 1001, 1700, 2500, 9000};
      return books.told[j] = random.pick(some);
    }};
    const auto sim = run_at(std::move(s), books, speeds);
    evicted += books.evicted;
    for (job_index j = 0; j < jobs; ++j) completed += sim.history(j).outcome == job_outcome::completed;
  });
  MESSAGE(completed << " jobs completed, " << evicted << " runs cut short");
  CHECK(evicted > 0);
  CHECK(completed > 0);
}

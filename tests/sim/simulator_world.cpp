// SPDX-License-Identifier: BSL-1.0
// The simulator with elastic jobs, flavors, time limits, nodes that fail, and jobs that run from the start.
#include <allot/lab/metrics/metrics.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/run_log.hpp>
#include <allot/sim/simulator.hpp>
#include <allot/systems/by_name/catalog.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/rich_world.hpp"
#include "tests/sim/small_world.hpp"
#include "tests/support/seeds.hpp"

using namespace allot_test;
using allot::quantity;
using allot::standard;
using allot::gpu::node_id;
using allot::sim::job;
using allot::sim::job_outcome;
using allot::sim::node_change;

namespace {

/// Occupies the place of a job that runs when the simulation begins.
allot::gpu::allocation_id stand(allot::sim::places& where, const allot::gpu::pod_request& d,
                                std::size_t node) {
  const std::vector<allot::gpu::pod_location> at(d.total ? 1 : d.pods, {node_id{node}});
  return where.inventory().place_at(d, at).value();
}

}  // namespace

TEST_CASE(
    "simulator: an elastic job takes what is idle, gives it back first, and works at the rate of its pods") {
  diary seen;
  const auto sim = run<standard>(
      world<standard>(siblings({4, 4}), {gang_of(b, 6, 2, 0, 100), job_of(a, 4, 50, 20)}), seen);
  // 300 of 600 pod-seconds are done at 50; then 20 s with 4 pods, and the other 220 with 6.
  CHECK(seen.lines == log_lines{"0 submit 0", "0 start 0", "0 grow 0 to 3", "0 grow 0 to 4",
                                "0 grow 0 to 5, borrows 1", "0 grow 0 to 6, borrows 1", "50 submit 1",
                                "50 shrink 0 to 5 for 1 (borrower)", "50 shrink 0 to 4 for 1 (borrower)",
                                "50 start 1", "70 finish 1", "70 grow 0 to 5, borrows 1",
                                "70 grow 0 to 6, borrows 1", "106 finish 0"});
  // 36.666... s: the first millisecond by which everything is done.
  CHECK(sim.history(0).end == 106'667);
  CHECK(sim.history(0).preemptions == 0);
  CHECK(sim.history(0).lost() == 0);
  CHECK(sim.history(0).runs == 1);
  CHECK(sim.lacking() == 0);
}

TEST_CASE("simulator: who comes later does not delay a reserved start by its place") {
  // Four GPUs of one model, eight of another; what the quota owns is never short.
  std::vector<allot::gpu::node_spec> specs(2);
  specs[0] = {.name = "h", .gpus = 4, .gpu_model = "H100"};
  specs[1] = {.name = "a", .count = 2, .gpus = 4, .gpu_model = "A100"};
  const allot::gpu::cluster all = allot::gpu::build_cluster(specs).value();
  const auto add = [&](auto& jobs, std::int64_t size, const char* model, instant submit_s,
                       instant duration_s) {
    job<1> j = job_of(root, size, submit_s, duration_s);
    j.estimate = j.duration;
    j.pod_request.models = std::uint64_t{1} << all.find_model(model).value();
    jobs.push_back(j);
  };
  std::vector<job<1>> jobs;
  add(jobs, 3, "H100", 0, 10'000);
  add(jobs, 1, "H100", 0, 54);
  add(jobs, 4, "H100", 1, 50);
  add(jobs, 1, "H100", 3, 25'000);
  add(jobs, 1, "A100", 60, 30'000);
  std::vector<allot::quota_spec<1>> one(1);
  one[0].name = "q";
  one[0].nominal = allot::resources<1>{gpus(12)};
  auto s = world<standard>(std::move(one), std::move(jobs));
  standard preset;
  preset.use_estimates();
  s.settings[0] = preset.defaults();
  s.where = allot::sim::places{all};
  diary seen;
  const auto sim = run<standard>(std::move(s), seen);
  CHECK(sim.history(2).first_start == 10'000 * second);
  CHECK(sim.history(3).first_start == 10'050 * second);
  CHECK(sim.history(4).first_start == 60 * second);
}

TEST_CASE("simulator: evicting the core of an elastic job evicts all of it and loses unsaved work") {
  job<1> elastic = gang_of(b, 8, 6, 0, 100);
  elastic.checkpoint = 40 * second;
  elastic.restart = 5 * second;
  diary seen;
  const auto sim = run<standard>(world<standard>(siblings({4, 4}), {elastic, job_of(a, 4, 50, 20)}), seen);
  CHECK(std::count(seen.lines.begin(), seen.lines.end(), "50 evict 0 for 1 (borrower), lost 10") == 1);
  // 320 of 800 pod-seconds are saved; after the restart the other 480 take 8 pods one minute.
  CHECK(sim.history(0).end == (70 + 5 + 60) * second);
  CHECK(sim.history(0).lost() == (10 + 5) * second);
  CHECK(sim.history(0).preemptions == 1);
}

TEST_CASE("simulator: an elastic job waiting for pods does not count as pending") {
  auto s = world<standard>(siblings({4, 4}), {gang_of(b, 12, 2, 0, 100)});
  s.where = nodes(1, 8);
  std::vector<std::uint64_t> lacking;
  allot::lab::metrics<1> measured;
  each_instant<1> look{[&](const auto& sim) {
    lacking.push_back(sim.lacking());
    if (lacking.size() > 1) return;
    CHECK(sim.waiting()[b.index()] == 0);
    CHECK(sim.demand()[b.index()] == allot::resources<1>{gpus(12)});
    CHECK(sim.accounts().own_usage(b, 0) == gpus(8));
  }};
  allot::sim::observers<1> both{&measured, &look};
  const auto sim = run<standard>(std::move(s), both);
  CHECK(lacking == std::vector<std::uint64_t>{4, 0});
  // It was entitled to all 8 GPUs and had them.
  CHECK(measured.figures(sim).of.fair_share_error == 0);
  CHECK(sim.history(0).end == 150 * second);
}

TEST_CASE("simulator: a job at its time limit ends with the work it has done") {
  std::vector<job<1>> jobs = {job_of(a, 2, 0, 100), job_of(a, 2, 10, 100), job_of(a, 2, 20, 30)};
  jobs[0].time_limit = jobs[2].time_limit = 30 * second;
  jobs[0].restart = 7 * second;
  diary seen;
  allot::lab::metrics<1> measured;
  allot::sim::observers<1> both{&seen, &measured};
  const auto sim = run<standard>(world<standard>(siblings({2}), std::move(jobs)), both);
  CHECK(seen.lines == log_lines{"0 submit 0", "0 start 0", "10 submit 1", "20 submit 2",
                                "30 evict 0 (time limit), lost 0", "30 start 1", "130 finish 1",
                                "130 start 2",
                                // It is done exactly when its time limit is reached.
                                "160 finish 2"});
  CHECK(sim.history(0).outcome == job_outcome::time_limit);
  CHECK(sim.history(0).end == 30 * second);
  CHECK(sim.history(0).work.left() == 70 * second);
  CHECK(sim.history(0).lost() == 0);
  const auto f = measured.figures(sim);
  CHECK(f.of.jobs.time_limit == 1);
  CHECK(f.of.jobs.completed == 2);
  CHECK(f.of.jobs.unfinished == 0);
  CHECK(f.of.preemptions == 0);
  CHECK(f.preemptions_by[static_cast<std::size_t>(allot::relation::time_limit)] == 1);
}

TEST_CASE("simulator: the time of a run counts from zero after an eviction") {
  std::vector<job<1>> jobs = {job_of(b, 8, 0, 100), job_of(a, 4, 20, 20)};
  jobs[0].time_limit = 50 * second;
  diary seen;
  const auto sim = run<standard>(world<standard>(siblings({4, 4}), std::move(jobs)), seen);
  CHECK(seen.lines.back() == "90 evict 0 (time limit), lost 0");
  CHECK(seen.settled_at == std::vector<instant>{0, 20 * second, 40 * second, 90 * second});
}

TEST_CASE("simulator: jobs on a failed node are lost, and none is placed there until it returns") {
  std::vector<job<1>> jobs = {gang_of(a, 4, 0, 0, 100), job_of(a, 1, 1, 100), job_of(a, 4, 40, 10)};
  jobs[0].checkpoint = 0;
  auto s = world<standard>(siblings({8}), std::move(jobs));
  s.where = nodes(2, 4);
  // The gang is placed on the first node. Later events on a node that is closed, or open, change nothing.
  s.node_events = {{30 * second, node_id{0}, node_change::down},
                   {35 * second, node_id{0}, node_change::down},
                   {50 * second, node_id{0}, node_change::up},
                   {55 * second, node_id{0}, node_change::up}};
  diary seen;
  allot::lab::metrics<1> measured;
  allot::sim::observers<1> both{&seen, &measured};
  const auto sim = run<standard>(std::move(s), both);
  // The gang, placed again, fills the other node first.
  CHECK(seen.lines == log_lines{"0 submit 0", "0 start 0", "1 submit 1", "1 start 1",
                                "30 evict 0 (node down), lost 0", "40 submit 2", "50 start 0", "101 finish 1",
                                "120 finish 0", "120 start 2", "130 finish 2"});
  CHECK(sim.history(0).node_failures == 1);
  CHECK(sim.history(0).preemptions == 0);
  const auto f = measured.figures(sim);
  CHECK(f.of.node_failures == 1);
  CHECK(f.of.preemptions == 0);
  // 8 GPUs except for 20 s with 4.
  CHECK(f.capacity == allot::wide{(8 * 110 + 4 * 20) * 1'000'000});
}

TEST_CASE("simulator: an elastic job loses the elastic pods on a failed node") {
  auto s = world<standard>(siblings({8}), {gang_of(a, 6, 2, 0, 100)});
  s.where = nodes(3, 2);
  s.node_events = {{50 * second, node_id{2}, node_change::down},
                   {60 * second, node_id{0}, node_change::down}};
  diary seen;
  const auto sim = run<standard>(std::move(s), seen);
  CHECK(log_lines(seen.lines.begin() + 6, seen.lines.end()) ==
        log_lines{"50 shrink 0 to 5 (node down)", "50 shrink 0 to 4 (node down)",
                  "60 evict 0 (node down), lost 56", "60 start 0", "360 finish 0"});
}

TEST_CASE("simulator: pods on a failed node are replaced, if the host has that done and there is room") {
  for (const bool replaces : {false, true}) {
    // Two gangs of two nodes each, of which the later one has priority, and a job that has a node for itself.
    std::vector<job<1>> jobs = {gang_of(a, 2, 2, 0, 100), gang_of(a, 1, 1, 0, 200), gang_of(a, 2, 2, 5, 30)};
    for (job<1>& j : jobs) {
      j.pod_request.gpus = gpus(2);
      j.request = allot::resources<1>{gpus(2) * j.pod_request.pods};
      j.preemptible = false;
    }
    jobs[0].checkpoint = 10 * second;
    jobs[0].restart = 5 * second;
    jobs[2].priority = 9;
    auto s = world<standard>(siblings({8}), std::move(jobs));
    s.where = nodes(4, 2);
    s.faults.replaces_failed_pods = replaces;
    s.node_events = {{14 * second, node_id{0}, node_change::down},
                     {38 * second, node_id{1}, node_change::down}};
    diary seen;
    const auto sim = run<standard>(std::move(s), seen);
    if (replaces) {
      // It goes on with the free node; then there is none, and the other gang can't start either.
      CHECK(seen.lines == log_lines{"0 submit 0", "0 submit 1", "0 start 0", "0 start 1", "5 submit 2",
                                    "14 evict 0 (node down), lost 4", "14 start 0",
                                    "38 evict 0 (node down), lost 9", "200 finish 1", "200 start 2",
                                    "230 finish 2", "230 start 0", "315 finish 0"});
    } else {
      CHECK(seen.lines == log_lines{"0 submit 0", "0 submit 1", "0 start 0", "0 start 1", "5 submit 2",
                                    "14 evict 0 (node down), lost 4", "14 start 2",
                                    "38 evict 2 (node down), lost 24", "200 finish 1", "200 start 2",
                                    "230 finish 2", "230 start 0", "325 finish 0"});
    }
    CHECK(sim.history(0).preemptions == 0);
  }
}

TEST_CASE("simulator: when a node goes, reservations are made again in their turn, and the cause is told") {
  // Two jobs wait for a gang that takes both nodes; the one that came first is also the first to start.
  for (const char* const preset : {"standard", "conservative"}) {
    for (const node_change how : {node_change::down, node_change::drain}) {
      CAPTURE(preset);
      CAPTURE(static_cast<int>(how));
      std::vector<job<1>> jobs = {gang_of(a, 2, 2, 0, 3600), job_of(a, 8, 100, 3600),
                                  job_of(a, 8, 101, 3600)};
      jobs[0].pod_request.gpus = gpus(8);
      jobs[0].request = allot::resources<1>{gpus(16)};
      jobs[0].estimate = 4000 * second;
      jobs[1].estimate = 3900 * second;
      jobs[2].estimate = 4000 * second;
      auto s = world<standard>(siblings({16}), std::move(jobs));
      s.where = nodes(2, 8);
      s.node_events = {{1000 * second, node_id{1}, how}};
      // On the node that is left, after the other.
      const instant start = (how == node_change::down ? 1000 : 4000) + 3900;
      each_instant<> check{[&](const allot::sim::simulator<1>& sim) {
        if (sim.now() != 1000 * second) return;
        const auto p = sim.scheduler().reservation_of(sim.history(2).id);
        REQUIRE(p);
        CHECK(p->start == start * second);
        CHECK(p->cause == allot::delay_cause::cluster);
      }};
      auto sim = simulator_of<1>(preset, std::move(s));
      REQUIRE(sim);
      diary<> seen;
      allot::sim::observers<1> both{&seen, &check};
      CHECK(run_on<1>(*sim, both).empty());
      CHECK(sim->history(1).first_start < sim->history(2).first_start);
    }
  }
}

TEST_CASE("simulator: a node that is drained keeps what it has and gets nothing more") {
  auto s = world<standard>(siblings({8}), {job_of(a, 2, 0, 100), job_of(a, 1, 20, 10), job_of(a, 4, 30, 5)});
  s.where = nodes(2, 4);
  s.node_events = {{10 * second, node_id{0}, node_change::drain},
                   {200 * second, node_id{0}, node_change::up}};
  allot::sim::run_log log;
  allot::sim::run_logger<1> runs{log};
  diary seen;
  allot::sim::observers<1> both{&seen, &runs};
  const auto sim = run<standard>(std::move(s), both);
  CHECK(seen.lines == log_lines{"0 submit 0", "0 start 0", "20 submit 1", "20 start 1", "30 finish 1",
                                "30 submit 2", "30 start 2", "35 finish 2", "100 finish 0"});
  CHECK(log.pods(*log.last_run(1))[0].where.node == node_id{1});
  CHECK(log.pods(*log.last_run(2))[0].where.node == node_id{1});
}

TEST_CASE(
    "simulator: a job that runs at the beginning has worked since its start, and one that is being evicted "
    "goes then") {
  std::vector<job<1>> jobs = {job_of(b, 4, 0, 100), gang_of(b, 4, 2, 5, 100), job_of(a, 1, 7, 10),
                              job_of(a, 4, 60, 10)};
  jobs[0].checkpoint = 25 * second;
  auto s = world<standard>(siblings({4, 4}), std::move(jobs));
  s.where = nodes(3, 4);
  using running = allot::sim::running_job_at_start;
  s.running = {running{.which = 0,
                       .since = 10 * second,
                       .where = stand(s.where, s.jobs[0].pod_request, 2),
                       .is_going = true},
               running{.which = 1,
                       .since = 40 * second,
                       .where = stand(s.where, {gpus(1), 2}, 1),
                       .elastic_pods = {stand(s.where, {gpus(1)}, 0)}}};
  diary seen;
  allot::lab::metrics<1> measured;
  allot::sim::run_log log;
  allot::sim::run_logger<1> runs{log};
  allot::sim::observers<1> all{&seen, &measured, &runs};
  const auto sim = run<standard>(std::move(s), all);
  // It begins at 40, when 30 s of the first are done and 25 saved.
  CHECK(seen.lines[0] == "40 submit 0");
  CHECK(seen.lines[1] == "40 start 0");
  CHECK(seen.lines[2] == "40 evict 0 (told before), lost 5");
  CHECK(log_lines(seen.lines.begin() + 3, seen.lines.begin() + 7) ==
        log_lines{"40 submit 1", "40 start 1", "40 grow 1 to 3", "40 submit 2"});
  CHECK(seen.settled_at.front() == 40 * second);
  CHECK(sim.history(0).first_start == 10 * second);
  CHECK(sim.history(1).first_start == 40 * second);
  CHECK(sim.history(0).preemptions == 1);
  CHECK(measured.waits().before_start(0) == 10 * second);
  CHECK(measured.waits().before_start(2) == 33 * second);
  CHECK(log.runs()[0].begin == 10 * second);
  CHECK(log.runs()[0].end == 40 * second);
  for (job_index j = 0; j < 4; ++j) CHECK(sim.history(j).outcome == job_outcome::completed);
}

TEST_CASE("simulator: a job running at the beginning may already be at its end or time limit") {
  std::vector<job<1>> jobs = {job_of(a, 1, 0, 10), job_of(a, 1, 0, 1000), job_of(a, 1, 30, 5)};
  jobs[1].time_limit = 20 * second;
  auto s = world<standard>(siblings({4}), std::move(jobs));
  s.running = {{.which = 0}, {.which = 1}, {.which = 2, .since = 30 * second}};
  diary seen;
  const auto sim = run<standard>(std::move(s), seen);
  CHECK(log_lines(seen.lines.begin() + 6, seen.lines.end()) ==
        log_lines{"30 finish 0", "30 evict 1 (time limit), lost 0", "35 finish 2"});
}

namespace {

/// Two flavors of GPUs, each on a node of its own: dimension 0 and pool 0, dimension 1 and pool 1.
allot::sim::setup<8> two_flavors(std::vector<job<8>> jobs, std::int64_t first, std::int64_t second_flavor) {
  std::vector<allot::quota_spec<8>> specs(1);
  specs[0].name = "a";
  specs[0].nominal = in_two(gpus(first), gpus(second_flavor));
  std::vector<allot::gpu::node_spec> both(2);
  both[0].name = "x";
  both[0].pool = "x";
  both[1].name = "y";
  both[1].pool = "y";
  both[0].gpus = both[1].gpus = 8;
  allot::sim::flavor_set<8> either;
  const std::vector<allot::resources<8>> options = {in_two(gpus(1), gpus(0)), in_two(gpus(0), gpus(1))};
  either.menu.add_group(options);
  either.pools = {0b01, 0b10};
  return {.quotas = allot::build_quota_tree(specs).value(),
          .settings = {standard{}.defaults()},
          .where = allot::sim::places{allot::gpu::build_cluster(both).value()},
          .jobs = std::move(jobs),
          .flavor_sets = {either}};
}

/// A job of one-GPU pods of either flavor.
job<8> either_of(std::uint32_t pods, std::uint32_t min_pods, instant submit_s, instant duration_s) {
  job<8> j;
  j.quota = quota_id{0};
  j.pod_request = {gpus(1), pods};
  j.min_pods = min_pods;
  j.flavors = 1;
  j.submit = submit_s * second;
  j.duration = duration_s * second;
  return j;
}

}  // namespace

TEST_CASE("simulator: a job has the flavor that it was given, in its accounts and on its nodes") {
  auto s = two_flavors({either_of(3, 0, 0, 10), either_of(2, 0, 1, 10), either_of(4, 1, 2, 10)}, 4, 4);
  std::vector<allot::resources<8>> used;
  std::vector<allot::resources<8>> wanted;
  each_instant<8> look{[&](const auto& sim) {
    used.push_back(sim.accounts().own_usage(quota_id{0}));
    wanted.push_back(sim.demand()[0]);
    CHECK(sim.scheduler().ledger().own_usage(quota_id{0}) == used.back());
  }};
  allot::sim::run_log log;
  allot::sim::run_logger<8> runs{log};
  allot::sim::observers<8> both{&look, &runs};
  const auto sim = run<standard>(std::move(s), both);
  // Three of the first flavor; two of the second, as the first has one left; that one for the third job,
  // which grows only by the flavor of its first pod.
  REQUIRE(used.size() >= 3);
  CHECK(used[0] == in_two(gpus(3), gpus(0)));
  CHECK(used[1] == in_two(gpus(3), gpus(2)));
  CHECK(used[2] == in_two(gpus(4), gpus(2)));
  CHECK(wanted[1] == in_two(gpus(3), gpus(2)));
  CHECK(wanted[2] == in_two(gpus(7), gpus(2)));
  CHECK(sim.wanted(1) == in_two(gpus(0), gpus(2)));
  CHECK(log.pods(*log.last_run(0))[0].where.node == node_id{0});
  CHECK(log.pods(*log.last_run(1))[0].where.node == node_id{1});
  CHECK(used.back() == allot::resources<8>{});
  CHECK(wanted.back() == allot::resources<8>{});
  // 1 pod for 8 s, and 4 for the other 32 pod-seconds.
  CHECK(sim.history(2).end == 18 * second);
}

namespace {

/// A policy that never comes to rest: each of two jobs has the other evicted for it, again and again.
template <class Session>
class restless_cycle {
 public:
  template <class Policies>
  explicit restless_cycle(const Policies&) {}
  void reset(Session&) {}
  void run(Session& session) {
    const auto waits = session.first_of(quota_id{1});
    if (!waits) return;
    const allot::job_id id = *waits;
    const std::size_t first = session.plan().evictions.size();
    const auto running = session.books().running().jobs_of(quota_id{1});
    if (!running.empty()) {
      session.evict(running.front().id, id, allot::relation::same_quota);
      return session.announce(id, first);
    }
    if (const auto at = session.books().places.place(session.jobs().at(id).pod_request))
      session.admit(id, *at);
  }
};
struct restless_policies : allot::policies<> {
  template <class Session>
  using cycle = restless_cycle<Session>;
};
struct restless : standard {
  using policies_type = restless_policies;
};

}  // namespace

TEST_CASE("simulator: a policy that never comes to rest is stopped and reported, and time goes on") {
  std::vector<job<1>> jobs = {job_of(a, 1, 0, 100), job_of(a, 1, 10, 100)};
  jobs[0].checkpoint = jobs[1].checkpoint = 0;
  auto s = world<restless>(siblings({1}), std::move(jobs));
  s.cancels = {{60 * second, 1}};
  diary seen;
  auto made = allot::sim::simulator<1>::make(std::move(s), restless{});
  REQUIRE(made);
  auto& sim = made.value();
  CHECK(sim.run(seen).empty());
  CHECK(sim.livelocks().instants == 1);
  CHECK(sim.livelocks().first == 10 * second);
  REQUIRE(sim.livelocks().job);
  CHECK(*sim.livelocks().job <= 1);
  CHECK(sim.decisions() < 400);
  CHECK(sim.history(0).outcome == job_outcome::completed);
}

namespace {

template <class Preset>
allot::sim::setup<8> with_defaults(allot::sim::setup<8> s) {
  for (auto& settings : s.settings) settings = Preset{}.defaults();
  return s;
}
instant begin_of(const allot::sim::setup<8>& s) {
  instant begin = 0;
  for (const auto& r : s.running) begin = std::max({begin, r.since, s.jobs[r.which].submit});
  return begin;
}
bool is_running_at_start(const allot::sim::setup<8>& s, job_index j) {
  return std::any_of(s.running.begin(), s.running.end(), [j](const auto& r) { return r.which == j; });
}

/// Checks that the accounts are those of the scheduler and of the devices in use, that failed nodes are empty
/// and drained ones get nothing more, and that no job exceeds its time limit.
class world_auditor {
 public:
  explicit world_auditor(const allot::sim::setup<8>& given)
      : events_(given.node_events.begin(), given.node_events.end()),
        state_(given.where.inventory().layout().size(), node_change::up),
        used_(state_.size(), gpus(64)),
        faults_(given.faults),
        begin_(begin_of(given)) {}

  void look(const allot::sim::simulator<8>& sim) {
    allot::resources<8> all;
    const bool has_same_tree = sim.scheduler().tree().slots() == sim.accounts().tree().slots();
    for (std::size_t x = 0; x < sim.accounts().tree().slots(); ++x) {
      const auto own = sim.accounts().own_usage(quota_id{x});
      if (has_same_tree) REQUIRE(own == sim.scheduler().ledger().own_usage(quota_id{x}));
      all += own;
    }
    const auto& inventory = sim.places().inventory();
    // What leaves, or is to be had by then, is counted otherwise.
    if (sim.scheduler().nominated().empty() && sim.scheduler().evicting().empty()) {
      REQUIRE(inventory.used(0b01) == all[0]);
      REQUIRE(inventory.used(0b10) == all[1]);
      REQUIRE(inventory.held() == quantity{});
    }
    for (; !events_.empty() && events_.front().at <= sim.now(); events_.erase(events_.begin())) {
      state_[events_.front().node.index()] = events_.front().what;
      if (events_.front().what == node_change::up) used_[events_.front().node.index()] = gpus(64);
    }
    for (std::size_t n = 0; n < state_.size(); ++n) {
      const quantity used = inventory.index().used(node_id{n});
      REQUIRE(inventory.is_closed(node_id{n}) == (state_[n] != node_change::up));
      if (state_[n] == node_change::down) REQUIRE(used == quantity{});
      // What was to leave, and then could not, counts again.
      if (state_[n] == node_change::drain && !faults_.delays_evictions()) REQUIRE(used <= used_[n]);
      used_[n] = state_[n] == node_change::up ? gpus(64) : used;
    }
    for (job_index j = 0; j < sim.jobs().size(); ++j) {
      const auto& h = sim.history(j);
      const instant limit = sim.jobs()[j].time_limit;
      REQUIRE((h.work.pods() > 0) == (h.outcome == job_outcome::running));
      if (h.work.pods() == 0 || limit == 0) continue;
      // Its limit may come while an eviction is to fail that takes its time, and then one for the limit
      // begins.
      const instant more = faults_.start.most + 2 * faults_.eviction.most;
      const instant ran = sim.now() - std::max(h.last_start, begin_);
      REQUIRE((ran < limit + faults_.start.most || (faults_.delays_evictions() && ran <= limit + more)));
    }
  }

 private:
  std::vector<allot::sim::node_event> events_;
  std::vector<node_change> state_;
  std::vector<quantity> used_;
  allot::sim::host_faults faults_;
  instant begin_;
};

}  // namespace

TEST_CASE(
    "simulator: everything together: the books agree, work is conserved, and the same goes the same way") {
  for_each_seed(300, [](random_source& random) {
    const allot::sim::setup<8> given = make_rich_world(random);
    allot::for_each_preset([&](auto preset) {
      using preset_type = decltype(preset);
      INFO("under " << preset_type::name);
      world_auditor audit{given};
      each_instant<8> look{[&](const auto& sim) { audit.look(sim); }};
      diary<8> seen;
      allot::sim::run_log log;
      allot::sim::run_logger<8> runs{log};
      allot::per_dimension<bool, 8> gpus_are{false};
      gpus_are[0] = gpus_are[1] = true;
      allot::lab::metrics<8> measured{{.gpus = gpus_are}};
      allot::sim::observers<8> all{&seen, &runs, &measured, &look};
      auto made = simulator_of(preset_type::name, with_defaults<preset_type>(given));
      if (!made) return;  // the preset does not accept its quotas
      auto& sim = *made;
      if (!run_on(sim, all).empty()) {
        // A parent that must contain its children can't have less than they have.
        REQUIRE_FALSE(given.quota_events.empty());
        REQUIRE((preset_type::name == allot::pai::name || preset_type::name == allot::hyperpod::name ||
                 preset_type::name == allot::runai::name));
        return;
      }

      std::vector<instant> ran(sim.jobs().size());
      for (const auto& r : log.runs()) {
        ran[r.job] += (r.end - r.begin) * (r.elastic ? 1 : sim.jobs()[r.job].fewest_pods());
      }
      for (const auto& r : given.running) {
        // The log has these pods only from the beginning on.
        ran[r.which] += static_cast<instant>(r.elastic_pods.size()) * (begin_of(given) - r.since);
      }
      for (job_index j = 0; j < sim.jobs().size(); ++j) {
        const auto& h = sim.history(j);
        const auto& job = sim.jobs()[j];
        REQUIRE(h.outcome != job_outcome::running);
        REQUIRE(h.outcome != job_outcome::future);
        if (h.outcome != job_outcome::completed) continue;
        REQUIRE(h.work.left() == 0);
        // Kueue starts it with any number of pods, which the log does not record.
        const bool is_kueue = preset_type::name.substr(0, 5) == allot::kueue::name;
        if (is_kueue && job.fewest_pods() != job.pods()) continue;
        // In the last millisecond of a run there may not be work for all pods.
        const instant idle = ran[j] - job.duration * job.pods() - h.work.lost();
        // A job that runs at the beginning and was already done ends then.
        if (!is_running_at_start(given, j)) REQUIRE(idle < job.pods());
        REQUIRE(idle >= 0);
      }
      const auto f = measured.figures(sim);
      const auto& counts = f.of.jobs;
      REQUIRE(counts.total ==
              counts.completed + counts.unfinished + counts.refused + counts.cancelled + counts.time_limit);
      REQUIRE(counts.unfinished == counts.waiting + counts.running + counts.future);

      diary<8> again;
      auto same = simulator_of(preset_type::name, with_defaults<preset_type>(given));
      REQUIRE(run_on(*same, again).empty());
      REQUIRE(again.lines == seen.lines);
      REQUIRE(same->decision_hash().value() == sim.decision_hash().value());
    });
  });
}

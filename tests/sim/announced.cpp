// SPDX-License-Identifier: BSL-1.0
// Failures and returns of nodes, and resizes of quotas, that are announced: jobs with an estimate are not cut
// off, shorter ones fill the time before, and reservations know when there is room again.
#include <allot/sim/observers.hpp>
#include <allot/sim/simulator.hpp>
#include <allot/systems/by_name/catalog.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/rich_world.hpp"
#include "tests/sim/small_world.hpp"
#include "tests/support/seeds.hpp"

using namespace allot_test;
using allot::standard;
using allot::gpu::node_id;
using allot::sim::job;
using allot::sim::node_change;

namespace {

job<1> exact(std::int64_t size, instant submit_s, instant duration_s) {
  job<1> j = job_of(a, size, submit_s, duration_s);
  j.estimate = j.duration;
  return j;
}
/// Two nodes of 8 GPUs, all of a's, which are out from 100 to 150 s.
allot::sim::setup<1> maintained(std::vector<job<1>> jobs) {
  auto s = world<standard>(siblings({16}), std::move(jobs));
  s.where = nodes(2, 8);
  for (const std::size_t n : {0U, 1U}) {
    s.node_events.push_back({100 * second, node_id{n}, node_change::down, instant{0}});
    s.node_events.push_back({150 * second, node_id{n}, node_change::up, instant{0}});
  }
  std::stable_sort(s.node_events.begin(), s.node_events.end(),
                   [](const auto& l, const auto& r) { return l.at < r.at; });
  return s;
}

/// Jobs without a reservation may pass one with a reservation that they do not delay.
allot::sim::setup<1> reserving(allot::sim::setup<1> s) {
  for (auto& of : s.settings) of.head = allot::queue_head::reserve;
  return s;
}
/// The quota owns as much from then on, which is known from the beginning.
allot::sim::quota_event<1> resized(quota_id x, std::int64_t to, instant at_s) {
  return {at_s * second, allot::resize_quota<1>{.quota = x, .nominal = allot::resources<1>{gpus(to)}}, 0};
}
/// What is promised to jobs, whenever that changes, and what happens.
struct told {
  diary<> seen;
  std::map<allot::sim::job_index, std::vector<instant>> promised;
};
told run_and_listen(allot::sim::setup<1> s) {
  told all;
  each_instant<1> look{[&](const auto& sim) {
    for (allot::sim::job_index j = 0; j < sim.jobs().size(); ++j) {
      const allot::job_id id = sim.history(j).id;
      if (!id) continue;
      auto& of = all.promised[j];
      const auto p = sim.scheduler().reservation_of(id);
      if (p && (of.empty() || of.back() != p->start / second)) of.push_back(p->start / second);
    }
  }};
  allot::sim::observers<1> both{&all.seen, &look};
  static_cast<void>(run<standard>(std::move(s), both));
  return all;
}

}  // namespace

TEST_CASE("outages: who would be cut off has a reserved start after it, and who fits before it runs") {
  const told t = run_and_listen(
      reserving(maintained({exact(16, 0, 200), exact(8, 0, 100), exact(8, 5, 96), exact(8, 10, 90)})));
  CHECK(t.seen.lines == log_lines{"0 submit 0", "0 submit 1", "0 start 1", "5 submit 2", "10 submit 3",
                                  "10 start 3", "100 finish 1", "100 finish 3", "150 start 0", "350 finish 0",
                                  "350 start 2", "446 finish 2"});
  CHECK(t.promised.at(0) == std::vector<instant>{150});
  CHECK(t.promised.at(2).back() == 350);
}

TEST_CASE("outages: while nodes are out it is known when they are back") {
  const told t = run_and_listen(reserving(maintained({exact(4, 110, 10)})));
  CHECK(t.promised.at(0) == std::vector<instant>{150});
}

TEST_CASE("resizes: who would be evicted for one waits, and who ends before it or fits after it starts") {
  auto s = reserving(world<standard>(siblings({16}), {exact(8, 0, 200), exact(8, 0, 101), exact(8, 1, 90)}));
  s.quota_events = {resized(a, 8, 100)};
  const told t = run_and_listen(std::move(s));
  CHECK(t.seen.lines == log_lines{"0 submit 0", "0 submit 1", "0 start 0", "1 submit 2", "1 start 2",
                                  "91 finish 2", "200 finish 0", "200 start 1", "301 finish 1"});
  CHECK(t.promised.at(1) == std::vector<instant>{200});
}

TEST_CASE("resizes: what is lent by others counts as it will be") {
  auto s = world<standard>(siblings({8, 8}), {exact(16, 0, 101), exact(16, 1, 99), job_of(a, 9, 102, 30)});
  s.quota_events = {resized(b, 0, 100)};
  const told t = run_and_listen(std::move(s));
  CHECK(t.seen.lines ==
        log_lines{"0 submit 0", "1 submit 1", "1 start 1, borrows 8", "100 finish 1", "102 submit 2"});
}

TEST_CASE("resizes: a start is reserved for when the quota owns enough, and who would delay it waits") {
  auto s = reserving(world<standard>(siblings({8}), {exact(16, 0, 50), exact(8, 0, 101), exact(8, 1, 99)}));
  s.quota_events = {resized(a, 16, 100)};
  const told t = run_and_listen(std::move(s));
  CHECK(t.seen.lines == log_lines{"0 submit 0", "0 submit 1", "1 submit 2", "1 start 2", "100 finish 2",
                                  "100 start 0", "150 finish 0", "150 start 1", "251 finish 1"});
  CHECK(t.promised.at(0) == std::vector<instant>{100});
}

TEST_CASE("resizes: what is not announced, and who has no estimate, is as before") {
  auto s = world<standard>(siblings({16}), {exact(16, 0, 200)});
  s.quota_events = {resized(a, 8, 100)};
  s.quota_events[0].known_since = allot::without_end;
  CHECK(run_and_listen(s).seen.lines[1] == "0 start 0");
  // No estimate: nobody knows.
  s.quota_events[0].known_since = 0;
  s.jobs[0].estimate = 0;
  CHECK(run_and_listen(s).seen.lines[1] == "0 start 0");
}

TEST_CASE("outages: what is not announced, and who has no estimate, is as before") {
  auto s = maintained({exact(16, 0, 200), job_of(a, 4, 0, 120)});
  s.jobs[0].estimate = 0;
  for (auto& e : s.node_events) e.known_since = allot::without_end;
  diary before;
  static_cast<void>(run<standard>(s, before));
  CHECK(before.lines[2] == "0 start 0");

  s = maintained({job_of(a, 4, 0, 120)});
  diary unknown;
  static_cast<void>(run<standard>(std::move(s), unknown));
  CHECK(unknown.lines == log_lines{"0 submit 0", "0 start 0", "100 evict 0 (node down), lost 100",
                                   "150 start 0", "270 finish 0"});
}

TEST_CASE("outages: an announcement counts from when it is made") {
  auto s = maintained({exact(8, 0, 120), exact(8, 40, 70), exact(8, 60, 45)});
  for (auto& e : s.node_events) e.known_since = 50 * second;
  diary seen;
  static_cast<void>(run<standard>(std::move(s), seen));
  CHECK(seen.lines == log_lines{"0 submit 0", "0 start 0", "40 submit 1", "40 start 1", "60 submit 2",
                                "100 evict 0 (node down), lost 100", "100 evict 1 (node down), lost 60",
                                "150 start 2", "150 start 1", "195 finish 2", "195 start 0", "220 finish 1",
                                "315 finish 0"});
}

TEST_CASE("outages: no policy starts a job that its estimate would have cut off") {
  std::size_t lost = 0;
  std::size_t completed = 0;
  for_each_seed(400, [&](random_source& random) {
    allot::sim::setup<8> given = make_rich_world(random);
    given.faults = {};
    given.running.clear();
    given.cancels.clear();
    for (auto& j : given.jobs) {
      j.estimate = 0;
      if (j.unlike != 0 || random.one_in(4)) continue;
      j.min_pods = 0;
      j.estimate = j.duration;
    }
    const std::size_t count = given.where.inventory().layout().size();
    given.where = allot::sim::places{given.where.inventory().layout(), *given.where.inventory().nearness()};
    given.node_events.clear();
    for (std::size_t n = 0; n < count; ++n) {
      instant at = 0;
      while (random.one_in(2)) {
        at += random.between(1, 30) * second;
        const auto known = [&] {
          return random.one_in(2) ? 0 : at - random.between(0, at / second) * second;
        };
        given.node_events.push_back({at, node_id{n}, node_change::down, known()});
        at += random.between(1, 30) * second;
        given.node_events.push_back({at, node_id{n}, node_change::up, known()});
      }
    }
    std::stable_sort(given.node_events.begin(), given.node_events.end(),
                     [](const auto& l, const auto& r) { return l.at < r.at; });

    allot::for_each_preset([&](auto preset) {
      using preset_type = decltype(preset);
      INFO("under " << preset_type::name);
      auto s = given;
      for (auto& settings : s.settings) {
        settings = preset_type{}.defaults();
        if (preset_type::name == standard::name) settings.head = allot::queue_head::reserve;
      }
      // When each job started, and where it was lost.
      class watcher final : public allot::sim::observer<8> {
       public:
        explicit watcher(std::size_t& lost) : lost_(lost) {}
        void on(const allot::sim::simulator<8>& sim, const allot::sim::job_event<8>& e) override {
          if (e.what == allot::sim::job_event_kind::started) started_[e.job] = sim.now();
          if (e.what != allot::sim::job_event_kind::evicted ||
              e.how.why != allot::sim::interruption::cause::node_down)
            return;
          ++lost_;
          const auto& its = sim.jobs()[e.job];
          // It may reach its time limit as its node fails.
          if (its.estimate == 0 || (its.time_limit > 0 && sim.now() - started_[e.job] >= its.time_limit))
            return;
          // All that failed now had been announced later than it started.
          INFO("job " << e.job << ", started at " << started_[e.job] << ", lost at " << sim.now());
          CHECK(is_late(sim, started_[e.job]));
        }
        std::vector<allot::sim::node_event> events;

       private:
        [[nodiscard]] bool is_late(const allot::sim::simulator<8>& sim, instant since) const {
          return std::any_of(events.begin(), events.end(), [&](const auto& e) {
            return e.at == sim.now() && e.what == node_change::down && e.known_since > since;
          });
        }
        std::size_t& lost_;
        std::map<allot::sim::job_index, instant> started_;
      } watch{lost};
      watch.events = {s.node_events.begin(), s.node_events.end()};
      auto made = simulator_of(preset_type::name, std::move(s));
      if (!made) return;
      if (!run_on(*made, watch).empty()) return;
      for (allot::sim::job_index j = 0; j < made->jobs().size(); ++j)
        completed += made->history(j).outcome == allot::sim::job_outcome::completed ? 1U : 0U;
    });
  });
  CHECK(lost > 0);
  CHECK(completed > 0);
}

TEST_CASE("resizes: if all is known, nobody is evicted for one") {
  std::size_t resizes = 0;
  std::size_t reclaims = 0;
  for_each_seed(400, [&](random_source& random) {
    allot::sim::setup<8> given = make_rich_world(random);
    given.faults = {};
    given.running.clear();
    given.cancels.clear();
    given.node_events.clear();
    given.unlike.clear();
    given.where = allot::sim::places{given.where.inventory().layout(), *given.where.inventory().nearness()};
    erase_if(given.jobs, [](const auto& j) { return j.unlike != 0; });
    for (auto& j : given.jobs) {
      j.min_pods = 0;
      j.estimate = std::max<instant>(1, j.duration);
    }
    given.quota_events.clear();
    for (std::size_t x = 0; x < given.quotas.slots(); ++x) {
      for (instant at = random.between(1, 60); random.one_in(2); at += random.between(0, 30)) {
        const auto to = in_two(gpus(random.between(0, 6)), gpus(random.between(0, 6)));
        given.quota_events.push_back(
            {at * second, allot::resize_quota<8>{.quota = quota_id{x}, .nominal = to}, instant{0}});
      }
    }
    std::stable_sort(given.quota_events.begin(), given.quota_events.end(),
                     [](const auto& l, const auto& r) { return l.at < r.at; });
    resizes += given.quota_events.size();

    for (const auto head : {allot::queue_head::reserve, allot::queue_head::best_effort}) {
      auto s = given;
      for (auto& settings : s.settings) {
        settings = standard{}.defaults();
        settings.head = head;
      }
      class watcher final : public allot::sim::observer<8> {
       public:
        explicit watcher(std::size_t& reclaims) : reclaims_(reclaims) {}
        void on(const allot::sim::simulator<8>& sim, const allot::sim::job_event<8>& e) override {
          if (e.what != allot::sim::job_event_kind::evicted) return;
          INFO("job " << e.job << " at " << sim.now());
          CHECK(e.how.how != allot::relation::resized);
          ++reclaims_;
        }

       private:
        std::size_t& reclaims_;
      } watch{reclaims};
      auto made = simulator_of<8>(standard::name, std::move(s));
      REQUIRE(made);
      REQUIRE(run_on(*made, watch).empty());
    }
  });
  CHECK(resizes > 0);
  CHECK(reclaims > 0);
}

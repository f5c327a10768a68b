// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/kai/detail/action_cycle.hpp>

#include "tests/support/count_allocations.hpp"
#include "tests/support/kai_world.hpp"
#include "tests/support/seeds.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using allot_test::random_source;
using world = allot_test::kai_world;

namespace {

/// Departments of teams with running and waiting jobs, as text.
std::string random_world(random_source& random, bool elastic) {
  const bool with_fractions = random.one_in(3);
  std::string told = "nodes";
  std::vector<std::int64_t> free(random.below(4) + 1);
  for (std::int64_t& f : free) told += " " + std::to_string(f = random.between(1, 6));
  std::vector<std::string> teams;
  std::map<std::string, std::int64_t> room;
  const std::size_t departments = random.below(3) + 1;
  for (std::size_t d = 0; d < departments; ++d) {
    const std::string name = "d" + std::to_string(d);
    told += "\n queue " + name + " - " + (random.one_in(3) ? "-" : std::to_string(random.between(0, 6))) +
            " " + std::to_string(random.between(0, 2));
    const std::size_t of_it = random.below(3) + 1;
    for (std::size_t t = 0; t < of_it; ++t) {
      teams.push_back(name + "t" + std::to_string(t));
      const std::int64_t deserved = random.between(0, 4);
      told += "\n queue " + teams.back() + " " + name + " " + std::to_string(deserved) + " " +
              std::to_string(random.between(0, 3)) + " prio=" + std::to_string(random.below(2));
      room[teams.back()] = 1'000;
      if (!random.one_in(4)) continue;
      room[teams.back()] = deserved + random.between(0, 4);
      told += " limit=" + std::to_string(room[teams.back()]);
    }
  }
  const std::size_t running = random.below(8);
  for (std::size_t j = 0; j < running; ++j) {
    std::string nodes;
    const std::string team = random.pick(teams);
    const std::int64_t each = random.between(1, 2);
    std::int64_t pods = 0;
    for (std::size_t n = 0; n < free.size() && pods < 3; ++n) {
      if (free[n] < each || room[team] < each || random.one_in(3)) continue;
      nodes += (pods == 0 ? " @" : ",") + std::to_string(n);
      free[n] -= each;
      room[team] -= each;
      ++pods;
    }
    if (pods == 0) continue;
    told += "\n run r" + std::to_string(j) + " " + team + " " + std::to_string(pods) + "x" +
            std::to_string(each) + nodes;
    told += random.one_in(6) ? " prio=75" : "";
    if (random.one_in(8)) told += " keep";
    if (elastic && pods > 1 && random.one_in(2))
      told += " min=" + std::to_string(random.between(1, pods - 1));
  }
  const std::size_t waiting = random.below(7) + 1;
  for (std::size_t j = 0; j < waiting; ++j) {
    const std::int64_t pods = random.between(1, 3);
    told += "\n wait p" + std::to_string(j) + " " + random.pick(teams) + " " + std::to_string(pods) + "x" +
            (with_fractions && random.one_in(3) ? "0.5" : std::to_string(random.between(1, 3)));
    told += random.one_in(3) ? " prio=75" : (random.one_in(6) ? " prio=100" : "");
    if (elastic && pods > 1 && random.one_in(2))
      told += " min=" + std::to_string(random.between(1, pods - 1));
  }
  return told;
}

/// Two teams that deserve nothing and want more than there is, so that they take turns.
std::string turns(random_source& random) {
  const std::int64_t gpus = random.between(2, 6);
  std::string told = "nodes " + std::to_string(gpus) + "\n queue d0 - 0 1";
  for (const std::string team : {"d0t0", "d0t1"}) {
    told += "\n queue " + team + " d0 0 " + std::to_string(random.between(1, 3));
    for (int j = 0; j < 4; ++j) {
      told += "\n wait " + team + "j" + std::to_string(j) + " " + team + " 1x" +
              std::to_string(random.between((gpus + 1) / 2, gpus));
    }
  }
  return told;
}

/// Whether an elastic job of that world belongs to q or a quota below it.
bool has_elastic_jobs(const std::string& told, const allot::quota_tree<>& tree, allot::quota_id q) {
  std::istringstream lines{told};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words{line};
    std::string kind, name, quota;
    words >> kind >> name >> quota;
    if (line.find(" min=") == std::string::npos) continue;
    for (allot::quota_id x = tree.find(quota); x; x = tree.parent(x)) {
      if (x == q) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("action_cycle: an unchanged world is left alone, and a changed one is decided again") {
  world w{R"(
    nodes 2
    queue d - - 1
    queue a d 1 1
    run r a 1x2 @0
    wait p a 1x1)"};
  CHECK(w.step().empty());
  CHECK(w.scheduler().step(5).pending.empty());
  w.finished("r");
  CHECK(w.step(6) == "+p");
}

TEST_CASE("action_cycle: the plan lists the first pending unit of each kind") {
  world w{R"(
    nodes 2
    queue d - - 1
    queue a d 1 1
    run r a 1x2 @0
    wait p a 1x1
    wait q a 1x1
    wait s a 1x2)"};
  const auto& plan = w.scheduler().step(1);
  REQUIRE(plan.pending.size() == 2);
  CHECK(plan.pending[0].what->name == "p");
  CHECK(plan.pending[1].what->name == "s");
}

TEST_CASE("action_cycle: the queue depth bounds the jobs tried per quota") {
  const std::string told =
      "nodes 4\n queue d - - 1\n queue a d 4 1\n run r a 1x1 @0 keep\n"
      "wait p a 1x4\n wait q a 1x1\n wait s a 1x2";
  allot::kai_policies policies;
  policies.queue_depth = 2;
  CHECK(world{told, policies}.step() == "~s +q");  // Among the first two tried when others may move.
  policies.queue_depth = 0;
  CHECK(world{told, policies}.step() == "+q +s");
}

TEST_CASE("action_cycle: jobs that fit once evicted jobs have left are pipelined") {
  world w{R"(
    nodes 2
    queue d - - 1
    queue a d 2 1
    gone l a 1x1 @0
    run r a 1x1 @0
    wait p a 1x1)"};
  CHECK(w.step() == "~p");
  CHECK(w.step().empty());
  w.finished("l");
  CHECK(w.step() == "+p");
}

TEST_CASE("action_cycle: past usage counts if k is set") {
  const std::string told = R"(
    nodes 4
    queue a - 0 1
    queue b - 0 1
    run r0 a 1x1 @0
    run r1 a 1x1 @0
    run r2 a 1x1 @0
    run r3 a 1x1 @0
    wait p b 1x3)";
  CHECK(world{told}.step(100).empty());  // Half of four is two.
  allot::kai_policies policies;
  policies.k = 4000;
  world w{told, policies};
  CHECK(w.step(1).empty());  // There is no past usage yet.
  // a has had all of the cluster: its part is 0.5 + 4 (0.5 - 1), which is negative, so it gets nothing.
  CHECK(w.step(100) == "-r3 -r2 -r1 ~p");
}

TEST_CASE("action_cycle: with past usage a host may sleep until it is told to wake") {
  std::size_t later_evictions = 0;
  std::size_t steps = 0;
  std::size_t instants = 0;
  allot_test::for_each_seed(400, [&](random_source& random) {
    const std::string told = random.one_in(2) ? turns(random) : random_world(random, random.one_in(3));
    INFO(told);
    allot::kai_policies policies;
    policies.k = random.between(1, 4) * 1000;
    policies.half_life = random.one_in(3) ? 0 : random.between(1, 60);
    policies.window = random.one_in(4) ? 0 : random.between(10, 120);
    world sleeps{told, policies};
    // As KAI does: a whole cycle at every instant, whether or not anything can have changed.
    world runs{told, policies};
    bool has_news = true;
    for (allot::instant now = 1; now < 150; ++now) {
      if (random.one_in(30)) {
        const std::string job = "wait n" + std::to_string(now) + " d0t0 1x1";
        sleeps.tell(job);
        runs.tell(job);
        has_news = true;
      }
      runs.retry();
      const std::string said = runs.step(now);
      ++instants;
      const auto wakes = sleeps.scheduler().wakes_at();
      std::string same;
      if (has_news || (wakes && *wakes <= now)) {
        same = sleeps.step(now);
        ++steps;
      }
      INFO(now);
      REQUIRE(same == said);
      later_evictions += !has_news && said.find('-') != std::string::npos ? 1U : 0U;
      has_news = !said.empty();
      if (!has_news) CHECK(sleeps.step(now).empty());
      for (world* w : {&sleeps, &runs}) w->let_go();
    }
  });
  CHECK((later_evictions > 500 || !allot_test::all_cases_run()));
  CHECK((steps < instants || !allot_test::all_cases_run()));
}

TEST_CASE("action_cycle: time wakes a host only while it may change a decision") {
  const std::string nodes_and_queues = "nodes 4\n queue a - 0 1\n queue b - 0 1\n";
  const std::string running = nodes_and_queues + "run r a 1x4 @0\n";
  const auto wakes = [](const std::string& told, std::int64_t k) {
    allot::kai_policies policies;
    policies.k = k;
    policies.period = 10;
    world w{told, policies};
    CHECK_FALSE(w.scheduler().wakes_at());  // There has been no step yet.
    static_cast<void>(w.step(5));
    return w.scheduler().wakes_at();
  };
  CHECK(wakes(running + "wait p b 1x3", 1000) == 15);
  // Nothing is pending; nothing that runs could leave; time does not count.
  CHECK_FALSE(wakes(running, 1000));
  CHECK_FALSE(wakes(nodes_and_queues + "wait p b 1x5", 1000));
  CHECK_FALSE(wakes(running + "wait p b 1x3", 0));
}

TEST_CASE("action_cycle: the period restarts with each cycle") {
  allot::kai_policies policies;
  policies.k = 4000;
  policies.period = 10;
  world w{"nodes 4\n queue a - 0 1\n queue b - 0 1\n run r a 1x4 @0\n wait p b 1x3", policies};
  CHECK(w.step(0).empty());
  CHECK(w.step(9).empty());
  CHECK(w.scheduler().wakes_at() == 10);
  w.tell("wait q b 1x4");
  CHECK(w.step(9) == "-r ~p");
  CHECK(w.scheduler().wakes_at() == 19);
  // What is kept moves with the clock.
  w.scheduler().rebase(109);
  CHECK(w.scheduler().wakes_at() == 119);
}

TEST_CASE("action_cycle: it comes to rest and respects limits in any world") {
  allot_test::for_each_seed(1500, [](random_source& random) {
    const bool elastic = random.one_in(2);
    const std::string told = random_world(random, elastic);
    INFO(told);
    world w{told};
    auto& s = w.scheduler();
    for (int round = 0; round < 3; ++round) {
      const std::string diary = w.settle(40);
      INFO(diary);
      // In the end no job is evicted any more. (What allocate grants in a cycle, a later phase may take back
      // in the same cycle, forever: see the next case.)
      if (!elastic) CHECK(w.settle(10).find('-') == std::string::npos);
      for (const allot::quota_id q : s.tree().top_down()) {
        if (has_elastic_jobs(told, s.tree(), q)) continue;  // See "runai: a gang that evicts".
        CHECK(s.assumed().total_usage(q)[0] <= allot::limit_of(s.tree().spec(q), 0));
      }
      if (round == 0) CHECK(world{told}.settle(40) == diary);  // No eviction depends on chance.
      w.tell("wait n" + std::to_string(round) + " d0t0 1x1");
    }
  });
}

TEST_CASE("action_cycle: a job may be evicted in the cycle that allocated it, as in KAI, but not forever") {
  // Best fit puts a on node 0, where it leaves too little for p. While a is being evicted, it can start at
  // once only on node 1; so a consolidation moves it, and both are pending.
  world w{R"(
    nodes 3 5
    queue d - - 1
    queue t d 2 3
    wait p t 2x3
    wait a t 1x2 prio=75)"};
  CHECK(w.step() == "~a ~p");
  // KAI would repeat this in each cycle. No job is being evicted, so the announced job starts.
  CHECK(w.step() == "+p +a");
  CHECK(w.step().empty());
}

TEST_CASE("action_cycle: a job that can never fit stays in the queue and counts in the shares") {
  const std::string told = R"(
    nodes 2
    queue d - - 1
    queue a d 1 1
    queue b d 1 3
    run r b 1x2 @0)";
  CHECK(world{told + "\n wait small a 1x1"}.step() == "-r ~small");
  // Its request orders a behind b, whose job is then placed again first.
  CHECK(world{told + "\n wait big a 1x4\n wait small a 1x1"}.step().empty());
}

TEST_CASE("action_cycle: a step does not allocate once its buffers have grown") {
  // b borrows all that a leaves, is moved for the gang of its own department, and gives back what a asks for.
  world w{R"(
    nodes 4 4 4
    queue d - - 1
    queue a d 6 1
    queue b d 3 1
    queue c d 3 1
    wait b0 b 1x1
    wait b1 b 1x3
    wait b2 b 2x1
    wait b3 b 1x2
    wait c0 c 1x0.5
    wait c1 c 1x2 prio=75)"};
  std::size_t allocations = 0;
  std::size_t admitted = 0;
  std::size_t evicted = 0;
  std::vector<allot::job_id> going;
  going.reserve(64);
  allot::instant now = 0;
  const auto settle = [&](bool counted) {
    for (;;) {
      bool quiet = false;
      const std::size_t in_step = allot_test::allocations_in([&] {
        const auto& plan = w.scheduler().step(++now);
        quiet = plan.evictions.empty() && plan.admissions.empty();
        for (const auto& e : plan.evictions) going.push_back(e.id);
        if (!counted) return;
        admitted += plan.admissions.size();
        evicted += plan.evictions.size();
      });
      if (counted) allocations += in_step;
      for (const allot::job_id id : going) {
        if (w.scheduler().state(id) == allot::job_state::evicting) w.scheduler().evicted(id);
      }
      going.clear();
      if (quiet) return;
    }
  };
  for (int round = 0; round < 60; ++round) {
    const bool counted = round >= 30;
    settle(counted);
    w.tell("wait big a 1x4");
    settle(counted);
    w.tell("wait gang a 2x1");
    settle(counted);
    w.finished("big");
    settle(counted);
    w.finished("gang");
  }
  CHECK(allocations == 0);
  CHECK(admitted >= 60);
  CHECK(evicted >= 30);
}

TEST_CASE("runai: a pod that is announced, admitted and taken back in one cycle is announced once") {
  // In each cycle a pod of j8 was admitted, gave way to j1, and was announced as a new one: nothing else
  // happened.
  allot_test::kai_world w{R"(
    nodes 4 4 4
    queue d0 - 7 1
    queue d0t0 d0 2 1
    queue d1 - 6 3
    queue d1t0 d1 2 2
    queue d1t1 d1 3 1
  )"};
  w.tell("wait j0 d0t0 1x1\nwait j1 d1t1 3x1 min=1\nwait j2 d1t0 1x0.5");
  w.settle();
  w.tell("wait j3 d1t1 1x2\nwait j4 d0t0 1x1");
  w.settle();
  w.tell("wait j5 d1t0 1x2\nwait j6 d1t0 3x2 min=1\nwait j7 d1t1 1x2 prio=100");
  w.finished("j4");
  w.settle();
  w.tell("wait j8 d1t0 2x1 prio=75 min=1");
  const std::string diary = w.settle();
  CHECK(diary.substr(0, 17) == "-j6:1 -j3 ~j1 ~j8");
  CHECK(diary.find("...") == std::string::npos);
}

TEST_CASE("runai: a job and its next pods, which the session does not know yet, are announced as one") {
  // The job waits for what l leaves. Its next pod takes the place of y, and is announced in its name.
  allot_test::kai_world w{R"(
    nodes 3
    queue d - - 1
    queue a d 3 1
    run x a 1x1 @0 prio=75
    run y a 1x1 @0 prio=25
    gone l a 1x1 @0
    wait e a 3x1 prio=50 min=1)"};
  CHECK(w.step() == "-y ~e");
}

// SPDX-License-Identifier: BSL-1.0
// The governor of a Kueue that is made up.
#include "governed_world.hpp"

#include "governor/src/status.hpp"

#include <doctest/doctest.h>

using namespace kueue_tests;

namespace {

TEST_CASE("workloads are admitted, borrow, give back and say why they wait") {
  world w;
  std::vector<std::string> of_a;
  for (int i = 0; i < 4; ++i) of_a.push_back(w.kueue.submit("a", 2, 4, 1'000'000));
  w.ticks(6);
  for (const std::string& name : of_a) {
    CHECK(w.kueue.is(name, "QuotaReserved"));
    CHECK(w.kueue.is(name, "Admitted"));
  }
  const json::value& assigned =
      w.kueue.object(of_a[0]).at("status").at("admission").at("podSetAssignments").at(0);
  CHECK(assigned.at("count") == 2);
  CHECK(assigned.at("flavors").at("nvidia.com/gpu") == "default");
  CHECK(assigned.at("resourceUsage").at("nvidia.com/gpu") == "8");
  const std::string fifth = w.kueue.submit("a", 1, 8, 10'000);
  w.ticks(4);
  CHECK_FALSE(w.kueue.is(fifth, "QuotaReserved"));
  CHECK(w.kueue.is(fifth, allot_kueue::waiting_condition));
  CHECK(w.kueue.message(fifth, allot_kueue::waiting_condition).starts_with("waits: "));
  const std::string own = w.kueue.submit("b", 1, 8, 10'000);
  w.ticks(20);
  CHECK(w.kueue.is(own, "Admitted"));
  CHECK_FALSE(w.kueue.is(own, allot_kueue::waiting_condition));
  CHECK(std::count_if(of_a.begin(), of_a.end(),
                      [&](const auto& n) { return w.kueue.jobs.at(n).evictions == 1; }) == 1);
  CHECK(w.kueue.api.count("POST /api/v1/namespaces/default/events") > 0);
  w.ticks(60);
  CHECK(w.kueue.jobs.at(own).ends == 1);
  CHECK(w.kueue.faults == std::vector<std::string>{});
  CHECK(w.kueue.api.contested == std::set<std::string>{});
  w.replays();
}

TEST_CASE("what was evicted as its last pods succeeded is admitted, even if nothing is free") {
  world w;
  for (int i = 0; i < 4; ++i) w.kueue.submit("a", 1, 8, 1'000'000);
  w.ticks(6);
  const std::string done = w.kueue.submit("b", 2, 4, 1000, -1);
  json::object o = w.kueue.object(done);
  o["status"] = json::object{{"reclaimablePods", {{{"name", "main"}, {"count", 2}}}}};
  w.kueue.api.set(workloads, o);
  // Its pods are over: it holds nothing.
  w.kueue.jobs.at(done).gpus = 0;
  w.ticks(20);
  CHECK(w.kueue.jobs.at(done).ends == 1);
  CHECK(std::all_of(w.kueue.jobs.begin(), w.kueue.jobs.end(),
                    [](const auto& j) { return j.second.evictions == 0; }));
}

TEST_CASE("admissions do not wait for explanations, and a job that starts before its turn gets none") {
  world w;
  const std::string first = w.kueue.submit("c", 1, 8, 1'000'000);
  w.ticks(2);
  for (int i = 0; i < 60; ++i) w.kueue.submit("a", 1, 8, 100'000'000);
  const auto told = [&] {
    return std::count_if(w.kueue.jobs.begin(), w.kueue.jobs.end(), [&](const auto& j) {
      return !w.kueue.message(j.first, allot_kueue::waiting_condition).empty();
    });
  };
  w.ticks(3);
  const auto before = told();
  CHECK(before > 0);
  CHECK(before < 20);
  w.kueue.set_queue("a", 1000);
  w.is_lawful = false;
  w.ticks(4);
  CHECK(std::all_of(w.kueue.jobs.begin(), w.kueue.jobs.end(),
                    [&](const auto& j) { return w.kueue.is(j.first, "Admitted"); }));
  w.ticks(40);
  CHECK(told() < 30);
  for (const auto& [name, j] : w.kueue.jobs) CHECK_FALSE(w.kueue.is(name, allot_kueue::waiting_condition));
  CHECK(w.kueue.faults == std::vector<std::string>{});
}

TEST_CASE("an idle cluster sees no write") {
  world w;
  for (int i = 0; i < 12; ++i) w.kueue.submit(i % 2 == 0 ? "a" : "b", 1, 8, 100'000'000);
  w.ticks(40);
  const auto writes = [&] { return w.kueue.api.count("PATCH ") + w.kueue.api.count("POST "); };
  const std::size_t before = writes();
  w.ticks(120);
  CHECK(writes() == before);
}

TEST_CASE("only ClusterQueues with the label and on Hold are governed, and the others are counted") {
  world w;
  w.kueue.set_queue("d", 8, "Hold", false);
  w.kueue.set_queue("e", 8, "None", true);
  const std::string no_label = w.kueue.submit("d", 1, 8, 1000);
  const std::string not_held = w.kueue.submit("e", 1, 8, 1000);
  w.is_lawful = false;
  w.ticks(10);
  CHECK_FALSE(w.kueue.is(no_label, "QuotaReserved"));
  CHECK_FALSE(w.kueue.is(not_held, "QuotaReserved"));
  CHECK(w.host->served() == std::set<std::string, std::less<>>{"a", "b", "c"});
  const auto notes = w.host->notes();
  CHECK(std::any_of(notes.begin(), notes.end(), [](const std::string& n) {
    return n.find("allot governs a, b, c, and not d, e: Kueue admits there") != std::string::npos;
  }));
  CHECK(std::count(notes.begin(), notes.end(),
                   "ClusterQueue e is not governed: its stopPolicy is None, and not Hold") == 1);
  // It is taken over.
  w.kueue.set_queue("e", 8);
  w.ticks(6);
  CHECK(w.kueue.is(not_held, "Admitted"));
  // And given back, while it runs.
  const std::string later = w.kueue.submit("e", 1, 8, 1'000'000);
  w.ticks(6);
  CHECK(w.kueue.is(later, "Admitted"));
  w.kueue.set_queue("e", 8, "None");
  w.ticks(10);
  CHECK(w.kueue.is(later, "Admitted"));
  CHECK(w.kueue.jobs.at(later).evictions == 0);
}

TEST_CASE("what is told late of a Workload that was deleted is not told of the one that has its name now") {
  world w;
  const std::string name = w.kueue.submit("a", 1, 8, 1'000'000);
  w.ticks(6);
  json::object o = w.kueue.object(name);
  const auto uid_of = [](const json::object& of) { return std::string{text_at(of, {"metadata", "uid"})}; };
  allot_governor::job_report old;
  old.name = name;
  old.uid = uid_of(o);
  w.kueue.api.faults.lag = 10'000;
  w.kueue.api.remove(workloads, allot_kueue::name_of(o));
  w.kueue.api.advance(2000);
  o["metadata"].get_object().erase("uid");
  w.kueue.api.set(workloads, o);
  allot_governor::command stop;
  stop.is = allot_governor::command::kind::stop;
  stop.job = &old;
  w.host->carry_out({&stop, 1});
  CHECK(stop.result.is == allot_governor::outcome::kind::in_doubt);
  allot_governor::changes seen;
  CHECK(w.host->poll(seen));
  REQUIRE(seen.jobs.size() == 1);
  CHECK(seen.jobs.front().uid == uid_of(w.kueue.object(name)));
  // Now the watch tells of the old one's end.
  w.kueue.api.advance(9000);
  w.host->step({w.kueue.api.now, w.kueue.api.now});
  CHECK(w.host->poll(seen));
  CHECK(seen.gone == std::vector<std::string>{});
}

TEST_CASE("who may not write sends nothing, and leaves it to who may") {
  world w;
  const std::string name = w.kueue.submit("a", 1, 8, 1'000'000);
  w.may_write = false;
  w.ticks(6);
  CHECK(w.kueue.api.count("PATCH ") == 0);
  w.may_write = true;
  w.ticks(20);
  CHECK(w.kueue.is(name, "Admitted"));
}

TEST_CASE("who waits is told so no longer when its ClusterQueue is given back") {
  world w;
  for (int i = 0; i < 4; ++i) w.kueue.submit("a", 1, 8, 1'000'000);
  w.ticks(6);
  const std::string last = w.kueue.submit("a", 1, 8, 1'000'000);
  w.ticks(6);
  REQUIRE(w.kueue.is(last, allot_kueue::waiting_condition));
  w.is_lawful = false;
  w.kueue.set_queue("a", 16, "None");
  w.ticks(8);
  CHECK_FALSE(w.kueue.is(last, allot_kueue::waiting_condition));
  CHECK(w.kueue.message(last, allot_kueue::waiting_condition) ==
        "allot does not govern its ClusterQueue any more");
}

TEST_CASE("one that observes writes nothing") {
  world w{"standard", 1, true};
  for (int i = 0; i < 6; ++i) w.kueue.submit("a", 1, 8, 1000);
  w.ticks(10);
  CHECK(w.kueue.api.count("PATCH ") + w.kueue.api.count("POST ") == 0);
  CHECK(std::any_of(w.log.begin(), w.log.end(), [](const std::string& line) {
    return line.find(" release ") != std::string::npos && line.find("would=yes") != std::string::npos;
  }));
}

void run_world(allot_test::random_source& random, const std::string& policy) {
  CAPTURE(policy);
  world w{policy, random()};
  made_up_kueue& k = w.kueue;
  const auto some = [&]() -> std::string {
    if (k.jobs.empty()) return {};
    auto at = k.jobs.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random.below(k.jobs.size())));
    return at->first;
  };
  static constexpr const char* queues[] = {"a", "b", "c"};
  for (int step = 0; step < 50; ++step) {
    switch (random.below(14)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        k.submit(random.pick(queues), random.between(1, 2), random.between(1, 4) * 2,
                 random.between(1, 60) * 1000, random.between(0, 2));
        break;
      case 5:
      case 6:
      case 7:
      case 8:
        w.make_trouble(random);
        break;
      case 9:
        w.restart(random.one_in(2));
        break;
      case 10:
        if (const std::string name = some(); !name.empty() && random.one_in(2)) k.remove(name);
        break;
      case 11:
        k.is_away = random.one_in(3);
        break;
      case 12:
        if (const std::string name = some(); !name.empty()) k.make_again(name);
        break;
      default:
        w.clock_off += random.between(-100, 100) * 1000;
        break;
    }
    w.tick(random.between(1, 4000));
  }
  k.is_away = false;
  w.end_well([] {});
}

TEST_CASE("whatever goes wrong, every workload ends once, and the law holds" *
          doctest::test_suite("schedules")) {
  allot_test::for_each_seed(1000, [](allot_test::random_source& random) {
    static constexpr const char* policies[] = {"standard", "kueue", "kueue_fair", "runai", "hyperpod", "pai"};
    const std::string policy = random.pick(policies);
    run_world(random, policy);
  });
}

}  // namespace

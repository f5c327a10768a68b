// SPDX-License-Identifier: BSL-1.0
#include "governor/src/governor.hpp"

#include "fake_host.hpp"
#include "governor/src/replay.hpp"
#include "governor/src/what_if.hpp"
#include "tests/support/seeds.hpp"

#include <allot/quota/ledger.hpp>
#include <allot/quota/tree.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <sstream>

using namespace governor_tests;

namespace {

constexpr const char* three_teams = R"({
  "policy": {"preset": "POLICY"RESERVES},
  "quotas": [{"name": "org"OWNS},
             {"name": "a", "parent": "org", "nominal": {"gpu": A}},
             {"name": "b", "parent": "org", "nominal": {"gpu": 8}},
             {"name": "c", "parent": "org", "nominal": {"gpu": 8}}]
})";

[[nodiscard]] governed_quotas quotas_of(const std::string& policy, int of_a = 16, bool places_jobs = true) {
  std::string text = three_teams;
  const auto put = [&](const std::string& what, const std::string& with) {
    text.replace(text.find(what), what.size(), with);
  };
  put("RESERVES", policy == "standard" ? R"(, "reservations": 1)" : "");
  put("POLICY", policy);
  // There a parent's number contains its children's.
  put("OWNS", policy == "runai" || policy == "pai" ? R"(, "nominal": {"gpu": 32})" : "");
  put("gpu\": A", "gpu\": " + std::to_string(of_a));
  auto reading = allot::lab::parse_quotas_file(text, "test", {});
  for (const std::string& p : reading.problems) MESSAGE(p);
  REQUIRE(reading.value);
  return {.file = std::move(*reading.value), .text = text, .places_jobs = places_jobs};
}

/// Four machines with 8 GPUs, and their governor.
struct world {
  explicit world(const std::string& policy = "standard", bool places_jobs = true, bool observed = false)
      : observes(observed) {
    host.give(quotas_of(policy, 16, places_jobs));
    host.add_machines(4, 8);
    begin();
  }
  void begin() {
    surroundings around;
    around.log = [this](const std::string& line) { log.push_back(line); };
    around.events = [this](const std::string& line) { events << line << '\n'; };
    around.remember = [this](const memory& m) { journal = m; };
    it = std::make_unique<governor>(governor_options{.observes = observes}, host, std::move(around));
  }
  /// As after SIGKILL.
  void restart(bool with_journal) {
    it.reset();
    host.start_polling_again();
    begin();
    if (with_journal) it->remember(journal);
  }
  void tick(std::int64_t seconds = 1) {
    host.advance(seconds);
    it->tick({(host.now_s + clock_off_s) * 1000, host.now_s * 1000});
    journal = it->remembers();
    check_the_law();
  }
  void ticks(int n) {
    for (int i = 0; i < n; ++i) tick();
  }
  /// By the truth, not by the governor's books.
  void check_the_law() {
    if (!is_lawful) return;
    std::vector<allot::quota_spec<dimensions>> specs;
    for (const auto& q : host.quotas->file.quotas) specs.push_back(q.spec);
    allot::ledger<dimensions> held{allot::quota_tree<dimensions>{std::move(specs)}};
    std::map<std::string, std::uint32_t> on;
    std::uint32_t all = 0;
    for (const auto& [name, t] : host.jobs) {
      if (!fake_host::has_share(t)) continue;
      amounts a;
      a[0] = allot::quantity::whole(host.gpus_of(t));
      held.charge(allot::quota_id{t.quota}, a);
      all += host.gpus_of(t);
      for (const node_share& s : t.where) on[s.node] += s.gpus;
    }
    CHECK(held.is_sound());
    CHECK(all <= 32);
    for (const auto& [node, gpus] : on) CHECK(gpus <= 8);
    std::map<std::uint32_t, std::size_t> tasks;
    for (const auto& [name, t] : host.jobs) {
      if (!fake_host::has_share(t)) continue;
      ++tasks[t.array];
      for (const node_share& s : t.where) {
        const auto m = std::find_if(host.machines.begin(), host.machines.end(),
                                    [&](const machine_report& r) { return r.is.name == s.node; });
        CHECK((t.pools >> (m->is.pool == "east" ? 0U : 1U) & 1U) == 1);
      }
    }
    for (const auto& [array, limit] : host.limits) CHECK(tasks[array] <= limit);
  }
  [[nodiscard]] fake_host::stage at(const job_name& name) const { return host.jobs.at(name).at; }
  [[nodiscard]] const std::string& said(const job_name& name) const { return host.jobs.at(name).said; }
  /// Whether the log of events says why all was decided as it was.
  void replays() const {
    std::stringstream in{events.str()};
    const replay_result r = replay(in, std::nullopt);
    CHECK(r.problem == "");
    for (const std::string& d : r.differences) FAIL_CHECK(d);
  }

  fake_host host;
  std::unique_ptr<governor> it;
  std::vector<std::string> log;
  std::stringstream events;
  memory journal;
  std::int64_t clock_off_s = 0;
  bool observes;
  bool is_lawful = true;
};

using stage = fake_host::stage;

TEST_CASE("a governor borrows, takes back and says why") {
  world w;
  std::vector<job_name> of_a;
  for (int i = 0; i < 4; ++i) of_a.push_back(w.host.submit(1, 1, 8, 1000));
  w.ticks(6);
  for (const job_name& name : of_a) CHECK(w.at(name) == stage::running);
  const snapshot borrowing = w.it->snapshot_view();
  CHECK(borrowing.quotas[1].borrowed[0] == allot::quantity::whole(16));
  CHECK(borrowing.loans.size() == 2);
  const job_name own = w.host.submit(2, 1, 8, 100);
  w.tick();
  CHECK(w.host.stops == 1);
  CHECK(w.at(of_a[3]) == stage::leaving);
  w.ticks(10);
  CHECK(w.at(own) == stage::running);
  CHECK(w.at(of_a[3]) == stage::waiting);
  CHECK(w.said(of_a[3]).starts_with("waits: "));
  w.ticks(120);
  CHECK(w.at(own) == stage::ended);
  CHECK(w.at(of_a[3]) == stage::running);
  w.replays();
}

TEST_CASE("a governor writes nothing while nothing happens") {
  world w;
  for (int i = 0; i < 9; ++i) w.host.submit(1 + static_cast<std::size_t>(i) % 3, 1, 8, 100'000);
  w.ticks(30);
  const std::size_t calls = w.host.starts + w.host.stops + w.host.explained;
  w.ticks(300);
  CHECK(w.host.starts + w.host.stops + w.host.explained == calls);
}

TEST_CASE(
    "a backlog starts at once, whatever the policy decides in a step, and only who has to wait is told why") {
  world w{"kueue"};
  std::vector<job_name> all;
  for (int i = 0; i < 33; ++i) all.push_back(w.host.submit(1, 1, 1, 1000));
  w.tick();
  CHECK(w.host.starts == 32);
  CHECK(w.host.explained == 1);
  CHECK(w.said(all.back()).starts_with("waits: "));
  w.replays();
}

TEST_CASE("those who wait are told another reason now and then, however often it changes") {
  world w;
  // One after the other; each start changes what all others are told.
  for (int i = 0; i < 40; ++i) w.host.submit(1, 1, 8, 8);
  w.ticks(5);
  CHECK(w.host.explained >= 36);
  const std::size_t before = w.host.explained;
  w.ticks(20);
  CHECK(w.host.starts > 8);
  CHECK(w.host.explained > before + 20);
  CHECK(w.host.explained < before + 80);
}

TEST_CASE("the reason of a refusal is logged once, however often the scheduler is rebuilt") {
  world w;
  // No machine is as large.
  w.host.submit(1, 1, 16, 50);
  w.host.submit(1, 1, 8, 50);
  for (const int of_a : {16, 12, 16}) {
    w.host.give(quotas_of("standard", of_a));
    w.ticks(3);
  }
  CHECK(std::count_if(w.log.begin(), w.log.end(), [](const std::string& line) {
          return line.find(" refuse ") != std::string::npos;
        }) == 1);
}

TEST_CASE("what can't be started is tried again later, and what can't be evicted runs on") {
  world w;
  const job_name lame = w.host.submit(1, 1, 8, 50);
  w.host.jobs.at(lame).cant_run = true;
  w.ticks(20);
  CHECK(w.at(lame) == stage::waiting);
  CHECK(w.host.jobs.at(lame).starts == 1);
  CHECK(w.said(lame).find("it is tried again later") != std::string::npos);
  w.host.jobs.at(lame).cant_run = false;
  w.ticks(100);
  CHECK(w.at(lame) == stage::ended);

  std::vector<job_name> of_a;
  for (int i = 0; i < 4; ++i) of_a.push_back(w.host.submit(1, 1, 8, 1000));
  w.ticks(6);
  w.host.jobs.at(of_a[3]).cant_stop = true;
  const job_name own = w.host.submit(2, 1, 8, 100);
  w.ticks(10);
  CHECK(w.at(of_a[3]) == stage::running);
  // Another one leaves instead.
  CHECK(w.at(own) == stage::running);
  w.replays();
}

TEST_CASE("a governor is told what happens without it") {
  world w;
  w.is_lawful = false;
  const job_name unasked = w.host.submit(3, 1, 8, 1000);
  w.host.enter(unasked, w.host.jobs.at(unasked), stage::running);
  w.host.jobs.at(unasked).where = {{"n4", 8, 0}};
  const job_name foreign = w.host.submit(1, 1, 8, 50);
  const job_name held = w.host.submit(1, 1, 8, 50);
  w.host.jobs.at(held).is_blocked = true;
  w.ticks(5);
  CHECK(w.it->snapshot_view().quotas[3].used[0] == allot::quantity::whole(8));
  CHECK(w.at(foreign) == stage::running);
  CHECK(w.at(held) == stage::waiting);
  CHECK(w.said(held) == "waits: its user holds it");
  // The host evicts it, by itself.
  w.host.enter(unasked, w.host.jobs.at(unasked), stage::leaving);
  w.ticks(6);
  CHECK(w.at(unasked) == stage::running);
  CHECK(w.host.jobs.at(unasked).restarts == 1);
  // Another one with its name.
  w.host.remove(unasked);
  w.host.submit(2, 1, 8, 20, unasked);
  w.ticks(5);
  CHECK(w.it->snapshot_view().quotas[3].used[0] == allot::quantity{});
  CHECK(w.it->snapshot_view().quotas[2].used[0] == allot::quantity::whole(8));
  w.replays();
}

TEST_CASE("a new governor starts the jobs that were evicted, or got room, while there was none") {
  for (const char* const policy : {"standard", "kueue", "kueue_fair", "runai", "hyperpod", "pai"}) {
    CAPTURE(std::string{policy});
    world w{policy};
    const job_name evicted = w.host.submit(1, 1, 8, 50);
    w.ticks(6);
    REQUIRE(w.at(evicted) == stage::running);
    w.host.enter(evicted, w.host.jobs.at(evicted), stage::waiting);
    w.restart(true);
    w.ticks(6);
    CHECK(w.at(evicted) == stage::running);
    const job_name next = w.host.submit(1, 4, 8, 50);
    w.ticks(6);
    REQUIRE(w.at(next) == stage::waiting);
    w.host.remove(evicted);
    w.restart(true);
    w.ticks(6);
    CHECK(w.at(next) == stage::running);
    w.replays();
  }
}

TEST_CASE("jobs run in the pools that they name, in the order in which the machines first name them") {
  world w;
  for (std::size_t i = 0; i < 4; ++i) w.host.machines[i].is.pool = i < 2 ? "east" : "west";
  const job_name west = w.host.submit(1, 1, 8, 1000);
  w.host.jobs.at(west).pools = 2;
  // None at first; it would have to wait for ever, were others not to come.
  const job_name later = w.host.submit(2, 1, 8, 1000);
  w.host.jobs.at(later).pools = 0;
  w.host.jobs.at(later).later_pools = 1;
  const job_name never = w.host.submit(2, 1, 8, 1000);
  w.host.jobs.at(never).pools = 0;
  w.ticks(5);
  REQUIRE(w.at(west) == stage::running);
  CHECK(w.host.jobs.at(west).where.front().node == "n3");
  CHECK(w.said(later) == "waits: its machines are kept for others");
  CHECK(w.said(never).starts_with("refused: the cluster has no place for it"));
  w.host.jobs.at(later).pools = 1;
  w.host.note(later);
  w.ticks(5);
  REQUIRE(w.at(later) == stage::running);
  CHECK(w.host.jobs.at(later).where.front().node == "n1");
  w.replays();
}

TEST_CASE("a host that has limits of its own keeps jobs from being tried, and knows how jobs stand") {
  world w;
  w.host.limits[1] = 2;
  std::vector<job_name> tasks;
  for (int i = 0; i < 5; ++i) {
    tasks.push_back(w.host.submit(1, 1, 1, 10));
    w.host.jobs.at(tasks.back()).array = 1;
  }
  // A task that can't run makes way for the next.
  w.host.jobs.at(tasks[0]).cant_run = true;
  w.ticks(5);
  CHECK(w.at(tasks[1]) == stage::running);
  CHECK(w.at(tasks[2]) == stage::waiting);
  // Their reason is told once, in the place that they share.
  CHECK(w.said(tasks[2]) == "waits: its array runs no more tasks at once");
  CHECK(w.said(tasks[3]).empty());
  CHECK(w.it->snapshot_view().jobs.front().comment == "array 1");
  w.ticks(60);
  for (std::size_t i = 1; i < tasks.size(); ++i) CHECK(w.at(tasks[i]) == stage::ended);
  w.host.cure(tasks[0]);
  w.ticks(15);
  CHECK(w.at(tasks[0]) == stage::ended);
  w.replays();
}

TEST_CASE("a start that failed is tried again at once when it is cured, or was not to blame") {
  for (const bool is_cured : {true, false}) {
    CAPTURE(is_cured);
    world w;
    const job_name lame = w.host.submit(1, 1, 8, 1000);
    w.host.jobs.at(lame).cant_run = true;
    w.ticks(15);
    REQUIRE(w.at(lame) == stage::waiting);
    CHECK(w.host.jobs.at(lame).starts == 1);
    is_cured ? w.host.cure(lame) : void(w.host.jobs.at(lame).cant_run = false);
    w.ticks(6);
    CHECK((w.at(lame) == stage::running) == is_cured);
    CHECK(w.it->snapshot_view().since_start.failed_starts == 1);
    const job_name sound = w.host.submit(1, 1, 8, 1000);
    w.host.jobs.at(sound).cant_run = true;
    w.tick();
    REQUIRE(w.at(sound) == stage::starting);
    w.host.jobs.at(sound).is_blameless = true;
    w.host.jobs.at(sound).cant_run = false;
    w.host.enter(sound, w.host.jobs.at(sound), stage::waiting);
    w.ticks(6);
    CHECK(w.at(sound) == stage::running);
    CHECK(w.it->snapshot_view().since_start.failed_starts == 1);
    w.replays();
  }
}

TEST_CASE("who leaves by itself and waits again keeps its share, so that nobody borrows it for a moment") {
  for (const bool keeps : {true, false}) {
    for (const bool restarts : {true, false}) {
      CAPTURE(keeps);
      CAPTURE(restarts);
      world w;
      std::vector<job_name> own;
      for (int i = 0; i < 2; ++i) own.push_back(w.host.submit(1, 1, 8, 1000));
      w.ticks(4);
      for (int i = 0; i < 3; ++i) w.host.submit(2, 1, 8, 1000);
      w.ticks(4);
      w.host.slow_s = 0;
      fake_host::truth& t = w.host.jobs.at(own[0]);
      w.host.enter(own[0], t, stage::leaving);
      t.keeps_share = keeps;
      w.it->tick({w.host.now_s * 1000, w.host.now_s * 1000});
      CHECK(w.it->snapshot_view().quotas[1].used[0] == allot::quantity::whole(16));
      CHECK((w.it->scheduler()->state(own[0]) == allot::job_state::running) == keeps);
      w.journal = w.it->remembers();
      CHECK(w.journal.leaving.empty() == keeps);
      if (restarts) w.restart(true);
      w.ticks(5);
      CHECK(w.at(own[0]) == stage::running);
      CHECK(w.host.stops == 0);
      w.replays();
    }
  }
}

TEST_CASE("an operator starts a job by force, and the host finds room for it") {
  world w;
  // Without a share of its own it never starts by itself.
  const job_name name = w.host.submit(3, 2, 8, 1000);
  w.host.jobs.at(name).preemptible = false;
  w.ticks(3);
  REQUIRE(w.at(name) == stage::waiting);
  const auto last = [&](const std::string& text) { return w.log.back().find(text) != std::string::npos; };
  w.it->start("nobody", "root");
  CHECK(last("failed=\"there is no such job, or it is not governed\""));
  w.it->start(name, "root");
  CHECK(last(" start job=" + name + " user=ana by=root "));
  CHECK_FALSE(last("failed="));
  w.ticks(2);
  CHECK(w.said(name) == "waits: its user holds it");
  w.is_lawful = false;
  w.host.jobs.at(name).is_blocked = false;
  w.host.enter(name, w.host.jobs.at(name), stage::running);
  w.host.jobs.at(name).where = {{"n1", 8, 0}, {"n2", 8, 0}};
  w.ticks(2);
  CHECK(w.it->snapshot_view().quotas[3].used[0] == allot::quantity::whole(16));
  CHECK(w.it->snapshot_view().since_start.ran_unasked == 0);
  w.it->start(name, "root");
  CHECK(last("failed=\"it does not wait\""));
  w.replays();
}

TEST_CASE("lost GPUs get no jobs, also after a restart") {
  for (const bool restarts : {true, false}) {
    world w;
    w.ticks(2);
    w.host.machines[0].lost_gpus = 5;
    w.host.note_machines();
    w.tick();
    if (restarts) w.restart(true);
    const job_name four = w.host.submit(1, 4, 4, 1000);
    w.ticks(5);
    CHECK(w.at(four) == stage::running);
    CHECK(w.host.used_on("n1") == 0);
    CHECK(w.it->snapshot_view().nodes[0].lost_gpus == 5);
    w.host.machines[0].lost_gpus = 0;
    w.host.note_machines();
    const job_name eight = w.host.submit(2, 1, 8, 1000);
    w.ticks(5);
    CHECK(w.at(eight) == stage::running);
    w.replays();
  }
}

TEST_CASE("replay: a job submitted later may come before others of the same turn") {
  world w;
  const job_name before = w.host.submit(1, 2, 8, 20);
  w.host.submit(2, 1, 8, 1000);
  w.host.submit(3, 1, 8, 1000);
  w.ticks(3);
  REQUIRE(w.at(before) == stage::running);
  // The host has requeued the older one, and reports it as submitted then. That the larger one is preferred
  // makes up for it.
  const job_name older = w.host.submit(1, 2, 8, 30);
  const job_name newer = w.host.submit(1, 1, 8, 30);
  w.host.jobs.at(newer).submitted_s -= 80;
  while (w.at(before) != stage::ended) w.tick();
  w.ticks(5);
  CHECK(w.at(older) == stage::running);
  CHECK(w.at(newer) == stage::waiting);
  w.replays();
}

TEST_CASE("replay: what jobs that are not governed have besides GPUs is not free") {
  world w;
  for (machine_report& m : w.host.machines) m.is.cpus = 64;
  const job_name other = w.host.submit(1, 1, 0, 1000);
  w.host.jobs.at(other).is_governed = false;
  w.host.jobs.at(other).cpus_each = 64;
  w.host.jobs.at(other).where = {{"n1", 0, 64}};
  w.host.enter(other, w.host.jobs.at(other), stage::running);
  w.tick();
  const job_name job = w.host.submit(1, 4, 8, 1000);
  w.host.jobs.at(job).cpus_each = 8;
  w.ticks(5);
  CHECK(w.at(job) == stage::waiting);
  w.host.enter(other, w.host.jobs.at(other), stage::ended);
  w.ticks(5);
  CHECK(w.at(job) == stage::running);
  w.replays();
}

TEST_CASE("a host's own words outlive the governor") {
  world w;
  const job_name lame = w.host.submit(1, 1, 8, 50);
  w.host.jobs.at(lame).cant_run = true;
  w.host.words[lame] = "had_victims,spent";
  w.ticks(20);
  w.host.words.clear();
  w.restart(true);
  CHECK(w.host.words.at(lame) == "had_victims,spent");
  w.tick();
  // And so does what the governor knows itself.
  CHECK(w.it->snapshot_view().backing_off == 1);
}

TEST_CASE("a log of events begins with a scheduler, also if it is asked for later") {
  world w;
  w.ticks(2);
  w.events.str("");
  w.it->log_events([&](const std::string& line) { w.events << line << '\n'; });
  w.host.submit(1, 1, 8, 50);
  w.ticks(2);
  CHECK(w.events.str().empty());
  w.host.give(quotas_of("standard", 12));
  w.ticks(5);
  w.replays();
}

TEST_CASE("a governor that observes touches nothing") {
  world w{"standard", true, true};
  for (int i = 0; i < 6; ++i) w.host.submit(1, 1, 8, 1000);
  w.ticks(10);
  CHECK(w.host.starts == 0);
  CHECK(w.host.explained == 0);
  CHECK(std::count_if(w.log.begin(), w.log.end(), [](const std::string& line) {
          return line.find(" release ") != std::string::npos && line.find("would=yes") != std::string::npos;
        }) == 4);
}

/// One of those of `random_worlds`.
void run_world(allot_test::random_source random, const std::string& policy, bool places_jobs) {
  CAPTURE(policy);
  CAPTURE(places_jobs);
  world w{policy, places_jobs};
  fake_host& h = w.host;
  h.dice = random;
  std::set<job_name> all;
  const auto one_of = [&](stage at) -> std::optional<job_name> {
    std::vector<job_name> those;
    for (const auto& [name, t] : h.jobs) {
      if (t.at == at) those.push_back(name);
    }
    if (those.empty()) return std::nullopt;
    return those[h.random(those.size())];
  };
  for (std::size_t i = 0; i < 4; ++i) h.machines[i].is.pool = i < 2 ? "east" : "west";
  h.limits = {{1, 1}, {2, 2}};
  h.lost_calls = h.random(3) == 0 ? 200 : 0;
  h.refused_calls = h.random(3) == 0 ? 100 : 0;
  bool is_resized = false;
  for (int step = 0; step < 60; ++step) {
    switch (h.random(18)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4: {
        static constexpr std::uint32_t sizes[] = {1, 2, 4, 8};
        const job_name name = h.submit(1 + h.random(3), 1 + static_cast<std::uint32_t>(h.random(2)),
                                       sizes[h.random(4)], 5 + static_cast<std::int64_t>(h.random(60)));
        h.jobs.at(name).priority = static_cast<std::int64_t>(h.random(3));
        // Who can't be evicted gets nothing that is lent.
        h.jobs.at(name).preemptible = h.random(8) != 0 || h.gpus_of(h.jobs.at(name)) > 8;
        h.jobs.at(name).cant_run = h.random(12) == 0;
        h.jobs.at(name).cant_stop = h.random(12) == 0;
        h.jobs.at(name).array = static_cast<std::uint32_t>(h.random(4));
        if (h.random(4) == 0) h.jobs.at(name).pools = 1 + h.random(3);
        all.insert(name);
        break;
      }
      case 5:
        h.is_away = h.random(3) == 0;
        break;
      case 6:
        w.restart(h.random(3) != 0);
        break;
      case 7:
        // The host evicts one by itself.
        if (const auto name = one_of(stage::running)) {
          h.enter(*name, h.jobs.at(*name), stage::leaving);
          h.jobs.at(*name).keeps_share = h.random(2) == 0;
        }
        break;
      case 8:
        if (const auto name = one_of(h.random(2) == 0 ? stage::waiting : stage::running)) {
          h.remove(*name);
          all.erase(*name);
        }
        break;
      case 9:
        if (const auto name = one_of(stage::waiting)) {
          h.jobs.at(*name).is_blocked = h.random(2) == 0;
          h.note(*name);
        }
        break;
      case 10:
        if (const auto name = one_of(h.random(2) == 0 ? stage::waiting : stage::running)) {
          h.jobs.at(*name).priority = static_cast<std::int64_t>(h.random(3));
          h.note(*name);
        }
        break;
      case 11: {
        machine_report& m = h.machines[h.random(h.machines.size())];
        m.is_open = !m.is_open;
        m.state = m.is_open ? "up" : "down";
        h.note_machines();
        break;
      }
      case 12:
        // What is lent must not be more than there is: the law is checked against the tree of the moment.
        is_resized = true;
        h.give(quotas_of(policy, h.random(2) == 0 ? 16 : 12, places_jobs));
        break;
      case 13:
        w.clock_off_s += static_cast<std::int64_t>(h.random(400)) - 200;
        break;
      case 14:
        w.it->freeze(h.random(3) == 0);
        break;
      case 15: {
        machine_report& m = h.machines[h.random(h.machines.size())];
        m.lost_gpus = static_cast<std::uint32_t>(h.random(9 - h.used_on(m.is.name)));
        h.note_machines();
        break;
      }
      case 16:
        if (const auto name = one_of(h.random(2) == 0 ? stage::waiting : stage::starting)) {
          h.jobs.at(*name).is_blameless = h.random(2) == 0;
          h.cure(*name);
        }
        break;
      default:
        break;
    }
    if (is_resized) w.is_lawful = false;
    w.tick(1 + static_cast<std::int64_t>(h.random(4)));
  }
  // In the end everybody has what he waits for.
  h.is_away = false;
  h.lost_calls = h.refused_calls = 0;
  h.give(quotas_of(policy, 16, places_jobs));
  w.it->freeze(false);
  for (machine_report& m : h.machines) {
    m.is_open = true;
    m.state = "up";
    m.lost_gpus = 0;
  }
  h.note_machines();
  for (auto& [name, t] : h.jobs) {
    t.is_blocked = t.cant_run = false;
    h.note(name);
  }
  for (int i = 0; i < 4000; ++i) {
    w.tick(i < 200 ? 1 : 20);
    const auto is_over = [&](const job_name& name) { return w.at(name) == stage::ended; };
    if (std::all_of(all.begin(), all.end(), is_over)) break;
  }
  for (const job_name& name : all) {
    CAPTURE(name);
    CAPTURE(w.said(name));
    CAPTURE(static_cast<int>(w.at(name)));
    CHECK(h.jobs.at(name).ends == 1);
  }
  CHECK(h.faults == std::vector<std::string>{});
  CHECK(w.it->snapshot_view().quotas[0].used[0] == allot::quantity{});
  w.replays();
}

void run_any_world(allot_test::random_source& random) {
  static constexpr const char* policies[] = {"standard", "kueue", "kueue_fair", "runai", "hyperpod", "pai"};
  const char* const policy = random.pick(policies);
  const bool places_jobs = random.one_in(2);
  run_world(random, policy, places_jobs);
}

TEST_CASE("whatever happens, every job ends once, and the log says why" * doctest::test_suite("schedules")) {
  allot_test::for_each_seed(8000, run_any_world);
}

TEST_CASE(
    "what went wrong once: starts in doubt before a new scheduler, runs that ended before it, victims that "
    "change") {
  for (const std::uint64_t seed :
       {1796036002022255U, 1796036002010474U, 1796036002014786U, 1796036002017475U}) {
    CAPTURE(seed);
    allot_test::random_source random{seed};
    run_any_world(random);
  }
}

}  // namespace

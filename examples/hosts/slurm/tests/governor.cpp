// SPDX-License-Identifier: BSL-1.0
#include "../src/slurm_governor.hpp"

#include "fake_slurm.hpp"
#include "governor/src/replay.hpp"
#include "governor/src/what_if.hpp"

#include "tests/support/seeds.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <tuple>

using namespace slurm_tests;

namespace {

constexpr const char* three_teams = R"({
  "policy": {"preset": "standard", "reservations": 1},
  "quotas": [{"name": "org"},
             {"name": "a", "parent": "org", "nominal": {"gpu": 16}},
             {"name": "b", "parent": "org", "nominal": {"gpu": 8}},
             {"name": "c", "parent": "org", "nominal": {"gpu": 8}, "borrow": "none",
              "access": {"users": ["ana"]}}],
  "slurm": {"grace_s": 3, "start_s": 20, NODES}
})";

[[nodiscard]] config config_of(std::string text, bool places_jobs = true) {
  const std::size_t at = text.find("NODES");
  if (at != std::string::npos)
    text.replace(at, 5, places_jobs ? "\"nodes\": \"allot\"" : "\"nodes\": \"slurm\"");
  auto reading = parse_config(text, "test");
  for (const std::string& p : reading.problems) MESSAGE(p);
  REQUIRE(reading.value);
  return std::move(*reading.value);
}

/// A cluster of 4 nodes with 8 GPUs, and its governor.
struct world {
  explicit world(config c, bool observed = false) : conf(std::move(c)), observes(observed) {
    slurm.add_nodes(4, 8);
    begin();
  }

  void begin() {
    slurm_surroundings around;
    around.log = [this](const std::string& line) { log.push_back(line); };
    around.groups = [](const job&) { return std::vector<std::string>{}; };
    around.events = [this](const std::string& line) { events << line << '\n'; };
    it = std::make_unique<slurm_governor>(conf, slurm, std::move(around), observes);
  }
  /// As by SIGKILL: its journal is that of after the last tick.
  void kill() {
    journal = it->remembers();
    it.reset();
  }
  /// A new governor after that, with the journal or without it.
  void restart(bool with_journal) {
    if (it != nullptr) kill();
    slurm.start_polling_again();
    begin();
    if (with_journal) it->remember(journal);
  }
  void tick() {
    slurm.advance(1);
    it->tick({(slurm.now + clock_off) * 1000, slurm.now * 1000});
  }
  void ticks(int n) {
    for (int i = 0; i < n; ++i) tick();
  }
  [[nodiscard]] const job& at(const job_key& k) const { return slurm.jobs.at(k).is; }
  [[nodiscard]] run_state state(const job_key& k) const { return at(k).state; }
  [[nodiscard]] std::size_t lines(const std::string& word) const {
    return static_cast<std::size_t>(std::count_if(log.begin(), log.end(), [&](const std::string& line) {
      return line.find(' ' + word + ' ') != std::string::npos;
    }));
  }
  /// Whether the log of events says why all was decided as it was.
  void replays() const {
    std::stringstream in{events.str()};
    const replay_result r = replay(in, std::nullopt);
    CHECK(r.problem == "");
    for (const std::string& d : r.differences) FAIL_CHECK(d);
  }

  config conf;
  bool observes;
  fake_slurm slurm{};
  std::vector<std::string> log{};
  std::stringstream events{};
  /// By how many seconds the governor's wall clock is off.
  std::int64_t clock_off = 0;
  memory journal{};
  std::unique_ptr<slurm_governor> it{};
};

}  // namespace

TEST_CASE("governor: a held job is released on the nodes of the plan") {
  world w{config_of(three_teams)};
  const job_key k = w.slurm.submit("a", 2, 8, 100);
  w.ticks(2);
  CHECK(w.state(k) == run_state::running);
  CHECK(w.at(k).admin_comment == "allot: admitted on n1:8 n2:8");
  CHECK(w.at(k).comment == "allot: admitted");
}

TEST_CASE("governor: users read how many go before, that they borrow, and no advice for operators") {
  world w{config_of(three_teams)};
  for (int i = 0; i < 3; ++i) w.slurm.submit("a", 1, 8, 1000);
  w.slurm.submit("b", 1, 8, 1000);
  w.ticks(3);
  std::vector<job_key> lent;
  for (const auto& [k, t] : w.slurm.jobs) {
    if (t.is.comment.find("borrows") != std::string::npos) lent.push_back(k);
  }
  REQUIRE(lent.size() == 1);
  CHECK(w.at(lent[0]).comment ==
        "allot: admitted; its quota borrows 8 gpu for it, and may have to give that back");
  CHECK(w.at(lent[0]).admin_comment.ends_with(
      ":8; its quota borrows 8 gpu for it, and may have to give that back"));
  CHECK(places_in(w.at(lent[0]).admin_comment) == std::vector<node_share>{{w.at(lent[0]).nodes[0].node, 8}});
  std::vector<job_key> queue;
  for (int i = 0; i < 25; ++i) queue.push_back(w.slurm.submit("a", 1, 8, 1000));
  w.ticks(10);
  const auto told = [&](std::size_t i) { return w.at(queue[i]).comment; };
  CHECK(told(0).starts_with("allot: waits: org has room for none of the 8 gpu; it starts at "));
  CHECK(told(1) == "allot: waits: 1 job of its quota goes before it; org has room for none of the 8 gpu");
  CHECK(told(9).starts_with("allot: waits: 9 jobs of its quota go before it; "));
  CHECK(told(24).starts_with("allot: waits: more than 20 jobs of its quota go before it; "));
  CHECK(w.at(queue[24]).admin_comment ==
        "allot: waits: org has room for none of the 8 gpu; 8 must be released there, or its nominal raised "
        "by 8");
}

TEST_CASE("governor: what can never start is refused, also where Slurm chooses the nodes") {
  for (const bool places : {true, false}) {
    CAPTURE(places);
    world w{config_of(three_teams, places)};
    const job_key beyond_quota = w.slurm.submit("a", 5, 8, 100);
    const job_key not_lent = w.slurm.submit("b", 2, 8, 100, false);
    w.ticks(3);
    CHECK(w.at(beyond_quota).comment ==
          "allot: refused: org can never have more than 32 of the 40 gpu, whatever others do");
    CHECK(w.at(not_lent).comment ==
          "allot: refused: b can never have more than 8 of the 16 gpu without borrowing, whatever others do");
    CHECK(w.slurm.jobs.at(beyond_quota).is.is_held);
  }
}

TEST_CASE("governor: where Slurm chooses, jobs outside of the quotas cost owners no more than their room") {
  world w{config_of(R"({
    "policy": {"preset": "standard"},
    "quotas": [{"name": "org"},
               {"name": "a", "parent": "org", "nominal": {"gpu": 8}},
               {"name": "b", "parent": "org", "nominal": {"gpu": 24}}],
    "slurm": {"partitions": ["main"], "grace_s": 0, "start_s": 20, NODES}})",
                    false)};
  std::vector<job_key> outside;
  for (int i = 0; i < 2; ++i) {
    outside.push_back(w.slurm.submit("x", 1, 8, 300));
    w.slurm.jobs.at(outside.back()).is.partition = "debug";
    w.slurm.jobs.at(outside.back()).is.is_held = false;
  }
  for (int i = 0; i < 2; ++i) w.slurm.submit("a", 1, 8, 1000);
  w.ticks(5);
  CHECK(w.slurm.used_by("a") == 16);
  std::vector<job_key> owners;
  for (int i = 0; i < 3; ++i) owners.push_back(w.slurm.submit("b", 1, 8, 1000));
  w.ticks(250);
  // What a borrows is taken back, once; what others have of the nodes nobody is evicted for.
  CHECK(w.slurm.used_by("b") == 8);
  CHECK(w.slurm.used_by("a") == 8);
  int evicted = 0;
  for (const auto& [k, t] : w.slurm.jobs) evicted += t.evictions;
  CHECK(evicted == 1);
  // Then these leave.
  w.ticks(200);
  CHECK(w.slurm.used_by("b") == 24);
  CHECK(w.slurm.used_by("a") == 8);
}

TEST_CASE(
    "governor: of two jobs that a limit of Slurm's has room for one of, one is released, also in one tick") {
  world w{config_of(three_teams)};
  w.slurm.gpus_of_qos["small"] = 8;
  w.tick();
  std::vector<job_key> both{w.slurm.submit("a", 1, 8, 60), w.slurm.submit("b", 1, 8, 60)};
  for (const job_key& k : both) w.slurm.jobs.at(k).is.qos = "small";
  w.ticks(3);
  const auto runs = [&](std::size_t i) { return w.state(both[i]) == run_state::running; };
  CHECK(runs(0) != runs(1));
  const std::size_t other = runs(0) ? 1 : 0;
  CHECK(w.slurm.jobs.at(both[other]).is.is_held);
  CHECK(w.at(both[other]).comment ==
        "allot: waits: the QOS small runs at most 8 gres/gpu at once (QOSGrpGRES)");
  w.ticks(200);
  CHECK(w.slurm.jobs.at(both[other]).completions == 1);
}

TEST_CASE("governor: a reclaim that ends while there is no governor is over for the next one") {
  for (const bool places : {true, false}) {
    for (const bool with_journal : {true, false}) {
      CAPTURE(places);
      CAPTURE(with_journal);
      world w{config_of(three_teams, places)};
      std::vector<job_key> borrowers;
      for (int i = 0; i < 4; ++i) borrowers.push_back(w.slurm.submit("a", 1, 8, 1000));
      w.ticks(3);
      const job_key owner = w.slurm.submit("b", 1, 8, 1000);
      const auto is_gone = [&](const job_key& k) { return w.at(k).restarts > 0; };
      for (int i = 0; i < 20 && std::none_of(borrowers.begin(), borrowers.end(), is_gone); ++i) w.tick();
      // The victim is cleaned up, waits again, and was submitted again as far as Slurm knows.
      w.kill();
      for (int i = 0; i < 20; ++i) w.slurm.advance(1);
      w.restart(with_journal);
      w.ticks(with_journal ? 4 : 12);
      CHECK(w.state(owner) == run_state::running);
      CHECK(std::none_of(w.log.begin(), w.log.end(), [](const std::string& line) {
        return line.find("has to be submitted again") != std::string::npos;
      }));
      int evicted = 0;
      for (const auto& [k, t] : w.slurm.jobs) evicted += t.evictions;
      CHECK(evicted == 1);
    }
  }
}

TEST_CASE("governor: who was reclaimed keeps its turn before those that were submitted later") {
  world w{config_of(three_teams)};
  for (int i = 0; i < 4; ++i) w.slurm.submit("a", 1, 8, 1000);
  w.ticks(3);
  w.slurm.submit("b", 1, 8, 60);
  w.ticks(4);
  const job_key later = w.slurm.submit("a", 1, 8, 1000);
  w.ticks(20);
  job_key victim{};
  for (const auto& [k, t] : w.slurm.jobs) {
    if (t.is.restarts > 0) victim = k;
  }
  REQUIRE(victim.id != 0);
  w.ticks(80);
  CHECK(w.state(victim) == run_state::running);
  CHECK(w.state(later) == run_state::pending);
}

TEST_CASE("governor: nobody is evicted for a job whose user names the nodes, or that no node can run") {
  world w{config_of(three_teams)};
  for (node& n : w.slurm.nodes) n.real_memory_mib = 500'000;
  for (int i = 0; i < 4; ++i) w.slurm.submit("a", 1, 8, 100);
  w.ticks(3);
  const job_key there = w.slurm.submit("b", 1, 8, 50);
  w.slurm.jobs.at(there).is.required_nodes = "n3";
  const job_key not_there = w.slurm.submit("b", 1, 8, 50);
  w.slurm.jobs.at(not_there).is.excluded_nodes = "n1,n2,n3,n4";
  const job_key large = w.slurm.submit("b", 1, 8, 50);
  w.slurm.jobs.at(large).is.request.memory_mib = 600'000;
  const job_key wide = w.slurm.submit("b", 1, 8, 50);
  w.slurm.jobs.at(wide).is.request.cpus = 80;
  w.slurm.jobs.at(wide).is.request.max_nodes = 1;
  w.ticks(40);
  CHECK(w.lines("warn") == 0);
  CHECK(w.at(large).comment ==
        "allot: refused: no node of its partition has 600000 MiB of memory: the largest has 500000");
  CHECK(w.at(wide).comment == "allot: refused: no node of its partition has 80 CPUs: the largest has 64");
  w.ticks(120);
  CHECK(w.slurm.jobs.at(there).completions == 1);
  CHECK(w.slurm.jobs.at(not_there).completions == 0);
}

TEST_CASE("governor: a user's own comment stays") {
  world w{config_of(three_teams)};
  const job_key k = w.slurm.submit("a", 1, 8, 100);
  w.slurm.jobs.at(k).is.comment = "mine";
  w.ticks(2);
  CHECK(w.at(k).comment == "mine");
  CHECK(w.at(k).admin_comment == "allot: admitted on n1:8");
}

TEST_CASE("governor: an owner gets back what was lent, and the borrower comes back later") {
  for (const auto manner : {fake_slurm::truth::manner::fails, fake_slurm::truth::manner::ignores}) {
    world w{config_of(three_teams)};
    std::vector<job_key> borrowers;
    for (int i = 0; i < 4; ++i) {
      borrowers.push_back(w.slurm.submit("a", 1, 8, 1000));
      w.slurm.jobs.at(borrowers.back()).when_warned = manner;
    }
    w.ticks(2);
    for (const job_key& k : borrowers) CHECK(w.state(k) == run_state::running);
    const job_key owner = w.slurm.submit("b", 1, 8, 50);
    const std::uint64_t before = w.lines("warn");
    w.tick();
    CHECK(w.lines("warn") == before + 1);
    w.ticks(10);
    CHECK(w.state(owner) == run_state::running);
    CHECK(w.slurm.used_by("a") == 24);
    w.ticks(60);
    CHECK(w.slurm.used_by("a") == 32);
    for (const job_key& k : borrowers) CHECK(w.state(k) == run_state::running);
  }
}

TEST_CASE("governor: nobody is reclaimed before its minimum run is over") {
  for (const bool restarts : {false, true}) {
    CAPTURE(restarts);
    std::string text = three_teams;
    text.insert(text.find("\"nominal\": {\"gpu\": 16}"), "\"min_runtime_s\": {\"reclaim\": 60}, ");
    world w{config_of(text)};
    for (int i = 0; i < 4; ++i) w.slurm.submit("a", 1, 8, 1000);
    w.ticks(5);
    const job_key owner = w.slurm.submit("b", 1, 8, 50);
    w.ticks(40);
    if (restarts) w.restart(true);
    w.ticks(5);
    CHECK(w.lines("warn") == 0);
    CHECK(w.state(owner) == run_state::pending);
    w.ticks(25);
    CHECK(w.state(owner) == run_state::running);
  }
}

TEST_CASE("governor: a job that can't be requeued never borrows") {
  world w{config_of(three_teams)};
  const job_key within = w.slurm.submit("b", 1, 8, 1000, false);
  const job_key beyond = w.slurm.submit("b", 1, 8, 1000, false);
  w.ticks(3);
  CHECK(w.state(within) == run_state::running);
  CHECK(w.state(beyond) == run_state::pending);
  CHECK(w.at(beyond).is_held);
  CHECK(w.at(beyond).admin_comment.find("without preemption") != std::string::npos);
}

TEST_CASE("governor: what may not run is refused with a reason that its user can read") {
  world w{config_of(three_teams)};
  const job_key no_quota = w.slurm.submit("nobody", 1, 1, 10);
  const job_key not_allowed = w.slurm.submit("c", 1, 1, 10);
  w.slurm.jobs.at(not_allowed).is.user = "zoe";
  const job_key too_large = w.slurm.submit("a", 1, 16, 10);
  w.ticks(3);
  CHECK(w.at(no_quota).comment == "allot: refused: its account \"nobody\" has no quota");
  CHECK(w.at(not_allowed).comment == "allot: refused: zoe may not submit to c: it admits the users ana");
  CHECK(w.at(too_large).comment.find("allot: refused: the cluster has no place for it") == 0);
  CHECK(w.lines("refuse") == 3);
}

TEST_CASE("governor: a job that somebody else has released is held again") {
  world w{config_of(three_teams)};
  std::vector<job_key> running;
  for (int i = 0; i < 4; ++i) running.push_back(w.slurm.submit("a", 1, 8, 1000));
  const job_key waits = w.slurm.submit("a", 1, 8, 1000);
  w.ticks(3);
  w.slurm.release_unasked(waits);
  w.ticks(2);
  CHECK(w.at(waits).is_held);
  CHECK(w.lines("hold") == 1);
  CHECK(w.it->snapshot_view().since_start.held_again == 1);
}

TEST_CASE("governor: what runs unasked is counted and can be reclaimed") {
  world w{config_of(three_teams)};
  const job_key k = w.slurm.submit("b", 2, 8, 1000);
  w.slurm.jobs.at(k).is.is_held = false;
  w.slurm.advance(1);
  w.ticks(1);
  CHECK(w.state(k) == run_state::running);
  CHECK(w.it->snapshot_view().quotas[2].used[0] == allot::quantity::whole(16));
}

TEST_CASE("governor: a released job that Slurm does not start gives its share back and backs off") {
  world w{config_of(three_teams)};
  const job_key k = w.slurm.submit("a", 1, 8, 1000);
  // The governor does not learn of it: an outage between the plan and the start.
  w.slurm.advance(1);
  w.it->tick({w.slurm.now * 1000, w.slurm.now * 1000});
  w.slurm.jobs.at(k).pinned = {"nowhere"};
  for (int i = 0; i < 30; ++i) w.tick();
  CHECK(w.at(k).is_held);
  CHECK(w.at(k).comment.find("Slurm did not start it") != std::string::npos);
  // It is tried again.
  w.ticks(60);
  CHECK(w.state(k) == run_state::running);
}

TEST_CASE("governor: what Slurm can't run as it asks is refused, and nobody goes for it twice") {
  for (const bool places : {true, false}) {
    world w{config_of(three_teams, places)};
    for (int i = 0; i < 4; ++i) w.slurm.submit("a", 1, 8, 10'000);
    w.ticks(3);
    const job_key k = w.slurm.submit("b", 1, 8, 100);
    w.slurm.jobs.at(k).cant_run = true;
    w.ticks(120);
    CHECK(w.lines("warn") == 1);
    CHECK(w.slurm.used_by("a") == 32);
    CHECK(w.at(k).is_held);
    CHECK(w.at(k).comment.find("allot: refused: Slurm can't run it as it asks (BadConstraints)") == 0);
    CHECK(w.lines("refuse") == 1);
    // Its user asks for less, and is told nothing of that any more.
    w.slurm.jobs.at(k).cant_run = false;
    w.slurm.jobs.at(k).is.request.memory_mib = 1000;
    w.ticks(15);
    CHECK(w.state(k) == run_state::running);
  }
}

TEST_CASE("governor: what is held by others after its release is not released again at once") {
  world w{config_of(three_teams)};
  const job_key k = w.slurm.submit("a", 1, 8, 100);
  w.slurm.jobs.at(k).pinned = {"nowhere"};
  w.slurm.advance(1);
  w.it->tick({w.slurm.now * 1000, w.slurm.now * 1000});
  job& j = w.slurm.jobs.at(k).is;
  REQUIRE_FALSE(j.is_held);
  w.slurm.jobs.at(k).pinned = {"nowhere"};
  j.is_held = true;
  j.why_pending = "JobHeldAdmin";
  w.ticks(20);
  CHECK(w.at(k).is_held);
  CHECK(w.it->snapshot_view().since_start.released == 1);
  CHECK(w.at(k).comment.find("held by someone else after its release (JobHeldAdmin)") != std::string::npos);
}

TEST_CASE("governor: a job in a reservation of Slurm's is sent to no nodes outside of it") {
  world w{config_of(three_teams)};
  const job_key k = w.slurm.submit("a", 1, 8, 100);
  w.slurm.jobs.at(k).is.reservation = "course";
  w.slurm.jobs.at(k).reserved = {"n3"};
  w.ticks(3);
  CHECK(w.state(k) == run_state::running);
  CHECK(w.at(k).nodes.front().node == "n3");
}

TEST_CASE("governor: what the tasks of an array wait for is one call") {
  world w{config_of(three_teams)};
  w.slurm.submit("c", 1, 8, 1000);
  w.ticks(3);
  w.slurm.submit_array("c", 100, 4);
  std::uint64_t calls = w.slurm.changing_calls;
  w.ticks(10);
  CHECK(w.slurm.changing_calls - calls <= 10);
  for (std::uint32_t t = 0; t < 100; ++t) CHECK(w.at({1000, t}).comment.starts_with("allot: waits: "));
  calls = w.slurm.changing_calls;
  w.ticks(60);
  CHECK(w.slurm.changing_calls - calls <= 10);
}

TEST_CASE("governor: coming reservations and maintenance are foreseen") {
  world w{config_of(three_teams)};
  for (const std::size_t n : {0U, 1U})
    w.slurm.nodes[n].reservations = {{"maint", w.slurm.now + 100, w.slurm.now + 400}};
  // Twice its duration is its time limit.
  const job_key brief = w.slurm.submit("a", 1, 8, 20);
  const job_key longer = w.slurm.submit("a", 1, 8, 80);
  w.ticks(4);
  REQUIRE(w.state(brief) == run_state::running);
  REQUIRE(w.state(longer) == run_state::running);
  CHECK(w.at(brief).nodes.front().node == "n1");
  CHECK(w.at(longer).nodes.front().node == "n3");
  // The rest is lent; an owner that can't use the nodes with the reservation takes back others.
  const job_key borrower = w.slurm.submit("a", 1, 8, 70);
  w.ticks(3);
  REQUIRE(w.state(borrower) == run_state::running);
  CHECK(w.at(borrower).nodes.front().node == "n4");
  const job_key owner = w.slurm.submit("b", 1, 8, 90);
  w.ticks(15);
  CHECK(w.state(owner) == run_state::running);
  CHECK(w.at(owner).nodes.front().node > "n2");
  CHECK(w.lines("warn") == 1);
  // A gang that needs all nodes waits for the end of the maintenance, and is not refused.
  const job_key gang = w.slurm.submit("a", 4, 8, 90);
  w.ticks(3);
  CHECK(w.at(gang).comment.find("reserved in Slurm") != std::string::npos);
  CHECK(w.lines("refuse") == 0);
  // Time passes, and what could still have started there can't any more.
  w.ticks(60);
  CHECK(w.slurm.used_on("n1") == 0);
  for (const std::size_t n : {0U, 1U}) w.slurm.nodes[n].reservations.clear();
  w.ticks(300);
  CHECK(w.slurm.jobs.at(gang).starts > 0);
}

TEST_CASE("governor: jobs of a reservation run in it, from its start on") {
  world w{config_of(three_teams)};
  w.slurm.nodes[2].reservations = {{"course", w.slurm.now + 20, w.slurm.now + 400}};
  const job_key k = w.slurm.submit("b", 1, 8, 50);
  w.slurm.jobs.at(k).is.reservation = "course";
  for (int i = 0; i < 3; ++i) w.slurm.submit("a", 1, 8, 1000);
  w.ticks(10);
  CHECK(w.at(k).comment.find("it begins at") != std::string::npos);
  CHECK(w.slurm.used_on("n3") == 0);
  w.ticks(15);
  REQUIRE(w.state(k) == run_state::running);
  CHECK(w.at(k).nodes.front().node == "n3");
  CHECK(w.lines("warn") == 0);
}

TEST_CASE("governor: nodes that its user requires or excludes are kept") {
  world w{config_of(three_teams)};
  const job_key required = w.slurm.submit("a", 1, 4, 100);
  w.slurm.jobs.at(required).is.required_nodes = "n3";
  const job_key excluded = w.slurm.submit("a", 1, 4, 100);
  w.slurm.jobs.at(excluded).is.excluded_nodes = "n1,n2,n3";
  w.ticks(3);
  REQUIRE(w.state(required) == run_state::running);
  CHECK(w.at(required).nodes.front().node == "n3");
  CHECK(w.at(required).required_nodes == "n3");
  REQUIRE(w.state(excluded) == run_state::running);
  CHECK(w.at(excluded).nodes.front().node == "n4");
  // Where they run counts from then on.
  const job_key full = w.slurm.submit("b", 1, 8, 100);
  w.ticks(3);
  REQUIRE(w.state(full) == run_state::running);
  CHECK(w.at(full).nodes.front().node == "n1");
}

TEST_CASE("governor: nobody gives way to a job that a limit of Slurm's would keep from starting") {
  for (const bool places : {true, false}) {
    world w{config_of(three_teams, places)};
    w.slurm.gpus_of_qos["small"] = 8;
    for (int i = 0; i < 4; ++i) w.slurm.submit("b", 1, 8, 1000);
    w.ticks(2);
    CHECK(w.slurm.used_by("b") == 32);
    const auto submit = [&](const std::string& qos) {
      const job_key k = w.slurm.submit("a", 1, 8, 100);
      w.slurm.jobs.at(k).is.qos = qos;
      return k;
    };
    const job_key first = submit("small");
    const job_key second = submit("small");
    w.ticks(60);
    CHECK(w.state(first) == run_state::running);
    CHECK(w.lines("warn") == 1);
    CHECK(w.at(second).is_held);
    CHECK(w.at(second).comment == "allot: waits: the QOS small runs at most 8 gres/gpu at once (QOSGrpGRES)");
    // A restart changes nothing about that.
    w.restart(true);
    w.ticks(5);
    CHECK(w.lines("warn") == 1);
    // When the first has ended.
    w.ticks(60);
    CHECK(w.state(second) == run_state::running);
    // Who has another QOS is not concerned.
    const job_key third = submit("large");
    w.ticks(20);
    CHECK(w.state(third) == run_state::running);
    CHECK(w.slurm.jobs.at(first).starts + w.slurm.jobs.at(second).starts == 2);
  }
}

TEST_CASE("governor: dependencies, begin times and array limits are waited for") {
  world w{config_of(three_teams)};
  const job_key depends = w.slurm.submit("a", 1, 1, 100);
  w.slurm.jobs.at(depends).is.dependency = "afterok:99";
  const job_key later = w.slurm.submit("a", 1, 1, 100);
  w.slurm.jobs.at(later).is.eligible = w.slurm.now + 10;
  const std::vector<job_key> tasks = w.slurm.submit_array("a", 4, 5, 2);
  const auto running = [&] {
    return std::count_if(tasks.begin(), tasks.end(),
                         [&](const job_key& k) { return w.state(k) == run_state::running; });
  };
  w.ticks(4);
  CHECK(running() == 2);
  CHECK(w.at(depends).comment == "allot: waits: it depends on other jobs: afterok:99");
  CHECK(w.state(later) == run_state::pending);
  w.ticks(10);
  CHECK(w.state(later) == run_state::running);
  CHECK(w.state(depends) == run_state::pending);
  w.slurm.jobs.at(depends).is.dependency.clear();
  w.ticks(10);
  CHECK(w.state(depends) == run_state::running);
  for (const job_key& k : tasks) CHECK(w.slurm.jobs.at(k).completions == 1);
}

TEST_CASE("governor: a job that could not be launched is tried again later") {
  world w{config_of(three_teams)};
  const job_key k = w.slurm.submit("a", 1, 8, 1000);
  w.ticks(3);
  CHECK(w.state(k) == run_state::running);
  CHECK(static_cast<bool>(w.slurm.requeue(w.at(k))));
  w.slurm.jobs.at(k).is.why_pending = "launch failed requeued held";
  w.ticks(10);
  CHECK(w.at(k).is_held);
  CHECK(w.at(k).comment.find("requeued and held") != std::string::npos);
  w.ticks(40);
  CHECK(w.state(k) == run_state::running);
}

TEST_CASE("governor: a job that others requeue and hold, or that its user holds, stays held") {
  for (const auto& [requeued, is_noted] :
       {std::pair{true, true}, {true, false}, {false, true}, {false, false}}) {
    world w{config_of(three_teams)};
    const job_key k = w.slurm.submit("a", 1, 8, 1000);
    job& j = w.slurm.jobs.at(k).is;
    if (requeued) {
      w.ticks(3);
      CHECK(w.state(k) == run_state::running);
      CHECK(static_cast<bool>(w.slurm.requeue(w.at(k))));
    } else {
      // As job_submit.lua notes it.
      j.comment = "allot: held by its user; mine";
    }
    w.ticks(30);
    w.restart(requeued);
    w.ticks(70);
    CHECK(w.at(k).is_held);
    CHECK(w.state(k) == run_state::pending);
    CHECK((requeued ? j.admin_comment : j.comment).starts_with("allot: held by "));
    CHECK((requeued ? j.comment : j.admin_comment).find("held by ") != std::string::npos);
    // What it does not use is lent meanwhile.
    const job_key other = w.slurm.submit("b", 4, 8, 20);
    w.ticks(3);
    CHECK(w.state(other) == run_state::running);
    // Until somebody lets it go, whether the plugin sees that or not.
    if (is_noted) {
      requeued ? void(j.admin_comment = "allot: released by an operator pinned to n1")
               : void(j.comment = "mine");
    } else {
      j.is_held = false;
    }
    w.ticks(40);
    REQUIRE(w.state(k) == run_state::running);
    CHECK(j.admin_comment == "allot: admitted on " + j.nodes.front().node + ":8");
  }
}

TEST_CASE("governor: where a limit of Slurm's keeps a job, others are evicted for it once at most") {
  for (const bool places : {true, false}) {
    CAPTURE(places);
    world w{config_of(three_teams, places)};
    for (int i = 0; i < 4; ++i) w.slurm.submit("a", 1, 8, 100'000);
    w.ticks(3);
    const job_key k = w.slurm.submit("b", 1, 8, 100);
    w.slurm.jobs.at(k).limit = "QOSGrpGRES";
    w.ticks(20);
    CHECK(w.at(k).comment.find("Slurm did not start it: QOSGrpGRES") != std::string::npos);
    w.ticks(150);
    w.restart(true);
    w.ticks(400);
    CHECK(w.lines("warn") == 1);
    CHECK(w.slurm.used_by("a") == 32);
    // It starts when the limit allows it and there is room.
    w.slurm.jobs.at(k).limit.clear();
    w.slurm.cancel(job_key{1});
    w.ticks(60);
    CHECK(w.state(k) == run_state::running);
    CHECK(w.lines("warn") == 1);
  }
}

TEST_CASE("governor: where Slurm chooses the nodes, what was freed for an owner is kept for it") {
  world w{config_of(three_teams, false)};
  std::vector<job_key> borrowers;
  // One GPU each, so that what is freed is in pieces, with others that wait.
  for (int i = 0; i < 48; ++i) borrowers.push_back(w.slurm.submit("a", 1, 1, 60 + 7 * (i % 24)));
  w.ticks(3);
  CHECK(w.slurm.used_by("a") == 32);
  const job_key owner = w.slurm.submit("b", 1, 8, 50);
  int longest = 0;
  for (; longest < 400 && w.state(owner) != run_state::running; ++longest) {
    w.tick();
    if (longest == 100) w.restart(true);
  }
  CHECK(w.state(owner) == run_state::running);
  int evictions = 0;
  for (const job_key& k : borrowers) evictions += w.slurm.jobs.at(k).evictions;
  CHECK(evictions == 8);
}

TEST_CASE("governor: a backoff ends when there is room") {
  for (const bool places : {true, false}) {
    CAPTURE(places);
    world w{config_of(three_teams, places)};
    const job_key k = w.slurm.submit("a", 1, 8, 100);
    // Others use what the governor has no word of.
    for (const node& n : w.slurm.nodes) w.slurm.lost[n.name] = 4;
    w.ticks(100);
    const seconds before = w.slurm.now;
    w.slurm.lost.clear();
    w.ticks(30);
    CHECK(w.state(k) == run_state::running);
    CHECK(w.slurm.jobs.at(k).is.started <= before + 15);
  }
}

TEST_CASE("governor: nice orders jobs, and nobody is evicted for it") {
  world w{config_of(three_teams)};
  const job_key nice = w.slurm.submit("c", 1, 8, 100);
  w.slurm.jobs.at(nice).is.nice = 100;
  w.ticks(3);
  CHECK(w.state(nice) == run_state::running);
  const job_key nicer = w.slurm.submit("c", 1, 8, 100);
  w.slurm.jobs.at(nicer).is.nice = 100;
  const job_key plain = w.slurm.submit("c", 1, 8, 100);
  w.ticks(20);
  CHECK(w.lines("warn") == 0);
  CHECK(w.state(nice) == run_state::running);
  w.ticks(90);
  CHECK(w.state(plain) == run_state::running);
  CHECK(w.state(nicer) == run_state::pending);
}

TEST_CASE("governor: tasks of an array with a limit start in their order") {
  world w{config_of(three_teams)};
  const std::vector<job_key> tasks = w.slurm.submit_array("a", 40, 4, 3);
  // Those that something is told of are looked at first.
  for (const std::uint32_t t : {31U, 12U, 37U}) w.slurm.jobs.at({1000, t}).is.name = "other";
  w.ticks(4);
  CHECK(w.at(tasks[20]).comment == "allot: waits: its array runs at most 3 tasks at once");
  for (const snapshot::job& j : w.it->snapshot_view().jobs) CHECK(j.request[0] == allot::quantity::whole(1));
  w.ticks(200);
  for (std::size_t t = 1; t < tasks.size(); ++t) {
    CHECK(w.slurm.jobs.at(tasks[t]).completions == 1);
    CHECK(w.at(tasks[t - 1]).started <= w.at(tasks[t]).started);
  }
}

TEST_CASE("governor: while it is frozen nobody is evicted, and jobs start where there is room") {
  world w{config_of(three_teams)};
  for (int i = 0; i < 4; ++i) w.slurm.submit("a", 1, 8, 60);
  w.ticks(3);
  w.slurm.submit("b", 1, 8, 50);
  w.it->freeze(true);
  const job_key owner = w.slurm.submit("b", 1, 8, 50);
  w.ticks(30);
  CHECK(w.lines("warn") == 0);
  SUBCASE("until jobs end") {
    w.ticks(40);
    CHECK(w.state(owner) == run_state::running);
    CHECK(w.lines("warn") == 0);
  }
  SUBCASE("until it is thawed") {
    w.it->freeze(false);
    w.ticks(10);
    CHECK(w.lines("warn") == 1);
  }
  // What it was told leads to the same plans.
  const replay_result again = replay(w.events, std::nullopt);
  CHECK(again.problem.empty());
  CHECK(again.differences.empty());
  CHECK(again.cycles > 30);
}

TEST_CASE("governor: a freeze outlasts another configuration") {
  world w{config_of(three_teams)};
  for (int i = 0; i < 4; ++i) w.slurm.submit("a", 1, 8, 1000);
  w.ticks(3);
  w.it->freeze(true);
  w.it->reconfigure(w.conf);
  w.slurm.submit("b", 1, 8, 50);
  w.ticks(10);
  CHECK(w.lines("warn") == 0);
  w.it->freeze(false);
  w.ticks(10);
  CHECK(w.lines("warn") == 1);
}

TEST_CASE("governor: a job that left while nobody governed, and that Slurm has forgotten, is told of") {
  world w{config_of(three_teams)};
  for (int i = 0; i < 4; ++i) w.slurm.submit("a", 1, 8, 1000);
  w.ticks(3);
  w.slurm.submit("b", 1, 8, 50);
  w.tick();
  const auto leaving = w.it->remembers().leaving;
  REQUIRE(leaving.size() == 1);
  const job_key k = parse_job_key(leaving.front().job.name).value();
  w.slurm.jobs.erase(k);
  w.restart(true);
  w.ticks(2);
  CHECK(std::any_of(w.log.begin(), w.log.end(), [&](const std::string& line) {
    return line.find("job=" + to_string(k)) != std::string::npos &&
           line.find("MinJobAge") != std::string::npos;
  }));
}

TEST_CASE("governor: what was requeued unseen is kept back until its nodes are clean") {
  world w{config_of(three_teams)};
  const job_key k = w.slurm.submit("a", 1, 8, 100);
  w.ticks(3);
  REQUIRE(w.state(k) == run_state::running);
  // A node fails while there is no governor, and Slurm delays the next start.
  job& j = w.slurm.jobs.at(k).is;
  j.state = run_state::pending;
  j.nodes.clear();
  j.is_held = true;
  j.restarts = 1;
  const seconds eligible = j.eligible = w.slurm.now + 6;
  w.slurm.jobs.at(k).ends_at.reset();
  w.restart(true);
  for (int i = 0; i < 3; ++i) {
    w.tick();
    CHECK(w.at(k).is_held);
  }
  w.ticks(3);
  CHECK(w.state(k) == run_state::running);
  // It is not kept back again: Slurm's delay is longer than what its nodes need.
  CHECK(w.slurm.now < eligible + 2);
}

TEST_CASE("governor: nobody is released, and warned a moment later, while an owner's nodes clean up") {
  for (const bool places : {true, false}) {
    world w{config_of(three_teams, places)};
    std::vector<job_key> own;
    for (int i = 0; i < 2; ++i) own.push_back(w.slurm.submit("a", 1, 8, 1000));
    w.ticks(3);
    // Others wait for what is to be lent.
    std::vector<job_key> borrowers;
    for (int i = 0; i < 4; ++i) borrowers.push_back(w.slurm.submit("b", 1, 8, 1000));
    w.ticks(3);
    CHECK(w.slurm.used_by("b") == 16);
    // The configuration changes, and both jobs of the owner have to start again.
    w.it->reconfigure(config_of(three_teams, places));
    for (const job_key& k : own) w.slurm.requeue_unasked(k);
    const std::size_t released = w.lines("release");
    for (int i = 0; i < 12; ++i) {
      w.tick();
      CHECK(w.lines("warn") == 0);
      CHECK(w.slurm.used_by("b") == 16);
    }
    for (const job_key& k : own) CHECK(w.state(k) == run_state::running);
    CHECK(w.lines("release") == released + 2);
    // Until then their users read why they wait.
    CHECK(w.slurm.jobs.at(own[0]).starts == 2);
  }
}

TEST_CASE(
    "governor: what a job that its user has put off is to start on is lent until then, and taken back") {
  for (const bool restarts : {false, true}) {
    world w{config_of(three_teams)};
    const job_key later = w.slurm.submit("b", 1, 8, 100);
    w.slurm.jobs.at(later).is.eligible = w.slurm.now + 200;
    std::vector<job_key> borrowers;
    for (int i = 0; i < 3; ++i) borrowers.push_back(w.slurm.submit("a", 1, 8, 50));
    w.ticks(3);
    CHECK(w.slurm.used_by("a") == 24);
    CHECK(w.at(later).comment.find("allot: waits: it begins at ") == 0);
    REQUIRE(w.it->snapshot_view().reservations.size() == 1);
    w.ticks(100);
    if (restarts) w.restart(true);
    // What its account owns comes back when it is ready, so one borrows it that would still run by then.
    for (int i = 0; i < 5; ++i) borrowers.push_back(w.slurm.submit("a", 1, 8, 500));
    w.ticks(60);
    CHECK(w.slurm.used_by("a") == 32);
    CHECK(w.lines("warn") == 0);
    w.ticks(45);
    CHECK(w.state(later) == run_state::running);
    CHECK(w.slurm.used_by("a") == 24);
    CHECK(w.lines("warn") == 1);
  }
}

TEST_CASE("governor: what was requeued with its node does not wait for that node") {
  for (const bool seen : {true, false}) {
    for (const bool restarts : {true, false}) {
      CAPTURE(seen);
      CAPTURE(restarts);
      world w{config_of(three_teams)};
      const job_key k = w.slurm.submit("a", 1, 8, 100);
      w.ticks(1);
      // Slurm starts it, and its node fails before the governor has looked again.
      if (seen) {
        w.ticks(2);
      } else {
        w.slurm.advance(1);
      }
      REQUIRE(w.state(k) == run_state::running);
      const std::string name = w.at(k).nodes.front().node;
      const std::size_t n = static_cast<std::size_t>(name.back() - '1');
      w.slurm.fail(n);
      w.slurm.advance(3);
      REQUIRE(w.state(k) == run_state::pending);
      REQUIRE(!w.at(k).is_held);
      if (restarts) w.restart(true);
      w.tick();
      CHECK(w.at(k).is_held);
      w.ticks(10);
      CHECK(w.state(k) == run_state::running);
      CHECK(w.at(k).nodes.front().node != name);
    }
  }
}

TEST_CASE(
    "governor: where Slurm chooses, a run that was not seen, and ended with its node, does not end the "
    "next") {
  world w{config_of(three_teams, false)};
  const job_key k = w.slurm.submit("a", 1, 8, 100);
  w.ticks(3);
  REQUIRE(w.state(k) == run_state::running);
  REQUIRE(w.at(k).nodes.front().node == "n1");
  w.slurm.requeue_unasked(k);
  // It is released again, and has only the second node, which fails before the governor has looked again.
  for (const std::size_t n : {0U, 2U, 3U}) w.slurm.nodes[n].is_open = false;
  const auto is_released = [&] { return w.state(k) == run_state::pending && !w.at(k).is_held; };
  while (!is_released()) w.tick();
  w.slurm.advance(1);
  REQUIRE(w.state(k) == run_state::running);
  w.slurm.fail(1);
  while (!is_released()) w.tick();
  w.slurm.mend(1);
  w.ticks(10);
  CHECK(w.state(k) == run_state::running);
  CHECK(!w.slurm.jobs.at(k).was_lost);
}

TEST_CASE("governor: who dies of the warning of a governor that has left no journal waits again") {
  world w{config_of(three_teams)};
  std::vector<job_key> lent;
  for (int i = 0; i < 4; ++i) lent.push_back(w.slurm.submit("b", 1, 8, 1000));
  w.ticks(4);
  const job_key own = w.slurm.submit("a", 1, 8, 50);
  const auto dying = [&] {
    return std::find_if(lent.begin(), lent.end(),
                        [&](const job_key& k) { return w.state(k) == run_state::completing; });
  };
  while (dying() == lent.end()) w.tick();
  const job_key victim = *dying();
  // That it yields was not heard.
  w.slurm.jobs.at(victim).is.admin_comment = "allot: admitted on n1:8";
  w.restart(false);
  w.ticks(12);
  CHECK(w.state(own) == run_state::running);
  CHECK(w.state(victim) == run_state::pending);
  CHECK(w.at(victim).admin_comment.starts_with("allot: waits"));
}

TEST_CASE("governor: who yields before it has started, before the next poll, is still known to be pinned") {
  fake_slurm slurm;
  slurm.add_nodes(4, 8);
  slurm_host host{config_of(three_teams), slurm, {}, false};
  decision_log log{[](const std::string&) {}};
  host.log_to(log);
  const auto poll = [&] {
    host.step({slurm.now * 1000, slurm.now * 1000});
    changes c;
    CHECK(host.poll(c));
    return c;
  };
  const job_key k = slurm.submit("a", 2, 4, 100);
  changes c = poll();
  REQUIRE(c.jobs.size() == 1);
  std::vector<command> all(1);
  all[0].is = command::kind::start;
  all[0].job = &c.jobs[0];
  all[0].admission.where = {{"n1", 4, 1}, {"n2", 4, 1}};
  host.carry_out(all);
  CHECK(slurm.jobs.at(k).is.required_nodes == "n1,n2");
  REQUIRE(all[0].after);
  const job_report starts = *all[0].after;
  std::vector<command> stops(1);
  stops[0].is = command::kind::stop;
  stops[0].job = &starts;
  host.carry_out(stops);
  CHECK(slurm.jobs.at(k).is.is_held);
  c = poll();
  REQUIRE(c.jobs.size() == 1);
  // Others may be evicted for it: that it requires nodes was no wish of its user's.
  CHECK(c.jobs[0].what->preempts);
  CHECK(own_requirements(slurm.jobs.at(k).is).empty());
}

TEST_CASE("governor: what has been released to a node that fails is sent elsewhere") {
  world w{config_of(three_teams)};
  const job_key k = w.slurm.submit("a", 1, 8, 100);
  w.tick();
  REQUIRE(!w.at(k).is_held);
  const std::string name = w.slurm.jobs.at(k).pinned.front();
  w.slurm.fail(static_cast<std::size_t>(name.back() - '1'));
  w.ticks(3);
  CHECK(w.state(k) == run_state::running);
  CHECK(w.at(k).nodes.front().node != name);
}

TEST_CASE("governor: a node that is back cleans up before it gets jobs") {
  world w{config_of(three_teams)};
  const job_key k = w.slurm.submit("a", 4, 8, 100);
  w.ticks(3);
  REQUIRE(w.state(k) == run_state::running);
  w.slurm.fail(2);
  w.ticks(10);
  CHECK(w.at(k).is_held);
  w.slurm.mend(2);
  w.ticks(2);
  CHECK(w.at(k).is_held);
  w.ticks(4);
  CHECK(w.state(k) == run_state::running);
  CHECK(!w.slurm.jobs.at(k).was_lost);
}

TEST_CASE("governor: GPUs of which Slurm has lost count get no jobs until it has them again") {
  world w{config_of(three_teams)};
  const job_key k = w.slurm.submit("a", 1, 8, 1000);
  w.tick();
  // It was released there, and Slurm does not start it.
  const std::string name = w.slurm.jobs.at(k).pinned.front();
  w.slurm.lost[name] = 6;
  w.ticks(15);
  CHECK(w.state(k) == run_state::running);
  CHECK(w.at(k).nodes.front().node != name);
  const auto seen = [&](const std::string& text) {
    return std::any_of(w.log.begin(), w.log.end(),
                       [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  CHECK(seen("node=" + name + " lost_gpus=6 why=\"Slurm counts them as used, and no job has them"));
  CHECK(seen("hold job=" + to_string(k) + " user=ana why=\"Slurm counts GPUs of " + name + " as used"));
  CHECK(w.it->snapshot_view().nodes[static_cast<std::size_t>(name.back() - '1')].lost_gpus == 6);
  // What is seen for a moment changes nothing.
  w.slurm.lost[name] = 7;
  w.ticks(3);
  w.slurm.lost[name] = 6;
  w.ticks(3);
  CHECK(w.lines("node") == 1);
  // The other two are used, also by a governor that has just started.
  std::vector<job_key> small;
  for (int i = 0; i < 2; ++i) small.push_back(w.slurm.submit("b", 1, 1, 1000));
  w.restart(true);
  w.ticks(15);
  const job_key wide = w.slurm.submit("b", 3, 6, 1000);
  w.ticks(15);
  for (const job_key& s : small) {
    CHECK(w.state(s) == run_state::running);
    CHECK(w.at(s).nodes.front().node == name);
  }
  CHECK(w.at(wide).is_held);
  // slurmctld has restarted.
  w.slurm.lost.clear();
  w.ticks(15);
  CHECK(seen("node=" + name + " lost_gpus=0"));
  CHECK(w.state(wide) == run_state::running);
  w.replays();
}

TEST_CASE("governor: what Slurm counts of jobs that it has just told of is not lost") {
  world w{config_of(three_teams)};
  w.slurm.lost["n2"] = 3;
  w.ticks(4);
  w.slurm.lost["n2"] = 5;
  w.ticks(9);
  w.slurm.lost.clear();
  w.ticks(3);
  CHECK(w.lines("node") == 0);
}

TEST_CASE("governor: slurmctld away is waited for") {
  world w{config_of(three_teams)};
  w.ticks(1);
  w.slurm.is_away = true;
  const job_key k = w.slurm.submit("a", 1, 8, 100);
  w.ticks(3);
  CHECK(w.it->is_away());
  CHECK(w.lines("slurm") == 1);
  w.slurm.is_away = false;
  w.ticks(2);
  CHECK(w.lines("slurm") == 2);
  CHECK(w.state(k) == run_state::running);
}

TEST_CASE("governor: a job with the id of another, which Slurm has forgotten, is another") {
  world w{config_of(three_teams)};
  const job_key k = w.slurm.submit("a", 1, 8, 1000);
  w.ticks(2);
  CHECK(w.state(k) == run_state::running);
  auto again = w.slurm.jobs.at(k);
  again.is = {};
  again.is.key = k;
  again.is.is_held = true;
  again.is.account = "b";
  again.is.partition = "main";
  again.is.user = "ana";
  again.is.request.tres_per_node = "gres:gpu:8";
  again.is.submitted = w.slurm.now + 1;
  w.slurm.jobs[k] = again;
  w.ticks(2);
  CHECK(w.state(k) == run_state::running);
  CHECK(w.it->snapshot_view().quotas[1].used[0] == allot::quantity{});
  CHECK(w.it->snapshot_view().quotas[2].used[0] == allot::quantity::whole(8));
}

TEST_CASE("governor: observing touches nothing") {
  world w{config_of(three_teams), true};
  for (int i = 0; i < 5; ++i) w.slurm.submit("a", 1, 8, 100);
  const job_key unheld = w.slurm.submit("b", 1, 8, 100);
  w.slurm.jobs.at(unheld).is.is_held = false;
  w.ticks(20);
  CHECK(w.slurm.changing_calls == 0);
  CHECK(w.lines("release") >= 3);
  // The same is not said again and again.
  CHECK(w.lines("release") <= 8);
}

TEST_CASE("governor: a killed governor goes on as if it had not gone") {
  world w{config_of(three_teams)};
  std::vector<job_key> borrowers;
  for (int i = 0; i < 4; ++i) {
    borrowers.push_back(w.slurm.submit("a", 1, 8, 1000));
    w.slurm.jobs.at(borrowers.back()).when_warned = fake_slurm::truth::manner::ignores;
  }
  w.ticks(2);
  const job_key owner = w.slurm.submit("b", 1, 8, 50);
  w.ticks(2);
  CHECK(w.lines("warn") == 1);
  w.restart(true);
  w.ticks(2);
  // The grace period goes on: no second warning, and the requeue comes in time.
  CHECK(w.lines("warn") == 1);
  w.ticks(4);
  CHECK(w.state(owner) == run_state::running);
  CHECK(w.lines("warn") == 1);
  CHECK(w.slurm.used_by("a") == 24);
}

TEST_CASE("governor: a restart moves no job, with the journal or without it") {
  for (const bool with_journal : {true, false}) {
    world w{config_of(three_teams)};
    for (int i = 0; i < 6; ++i) w.slurm.submit(i % 2 == 0 ? "a" : "b", 1, 8, 1000);
    // Until all that wait have been told why.
    w.ticks(15);
    const auto before = w.slurm.changing_calls;
    const auto used = w.slurm.used_by("a");
    w.restart(with_journal);
    w.ticks(5);
    CHECK(w.slurm.changing_calls == before);
    CHECK(w.slurm.used_by("a") == used);
    CHECK(w.it->snapshot_view().since_start.adopted == 4);
  }
}

TEST_CASE("governor: a clock that steps, or is not that of slurmctld, moves no job and keeps none back") {
  for (const std::int64_t off : {-7200, -50, 50, 7200}) {
    for (const bool from_the_start : {true, false}) {
      CAPTURE(off);
      CAPTURE(from_the_start);
      world w{config_of(three_teams)};
      if (from_the_start) w.clock_off = off;
      std::vector<job_key> borrowers;
      for (int i = 0; i < 3; ++i) borrowers.push_back(w.slurm.submit("a", 1, 8, 1000));
      w.ticks(5);
      w.clock_off = off;
      w.ticks(5);
      for (const job_key& k : borrowers) CHECK(w.state(k) == run_state::running);
      for (int i = 0; i < 3; ++i) CHECK(w.slurm.jobs.at(borrowers[static_cast<std::size_t>(i)]).starts == 1);
      // Who yields to an owner comes back when that has ended, and is released once.
      const job_key owner = w.slurm.submit("b", 1, 8, 5);
      const job_key other = w.slurm.submit("c", 1, 8, 5);
      w.ticks(12);
      CHECK(w.slurm.jobs.at(owner).starts == 1);
      CHECK(w.slurm.jobs.at(other).starts == 1);
      w.ticks(25);
      int starts = 0;
      for (const job_key& k : borrowers) {
        CHECK(w.state(k) == run_state::running);
        starts += w.slurm.jobs.at(k).starts;
      }
      CHECK(starts > 3);
      CHECK(w.lines("hold") == 0);
      CHECK(w.lines("slurm") == (!from_the_start && std::abs(off) > 60 ? 1U : 0U));
      // And back to the right time.
      w.clock_off = 0;
      w.ticks(5);
      for (const job_key& k : borrowers) CHECK(w.state(k) == run_state::running);
      w.replays();
    }
  }
}

TEST_CASE(
    "governor: where Slurm chooses the nodes, a job that was lost with one does not go back there at once") {
  for (const bool restarts : {false, true}) {
    for (const char* const own : {"", "n4"}) {
      CAPTURE(restarts);
      CAPTURE(own);
      world w{config_of(three_teams, false)};
      const job_key k = w.slurm.submit("a", 1, 8, 1000);
      w.slurm.jobs.at(k).is.excluded_nodes = own;
      w.ticks(2);
      REQUIRE(w.at(k).nodes.front().node == "n1");
      // The rest is full, so that it could only go where it was.
      const job_key second = w.slurm.submit("a", 1, 8, 1000);
      const job_key others = w.slurm.submit("b", 1, 8, 20);
      w.ticks(2);
      const std::string free = *own == '\0' ? "n4" : "";
      w.slurm.fail(0);
      if (restarts) w.restart(true);
      w.ticks(8);
      // It avoids the node, and keeps what its user said.
      const std::string both = *own == '\0' ? "n1" : "n4,n1";
      CHECK(w.at(k).excluded_nodes == both);
      CHECK(w.at(k).admin_comment == "allot: admitted avoiding n1");
      w.slurm.mend(0);
      w.ticks(6);
      CHECK_FALSE(w.slurm.jobs.at(k).was_lost);
      if (!free.empty()) CHECK(w.at(k).nodes.front().node == free);
      // The next time that it waits, the node is like others.
      w.slurm.requeue_unasked(k);
      w.ticks(20);
      CHECK(w.at(k).excluded_nodes == own);
      CHECK(w.state(k) == run_state::running);
      CHECK(w.slurm.jobs.at(second).starts == 1);
      CHECK(w.slurm.jobs.at(others).starts == 1);
    }
  }
}

TEST_CASE("governor: another configuration is a transition") {
  world w{config_of(three_teams)};
  std::vector<job_key> jobs;
  for (int i = 0; i < 2; ++i) jobs.push_back(w.slurm.submit("a", 1, 8, 1000));
  w.ticks(2);
  std::string smaller = three_teams;
  smaller.replace(smaller.find("\"gpu\": 16"), 9, "\"gpu\": 8");
  w.it->reconfigure(config_of(smaller));
  w.ticks(2);
  for (const job_key& k : jobs) CHECK(w.state(k) == run_state::running);
  CHECK(w.it->snapshot_view().quotas[1].nominal[0] == allot::quantity::whole(8));
}

TEST_CASE("governor: who waits with a reservation starts on machines that come") {
  world w{config_of(three_teams)};
  for (int i = 0; i < 4; ++i) w.slurm.submit("a", 1, 8, 1000);
  const job_key waits = w.slurm.submit("a", 1, 8, 1000);
  w.ticks(3);
  CHECK(w.lines("reserve") == 1);
  std::string larger = three_teams;
  larger.replace(larger.find("\"gpu\": 16"), 9, "\"gpu\": 24");
  w.conf = config_of(larger);
  w.it->reconfigure(w.conf);
  w.ticks(3);
  CHECK(w.state(waits) == run_state::pending);
  node fifth = w.slurm.nodes.front();
  fifth.name = "n5";
  w.slurm.nodes.push_back(fifth);
  w.ticks(3);
  CHECK(w.state(waits) == run_state::running);
}

TEST_CASE("governor: the log of events replays to the same plans") {
  for (const bool places : {true, false}) {
    world w{config_of(three_teams, places)};
    std::mt19937 random{7};
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    for (int i = 0; i < 200; ++i) {
      if (below(3) == 0) {
        w.slurm.submit(below(2) == 0 ? "a" : "b", 1 + below(2), 1 + below(8), 3 + below(30));
      }
      if (i == 50) w.slurm.fail(1);
      if (i == 80) w.slurm.mend(1);
      if (i == 120) w.restart(true);
      w.tick();
    }
    std::stringstream in{w.events.str() + "{\"cut"};
    const replay_result r = replay(in, std::nullopt);
    CHECK(r.problem == "");
    CHECK(r.schedulers == 2);
    CHECK(r.plans > 30);
    for (const std::string& d : r.differences) FAIL_CHECK(d);
    // The simulator keeps its own books of it.
    CHECK(r.starts > 30);
    CHECK(r.evictions > 3);
    // It can tell.
    std::string other = w.events.str();
    const std::size_t at = other.find("\"admit\":[{\"job\":\"1\"");
    REQUIRE(at != std::string::npos);
    other.replace(at + 17, 1, "9");
    std::stringstream changed{other};
    CHECK(!replay(changed, std::nullopt).differences.empty());
  }
}

TEST_CASE("status --if: the log of events says what a change would make of the jobs as they stand") {
  for (const bool places : {true, false}) {
    CAPTURE(places);
    world w{config_of(three_teams, places)};
    std::vector<job_key> borrowers;
    for (int i = 0; i < 3; ++i) borrowers.push_back(w.slurm.submit("a", 1, 8, 1000));
    const job_key own = w.slurm.submit("b", 1, 8, 1000);
    w.ticks(2);
    const job_key waits = w.slurm.submit("b", 1, 8, 1000);
    w.ticks(2);
    const std::string events = w.events.str();
    const auto asked = [&](const std::vector<std::string>& changes, bool as_json = false) {
      std::stringstream in{events + "{\"cut"};
      return what_if(in, changes, as_json);
    };
    const std::string last = to_string(borrowers.back());
    const std::string next = to_string(waits);
    const auto start = "These start:\n  " + next + " (b)";
    const what_if_answer more = asked({"quota:b:gpu+8"});
    INFO(more.text);
    CHECK(more.text.find(start) == 0);
    // Where only quotas count there are 8 more for all.
    CHECK((more.text.find("These have to go:\n  " + last + " (a)\n") != std::string::npos) == places);
    CHECK(asked({"quota:b:gpu+8"}, true).text.find("allot-change/1") != std::string::npos);
    CHECK(asked({"job:" + last + ":gone"}).text.find(start) == 0);
    CHECK(asked({"job:" + to_string(own) + ":priority=-1"}).text.find("have to go") != std::string::npos);
    CHECK(asked({"job:" + to_string(own) + ":priority=0"}).text == "Nothing would be otherwise.\n");
    if (places) CHECK(asked({"node:n1:gone"}).text.find("have to go") != std::string::npos);
    using lines = std::vector<std::string>;
    CHECK(asked({"quota:d:gpu+8"}).problems == lines{"there is no quota \"d\""});
    CHECK(asked({"quota:b:tape+8"}).problems == lines{"there is no resource \"tape\""});
    CHECK(asked({"job:77:gone", "node:n9:gone"}).problems ==
          lines{"there is no job \"77\"", "there is no node \"n9\""});
    CHECK(asked({"b+8"}).problems.size() == 1);
    std::stringstream empty;
    std::stringstream other{"{\"event\": \"dance\"}\n"};
    CHECK(what_if(empty, {}, false).unreadable == "nothing is in it yet");
    CHECK(what_if(other, {}, false).unreadable.find("line 1: ") == 0);
    if (!places) continue;
    // And so it comes.
    std::string larger = three_teams;
    const std::size_t b = larger.find("\"gpu\": 8");
    larger.replace(b, 8, "\"gpu\": 16");
    w.it->reconfigure(config_of(larger, places));
    w.ticks(12);
    CHECK(w.state(waits) == run_state::running);
    CHECK(w.state(borrowers.back()) == run_state::pending);
  }
}

TEST_CASE("status --if: what can't be changed now is said") {
  world w{config_of(three_teams)};
  std::vector<job_key> borrowers;
  for (int i = 0; i < 4; ++i) borrowers.push_back(w.slurm.submit("a", 1, 8, 1000));
  w.ticks(2);
  w.slurm.submit("b", 1, 8, 1000);
  w.tick();
  CHECK(w.lines("warn") == 1);
  std::stringstream events{w.events.str()};
  const std::string last = to_string(borrowers.back());
  CHECK(what_if(events, {"job:" + last + ":priority=5"}, false).problems ==
        std::vector<std::string>{"job \"" + last +
                                 "\" can't be changed while it leaves, or others leave for it"});
}

// Heterogeneous jobs.

TEST_CASE("governor: a heterogeneous job starts whole, each component on the nodes of its own") {
  for (const bool places : {true, false}) {
    CAPTURE(places);
    world w{config_of(three_teams, places)};
    const job_key other = w.slurm.submit("b", 2, 8, 30);
    w.ticks(2);
    const auto k = w.slurm.submit_components("a", {{1, 0}, {3, 8}}, 100);
    w.ticks(10);
    for (const job_key& one : k) {
      CHECK(w.state(one) == run_state::pending);
      CHECK(w.at(one).is_held);
      CHECK(w.at(one).comment.starts_with("allot: waits: "));
    }
    const snapshot waits = w.it->snapshot_view();
    REQUIRE(waits.jobs.size() == 2);
    CHECK(waits.jobs[1].id == to_string(w.at(k[0]).key));
    CHECK(waits.jobs[1].request[0] == allot::gpus(24));
    w.ticks(40);
    for (const job_key& one : k) CHECK(w.state(one) == run_state::running);
    CHECK(w.slurm.used_by("a") == 24);
    const std::string lent = "; its quota borrows 8 gpu for it, and may have to give that back";
    if (places) {
      CHECK(w.at(k[0]).admin_comment == "allot: admitted on n4:0" + lent);
      CHECK(w.at(k[1]).admin_comment == "allot: admitted on n1:8 n2:8 n3:8" + lent);
    } else {
      CHECK(w.at(k[0]).admin_comment == "allot: admitted" + lent);
    }
    const snapshot runs = w.it->snapshot_view();
    REQUIRE(runs.jobs.size() == 1);
    REQUIRE(runs.jobs[0].components.size() == 2);
    CHECK(runs.jobs[0].components[1].nodes == 3);
    CHECK(runs.jobs[0].components[1].request[0] == allot::gpus(24));
    CHECK(runs.quotas[1].used[0] == allot::gpus(24));
    w.ticks(120);
    CHECK(w.slurm.jobs.at(k[0]).completions == 1);
    CHECK(w.slurm.jobs.at(k[1]).starts == 1);
    CHECK(w.slurm.jobs.at(other).completions == 1);
    w.replays();
  }
}

TEST_CASE("governor: no two pods of a heterogeneous job have the same node, as Slurm wants it") {
  world w{config_of(three_teams)};
  const auto k = w.slurm.submit_components("a", {{1, 0}, {2, 2}, {1, 4}}, 100);
  w.ticks(3);
  CHECK(w.slurm.used_by("a") == 8);
  std::set<std::string> nodes;
  for (const job_key& one : k) {
    for (const node_share& s : w.at(one).nodes) nodes.insert(s.node);
  }
  CHECK(nodes.size() == 4);
  w.slurm.cancel(k[0]);
  w.ticks(10);
  // The largest pods don't take what only others can use.
  w.slurm.nodes[0].features = w.slurm.nodes[1].features = {"fast"};
  const auto picky = w.slurm.submit_components("a", {{1, 8}, {2, 4}}, 100);
  w.slurm.jobs.at(picky[1]).is.features = "fast";
  w.ticks(5);
  CHECK(w.at(picky[0]).nodes == std::vector<node_share>{{"n3", 8, 1}});
  CHECK(w.at(picky[1]).nodes == std::vector<node_share>{{"n1", 4, 1}, {"n2", 4, 1}});
  const auto wide = w.slurm.submit_components("a", {{1, 0}, {4, 1}}, 100);
  w.ticks(3);
  CHECK(w.at(wide[0]).comment ==
        "allot: refused: the cluster has no place for it: its pods could not all be placed as its pod sets "
        "ask, were the cluster empty");
}

TEST_CASE("governor: a heterogeneous job is taken back whole, and comes back whole") {
  for (const bool places : {true, false}) {
    for (const int restart : {0, 1, 2}) {
      for (const auto manner : {fake_slurm::truth::manner::ignores, fake_slurm::truth::manner::fails}) {
        CAPTURE(places);
        CAPTURE(restart);
        world w{config_of(three_teams, places)};
        const auto k = w.slurm.submit_components("a", {{1, 0}, {3, 8}}, 200);
        w.slurm.jobs.at(k[0]).when_warned = manner;
        w.ticks(3);
        if (restart > 0) w.restart(restart == 1);
        w.ticks(2);
        CHECK(w.slurm.used_by("a") == 24);
        const job_key owner = w.slurm.submit("b", 1, 8, 30);
        const job_key fourth = w.slurm.submit("c", 1, 8, 30);
        w.ticks(2);
        if (restart > 0) w.restart(restart == 1);
        w.ticks(18);
        CHECK(w.state(owner) == run_state::running);
        CHECK(w.state(fourth) == run_state::running);
        for (const job_key& one : k) CHECK(w.state(one) == run_state::pending);
        if (restart > 0) w.restart(restart == 1);
        w.ticks(40);
        for (const job_key& one : k) CHECK(w.state(one) == run_state::running);
        w.ticks(250);
        CHECK(w.slurm.jobs.at(k[0]).evictions == 1);
        for (const job_key& one : k) {
          CHECK(w.slurm.jobs.at(one).completions == 1);
          CHECK(w.slurm.jobs.at(one).starts == 2);
        }
        w.replays();
      }
    }
  }
}

TEST_CASE("governor: a component that is cancelled while it runs is no longer counted") {
  world w{config_of(three_teams)};
  const auto k = w.slurm.submit_components("a", {{1, 0}, {1, 8}, {1, 4}}, 200);
  w.ticks(3);
  CHECK(w.it->snapshot_view().quotas[1].used[0] == allot::gpus(12));
  w.slurm.cancel(k[1]);
  w.ticks(6);
  CHECK(w.state(k[0]) == run_state::running);
  CHECK(w.it->snapshot_view().quotas[1].used[0] == allot::gpus(4));
  w.restart(false);
  w.ticks(3);
  CHECK(w.it->snapshot_view().quotas[1].used[0] == allot::gpus(4));
  const job_key next = w.slurm.submit("b", 3, 8, 30);
  w.ticks(3);
  CHECK(w.state(next) == run_state::running);
}

TEST_CASE(
    "governor: a heterogeneous job that was requeued without one of its components is in nobody's way") {
  world w{config_of(three_teams)};
  const auto k = w.slurm.submit_components("a", {{1, 0}, {1, 8}}, 200);
  // Slurm has forgotten the one that is over.
  w.slurm.jobs.erase(k[1]);
  w.ticks(3);
  CHECK(w.state(k[0]) == run_state::pending);
  CHECK(w.at(k[0]).is_held);
  CHECK(w.at(k[0]).comment.find("Slurm never starts it") != std::string::npos);
  CHECK(w.it->snapshot_view().quotas[1].used[0] == allot::gpus(0));
  const job_key next = w.slurm.submit("a", 4, 8, 30);
  w.ticks(3);
  CHECK(w.state(next) == run_state::running);
}

TEST_CASE("governor: a heterogeneous job that is cancelled while it waits is gone") {
  world w{config_of(three_teams)};
  const job_key runs = w.slurm.submit("a", 4, 8, 50);
  w.ticks(2);
  const auto k = w.slurm.submit_components("a", {{1, 0}, {1, 8}}, 200);
  w.ticks(5);
  w.slurm.cancel(k[0]);
  w.ticks(2);
  CHECK(w.it->snapshot_view().jobs.size() == 1);
  w.ticks(60);
  CHECK(w.slurm.jobs.at(runs).completions == 1);
  CHECK(w.slurm.jobs.at(k[1]).starts == 0);
}

TEST_CASE("governor: a heterogeneous job that can't be one gang is refused with a reason") {
  world w{config_of(three_teams)};
  const auto refused = [&](auto change, const std::string& why) {
    const auto k = w.slurm.submit_components("a", {{1, 0}, {1, 8}}, 100);
    change(w.slurm.jobs.at(k[1]).is);
    w.ticks(3);
    CHECK(w.at(k[0]).comment == "allot: refused: " + why);
    CHECK(w.at(k[1]).comment == "allot: refused: " + why);
    CHECK(w.at(k[0]).is_held);
  };
  refused([](job& j) { j.account = "b"; },
          "its component 1 has another account or QOS than the first: give all the same");
  refused([](job& j) { j.qos = "high"; },
          "its component 1 has another account or QOS than the first: give all the same");
  refused([](job& j) { j.partition = "debug"; },
          "its component 1 is for the partition \"debug\", which is not governed");
  refused(
      [](job& j) {
        j.request.tres_per_node.clear();
        j.request.tres_per_job = "gres:gpu:9";
      },
      "its component 1: say on how many nodes its GPUs are, as in --nodes=2 --gres=gpu:4");
  refused([](job& j) { j.request.tres_per_node = "gres:shard:2"; },
          "its component 1: parts of GPUs (shard) are not counted: ask for whole ones, as in --gres=gpu:1");
  refused(
      [](job& j) { j.request.tres_per_node = "gres:gpu:9"; },
      "the cluster has no place for it: component 1: no node could hold a pod of it, even if it were empty");
  for (node& n : w.slurm.nodes) n.real_memory_mib = 500'000;
  refused([](job& j) { j.request.memory_mib = 600'000; },
          "its component 1: no node of its partition has 600000 MiB of memory: the largest has 500000");
}

TEST_CASE("governor: a component that gives the sum of its GPUs has as many nodes as that fills") {
  world w{config_of(three_teams)};
  const auto k = w.slurm.submit_components("a", {{1, 0}, {1, 8}}, 100);
  raw_request& asks = w.slurm.jobs.at(k[1]).is.request;
  asks.tres_per_node.clear();
  asks.tres_per_job = "gres:gpu:16";
  w.ticks(3);
  CHECK(w.at(k[1]).required_nodes == "n1,n2");
  const snapshot s = w.it->snapshot_view();
  REQUIRE(s.jobs.size() == 1);
  REQUIRE(s.jobs[0].components.size() == 2);
  CHECK(s.jobs[0].components[1].nodes == 2);
}

TEST_CASE("governor: where a component names nodes, Slurm finds the places of all") {
  world w{config_of(three_teams)};
  const auto k = w.slurm.submit_components("a", {{1, 0}, {1, 8}}, 100);
  w.slurm.jobs.at(k[1]).is.required_nodes = "n3";
  w.ticks(3);
  CHECK(w.at(k[1]).nodes == std::vector<node_share>{{"n3", 8, 1}});
  CHECK(w.at(k[1]).required_nodes == "n3");
  CHECK(w.at(k[0]).required_nodes.empty());
}

TEST_CASE("governor: a heterogeneous job of which a component could not be released is tried again, whole") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    world w{config_of(three_teams)};
    w.slurm.seed = seed;
    w.slurm.lost_calls = 300;
    const auto k = w.slurm.submit_components("a", {{1, 0}, {1, 8}, {1, 8}}, 30);
    w.ticks(30);
    w.slurm.lost_calls = 0;
    w.ticks(300);
    for (const job_key& one : k) CHECK(w.slurm.jobs.at(one).completions == 1);
  }
}

TEST_CASE("governor: a heterogeneous job that its user holds waits until its leader is let go") {
  world w{config_of(three_teams)};
  const auto k = w.slurm.submit_components("a", {{1, 0}, {1, 8}}, 100);
  // As job_submit.lua notes it.
  for (const job_key& one : k) w.slurm.jobs.at(one).is.comment = "allot: held by its user";
  w.ticks(10);
  CHECK(w.state(k[1]) == run_state::pending);
  CHECK(w.at(k[0]).admin_comment == "allot: waits: it is held by its user");
  for (const job_key& one : k) w.slurm.jobs.at(one).is.comment = "allot: released by its user";
  w.ticks(3);
  CHECK(w.state(k[1]) == run_state::running);
}

TEST_CASE("status --if: what a change makes of a heterogeneous job") {
  world w{config_of(three_teams)};
  const job_key runs = w.slurm.submit("a", 2, 8, 1000, false);
  w.ticks(2);
  const auto k = w.slurm.submit_components("a", {{1, 0}, {3, 8}}, 100);
  w.ticks(3);
  std::stringstream in{w.events.str()};
  const what_if_answer answer = what_if(in, {"job:" + to_string(runs) + ":gone"}, false);
  CHECK(answer.problems.empty());
  CHECK(answer.text.find(to_string(w.at(k[0]).key) + " ") != std::string::npos);
  CHECK(answer.text.find("start") != std::string::npos);
}

TEST_CASE("governor: every job ends once, whatever happens" * doctest::test_suite("schedules")) {
  allot_test::for_each_seed(300, [](const allot_test::random_source& source) {
    const auto seed = static_cast<unsigned>(source.seed());
    std::mt19937 random{seed};
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    const auto chance = [&](std::uint32_t thousandths) { return below(1000) < thousandths; };
    world w{config_of(three_teams, seed % 4 != 0)};
    w.slurm.seed = seed;
    std::vector<job_key> all;
    constexpr int busy = 300;
    for (int i = 0; i < busy + 3000; ++i) {
      const bool is_busy = i < busy;
      w.slurm.lost_calls = is_busy ? 50 : 0;
      if (is_busy && chance(300)) {
        const char* const account = std::vector<const char*>{"a", "b", "c"}[below(3)];
        const bool may_requeue = !chance(200);
        // More than its team owns, and not to be preempted: that would wait for ever.
        const std::uint32_t on = may_requeue ? 1 + below(2) : 1;
        if (may_requeue && chance(200)) {
          const auto parts = w.slurm.submit_components(
              account, {{1, 0}, {1, 1 + below(4)}, {on, 1 + below(2)}}, 2 + below(40));
          all.insert(all.end(), parts.rbegin(), parts.rend());
        } else {
          all.push_back(
              w.slurm.submit(account, account[0] == 'c' ? 1 : on, 1 + below(8), 2 + below(40), may_requeue));
        }
        auto& t = w.slurm.jobs.at(all.back());
        t.when_warned = static_cast<fake_slurm::truth::manner>(below(3));
      }
      if (is_busy && !all.empty()) {
        const job_key k = all[random() % all.size()];
        if (chance(20)) w.slurm.cancel(k);
        if (chance(20)) w.slurm.release_unasked(k);
        if (chance(20)) w.slurm.requeue_unasked(k);
        if (chance(10)) w.slurm.jobs.at(k).is.time_limit += 60;
      }
      const std::size_t n = below(4);
      if (is_busy && chance(10)) w.slurm.fail(n);
      const std::string& loses = w.slurm.nodes[n].name;
      if (is_busy && chance(10)) w.slurm.lost[loses] += below(9 - w.slurm.used_on(loses));
      if (!is_busy || chance(10)) w.slurm.lost.clear();
      if (!is_busy || chance(100)) w.slurm.mend(n);
      if (is_busy && chance(20)) w.slurm.is_away = !w.slurm.is_away;
      if (!is_busy) w.slurm.is_away = false;
      if (is_busy && chance(30)) w.restart(chance(500));
      w.tick();
      for (const node& each : w.slurm.nodes) REQUIRE(w.slurm.used_on(each.name) <= 8);
      // May not borrow; what others started unasked is not the governor's.
      bool unasked = false;
      for (const auto& [k, t] : w.slurm.jobs) unasked = unasked || (t.unasked && t.is.account == "c");
      if (!unasked) REQUIRE(w.slurm.used_by("c") <= 8);
      if (is_busy) continue;
      const bool is_over = std::all_of(w.slurm.jobs.begin(), w.slurm.jobs.end(),
                                       [](const auto& j) { return j.second.is.state == run_state::ended; });
      if (is_over) break;
    }
    for (const auto& of : w.slurm.jobs) {
      const auto& t = of.second;
      CAPTURE(to_string(of.first));
      CAPTURE(t.is.admin_comment);
      CHECK(t.is.state == run_state::ended);
      CHECK(!t.was_lost);
      CHECK((t.was_cancelled || t.is.has_failed || t.completions == 1));
    }
    w.replays();
  });
}

TEST_CASE(
    "governor: where Slurm and people say no, nothing is lost, and nobody is evicted twice for a job that "
    "did not start" *
    doctest::test_suite("schedules")) {
  allot_test::for_each_seed(200, [](const allot_test::random_source& source) {
    const auto seed = static_cast<unsigned>(source.seed());
    std::mt19937 random{seed};
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    const auto chance = [&](std::uint32_t thousandths) { return below(1000) < thousandths; };
    world w{config_of(three_teams, seed % 3 != 0)};
    std::vector<job_key> all;
    // Who was warned for whom, before which start; and since when nodes are reserved as they are, and others
    // of the account were released, for what was freed there may be lost with them, or be theirs.
    std::map<std::tuple<job_key, job_key, int, int, int>, int> evictions;
    int reserved = 0;
    std::map<std::string, int> released;
    // Before which start others were evicted for a job, and before which it did not start all the same.
    std::map<job_key, int> had_victims;
    std::map<job_key, int> spent;
    std::size_t read = 0;
    constexpr int busy = 400;
    for (int i = 0; i < busy + 4000; ++i) {
      const bool is_busy = i < busy;
      if (is_busy && chance(250)) {
        const char* const account = std::vector<const char*>{"a", "b", "c"}[below(3)];
        const std::uint32_t on = account[0] == 'c' ? 1 : 1 + below(2);
        all.push_back(w.slurm.submit(account, on, 1 + below(8), 5 + below(60)));
        auto& t = w.slurm.jobs.at(all.back());
        t.when_warned = chance(500) ? fake_slurm::truth::manner::fails : fake_slurm::truth::manner::ignores;
        t.cant_run = chance(50);
        if (chance(150))
          t.limit = std::vector<const char*>{"QOSGrpGRES", "Licenses", "ReqNodeNotAvail"}[below(3)];
        if (chance(80)) t.is.comment = "allot: held by its user";
      }
      if (is_busy && chance(10)) {
        ++reserved;
        for (node& n : w.slurm.nodes) n.reservations.clear();
        const seconds start = w.slurm.now + below(100);
        if (chance(700)) w.slurm.nodes[below(4)].reservations = {{"maint", start, start + below(100)}};
      }
      if (!is_busy) {
        for (node& n : w.slurm.nodes) n.reservations.clear();
      }
      for (auto& [k, t] : w.slurm.jobs) {
        const bool waits = t.is.state == run_state::pending;
        if (!is_busy || chance(10)) t.limit.clear();
        if (waits && (!is_busy || chance(10))) {
          if (t.is.comment.starts_with("allot: held by ")) t.is.comment = "allot: released by its user";
          if (const std::string& said = t.is.admin_comment; said.starts_with("allot: held by ")) {
            // As the plugin does, which keeps what is said of nodes.
            const std::size_t pin = said.find(" pinned to ");
            t.is.admin_comment = "allot: released by an operator" +
                                 (pin == std::string::npos ? std::string{} : said.substr(pin));
          }
        }
        if (t.cant_run && !is_busy) w.slurm.cancel(k);
        if (!is_busy) continue;
        if (chance(1)) w.slurm.cancel(k);
        if (t.is.state == run_state::running && chance(2)) static_cast<void>(w.slurm.requeue(t.is));
        if (waits && !t.is.is_held && chance(5)) {
          t.is.is_held = true;
          t.is.why_pending = "JobHeldAdmin";
        }
      }
      if (is_busy && chance(10)) w.restart(true);
      w.tick();
      for (; read < w.log.size(); ++read) {
        const auto word = [&](const std::string& key) {
          const std::size_t at = w.log[read].find(' ' + key + '=');
          return at == std::string::npos
                     ? std::string{}
                     : w.log[read].substr(at + key.size() + 2,
                                          w.log[read].find(' ', at + 1) - at - key.size() - 2);
        };
        const auto starts = [&](const job_key& k) {
          const auto known = w.slurm.jobs.find(k);
          return known == w.slurm.jobs.end() ? 0 : known->second.starts;
        };
        if (w.log[read].find(" release ") != std::string::npos) ++released[word("account")];
        if (w.log[read].find(" failed job=") != std::string::npos) {
          const job_key k = *parse_job_key(word("job"));
          const auto had = had_victims.find(k);
          if (had != had_victims.end() && had->second == starts(k)) spent[k] = starts(k);
        }
        if (w.log[read].find(" warn ") == std::string::npos || word("for").empty()) continue;
        const job_key by = *parse_job_key(word("for"));
        const std::string account = w.slurm.jobs.count(by) == 0 ? "" : w.at(by).account;
        const int times =
            ++evictions[{*parse_job_key(word("job")), by, starts(by), reserved, released[account]}];
        CHECK(times == 1);
        CHECK((spent.count(by) == 0 || spent.at(by) != starts(by)));
        had_victims[by] = starts(by);
      }
      for (const node& each : w.slurm.nodes) REQUIRE(w.slurm.used_on(each.name) <= 8);
      REQUIRE(w.slurm.used_by("c") <= 8);
      const bool is_over = std::all_of(w.slurm.jobs.begin(), w.slurm.jobs.end(),
                                       [](const auto& j) { return j.second.is.state == run_state::ended; });
      if (!is_busy && is_over) break;
    }
    CHECK(all.size() > 50);
    for (const auto& of : w.slurm.jobs) {
      const auto& t = of.second;
      CAPTURE(to_string(of.first));
      CAPTURE(t.is.admin_comment);
      CHECK(t.is.state == run_state::ended);
      CHECK((t.was_cancelled || t.is.has_failed || t.completions == 1));
    }
    w.replays();
  });
}

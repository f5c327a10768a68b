// SPDX-License-Identifier: BSL-1.0
#include "../src/let_go.hpp"

#include "../src/slurm_governor.hpp"
#include "fake_slurm.hpp"

#include <doctest/doctest.h>

using namespace slurm_tests;

namespace {

[[nodiscard]] config some_config(const std::string& nodes) {
  auto reading = parse_config(R"({"quotas": [{"name": "org"},
    {"name": "a", "parent": "org", "nominal": {"gpu": 8}}, {"name": "b", "parent": "org", "nominal": {"gpu": 8}}],
    "slurm": {"grace_s": 0, "nodes": ")" +
                                  nodes + "\"}}",
                              "test");
  REQUIRE(reading.value);
  return std::move(*reading.value);
}

struct let_go_world {
  explicit let_go_world(const std::string& nodes = "allot") : conf(some_config(nodes)) {
    slurm.add_nodes(2, 8);
  }

  void govern(int ticks) {
    slurm_surroundings around;
    around.log = [](const std::string&) {};
    slurm_governor it{conf, slurm, std::move(around), false};
    slurm.start_polling_again();
    for (int i = 0; i < ticks; ++i) {
      slurm.advance(1);
      it.tick({slurm.now * 1000, slurm.now * 1000});
      if (at_tick) at_tick(i);
    }
  }
  let_go_result let_go(bool unmarked = false) {
    slurm.start_polling_again();
    cluster_changes now;
    REQUIRE(static_cast<bool>(slurm.poll(now)));
    lines.clear();
    return allot_slurm::let_go(conf, now.jobs, slurm, unmarked,
                               [this](const std::string& line) { lines.push_back(line); });
  }
  [[nodiscard]] job& at(const job_key& k) { return slurm.jobs.at(k).is; }

  config conf;
  fake_slurm slurm{};
  std::function<void(int)> at_tick{};
  std::vector<std::string> lines{};
};

}  // namespace

TEST_CASE("let-go: what was reclaimed is neither held nor pinned any more, and carries no comment") {
  let_go_world w;
  std::vector<job_key> borrowers;
  for (int i = 0; i < 2; ++i) borrowers.push_back(w.slurm.submit("a", 1, 8, 1000));
  job_key owner;
  w.at_tick = [&](int i) {
    if (i == 5) owner = w.slurm.submit("b", 1, 8, 1000);
  };
  w.govern(20);
  const job_key victim = w.at(borrowers[0]).state == run_state::pending ? borrowers[0] : borrowers[1];
  REQUIRE(w.at(victim).state == run_state::pending);
  REQUIRE(w.at(victim).is_held);
  REQUIRE(w.at(victim).admin_comment.starts_with("allot: waits: "));
  // The next governor finds the pin, too.
  w.govern(3);
  const std::string where = w.at(victim).required_nodes;
  CHECK(w.at(victim).admin_comment.ends_with(" pinned to " + where));
  CHECK(w.at(owner).admin_comment.starts_with("allot: admitted on "));

  const let_go_result r = w.let_go();
  CHECK(r.text() == "3 jobs let go, 1 of them released");
  CHECK(r.failed == 0);
  for (const auto& [k, t] : w.slurm.jobs) {
    CHECK(t.is.admin_comment.empty());
    CHECK(t.is.comment.empty());
  }
  CHECK_FALSE(w.at(victim).is_held);
  CHECK(w.at(victim).required_nodes.empty());
  CHECK(std::count(w.lines.begin(), w.lines.end(),
                   to_string(victim) + " of ana: comments emptied, no longer pinned to " + where +
                       ", released") == 1);
  // Once more, and there is nothing to do.
  CHECK(w.let_go().text() == "0 jobs let go, 0 of them released");
  CHECK(w.lines.empty());
  // Any node will do.
  w.slurm.fail(static_cast<std::size_t>(where.back() - '1'));
  w.slurm.cancel(owner);
  w.slurm.cancel(victim == borrowers[0] ? borrowers[1] : borrowers[0]);
  w.slurm.advance(10);
  CHECK(w.at(victim).state == run_state::running);
}

TEST_CASE("let-go: each component of a heterogeneous job") {
  let_go_world w;
  const job_key full = w.slurm.submit("b", 2, 4, 1000);
  std::vector<job_key> parts;
  w.at_tick = [&](int i) {
    if (i == 3) parts = w.slurm.submit_components("a", {{1, 0}, {1, 8}}, 50);
  };
  w.govern(10);
  CHECK(w.at(parts[1]).is_held);
  CHECK(w.let_go().text() == "3 jobs let go, 2 of them released");
  const std::string id = to_string(w.at(parts[0]).key);
  CHECK(std::count(w.lines.begin(), w.lines.end(), id + "+1 of ana: comments emptied, released") == 1);
  w.slurm.cancel(full);
  w.slurm.advance(5);
  for (const job_key& k : parts) {
    CHECK(w.at(k).comment.empty());
    CHECK(w.at(k).state == run_state::running);
  }
}

TEST_CASE("let-go: what users and operators have set stays") {
  let_go_world w;
  const auto like = [&](const std::string& admin) {
    const job_key k = w.slurm.submit("a", 1, 1, 100);
    w.at(k).admin_comment = admin;
    return k;
  };
  const job_key held = like("allot: held by ana");
  const job_key foreign = like("allot: waits: it is the governor's");
  w.at(foreign).partition = "debug";
  const job_key plain = like("");
  w.at(plain).comment = "mine";
  const job_key other = like("checked by bob");
  const job_key own_nodes = like("allot: waits: for a");
  w.at(own_nodes).required_nodes = "n2";
  w.at(own_nodes).comment = "mine";
  const job_key moved = like("allot: admitted on n1:8");
  w.at(moved).is_held = false;
  w.at(moved).required_nodes = "n2";
  const job_key avoids = like("allot: waits: for a avoiding n1");
  w.at(avoids).excluded_nodes = "n2,n1";

  const let_go_result r = w.let_go();
  CHECK(
      r.text() ==
      "4 jobs let go, 2 of them released; 1 stay held, not by the governor; 2 are held without a mark of the "
      "governor: --unmarked releases these, too");
  CHECK(w.at(held).is_held);
  CHECK(w.at(held).admin_comment.empty());
  CHECK(w.at(foreign).is_held);
  CHECK(w.at(foreign).admin_comment == "allot: waits: it is the governor's");
  CHECK(w.at(plain).is_held);
  CHECK(w.at(other).is_held);
  CHECK(w.at(other).admin_comment == "checked by bob");
  CHECK_FALSE(w.at(own_nodes).is_held);
  CHECK(w.at(own_nodes).required_nodes == "n2");
  CHECK(w.at(own_nodes).comment == "mine");
  CHECK(w.at(moved).required_nodes == "n2");
  CHECK(w.at(avoids).excluded_nodes == "n2");

  CHECK(w.let_go(true).released == 3);
  CHECK_FALSE(w.at(plain).is_held);
  CHECK(w.at(plain).comment == "mine");
  CHECK(w.at(other).admin_comment == "checked by bob");
}

TEST_CASE("let-go: a call that fails is said, and the others are made") {
  let_go_world w;
  for (int i = 0; i < 3; ++i) w.at(w.slurm.submit("a", 1, 1, 100)).admin_comment = "allot: waits: for a";
  w.slurm.start_polling_again();
  cluster_changes now;
  REQUIRE(static_cast<bool>(w.slurm.poll(now)));
  w.slurm.cancel({2});
  w.slurm.forget_ended();
  const let_go_result r =
      let_go(w.conf, now.jobs, w.slurm, false, [&](const std::string& line) { w.lines.push_back(line); });
  CHECK(r.failed == 1);
  CHECK(r.released == 2);
  REQUIRE(w.lines.size() == 3);
  CHECK(w.lines[1] == "2 of ana: failed: no such job");
}

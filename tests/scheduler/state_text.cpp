// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/state_text.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

using allot::instant;
using allot::job_id;
using allot::job_state;
using allot::quota_id;

namespace {

using state = allot::scheduler_state<std::string, std::string>;

std::string written(const state& s) {
  const auto same = [](const std::string& text) { return text; };
  return to_text(s, same, same);
}
allot::result<state> read(std::string_view text) {
  const auto any = [](const std::string& name) { return std::optional{name}; };
  return allot::state_from_text<std::string, std::string>(text, any, any);
}
std::string problem(std::string_view text) {
  const auto s = read(text);
  return s ? std::string{} : s.problems().front().text;
}

/// Each field has a value that a new one does not have.
state full() {
  state s;
  for (std::uint32_t i = 0; i < 2; ++i) {
    state::unit u;
    u.id = job_id{i, 3};
    u.state = i == 0 ? job_state::running : job_state::pending;
    u.core = job_id{4, 4};
    u.elastic_pods = {job_id{1, 3}, job_id{2}};
    u.pods_to_come = 5;
    u.pods = 6;
    u.pick = {1, 2, 3, 255};
    u.rank = {-7, 8, ~std::uint64_t{0}, true};
    u.submitted = -9;
    u.estimate = 10;
    u.since = 11;
    u.found = allot::pending_reason::not_proven;
    u.preemptions = 13;
    u.follows_priority = true;
    u.is_over = true;
    u.gathers_from = 0;
    u.gathers_until = -15;
    u.what = "a \"name\"\nof \\ two lines, id=1";
    if (i == 0) u.where = "n1:8 n2:4";
    s.units.push_back(u);
  }
  auto& m = s.memory;
  m.now = 20;
  m.quotas = {"lab", "lab/a b", "", "\""};
  m.free_ids = {job_id{2, 1}};
  m.most_jobs = 3;
  m.submissions = 21;
  m.leaving = {{job_id{0, 3}, job_id{1, 3}}, {job_id{0, 3}, {}}};
  m.nominated = {job_id{1, 3}};
  m.reservations = {{job_id{1, 3},
                     {22, 23, job_id{0, 3}, true, true, allot::delay_cause::owner, 24},
                     25,
                     26,
                     true,
                     true,
                     27}};
  m.former_reservations = {{job_id{0, 3}, {}, 27, 28}};
  m.next_reservation = 29;
  m.backoffs = {{quota_id{1}, 1, 32, 33, 34}, {quota_id{3}, 0, 35, 36, 37}};
  m.inadmissible = {{job_id{1, 3}, {38, 39, 40, false}, 41}};
  m.blocking = {job_id{1, 3}};
  m.touched = {quota_id{1}, quota_id{0}};
  m.renewing = {quota_id{3}};
  m.must_requeue = true;
  m.freed_until = 42;
  m.cause = allot::delay_cause::placement;
  m.starts_may_move = true;
  m.ended_from = 43;
  m.ended_to = 44;
  m.of_cycle.announced = {job_id{1, 3}};
  m.of_cycle.scans = {{job_id{1, 3}, {1}, 2, 1}, {job_id{1, 3}, {}, std::nullopt, 2}};
  m.of_cycle.blocked = {{job_id{1, 3}, true}};
  m.of_cycle.touched = {quota_id{0}};
  m.of_cycle.revisited = {quota_id{3}};
  m.of_cycle.past_usage = {0, ~std::uint64_t{0}};
  m.of_cycle.claimed = 45;
  m.of_cycle.is_at_rest = m.of_cycle.has_new_quotas = true;
  m.of_cycle.ended_early = m.of_cycle.may_miss = true;
  return s;
}

/// A file of version 1: later versions read it, too.
constexpr std::string_view of_version_1 = R"(allot-state 1
memory now=20 quotas="lab","lab/a" free_ids=2.1 most_jobs=3 submissions=3 nominated=1.0 touched="lab/a" must_requeue=1
cycle claimed=12
unit id=0.0 state=evicting rank=0,1,0,1 submitted=1 since=5 what="b1" where="n1:4"
unit id=1.0 state=nominated rank=-3,2,0,2 submitted=2 what="a1" where="n1:4"
leaving job=0.0 beneficiary=1.0
backoff quota="lab/a" since=3 until=60 times=1
end
)";

}  // namespace

TEST_CASE("state_text: all that was written is read") {
  for (const state& s : {full(), state{}}) {
    const auto again = read(written(s));
    REQUIRE_MESSAGE(again, problem(written(s)));
    CHECK(again.value() == s);
    CHECK(written(again.value()) == written(s));
  }
}

TEST_CASE("state_text: a text of the first version is read, and written as it is") {
  const auto s = read(of_version_1);
  REQUIRE_MESSAGE(s, problem(of_version_1));
  CHECK(s.value().units[1].what == "a1");
  CHECK(s.value().units[1].rank == allot::job_rank{-3, 2, 2, false});
  CHECK(s.value().memory.leaving.front().beneficiary == job_id{1});
  CHECK(s.value().memory.backoffs.front().quota == quota_id{1});
  CHECK(written(s.value()).find("beneficiary=1.0") != std::string::npos);
}

TEST_CASE("state_text: what is wrong is said, with the line") {
  const std::string whole = written(full());
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    const auto part = read(std::string_view{whole}.substr(0, cut));
    // The last line's end may be missing.
    CHECK_MESSAGE(static_cast<bool>(part) == (cut == whole.size() - 1), cut);
  }
  CHECK(problem("").find("of another version") != std::string::npos);
  CHECK(problem("allot-state 2\nend\n").find("line 1 of the state: \"allot-state 1\" is expected") == 0);
  CHECK(problem("allot-state 1\nmemory tomorrow=1\nend\n") == "line 2 of the state: unknown field tomorrow");
  CHECK(problem("allot-state 1\nfuture\nend\n") == "line 2 of the state: unknown: future");
  CHECK(problem("allot-state 1\nunit id=x what=\"j\"\nend\n") ==
        "line 2 of the state: this is no value of id");
  CHECK(problem("allot-state 1\nunit id=1.0\nend\n") == "line 2 of the state: this is no job");
  CHECK(problem("allot-state 1\nmemory now=99999999999999999999\nend\n") ==
        "line 2 of the state: this is no value of now");
  CHECK(problem("allot-state 1\nmemory touched=\"lab\"\nend\n") ==
        "line 2 of the state: this is no value of touched");
  CHECK(problem("allot-state 1\nend\nend\n") == "line 2 of the state: nothing is expected after the end");
  CHECK(problem("allot-state 1\nmemory most_jobs=4000000000\nend\n").find("so many jobs") !=
        std::string::npos);
}

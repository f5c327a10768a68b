// SPDX-License-Identifier: BSL-1.0
// Jobs that are not ready yet (`ready_view`): they start when they are, nobody is started for seconds on what
// they will take back, and they may hold reservations.
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/presets/standard.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/sentences.hpp>
#include <allot/scheduler/state_text.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/support/random_host.hpp"
#include "tests/support/reservation_law.hpp"
#include "tests/support/same_reasons.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/soak_scheduler.hpp"
#include "tests/support/timed_host.hpp"

using allot::gpus;
using allot::instant;
using allot::job_state;
using allot::pending_reason;
using allot::queue_head;
using allot::queue_settings;
using allot::quota_id;

namespace {

struct named_job {
  std::string name;
  quota_id quota;
  int gpus = 1;
  instant ready = 0;
  int priority = 0;
  instant estimate = 0;
  bool preemptible = true;
  instant submitted = 0;
};
struct plain_view {
  using job = const named_job*;

  quota_id quota(job j) const { return j->quota; }
  allot::resources<> request(job j) const { return gpus(j->gpus); }
  int priority(job j) const { return j->priority; }
  instant submitted(job j) const { return j->submitted; }
  instant ready_at(job j) const { return j->ready; }
  bool preemptible(job j) const { return j->preemptible; }
};
struct estimated_view : plain_view {
  instant estimate(job j) const { return j->estimate; }
};

std::vector<allot::quota_spec<>> teams() {
  return {{.name = "all", .nominal = gpus(8), .inclusive = true},
          {.name = "a", .parent = "all", .nominal = gpus(4)},
          {.name = "b", .parent = "all", .nominal = gpus(4)}};
}

constexpr quota_id a{1}, b{2};
constexpr instant horizon = 60;

/// A host with two teams of 4 that lend to each other. What a step decides is a line: "-b1>a1 ~a1 +a2".
template <class View>
class host {
 public:
  using scheduler = allot::scheduler_for<allot::standard, View>;

  explicit host(queue_settings settings = {}) : settings_(settings), it(make()) {}

  void submit(named_job j) {
    j.submitted = static_cast<instant>(jobs_.size());
    jobs_.push_back(std::move(j));
    ids_[jobs_.back().name] = it.submit(&jobs_.back());
  }
  named_job& job(const std::string& name) { return const_cast<named_job&>(*it.what(id(name))); }
  allot::job_id id(const std::string& name) const { return ids_.at(name); }
  job_state state(const std::string& name) const { return it.state(id(name)); }
  auto why(const std::string& name) { return it.why(id(name)); }
  std::string tells_of(const std::string& name) {
    return sentence(
        it, why(name), allot::dimension_names<1>{"gpu"}, [](const named_job* j) { return j->name; },
        [](instant at) { return std::to_string(at); });
  }
  std::string step(instant now) {
    const auto& plan = it.step(now);
    std::string told;
    for (const auto& e : plan.evictions) told += " -" + e.what->name + '>' + it.what(e.beneficiary)->name;
    for (const auto& r : plan.nominations) told += " ~" + r.what->name;
    for (const auto& s : plan.admissions) told += " +" + s.what->name;
    CHECK((restarts_ == false || (kill(), true)));
    return told.empty() ? told : told.substr(1);
  }
  void finish(const std::string& name) { CHECK(it.finished(id(name)) == allot::refusal::none); }
  void evicted(const std::string& name) { CHECK(it.evicted(id(name)) == allot::refusal::none); }
  /// From now on the process ends after every step, and another one goes on from its state.
  void restart_always() { restarts_ = true; }
  void kill() {
    const auto state = it.state();
    const std::string file = to_text(
        state, [](const named_job* j) { return j->name; }, [](auto) { return std::string{}; });
    const auto read = allot::state_from_text<const named_job*, allot::no_placement::allocation>(
        file, [this](const std::string& name) { return std::optional{it.what(ids_.at(name))}; },
        [](const std::string&) { return std::optional{allot::no_placement::allocation{}}; });
    REQUIRE(read);
    REQUIRE(read.value() == state);
    scheduler next = make();
    REQUIRE(next.resume(read.value()));
    REQUIRE(next.state() == state);
    it = std::move(next);
  }

 private:
  scheduler make() const {
    scheduler s = allot::make_scheduler(allot::standard{}, View{}, teams()).value();
    for (const quota_id x : {a, b}) {
      queue_settings own = settings_;
      if (!own.ready_horizon) own.ready_horizon = horizon;
      REQUIRE(s.configure(x, own).empty());
    }
    return s;
  }

  queue_settings settings_;
  std::deque<named_job> jobs_;
  std::map<std::string, allot::job_id> ids_;
  bool restarts_ = false;

 public:
  scheduler it;
};

queue_settings reserving(std::uint32_t reservations) {
  queue_settings s;
  s.head = queue_head::reserve;
  s.reservations = reservations;
  return s;
}

}  // namespace

TEST_CASE_TEMPLATE("ready times: a job starts when it is ready, and the host is woken for it", View,
                   plain_view, estimated_view) {
  for (const bool restarts : {false, true}) {
    host<View> h;
    if (restarts) h.restart_always();
    h.submit({"later", a, 2, 500});
    h.submit({"now", a, 2, -5});
    h.submit({"never", a, 1, allot::without_end});
    CHECK(h.step(0) == "+now");
    CHECK(h.it.wakes_at() == 500);
    CHECK(h.state("later") == job_state::pending);
    CHECK(h.it.waiting(a) == 2);
    CHECK(h.it.requested(a) == allot::resources<>{});
    CHECK(h.why("later").reason == pending_reason::not_ready);
    CHECK(h.why("later").ready_at == 500);
    CHECK(h.it.waiting_by_reason(a)[static_cast<std::size_t>(pending_reason::not_ready)] == 2);
    CHECK(h.step(499).empty());
    CHECK(h.step(500) == "+later");
    CHECK(h.it.wakes_at() == std::nullopt);
    CHECK(h.why("never").ready_at == allot::without_end);
    CHECK(h.it.cancel(h.id("never")) == allot::refusal::none);
    CHECK(h.it.waiting(a) == 0);
    CHECK(h.step(501).empty());
  }
}

TEST_CASE_TEMPLATE(
    "ready times: an owner's capacity is lent until a minute before its job is ready, not later", View,
    plain_view, estimated_view) {
  for (const bool restarts : {false, true}) {
    host<View> h;
    if (restarts) h.restart_always();
    h.submit({"a1", a, 4, 1000});
    h.submit({"b1", b, 4});
    h.submit({"b2", b, 2});
    CHECK(h.step(0) == "+b1 +b2");
    // Within the horizon nobody else starts on what a1 could start on.
    h.submit({"b3", b, 2});
    CHECK(h.step(940).empty());
    CHECK(h.why("b3").reason == pending_reason::behind_head);
    CHECK(h.why("b3").kept_for == h.id("a1"));
    CHECK(h.tells_of("b3") == "b3 waits: a1 of a is ready soon, and would take it back");
    CHECK(h.tells_of("a1") == "a1 waits: it is not ready before 1000");
    CHECK(h.step(999).empty());
    // When it is ready it takes back the rest.
    CHECK(h.step(1000) == "-b2>a1 ~a1");
    h.evicted("b2");
    CHECK(h.step(1001) == "+a1");
    CHECK(h.step(1002).empty());
  }
}

TEST_CASE("ready times: the owner's own jobs, and those of others within what they own, start") {
  host<plain_view> h;
  h.submit({"a1", a, 2, 10});
  h.submit({"a2", a, 2});
  h.submit({"b1", b, 4});
  CHECK(h.step(0) == "+a2 +b1");
  CHECK(h.step(10) == "+a1");
}

TEST_CASE("ready times: in its own quota a job that would yield to it does not start either") {
  host<plain_view> h;
  h.submit({"b1", b, 4});
  h.submit({"high", a, 4, 10, 1});
  h.submit({"low", a, 2});
  CHECK(h.step(0) == "+b1");
  CHECK(h.step(10) == "+high");
}

TEST_CASE("ready times: what is kept for a job is free again when it is cancelled, and at once") {
  host<plain_view> h;
  h.submit({"a1", a, 4, 10});
  h.submit({"b1", b, 8});
  CHECK(h.step(0).empty());
  CHECK(h.it.cancel(h.id("a1")) == allot::refusal::none);
  CHECK(h.step(0) == "+b1");
}

TEST_CASE("ready times: what was kept for a job that is ready and can't start goes to a reservation") {
  constexpr quota_id all{0};
  host<estimated_view> h;
  CHECK(h.it.configure(all, {.preempt = {.children = true}, .ready_horizon = horizon}).empty());
  CHECK(h.it.configure(a, {.head = queue_head::reserve, .reservations = 1}).empty());
  h.submit({.name = "b1", .quota = b, .gpus = 4, .estimate = 20});
  h.submit({.name = "a1", .quota = a, .gpus = 5, .estimate = 100});
  CHECK(h.step(0) == "+b1");
  h.submit({.name = "huge", .quota = all, .gpus = 9, .ready = 30, .priority = 1, .estimate = 10});
  h.finish("b1");
  for (const instant now : {10, 11, 20}) CHECK(h.step(now) == "");
  SUBCASE("its time has come") {
    CHECK(h.step(30) == "+a1");
  }
  SUBCASE("it is cancelled") {
    CHECK(h.it.cancel(h.id("huge")) == allot::refusal::none);
    CHECK(h.step(21) == "+a1");
  }
}

TEST_CASE("ready times: who is expected to be gone by then starts") {
  host<estimated_view> h;
  h.submit({"a1", a, 4, 50});
  h.submit({.name = "long", .quota = b, .gpus = 8, .estimate = 51});
  h.submit({.name = "short", .quota = b, .gpus = 8, .estimate = 50});
  CHECK(h.step(0) == "+short");
}

TEST_CASE("ready times: a strict queue is blocked by a job that is ready soon, and by no later one") {
  queue_settings strict;
  strict.head = queue_head::strict;
  for (const bool restarts : {false, true}) {
    host<plain_view> h{strict};
    if (restarts) h.restart_always();
    h.submit({"a1", a, 1, 100});
    h.submit({"a2", a, 1});
    CHECK(h.step(0) == "+a2");
    h.submit({"a3", a, 1});
    CHECK(h.step(40).empty());
    CHECK(h.why("a3").reason == pending_reason::behind_head);
    CHECK(h.step(100) == "+a1 +a3");
  }
}

TEST_CASE("ready times: a job that is ready later reserves its start, in no one's stead") {
  for (const bool restarts : {false, true}) {
    host<estimated_view> h{reserving(1)};
    if (restarts) h.restart_always();
    h.submit({.name = "b1", .quota = b, .gpus = 4, .estimate = 700});
    h.submit({.name = "a1", .quota = a, .gpus = 4, .ready = 1000, .estimate = 500});
    h.submit({.name = "a2", .quota = a, .gpus = 4, .ready = 900, .estimate = 500});
    CHECK(h.step(0) == "+b1");
    REQUIRE(h.it.reservation_of(h.id("a1")));
    CHECK(h.it.reservation_of(h.id("a1"))->start == 1000);
    CHECK(h.why("a1").reason == pending_reason::not_ready);
    CHECK(h.why("a1").reservation);
    // One of those that are not ready holds one.
    CHECK_FALSE(h.it.reservation_of(h.id("a2")));
    // One that can't start gets one all the same.
    h.submit({.name = "b2", .quota = b, .gpus = 8, .estimate = 100});
    CHECK(h.step(1).empty());
    REQUIRE(h.it.reservation_of(h.id("b2")));
    CHECK(h.it.reservation_of(h.id("b2"))->start == 700);
    // Who would delay it does not start, who ends by then does. As an owner a3 may claim what it likes.
    h.submit({.name = "b3", .quota = b, .gpus = 4, .estimate = 5000});
    h.submit({.name = "b4", .quota = b, .gpus = 4, .estimate = 600});
    CHECK(h.step(2) == "+b4");
    h.finish("b1");
    CHECK(h.step(602) == "");
    h.finish("b4");
    CHECK(h.step(603) == "+b2");
    h.finish("b2");
    CHECK(h.step(703) == "+b3");
    CHECK(h.it.wakes_at() == 900);
    // It is ready, and borrows nothing; what the other has reserved it would delay, but that borrows.
    CHECK(h.step(900).empty());
    REQUIRE(h.it.reservation_of(h.id("a2")));
    CHECK(h.it.reservation_of(h.id("a2"))->start == 1500);
    CHECK(h.step(1000) == "+a1");
    CHECK(h.it.reservation_of(h.id("a2"))->cause == allot::delay_cause::none);
  }
}

TEST_CASE(
    "ready times: what an owner's job is to start on when it is ready is lent until then, and reclaimed") {
  for (const bool restarts : {false, true}) {
    for (const std::uint32_t depth : {1U, 2U, 3U}) {
      CAPTURE(depth);
      host<estimated_view> h{reserving(depth)};
      if (restarts) h.restart_always();
      h.submit({.name = "a1", .quota = a, .gpus = 4, .ready = 1000, .estimate = 500});
      h.submit({.name = "b1", .quota = b, .gpus = 4, .estimate = 5000});
      h.submit({.name = "b2", .quota = b, .gpus = 4, .estimate = 5000});
      CHECK(h.step(0) == "+b1 +b2");
      CHECK(h.it.wakes_at() == 1000);
      REQUIRE(h.it.reservation_of(h.id("a1")));
      CHECK(h.it.reservation_of(h.id("a1"))->owned);
      CHECK(h.it.reservation_of(h.id("a1"))->start == 1000);
      // Of its own quota, who would delay it starts after it, and who ends by then reclaims at once.
      h.submit({.name = "a2", .quota = a, .gpus = 1, .estimate = 1000});
      h.submit({.name = "a3", .quota = a, .gpus = 4, .estimate = 600});
      CHECK(h.step(1) == "-b2>a3 ~a3");
      h.evicted("b2");
      CHECK(h.step(1) == "+a3");
      CHECK(h.it.reservation_of(h.id("a2"))->start == 1500);
      h.finish("a3");
      CHECK(h.step(601) == "+b2");
      CHECK(h.step(999).empty());
      CHECK(h.it.reservation_of(h.id("a1"))->start == 1000);
      CHECK(h.step(1000) == "-b2>a1 ~a1");
      h.evicted("b2");
      CHECK(h.step(1000) == "+a1");
      CHECK(h.it.reservation_of(h.id("a2"))->cause == allot::delay_cause::none);
    }
  }
}

TEST_CASE("ready times: a job that is not ready has its turn behind those that are, and came before it") {
  host<estimated_view> h{reserving(1)};
  h.submit({.name = "a1", .quota = a, .gpus = 4, .estimate = 100});
  CHECK(h.step(0) == "+a1");
  for (const char* const name : {"a2", "a3"}) {
    h.submit({.name = name, .quota = a, .gpus = 4, .estimate = 100});
  }
  h.submit({.name = "a4", .quota = a, .gpus = 4, .ready = 250, .estimate = 1000});
  h.submit({.name = "b1", .quota = b, .gpus = 4, .estimate = 1000});
  CHECK(h.step(0) == "+b1");
  CHECK(h.it.reservation_of(h.id("a2"))->start == 100);
  // With a start at 250 it would delay a3, which holds none yet.
  CHECK_FALSE(h.it.reservation_of(h.id("a4")));
  h.finish("a1");
  CHECK(h.step(100) == "+a2");
  CHECK(h.it.reservation_of(h.id("a3"))->start == 200);
  CHECK(h.it.reservation_of(h.id("a4"))->start == 300);
}

TEST_CASE("ready times: the time comes by itself: nothing that a step finds before is tried again") {
  host<estimated_view> h{reserving(1)};
  h.submit({.name = "a1", .quota = a, .gpus = 4, .ready = 100, .estimate = 10});
  h.submit({.name = "b1", .quota = b, .gpus = 8, .estimate = 1000});
  CHECK(h.step(0) == "+b1");
  const auto state = h.it.state();
  for (const instant now : {30, 40, 50, 99}) CHECK(h.step(now).empty());
  CHECK(h.it.state().units == state.units);
  CHECK(h.step(100) == "-b1>a1 ~a1");
}

TEST_CASE("ready times: laws 10 and 13, in random worlds of teams, with the time at which a job is ready") {
  std::size_t waited = 0;
  std::size_t early = 0;
  std::size_t owned_starts = 0;
  allot_test::reservations_seen seen;
  allot_test::for_each_seed(300, [&](allot_test::random_source& random) {
    // Law 13 is about the jobs of the highest priority.
    const bool has_priorities = random.one_in(3);
    std::vector<std::int64_t> owned(static_cast<std::size_t>(random.between(1, 4)));
    std::vector<allot::quota_spec<1>> specs{{.name = "all"}};
    for (std::int64_t& n : owned) {
      n = random.between(1, 8);
      specs.push_back({.name = "t" + std::to_string(specs.size()), .parent = "all", .nominal = gpus(n)});
    }
    std::vector<allot_test::timed_job> jobs(static_cast<std::size_t>(random.between(10, 60)));
    for (allot_test::timed_job& j : jobs) {
      j.quota = quota_id{1 + random.below(owned.size())};
      j.gpus = random.between(1, owned[j.quota.index() - 1]);
      j.submit = random.between(0, 100);
      if (random.one_in(3)) j.ready = j.submit + random.between(1, 80);
      j.duration = j.estimate = random.between(1, 60);
      if (has_priorities) j.priority = random.between(0, 2);
    }
    const auto depth = static_cast<std::uint32_t>(random.between(1, 3));
    auto made = allot::make_scheduler(allot::standard{.reservations = depth},
                                      allot_test::ready_later_view{{&jobs}}, specs);
    allot_test::timed_host<std::remove_cvref_t<decltype(made.value())>> h{jobs, std::move(made.value())};
    for (std::size_t i = 1; i <= owned.size(); ++i) {
      queue_settings s = h.scheduler().settings(quota_id{i});
      s.ready_horizon = random.between(0, 20);
      REQUIRE(h.scheduler().configure(quota_id{i}, s).empty());
    }
    if (random.one_in(2)) h.look_at_each_instant();
    // By when a job must have started, since it is the first of its quota; and how often it had then.
    std::vector<instant> by(jobs.size(), allot::without_end);
    std::vector<std::size_t> starts(jobs.size());
    const auto look = [&](instant now) {
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        if (!h[j].id) continue;
        CAPTURE(j);
        CAPTURE(now);
        if (h[j].start) REQUIRE(*h[j].start >= jobs[j].ready);
        if (h.scheduler().state(h[j].id) != job_state::pending) continue;
        if (h[j].starts > std::exchange(starts[j], h[j].starts)) by[j] = allot::without_end;
        REQUIRE(now < by[j]);
        const auto reserved = h.scheduler().reservation_of(h[j].id);
        if (reserved) REQUIRE(reserved->start >= jobs[j].ready);
        if (reserved && reserved->owned && reserved->start == jobs[j].ready) ++owned_starts;
        instant longest = std::max(now, jobs[j].ready);
        bool is_first = true;
        for (std::size_t k = 0; k < jobs.size(); ++k) {
          if (!h[k].id || jobs[k].quota != jobs[j].quota || k == j) continue;
          const job_state is = h.scheduler().state(h[k].id);
          if (is == job_state::running) longest = std::max(longest, *h[k].start + jobs[k].estimate);
          const bool is_earlier = jobs[k].submit < jobs[j].submit ||
                                  (jobs[k].submit == jobs[j].submit && k < j) ||
                                  h.scheduler().reservation_of(h[k].id).has_value();
          if (is == job_state::pending && is_earlier) is_first = false;
        }
        if (has_priorities || !is_first || by[j] != allot::without_end) continue;
        by[j] = longest + 1;
        ++waited;
        early += jobs[j].ready > now;
      }
    };
    std::vector<allot::delay_cause> allowed{allot::delay_cause::owner};
    if (has_priorities) allowed.push_back(allot::delay_cause::higher_priority);
    allot_test::check_reservations(h, jobs, allowed, seen, look);
  });
  if (!allot_test::all_cases_run()) return;
  CHECK(waited > 1000);
  CHECK(early > 100);
  CHECK(owned_starts > 100);
  CHECK(seen.reservations > 1000);
}

TEST_CASE("ready times: without an estimate, or where nothing is reserved, a job has no claim on later") {
  host<estimated_view> h{reserving(allot::reserve_all)};
  h.submit({.name = "a1", .quota = a, .gpus = 4, .ready = 1000});
  h.submit({.name = "b1", .quota = b, .gpus = 8, .estimate = 5000});
  CHECK(h.step(0) == "+b1");
  CHECK_FALSE(h.it.reservation_of(h.id("a1")));
  CHECK(h.step(1000) == "-b1>a1 ~a1");
}

TEST_CASE("ready times: all that are not ready reserve, where all do") {
  host<estimated_view> h{reserving(allot::reserve_all)};
  h.submit({.name = "a1", .quota = a, .gpus = 8, .ready = 1000, .estimate = 100});
  h.submit({.name = "a2", .quota = a, .gpus = 8, .ready = 1050, .estimate = 100});
  h.submit({.name = "a3", .quota = a, .gpus = 8, .ready = 500, .estimate = 100});
  CHECK(h.step(0).empty());
  CHECK(h.it.reservation_of(h.id("a1"))->start == 1000);
  CHECK(h.it.reservation_of(h.id("a2"))->start == 1100);
  CHECK(h.it.reservation_of(h.id("a3"))->start == 500);
  CHECK(h.step(500) == "+a3");
  h.finish("a3");
  CHECK(h.step(600).empty());
  CHECK(h.step(1000) == "+a1");
  h.finish("a1");
  CHECK(h.step(1050) == "+a2");
}

TEST_CASE("ready times: after an eviction the view is asked again") {
  for (const bool restarts : {false, true}) {
    host<plain_view> h;
    if (restarts) h.restart_always();
    h.submit({"b1", b, 8});
    CHECK(h.step(0) == "+b1");
    h.submit({"a1", a, 4});
    CHECK(h.step(1) == "-b1>a1 ~a1");
    h.job("b1").ready = 100;
    h.evicted("b1");
    CHECK(h.why("b1").reason == pending_reason::not_ready);
    CHECK(h.step(2) == "+a1");
    h.finish("a1");
    CHECK(h.step(3).empty());
    CHECK(h.it.wakes_at() == 100);
    CHECK(h.step(100) == "+b1");
  }
}

TEST_CASE("ready times: they move with the clock") {
  for (const instant by : {instant{-10'000}, instant{10'000'000}}) {
    host<estimated_view> h{reserving(1)};
    h.submit({.name = "a1", .quota = a, .gpus = 4, .ready = 1000, .estimate = 10});
    h.submit({.name = "a2", .quota = a, .gpus = 4, .ready = 1001});
    CHECK(h.step(0).empty());
    h.it.rebase(by);
    CHECK(h.it.wakes_at() == by + 1000);
    CHECK(h.why("a2").ready_at == by + 1001);
    CHECK(h.step(by + 999).empty());
    CHECK(h.step(by + 1000) == "+a1");
  }
}

TEST_CASE(
    "ready times: a running job that is adopted needs no time, nor does one that is to be ready by then") {
  host<plain_view> h;
  h.submit({"a1", a, 4, 10});
  CHECK(h.step(20) == "+a1");
  named_job running{"a2", a, 4, 1000};
  const allot::job_id id = h.it.adopt(&running, 0);
  CHECK(h.it.state(id) == job_state::running);
  CHECK(h.step(30).empty());
  CHECK(h.it.wakes_at() == std::nullopt);
}

namespace {

/// Teams that borrow from one another, on nodes or without. Jobs come, some are ready later; nothing else
/// happens until all are.
template <class Preset, class Places>
class random_teams {
 public:
  using scheduler = allot::scheduler_for<Preset, allot_test::soak_view<2>, Places>;

  random_teams(const Preset& preset, allot_test::random_source& random, std::uint32_t reservations,
               bool looks_ahead)
      : random_(random),
        it_(allot::make_scheduler(preset, allot_test::soak_view<2>{&jobs_}, quotas(), nodes()).value()) {
    for (std::size_t i = 2; i < 5; ++i) {
      queue_settings s;
      s.preempt = it_.settings(quota_id{i}).preempt;
      s.ready_horizon = looks_ahead ? span : 0;
      if (reservations > 0) {
        s.head = queue_head::reserve;
        s.reservations = reservations;
      }
      if (random.one_in(3)) s.preempt.within = allot::preempt_within::lower_or_newer_equal;
      if (random.one_in(4)) s.preempt.reclaim = allot::preempt_reclaim::lower_priority;
      REQUIRE(it_.configure(quota_id{i}, s).empty());
    }
  }

  void run() {
    for (int i = 0; i < 25; ++i) {
      submit();
      if (random_.one_in(2)) settle();
      if (random_.one_in(4)) now_ += random_.between(0, 5);
    }
    settle();
    const auto is_early = [&](const auto& j) { return j.ready > now_; };
    while (std::any_of(jobs_.begin(), jobs_.end(), is_early)) {
      const auto at = it_.wakes_at();
      REQUIRE(at);
      REQUIRE(*at > now_);
      now_ = *at;
      settle();
    }
  }

  /// How many jobs waited for one that was ready soon, how many were evicted for one that had become ready,
  /// and of these how many that had started since it was ready soon.
  std::size_t kept = 0;
  std::size_t evicted = 0;
  std::size_t in_vain = 0;
  std::size_t reserved = 0;

 private:
  static constexpr instant span = 20;

  static std::vector<allot::quota_spec<2>> quotas() {
    const auto amounts = [](std::int64_t x, std::int64_t y) { return allot::resources<2>{gpus(x), gpus(y)}; };
    return {{.name = "all", .nominal = amounts(8, 8), .inclusive = true},
            {.name = "dept", .parent = "all", .nominal = amounts(5, 5), .inclusive = true},
            {.name = "a", .parent = "dept", .nominal = amounts(2, 3)},
            {.name = "b", .parent = "dept", .nominal = amounts(3, 2)},
            {.name = "c", .parent = "all", .nominal = amounts(2, 2)}};
  }
  static Places nodes() {
    if constexpr (std::is_same_v<Places, allot::no_placement>) {
      return {};
    } else {
      return Places{allot_test::two_pools()};
    }
  }
  void submit() {
    allot_test::soak_job j = allot_test::random_jobs(random_, 1).back();
    j.ready = random_.one_in(3) ? now_ + random_.between(1, 2 * span) : now_;
    j.submitted = now_;
    j.time_limit = 0;
    jobs_.push_back(j);
    known_since_.push_back(starts_.size());
    static_cast<void>(it_.submit(static_cast<std::uint32_t>(jobs_.size() - 1)));
  }
  void settle() {
    for (int most = 50;; --most) {
      REQUIRE(most > 0);
      const auto& plan = it_.step(now_);
      for (const auto& e : plan.evictions) {
        if (!e.beneficiary) continue;
        const allot_test::soak_job& whom = jobs_[it_.what(e.beneficiary)];
        CHECK(whom.ready <= now_);
        const bool is_owed = e.how == allot::relation::borrower || e.how == allot::relation::descendant ||
                             e.how == allot::relation::same_quota;
        if (!is_owed || whom.ready <= whom.submitted) continue;
        ++evicted;
        if (whom.ready == now_ && started_in_vain(e.id, it_.what(e.beneficiary))) ++in_vain;
      }
      for (const auto& r : plan.nominations) CHECK(jobs_[r.what].ready <= now_);
      for (const auto& admitted : plan.admissions) {
        CHECK(jobs_[admitted.what].ready <= now_);
        starts_.push_back({admitted.id, admitted.what, now_});
      }
      for (const auto& p : plan.pending) {
        CHECK((p.reason == pending_reason::not_ready) == (jobs_[p.what].ready > now_));
        CHECK(allot_test::same_reasons(p, it_.why(p.id)));
        if (p.reservation && jobs_[p.what].ready > now_) {
          ++reserved;
          CHECK(p.reservation->start >= jobs_[p.what].ready);
        }
        if (p.kept_for) ++kept;
      }
      if (plan.empty()) return;
      for (std::size_t i = 0; i < plan.evictions.size(); ++i) {
        // One whose beneficiary was preempted in the step is behind those decided on later: its job may have
        // left before it, and the pod with that.
        const auto at = plan.evictions.begin() + static_cast<std::ptrdiff_t>(i);
        const bool left_with_its_job =
            at->core &&
            std::any_of(plan.evictions.begin(), at, [&](const auto& e) { return e.id == at->core; });
        CHECK(it_.evicted(at->id) ==
              (left_with_its_job ? allot::refusal::unknown_job : allot::refusal::none));
      }
    }
  }

  struct started_job {
    allot::job_id id;
    std::uint32_t what;
    instant at;
  };
  /// Whether the job was known then, and to be ready soon.
  [[nodiscard]] bool was_soon(std::uint32_t j, std::size_t start) const {
    const instant ready = jobs_[j].ready;
    const instant at = starts_[start].at;
    return known_since_[j] <= start && at < ready && at >= ready - span;
  }
  /// Whether a job that is evicted for the other started when that was known to be ready soon, and since then
  /// only others of that kind have.
  [[nodiscard]] bool started_in_vain(allot::job_id id, std::uint32_t whom) const {
    std::size_t i = starts_.size();
    while (i > 0 && starts_[i - 1].id != id) --i;
    if (i == 0 || !was_soon(whom, i - 1)) return false;
    const instant estimate = jobs_[starts_[i - 1].what].duration;
    // It was expected to be gone by then.
    if (estimate > 0 && starts_[i - 1].at + estimate <= jobs_[whom].ready) return false;
    for (std::size_t k = i; k < starts_.size(); ++k) {
      if (!was_soon(starts_[k].what, i - 1)) return false;
    }
    return true;
  }

  allot_test::random_source& random_;
  std::deque<allot_test::soak_job> jobs_{1};
  std::vector<started_job> starts_;
  /// By job: how many had started when it was submitted.
  std::vector<std::size_t> known_since_{0};
  scheduler it_;
  instant now_ = 1000;
};

template <class Places, class Preset>
void check_random_teams(const Preset& preset) {
  for (const std::uint32_t reservations : {0U, 1U, 3U, allot::reserve_all}) {
    CAPTURE(reservations);
    struct {
      std::size_t kept = 0, evicted = 0, in_vain = 0, reserved = 0;
    } of[2];
    for (const bool looks_ahead : {false, true}) {
      allot_test::for_each_seed(100, [&](allot_test::random_source& random) {
        random_teams<Preset, Places> world{preset, random, reservations, looks_ahead};
        world.run();
        of[looks_ahead].kept += world.kept;
        of[looks_ahead].evicted += world.evicted;
        of[looks_ahead].in_vain += world.in_vain;
        of[looks_ahead].reserved += world.reserved;
      });
    }
    MESSAGE(of[0].in_vain << ' ' << of[1].in_vain << " of " << of[1].evicted);
    if (!allot_test::all_cases_run()) continue;
    CHECK(of[false].kept == 0);
    CHECK(of[true].kept > 100);
    CHECK(of[true].evicted > 100);
    // Those that are left would have to foresee for whom that job in turn will have to wait.
    CHECK(of[false].in_vain > 10);
    CHECK(of[true].in_vain * 3 <= of[false].in_vain * 2);
    CHECK((of[true].reserved > 0) == (reservations > 0));
  }
}

}  // namespace

TEST_CASE("ready times: nobody starts only to be evicted for a job that was ready soon") {
  check_random_teams<allot::no_placement>(allot::standard{});
}
TEST_CASE("ready times: the same on nodes") {
  check_random_teams<allot::gpu::inventory>(allot::standard{});
}

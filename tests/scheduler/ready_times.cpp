// SPDX-License-Identifier: BSL-1.0
// Jobs that are not ready yet (`ready_view`): they start when they are, nobody is started for seconds on what
// they will take back, and they may hold reservations.
#include <allot/presets/standard.hpp>
#include <allot/scheduler/detail/soon_ready.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/state_text.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

TEST_CASE_TEMPLATE("ready times: a job starts when it is ready, and the host is woken for it", View, plain_view,
                   estimated_view) {
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

TEST_CASE_TEMPLATE("ready times: an owner's capacity is lent until a minute before its job is ready, not later",
                   View, plain_view, estimated_view) {
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

TEST_CASE("ready times: a running job that is adopted needs no time, nor does one that is to be ready by then") {
  host<plain_view> h;
  h.submit({"a1", a, 4, 10});
  CHECK(h.step(20) == "+a1");
  named_job running{"a2", a, 4, 1000};
  const allot::job_id id = h.it.adopt(&running, 0);
  CHECK(h.it.state(id) == job_state::running);
  CHECK(h.step(30).empty());
  CHECK(h.it.wakes_at() == std::nullopt);
}

// SPDX-License-Identifier: BSL-1.0
#include "../src/api/reflector.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "fake_api.hpp"

using namespace allot_kueue;
using allot_test::fake_api;
namespace json = boost::json;

namespace {

const resource pods{"v1", "Pod", "pods"};

[[nodiscard]] json::object pod(int i, int revision = 0) {
  return {{"metadata", {{"namespace", "a"}, {"name", "p" + std::to_string(i)}}}, {"revision", revision}};
}

/// What is told, and that it makes sense.
struct mirror final : object_handler {
  std::map<std::string, std::string> versions;
  std::map<std::string, std::string> uids;
  int synced = 0;
  int told = 0;

  void on_set(json::object object) override {
    const std::string name = name_of(object).text();
    const std::string version{text_at(object, {"metadata", "resourceVersion"})};
    const std::string uid{text_at(object, {"metadata", "uid"})};
    // Those of the made-up server are numbers.
    const bool is_newer = !versions.contains(name) || std::stoull(version) > std::stoull(versions[name]);
    CHECK_MESSAGE(is_newer, "it is told again, or as it was before");
    CHECK_MESSAGE((!uids.contains(name) || uids[name] == uid),
                  "another object took its name, and nobody said so");
    versions[name] = version;
    uids[name] = uid;
    ++told;
  }
  void on_gone(const object_name& name, std::string_view) override {
    CHECK_MESSAGE(versions.erase(name.text()) == 1, "it was not there");
    uids.erase(name.text());
    ++told;
  }
  void on_synced() override { ++synced; }
};

struct world {
  fake_api api;
  mirror seen;
  reflector r;

  explicit world(std::uint64_t seed = 0, reflector_options options = {})
      : api(seed), r(api, pods, seen, options) {}

  void run(instant span) {
    for (const instant end = api.now + span; api.now < end; api.advance(10)) r.step({api.now, 0});
  }
};

}  // namespace

TEST_CASE("reflector: lists in pages, then watches, and tells no more than what changes") {
  world w{1, {{}, {}, {}, 3, 60'000, 1}};
  for (int i = 0; i < 10; ++i) w.api.set(pods, pod(i));
  CHECK_FALSE(w.r.is_synced());
  w.run(100);
  CHECK(w.r.is_synced());
  CHECK(w.seen.synced == 1);
  CHECK(w.api.count("GET /api/v1/pods?limit=3") == 4);
  CHECK(w.seen.versions == w.api.versions(pods));
  CHECK(w.seen.told == 10);
  w.api.set(pods, pod(3, 1));
  w.api.remove(pods, {"a", "p4"});
  w.run(100);
  CHECK(w.seen.versions == w.api.versions(pods));
  CHECK(w.seen.told == 12);
  // Watches end after a time, and go on from where they were.
  w.run(1'000'000);
  CHECK(w.r.lists() == 1);
  CHECK(w.seen.told == 12);
  CHECK(w.api.count("WATCH") > 5);
  CHECK(w.api.count("WATCH") < 20);
  CHECK(w.r.problem().empty());
}

TEST_CASE("reflector: what went while it was away is found, even if another has its name") {
  world w{2};
  for (int i = 0; i < 5; ++i) w.api.set(pods, pod(i));
  w.run(100);
  w.api.set(pods, pod(0, 1));
  w.api.remove(pods, {"a", "p1"});
  w.api.remove(pods, {"a", "p2"});
  w.api.set(pods, pod(2));
  w.api.compact();
  w.run(5000);
  CHECK(w.seen.versions == w.api.versions(pods));
  CHECK(w.r.lists() == 2);
  CHECK(w.seen.synced == 2);
}

TEST_CASE("reflector: a server that is away is asked ever more rarely, and its absence is known") {
  world w{3};
  w.api.set(pods, pod(1));
  w.run(100);
  w.api.faults.cut = 1;
  w.api.faults.lost_request = 1;
  w.run(600'000);
  CHECK_FALSE(w.r.problem().empty());
  REQUIRE(w.r.stale_since());
  CHECK(*w.r.stale_since() < 1000);
  CHECK(w.api.count("WATCH") < 50);
  w.api.faults = {};
  w.api.set(pods, pod(2));
  w.run(40'000);
  CHECK(w.seen.versions == w.api.versions(pods));
  CHECK_FALSE(w.r.stale_since());
  CHECK(w.r.lists() == 1);
}

TEST_CASE("reflector: after an absence a list that is due comes soon, but lists don't follow each other") {
  world w{6};
  w.run(100);
  w.api.faults.lost_request = 1;
  w.api.faults.cut = 1;
  w.run(300'000);
  w.api.set(pods, pod(1));
  w.api.compact();
  w.api.faults = {};
  while (w.api.count("WATCH") > 0 && w.r.problem().find("too old") == std::string::npos) w.run(10);
  w.run(500);
  CHECK(w.seen.versions == w.api.versions(pods));
  w.api.faults.gone = 1;
  w.run(300'000);
  CHECK(w.r.lists() < 25);
}

TEST_CASE("reflector: waits as long as the server asks it to") {
  world w{4};
  w.api.faults.too_many = 1;
  w.run(10'000);
  // Retry-After is a second, and the back-off more from the third time on.
  CHECK(w.api.requests.size() <= 8);
  CHECK(w.r.problem() == "list of pods: slow down");
}

TEST_CASE("reflector: a list whose pages expire is had in one piece") {
  world w{5, {{}, {}, {}, 3, 60'000, 1}};
  for (int i = 0; i < 10; ++i) w.api.set(pods, pod(i));
  w.api.faults.expired = 1;
  w.run(3000);
  CHECK(w.r.is_synced());
  CHECK(w.seen.versions == w.api.versions(pods));
}

TEST_CASE("reflector: a watch that says nothing, not even a bookmark, is opened again") {
  fake_api api;
  struct silent final : api_server {
    fake_api& of;
    int opened = 0;
    explicit silent(fake_api& a) : of(a) {}
    ticket submit(request r) override { return of.submit(std::move(r)); }
    std::optional<response> take(ticket t) override { return of.take(t); }
    ticket watch(request) override { return ticket{static_cast<std::uint64_t>(1000 + ++opened)}; }
    watch_reading read(ticket) override { return {}; }
    void drop(ticket) override {}
    void perform(instant, std::span<const int>) override {}
    void await_any(std::span<const ticket>, const std::function<void()>&) override {}
  } server{api};
  mirror seen;
  reflector r{server, pods, seen, {{}, {}, {}, 500, 300'000, 1}};
  for (instant now = 0; now < 140'000; now += 100) r.step({now, 0});
  CHECK(server.opened == 1);
  for (instant now = 140'000; now < 160'000; now += 100) r.step({now, 0});
  CHECK(server.opened == 2);
  REQUIRE(r.stale_since());
  CHECK(r.problem() == "watch of pods: nothing has come for long");
  CHECK(r.lists() == 1);
}

TEST_CASE("reflector: whatever goes wrong, in the end it has told what is there") {
  allot_test::for_each_seed(allot_test::cases_to_try(150, 1500), [](allot_test::random_source& random) {
    world w{random.seed(), {{}, {}, {}, random.between(1, 7), 20'000, random.seed()}};
    for (int i = 0; i < 8; ++i) w.api.set(pods, pod(i));
    auto& f = w.api.faults;
    f.slowest = random.between(0, 300);
    const auto rate = [&] { return random.one_in(2) ? 0 : static_cast<std::size_t>(random.between(3, 60)); };
    f.lost_request = rate();
    f.lost_answer = rate();
    f.too_many = rate();
    f.broken = rate();
    f.expired = rate();
    // Of readings, which are many.
    f.cut = 10 * rate();
    f.malformed = 10 * rate();
    f.gone = 10 * rate();
    for (int step = 0; step < 200; ++step) {
      w.run(random.between(10, 600));
      const int i = static_cast<int>(random.below(20));
      if (random.one_in(3)) {
        w.api.remove(pods, {"a", "p" + std::to_string(i)});
      } else {
        w.api.set(pods, pod(i, step));
      }
      if (random.one_in(30)) w.api.compact();
    }
    f = {};
    w.run(120'000);
    CHECK(w.seen.versions == w.api.versions(pods));
    CHECK(w.r.size() == w.seen.versions.size());
    CHECK(w.r.problem().empty());
    // It has not hammered at the server: 240 s at most, each with a few requests.
    CHECK(w.api.requests.size() < 1500);
    CHECK(w.api.open_watches() == 1);
  });
}

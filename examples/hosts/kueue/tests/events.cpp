// SPDX-License-Identifier: BSL-1.0
#include "../src/api/events.hpp"

#include <doctest/doctest.h>

#include <boost/json.hpp>

#include <string>
#include <vector>

#include "fake_api.hpp"

using namespace allot_kueue;
using allot_test::fake_api;
namespace json = boost::json;

namespace {

const resource events{"v1", "Event", "events"};
const object_reference workload{"kueue.x-k8s.io/v1beta2", "Workload", {"a", "job-x"}, "uid-x"};

struct world {
  fake_api api;
  event_writer w{api, {"allot-kueue", "allot-kueue-0", 3, 60'000, 600'000, 100, 4, 1}};

  [[nodiscard]] moment time() const { return {api.now, 1'700'000'000'000 + api.now}; }
  void tell(const std::string& message, const object_reference& about = workload) {
    w.tell(about, "Normal", "Waits", message, time());
  }
  void run(instant span) {
    for (const instant end = api.now + span; api.now < end; api.advance(100)) w.step(time());
  }
  [[nodiscard]] std::vector<json::object> all() {
    std::vector<json::object> found;
    const auto answer = outcome_of(ask(api, {method::get, events.path()}));
    for (const auto& v : answer.object.at("items").as_array()) found.push_back(v.as_object());
    return found;
  }
};

}  // namespace

TEST_CASE("events: as kubectl describe shows them; what is told again raises the count") {
  world w;
  w.tell("for its turn");
  w.run(500);
  w.tell("for its turn");
  w.run(500);
  REQUIRE(w.all().size() == 1);
  const json::object e = w.all().front();
  CHECK(e.at("count") == 2);
  CHECK(e.at("message") == "for its turn");
  CHECK(e.at("firstTimestamp") == "2023-11-14T22:13:20Z");
  CHECK(
      e.at("involvedObject") ==
      json::parse(
          R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","namespace":"a","name":"job-x","uid":"uid-x"})"));
  CHECK(e.at("source").at("component") == "allot-kueue");
  CHECK(name_of(e).space == "a");
  // About what is in no namespace, and with a text that is too long, in the middle of a character.
  std::string text = "x";
  for (int i = 0; i < 600; ++i) text += "\xc3\xa4";
  w.tell(text, {"kueue.x-k8s.io/v1beta2", "ClusterQueue", {{}, "b"}, "uid-b"});
  w.run(500);
  REQUIRE(w.all().size() == 2);
  for (const json::object& o : w.all()) {
    if (name_of(o).space == "a") continue;
    CHECK(name_of(o).space == "default");
    const std::string said{text_at(o, {"message"})};
    CHECK(said.size() <= 1024);
    CHECK(said.size() > 1000);
    CHECK(said.ends_with("\xa4..."));
  }
}

TEST_CASE("events: an object's are limited, the count catches up, others don't wait") {
  world w;
  for (int i = 0; i < 590; ++i) {
    w.tell("again");
    w.run(100);
  }
  const std::size_t writes = w.api.requests.size();
  CHECK(writes == 3);
  w.tell("of another", {"v1", "Pod", {"a", "p"}, "uid-p"});
  w.run(200);
  CHECK(w.api.requests.size() == writes + 1);
  w.run(120'000);
  const auto all = w.all();
  CHECK(std::any_of(all.begin(), all.end(), [](const json::object& e) { return e.at("count") == 590; }));
  CHECK(w.w.dropped() == 0);
}

TEST_CASE("events: one that has expired is made anew, and after a silence there is a new one") {
  world w;
  w.tell("x");
  w.run(500);
  REQUIRE(w.all().size() == 1);
  w.api.remove(events, name_of(w.all().front()));
  w.tell("x");
  w.run(1000);
  REQUIRE(w.all().size() == 1);
  CHECK(w.all().front().at("count") == 2);
  w.run(700'000);
  w.tell("x");
  w.run(500);
  CHECK(w.all().size() == 2);
}

TEST_CASE("events: what is told while an answer is lost is counted, too") {
  world w;
  w.api.faults.lost_answer = 1;
  w.tell("x");
  w.run(200);
  w.api.faults = {};
  w.tell("x");
  w.tell("x");
  w.run(10'000);
  REQUIRE(w.all().size() == 1);
  CHECK(w.all().front().at("count") == 3);
}

TEST_CASE("events: lost answers make no second event, and what is refused is dropped") {
  world w;
  w.api.faults.lost_answer = 2;
  w.api.faults.broken = 3;
  for (int i = 0; i < 5; ++i)
    w.tell("n", {"v1", "Pod", {"a", "p" + std::to_string(i)}, "uid-" + std::to_string(i)});
  w.run(900'000);
  w.api.faults = {};
  w.run(90'000);
  CHECK(w.all().size() == 5);
  for (const json::object& e : w.all()) CHECK(e.at("count") == 1);
  // More than is remembered: the oldest are forgotten, and counted if they were not written.
  w.api.faults.too_many = 1;
  for (int i = 0; i < 150; ++i)
    w.tell("m", {"v1", "Pod", {"a", "q" + std::to_string(i)}, "uidq-" + std::to_string(i)});
  w.run(100'000);
  CHECK(w.w.dropped() == 50);
  CHECK_FALSE(w.w.problem().empty());
  w.api.faults = {};
  w.run(400'000);
  CHECK(w.all().size() == 105);
}

// SPDX-License-Identifier: BSL-1.0
#include "../src/api/lease.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "fake_api.hpp"

using namespace allot_kueue;
using allot_test::fake_api;
namespace json = boost::json;

namespace {

const object_name where{"kube-system", "allot"};

/// One that wants to be the leader, with a clock of its own: an offset to that of others, and a rate.
struct candidate {
  fake_api& api;
  instant skew = 0;
  /// In thousandths.
  instant rate = 1000;
  /// The process stands still until then.
  instant stopped_until = 0;
  std::unique_ptr<lease> l;

  candidate(fake_api& a, std::string identity, std::uint64_t seed) : api(a) {
    lease_options o;
    o.name = where;
    o.identity = std::move(identity);
    o.seed = seed;
    l = std::make_unique<lease>(api, o);
  }
  [[nodiscard]] moment time() const { return {api.now * rate / 1000 + 7'000'000, api.now + skew}; }
  [[nodiscard]] bool leads() const { return l && l->is_leader(time().steady); }
  void step() {
    if (!l || api.now < stopped_until) return;
    l->step(time());
    // Who waits until then does not spin, however long an answer takes.
    CHECK((l->is_released() || l->due() > time().steady));
  }
};

void run(fake_api& api, std::vector<candidate*> all, instant span) {
  for (const instant end = api.now + span; api.now < end; api.advance(50)) {
    for (candidate* c : all) c->step();
  }
}

}  // namespace

TEST_CASE("lease: one is the leader, writes what client-go writes, and hands over at once when it leaves") {
  fake_api api;
  candidate a{api, "a", 1};
  candidate b{api, "b", 2};
  run(api, {&a}, 200);
  run(api, {&a, &b}, 20'000);
  CHECK(a.leads());
  CHECK_FALSE(b.leads());
  CHECK(b.l->holder() == "a");
  const json::object spec = api.find(leases(), where)->at("spec").as_object();
  CHECK(spec.at("holderIdentity") == "a");
  CHECK(spec.at("leaseDurationSeconds") == 15);
  CHECK(spec.at("leaseTransitions") == 0);
  CHECK(spec.at("acquireTime") == "1970-01-01T00:00:00.050000Z");
  CHECK(spec.at("renewTime") != spec.at("acquireTime"));
  a.l->release();
  CHECK_FALSE(a.leads());
  run(api, {&a, &b}, 4000);
  CHECK(a.l->is_released());
  CHECK(b.leads());
  CHECK(b.l->terms() == 1);
  CHECK(api.find(leases(), where)->at("spec").at("leaseTransitions") == 1);
}

TEST_CASE(
    "lease: who stands still is no leader when it goes on, and another one is, only after the duration") {
  fake_api api;
  candidate a{api, "a", 1};
  candidate b{api, "b", 2};
  b.skew = 3'600'000;
  run(api, {&a}, 200);
  run(api, {&a, &b}, 5000);
  REQUIRE(a.leads());
  run(api, {&b}, 9000);
  CHECK_FALSE(b.leads());
  run(api, {&b}, 12'000);
  CHECK(b.leads());
  CHECK_FALSE(a.leads());
  run(api, {&a, &b}, 5000);
  CHECK(b.leads());
  CHECK_FALSE(a.leads());
}

TEST_CASE("lease: a note survives a change of holder, and each holder sees it") {
  fake_api api;
  candidate a{api, "a", 1};
  candidate b{api, "b", 2};
  run(api, {&a}, 200);
  CHECK(a.l->note("allot.dev/freeze").empty());
  json::object with_note = *api.find(leases(), where);
  with_note["metadata"].get_object()["annotations"] = json::object{{"allot.dev/freeze", "why"}};
  api.set(leases(), with_note);
  run(api, {&a, &b}, 10'000);
  REQUIRE(a.leads());
  CHECK(a.l->note("allot.dev/freeze") == "why");
  a.l->release();
  run(api, {&a, &b}, 10'000);
  REQUIRE(b.leads());
  CHECK(b.l->note("allot.dev/freeze") == "why");
}

TEST_CASE("lease: a process takes what it was before for another one") {
  fake_api api;
  candidate a{api, "a", 1};
  run(api, {&a}, 1000);
  REQUIRE(a.leads());
  candidate again{api, "a", 2};
  run(api, {&again}, 9000);
  CHECK_FALSE(again.leads());
  run(api, {&again}, 10'000);
  CHECK(again.leads());
}

TEST_CASE("lease: a leader whose clock stands is still seen to renew") {
  fake_api api;
  candidate a{api, "a", 1};
  candidate b{api, "b", 2};
  const auto step_a = [&] { a.l->step({api.now, 1000}); };
  for (; api.now < 60'000; api.advance(50)) {
    step_a();
    if (api.now > 500) b.step();
    CHECK_FALSE(b.leads());
  }
  CHECK(a.l->is_leader(api.now));
}

TEST_CASE("lease: never two leaders, and always one once nothing goes wrong") {
  std::size_t handovers = 0;
  allot_test::for_each_seed(allot_test::cases_to_try(200, 1500), [&](allot_test::random_source& random) {
    fake_api api{random.seed()};
    auto& f = api.faults;
    const auto rate = [&] { return random.one_in(2) ? 0 : static_cast<std::size_t>(random.between(2, 30)); };
    f.slowest = random.between(0, random.one_in(3) ? 20'000 : 2'000);
    f.lost_request = rate();
    f.lost_answer = rate();
    f.too_many = rate();
    f.broken = rate();
    std::vector<candidate> all;
    for (int i = 0; i < 3; ++i) {
      auto& c = all.emplace_back(api, "c" + std::to_string(i), random.seed() + static_cast<std::uint64_t>(i));
      c.skew = random.between(-10'000'000, 10'000'000);
      c.rate = random.between(950, 1050);
    }
    const candidate* last = nullptr;
    int next_name = 3;
    const auto tick = [&] {
      const candidate* leader = nullptr;
      for (candidate& c : all) {
        c.step();
        if (!c.leads()) continue;
        REQUIRE_MESSAGE(leader == nullptr, "two leaders at " << api.now);
        leader = &c;
      }
      if (leader != nullptr) {
        handovers += last != nullptr && last != leader ? 1 : 0;
        last = leader;
      }
      api.advance(random.between(20, 300));
    };
    while (api.now < 300'000) {
      tick();
      candidate& c = random.pick(all);
      // Wall clocks step, processes stand still, leave, or are killed and start again.
      if (random.one_in(100)) c.skew = random.between(-10'000'000, 10'000'000);
      if (random.one_in(200)) c.stopped_until = api.now + random.between(1000, 40'000);
      if (random.one_in(300)) c.l->release();
      if (c.l->is_released() || random.one_in(500)) {
        const auto n = static_cast<std::uint64_t>(next_name++);
        const instant skew = c.skew;
        const instant its_rate = c.rate;
        c.l.reset();
        candidate fresh{api, "c" + std::to_string(n), random.seed() + n};
        c.l = std::move(fresh.l);
        c.skew = skew;
        c.rate = its_rate;
      }
    }
    f = {};
    for (candidate& c : all) {
      if (!c.l->is_released()) continue;
      c.l.reset();
    }
    const bool has_any =
        std::any_of(all.begin(), all.end(), [](const candidate& c) { return c.l != nullptr; });
    const instant end = api.now + 120'000;
    while (api.now < end) tick();
    const auto leading = std::count_if(all.begin(), all.end(), [](const candidate& c) { return c.leads(); });
    const bool all_leave =
        std::all_of(all.begin(), all.end(), [](const candidate& c) { return !c.l || c.l->is_released(); });
    CHECK(leading == (has_any && !all_leave ? 1 : 0));
  });
  // It is not safe by never handing over.
  if (allot_test::all_cases_run()) CHECK(handovers > 200);
}

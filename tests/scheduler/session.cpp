// SPDX-License-Identifier: BSL-1.0
//
// What a cycle of one's own can do: these cycles decide what the test tells them, so that each decision of
// the session is seen by itself.
#include <allot/scheduler/session.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/scheduler/unit_host.hpp"

using allot::job_id;
using allot::job_state;
using allot::pending_reason;
using allot::quota_id;
using allot_test::h100_then_a100;
using allot_test::models;
using allot_test::unit_host;

namespace {

using bench_type = allot::session<allot_test::unit_view, allot::no_placement>;

struct orders {
  std::function<void(bench_type&)> next{};
  int resets = 0;
  int runs = 0;
};

/// A cycle that does what the test says.
struct as_told {
  template <class Session>
  class cycle {
   public:
    explicit cycle(const as_told& policies) : told_(policies.told) {}
    void reset(Session&) { ++told_->resets; }
    void run(Session& session) {
      ++told_->runs;
      if (auto now = std::exchange(told_->next, {})) now(session);
    }

   private:
    orders* told_;
  };

  orders* told;
  allot::by_settings jobs{};
  allot::capacity_kind not_preemptible = allot::capacity_kind::guaranteed;
};
struct told_host {
  orders told{};
  unit_host<allot::no_placement, as_told> h;

  explicit told_host(std::vector<allot::quota_spec<2>> specs) : h(std::move(specs), {}, as_told{&told}) {}
  std::string step(std::function<void(bench_type&)> what) {
    told.next = std::move(what);
    return h.step();
  }
};

std::vector<allot::quota_spec<2>> two_teams(std::int64_t a, std::int64_t b) {
  return {{.name = "root"},
          {.name = "a", .parent = "root", .nominal = models(a)},
          {.name = "b", .parent = "root", .nominal = models(b)}};
}

}  // namespace

TEST_CASE("session: a cycle is reset when the tree changes and runs once per step") {
  told_host t{two_teams(4, 4)};
  CHECK(t.told.resets == 1);
  CHECK(t.step([](bench_type&) {}).empty());
  CHECK(t.told.runs == 1);
  const std::vector<allot::quota_change<2>> change{allot::resize_quota<2>{t.h.quota("a"), models(5)}};
  REQUIRE(t.h.scheduler().apply(change));
  CHECK(t.told.resets == 2);
  const std::vector<allot::quota_change<2>> refused{allot::remove_quota{quota_id{77}}};
  CHECK_FALSE(t.h.scheduler().apply(refused));
  CHECK(t.told.resets == 2);
}

TEST_CASE("session: shows the queues") {
  told_host t{two_teams(4, 4)};
  t.h.submit("a1", "a", 9);
  t.h.submit("a2", "a", 2);
  t.h.submit("a3", "a", 2);
  t.h.cancel("a3");
  const quota_id a = t.h.quota("a");
  CHECK(t.step([&](bench_type& b) {
    CHECK(b.queues().waiting(a) == 2);
    CHECK(b.queues().asked(a) == models(11));
    CHECK(b.first_of(a) == t.h.id("a1"));
    b.mark_inadmissible(a, pending_reason::quota);
    CHECK(b.first_of(a) == t.h.id("a2"));
    std::vector<std::string> seen;
    b.jobs().for_each_waiting(a, [&](job_id id) { seen.push_back(b.jobs().at(id).what->name); });
    std::sort(seen.begin(), seen.end());
    CHECK(seen == std::vector<std::string>{"a1", "a2"});
    b.admit(t.h.id("a2"), {});
    CHECK(b.queues().asked(a) == models(9));
    CHECK(b.queues().waiting(a) == 1);
    CHECK_FALSE(b.first_of(a));
    b.requeue_inadmissible();
    CHECK(b.first_of(a) == t.h.id("a1"));
    CHECK(b.plan().pending.empty());
  }) == "+a2");
}

TEST_CASE("session: quotas are touched by what changes their queue or usage, once each") {
  told_host t{two_teams(4, 4)};
  const auto touched = [&](bench_type& b) {
    std::vector<std::string> names;
    b.queues().take_touched([&](quota_id x) { names.emplace_back(b.tree().name(x)); });
    std::sort(names.begin(), names.end());
    std::string all;
    for (const std::string& n : names) all += n + " ";
    return all;
  };
  const auto expect = [&](const char* what) {
    CHECK(t.step([&](bench_type& b) { CHECK(touched(b) == what); }).empty());
  };
  expect("a b root ");
  expect("");
  t.h.submit("a1", "a", 2);
  t.h.submit("a2", "a", 2);
  expect("a ");
  t.step([&](bench_type& b) {
    b.admit(t.h.id("a1"), {});
    CHECK(touched(b) == "a ");
    b.mark_inadmissible(t.h.quota("a"), pending_reason::quota);
    CHECK(touched(b) == "a ");
  });
  expect("");
  t.h.finished("a1");
  expect("a ");
  t.h.cancel("a2");
  expect("a ");
}

TEST_CASE("session: an announced job has nothing assumed, and is decided on again") {
  told_host t{two_teams(4, 4)};
  t.h.submit("b1", "b", 8);
  CHECK(t.step([&](bench_type& b) { b.admit(t.h.id("b1"), {}); }) == "+b1");
  t.h.submit("a1", "a", 4);
  CHECK(t.step([&](bench_type& b) {
    const std::size_t first = b.plan().evictions.size();
    b.evict(t.h.id("b1"), t.h.id("a1"), allot::relation::borrower);
    b.announce(t.h.id("a1"), first);
  }) == "-b1>a1 ~a1");
  CHECK(t.h.state("a1") == job_state::pending);
  CHECK(t.h.scheduler().assumed().own_usage(t.h.quota("a"), 0) == allot::gpus(0));
  t.h.evicted("b1");
  t.step([&](bench_type& b) {
    CHECK(b.queues().must_requeue());
    CHECK(b.first_of(t.h.quota("a")) == t.h.id("a1"));
    CHECK(b.jobs().evicting().empty());
  });
}

TEST_CASE("session: a job that is announced again in one step is nominated once, with all its victims") {
  told_host t{two_teams(4, 4)};
  for (const char* const b : {"b1", "b2", "b3"}) t.h.submit(b, "b", 2);
  t.step([&](bench_type& b) {
    for (const char* const name : {"b1", "b2", "b3"}) b.admit(t.h.id(name), {});
  });
  t.h.submit("a1", "a", 4);
  t.h.submit("a2", "a", 2);
  CHECK(t.step([&](bench_type& b) {
    const auto evict = [&](const char* victim, const char* beneficiary) {
      b.evict(t.h.id(victim), t.h.id(beneficiary), allot::relation::borrower);
      b.announce(t.h.id(beneficiary), b.plan().evictions.size() - 1);
    };
    b.announce(t.h.id("a1"), 0);
    evict("b1", "a1");
    evict("b2", "a2");
    evict("b3", "a1");
    const auto& told = b.plan().nominations;
    REQUIRE(told.size() == 2);
    CHECK((told[0].first == 0 && told[0].count == 2));
    CHECK((told[1].first == 2 && told[1].count == 1));
  }) == "-b1>a1 -b3>a1 -b2>a2 ~a1 ~a2");
}

TEST_CASE("session: a job nominated without victims starts if it delays no other") {
  told_host t{two_teams(4, 4)};
  t.h.submit("a1", "a", 3);
  t.h.submit("b1", "b", 2);
  CHECK(t.step([&](bench_type& b) { b.nominate(t.h.id("b1"), {}); }) == "+b1");
  t.h.evicting("b1");
  CHECK(t.step([&](bench_type& b) {
    CHECK(b.jobs().evicting().size() == 1);
    CHECK(b.jobs().evicting().front() == t.h.id("b1"));
    b.nominate(t.h.id("a1"), {});
  }) == "+a1");
  t.h.submit("a2", "a", 5);
  CHECK(t.step([&](bench_type& b) { b.nominate(t.h.id("a2"), {}); }) == "~a2");
  t.h.evicted("b1");
  CHECK(t.step({}) == "+a2");
}

TEST_CASE("session: an elastic job is evicted as one, with the pods that run") {
  told_host t{two_teams(4, 4)};
  t.h.submit("e", "a", 1, {.pods = 6, .min_pods = 2});
  const quota_id a = t.h.quota("a");
  CHECK(t.step([&](bench_type& b) {
    b.admit(t.h.id("e"), {});
    for (int i = 0; i < 3; ++i) b.admit(*b.first_of(a), {});
    CHECK(b.jobs().running_pods(b.jobs().at(t.h.id("e"))) == 5);
    CHECK(b.books().running().jobs_of(a).size() == 4);
  }) == "+e +e^ +e^ +e^");
  t.h.evicting(t.h.elastic_pod("e"));
  CHECK(t.step([&](bench_type& b) {
    CHECK(b.jobs().running_pods(b.jobs().at(t.h.id("e"))) == 4);
    b.evict(t.h.id("e"), {}, allot::relation::resized);
    REQUIRE(b.plan().evictions.size() == 1);
    CHECK(b.plan().evictions.front().pods == 4);
    CHECK(b.plan().evictions.front().how == allot::relation::resized);
    CHECK(b.jobs().evicting().size() == 4);
    CHECK(b.queues().waiting(a) == 0);
    CHECK(b.books().running().jobs_of(a).empty());
  }) == "-e");
}

TEST_CASE("session: a choice of flavors determines the request from then on") {
  told_host t{{{.name = "q", .nominal = models(4, 4)}}};
  t.h.submit("j", "q", 0, {.menu = h100_then_a100(3)});
  const quota_id q = t.h.quota("q");
  CHECK(t.step([&](bench_type& b) {
    const auto& r = b.jobs().at(t.h.id("j"));
    CHECK(r.request_under({0}) == models(3, 0));
    CHECK(r.request_under({1}) == models(0, 3));
    CHECK(b.queues().asked(q) == models(3, 0));
    b.queues().take_touched([](quota_id) {});
    b.choose(r, {0});
    bool touched = false;
    b.queues().take_touched([&](quota_id) { touched = true; });
    CHECK_FALSE(touched);
    b.choose(r, {1});
    b.queues().take_touched([&](quota_id) { touched = true; });
    CHECK(touched);
    CHECK(b.queues().asked(q) == models(0, 3));
    CHECK(r.facts.request == models(0, 3));
    b.admit(t.h.id("j"), {});
    CHECK(b.plan().admissions.front().pick[0] == 1);
    CHECK(b.queues().asked(q) == models(0));
  }) == "+j");
  CHECK(t.h.used("q", 1) == 3);
}

TEST_CASE("session: changes of the world are counted, plans are not") {
  told_host t{two_teams(4, 4)};
  const auto epoch = [&] {
    std::uint64_t e = 0;
    t.step([&](bench_type& b) { e = b.jobs().epoch(); });
    return e;
  };
  const std::uint64_t start = epoch();
  t.h.submit("b1", "b", 8);
  t.h.submit("e", "a", 1, {.pods = 4, .min_pods = 1});
  t.step([&](bench_type& b) { b.admit(t.h.id("b1"), {}); });
  t.step([&](bench_type& b) { b.evict(t.h.id("b1"), t.h.id("e"), allot::relation::borrower); });
  t.h.evicted("b1");
  t.step([&](bench_type& b) {
    b.admit(t.h.id("e"), {});
    b.admit(*b.first_of(t.h.quota("a")), {});
  });
  CHECK(epoch() == start);
  // With an elastic job all its pods are evicted, and the plan lists them.
  t.step([&](bench_type& b) { b.evict(t.h.id("e"), t.h.id("b1"), allot::relation::borrower); });
  t.h.evicted("e");
  CHECK(epoch() == start);
  t.h.cancel("e");  // it was pending
  CHECK(epoch() == start);
  t.step([&](bench_type& b) { b.admit(t.h.id("b1"), {}); });
  t.h.finished("b1");
  CHECK(epoch() == start + 1);
  t.h.scheduler().retry();
  CHECK(epoch() == start + 2);
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/inventory.hpp>
#include <allot/quota/builder.hpp>
#include <allot/scheduler/detail/books.hpp>
#include <allot/scheduler/policies.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tests/scheduler/host.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::job_id;
using allot::job_state;
using allot::ledger;
using allot::quantity;
using allot::quota_id;
using allot::search_outcome;
using allot_test::random_source;

namespace {

/// A job is its number; quotas and sizes are in a table.
struct table_view {
  struct row {
    quota_id quota;
    std::int64_t gpus = 0;
    bool preemptible = true;
  };
  using job = std::size_t;
  const std::vector<row>* rows = nullptr;

  quota_id quota(job j) const { return (*rows)[j].quota; }
  allot::resources<> request(job j) const { return gpus((*rows)[j].gpus); }
  int priority(job) const { return 0; }
  bool preemptible(job j) const { return (*rows)[j].preemptible; }
  allot::gpu::pod_request pod_request(job j) const { return {.gpus = gpus((*rows)[j].gpus)}; }
};

template <class Placement>
struct world {
  using record = allot::detail::job_record<table_view, Placement>;

  std::vector<table_view::row> rows;
  allot::detail::books<table_view, Placement> books;
  allot::detail::job_table<record> jobs;
  allot::victim_search<1, allot::lowest_priority_then_highest_share, allot::eligible_is_fair> search;

  world(allot::quota_tree<> tree, Placement places) : books(std::move(tree), std::move(places)) {}

  record& add(quota_id x, std::int64_t size, bool preemptible = true) {
    rows.push_back({x, size, preemptible});
    const job_id id = jobs.add();
    record& r = jobs[id];
    allot::detail::read_job(r, table_view{&rows}, rows.size() - 1, rows.size());
    r.facts.id = id;
    r.state = job_state::pending;
    return r;
  }
  /// Places, books and starts it.
  record& run(quota_id x, std::int64_t size, bool preemptible = true) {
    record& r = add(x, size, preemptible);
    r.where = *books.places.place(r.pod_request);
    books.book(r);
    books.start(r, static_cast<allot::instant>(rows.size()));
    return r;
  }
};

allot::quota_tree<> two_teams() {
  return allot::build_quota_tree<1>({{.name = "root"},
                                     {.name = "a", .parent = "root", .nominal = gpus(4)},
                                     {.name = "b", .parent = "root", .nominal = gpus(4)}})
      .value();
}
const quota_id root{0}, a{1}, b{2};

}  // namespace

TEST_CASE("books: allocated is what runs or is evicting, assumed what runs or is reserved") {
  world<allot::no_placement> w{two_teams(), {}};
  auto& victim = w.run(b, 6);
  CHECK(w.books.allocated().own_usage(b, 0) == gpus(6));
  CHECK(w.books.assumed().own_usage(b, 0) == gpus(6));

  w.books.withdraw(victim);
  CHECK(victim.state == job_state::evicting);
  CHECK(w.books.allocated().own_usage(b, 0) == gpus(6));
  CHECK(w.books.assumed().own_usage(b, 0) == gpus(0));

  auto& next = w.add(a, 4);
  w.books.book(next);
  CHECK_FALSE(w.books.ready(next));
  CHECK(w.books.allocated().own_usage(a, 0) == gpus(0));
  CHECK(w.books.assumed().own_usage(a, 0) == gpus(4));

  w.books.give_back(victim);
  CHECK(w.books.allocated().own_usage(b, 0) == gpus(0));
  CHECK(w.books.ready(next));
  w.books.start(next, 9);
  CHECK(next.state == job_state::running);
  CHECK(next.facts.started == 9);
  CHECK(w.books.allocated() == w.books.assumed());

  auto& never = w.add(a, 1);
  w.books.book(never);
  w.books.unbook(never);
  w.books.give_back(next);
  CHECK(w.books.allocated() == ledger<>{two_teams()});
  CHECK(w.books.assumed() == ledger<>{two_teams()});
}

TEST_CASE("books: a job whose place is still occupied is not ready") {
  world<allot::gpu::inventory> w{two_teams(), allot_test::nodes(2, 4)};
  auto& going = w.run(b, 4);
  w.run(b, 2);
  w.books.withdraw(going);
  auto& small = w.add(a, 2);
  auto& large = w.add(a, 4);
  small.where = *w.books.places.place(small.pod_request);
  w.books.book(small);
  large.where = *w.books.places.place(large.pod_request);
  CHECK(w.books.ready(small));
  CHECK_FALSE(w.books.ready(large));
  w.books.give_back(going);
  CHECK(w.books.ready(large));
}

TEST_CASE("books: the additional borrowing of a job") {
  world<allot::no_placement> w{two_teams(), {}};
  const auto borrows = [&](quota_id x, std::int64_t size) {
    return w.books.borrowed_by(w.books.assumed(), w.add(x, size))[0];
  };
  CHECK(borrows(a, 3) == gpus(0));
  CHECK(borrows(a, 5) == gpus(1));
  w.run(a, 3);
  CHECK(borrows(a, 3) == gpus(2));
  w.run(a, 3);
  CHECK(borrows(a, 2) == gpus(2));
  CHECK(borrows(root, 2) == gpus(2));
}

TEST_CASE("books: victims are evicting once found, and only preemptible ones are") {
  world<allot::gpu::inventory> w{two_teams(), allot_test::nodes(2, 4)};
  auto& fixed = w.run(b, 4, false);
  auto& loose = w.run(b, 4);
  auto& asks = w.add(a, 4);
  REQUIRE(w.books.make_room(w.jobs, w.search, asks, {}) == search_outcome::found);
  CHECK(fixed.state == job_state::running);
  CHECK(loose.state == job_state::evicting);
  CHECK(w.books.places.is_vacating(loose.where));
  CHECK(w.books.assumed().own_usage(b, 0) == gpus(4));
  CHECK(w.books.allocated().own_usage(b, 0) == gpus(8));
  CHECK(w.books.places.place(asks.pod_request).has_value());
  // It is no victim a second time.
  auto& more = w.add(a, 4);
  CHECK(w.books.make_room(w.jobs, w.search, more, {}) == search_outcome::impossible);
}

TEST_CASE("books: a failed search leaves no trace") {
  allot_test::for_each_seed(200, [](random_source& random) {
    world<allot::gpu::inventory> w{
        allot::quota_tree<>{allot_test::random_quotas<1>(random, {.most_quotas = 6, .one_unlimited_in = 0})},
        allot_test::nodes(random.between(1, 4), 4)};
    const auto quotas = w.books.allocated().tree().top_down();
    for (int i = 0; i < 12; ++i) {
      auto& r = w.add(random.pick(quotas), random.between(1, 4), !random.one_in(4));
      if (!w.books.assumed().fits(r.facts.quota, r.facts.request)) continue;
      const auto at = w.books.places.place(r.pod_request);
      if (!at) continue;
      r.where = *at;
      w.books.book(r);
      w.books.start(r, i);
    }
    const ledger<> held = w.books.allocated();
    const ledger<> assumed = w.books.assumed();
    const allot::gpu::inventory places = w.books.places;
    auto& asks = w.add(random.pick(quotas), random.between(1, 6));
    const bool has_place = allot::could_place(w.books.places, asks.pod_request);
    CHECK(w.books.places == places);
    CHECK(has_place == allot::gpu::inventory{places}.place(asks.pod_request).has_value());
    const auto outcome =
        w.books.make_room(w.jobs, w.search, asks, {allot::preempt_within::lower_or_newer_equal});
    CHECK(w.books.allocated() == held);
    if (outcome == search_outcome::found) {
      CHECK(w.books.assumed().fits(asks.facts.quota, asks.facts.request));
      CHECK(w.books.places.place(asks.pod_request).has_value());
    } else {
      CHECK(w.books.assumed() == assumed);
      CHECK(w.books.places == places);
    }
  });
}

TEST_CASE("books: a trial is rolled back") {
  world<allot::no_placement> w{two_teams(), {}};
  w.run(a, 2);
  const ledger<> before = w.books.assumed();
  CHECK(w.books.suppose([&](ledger<>& l) {
    l.charge(b, gpus(7));
    return l.headroom(a, 0);
  }) == gpus(-1));
  CHECK(w.books.assumed() == before);
}

TEST_CASE("books: there may be no room for what was assumed once the tree has changed") {
  world<allot::no_placement> w{two_teams(), {}};
  auto& r = w.add(a, 6);
  w.books.book(r);
  CHECK(w.books.has_room(r));
  const allot::quota_tree<> before = two_teams();
  std::vector<allot::quota_spec<>> smaller(before.specs().begin(), before.specs().end());
  smaller[b.index()].nominal = gpus(1);
  w.books.replace_tree(allot::build_quota_tree<1>(smaller).value());
  CHECK_FALSE(w.books.has_room(r));
  CHECK(w.books.allocated().tree() == w.books.assumed().tree());
  CHECK(w.books.assumed().own_usage(a, 0) == gpus(6));
  // Who asks for nothing is in nobody's way.
  auto& nothing = w.add(a, 0);
  w.books.book(nothing);
  CHECK(w.books.has_room(nothing));
}

TEST_CASE("books: a restarted job is ordered by its new start") {
  world<allot::no_placement> w{two_teams(), {}};
  auto& first = w.run(b, 3);
  auto& second = w.run(b, 3);
  w.books.restart(first, 100);
  auto& asks = w.add(a, 4);
  REQUIRE(w.books.make_room(w.jobs, w.search, asks, {}) == search_outcome::found);
  CHECK(first.state == job_state::evicting);
  CHECK(second.state == job_state::running);
}

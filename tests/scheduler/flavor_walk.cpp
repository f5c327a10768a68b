// SPDX-License-Identifier: BSL-1.0

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/scheduler/unit_host.hpp"
#include "tests/support/seeds.hpp"

using allot::flavor_choice;
using allot::flavor_menu;
using allot::flavor_pick;
using allot::flavor_step;
using allot::resources;
using allot::walk_flavors;
using allot_test::h100_then_a100;
using allot_test::models;
using allot_test::unit_host;

namespace {

flavor_menu<2> menu_of(const std::vector<std::size_t>& sizes) {
  flavor_menu<2> menu;
  for (const std::size_t s : sizes) menu.add_group(std::vector<resources<2>>(s, models(1)));
  return menu;
}

/// What each choice of a job leads to, drawn at random, and a session that exposes nothing else.
struct outcome {
  bool borrows = false;
  bool fits = false;
  bool helped_by_evictions = false;
};
struct drawn_session {
  static constexpr bool has_flavors = true;
  static constexpr std::size_t n = 2;
  struct record {
    allot::running_job<2> facts{};
    flavor_menu<2> menu{};
    flavor_pick pick{};
  };
  struct accounts {
    [[nodiscard]] static allot::quantity balance(allot::quota_id, std::size_t) { return allot::gpus(5); }
  };

  [[nodiscard]] const drawn_session& queues() const { return *this; }
  [[nodiscard]] const drawn_session& books() const { return *this; }
  [[nodiscard]] const allot::queue_settings& settings(allot::quota_id) const { return rules; }
  [[nodiscard]] accounts assumed() const { return {}; }
  void choose(const record&, const flavor_pick& pick) {
    job.pick = pick;
    // A request of 6 exceeds the balance of 5, so that the choice borrows.
    job.facts.request = outcomes.at(pick).borrows ? models(6) : models(5);
  }

  allot::queue_settings rules{};
  std::map<flavor_pick, outcome> outcomes{};
  record job{};
};

/// A second implementation of the order of preference of choices and ways: the lowest score wins.
std::optional<std::pair<flavor_pick, bool>> best_of(const std::vector<flavor_pick>& in_order,
                                                    const drawn_session& session) {
  const flavor_choice& rule = session.rules.flavors;
  const bool spare_loans = rule.when_can_borrow == flavor_step::try_next;
  const bool spare_others = rule.when_can_preempt == flavor_step::try_next;
  const bool prefers_eviction = rule.preference == allot::flavor_preference::preemption_over_borrowing;
  std::optional<std::pair<flavor_pick, bool>> best;
  int best_score = 9;
  for (const flavor_pick& p : in_order) {
    const outcome& o = session.outcomes.at(p);
    if (!o.fits && !o.helped_by_evictions) continue;
    const bool evicts = !o.fits;
    int score = 0;
    if (spare_loans && o.borrows) score = 2;
    if (spare_others && evicts) score = spare_loans && prefers_eviction && !o.borrows ? 1 : 3;
    if (score < best_score) {
      best_score = score;
      best = {p, evicts};
    }
  }
  return best;
}

}  // namespace

TEST_CASE("flavor_walk: choices come in order, the first group keeps its better flavors longest") {
  const flavor_menu<2> menu = menu_of({2, 3});
  flavor_pick pick{};
  std::vector<std::array<int, 2>> seen;
  do {
    seen.push_back({pick[0], pick[1]});
  } while (advance(pick, menu));
  CHECK(seen == std::vector<std::array<int, 2>>{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}});
  CHECK(pick == flavor_pick{});
  CHECK_FALSE(advance(pick, flavor_menu<2>{}));
}

TEST_CASE("flavor_walk: the chosen flavors are the best by the rule, for any outcomes") {
  allot_test::for_each_seed(3000, [](allot_test::random_source& random) {
    std::vector<std::size_t> sizes(1 + random.below(3));
    for (auto& s : sizes) s = 1 + random.below(3);
    drawn_session session;
    drawn_session::record& r = session.job;
    r.menu = menu_of(sizes);
    const auto step = [&] { return random.one_in(2) ? flavor_step::stay : flavor_step::try_next; };
    session.rules.flavors = {step(), step()};
    if (random.one_in(2))
      session.rules.flavors.preference = allot::flavor_preference::preemption_over_borrowing;
    std::vector<flavor_pick> in_order;
    const std::size_t rare = 1 + random.below(4);
    flavor_pick pick{};
    do {
      in_order.push_back(pick);
      const bool fits = random.one_in(1 + rare);
      session.outcomes[pick] = {random.one_in(2), fits, fits || random.one_in(rare)};
    } while (advance(pick, r.menu));

    int evictions = 0;
    const auto fit = [&]() -> std::optional<bool> {
      return session.outcomes.at(r.pick).fits ? std::optional{false} : std::nullopt;
    };
    const auto preempt = [&]() -> std::optional<bool> {
      CHECK_FALSE(session.outcomes.at(r.pick).fits);  // a job that fits evicts nothing
      if (!session.outcomes.at(r.pick).helped_by_evictions) return std::nullopt;
      ++evictions;
      return true;
    };
    const auto found = walk_flavors(session, r, fit, preempt);
    const auto expected = best_of(in_order, session);
    REQUIRE(found.has_value() == expected.has_value());
    CHECK(r.pick == (expected ? expected->first : flavor_pick{}));
    if (expected) CHECK(*found == expected->second);
    // No job is evicted unless the walk succeeds that way.
    CHECK(evictions == (expected && expected->second ? 1 : 0));
  });
}

TEST_CASE("flavor_walk: a job without flavors fits or evicts") {
  drawn_session session;
  drawn_session::record& r = session.job;
  const auto no = [] { return std::optional<int>{}; };
  CHECK(walk_flavors(
            session, r, [] { return std::optional{1}; }, no) == 1);
  CHECK(walk_flavors(session, r, no, [] { return std::optional{2}; }) == 2);
  CHECK(walk_flavors(session, r, no, no) == std::nullopt);
}

TEST_CASE("flavor_walk: the number of choices tried is bounded") {
  drawn_session session;
  session.rules.flavors = {flavor_step::stay, flavor_step::stay};
  drawn_session::record& r = session.job;
  r.menu = menu_of({7, 7, 7, 7});
  flavor_pick pick{};
  do session.outcomes[pick] = {};
  while (advance(pick, r.menu));
  std::set<flavor_pick> tried;
  const auto fit = [&] {
    tried.insert(r.pick);
    return std::optional<int>{};
  };
  CHECK_FALSE(walk_flavors(session, r, fit, [] { return std::optional<int>{}; }));
  CHECK(tried.size() == allot::most_flavor_choices);
}

// --- in a scheduler

namespace {

/// a lends h100, b may borrow it; b owns a100.
std::vector<allot::quota_spec<2>> lender_and_borrower() {
  return {{.name = "root"},
          {.name = "a", .parent = "root", .nominal = models(4, 0)},
          {.name = "b", .parent = "root", .nominal = models(0, 4)}};
}
allot::queue_settings with(flavor_step borrow, flavor_step preempt) {
  allot::queue_settings s;
  s.flavors = {borrow, preempt};
  return s;
}

}  // namespace

TEST_CASE("flavor_walk: borrows the better model, or uses its own second choice") {
  for (const auto borrow : {flavor_step::stay, flavor_step::try_next}) {
    unit_host<> h{lender_and_borrower()};
    h.configure("b", with(borrow, flavor_step::try_next));
    h.submit("j", "b", 0, {.menu = h100_then_a100(2)});
    CHECK(h.step() == "+j");
    CHECK(h.used("b", 0) == (borrow == flavor_step::stay ? 2 : 0));
    CHECK(h.used("b", 1) == (borrow == flavor_step::stay ? 0 : 2));
  }
}

TEST_CASE("flavor_walk: borrows if no later flavor fits without borrowing") {
  unit_host<> h{lender_and_borrower()};
  h.configure("b", with(flavor_step::try_next, flavor_step::try_next));
  h.submit("full", "b", 0, {.menu = h100_then_a100(4)});
  h.submit("j", "b", 0, {.menu = h100_then_a100(2)});
  CHECK(h.step() == "+full +j");
  CHECK(h.used("b", 0) == 2);
  CHECK(h.used("b", 1) == 4);
}

TEST_CASE("flavor_walk: preempts for the better model, or uses the next") {
  for (const auto preempt : {flavor_step::stay, flavor_step::try_next}) {
    unit_host<> h{lender_and_borrower()};
    REQUIRE(h.scheduler().apply(
        std::array<allot::quota_change<2>, 1>{allot::resize_quota<2>{h.quota("a"), models(4, 4)}}));
    h.configure("a", with(flavor_step::stay, preempt));
    h.submit("loan", "b", 4);
    CHECK(h.step() == "+loan");
    h.submit("j", "a", 0, {.menu = h100_then_a100(2)});
    CHECK(h.settle() == (preempt == flavor_step::stay ? "-loan>j ~j +j" : "+j"));
    CHECK(h.used("a", 0) == (preempt == flavor_step::stay ? 2 : 0));
    CHECK(h.used("a", 1) == (preempt == flavor_step::stay ? 0 : 2));
  }
}

TEST_CASE("flavor_walk: try_next for borrowing still preempts for the better model") {
  unit_host<> h{lender_and_borrower()};
  REQUIRE(h.scheduler().apply(
      std::array<allot::quota_change<2>, 1>{allot::resize_quota<2>{h.quota("a"), models(4, 4)}}));
  h.configure("a", with(flavor_step::try_next, flavor_step::stay));
  h.submit("loan", "b", 4);
  CHECK(h.step() == "+loan");
  h.submit("j", "a", 0, {.menu = h100_then_a100(2)});
  CHECK(h.settle() == "-loan>j ~j +j");
  CHECK(h.used("a", 0) == 2);
}

TEST_CASE("flavor_walk: preempts for the first model that this helps if none is free") {
  unit_host<> h{lender_and_borrower()};
  h.submit("low", "a", 3);
  h.submit("lower", "b", 0, {.priority = -2, .menu = h100_then_a100(4)});
  CHECK(h.step() == "+low +lower");
  CHECK(h.used("b", 1) == 4);
  // No h100 belongs to b: only a100 can be reclaimed.
  h.submit("j", "b", 0, {.menu = h100_then_a100(2)});
  CHECK(h.settle() == "-lower>j ~j +j");
  CHECK(h.used("b", 1) == 2);
}

TEST_CASE("flavor_walk: a place exists for the second model only") {
  unit_host<allot::gpu::inventory> h{{{.name = "q", .nominal = models(64, 64)}},
                                     allot_test::two_models(1, 2, 4)};
  h.submit("first", "q", 0, {.menu = h100_then_a100(3)});
  h.submit("second", "q", 0, {.menu = h100_then_a100(3)});
  h.submit("third", "q", 0, {.menu = h100_then_a100(3)});
  h.submit("fourth", "q", 0, {.menu = h100_then_a100(3)});
  CHECK(h.step() == "+first +second +third");
  CHECK(h.used("q", 0) == 3);
  CHECK(h.used("q", 1) == 6);
  REQUIRE(h.pending().size() == 1);
  CHECK(h.pending().front().reason == allot::pending_reason::placement);
}

TEST_CASE("flavor_walk: each group makes its own choice") {
  // One group of 2 of either model, one of 3 of either.
  flavor_menu<2> menu = h100_then_a100(2);
  menu.add_group(std::vector<resources<2>>{models(3, 0), models(0, 3)});
  const auto runs_with = [&](std::int64_t h100, std::int64_t a100) -> std::string {
    unit_host<> h{{{.name = "q", .nominal = models(h100, a100)}}};
    h.submit("j", "q", 0, {.menu = menu});
    if (h.step().empty()) return "waits";
    return to_string(h.scheduler().request(h.id("j"))[0]) + "+" +
           to_string(h.scheduler().request(h.id("j"))[1]);
  };
  CHECK(runs_with(5, 5) == "5+0");
  CHECK(runs_with(4, 5) == "2+3");  // the first group keeps its better one
  CHECK(runs_with(3, 2) == "3+2");
  CHECK(runs_with(1, 5) == "0+5");
  CHECK(runs_with(1, 4) == "waits");
}

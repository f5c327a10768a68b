// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/builder.hpp>
#include <allot/systems/kueue/detail/flavor_assignment.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

// Mostly cases of Kueue's tables (flavorassigner_test.go): flavors of one resource are the dimensions, and an
// oracle gives the result of preemption.

using allot::fit_mode;
using allot::flavor_step;
using allot::quota_id;

namespace {

constexpr std::size_t n = 6;
using amounts = std::vector<std::int64_t>;

allot::resources<n> made(const amounts& a) {
  allot::resources<n> r;
  for (std::size_t d = 0; d < a.size(); ++d) r[d] = allot::quantity::whole(a[d]);
  return r;
}
allot::limits<n> limits_of(const amounts& a) {
  allot::limits<n> l{allot::limit::all()};
  for (std::size_t d = 0; d < a.size(); ++d) {
    if (a[d] >= 0) l[d] = allot::limit::at_most(allot::quantity::whole(a[d]));
  }
  return l;
}

struct quota {
  std::string name;
  std::string cohort = "";  // NOLINT(readability-redundant-string-init)
  amounts nominal = amounts();
  amounts uses = amounts();
  amounts borrow = amounts();
  amounts lend = amounts();
};
struct question {
  std::vector<quota> quotas;
  std::vector<std::vector<amounts>> groups;
  allot::flavor_choice choice = allot::flavor_choice();
  std::map<std::size_t, allot::preemption_outlook> oracle =
      std::map<std::size_t, allot::preemption_outlook>();
  bool may_preempt_on_loan = false;
  allot::flavor_bounds bounds = allot::flavor_bounds();
  amounts base = amounts();
};

/// For the quota named "cq". Where the oracle has no entry, it reports victims in the own quota.
allot::flavor_assignment<n> assigned(const question& q) {
  std::vector<allot::quota_spec<n>> specs;
  for (const quota& x : q.quotas) {
    allot::quota_spec<n> s;
    s.name = x.name;
    s.parent = x.cohort;
    s.nominal = made(x.nominal);
    s.borrow = limits_of(x.borrow);
    s.lend = limits_of(x.lend);
    s.inclusive = false;
    specs.push_back(s);
  }
  allot::ledger<n> l{allot::build_quota_tree<n>(specs).value()};
  for (const quota& x : q.quotas) l.charge(l.tree().find(x.name), made(x.uses));
  allot::quota_heights<n> heights;
  heights.reset(l.tree());
  allot::flavor_menu<n> menu;
  for (const auto& g : q.groups) {
    std::vector<allot::resources<n>> options;
    for (const amounts& a : g) options.push_back(made(a));
    menu.add_group(options);
  }
  return allot::assign_flavors(
      l, heights, l.tree().find("cq"), made(q.base), menu, q.choice, q.may_preempt_on_loan, q.bounds,
      [&](std::size_t d, allot::quantity) {
        const auto at = q.oracle.find(d);
        return at == q.oracle.end() ? allot::preemption_outlook{fit_mode::preempt, 0} : at->second;
      });
}
/// "fit 1 borrows 1": the mode, the flavor of each group, and the distance from which it borrows, if it does.
std::string answer(const question& q) {
  const auto a = assigned(q);
  if (a.mode == fit_mode::no_fit) return "no fit";
  std::string said = a.mode == fit_mode::fit ? "fit" : "preempt";
  for (std::size_t g = 0; g < q.groups.size(); ++g) said += " " + std::to_string(a.pick[g]);
  return said + (a.borrows > 0 ? " borrows " + std::to_string(a.borrows) : "");
}

constexpr allot::flavor_choice stay{flavor_step::stay, flavor_step::stay};
constexpr allot::flavor_choice go_on{flavor_step::try_next, flavor_step::try_next};
constexpr allot::flavor_choice go_on_rather_than_borrow{flavor_step::try_next, flavor_step::stay};

/// The same amount in each of the first flavors.
std::vector<amounts> any_of(std::int64_t amount, std::size_t flavors = 2) {
  std::vector<amounts> options;
  for (std::size_t d = 0; d < flavors; ++d) {
    amounts a(d + 1, 0);
    a[d] = amount;
    options.push_back(a);
  }
  return options;
}

}  // namespace

TEST_CASE("flavor_assignment: the first that fits, else the best, as Kueue's TestAssignFlavors") {
  const quota alone{.name = "cq", .nominal = {10, 10}, .uses = {2}};
  CHECK(answer({{alone}, {any_of(8)}}) == "fit 0");
  // A possible preemption: continue with the next flavor, unless the search is to stop there.
  CHECK(answer({{alone}, {any_of(9)}}) == "fit 1");
  CHECK(answer({{alone}, {any_of(9)}, stay}) == "preempt 0");
  CHECK(answer({{alone}, {any_of(11)}}) == "no fit");
  // Preemption does not help in the first flavor either; no oracle is needed.
  CHECK(answer({{{.name = "cq", .nominal = {3, 10}}}, {any_of(9)}, stay}) == "fit 1");

  const quota pool{.name = "pool"};
  const quota other{.name = "other", .cohort = "pool", .nominal = {1}};
  const quota first_borrows{
      .name = "cq", .cohort = "pool", .nominal = {10, 10}, .uses = {2}, .borrow = {1, -1}};
  CHECK(answer({{pool, first_borrows, other}, {any_of(9)}}) == "fit 0 borrows 1");
  CHECK(answer({{pool, first_borrows, other}, {any_of(9)}, go_on}) == "fit 1");
  quota second_lacks = first_borrows;
  second_lacks.nominal = {10, 1};
  CHECK(answer({{pool, second_lacks, other}, {any_of(9)}, go_on}) == "fit 0 borrows 1");
  // The same with lending limits.
  const quota lends{.name = "cq", .cohort = "pool", .nominal = {10, 10}, .uses = {2}, .lend = {1, 0}};
  CHECK(answer({{pool, lends, other}, {any_of(9)}, go_on}) == "fit 1");
  quota lends_less = lends;
  lends_less.nominal = {10, 1};
  CHECK(answer({{pool, lends_less, other}, {any_of(9)}, go_on}) == "fit 0 borrows 1");
}

TEST_CASE("flavor_assignment: preemption for a loan, as Kueue's TestAssignFlavors") {
  const quota pool{.name = "pool"};
  const quota cq{.name = "cq", .cohort = "pool", .nominal = {0, 12}, .borrow = {12, -1}};
  const quota other{.name = "other", .cohort = "pool", .nominal = {12}, .uses = {10}};
  const std::map<std::size_t, allot::preemption_outlook> victims{{0, {fit_mode::preempt, 1}}};
  CHECK(answer({{pool, cq, other}, {any_of(12)}, stay, victims, true}) == "preempt 0 borrows 1");
  CHECK(answer({{pool, cq, other}, {any_of(12)}, go_on_rather_than_borrow, victims, true}) == "fit 1");
  // If it may not preempt in order to borrow, the first flavor is excluded.
  CHECK(answer({{pool, cq, other}, {any_of(12)}, stay, victims, false}) == "fit 1");
  quota smaller = other;
  smaller.nominal = {11};
  CHECK(answer({{pool, cq, smaller}, {any_of(12, 1)}, stay, victims, true}) == "no fit");

  // No victims in the first flavor: continue with the next even if preemption stops the search.
  const std::vector<quota> both{pool,
                                {.name = "cq", .cohort = "pool", .borrow = {2, 2}},
                                {.name = "other", .cohort = "pool", .nominal = {2, 2}, .uses = {2}}};
  CHECK(answer({both, {any_of(2)}, stay, {{0, {fit_mode::no_candidates, 0}}}, true}) == "fit 1 borrows 1");

  // The nominal quota covers the request: no permission is needed.
  CHECK(answer({{pool,
                 {.name = "cq", .cohort = "pool", .nominal = {10}, .uses = {2}, .lend = {0}},
                 {.name = "other", .cohort = "pool"}},
                {any_of(9, 1)},
                {},
                {{0, {fit_mode::preempt, 1}}}}) == "preempt 0 borrows 1");
}

TEST_CASE("flavor_assignment: reclaim before preemption in the own quota, as Kueue") {
  // Three flavors of gpu, then three of compute; each 10.
  const auto world = [](const amounts& mine, const amounts& theirs) {
    return std::vector<quota>{
        {.name = "pool"},
        {.name = "cq", .cohort = "pool", .nominal = {10, 10, 10, 10, 10, 10}, .uses = mine},
        {.name = "other", .cohort = "pool", .uses = theirs}};
  };
  const std::map<std::size_t, allot::preemption_outlook> reclaim_second{
      {0, {fit_mode::preempt, 0}}, {1, {fit_mode::reclaim, 0}}, {2, {fit_mode::reclaim, 0}}};
  CHECK(answer({world({1}, {0, 1}), {any_of(10, 3)}}) == "fit 2");
  CHECK(answer({world({1}, {0, 1, 1}), {any_of(10, 3)}, {}, reclaim_second}) == "preempt 1");
  CHECK(answer({world({1}, {0, 1, 1}), {any_of(10, 3)}, stay}) == "preempt 0");
  CHECK(answer({world({1, 1, 1}, {}), {any_of(10, 3)}}) == "preempt 0");
  // One flavor for both resources: the worst of them counts.
  const std::vector<amounts> both{{10, 0, 0, 10}, {0, 10, 0, 0, 10}, {0, 0, 10, 0, 0, 10}};
  CHECK(answer({world({1, 0, 0, 1, 1}, {0, 1, 1}), {both}, {}, reclaim_second}) == "preempt 2");
}

TEST_CASE("flavor_assignment: preemption over borrowing, as Kueue's preference") {
  constexpr allot::flavor_choice rather_preempt{flavor_step::try_next, flavor_step::try_next,
                                                allot::flavor_preference::preemption_over_borrowing};
  const std::vector<quota> world{{.name = "pool"},
                                 {.name = "cq", .cohort = "pool", .nominal = {10, 0}},
                                 {.name = "other", .cohort = "pool", .nominal = {0, 10}, .uses = {5}}};
  // The first flavor is reclaimed, the second would be borrowed.
  const std::map<std::size_t, allot::preemption_outlook> reclaim_first{{0, {fit_mode::reclaim, 0}}};
  CHECK(answer({world, {any_of(8)}, go_on, reclaim_first}) == "fit 1 borrows 1");
  CHECK(answer({world, {any_of(8)}, rather_preempt, reclaim_first}) == "preempt 0");
  // A loan for which the search stops is taken before there is anything to prefer.
  CHECK(
      answer({world,
              {{{0, 8}, {8}}},
              {flavor_step::stay, flavor_step::try_next, allot::flavor_preference::preemption_over_borrowing},
              reclaim_first}) == "fit 0 borrows 1");
  // Nothing can be preempted in the first.
  CHECK(answer({world, {any_of(8)}, rather_preempt, {{0, {fit_mode::no_candidates, 0}}}}) ==
        "fit 1 borrows 1");
  // Both borrow, one of them after a preemption: the one that fits.
  CHECK(answer({{{.name = "pool"},
                 {.name = "cq", .cohort = "pool"},
                 {.name = "other", .cohort = "pool", .nominal = {10, 10}, .uses = {5}}},
                {any_of(8)},
                rather_preempt,
                {{0, {fit_mode::preempt, 1}}},
                true}) == "fit 1 borrows 1");
  // A dimension that fits on a loan does not hide another one that needs a preemption.
  CHECK(answer({{{.name = "pool"},
                 {.name = "cq", .cohort = "pool", .nominal = {0, 4}, .uses = {0, 2}},
                 {.name = "other", .cohort = "pool", .nominal = {4}}},
                {{{4, 4}}},
                rather_preempt,
                {{1, {fit_mode::preempt, 0}}}}) == "preempt 0 borrows 1");
}

TEST_CASE("flavor_assignment: the borrowing level, as Kueue's TestHierarchical") {
  const auto world = [](const quota& cq, const amounts& other_uses) {
    return std::vector<quota>{{.name = "three", .nominal = {0, 0, 4}},
                              {.name = "two", .cohort = "three", .nominal = {0, 4}},
                              {.name = "one", .cohort = "two", .nominal = {4}},
                              cq,
                              {.name = "other", .cohort = "two", .uses = other_uses}};
  };
  const quota cq{.name = "cq", .cohort = "one", .uses = {4}};
  CHECK(answer({world(cq, {0, 4}), {any_of(4, 3)}}) == "fit 2 borrows 3");
  CHECK(answer({world(cq, {}), {any_of(4, 3)}}) == "fit 1 borrows 2");
  CHECK(answer({world({.name = "cq", .cohort = "one"}, {}), {any_of(4, 3)}}) == "fit 0 borrows 1");
  // No victims nearby is worse than borrowing from further away.
  CHECK(
      answer({world({.name = "cq", .cohort = "one", .nominal = {4}, .uses = {4}, .borrow = {0, -1, -1}}, {}),
              {any_of(4, 3)},
              go_on,
              {{0, {fit_mode::no_candidates, 1}}}}) == "fit 1 borrows 2");
  // Among flavors that fit, the nearest, if the search continues where it would borrow.
  CHECK(answer({world(cq, {}), {{{0, 0, 4}, {0, 4}}}, go_on}) == "fit 1 borrows 2");
}

TEST_CASE("flavor_assignment: groups add up, and each has its own choice") {
  const quota cq{.name = "cq", .nominal = {4, 10}, .uses = {3, 3}};
  // Kueue's launcher and workers: 2 in the first flavor, and 10 that only the second could ever hold.
  CHECK(answer({{cq}, {{{2}}, {{10}, {0, 10}}}}) == "preempt 0 1");
  // What one group takes of a flavor is not available to the next.
  const quota two{.name = "cq", .nominal = {4, 4}};
  CHECK(answer({{two}, {any_of(3), any_of(3)}}) == "fit 0 1");
  CHECK(answer({{two}, {any_of(3), any_of(3), any_of(3)}}) == "no fit");
  // The fixed part counts too, and can be what does not fit.
  CHECK(answer({.quotas = {two}, .groups = {any_of(3)}, .base = {2}}) == "fit 1");
  CHECK(answer({.quotas = {two}, .groups = {any_of(1)}, .base = {5}}) == "no fit");
  CHECK(answer({.quotas = {{.name = "cq", .nominal = {4, 4}, .uses = {1}}},
                .groups = {any_of(1)},
                .base = {4}}) == "preempt 1");
  // Resources with no request need no quota.
  CHECK(answer({{two}, {{{1, 0, 0}}}}) == "fit 0");
}

TEST_CASE("flavor_assignment: remembers where it stopped") {
  const quota cq{.name = "cq", .nominal = {10, 10, 10}, .uses = {2, 2}};
  const auto stopped = assigned({{cq}, {any_of(9, 3)}, stay});
  CHECK(stopped.next[0] == 1);
  CHECK(stopped.has_untried());
  question on{{cq}, {any_of(9, 3)}, stay};
  on.bounds.from[0] = 1;
  CHECK(answer(on) == "preempt 1");
  CHECK(assigned(on).next[0] == 2);
  on.bounds.from[0] = 2;
  CHECK(answer(on) == "fit 2");
  CHECK_FALSE(assigned(on).has_untried());
  // All flavors were tried: nothing is left.
  CHECK_FALSE(assigned({{cq}, {any_of(9, 2)}}).has_untried());
  // If pinned, no other flavor is tried, even if the pinned one does not fit.
  on.bounds.from[0] = 0;
  on.bounds.pinned = true;
  CHECK(answer(on) == "preempt 0");
}

TEST_CASE(
    "flavor_assignment: where a set of pods does not fit, those before it remember where they stopped") {
  question q{{{.name = "cq", .nominal = {10, 10, 4}, .uses = {2, 2}}}, {any_of(9), {{0, 0, 5}}}, stay};
  CHECK(answer(q) == "no fit");
  CHECK_FALSE(assigned(q).has_untried());
  q.bounds.set_starts = 2;
  CHECK(answer(q) == "no fit");
  CHECK(assigned(q).next[0] == 1);
  CHECK(assigned(q).next[1] == 0);
}

TEST_CASE("flavor_assignment: without a place a flavor is one that needs preemption") {
  question q{{{.name = "cq", .nominal = {10, 10}, .uses = {0, 5}}}, {any_of(9)}};
  CHECK(answer(q) == "fit 0");
  q.bounds.no_place[0] = 1;
  CHECK(answer(q) == "preempt 0");
  CHECK(assigned(q).contested[0]);
  q.quotas[0].uses = {};
  CHECK(answer(q) == "fit 1");
  q.bounds.no_place[0] = 3;
  CHECK(answer(q) == "preempt 0");
}

TEST_CASE("flavor_assignment: heights, and where a request is covered") {
  std::vector<allot::quota_spec<1>> specs{{.name = "root", .nominal = allot::gpus(8)},
                                          {.name = "mid", .parent = "root", .nominal = allot::gpus(4)},
                                          {.name = "cq", .parent = "mid", .nominal = allot::gpus(2)},
                                          {.name = "far", .parent = "root"}};
  for (auto& s : specs) s.inclusive = false;
  allot::ledger<> l{allot::build_quota_tree<1>(specs).value()};
  allot::quota_heights<1> heights;
  heights.reset(l.tree());
  const auto at = [&](const char* name, std::int64_t q) {
    const auto found = heights.lowest_with(l, l.tree().find(name), 0, allot::gpus(q));
    return std::to_string(found.level) + (found.may_reclaim ? "+" : "");
  };
  CHECK(at("cq", 2) == "0+");
  CHECK(at("cq", 6) == "1+");
  CHECK(at("cq", 7) == "2");
  CHECK(at("far", 1) == "2");
  CHECK(at("root", 99) == "0");
  // A quota used by its owner is unavailable; used by a borrower from outside, it is available.
  l.charge(l.tree().find("mid"), allot::gpus(3));
  CHECK(at("cq", 4) == "2");
  l.charge(l.tree().find("far"), allot::gpus(9));
  CHECK(at("cq", 3) == "1+");
}

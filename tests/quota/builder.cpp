// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/law_oracle.hpp"
#include "tests/support/print.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::build_quota_tree;
using allot::fair_weight;
using allot::gpus;
using allot::limit;
using allot::problem;
using allot::problem_code;
using allot::quantity;
using allot::quota_spec;

namespace {

template <std::size_t N = 1>
std::vector<problem> problems_of(std::vector<quota_spec<N>> specs) {
  const auto built = build_quota_tree(std::move(specs));
  return built.problems();
}

/// The only problem.
template <std::size_t N = 1>
problem only_problem(std::vector<quota_spec<N>> specs) {
  const auto found = problems_of(std::move(specs));
  REQUIRE(found.size() == 1);
  return found[0];
}

}  // namespace

TEST_CASE("builder: a valid specification gives its tree") {
  const auto built = build_quota_tree<1>({{.name = "child", .parent = "root", .nominal = gpus(4)},
                                          {.name = "root", .nominal = gpus(4), .inclusive = true}});
  REQUIRE(built);
  CHECK(built.value().roots().size() == 1);
  CHECK(build_quota_tree<1>({}));
}

TEST_CASE("builder: a quota needs a name") {
  const problem p = only_problem({{.name = ""}});
  CHECK(p.code == problem_code::empty_name);
  CHECK(p.field == "name");
}

TEST_CASE("builder: names are unique, every duplicate is reported") {
  const auto found = problems_of<1>({{.name = "a"}, {.name = "a"}, {.name = "b"}, {.name = "a"}});
  REQUIRE(found.size() == 2);
  for (const problem& p : found) {
    CHECK(p.code == problem_code::duplicate_name);
    CHECK(p.subject == "a");
    CHECK(p.field == "name");
  }
}

TEST_CASE("builder: an orphan names the parent it misses") {
  const problem p = only_problem({{.name = "a", .parent = "nowhere"}});
  CHECK(p.code == problem_code::unknown_parent);
  CHECK(p.subject == "a");
  CHECK(p.field == "parent");
  CHECK(p.text == "a names the parent nowhere, which does not exist");
}

TEST_CASE("builder: a cycle is reported once with all its members, without quotas below it") {
  const auto found = problems_of<1>({{.name = "tail", .parent = "b"},
                                     {.name = "b", .parent = "c"},
                                     {.name = "a", .parent = "b"},
                                     {.name = "c", .parent = "a"},
                                     {.name = "self", .parent = "self"},
                                     {.name = "fine"}});
  REQUIRE(found.size() == 2);
  CHECK(found[0].code == problem_code::cycle);
  CHECK(found[0].subject == "b");
  CHECK(found[0].field == "parent");
  CHECK(found[0].text == "the parents form a cycle: b -> c -> a -> b");
  CHECK(found[1].text == "the parents form a cycle: self -> self");
}

TEST_CASE("builder: amounts, limits and weights can't be negative, in any dimension") {
  quota_spec<2> s;
  s.name = "a";
  s.nominal[1] = gpus(-1);
  s.lend[0] = limit::at_most(gpus(-1));
  s.borrow[1] = limit::percent(-1);
  s.weight[0] = fair_weight::milli(-1);
  const auto found = problems_of<2>({s});
  REQUIRE(found.size() == 4);
  std::vector<std::pair<std::string, std::size_t>> where;
  for (const problem& p : found) {
    CHECK(p.code == problem_code::negative);
    CHECK(p.subject == "a");
    where.emplace_back(p.field, p.dimension);
  }
  std::sort(where.begin(), where.end());
  CHECK(where == std::vector<std::pair<std::string, std::size_t>>{
                     {"borrow", 1}, {"lend", 0}, {"nominal", 1}, {"weight", 0}});
}

TEST_CASE("builder: children can't be given more than an inclusive parent has") {
  std::vector<quota_spec<>> specs{{.name = "root", .nominal = gpus(8), .inclusive = true},
                                  {.name = "a", .parent = "root", .nominal = gpus(5)},
                                  {.name = "b", .parent = "root", .nominal = gpus(4)}};
  const problem p = only_problem(specs);
  CHECK(p.code == problem_code::exceeds_parent);
  CHECK(p.subject == "root");
  CHECK(p.field == "nominal");
  CHECK(p.dimension == 0);
  CHECK(p.text == "the children of root are given 9, more than the 8 it has");

  specs[0].overcommit = true;
  CHECK(build_quota_tree(specs));
  specs[0].overcommit = false;
  specs[0].inclusive = false;
  CHECK(build_quota_tree(specs));
}

TEST_CASE(
    "builder: what an additive child has of its own counts against an inclusive parent, besides what is "
    "below") {
  std::vector<quota_spec<>> specs{{.name = "root", .nominal = gpus(8), .inclusive = true},
                                  {.name = "mid", .parent = "root", .nominal = gpus(4)},
                                  {.name = "leaf", .parent = "mid", .nominal = gpus(5)}};
  CHECK(only_problem(specs).code == problem_code::exceeds_parent);
  specs[1].nominal = gpus(3);
  CHECK(build_quota_tree(specs));
}

TEST_CASE("builder: an unlimited quota does not fit a bounded inclusive parent") {
  std::vector<quota_spec<>> specs{{.name = "root", .nominal = gpus(8), .inclusive = true},
                                  {.name = "a", .parent = "root", .nominal = quantity::unlimited()}};
  CHECK(only_problem(specs).code == problem_code::exceeds_parent);
  specs[0].overcommit = true;
  CHECK(build_quota_tree(specs));
  // What is kept must come out of the 8, however much may be borrowed.
  specs[1].is_static = true;
  CHECK(only_problem(specs).code == problem_code::keeps_more_than_it_has);
  specs.push_back({.name = "top"});
  specs[0].parent = "top";
  CHECK(problems_of(specs)[0].code == problem_code::keeps_more_than_it_has);
}

TEST_CASE("builder: an overcommitted quota whose children keep too much could never be sound") {
  std::vector<quota_spec<>> specs{
      {.name = "root", .nominal = gpus(8), .inclusive = true, .overcommit = true},
      {.name = "a", .parent = "root", .nominal = gpus(5), .lend = limit::none()},
      {.name = "b", .parent = "root", .nominal = gpus(5), .lend = limit::at_most(gpus(1))}};
  const problem p = only_problem(specs);
  CHECK(p.code == problem_code::keeps_more_than_it_has);
  CHECK(p.subject == "root");
  CHECK(p.field == "lend");
  specs[2].lend = limit::at_most(gpus(2));
  CHECK(build_quota_tree(specs));
}

TEST_CASE("builder: bounded nominals must add up to something that can be counted") {
  const quantity half = quantity::milli(std::numeric_limits<std::int64_t>::max() / 2);
  std::vector<quota_spec<>> specs{{.name = "root"},
                                  {.name = "a", .parent = "root", .nominal = half},
                                  {.name = "b", .parent = "root", .nominal = half},
                                  {.name = "c", .parent = "root", .nominal = quantity::unlimited()}};
  CHECK(build_quota_tree(specs));
  specs[0].nominal = gpus(1);
  const problem p = only_problem(specs);
  CHECK(p.code == problem_code::out_of_range);
  CHECK(p.subject == "b");
  CHECK(p.field == "nominal");
}

TEST_CASE("builder: reports all problems at once") {
  const auto found = problems_of<1>({{.name = "a", .parent = "b"},
                                     {.name = "b", .parent = "a"},
                                     {.name = "c", .parent = "gone"},
                                     {.name = "c", .nominal = gpus(-2)},
                                     {.name = ""}});
  std::vector<problem_code> codes;
  for (const problem& p : found) codes.push_back(p.code);
  for (const problem_code wanted : {problem_code::cycle, problem_code::unknown_parent, problem_code::negative,
                                    problem_code::duplicate_name, problem_code::empty_name}) {
    CHECK(std::count(codes.begin(), codes.end(), wanted) == 1);
  }
  CHECK(found.size() == 5);

  const auto amounts = problems_of<1>({{.name = "r1", .inclusive = true},
                                       {.name = "a", .parent = "r1", .nominal = gpus(1)},
                                       {.name = "r2", .inclusive = true},
                                       {.name = "b", .parent = "r2", .nominal = gpus(1)}});
  CHECK(amounts.size() == 2);
}

TEST_CASE("builder: accepts a tree exactly if it is sound when idle") {
  allot_test::for_each_seed(3000, [](allot_test::random_source& random) {
    auto specs = allot_test::random_quotas<1>(random);
    // Reduces some nominal quotas, so that parents have too little.
    for (auto& s : specs) {
      if (random.one_in(3)) s.nominal = quantity::milli(random.between(0, 5000));
    }
    const allot_test::law_oracle<1> law{specs};
    bool good = true;
    for (std::size_t x = 0; x < specs.size(); ++x) {
      // An unlimited amount can't be kept out of a bounded one, even if an unlimited parent lends.
      if (!law.is_sound(x) || law.supply(x, 0) < -1'000'000'000'000) good = false;
      if (!specs[x].inclusive || specs[x].overcommit) continue;
      if (law.own_pool(x, 0) < 0) good = false;
    }
    CHECK(static_cast<bool>(build_quota_tree(specs)) == good);
  });
}

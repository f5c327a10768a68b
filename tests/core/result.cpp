// SPDX-License-Identifier: BSL-1.0
#include <allot/core/result.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/words.hpp"

using allot::problem;
using allot::problem_code;
using allot::result;

TEST_CASE("result: a value") {
  result<std::string> r{std::string{"tree"}};
  REQUIRE(r);
  CHECK(r.value() == "tree");
  CHECK(r.problems().empty());
  r.value() += "s";
  CHECK(std::as_const(r).value() == "trees");
}

TEST_CASE("result: a value that can only be moved") {
  result<std::unique_ptr<int>> r{std::make_unique<int>(7)};
  REQUIRE(r);
  const std::unique_ptr<int> moved = std::move(r).value();
  CHECK(*moved == 7);
}

TEST_CASE("result: every problem, in the order found") {
  const result<int> r{std::vector<problem>{{problem_code::negative, "team-a", "nominal", "is negative", 1},
                                           {problem_code::cycle, "team-b", "parent", "is in a cycle"}}};
  CHECK_FALSE(r);
  REQUIRE(r.problems().size() == 2);
  CHECK(r.problems()[0].subject == "team-a");
  CHECK(r.problems()[0].dimension == 1);
  CHECK(r.problems()[1].code == problem_code::cycle);
  CHECK(r.problems()[1].dimension == problem::no_dimension);
}

TEST_CASE("result: asking for a value that is not there breaks a precondition") {
  result<int> r{std::vector<problem>{{problem_code::in_use, "team-a", "", "has jobs"}}};
  CHECK_THROWS_AS((void)r.value(), allot_test::assertion_failed);
  CHECK_THROWS_AS((void)std::as_const(r).value(), allot_test::assertion_failed);
  CHECK_THROWS_AS((void)std::move(r).value(), allot_test::assertion_failed);
}

TEST_CASE("result: no problem at all is not a failure") {
  CHECK_THROWS_AS((void)(result<int>{std::vector<problem>{}}), allot_test::assertion_failed);
}

TEST_CASE("result: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::problem_code>(14));
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/decimal.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "tests/support/seeds.hpp"

using namespace allot::lab;

namespace {

std::string text_of(std::int64_t thousandths) {
  std::string text;
  append_milli(text, thousandths);
  return text;
}

decimal_problem problem_of(std::string_view text) {
  return parse_milli(text).problem;
}

}  // namespace

TEST_CASE("parse_milli: decimal numbers, exactly") {
  const auto value = [](std::string_view text) {
    const parsed_milli n = parse_milli(text);
    CHECK(n.problem == decimal_problem::none);
    return n.value;
  };
  CHECK(value("0") == 0);
  CHECK(value("45") == 45'000);
  CHECK(value("007") == 7'000);
  CHECK(value("0.5") == 500);
  CHECK(value("12.34") == 12'340);
  CHECK(value("0.001") == 1);
  CHECK(value("1.500000000") == 1'500);
  CHECK(value("-3") == -3'000);
  CHECK(value("-0.25") == -250);
  CHECK(value("9223372036854775.807") == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("parse_milli: what it refuses, and why") {
  for (const char* text : {"", "-", ".", "5.", ".5", "--1", "+1", " 1", "1 ", "1,5", "1e3", "0x10", "nan",
                           "NaN", "inf", "1.2.3", "1.-5", "one", "1.0000x"}) {
    CAPTURE(text);
    CHECK(problem_of(text) == decimal_problem::malformed);
  }
  CHECK(problem_of(std::string_view{"1\0", 2}) == decimal_problem::malformed);
  CHECK(problem_of("0.0001") == decimal_problem::too_fine);
  CHECK(problem_of("1.00000000000000000000000001") == decimal_problem::too_fine);
  CHECK(problem_of("1000000000000000000") == decimal_problem::too_large);
  CHECK(problem_of("9223372036854775.808") == decimal_problem::too_large);
  CHECK(problem_of("99999999999999999999999999") == decimal_problem::too_large);
  CHECK(problem_of("-99999999999999999999999999.5") == decimal_problem::too_large);
}

TEST_CASE("append_milli: without trailing zeros") {
  CHECK(text_of(0) == "0");
  CHECK(text_of(4'000) == "4");
  CHECK(text_of(12'500) == "12.5");
  CHECK(text_of(1) == "0.001");
  CHECK(text_of(10) == "0.01");
  CHECK(text_of(1'020) == "1.02");
  CHECK(text_of(-250) == "-0.25");
}

TEST_CASE("append_whole, append_milli: the largest numbers") {
  std::string text = "n=";
  allot::lab::append_whole(text, std::numeric_limits<std::int64_t>::min());
  CHECK(text == "n=-9223372036854775808");
  CHECK(text_of(std::numeric_limits<std::int64_t>::max()) == "9223372036854775.807");
  CHECK(text_of(-std::numeric_limits<std::int64_t>::max()) == "-9223372036854775.807");
}

TEST_CASE("append_milli: what it writes can be read back") {
  allot_test::for_each_seed(2'000, [](allot_test::random_source& random) {
    const std::uint64_t bits = random() >> (1 + random.below(62));
    const std::int64_t value =
        random.one_in(2) ? static_cast<std::int64_t>(bits) : -static_cast<std::int64_t>(bits);
    const parsed_milli read = parse_milli(text_of(value));
    CHECK(read.problem == decimal_problem::none);
    CHECK(read.value == value);
  });
}

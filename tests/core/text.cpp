// SPDX-License-Identifier: BSL-1.0
#include <allot/core/text.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::quantity;
using allot::to_string;

TEST_CASE("text: amounts are written in whole units without trailing zeros") {
  CHECK(to_string(quantity{}) == "0");
  CHECK(to_string(gpus(4)) == "4");
  CHECK(to_string(gpus(-4)) == "-4");
  CHECK(to_string(gpus(1000)) == "1000");
  CHECK(to_string(quantity::milli(500)) == "0.5");
  CHECK(to_string(quantity::milli(-500)) == "-0.5");
  CHECK(to_string(quantity::milli(1050)) == "1.05");
  CHECK(to_string(quantity::milli(7)) == "0.007");
  CHECK(to_string(quantity::unlimited()) == "unlimited");
  CHECK(to_string(quantity::lowest()) == "-unlimited");
}

TEST_CASE("text: what is written reads back as the same amount, in the shortest form") {
  allot_test::for_each_seed(5'000, [](allot_test::random_source& random) {
    const std::int64_t milli = random.between(-3'000'000, 3'000'000);
    const std::string text = to_string(quantity::milli(milli));
    CAPTURE(text);
    // Six digits before the point and three after it are exact in a double.
    CHECK(std::strtod(text.c_str(), nullptr) * 1000 ==
          doctest::Approx(static_cast<double>(milli)).epsilon(1e-12));
    if (text.find('.') != std::string::npos) {
      CHECK(text.back() != '0');
      CHECK(text.back() != '.');
    }
  });
}

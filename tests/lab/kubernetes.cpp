// SPDX-License-Identifier: BSL-1.0
#include "lab/import/kubernetes.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "tests/support/seeds.hpp"

using namespace allot::lab;

namespace {

/// In billionths, if they fit 64 bits.
std::optional<std::int64_t> nanos(const char* text) {
  const auto q = parse_kubernetes_quantity(text);
  return q ? std::optional{static_cast<std::int64_t>(*q)} : std::nullopt;
}

}  // namespace

TEST_CASE("parse_kubernetes_quantity: decimal and binary suffixes, exponents") {
  CHECK(nanos("4") == 4'000'000'000);
  CHECK(nanos("0") == 0);
  CHECK(nanos("500m") == 500'000'000);
  CHECK(nanos("1.5") == 1'500'000'000);
  CHECK(nanos(".5") == 500'000'000);
  CHECK(nanos("5.") == 5'000'000'000);
  CHECK(nanos("250u") == 250'000);
  CHECK(nanos("7n") == 7);
  CHECK(nanos("-3") == -3'000'000'000);
  CHECK(nanos("+3") == 3'000'000'000);
  CHECK(nanos("2e3") == 2'000'000'000'000);
  CHECK(nanos("2E3") == 2'000'000'000'000);
  CHECK(nanos("25e-1") == 2'500'000'000);
  CHECK(nanos("1k") == 1'000'000'000'000);
  CHECK(nanos("1Ki") == 1'024'000'000'000);
  CHECK(nanos("0.5Ki") == 512'000'000'000);
  CHECK(parse_kubernetes_quantity("1Gi") == nano * 1024 * 1024 * 1024);
  CHECK(parse_kubernetes_quantity("3Ti") == nano * 3 * 1024 * 1024 * 1024 * 1024);
  CHECK(parse_kubernetes_quantity("1E") == nano * 1'000'000'000 * 1'000'000'000);
  CHECK(parse_kubernetes_quantity("0.1Gi") == nano * 1024 * 1024 * 1024 / 10);
  // Amounts finer than a billionth are rounded up.
  CHECK(nanos("0.0000000001") == 1);
  CHECK(nanos("0.5n") == 1);
  CHECK(nanos("1.0000000000") == 1'000'000'000);
}

TEST_CASE("parse_kubernetes_quantity: the whole range") {
  constexpr nano_amount most = nano * std::numeric_limits<std::int64_t>::max();
  CHECK(parse_kubernetes_quantity("1Ei") == nano * (std::int64_t{1} << 60U));
  CHECK(parse_kubernetes_quantity("7Ei") == nano * 7 * (std::int64_t{1} << 60U));
  CHECK(parse_kubernetes_quantity("9E") == nano * 9'000'000'000'000'000'000);
  CHECK(parse_kubernetes_quantity("9223372036854775807") == most);
  CHECK(parse_kubernetes_quantity("9223372036854775806.5") == most - nano / 2);
  // Kubernetes knows no more than that.
  for (const char* text : {"9223372036854775808", "8Ei", "10E", "1e19", "1e99", "1e2000000000",
                           "92233720368547758.07Ei", "1000000000000000000000"}) {
    CAPTURE(std::string{text});
    CHECK(parse_kubernetes_quantity(text) == most);
    CHECK(parse_kubernetes_quantity("-" + std::string{text}) == -most);
  }
  CHECK(parse_kubernetes_quantity("0e99") == 0);
  CHECK(nanos("1e-99") == 1);
  CHECK(nanos("1e-2000000000") == 1);
}

TEST_CASE("parse_kubernetes_quantity: what is refused") {
  for (const char* text : {"", "m", ".", "-", "1x", "1 Gi", " 1", "1mi", "1KI", "NaN", "inf", "0x1", "1e",
                           "1e+", "1e1.5", "1Gi2", "--1", "1,5"}) {
    CAPTURE(std::string{text});
    CHECK_FALSE(parse_kubernetes_quantity(text));
  }
}

TEST_CASE("parse_kubernetes_quantity: whole numbers with every suffix") {
  allot_test::for_each_seed(500, [](allot_test::random_source& random) {
    constexpr std::pair<const char*, std::int64_t> suffixes[] = {
        {"", 1'000'000'000}, {"m", 1'000'000}, {"u", 1'000}, {"n", 1}};
    const auto& [suffix, worth] = random.pick(suffixes);
    const std::int64_t n = random.between(0, 1'000'000'000);
    const auto expected = nano_amount{n} * worth;
    CHECK(parse_kubernetes_quantity(std::to_string(n) + suffix) == expected);
    // The same with the point moved by three digits.
    std::string digits = std::to_string(n);
    while (digits.size() < 4) digits.insert(digits.begin(), '0');
    const std::string with_point =
        digits.substr(0, digits.size() - 3) + '.' + digits.substr(digits.size() - 3);
    if (worth >= 1000) CHECK(parse_kubernetes_quantity(with_point + suffix) == expected / 1000);
  });
}

TEST_CASE("parse_go_duration") {
  CHECK(parse_go_duration("5m") == 300'000);
  CHECK(parse_go_duration("1h30m0s") == 5'400'000);
  CHECK(parse_go_duration("1.5h") == 5'400'000);
  CHECK(parse_go_duration("300ms") == 300);
  CHECK(parse_go_duration("1w2d") == 777'600'000);
  CHECK(parse_go_duration("0") == 0);
  CHECK(parse_go_duration("0s") == 0);
  for (const char* text : {"", "5", "m", "5 m", "-5m", "5x", "soon", "1e3s", "99999999999999999w"}) {
    CAPTURE(std::string{text});
    CHECK_FALSE(parse_go_duration(text));
  }
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/sim/hash.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string_view>

using allot::sim::fingerprint;

namespace {

constexpr std::uint64_t of(std::string_view bytes) {
  fingerprint f;
  f.add(bytes);
  return f.value();
}

}  // namespace

TEST_CASE("fingerprint: the published values of 64-bit FNV-1a") {
  static_assert(of("") == 0xCBF29CE484222325U);
  static_assert(of("a") == 0xAF63DC4C8601EC8CU);
  static_assert(of("foobar") == 0x85944171F73967E8U);
  CHECK(fingerprint{}.hex() == "cbf29ce484222325");
}

TEST_CASE("fingerprint: a number is its bytes, the least significant first") {
  fingerprint f;
  f.add(std::uint64_t{0x6867666564636261U});
  CHECK(f.value() == of("abcdefgh"));
  fingerprint minus_one;
  minus_one.add(std::int64_t{-1});
  CHECK(minus_one.value() == of("\xff\xff\xff\xff\xff\xff\xff\xff"));
}

TEST_CASE("fingerprint: where one text ends and the next begins counts") {
  fingerprint f;
  f.add_text("ab");
  f.add_text("c");
  fingerprint g;
  g.add_text("a");
  g.add_text("bc");
  CHECK(f.value() != g.value());
  CHECK(f.hex().size() == 16);
}

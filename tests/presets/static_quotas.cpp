// SPDX-License-Identifier: BSL-1.0
#include <allot/presets/static_quotas.hpp>

#include "tests/presets/host.hpp"

#include <doctest/doctest.h>

using allot::gpus;
using static_host = allot_test::preset_host<allot::static_quotas>;

TEST_CASE("static_quotas: no quota lends or borrows, whatever the limits say") {
  static_host h{{{.name = "root", .nominal = gpus(2)},
                 {.name = "a", .parent = "root", .nominal = gpus(4), .borrow = allot::limit::percent(500)},
                 {.name = "b", .parent = "root", .nominal = gpus(4), .lend = allot::limit::all()}}};
  h.submit("a1", "a", 4);
  h.submit("a2", "a", 1);
  h.submit("r1", "root", 3);
  h.submit("r2", "root", 2);
  CHECK(h.settle() == "+a1 +r2");
  h.submit("b1", "b", 4);
  CHECK(h.settle() == "+b1");
}

TEST_CASE("static_quotas: the parts of a nested tree add up to what its root has") {
  static_host h{{{.name = "root", .nominal = gpus(128), .inclusive = true},
                 {.name = "department", .parent = "root", .nominal = gpus(80), .inclusive = true},
                 {.name = "team", .parent = "department", .nominal = gpus(30)}}};
  for (const char* x : {"root", "department", "team"}) {
    for (int i = 0; i < 128; ++i) h.submit(std::string{x} + std::to_string(i), x, 1);
  }
  h.settle();
  CHECK(h.used("team") == 30);
  CHECK(h.used("department") == 50);
  CHECK(h.used("root") == 48);
}

TEST_CASE("static_quotas: priority counts within a quota") {
  static_host h{{{.name = "a", .nominal = gpus(4)}, {.name = "b", .nominal = gpus(4)}}};
  h.submit("a1", "a", 4);
  h.submit("b1", "b", 4);
  CHECK(h.settle() == "+a1 +b1");
  h.submit("a2", "a", 2, {.priority = 5});
  CHECK(h.settle() == "-a1>a2 +a2");
}

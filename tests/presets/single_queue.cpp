// SPDX-License-Identifier: BSL-1.0
#include <allot/presets/single_queue.hpp>

#include "tests/presets/host.hpp"

#include <doctest/doctest.h>

#include <vector>

using allot::gpus;

namespace {

/// What they own together is for everybody.
const std::vector<allot::quota_spec<1>> quotas = {{.name = "a", .nominal = gpus(1)},
                                                  {.name = "b", .nominal = gpus(7)}};

}  // namespace

TEST_CASE("fifo: the head blocks all behind it, whatever quota or priority they have") {
  allot_test::preset_host<allot::fifo> h{quotas};
  h.submit("a1", "a", 5);
  h.submit("b1", "b", 4);
  h.submit("a2", "a", 1, {.priority = 9});
  CHECK(h.settle() == "+a1");
  h.finish("a1");
  CHECK(h.settle() == "+b1 +a2");
}

TEST_CASE("sjf: the shortest goes first, and blocks as well") {
  allot_test::preset_host<allot::sjf> h{quotas};
  h.submit("long", "a", 2, {.length = 100});
  h.submit("short", "b", 7, {.length = 1});
  h.submit("middle", "a", 4, {.length = 50});
  CHECK(h.settle() == "+short");
  h.finish("short");
  CHECK(h.settle() == "+middle +long");
  h.submit("shorter", "b", 4, {.length = 2});
  h.submit("other", "b", 1, {.length = 3});
  CHECK(h.settle().empty());
}

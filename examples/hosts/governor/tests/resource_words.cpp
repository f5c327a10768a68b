// SPDX-License-Identifier: BSL-1.0
#include "governor/src/resource_words.hpp"

#include <doctest/doctest.h>

using allot_governor::shown_resource;

TEST_CASE("resources are read behind an amount, whatever unit their dimension has") {
  CHECK(shown_resource("gpu") == "gpu");
  CHECK(shown_resource("h100/gpu") == "h100/gpu");
  CHECK(shown_resource("memory_mib") == "MiB of memory");
  CHECK(shown_resource("memory_kb") == "kB of memory");
  CHECK(shown_resource("h100/memory_gib") == "GiB of h100/memory");
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/reason.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string_view>

namespace gpu = allot::gpu;
using gpu::obstacle;

TEST_CASE("reason: every obstacle has a name") {
  std::set<std::string_view> words;
  const auto last = static_cast<std::uint8_t>(obstacle::no_domain_has_room);
  for (std::uint8_t o = 0; o <= last; ++o) words.insert(gpu::to_string(obstacle{o}));
  CHECK(words.size() == last + 1U);
  CHECK(words.count("") == 0);
}

TEST_CASE("reason: distinguishes what never fits from what does not fit now") {
  const auto is_never = [](obstacle o) {
    gpu::unplaceable why;
    why.reason = o;
    return why.is_never();
  };
  CHECK_FALSE(is_never(obstacle::none));
  CHECK(is_never(obstacle::invalid_request));
  CHECK(is_never(obstacle::larger_than_any_domain));
  CHECK_FALSE(is_never(obstacle::full));
  CHECK_FALSE(is_never(obstacle::no_domain_has_room));
}

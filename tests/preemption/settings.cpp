// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/settings.hpp>

#include <doctest/doctest.h>

using allot::preempt_settings;

TEST_CASE("preempt_settings: by default a quota takes back its own, and nothing from below") {
  constexpr preempt_settings s;
  CHECK(s.within == allot::preempt_within::lower_priority);
  CHECK(s.reclaim == allot::preempt_reclaim::any);
  CHECK_FALSE(s.children);
  CHECK(s == preempt_settings{});
  CHECK_FALSE(s == preempt_settings{.children = true});
}

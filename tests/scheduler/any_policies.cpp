// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/guard.hpp>
#include <allot/scheduler/any_policies.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "tests/scheduler/host.hpp"

using allot::any_policies;
using allot::gpus;
using allot::policies;
using allot::quota_id;
using allot_test::host_view;

namespace {

using any = any_policies<host_view>;
using shared = policies<allot::within_nominal_then_borrowed_share, allot::by_settings,
                        allot::lowest_priority_then_highest_share, allot::final_share>;

}  // namespace

TEST_CASE("any_policies: they report what the erased policies report") {
  CHECK(any{policies<>{}}.not_preemptible == allot::capacity_kind::guaranteed);
  policies<> lent_to_all;
  lent_to_all.not_preemptible = allot::capacity_kind::any;
  CHECK(any{lent_to_all}.not_preemptible == allot::capacity_kind::any);
  CHECK(any{policies<>{}}.judges_rivals() == false);
  CHECK(any{shared{}}.judges_rivals() == true);
  allot::queue_settings by_priority;
  by_priority.order = allot::queue_order::priority;
  allot::queue_settings fifo;
  fifo.order = allot::queue_order::fifo;
  const any parts{policies<>{}};
  CHECK(parts.jobs.follows_priority(by_priority));
  CHECK_FALSE(parts.jobs.follows_priority(fifo));
  CHECK(parts.why_none().empty());
}

TEST_CASE("any_policies: their order of jobs stays valid when they are moved") {
  const allot_test::host_job urgent{"urgent", quota_id{0}, gpus(1), 7};
  allot::queue_settings by_priority;
  by_priority.order = allot::queue_order::priority;
  any first{policies<>{}};
  const any second = std::move(first);
  CHECK(second.jobs(host_view{}, &urgent, by_priority) == ~std::int64_t{7});
}

TEST_CASE("any_policies: a copy is of the same kind and has parts of its own") {
  const allot_test::host_job urgent{"urgent", quota_id{0}, gpus(1), 7};
  allot::queue_settings by_priority;
  by_priority.order = allot::queue_order::priority;
  std::optional<any> first{shared{}};
  first->not_preemptible = allot::capacity_kind::any;
  const any second = *first;
  any third{policies<>{}};
  third = *first;
  first.reset();
  for (const any* copy : {&second, static_cast<const any*>(&third)}) {
    CHECK(copy->jobs(host_view{}, &urgent, by_priority) == ~std::int64_t{7});
    CHECK(copy->judges_rivals() == true);
    CHECK(copy->not_preemptible == allot::capacity_kind::any);
  }
  const any none = any::none("none suits");
  CHECK(any{none}.why_none() == "none suits");
}

TEST_CASE("any_policies: a scheduler decides and explains as with the policies themselves") {
  const auto story = [](auto h) {
    std::string diary;
    const auto note = [&](const std::string& line) { diary += line + '\n'; };
    h.submit("b1", "b", 6);
    note(h.step());
    h.submit("a1", "a", 3);
    h.submit("a2", "a", 1, {.priority = 5});
    note(h.step());
    h.evicted("b1");
    note(h.step());
    const auto why = h.why("b1");
    note(why.binding ? std::to_string(why.binding->missing.in_milli()) : "not bound");
    return diary;
  };
  const std::string expected = story(allot_test::host<>{allot_test::two_teams()});
  CHECK(expected == "+b1\n-b1>a1 ~a1 +a2\n+a1\n2000\n");
  CHECK(story(allot_test::host<allot::no_placement, any>{allot_test::two_teams(), {}, any{policies<>{}}}) ==
        expected);
}

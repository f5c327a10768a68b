// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/kai/detail/unit_order.hpp>

#include <allot/gpu/pod_request.hpp>
#include <allot/preemption/running_index.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using allot::gpus;
using allot::job_id;
using allot::quantity;
using allot::detail::unit_rank;

namespace {

struct unit_record {
  allot::running_job<> facts{};
  allot::gpu::pod_request pod_request{};
};

}  // namespace

TEST_CASE("unit_rank: priority, then jobs below their minimum, then age") {
  // A higher priority has a smaller key.
  const job_id first{0}, second{1};
  const unit_rank high{-9, 2, 50, 5, second, 3}, waits{-5, 0, 40, 4, first, 0}, runs{-5, 1, 10, 1, first, 0},
      grows{-5, 2, 1, 2, first, 0}, newer{-5, 2, 1, 3, first, 0}, later_pod{-5, 2, 1, 3, first, 1},
      submitted_twice{-5, 2, 1, 3, second, 0};
  const std::vector<unit_rank> line{high, waits, runs, grows, newer, later_pod, submitted_twice};
  CHECK(std::is_sorted(line.begin(), line.end()));
  CHECK(grows != newer);
}

TEST_CASE("unit_order: the pods of a unit come from the view or the placement") {
  unit_record r;
  r.facts.pods = 1;
  r.facts.request = allot::resources<>{gpus(8)};
  r.pod_request = {.gpus = gpus(2), .pods = 4};
  CHECK(allot::detail::pods_of_unit(r) == 4);
  CHECK(allot::detail::request_of_pods(r, 3)[0] == gpus(6));
  CHECK(allot::detail::request_of_pods(r, 4)[0] == gpus(8));
  r.facts.pods = 8;
  CHECK(allot::detail::pods_of_unit(r) == 8);
  CHECK(allot::detail::request_of_pods(r, 1)[0] == gpus(1));
}

TEST_CASE(
    "unit_order: one speaks for another of the same priority, kind of capacity, pools and number of pods, "
    "whatever they ask for") {
  const allot::detail::unit_kind<1> one{
      50, allot::capacity_kind::any, {.pools = 3}, 2, allot::resources<>{gpus(1)}};
  auto other = one;
  other.pod = allot::resources<>{gpus(4)};
  CHECK(one.is_like(other));
  CHECK(one != other);
  other.pods = 5;
  CHECK_FALSE(one.is_like(other));
  other.pods = one.pods;
  other.where.pools = 1;
  CHECK_FALSE(one.is_like(other));
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/lifetime_alignment.hpp>

#include <doctest/doctest.h>
#include <allot/gpu/inventory.hpp>
#include <allot/gpu/placement/any_placement.hpp>
#include <allot/gpu/placement/best_fit.hpp>
#include <allot/gpu/topology_inventory.hpp>
#include <tests/gpu/random_cluster.hpp>
#include <tests/gpu/random_hosts.hpp>
#include <tests/support/count_allocations.hpp>
#include <tests/support/seeds.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using allot::gpus;
using allot::instant;
using allot::without_end;
using allot_test::random_source;
using gpu::allocation_id;
using gpu::free_index;
using gpu::lifetime_alignment;
using gpu::node_id;
using gpu::placed_pod;
using gpu::pod_location;
using gpu::pod_request;
using gpu::pod_shape;
using inventory = gpu::basic_inventory<lifetime_alignment>;

namespace {

/// The rule, computed for every node. `pods`: those that use the index.
std::optional<pod_location> by_scan(const free_index& index, const std::vector<placed_pod>& pods, instant now,
                                    const pod_shape& pod) {
  const auto otherwise = gpu::best_fit{}(index, pod);
  if (!otherwise || otherwise->devices == 0) return otherwise;
  if (pod.estimate.span <= 0 || pod.estimate.span == without_end) return otherwise;
  const instant end = allot::later(now, pod.estimate.span);
  if (end == without_end) return otherwise;
  for (std::uint32_t d = 0; d < 64; ++d) {
    if ((otherwise->devices >> d & 1U) != 0 && index.used(otherwise->node, d) > allot::quantity{})
      return otherwise;
  }
  using rank = std::tuple<instant, int, std::size_t>;
  std::optional<rank> best;
  for (std::size_t i = 0; i < index.layout().size(); ++i) {
    const node_id n{i};
    const auto here = index.layout().type_of(n).shape_on(pod);
    if (!here || index.is_closed(n) || !index.has_room(n, *here)) continue;
    const int free = std::popcount(index.free_devices(n));
    if (free < static_cast<int>(here->devices)) continue;
    std::optional<instant> latest;
    for (const placed_pod& p : pods) {
      if (p.where.node == n && p.where.devices != 0) latest = std::max(latest.value_or(p.end), p.end);
    }
    if (!latest) continue;
    const rank r{std::max<instant>(0, end - std::max(now, *latest)), free, i};
    if (!best || r < *best) best = r;
  }
  if (!best) return otherwise;
  const node_id n{std::get<2>(*best)};
  return pod_location{n, index.choose_devices(n, pod).value()};
}

gpu::run_estimate random_estimate(random_source& random) {
  if (random.one_in(4)) return {};
  if (random.one_in(20)) return {random.between(-1, 0)};
  return {random.one_in(3) ? 10 * random.between(1, 5) : random.between(1, 60)};
}

std::vector<placed_pod> pods_of(const inventory& i, const std::vector<allocation_id>& of) {
  std::vector<placed_pod> all;
  for (const allocation_id a : of) {
    if (!i.contains(a) || i.is_vacating(a)) continue;
    for (const placed_pod& p : i.pods(a)) all.push_back(p);
  }
  return all;
}

/// What is recorded of every node is what its pods say.
void check_ends(const inventory& i, const std::vector<placed_pod>& pods) {
  std::vector<instant> latest(i.layout().size(), gpu::node_ends::nothing);
  for (const placed_pod& p : pods) {
    if (p.where.devices == 0) continue;
    instant& l = latest[p.where.node.index()];
    l = std::max(l, p.end);
  }
  for (std::size_t n = 0; n < latest.size(); ++n) REQUIRE(i.index().ends().latest(node_id{n}) == latest[n]);
}

std::size_t node_of(const inventory& i, allocation_id a) {
  return i.pods(a).begin()->where.node.index();
}

/// One GPU for so long.
pod_request one(instant span) {
  return {.gpus = gpus(1), .estimate = {span}};
}
/// On that node, until then.
allocation_id put(inventory& i, std::size_t node, std::int64_t gpus_there, instant span) {
  const pod_location where{node_id{node}};
  const auto at = i.place_at({.gpus = gpus(gpus_there), .estimate = {span}}, {&where, 1});
  REQUIRE(at);
  return *at;
}

}  // namespace

TEST_CASE("lifetime_alignment: the node that is not kept longer, then the one that is kept least") {
  inventory i{allot_test::equal_nodes(5, 8)};
  i.set_now(1000);
  put(i, 1, 6, 10);
  put(i, 2, 3, 40);
  put(i, 3, 4, 60);
  // Nodes 2 and 3 run until then anyway, and node 3 has fewer free GPUs.
  CHECK(node_of(i, *i.place(one(30))) == 3);
  CHECK(node_of(i, *i.place(one(60))) == 3);
  // Node 3 is prolonged by 10, others by more.
  CHECK(node_of(i, *i.place(one(70))) == 3);
  CHECK(i.index().ends().latest(node_id{3}) == 1070);
  CHECK(node_of(i, *i.place(one(10))) == 3);
  // Node 3 is full, and node 1 is the fullest of those that run until then.
  CHECK(node_of(i, *i.place(one(10))) == 1);
  i.set_now(1035);
  // Node 1 should have been free by now.
  CHECK(node_of(i, *i.place(one(5))) == 2);
  CHECK(node_of(i, *i.place(one(6))) == 2);
  i.close(node_id{2});
  CHECK(node_of(i, *i.place(one(6))) == 1);
  // An empty node last, as by best fit.
  i.close(node_id{1});
  CHECK(node_of(i, *i.place(one(6))) == 0);
}

TEST_CASE("lifetime_alignment: of equal nodes the fullest, then the lowest") {
  inventory i{allot_test::equal_nodes(4, 8)};
  put(i, 0, 3, 500);
  put(i, 1, 4, 100);
  put(i, 2, 4, 900);
  put(i, 3, 4, 200);
  CHECK(node_of(i, *i.place(one(150))) == 2);
  CHECK(node_of(i, *i.place({.gpus = gpus(4), .estimate = {150}})) == 3);
  // All of them are late, so none is delayed less.
  i.set_now(1000);
  CHECK(node_of(i, *i.place({.gpus = gpus(4), .estimate = {150}})) == 1);
}

TEST_CASE("lifetime_alignment: where the host of the best node is full, the next best") {
  inventory i{gpu::build_cluster({{.name = "n", .count = 5, .gpus = 8, .cpu_milli = 4000}}).value()};
  const auto fill = [&](std::size_t node, std::int64_t cpu_milli, instant span) {
    const pod_location where{node_id{node}};
    REQUIRE(i.place_at({.gpus = gpus(4), .cpu_milli = cpu_milli, .estimate = {span}}, {&where, 1}));
  };
  fill(0, 4000, 90);
  fill(1, 1000, 20);
  fill(2, 1000, 30);
  fill(3, 1000, 30);
  const pod_request small{.gpus = gpus(1), .cpu_milli = 3000, .estimate = {50}};
  CHECK(node_of(i, *i.place(small)) == 2);
  CHECK(node_of(i, *i.place(small)) == 3);
  CHECK(node_of(i, *i.place(small)) == 1);
  CHECK(node_of(i, *i.place(small)) == 4);
}

TEST_CASE("lifetime_alignment: a job of which no one knows the end is never gone") {
  inventory i{allot_test::equal_nodes(3, 8)};
  put(i, 0, 3, 0);
  put(i, 1, 4, 100);
  CHECK(i.index().ends().latest(node_id{0}) == without_end);
  CHECK(node_of(i, *i.place(one(99))) == 1);
  CHECK(node_of(i, *i.place(one(1'000'000))) == 0);
  // Without an estimate, and with one beyond the end of time: best fit.
  CHECK(node_of(i, *i.place({.gpus = gpus(1)})) == 1);
  i.set_now(10);
  CHECK(node_of(i, *i.place(one(without_end - 1))) == 1);
}

TEST_CASE("lifetime_alignment: fractions share a device first, and pods without GPUs keep no node") {
  inventory i{allot_test::equal_nodes(3, 8)};
  put(i, 0, 5, 10);
  put(i, 1, 2, 50);
  const pod_request half{.gpus = allot::quantity::milli(500), .estimate = {40}};
  const allocation_id first = *i.place(half);
  CHECK(node_of(i, first) == 1);
  CHECK(node_of(i, *i.place({.gpus = allot::quantity::milli(500), .estimate = {500}})) == 1);
  CHECK(i.index().ends().latest(node_id{1}) == 500);
  const allocation_id none = *i.place({.estimate = {9000}});
  CHECK(node_of(i, none) == 0);
  CHECK(i.index().ends().latest(node_id{0}) == 10);
}

TEST_CASE("lifetime_alignment: a new expectation moves the end, also of what vacates, and back") {
  inventory i{allot_test::equal_nodes(2, 8)};
  const allocation_id a = put(i, 1, 2, 50);
  const inventory at_first = i;
  const auto before = i.save();
  CHECK(i.expect_end(a, 70));
  CHECK(i.index().ends().latest(node_id{1}) == 70);
  CHECK(i.index().fingerprint() != at_first.index().fingerprint());
  CHECK(i.vacate(a));
  CHECK(i.index().ends().latest(node_id{1}) == gpu::node_ends::nothing);
  CHECK(i.expect_end(a, 90));
  CHECK(i.reoccupy(a));
  CHECK(i.index().ends().latest(node_id{1}) == 90);
  CHECK(i != at_first);
  i.rollback(before);
  CHECK(i == at_first);
  CHECK(i.release(a));
  CHECK_FALSE(i.expect_end(a, 1));
  // Where no one cares it is accepted, and nothing is different.
  gpu::inventory plain{allot_test::equal_nodes(2, 8)};
  const allocation_id b = *plain.place(one(10));
  const gpu::inventory same = plain;
  plain.set_now(5);
  CHECK(plain.expect_end(b, 1));
  CHECK(plain == same);
  CHECK(plain.pods(b).begin()->end == without_end);
}

TEST_CASE(
    "lifetime_alignment: an estimate is part of a request, but makes no difference to whether there is "
    "room") {
  CHECK(one(5) != one(7));
  CHECK(one(5) < one(7));
  CHECK(one(5).room_key() == one(7).room_key());
  CHECK(one(5).room_key() == pod_request{.gpus = gpus(1)});
  CHECK(one(5).room_key() != pod_request{.gpus = gpus(2), .estimate = {5}}.room_key());
  pod_request changed = one(5);
  changed = one(7);
  CHECK(changed == one(7));
  CHECK(gpu::split(one(5), 8)->each.estimate.span == 5);
  CHECK(gpu::split(one(5), 8)->each.room_key() == pod_shape{1});
}

TEST_CASE("lifetime_alignment: without estimates, and without a record, it is best fit") {
  allot_test::for_each_seed(10, [](random_source& random) {
    const gpu::cluster layout = allot_test::random_cluster(random);
    inventory aligned{layout};
    gpu::inventory best{layout};
    gpu::basic_inventory<gpu::first_fit> unrecorded{layout};
    std::vector<allocation_id> standing;
    for (int step = 0; step < 100; ++step) {
      if (!standing.empty() && random.one_in(3)) {
        const std::size_t gone = random.below(standing.size());
        aligned.release(standing[gone]);
        best.release(standing[gone]);
        unrecorded.release(standing[gone]);
        std::swap(standing[gone], standing.back());
        standing.pop_back();
        continue;
      }
      pod_request d = allot_test::random_demand(random);
      const auto where = aligned.place(d);
      REQUIRE(where == best.place(d));
      d.estimate = random_estimate(random);
      REQUIRE(where == unrecorded.place_by(lifetime_alignment{}, d));
      if (where) standing.push_back(*where);
    }
    for (const allocation_id a : standing) REQUIRE(aligned.pods(a) == best.pods(a));
  });
}

TEST_CASE("lifetime_alignment: agrees with a scan, on any hosts") {
  allot_test::for_each_seed(40, [](random_source& random) {
    free_index index{allot_test::random_hosts(random)};
    index.record_ends();
    std::vector<placed_pod> pods;
    instant now = random.between(0, 100);
    index.set_now(now);
    const lifetime_alignment choose;
    std::size_t otherwise = 0;
    for (int step = 0; step < 250; ++step) {
      if (random.one_in(4)) index.set_now(now += random.between(0, 10));
      if (random.one_in(15)) {
        const node_id n{random.below(index.layout().size())};
        index.is_closed(n) ? index.open(n) : index.close(n);
      }
      if (!pods.empty() && random.one_in(3)) {
        std::swap(random.pick(pods), pods.back());
        index.leave(pods.back());
        pods.pop_back();
      }
      if (!pods.empty() && random.one_in(8)) {
        placed_pod& moved = random.pick(pods);
        const instant end = now + random.between(-5, 60);
        index.move_end(moved, end);
        moved.end = end;
      }
      pod_shape pod = allot_test::random_shape(random);
      pod.estimate = random_estimate(random);
      const auto where = choose(index, pod);
      REQUIRE(where == by_scan(index, pods, now, pod));
      // A copy knows nothing of what this one keeps.
      if (random.one_in(10)) REQUIRE(where == lifetime_alignment{choose}(index, pod));
      if (!where) continue;
      REQUIRE(index.fits(*where, pod));
      if (where != gpu::best_fit{}(index, pod)) ++otherwise;
      pods.push_back(index.placed(*where, pod));
      index.occupy(pods.back());
    }
    CHECK(otherwise < 250);
  });
}

TEST_CASE("lifetime_alignment: any operations and their rollback leave the record exact") {
  allot_test::for_each_seed(30, [](random_source& random) {
    inventory i{allot_test::random_cluster(random)};
    std::vector<allocation_id> known;
    std::vector<std::pair<allot::savepoint, inventory>> open;
    instant now = 0;
    for (int step = 0; step < 300; ++step) {
      const allocation_id a = known.empty() ? allocation_id{} : random.pick(known);
      switch (random.below(10)) {
        case 0:
          i.release(a);
          break;
        case 1:
          i.vacate(a);
          break;
        case 2:
          i.reoccupy(a);
          break;
        case 3:
          i.expect_end(a, random.one_in(5) ? without_end : now + random.between(-5, 60));
          break;
        case 4:
          if (const node_id n{random.below(i.layout().size())}; i.is_closed(n)) {
            i.reopen(n);
          } else {
            i.close(n);
          }
          break;
        case 5:
          if (open.size() < 4) {
            auto copy = i;
            open.emplace_back(i.save(), std::move(copy));
          }
          break;
        case 6:
          if (!open.empty() && random.one_in(2)) {
            if (random.one_in(2)) {
              i.rollback(open.back().first);
              open.back().second.set_now(now);
              REQUIRE(i == open.back().second);
              REQUIRE(i.index().fingerprint() == open.back().second.index().fingerprint());
            } else {
              i.commit(open.back().first);
            }
            open.pop_back();
          }
          break;
        case 7:
          i.set_now(now += random.between(0, 8));
          break;
        default: {
          pod_request d = allot_test::random_demand(random);
          d.estimate = random_estimate(random);
          const auto pods = i.pods_of(d);
          std::optional<pod_location> expected;
          const bool is_one = pods && pods->all_pods() == 1;
          if (is_one) expected = by_scan(i.index(), pods_of(i, known), now, pods->each);
          const auto at = i.place(d);
          if (is_one) {
            REQUIRE(at.has_value() == expected.has_value());
            if (at) REQUIRE(i.pods(*at).begin()->where == *expected);
          }
          if (at) {
            for (const placed_pod& p : i.pods(*at)) {
              REQUIRE(p.end == (d.estimate.is_known() ? now + d.estimate.span : without_end));
            }
            if (std::find(known.begin(), known.end(), *at) == known.end()) known.push_back(*at);
          }
        }
      }
      check_ends(i, pods_of(i, known));
    }
    while (!open.empty()) {
      i.rollback(open.back().first);
      open.back().second.set_now(now);
      REQUIRE(i == open.back().second);
      open.pop_back();
    }
  });
}

TEST_CASE("lifetime_alignment: after a rebase places are chosen as if the clock had gone on") {
  allot_test::for_each_seed(30, [](random_source& random) {
    inventory goes_on{allot_test::random_cluster(random)};
    inventory is_moved = goes_on;
    std::vector<allocation_id> known;
    instant now = 0;
    instant ahead = 0;
    for (int step = 0; step < 200; ++step) {
      const allocation_id a = known.empty() ? allocation_id{} : random.pick(known);
      switch (random.below(8)) {
        case 0:
          goes_on.release(a);
          is_moved.release(a);
          break;
        case 1:
          goes_on.vacate(a);
          is_moved.vacate(a);
          break;
        case 2:
          now += random.between(0, 8);
          goes_on.set_now(now);
          is_moved.set_now(now + ahead);
          break;
        case 3: {
          const instant by = random.between(-100'000, 100'000);
          ahead += by;
          is_moved.rebase(by);
          break;
        }
        default: {
          pod_request d = allot_test::random_demand(random);
          d.estimate = random_estimate(random);
          const auto at = goes_on.place(d);
          const auto moved_at = is_moved.place(d);
          REQUIRE(at == moved_at);
          if (!at) continue;
          known.push_back(*at);
          const auto where = [&](const inventory& i) { return i.pods(*at).begin()->where; };
          REQUIRE(where(goes_on) == where(is_moved));
          const instant end = goes_on.pods(*at).begin()->end;
          CHECK(is_moved.pods(*at).begin()->end == (end == without_end ? end : end + ahead));
        }
      }
    }
  });
}

TEST_CASE("lifetime_alignment: does not allocate below its largest size so far") {
  inventory i{allot_test::equal_nodes(40, 8)};
  std::vector<allocation_id> standing(150);
  std::size_t placed = 0;
  std::int64_t next = 0;
  const auto come_and_go = [&](std::int64_t jobs) {
    for (const std::int64_t end = next + jobs; next < end; ++next) {
      i.set_now(next);
      allocation_id& old = standing[static_cast<std::size_t>(next) % standing.size()];
      const pod_request d{.gpus = gpus(1 + next % 3), .estimate = {1 + next * 37 % 400}};
      const auto tried = i.save();
      static_cast<void>(i.place(d));
      i.rollback(tried);
      if (old) i.release(old);
      old = i.place(d).value_or(allocation_id{});
      if (old) ++placed;
    }
  };
  come_and_go(400);
  CHECK(allot_test::allocations_in([&] { come_and_go(4000); }) == 0);
  CHECK(placed > 4000);
}

TEST_CASE("lifetime_alignment: chosen by name, with a topology or without, it has its record") {
  const gpu::cluster layout = allot_test::equal_nodes(3, 8);
  gpu::basic_topology_inventory<gpu::any_placement> i{layout, {gpu::placement_name::lifetime, layout}};
  CHECK(i.index().ends().recording());
  i.set_now(100);
  const auto at = i.place(one(50));
  REQUIRE(at);
  CHECK(i.pods(*at).begin()->end == 150);
  gpu::basic_topology_inventory<gpu::any_placement> best{layout};
  CHECK_FALSE(best.index().ends().recording());
  CHECK(gpu::any_placement{lifetime_alignment{}}.uses_ends());
  CHECK_FALSE(gpu::any_placement{gpu::first_fit{}}.uses_ends());
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/kai/detail/node_placement.hpp>

#include <allot/gpu/inventory.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tests/gpu/random_cluster.hpp"
#include "tests/support/count_allocations.hpp"
#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::quantity;
using allot::gpu::inventory;
using allot::gpu::node_id;
using allot::gpu::placed_pod;
using allot::gpu::pod_location;
using allot::gpu::pod_request;
using allot_test::random_source;
using rules = allot::detail::node_placement<inventory>;

namespace {

inventory nodes(const std::vector<std::int64_t>& sizes) {
  std::vector<allot::gpu::node_spec> specs;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    allot::gpu::node_spec s;
    s.name = std::to_string(i);
    s.gpus = sizes[i];
    specs.push_back(s);
  }
  return inventory{allot::gpu::build_cluster(specs).value()};
}
std::vector<std::size_t> nodes_of(const inventory& i, inventory::allocation a) {
  std::vector<std::size_t> all;
  i.for_each_node(a, [&](std::size_t n) { all.push_back(n); });
  return all;
}

std::vector<placed_pod> pods_of(const inventory& i, inventory::allocation a) {
  return {i.pods(a).begin(), i.pods(a).end()};
}
pod_request total(std::int64_t n) {
  return {gpus(n), 1, true};
}

/// Whether nothing is held on the host, and enough devices are unused and not held, or shared with room.
bool could_start(inventory& i, const pod_request& d, node_id n) {
  const auto pod = allot::gpu::split(d, 0);
  const auto here = pod ? i.layout().type_of(n).shape_on(pod->each) : std::nullopt;
  if (!here) return false;
  pod_request host = d;
  host.gpus = {};
  host.gpu_memory_mib = 0;
  host.devices = 1;
  const pod_location there{n};
  const auto before = i.save();
  const auto at = i.place_at(host, {&there, 1});
  const bool is_ready = at && i.ready(*at);
  i.rollback(before);
  std::uint32_t devices = 0;
  for (std::uint32_t k = 0; k < i.layout().gpus(n); ++k) {
    const std::uint64_t bit = std::uint64_t{1} << k;
    if ((i.index().free_devices(n) & bit) != 0) {
      devices += (i.index().devices().held(n) & bit) == 0 ? 1U : 0U;
    } else {
      const std::int64_t used = i.index().used(n, k).in_milli();
      devices += used + static_cast<std::int64_t>(here->milli) <= 1000 ? 1U : 0U;
    }
  }
  return is_ready && devices >= here->devices;
}

/// Now and then one of the units is evicted or, if it was, is gone.
void evict_or_release(random_source& random, inventory& i, std::vector<inventory::allocation>& all) {
  if (all.empty() || !random.one_in(3)) return;
  const std::size_t k = random.below(all.size());
  if (i.is_vacating(all[k])) {
    i.release(all[k]);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(k));
  } else {
    i.vacate(all[k]);
  }
}

}  // namespace

TEST_CASE("node_placement: best fit while nothing is being evicted") {
  inventory i = nodes({4, 2, 3});
  CHECK(nodes_of(i, rules{i}.place({.gpus = gpus(2)}, false).value()) == std::vector<std::size_t>{1});
  CHECK(nodes_of(i, rules{i}.place({.gpus = gpus(2), .pods = 2}, false).value()) ==
        std::vector<std::size_t>{2, 0});
  CHECK_FALSE(rules{i}.place({.gpus = gpus(3)}, false));
}

TEST_CASE("node_placement: where it can start at once, though that fits worse") {
  inventory i = nodes({2, 8});
  const auto old = i.place({.gpus = gpus(2)}).value();
  REQUIRE(nodes_of(i, old) == std::vector<std::size_t>{0});
  i.vacate(old);
  const auto at_once = rules{i}.place({.gpus = gpus(2)}, false).value();
  CHECK(nodes_of(i, at_once) == std::vector<std::size_t>{1});
  CHECK(i.ready(at_once));
  // With nothing available at once it waits.
  const auto rest = rules{i}.place({.gpus = gpus(6)}, false).value();
  CHECK(i.ready(rest));
  const auto later = rules{i}.place({.gpus = gpus(2)}, false).value();
  CHECK(nodes_of(i, later) == std::vector<std::size_t>{0});
  CHECK_FALSE(i.ready(later));
}

TEST_CASE("node_placement: a fraction where one is already") {
  inventory i = nodes({2, 2});
  const auto half = quantity::milli(500);
  const auto first = rules{i}.place({.gpus = half}, false).value();
  const auto whole = rules{i}.place({.gpus = gpus(1)}, false).value();
  const auto second = rules{i}.place({.gpus = half}, false).value();
  const auto third = rules{i}.place({.gpus = half}, false).value();
  CHECK(rules::stand_alike(i, first, second));
  CHECK_FALSE(rules::stand_alike(i, first, third));
  CHECK_FALSE(rules::stand_alike(i, first, whole));
  CHECK(nodes_of(i, third) == std::vector<std::size_t>{1});
}

TEST_CASE("node_placement: a pod that waits leaves to others what can start at once") {
  inventory i = nodes({4});
  const auto old = i.place({.gpus = gpus(2)}).value();
  i.vacate(old);
  const auto waits = rules{i}.place({.gpus = gpus(1)}, true).value();
  CHECK_FALSE(i.ready(waits));
  const auto at_once = rules{i}.place({.gpus = gpus(2)}, false).value();
  CHECK(i.ready(at_once));
  // On given nodes, one pod on each.
  const std::vector<std::size_t> there{0, 0};
  CHECK_FALSE(rules{i}.place_to_wait_on({.gpus = gpus(1), .pods = 2}, there));
  i.release(at_once);
  CHECK(nodes_of(i, rules{i}.place_to_wait_on({.gpus = gpus(1), .pods = 2}, there).value()) == there);
  CHECK_FALSE(rules{i}.place_to_wait_on({.gpus = gpus(1)}, there));
}

TEST_CASE("node_placement: pods come back where they have stood") {
  inventory i = nodes({2, 3});
  const std::vector<pod_location> at{{node_id{1}, 0}, {node_id{0}, 0}};
  const auto old = i.place_at({.gpus = gpus(1), .pods = 2}, at).value();
  i.vacate(old);
  {
    // Node 0 is the fuller one, for both.
    const auto before = i.save();
    const auto back = rules{i}.place_back({.gpus = gpus(1), .pods = 2}, old).value();
    CHECK(back.moved == 1);
    CHECK(nodes_of(i, back.at) == std::vector<std::size_t>{0, 0});
    i.rollback(before);
  }
  CHECK(i.place({.gpus = gpus(1)}));
  const auto back = rules{i}.place_back({.gpus = gpus(1), .pods = 2}, old).value();
  CHECK(back.moved == 1);
  CHECK_FALSE(rules{i}.place_back({.gpus = gpus(3), .pods = 2}, old));
}

TEST_CASE("node_placement: a fraction that comes back alone gets a new share of a device") {
  inventory i = nodes({1});
  const auto half = quantity::milli(500);
  const auto first = i.place({.gpus = half}).value();
  const auto second = i.place({.gpus = half}).value();
  i.vacate(second);
  CHECK(rules{i}.place_back({.gpus = half}, second)->moved == 0);
  i = nodes({1});
  const auto alone = i.place({.gpus = half}).value();
  i.vacate(alone);
  CHECK(rules{i}.place_back({.gpus = half}, alone)->moved == 1);
  CHECK(first != second);
}

TEST_CASE("node_placement: compares whole GPUs by node alone") {
  inventory i = nodes({4, 1});
  const auto a = rules{i}.place({.gpus = gpus(2)}, false).value();
  const auto b = rules{i}.place({.gpus = gpus(2)}, false).value();
  const auto c = rules{i}.place({.gpus = gpus(1)}, false).value();
  CHECK(rules::stand_alike(i, a, b));
  CHECK_FALSE(rules::stand_alike(i, a, c));
}

TEST_CASE("node_placement: a job that is evicted is placed again, pod by pod") {
  inventory i{allot_test::equal_nodes(4, 8)};
  const pod_request gang{gpus(2), 12};
  const inventory::allocation going = *i.place(gang);
  i.vacate(going);
  const auto fill = [&](std::size_t node) {
    const pod_location all{node_id{node}};
    REQUIRE(i.place_at({gpus(8)}, {&all, 1}));
  };

  SUBCASE("where nothing else is free its pods keep their nodes and devices") {
    fill(3);
    const auto back = rules{i}.place_back(gang, going);
    REQUIRE(back);
    CHECK(back->moved == 0);
    CHECK(pods_of(i, back->at) == pods_of(i, going));
    CHECK_FALSE(i.ready(back->at));
  }
  SUBCASE("it counts the pods that are elsewhere now") {
    fill(0);
    const auto back = rules{i}.place_back(gang, going);
    REQUIRE(back);
    const std::vector<std::size_t> was = nodes_of(i, going);
    const std::vector<std::size_t> is = nodes_of(i, back->at);
    std::uint32_t moved = 0;
    for (std::size_t p = 0; p < was.size(); ++p) moved += was[p] != is[p];
    CHECK(moved > 0);
    CHECK(back->moved == moved);
  }
  SUBCASE("all of its pods or none") {
    fill(0);
    fill(1);
    const inventory before = i;
    CHECK_FALSE(rules{i}.place_back(gang, going));
    CHECK(i == before);
  }
  SUBCASE("a total is placed as a whole, and has moved if it is elsewhere") {
    fill(3);
    i.release(going);
    const inventory::allocation split = *i.place(total(24));
    i.vacate(split);
    const auto back = rules{i}.place_back(total(24), split);
    REQUIRE(back);
    CHECK(back->moved == 0);
  }
}

TEST_CASE("node_placement: pods that return may move the list of all pods") {
  // The cluster is full and the list is as long as the gang: the first pod that is released makes it grow.
  for (const std::uint32_t pods : {8U, 16U, 32U, 64U}) {
    CAPTURE(pods);
    inventory i{allot_test::equal_nodes(pods / 8, 8)};
    const pod_request gang{gpus(1), pods};
    const inventory::allocation going = *i.place(gang);
    i.vacate(going);
    const auto back = rules{i}.place_back(gang, going);
    REQUIRE(back);
    CHECK(back->moved == 0);
    CHECK(pods_of(i, back->at) == pods_of(i, going));
  }
}

TEST_CASE("node_placement: pods that wait for others to leave") {
  inventory i{allot_test::equal_nodes(4, 8)};
  const inventory::allocation going = *i.place({gpus(8), 2});
  i.vacate(going);
  SUBCASE("take a node where they can start, and its devices that are not held") {
    const auto waiting = rules{i}.place({gpus(4)}, true);
    REQUIRE(waiting);
    CHECK(i.ready(*waiting));
    CHECK(nodes_of(i, *waiting) == std::vector<std::size_t>{2});
  }
  SUBCASE("get vacated devices once nothing else is left") {
    const std::vector<pod_location> others{{node_id{2}}, {node_id{3}}};
    REQUIRE(i.place_at({gpus(8), 2}, others));
    const auto waiting = rules{i}.place({gpus(8), 2}, true);
    REQUIRE(waiting);
    CHECK_FALSE(i.ready(*waiting));
    i.release(going);
    CHECK(i.ready(*waiting));
  }
  SUBCASE("one on each of the named nodes, in this order") {
    const std::vector<std::size_t> nodes{3, 0, 1};
    const auto waiting = rules{i}.place_to_wait_on({gpus(6), 3}, nodes);
    REQUIRE(waiting);
    CHECK(nodes_of(i, *waiting) == nodes);
    CHECK_FALSE(i.ready(*waiting));
  }
  SUBCASE("as many nodes as pods, each with room, or nothing changes") {
    const std::vector<std::size_t> nodes{3, 3};
    const inventory before = i;
    CHECK_FALSE(rules{i}.place_to_wait_on({gpus(6), 3}, nodes));
    CHECK_FALSE(rules{i}.place_to_wait_on({gpus(6), 2}, nodes));
    CHECK(i == before);
    CHECK(rules{i}.place_to_wait_on({gpus(4), 2}, nodes));
  }
}

TEST_CASE("node_placement: devices that others may share, and whether moves could free enough") {
  inventory i{
      allot::gpu::build_cluster({{.name = "small", .gpus = 2}, {.name = "large", .gpus = 8}}).value()};
  const auto half = quantity::milli(500);
  CHECK(rules{i}.shared_devices({.gpus = gpus(2), .pods = 3}) == 0);
  CHECK(rules{i}.shared_devices({.gpus = half, .pods = 3}) == 3);
  CHECK(rules{i}.shared_devices({.gpus = half, .pods = 3, .devices = 2}) == 6);
  CHECK(rules{i}.shared_devices({.pods = 3, .gpu_memory_mib = 80'000}) == 3);
  CHECK(rules{i}.shared_devices({.pods = 2, .mig = allot::gpu::mig_request{0}}) == 2);
  CHECK(rules{i}.shared_devices({.pods = 2, .cpu_milli = 1000}) == 0);

  // The most GPUs for which it might do.
  const auto most = [&](std::uint64_t shared) {
    std::uint32_t pods = 0;
    while (rules{i}.might_fit_after_moves({.gpus = gpus(1), .pods = pods + 1}, shared)) ++pods;
    return pods;
  };
  CHECK(most(0) == 10);
  CHECK(rules{i}.might_fit_after_moves(total(10), 0));
  CHECK_FALSE(rules{i}.might_fit_after_moves(total(11), 0));
  CHECK(rules{i}.might_fit_after_moves({.gpus = half, .pods = 30}, 0));
  CHECK(rules{i}.might_fit_after_moves({.pods = 30, .cpu_milli = 1000}, 0));
  const auto whole = i.place({.gpus = gpus(4)});
  REQUIRE(whole);
  REQUIRE(i.place({.gpus = quantity::milli(300)}));
  REQUIRE(i.place({.gpus = quantity::milli(300)}));  // On the same device.
  CHECK(most(0) == 5);
  CHECK(most(1) == 6);
  i.vacate(*whole);
  CHECK(most(0) == 9);
  i.close(node_id{1});
  CHECK(most(0) == 1);
}

TEST_CASE("node_placement: without nodes all is one, and has room for whatever is placed") {
  using on_nothing = allot::detail::node_placement<allot::no_placement>;
  allot::no_placement places;
  CHECK_FALSE(on_nothing{places}.knows_nodes());
  CHECK(on_nothing{places}.place({}, true));
  CHECK_FALSE(on_nothing{places}.place_to_wait_on({}, {}));
  CHECK(on_nothing{places}.place_back({}, {})->moved == 0);
  std::vector<std::size_t> nodes;
  on_nothing{places}.for_each_node({}, [&](std::size_t n) { nodes.push_back(n); });
  CHECK(nodes == std::vector<std::size_t>{0});
  CHECK(on_nothing{places}.shared_devices({}) == 0);
  CHECK(on_nothing{places}.might_fit_after_moves({}, 0));
}

TEST_CASE("node_placement: allocates nothing") {
  inventory i{allot_test::equal_nodes(40, 8)};
  const std::vector<std::size_t> there{0, 1, 39};
  const std::vector<pod_request> kinds{{gpus(1), 3}, {quantity::milli(300), 3}, {gpus(3)}};
  const auto day = [&] {
    for (const pod_request& d : kinds) {
      const auto outer = i.save();
      const auto a = i.place(d);
      i.vacate(*a);
      static_cast<void>(rules{i}.place(d, false));
      static_cast<void>(rules{i}.place(d, true));
      static_cast<void>(rules{i}.place_to_wait_on(d, there));
      static_cast<void>(rules{i}.place_back(d, *a));
      i.rollback(outer);
    }
  };
  day();
  CHECK(allot_test::allocations_in(day) == 0);
}

TEST_CASE("node_placement: is the rule, looked up node by node, and finds a place when best fit does") {
  allot_test::for_each_seed(200, [](random_source& random) {
    std::vector<std::int64_t> sizes(random.below(5) + 1);
    for (std::int64_t& s : sizes) s = random.between(1, 8);
    inventory i = nodes(sizes);
    std::vector<inventory::allocation> all;
    for (int round = 0; round < 30; ++round) {
      const auto size =
          random.one_in(3) ? quantity::milli(random.between(1, 999)) : gpus(random.between(1, 4));
      const auto before = i.save();
      const bool fits = i.place({.gpus = size}).has_value();
      i.rollback(before);
      std::optional<std::tuple<bool, int, std::size_t>> expected;
      const auto& index = i.index();
      for (std::size_t n = 0; n < sizes.size() && size >= gpus(1); ++n) {
        const node_id node{n};
        const auto need = static_cast<int>(size.in_milli() / 1000);
        const int free = std::popcount(index.free_devices(node));
        if (free < need) continue;
        const int at_once = std::popcount(index.free_devices(node) & ~index.devices().held(node));
        const std::tuple here{at_once < need, free, n};
        if (!expected || here < *expected) expected = here;
      }
      const auto at = rules{i}.place({.gpus = size}, false);
      CHECK(at.has_value() == fits);
      if (expected) CHECK(nodes_of(i, at.value()) == std::vector<std::size_t>{std::get<2>(*expected)});
      if (at) all.push_back(*at);
      evict_or_release(random, i, all);
    }
  });
}

TEST_CASE("node_placement: is the rule on nodes with models and hosts, by trying every node") {
  allot_test::for_each_seed(300, [](random_source& random) {
    inventory i{allot_test::random_cluster(random)};
    std::vector<inventory::allocation> all;
    bool is_anyone_leaving = false;
    for (int round = 0; round < 40; ++round) {
      pod_request d = allot_test::random_demand(random);
      d.pods = 1;
      d.total = false;
      const bool is_fraction = d.gpu_memory_mib > 0 || (d.gpus > quantity{} && d.gpus < gpus(1));
      using score = std::tuple<bool, bool, int, std::size_t>;
      std::optional<score> expected;
      std::vector<bool> might_start;
      for (std::size_t n = 0; n < i.layout().size() && is_fraction; ++n) {
        might_start.push_back(could_start(i, d, node_id{n}));
      }
      for (std::size_t n = 0; n < i.layout().size(); ++n) {
        const node_id node{n};
        const allot::gpu::node_type& type = i.layout().type_of(node);
        if (i.is_closed(node) || !type.is_in(d.pools) || !type.is_of(d.models)) continue;
        const std::uint64_t free = i.index().free_devices(node);
        const pod_location there{node};
        const auto before = i.save();
        if (const auto a = i.place_at(d, {&there, 1})) {
          const bool is_new = is_fraction && (i.pods(*a).begin()->where.devices & free) != 0;
          const bool must_wait = is_fraction ? !might_start[n] : is_anyone_leaving && !i.ready(*a);
          const score here{is_new, must_wait, std::popcount(free), n};
          if (!expected || here < *expected) expected = here;
        }
        i.rollback(before);
      }
      const auto a = rules{i}.place(d, false);
      REQUIRE(a.has_value() == expected.has_value());
      if (a) {
        REQUIRE(i.pods(*a).begin()->where.node.index() == std::get<3>(*expected));
        all.push_back(*a);
      }
      if (random.one_in(10)) {
        const node_id n{random.below(i.layout().size())};
        i.is_closed(n) ? i.reopen(n) : i.close(n);
      }
      evict_or_release(random, i, all);
      is_anyone_leaving =
          std::any_of(all.begin(), all.end(), [&](inventory::allocation b) { return i.is_vacating(b); });
    }
  });
}

TEST_CASE("node_placement: a fraction that comes back to pods that wait gets a new share of the device") {
  const auto some = quantity::milli(250);
  inventory i = nodes({1});
  const auto leaving = i.place({.gpus = some}).value();
  const auto stays = i.place({.gpus = some}).value();
  i.vacate(leaving);
  SUBCASE("not if one of them stays") {
    REQUIRE(i.place({.gpus = some}));
    CHECK(rules{i}.place_back({.gpus = some}, leaving)->moved == 0);
  }
  SUBCASE("but if all came when the others were leaving") {
    i.vacate(stays);
    REQUIRE(i.place({.gpus = some}));
    CHECK(rules{i}.place_back({.gpus = some}, leaving)->moved == 1);
  }
  SUBCASE("not if that was undone") {
    auto before = i.save();
    i.vacate(stays);
    REQUIRE(i.place({.gpus = some}));
    i.rollback(std::move(before));
    CHECK(rules{i}.place_back({.gpus = some}, leaving)->moved == 0);
  }
}

TEST_CASE("node_placement: a node is a candidate while something of it is idle or leaving") {
  inventory i = nodes({1});
  CHECK(rules{i}.is_candidate(0));
  const auto whole = i.place({.gpus = gpus(1)}).value();
  CHECK_FALSE(rules{i}.is_candidate(0));
  i.vacate(whole);
  CHECK(rules{i}.is_candidate(0));
  REQUIRE(rules{i}.place({.gpus = quantity::milli(500)}, true));
  CHECK_FALSE(rules{i}.is_candidate(0));
  i.release(whole);
  CHECK(rules{i}.is_candidate(0));
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/detail/available_first.hpp>
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
#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::quantity;
using allot::gpu::inventory;
using allot_test::random_source;

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

/// Whether nothing is held on the host, and enough devices are unused and not held, or shared with room.
bool could_start(inventory& i, const allot::gpu::pod_request& d, allot::gpu::node_id n) {
  const auto pod = allot::gpu::split(d, 0);
  const auto here = pod ? i.layout().type_of(n).shape_on(pod->each) : std::nullopt;
  if (!here) return false;
  allot::gpu::pod_request host = d;
  host.gpus = {};
  host.gpu_memory_mib = 0;
  host.devices = 1;
  const allot::gpu::pod_location there{n};
  const auto before = i.save();
  const auto at = i.place_at(host, {&there, 1});
  const bool is_ready = at && i.ready(*at);
  i.rollback(before);
  std::uint32_t devices = 0;
  for (std::uint32_t k = 0; k < i.layout().gpus(n); ++k) {
    const std::uint64_t bit = std::uint64_t{1} << k;
    if ((i.index().free_devices(n) & bit) != 0) {
      devices += (i.index().held_devices(n) & bit) == 0 ? 1U : 0U;
    } else {
      const std::int64_t used = i.index().used(n, k).in_milli();
      devices += used + static_cast<std::int64_t>(here->milli) <= 1000 ? 1U : 0U;
    }
  }
  return is_ready && devices >= here->devices;
}

}  // namespace

TEST_CASE("available_first: best fit while nothing is being evicted") {
  inventory i = nodes({4, 2, 3});
  CHECK(nodes_of(i, i.place_available_first({.gpus = gpus(2)}).value()) == std::vector<std::size_t>{1});
  CHECK(nodes_of(i, i.place_available_first({.gpus = gpus(2), .pods = 2}).value()) ==
        std::vector<std::size_t>{2, 0});
  CHECK_FALSE(i.place_available_first({.gpus = gpus(3)}));
}

TEST_CASE("available_first: where it can start at once, though that fits worse") {
  inventory i = nodes({2, 8});
  const auto old = i.place({.gpus = gpus(2)}).value();
  REQUIRE(nodes_of(i, old) == std::vector<std::size_t>{0});
  i.vacate(old);
  const auto at_once = i.place_available_first({.gpus = gpus(2)}).value();
  CHECK(nodes_of(i, at_once) == std::vector<std::size_t>{1});
  CHECK(i.ready(at_once));
  // With nothing available at once it waits.
  const auto rest = i.place_available_first({.gpus = gpus(6)}).value();
  CHECK(i.ready(rest));
  const auto later = i.place_available_first({.gpus = gpus(2)}).value();
  CHECK(nodes_of(i, later) == std::vector<std::size_t>{0});
  CHECK_FALSE(i.ready(later));
}

TEST_CASE("available_first: a fraction where one is already") {
  inventory i = nodes({2, 2});
  const auto half = quantity::milli(500);
  const auto first = i.place_available_first({.gpus = half}).value();
  const auto whole = i.place_available_first({.gpus = gpus(1)}).value();
  const auto second = i.place_available_first({.gpus = half}).value();
  const auto third = i.place_available_first({.gpus = half}).value();
  CHECK(i.stand_alike(first, second));
  CHECK_FALSE(i.stand_alike(first, third));
  CHECK_FALSE(i.stand_alike(first, whole));
  CHECK(nodes_of(i, third) == std::vector<std::size_t>{1});
}

TEST_CASE("available_first: a pod that waits leaves to others what can start at once") {
  inventory i = nodes({4});
  const auto old = i.place({.gpus = gpus(2)}).value();
  i.vacate(old);
  const auto waits = i.place_waiting({.gpus = gpus(1)}).value();
  CHECK_FALSE(i.ready(waits));
  const auto at_once = i.place_available_first({.gpus = gpus(2)}).value();
  CHECK(i.ready(at_once));
  // On given nodes, one pod on each.
  const std::vector<std::size_t> there{0, 0};
  CHECK_FALSE(i.place_waiting_on({.gpus = gpus(1), .pods = 2}, there));
  i.release(at_once);
  CHECK(nodes_of(i, i.place_waiting_on({.gpus = gpus(1), .pods = 2}, there).value()) == there);
  CHECK_FALSE(i.place_waiting_on({.gpus = gpus(1)}, there));
}

TEST_CASE("available_first: pods come back where they have stood") {
  inventory i = nodes({2, 3});
  const std::vector<allot::gpu::pod_location> at{{allot::gpu::node_id{1}, 0}, {allot::gpu::node_id{0}, 0}};
  const auto old = i.place_at({.gpus = gpus(1), .pods = 2}, at).value();
  i.vacate(old);
  {
    // Node 0 is the fuller one, for both.
    const auto before = i.save();
    const auto back = i.place_back({.gpus = gpus(1), .pods = 2}, old).value();
    CHECK(back.moved == 1);
    CHECK(nodes_of(i, back.at) == std::vector<std::size_t>{0, 0});
    i.rollback(before);
  }
  CHECK(i.place({.gpus = gpus(1)}));
  const auto back = i.place_back({.gpus = gpus(1), .pods = 2}, old).value();
  CHECK(back.moved == 1);
  CHECK_FALSE(i.place_back({.gpus = gpus(3), .pods = 2}, old));
}

TEST_CASE("available_first: a fraction that comes back alone gets a new share of a device") {
  inventory i = nodes({1});
  const auto half = quantity::milli(500);
  const auto first = i.place({.gpus = half}).value();
  const auto second = i.place({.gpus = half}).value();
  i.vacate(second);
  CHECK(i.place_back({.gpus = half}, second)->moved == 0);
  i = nodes({1});
  const auto alone = i.place({.gpus = half}).value();
  i.vacate(alone);
  CHECK(i.place_back({.gpus = half}, alone)->moved == 1);
  CHECK(first != second);
}

TEST_CASE("stand_alike: whole GPUs by node alone") {
  inventory i = nodes({4, 1});
  const auto a = i.place_available_first({.gpus = gpus(2)}).value();
  const auto b = i.place_available_first({.gpus = gpus(2)}).value();
  const auto c = i.place_available_first({.gpus = gpus(1)}).value();
  CHECK(i.stand_alike(a, b));
  CHECK_FALSE(i.stand_alike(a, c));
}

TEST_CASE("available_first: is the rule, looked up node by node, and finds a place when best fit does") {
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
        const allot::gpu::node_id node{n};
        const auto need = static_cast<int>(size.in_milli() / 1000);
        const int free = std::popcount(index.free_devices(node));
        if (free < need) continue;
        const int at_once = std::popcount(index.free_devices(node) & ~index.held_devices(node));
        const std::tuple here{at_once < need, free, n};
        if (!expected || here < *expected) expected = here;
      }
      const auto at = i.place_available_first({.gpus = size});
      CHECK(at.has_value() == fits);
      if (expected) CHECK(nodes_of(i, at.value()) == std::vector<std::size_t>{std::get<2>(*expected)});
      if (at) all.push_back(*at);
      if (!all.empty() && random.one_in(3)) {
        const std::size_t k = random.below(all.size());
        if (i.is_vacating(all[k])) {
          i.release(all[k]);
          all.erase(all.begin() + static_cast<std::ptrdiff_t>(k));
        } else {
          i.vacate(all[k]);
        }
      }
    }
  });
}

TEST_CASE("available_first: is the rule on nodes with models and hosts, by trying every node") {
  allot_test::for_each_seed(300, [](random_source& random) {
    inventory i{allot_test::random_cluster(random)};
    std::vector<inventory::allocation> all;
    bool is_anyone_leaving = false;
    for (int round = 0; round < 40; ++round) {
      allot::gpu::pod_request d = allot_test::random_demand(random);
      d.pods = 1;
      d.total = false;
      const bool is_fraction = d.gpu_memory_mib > 0 || (d.gpus > quantity{} && d.gpus < gpus(1));
      using score = std::tuple<bool, bool, int, std::size_t>;
      std::optional<score> expected;
      std::vector<bool> might_start;
      for (std::size_t n = 0; n < i.layout().size() && is_fraction; ++n) {
        might_start.push_back(could_start(i, d, allot::gpu::node_id{n}));
      }
      for (std::size_t n = 0; n < i.layout().size(); ++n) {
        const allot::gpu::node_id node{n};
        const allot::gpu::node_type& type = i.layout().type_of(node);
        if (i.is_closed(node) || !type.is_in(d.pools) || !type.is_of(d.models)) continue;
        const std::uint64_t free = i.index().free_devices(node);
        const allot::gpu::pod_location there{node};
        const auto before = i.save();
        if (const auto a = i.place_at(d, {&there, 1})) {
          const bool is_new = is_fraction && (i.pods(*a).begin()->where.devices & free) != 0;
          const bool must_wait = is_fraction ? !might_start[n] : is_anyone_leaving && !i.ready(*a);
          const score here{is_new, must_wait, std::popcount(free), n};
          if (!expected || here < *expected) expected = here;
        }
        i.rollback(before);
      }
      const auto a = i.place_available_first(d);
      REQUIRE(a.has_value() == expected.has_value());
      if (a) {
        REQUIRE(i.pods(*a).begin()->where.node.index() == std::get<3>(*expected));
        all.push_back(*a);
      }
      if (random.one_in(10)) {
        const allot::gpu::node_id n{random.below(i.layout().size())};
        i.is_closed(n) ? i.reopen(n) : i.close(n);
      }
      if (!all.empty() && random.one_in(3)) {
        const std::size_t k = random.below(all.size());
        if (i.is_vacating(all[k])) {
          i.release(all[k]);
          all.erase(all.begin() + static_cast<std::ptrdiff_t>(k));
        } else {
          i.vacate(all[k]);
        }
      }
      is_anyone_leaving =
          std::any_of(all.begin(), all.end(), [&](inventory::allocation b) { return i.is_vacating(b); });
    }
  });
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/change_log.hpp>
#include <allot/gpu/free_index.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>
#include <tests/support/count_allocations.hpp>
#include <tests/support/seeds.hpp>
#include <tests/support/throwing_assert.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using gpu::change_log;
using gpu::node_id;

static_assert(std::is_nothrow_move_constructible_v<change_log>);
static_assert(std::is_nothrow_move_assignable_v<change_log>);

namespace {

std::vector<std::uint32_t> since(const change_log& log, std::uint64_t then) {
  const auto nodes = log.since(then);
  return {nodes.begin(), nodes.end()};
}

}  // namespace

TEST_CASE("change_log: tells what came since, in order and with repetitions") {
  change_log log{10};
  const std::uint64_t start = log.now();
  CHECK(log.remembers(start));
  CHECK(log.since(start).empty());
  for (const std::size_t n : {3U, 1U, 3U}) log.note(node_id{n});
  CHECK(since(log, start) == std::vector<std::uint32_t>{3, 1, 3});
  CHECK(since(log, start + 1) == std::vector<std::uint32_t>{1, 3});
  CHECK(log.since(log.now()).empty());
  CHECK_FALSE(log.remembers(start - 1));
  CHECK_FALSE(log.remembers(log.now() + 1));
  CHECK_FALSE(log.remembers(0));
  CHECK_THROWS_AS(static_cast<void>(log.since(0)), allot_test::assertion_failed);
  CHECK_THROWS_AS(static_cast<void>(log.since(log.now() + 1)), allot_test::assertion_failed);
}

TEST_CASE("change_log: knows as many changes as there are nodes, and never says what was not") {
  allot_test::for_each_seed(50, [](allot_test::random_source& random) {
    const std::size_t nodes = 1 + random.below(100);
    change_log log{nodes};
    std::vector<std::uint32_t> all;
    const std::uint64_t start = log.now();
    for (int i = 0; i < 600; ++i) {
      const std::size_t n = random.below(nodes);
      log.note(node_id{n});
      all.push_back(static_cast<std::uint32_t>(n));
      REQUIRE(log.now() == start + all.size());
      const std::size_t back = random.below(all.size() + 1);
      if (back <= nodes) REQUIRE(log.remembers(log.now() - back));
      if (!log.remembers(log.now() - back)) continue;
      REQUIRE(since(log, log.now() - back) ==
              std::vector<std::uint32_t>(all.end() - static_cast<std::ptrdiff_t>(back), all.end()));
    }
  });
}

TEST_CASE("change_log: a copy, and what is assigned to, remembers nothing that was") {
  change_log log{4};
  log.note(node_id{1});
  const std::uint64_t then = log.now();
  change_log copy = log;
  CHECK_FALSE(copy.remembers(then));
  CHECK(copy.remembers(copy.now()));
  CHECK(log.remembers(then));

  change_log other{4};
  for (int i = 0; i < 20; ++i) other.note(node_id{2});
  const std::uint64_t of_other = other.now();
  SUBCASE("copied") {
    other = log;
  }
  SUBCASE("moved") {
    other = std::move(log);
  }
  CHECK_FALSE(other.remembers(of_other));
  CHECK_FALSE(other.remembers(then));
  const std::uint64_t now = other.now();
  other.note(node_id{3});
  CHECK(since(other, now) == std::vector<std::uint32_t>{3});

  const change_log moved = std::move(other);
  CHECK_FALSE(moved.remembers(now));
  CHECK(moved == copy);
}

TEST_CASE("change_log: a change that is noted does not allocate, after a copy either") {
  change_log log{50};
  change_log copy = log;
  change_log assigned{1};
  assigned = log;
  for (change_log* l : {&log, &copy, &assigned}) {
    CHECK(allot_test::allocations_in([l] {
            for (std::size_t i = 0; i < 1000; ++i) l->note(node_id{i % 50});
          }) == 0);
  }
}

TEST_CASE("change_log: whoever follows that of a free_index knows every node") {
  allot_test::for_each_seed(50, [](allot_test::random_source& random) {
    gpu::free_index index{allot_test::random_cluster(random)};
    struct known {
      std::uint64_t free;
      std::int64_t used;
      bool closed;

      bool operator==(const known&) const = default;
    };
    const auto look = [&](node_id n) {
      return known{index.free_devices(n), index.used(n).in_milli(), index.is_closed(n)};
    };
    std::vector<known> kept;
    std::uint64_t then = 0;
    std::vector<gpu::placed_pod> standing;
    for (int i = 0; i < 200; ++i) {
      const node_id n{random.below(index.layout().size())};
      if (random.one_in(5)) {
        index.is_closed(n) ? index.open(n) : index.close(n);
      } else if (!standing.empty() && random.one_in(2)) {
        index.leave(standing.back());
        standing.pop_back();
      } else if (const auto devices = index.choose_devices(n, {1, 300})) {
        standing.push_back(index.placed({n, *devices}, {1, 300}));
        index.occupy(standing.back());
      }
      if (random.one_in(30)) index = gpu::free_index{index};
      if (!random.one_in(3)) continue;
      if (index.changes().remembers(then)) {
        for (const std::uint32_t changed : index.changes().since(then)) {
          kept[changed] = look(node_id{changed});
        }
      } else {
        kept.clear();
        for (std::size_t k = 0; k < index.layout().size(); ++k) kept.push_back(look(node_id{k}));
      }
      then = index.changes().now();
      for (std::size_t k = 0; k < kept.size(); ++k) REQUIRE(kept[k] == look(node_id{k}));
    }
  });
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/detail/allocation_table.hpp>

#include <doctest/doctest.h>
#include <tests/support/count_allocations.hpp>
#include <tests/support/throwing_assert.hpp>

#include <cstddef>
#include <iterator>
#include <vector>

using allot::gpu::allocation_id;
using allot::gpu::allocation_table;
using allot::gpu::node_id;
using allot::gpu::placed_pod;
using status = allocation_table::status;

namespace {

placed_pod on(std::size_t node) {
  return {{node_id{node}, 1}, 1000};
}

std::vector<std::size_t> nodes_of(const allocation_table& t, allocation_id a) {
  std::vector<std::size_t> nodes;
  for (const placed_pod& p : t.pods(a)) nodes.push_back(p.where.node.index());
  return nodes;
}

void close_with_pods(allocation_table& t, allocation_id a) {
  while (t.has_pods(a)) t.remove_last_pod(a);
  t.close(a);
}

}  // namespace

TEST_CASE("allocation_table: lists grow and shrink beside each other") {
  allocation_table t;
  const allocation_id a = t.open();
  const allocation_id b = t.open(status::vacating);
  for (std::size_t i = 0; i < 5; ++i) {
    t.add_pod(a, on(i));
    t.add_pod(b, on(10 + i));
  }
  CHECK(nodes_of(t, a) == std::vector<std::size_t>{0, 1, 2, 3, 4});
  CHECK(nodes_of(t, b) == std::vector<std::size_t>{10, 11, 12, 13, 14});
  CHECK(t.remove_last_pod(a) == on(4));
  t.add_pod(a, on(9));
  CHECK(nodes_of(t, a) == std::vector<std::size_t>{0, 1, 2, 3, 9});
  CHECK(t.status_of(a) == status::placed);
  CHECK(t.status_of(b) == status::vacating);
  CHECK(t.size() == 2);
  CHECK(std::distance(t.pods(a).begin(), t.pods(a).end()) == 5);
  CHECK(t.pods(a).begin()->where.node == node_id{0});
  close_with_pods(t, a);
  CHECK_FALSE(t.contains(a));
  CHECK(t.size() == 1);
  CHECK(nodes_of(t, b).size() == 5);
}

TEST_CASE("allocation_table: indexes are reused, the last released first, under new ids") {
  allocation_table t;
  const allocation_id a = t.open();
  const allocation_id b = t.open();
  const allocation_id c = t.open();
  t.close(a);
  t.close(c);
  const allocation_id next = t.open();
  CHECK(next == allocation_id{c.index(), 1});
  CHECK(t.open() == allocation_id{a.index(), 1});
  CHECK(t.open() == allocation_id{3});
  CHECK(t.contains(b));
  t.close(next);
  CHECK(t.open() == allocation_id{c.index(), 2});
  CHECK_FALSE(t.contains(next));
}

TEST_CASE("allocation_table: an invalid id has no pods") {
  allocation_table t;
  const allocation_id stale = t.open();
  t.close(stale);
  const allocation_id now = t.open();
  t.add_pod(now, on(1));
  CHECK(now.index() == stale.index());
  for (const allocation_id a : {stale, allocation_id{0, 2}, allocation_id{7}, allocation_id::none()}) {
    CHECK_FALSE(t.contains(a));
    CHECK(t.status_of(a) == status::unused);
    CHECK(t.pods(a).begin() == t.pods(a).end());
    CHECK_FALSE(t.has_pods(a));
  }
  for (const node_id n : {node_id{0}, node_id{2}, node_id::none()}) {
    t.for_each_on(n, [](allocation_id) { FAIL_CHECK("nobody stands there"); });
  }
  t.for_each_on(node_id{1}, [&](allocation_id a) { CHECK(a == now); });
  CHECK(allocation_table{}.pods(now).begin() == allocation_table{}.pods(now).end());
}

TEST_CASE("allocation_table: undone changes leave no trace in the ids to come") {
  allocation_table t;
  std::vector<allocation_id> open;
  for (int i = 0; i < 4; ++i) open.push_back(t.open());
  t.close(open[1]);
  const allocation_table before = t;

  const allocation_id again = t.open();
  CHECK(again == allocation_id{open[1].index(), 1});
  const allocation_id fresh = t.open();
  CHECK_FALSE(t == before);
  t.undo_open(fresh);
  CHECK_FALSE(t == before);
  t.undo_open(again);
  CHECK(t == before);
  CHECK(before == t);
  CHECK_FALSE(t.contains(again));

  t.close(open[3]);
  CHECK_FALSE(t == before);
  t.undo_close(open[3], status::placed);
  CHECK(t == before);
  CHECK(t.contains(open[3]));

  // An allocation that used the slot in between and was undone leaves no trace.
  t.close(open[3]);
  const allocation_id instead = t.open();
  t.undo_open(instead);
  t.undo_close(open[3], status::vacating);
  CHECK(t.status_of(open[3]) == status::vacating);
  t.set_status(open[3], status::placed);
  CHECK(t == before);
  CHECK(t.open() == again);
}

TEST_CASE("allocation_table: comparison covers the next id") {
  allocation_table t;
  t.close(t.open());
  CHECK_FALSE(t == allocation_table{});
  CHECK_FALSE(allocation_table{} == t);
  const allocation_table before = t;
  t.close(t.open());
  CHECK_FALSE(t == before);
  allocation_table fresh;
  fresh.undo_open(fresh.open());
  CHECK(fresh == allocation_table{});
  // Nor do two that share a slot have the same id.
  const allocation_id second = t.open();
  const allocation_id first = fresh.open();
  CHECK(second.index() == first.index());
  CHECK_FALSE(t == fresh);
}

TEST_CASE("allocation_table: comparison covers the order of future ids") {
  allocation_table t;
  for (int i = 0; i < 3; ++i) static_cast<void>(t.open());
  allocation_table other = t;
  t.close(allocation_id{0});
  t.close(allocation_id{2});
  other.close(allocation_id{2});
  other.close(allocation_id{0});
  CHECK_FALSE(t == other);
  CHECK(t.open() == allocation_id{2, 1});
  CHECK(other.open() == allocation_id{0, 1});
  CHECK_FALSE(t == other);
  CHECK(t.open() == allocation_id{0, 1});
  CHECK(other.open() == allocation_id{2, 1});
  CHECK(t == other);
  CHECK_FALSE(t == allocation_table{});
}

TEST_CASE("allocation_table: comparison covers pods, status and ids, not history") {
  allocation_table t;
  const allocation_id a = t.open();
  t.add_pod(a, on(1));
  allocation_table other = t;
  CHECK(other == t);
  other.add_pod(a, on(2));
  CHECK_FALSE(other == t);
  other.remove_last_pod(a);
  CHECK(other == t);
  other.set_status(a, status::vacating);
  CHECK_FALSE(other == t);
}

TEST_CASE("allocation_table: broken preconditions are detected") {
  allocation_table t;
  CHECK_THROWS_AS(t.close(allocation_id{0}), allot_test::assertion_failed);
  CHECK_THROWS_AS(t.undo_open(allocation_id{}), allot_test::assertion_failed);
  CHECK_THROWS_AS(t.add_pod(allocation_id{}, on(1)), allot_test::assertion_failed);
  const allocation_id a = t.open();
  CHECK_THROWS_AS(t.remove_last_pod(a), allot_test::assertion_failed);
  t.add_pod(a, on(1));
  CHECK_THROWS_AS(t.close(a), allot_test::assertion_failed);
  CHECK_THROWS_AS(t.undo_open(a), allot_test::assertion_failed);
  close_with_pods(t, a);
  CHECK_THROWS_AS(t.close(a), allot_test::assertion_failed);
  CHECK_THROWS_AS(t.undo_close(allocation_id{0, 1}, status::placed), allot_test::assertion_failed);
  t.undo_close(a, status::placed);
  CHECK_THROWS_AS(t.undo_close(a, status::placed), allot_test::assertion_failed);
}

TEST_CASE("allocation_table: does not allocate below its largest size so far") {
  allocation_table t;
  std::vector<allocation_id> open;
  open.reserve(100);
  const auto fill_and_empty = [&] {
    for (std::size_t i = 0; i < 100; ++i) {
      open.push_back(t.open());
      for (std::size_t pod = 0; pod <= i % 7; ++pod) t.add_pod(open.back(), on(pod));
    }
    for (const allocation_id a : open) close_with_pods(t, a);
    open.clear();
  };
  fill_and_empty();
  CHECK(allot_test::allocations_in(fill_and_empty) == 0);
}

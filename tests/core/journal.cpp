// SPDX-License-Identifier: BSL-1.0
#include <allot/core/journal.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/seeds.hpp"

using allot::journal;
using allot::savepoint;

namespace {

/// Eight numbers that can be set and rolled back: the smallest host of a journal.
struct cells {
  std::array<int, 8> values{};
  journal<std::pair<std::size_t, int>> log;

  void set(std::size_t i, int value) {
    if (log.recording()) log.record({i, values[i]});
    values[i] = value;
  }
  void rollback(savepoint s) {
    log.rollback(s, [this](const std::pair<std::size_t, int>& was) { values[was.first] = was.second; });
  }
};

}  // namespace

TEST_CASE("journal: random nesting of changes, rollbacks and commits against copies") {
  allot_test::for_each_seed(500, [](allot_test::random_source& random) {
    cells state;
    struct opened {
      savepoint point;
      std::array<int, 8> values;
    };
    std::vector<opened> open;
    for (int step = 0; step < 200; ++step) {
      switch (random.below(6)) {
        case 0:
          open.push_back({state.log.open(), state.values});
          break;
        case 1:
          if (open.empty()) break;
          state.rollback(open.back().point);
          REQUIRE(state.values == open.back().values);
          open.pop_back();
          break;
        case 2:
          if (open.empty()) break;
          state.log.commit(open.back().point);
          open.pop_back();
          break;
        default:
          state.set(random.below(8), static_cast<int>(random.between(-9, 9)));
      }
      REQUIRE(state.log.recording() == !open.empty());
    }
    while (!open.empty()) {
      state.rollback(open.back().point);
      REQUIRE(state.values == open.back().values);
      open.pop_back();
    }
  });
}

TEST_CASE("journal: undone newest first, and only what came after the savepoint") {
  journal<int> log;
  const savepoint outer = log.open();
  log.record(1);
  const savepoint inner = log.open();
  log.record(2);
  log.record(3);
  std::vector<int> undone;
  const auto note = [&undone](int entry) { undone.push_back(entry); };
  log.rollback(inner, note);
  CHECK(undone == std::vector<int>{3, 2});
  log.rollback(outer, note);
  CHECK(undone == std::vector<int>{3, 2, 1});
}

TEST_CASE("journal: what an inner savepoint committed, an outer one still undoes") {
  cells state;
  const savepoint outer = state.log.open();
  const savepoint inner = state.log.open();
  state.set(3, 7);
  state.log.commit(inner);
  CHECK(state.values[3] == 7);
  state.rollback(outer);
  CHECK(state.values[3] == 0);
}

TEST_CASE("journal: does not allocate below its largest length so far") {
  cells state;
  const auto round = [&state] {
    const savepoint s = state.log.open();
    for (int i = 0; i < 100; ++i) state.set(static_cast<std::size_t>(i) % 8, i);
    state.rollback(s);
    const savepoint kept = state.log.open();
    for (int i = 0; i < 100; ++i) state.set(static_cast<std::size_t>(i) % 8, i);
    state.log.commit(kept);
  };
  CHECK(allot_test::allocations_in(round) > 0);
  CHECK(allot_test::allocations_in(round) == 0);

  cells reserved;
  reserved.log.reserve(2);
  CHECK(allot_test::allocations_in([&reserved] {
          const savepoint s = reserved.log.open();
          reserved.set(0, 1);
          reserved.set(1, 1);
          reserved.rollback(s);
        }) == 0);
}

TEST_CASE("journal: a savepoint that is not the innermost open one is refused") {
  cells state;
  const savepoint outer = state.log.open();
  const savepoint inner = state.log.open();
  CHECK_THROWS_AS(state.rollback(outer), allot_test::assertion_failed);
  CHECK_THROWS_AS(state.log.commit(outer), allot_test::assertion_failed);
  state.log.commit(inner);
  CHECK_THROWS_AS(state.rollback(inner), allot_test::assertion_failed);
  state.rollback(outer);
  CHECK_THROWS_AS(state.log.commit(savepoint{}), allot_test::assertion_failed);
}

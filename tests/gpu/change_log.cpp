// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/detail/change_log.hpp>

#include <doctest/doctest.h>
#include <tests/support/count_allocations.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using allot::gpu::change_log;
using allot::gpu::node_id;

namespace {

std::vector<std::uint32_t> since(const change_log& log, const change_log::moment& then) {
  const auto nodes = log.since(then);
  return {nodes.begin(), nodes.end()};
}

}  // namespace

TEST_CASE("change_log: what changed since a moment, in order, with repetitions") {
  change_log log{4, 100};
  const auto start = log.now();
  CHECK(log.remembers(start));
  CHECK(since(log, start).empty());
  log.note(node_id{2}, 101);
  log.note(node_id{0}, 102);
  const auto then = log.now();
  log.note(node_id{2}, 103);
  CHECK(since(log, start) == std::vector<std::uint32_t>{2, 0, 2});
  CHECK(since(log, then) == std::vector<std::uint32_t>{2});
  CHECK(log.now().state == 103);
}

TEST_CASE("change_log: what was tried and undone right after a moment is left out") {
  change_log log{4, 100};
  const auto start = log.now();
  log.note(node_id{1}, 101);
  const auto tried = log.now();
  log.note(node_id{1}, 100);
  CHECK(since(log, start).empty());
  log.note(node_id{3}, 102);
  CHECK(since(log, start) == std::vector<std::uint32_t>{3});
  // Who has looked in between is told of both.
  CHECK(since(log, tried) == std::vector<std::uint32_t>{1, 3});
}

TEST_CASE("change_log: forgets the oldest changes, and says so") {
  change_log log{1, 0};
  const auto start = log.now();
  auto recent = start;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    log.note(node_id{0}, i);
    if (i == 990) recent = log.now();
  }
  CHECK_FALSE(log.remembers(start));
  REQUIRE(log.remembers(recent));
  CHECK(log.since(recent).size() == 10);
}

TEST_CASE("change_log: rejects positions of other logs, copies and former states") {
  change_log log{4, 7};
  change_log other{4, 8};
  CHECK_FALSE(log.remembers(other.now()));
  CHECK_FALSE(log.remembers({}));
  log.note(node_id{1}, 9);
  // As many changes there, but not the same state.
  other.note(node_id{1}, 10);
  CHECK_FALSE(other.remembers(log.now()));
  // More changes than there were here.
  log.note(node_id{1}, 11);
  log.note(node_id{1}, 10);
  CHECK_FALSE(other.remembers(log.now()));

  change_log copy{log};
  CHECK_FALSE(copy.remembers(log.now()));
  CHECK(copy.now().state == log.now().state);
  const auto before = log.now();
  log = other;
  CHECK_FALSE(log.remembers(before));
  CHECK_FALSE(log.remembers(other.now()));
  CHECK(log.now().state == 10);
  const auto then = copy.now();
  const change_log moved{std::move(copy)};
  CHECK_FALSE(moved.remembers(then));
  CHECK(moved.now().state == then.state);
}

TEST_CASE("change_log: does not allocate after construction") {
  change_log log{100, 0};
  const std::size_t count = allot_test::allocations_in([&] {
    for (std::uint64_t i = 0; i < 10'000; ++i) log.note(node_id{static_cast<std::size_t>(i % 100)}, i);
  });
  CHECK(count == 0);
}

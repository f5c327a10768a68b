// SPDX-License-Identifier: BSL-1.0
#include "lab/sweep/sweep_workers.hpp"

#include "lab/sweep/sweep.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

using allot::lab::read_shard;
using allot::lab::worker_pool;

namespace {

std::map<std::size_t, worker_pool::outcome> all_of(worker_pool& pool) {
  std::map<std::size_t, worker_pool::outcome> ended;
  while (pool.running() > 0) {
    pool.collect([&](const worker_pool::outcome& o) { ended[o.work] = o; });
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return ended;
}

}  // namespace

TEST_CASE("sweep_workers: a failing piece of work affects no other") {
  worker_pool pool{4};
  REQUIRE(pool.begin(7, [] { return 0; }));
  REQUIRE(pool.begin(8, [] {
    std::fputs("no room\nat all\n", stderr);
    return 3;
  }));
  REQUIRE(pool.begin(9, []() -> int {
    ::kill(::getpid(), SIGKILL);
    return 0;
  }));
  CHECK(pool.has_room());
  REQUIRE(pool.begin(10, []() -> int { throw std::runtime_error{"out of everything"}; }));
  CHECK_FALSE(pool.has_room());
  const auto ended = all_of(pool);
  REQUIRE(ended.size() == 4);
  CHECK(ended.at(7).status == 0);
  CHECK(ended.at(7).said.empty());
  CHECK(ended.at(8).status == 3);
  CHECK(ended.at(8).said == "no room\nat all");
  CHECK(ended.at(9).status == 128 + SIGKILL);
  CHECK(ended.at(10).status == 1);
  CHECK(ended.at(10).said == "out of everything");
  CHECK(pool.has_room());
}

TEST_CASE("sweep_workers: running workers can be asked to stop") {
  worker_pool pool{1};
  REQUIRE(pool.begin(0, [] {
    std::this_thread::sleep_for(std::chrono::seconds{100});
    return 0;
  }));
  pool.interrupt();
  CHECK(all_of(pool).at(0).status == 128 + SIGTERM);
  CHECK(allot::lab::usable_cores() >= 1);
}

TEST_CASE("sweep: every point is in one shard, and consecutive points are in different ones") {
  for (std::size_t count = 1; count <= 7; ++count) {
    std::map<std::size_t, std::size_t> sizes;
    for (std::size_t point = 0; point < 42 * count; ++point) {
      std::size_t owners = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const auto shard = read_shard(std::to_string(i) + '/' + std::to_string(count));
        REQUIRE(shard);
        owners += shard->has(point) ? 1U : 0U;
        sizes[i] += shard->has(point) ? 1U : 0U;
      }
      CHECK(owners == 1);
    }
    for (const auto& [shard, size] : sizes) CHECK(size == 42);
  }
  // A policy used at every third point is not always in the same one of three shards.
  CHECK(read_shard("0/3")->has(0));
  CHECK_FALSE(read_shard("0/3")->has(3));
  for (const char* text : {"", "/", "1", "3/3", "-1/3", "1/", "/2", "1/2/3", "a/b", "0/0", "1.0/2"}) {
    CAPTURE(text);
    CHECK_FALSE(read_shard(text));
  }
}

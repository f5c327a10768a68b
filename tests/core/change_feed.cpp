// SPDX-License-Identifier: BSL-1.0
#include <allot/core/change_feed.hpp>

#include <doctest/doctest.h>

#include <vector>

#include "tests/support/count_allocations.hpp"

TEST_CASE("change_feed: a follower gets each item once, in order") {
  allot::change_feed<int> news;
  std::vector<int> told;
  const auto take = [&] {
    told.clear();
    news.take([&](int i) { told.push_back(i); });
    return told;
  };
  news.note(1);
  CHECK(take().empty());
  news.follow();
  news.note(2);
  news.note(3);
  CHECK(take() == std::vector{2, 3});
  CHECK(take().empty());
  news.note(4);
  news.follow();
  CHECK(take().empty());
}

TEST_CASE("change_feed: a feed that is emptied each time does not allocate") {
  allot::change_feed<int> news;
  news.follow();
  int sum = 0;
  const auto turn = [&] {
    for (int i = 0; i < 100; ++i) news.note(i);
    news.take([&](int i) { sum += i; });
  };
  turn();
  CHECK(allot_test::allocations_in(turn) == 0);
  CHECK(sum == 2 * 4950);
}

// SPDX-License-Identifier: BSL-1.0
#include <allot/sim/detail/event_queue.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/seeds.hpp"

using namespace allot::sim;
using allot::instant;

namespace {

constexpr event_kind kinds[] = {event_kind::finish, event_kind::node_change, event_kind::quota_change,
                                event_kind::cancel, event_kind::arrival,     event_kind::cycle};

}  // namespace

TEST_CASE("event_queue: by time, then by kind, then in the order of pushing") {
  event_queue<int> q;
  q.push(5, event_kind::cycle, 1);
  q.push(5, event_kind::arrival, 2);
  q.push(5, event_kind::finish, 3);
  q.push(5, event_kind::arrival, 4);
  q.push(4, event_kind::cycle, 5);
  q.push(5, event_kind::quota_change, 6);
  q.push(-1, event_kind::cycle, 7);
  CHECK(q.size() == 7);
  CHECK(q.next_time() == -1);
  CHECK(q.next_kind() == event_kind::cycle);
  std::vector<int> order;
  while (!q.empty()) order.push_back(q.pop().payload);
  CHECK(order == std::vector<int>{7, 5, 3, 6, 2, 4, 1});
  CHECK_THROWS_AS((void)q.pop(), allot_test::assertion_failed);
  CHECK_THROWS_AS((void)q.next_time(), allot_test::assertion_failed);
}

TEST_CASE("event_queue: a ticket names one event, once") {
  event_queue<int> q;
  CHECK_FALSE(q.cancel({}));
  const auto first = q.push(1, event_kind::finish, 10);
  const auto second = q.push(2, event_kind::finish, 20);
  CHECK(q.cancel(first));
  CHECK_FALSE(q.cancel(first));
  CHECK(q.size() == 1);
  CHECK(q.next_time() == 2);
  // The slot of the cancelled event is reused; its ticket does not refer to the new one.
  const auto third = q.push(3, event_kind::finish, 30);
  CHECK_FALSE(third == first);
  CHECK_FALSE(q.cancel(first));
  CHECK(q.pop().payload == 20);
  CHECK_FALSE(q.cancel(second));
  CHECK(q.cancel(third));
  CHECK(q.empty());
}

TEST_CASE("event_queue: payloads may be movable only") {
  event_queue<std::unique_ptr<int>> q;
  q.push(1, event_kind::finish, std::make_unique<int>(7));
  CHECK(*q.pop().payload == 7);
}

TEST_CASE("event_queue: random pushes, pops and cancellations against a sorted list") {
  allot_test::for_each_seed(200, [](allot_test::random_source& random) {
    using key = std::tuple<instant, event_kind, int>;
    event_queue<int> q;
    std::vector<std::pair<key, event_queue<int>::ticket>> expected;
    std::vector<event_queue<int>::ticket> gone;
    // Some rounds mostly push, some mostly cancel, so that the heap fills up with cancelled events.
    for (int i = 0; i < 2'000; ++i) {
      const std::size_t action = random.below(i / 250 % 2 == 0 ? 5 : 12);
      if (action < 3) {
        const instant time = random.between(0, 20);
        const event_kind kind = random.pick(kinds);
        const auto ticket = q.push(time, kind, i);
        expected.insert(std::upper_bound(expected.begin(), expected.end(), key{time, kind, i},
                                         [](const key& k, const auto& e) { return k < e.first; }),
                        {key{time, kind, i}, ticket});
      } else if (action == 3 && !expected.empty()) {
        const auto [time, kind, payload] = expected.front().first;
        CHECK(q.next_time() == time);
        CHECK(q.next_kind() == kind);
        const auto event = q.pop();
        CHECK(event.time == time);
        CHECK(event.kind == kind);
        CHECK(event.payload == payload);
        gone.push_back(expected.front().second);
        expected.erase(expected.begin());
      } else if (action > 3 && !expected.empty()) {
        const auto at = expected.begin() + static_cast<std::ptrdiff_t>(random.below(expected.size()));
        CHECK(q.cancel(at->second));
        gone.push_back(at->second);
        expected.erase(at);
      }
      if (!gone.empty() && random.one_in(10)) CHECK_FALSE(q.cancel(random.pick(gone)));
      CHECK(q.size() == expected.size());
    }
  });
}

TEST_CASE("event_queue: does not allocate below its largest size so far") {
  allot_test::random_source random{1};
  event_queue<int> q;
  std::vector<event_queue<int>::ticket> tickets(500);
  const auto fill_and_drain = [&] {
    for (std::size_t round = 0; round < 20; ++round) {
      for (auto& ticket : tickets) ticket = q.push(random.between(0, 1'000'000), event_kind::finish, 1);
      for (std::size_t i = 0; i < tickets.size(); i += 3) q.cancel(tickets[i]);
      for (std::size_t i = 0; i < 100; ++i) q.pop();
      while (q.size() > 50) q.pop();
    }
  };
  fill_and_drain();
  CHECK(allot_test::allocations_in(fill_and_drain) == 0);
}

TEST_CASE("event_queue: cancelled events do not pile up") {
  event_queue<int> q;
  q.push(0, event_kind::finish, 0);
  const auto push_and_cancel = [&q] {
    for (int i = 0; i < 100'000; ++i) q.cancel(q.push(1'000 + i, event_kind::finish, i));
  };
  push_and_cancel();
  CHECK(allot_test::allocations_in(push_and_cancel) == 0);
  CHECK(q.size() == 1);
}

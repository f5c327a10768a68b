// SPDX-License-Identifier: BSL-1.0
#include <allot/core/algorithm.hpp>
#include <allot/core/vector.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/seeds.hpp"

namespace detail = allot::detail;

TEST_CASE("algorithm: sorts what std::sort sorts") {
  allot_test::for_each_seed(300, [](allot_test::random_source& random) {
    const std::size_t size = random.below(random.one_in(10) ? 3'000 : 60);
    const std::size_t kinds = 1 + random.below(random.one_in(3) ? 4 : 5'000);
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < size; ++i) numbers.push_back(random.below(kinds));
    if (random.one_in(4)) std::sort(numbers.begin(), numbers.end());
    if (random.one_in(4)) std::reverse(numbers.begin(), numbers.end());
    std::vector<std::size_t> expected = numbers;
    std::sort(expected.begin(), expected.end());
    std::vector<std::size_t> by_less = numbers;
    detail::sort(by_less.data(), by_less.data() + size);
    CHECK(by_less == expected);
    std::reverse(expected.begin(), expected.end());
    detail::sort(numbers.data(), numbers.data() + size, std::greater<>{});
    CHECK(numbers == expected);
  });
}

TEST_CASE("algorithm: elements that own something are sorted, too") {
  std::vector<std::string> names;
  for (int i = 0; i < 500; ++i) names.push_back(std::to_string(i * 7919 % 500) + std::string(30, 'x'));
  std::vector<std::string> expected = names;
  std::sort(expected.begin(), expected.end());
  detail::sort(names.data(), names.data() + names.size());
  CHECK(names == expected);
}

TEST_CASE("algorithm: no input makes sorting quadratic") {
  // McIlroy's adversary: it decides what an element is when it is compared, so that each pivot is among the
  // least.
  const std::size_t size = 20'000;
  const std::size_t gas = size;
  std::vector<std::size_t> values(size, gas);
  std::vector<std::size_t> order(size);
  for (std::size_t i = 0; i < size; ++i) order[i] = i;
  std::size_t solid = 0;
  std::size_t candidate = 0;
  std::size_t compared = 0;
  detail::sort(order.data(), order.data() + size, [&](std::size_t a, std::size_t b) {
    ++compared;
    if (values[a] == gas && values[b] == gas) values[a == candidate ? a : b] = solid++;
    if (values[a] == gas) {
      candidate = a;
    } else if (values[b] == gas) {
      candidate = b;
    }
    return values[a] < values[b];
  });
  const auto n = static_cast<double>(size);
  CHECK(static_cast<double>(compared) < 8 * n * std::log2(n));
}

TEST_CASE("algorithm: what holds for none, some and all") {
  const std::vector<int> v{1, 3, 4};
  const auto is_even = [](int x) { return x % 2 == 0; };
  const auto is_small = [](int x) { return x < 10; };
  CHECK(detail::find_if(v.begin(), v.end(), is_even) == v.begin() + 2);
  CHECK(detail::find(v.begin(), v.end(), 3) == v.begin() + 1);
  CHECK(detail::find(v.begin(), v.end(), 2) == v.end());
  CHECK(detail::any_of(v.begin(), v.end(), is_even));
  CHECK(!detail::all_of(v.begin(), v.end(), is_even));
  CHECK(detail::all_of(v.begin(), v.end(), is_small));
  CHECK(!detail::none_of(v.begin(), v.end(), is_small));
  CHECK(detail::none_of(v.begin(), v.begin(), is_small));
}

TEST_CASE("algorithm: a heap gives its elements in order, whatever is pushed between") {
  allot_test::for_each_seed(200, [](allot_test::random_source& random) {
    const auto comes_later = [](std::size_t a, std::size_t b) { return a > b; };
    allot::vector<std::size_t> heap;
    std::multiset<std::size_t> reference;
    for (std::size_t i = random.below(30); i > 0; --i) heap.push_back(random.below(20));
    reference.insert(heap.begin(), heap.end());
    detail::make_heap(heap.begin(), heap.end(), comes_later);
    for (int i = 0; i < 100; ++i) {
      if (random.one_in(2)) {
        heap.push_back(random.below(20));
        reference.insert(heap.back());
        detail::push_heap(heap.begin(), heap.end(), comes_later);
      } else if (!heap.empty()) {
        detail::pop_heap(heap.begin(), heap.end(), comes_later);
        CHECK(heap.back() == *reference.begin());
        reference.erase(reference.begin());
        heap.pop_back();
      }
    }
    CHECK(heap.size() == reference.size());
  });
}

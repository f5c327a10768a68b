// SPDX-License-Identifier: BSL-1.0
#include <allot/core/vector.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"

using allot::vector;

namespace {

/// Counts the objects that live, so a test sees one that is destroyed twice or never.
struct counted {
  static inline long alive = 0;
  std::string value;
  counted(std::string v = "") : value(std::move(v)) { ++alive; }
  counted(const counted& other) : value(other.value) { ++alive; }
  counted(counted&& other) noexcept : value(std::move(other.value)) { ++alive; }
  counted& operator=(const counted&) = default;
  counted& operator=(counted&&) noexcept = default;
  ~counted() { --alive; }
  friend bool operator==(const counted&, const counted&) = default;
  friend auto operator<=>(const counted&, const counted&) = default;
};

template <class T>
T make(std::size_t i) {
  if constexpr (std::is_same_v<T, counted>) {
    return counted{"a name that does not fit into a short string: " + std::to_string(i)};
  } else {
    return static_cast<T>(i);
  }
}

/// One random change to both.
template <class T>
void change(allot_test::random_source& random, vector<T>& fast, std::vector<T>& slow) {
  const T value = make<T>(random.below(100));
  const std::size_t at = random.below(slow.size() + 1);
  const std::size_t to = at + random.below(slow.size() - at + 1);
  switch (random.below(14)) {
    case 0:
    case 1:
      fast.push_back(value);
      slow.push_back(value);
      break;
    case 2:
      fast.insert(fast.begin() + at, value);
      slow.insert(slow.begin() + static_cast<std::ptrdiff_t>(at), value);
      break;
    case 3:
      fast.erase(fast.begin() + at, fast.begin() + to);
      slow.erase(slow.begin() + static_cast<std::ptrdiff_t>(at),
                 slow.begin() + static_cast<std::ptrdiff_t>(to));
      break;
    case 4:
      if (at == slow.size()) break;
      fast.erase(fast.begin() + at);
      slow.erase(slow.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 5:
      CHECK(erase_if(fast, [&](const T& x) { return x == value; }) == std::erase(slow, value));
      break;
    case 6:
      fast.resize(to);
      slow.resize(to);
      break;
    case 7:
      fast.resize(to + 3, value);
      slow.resize(to + 3, value);
      break;
    case 8:
      fast.assign(at, value);
      slow.assign(at, value);
      break;
    case 9:
      if (slow.empty()) break;
      // An element of its own.
      fast.push_back(fast.front());
      slow.push_back(slow.front());
      break;
    case 10:
      if (slow.empty()) break;
      fast.pop_back();
      slow.pop_back();
      break;
    case 11: {
      const std::vector<T> more(at, value);
      fast.append(more.begin(), more.end());
      slow.insert(slow.end(), more.begin(), more.end());
      break;
    }
    case 12: {
      vector<T> copy = fast;
      vector<T> moved = std::move(fast);
      CHECK(fast.empty());
      CHECK(copy == moved);
      fast = copy;
      fast = std::move(moved);
      CHECK(moved.empty());
      break;
    }
    default:
      fast.reserve(at);
      if (slow.size() > 200) {
        fast.clear();
        slow.clear();
      }
  }
}

template <class T>
void same_as_std() {
  allot_test::for_each_seed(20, [](allot_test::random_source& random) {
    vector<T> fast;
    std::vector<T> slow;
    for (int i = 0; i < 300; ++i) {
      change(random, fast, slow);
      REQUIRE(std::equal(fast.begin(), fast.end(), slow.begin(), slow.end()));
      REQUIRE(std::equal(fast.rbegin(), fast.rend(), slow.rbegin(), slow.rend()));
      REQUIRE(fast.capacity() >= fast.size());
      REQUIRE(fast.empty() == slow.empty());
      if (!slow.empty()) REQUIRE((fast.front() == slow.front() && fast.back() == slow.back()));
      REQUIRE(vector<T>(slow) == fast);
      REQUIRE(std::vector<T>(fast) == slow);
    }
  });
}

static_assert(std::contiguous_iterator<vector<int>::iterator>);
static_assert(std::is_nothrow_move_constructible_v<vector<counted>>);
static_assert(std::is_nothrow_move_assignable_v<vector<counted>>);

}  // namespace

TEST_CASE("vector: it does what std::vector does, with plain elements and with others") {
  same_as_std<int>();
  same_as_std<bool>();
  same_as_std<counted>();
  CHECK(counted::alive == 0);
}

TEST_CASE("vector: it compares as std::vector does") {
  allot_test::for_each_seed(200, [](allot_test::random_source& random) {
    std::vector<int> a;
    std::vector<int> b;
    for (std::size_t i = random.below(4); i > 0; --i) a.push_back(static_cast<int>(random.below(3)));
    for (std::size_t i = random.below(4); i > 0; --i) b.push_back(static_cast<int>(random.below(3)));
    CHECK((vector<int>(a) == vector<int>(b)) == (a == b));
    CHECK((vector<int>(a) <=> vector<int>(b)) == (a <=> b));
  });
}

TEST_CASE("vector: elements can't be copied, or are aligned more than usual") {
  vector<std::unique_ptr<int>> unique;
  for (int i = 0; i < 10; ++i) unique.push_back(std::make_unique<int>(i));
  unique.erase(unique.begin());
  CHECK(*unique.front() == 1);
  CHECK(*unique.back() == 9);

  struct alignas(64) wide {
    int value = 0;
  };
  vector<wide> aligned;
  for (int i = 0; i < 10; ++i) aligned.push_back({i});
  for (const wide& w : aligned) CHECK(reinterpret_cast<std::size_t>(&w) % 64 == 0);
}

TEST_CASE("vector: an element that throws when it is made leaves the vector as it was") {
  struct throwing {
    int value;
    explicit throwing(int v) : value(v) {
      if (v < 0) throw std::runtime_error("no");
    }
  };
  vector<throwing> v;
  for (const int i : {1, 2, 3, 4}) v.emplace_back(i);
  for (int i = 0; i < 5; ++i) {
    CHECK_THROWS(v.emplace_back(-1));
    v.emplace_back(5);
  }
  CHECK(v.size() == 9);
  CHECK(v.back().value == 5);
}

TEST_CASE("vector: an index out of range is refused") {
  vector<int> v{1, 2};
  const vector<int> none;
  CHECK(v[1] == 2);
  CHECK_THROWS(static_cast<void>(v[2]));
  CHECK_THROWS(static_cast<void>(none.front()));
  CHECK_THROWS(static_cast<void>(none.back()));
  v.clear();
  CHECK_THROWS(v.pop_back());
}

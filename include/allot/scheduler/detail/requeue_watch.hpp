// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/ledger.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// The quotas whose jobs have no chance, and what each waits for: a place for an equivalence class, or a root
/// that leaves less than they ask for.
template <std::size_t N, class ClassNumber>
class requeue_watch {
 public:
  /// Begins with a tree of so many quotas, none of which waits.
  void reset(std::size_t slots) {
    stamps_.assign(slots, 0);
    roots_.clear();
    roots_.resize(slots);
    busy_roots_.clear();
    classes_.clear();
    busy_classes_.clear();
  }
  /// The quota waits for nothing any more. O(1).
  void forget(quota_id x) { ++stamps_[x.index()]; }
  /// It waits until the root leaves less than `need`. O(log quotas), amortised.
  void wait_below(quota_id root, std::size_t d, quantity need, quota_id x) {
    auto& those = roots_[root.index()][d];
    if (!std::exchange(those.are_listed, true)) busy_roots_.push_back({root, d});
    if (drop_old(those)) detail::make_heap(those.list.data(), those.list.data() + those.list.size(), later);
    those.list.push_back({x, stamps_[x.index()], need});
    detail::push_heap(those.list.data(), those.list.data() + those.list.size(), later);
  }
  /// It waits for a place for jobs of that equivalence class, too. O(1), amortised.
  void wait_for_place(ClassNumber request_class, quota_id x) {
    place& p = place_of(request_class);
    if (!std::exchange(p.those.are_listed, true)) busy_classes_.push_back(request_class);
    drop_old(p.those);
    p.those.list.push_back({x, stamps_[x.index()], {}});
  }

  /// Whether there is a place for jobs of that equivalence class, which `ask()` is asked at most once between
  /// two calls of `look`.
  template <class Ask>
  [[nodiscard]] bool has_place(ClassNumber request_class, Ask ask) {
    place& p = place_of(request_class);
    if (std::exchange(p.asked_in, looks_) != looks_) p.is_there = ask();
    return p.is_there;
  }
  /// Calls `wake(quota)` for each that waits for what has come about by now: `room(root, d)` is what that
  /// leaves, `place_for(request_class)` whether there is a place.
  template <class Room, class PlaceFor, class Wake>
  void look(Room room, PlaceFor place_for, Wake wake) {
    ++looks_;
    erase_if(busy_roots_, [&](const root_and_dimension& r) {
      auto& those = roots_[r.root.index()][r.d];
      while (waits_below(those, room(r.root, r.d))) {
        wake(those.list.front().quota);
        pop(those);
      }
      those.are_listed = !those.list.empty();
      return !those.are_listed;
    });
    erase_if(busy_classes_, [&](ClassNumber request_class) {
      if (!has_place(request_class, [&] { return place_for(request_class); })) return false;
      auto& those = place_of(request_class).those;
      for (const waiter& w : those.list) {
        if (is_current(w)) wake(w.quota);
      }
      those.list.clear();
      those.are_listed = false;
      return true;
    });
  }
  /// Whether any waits for the root to leave no more than `room`.
  [[nodiscard]] bool any_waits_below(quota_id root, std::size_t d, quantity room) {
    return waits_below(roots_[root.index()][d], room);
  }

 private:
  struct waiter {
    quota_id quota;
    /// It waits no longer if its quota has another one by now.
    std::uint32_t stamp = 0;
    quantity need;
  };
  struct waiters {
    vector<waiter> list;
    /// How many there were when those that no longer wait were dropped.
    std::size_t current = 0;
    /// Whether it is known that there may be some.
    bool are_listed = false;
  };
  struct place {
    waiters those;
    /// As asked last.
    std::uint64_t asked_in = 0;
    bool is_there = false;
  };
  struct root_and_dimension {
    quota_id root;
    std::size_t d = 0;
  };

  [[nodiscard]] bool is_current(const waiter& w) const { return w.stamp == stamps_[w.quota.index()]; }
  /// Drops those that no longer wait if they may be as many as the others, and more than a few. Whether it
  /// did.
  bool drop_old(waiters& those) {
    constexpr std::size_t few = 16;
    if (those.list.size() <= 2 * those.current + few) return false;
    erase_if(those.list, [this](const waiter& w) { return !is_current(w); });
    those.current = those.list.size();
    return true;
  }
  /// Of those that wait below a root, a heap: who asks for most is in front.
  static bool later(const waiter& a, const waiter& b) { return a.need < b.need; }
  void pop(waiters& those) {
    detail::pop_heap(those.list.data(), those.list.data() + those.list.size(), later);
    those.list.pop_back();
  }
  /// Whether the one in front waits for that; those before it that no longer wait are dropped.
  [[nodiscard]] bool waits_below(waiters& those, quantity room) {
    while (!those.list.empty() && !is_current(those.list.front())) pop(those);
    return !those.list.empty() && those.list.front().need > room;
  }
  [[nodiscard]] place& place_of(ClassNumber request_class) {
    if (classes_.size() <= request_class.index()) classes_.resize(request_class.index() + 1);
    return classes_[request_class.index()];
  }

  std::uint64_t looks_ = 0;
  vector<std::uint32_t> stamps_;
  /// By root, and those of which some are waited for.
  vector<per_dimension<waiters, N>> roots_;
  vector<root_and_dimension> busy_roots_;
  /// By equivalence class, likewise.
  vector<place> classes_;
  vector<ClassNumber> busy_classes_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

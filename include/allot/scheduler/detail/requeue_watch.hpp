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

/// What would have to happen elsewhere for inadmissible jobs to have a chance again, or to be tried at
/// another time, by quota: a place for an equivalence class, or a root that leaves less than they ask for.
template <std::size_t N, class ClassNumber>
class requeue_watch {
 public:
  /// Begins with a tree of so many quotas, without waiting for anything.
  void reset(std::size_t slots) {
    stamps_.assign(slots, 0);
    bounds_.clear();
    bounds_.resize(slots);
    busy_bounds_.clear();
    classes_.clear();
    busy_classes_.clear();
  }
  /// The quota waits for nothing any more. O(1).
  void forget(quota_id x) { ++stamps_[x.index()]; }
  /// It waits until the root leaves less than `need`. O(log quotas).
  void wait_below(quota_id root, std::size_t d, quantity need, quota_id x) {
    bound& b = bounds_[root.index()][d];
    if (!std::exchange(b.is_busy, true)) busy_bounds_.push_back({root, d});
    if (b.waiting.size() > 2 * b.current + few) {
      erase_if(b.waiting, [this](const waiter& w) { return !is_current(w); });
      detail::make_heap(b.waiting.data(), b.waiting.data() + b.waiting.size(), later);
      b.current = b.waiting.size();
    }
    b.waiting.push_back({x, stamps_[x.index()], need});
    detail::push_heap(b.waiting.data(), b.waiting.data() + b.waiting.size(), later);
  }
  /// It waits for a place for jobs of that equivalence class, too. Amortised O(1).
  void wait_for_place(ClassNumber request_class, quota_id x) {
    if (classes_.size() <= request_class.index()) classes_.resize(request_class.index() + 1);
    places& p = classes_[request_class.index()];
    if (p.waiting.empty()) busy_classes_.push_back(request_class.index());
    p.request_class = request_class;
    if (p.waiting.size() > 2 * p.current + few) {
      erase_if(p.waiting, [this](const waiter& w) { return !is_current(w); });
      p.current = p.waiting.size();
    }
    p.waiting.push_back({x, stamps_[x.index()], {}});
  }

  /// Whether there is a place for jobs of that equivalence class, which `ask()` is asked at most once between
  /// two calls of `look`.
  template <class Ask>
  [[nodiscard]] bool has_place(ClassNumber request_class, Ask ask) {
    if (classes_.size() <= request_class.index()) classes_.resize(request_class.index() + 1);
    places& p = classes_[request_class.index()];
    if (std::exchange(p.asked_in, looks_) != looks_) p.has_place = ask();
    return p.has_place;
  }

  /// Calls `wake(quota)` for each that waits for what has come about by now: `room(root, d)` is what that
  /// leaves, `place_for(request_class)` whether there is a place.
  template <class Room, class PlaceFor, class Wake>
  void look(Room room, PlaceFor place_for, Wake wake) {
    ++looks_;
    for (std::size_t k = busy_bounds_.size(); k-- > 0;) {
      const auto [root, d] = busy_bounds_[k];
      bound& b = bounds_[root.index()][d];
      take(b, room(root, d), wake);
      if (!b.waiting.empty()) continue;
      b.is_busy = false;
      b.current = 0;
      busy_bounds_[k] = busy_bounds_.back();
      busy_bounds_.pop_back();
    }
    for (std::size_t k = busy_classes_.size(); k-- > 0;) {
      places& p = classes_[busy_classes_[k]];
      if (!has_place(p.request_class, [&] { return place_for(p.request_class); })) continue;
      for (const waiter& w : p.waiting) {
        if (is_current(w)) wake(w.quota);
      }
      p.waiting.clear();
      p.current = 0;
      busy_classes_[k] = busy_classes_.back();
      busy_classes_.pop_back();
    }
  }
  /// Whether any waits for the root to leave no more than `room`; these wait no longer.
  [[nodiscard]] bool any_below(quota_id root, std::size_t d, quantity room) {
    bool any = false;
    take(bounds_[root.index()][d], room, [&](quota_id) { any = true; });
    return any;
  }

 private:
  /// Up to so many that no longer wait are kept in a list.
  static constexpr std::size_t few = 16;

  struct waiter {
    quota_id quota;
    /// It waits no longer if its quota has another one by now.
    std::uint32_t stamp = 0;
    quantity need;
  };
  struct bound {
    /// A heap, with the greatest need in front.
    vector<waiter> waiting;
    /// How many there were when those that no longer wait were last dropped.
    std::size_t current = 0;
    bool is_busy = false;
  };
  struct places {
    ClassNumber request_class;
    vector<waiter> waiting;
    std::size_t current = 0;
    /// As asked last.
    std::uint64_t asked_in = 0;
    bool has_place = false;
  };
  struct root_and_dimension {
    quota_id root;
    std::size_t d = 0;
  };
  template <class Wake>
  void take(bound& b, quantity room, Wake wake) {
    while (!b.waiting.empty() && b.waiting.front().need > room) {
      detail::pop_heap(b.waiting.data(), b.waiting.data() + b.waiting.size(), later);
      const waiter w = b.waiting.back();
      b.waiting.pop_back();
      if (is_current(w)) wake(w.quota);
    }
  }
  static bool later(const waiter& a, const waiter& b) { return a.need < b.need; }
  [[nodiscard]] bool is_current(const waiter& w) const { return w.stamp == stamps_[w.quota.index()]; }

  std::uint64_t looks_ = 0;
  vector<std::uint32_t> stamps_;
  /// By root; and those of which some are waited for.
  vector<per_dimension<bound, N>> bounds_;
  vector<root_and_dimension> busy_bounds_;
  /// By equivalence class, likewise.
  vector<places> classes_;
  vector<std::size_t> busy_classes_;
};

/// All inadmissible jobs have a chance: see `queues::requeue`.
struct some_chances {
  template <class Watch, class Wake>
  void look(Watch&, Wake) const {}
  template <class Watch>
  [[nodiscard]] bool are_none(quota_id, Watch&) const {
    return false;
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

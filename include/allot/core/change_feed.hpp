// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

namespace allot {
inline namespace v0 {

/// An ordered log of the changes since the last `take`, for a single follower that keeps derived state up to
/// date. Records nothing before `follow`; from then on keeps every item until it is taken.
template <class Item>
class change_feed {
 public:
  /// Starts recording and discards what was recorded before.
  void follow() {
    follows_ = true;
    items_.clear();
  }
  /// Appends an item, if the feed is followed.
  void note(const Item& item) {
    if (follows_) items_.push_back(item);
  }
  /// Calls `visit(item)` for each item, then clears the feed. `visit` must not call `note`.
  template <class Visit>
  void take(Visit visit) {
    for (const Item& item : items_) visit(item);
    items_.clear();
  }

 private:
  vector<Item> items_;
  bool follows_ = false;
};

}  // namespace v0
}  // namespace allot

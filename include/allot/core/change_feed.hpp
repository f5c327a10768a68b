// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <vector>

namespace allot {
inline namespace v0 {

/// What has happened since it was taken up last, in order, for one follower who keeps something of its own up
/// to date. Nothing is kept before somebody follows; then all is kept until it is taken up.
template <class Item>
class change_feed {
 public:
  /// What was kept is forgotten.
  void follow() {
    follows_ = true;
    items_.clear();
  }
  void note(const Item& item) {
    if (follows_) items_.push_back(item);
  }
  /// Calls `visit(item)` for each, which must not note more.
  template <class Visit>
  void take(Visit visit) {
    for (const Item& item : items_) visit(item);
    items_.clear();
  }

 private:
  std::vector<Item> items_;
  bool follows_ = false;
};

}  // namespace v0
}  // namespace allot

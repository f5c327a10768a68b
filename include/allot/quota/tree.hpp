// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/spec.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {

/// The hierarchy of quotas and the specification of each: the part of a quota tree that usage does not
/// change. (It may hold several trees; nothing passes from one to another.) Built by `build_quota_tree` and
/// changed by `apply` in quota/change.hpp, which keep it valid.
///
/// An id indexes dense arrays of `slots()` elements. A removed quota leaves its slot empty (`contains` is
/// false), so the ids of the others do not change.
///
/// Every function takes any id. A quota that the tree does not contain (none, removed, of another tree) has a
/// default specification, no name, parent or children, and depth 0.
template <std::size_t N = 1>
class quota_tree {
 public:
  /// Precondition: names are unique, parents exist and there is no cycle. `removed[i]` empties slot i.
  explicit quota_tree(vector<quota_spec<N>> specs, vector<bool> removed = {})
      : specs_(std::move(specs)), removed_(std::move(removed)), parents_(specs_.size()) {
    removed_.resize(specs_.size());
    for (std::size_t i = 0; i < slots(); ++i) {
      if (removed_[i]) specs_[i] = {};
    }
    index_names();
    link();
  }

  /// The number of slots; ids are below it.
  [[nodiscard]] std::size_t slots() const noexcept { return specs_.size(); }
  /// Whether there is such a quota.
  [[nodiscard]] bool contains(quota_id x) const noexcept {
    return x.index() < slots() && !removed_[x.index()];
  }
  /// The specification of the quota.
  [[nodiscard]] const quota_spec<N>& spec(quota_id x) const {
    return has_slot(x) ? specs_[x.index()] : of_none();
  }
  /// The name of the quota.
  [[nodiscard]] std::string_view name(quota_id x) const { return spec(x).name; }
  /// None for a root.
  [[nodiscard]] quota_id parent(quota_id x) const noexcept {
    return has_slot(x) ? parents_[x.index()] : quota_id::none();
  }
  /// Oldest first.
  [[nodiscard]] std::span<const quota_id> children(quota_id x) const noexcept {
    if (!has_slot(x)) return {};
    const std::size_t first = first_child_[x.index()];
    return {children_.data() + first, first_child_[x.index() + 1] - first};
  }
  /// The quotas without a parent, oldest first.
  [[nodiscard]] std::span<const quota_id> roots() const noexcept { return roots_; }
  /// Every quota, each after its parent.
  [[nodiscard]] std::span<const quota_id> top_down() const noexcept { return top_down_; }
  /// The position of x in `top_down()`: a dense number, even if some slots are empty. Past the end if x is
  /// not in it.
  [[nodiscard]] std::size_t position(quota_id x) const noexcept {
    return has_slot(x) ? position_[x.index()] : top_down_.size();
  }
  /// A root has depth 0.
  [[nodiscard]] std::size_t depth(quota_id x) const noexcept { return has_slot(x) ? depth_[x.index()] : 0; }
  /// The specifications, by slot.
  [[nodiscard]] std::span<const quota_spec<N>> specs() const noexcept { return specs_; }
  /// Which slots are empty.
  [[nodiscard]] const vector<bool>& removed() const noexcept { return removed_; }

  /// Exchanges the specification of x with `other`, which may differ in all but the name and the parent. To
  /// be checked by the caller: the amounts. Preconditions: x exists; `other` has its name and parent. O(1).
  void exchange(quota_id x, quota_spec<N>& other) {
    ALLOT_ASSERT(contains(x) && other.name == spec(x).name && other.parent == spec(x).parent,
                 "a quota of the tree keeps its name and parent");
    std::swap(specs_[x.index()], other);
  }

  /// The same quotas under the same ids.
  friend bool operator==(const quota_tree& a, const quota_tree& b) {
    return a.removed_ == b.removed_ && a.specs_ == b.specs_;
  }

  /// The quota of that name, or none. O(log n).
  [[nodiscard]] quota_id find(std::string_view wanted) const {
    const auto at = detail::partition_point(by_name_.begin(), by_name_.end(),
                                            [&](quota_id x) { return name(x) < wanted; });
    return at != by_name_.end() && name(*at) == wanted ? *at : quota_id::none();
  }

  /// The lowest quota that has both in its subtree, none when they are in different trees. O(depth).
  [[nodiscard]] quota_id common_ancestor(quota_id x, quota_id y) const noexcept {
    if (!has_slot(x) || !has_slot(y)) return quota_id::none();
    const auto above = [this](quota_id below) { return parents_[below.index()]; };
    const auto deep = [this](quota_id at) { return depth_[at.index()]; };
    while (deep(x) > deep(y)) x = above(x);
    while (deep(y) > deep(x)) y = above(y);
    // Above the roots both are none.
    while (x != y) x = above(x), y = above(y);
    return contains(x) ? x : quota_id::none();
  }
  /// The child of `ancestor` whose subtree contains `x`: the side of the tree that `x` is on. None if
  /// `ancestor` is not strictly above `x`. With `quota_id::none()` as `ancestor` it is the root of x's tree.
  /// O(depth).
  [[nodiscard]] quota_id side_of(quota_id x, quota_id ancestor) const noexcept {
    if (!contains(x)) return quota_id::none();
    while (x && parent(x) != ancestor) x = parent(x);
    return x;
  }

 private:
  /// An empty slot holds what is reported for a nonexistent quota.
  [[nodiscard]] bool has_slot(quota_id x) const noexcept { return x.index() < parents_.size(); }
  [[nodiscard]] static const quota_spec<N>& of_none() {
    static const quota_spec<N> spec{};
    return spec;
  }

  void index_names() {
    by_name_.clear();
    for (std::size_t i = 0; i < slots(); ++i) {
      if (!removed_[i]) by_name_.emplace_back(i);
    }
    detail::sort(by_name_.begin(), by_name_.end(), [&](quota_id a, quota_id b) { return name(a) < name(b); });
  }

  void link() {
    first_child_.assign(slots() + 1, 0);
    for (const quota_id x : by_name_) {
      if (spec(x).parent.empty()) continue;
      parents_[x.index()] = find(spec(x).parent);
      ++first_child_[parents_[x.index()].index() + 1];
    }
    for (std::size_t i = 0; i < slots(); ++i) first_child_[i + 1] += first_child_[i];
    children_.resize(first_child_.back());
    vector<std::size_t> next(first_child_.begin(), first_child_.end() - 1);
    for (std::size_t i = 0; i < slots(); ++i) {
      if (removed_[i]) continue;
      if (const quota_id p = parents_[i]) {
        children_[next[p.index()]++] = quota_id{i};
      } else {
        roots_.emplace_back(i);
      }
    }
    depth_.assign(slots(), 0);
    position_.assign(slots(), by_name_.size());
    top_down_ = roots_;
    for (std::size_t k = 0; k < top_down_.size(); ++k) {
      const quota_id x = top_down_[k];
      position_[x.index()] = k;
      for (const quota_id c : children(x)) {
        depth_[c.index()] = depth_[x.index()] + 1;
        top_down_.push_back(c);
      }
    }
  }

  vector<quota_spec<N>> specs_;
  vector<bool> removed_;
  vector<quota_id> parents_;
  vector<quota_id> by_name_;
  vector<std::size_t> first_child_;
  vector<quota_id> children_;
  vector<quota_id> roots_;
  vector<quota_id> top_down_;
  vector<std::size_t> position_;
  vector<std::size_t> depth_;
};

}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/detail/fingerprint.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Nodes in groups, each with a time: the latest of a group, and the lowest of its nodes with at least a
/// given one. A search tree for each group, by node, whose shape depends only on what is in it (a treap: the
/// priorities are scattered ids); every entry knows the latest time at or below it. A change or a search
/// takes O(log nodes) steps on average. Nothing is allocated after `reset`.
class ends_by_group {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

 public:
  /// It is empty, and has room for so many groups and nodes.
  void reset(std::size_t groups, std::size_t nodes) {
    roots_.assign(groups, none);
    entries_.assign(nodes, {});
  }
  /// @{
  /// What it has room for.
  [[nodiscard]] std::size_t groups() const noexcept { return roots_.size(); }
  [[nodiscard]] std::size_t nodes() const noexcept { return entries_.size(); }
  /// @}

  /// The node is in that group, with that time, and in no other.
  void insert(node_id n, std::size_t group, instant end) {
    const std::uint32_t node = number_of(n);
    ALLOT_ASSERT(group < roots_.size(), "no room for such a group");
    entry& e = entries_[node];
    if (e.group == group && e.end == end) return;
    erase(n);
    e = {end, end, static_cast<std::uint32_t>(group), none, none};
    roots_[group] = with(roots_[group], node);
  }
  /// It is in no group. No effect if it was in none.
  void erase(node_id n) {
    const std::uint32_t node = number_of(n);
    const std::uint32_t group = entries_[node].group;
    if (group == none) return;
    roots_[group] = without(roots_[group], node);
    entries_[node].group = none;
  }

  /// Its time. Precondition: it is in a group.
  [[nodiscard]] instant end(node_id n) const { return entries_[n.index()].end; }
  /// The latest time of a group; nothing if it is empty. O(1).
  [[nodiscard]] std::optional<instant> latest(std::size_t group) const {
    if (roots_[group] == none) return std::nullopt;
    return entries_[roots_[group]].latest;
  }
  /// The lowest node of the group, of those not below `lowest`, whose time is at least this.
  [[nodiscard]] std::optional<node_id> first(std::size_t group, std::size_t lowest, instant at_least) const {
    const std::uint32_t found = first_in(roots_[group], lowest, at_least);
    if (found == none) return std::nullopt;
    return node_id{found};
  }

 private:
  struct entry {
    instant end = 0;
    /// Of this and of what is below it in the tree.
    instant latest = 0;
    /// None: it is in no group.
    std::uint32_t group = none;
    std::uint32_t less = none;
    std::uint32_t more = none;
  };

  [[nodiscard]] std::uint32_t number_of(node_id n) const {
    ALLOT_ASSERT(n.index() < entries_.size(), "no room for such a node");
    return static_cast<std::uint32_t>(n.index());
  }
  [[nodiscard]] static bool is_above(std::uint32_t a, std::uint32_t b) noexcept {
    return fingerprint::scatter(a) > fingerprint::scatter(b);
  }
  /// Its latest time, after something below it has changed.
  std::uint32_t summed(std::uint32_t node) {
    entry& e = entries_[node];
    e.latest = e.end;
    if (e.less != none) e.latest = std::max(e.latest, entries_[e.less].latest);
    if (e.more != none) e.latest = std::max(e.latest, entries_[e.more].latest);
    return node;
  }

  // Each takes trees by their roots and returns the root of what becomes of them.

  [[nodiscard]] std::uint32_t with(std::uint32_t tree, std::uint32_t node) {
    if (tree == none) return node;
    if (is_above(node, tree)) {
      divide(tree, node, entries_[node].less, entries_[node].more);
      return summed(node);
    }
    std::uint32_t& side = node < tree ? entries_[tree].less : entries_[tree].more;
    side = with(side, node);
    return summed(tree);
  }
  /// The nodes below `at`, and those above it.
  void divide(std::uint32_t tree, std::uint32_t at, std::uint32_t& below, std::uint32_t& above) {
    if (tree == none) {
      below = above = none;
      return;
    }
    entry& e = entries_[tree];
    std::uint32_t part = none;
    if (tree < at) {
      divide(e.more, at, e.more, part);
      above = part;
      below = summed(tree);
    } else {
      divide(e.less, at, part, e.less);
      below = part;
      above = summed(tree);
    }
  }
  [[nodiscard]] std::uint32_t without(std::uint32_t tree, std::uint32_t node) {
    if (tree == node) return joined(entries_[node].less, entries_[node].more);
    std::uint32_t& side = node < tree ? entries_[tree].less : entries_[tree].more;
    side = without(side, node);
    return summed(tree);
  }
  /// All nodes of the one are below those of the other.
  [[nodiscard]] std::uint32_t joined(std::uint32_t below, std::uint32_t above) {
    if (below == none || above == none) return below == none ? above : below;
    if (is_above(below, above)) {
      entries_[below].more = joined(entries_[below].more, above);
      return summed(below);
    }
    entries_[above].less = joined(below, entries_[above].less);
    return summed(above);
  }

  [[nodiscard]] std::uint32_t first_in(std::uint32_t tree, std::size_t lowest, instant at_least) const {
    while (tree != none && entries_[tree].latest >= at_least) {
      const entry& e = entries_[tree];
      if (tree >= lowest) {
        if (const std::uint32_t found = first_in(e.less, lowest, at_least); found != none) return found;
        if (e.end >= at_least) return tree;
      }
      tree = e.more;
    }
    return none;
  }

  /// By group.
  vector<std::uint32_t> roots_;
  /// By node.
  vector<entry> entries_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

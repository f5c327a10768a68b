// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/gpu/demand.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Which nodes have changed, for whoever keeps something of each node and wants to look only at those that
/// did. A reader remembers `now()` and asks later for what came `since`. The log forgets: a reader that was
/// away for more changes than there are nodes is told to look at everything, which is then no dearer.
///
/// A copy forgets everything, and so does what is assigned to: a reader that is copied along with its log, or
/// stays with the one that is assigned to, starts anew. What a reader learnt of one log means nothing to
/// another. Not part of a state: all logs are equal. No change that is noted allocates.
class change_log {
 public:
  explicit change_log(std::size_t nodes) : most_(std::max<std::size_t>(2 * nodes, 64)) {
    nodes_.reserve(most_);
  }
  change_log(const change_log& o) : change_log(o.most_, o.now() + 1) {}
  change_log& operator=(const change_log& o) {
    start_over(o);
    return *this;
  }
  /// What is moved from can only be assigned to or destroyed.
  change_log(change_log&& o) noexcept : most_(o.most_), first_(o.now() + 1), nodes_(std::move(o.nodes_)) {
    nodes_.clear();
  }
  change_log& operator=(change_log&& o) noexcept {
    first_ = std::max(now(), o.now()) + 1;
    most_ = o.most_;
    nodes_ = std::move(o.nodes_);
    nodes_.clear();
    return *this;
  }
  ~change_log() = default;

  /// A point between two changes; later ones are larger.
  [[nodiscard]] std::uint64_t now() const noexcept { return first_ + nodes_.size(); }
  /// Whether the log knows of all changes since then.
  [[nodiscard]] bool remembers(std::uint64_t then) const noexcept { return first_ <= then && then <= now(); }
  /// The nodes that changed since then, in the order of their changes, with repetitions. Valid until the next
  /// change. Precondition: it remembers.
  [[nodiscard]] std::span<const std::uint32_t> since(std::uint64_t then) const {
    ALLOT_ASSERT(remembers(then), "the log does not know of all changes since then");
    return std::span{nodes_}.subspan(static_cast<std::size_t>(then - first_));
  }

  /// O(1), taken over as many changes as there are nodes.
  void note(node_id n) {
    if (nodes_.size() == most_) {
      first_ += most_ / 2;
      nodes_.erase(nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(most_ / 2));
    }
    nodes_.push_back(static_cast<std::uint32_t>(n.index()));
  }

  friend bool operator==(const change_log&, const change_log&) noexcept { return true; }

 private:
  change_log(std::size_t most, std::uint64_t first) : most_(most), first_(first) { nodes_.reserve(most_); }

  void start_over(const change_log& o) {
    first_ = std::max(now(), o.now()) + 1;
    nodes_.clear();
    most_ = o.most_;
    nodes_.reserve(most_);
  }

  std::size_t most_;
  std::uint64_t first_ = 1;
  std::vector<std::uint32_t> nodes_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

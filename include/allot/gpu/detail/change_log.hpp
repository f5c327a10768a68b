// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// A log of changed nodes, for readers that keep data about each node and want to revisit only those that
/// changed. A reader remembers `now()` and asks later for the changes `since` then. The log forgets: a reader
/// that missed more changes than there are nodes may have to visit all of them, which is then no more
/// expensive.
///
/// Each change carries a number that identifies the state after it (`free_index::fingerprint`). So a reader
/// that meets another log, or one that replaced another, is not misled: a log remembers only its own states.
///
/// A copy forgets everything, and so does the target of an assignment. Not part of a state: all logs are
/// equal. Recording a change does not allocate.
class change_log {
 public:
  /// A point between two changes, and the state there.
  struct moment {
    std::uint64_t number = 0;
    std::uint64_t state = 0;

    friend constexpr bool operator==(const moment&, const moment&) noexcept = default;
  };

  change_log(std::size_t nodes, std::uint64_t state) : most_(std::max<std::size_t>(2 * nodes, 64)) {
    start_at(1, state);
  }
  change_log(const change_log& o) : most_(o.most_) { start_at(o.number() + 1, o.now().state); }
  change_log& operator=(const change_log& o) {
    const std::uint64_t next = std::max(number(), o.number()) + 1;
    const std::uint64_t state = o.now().state;
    most_ = o.most_;
    start_at(next, state);
    return *this;
  }
  /// A moved-from log can only be assigned to or destroyed.
  change_log(change_log&& o) noexcept : most_(o.most_), first_(o.number() + 1), before_(o.now().state) {
    take_buffers(o);
  }
  change_log& operator=(change_log&& o) noexcept {
    first_ = std::max(number(), o.number()) + 1;
    before_ = o.now().state;
    most_ = o.most_;
    take_buffers(o);
    return *this;
  }
  ~change_log() = default;

  /// Later moments have larger numbers.
  [[nodiscard]] moment now() const noexcept { return {number(), states_.empty() ? before_ : states_.back()}; }
  /// Whether this was a moment of this log, and all changes since then are known.
  [[nodiscard]] bool remembers(const moment& then) const noexcept {
    if (then.number < first_ || then.number > number()) return false;
    const auto changes = static_cast<std::size_t>(then.number - first_);
    return then.state == (changes == 0 ? before_ : states_[changes - 1]);
  }
  /// The nodes changed since the state was last as then, in order, with repetitions: what was tried and
  /// undone right after it is left out. Valid until the next change. O(changes since). Precondition: it is
  /// remembered.
  [[nodiscard]] std::span<const std::uint32_t> since(const moment& then) const {
    ALLOT_ASSERT(remembers(then), "the log does not know of all changes since then");
    const auto first = static_cast<std::size_t>(then.number - first_);
    std::size_t last = nodes_.size();
    while (last > first && states_[last - 1] != then.state) --last;
    return std::span{nodes_}.subspan(last);
  }

  /// `state` identifies the state after the change.
  void note(node_id n, std::uint64_t state) {
    if (nodes_.size() == most_) {
      const auto half = static_cast<std::ptrdiff_t>(most_ / 2);
      first_ += most_ / 2;
      before_ = states_[most_ / 2 - 1];
      nodes_.erase(nodes_.begin(), nodes_.begin() + half);
      states_.erase(states_.begin(), states_.begin() + half);
    }
    nodes_.push_back(static_cast<std::uint32_t>(n.index()));
    states_.push_back(state);
  }

  friend bool operator==(const change_log&, const change_log&) noexcept { return true; }

 private:
  [[nodiscard]] std::uint64_t number() const noexcept { return first_ + nodes_.size(); }

  void start_at(std::uint64_t first, std::uint64_t state) {
    first_ = first;
    before_ = state;
    nodes_.clear();
    nodes_.reserve(most_);
    states_.clear();
    states_.reserve(most_);
  }
  void take_buffers(change_log& o) noexcept {
    nodes_ = std::move(o.nodes_);
    nodes_.clear();
    states_ = std::move(o.states_);
    states_.clear();
  }

  std::size_t most_;
  /// The number of the moment before the oldest known change, and the state there.
  std::uint64_t first_ = 1;
  std::uint64_t before_ = 0;
  vector<std::uint32_t> nodes_;
  vector<std::uint64_t> states_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

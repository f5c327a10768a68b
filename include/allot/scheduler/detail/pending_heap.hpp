// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/job_rank.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace allot {
inline namespace v0 {

/// A pending job in its quota's queue. The ticket distinguishes it from other stays of the same id.
struct pending_entry {
  /// Its place in the queue: the least comes first.
  job_rank rank;
  /// The job.
  job_id id;
  /// Which of the job's stays in the queue this is; an entry of an earlier one is stale.
  std::uint32_t ticket = 0;
  /// How long it is expected to run; `without_end` if that is not known.
  instant estimate = without_end;

  /// Whether it comes before the other. Where a host gives two jobs the same rank, by id.
  [[nodiscard]] bool is_before(const pending_entry& other) const noexcept {
    const auto order = rank <=> other.rank;
    return order != 0 ? order < 0 : id < other.id;
  }
};

namespace detail {

/// A heap of pending jobs, the least rank in front, in which each entry also knows the least estimate at or
/// below it: so the first job that lasts no longer than a bound is found without visiting those that do.
class pending_heap {
 public:
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

  [[nodiscard]] bool empty() const noexcept { return nodes_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  [[nodiscard]] const pending_entry& operator[](std::size_t i) const { return nodes_[i].entry; }
  [[nodiscard]] const pending_entry& front() const { return nodes_.front().entry; }
  /// The least estimate of all. Precondition: not empty.
  [[nodiscard]] instant shortest() const { return nodes_.front().shortest; }

  /// O(log entries).
  void push(const pending_entry& e) {
    nodes_.push_back({e, e.estimate});
    rise(nodes_.size() - 1);
  }
  /// Removes an entry. O(log entries).
  void remove(std::size_t i) {
    const node last = nodes_.back();
    nodes_.pop_back();
    if (!nodes_.empty()) renew_above(nodes_.size());
    if (i == nodes_.size()) return;
    nodes_[i].entry = last.entry;
    if (i > 0 && last.entry.is_before(nodes_[parent(i)].entry)) return rise(i);
    sink(i);
  }
  /// The entry with the least rank of those with at most that estimate; `nowhere` if there is none. Passes
  /// over subtrees in which all last longer, or come later.
  [[nodiscard]] std::size_t first_within(instant most) const {
    std::size_t best = nowhere;
    search(0, most, best);
    return best;
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (const node& n : nodes_) visit(n.entry);
  }
  template <class Predicate>
  void remove_if(Predicate predicate) {
    erase_if(nodes_, [&](const node& n) { return predicate(n.entry); });
    for (std::size_t i = nodes_.size(); i-- > 0;) drop(i);
    for (std::size_t i = nodes_.size(); i-- > 0;) renew(i);
  }

 private:
  struct node {
    pending_entry entry;
    instant shortest;
  };

  [[nodiscard]] static std::size_t parent(std::size_t i) { return (i - 1) / 2; }
  [[nodiscard]] bool is_earlier(std::size_t a, std::size_t b) const {
    return nodes_[a].entry.is_before(nodes_[b].entry);
  }
  void renew(std::size_t i) {
    node& at = nodes_[i];
    at.shortest = at.entry.estimate;
    for (std::size_t c = 2 * i + 1; c < nodes_.size() && c <= 2 * i + 2; ++c) {
      at.shortest = std::min(at.shortest, nodes_[c].shortest);
    }
  }
  /// Updates the parents of node i, which may just have been removed.
  void renew_above(std::size_t i) {
    while (i > 0) renew(i = parent(i));
  }
  void rise(std::size_t i) {
    std::size_t at = i;
    for (; at > 0 && is_earlier(at, parent(at)); at = parent(at)) {
      std::swap(nodes_[at].entry, nodes_[parent(at)].entry);
    }
    renew(i);
    renew_above(i);
  }
  void sink(std::size_t i) {
    i = drop(i);
    renew(i);
    renew_above(i);
  }
  /// Moves an entry down to its place. Returns that.
  std::size_t drop(std::size_t i) {
    for (std::size_t c = 2 * i + 1; c < nodes_.size(); c = 2 * i + 1) {
      if (c + 1 < nodes_.size() && is_earlier(c + 1, c)) ++c;
      if (!is_earlier(c, i)) break;
      std::swap(nodes_[c].entry, nodes_[i].entry);
      i = c;
    }
    return i;
  }
  void search(std::size_t i, instant most, std::size_t& best) const {
    if (i >= nodes_.size() || nodes_[i].shortest > most) return;
    if (best != nowhere && !is_earlier(i, best)) return;
    if (nodes_[i].entry.estimate <= most) {
      best = i;
      return;
    }
    search(2 * i + 1, most, best);
    search(2 * i + 2, most, best);
  }
  vector<node> nodes_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>

namespace allot {
inline namespace v0 {
namespace gpu {

/// The placed pods: a list for each allocation. All lists share one array and reuse its entries, so nothing
/// is allocated once the number of pods has peaked.
///
/// Indexes are reused, the last one returned first, each time with the next generation (after 2^32 of them,
/// the first). Every change can be undone: `open` by `undo_open`, `close` by `undo_close`, `add_pod` by
/// `remove_last_pod`, and vice versa. After changes are undone, newest first, the same ids are issued in the
/// same order as if they had never been made.
///
/// Queries take any id: one that denotes no allocation is `unused` and has no pods. Changes are unchecked:
/// the id must denote an allocation (`ALLOT_ASSERT`).
class allocation_table {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  struct pod_record {
    placed_pod pod;
    std::uint32_t next = none;
    std::uint32_t previous = none;
  };

 public:
  enum class status : std::uint8_t { unused, placed, vacating };

  /// The pods of one allocation, in placement order. Valid until that allocation changes, or the table is
  /// moved or destroyed.
  class pod_range {
   public:
    class iterator {
     public:
      using iterator_category = std::forward_iterator_tag;
      using value_type = placed_pod;
      using difference_type = std::ptrdiff_t;
      using pointer = const placed_pod*;
      using reference = const placed_pod&;

      iterator() = default;
      [[nodiscard]] reference operator*() const noexcept { return (*records_)[at_].pod; }
      [[nodiscard]] pointer operator->() const noexcept { return &(*records_)[at_].pod; }
      iterator& operator++() noexcept {
        at_ = (*records_)[at_].next;
        return *this;
      }
      iterator operator++(int) noexcept {
        const iterator before = *this;
        ++*this;
        return before;
      }
      friend bool operator==(const iterator& a, const iterator& b) noexcept { return a.at_ == b.at_; }

     private:
      friend class pod_range;
      iterator(const vector<pod_record>* records, std::uint32_t at) noexcept : records_(records), at_(at) {}

      const vector<pod_record>* records_ = nullptr;
      std::uint32_t at_ = none;
    };

    [[nodiscard]] iterator begin() const noexcept { return {records_, first_}; }
    [[nodiscard]] iterator end() const noexcept { return {records_, none}; }

    friend bool operator==(const pod_range& a, const pod_range& b) noexcept {
      return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

   private:
    friend class allocation_table;
    pod_range(const vector<pod_record>& records, std::uint32_t first) noexcept
        : records_(&records), first_(first) {}

    // The list itself, not its elements: pods may be added elsewhere while these are looked at.
    const vector<pod_record>* records_;
    std::uint32_t first_;
  };

  [[nodiscard]] bool contains(allocation_id a) const noexcept { return status_of(a) != status::unused; }
  [[nodiscard]] status status_of(allocation_id a) const noexcept {
    if (a.index() >= slots_.size() || slots_[a.index()].generation != a.generation()) return status::unused;
    return slots_[a.index()].is;
  }
  /// Precondition: neither the old nor the new status is `unused`.
  void set_status(allocation_id a, status s) { slot_of(a).is = s; }
  [[nodiscard]] pod_range pods(allocation_id a) const noexcept {
    return {records_, contains(a) ? slots_[a.index()].first : none};
  }
  /// Calls `visit(allocation_id)` for each allocation, by id.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].is != status::unused) visit(allocation_id{i, slots_[i].generation});
    }
  }
  /// Calls `visit(allocation_id)` for each allocation with pods on the node, by id. O(all pods).
  template <class Visit>
  void for_each_on(node_id n, Visit visit) const {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].is == status::unused) continue;
      const allocation_id a{i, slots_[i].generation};
      const pod_range there = pods(a);
      if (allot::detail::any_of(there.begin(), there.end(),
                                [n](const placed_pod& p) { return p.where.node == n; })) {
        visit(a);
      }
    }
  }
  /// The number of allocations.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// A new allocation, without pods yet.
  [[nodiscard]] allocation_id open(status s = status::placed) {
    std::uint32_t at = free_slot_;
    if (at == none) {
      at = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      free_slot_ = slots_[at].first;
    }
    slots_[at] = {none, none, slots_[at].generation, s};
    ++size_;
    return allocation_id{at, slots_[at].generation};
  }
  /// The id becomes invalid. Precondition: it has no pods.
  void close(allocation_id a) {
    undo_open(a);
    ++slots_[a.index()].generation;
  }
  /// Undoes `open`. Precondition: it has no pods, and everything since it was opened has been undone.
  void undo_open(allocation_id a) {
    slot& s = slot_of(a);
    ALLOT_ASSERT(s.first == none, "an allocation that has pods can't be closed");
    s = {free_slot_, none, s.generation, status::unused};
    free_slot_ = static_cast<std::uint32_t>(a.index());
    --size_;
  }
  /// Undoes `close`, with that status. Precondition: everything since it was closed has been undone.
  void undo_close(allocation_id a, status s) {
    ALLOT_ASSERT(a.index() == free_slot_ && slots_[free_slot_].generation == a.generation() + 1,
                 "changes must be undone newest first");
    slot& to = slots_[a.index()];
    free_slot_ = to.first;
    to = {none, none, a.generation(), s};
    ++size_;
  }
  void add_pod(allocation_id a, const placed_pod& pod) {
    slot& s = slot_of(a);
    std::uint32_t at = free_record_;
    if (at == none) {
      at = static_cast<std::uint32_t>(records_.size());
      records_.emplace_back();
    } else {
      free_record_ = records_[at].next;
    }
    records_[at] = {pod, none, s.last};
    (s.last == none ? s.first : records_[s.last].next) = at;
    s.last = at;
  }
  /// Its pods are expected to end then.
  void set_end(allocation_id a, instant end) {
    for (std::uint32_t at = slot_of(a).first; at != none; at = records_[at].next) records_[at].pod.end = end;
  }
  [[nodiscard]] bool has_pods(allocation_id a) const noexcept {
    return contains(a) && slots_[a.index()].last != none;
  }
  /// Precondition: it has a pod.
  placed_pod remove_last_pod(allocation_id a) {
    slot& s = slot_of(a);
    ALLOT_ASSERT(s.last != none, "the allocation has no pods");
    const std::uint32_t at = s.last;
    s.last = records_[at].previous;
    (s.last == none ? s.first : records_[s.last].next) = none;
    records_[at].next = free_record_;
    free_record_ = at;
    return records_[at].pod;
  }

  /// Whether both have the same contents under the same ids, and will issue the same ids from now on.
  friend bool operator==(const allocation_table& a, const allocation_table& b) {
    const std::size_t slots = std::max(a.slots_.size(), b.slots_.size());
    for (std::size_t i = 0; i < slots; ++i) {
      const allocation_id x{i, a.generation_of(i)};
      const allocation_id y{i, b.generation_of(i)};
      if (x != y || a.status_of(x) != b.status_of(y) || !(a.pods(x) == b.pods(y))) return false;
    }
    std::uint32_t next_a = a.next_index(none);
    std::uint32_t next_b = b.next_index(none);
    // Once both issue new indexes, they continue alike.
    while (next_a == next_b && (next_a < a.slots_.size() || next_b < b.slots_.size())) {
      next_a = a.next_index(next_a);
      next_b = b.next_index(next_b);
    }
    return next_a == next_b;
  }

 private:
  struct slot {
    /// The first pod; for an unused slot, the next unused one.
    std::uint32_t first = none;
    std::uint32_t last = none;
    /// Of the allocation, or of the next one.
    std::uint32_t generation = 0;
    status is = status::unused;
  };

  [[nodiscard]] slot& slot_of(allocation_id a) {
    ALLOT_ASSERT(contains(a), "not an allocation, or already released");
    return slots_[a.index()];
  }
  [[nodiscard]] std::uint32_t generation_of(std::size_t index) const noexcept {
    return index < slots_.size() ? slots_[index].generation : 0;
  }
  /// The unused index issued after `index`; with `none`, the one issued first.
  [[nodiscard]] std::uint32_t next_index(std::uint32_t index) const noexcept {
    if (index >= slots_.size() && index != none) return index + 1;
    const std::uint32_t next = index == none ? free_slot_ : slots_[index].first;
    return next == none ? static_cast<std::uint32_t>(slots_.size()) : next;
  }

  vector<slot> slots_;
  vector<pod_record> records_;
  std::uint32_t free_slot_ = none;
  std::uint32_t free_record_ = none;
  std::size_t size_ = 0;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

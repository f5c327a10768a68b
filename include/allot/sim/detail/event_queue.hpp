// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot {
inline namespace v0 {
namespace sim {

/// The kinds of events, in their order at one instant: what was used is freed, then the world changes, then
/// jobs come and go, and the cycle sees all of it.
enum class event_kind : std::uint8_t {
  /// A job ends, by itself or at its time limit.
  finish,
  /// A job or a pod that was evicted has gone, or could not be.
  departure,
  /// A job that was starting runs.
  start,
  /// Or it could not be started.
  failed_start,
  /// It becomes known that a node will fail or come back, or a quota will be resized.
  announcement,
  /// A node fails, drains or comes back.
  node_change,
  /// An administrator changes the quota tree.
  quota_change,
  /// A job is withdrawn. Before arrivals, so that a job can be withdrawn and resubmitted at one instant.
  cancel,
  arrival,
  /// The scheduler runs.
  cycle,
};

/// The events to come: a priority queue of (time, kind, order of insertion), a strict total order. An event
/// can be cancelled, as the end of a job is when the job is evicted; cancelled events stay in the heap until
/// they come up or make up half of it. Nothing allocates once it has reached its maximum size.
template <class Payload>
class event_queue {
 public:
  struct event {
    instant time = 0;
    event_kind kind{};
    Payload payload{};
  };

  /// Identifies one pushed event and no other; after the event has happened it identifies nothing.
  class ticket {
   public:
    constexpr ticket() noexcept = default;
    friend constexpr bool operator==(ticket, ticket) noexcept = default;

   private:
    friend class event_queue;
    constexpr ticket(std::uint32_t slot, std::uint32_t generation) noexcept
        : slot_(slot), generation_(generation) {}

    std::uint32_t slot_ = static_cast<std::uint32_t>(-1);
    std::uint32_t generation_ = 0;
  };

  /// The number of events still to come.
  [[nodiscard]] std::size_t size() const noexcept { return heap_.size() - cancelled_; }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  /// O(log n).
  ticket push(instant time, event_kind kind, Payload payload) {
    const std::uint32_t s = take_slot(std::move(payload));
    const std::uint64_t order = std::uint64_t{static_cast<std::uint8_t>(kind)} << 56U | pushed_++;
    heap_.push_back({time, order, s, slots_[s].generation});
    allot::detail::push_heap(heap_.begin(), heap_.end(), after);
    return {s, slots_[s].generation};
  }

  /// When the next event happens. Precondition: not empty. O(1).
  [[nodiscard]] instant next_time() const {
    ALLOT_ASSERT(!empty(), "the queue is empty");
    return heap_.front().time;
  }
  /// What kind of event is next. Precondition: not empty. O(1).
  [[nodiscard]] event_kind next_kind() const {
    ALLOT_ASSERT(!empty(), "the queue is empty");
    return kind_of(heap_.front());
  }

  /// Removes the next event. Precondition: not empty. O(log n) amortised.
  event pop() {
    ALLOT_ASSERT(!empty(), "the queue is empty");
    const entry first = heap_.front();
    event e{first.time, kind_of(first), std::move(slots_[first.slot].payload)};
    release_slot(first.slot);
    drop_first();
    drop_cancelled();
    return e;
  }

  /// Cancels an event; false if it has happened or was already cancelled. O(1) amortised, and O(log n) if it
  /// was the next.
  bool cancel(ticket t) {
    if (t.slot_ >= slots_.size() || slots_[t.slot_].generation != t.generation_) return false;
    release_slot(t.slot_);
    ++cancelled_;
    if (cancelled_ > 64 && 2 * cancelled_ > heap_.size()) {
      heap_.erase(std::remove_if(heap_.begin(), heap_.end(), [this](const entry& e) { return !is_live(e); }),
                  heap_.end());
      allot::detail::make_heap(heap_.begin(), heap_.end(), after);
      cancelled_ = 0;
    } else {
      drop_cancelled();
    }
    return true;
  }

 private:
  struct entry {
    instant time;
    std::uint64_t order;  // the kind in the top byte, then the order of insertion
    std::uint32_t slot;
    std::uint32_t generation;
  };
  struct slot {
    Payload payload;
    // Even while the slot is free, odd while it is in use.
    std::uint32_t generation = 0;
  };

  [[nodiscard]] static event_kind kind_of(const entry& e) noexcept {
    return static_cast<event_kind>(e.order >> 56U);
  }
  [[nodiscard]] static bool after(const entry& a, const entry& b) noexcept {
    return a.time != b.time ? a.time > b.time : a.order > b.order;
  }
  [[nodiscard]] bool is_live(const entry& e) const noexcept {
    return slots_[e.slot].generation == e.generation;
  }

  std::uint32_t take_slot(Payload&& payload) {
    std::uint32_t s = 0;
    if (free_.empty()) {
      s = static_cast<std::uint32_t>(slots_.size());
      slots_.push_back({std::move(payload)});
      // Every slot can be free at once, and then releasing it must not allocate.
      if (free_.capacity() < slots_.capacity()) free_.reserve(slots_.capacity());
    } else {
      s = free_.back();
      free_.pop_back();
      slots_[s].payload = std::move(payload);
    }
    ++slots_[s].generation;
    return s;
  }
  void release_slot(std::uint32_t s) {
    ++slots_[s].generation;
    free_.push_back(s);
  }
  void drop_first() {
    allot::detail::pop_heap(heap_.begin(), heap_.end(), after);
    heap_.pop_back();
  }
  /// Ensures that the first entry of the heap is not cancelled.
  void drop_cancelled() {
    while (!heap_.empty() && !is_live(heap_.front())) {
      drop_first();
      --cancelled_;
    }
  }

  vector<entry> heap_;
  vector<slot> slots_;
  vector<std::uint32_t> free_;
  std::uint64_t pushed_ = 0;
  std::size_t cancelled_ = 0;
};

}  // namespace sim
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/reservation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace allot {
inline namespace v0 {
namespace detail {

/// The pending jobs that hold a reservation with a time, in the order in which they got it, which is their
/// turn from then on.
class reservations {
 public:
  struct entry {
    job_id job;
    reservation what;
    /// Capacity that its start does not count on may have become free, but only before this time.
    instant freed_until = without_end;
    /// Counts the reservations: the less, the earlier its turn.
    std::uint64_t number = 0;
    /// Whether its job was admitted, and the admission taken back, since it was renewed last.
    bool is_back = false;

    /// All times move by that span.
    void rebase(instant by) {
      what.start = moved(what.start, by);
      what.first_start = moved(what.first_start, by);
      if (what.gathers_since) what.gathers_since = moved(*what.gathers_since, by);
      freed_until = moved(freed_until, by);
    }
  };

  [[nodiscard]] std::span<const entry> all() const noexcept { return entries_; }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] const entry* find(job_id id) const {
    const auto at = place_of(id);
    return at == entries_.end() ? nullptr : &*at;
  }
  /// The positions in `all` of those with a known start, the earliest first.
  [[nodiscard]] std::span<const std::size_t> by_start() const noexcept { return by_start_; }

  [[nodiscard]] bool any_gathers() const noexcept { return gathering_ != 0; }

  /// The number of the reservation that is made next.
  [[nodiscard]] std::uint64_t next_number() const noexcept { return next_number_; }

  [[nodiscard]] std::uint64_t take_number() noexcept { return next_number_++; }

  void add(const entry& e) {
    entries_.push_back(e);
    entries_.back().number = take_number();
    gathering_ += e.what.gathers_since ? 1U : 0U;
    sort();
  }
  /// As they were before a restart, in the order of their turn.
  void restore(std::span<const entry> known, std::uint64_t next_number) {
    for (const entry& e : known) {
      entries_.push_back(e);
      gathering_ += e.what.gathers_since ? 1U : 0U;
    }
    next_number_ = next_number;
    sort();
  }
  void remove(job_id id) {
    const auto at = place_of(id);
    gathering_ -= at->what.gathers_since ? 1U : 0U;
    entries_.erase(at);
    sort();
  }
  /// Replaces a reservation by one that counts on all that is free. `start` may be later than before only for
  /// a cause.
  void renew(job_id id, const reservation& p) {
    const auto i = static_cast<std::size_t>(place_of(id) - entries_.begin());
    const bool moves = entries_[i].what.start != p.start;
    gathering_ -= entries_[i].what.gathers_since ? 1U : 0U;
    gathering_ += p.gathers_since ? 1U : 0U;
    entries_[i].what = p;
    entries_[i].freed_until = never;
    if (moves) sort();
  }
  /// Capacity has become free on which no start counts, but only before `until`.
  void record_freed(instant until) {
    for (entry& e : entries_) e.freed_until = std::max(e.freed_until, until);
  }

  /// All times move by that span.
  void rebase(instant by) {
    for (entry& e : entries_) e.rebase(by);
    sort();
  }

  /// The earliest start after `since`.
  [[nodiscard]] std::optional<instant> next_after(instant since) const {
    for (const std::size_t i : by_start_) {
      if (entries_[i].what.start > since) return entries_[i].what.start;
    }
    return std::nullopt;
  }

 private:
  static constexpr instant never = std::numeric_limits<instant>::min();

  [[nodiscard]] vector<entry>::const_iterator place_of(job_id id) const {
    return detail::find_if(entries_.begin(), entries_.end(), [&](const entry& e) { return e.job == id; });
  }
  void sort() {
    by_start_.clear();
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].what.start != without_end) by_start_.push_back(i);
    }
    detail::sort(by_start_.begin(), by_start_.end(), [this](std::size_t a, std::size_t b) {
      const instant x = entries_[a].what.start;
      const instant y = entries_[b].what.start;
      return x != y ? x < y : a < b;
    });
  }

  vector<entry> entries_;
  vector<std::size_t> by_start_;
  /// How many of them gather.
  std::size_t gathering_ = 0;
  std::uint64_t next_number_ = 1;
};

/// What has happened since the reserved starts were last checked. If all that ended did so when expected,
/// none of them moves that is known.
struct reservation_news {
  /// The host has changed something other than running jobs that may delay a start.
  delay_cause cause = delay_cause::none;
  /// Whether any start may have become earlier, or later.
  bool starts_may_move = false;
  /// When those that have ended were expected to, earliest and latest.
  instant ends_from = without_end;
  instant ends_to = std::numeric_limits<instant>::min();

  void note(delay_cause c) {
    cause = c;
    starts_may_move = true;
  }
  void record_end(instant expected) {
    ends_from = std::min(ends_from, expected);
    ends_to = std::max(ends_to, expected);
  }
  /// All times move by that span.
  void rebase(instant by) {
    ends_from = moved(ends_from, by);
    ends_to = moved(ends_to, by);
  }
  [[nodiscard]] bool says_anything() const { return starts_may_move || ends_from <= ends_to; }
  /// Whether known starts may have moved by what has happened up to `now`.
  [[nodiscard]] bool may_move_starts(instant now) const {
    return starts_may_move || (says_anything() && (ends_from != now || ends_to != now));
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

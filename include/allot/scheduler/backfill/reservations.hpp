// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/detail/expected_ends.hpp>
#include <allot/scheduler/reservation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// The pending jobs that hold a reservation with a time: those that stand on what their quota owns, by quota,
/// and the others. Each in the order in which they got it, which is their turn from then on.
class reservations {
 public:
  struct entry {
    job_id job;
    quota_id quota;
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

  /// Those that do not stand on what their quota owns.
  [[nodiscard]] std::span<const entry> all() const noexcept { return entries_; }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  /// The positions in `all` of those with a known start, the earliest first.
  [[nodiscard]] std::span<const std::size_t> by_start() const noexcept { return by_start_; }
  [[nodiscard]] bool any_gathers() const noexcept { return gathering_ != 0; }

  /// Those that stand on what x owns.
  [[nodiscard]] std::span<const entry> owned_by(quota_id x) const {
    return x.index() < owned_.size() ? std::span<const entry>{owned_[x.index()].entries}
                                     : std::span<const entry>{};
  }
  /// The quotas with such, in no particular order.
  [[nodiscard]] std::span<const quota_id> owners() const noexcept { return owners_; }

  /// That of a job of x; null if it holds none.
  [[nodiscard]] const entry* find(job_id id, quota_id x) const {
    for (const entry& e : owned_by(x)) {
      if (e.job == id) return &e;
    }
    const auto at = place_of(id);
    return at == entries_.end() ? nullptr : &*at;
  }
  /// The earliest start after `since`.
  [[nodiscard]] std::optional<instant> next_after(instant since) const {
    const auto owned = owned_starts_.all();
    const auto at = std::upper_bound(owned.begin(), owned.end(), since,
                                     [](instant t, const expected_end& e) { return t < e.at; });
    std::optional<instant> next;
    if (at != owned.end()) next = at->at;
    for (const std::size_t i : by_start_) {
      const instant start = entries_[i].what.start;
      if (start > since) return next ? std::min(*next, start) : start;
    }
    return next;
  }
  /// The number of the reservation that is made next.
  [[nodiscard]] std::uint64_t next_number() const noexcept { return next_number_; }

  /// The last in turn; with a number, in the turn that it has had before.
  void add(const entry& e, const std::optional<std::uint64_t>& number = {}) {
    entry added = e;
    added.number = number && e.what.owned ? *number : next_number_++;
    added.is_back = number && e.what.owned;
    insert(added);
    if (added.what.owned && added.what.start == without_end) note_change(e.quota);
  }
  /// As they were before a restart, in the order of their turn.
  void restore(std::span<const entry> known, std::uint64_t next_number) {
    for (const entry& e : known) insert(e);
    next_number_ = next_number;
  }
  /// Precondition: the job of x holds one.
  void remove(job_id id, quota_id x) {
    if (!find(id, x)->what.owned) {
      const auto at = place_of(id);
      gathering_ -= at->what.gathers_since ? 1U : 0U;
      entries_.erase(at);
      return sort();
    }
    of_quota& q = owned_[x.index()];
    const auto at = place_in(q, id);
    move_start(id, at->what.start, without_end);
    q.entries.erase(at);
    note_change(x);
    if (!q.entries.empty()) return;
    erase(owners_, x);
    if (std::exchange(q.has_changed, false)) erase(changed_, x);
  }
  /// Replaces that of a job of x by one that counts on all that is free. `start` may be later than before
  /// only for a cause. One on loans may stand on what x owns from now on, in its turn.
  void renew(job_id id, quota_id x, const reservation& p) {
    if (p.owned) {
      if (const auto at = place_of(id); at != entries_.end()) {
        entry moved = *at;
        remove(id, x);
        moved.what = p;
        return insert(moved);
      }
      entry& own = *place_in(owned_[x.index()], id);
      move_start(id, own.what.start, p.start);
      own.what = p;
      own.is_back = false;
      return;
    }
    const auto i = static_cast<std::size_t>(place_of(id) - entries_.begin());
    const bool moves = entries_[i].what.start != p.start;
    gathering_ -= entries_[i].what.gathers_since ? 1U : 0U;
    gathering_ += p.gathers_since ? 1U : 0U;
    entries_[i].what = p;
    entries_[i].freed_until = never;
    if (moves) sort();
  }
  /// The job of x, which is to borrow, comes after all that hold one, if some of them stand on what x owns.
  void yield_turn(job_id id, quota_id x) {
    if (owned_by(x).empty() || owned_by(x).back().number < place_of(id)->number) return;
    const auto at = entries_.begin() + (place_of(id) - entries_.begin());
    at->number = next_number_++;
    std::rotate(at, at + 1, entries_.end());
    sort();
  }
  /// Capacity has become free on which no start counts, but only before `until`.
  void record_freed(instant until) {
    for (entry& e : entries_) e.freed_until = std::max(e.freed_until, until);
  }

  /// What x's own jobs use, or are to, has changed: so may the starts that stand on what it owns.
  void note_change(quota_id x) {
    if (owned_by(x).empty() || std::exchange(owned_[x.index()].has_changed, true)) return;
    changed_.push_back(x);
  }
  /// So may those that have come by now: `quota_of(job_id)`.
  template <class QuotaOf>
  void note_due(instant now, QuotaOf quota_of) {
    for (const expected_end& e : owned_starts_.all()) {
      if (e.at > now) break;
      note_change(quota_of(e.job));
    }
  }
  /// The quotas noted since the last call of `take_changed`.
  [[nodiscard]] std::span<const quota_id> changed() const noexcept { return changed_; }
  /// Calls `visit(quota)` for each of them, and for those noted meanwhile.
  template <class Visit>
  void take_changed(Visit visit) {
    for (std::size_t i = 0; i < changed_.size(); ++i) {
      const quota_id x = changed_[i];
      owned_[x.index()].has_changed = false;
      visit(x);
    }
    changed_.clear();
  }

  /// All times move by that span.
  void rebase(instant by) {
    for (entry& e : entries_) e.rebase(by);
    for (of_quota& q : owned_) {
      for (entry& e : q.entries) e.rebase(by);
    }
    owned_starts_.rebase(by);
    sort();
  }

 private:
  static constexpr instant never = std::numeric_limits<instant>::min();

  struct of_quota {
    vector<entry> entries;
    /// Whether it is among `changed_`.
    bool has_changed = false;
  };

  [[nodiscard]] static vector<entry>::iterator place_in(of_quota& q, job_id id) {
    return detail::find_if(q.entries.begin(), q.entries.end(), [id](const entry& e) { return e.job == id; });
  }
  [[nodiscard]] vector<entry>::const_iterator place_of(job_id id) const {
    return detail::find_if(entries_.begin(), entries_.end(), [&](const entry& e) { return e.job == id; });
  }
  void insert(const entry& e) {
    if (!e.what.owned) {
      entries_.push_back(e);
      gathering_ += e.what.gathers_since ? 1U : 0U;
      return sort();
    }
    if (owned_.size() <= e.quota.index()) owned_.resize(e.quota.index() + 1);
    auto& entries = owned_[e.quota.index()].entries;
    if (entries.empty()) owners_.push_back(e.quota);
    entries.insert(detail::find_if(entries.begin(), entries.end(),
                                   [&](const entry& other) { return other.number > e.number; }),
                   e);
    move_start(e.job, without_end, e.what.start);
  }
  void move_start(job_id id, instant from, instant to) {
    if (from == to) return;
    if (from != without_end) owned_starts_.erase({from, id});
    if (to != without_end) owned_starts_.insert({to, id});
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
  /// By the index of the quota.
  vector<of_quota> owned_;
  /// Their known starts.
  expected_ends owned_starts_;
  vector<quota_id> owners_;
  vector<quota_id> changed_;
  std::uint64_t next_number_ = 1;
};

/// What has happened since the reserved starts were last checked. If all that ended did so when expected,
/// none of them moves that is known.
struct reservation_news {
  /// What may delay a start, the latest; but nodes or quotas that have changed before all else, as all starts
  /// are then made again.
  delay_cause cause = delay_cause::none;
  /// Whether any start may have become earlier, or later.
  bool starts_may_move = false;
  /// When those that have ended were expected to, earliest and latest.
  instant ends_from = without_end;
  instant ends_to = std::numeric_limits<instant>::min();

  /// Whether all starts are made again, in their turn.
  [[nodiscard]] bool are_made_again() const noexcept {
    return cause == delay_cause::cluster || cause == delay_cause::quotas;
  }
  void note(delay_cause c) {
    if (!are_made_again() || c == delay_cause::cluster || c == delay_cause::quotas) cause = c;
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

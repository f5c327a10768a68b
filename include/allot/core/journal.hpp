// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>

#include <cstddef>
#include <utility>

namespace allot {
inline namespace v0 {

/// A state to roll back to. Savepoints nest: the one opened last is closed first.
struct savepoint {
  /// How many entries were recorded before it.
  std::size_t entries = 0;
  /// How many savepoints were open with it.
  std::size_t depth = 0;
};

/// The undo log behind a savepoint: the overwritten values, in order. It records nothing while no savepoint
/// is open. It keeps its memory when emptied, so it stops allocating once it has reached its maximum length.
template <class Entry>
class journal {
 public:
  /// Opens a savepoint; from now on changes must be recorded. O(1).
  [[nodiscard]] savepoint open() noexcept { return {entries_.size(), ++depth_}; }
  /// Whether a savepoint is open.
  [[nodiscard]] bool recording() const noexcept { return depth_ != 0; }
  /// Records a value before it is overwritten. Only to be called while `recording`.
  void record(Entry entry) { entries_.push_back(std::move(entry)); }
  /// Allocates memory for that many entries.
  void reserve(std::size_t entries) { entries_.reserve(entries); }

  /// Calls `undo(entry)` for everything recorded since `s`, newest first, and closes `s`.
  /// Precondition: `s` is the innermost open savepoint.
  template <class Undo>
  void rollback(savepoint s, Undo undo) {
    check(s);
    while (entries_.size() > s.entries) {
      undo(entries_.back());
      entries_.pop_back();
    }
    --depth_;
  }

  /// Keeps the changes since `s` and closes it. Precondition: `s` is the innermost open savepoint.
  void commit(savepoint s) {
    check(s);
    if (--depth_ == 0) entries_.clear();
  }

 private:
  void check([[maybe_unused]] savepoint s) const {
    ALLOT_ASSERT(recording() && s.depth == depth_ && s.entries <= entries_.size(),
                 "savepoints nest: close the innermost one first");
  }

  vector<Entry> entries_;
  std::size_t depth_ = 0;
};

}  // namespace v0
}  // namespace allot

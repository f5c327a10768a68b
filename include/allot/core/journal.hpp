// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {

/// A state to roll back to. Savepoints nest: the one opened last is closed first.
struct savepoint {
  std::size_t entries = 0;
  std::size_t depth = 0;
};

/// The undo log behind a savepoint: the overwritten values, in order. It records nothing while no savepoint
/// is open. It keeps its memory when emptied, so it stops allocating once it has reached its maximum length.
template <class Entry>
class journal {
 public:
  [[nodiscard]] savepoint open() noexcept { return {entries_.size(), ++depth_}; }
  [[nodiscard]] bool recording() const noexcept { return depth_ != 0; }
  void record(Entry entry) { entries_.push_back(std::move(entry)); }
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

  std::vector<Entry> entries_;
  std::size_t depth_ = 0;
};

}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {
/// A set of small ids, for a policy that marks jobs or quotas during one search and forgets them in the next.
/// Every call is O(1), including `clear`: an entry counts only if it has the current stamp. Allocates only
/// for an index larger than all before. Ids that differ only in their generation are not distinguished.
template <class Id>
class stamped_set {
 public:
  /// Removes all ids. O(1), except once in 2^32 calls.
  void clear() noexcept {
    if (++now_ != 0) return;
    stamps_.assign(stamps_.size(), 0);
    now_ = 1;
  }
  /// Adds an id, which may be in the set already. Allocates for an id larger than any before.
  void insert(Id id) {
    if (id.index() >= stamps_.size()) stamps_.resize(id.index() + 1);
    stamps_[id.index()] = now_;
  }
  /// Removes an id, if it is in the set.
  void erase(Id id) noexcept {
    if (id.index() < stamps_.size()) stamps_[id.index()] = 0;
  }
  /// Whether the id is in the set.
  [[nodiscard]] bool contains(Id id) const noexcept {
    return id.index() < stamps_.size() && stamps_[id.index()] == now_;
  }

 private:
  vector<std::uint32_t> stamps_;
  std::uint32_t now_ = 1;
};

}  // namespace v0
}  // namespace allot

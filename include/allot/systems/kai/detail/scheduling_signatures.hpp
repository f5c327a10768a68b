// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/resources.hpp>
#include <allot/core/vector.hpp>
#include <allot/systems/kai/detail/unit_order.hpp>

#include <cstddef>

namespace allot {
inline namespace v0 {
namespace detail {

/// The units that failed in an action, one for each kind: same priority, kind of capacity, possible places
/// and number of pending pods. Another unit of the kind is *easier* if its pods request less; others are not
/// tried (KAI's scheduling signatures and representatives, v0.13).
template <std::size_t N>
class failed_units {
 public:
  using kind = unit_kind<N>;

  void clear() noexcept { kinds_.clear(); }
  /// Whether a unit of the kind is worth trying; once it is not, it never is again. O(kinds).
  [[nodiscard]] bool is_easier(const kind& k) const {
    for (const kind& failed : kinds_) {
      if (!failed.is_like(k)) continue;
      return k.is_easier_than(failed);
    }
    return true;
  }
  /// A unit of the kind has failed.
  void add(const kind& k) {
    for (kind& failed : kinds_) {
      if (!failed.is_like(k)) continue;
      if (k.is_at_most(failed)) failed = k;
      return;
    }
    kinds_.push_back(k);
  }

 private:
  vector<kind> kinds_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

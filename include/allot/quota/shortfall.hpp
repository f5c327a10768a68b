// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/quota/ledger.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace allot {
inline namespace v0 {

/// The bound of a quota that blocks a request.
enum class bound : std::uint8_t {
  /// The root has no capacity left: all that the tree lends is in use.
  capacity,
  /// The quota borrows as much as its borrow limit allows.
  borrow_limit,
  /// The quota has used up its supply and may not borrow at all.
  nominal,
  /// The jobs on guaranteed capacity use all of the supply; a non-preemptible job may not run on borrowed
  /// capacity.
  guarantee,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(bound value) noexcept {
  switch (value) {
    case bound::capacity:
      return "capacity";
    case bound::borrow_limit:
      return "borrow_limit";
    case bound::nominal:
      return "nominal";
    case bound::guarantee:
      return "guarantee";
  }
  return "";
}

/// A bound that a request would exceed, and by how much. Raising the number behind it by `missing` lifts the
/// bound: the nominal for `capacity`, `nominal` and `guarantee`, the borrow limit for `borrow_limit` (or for
/// `nominal`, if the quota is not static). If an inclusive ancestor's nominal contains it, raise that too.
struct shortfall {
  /// The quota whose bound it is: the job's own, or one above it.
  quota_id quota;
  /// The dimension in which something is missing.
  std::size_t dimension = 0;
  /// Which of its bounds.
  bound kind = bound::capacity;
  /// How much is missing: above zero.
  quantity missing;

  friend bool operator==(const shortfall&, const shortfall&) = default;
};

/// Calls `visit(shortfall)` for every bound that the request exceeds, dimension by dimension, from x to the
/// root. Raising each by its `missing` admits the request.
///
/// There is no shortfall where raising numbers does not help: for a nonexistent quota, which has no bounds,
/// and for a request that is invalid or can't be counted. So a request that fits has none, but one without a
/// shortfall need not fit: see `ledger::fits`.
template <std::size_t N, class Visit>
void for_each_shortfall(const ledger<N>& l, quota_id x, const std::type_identity_t<resources<N>>& request,
                        capacity_kind in, Visit visit) {
  if (!is_valid_request(request)) return;
  for (std::size_t d = 0; d < N; ++d) {
    if (request[d] == quantity{}) continue;
    l.for_each_bound(x, d, in, [&](quota_id at, quantity room, bool of_all_jobs) {
      if (request[d] <= room) return;
      const bound kind = !of_all_jobs                              ? bound::guarantee
                         : !l.tree().parent(at)                    ? bound::capacity
                         : l.supply_of(at, d).borrow == quantity{} ? bound::nominal
                                                                   : bound::borrow_limit;
      visit(shortfall{at, d, kind, request[d] - room});
    });
  }
}

/// The shortfall with the most missing; of several, the one nearest to the job. None when the request fits,
/// or when nothing would admit it (see `for_each_shortfall`).
template <std::size_t N>
[[nodiscard]] std::optional<shortfall> binding_shortfall(const ledger<N>& l, quota_id x,
                                                         const std::type_identity_t<resources<N>>& request,
                                                         capacity_kind in = capacity_kind::any) {
  std::optional<shortfall> worst;
  for_each_shortfall(l, x, request, in, [&](const shortfall& s) {
    if (!worst || s.missing > worst->missing) worst = s;
  });
  return worst;
}

/// The binding shortfall that remains whatever others do: the one there would be if nothing were in use. None
/// if the request does not exceed `ledger::potential`. O(N depth).
template <std::size_t N>
[[nodiscard]] std::optional<shortfall> lasting_shortfall(const ledger<N>& l, quota_id x,
                                                         const std::type_identity_t<resources<N>>& request,
                                                         capacity_kind in = capacity_kind::any) {
  std::optional<shortfall> worst;
  if (!is_valid_request(request)) return worst;
  const quota_tree<N>& tree = l.tree();
  for (std::size_t d = 0; d < N; ++d) {
    quantity kept{};
    for (quota_id at = x; at && request[d] > quantity{}; at = tree.parent(at)) {
      const supply& s = l.supply_of(at, d);
      const bool is_own = in == capacity_kind::guaranteed || !tree.parent(at);
      const quantity most = kept + (is_own ? s.total : s.total + s.borrow);
      if (request[d] > most && (!worst || request[d] - most > worst->missing)) {
        const bound kind = !tree.parent(at)         ? bound::capacity
                           : s.borrow == quantity{} ? bound::nominal
                           : is_own                 ? bound::guarantee
                                                    : bound::borrow_limit;
        worst = shortfall{at, d, kind, request[d] - most};
      }
      kept += s.kept;
    }
  }
  return worst;
}

}  // namespace v0
}  // namespace allot

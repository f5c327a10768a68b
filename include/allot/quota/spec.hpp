// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/resources.hpp>
#include <allot/quota/limit.hpp>
#include <allot/quota/weight.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace allot {
inline namespace v0 {

/// A limit for each dimension; one limit alone holds for all of them.
template <std::size_t N>
using limits = per_dimension<limit, N>;

/// A weight for each dimension; one weight alone holds for all of them.
template <std::size_t N>
using weights = per_dimension<fair_weight, N>;

/// The user's specification of one quota.
template <std::size_t N = 1>
struct quota_spec {
  // Initialized with = "", not {}: with {}, g++ 12 crashes on `f({{.name = "a"}})` (in nothrow_spec_p).
  /// Unique in the tree.
  std::string name = "";  // NOLINT(readability-redundant-string-init)
  /// Empty for a root. Parents may be named before they are specified.
  std::string parent = "";  // NOLINT(readability-redundant-string-init)
  /// What the quota is guaranteed.
  resources<N> nominal{};
  /// How much of its supply others may use.
  limits<N> lend{limit::all()};
  /// How much of others' supply it may use.
  limits<N> borrow{limit::all()};
  /// Its share of the surplus, in proportion to those of its siblings.
  weights<N> weight{fair_weight::whole(1)};
  /// The priority of the quota itself, higher first.
  std::int32_t priority = 0;
  /// Whether the nominal of an inner quota contains its children's (PAI, KAI, YARN) or is a pool in addition
  /// to theirs (a Kueue cohort).
  bool inclusive = false;
  /// Lets the children of an inclusive quota have more than it has, as KAI does. A child's nominal is then no
  /// longer guaranteed: it is first come, first served.
  bool overcommit = false;
  /// Neither lends nor borrows, whatever `lend` and `borrow` say.
  bool is_static = false;

  friend bool operator==(const quota_spec&, const quota_spec&) = default;
};

}  // namespace v0
}  // namespace allot

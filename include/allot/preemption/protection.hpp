// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/preemption/victim_order.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

namespace allot {
inline namespace v0 {

/// What one search has taken so far.
template <std::size_t N>
struct search_progress {
  /// How many jobs (elastic pods counted one by one): of all quotas, and of the donor's.
  std::size_t evictions = 0;
  std::size_t evictions_of_quota = 0;
  resources<N> released{};
};

/// A protection: a callable that says whether a job may not be asked, however fair it would be. What it
/// protects it must go on protecting while a search takes more.
template <class Protection, std::size_t N>
concept victim_protection = requires(const Protection protection, const ledger<N>& l, const beneficiary<N>& b,
                                     const donor<N>& d, const search_progress<N>& progress) {
  { protection(l, b, d, progress) } -> std::same_as<bool>;
};

/// Whoever is in the running index may be asked. (What must never be evicted is not put there.)
struct unprotected {
  template <std::size_t N>
  [[nodiscard]] constexpr bool operator()(const ledger<N>&, const beneficiary<N>&, const donor<N>&,
                                          const search_progress<N>&) const noexcept {
    return false;
  }
};

/// Protects whom any of several protections protects.
template <class... Protections>
class any_protection {
 public:
  any_protection() = default;
  explicit any_protection(Protections... protections) : all_(std::move(protections)...) {}

  template <std::size_t N>
  [[nodiscard]] bool operator()(const ledger<N>& l, const beneficiary<N>& b, const donor<N>& d,
                                const search_progress<N>& progress) const {
    return std::apply([&](const auto&... each) { return (each(l, b, d, progress) || ...); }, all_);
  }

 private:
  std::tuple<Protections...> all_;
};

/// From whom a job has its guarantee against jobs of other quotas.
enum class runtime_source : std::uint8_t {
  /// Its own quota (KAI's method "queue").
  leaf,
  /// The child of the lowest common ancestor on its side (KAI's method "lca"): departments agree among
  /// themselves, and teams within their department.
  common_ancestor,
};

/// Minimum runtime: a job is protected while now < started + guarantee (KAI v0.13). `Guarantees` is a
/// callable (quota) that returns its `runtime_guarantee`; where a quota says nothing the one above is asked,
/// and in the end nobody protects. Elastic pods are never protected, for their job goes on without them.
/// O(depth).
template <class Guarantees>
struct minimum_runtime {
  [[no_unique_address]] Guarantees guarantees{};
  runtime_source source = runtime_source::common_ancestor;

  template <std::size_t N>
  [[nodiscard]] bool operator()(const ledger<N>& l, const beneficiary<N>& b, const donor<N>& d,
                                const search_progress<N>&) const {
    if (d.next.elastic) return false;
    const bool same = d.quota == b.quota;
    quota_id from = d.quota;
    if (!same && source == runtime_source::common_ancestor) {
      const quota_id top = l.tree().common_ancestor(d.quota, b.quota);
      if (top != d.quota) from = side_below(l.tree(), d.quota, top);
    }
    for (; from; from = l.tree().parent(from)) {
      const runtime_guarantee& g = guarantees(from);
      const instant span = same ? g.preempt : g.reclaim;
      if (span > 0) return b.now - d.next.started < span;
    }
    return false;
  }

 private:
  /// The root, if the two stand in different trees.
  template <std::size_t N>
  [[nodiscard]] static quota_id side_below(const quota_tree<N>& tree, quota_id x, quota_id top) {
    while (tree.parent(x) != top) x = tree.parent(x);
    return x;
  }
};

}  // namespace v0
}  // namespace allot

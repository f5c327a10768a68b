// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/preemption/victim_order.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {

/// What one search has taken so far.
template <std::size_t N>
struct search_progress {
  /// The number of jobs (elastic pods counted one by one): of all quotas, and of the candidate's.
  std::size_t evictions = 0;
  /// Of these, the jobs of the candidate's quota.
  std::size_t evictions_of_quota = 0;
  /// What their eviction frees in total.
  resources<N> released{};
};

/// A protection: a callable that says whether a job may not be preempted, however fair that would be. What it
/// protects must stay protected as a search takes more.
template <class Protection, std::size_t N>
concept victim_protection = requires(const Protection protection, const ledger<N>& l, const beneficiary<N>& b,
                                     const victim_candidate<N>& v, const search_progress<N>& progress) {
  { protection(l, b, v, progress) } -> std::same_as<bool>;
};

/// Protects no job in the running index. (Jobs that must never be evicted are not in it.)
struct unprotected {
  template <std::size_t N>
  [[nodiscard]] constexpr bool operator()(const ledger<N>&, const beneficiary<N>&, const victim_candidate<N>&,
                                          const search_progress<N>&) const noexcept {
    return false;
  }
};

/// Protects the jobs that any of several protections protects. (A chain: tuples cost the compiler more.)
template <class... Protections>
class any_protection : public unprotected {};
/// Those of at least one.
template <class First, class... Rest>
class any_protection<First, Rest...> {
 public:
  any_protection() = default;
  explicit any_protection(First first, Rest... rest)
      : first_(std::move(first)), rest_(any_protection<Rest...>(std::move(rest)...)) {}

  template <std::size_t N>
  [[nodiscard]] bool operator()(const ledger<N>& l, const beneficiary<N>& b, const victim_candidate<N>& v,
                                const search_progress<N>& progress) const {
    return first_(l, b, v, progress) || rest_(l, b, v, progress);
  }

 private:
  [[no_unique_address]] First first_;
  [[no_unique_address]] any_protection<Rest...> rest_;
};
/// Deduces them.
template <class... Protections>
any_protection(Protections...) -> any_protection<Protections...>;

/// Which quota guarantees a job's runtime against jobs of other quotas.
enum class runtime_source : std::uint8_t {
  /// Its own quota (KAI's method "queue").
  leaf,
  /// The child of the lowest common ancestor on the job's side (KAI's method "lca"): departments agree among
  /// themselves, and teams within their department.
  common_ancestor,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(runtime_source value) noexcept {
  switch (value) {
    case runtime_source::leaf:
      return "leaf";
    case runtime_source::common_ancestor:
      return "common_ancestor";
  }
  return "";
}

/// How long a job of `victim` may run before one of `beneficiary` may preempt it: the first guarantee on the
/// way up from the quota that grants it, its `preempt` if a job of the same quota `preempts` it, else its
/// `reclaim`; 0 if there is none. `guarantees(quota)` returns a `runtime_guarantee`. O(depth).
template <std::size_t N, class Guarantees>
[[nodiscard]] instant guaranteed_runtime(const quota_tree<N>& tree, quota_id victim, quota_id beneficiary,
                                         bool preempts, runtime_source source, Guarantees guarantees) {
  quota_id from = victim;
  if (!preempts && source == runtime_source::common_ancestor) {
    const quota_id top = tree.common_ancestor(victim, beneficiary);
    while (from != top && tree.parent(from) != top) from = tree.parent(from);
  }
  for (; from; from = tree.parent(from)) {
    const runtime_guarantee& g = guarantees(from);
    if (const instant span = preempts ? g.preempt : g.reclaim; span > 0) return span;
  }
  return 0;
}

/// Minimum runtime: a job is protected while now < started + guarantee (KAI v0.13). For `Guarantees` see
/// `guaranteed_runtime`. Elastic pods are never protected, because their job runs on without them. O(depth).
template <class Guarantees>
struct minimum_runtime {
  /// Returns the guarantee of a quota.
  [[no_unique_address]] Guarantees guarantees{};
  /// Which quota's guarantee counts against jobs of other quotas.
  runtime_source source = runtime_source::common_ancestor;

  template <std::size_t N>
  [[nodiscard]] bool operator()(const ledger<N>& l, const beneficiary<N>& b, const victim_candidate<N>& v,
                                const search_progress<N>&) const {
    if (v.next.elastic) return false;
    const instant span =
        guaranteed_runtime(l.tree(), v.quota, b.quota, v.quota == b.quota, source, guarantees);
    return span > 0 && b.now - v.next.started < span;
  }
};

}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/fairshare/borrowed_share.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/victim_order.hpp>

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace allot {
inline namespace v0 {

/// The rule by which a victim was found fair.
enum class fairness_rule : std::uint8_t {
  /// Its relation was enough.
  none,
  /// The beneficiary's side has no more than the victim's side is left with.
  final_share,
  /// The beneficiary's side has less than the victim's side had.
  initial_share,
  /// The victim's side was over its entitlement; the beneficiary's side stays within its own, or less
  /// saturated than the victim's side is afterwards.
  saturation,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(fairness_rule value) noexcept {
  switch (value) {
    case fairness_rule::none:
      return "none";
    case fairness_rule::final_share:
      return "final_share";
    case fairness_rule::initial_share:
      return "initial_share";
    case fairness_rule::saturation:
      return "saturation";
  }
  return "";
}

/// A guard's decision and its reasons: the two numbers it compared.
struct verdict {
  /// Whether the victim may be taken.
  bool fair = false;
  /// The rule by which it was judged.
  fairness_rule rule = fairness_rule::none;
  /// @{
  /// What the rule compared, as fractions: of the beneficiary's side and of the victim's.
  ratio beneficiary{};
  ratio victim{};
  /// @}

  constexpr explicit operator bool() const noexcept { return fair; }
};

/// A guard: a callable that says whether one more victim is fair. It is called in the state without the
/// victims chosen so far, with the candidate still there. A refused candidate is passed over. It returns a
/// bool, or a `verdict` that gives its reasons.
///
/// A guard may have several strategies, `static constexpr std::size_t strategies`. It is then called with the
/// number of the strategy as its last argument, and candidates refused by one strategy are judged by the next
/// when no others are left; from the second strategy on each quota yields one job only (Kueue). It may
/// declare `static constexpr bool less_fair_when_larger = true` if of two jobs of one quota the larger is
/// never fair where the smaller is not: the search then skips it. A member `judges_rivals()` says whether it
/// decides what is fair between rivals, or never finds them fair; see `preempt_rivals::by_guard`.
template <class Guard, std::size_t N>
concept victim_guard = requires(const Guard guard, const ledger<N>& l, const beneficiary<N>& b,
                                const victim_candidate<N>& v) {
  { guard(l, b, v) } -> std::same_as<bool>;
}
|| requires(const Guard guard, const ledger<N>& l, const beneficiary<N>& b, const victim_candidate<N>& v) {
  { guard(l, b, v) } -> std::same_as<verdict>;
}
|| requires(const Guard guard, const ledger<N>& l, const beneficiary<N>& b, const victim_candidate<N>& v) {
  requires Guard::strategies >
  1;
  { guard(l, b, v, std::size_t{}) } -> std::same_as<verdict>;
};

/// A guard that has several strategies. Default: one.
template <class Guard>
concept staged_guard = requires {
  { Guard::strategies } -> std::convertible_to<std::size_t>;
};
/// A guard that says whether the larger of two jobs of one quota is never fair where the smaller is not.
/// Default: nothing is known, and every candidate is judged.
template <class Guard>
concept monotone_guard = requires {
  { Guard::less_fair_when_larger } -> std::convertible_to<bool>;
};
/// A guard that says whether it decides what is fair between rivals. Default: rivals are not asked, unless
/// the settings say so.
template <class Guard>
concept rival_guard = requires(const Guard guard) {
  { guard.judges_rivals() } -> std::same_as<bool>;
};

/// Whether the guard decides what is fair between rivals; nullopt if it does not say.
template <class Guard>
[[nodiscard]] constexpr std::optional<bool> judges_rivals(const Guard& guard) {
  if constexpr (rival_guard<Guard>) {
    return guard.judges_rivals();
  } else {
    return std::nullopt;
  }
}

/// How much of a further `q` at x arrives at `to`, x itself or a quota above it; for a negative `q`, how much
/// is freed there. Zero if `to` is neither. O(N depth).
template <std::size_t N>
[[nodiscard]] resources<N> arriving_at(const ledger<N>& l, quota_id x, quota_id to,
                                       std::type_identity_t<resources<N>> q) {
  for (; x && x != to; x = l.tree().parent(x)) {
    for (std::size_t d = 0; d < N; ++d) q[d] = l.passed_up(x, d, q[d]);
  }
  return x ? q : resources<N>{};
}

/// The sides of a beneficiary and a victim below their lowest common ancestor: its children on the way to
/// either (Kueue's almost-LCAs), or the ancestor's own jobs if the beneficiary is one of them.
template <std::size_t N>
struct rival_sides {
  /// The side of the beneficiary, with its request.
  contender<N> beneficiary;
  /// The side of the victim.
  contender<N> victim;
};

/// The sides, the beneficiary's with its request and the victim's less what it yields. Precondition: the
/// quotas are in one tree, and the victim's is neither the beneficiary's nor above it. O(N depth).
template <std::size_t N>
[[nodiscard]] rival_sides<N> sides_of(const ledger<N>& l, const beneficiary<N>& b,
                                      const victim_candidate<N>& v) {
  const quota_tree<N>& tree = l.tree();
  const quota_id top = tree.common_ancestor(b.quota, v.quota);
  rival_sides<N> s;
  s.beneficiary.own_jobs = top == b.quota;
  s.beneficiary.quota = top == b.quota ? top : tree.side_of(b.quota, top);
  s.beneficiary.request = arriving_at(l, b.quota, s.beneficiary.quota, b.request);
  s.victim.quota = tree.side_of(v.quota, top);
  s.victim.request = arriving_at(l, v.quota, s.victim.quota, resources<N>{quantity{}} - v.yields);
  return s;
}

namespace detail {

/// The numbers that decided a comparison of two shares.
[[nodiscard]] constexpr verdict compared(bool fair, fairness_rule rule, const borrowed_share& beneficiary,
                                         const borrowed_share& victim) noexcept {
  const bool by_weight = !beneficiary.weighted.is_infinite() || !victim.weighted.is_infinite();
  return by_weight ? verdict{fair, rule, beneficiary.weighted, victim.weighted}
                   : verdict{fair, rule, beneficiary.unweighted, victim.unweighted};
}

template <std::size_t N>
[[nodiscard]] borrowed_share share_without_request(const ledger<N>& l, contender<N> c) {
  c.request = resources<N>{quantity{}};
  return share_of(l, c);
}

}  // namespace detail

/// No test beyond eligibility, and no rivals. It rules out cycles: a borrower that is preempted owned less
/// than it used, so its evicted job, pending again, asks for more than its side owns and can't reclaim; a job
/// never takes from a higher or equal priority that did not come later, nor from a quota above its own.
struct eligible_is_fair {
  /// False: it never finds a rival fair. See `victim_guard`.
  [[nodiscard]] static constexpr bool judges_rivals() noexcept { return false; }

  template <std::size_t N>
  [[nodiscard]] constexpr bool operator()(const ledger<N>&, const beneficiary<N>&,
                                          const victim_candidate<N>& v) const noexcept {
    return v.how != relation::rival;
  }
};

/// Rivals yield as long as the beneficiary's side, with the request, borrows no more than the victim's side
/// is left with (Kueue's LessThanOrEqualToFinalShare), by the weighted borrowed shares at the children of
/// their lowest common ancestor. If the request makes the beneficiary's side borrow without raising its
/// share, because another dimension dominates it or nothing is lendable, its share must be strictly less, or
/// two equal shares could take from each other forever. Other relations pass. O(N depth).
struct final_share {
  /// True: it decides what is fair between rivals. See `victim_guard`.
  [[nodiscard]] static constexpr bool judges_rivals() noexcept { return true; }
  /// Of two jobs of one quota the larger is never fair where the smaller is not. See `victim_guard`.
  static constexpr bool less_fair_when_larger = true;

  template <std::size_t N>
  [[nodiscard]] verdict operator()(const ledger<N>& l, const beneficiary<N>& b,
                                   const victim_candidate<N>& v) const {
    if (v.how != relation::rival) return {eligible_is_fair{}(l, b, v)};
    const rival_sides<N> s = sides_of(l, b, v);
    const borrowed_share wanted = share_of(l, s.beneficiary);
    const borrowed_share left = share_of(l, s.victim);
    const std::strong_ordering order = wanted <=> left;
    const bool fair =
        order < 0 ||
        (order == 0 && (!wanted.borrows || detail::share_without_request(l, s.beneficiary) < wanted));
    return detail::compared(fair, fairness_rule::final_share, wanted, left);
  }
};

/// Rivals yield while their side borrows more than the beneficiary's will (Kueue's LessThanInitialShare). It
/// can move large gangs that `final_share` holds in place, but may oscillate: an eviction may leave the
/// victim's quota with less than the beneficiary has. Other relations pass. O(N depth).
struct initial_share {
  /// True: it decides what is fair between rivals. See `victim_guard`.
  [[nodiscard]] static constexpr bool judges_rivals() noexcept { return true; }
  /// Of two jobs of one quota the larger is never fair where the smaller is not. See `victim_guard`.
  static constexpr bool less_fair_when_larger = true;

  template <std::size_t N>
  [[nodiscard]] verdict operator()(const ledger<N>& l, const beneficiary<N>& b,
                                   const victim_candidate<N>& v) const {
    if (v.how != relation::rival) return {eligible_is_fair{}(l, b, v)};
    const rival_sides<N> s = sides_of(l, b, v);
    const borrowed_share wanted = share_of(l, s.beneficiary);
    const borrowed_share had = detail::share_without_request(l, s.victim);
    return detail::compared(wanted < had, fairness_rule::initial_share, wanted, had);
  }
};

/// First the victims that `final_share` finds fair; if they are not enough, at most one more of each quota
/// that `initial_share` finds fair (Kueue's default pair of strategies).
struct final_then_initial_share {
  /// True: it decides what is fair between rivals. See `victim_guard`.
  [[nodiscard]] static constexpr bool judges_rivals() noexcept { return true; }
  /// Of two jobs of one quota the larger is never fair where the smaller is not. See `victim_guard`.
  static constexpr bool less_fair_when_larger = true;
  /// Two: the final share, then the initial share.
  static constexpr std::size_t strategies = 2;

  template <std::size_t N>
  [[nodiscard]] verdict operator()(const ledger<N>& l, const beneficiary<N>& b, const victim_candidate<N>& v,
                                   std::size_t strategy) const {
    return strategy == 0 ? final_share{}(l, b, v) : initial_share{}(l, b, v);
  }
};

/// Calls a guard of any kind.
template <std::size_t N, victim_guard<N> Guard>
[[nodiscard]] verdict ask_guard(const Guard& guard, const ledger<N>& l, const beneficiary<N>& b,
                                const victim_candidate<N>& v, std::size_t strategy) {
  if constexpr (requires { guard(l, b, v, strategy); }) {
    return guard(l, b, v, strategy);
  } else if constexpr (requires {
                         { guard(l, b, v) } -> std::same_as<bool>;
                       }) {
    return {guard(l, b, v)};
  } else {
    return guard(l, b, v);
  }
}

}  // namespace v0
}  // namespace allot

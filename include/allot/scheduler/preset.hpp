// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/quota/spec.hpp>
#include <allot/scheduler/settings.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {

/// A preset: the policies of one system, assembled from the parts. Its options are its data members, with
/// defaults: `runai{.k = 500}`. Other members are static if no option changes what they return.
///
/// - `name` and a one-line `summary`;
/// - `policies_type`, the parts (see `policies`), default constructible; if options change them, `policies()`
///   returns them. A preset whose parts are `chosen_at_run_time` has `policies_for<View, Placement>()`
///   instead, which returns `any_policies<View, Placement>`;
/// - `defaults()`, the settings of quotas that are not configured. If their head depends on the view, it is
///   `queue_head::by_preset`;
/// - `ignores_quotas`: there is one queue for the whole cluster, whatever quotas are given;
/// - `adapt(specs)`: what the preset makes of the user's quotas before the tree is built.
template <class P>
concept preset = (std::default_initializable<typename P::policies_type> || P::chosen_at_run_time) &&
                 requires(const P& p, std::vector<quota_spec<1>>& specs) {
  { p.name } -> std::convertible_to<std::string_view>;
  { p.summary } -> std::convertible_to<std::string_view>;
  { p.defaults() } -> std::same_as<queue_settings>;
  { p.ignores_quotas } -> std::convertible_to<bool>;
  p.adapt(specs);
};

/// A preset whose parts are known at run time only: see `preset`. Default: `policies_type` is all of them.
template <class P>
concept preset_chosen_at_run_time = requires {
  requires P::chosen_at_run_time;
};
/// A preset whose options change its parts. Default: the parts are those of `policies_type{}`.
template <class P>
concept preset_with_policies = requires(const P& p) {
  { p.policies() } -> std::convertible_to<typename P::policies_type>;
};
/// A preset that does more where jobs have estimates: `use_estimates()` chooses that, unless its options say
/// otherwise. `make_scheduler` calls it, on a copy, for an `estimated_view`, if its cycle makes reservations.
/// It may change of the `defaults()` a head that is `queue_head::by_preset`, and what goes with it. Default:
/// it does the same with and without them.
template <class P>
concept estimating_preset = requires(P& p) {
  p.use_estimates();
};
/// A preset that is an object with rules of its own for quotas. Default: `rules_of` takes its members.
template <class P, std::size_t N>
concept preset_with_rules = requires(const P& p) {
  p.template rules<N>();
};

namespace detail {

/// The policies of a preset; void for what is none, and for one that chooses them at run time.
template <class P>
struct policies_type_of {
  using type = void;
};
template <class P>
requires requires {
  typename P::policies_type;
}
struct policies_type_of<P> {
  using type = typename P::policies_type;
};

/// True, or an error that names what a preset lacks.
template <class P>
[[nodiscard]] consteval bool is_preset() {
  constexpr bool has_name = requires(const P& p) {
    { p.name } -> std::convertible_to<std::string_view>;
    { p.summary } -> std::convertible_to<std::string_view>;
  };
  static_assert(has_name,
                "allot: this is not a preset, which has a `static constexpr std::string_view name` and a "
                "`summary`: write e.g. allot::standard{}, or derive from it");
  static_assert(!has_name || preset_chosen_at_run_time<P> ||
                    std::default_initializable<typename policies_type_of<P>::type>,
                "allot: the preset must have a type `policies_type`, default constructible, e.g. "
                "allot::policies<>");
  constexpr bool has_defaults = requires(const P& p) {
    { p.defaults() } -> std::same_as<queue_settings>;
  };
  static_assert(!has_name || has_defaults, "allot: the preset must have `queue_settings defaults() const`");
  constexpr bool says_what_it_ignores = requires(const P& p) {
    { p.ignores_quotas } -> std::convertible_to<bool>;
  };
  static_assert(!has_name || says_what_it_ignores,
                "allot: the preset must have `static constexpr bool ignores_quotas`");
  constexpr bool adapts = requires(const P& p, std::vector<quota_spec<1>>& specs) {
    p.adapt(specs);
  };
  static_assert(!has_name || adapts,
                "allot: the preset must have `template <std::size_t N> static void "
                "adapt(std::vector<quota_spec<N>>&)`");
  return true;
}

}  // namespace detail

/// The parts of a preset.
template <preset P>
[[nodiscard]] typename P::policies_type policies_of(const P& p) {
  if constexpr (preset_with_policies<P>) {
    return p.policies();
  } else {
    return {};
  }
}
/// The same for a scheduler of that view and placement, also if the parts are known only at run time.
template <class View, class Placement, preset P>
[[nodiscard]] auto policies_for(const P& p) {
  if constexpr (preset_chosen_at_run_time<P>) {
    return p.template policies_for<View, Placement>();
  } else {
    return policies_of(p);
  }
}

/// How a preset treats quotas, as data that a scheduler keeps.
template <std::size_t N>
struct quota_rules {
  /// The settings of quotas that are not configured.
  queue_settings defaults{};
  /// There is one queue without a bound, whatever quotas jobs name.
  bool ignores_quotas = false;
  /// What it makes of the user's quotas; null: they are taken as they are.
  void (*adapt)(std::vector<quota_spec<N>>&) = nullptr;
};
/// The rules of a preset: its own `rules<N>()` if it has one, e.g. because it is chosen at run time; else
/// those of its members, of which `adapt` must be static.
template <std::size_t N, preset P>
[[nodiscard]] quota_rules<N> rules_of(const P& p) {
  if constexpr (preset_with_rules<P, N>) {
    return p.template rules<N>();
  } else {
    constexpr bool adapts_by_itself = requires(std::vector<quota_spec<N>> & specs) {
      P::adapt(specs);
    };
    static_assert(
        adapts_by_itself,
        "allot: the preset's adapt must be `template <std::size_t N> static void "
        "adapt(std::vector<quota_spec<N>>&)`, or the preset must have `quota_rules<N> rules() const`");
    return {p.defaults(), p.ignores_quotas, [](std::vector<quota_spec<N>>& specs) { P::adapt(specs); }};
  }
}

}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/quota/spec.hpp>
#include <allot/scheduler/any_policies.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/systems/by_name/catalog.hpp>
#include <allot/systems/by_name/named_parts.hpp>
#include <allot/systems/by_name/selectable_policies.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace allot {
inline namespace v0 {

namespace detail {

/// A value of any type in the list.
template <class List>
struct one_of_list;
template <class... Presets>
struct one_of_list<preset_list<Presets...>> {
  using type = std::variant<Presets...>;
  template <class P>
  static constexpr bool has = (std::is_same_v<P, Presets> || ...);
};

}  // namespace detail

/// A preset of the library.
template <class P>
concept listed_preset = detail::one_of_list<all_presets>::has<P>;

/// A preset of the library that is chosen at run time: the facade for programs driven by configuration. It is
/// a preset like any other, except that its type does not say which.
class any_preset {
 public:
  /// Its parts are known at run time only: see `preset`.
  static constexpr bool chosen_at_run_time = true;

  /// That preset with its options: `any_preset{runai{.k = 500}}`.
  template <listed_preset P>
  explicit any_preset(P preset)
      : name(P::name),
        summary(P::summary),
        ignores_quotas(P::ignores_quotas),
        takes_parts(takes_named_parts<P>),
        preset_(std::move(preset)) {}

  /// The preset with that name, under its default options. Empty if there is none.
  [[nodiscard]] static std::optional<any_preset> find(std::string_view wanted) {
    std::optional<any_preset> found;
    with_preset(wanted, [&](auto p) { found.emplace(std::move(p)); });
    return found;
  }

  /// The name by which it is found.
  std::string_view name{};
  /// One line about it, for lists.
  std::string_view summary{};
  /// Whether there is one queue for the whole cluster.
  bool ignores_quotas = false;
  /// Whether `choose` may replace its order, its guard and its order of victims.
  bool takes_parts = false;

  /// Calls `f` with the preset itself, whose options can be set there.
  template <class F>
  void visit(F f) {
    std::visit(f, preset_);
  }
  /// Likewise, to look at it.
  template <class F>
  void visit(F f) const {
    std::visit(f, preset_);
  }

  /// Replaces parts of it by those that are named. Returns false, and changes nothing, if that would replace
  /// a part of a preset that has its own (see `takes_parts`).
  [[nodiscard]] bool choose(const named_parts& parts) {
    if (parts.chooses_any() && !takes_parts) return false;
    parts_ = parts;
    return true;
  }

  /// As in `estimating_preset`. Without effect while parts are chosen by name: their cycle makes no
  /// reservations with a time.
  void use_estimates() noexcept { sees_estimates_ = true; }

  /// The settings of quotas that are not configured, under its options.
  [[nodiscard]] queue_settings defaults() const {
    queue_settings settings;
    visit_seen([&](const auto& p) { settings = p.defaults(); });
    return settings;
  }
  /// What the preset makes of the user's quotas.
  template <std::size_t N>
  void adapt(std::vector<quota_spec<N>>& specs) const {
    visit([&](const auto& p) { p.adapt(specs); });
  }
  /// How it treats quotas, as data; see `rules_of`.
  template <std::size_t N>
  [[nodiscard]] quota_rules<N> rules() const {
    quota_rules<N> rules;
    visit_seen([&](const auto& p) { rules = rules_of<N>(p); });
    return rules;
  }
  /// Whether its guard says what is fair between rivals; empty if unknown (see `contradictions`).
  [[nodiscard]] std::optional<bool> judges_rivals() const {
    std::optional<bool> judges;
    visit_policies([&](const auto& parts) { judges = detail::policies_or_default::judges_rivals(parts); });
    return judges;
  }
  /// Its parts, whatever their type. None if the view lacks what the preset orders jobs by.
  template <class View, class Placement>
  [[nodiscard]] any_policies<View, Placement> policies_for() const;

 private:
  /// Calls `f` with the preset as it decides.
  template <class F>
  void visit_seen(F f) const {
    visit([&](auto p) {
      if constexpr (estimating_preset<decltype(p)>) {
        if (sees_estimates_ && !parts_.chooses_any()) p.use_estimates();
      }
      f(std::as_const(p));
    });
  }
  /// Calls `f(policies)` with its own, or with those that are chosen by name.
  template <class F>
  void visit_policies(F f) const {
    visit_seen([&](const auto& p) {
      auto own = policies_of(p);
      if (parts_.chooses_any()) {
        f(selectable_policies{parts_, {}, own.not_preemptible});
      } else {
        f(std::move(own));
      }
    });
  }

  detail::one_of_list<all_presets>::type preset_;
  named_parts parts_{};
  bool sees_estimates_ = false;
};

// Outside the class, so that an `extern template` saves compiling the cycles of all presets again.
template <class View, class Placement>
any_policies<View, Placement> any_preset::policies_for() const {
  std::optional<any_policies<View, Placement>> chosen;
  visit_policies([&](auto parts) {
    if constexpr (job_order<decltype(parts.jobs), View>) {
      chosen.emplace(std::move(parts));
    } else {
      chosen = any_policies<View, Placement>::none("the view does not show what '" + std::string{name} +
                                                   "' orders jobs by: it needs duration(job)");
    }
  });
  return std::move(*chosen);
}

}  // namespace v0
}  // namespace allot

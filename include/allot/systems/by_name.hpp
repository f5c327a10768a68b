// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/presets/options.hpp>
#include <allot/quota/spec.hpp>
#include <allot/scheduler/any_policies.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/systems/catalog.hpp>
#include <allot/systems/detail/selectable.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {

/// The parts of a preset under the given options: what its `configure` returns, if it has options.
template <class P>
[[nodiscard]] typename P::policies_type policies_of(const preset_options& o) {
  if constexpr (configurable_preset<P>) {
    return P::configure(o);
  } else {
    return {};
  }
}
/// Likewise, the settings of quotas that do not specify their own.
template <class P>
[[nodiscard]] queue_settings defaults_of(const preset_options& o) {
  if constexpr (preset_with_optional_defaults<P>) {
    return P::defaults(o);
  } else {
    return P::defaults();
  }
}

namespace detail {

/// Whether its parts can be replaced by name: those that are the defaults of `policies` can.
template <class P>
inline constexpr bool takes_parts = std::is_same_v<typename P::policies_type, policies<>>;

}  // namespace detail

/// A preset selected by name and options at run time: the facade for programs driven by configuration. It is
/// a preset like any other, except that it is a value.
class any_preset {
 public:
  /// Its parts are known at run time only: see `preset`.
  static constexpr bool chosen_at_run_time = true;

  /// Empty if there is no preset with that name.
  [[nodiscard]] static std::optional<any_preset> find(std::string_view wanted,
                                                      const preset_options& options = {}) {
    std::optional<any_preset> found;
    std::size_t index = 0;
    for_each_preset([&](auto p) {
      if (p.name == wanted) found = any_preset{p, index, options};
      ++index;
    });
    return found;
  }

  /// The name by which it was found.
  std::string_view name{};
  /// One line about it, for lists.
  std::string_view summary{};
  /// Whether there is one queue for the whole cluster.
  bool ignores_quotas = false;
  /// Whether the options may select an order or a guard for it.
  bool takes_parts = false;

  /// The settings of quotas that are not configured, under its options.
  [[nodiscard]] queue_settings defaults() const {
    queue_settings settings;
    visit([&](auto p) { settings = defaults_of<decltype(p)>(options_); });
    return settings;
  }
  /// The options that it was found with.
  [[nodiscard]] const preset_options& options() const noexcept { return options_; }
  /// What the preset makes of the user's quotas.
  template <std::size_t N>
  void adapt(std::vector<quota_spec<N>>& specs) const {
    visit([&](auto p) { p.adapt(specs); });
  }
  /// How it treats quotas, as data; see `rules_of`.
  template <std::size_t N>
  [[nodiscard]] quota_rules<N> rules() const {
    quota_rules<N> all{defaults(), ignores_quotas, nullptr};
    visit([&](auto p) { all.adapt = &decltype(p)::template adapt<N>; });
    return all;
  }
  /// Whether its guard says what is fair between rivals; empty if unknown (see `contradictions`).
  [[nodiscard]] std::optional<bool> judges_rivals() const {
    std::optional<bool> judges;
    visit_parts([&](const auto& parts) { judges = detail::judges_rivals_of(parts); });
    return judges;
  }
  /// Its parts, whatever their type. None if the view lacks what the preset orders jobs by.
  template <class View, class Placement>
  [[nodiscard]] any_policies<View, Placement> policies_for() const;

 private:
  template <class P>
  any_preset(P, std::size_t index, const preset_options& options)
      : name(P::name),
        summary(P::summary),
        ignores_quotas(P::ignores_quotas),
        takes_parts(detail::takes_parts<P>),
        options_(options),
        index_(index) {}

  template <class F>
  void visit(F f) const {
    std::size_t index = 0;
    for_each_preset([&](auto p) {
      if (index++ == index_) f(p);
    });
  }
  /// Calls `f(parts)` with its own policies, or with those that the options choose.
  template <class F>
  void visit_parts(F f) const {
    visit([&](auto p) {
      auto own = policies_of<decltype(p)>(options_);
      if (takes_parts && options_.chooses_parts()) {
        f(selectable_policies{options_, {}, own.not_preemptible});
      } else {
        f(std::move(own));
      }
    });
  }

  preset_options options_{};
  std::size_t index_ = 0;
};

// Outside the class, so that an `extern template` saves compiling the cycles of all presets again.
template <class View, class Placement>
any_policies<View, Placement> any_preset::policies_for() const {
  std::optional<any_policies<View, Placement>> chosen;
  visit_parts([&](auto parts) {
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

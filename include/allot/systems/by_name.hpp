// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/presets/options.hpp>
#include <allot/quota/spec.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/systems/catalog.hpp>
#include <allot/systems/detail/selectable.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace allot {
inline namespace v0 {

/// The parts of a preset under some options: what its `configure` says, if it has options.
template <class P>
[[nodiscard]] typename P::policies_type policies_of(const preset_options& o) {
  if constexpr (requires { P::configure(o); }) {
    return P::configure(o);
  } else {
    return {};
  }
}
/// The settings of quotas that do not say otherwise, likewise.
template <class P>
[[nodiscard]] queue_settings defaults_of(const preset_options& o) {
  if constexpr (requires { P::defaults(o); }) {
    return P::defaults(o);
  } else {
    return P::defaults();
  }
}

namespace detail {

template <class P>
using policies_type_of = typename P::policies_type;
/// Of the preset at the same place in the list; the last are parts chosen by name.
template <class... Parts>
using one_of_parts = std::variant<Parts..., selectable_policies>;
using any_parts = all_presets::map<one_of_parts, policies_type_of>;

/// Whether other parts can stand in for its own: those are the ones of `standard`.
template <class P>
inline constexpr bool takes_parts = std::is_same_v<typename P::policies_type, policies<>>;

struct any_job_order {
  any_parts parts{};

  template <job_view View>
  [[nodiscard]] std::int64_t operator()(const View& view, const typename View::job& job,
                                        const queue_settings& of_quota) const {
    return std::visit(
        [&](const auto& p) -> std::int64_t {
          constexpr bool can_be_ordered = job_order<std::remove_cvref_t<decltype(p.jobs)>, View>;
          // NOLINTNEXTLINE(misc-static-assert): which of them it is, is known at run time only
          ALLOT_ASSERT(can_be_ordered, "the view does not show what the preset orders jobs by");
          if constexpr (can_be_ordered) return p.jobs(view, job, of_quota);
          return 0;
        },
        parts);
  }
  [[nodiscard]] bool follows_priority(const queue_settings& of_quota) const {
    return std::visit([&](const auto& p) { return detail::follows_priority(p.jobs, of_quota); }, parts);
  }
};

template <class Session>
class any_cycle {
 public:
  template <class AnyPolicies>
  explicit any_cycle(const AnyPolicies& chosen) {
    make(chosen.jobs.parts, std::make_index_sequence<std::variant_size_v<any_parts>>{});
  }
  void reset(Session& session) {
    visit([&](auto& cycle) { cycle.reset(session); });
  }
  void run(Session& session) {
    visit([&](auto& cycle) { cycle.run(session); });
  }
  template <class Hold>
  void explain(Session& session, Hold& h) {
    visit([&](auto& cycle) {
      if constexpr (requires { cycle.explain(session, h); }) {
        cycle.explain(session, h);
      } else {
        session.explain(h);
      }
    });
  }

 private:
  template <class P>
  using cycle_of = typename P::policies_type::template cycle<Session>;
  template <class... Cycles>
  using one_of =
      std::variant<std::monostate, Cycles..., typename selectable_policies::template cycle<Session>>;

  template <std::size_t... I>
  void make(const any_parts& parts, std::index_sequence<I...>) {
    ((parts.index() == I ? void(cycle_.template emplace<I + 1>(*std::get_if<I>(&parts))) : void()), ...);
  }
  template <class F>
  void visit(F f) {
    std::visit(
        [&](auto& cycle) {
          if constexpr (!std::is_same_v<decltype(cycle), std::monostate&>) f(cycle);
        },
        cycle_);
  }

  all_presets::map<one_of, cycle_of> cycle_;
};

}  // namespace detail

/// The policies of one of the presets, chosen at run time: one type, so that what is built upon a scheduler
/// needs to be compiled only once.
struct any_policies {
  template <class Session>
  using cycle = detail::any_cycle<Session>;

  detail::any_job_order jobs{};
  lane not_preemptible = lane::any;

  [[nodiscard]] bool judges_rivals() const {
    const auto* chosen = std::get_if<selectable_policies>(&jobs.parts);
    return chosen != nullptr && chosen->judges_rivals();
  }
};

/// A preset that is chosen by its name, with what options say, at run time: the facade for programs that are
/// configured. A preset like any other, but for being a value.
class any_preset {
 public:
  using policies_type = any_policies;

  /// Nothing when there is no preset of that name.
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

  std::string_view name{};
  std::string_view summary{};
  bool ignores_quotas = false;
  /// Whether the options may choose an order or a guard for it.
  bool takes_parts = false;

  [[nodiscard]] queue_settings defaults() const {
    queue_settings settings;
    visit([&](auto p) { settings = defaults_of<decltype(p)>(options_); });
    return settings;
  }
  [[nodiscard]] const preset_options& options() const noexcept { return options_; }
  template <std::size_t N>
  void adapt(std::vector<quota_spec<N>>& specs) const {
    visit([&](auto p) { p.adapt(specs); });
  }
  template <std::size_t N>
  [[nodiscard]] quota_rules<N> rules() const {
    quota_rules<N> all{defaults(), ignores_quotas, nullptr};
    visit([&](auto p) { all.adapt = &decltype(p)::template adapt<N>; });
    return all;
  }
  [[nodiscard]] any_policies policies() const {
    any_policies chosen;
    make(chosen, std::make_index_sequence<all_presets::size>{}, all_presets{});
    return chosen;
  }

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
  template <std::size_t... I, class... Presets>
  void make(any_policies& chosen, std::index_sequence<I...>, preset_list<Presets...>) const {
    const auto take = [&](auto place, auto parts) {
      chosen.not_preemptible = parts.not_preemptible;
      if (takes_parts && options_.chooses_parts()) {
        chosen.jobs.parts = selectable_policies{options_, {}, parts.not_preemptible};
      } else {
        chosen.jobs.parts.template emplace<decltype(place)::value>(std::move(parts));
      }
    };
    ((I == index_ ? take(std::integral_constant<std::size_t, I>{}, policies_of<Presets>(options_)) : void()),
     ...);
  }

  preset_options options_{};
  std::size_t index_ = 0;
};

}  // namespace v0
}  // namespace allot

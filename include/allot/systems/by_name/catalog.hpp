// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/presets/hyperpod.hpp>
#include <allot/presets/pai.hpp>
#include <allot/presets/single_queue.hpp>
#include <allot/presets/standard.hpp>
#include <allot/presets/static_quotas.hpp>
#include <allot/systems/kai/runai.hpp>
#include <allot/systems/kueue/kueue.hpp>
#include <allot/systems/kueue/kueue_fair.hpp>

#include <cstddef>
#include <string_view>

namespace allot {
inline namespace v0 {

/// A list of types of presets.
template <class... Presets>
struct preset_list {
  /// The number of presets.
  static constexpr std::size_t size = sizeof...(Presets);
  /// `Target<F<P>...>` for the presets `P`.
  template <template <class...> class Target, template <class> class F>
  using map = Target<F<Presets>...>;
};

/// All presets, in listing order.
using all_presets = preset_list<standard, static_quotas, pai, runai, hyperpod, kueue, kueue_fair, fifo, sjf,
                                easy, conservative>;

namespace detail {
template <class Visit, class... Presets>
constexpr void for_each(Visit visit, preset_list<Presets...>) {
  (visit(Presets{}), ...);
}
}  // namespace detail

/// Calls `visit(P{})` for every preset, in listing order.
template <class Visit>
constexpr void for_each_preset(Visit visit) {
  detail::for_each(visit, all_presets{});
}

/// Calls `visit(P{})` for the preset with that name; returns whether there is one. `visit` is instantiated
/// for every preset; `any_preset` chooses at run time.
template <class Visit>
constexpr bool with_preset(std::string_view name, Visit visit) {
  bool found = false;
  for_each_preset([&](auto p) {
    if (p.name == name) {
      found = true;
      visit(p);
    }
  });
  return found;
}

}  // namespace v0
}  // namespace allot

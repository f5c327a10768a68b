// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/lab/dimensions.hpp>
#include <allot/lab/own_policy.hpp>
#include <allot/quota/spec.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/scheduler/view.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/places.hpp>
#include <allot/systems/by_name/any_preset.hpp>

#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// A policy by its name: a preset of the library (`any_preset`), or one that was added to the program
/// (`add_policy`). It is a preset, except that it is a value.
class named_policy {
 public:
  /// Its parts are known at run time only: see `preset`.
  static constexpr bool chosen_at_run_time = true;

  /// Empty if there is no policy with that name.
  [[nodiscard]] static std::optional<named_policy> find(std::string_view wanted);
  /// A preset of the library.
  explicit named_policy(any_preset preset)
      : name(preset.name),
        summary(preset.summary),
        ignores_quotas(preset.ignores_quotas),
        takes_parts(preset.takes_parts),
        preset_(std::move(preset)) {}
  /// One that was added, which must outlive this.
  explicit named_policy(const own_policy& own)
      : name(own.name),
        summary(own.summary),
        ignores_quotas(own.ignores_quotas),
        takes_parts(own.takes_parts),
        own_(&own) {}

  /// @{
  /// As in `any_preset`.
  std::string_view name{};
  std::string_view summary{};
  bool ignores_quotas = false;
  bool takes_parts = false;
  [[nodiscard]] queue_settings defaults() const {
    // What it has not been told to use there is none of.
    return with_head(
        own_ == nullptr ? preset_->defaults() : own_->defaults(sees_estimates_ && !parts_.chooses_any()), {});
  }
  void use_estimates() noexcept {
    sees_estimates_ = true;
    if (preset_) preset_->use_estimates();
  }
  [[nodiscard]] std::optional<bool> judges_rivals() const;
  [[nodiscard]] bool choose(const named_parts& parts);
  /// @}
  /// What it makes of the user's quotas. N is 1 or `max_resources`, as in all that follows.
  template <std::size_t N>
  void adapt(std::vector<quota_spec<N>>& specs) const {
    own_ == nullptr ? preset_->adapt(specs) : sized<N>().adapt(specs);
  }
  /// How it treats quotas, as data; see `rules_of`.
  template <std::size_t N>
  [[nodiscard]] quota_rules<N> rules() const {
    if (own_ == nullptr) return preset_->template rules<N>();
    return {defaults(), ignores_quotas, sized<N>().adapt};
  }
  /// Its parts, whatever their type, for the workloads of a simulation.
  template <class View, class Placement>
  [[nodiscard]] any_policies<View, Placement> policies_for() const;
  /// The preset of the library, whose options can be set there; null if it was added.
  [[nodiscard]] any_preset* preset() noexcept { return preset_ ? &*preset_ : nullptr; }
  /// The policy that was added; null if it is a preset of the library.
  [[nodiscard]] const own_policy* own() const noexcept { return own_; }

 private:
  template <std::size_t N>
  [[nodiscard]] const own_policy::sized<N>& sized() const {
    static_assert(N == 1 || N == max_resources,
                  "allot: the lab is compiled for 1 resource and for max_resources");
    if constexpr (N == 1) {
      return own_->one;
    } else {
      return own_->many;
    }
  }

  /// Those chosen for a policy that was added.
  named_parts parts_{};
  std::optional<any_preset> preset_{};
  const own_policy* own_ = nullptr;
  bool sees_estimates_ = false;
};

/// All policies that have a name: the presets of the library, then those that were added, in that order.
[[nodiscard]] vector<named_policy> all_policies();

// Outside the class, so that an `extern template` saves compiling the cycles of all presets again.
template <class View, class Placement>
any_policies<View, Placement> named_policy::policies_for() const {
  if (own_ == nullptr) return preset_->template policies_for<View, Placement>();
  const auto& compiled = sized<dimensions<View>>();
  auto parts = compiled.make(sees_estimates_);
  if (!parts_.chooses_any()) return parts;
  return any_policies<View, Placement>{selectable_policies{parts_, {}, parts.not_preemptible}};
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

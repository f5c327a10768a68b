// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/preset.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string_view>
#include <vector>

// Not in an unnamed namespace: clang would warn about the archetype's unused members.
namespace preset_archetypes {

/// Exactly what is required and no more: an archetype.
struct least {
  static constexpr const char* name = "least";
  static constexpr const char* summary = "nothing in particular";
  static constexpr bool ignores_quotas = false;
  using policies_type = allot::policies<>;
  static allot::queue_settings defaults() { return {}; }
  static void adapt(std::vector<allot::quota_spec<1>>&) {}
};
static_assert(allot::preset<least>);

// Counterexamples: each lacks one thing.
struct nameless {
  static constexpr std::string_view summary = "";
  static constexpr bool ignores_quotas = false;
  using policies_type = allot::policies<>;
  static allot::queue_settings defaults() { return {}; }
  static void adapt(std::vector<allot::quota_spec<1>>&) {}
};
struct without_policies {
  static constexpr std::string_view name = "";
  static constexpr std::string_view summary = "";
  static constexpr bool ignores_quotas = false;
  static allot::queue_settings defaults() { return {}; }
  static void adapt(std::vector<allot::quota_spec<1>>&) {}
};
struct adapts_nothing {
  static constexpr std::string_view name = "";
  static constexpr std::string_view summary = "";
  static constexpr bool ignores_quotas = false;
  using policies_type = allot::policies<>;
  static allot::queue_settings defaults() { return {}; }
};
struct other_settings : least {
  static allot::preempt_settings defaults() { return {}; }
};
static_assert(!allot::preset<nameless>);
static_assert(!allot::preset<without_policies>);
static_assert(!allot::preset<adapts_nothing>);
static_assert(!allot::preset<other_settings>);
static_assert(!allot::preset<int>);

}  // namespace preset_archetypes

namespace {

/// A preset with an option that changes its parts.
struct patient : preset_archetypes::least {
  std::size_t budget = 7;
  [[nodiscard]] allot::policies<> policies() const { return {.search_budget = budget}; }
};

}  // namespace

TEST_CASE("preset: its options change its parts and nothing else") {
  CHECK(allot::policies_of(preset_archetypes::least{}).search_budget == allot::policies<>{}.search_budget);
  CHECK(allot::policies_of(patient{}).search_budget == 7);
  CHECK(allot::policies_of(patient{{}, 9}).search_budget == 9);
  CHECK(allot::rules_of<1>(patient{}).defaults == allot::rules_of<1>(preset_archetypes::least{}).defaults);
}

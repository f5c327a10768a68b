// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/preset.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {

namespace detail {

/// One strict queue without preemption.
inline constexpr queue_settings single_queue{
    queue_order::fifo,
    queue_head::strict,
    {.within = preempt_within::never, .reclaim = preempt_reclaim::never, .children = false}};

}  // namespace detail

/// First come, first served over the whole cluster; the first job that does not fit blocks all behind it.
struct fifo {
  /// @{
  /// What the concept `preset` asks for.
  static constexpr std::string_view name = "fifo";
  static constexpr std::string_view summary = "one queue by submission, blocked by its head; no quotas";
  static constexpr bool ignores_quotas = true;

  using policies_type = policies<best_job_first>;

  [[nodiscard]] static constexpr queue_settings defaults() noexcept { return detail::single_queue; }
  template <std::size_t N>
  static void adapt(std::vector<quota_spec<N>>&) {}
  /// @}
};
static_assert(preset<fifo>);

/// Shortest job first, by the duration in the trace; blocked by its head like `fifo`.
struct sjf {
  /// @{
  /// What the concept `preset` asks for.
  static constexpr std::string_view name = "sjf";
  static constexpr std::string_view summary = "one queue by duration, blocked by its head; no quotas";
  static constexpr bool ignores_quotas = true;

  using policies_type = policies<best_job_first, shortest_first>;

  [[nodiscard]] static constexpr queue_settings defaults() noexcept { return detail::single_queue; }
  template <std::size_t N>
  static void adapt(std::vector<quota_spec<N>>&) {}
  /// @}
};
static_assert(preset<sjf>);

}  // namespace v0
}  // namespace allot

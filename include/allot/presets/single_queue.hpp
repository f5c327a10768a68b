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

/// EASY backfilling (Lifka 1995) over the whole cluster: the first job that does not fit gets a reservation,
/// and later ones start if they fit and do not delay it. The view has to show estimates. Options:
/// `reservations` gives more than the first job one, `backfill` the order of the others.
struct easy {
  /// @{
  /// What the concept `preset` asks for.
  static constexpr std::string_view name = "easy";
  static constexpr std::string_view summary =
      "one queue by submission; later jobs pass if they do not delay its head; no quotas";
  static constexpr bool ignores_quotas = true;

  using policies_type = policies<best_job_first>;

  /// How many jobs hold a reservation at once; 0: none, which is `fifo`.
  std::uint32_t reservations = 1;
  /// The order in which the others are tried.
  backfill_order backfill = backfill_order::queue;

  [[nodiscard]] constexpr queue_settings defaults() const noexcept {
    return with_reservations(detail::single_queue, reservations, backfill);
  }
  template <std::size_t N>
  static void adapt(std::vector<quota_spec<N>>&) {}
  /// @}
};
static_assert(preset<easy>);

/// Conservative backfilling over the whole cluster: every job that does not fit gets a reservation on
/// arrival, and later ones start if they delay none. Reservations become earlier when jobs end before they
/// are expected to. The view has to show estimates.
struct conservative {
  /// @{
  /// What the concept `preset` asks for.
  static constexpr std::string_view name = "conservative";
  static constexpr std::string_view summary =
      "one queue by submission; later jobs pass if they delay no reservation; no quotas";
  static constexpr bool ignores_quotas = true;

  using policies_type = policies<best_job_first>;

  [[nodiscard]] static constexpr queue_settings defaults() noexcept {
    return with_reservations(detail::single_queue, reserve_all, backfill_order::queue);
  }
  template <std::size_t N>
  static void adapt(std::vector<quota_spec<N>>&) {}
  /// @}
};
static_assert(preset<conservative>);

}  // namespace v0
}  // namespace allot

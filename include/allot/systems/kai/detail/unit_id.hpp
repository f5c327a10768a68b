// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace allot {
inline namespace v0 {
namespace detail {

/// A unit that a cycle decides on: a job or an elastic pod, which the session knows, or an extra pod, which
/// only the cycle does (see `extra_pods`). An extra pod has a number and no job id, and there is no way from
/// one to the other, so that neither is taken for the other as an index.
class unit_id {
 public:
  constexpr unit_id() noexcept = default;
  /// Not explicit: each job is a unit.
  constexpr unit_id(job_id job) noexcept : job_(job) {}
  [[nodiscard]] static constexpr unit_id extra(std::size_t number) noexcept {
    unit_id made;
    made.extra_ = static_cast<std::uint32_t>(number);
    return made;
  }
  /// That of a record. The record of an extra pod has no id: its ticket, as it stays in no queue, is its
  /// number.
  template <class Record>
  [[nodiscard]] static constexpr unit_id of(const Record& r) noexcept {
    return r.facts.id ? unit_id{r.facts.id} : extra(r.ticket);
  }

  [[nodiscard]] constexpr bool is_extra() const noexcept { return extra_ != none; }
  /// Precondition: it is no extra pod.
  [[nodiscard]] constexpr job_id job() const {
    ALLOT_ASSERT(!is_extra(), "an extra pod is no job of the session");
    return job_;
  }
  /// Precondition: it is an extra pod.
  [[nodiscard]] constexpr std::size_t number() const {
    ALLOT_ASSERT(is_extra(), "a job of the session is no extra pod");
    return extra_;
  }

  friend constexpr bool operator==(const unit_id&, const unit_id&) noexcept = default;

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  job_id job_{};
  std::uint32_t extra_ = none;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

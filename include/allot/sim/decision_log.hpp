// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/sim/hash.hpp>
#include <allot/sim/job.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace sim {

/// What was decided about a job.
enum class decision_kind : std::uint64_t { admitted = 1, evicted, grown, shrunk };
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(decision_kind value) noexcept {
  switch (value) {
    case decision_kind::admitted:
      return "admitted";
    case decision_kind::evicted:
      return "evicted";
    case decision_kind::grown:
      return "grown";
    case decision_kind::shrunk:
      return "shrunk";
  }
  return "";
}

/// Counts the decisions of a simulation, and keeps a fingerprint of all of them in order: two runs with the
/// same fingerprint have decided the same.
class decision_log {
 public:
  /// Records a decision.
  void note(instant now, decision_kind what, job_index j) noexcept {
    ++count_;
    hash_.add(now);
    hash_.add(static_cast<std::uint64_t>(what));
    hash_.add(std::uint64_t{j});
  }

  /// The number of decisions.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// The fingerprint of all decisions, in order.
  [[nodiscard]] const fingerprint& hash() const noexcept { return hash_; }

 private:
  fingerprint hash_;
  std::uint64_t count_ = 0;
};

/// The instants at which a policy was stopped in a livelock: see `livelock_detector`.
struct livelocks_seen {
  /// How many such instants there were.
  std::uint64_t instants = 0;
  /// The first of them, and a job that was evicted again and again there, if that was the reason; meaningless
  /// if there was none.
  instant first = 0;
  /// The job that was evicted again and again at the first of them, if that was the reason.
  std::optional<job_index> job{};
};

}  // namespace sim
}  // namespace v0
}  // namespace allot

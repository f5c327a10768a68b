// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// The progress of a simulation.
struct simulated_so_far {
  instant now = 0;
  std::size_t jobs = 0;
  std::size_t jobs_ended = 0;
  std::uint64_t events = 0;
  /// The time at which it will stop, if known.
  std::optional<instant> until{};
};

/// "day 12 of 61, 23,411 of 53,069 jobs done, 810,000 events/s, 0:04 left". The time left is estimated from
/// the part of the jobs that have ended, or of the time until the simulation stops, whichever is larger.
[[nodiscard]] std::string progress_text(const simulated_so_far& so_far, std::chrono::milliseconds elapsed);

/// "0:04", "1:02:03".
[[nodiscard]] std::string shown_span(std::chrono::milliseconds span);

/// One line on a terminal that is updated in place; nothing if standard error is not a terminal. Nothing is
/// shown in the first half second.
class status_line {
 public:
  /// `wanted`: whether it may be shown.
  explicit status_line(bool wanted = true);
  status_line(const status_line&) = delete;
  status_line& operator=(const status_line&) = delete;
  ~status_line() { clear(); }

  [[nodiscard]] bool is_shown() const noexcept { return is_shown_; }
  /// Whether it is time to update it; reads the clock.
  [[nodiscard]] bool is_due() noexcept;
  [[nodiscard]] std::chrono::milliseconds elapsed() const noexcept { return elapsed_; }
  void show(const std::string& text);
  /// Removes it, so that something else can be written.
  void clear() noexcept;

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::milliseconds elapsed_{0};
  std::chrono::milliseconds shown_at_;
  bool is_shown_;
  bool has_shown_ = false;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace allot_governor {

/// A text that may come from a user, so that a line stays a line: as it is if it is plain, else in quotes,
/// with everything but printable ASCII as \xNN.
[[nodiscard]] std::string escaped(std::string_view text);

/// "2026-11-23T21:14:05", in local time.
[[nodiscard]] std::string time_text(std::int64_t ms);

/// One line a decision: `TIME word key=value ...`.
class decision_log {
 public:
  using fields = std::initializer_list<std::pair<std::string_view, std::string>>;
  using sink = std::function<void(const std::string& line)>;

  explicit decision_log(sink to) : to_(std::move(to)) {}

  void set_time(std::int64_t ms) { now_ = ms; }
  /// Values are escaped, and left out if they are empty.
  void operator()(std::string_view word, fields values);
  /// The last lines, oldest first.
  [[nodiscard]] const std::deque<std::string>& last() const noexcept { return last_; }

 private:
  static constexpr std::size_t most_kept = 50;

  sink to_;
  std::int64_t now_ = 0;
  std::deque<std::string> last_;
};

/// Calls to the host that failed: each is logged, once for each reason.
class failed_calls {
 public:
  void log(decision_log& to, std::string_view word, std::string_view call, const std::string& why);

 private:
  static constexpr std::size_t most_told = 100;

  std::set<std::string> told_;
};

}  // namespace allot_governor

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// The forms that `read_time` accepts, for messages.
inline constexpr std::string_view time_forms = R"(seconds, or a time such as "3d", "12h30m" or "1.5h")";

/// Parses a span of time, exact to a millisecond: a number of seconds ("90", "0.5"), or numbers with the
/// units d, h, m, s and ms, larger units first and each once ("3d", "12h30m"). Returns nullopt if the text is
/// not of this form, or the time is negative or more than 10^12 seconds.
[[nodiscard]] std::optional<instant> read_time(std::string_view text);

/// A span of time in a form that `read_time` accepts, without loss: "3d", "12h30m", "0s". Precondition: it is
/// not negative.
[[nodiscard]] std::string time_text(instant span);

/// A point in simulated time as text: "day 3, 12:30:00".
[[nodiscard]] std::string clock_time(instant at);

}  // namespace lab
}  // namespace v0
}  // namespace allot

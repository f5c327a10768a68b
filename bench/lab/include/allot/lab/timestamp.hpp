// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>

#include <optional>
#include <string>
#include <string_view>

// Dates and times of day as traces and Kubernetes write them, as milliseconds since 1970-01-01 0:00 UTC.

namespace allot {
inline namespace v0 {
namespace lab {

/// All of `text` as a point in time, or nothing if it is not one: "2017-10-09 07:01:55", "2023-03-01
/// 00:18:22+08:00", "2024-05-06T07:08:09.123456Z", "2020-06-09". UTC if there is no offset. Anything finer
/// than a millisecond is cut off.
[[nodiscard]] std::optional<instant> parse_timestamp(std::string_view text) noexcept;

/// "2017-10-09 07:01:55" for a time in UTC, with milliseconds if there are any. `parse_timestamp` reads it
/// back. Precondition: years 0 to 9999.
[[nodiscard]] std::string to_timestamp(instant t);

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
//
// What operators ask of a governor that runs, as files in its directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace allot_governor {

/// Nobody is evicted. Times are milliseconds since 1970.
struct freeze_order {
  std::int64_t since = 0;
  std::optional<std::int64_t> until{};
  /// Who has asked for it, and why.
  std::string by{};
  std::string why{};

  friend bool operator==(const freeze_order&, const freeze_order&) = default;
};
inline constexpr const char* freeze_file = "freeze";
[[nodiscard]] std::string freeze_text(const freeze_order& f);
/// A file that can't be read is an order, too: it is safer to evict nobody.
[[nodiscard]] freeze_order parse_freeze(std::string_view text);
/// "it is frozen since ... until ... by ...: why", with every character that is not plain escaped.
[[nodiscard]] std::string sentence(const freeze_order& f);

/// "90s", "30m", "2h" or "1d" in milliseconds, up to 365 days; none if it is something else.
[[nodiscard]] std::optional<std::int64_t> parse_span(std::string_view text);

/// The name of the file that asks to start a job begins with this; its id follows, and who asks is in it.
inline constexpr std::string_view start_prefix = "start-";

}  // namespace allot_governor

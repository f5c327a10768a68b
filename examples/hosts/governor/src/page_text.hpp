// SPDX-License-Identifier: BSL-1.0
//
// What the parts of the page write alike.
#pragma once

#include "governor/src/snapshot.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace allot_governor {

/// A text of a user: of one line, nothing in it is markup, and not too long.
[[nodiscard]] std::string html(std::string_view text, std::size_t most = 60);

/// "1 job", "3 jobs".
[[nodiscard]] std::string plural(std::size_t n, std::string_view what);

/// "14:22:05" if that is today, else with its date.
[[nodiscard]] std::string clock_text(milliseconds at, milliseconds now);

/// The colours of quotas: those of Okabe and Ito, which people with any colour vision can tell apart, and two
/// more, as in the reports of the program allot. The last is for everything else.
inline constexpr std::size_t most_colours = 8;

/// If there are more quotas than colours, those below one share its colour.
struct quota_colours {
  /// By quota.
  std::vector<std::size_t> of{};
  /// By colour, the name of the quota.
  std::vector<std::string> names{};
};
[[nodiscard]] quota_colours colours_of(const snapshot& s);

}  // namespace allot_governor

// SPDX-License-Identifier: BSL-1.0
//
// What a governor remembers, in one small file. It is replaced as a whole, so it is there or it is the old
// one.
#pragma once

#include "governor/src/memory.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace allot_governor {

/// Whether both say the same of what is decided: past usage, and the order of those that wait, change all the
/// time.
[[nodiscard]] bool decides_the_same(const memory& a, const memory& b);

/// The text of the file: one line of JSON, and a line with its checksum.
[[nodiscard]] std::string journal_text(const memory& m, const std::string& cluster, std::int64_t now);

/// What the text says, or why it is not used.
struct journal_reading {
  std::optional<memory> value{};
  std::string problem{};
};
/// Older than a day, or of another cluster: it is not used.
[[nodiscard]] journal_reading parse_journal(const std::string& text, const std::string& cluster,
                                            std::int64_t now);

}  // namespace allot_governor

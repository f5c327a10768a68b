// SPDX-License-Identifier: BSL-1.0
//
// The log of all that the scheduler was told, and of its plans: lines of JSON that replay to the same plans.
#pragma once

#include "governor/src/engine.hpp"

#include <allot/core/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace allot_governor {

/// The beginning of a scheduler: its configuration and its machines.
[[nodiscard]] std::string to_json(const engine_setup& setup);
/// With the answer of the scheduler, if it refused.
[[nodiscard]] std::string to_json(const event& e, std::string_view why_not);
/// A cycle at `now`, and its plan.
[[nodiscard]] std::string to_json(const decision& d, std::int64_t now);

struct logged_event {
  event what{};
  /// Why the scheduler refused it; empty: it did not.
  std::string refused{};
};
struct logged_cycle {
  allot::instant now = 0;
};
/// A line: the beginning of a scheduler, something that it was told, or a cycle.
using logged_line = std::variant<engine_setup, logged_event, logged_cycle>;
/// Throws if it can't be read. `config_text` replaces the configuration of the log, if there is one.
[[nodiscard]] logged_line parse_line(const std::string& line, const std::optional<std::string>& config_text);

}  // namespace allot_governor

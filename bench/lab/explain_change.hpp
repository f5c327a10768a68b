// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/errors.hpp"
#include "lab/scenario.hpp"

#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/plan.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// What is otherwise with changes of a scenario than without them (`allot::explain_change`), by the names of
/// the scenario.
struct change_story {
  struct job {
    std::string id;
    std::string quota;
    /// Where it starts.
    vector<std::string> nodes{};
    /// When it starts at the latest, without the changes and with them; `without_end`: not known.
    instant was_start = without_end;
    instant start = without_end;
    /// Why it waits, without the changes and with them.
    pending_reason was = pending_reason::not_waiting;
    pending_reason is = pending_reason::not_waiting;
    /// The latter as a sentence.
    std::string text{};
  };
  /// The lists of `explained_change::effects`, by the names that they have in the JSON and in the text.
  static constexpr std::size_t lists = 9;
  static constexpr std::array<std::string_view, lists> names = {
      "started", "not_started", "evicted", "not_evicted", "grown", "shrunk", "sooner", "later", "waits"};

  std::array<vector<job>, lists> jobs{};
  bool at_rest = true;
};

/// What the changes would make of all that is decided at once on the jobs of the scenario. A change is
/// "quota:NAME:gpu+8" (or -8) of what it owns, "job:NAME:priority=5", "job:NAME:gone" or "node:NAME:gone".
/// Returns nullopt and adds the reason to `found` if a change names nothing, or the scenario is wrong with
/// them.
[[nodiscard]] std::optional<change_story> explain_changes(const scenario& s,
                                                          std::span<const std::string> changes,
                                                          errors& found);

/// For people.
[[nodiscard]] std::string to_text(const change_story& story);
/// For programs.
[[nodiscard]] std::string to_json(const change_story& story, std::span<const std::string> changes);

}  // namespace lab
}  // namespace v0
}  // namespace allot

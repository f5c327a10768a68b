// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/replay_files.hpp>

#include "lab/replay/replay.hpp"

#include <optional>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

int replay_to_files(const replay_input& input, const std::string& out, bool replace) {
  const auto given = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional<std::string>{text};
  };
  if (input.scenario.empty() && (input.trace.empty() || input.nodes.empty())) {
    return complain("expected a scenario, or a trace and nodes");
  }
  replay_options options;
  options.source.file = given(input.scenario);
  options.source.trace = given(input.trace);
  options.source.nodes = given(input.nodes);
  options.source.policy = given(input.policy);
  options.out = out;
  options.force = replace;
  return replay(options);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/scenario/scenario.hpp"

#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// The initial quotas of a scenario as a DOT graph for GraphViz: each with its nominal, limits and weights.
[[nodiscard]] std::string draw_quotas(const scenario& s);
/// The nodes of a scenario with the domains of its topology around them. Precondition: there are nodes.
[[nodiscard]] std::string draw_topology(const scenario& s);

/// `allot draw`.
struct draw_options {
  scenario_source source{};
  /// The topology instead of the quotas.
  bool topology = false;
  /// "-" is standard output.
  std::string out = "-";
  /// The file may be replaced.
  bool force = false;
};
/// Returns the exit status: 0, or 2 with all errors on standard error; then nothing is written.
[[nodiscard]] int run_draw(const draw_options& options);

}  // namespace lab
}  // namespace v0
}  // namespace allot

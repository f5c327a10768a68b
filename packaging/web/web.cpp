// SPDX-License-Identifier: BSL-1.0
// What the page calls, in WebAssembly: the lab's replay, with the simulator for one resource and the presets
// that the page offers. It reads and writes files, as the program `allot` does; here they are in memory.
#include "lab/replay/few_presets.hpp"
#include "lab/replay/replay.hpp"

#include <allot/systems/kai/runai.hpp>
#include <allot/systems/kueue/kueue_fair.hpp>

#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

few_policies few_presets(std::string_view name, bool sees_estimates) {
  if (name == standard::name) return standard_of_few(sees_estimates);
  if (name == static_quotas::name) return few_policies{policies<>{}};
  if (name == kueue_fair::name) return few_policies{policies_of(kueue_fair{})};
  if (name == runai::name) return few_policies{policies_of(runai{})};
  return few_policies::none(
      "the page has the presets standard, static_quotas, kueue_fair and runai; the program allot has all");
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

/// Replays a scenario file into a directory, in place of what an earlier call left there: jobs.csv,
/// summary.json, report.html and the rest, as `allot replay SCENARIO --policy POLICY --out DIRECTORY
/// --force`. Returns the exit status of that; what is wrong goes to standard error.
extern "C" int allot_replay(const char* scenario, const char* policy, const char* directory);

int allot_replay(const char* scenario, const char* policy, const char* directory) {
  allot::lab::replay_options o;
  o.source.file = scenario;
  o.source.policy = policy;
  o.out = directory;
  o.force = true;
  return allot::lab::replay(o);
}

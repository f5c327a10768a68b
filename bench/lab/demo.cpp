// SPDX-License-Identifier: BSL-1.0
// What `./dev demo` runs: the commands of the program `allot` that it needs, with the simulator for one
// resource and two presets only. The whole simulator takes minutes to compile.
#include "lab/replay/few_presets.hpp"
#include "lab/replay/replay.hpp"
#include "lab/sweep/compare.hpp"
#include "lab/workload/generate.hpp"

#include <cstdio>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

few_policies few_presets(std::string_view name, bool sees_estimates) {
  if (name == standard::name) return standard_of_few(sees_estimates);
  if (name == static_quotas::name) return few_policies{policies<>{}};
  return few_policies::none("the demo has the presets standard and static_quotas; the program allot has all");
}

namespace {

/// The exit status.
int run(int count, const char* const* arguments) {
  const std::string_view command = count > 1 ? arguments[1] : "";
  if (command == "generate" && count == 3) {
    generate_options o;
    o.model = "teams";
    o.days = 14;
    o.estimates = "tsafrir";
    o.out = arguments[2];
    return generate(o);
  }
  if (command == "replay" && count == 6) {
    replay_options o;
    o.source.file = arguments[2];
    o.source.trace = arguments[3];
    o.source.policy = arguments[4];
    o.out = arguments[5];
    return replay(o);
  }
  if (command == "compare" && count == 4) {
    compare_options o;
    o.runs = {arguments[2], arguments[3]};
    return compare(o);
  }
  std::fputs("what ./dev demo runs: generate TRACE | replay SCENARIO TRACE POLICY OUT | compare OUT OUT\n",
             stderr);
  return 2;
}

}  // namespace
}  // namespace lab
}  // namespace v0
}  // namespace allot

int main(int count, char** arguments) {
  return allot::lab::run(count, arguments);
}

// SPDX-License-Identifier: BSL-1.0
// What `./dev demo` runs: the commands of the program `allot` that it needs, with the simulator for one
// resource and two presets only. The whole simulator takes minutes to compile.
#include "lab/replay/replay.hpp"
#include "lab/replay/replay_run.hpp"
#include "lab/sweep/compare.hpp"
#include "lab/workload/generate.hpp"

#include <allot/lab/metrics/metrics.hpp>
#include <allot/lab/named_policy.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/sim/simulator.hpp>
#include <allot/systems/by_name/any_preset.hpp>

#include <cstdio>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {

template <>
any_policies<sim::workload_view<1>, sim::places> lab::named_policy::policies_for() const {
  using chosen = any_policies<sim::workload_view<1>, sim::places>;
  if (name == standard::name) {
    const standard by;
    return chosen{policies_of(sees_estimates_ ? as_seen_by<sim::workload_view<1>, sim::places>(by) : by)};
  }
  if (name == static_quotas::name) return chosen{policies<>{}};
  return chosen::none("the demo has the presets standard and static_quotas; the program allot has all");
}

}  // namespace v0
}  // namespace allot

// After the policies, which are not those of the program.
#include <allot/lab/simulators.hpp>

namespace allot {
inline namespace v0 {

// Both have parts of the default type.
template lab::workload_policies<1>::any_policies(policies<>);
template class scheduler<sim::workload_view<1>, sim::places,
                         any_policies<sim::workload_view<1>, sim::places>>;
template class sim::simulator<1>;
template result<sim::simulator<1>> sim::simulator<1>::make(sim::setup<1>, const lab::named_policy&);
template class lab::metrics<1>;

namespace lab {

template <>
replay_stop run_replay<max_resources>(scenario&, const replay_streams&, replay_result&,
                                      const replay_control&) {
  replay_stop stop;
  stop.found.add({}, {}, "the demo has one resource; the program allot has more");
  return stop;
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

// SPDX-License-Identifier: BSL-1.0
// The simulator for programs with one resource and a few presets. The whole simulator takes minutes to
// compile and is most of the program `allot`. One file of such a program includes this header, before what
// uses the simulator, and defines `few_presets`; the program links the lab without what is compiled for all
// presets.
#pragma once

#include "lab/replay/replay_run.hpp"

#include <allot/lab/metrics/metrics.hpp>
#include <allot/lab/named_policy.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/sim/simulator.hpp>
#include <allot/systems/by_name/any_preset.hpp>

#include <string_view>

namespace allot {
inline namespace v0 {

namespace lab {

using few_policies = any_policies<sim::workload_view<1>, sim::places>;
/// The parts of that preset, or `few_policies::none` with a message. The program defines it.
[[nodiscard]] few_policies few_presets(std::string_view name, bool sees_estimates);
/// `standard`, which looks at estimates when jobs have any.
[[nodiscard]] inline few_policies standard_of_few(bool sees_estimates) {
  const standard by;
  return few_policies{policies_of(sees_estimates ? as_seen_by<sim::workload_view<1>, sim::places>(by) : by)};
}

}  // namespace lab

template <>
lab::few_policies lab::named_policy::policies_for() const {
  return few_presets(name, sees_estimates_);
}

}  // namespace v0
}  // namespace allot

// After the policies, which are not those of the program `allot`.
#include <allot/lab/simulators.hpp>

namespace allot {
inline namespace v0 {

// standard and static_quotas have parts of the default type.
template lab::workload_policies<1>::any_policies(policies<>);
template class scheduler<sim::workload_view<1>, sim::places, lab::few_policies>;
template class sim::simulator<1>;
template result<sim::simulator<1>> sim::simulator<1>::make(sim::setup<1>, const lab::named_policy&);
template class lab::metrics<1>;

namespace lab {

template <>
replay_stop run_replay<max_resources>(scenario&, const replay_streams&, replay_result&,
                                      const replay_control&) {
  replay_stop stop;
  stop.found.add({}, {}, "this program has one resource; the program allot has more");
  return stop;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

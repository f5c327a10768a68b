// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/lab/dimensions.hpp>
#include <allot/lab/metrics/metrics.hpp>
#include <allot/lab/named_policy.hpp>
#include <allot/scheduler/any_policies.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/sim/simulator.hpp>
#include <allot/systems/by_name/any_preset.hpp>

namespace allot {
inline namespace v0 {

// The simulator under every preset takes more than a minute to compile. `allot::lab` has it for one resource
// and for `max_resources`: what includes this header links it, and compiles only the calls.

extern template any_policies<sim::workload_view<1>, sim::places> any_preset::policies_for() const;
extern template any_policies<sim::workload_view<lab::max_resources>, sim::places> any_preset::policies_for()
    const;
extern template any_policies<sim::workload_view<1>, sim::places> lab::named_policy::policies_for() const;
extern template any_policies<sim::workload_view<lab::max_resources>, sim::places>
lab::named_policy::policies_for() const;
extern template class scheduler<sim::workload_view<1>, sim::places,
                                any_policies<sim::workload_view<1>, sim::places>>;
extern template class scheduler<sim::workload_view<lab::max_resources>, sim::places,
                                any_policies<sim::workload_view<lab::max_resources>, sim::places>>;
extern template class sim::simulator<1>;
extern template class sim::simulator<lab::max_resources>;
extern template result<sim::simulator<1>> sim::simulator<1>::make(sim::setup<1>, const any_preset&);
extern template result<sim::simulator<lab::max_resources>> sim::simulator<lab::max_resources>::make(
    sim::setup<lab::max_resources>, const any_preset&);
extern template result<sim::simulator<1>> sim::simulator<1>::make(sim::setup<1>, const lab::named_policy&);
extern template result<sim::simulator<lab::max_resources>> sim::simulator<lab::max_resources>::make(
    sim::setup<lab::max_resources>, const lab::named_policy&);
extern template class lab::metrics<1>;
extern template class lab::metrics<lab::max_resources>;

}  // namespace v0
}  // namespace allot

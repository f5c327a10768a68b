// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/dimensions.hpp>
#include <allot/scheduler/any_policies.hpp>
#include <allot/sim/simulator.hpp>
#include <allot/systems/by_name/any_preset.hpp>

namespace allot {
inline namespace v0 {

template any_policies<sim::workload_view<1>, sim::places>::any_policies(selectable_policies);
template any_policies<sim::workload_view<lab::max_resources>, sim::places>::any_policies(selectable_policies);

}  // namespace v0
}  // namespace allot

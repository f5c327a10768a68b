// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/dimensions.hpp>
#include <allot/presets/hyperpod.hpp>
#include <allot/presets/pai.hpp>
#include <allot/presets/single_queue.hpp>
#include <allot/scheduler/any_policies.hpp>
#include <allot/sim/simulator.hpp>

namespace allot {
inline namespace v0 {

// The default parts, which standard and static_quotas have, too.
template any_policies<sim::workload_view<1>, sim::places>::any_policies(pai::policies_type);
template any_policies<sim::workload_view<lab::max_resources>, sim::places>::any_policies(pai::policies_type);
template any_policies<sim::workload_view<1>, sim::places>::any_policies(hyperpod::policies_type);
template any_policies<sim::workload_view<lab::max_resources>, sim::places>::any_policies(
    hyperpod::policies_type);
template any_policies<sim::workload_view<1>, sim::places>::any_policies(fifo::policies_type);
template any_policies<sim::workload_view<lab::max_resources>, sim::places>::any_policies(fifo::policies_type);
template any_policies<sim::workload_view<1>, sim::places>::any_policies(sjf::policies_type);
template any_policies<sim::workload_view<lab::max_resources>, sim::places>::any_policies(sjf::policies_type);

}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#include "lab/scenario/erased_policies.hpp"

#include <allot/lab/simulators.hpp>

namespace allot {
inline namespace v0 {

template any_policies<sim::workload_view<lab::max_resources>, sim::places> any_preset::policies_for() const;
template any_policies<sim::workload_view<lab::max_resources>, sim::places> lab::named_policy::policies_for()
    const;
template class scheduler<sim::workload_view<lab::max_resources>, sim::places,
                         any_policies<sim::workload_view<lab::max_resources>, sim::places>>;
template class sim::simulator<lab::max_resources>;
template result<sim::simulator<lab::max_resources>> sim::simulator<lab::max_resources>::make(
    sim::setup<lab::max_resources>, const any_preset&);
template result<sim::simulator<lab::max_resources>> sim::simulator<lab::max_resources>::make(
    sim::setup<lab::max_resources>, const lab::named_policy&);
template class lab::metrics<lab::max_resources>;

}  // namespace v0
}  // namespace allot

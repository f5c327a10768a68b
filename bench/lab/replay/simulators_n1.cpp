// SPDX-License-Identifier: BSL-1.0
#include "lab/scenario/erased_policies.hpp"

#include <allot/lab/simulators.hpp>

namespace allot {
inline namespace v0 {

template any_policies<sim::workload_view<1>, sim::places> any_preset::policies_for() const;
template any_policies<sim::workload_view<1>, sim::places> lab::named_policy::policies_for() const;
template class scheduler<sim::workload_view<1>, sim::places,
                         any_policies<sim::workload_view<1>, sim::places>>;
template class sim::simulator<1>;
template result<sim::simulator<1>> sim::simulator<1>::make(sim::setup<1>, const any_preset&);
template result<sim::simulator<1>> sim::simulator<1>::make(sim::setup<1>, const lab::named_policy&);
template class lab::metrics<1>;

}  // namespace v0
}  // namespace allot

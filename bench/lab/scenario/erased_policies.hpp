// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/lab/dimensions.hpp>
#include <allot/lab/own_policy.hpp>
#include <allot/systems/by_name/any_preset.hpp>

namespace allot {
inline namespace v0 {
// The cycles of all presets take a minute to compile. Each system's have a file of their own.

// policies_selectable.cpp
extern template lab::workload_policies<1>::any_policies(selectable_policies);
extern template lab::workload_policies<lab::max_resources>::any_policies(selectable_policies);
// policies_pai.cpp; standard and static_quotas have the same parts as pai, the default ones.
extern template lab::workload_policies<1>::any_policies(pai::policies_type);
extern template lab::workload_policies<lab::max_resources>::any_policies(pai::policies_type);
extern template lab::workload_policies<1>::any_policies(hyperpod::policies_type);
extern template lab::workload_policies<lab::max_resources>::any_policies(hyperpod::policies_type);
extern template lab::workload_policies<1>::any_policies(fifo::policies_type);
extern template lab::workload_policies<lab::max_resources>::any_policies(fifo::policies_type);
extern template lab::workload_policies<1>::any_policies(sjf::policies_type);
extern template lab::workload_policies<lab::max_resources>::any_policies(sjf::policies_type);
// policies_kai.cpp
extern template lab::workload_policies<1>::any_policies(runai::policies_type);
extern template lab::workload_policies<lab::max_resources>::any_policies(runai::policies_type);
// policies_kueue.cpp
extern template lab::workload_policies<1>::any_policies(kueue::policies_type);
extern template lab::workload_policies<lab::max_resources>::any_policies(kueue::policies_type);
extern template lab::workload_policies<1>::any_policies(kueue_fair::policies_type);
extern template lab::workload_policies<lab::max_resources>::any_policies(kueue_fair::policies_type);

}  // namespace v0
}  // namespace allot

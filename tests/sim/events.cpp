// SPDX-License-Identifier: BSL-1.0
#include <allot/sim/events.hpp>

#include <type_traits>

// Events are sorted by time and stored by the hundred thousand, so those of nodes and jobs remain small
// values.
static_assert(std::is_trivially_copyable_v<allot::sim::node_event> && sizeof(allot::sim::node_event) <= 24);
static_assert(std::is_trivially_copyable_v<allot::sim::cancel_event>);
static_assert(std::is_nothrow_move_constructible_v<allot::sim::quota_event<1>>);

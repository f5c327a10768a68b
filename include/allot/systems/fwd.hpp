// SPDX-License-Identifier: BSL-1.0
#pragma once

// The nouns of the room: systems whose cycle is their own. Declared only, and without
// default template arguments.

#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {

class any_preset;
enum class fair_strategies : std::uint8_t;
enum class guard_name : std::uint8_t;
struct kueue;
struct kueue_fair;
struct named_parts;
template <class... Presets>
struct preset_list;
enum class quota_order_name : std::uint8_t;
enum class rounding_name : std::uint8_t;
struct runai;
struct selectable_policies;
class selectable_surplus;
enum class surplus_name : std::uint8_t;
enum class victim_order_name : std::uint8_t;
template <std::size_t N>
class whole_unit_division;

}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

// The nouns of the room: policies that are assemblies of parts. Declared only, and without
// default template arguments.

#include <cstdint>

namespace allot {
inline namespace v0 {

struct conservative;
struct easy;
struct fifo;
struct hyperpod;
enum class hyperpod_idle : std::uint8_t;
struct hyperpod_idle_order;
enum class hyperpod_sharing : std::uint8_t;
enum class hyperpod_tasks : std::uint8_t;
struct hyperpod_victim_order;
struct pai;
struct sjf;
struct standard;
struct static_quotas;

}  // namespace v0
}  // namespace allot

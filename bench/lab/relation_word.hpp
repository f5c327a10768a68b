// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/preemption/eligibility.hpp>

#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// The name of an eviction in the files.
[[nodiscard]] std::string_view word_of(relation how) noexcept;

}  // namespace lab
}  // namespace v0
}  // namespace allot

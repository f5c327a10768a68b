// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace detail {

/// A reason of the placement's own as text, if it is text or has a `to_string`; else empty.
template <class Reason>
[[nodiscard]] std::string text_of_reason(const Reason& why) {
  if constexpr (std::convertible_to<const Reason&, std::string_view>) {
    return std::string{std::string_view{why}};
  } else if constexpr (requires { std::string{to_string(why)}; }) {
    return std::string{to_string(why)};
  } else {
    return {};
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace allot

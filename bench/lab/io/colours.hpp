// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace allot {
inline namespace v0 {
namespace lab {

/// Whether what is written there is shown with colours: it is a terminal that has them, and NO_COLOR (see
/// no-color.org) does not forbid it.
[[nodiscard]] bool shows_colours(int descriptor);

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace allot {

/// The version of the library, defined only here. CMake reads it from this file.
inline constexpr int version_major = 0;
/// The minor version.
inline constexpr int version_minor = 2;
/// The patch version.
inline constexpr int version_patch = 0;

}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Checks a precondition. It is the library's only macro and never changes the layout of a type.
/// Define it before the first include (on the command line, the same way in every translation unit)
/// to check in release builds, to report through the host's own logger, or to throw in tests.
/// A function whose preconditions are checked is therefore not `noexcept`, unless a concept asks for that.
#ifndef ALLOT_ASSERT
#include <cassert>
#define ALLOT_ASSERT(condition, message) assert((condition) && (message))
#endif

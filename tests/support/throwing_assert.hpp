// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <stdexcept>

namespace allot_test {

/// Thrown by a broken precondition in the tests: `CHECK_THROWS_AS(f(), allot_test::assertion_failed)`.
struct assertion_failed : std::logic_error {
  using std::logic_error::logic_error;
};

}  // namespace allot_test

// CMake includes this file on the command line of every test, so it precedes every header of the library.
#define ALLOT_ASSERT(condition, message) \
  ((condition) ? static_cast<void>(0) : throw ::allot_test::assertion_failed(message))

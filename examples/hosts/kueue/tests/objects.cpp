// SPDX-License-Identifier: BSL-1.0
#include "api/objects.hpp"

#include <doctest/doctest.h>

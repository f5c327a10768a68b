// SPDX-License-Identifier: BSL-1.0
// Boost.JSON's own code, compiled here so that nothing has to be linked.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#endif
#include <boost/json/src.hpp>

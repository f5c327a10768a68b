// SPDX-License-Identifier: BSL-1.0
#include "all_headers.hpp"

int version_seen_by_second();

int version_seen_by_second() {
  return allot::version_minor;
}

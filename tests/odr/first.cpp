// SPDX-License-Identifier: BSL-1.0
// The first of two translation units with every header: whatever is defined in a header and is not inline is
// defined twice, and does not link.
#include "all_headers.hpp"

int version_seen_by_second();

int main() {
  return version_seen_by_second() == allot::version_minor ? 0 : 1;
}

// SPDX-License-Identifier: BSL-1.0
// What a consumer's first program does: include the library and use it.
#include <allot/core/resources.hpp>
#include <allot/core/version.hpp>

int main() {
  const allot::resources<2> request{allot::gpus(4), allot::quantity::whole(32)};
  return allot::is_valid_request(request) && allot::version_major == 0 ? 0 : 1;
}

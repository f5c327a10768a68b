// SPDX-License-Identifier: BSL-1.0
#include "lab/errors.hpp"

#include <cstdio>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

int complain(const errors& found) {
  std::fputs(found.to_string().c_str(), stderr);
  return bad_input_status;
}

int complain(std::string_view problem, std::string_view command) {
  std::fputs(std::string{command}.append(": ").append(problem).append("\n").c_str(), stderr);
  return bad_input_status;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#include "lab/io/errors.hpp"

#include "lab/io/terminal.hpp"

#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

std::string errors::to_string() const {
  // Far longer than any message of its own: what is longer has a name of a file in it.
  constexpr std::size_t longest_place = 300;
  constexpr std::size_t longest_text = 1500;
  std::string lines;
  for (const error& e : kept_) {
    lines.append(printable(e.file)).append(": ");
    if (!e.place.empty()) lines.append(printable(shortened(e.place, longest_place))).append(": ");
    lines.append(printable(shortened(e.text, longest_text))).append("\n");
  }
  if (count_ > kept_.size()) {
    lines.append("... and ").append(std::to_string(count_ - kept_.size())).append(" more\n");
  }
  return lines;
}

int complain(const errors& found) {
  print_error(found.to_string());
  return bad_input_status;
}

int complain(std::string_view problem, std::string_view command) {
  print_error(std::string{command}.append(": ").append(printable(problem)).append("\n"));
  return bad_input_status;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

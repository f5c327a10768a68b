// SPDX-License-Identifier: BSL-1.0
#include "lab/import/import_log.hpp"

#include "lab/io/terminal.hpp"

#include <cstdio>

namespace allot {
inline namespace v0 {
namespace lab {

import_log::import_log(std::string file, std::size_t shown, std::FILE* to)
    : sink_([file = printable(file) + ": ", to](const std::string& line) {
        const std::string whole = file + line + '\n';
        std::fwrite(whole.data(), 1, whole.size(), to);
      }),
      shown_(shown) {}

void import_log::print(std::string_view place, std::string_view text) const {
  // Far longer than any message of its own: what is longer has a name of the file in it.
  constexpr std::size_t longest = 1500;
  std::string line;
  if (!place.empty()) line.append(printable(shortened(place, longest))).append(": ");
  sink_(line.append(printable(shortened(text, longest))));
}

void import_log::reject(std::span<const text_problem> problems) {
  if (++rejected_ > shown_) return;
  for (const text_problem& p : problems) print({}, to_string(p) + " (the row is left out)");
}

void import_log::reject(std::string_view where, std::string_view text) {
  if (++rejected_ <= shown_) print(where, std::string{text} + " (it is left out)");
}

void import_log::fail(std::string_view place, std::string_view text) {
  print(place, text);
}

void import_log::note(std::string_view where, std::string_view text) {
  print(where.empty() ? std::string{"note"} : "note: " + std::string{where}, text);
}

void import_log::leave_out(std::size_t n, std::string_view one, std::string_view several,
                           std::string_view after) {
  if (n == 0) return;
  noted_ += n;
  note({}, counted(n, one, several).append(" left out").append(after));
}

void import_log::finish() const {
  if (rejected_ > shown_) {
    print({}, "... and " + std::to_string(rejected_ - shown_) + " more rows are left out");
  }
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

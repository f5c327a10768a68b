// SPDX-License-Identifier: BSL-1.0
//
// What would be otherwise if a quota, a job or a node changed: asked of a scheduler that has been told all
// that the governor's was.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace allot_governor {

struct what_if_answer {
  std::string text{};
  /// Of the last cycle in the log, in milliseconds since 1970: the answer is as of then.
  std::int64_t asked_at = 0;
  /// Changes that can't be read, name nothing or can't be made, each with why; there is no text then.
  std::vector<std::string> problems{};
  /// What can't be read of the log; nothing is answered then.
  std::string unreadable{};
};
/// `changes` as `allot explain --if` takes them: "quota:NAME:gres/gpu+8", "job:ID:priority=5", "job:ID:gone"
/// or "node:NAME:gone". All that the last scheduler of the log has decided is decided once more, so it takes
/// as long as the governor has needed for it; the log is left as it is.
[[nodiscard]] what_if_answer what_if(std::istream& events, const std::vector<std::string>& changes,
                                     bool as_json);

}  // namespace allot_governor

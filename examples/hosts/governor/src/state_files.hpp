// SPDX-License-Identifier: BSL-1.0
//
// What a governor writes beside its decisions: the journal, and what it shows.
#pragma once

#include "governor/src/log.hpp"
#include "governor/src/memory.hpp"
#include "governor/src/snapshot.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace allot_governor {

/// With those above it.
void make_directories(const std::string& path);

class state_files {
 public:
  explicit state_files(std::string directory)
      : directory_(std::move(directory)), journal_(directory_ + "/journal") {}

  /// What the journal says, if it is of use.
  [[nodiscard]] std::optional<memory> read(const std::string& cluster, decision_log& log) const;
  /// The journal, if it differs.
  void write(const memory& m, const std::string& cluster, bool at_once = false);

  /// Whether the last status is old enough for another one.
  [[nodiscard]] bool is_due() const;
  /// Status, page and metrics; these where they are to be, if at all.
  void show(const snapshot& s, const std::string& page, const std::string& metrics);

  /// Says what could not be written, once.
  void complain(decision_log& log);

 private:
  void put(const std::string& path, const std::string& text);

  std::string directory_;
  std::string journal_;
  std::string problem_{};
  std::string said_{};
  std::int64_t shown_at_ = 0;
  std::optional<memory> written_{};
  std::int64_t written_at_ = 0;
};

}  // namespace allot_governor

// SPDX-License-Identifier: BSL-1.0
//
// What a governor writes beside its decisions: the journal, and what it shows.
#pragma once

#include "governor/src/history.hpp"
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
      : directory_(std::move(directory)),
        journal_(directory_ + "/journal"),
        history_(directory_ + "/history.json") {}
  state_files(const state_files&) = delete;
  state_files& operator=(const state_files&) = delete;
  /// Writes the last hours.
  ~state_files();

  /// What the journal says, if it is of use.
  [[nodiscard]] std::optional<memory> read(const std::string& cluster, decision_log& log) const;
  /// The journal, if it differs.
  void write(const memory& m, const std::string& cluster, bool at_once = false);

  /// Whether the last status is old enough for another one.
  [[nodiscard]] bool is_due() const;
  /// Status, page and metrics; these where they are to be, if at all. What was shown before is the page's
  /// last hours, also before a restart.
  void show(const snapshot& s, const std::string& page, const std::string& metrics);

  /// Says what could not be written, once.
  void complain(decision_log& log);

 private:
  void put(const std::string& path, const std::string& text);
  void remember(const snapshot& s);
  void write_history();

  std::string directory_;
  std::string journal_;
  std::string history_;
  std::string problem_{};
  std::string said_{};
  std::int64_t shown_at_ = 0;
  std::optional<memory> written_{};
  std::int64_t written_at_ = 0;
  /// None: what is on disk has not been read yet.
  std::optional<history> past_{};
  std::string past_of_{};
  std::int64_t past_written_at_ = 0;
};

}  // namespace allot_governor

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

namespace allot_governor {

/// The log of events: whole lines, one write a tick.
class events_file {
 public:
  events_file() = default;
  events_file(const events_file&) = delete;
  events_file& operator=(const events_file&) = delete;
  ~events_file() { close(); }

  /// Empty, or what went wrong. Cuts off a line that a killed governor has left unfinished.
  [[nodiscard]] std::string open(const std::string& path) {
    close();
    if (path.empty()) return {};
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file_ < 0) return path + ": " + std::strerror(errno);
    off_t end = ::lseek(file_, 0, SEEK_END);
    for (char c = 0; end > 0; --end) {
      if (::pread(file_, &c, 1, end - 1) == 1 && c == '\n') break;
    }
    if (::ftruncate(file_, end) != 0) return path + ": " + std::strerror(errno);
    static_cast<void>(::lseek(file_, end, SEEK_SET));
    return {};
  }
  [[nodiscard]] bool is_open() const { return file_ >= 0; }
  void add(const std::string& line) { text_.append(line).append(1, '\n'); }
  void write() {
    std::size_t done = 0;
    while (file_ >= 0 && done < text_.size()) {
      const ssize_t n = ::write(file_, text_.data() + done, text_.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) break;
      done += static_cast<std::size_t>(n);
    }
    text_.clear();
  }

 private:
  void close() {
    write();
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }

  int file_ = -1;
  std::string text_{};
};

}  // namespace allot_governor

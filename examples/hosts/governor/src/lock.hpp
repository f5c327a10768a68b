// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace allot_governor {

/// A file that only one process has.
class lock {
 public:
  lock() = default;
  lock(const lock&) = delete;
  lock& operator=(const lock&) = delete;
  ~lock() {
    if (file_ >= 0) ::close(file_);
  }

  /// Empty, or why it is not ours.
  [[nodiscard]] std::string take(const std::string& path) {
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file_ < 0) return path + ": " + std::strerror(errno);
    if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return {};
    return errno == EWOULDBLOCK ? path + ": another governor is running" : path + ": " + std::strerror(errno);
  }

 private:
  int file_ = -1;
};

}  // namespace allot_governor

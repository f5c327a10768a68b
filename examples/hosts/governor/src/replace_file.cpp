// SPDX-License-Identifier: BSL-1.0
#include "governor/src/replace_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace allot_governor {

std::string replace_file(const std::string& path, const std::string& text, bool synchronize) {
  const std::string beside = path + being_written;
  const auto failed = [&](const char* what) {
    const int error = errno;
    ::unlink(beside.c_str());
    return std::string{what} + ' ' + beside + ": " + std::strerror(error);
  };
  // A name that somebody else has put there is not followed.
  ::unlink(beside.c_str());
  const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0) return failed("can't create");
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(file, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      std::string why = failed("can't write");
      ::close(file);
      return why;
    }
    done += static_cast<std::size_t>(n);
  }
  if (synchronize && ::fsync(file) != 0) {
    std::string why = failed("can't synchronize");
    ::close(file);
    return why;
  }
  if (::close(file) != 0) return failed("can't close");
  if (::rename(beside.c_str(), path.c_str()) != 0) return failed("can't rename");
  if (!synchronize) return {};
  // The rename itself is on disk when the directory is.
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int at = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (at >= 0) {
    static_cast<void>(::fsync(at));
    ::close(at);
  }
  return {};
}

}  // namespace allot_governor

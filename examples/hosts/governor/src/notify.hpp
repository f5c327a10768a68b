// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace allot_governor {

/// Tells systemd, which listens at $NOTIFY_SOCKET, "READY=1" or "WATCHDOG=1". Without such a socket it does
/// nothing.
inline void notify(std::string_view state) {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr) return;
  const std::size_t size = std::strlen(path);
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (size < 2 || size >= sizeof to.sun_path) return;
  std::memcpy(to.sun_path, path, size);
  // An abstract socket.
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';
  const int s = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (s < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size);
  static_cast<void>(::sendto(s, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                             reinterpret_cast<const sockaddr*>(&to), length));
  ::close(s);
}

}  // namespace allot_governor

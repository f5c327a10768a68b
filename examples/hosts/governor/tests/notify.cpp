// SPDX-License-Identifier: BSL-1.0
#include "governor/src/notify.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

#include "tests/support/scratch_directory.hpp"

TEST_CASE("notify: what is told arrives, and without a listener nothing happens") {
  unsetenv("NOTIFY_SOCKET");
  allot_governor::notify("READY=1");
  const allot_test::scratch_directory scratch;
  const std::string path = scratch.path + "/socket";
  setenv("NOTIFY_SOCKET", path.c_str(), 1);
  allot_governor::notify("READY=1");
  const int s = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  REQUIRE(s >= 0);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  REQUIRE(path.size() < sizeof at.sun_path);
  path.copy(at.sun_path, path.size());
  REQUIRE(::bind(s, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  allot_governor::notify("WATCHDOG=1");
  std::array<char, 64> got{};
  const auto n = ::recv(s, got.data(), got.size(), MSG_DONTWAIT);
  CHECK(std::string(got.data(), n > 0 ? static_cast<std::size_t>(n) : 0) == "WATCHDOG=1");
  ::close(s);
  unsetenv("NOTIFY_SOCKET");
}

// SPDX-License-Identifier: BSL-1.0
#include "../src/api/endpoint.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>

using namespace allot_kueue;

namespace {

/// What is answered to one request.
[[nodiscard]] std::string answer_of(endpoint& e, const std::string& text) {
  const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(s >= 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(e.port());
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(s, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  REQUIRE(::send(s, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
  std::string got;
  for (bool is_open = true; is_open;) {
    pollfd what[] = {{e.descriptor(), POLLIN, 0}, {s, POLLIN, 0}};
    REQUIRE_MESSAGE(::poll(what, 2, 5000) > 0, "it does not answer");
    e.serve();
    std::array<char, 4096> part{};
    for (;;) {
      const ssize_t n = ::recv(s, part.data(), part.size(), MSG_DONTWAIT);
      if (n > 0) got.append(part.data(), static_cast<std::size_t>(n));
      is_open = n != 0;
      if (n <= 0) break;
    }
  }
  ::close(s);
  return got;
}
[[nodiscard]] std::string get(endpoint& e, const std::string& path, const std::string& how = "GET") {
  return answer_of(e, how + ' ' + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
}

}  // namespace

TEST_CASE("endpoint: metrics, health and readiness, and nothing else") {
  std::string why = "no list of nodes yet";
  endpoint e{"127.0.0.1", 0, {[] { return std::string{"allot_gpus 8\n"}; }, [&] { return why; }}};
  REQUIRE(e.port() != 0);
  const std::string metrics = get(e, "/metrics");
  CHECK(metrics.starts_with("HTTP/1.1 200"));
  CHECK(metrics.find("text/plain; version=0.0.4") != std::string::npos);
  CHECK(metrics.ends_with("\r\n\r\nallot_gpus 8\n"));
  CHECK(get(e, "/healthz").starts_with("HTTP/1.1 200"));
  CHECK(get(e, "/readyz").starts_with("HTTP/1.1 503"));
  CHECK(get(e, "/readyz").ends_with("no list of nodes yet\n"));
  why.clear();
  CHECK(get(e, "/readyz").starts_with("HTTP/1.1 200"));
  CHECK(get(e, "/metrics", "HEAD").find("allot_gpus") == std::string::npos);
  CHECK(get(e, "/").starts_with("HTTP/1.1 404"));
  CHECK(get(e, "/metrics", "DELETE").starts_with("HTTP/1.1 405"));
  CHECK(answer_of(e, "POST /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc")
            .starts_with("HTTP/1.1 405"));
}

TEST_CASE("endpoint: a page that fails is an error of that page") {
  endpoint e{
      "127.0.0.1", 0, {[]() -> std::string { throw std::runtime_error{"no figures"}; }, [] { return ""; }}};
  CHECK(get(e, "/metrics").starts_with("HTTP/1.1 500"));
  CHECK(get(e, "/readyz").starts_with("HTTP/1.1 200"));
}

TEST_CASE("endpoint: an address that is none, or is taken, is said") {
  const endpoint_pages none{[] { return ""; }, [] { return ""; }};
  CHECK_THROWS_WITH(endpoint("localhost", 0, none),
                    "endpoint: expected an address as 127.0.0.1 or ::1, found \"localhost\"");
  const endpoint first{"127.0.0.1", 0, none};
  CHECK_THROWS_AS(endpoint("127.0.0.1", first.port(), none), std::runtime_error);
}

// SPDX-License-Identifier: BSL-1.0
#include "endpoint.hpp"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace allot_kueue {

namespace {

constexpr unsigned most_connections = 64;
constexpr unsigned idle_s = 30;

[[nodiscard]] sockaddr_storage address_of(const std::string& text, std::uint16_t port) {
  sockaddr_storage all{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(all);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(all);
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
  } else if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
  } else {
    throw std::runtime_error{"endpoint: expected an address as 127.0.0.1 or ::1, found \"" + text + '"'};
  }
  return all;
}

struct page {
  unsigned status = MHD_HTTP_OK;
  std::string text{};
};

[[nodiscard]] page page_of(const endpoint_pages& pages, std::string_view how, std::string_view path) {
  const bool is_metrics = path == "/metrics";
  if (!is_metrics && path != "/healthz" && path != "/readyz") return {MHD_HTTP_NOT_FOUND, "not found\n"};
  if (how != "GET" && how != "HEAD") return {MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n"};
  if (is_metrics) return {MHD_HTTP_OK, pages.metrics()};
  const std::string why = path == "/readyz" ? pages.why_not_ready() : std::string{};
  return why.empty() ? page{MHD_HTTP_OK, "ok\n"} : page{MHD_HTTP_SERVICE_UNAVAILABLE, why + '\n'};
}

MHD_Result answer(void* pages, MHD_Connection* to, const char* path, const char* how, const char*,
                  const char*, std::size_t* size, void** state) {
  // The first call is for the headers, more are for a body, which nobody wants.
  if (std::exchange(*state, pages) == nullptr) return MHD_YES;
  if (*size > 0) return std::exchange(*size, 0) > 0 ? MHD_YES : MHD_NO;
  page p{MHD_HTTP_INTERNAL_SERVER_ERROR, {}};
  try {
    p = page_of(*static_cast<const endpoint_pages*>(pages), how, path);
  } catch (const std::exception& e) {
    // No exception may pass through the library.
    p.text = std::string{e.what()} + '\n';
  }
  MHD_Response* const r =
      MHD_create_response_from_buffer(p.text.size(), p.text.data(), MHD_RESPMEM_MUST_COPY);
  if (r == nullptr) return MHD_NO;
  MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
  if (p.status == MHD_HTTP_METHOD_NOT_ALLOWED) MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  const MHD_Result sent = MHD_queue_response(to, p.status, r);
  MHD_destroy_response(r);
  return sent;
}

}  // namespace

struct endpoint::listener {
  endpoint_pages pages;
  MHD_Daemon* daemon = nullptr;
};

endpoint::endpoint(const std::string& address, std::uint16_t port, endpoint_pages pages)
    : listener_(std::make_unique<listener>()) {
  listener_->pages = std::move(pages);
  const sockaddr_storage at = address_of(address, port);
  unsigned flags = MHD_USE_EPOLL;
  if (at.ss_family == AF_INET6) flags |= MHD_USE_IPv6;
  listener_->daemon = MHD_start_daemon(
      flags, port, nullptr, nullptr, &answer, &listener_->pages, MHD_OPTION_SOCK_ADDR, &at,
      MHD_OPTION_CONNECTION_LIMIT, most_connections, MHD_OPTION_CONNECTION_TIMEOUT, idle_s, MHD_OPTION_END);
  if (listener_->daemon == nullptr) {
    throw std::runtime_error{"endpoint: can't listen on " + address + ", port " + std::to_string(port) +
                             ": " + std::strerror(errno)};
  }
}

endpoint::~endpoint() {
  if (listener_->daemon != nullptr) MHD_stop_daemon(listener_->daemon);
}

void endpoint::serve() {
  MHD_run(listener_->daemon);
}

int endpoint::descriptor() const noexcept {
  return MHD_get_daemon_info(listener_->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

std::uint16_t endpoint::port() const noexcept {
  return MHD_get_daemon_info(listener_->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

}  // namespace allot_kueue

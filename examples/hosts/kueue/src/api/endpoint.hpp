// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace allot_kueue {

/// What is served.
struct endpoint_pages {
  /// Prometheus text, for /metrics.
  std::function<std::string()> metrics;
  /// Why it is not ready, for /readyz; empty: it is.
  std::function<std::string()> why_not_ready;
};

/// /metrics, /healthz and /readyz by HTTP. There is no thread: it answers when `serve` is called, so that
/// /healthz says what it should, that the one who calls it goes on.
class endpoint {
 public:
  /// Listens on that address only ("127.0.0.1", "::1", "0.0.0.0"); with port 0 on any free one. Throws
  /// std::runtime_error if it can't.
  endpoint(const std::string& address, std::uint16_t port, endpoint_pages pages);
  endpoint(const endpoint&) = delete;
  endpoint& operator=(const endpoint&) = delete;
  ~endpoint();

  /// Answers what has come; never waits.
  void serve();
  /// Can be read when there is something to serve.
  [[nodiscard]] int descriptor() const noexcept;
  [[nodiscard]] std::uint16_t port() const noexcept;

 private:
  struct listener;
  std::unique_ptr<listener> listener_;
};

}  // namespace allot_kueue

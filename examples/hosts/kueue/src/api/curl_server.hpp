// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "api_server.hpp"
#include "credentials.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace allot_kueue {

struct curl_options {
  std::string user_agent = "allot-kueue";
  /// In milliseconds. Watches have no timeout: dead connections are found by TCP.
  instant connect_timeout = 10'000;
  instant request_timeout = 30'000;
  /// How many requests are under way; the others wait here. Watches are not counted.
  std::size_t at_once = 64;
  /// In bytes, unpacked: a longer answer, or line of a watch, counts as none.
  std::size_t longest_body = std::size_t{256} << 20U;
  std::size_t longest_line = std::size_t{16} << 20U;
};

/// An API server through libcurl: all requests and watches share connections, with HTTP/2 one. To be used by
/// one thread.
class curl_server final : public api_server {
 public:
  explicit curl_server(credentials who, curl_options options = {});
  ~curl_server() override;

  [[nodiscard]] ticket submit(request r) override;
  [[nodiscard]] std::optional<response> take(ticket t) override;
  [[nodiscard]] ticket watch(request r) override;
  [[nodiscard]] watch_reading read(ticket t) override;
  void drop(ticket t) override;
  void perform(instant wait, std::span<const int> also = {}) override;
  void await_any(std::span<const ticket> some, const std::function<void()>& meanwhile) override;

 private:
  class connections;
  std::unique_ptr<connections> connections_;
};

}  // namespace allot_kueue

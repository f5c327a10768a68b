// SPDX-License-Identifier: BSL-1.0
//
// A Kubernetes API server as the parts of this host see it: requests whose answers come later, and watches
// whose lines are there or not. Nothing here reads a clock: who calls says what time it is. Only
// curl_server.cpp knows the network; everything else is tested against a server that is made up.
#pragma once

#include <allot/core/time.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot_kueue {

using allot::instant;

/// The time, in milliseconds.
struct moment {
  /// Of a clock that never steps: for all that is waited for.
  instant steady = 0;
  /// Since 1970: for what others read.
  instant wall = 0;
};

enum class method : std::uint8_t { get, post, put, patch, remove };

struct request {
  method how = method::get;
  /// Percent-encoded: "/api/v1/nodes".
  std::string path{};
  /// As they are; `target` encodes them.
  std::vector<std::pair<std::string, std::string>> query{};
  std::string content_type{};
  std::string body{};
  /// After so many milliseconds there is no answer; 0: as the server has it.
  instant timeout = 0;

  /// Path and query as HTTP wants them.
  [[nodiscard]] std::string target() const;
};
/// With all but letters, digits and "-._~" as %XX.
[[nodiscard]] std::string percent_encoded(std::string_view text);

struct response {
  /// As HTTP has it; 0: there is no answer, and whether the request was carried out is not known.
  int status = 0;
  std::string body{};
  /// How long the server wants to be left alone, in milliseconds.
  std::optional<instant> retry_after{};
  /// Why there is no answer, or why a watch was cut.
  std::string problem{};
};

/// What has come of a watch.
struct watch_reading {
  /// Whole lines only.
  std::vector<std::string> lines{};
  /// The server has agreed to it.
  bool is_open = false;
  /// No more will come, and why: status 200 if it was open, and a problem if it was cut.
  bool is_over = false;
  response end{};
};

/// Names a request or a watch that is under way.
enum class ticket : std::uint64_t {};

class api_server {
 public:
  api_server() = default;
  api_server(const api_server&) = delete;
  api_server& operator=(const api_server&) = delete;
  virtual ~api_server() = default;

  /// Sends a request, or queues it. There is an answer at some time, if only that there is none.
  [[nodiscard]] virtual ticket submit(request r) = 0;
  /// The answer, if it is there; the ticket is then used up.
  [[nodiscard]] virtual std::optional<response> take(ticket t) = 0;
  /// Opens a stream of lines.
  [[nodiscard]] virtual ticket watch(request r) = 0;
  /// What has arrived since the last call; once that says it is over, the ticket is used up.
  [[nodiscard]] virtual watch_reading read(ticket t) = 0;
  /// Closes a watch, or forgets a request, which may be carried out all the same. Unknown tickets are
  /// ignored.
  virtual void drop(ticket t) = 0;
  /// Sends and receives. Waits, for at most that many milliseconds, until there is something to take or to
  /// read, or one of the file descriptors can be read.
  virtual void perform(instant wait, std::span<const int> also = {}) = 0;
  /// Sends and receives until one of these requests is answered; calls `meanwhile` at least once a second
  /// until then.
  virtual void await_any(std::span<const ticket> some, const std::function<void()>& meanwhile) = 0;
};

/// The answers to requests that don't depend on each other, in their order. At most `at_once` of them are
/// under way. `goes_on` is called before each is sent, and at least once a second until all are answered:
/// once it says no, those that are not sent yet never are, and have no answer.
[[nodiscard]] std::vector<std::optional<response>> ask(api_server& server, std::vector<request> all,
                                                       std::size_t at_once,
                                                       const std::function<bool()>& goes_on);
[[nodiscard]] std::vector<response> ask(api_server& server, std::vector<request> all);
[[nodiscard]] response ask(api_server& server, request r);

}  // namespace allot_kueue

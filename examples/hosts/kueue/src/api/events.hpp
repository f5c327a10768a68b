// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "api_server.hpp"
#include "backoff.hpp"
#include "objects.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace allot_kueue {

/// The object that an event is about.
struct object_reference {
  std::string api_version{};
  std::string kind{};
  object_name name{};
  std::string uid{};
};

struct event_options {
  /// "allot-kueue", and which one of them.
  std::string component{};
  std::string instance{};
  /// How many writes there are for an object at once, and then how often one more.
  std::int64_t burst = 25;
  instant refill = 60'000;
  /// After so long a silence a repetition is a new event; less than an API server keeps events, an hour.
  instant window = 600'000;
  /// How many events are remembered, and how many writes are under way.
  std::size_t most = 4096;
  std::size_t at_once = 16;
  std::uint64_t seed = 0;
};

/// Writes core/v1 Events, as `kubectl describe` shows them. What is told again raises the count of its event;
/// writes are limited for each object, and then the count catches up later. Events tell people: what can't be
/// written is dropped, and counted.
class event_writer {
 public:
  event_writer(api_server& server, event_options options);
  event_writer(const event_writer&) = delete;
  event_writer& operator=(const event_writer&) = delete;
  ~event_writer();

  /// `type` is "Normal" or "Warning", `reason` one word in CamelCase.
  void tell(const object_reference& about, std::string_view type, std::string_view reason,
            std::string_view message, const moment& now);
  void step(const moment& now);
  [[nodiscard]] instant due() const noexcept { return due_; }
  /// Whether all that was told is written, as far as limits allow.
  [[nodiscard]] bool is_quiet() const noexcept { return under_way_ == 0; }
  /// What was never written, and why the last write failed.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

 private:
  /// Object, type, reason, message.
  using key = std::tuple<std::string, std::string, std::string, std::string>;
  struct entry {
    key what;
    object_reference about;
    /// Of the Event; empty: it is to be created.
    std::string name;
    instant first_wall = 0;
    instant last_wall = 0;
    instant last = 0;
    std::int64_t count = 0;
    std::int64_t written = 0;
    /// The count that is being written; 0: none is.
    std::int64_t writing = 0;
    ticket under_way{};
    bool is_open = false;
  };
  struct bucket {
    std::int64_t tokens = 0;
    instant since = 0;
  };

  [[nodiscard]] request write(entry& e);
  void on_answer(entry& e, const response& answer, instant now);
  void forget(std::list<entry>::iterator e);
  /// When an object may have one more write: `now` if it has one, which is then used.
  [[nodiscard]] instant take_token(const std::string& uid, instant now);
  void make_room(instant now);

  api_server& server_;
  event_options options_;
  backoff backoff_;
  /// By the time they were last told, oldest first.
  std::list<entry> entries_;
  std::map<key, std::list<entry>::iterator> by_key_;
  /// Those that are not written as they were told: thousands are remembered, and each step looks at these.
  std::vector<std::list<entry>::iterator> open_;
  std::map<std::string, bucket> buckets_;
  std::size_t under_way_ = 0;
  instant due_ = allot::without_end;
  /// After a failure nothing is sent before.
  instant not_before_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t names_ = 0;
  std::string problem_;
};

}  // namespace allot_kueue

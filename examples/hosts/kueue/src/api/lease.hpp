// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "api_server.hpp"
#include "backoff.hpp"
#include "objects.hpp"

#include <boost/json/object.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace allot_kueue {

[[nodiscard]] resource leases();

struct lease_options {
  object_name name{};
  /// Of this process alone: not the same after a restart.
  std::string identity{};
  /// How long others wait, from when they saw the last renewal, before they take it; in milliseconds.
  instant duration = 15'000;
  /// How long after the request for its last renewal a leader is one: less than `duration`, by more than what
  /// clocks differ in rate.
  instant renew_deadline = 10'000;
  /// How often a leader renews, and others look.
  instant retry = 2'000;
  std::uint64_t seed = 0;
};

/// Leader election by a Lease of coordination.k8s.io, as client-go's: of those that use one lease at most one
/// is the leader. No clock of another machine is trusted: a lease has expired when it has not changed for its
/// duration by one's own steady clock. Each write names the version that it replaces.
class lease {
 public:
  lease(api_server& server, lease_options options);
  lease(const lease&) = delete;
  lease& operator=(const lease&) = delete;
  ~lease();

  void step(const moment& now);
  /// Whether this one is the leader then; to be asked before each act, with the time of the act.
  [[nodiscard]] bool is_leader(instant steady) const noexcept {
    return !is_releasing_ && steady < valid_until_;
  }
  /// Gives it up: it is no leader from now on. `step` until `is_released`, so that another one need not wait.
  /// What the leader has sent should be answered before.
  void release() noexcept;
  [[nodiscard]] bool is_released() const noexcept { return is_released_; }

  /// Counts how often it was taken, from anyone: another number means that there may have been another
  /// leader.
  [[nodiscard]] std::uint64_t terms() const noexcept { return terms_; }
  /// Who holds it, as far as is known; may be empty.
  [[nodiscard]] std::string_view holder() const noexcept;
  /// The annotation of that name that it had when it was last read or renewed; empty: none. It survives a
  /// change of holder.
  [[nodiscard]] std::string_view note(std::string_view name) const noexcept;
  /// When `step` has something to do, unless an answer comes before.
  [[nodiscard]] instant due() const noexcept {
    return asked_ == asked::nothing ? due_ : sent_ + options_.renew_deadline;
  }
  /// Why the last attempt failed; empty if it did not.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

 private:
  enum class asked : std::uint8_t { nothing, current, write };

  void begin(const moment& now);
  void read(const moment& now);
  void write(const moment& now);
  void send(asked what, request r, instant now);
  void on_answer(const response& answer, instant now);
  void observe(boost::json::object current, instant now);
  /// What a process of the same identity wrote before is not ours.
  [[nodiscard]] bool is_mine() const noexcept { return has_written_ && holder() == options_.identity; }
  void retry(instant now);

  api_server& server_;
  lease_options options_;
  backoff backoff_;
  asked asked_ = asked::nothing;
  ticket under_way_{};
  instant sent_ = 0;
  instant due_ = 0;
  /// The lease as it was last seen, empty if there is none, and when it was first seen to be so.
  boost::json::object seen_;
  instant seen_since_ = 0;
  bool is_to_read_ = true;
  bool has_written_ = false;
  bool is_held_ = false;
  instant valid_until_ = std::numeric_limits<instant>::min();
  std::int64_t renewed_micros_ = 0;
  bool is_releasing_ = false;
  bool is_released_ = false;
  std::uint64_t terms_ = 0;
  std::string problem_;
};

}  // namespace allot_kueue

// SPDX-License-Identifier: BSL-1.0
//
// What operators ask of a governor that runs, as files in its directory.
#pragma once

#include "governor/src/facts.hpp"
#include "governor/src/log.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot_governor {

/// Nobody is evicted. Times are milliseconds since 1970.
struct freeze_order {
  std::int64_t since = 0;
  std::optional<std::int64_t> until{};
  /// Who has asked for it, and why.
  std::string by{};
  std::string why{};

  friend bool operator==(const freeze_order&, const freeze_order&) = default;
};
[[nodiscard]] std::string freeze_text(const freeze_order& f);
/// A file that can't be read is an order, too: it is safer to evict nobody.
[[nodiscard]] freeze_order parse_freeze(std::string_view text);
/// "it is frozen since ... until ... by ...: why", with every character that is not plain escaped.
[[nodiscard]] std::string sentence(const freeze_order& f);

/// "90s", "30m", "2h" or "1d" in milliseconds, up to 365 days; none if it is something else.
[[nodiscard]] std::optional<std::int64_t> parse_span(std::string_view text);

/// A job is to be started, whatever the quotas say.
struct start_order {
  job_name job{};
  std::string by{};
};

/// The orders in a governor's directory.
class order_files {
 public:
  explicit order_files(std::string directory) : directory_(std::move(directory)) {}

  /// The file that asks for it. Empty, or what went wrong.
  [[nodiscard]] std::string ask(const start_order& o) const;
  [[nodiscard]] std::string ask(const freeze_order& o) const;
  /// Whether there was a freeze that has been ended now, or what went wrong.
  [[nodiscard]] bool thaw(std::string& problem) const;

  /// Whether a freeze has begun, changed or ended since the last call; then the log says so.
  [[nodiscard]] bool read_freeze(decision_log& log);
  [[nodiscard]] const std::optional<freeze_order>& frozen() const noexcept { return frozen_; }
  /// Each of them once, whatever becomes of it.
  [[nodiscard]] std::vector<start_order> take_starts() const;

 private:
  std::string directory_;
  std::optional<freeze_order> frozen_{};
};

}  // namespace allot_governor

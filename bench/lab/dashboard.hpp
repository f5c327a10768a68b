// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>
#include <allot/sim/metrics/figures.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// How a simulated cluster stands at one time. Texts are those of the scenario.
struct cluster_state {
  struct device {
    /// Whose jobs use it; none when it is free. If there are several quotas, `is_shared`.
    quota_id quota;
    bool is_shared = false;
  };
  struct node {
    std::string_view name;
    /// It has failed or is drained.
    bool is_closed = false;
    std::vector<device> devices{};
  };
  struct job {
    std::string_view id;
    quota_id quota;
    /// In milli-GPUs: what it has, or wants.
    std::int64_t gpus = 0;
    /// Since when it runs, or since when it has been there.
    instant since = 0;
    /// Of one that runs, without repetition.
    std::vector<std::string_view> nodes{};
    /// Of one that waits: why. Empty if it was not asked.
    std::string reason{};
    std::string text{};
  };
  struct quota {
    std::string_view name;
    /// Above it; none of a root.
    quota_id parent{};
    bool exists = true;
    /// Of GPUs; none without a bound.
    std::optional<std::int64_t> nominal{};
    sim::quota_moment now{};
    /// The weighted part that it borrows of what it could.
    ratio share{};
    std::size_t running = 0;
  };

  std::string_view policy;
  instant at = 0;
  /// Empty without nodes.
  std::vector<node> nodes{};
  /// In milli-GPUs; nothing without a bound.
  std::optional<std::int64_t> capacity{};
  std::int64_t used = 0;
  /// In the order in which they started.
  std::vector<job> running{};
  /// By submission, then id.
  std::vector<job> waiting{};
  std::vector<quota> quotas{};
  /// Jobs that have not come yet, and those that are over.
  std::size_t to_come = 0;
  std::size_t over = 0;
};

/// The state as text for a terminal: nodes, quotas, and of the jobs at most `rows` each.
[[nodiscard]] std::string dashboard(const cluster_state& state, std::size_t rows);

}  // namespace lab
}  // namespace v0
}  // namespace allot

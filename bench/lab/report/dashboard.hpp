// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/metrics/figures.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// The state of a simulated cluster at one time. Texts are those of the scenario.
struct cluster_state {
  struct device {
    /// The quota whose jobs use it; none if it is free. With several quotas, `is_shared` is set.
    quota_id quota;
    bool is_shared = false;
  };
  struct node {
    std::string_view name;
    /// The node has failed or is drained.
    bool is_closed = false;
    vector<device> devices{};
  };
  struct job {
    std::string_view id;
    quota_id quota;
    /// In milli-GPUs: what the job has, or requests.
    std::int64_t gpus = 0;
    /// Since when the job has been running, or pending.
    instant since = 0;
    /// Running jobs only, without repetition.
    vector<std::string_view> nodes{};
    /// If its pods differ: those that it has, or requests, by set ("1 router, 3 prefill").
    std::string pods{};
    /// Pending jobs only: why. Empty if it was not determined.
    std::string reason{};
    std::string text{};
  };
  struct quota {
    std::string_view name;
    /// The parent; none for a root.
    quota_id parent{};
    bool exists = true;
    /// In GPUs; none if unbounded.
    std::optional<std::int64_t> nominal{};
    quota_moment now{};
    /// The weighted part that it borrows of what it could borrow.
    ratio share{};
    std::size_t running = 0;
  };

  std::string policy;
  instant at = 0;
  /// Empty if there are no nodes.
  vector<node> nodes{};
  /// In milli-GPUs; none if unbounded.
  std::optional<std::int64_t> capacity{};
  std::int64_t used = 0;
  /// In the order in which they started.
  vector<job> running{};
  /// By submission, then id.
  vector<job> waiting{};
  vector<quota> quotas{};
  /// Jobs not yet submitted, and jobs that have ended.
  std::size_t to_come = 0;
  std::size_t over = 0;
};

/// The state as text for a terminal: nodes, quotas, and at most `rows` of the jobs in each list.
[[nodiscard]] std::string dashboard(const cluster_state& state, std::size_t rows);

}  // namespace lab
}  // namespace v0
}  // namespace allot

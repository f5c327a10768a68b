// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/gpu/placement/placement_name.hpp>
#include <allot/lab/dimensions.hpp>
#include <allot/lab/named_policy.hpp>
#include <allot/quota/access.hpp>
#include <allot/quota/spec.hpp>
#include <allot/scheduler/settings.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// What a host needs of a configuration file to govern jobs of its own: the keys "resources", "policy" and
/// "quotas", exactly as in a scenario. Whoever has tried quotas in the simulator uses them as they are.
struct quotas_file {
  /// One quota. Its id is its position.
  struct quota {
    /// As the user gave it; the policy adapts it.
    quota_spec<max_resources> spec{};
    /// How its jobs are treated: what the file says, else the policy's own.
    queue_settings settings{};
    /// Which users may submit to it; if absent, any.
    std::optional<access_rule> access{};
  };

  /// The names of the dimensions that are used.
  vector<std::string> resources{};
  /// The policy with its parts and options.
  named_policy policy;
  /// Its name with all that is set: "standard (placement fgd)".
  std::string policy_name{};
  /// How nodes are chosen, and the seed of policies that choose at random.
  gpu::placement_name placement = gpu::placement_name::best;
  /// The seed of placements at random.
  std::uint64_t seed = 1;
  /// At least one.
  vector<quota> quotas{};
};

/// A file, or everything that is wrong with it: one line each, "FILE: /quotas/2/parent: what, and what was
/// expected".
struct quotas_file_reading {
  /// None if there are problems.
  std::optional<quotas_file> value{};
  /// In the order in which they were found.
  vector<std::string> problems{};

  /// Whether the file could be read.
  [[nodiscard]] explicit operator bool() const noexcept { return value.has_value(); }
};

/// Reads a file with the text `text`, JSON with comments. `name` is its name in messages, `own_key` that of
/// the member that the host reads itself. A "format" is accepted; what only a simulation has, such as nodes
/// and jobs, is refused.
[[nodiscard]] quotas_file_reading parse_quotas_file(std::string_view text, const std::string& name,
                                                    std::string_view own_key);

}  // namespace lab
}  // namespace v0
}  // namespace allot

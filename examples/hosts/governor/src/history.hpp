// SPDX-License-Identifier: BSL-1.0
//
// The last hours, for the page: GPUs in use by quota, waiting jobs, evictions.
#pragma once

#include "governor/src/snapshot.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot_governor {

/// What snapshots showed, in steps of equal length: five seconds at first. When there are too many, two
/// become one, until a step is 80 seconds and all of them are twelve hours: then the oldest go. So its size
/// is bounded, and the first minutes are as easy to see as the last hours.
class history {
 public:
  static constexpr std::size_t most_steps = 540;
  static constexpr milliseconds first_step = 5000;
  static constexpr milliseconds last_step = 16 * first_step;

  /// Sums over the samples of a step, in thousandths of a GPU where it is GPUs.
  struct step {
    milliseconds begin = 0;
    std::int64_t samples = 0;
    /// GPUs of the nodes that are up, and those that jobs without a quota use.
    std::int64_t capacity = 0;
    std::int64_t outside = 0;
    std::int64_t waiting = 0;
    /// Jobs that were evicted to make room: not a sum over samples.
    std::int64_t evictions = 0;
    /// By quota, an index into `quotas`, what its own jobs use; quotas that use nothing are left out.
    std::map<std::size_t, std::int64_t> used{};

    friend bool operator==(const step&, const step&) = default;
  };

  /// Nothing is known of times at which the host did not answer: they are a gap.
  void add(const snapshot& s);

  /// In order of time; where there is none, no governor ran.
  [[nodiscard]] const std::vector<step>& steps() const noexcept { return steps_; }
  [[nodiscard]] milliseconds step_length() const noexcept { return length_; }
  [[nodiscard]] const std::vector<std::string>& quotas() const noexcept { return quotas_; }

 private:
  friend std::string history_text(const history& h, const std::string& cluster);
  friend std::optional<history> parse_history(const std::string& text, const std::string& cluster);

  [[nodiscard]] std::size_t index_of(const std::string& quota);
  void forget_quotas();
  void name_quotas(std::vector<std::string> names);

  std::vector<step> steps_{};
  std::vector<std::string> quotas_{};
  std::map<std::string, std::size_t> index_{};
  milliseconds length_ = first_step;
  /// `snapshot::totals::reclaimed` of the last snapshot.
  std::uint64_t reclaimed_ = 0;
};

/// The same in longer steps, each a multiple of those.
[[nodiscard]] std::vector<history::step> merged(std::vector<history::step> steps, milliseconds length);

/// "gpu", and what ends in "/gpu".
[[nodiscard]] bool is_gpu(std::string_view resource);
/// The resources that are GPUs; of a host that has none, its first.
[[nodiscard]] std::vector<std::size_t> charted_resources(const snapshot& s);

/// For the next governor.
[[nodiscard]] std::string history_text(const history& h, const std::string& cluster);
/// None if it is damaged, or of another cluster.
[[nodiscard]] std::optional<history> parse_history(const std::string& text, const std::string& cluster);

}  // namespace allot_governor

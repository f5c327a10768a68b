// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/errors.hpp"
#include "lab/experiment.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// `allot sweep`: many replays and what they come to.
struct sweep_options {
  experiment_source source{};
  /// Instead of an experiment: directories of shards that are put together.
  std::vector<std::string> merge{};
  /// The directory, which may be there with some of the points.
  std::string out{};
  /// How many replays run at once; 0: one a core.
  std::size_t jobs = 0;
  /// "0/8": the first of eight parts.
  std::string shard{};
  /// Print the points and run nothing.
  bool list = false;
  /// Of the table that is printed: "text" or "markdown".
  std::string format = "text";
};

/// A part of the points: one of every `count` that follow each other, each time the next one, so that the
/// same policy does not always come to the same part.
struct sweep_shard {
  std::size_t index = 0;
  std::size_t count = 1;

  [[nodiscard]] bool has(std::size_t point) const noexcept {
    return (point + point / count) % count == index;
  }
};
/// "0/8"; nothing when it is none, or not from 0 to count - 1.
[[nodiscard]] std::optional<sweep_shard> read_shard(std::string_view text);

/// Returns the exit status: 0; 2 when the input is wrong or the output can't be written; `incomplete_status`
/// when a point of this shard failed or was stopped by a guard; or 128 + the number of the signal that ended
/// it. The table goes to standard output, everything else to standard error.
int sweep(const sweep_options& options);

}  // namespace lab
}  // namespace v0
}  // namespace allot

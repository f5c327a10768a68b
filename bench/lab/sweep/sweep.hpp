// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include "lab/io/errors.hpp"
#include "lab/sweep/experiment.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// `allot sweep`: many replays and their aggregated results.
struct sweep_options {
  experiment_source source{};
  /// Directories of shards to be merged, instead of an experiment.
  vector<std::string> merge{};
  /// The output directory; it may exist and contain some of the points.
  std::string out{};
  /// How many replays run at once; 0: one per core.
  std::size_t jobs = 0;
  /// "0/8": the first of eight parts.
  std::string shard{};
  /// Print the points and run nothing.
  bool list = false;
  /// The format of the printed table: "text" or "markdown".
  std::string format = "text";
};

/// A part of the points: one of every `count` consecutive points, at a position that moves by one each time,
/// so that one policy is not always in the same part.
struct sweep_shard {
  std::size_t index = 0;
  std::size_t count = 1;

  [[nodiscard]] bool has(std::size_t point) const noexcept {
    return (point + point / count) % count == index;
  }
};
/// Parses "0/8"; nullopt if the text is not a shard, or its index is not from 0 to count - 1.
[[nodiscard]] std::optional<sweep_shard> read_shard(std::string_view text);

/// Returns the exit status: 0; 2 if the input is wrong or the output can't be written; `incomplete_status` if
/// a point of this shard failed or was stopped by a guard; or 128 + the number of the signal that ended it.
/// The table goes to standard output, everything else to standard error.
int sweep(const sweep_options& options);

}  // namespace lab
}  // namespace v0
}  // namespace allot

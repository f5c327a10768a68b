// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// `allot generate`: the workload of three teams (sim/generate.hpp) as a canonical trace.
struct generate_options {
  /// The file that is made; "-" for standard output.
  std::string out{};
  bool force = false;
  std::int64_t days = 14;
  std::uint64_t seed = 1;
  /// All work, and the part of it that is serving, as parts of what the cluster can do in that time: "0.9".
  std::string load = "0.9";
  std::string serving = "0.11";
  std::int64_t gpus = 128;
};

/// Returns the exit status: 0, or 2 when an option is out of range or the file can't be written.
int generate(const generate_options& options);

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/lab/csv_table.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

// The files of Alibaba's GPU cluster trace of 2023 ("openb"), on which fragmentation-aware placement was
// published: a list of nodes and lists of pods.

/// A machine.
struct openb_node {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int64_t gpus = 0;
  /// Of its GPUs; empty if it has none.
  std::string model;

  friend bool operator==(const openb_node&, const openb_node&) = default;
};

/// A pod: what it requests and, if the list says so, when it came and went.
struct openb_pod {
  std::string name{};
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int64_t num_gpu = 0;
  /// Of each of its GPUs: 1000 for a whole one; 0 if it has none.
  std::int64_t gpu_milli = 0;
  /// The GPU models that it accepts, in the order of the file; empty for any.
  vector<std::string> gpu_spec{};
  /// "LS" (latency-sensitive), "BE" (best-effort), "Burstable", "Guaranteed"; empty if unspecified.
  std::string qos{};
  /// "Running", "Succeeded", "Failed" or "Pending" at the end of the trace; empty if unspecified.
  std::string pod_phase{};
  /// In seconds since the trace began.
  std::optional<std::int64_t> creation_s{};
  std::optional<std::int64_t> deletion_s{};
  /// When it was first bound to a node; nothing for a pod that never was.
  std::optional<std::int64_t> scheduled_s{};

  friend bool operator==(const openb_pod&, const openb_pod&) = default;
};

/// Nodes or pods, or the problems with their file.
template <class Value>
struct [[nodiscard]] openb_reading {
  /// In the order of the file; empty if there are problems.
  vector<Value> values;
  vector<text_problem> problems;
  /// Whether reading stopped before the end of the file, so that there may be more problems.
  bool stopped = false;

  [[nodiscard]] explicit operator bool() const noexcept { return problems.empty(); }
};

struct openb_limits {
  /// The longest record, in bytes.
  std::size_t record = std::size_t{1} << 20U;
  /// Reading stops after this many problems.
  std::size_t problems = 20;
};

/// The columns of a list of pods; those after `gpu_milli` may be missing.
enum class openb_pod_column : std::uint8_t {
  name,
  cpu_milli,
  memory_mib,
  num_gpu,
  gpu_milli,
  gpu_spec,
  qos,
  pod_phase,
  creation_time,
  deletion_time,
  scheduled_time,
};
inline constexpr std::array<csv_column, 11> openb_pod_columns = {{{"name"},
                                                                  {"cpu_milli"},
                                                                  {"memory_mib"},
                                                                  {"num_gpu"},
                                                                  {"gpu_milli"},
                                                                  {"gpu_spec", false},
                                                                  {"qos", false},
                                                                  {"pod_phase", false},
                                                                  {"creation_time", false},
                                                                  {"deletion_time", false},
                                                                  {"scheduled_time", false}}};

/// The pod of a row of the table; its problems are then in the table's `problems`.
[[nodiscard]] openb_pod read_openb_row(csv_table<openb_pod_column>& row);

/// Reads a list of nodes (`sn,cpu_milli,memory_mib,gpu,model`, in any order, other columns ignored). Every
/// problem is reported with its line and column, up to a limit: what `csv_reader` and `csv_table` refuse,
/// numbers that are malformed, negative, not whole or too large, names that are empty or duplicate, GPUs
/// without a model. O(bytes).
openb_reading<openb_node> read_openb_nodes(byte_source source, const openb_limits& limits = {});

/// Reads a list of pods (`name,cpu_milli,memory_mib,num_gpu,gpu_milli` and, if present,
/// `gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time`). Problems are reported as for nodes;
/// so are a `gpu_milli` that is not 1 to 1000 for a pod with GPUs or not 0 for one without, a `gpu_spec` with
/// an empty part, and a pod that was scheduled or deleted before it was created. Rows may be in any order.
/// O(bytes).
openb_reading<openb_pod> read_openb_pods(byte_source source, const openb_limits& limits = {});

/// The same from a stream, which should be binary, and from text in memory.
openb_reading<openb_node> read_openb_nodes(std::istream& stream, const openb_limits& limits = {});
openb_reading<openb_pod> read_openb_pods(std::istream& stream, const openb_limits& limits = {});
openb_reading<openb_node> read_openb_nodes(std::string_view text, const openb_limits& limits = {});
openb_reading<openb_pod> read_openb_pods(std::string_view text, const openb_limits& limits = {});

}  // namespace lab
}  // namespace v0
}  // namespace allot

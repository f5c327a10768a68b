// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/lab/csv_table.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  /// Of its GPUs; empty when it has none.
  std::string model;

  friend bool operator==(const openb_node&, const openb_node&) = default;
};

/// A pod: what it asks for and, if the list says so, when it came and went.
struct openb_pod {
  std::string name{};
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int64_t num_gpu = 0;
  /// Of each of its GPUs: 1000 for a whole one; 0 when it has none.
  std::int64_t gpu_milli = 0;
  /// The GPU models that it accepts, in the order of the file; empty for any.
  std::vector<std::string> gpu_spec{};
  /// "LS" (latency-sensitive), "BE" (best-effort), "Burstable", "Guaranteed"; empty when not said.
  std::string qos{};
  /// "Running", "Succeeded", "Failed" or "Pending" at the end of the trace; empty when not said.
  std::string pod_phase{};
  /// In seconds since the trace began.
  std::optional<std::int64_t> creation_s{};
  std::optional<std::int64_t> deletion_s{};
  /// When it was first bound to a node; nothing for a pod that never was.
  std::optional<std::int64_t> scheduled_s{};

  friend bool operator==(const openb_pod&, const openb_pod&) = default;
};

/// Nodes or pods, or what is wrong with their file.
template <class Value>
struct [[nodiscard]] openb_reading {
  /// In the order of the file; empty when there are problems.
  std::vector<Value> values;
  std::vector<text_problem> problems;
  /// Whether the end of the file was not reached, so that there may be more problems.
  bool stopped = false;

  [[nodiscard]] explicit operator bool() const noexcept { return problems.empty(); }
};

struct openb_limits {
  /// The longest record, in bytes.
  std::size_t record = std::size_t{1} << 20U;
  /// Reading stops after so many problems.
  std::size_t problems = 20;
};

enum class openb_node_column : std::uint8_t { sn, cpu_milli, memory_mib, gpu, model };
inline constexpr std::array<csv_column, 5> openb_node_columns = {
    {{"sn"}, {"cpu_milli"}, {"memory_mib"}, {"gpu"}, {"model"}}};

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

namespace detail {

/// Far beyond any machine or calendar, and small enough that thousandths of sums can't overflow.
inline constexpr std::int64_t most_openb_units = 1'000'000'000'000;
inline constexpr std::int64_t most_openb_gpus = 1'000'000;

/// The models of "V100M16|V100M32".
template <class Table>
void read_openb_spec(Table& row, openb_pod& pod) {
  std::string_view rest = row.text(openb_pod_column::gpu_spec);
  if (rest.empty()) return;
  for (;;) {
    const std::size_t bar = rest.find('|');
    const std::string_view model = rest.substr(0, bar);
    if (model.empty()) {
      row.report(openb_pod_column::gpu_spec, "expected GPU models with a | between two, found " +
                                                 shown(row.text(openb_pod_column::gpu_spec)));
      return;
    }
    pod.gpu_spec.emplace_back(model);
    if (bar == std::string_view::npos) return;
    rest.remove_prefix(bar + 1);
  }
}

template <class Table>
void read_openb_times(Table& row, openb_pod& pod) {
  using column = openb_pod_column;
  pod.creation_s = row.whole(column::creation_time, 0, most_openb_units);
  pod.deletion_s = row.whole(column::deletion_time, 0, most_openb_units);
  pod.scheduled_s = row.whole(column::scheduled_time, 0, most_openb_units);
  if (pod.creation_s && pod.deletion_s && *pod.deletion_s < *pod.creation_s) {
    row.report(column::deletion_time, "expected a time that is not before the creation at " +
                                          std::to_string(*pod.creation_s) + ", found " +
                                          shown(row.text(column::deletion_time)));
  }
  if (pod.creation_s && pod.scheduled_s && *pod.scheduled_s < *pod.creation_s) {
    row.report(column::scheduled_time, "expected a time that is not before the creation at " +
                                           std::to_string(*pod.creation_s) + ", found " +
                                           shown(row.text(column::scheduled_time)));
  }
}

}  // namespace detail

/// The node of a row of the table; what is wrong with it is then in the table's `problems`.
template <byte_source Source>
[[nodiscard]] openb_node read_openb_row(csv_table<Source, openb_node_column>& row) {
  using column = openb_node_column;
  openb_node node;
  node.name = row.required_text(column::sn, "the name of a node");
  node.cpu_milli = row.required_whole(column::cpu_milli, 0, detail::most_openb_units).value_or(0);
  node.memory_mib = row.required_whole(column::memory_mib, 0, detail::most_openb_units).value_or(0);
  node.gpus = row.required_whole(column::gpu, 0, detail::most_openb_gpus).value_or(0);
  node.model = row.text(column::model);
  if (node.gpus > 0 && node.model.empty()) {
    row.report(column::model, "expected the model of its GPUs, found nothing");
  }
  return node;
}

/// The pod of a row of the table; what is wrong with it is then in the table's `problems`.
template <byte_source Source>
[[nodiscard]] openb_pod read_openb_row(csv_table<Source, openb_pod_column>& row) {
  using column = openb_pod_column;
  openb_pod pod;
  pod.name = row.required_text(column::name, "the name of a pod");
  pod.cpu_milli = row.required_whole(column::cpu_milli, 0, detail::most_openb_units).value_or(0);
  pod.memory_mib = row.required_whole(column::memory_mib, 0, detail::most_openb_units).value_or(0);
  const auto gpus = row.required_whole(column::num_gpu, 0, detail::most_openb_gpus);
  const auto milli = row.required_whole(column::gpu_milli, 0, 1000);
  if (gpus && milli && (*gpus == 0) != (*milli == 0)) {
    row.report(column::gpu_milli, *gpus == 0
                                      ? "expected 0, because num_gpu is 0, found " + std::to_string(*milli)
                                      : "expected the part of each GPU, 1 to 1000, found 0");
  }
  pod.num_gpu = gpus.value_or(0);
  pod.gpu_milli = milli.value_or(0);
  detail::read_openb_spec(row, pod);
  pod.qos = row.text(column::qos);
  pod.pod_phase = row.text(column::pod_phase);
  detail::read_openb_times(row, pod);
  return pod;
}

namespace detail {

template <class Value, class Column, byte_source Source>
[[nodiscard]] openb_reading<Value> read_openb(Source source, std::span<const csv_column> columns,
                                              Column name_column, const openb_limits& limits) {
  using table = csv_table<Source, Column>;
  table rows{std::move(source), columns, limits.record};
  openb_reading<Value> out;
  const auto take_problems = [&] {
    for (const text_problem& p : rows.problems()) {
      if (out.problems.size() < limits.problems) out.problems.push_back(p);
    }
  };
  if (!rows.open()) {
    take_problems();
    out.stopped = !rows.at_end();
    return out;
  }
  name_table names;
  std::vector<std::size_t> lines;
  for (;;) {
    if (out.problems.size() >= limits.problems) {
      out.stopped = true;
      break;
    }
    const typename table::outcome o = rows.next();
    if (o == table::outcome::end) break;
    if (o == table::outcome::row) {
      Value value = read_openb_row(rows);
      const auto [name, added] = names.intern(value.name);
      if (added) {
        lines.push_back(rows.place().line);
      } else if (!value.name.empty()) {
        rows.report(name_column, "the name " + shown(value.name) + " was given before, on line " +
                                     std::to_string(lines[name.index()]));
      }
      if (out.problems.empty() && rows.problems().empty()) out.values.push_back(std::move(value));
    }
    take_problems();
    if (o == table::outcome::failed) {
      out.stopped = true;
      break;
    }
  }
  if (!out.problems.empty()) out.values.clear();
  return out;
}

}  // namespace detail

/// Reads a list of nodes (`sn,cpu_milli,memory_mib,gpu,model`, in any order, other columns left out). Every
/// problem is reported with its line and column, up to a limit: what `csv_reader` and `csv_table` refuse,
/// numbers that are none, negative, not whole or too large, names that are empty or given twice, GPUs
/// without a model. O(bytes).
template <byte_source Source>
openb_reading<openb_node> read_openb_nodes(Source source, const openb_limits& limits = {}) {
  return detail::read_openb<openb_node>(std::move(source), openb_node_columns, openb_node_column::sn, limits);
}

/// Reads a list of pods (`name,cpu_milli,memory_mib,num_gpu,gpu_milli` and, where they are there,
/// `gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time`). Problems are reported as for nodes;
/// so are a `gpu_milli` that is not 1 to 1000 for a pod with GPUs or not 0 for one without, a `gpu_spec`
/// with an empty part, and a pod that was scheduled or deleted before it was created. Rows may stand in any
/// order. O(bytes).
template <byte_source Source>
openb_reading<openb_pod> read_openb_pods(Source source, const openb_limits& limits = {}) {
  return detail::read_openb<openb_pod>(std::move(source), openb_pod_columns, openb_pod_column::name, limits);
}

/// The same from a stream, which should be binary, and from a text in memory.
inline openb_reading<openb_node> read_openb_nodes(std::istream& stream, const openb_limits& limits = {}) {
  return read_openb_nodes(stream_source{stream}, limits);
}
inline openb_reading<openb_pod> read_openb_pods(std::istream& stream, const openb_limits& limits = {}) {
  return read_openb_pods(stream_source{stream}, limits);
}
inline openb_reading<openb_node> read_openb_nodes(std::string_view text, const openb_limits& limits = {}) {
  return read_openb_nodes(string_source{text}, limits);
}
inline openb_reading<openb_pod> read_openb_pods(std::string_view text, const openb_limits& limits = {}) {
  return read_openb_pods(string_source{text}, limits);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#include <allot/core/vector.hpp>
#include <allot/lab/name_table.hpp>
#include <allot/lab/openb_csv.hpp>

#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

enum class openb_node_column : std::uint8_t { sn, cpu_milli, memory_mib, gpu, model };
constexpr std::array<csv_column, 5> openb_node_columns = {
    {{"sn"}, {"cpu_milli"}, {"memory_mib"}, {"gpu"}, {"model"}}};

/// Far beyond any machine or calendar, and small enough that thousandths of sums can't overflow.
constexpr std::int64_t most_openb_units = 1'000'000'000'000;
constexpr std::int64_t most_openb_gpus = 1'000'000;

/// The models in "V100M16|V100M32".
void read_openb_spec(csv_table<openb_pod_column>& row, openb_pod& pod) {
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

void read_openb_times(csv_table<openb_pod_column>& row, openb_pod& pod) {
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

[[nodiscard]] openb_node read_openb_row(csv_table<openb_node_column>& row) {
  using column = openb_node_column;
  openb_node node;
  node.name = row.required_text(column::sn, "the name of a node");
  node.cpu_milli = row.required_whole(column::cpu_milli, 0, most_openb_units).value_or(0);
  node.memory_mib = row.required_whole(column::memory_mib, 0, most_openb_units).value_or(0);
  node.gpus = row.required_whole(column::gpu, 0, most_openb_gpus).value_or(0);
  node.model = row.text(column::model);
  if (node.gpus > 0 && node.model.empty()) {
    row.report(column::model, "expected the model of its GPUs, found nothing");
  }
  return node;
}

template <class Value, class Column>
[[nodiscard]] openb_reading<Value> read_openb(byte_source source, std::span<const csv_column> columns,
                                              Column name_column, const openb_limits& limits) {
  using table = csv_table<Column>;
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
  vector<std::size_t> lines;
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

}  // namespace

openb_pod read_openb_row(csv_table<openb_pod_column>& row) {
  using column = openb_pod_column;
  openb_pod pod;
  pod.name = row.required_text(column::name, "the name of a pod");
  pod.cpu_milli = row.required_whole(column::cpu_milli, 0, most_openb_units).value_or(0);
  pod.memory_mib = row.required_whole(column::memory_mib, 0, most_openb_units).value_or(0);
  const auto gpus = row.required_whole(column::num_gpu, 0, most_openb_gpus);
  const auto milli = row.required_whole(column::gpu_milli, 0, 1000);
  if (gpus && milli && (*gpus == 0) != (*milli == 0)) {
    row.report(column::gpu_milli, *gpus == 0
                                      ? "expected 0, because num_gpu is 0, found " + std::to_string(*milli)
                                      : "expected the part of each GPU, 1 to 1000, found 0");
  }
  pod.num_gpu = gpus.value_or(0);
  pod.gpu_milli = milli.value_or(0);
  read_openb_spec(row, pod);
  pod.qos = row.text(column::qos);
  pod.pod_phase = row.text(column::pod_phase);
  read_openb_times(row, pod);
  return pod;
}

openb_reading<openb_node> read_openb_nodes(byte_source source, const openb_limits& limits) {
  return read_openb<openb_node>(std::move(source), openb_node_columns, openb_node_column::sn, limits);
}
openb_reading<openb_pod> read_openb_pods(byte_source source, const openb_limits& limits) {
  return read_openb<openb_pod>(std::move(source), openb_pod_columns, openb_pod_column::name, limits);
}

openb_reading<openb_node> read_openb_nodes(std::istream& stream, const openb_limits& limits) {
  return read_openb_nodes(stream_source{stream}, limits);
}
openb_reading<openb_pod> read_openb_pods(std::istream& stream, const openb_limits& limits) {
  return read_openb_pods(stream_source{stream}, limits);
}
openb_reading<openb_node> read_openb_nodes(std::string_view text, const openb_limits& limits) {
  return read_openb_nodes(string_source{text}, limits);
}
openb_reading<openb_pod> read_openb_pods(std::string_view text, const openb_limits& limits) {
  return read_openb_pods(string_source{text}, limits);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

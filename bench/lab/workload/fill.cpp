// SPDX-License-Identifier: BSL-1.0
#include "lab/workload/fill.hpp"

#include "lab/io/errors.hpp"
#include "lab/io/files.hpp"
#include "lab/io/json_reader.hpp"
#include "lab/io/packed_input.hpp"
#include "lab/io/terminal.hpp"

#include <allot/core/vector.hpp>
#include <allot/gpu/placement/any_placement.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/openb_csv.hpp>
#include <allot/lab/static_fill.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// Ten times the capacity: by then every policy has long filled the cluster.
constexpr std::int64_t most_arrivals_milli = 10'000;

/// The program's best fit is that of the published figures here.
[[nodiscard]] std::optional<gpu::placement_name> find_policy(const std::string& name, errors& found) {
  if (std::find(fill_policies.begin(), fill_policies.end(), name) != fill_policies.end()) {
    return name == "best_fit" ? gpu::placement_name::vector_best : gpu::find_placement(name);
  }
  const vector<std::string_view> names{fill_policies.begin(), fill_policies.end()};
  found.add("--policy", {}, "there is no policy \"" + name + '"' + meant_or_expected(name, names));
  return std::nullopt;
}

[[nodiscard]] std::optional<std::int64_t> read_arrivals(const std::string& text, errors& found) {
  const parsed_milli n = parse_milli(text);
  if (n.problem == decimal_problem::none && n.value > 0 && n.value <= most_arrivals_milli) return n.value;
  found.add(
      "--arrivals", {},
      "expected a number above 0, at most 10 and exact to a thousandth, as in 1.3, found \"" + text + '"');
  return std::nullopt;
}

template <class Value, class Read>
[[nodiscard]] vector<Value> read_list(const std::string& path, errors& found, Read read) {
  packed_input file{path};
  openb_reading<Value> reading;
  if (file.problem().empty()) {
    reading = read([&](char* to, std::size_t size) { return file.read(to, size); });
  }
  if (!file.problem().empty()) {
    found.add(shown_path(path), {}, file.problem() + " (expected a CSV file)");
    return {};
  }
  for (const text_problem& p : reading.problems) {
    const std::string field = p.field.empty() ? "" : " (" + p.field + ')';
    found.add(shown_path(path),
              "line " + std::to_string(p.place.line) + ", column " + std::to_string(p.place.column) + field,
              p.text);
  }
  if (reading.stopped) found.add(shown_path(path), {}, "there may be more: the rest was not read");
  return std::move(reading.values);
}

/// "93.06" for 9306.
[[nodiscard]] std::string hundredths(std::int64_t n) {
  const std::string cents = std::to_string(100 + n % 100);
  return std::to_string(n / 100) + '.' + cents.substr(1);
}

}  // namespace

int fill(const fill_command& command) {
  errors found;
  const auto policy = find_policy(command.policy, found);
  const auto arrivals = read_arrivals(command.arrivals, found);
  if (command.nodes_csv == "-" && command.pods_csv == "-") {
    found.add("--pods-csv", {}, "the nodes come from standard input already");
    return complain(found);
  }
  const auto nodes =
      read_list<openb_node>(command.nodes_csv, found, [](auto source) { return read_openb_nodes(source); });
  const auto pods =
      read_list<openb_pod>(command.pods_csv, found, [](auto source) { return read_openb_pods(source); });
  if (!found.empty()) return complain(found);

  const auto layout = openb_cluster(nodes, command.seed);
  if (!layout) {
    for (const problem& p : layout.problems())
      found.add(shown_path(command.nodes_csv), p.subject.empty() ? "" : "node " + p.subject, p.text);
    return complain(found);
  }
  if (layout.value().gpus() == quantity{}) {
    found.add(shown_path(command.nodes_csv), {}, "expected nodes with GPUs, found none");
  }
  const vector<gpu::pod_shape> shapes = openb_shapes(pods, layout.value());
  if (std::none_of(shapes.begin(), shapes.end(), [](const gpu::pod_shape& s) { return s.devices > 0; })) {
    found.add(shown_path(command.pods_csv), {}, "expected pods that ask for GPUs, found none");
  }
  if (!found.empty()) return complain(found);

  const gpu::typical_pods typical = typical_of(shapes);
  const auto order = fill_arrivals(shapes, layout.value().gpus(), {*arrivals, command.seed});
  const gpu::any_placement placement{*policy, layout.value(), typical, command.seed};
  const auto rows = static_fill(layout.value(), shapes, order, typical, placement, *arrivals / 10);
  std::string csv = "arrived_pct,gpu_allocation_pct,fragmented_gpu_pct\n";
  for (const fill_row& r : rows) {
    csv +=
        std::to_string(r.arrived_pct) + ',' + hundredths(r.allocated) + ',' + hundredths(r.fragmented) + '\n';
  }
  return print_result(csv, "the figures") ? 0 : bad_input_status;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

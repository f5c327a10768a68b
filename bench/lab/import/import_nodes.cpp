// SPDX-License-Identifier: BSL-1.0
// Tables of nodes, as traces have beside their jobs: they become the cluster of a scenario.
#include "lab/import/import_table.hpp"
#include "lab/import/import_times.hpp"
#include "lab/io/atomic_files.hpp"
#include "lab/io/number_text.hpp"

#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/lab/json_writer.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <span>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

enum class node_part : std::uint8_t { name, gpus, model, cpu, memory };

/// What published tables call it, and how many thousandths of what a scenario counts a unit there is.
struct known_column {
  std::string_view name;
  node_part is;
  std::int64_t unit = 1000;
};
constexpr std::array<known_column, 18> known_columns = {{{"name", node_part::name},
                                                         {"node", node_part::name},
                                                         {"hostname", node_part::name},
                                                         // Alibaba 2023, 2020, and Lingjun.
                                                         {"sn", node_part::name},
                                                         {"machine", node_part::name},
                                                         {"ip", node_part::name},
                                                         {"gpus", node_part::gpus},
                                                         {"gpu", node_part::gpus},
                                                         {"cap_gpu", node_part::gpus},
                                                         {"gpu_model", node_part::model},
                                                         {"model", node_part::model},
                                                         {"gpu_type", node_part::model},
                                                         {"cpu_milli", node_part::cpu},
                                                         // In cores.
                                                         {"cpus", node_part::cpu, 1'000'000},
                                                         {"cap_cpu", node_part::cpu, 1'000'000},
                                                         {"memory_mib", node_part::memory},
                                                         // In GiB.
                                                         {"memory_gib", node_part::memory, 1'024'000},
                                                         {"cap_mem", node_part::memory, 1'024'000}}};

enum class no_node_column : std::uint8_t {};

class nodes_import {
 public:
  nodes_import(packed_input& file, import_log& log, const import_options& options)
      : file_(file), log_(log), options_(options), rows_(packed_source{&file}, {}) {}

  int run() {
    if (!(options_.columns.empty() ? rows_.open() : rows_.open(options_.columns))) {
      report_failure(rows_.problems(), file_, log_);
      return bad_input_status;
    }
    if (!find_columns()) return bad_input_status;
    json_writer json{3};
    json.begin_object().member("format", "allot-scenario/1");
    json.key("cluster").begin_object();
    if (!levels_.empty()) {
      json.key("topology").begin_array();
      for (const std::string& level : options_.topology) json.value(level);
      json.end_array();
    }
    json.key("nodes").begin_array();
    const auto read = [&](std::size_t) -> std::span<const text_problem> {
      problems_.clear();
      write_node(json);
      return problems_;
    };
    if (!for_each_row(rows_, file_, log_, read)) return bad_input_status;
    json.end_array().end_object().end_object();
    log_.finish();
    if (nodes_ == 0 || (options_.strict && log_.rejected() > 0)) {
      log_.fail({},
                nodes_ == 0 ? "there is no node in the list" : "rows are wrong, and --strict allows none");
      return bad_input_status;
    }
    output_target out;
    std::string problem = out.open(options_.out, options_.force);
    if (problem.empty()) {
      out.text() = json.text();
      problem = out.publish();
    }
    if (!problem.empty()) return complain(problem, "allot import");
    log_.fail({}, grouped(nodes_) + " nodes, " + grouped(static_cast<std::uint64_t>(gpus_)) + " GPUs");
    return 0;
  }

 private:
  using table = csv_table<no_node_column>;

  bool find_columns() {
    for (const known_column& known : known_columns) {
      auto& place = at_[static_cast<std::size_t>(known.is)];
      const auto found = rows_.find(known.name);
      if (!found || place) continue;
      place = column{*found, known.unit, std::string{known.name}};
    }
    std::string problem;
    if (!at(node_part::name))
      problem = "no column has the names of nodes (expected " + names_of(node_part::name);
    if (problem.empty() && !at(node_part::gpus) && options_.gpus < 0) {
      problem = "no column says how many GPUs a node has (expected --gpus N, or " + names_of(node_part::gpus);
    }
    for (const std::string& level : options_.topology) {
      const auto found = rows_.find(level);
      if (!found && problem.empty())
        problem = "--topology: the file has no column \"" + level + "\" (it has " + all();
      if (found) levels_.push_back(*found);
    }
    if (problem.empty()) return true;
    log_.fail("line 1", problem + ')');
    return false;
  }
  [[nodiscard]] static std::string names_of(node_part part) {
    std::string text;
    for (const known_column& known : known_columns) {
      if (known.is == part) text.append(text.empty() ? "" : ", ").append(known.name);
    }
    return text;
  }
  [[nodiscard]] std::string all() const {
    std::string text;
    for (std::size_t i = 0; i < rows_.others(); ++i) {
      text.append(text.empty() ? "" : ", ").append(rows_.other_name(i));
    }
    return text;
  }

  struct column {
    std::size_t number = 0;
    std::int64_t unit = 1000;
    std::string name{};
  };
  [[nodiscard]] const std::optional<column>& at(node_part part) const {
    return at_[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] std::string_view text(node_part part) const {
    return at(part) ? rows_.field(at(part)->number) : std::string_view{};
  }
  /// Whole units of a scenario; nothing if the field is empty.
  [[nodiscard]] std::optional<std::int64_t> amount(node_part part, std::int64_t most) {
    const std::string_view found = text(part);
    if (found.empty()) return std::nullopt;
    const auto n = parse_in_unit(found, {at(part)->unit, 1});
    const bool is_part = part == node_part::gpus && n && *n % 1000 != 0;
    if (n && !is_part && *n / 1000 <= most) return *n / 1000;
    problems_.push_back(
        {rows_.field_place(at(part)->number), at(part)->name,
         (part == node_part::gpus ? "expected a whole number up to " : "expected a number up to ") +
             std::to_string(most) + ", found " + shown(found)});
    return std::nullopt;
  }

  void write_node(json_writer& json) {
    const std::string name{text(node_part::name)};
    constexpr auto most = static_cast<std::int64_t>(gpu::max_gpus_per_node);
    const auto gpus =
        at(node_part::gpus) ? amount(node_part::gpus, most_imported_units).value_or(0) : options_.gpus;
    const auto cpu = amount(node_part::cpu, most_imported_units);
    const auto memory = amount(node_part::memory, most_imported_units);
    if (name.empty() || !names_.insert(name).second) {
      problems_.push_back(
          {rows_.place(), {}, name.empty() ? "the node has no name" : "the node is there twice"});
    }
    if (!problems_.empty()) return;
    if (gpus > most) {
      return log_.note(name, "left out: it has " + std::to_string(gpus) + " GPUs (expected at most " +
                                 std::to_string(most) + ")");
    }
    gpus_ += gpus;
    ++nodes_;
    json.begin_object().member("name", name).member("gpus", gpus);
    // Nodes without GPUs have the model "CPU" in some.
    if (gpus > 0 && !text(node_part::model).empty()) json.member("gpu_model", text(node_part::model));
    if (cpu) json.member("cpu_milli", *cpu);
    if (memory) json.member("memory_mib", *memory);
    if (!levels_.empty()) {
      json.key("labels").begin_object();
      for (std::size_t i = 0; i < levels_.size(); ++i) {
        json.member(options_.topology[i], rows_.field(levels_[i]));
      }
      json.end_object();
    }
    json.end_object();
  }

  packed_input& file_;
  import_log& log_;
  const import_options& options_;
  table rows_;
  std::array<std::optional<column>, 5> at_{};
  vector<std::size_t> levels_;
  vector<text_problem> problems_;
  std::set<std::string> names_;
  std::uint64_t nodes_ = 0;
  std::int64_t gpus_ = 0;
};

}  // namespace

int import_nodes(packed_input& file, import_log& log, const import_options& options) {
  return nodes_import{file, log, options}.run();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

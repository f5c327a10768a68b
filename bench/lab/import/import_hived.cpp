// SPDX-License-Identifier: BSL-1.0
// Converts the configuration of HiveD to a scenario: the nodes of its physical cells, with the cells around
// them as topology, and its virtual clusters as quotas.
#include "lab/import/kubernetes.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/dimensions.hpp>
#include <allot/lab/json_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

class hived_importer {
 public:
  hived_importer(json_value root, errors& found, import_log& log, const import_options& options)
      : root_(root), found_(found), log_(log), file_(shown_path(options.file)) {}

  [[nodiscard]] std::string run() {
    const auto is_there = [&](std::string_view key) {
      return root_.is_object() && find_path(root_, {key}, found_);
    };
    if (!is_there("physicalCluster") || !is_there("virtualClusters")) {
      found_.add(file_, {}, "expected the configuration of HiveD: physicalCluster and virtualClusters");
      return {};
    }
    read_cell_types();
    std::size_t number = 0;
    for (const json_value& cell : elements_at(root_, {"physicalCluster", "physicalCells"}, found_)) {
      const std::string type = text_at(cell, {"cellType"}, found_);
      if (types_.find(type) == types_.end()) {
        cell.report(found_, "its cellType \"" + type + "\" is none of cellTypes");
      } else if (devices_of(type, cell)) {
        read_cell(cell, type, {type + '.' + std::to_string(number)});
      }
      ++number;
    }
    if (nodes_.empty() && found_.empty()) found_.add(file_, {}, "no physical cell has a node");
    if (devices_.size() > max_resources) {
      found_.add(file_, {},
                 "there are devices of " + std::to_string(devices_.size()) +
                     " kinds (a scenario counts at most " + std::to_string(max_resources) + ')');
    }
    return found_.empty() ? write() : std::string{};
  }

 private:
  static constexpr std::int64_t most_devices = 1'000'000'000;

  struct cell_type {
    std::string child;
    std::int64_t children = 0;
    bool is_node = false;
  };
  /// Devices of one kind: HiveD's leaf cells.
  struct devices {
    std::string kind;
    std::int64_t number = 0;
  };
  struct node {
    std::string name;
    devices has;
    /// The cells that it is in, the outermost first.
    vector<std::string> in;
  };
  void read_cell_types() {
    const auto types = find_path(root_, {"physicalCluster", "cellTypes"}, found_);
    if (!types || !expect_object(*types, found_)) return;
    types->for_each([&](json_value v) {
      cell_type t;
      t.child = text_at(v, {"childCellType"}, found_);
      t.children = whole_at(v, {"childCellNumber"}, 1, most_devices, found_).value_or(0);
      if (t.child.empty() || t.children == 0) v.report(found_, "expected childCellType and childCellNumber");
      if (const auto is_node = find_path(v, {"isNodeLevel"}, found_))
        t.is_node = read_bool(*is_node, found_).value_or(false);
      types_.emplace(v.key(), std::move(t));
    });
  }

  /// What a whole cell of that type has. Reports, at `asked`, a cell that contains itself, or too much.
  [[nodiscard]] std::optional<devices> devices_of(std::string_view type, json_value asked) {
    devices d{std::string{type}, 1};
    for (std::size_t depth = 0;; ++depth) {
      const auto t = types_.find(d.kind);
      if (t == types_.end()) return d;
      if (depth == types_.size() || d.number > most_devices / std::max<std::int64_t>(1, t->second.children))
        break;
      d.number *= t->second.children;
      d.kind = t->second.child;
    }
    asked.report(found_,
                 "a cell of the type \"" + std::string{type} + "\" contains itself, or too many others");
    return std::nullopt;
  }

  /// An address may look like a number.
  [[nodiscard]] std::string address_of(json_value cell) {
    const auto v = find_path(cell, {"cellAddress"}, found_);
    if (!v) return {};
    if (!v->is_string() && !v->is_number()) v->report(found_, "expected a text, found " + v->shown());
    return std::string{v->text()};
  }

  /// Reads a cell and those in it, and returns its devices: it may have fewer children than its type. `path`:
  /// the domains down to it, the last its own; empty within a node.
  devices read_cell(json_value cell, const std::string& type, vector<std::string> path) {
    const auto t = types_.find(type);
    const bool is_leaf = t == types_.end();
    const bool is_node = !is_leaf && !path.empty() && t->second.is_node;
    const bool has_nodes = !path.empty() && !is_node;
    vector<json_value> children;
    if (!is_leaf) children = elements_at(cell, {"cellChildren"}, found_);
    if (has_nodes && is_leaf) {
      cell.report(found_, "there is no cell of node level around it (isNodeLevel)");
    } else if (has_nodes && children.empty()) {
      cell.report(found_, "expected cellChildren, down to the nodes with their addresses");
    }
    devices has = devices_of(type, cell).value_or(devices{type, 0});
    if (!children.empty()) has.number = 0;
    for (std::size_t i = 0; i < children.size(); ++i) {
      vector<std::string> child_path;
      if (has_nodes) {
        const std::string address = address_of(children[i]);
        child_path = path;
        child_path.push_back(path.back() + '/' + (address.empty() ? std::to_string(i) : address));
      }
      has.number += read_cell(children[i], t->second.child, std::move(child_path)).number;
    }
    const std::string id = text_at(cell, {"pinnedCellId"}, found_);
    if (!id.empty() && !pinned_.emplace(id, has).second)
      cell.report(found_, "the pinnedCellId \"" + id + "\" is there twice");
    if (is_node) {
      path.pop_back();
      add_node(cell, has, std::move(path));
      has_parts_ = has_parts_ || types_.find(t->second.child) != types_.end();
    }
    return has;
  }
  void add_node(json_value cell, devices has, vector<std::string> in) {
    node n{address_of(cell), std::move(has), std::move(in)};
    if (n.name.empty()) return cell.report(found_, "expected a cellAddress, the name of the node");
    // A node with devices of several kinds is a cell for each.
    if (!names_.insert(n.name).second) n.name += '/' + n.has.kind;
    devices_[n.has.kind] += n.has.number;
    nodes_.push_back(std::move(n));
  }

  /// What the virtual cluster owns, by kind.
  [[nodiscard]] std::map<std::string, std::int64_t> owned_by(json_value cluster) {
    std::map<std::string, std::int64_t> owned;
    for (const json_value& cells : elements_at(cluster, {"virtualCells"}, found_)) {
      const std::string path = text_at(cells, {"cellType"}, found_);
      const std::string type = path.substr(path.rfind('.') + 1);  // npos + 1 is 0
      const auto number = whole_at(cells, {"cellNumber"}, 0, most_devices, found_);
      if (!number) cells.report(found_, "expected a cellNumber");
      const auto each = devices_of(type, cells);
      if (!each || !number) continue;
      if (devices_.find(each->kind) == devices_.end()) {
        cells.report(found_, "no physical cell has one of the type \"" + path + '"');
      } else if (*number > most_devices / each->number) {
        cells.report(found_, "expected fewer of these cells");
      } else {
        owned[each->kind] += *number * each->number;
      }
    }
    named_count pinned;
    for (const json_value& cell : elements_at(cluster, {"pinnedCells"}, found_)) {
      const std::string id = text_at(cell, {"pinnedCellId"}, found_);
      const auto at = pinned_.find(id);
      if (at == pinned_.end()) {
        cell.report(found_, "no physical cell has the pinnedCellId \"" + id + '"');
      } else {
        owned[at->second.kind] += at->second.number;
        pinned.add(id);
      }
    }
    if (!pinned.empty()) {
      log_.note("virtual cluster " + std::string{cluster.key()},
                pinned.text("pinned cell counts", "pinned cells count") + " as GPUs, which may be anywhere");
    }
    return owned;
  }

  /// The CPU or memory that goes with these devices, in thousandths of `unit`.
  [[nodiscard]] std::optional<std::int64_t> host_of(const devices& d, std::string_view resource,
                                                    nano_amount unit) {
    const auto each = find_path(root_, {"physicalCluster", "skuTypes", d.kind, resource}, found_);
    if (!each) return std::nullopt;
    return milli_of(read_amount_of(*each, found_) * d.number, unit);
  }

  [[nodiscard]] std::string dimension(const std::string& kind) const {
    return devices_.size() == 1 ? "gpu" : kind + "/gpu";
  }

  [[nodiscard]] std::string write() {
    json_writer json{3};
    json.begin_object().member("format", "allot-scenario/1").member("policy", "standard");
    json.key("resources").begin_array();
    for (const auto& [kind, number] : devices_) json.value(dimension(kind));
    json.end_array();
    write_nodes(json);
    json.key("quotas").begin_array();
    json.begin_object()
        .member("name", "physicalCluster")
        .member("nominal", "cluster")
        .member("inclusive", true)
        .end_object();
    const auto clusters = find_path(root_, {"virtualClusters"}, found_);
    if (expect_object(*clusters, found_)) {
      clusters->for_each([&](json_value c) {
        json.begin_object()
            .member("name", c.key())
            .member("parent", "physicalCluster")
            .key("nominal")
            .begin_object();
        for (const auto& [kind, number] : owned_by(c)) json.member(dimension(kind), number);
        json.end_object().end_object();
      });
    }
    json.end_array().end_object();
    log_.note({}, "HiveD guarantees cells, a quota as many GPUs: they may be parts of several cells");
    if (has_parts_) log_.note({}, "cells within a node are not carried over");
    return json.text();
  }

  void write_nodes(json_writer& json) {
    std::size_t levels = 0;
    for (const node& n : nodes_) levels = std::max(levels, n.in.size());
    json.key("cluster").begin_object();
    if (levels > 0) {
      json.key("topology").begin_array();
      for (std::size_t l = levels; l > 0; --l) json.value("cells-" + std::to_string(l));
      json.end_array();
    }
    json.key("nodes").begin_array();
    for (const node& n : nodes_) {
      json.begin_object().member("name", n.name).member("gpus", n.has.number).member("gpu_model", n.has.kind);
      if (const auto cpu = host_of(n.has, "cpu", nano)) json.member("cpu_milli", *cpu);
      if (const auto memory = host_of(n.has, "memory", nano << 20)) json.member("memory_mib", *memory / 1000);
      if (levels > 0) {
        json.key("labels").begin_object();
        for (std::size_t l = levels; l > 0; --l) {
          // In place of cells that a node lacks, and others have: its outermost one, or the node itself.
          const std::string& of = n.in.empty() ? n.name : n.in[n.in.size() - std::min(l, n.in.size())];
          json.member("cells-" + std::to_string(l), of);
        }
        json.end_object();
      }
      json.end_object();
    }
    json.end_array().end_object();
  }

  json_value root_;
  errors& found_;
  import_log& log_;
  std::string file_;
  std::map<std::string, cell_type, std::less<>> types_;
  vector<node> nodes_;
  std::set<std::string> names_;
  std::map<std::string, devices> pinned_;
  /// How many there are of each kind.
  std::map<std::string, std::int64_t> devices_;
  bool has_parts_ = false;
};

}  // namespace

std::string make_hived_scenario(json_value root, errors& found, import_log& log,
                                const import_options& options) {
  return hived_importer{root, found, log, options}.run();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot

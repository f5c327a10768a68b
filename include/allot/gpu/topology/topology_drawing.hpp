// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/text.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/topology/gang_request.hpp>
#include <allot/gpu/topology/topology.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace allot {
inline namespace v0 {
namespace gpu {

/// How full a node is.
struct node_fill {
  /// GPUs in use.
  quantity used;
  /// All GPUs.
  quantity total;

  friend bool operator==(const node_fill&, const node_fill&) = default;
};

namespace detail {

/// Writes one topology: nested boxes for the domains, and in them the nodes.
template <class Fill>
class topology_drawing {
 public:
  topology_drawing(std::ostream& out, const topology& t, const cluster& nodes, Fill fill,
                   std::span<const gang_share> gang)
      : out_(out), topology_(t), nodes_(nodes), fill_(fill) {
    for (const gang_share& s : gang) several_groups_ = several_groups_ || s.group != gang.front().group;
    for (const gang_share& s : gang) pods_[s.node] += share_text(s);
  }

  void write() {
    out_ << "digraph topology {\n  compound=true;\n  node [shape=box, style=filled];\n";
    if (topology_.levels() > 0) {
      for (const domain_id d : topology_.domains_of(0)) write_domain(d, "  ");
    }
    for (const node_id n : topology_.nodes_outside()) write_node(n, "  ");
    out_ << "}\n";
  }

 private:
  void write_domain(domain_id d, const std::string& indent) {
    const std::string inner = indent + "  ";
    out_ << indent << "subgraph cluster_" << d.index() << " {\n"
         << inner << "label=\"" << escaped(topology_.level_name(topology_.level_of(d))) << ' '
         << escaped(topology_.name(d)) << "\";\n";
    for (const domain_id child : topology_.children(d)) write_domain(child, inner);
    if (topology_.level_of(d) + 1 == topology_.levels()) {
      for (const node_id n : topology_.nodes(d)) write_node(n, inner);
    }
    out_ << indent << "}\n";
  }

  void write_node(node_id n, const std::string& indent) {
    const node_fill is = fill_(n);
    out_ << indent << 'n' << n.index() << " [label=\"" << escaped(nodes_.name(n)) << "\\n"
         << to_string(is.used) << " of " << to_string(is.total);
    const auto pods = pods_.find(n);
    if (pods != pods_.end()) out_ << pods->second;
    out_ << "\", fillcolor=gray" << shade(is);
    if (pods != pods_.end()) out_ << ", color=blue, penwidth=3";
    out_ << "];\n";
  }

  /// From gray100, which is white, for an empty node to gray60 for a full one.
  [[nodiscard]] static std::int64_t shade(const node_fill& is) noexcept {
    const std::int64_t total = is.total.in_milli();
    if (total <= 0) return 100;
    return 100 - 40 * std::clamp<std::int64_t>(is.used.in_milli(), 0, total) / total;
  }
  [[nodiscard]] std::string share_text(const gang_share& s) const {
    std::string text = "\\n";
    if (several_groups_) {
      text += "group ";
      text += std::to_string(s.group);
      text += ": ";
    }
    text += std::to_string(s.pods);
    text += s.pods == 1 ? " pod" : " pods";
    return text;
  }
  [[nodiscard]] static std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
    return result;
  }

  std::ostream& out_;
  const topology& topology_;
  const cluster& nodes_;
  Fill fill_;
  std::map<node_id, std::string> pods_;
  bool several_groups_ = false;
};

}  // namespace detail

/// Writes a topology as a DOT graph: each domain is a box with its level and name around its contents, and
/// each node has its name, how full it is (`fill(node)` is a `node_fill`; fuller is darker), and in a blue
/// frame its pods of the gang. `nodes` is the cluster of the topology. O(n log n).
template <class Fill>
requires std::convertible_to<std::invoke_result_t<Fill&, node_id>, node_fill>
void write_graphviz(std::ostream& out, const topology& t, const cluster& nodes, Fill fill,
                    std::span<const gang_share> gang = {}) {
  detail::topology_drawing<Fill>{out, t, nodes, fill, gang}.write();
}

}  // namespace gpu
}  // namespace v0
}  // namespace allot

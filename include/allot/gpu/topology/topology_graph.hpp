// SPDX-License-Identifier: BSL-1.0
#pragma once

// Topologies and Boost.Graph. `topology_from_graph` compiles a graph that the user built. Conversely, a
// `topology_graph` presents a topology with the nodes of its cluster as a graph, without a copy: the domains
// and the nodes are the vertices, and an edge leads from a domain to each of its sub-domains and nodes. It
// models VertexListGraph, EdgeListGraph, BidirectionalGraph (so IncidenceGraph) and AdjacencyGraph; domains
// come before nodes, coarser ones before finer ones, and every function takes constant time.
//
//   const allot::gpu::topology_graph g{t, nodes};
//   boost::write_graphviz(out, g, boost::make_label_writer(get(boost::vertex_name, g)));
//
// Properties: boost::vertex_index and boost::vertex_name. No other header includes this one: it takes longer
// to compile than the rest of the topology.

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/result.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/gpu/topology/topology.hpp>
#include <allot/gpu/topology/topology_builder.hpp>

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/counting_iterator.hpp>
#include <boost/iterator/transform_iterator.hpp>
#include <boost/property_map/property_map.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// A domain (its id), or a node (its position after all domains).
using topology_vertex = id<struct topology_vertex_tag>;

/// The edge to `child` from the domain around it.
struct topology_edge {
  /// The vertex that it leads to.
  topology_vertex child;

  friend bool operator==(const topology_edge&, const topology_edge&) = default;
};

/// A topology with the nodes of its cluster, as a graph. Both must outlive it.
class topology_graph {
 public:
  topology_graph(const topology& t, const cluster& nodes) : topology_(&t), nodes_(&nodes) {
    ALLOT_ASSERT(t.nodes().size() == nodes.size(), "the topology is of another cluster");
  }

  /// The topology.
  [[nodiscard]] const topology& layout() const noexcept { return *topology_; }
  /// The nodes.
  [[nodiscard]] const cluster& nodes() const noexcept { return *nodes_; }

  /// The vertex of a domain. Precondition: the domain exists.
  [[nodiscard]] topology_vertex vertex(domain_id d) const { return topology_vertex{d.index()}; }
  /// The vertex of a node. Precondition: the node exists.
  [[nodiscard]] topology_vertex vertex(node_id n) const {
    return topology_vertex{topology_->size() + topology_->position(n)};
  }
  /// None for a node.
  [[nodiscard]] domain_id domain(topology_vertex v) const {
    return v.index() < topology_->size() ? domain_id{v.index()} : domain_id::none();
  }
  /// None for a domain.
  [[nodiscard]] node_id node(topology_vertex v) const {
    return v.index() < topology_->size() ? node_id::none()
                                         : topology_->nodes()[v.index() - topology_->size()];
  }
  /// The name of the domain or node.
  [[nodiscard]] const std::string& name(topology_vertex v) const {
    return domain(v) ? topology_->name(domain(v)) : nodes_->name(node(v));
  }
  /// The domain around it; none for one of the coarsest level or a node outside every domain.
  [[nodiscard]] topology_vertex parent(topology_vertex v) const {
    const domain_id up = domain(v) ? topology_->parent(domain(v)) : topology_->domain_of(node(v));
    return up ? vertex(up) : topology_vertex::none();
  }
  /// The vertices in it are contiguous.
  [[nodiscard]] std::pair<std::size_t, std::size_t> children(topology_vertex v) const {
    const domain_id d = domain(v);
    if (!d) return {0, 0};
    if (topology_->level_of(d) + 1 < topology_->levels()) {
      return {topology_->children(d).first(), topology_->children(d).last()};
    }
    const std::size_t first = topology_->size() + topology_->first_position(d);
    return {first, first + topology_->nodes(d).size()};
  }

 private:
  const topology* topology_;
  const cluster* nodes_;
};

namespace detail {

struct to_vertex {
  topology_vertex operator()(std::size_t i) const noexcept { return topology_vertex{i}; }
};
struct to_edge {
  topology_edge operator()(std::size_t child) const noexcept { return {topology_vertex{child}}; }
};
using topology_vertex_iterator = boost::transform_iterator<to_vertex, boost::counting_iterator<std::size_t>>;
using topology_edge_iterator = boost::transform_iterator<to_edge, boost::counting_iterator<std::size_t>>;

template <class Iterator>
[[nodiscard]] std::pair<Iterator, Iterator> iterators(std::pair<std::size_t, std::size_t> range) {
  const auto at = [](std::size_t i) { return Iterator{boost::counting_iterator<std::size_t>{i}}; };
  return {at(range.first), at(range.second)};
}

/// A readable property map: `get(map, v)` is `Property::of(graph, v)`.
template <class Property>
struct topology_property_map {
  using key_type = topology_vertex;
  using value_type = typename Property::type;
  using reference = value_type;
  using category = boost::readable_property_map_tag;

  topology_graph graph;

  friend value_type get(const topology_property_map& m, topology_vertex v) {
    return Property::of(m.graph, v);
  }
};
struct topology_index_property {
  using type = std::size_t;
  static type of(const topology_graph&, topology_vertex v) { return v.index(); }
};
struct topology_name_property {
  using type = std::string_view;
  static type of(const topology_graph& g, topology_vertex v) { return g.name(v); }
};

}  // namespace detail

/// @{
/// What Boost.Graph's concepts of vertex list, edge list, bidirectional and adjacency graphs ask for. O(1).
[[nodiscard]] inline std::size_t num_vertices(const topology_graph& g) {
  return g.layout().size() + g.layout().nodes().size();
}
[[nodiscard]] inline auto vertices(const topology_graph& g) {
  return detail::iterators<detail::topology_vertex_iterator>({0, num_vertices(g)});
}
[[nodiscard]] inline std::size_t num_edges(const topology_graph& g) {
  const topology& t = g.layout();
  const std::size_t roots = t.levels() == 0 ? 0 : t.domains_of(0).size();
  return num_vertices(g) - roots - t.nodes_outside().size();
}
[[nodiscard]] inline auto edges(const topology_graph& g) {
  const std::size_t roots = g.layout().levels() == 0 ? 0 : g.layout().domains_of(0).size();
  return detail::iterators<detail::topology_edge_iterator>({roots, roots + num_edges(g)});
}
[[nodiscard]] inline topology_vertex source(topology_edge e, const topology_graph& g) {
  return g.parent(e.child);
}
[[nodiscard]] inline topology_vertex target(topology_edge e, const topology_graph&) {
  return e.child;
}
[[nodiscard]] inline auto out_edges(topology_vertex v, const topology_graph& g) {
  return detail::iterators<detail::topology_edge_iterator>(g.children(v));
}
[[nodiscard]] inline std::size_t out_degree(topology_vertex v, const topology_graph& g) {
  return g.children(v).second - g.children(v).first;
}
[[nodiscard]] inline std::size_t in_degree(topology_vertex v, const topology_graph& g) {
  return g.parent(v) ? 1 : 0;
}
[[nodiscard]] inline auto in_edges(topology_vertex v, const topology_graph& g) {
  return detail::iterators<detail::topology_edge_iterator>({v.index(), v.index() + in_degree(v, g)});
}
[[nodiscard]] inline std::size_t degree(topology_vertex v, const topology_graph& g) {
  return in_degree(v, g) + out_degree(v, g);
}
[[nodiscard]] inline auto adjacent_vertices(topology_vertex v, const topology_graph& g) {
  return detail::iterators<detail::topology_vertex_iterator>(g.children(v));
}
/// @}

/// @{
/// The vertices by index (domains first, then nodes) and by name, as Boost.Graph's property maps.
[[nodiscard]] inline auto get(boost::vertex_index_t, const topology_graph& g) {
  return detail::topology_property_map<detail::topology_index_property>{g};
}
[[nodiscard]] inline std::size_t get(boost::vertex_index_t, const topology_graph&, topology_vertex v) {
  return v.index();
}
[[nodiscard]] inline auto get(boost::vertex_name_t, const topology_graph& g) {
  return detail::topology_property_map<detail::topology_name_property>{g};
}
[[nodiscard]] inline std::string_view get(boost::vertex_name_t, const topology_graph& g, topology_vertex v) {
  return g.name(v);
}
/// @}

namespace detail {

/// A user's graph by position: names, and the edges out of each vertex.
struct named_graph {
  vector<std::string> names;
  vector<vector<std::size_t>> out;
};

/// Reports every cycle found by a depth-first search in vertex order, and drops the edge that closes it.
class cycle_remover {
 public:
  cycle_remover(named_graph& g, vector<problem>& found) : graph_(g), found_(found), state_(g.names.size()) {}

  void run() {
    for (std::size_t v = 0; v < state_.size(); ++v) {
      if (state_[v] == is_new) walk(v);
    }
  }

 private:
  enum states : unsigned char { is_new, is_open, is_done };

  /// Not recursive: an invalid graph may have paths of any length.
  void walk(std::size_t start) {
    path_.push_back({start, 0});
    state_[start] = is_open;
    while (!path_.empty()) {
      auto& [v, next] = path_.back();
      vector<std::size_t>& out = graph_.out[v];
      if (next == out.size()) {
        state_[v] = is_done;
        path_.pop_back();
      } else if (const std::size_t to = out[next]; state_[to] == is_open) {
        report(to);
        out.erase(out.begin() + static_cast<std::ptrdiff_t>(next));
      } else {
        ++next;
        if (state_[to] == is_done) continue;
        state_[to] = is_open;
        path_.push_back({to, 0});
      }
    }
  }
  void report(std::size_t first) {
    std::string text = "the edges go in a circle: ";
    const auto is_first = [&](const auto& step) { return step.first == first; };
    for (auto at = allot::detail::find_if(path_.begin(), path_.end(), is_first); at != path_.end(); ++at) {
      text += graph_.names[at->first];
      text += " -> ";
    }
    text += graph_.names[first];
    found_.push_back({problem_code::cycle, graph_.names[first], "edges", std::move(text)});
  }

  named_graph& graph_;
  vector<problem>& found_;
  vector<states> state_;
  /// The vertices that are open, each with the number of its next edge.
  vector<std::pair<std::size_t, std::size_t>> path_;
};

[[nodiscard]] inline result<topology> compile_graph(const cluster& nodes, vector<std::string> levels,
                                                    named_graph g, topology_options options) {
  vector<problem> found;
  cycle_remover{g, found}.run();
  const bool depths_known = found.empty();
  const std::size_t n = g.names.size();
  constexpr std::size_t none = topology::part::no_parent;
  vector<vector<std::size_t>> parents(n);
  for (std::size_t v = 0; v < n; ++v) {
    for (const std::size_t to : g.out[v]) {
      if (allot::detail::find(parents[to].begin(), parents[to].end(), v) == parents[to].end())
        parents[to].push_back(v);
    }
  }
  // A vertex without out-edges is a node if the cluster has one with its name.
  vector<node_id> node_of(n);
  vector<std::size_t> part_of(n, none);
  vector<topology::part> parts;
  for (std::size_t v = 0; v < n; ++v) {
    if (const auto node = nodes.find(g.names[v]); node && g.out[v].empty()) {
      node_of[v] = *node;
    } else {
      part_of[v] = parts.size();
      parts.push_back({g.names[v], none, {}});
    }
  }
  for (std::size_t v = 0; v < n; ++v) {
    if (node_of[v]) {
      for (const std::size_t p : parents[v]) parts[part_of[p]].nodes.push_back(node_of[v]);
      continue;
    }
    if (parents[v].empty()) continue;
    parts[part_of[v]].parent = part_of[parents[v].front()];
    std::size_t depth = 0;
    for (std::size_t p = v; depth <= levels.size() && !parents[p].empty(); p = parents[p].front()) ++depth;
    if (g.out[v].empty() && depth == levels.size() && depths_known) {
      found.push_back({problem_code::unknown_name, g.names[v], "vertices",
                       g.names[v] + " is in the position of a node, but the cluster has no such node"});
      parts[part_of[v]].parent = none;
    }
    if (parents[v].size() == 1) continue;
    std::string text = g.names[v];
    text += " has more than one parent: ";
    for (std::size_t i = 0; i < parents[v].size(); ++i) {
      if (i > 0) text += ", ";
      text += g.names[parents[v][i]];
    }
    found.push_back({problem_code::more_than_one_parent, g.names[v], "edges", std::move(text)});
  }
  return topology_checker{nodes, std::move(levels), std::move(parts), std::move(found), options}.build();
}

}  // namespace detail

/// The topology given by a user's directed graph: an edge leads from a domain to each domain or node in it,
/// `names` is a property map from vertices to names, and the depth of a domain determines its level. A vertex
/// without out-edges that has the name of a node of the cluster is that node. Or all problems: every cycle
/// with all its members, domains and nodes with two parents, vertices at the depth of nodes that the cluster
/// does not have, and what `build_topology` reports. Parallel edges count once. Siblings are in the order of
/// the vertices. O((vertices + edges) log vertices).
template <class Graph, class Names>
[[nodiscard]] result<topology> topology_from_graph(const cluster& nodes, vector<std::string> levels,
                                                   const Graph& g, Names names,
                                                   topology_options options = {}) {
  using traits = boost::graph_traits<Graph>;
  static_assert(std::is_convertible_v<typename traits::directed_category, boost::directed_tag>,
                "an edge must say which of its ends lies in the other");
  detail::named_graph plain;
  std::map<typename traits::vertex_descriptor, std::size_t> position;
  const auto all = vertices(g);
  for (auto v = all.first; v != all.second; ++v) {
    position.emplace(*v, plain.names.size());
    plain.names.push_back(std::string{get(names, *v)});
  }
  plain.out.reserve(plain.names.size());
  for (auto v = all.first; v != all.second; ++v) {
    vector<std::size_t>& out = plain.out.emplace_back();
    const auto leaving = out_edges(*v, g);
    for (auto e = leaving.first; e != leaving.second; ++e)
      out.push_back(position.find(target(*e, g))->second);
  }
  return detail::compile_graph(nodes, std::move(levels), std::move(plain), options);
}

}  // namespace gpu
}  // namespace v0
}  // namespace allot

namespace boost {

/// Declares the models of Boost.Graph's concepts.
template <>
struct graph_traits<allot::gpu::topology_graph> {
  /// @{
  /// What Boost.Graph's concepts ask for.
  using vertex_descriptor = allot::gpu::topology_vertex;
  using edge_descriptor = allot::gpu::topology_edge;
  using directed_category = bidirectional_tag;
  using edge_parallel_category = disallow_parallel_edge_tag;
  /// @}

  /// Which of Boost.Graph's concepts it models.
  struct traversal_category : vertex_list_graph_tag,
                              edge_list_graph_tag,
                              bidirectional_graph_tag,
                              adjacency_graph_tag {};

  /// @{
  /// What Boost.Graph's concepts ask for.
  using vertex_iterator = allot::gpu::detail::topology_vertex_iterator;
  using adjacency_iterator = allot::gpu::detail::topology_vertex_iterator;
  using edge_iterator = allot::gpu::detail::topology_edge_iterator;
  using out_edge_iterator = allot::gpu::detail::topology_edge_iterator;
  using in_edge_iterator = allot::gpu::detail::topology_edge_iterator;
  using vertices_size_type = std::size_t;
  using edges_size_type = std::size_t;
  using degree_size_type = std::size_t;
  /// @}

  /// The vertex that is none.
  static vertex_descriptor null_vertex() { return vertex_descriptor::none(); }
};

/// The property map of the indexes of the vertices.
template <>
struct property_map<allot::gpu::topology_graph, vertex_index_t> {
  /// @{
  /// What Boost.Graph's concepts ask for.
  using const_type = allot::gpu::detail::topology_property_map<allot::gpu::detail::topology_index_property>;
  using type = const_type;
  /// @}
};
/// The property map of the names of the vertices.
template <>
struct property_map<allot::gpu::topology_graph, vertex_name_t> {
  /// @{
  /// What Boost.Graph's concepts ask for.
  using const_type = allot::gpu::detail::topology_property_map<allot::gpu::detail::topology_name_property>;
  using type = const_type;
  /// @}
};

}  // namespace boost

// SPDX-License-Identifier: BSL-1.0
#pragma once

// With this header a quota_tree is itself a Boost.Graph graph, without a copy or a wrapper: the quotas are
// the vertices, and an edge goes from a parent to each of its children. It models VertexListGraph,
// EdgeListGraph, BidirectionalGraph (so IncidenceGraph) and AdjacencyGraph. Every range is in the tree's own
// order (parents before children, siblings oldest first), and every function takes constant time.
//
//   boost::breadth_first_search(l.tree(), l.tree().find("team-a"), boost::visitor(vis));
//
// Properties: boost::vertex_index (dense even after quotas were removed) and boost::vertex_name.
// No other header includes this one: it costs more to compile than all of quota/.

#include <allot/core/dimension_names.hpp>
#include <allot/core/text.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/quota/tree.hpp>

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/transform_iterator.hpp>
#include <boost/property_map/property_map.hpp>

#include <cstddef>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {

/// The edge to `child` from its parent.
struct quota_edge {
  /// The quota that it leads to.
  quota_id child;

  friend bool operator==(const quota_edge&, const quota_edge&) = default;
};

namespace detail {

struct edge_to {
  quota_edge operator()(quota_id child) const noexcept { return {child}; }
};
using quota_vertex_iterator = const quota_id*;
using quota_edge_iterator = boost::transform_iterator<edge_to, const quota_id*>;

inline std::pair<quota_vertex_iterator, quota_vertex_iterator> vertex_range(std::span<const quota_id> ids) {
  return {ids.data(), ids.data() + ids.size()};
}
inline std::pair<quota_edge_iterator, quota_edge_iterator> edge_range(std::span<const quota_id> children) {
  return {quota_edge_iterator{children.data()}, quota_edge_iterator{children.data() + children.size()}};
}

/// A readable property map: `get(map, x)` is `Property::of(tree, x)`.
template <std::size_t N, class Property>
struct quota_property_map {
  using key_type = quota_id;
  using value_type = typename Property::type;
  using reference = value_type;
  using category = boost::readable_property_map_tag;

  const quota_tree<N>* tree;

  friend value_type get(const quota_property_map& m, quota_id x) { return Property::of(*m.tree, x); }
};
struct index_property {
  using type = std::size_t;
  template <std::size_t N>
  static type of(const quota_tree<N>& t, quota_id x) {
    return t.position(x);
  }
};
struct name_property {
  using type = std::string_view;
  template <std::size_t N>
  static type of(const quota_tree<N>& t, quota_id x) {
    return t.name(x);
  }
};

}  // namespace detail

/// @{
/// What Boost.Graph's concepts of vertex list, edge list, bidirectional and adjacency graphs ask for.
/// Vertices are in the order of `quota_tree::top_down`. O(1).
template <std::size_t N>
[[nodiscard]] auto vertices(const quota_tree<N>& t) {
  return detail::vertex_range(t.top_down());
}
template <std::size_t N>
[[nodiscard]] std::size_t num_vertices(const quota_tree<N>& t) {
  return t.top_down().size();
}
template <std::size_t N>
[[nodiscard]] auto edges(const quota_tree<N>& t) {
  return detail::edge_range(t.top_down().subspan(t.roots().size()));
}
template <std::size_t N>
[[nodiscard]] std::size_t num_edges(const quota_tree<N>& t) {
  return t.top_down().size() - t.roots().size();
}
template <std::size_t N>
[[nodiscard]] quota_id source(quota_edge e, const quota_tree<N>& t) {
  return t.parent(e.child);
}
template <std::size_t N>
[[nodiscard]] quota_id target(quota_edge e, const quota_tree<N>&) {
  return e.child;
}
template <std::size_t N>
[[nodiscard]] auto out_edges(quota_id x, const quota_tree<N>& t) {
  return detail::edge_range(t.children(x));
}
template <std::size_t N>
[[nodiscard]] std::size_t out_degree(quota_id x, const quota_tree<N>& t) {
  return t.children(x).size();
}
template <std::size_t N>
[[nodiscard]] auto in_edges(quota_id x, const quota_tree<N>& t) {
  return detail::edge_range(t.top_down().subspan(t.position(x), t.parent(x) ? 1 : 0));
}
template <std::size_t N>
[[nodiscard]] std::size_t in_degree(quota_id x, const quota_tree<N>& t) {
  return t.parent(x) ? 1 : 0;
}
template <std::size_t N>
[[nodiscard]] std::size_t degree(quota_id x, const quota_tree<N>& t) {
  return in_degree(x, t) + out_degree(x, t);
}
template <std::size_t N>
[[nodiscard]] auto adjacent_vertices(quota_id x, const quota_tree<N>& t) {
  return detail::vertex_range(t.children(x));
}
/// @}

/// @{
/// The vertices by position and by name, as Boost.Graph's property maps.
template <std::size_t N>
[[nodiscard]] auto get(boost::vertex_index_t, const quota_tree<N>& t) {
  return detail::quota_property_map<N, detail::index_property>{&t};
}
template <std::size_t N>
[[nodiscard]] std::size_t get(boost::vertex_index_t, const quota_tree<N>& t, quota_id x) {
  return t.position(x);
}
template <std::size_t N>
[[nodiscard]] auto get(boost::vertex_name_t, const quota_tree<N>& t) {
  return detail::quota_property_map<N, detail::name_property>{&t};
}
template <std::size_t N>
[[nodiscard]] std::string_view get(boost::vertex_name_t, const quota_tree<N>& t, quota_id x) {
  return t.name(x);
}
/// @}

/// Writes the tree as a DOT graph: each quota with its name and, for each dimension, the usage of all jobs in
/// its subtree, its nominal, and what it borrows from outside its subtree. Quotas that violate the law are
/// red. O(n * depth).
/// (boost::write_graphviz works on the tree too, but needs RTTI and most of Boost.Xpressive.)
template <std::size_t N>
void write_graphviz(std::ostream& out, const ledger<N>& l,
                    const std::type_identity_t<dimension_names<N>>& dimensions = {}) {
  const auto escaped = [](std::string_view text) {
    std::string result;
    for (const char c : text) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
    return result;
  };
  const quota_tree<N>& t = l.tree();
  out << "digraph quotas {\n  node [shape=box];\n";
  for (const quota_id x : t.top_down()) {
    out << "  q" << x.index() << " [label=\"" << escaped(t.name(x));
    const resources<N> used = l.total_usage(x);
    for (std::size_t d = 0; d < N; ++d) {
      out << "\\n"
          << escaped(dimensions[d]) << ": " << to_string(used[d]) << " of "
          << to_string(t.spec(x).nominal[d]);
      if (const quantity b = l.borrowed(x, d); b > quantity{}) out << ", borrows " << to_string(b);
    }
    out << '"' << (l.is_sound(x) ? "" : ", color=red") << "];\n";
  }
  const auto [first, last] = edges(t);
  for (auto e = first; e != last; ++e) {
    out << "  q" << source(*e, t).index() << " -> q" << target(*e, t).index() << ";\n";
  }
  out << "}\n";
}

}  // namespace v0
}  // namespace allot

namespace boost {

/// Declares the models of Boost.Graph's concepts.
template <std::size_t N>
struct graph_traits<allot::quota_tree<N>> {
  /// @{
  /// What Boost.Graph's concepts ask for.
  using vertex_descriptor = allot::quota_id;
  using edge_descriptor = allot::quota_edge;
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
  using vertex_iterator = allot::detail::quota_vertex_iterator;
  using adjacency_iterator = allot::detail::quota_vertex_iterator;
  using edge_iterator = allot::detail::quota_edge_iterator;
  using out_edge_iterator = allot::detail::quota_edge_iterator;
  using in_edge_iterator = allot::detail::quota_edge_iterator;
  using vertices_size_type = std::size_t;
  using edges_size_type = std::size_t;
  using degree_size_type = std::size_t;
  /// @}

  /// The vertex that is none.
  static vertex_descriptor null_vertex() { return allot::quota_id::none(); }
};

/// The property map of the positions of the vertices.
template <std::size_t N>
struct property_map<allot::quota_tree<N>, vertex_index_t> {
  /// @{
  /// What Boost.Graph's concepts ask for.
  using const_type = allot::detail::quota_property_map<N, allot::detail::index_property>;
  using type = const_type;
  /// @}
};
/// The property map of the names of the vertices.
template <std::size_t N>
struct property_map<allot::quota_tree<N>, vertex_name_t> {
  /// @{
  /// What Boost.Graph's concepts ask for.
  using const_type = allot::detail::quota_property_map<N, allot::detail::name_property>;
  using type = const_type;
  /// @}
};

}  // namespace boost

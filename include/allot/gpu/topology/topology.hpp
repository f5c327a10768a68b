// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/pod_request.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// A range of consecutive ids.
class domain_range {
 public:
  /// Goes through consecutive ids; an input iterator.
  class iterator {
   public:
    /// @{
    /// As `std::iterator_traits` reads them.
    using iterator_category = std::input_iterator_tag;
    using value_type = domain_id;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = domain_id;
    /// @}

    constexpr iterator() noexcept = default;
    explicit constexpr iterator(std::size_t at) noexcept : at_(at) {}
    [[nodiscard]] constexpr domain_id operator*() const noexcept { return domain_id{at_}; }
    constexpr iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    constexpr iterator operator++(int) noexcept { return iterator{at_++}; }
    friend constexpr bool operator==(iterator, iterator) noexcept = default;

   private:
    std::size_t at_ = 0;
  };

  constexpr domain_range() noexcept = default;
  constexpr domain_range(std::size_t first, std::size_t last) noexcept : first_(first), last_(last) {}
  /// @{
  /// For a range-based `for`.
  [[nodiscard]] constexpr iterator begin() const noexcept { return iterator{first_}; }
  [[nodiscard]] constexpr iterator end() const noexcept { return iterator{last_}; }
  /// @}

  /// The number of domains.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return last_ - first_; }
  /// Whether there is none.
  [[nodiscard]] constexpr bool empty() const noexcept { return first_ == last_; }
  /// The index of the first id.
  [[nodiscard]] constexpr std::size_t first() const noexcept { return first_; }
  /// The index after that of the last id.
  [[nodiscard]] constexpr std::size_t last() const noexcept { return last_; }

 private:
  std::size_t first_ = 0;
  std::size_t last_ = 0;
};

/// The proximity of the nodes of a cluster: levels from coarse to fine, the domains of each, and the nodes of
/// each domain. The node is the finest level of all. Nodes are ordered such that those of every domain are
/// contiguous; nodes in no domain come last.
///
/// Immutable. Made by `build_topology`, `topology_from_labels` (topology_builder.hpp) or
/// `topology_from_graph` (topology_graph.hpp); empty by default.
class topology {
 public:
  /// A domain before it is compiled, with the nodes directly in it.
  struct part {
    /// The `parent` of a domain of the coarsest level.
    static constexpr std::size_t no_parent = static_cast<std::size_t>(-1);

    /// Its name, without those of the domains around it.
    std::string name;
    /// The position of the domain around it.
    std::size_t parent = no_parent;
    /// For a domain of the last level, its nodes.
    vector<node_id> nodes;
  };

  topology() = default;
  /// Compiles domains whose parents are given by position, in any order. Precondition: they are a forest in
  /// which only domains of the last level have nodes, each node is in at most one, and all are below `nodes`.
  /// (The builders ensure that.) Siblings keep their order. O(n log n).
  topology(vector<std::string> levels, const vector<part>& parts, std::size_t nodes)
      : levels_(std::move(levels)) {
    lay_out_domains(parts);
    lay_out_nodes(parts, nodes);
  }

  /// The number of levels of domains, numbered from the coarsest, 0. The node level, which is not counted,
  /// comes after the finest.
  [[nodiscard]] std::size_t levels() const noexcept { return levels_.size(); }
  /// The number of the node level.
  [[nodiscard]] std::size_t node_level() const noexcept { return levels_.size(); }
  /// The name of a level; that of the node level is "node".
  [[nodiscard]] std::string_view level_name(std::size_t level) const {
    ALLOT_ASSERT(level <= node_level(), "not a level of this topology");
    return level == node_level() ? std::string_view{"node"} : std::string_view{levels_[level]};
  }
  /// The level with that name; "node" is the node level. O(levels).
  [[nodiscard]] std::optional<std::size_t> find_level(std::string_view name) const noexcept {
    const auto at = allot::detail::find(levels_.begin(), levels_.end(), name);
    if (at != levels_.end()) return static_cast<std::size_t>(at - levels_.begin());
    if (name == "node") return node_level();
    return std::nullopt;
  }

  /// The number of domains of all levels; their ids are below it.
  [[nodiscard]] std::size_t size() const noexcept { return domains_.size(); }
  /// Whether there is such a domain.
  [[nodiscard]] bool contains(domain_id d) const noexcept { return d.index() < domains_.size(); }
  /// All domains, coarser levels first.
  [[nodiscard]] domain_range domains() const noexcept { return {0, domains_.size()}; }
  /// The domains of a level. Precondition: it is a level of domains (`ALLOT_ASSERT`).
  [[nodiscard]] domain_range domains_of(std::size_t level) const {
    ALLOT_ASSERT(level < levels(), "not a level of domains");
    return {first_of_level_[level], first_of_level_[level + 1]};
  }
  /// The domains of a level (this domain's or a finer one) within this domain. O(level).
  [[nodiscard]] domain_range domains_in(domain_id d, std::size_t level) const {
    ALLOT_ASSERT(level >= level_of(d) && level < levels(), "not a level of domains below this one");
    std::size_t first = d.index();
    std::size_t last = first + 1;
    for (std::size_t l = level_of(d); l < level && first < last; ++l) {
      const domain_range of_first = children(domain_id{first});
      first = of_first.first();
      last = children(domain_id{last - 1}).last();
    }
    return {first, last};
  }

  /// Its name, which other domains may have too.
  [[nodiscard]] const std::string& name(domain_id d) const { return at(d).name; }
  /// The names from the coarsest level down to this domain: "spine-1/leaf-3/rack-7".
  [[nodiscard]] std::string qualified_name(domain_id d) const {
    const domain_id up = parent(d);
    return up ? qualified_name(up) + '/' + name(d) : name(d);
  }
  /// Its level.
  [[nodiscard]] std::size_t level_of(domain_id d) const { return at(d).level; }
  /// None for a domain of the coarsest level.
  [[nodiscard]] domain_id parent(domain_id d) const { return at(d).parent; }
  /// The domains of the next finer level in it; none if that is the node level.
  [[nodiscard]] domain_range children(domain_id d) const {
    const domain& x = at(d);
    return {x.first_child, x.first_child + x.children};
  }

  /// The nodes in it, grouped by sub-domain.
  [[nodiscard]] std::span<const node_id> nodes(domain_id d) const {
    const domain& x = at(d);
    return std::span{order_}.subspan(x.first_node, x.nodes);
  }
  /// All nodes in order; those of a domain are contiguous, and those in none come last.
  [[nodiscard]] std::span<const node_id> nodes() const noexcept { return order_; }
  /// The nodes in no domain.
  [[nodiscard]] std::span<const node_id> nodes_outside() const noexcept {
    return std::span{order_}.subspan(inside_);
  }
  /// Where the nodes of a domain begin in `nodes()`.
  [[nodiscard]] std::size_t first_position(domain_id d) const { return at(d).first_node; }
  /// The position of a node in `nodes()`.
  [[nodiscard]] std::size_t position(node_id n) const {
    ALLOT_ASSERT(n.index() < position_.size(), "not a node of this topology");
    return position_[n.index()];
  }
  /// The domain of the finest level that contains a node, or none.
  [[nodiscard]] domain_id domain_of(node_id n) const {
    return levels() == 0 ? domain_id::none() : domain_of(n, levels() - 1);
  }
  /// The domain of a level that contains a node, or none. O(1).
  [[nodiscard]] domain_id domain_of(node_id n, std::size_t level) const {
    ALLOT_ASSERT(level < levels(), "not a level of domains");
    const std::size_t p = position(n);
    return p < inside_ ? domain_of_[p * levels() + level] : domain_id::none();
  }
  /// The finest domain that contains both nodes; none if there is none. O(levels).
  [[nodiscard]] domain_id common_domain(node_id a, node_id b) const {
    for (std::size_t level = levels(); level-- > 0;) {
      const domain_id d = domain_of(a, level);
      if (d && d == domain_of(b, level)) return d;
    }
    return {};
  }

  /// The domain with that qualified name, or with that name if it is unique. O(domains).
  [[nodiscard]] std::optional<domain_id> find(std::string_view wanted) const {
    std::optional<domain_id> found;
    bool several = false;
    for (const domain_id d : domains()) {
      if (qualified_name(d) == wanted) return d;
      if (name(d) != wanted) continue;
      several = found.has_value();
      found = d;
    }
    if (several) return std::nullopt;
    return found;
  }

  friend bool operator==(const topology&, const topology&) = default;

 private:
  struct domain {
    std::string name;
    domain_id parent;
    std::uint32_t level = 0;
    std::uint32_t first_child = 0;
    std::uint32_t children = 0;
    std::uint32_t first_node = 0;
    std::uint32_t nodes = 0;

    friend bool operator==(const domain&, const domain&) = default;
  };

  [[nodiscard]] const domain& at(domain_id d) const {
    ALLOT_ASSERT(contains(d), "not a domain of this topology");
    return domains_[d.index()];
  }

  /// Level by level, the children of each domain after those of the one before it.
  void lay_out_domains(const vector<part>& parts) {
    vector<vector<std::size_t>> children(parts.size());
    vector<std::size_t> level;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      (parts[i].parent == part::no_parent ? level : children[parts[i].parent]).push_back(i);
    }
    id_of_part_.resize(parts.size());
    first_of_level_.push_back(0);
    for (std::size_t l = 0; l < levels(); ++l) {
      vector<std::size_t> next;
      const std::size_t next_begin = domains_.size() + level.size();
      for (const std::size_t i : level) {
        id_of_part_[i] = domain_id{domains_.size()};
        domain made;
        made.name = parts[i].name;
        made.level = static_cast<std::uint32_t>(l);
        if (parts[i].parent != part::no_parent) made.parent = id_of_part_[parts[i].parent];
        made.first_child = static_cast<std::uint32_t>(next_begin + next.size());
        made.children = static_cast<std::uint32_t>(children[i].size());
        next.append(children[i].begin(), children[i].end());
        domains_.push_back(std::move(made));
      }
      first_of_level_.push_back(domains_.size());
      level = std::move(next);
    }
    ALLOT_ASSERT(domains_.size() == parts.size(), "not a forest with this many levels");
  }

  void lay_out_nodes(const vector<part>& parts, std::size_t nodes) {
    vector<domain_id> where(nodes);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      for (const node_id n : parts[i].nodes) {
        ALLOT_ASSERT(n.index() < nodes && where[n.index()].is_none(),
                     "a node that does not exist, or is in two domains");
        ALLOT_ASSERT(level_of(id_of_part_[i]) + 1 == levels(), "a node above the finest level");
        where[n.index()] = id_of_part_[i];
      }
    }
    order_.reserve(nodes);
    for (std::size_t n = 0; n < nodes; ++n) order_.push_back(node_id{n});
    // None is the largest id.
    allot::detail::sort(order_.begin(), order_.end(), [&](node_id a, node_id b) {
      return std::pair{where[a.index()], a} < std::pair{where[b.index()], b};
    });
    position_.resize(nodes);
    for (std::size_t p = 0; p < nodes; ++p) position_[order_[p].index()] = static_cast<std::uint32_t>(p);
    while (inside_ < nodes && where[order_[inside_].index()]) ++inside_;
    domain_of_.resize(inside_ * levels());
    for (std::size_t p = 0; p < inside_; ++p) {
      domain_id d = where[order_[p].index()];
      for (std::size_t l = levels(); l-- > 0; d = parent(d)) {
        domain_of_[p * levels() + l] = d;
        ++domains_[d.index()].nodes;
      }
    }
    // Within each level, the nodes are in the order of its domains.
    for (std::size_t l = 0; l < levels(); ++l) {
      std::uint32_t next = 0;
      for (const domain_id d : domains_of(l)) {
        domains_[d.index()].first_node = next;
        next += domains_[d.index()].nodes;
      }
    }
    id_of_part_ = {};
  }

  vector<std::string> levels_;
  vector<domain> domains_;
  /// Ends with the number of all domains.
  vector<std::size_t> first_of_level_;
  vector<node_id> order_;
  vector<std::uint32_t> position_;
  /// By position, then by level; only for nodes in domains.
  vector<domain_id> domain_of_;
  std::size_t inside_ = 0;
  /// Used only during construction.
  vector<domain_id> id_of_part_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/result.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/topology/topology.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// A domain as the user specifies it.
struct domain_spec {
  /// Its name; need not be unique.
  std::string name = "";
  /// Empty for the coarsest level. If several domains have the parent's name, its path: "a/r1" is the r1
  /// whose own parent is given as a.
  std::string parent = "";
  /// By name; only for domains of the finest level.
  vector<std::string> nodes{};

  friend bool operator==(const domain_spec&, const domain_spec&) = default;
};

/// A topology as the user specifies it.
struct topology_spec {
  /// From coarse to fine, without the node level.
  vector<std::string> levels;
  /// In any order.
  vector<domain_spec> domains;

  friend bool operator==(const topology_spec&, const topology_spec&) = default;
};

/// What the builders accept.
struct topology_options {
  /// A node that lacks the label of a level, or that no domain has, is outside every domain. Otherwise that
  /// is a problem.
  bool allow_outside = false;
  /// Names are unique within a level: one name under two parents is a domain with two parents, which is a
  /// problem. Otherwise these are two domains, distinguished by their qualified names.
  bool unique_names = false;
};

namespace detail {

/// Collects the problems of domains whose parents are known, and compiles them if there are none.
class topology_checker {
 public:
  topology_checker(const cluster& nodes, vector<std::string> levels, vector<topology::part> parts,
                   vector<problem> found, topology_options options)
      : nodes_(nodes),
        levels_(std::move(levels)),
        parts_(std::move(parts)),
        found_(std::move(found)),
        options_(options),
        // If a parent is missing or an edge was dropped, a depth would not be what the user meant.
        depths_known_(allot::detail::none_of(found_.begin(), found_.end(), [](const problem& p) {
          return p.code == problem_code::unknown_parent || p.code == problem_code::cycle;
        })) {}

  [[nodiscard]] result<topology> build() && {
    check_levels();
    check_cycles();
    check_names();
    check_nodes();
    if (!found_.empty()) return std::move(found_);
    return topology{std::move(levels_), parts_, nodes_.size()};
  }

 private:
  static constexpr std::size_t none = topology::part::no_parent;

  void report(problem_code code, std::string subject, std::string field, std::string text) {
    found_.push_back({code, std::move(subject), std::move(field), std::move(text)});
  }

  void check_levels() {
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      if (levels_[l].empty()) {
        report(problem_code::empty_name, "", "levels", "level " + std::to_string(l) + " needs a name");
      } else if (levels_[l] == "node") {
        report(problem_code::duplicate_name, "node", "levels",
               "no level can be named node: that is the finest one, which is always there");
      } else if (allot::detail::find(levels_.begin(), levels_.begin() + static_cast<std::ptrdiff_t>(l),
                                     levels_[l]) != levels_.begin() + static_cast<std::ptrdiff_t>(l)) {
        report(problem_code::duplicate_name, levels_[l], "levels",
               "there is more than one level named " + levels_[l]);
      }
    }
  }

  /// Reports each cycle once, from its first domain on; finds the depth of domains not on or below one.
  void check_cycles() {
    depth_.assign(parts_.size(), none);
    vector<std::size_t> walk(parts_.size(), none);
    for (std::size_t start = 0; start < parts_.size(); ++start) {
      std::size_t i = start;
      for (; i != none && walk[i] == none; i = parts_[i].parent) walk[i] = start;
      if (i != none && walk[i] == start) report_cycle(i);
    }
    if (!depths_known_) return;
    for (std::size_t start = 0; start < parts_.size(); ++start) {
      std::size_t steps = 0;
      std::size_t i = start;
      for (; i != none && steps <= levels_.size(); i = parts_[i].parent) ++steps;
      if (i == none) depth_[start] = steps - 1;
      // One problem for all that is too deep on one path.
      if (i == none && steps == levels_.size() + 1) {
        report(
            problem_code::out_of_range, parts_[start].name, "parent",
            path(start) + " is deeper than the " + std::to_string(levels_.size()) + " levels that there are");
      }
    }
  }

  void report_cycle(std::size_t on_cycle) {
    std::size_t first = on_cycle;
    for (std::size_t i = parts_[on_cycle].parent; i != on_cycle; i = parts_[i].parent)
      first = std::min(first, i);
    std::string text = "the parents form a cycle: " + parts_[first].name;
    std::size_t i = first;
    do {
      i = parts_[i].parent;
      text += " -> " + parts_[i].name;
    } while (i != first);
    report(problem_code::cycle, parts_[first].name, "parent", std::move(text));
  }

  /// The names down to a domain, going up no further than there are levels: it may hang off a cycle.
  [[nodiscard]] std::string path(std::size_t i) const {
    std::string text = parts_[i].name;
    for (std::size_t l = 0; l < levels_.size() && parts_[i].parent != none; ++l) {
      i = parts_[i].parent;
      text.insert(0, 1, '/').insert(0, parts_[i].name);
    }
    return text;
  }

  void check_names() {
    std::map<std::pair<std::size_t, std::string_view>, std::size_t> among_siblings;
    std::map<std::pair<std::size_t, std::string_view>, std::size_t> in_level;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const topology::part& p = parts_[i];
      if (p.name.empty()) {
        report(problem_code::empty_name, "", "name", "a domain needs a name");
      } else if (!among_siblings.emplace(std::pair{p.parent, std::string_view{p.name}}, i).second) {
        report(problem_code::duplicate_name, p.name, "name", "there is more than one domain " + path(i));
      } else if (options_.unique_names && depth_[i] != none) {
        const auto [at, is_new] = in_level.emplace(std::pair{depth_[i], std::string_view{p.name}}, i);
        if (is_new) continue;
        report(problem_code::more_than_one_parent, p.name, "parent",
               p.name + " has more than one parent: it is " + path(at->second) + " and " + path(i));
      }
    }
  }

  void check_nodes() {
    vector<std::size_t> where(nodes_.size(), none);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      // Reported once, not for each node.
      if (!parts_[i].nodes.empty() && depth_[i] != none && depth_[i] + 1 < levels_.size()) {
        report(problem_code::out_of_range, parts_[i].name, "nodes",
               "nodes are in " + path(i) + ", which is a " + levels_[depth_[i]] + ": only a " +
                   levels_.back() + " can have nodes");
      }
      for (const node_id n : parts_[i].nodes) {
        std::size_t& at = where[n.index()];
        if (at == i) {
          report(problem_code::duplicate_name, nodes_.name(n), "nodes",
                 path(i) + " has the node " + nodes_.name(n) + " more than once");
        } else if (at != none) {
          report(problem_code::more_than_one_parent, nodes_.name(n), "nodes",
                 "the node " + nodes_.name(n) + " is in " + path(at) + " and in " + path(i));
        } else {
          at = i;
        }
      }
    }
    // The problems reported so far explain why a node has no domain.
    if (options_.allow_outside || !found_.empty() || levels_.empty()) return;
    for (std::size_t n = 0; n < where.size(); ++n) {
      if (where[n] != none) continue;
      const std::string& name = nodes_.name(node_id{n});
      report(problem_code::missing, name, "nodes", "the node " + name + " is in no " + levels_.back());
    }
  }

  const cluster& nodes_;
  vector<std::string> levels_;
  vector<topology::part> parts_;
  /// 0 for a domain without a parent; none if unknown.
  vector<std::size_t> depth_;
  vector<problem> found_;
  topology_options options_;
  bool depths_known_;
};

/// The position of the domain that a text names, or the problem with it.
class domain_names {
 public:
  explicit domain_names(std::span<const domain_spec> domains) {
    for (std::size_t i = 0; i < domains.size(); ++i) {
      const domain_spec& d = domains[i];
      add(d.name, i);
      if (!d.parent.empty()) add(d.parent + '/' + d.name, i);
    }
  }

  [[nodiscard]] std::optional<std::size_t> find(const domain_spec& child, vector<problem>& found) const {
    const auto at = named_.find(child.parent);
    if (at == named_.end()) {
      found.push_back({problem_code::unknown_parent, child.name, "parent",
                       child.name + " names the parent " + child.parent + ", which does not exist"});
      return std::nullopt;
    }
    if (at->second.size() == 1) return at->second.front();
    found.push_back({problem_code::unknown_parent, child.name, "parent",
                     child.name + " names the parent " + child.parent +
                         ", of which there is more than one: write it with its own parent, as in a/b"});
    return std::nullopt;
  }

 private:
  void add(std::string name, std::size_t i) { named_[std::move(name)].push_back(i); }

  std::map<std::string, vector<std::size_t>, std::less<>> named_;
};

}  // namespace detail

/// The topology that the user specifies, or all problems with it: levels without a name or with a duplicate
/// one, domains without a name, siblings with the same name, parents that do not exist, every cycle with all
/// its members, domains below the finest level, nodes that do not exist, are in two domains, above the finest
/// level or (unless allowed) in none. Siblings keep the order of the specification. O(n log n).
[[nodiscard]] inline result<topology> build_topology(const cluster& nodes, const topology_spec& spec,
                                                     topology_options options = {}) {
  vector<problem> found;
  vector<topology::part> parts(spec.domains.size());
  const detail::domain_names names{spec.domains};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const domain_spec& d = spec.domains[i];
    parts[i].name = d.name;
    if (!d.parent.empty()) {
      if (const auto parent = names.find(d, found)) parts[i].parent = *parent;
    }
    for (const std::string& n : d.nodes) {
      if (const auto node = nodes.find(n)) {
        parts[i].nodes.push_back(*node);
      } else {
        found.push_back({problem_code::unknown_name, n, "nodes",
                         d.name + " has the node " + n + ", which is not in the cluster"});
      }
    }
  }
  return detail::topology_checker{nodes, spec.levels, std::move(parts), std::move(found), options}.build();
}

/// The topology given by the labels of the nodes. `levels`: from coarse to fine, the key of each level's
/// label, which is also its name. Domains with the same name under different parents are different domains,
/// unless names must be unique. Or all problems: nodes without a label of a level (unless they may be outside
/// every domain; those of one specification are reported together), and problems with the levels. Siblings
/// are in the order of their first nodes. O(n log n).
[[nodiscard]] inline result<topology> topology_from_labels(const cluster& nodes, vector<std::string> levels,
                                                           topology_options options = {}) {
  vector<problem> found;
  vector<topology::part> parts;
  std::map<std::pair<std::size_t, std::string>, std::size_t> part_of;
  const node_spec* last_spec = nullptr;
  std::size_t last = topology::part::no_parent;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const node_spec& spec = nodes.spec(node_id{n});
    // Nodes of one specification have the same labels.
    if (&spec != last_spec) {
      last_spec = &spec;
      last = topology::part::no_parent;
      bool complete = true;
      vector<const std::string*> values;
      for (const std::string& level : levels) {
        const auto at = allot::detail::find_if(spec.labels.begin(), spec.labels.end(), [&](const label& l) {
          return l.key == level && !l.value.empty();
        });
        if (at != spec.labels.end()) {
          values.push_back(&at->value);
          continue;
        }
        complete = false;
        if (options.allow_outside || level.empty()) continue;
        found.push_back({problem_code::missing, spec.name, level, spec.name + " has no label " + level});
      }
      for (std::size_t l = 0; complete && l < values.size(); ++l) {
        const auto [at, is_new] = part_of.emplace(std::pair{last, *values[l]}, parts.size());
        if (is_new) parts.push_back({*values[l], last, {}});
        last = at->second;
      }
    }
    if (last != topology::part::no_parent) parts[last].nodes.push_back(node_id{n});
  }
  return detail::topology_checker{nodes, std::move(levels), std::move(parts), std::move(found), options}
      .build();
}

}  // namespace gpu
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/detail/topology_room.hpp>
#include <allot/gpu/topology/gang_request.hpp>
#include <allot/gpu/topology/topology.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {
namespace detail {

/// The cluster, a domain, or the node at a position.
struct gang_region {
  enum kinds : std::uint8_t { all, domain, node };
  kinds kind = all;
  std::size_t index = 0;

  [[nodiscard]] domain_id as_domain() const noexcept { return domain_id{index}; }

  friend bool operator==(const gang_region&, const gang_region&) = default;
};

/// The level of a region that is not the whole cluster.
[[nodiscard]] inline std::size_t level_of(const topology& t, const gang_region& r) {
  return r.kind == gang_region::node ? t.node_level() : t.level_of(r.as_domain());
}
/// The positions of its nodes, as a half-open range.
[[nodiscard]] inline std::pair<std::size_t, std::size_t> positions(const topology& t, const gang_region& r) {
  if (r.kind == gang_region::all) return {0, t.nodes().size()};
  if (r.kind == gang_region::node) return {r.index, r.index + 1};
  const std::size_t first = t.first_position(r.as_domain());
  return {first, first + t.nodes(r.as_domain()).size()};
}
/// Its domains of a level no coarser than its own.
[[nodiscard]] inline domain_range domains_in(const topology& t, const gang_region& r, std::size_t level) {
  return r.kind == gang_region::all ? t.domains_of(level) : t.domains_in(r.as_domain(), level);
}
/// Whether the group must be placed together in a part of the region.
[[nodiscard]] inline bool is_inner(const topology& t, const gang_group& g, const gang_region& r) {
  return g.level && (r.kind == gang_region::all || *g.level > level_of(t, r));
}
template <class Rooms>
[[nodiscard]] std::uint64_t room_of(const Rooms& rooms, const gang_region& r) {
  if (r.kind == gang_region::all) return rooms.total();
  return r.kind == gang_region::node ? rooms.room_at(r.index) : rooms.room(r.as_domain());
}

/// Assigns each group of a gang its own part of a region, and its size: a workspace of `gang_planner`.
///
/// Groups fit if no domain of the region is assigned more than its room, counting all that is assigned to its
/// parts: equal pods can then always be spread. So only domains are chosen here, not nodes.
class gang_assignment {
 public:
  explicit gang_assignment(const topology& t) : topology_(&t), left_(t.size()), left_at_(t.nodes().size()) {}

  void begin(std::uint64_t budget) noexcept {
    budget_ = budget;
    gave_up_ = false;
  }
  void refill(std::uint64_t budget) noexcept { budget_ = budget; }
  /// Whether the budget has run out since `begin`.
  [[nodiscard]] bool gave_up() const noexcept { return gave_up_; }

  /// False if the groups do not fit, or if the budget did not suffice to find out. Precondition: the region
  /// has room for `needed`, the sum of the minimums.
  template <class Rooms>
  [[nodiscard]] bool assign(const Rooms& rooms, std::span<const gang_group> groups, std::uint64_t needed,
                            const gang_region& r) {
    groups_ = groups;
    at_.assign(groups.size(), r);
    sizes_.clear();
    for (const gang_group& g : groups) sizes_.push_back(g.min_pods);
    order_.clear();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (is_inner(*topology_, groups[g], r)) order_.push_back(g);
    }
    if (!order_.empty()) {
      // Parts of finer levels are assigned before those around them, so that what a domain has left is what
      // its parts have left, until something is assigned to the domain itself.
      allot::detail::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
        return std::tuple{*groups[b].level, groups[b].min_pods, a} <
               std::tuple{*groups[a].level, groups[a].min_pods, b};
      });
      read_left(rooms, r);
      furthest_ = 0;
      if (!assign_from(0, r)) return false;
    }
    grow(r, room_of(rooms, r) - needed);
    return true;
  }

  // After a successful assignment:

  [[nodiscard]] const gang_region& at(std::size_t group) const { return at_[group]; }
  [[nodiscard]] std::uint64_t size(std::size_t group) const { return sizes_[group]; }
  /// The groups with a part of the region for themselves, the finest parts first.
  [[nodiscard]] std::span<const std::size_t> inner() const noexcept { return order_; }

  // After a failed one:

  /// A group that got no part.
  [[nodiscard]] std::uint32_t stuck() const { return static_cast<std::uint32_t>(order_[furthest_]); }

  // What domains and nodes of a region have left.

  template <class Rooms>
  void read_left(const Rooms& rooms, const gang_region& r) {
    if (r.kind != gang_region::node) {
      const std::size_t from = r.kind == gang_region::all ? 0 : level_of(*topology_, r);
      for (std::size_t l = from; l < topology_->levels(); ++l) {
        for (const domain_id d : domains_in(*topology_, r, l)) left_[d.index()] = rooms.room(d);
      }
    }
    const auto [first, last] = positions(*topology_, r);
    for (std::size_t p = first; p < last; ++p) left_at_[p] = rooms.room_at(p);
  }
  [[nodiscard]] std::uint64_t left(domain_id d) const { return left_[d.index()]; }
  [[nodiscard]] std::uint64_t left_at(std::size_t position) const { return left_at_[position]; }
  /// Takes them from the region and all around it.
  void take(const gang_region& r, std::uint64_t pods) {
    if (r.kind == gang_region::all) return;
    domain_id d = r.as_domain();
    if (r.kind == gang_region::node) {
      left_at_[r.index] -= pods;
      d = topology_->domain_of(topology_->nodes()[r.index]);
    }
    for (; d; d = topology_->parent(d)) left_[d.index()] -= pods;
  }

 private:
  using choice = std::pair<std::uint64_t, std::size_t>;

  [[nodiscard]] bool assign_from(std::size_t k, const gang_region& within) {
    if (k == order_.size()) return true;
    furthest_ = std::max(furthest_, k);
    const gang_group& g = groups_[order_[k]];
    const auto kind = *g.level == topology_->node_level() ? gang_region::node : gang_region::domain;
    std::optional<choice> tried;
    while ((tried = next_choice(within, kind, g, tried))) {
      if (budget_ == 0) {
        gave_up_ = true;
        return false;
      }
      --budget_;
      const gang_region part{kind, tried->second};
      at_[order_[k]] = part;
      take(part, g.min_pods);
      if (assign_from(k + 1, within)) return true;
      take(part, std::uint64_t{0} - g.min_pods);
    }
    return false;
  }

  /// The lowest part with the least sufficient room left, after the one that was tried.
  [[nodiscard]] std::optional<choice> next_choice(const gang_region& within, gang_region::kinds kind,
                                                  const gang_group& g,
                                                  const std::optional<choice>& tried) const {
    const bool nodes = kind == gang_region::node;
    auto [first, last] = nodes ? positions(*topology_, within) : std::pair<std::size_t, std::size_t>{};
    if (!nodes) {
      const domain_range in = domains_in(*topology_, within, *g.level);
      first = in.first();
      last = in.last();
    }
    const auto parent = [&](std::size_t i) {
      return nodes ? topology_->domain_of(topology_->nodes()[i]) : topology_->parent(domain_id{i});
    };
    std::optional<choice> next;
    for (std::size_t i = first; i < last; ++i) {
      const choice key{nodes ? left_at_[i] : left_[i], i};
      if (key.first < g.min_pods || (tried && key <= *tried) || (next && key >= *next)) continue;
      // Siblings with equally much left are equivalent for this group and those still to come.
      if (tried && key.first == tried->first && parent(i) == parent(tried->second)) continue;
      next = key;
    }
    return next;
  }

  void grow(const gang_region& within, std::uint64_t spare) {
    for (std::size_t g = 0; g < sizes_.size(); ++g) {
      std::uint64_t more = std::min(groups_[g].pods - sizes_[g], spare);
      const bool inner = is_inner(*topology_, groups_[g], within);
      if (inner) more = std::min(more, least_left(at_[g], within));
      if (inner) take(at_[g], more);
      sizes_[g] += more;
      spare -= more;
    }
  }
  /// The least left on the path from a part up to the region around it.
  [[nodiscard]] std::uint64_t least_left(const gang_region& part, const gang_region& within) const {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    domain_id d = part.as_domain();
    if (part.kind == gang_region::node) {
      least = left_at_[part.index];
      d = topology_->domain_of(topology_->nodes()[part.index]);
    }
    const domain_id stop = within.kind == gang_region::domain ? within.as_domain() : domain_id::none();
    for (; d && d != stop; d = topology_->parent(d)) least = std::min(least, left_[d.index()]);
    return least;
  }

  const topology* topology_;
  std::span<const gang_group> groups_;
  std::uint64_t budget_ = 0;
  bool gave_up_ = false;
  std::size_t furthest_ = 0;
  vector<std::uint64_t> left_;
  vector<std::uint64_t> left_at_;
  vector<gang_region> at_;
  vector<std::uint64_t> sizes_;
  vector<std::size_t> order_;
};

}  // namespace detail
}  // namespace gpu
}  // namespace v0
}  // namespace allot

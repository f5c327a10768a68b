// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/detail/gang_assignment.hpp>
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

namespace allot {
inline namespace v0 {
namespace gpu {

/// Finds a place for a gang of equal pods in a topology.
///
/// Which domain. With a preferred level: the domains of that level, then of each coarser one up to the
/// required one (or the whole cluster), of the first level at which one holds the minimum. Without: the
/// domains of every level from the node up, of the first at which one holds all pods; if none does, of the
/// required level, since size then takes precedence over proximity. Among the domains of a level: the one
/// with the least room that holds all pods; else, for an elastic gang, the one with the most room; of several
/// the lowest. (KAI's rule, too: the nearest domain first and the fullest first, and nothing finer than the
/// preferred level.)
///
/// Where in it. As few sub-domains as possible, recursively down to the nodes: the largest are filled first,
/// and the last one is the smallest that suffices.
///
/// Groups. Each with a level finer than the gang's domain gets one domain of that level, by an exact search:
/// the finest levels and the largest groups first, the fullest sufficient domain first. Then they grow in the
/// order of the request, as far as their domains have room that no other group needs.
///
/// An object of this type is the workspace: it allocates on construction, and later only for more groups than
/// it has seen. The topology must outlive it.
class gang_planner {
 public:
  /// How many domains of one level are tried for the groups of a gang before the search there is abandoned.
  static constexpr std::uint64_t default_budget = 4096;

  explicit gang_planner(const topology& t) : topology_(&t), assignment_(t) {
    entries_.reserve(t.size() + t.nodes().size());
    candidates_.reserve(t.size());
    shares_.reserve(t.nodes().size());
  }

  /// `rooms` must be of the topology of this workspace. For a gang of one group without a level of its own
  /// O(domains + nodes of the domains that it uses), and a look at each node if one of them could hold it.
  template <topology_rooms Rooms>
  [[nodiscard]] gang_place plan(const Rooms& rooms, const gang_request& request,
                                std::uint64_t budget = default_budget) {
    ALLOT_ASSERT(&rooms.layout() == topology_, "the rooms are of another topology");
    shares_.clear();
    request_ = &request;
    budget_ = budget;
    gang_place made;
    made.why.level = request.required;
    if (!is_valid(request)) {
      made.why.reason = gang_obstacle::invalid_request;
      return made;
    }
    wanted_ = needed_ = 0;
    for (const gang_group& g : request.groups) wanted_ += g.pods, needed_ += g.min_pods;
    made.why.needed = needed_;
    if (rooms.total() < needed_) {
      made.why.reason = gang_obstacle::no_room;
      made.why.level.reset();
      made.why.room = rooms.total();
      return made;
    }
    const std::optional<region> where = find_region(rooms);
    if (!where) {
      explain(rooms, made.why);
      return made;
    }
    spread(rooms, *where);
    made.found = true;
    if (where->kind != region::all) made.level = detail::level_of(*topology_, *where);
    if (where->kind == region::domain) made.domain = where->as_domain();
    for (const gang_share& s : shares_) made.pods += s.pods;
    allot::detail::sort(shares_.begin(), shares_.end(), [&](const gang_share& a, const gang_share& b) {
      return std::pair{a.group, topology_->position(a.node)} <
             std::pair{b.group, topology_->position(b.node)};
    });
    made.shares = shares_;
    return made;
  }

 private:
  static constexpr std::uint64_t infinite = std::numeric_limits<std::uint64_t>::max();

  using region = detail::gang_region;

  struct entry {
    std::uint64_t room = 0;
    /// The id of a domain; or, for a node, its position after all domains.
    std::size_t key = 0;
  };
  /// The order of candidates: those that hold all pods, the fullest first; then the emptiest.
  struct rank {
    bool is_short = false;
    std::uint64_t room = 0;
    std::size_t index = 0;

    friend bool operator<(const rank& a, const rank& b) noexcept {
      return std::tie(a.is_short, a.room, a.index) < std::tie(b.is_short, b.room, b.index);
    }
  };

  [[nodiscard]] bool is_valid(const gang_request& r) const noexcept {
    const auto exists = [&](const std::optional<std::size_t>& level) {
      return !level || *level <= topology_->node_level();
    };
    if (r.groups.empty() || !exists(r.required) || !exists(r.preferred)) return false;
    if (r.required && r.preferred && *r.preferred < *r.required) return false;
    if (r.within && !topology_->contains(r.within)) return false;
    return allot::detail::all_of(r.groups.begin(), r.groups.end(), [&](const gang_group& g) {
      return g.min_pods >= 1 && g.min_pods <= g.pods && g.pods <= std::numeric_limits<std::uint32_t>::max() &&
             exists(g.level);
    });
  }

  [[nodiscard]] rank rank_of(std::uint64_t room, std::size_t index) const noexcept {
    return room >= wanted_ ? rank{false, room, index} : rank{true, infinite - room, index};
  }

  // Which domain.

  template <class Rooms>
  [[nodiscard]] std::optional<region> find_region(const Rooms& rooms) {
    const bool is_bounded{request_->within};
    const std::size_t coarsest =
        std::max(request_->required.value_or(0), is_bounded ? topology_->level_of(request_->within) : 0);
    const std::uint64_t at_least = request_->preferred ? needed_ : wanted_;
    for (std::size_t l = request_->preferred.value_or(topology_->node_level()) + 1; l-- > coarsest;) {
      assignment_.begin(budget_);
      if (const auto found = find_in_level(rooms, l, at_least, infinite)) return found;
    }
    if (!request_->required && !is_bounded) {
      assignment_.begin(budget_);
      if (assign(rooms, region{})) return region{};
      return std::nullopt;
    }
    if (at_least == needed_) return std::nullopt;
    assignment_.refill(budget_);
    return find_in_level(rooms, coarsest, needed_, wanted_);
  }

  /// A region of this level with room for at least `at_least` and fewer than `below` pods.
  template <class Rooms>
  [[nodiscard]] std::optional<region> find_in_level(const Rooms& rooms, std::size_t level,
                                                    std::uint64_t at_least, std::uint64_t below) {
    if (level == topology_->node_level()) {
      if (rooms.most_on_a_node() < at_least) return std::nullopt;
      const auto room = [&](std::size_t p) { return rooms.room_at(p); };
      const auto [first, last] = eligible_nodes();
      const auto best = first_of(first, last, room, at_least, below);
      if (!best || !assign(rooms, region{region::node, best->index})) return std::nullopt;
      return region{region::node, best->index};
    }
    const domain_range domains = domains_of(level);
    const auto room = [&](std::size_t d) { return rooms.room(domain_id{d}); };
    const bool is_simple =
        allot::detail::all_of(request_->groups.begin(), request_->groups.end(),
                              [&](const gang_group& g) { return !g.level || *g.level <= level; });
    if (is_simple) {
      // Any domain with the room will do.
      const auto best = first_of(domains.first(), domains.last(), room, at_least, below);
      if (!best || !assign(rooms, region{region::domain, best->index})) return std::nullopt;
      return region{region::domain, best->index};
    }
    candidates_.clear();
    for (const domain_id d : domains) {
      const std::uint64_t r = room(d.index());
      if (r >= at_least && r < below) candidates_.push_back(rank_of(r, d.index()));
    }
    allot::detail::sort(candidates_.begin(), candidates_.end());
    for (const rank& c : candidates_) {
      if (assign(rooms, region{region::domain, c.index})) return region{region::domain, c.index};
    }
    return std::nullopt;
  }

  /// The domains of a level that the request allows.
  [[nodiscard]] domain_range domains_of(std::size_t level) const {
    const domain_id in = request_->within;
    if (!in) return topology_->domains_of(level);
    if (level <= topology_->level_of(in)) return {in.index(), in.index() + 1};
    return topology_->domains_in(in, level);
  }
  /// The positions of the nodes that may hold the whole gang: one outside every domain satisfies no requested
  /// level.
  [[nodiscard]] std::pair<std::size_t, std::size_t> eligible_nodes() const {
    if (request_->within) {
      return detail::positions(*topology_, region{region::domain, request_->within.index()});
    }
    const auto asks_for_domain = [this](const std::optional<std::size_t>& level) {
      return level && *level < topology_->node_level();
    };
    const bool inside_only =
        asks_for_domain(request_->required) ||
        allot::detail::any_of(request_->groups.begin(), request_->groups.end(),
                              [&](const gang_group& g) { return asks_for_domain(g.level); });
    return {0, topology_->nodes().size() - (inside_only ? topology_->nodes_outside().size() : 0)};
  }
  template <class Room>
  [[nodiscard]] std::optional<rank> first_of(std::size_t first, std::size_t last, Room room,
                                             std::uint64_t at_least, std::uint64_t below) const {
    std::optional<rank> best;
    for (std::size_t i = first; i < last; ++i) {
      const std::uint64_t r = room(i);
      if (r < at_least || r >= below) continue;
      const rank is = rank_of(r, i);
      if (!best || is < *best) best = is;
      // There is no closer fit.
      if (r == wanted_) break;
    }
    return best;
  }

  template <class Rooms>
  [[nodiscard]] bool assign(const Rooms& rooms, const region& r) {
    return assignment_.assign(rooms, request_->groups, needed_, r);
  }

  // Where in it.

  template <class Rooms>
  void spread(const Rooms& rooms, const region& r) {
    if (request_->groups.size() == 1) {
      spread_group(
          0, [&](domain_id d) { return rooms.room(d); }, [&](std::size_t p) { return rooms.room_at(p); });
      return;
    }
    assignment_.read_left(rooms, r);
    const auto one = [&](std::size_t g) {
      const std::size_t before = shares_.size();
      spread_group(
          g, [&](domain_id d) { return assignment_.left(d); },
          [&](std::size_t p) { return assignment_.left_at(p); });
      for (std::size_t i = before; i < shares_.size(); ++i) {
        assignment_.take({region::node, topology_->position(shares_[i].node)}, shares_[i].pods);
      }
    };
    // Those with the least choice first; what is left then suffices for the others, wherever those are.
    for (const std::size_t g : assignment_.inner()) one(g);
    for (std::size_t g = 0; g < request_->groups.size(); ++g) {
      if (!detail::is_inner(*topology_, request_->groups[g], r)) one(g);
    }
  }

  template <class Room, class RoomAt>
  void spread_group(std::size_t g, Room room, RoomAt room_at) {
    region at = assignment_.at(g);
    std::uint64_t pods = assignment_.size(g);
    const auto group = static_cast<std::uint32_t>(g);
    const std::size_t domains = topology_->size();
    while (at.kind != region::node) {
      entries_.clear();
      const auto add_nodes = [&](std::size_t first, std::size_t last) {
        for (std::size_t p = first; p < last; ++p) {
          if (const std::uint64_t r = room_at(p); r > 0) entries_.push_back({r, domains + p});
        }
      };
      const bool is_all = at.kind == region::all;
      if (!is_all && topology_->level_of(domain_id{at.index}) + 1 == topology_->levels()) {
        const auto [first, last] = detail::positions(*topology_, at);
        add_nodes(first, last);
      } else {
        const domain_range parts = !is_all                    ? topology_->children(domain_id{at.index})
                                   : topology_->levels() == 0 ? domain_range{}
                                                              : topology_->domains_of(0);
        for (const domain_id d : parts) {
          if (const std::uint64_t r = room(d); r > 0) entries_.push_back({r, d.index()});
        }
        const std::size_t nodes = topology_->nodes().size();
        if (is_all) add_nodes(nodes - topology_->nodes_outside().size(), nodes);
      }
      const std::optional<std::size_t> rest = take_largest(pods, [&](const entry& e) {
        if (e.key >= domains) {
          shares_.push_back({topology_->nodes()[e.key - domains], group, e.room});
          return;
        }
        const auto [first, last] = detail::positions(*topology_, region{region::domain, e.key});
        for (std::size_t p = first; p < last; ++p) {
          if (const std::uint64_t r = room_at(p); r > 0) shares_.push_back({topology_->nodes()[p], group, r});
        }
      });
      if (!rest) return;
      at = *rest < domains ? region{region::domain, *rest} : region{region::node, *rest - domains};
    }
    shares_.push_back({topology_->nodes()[at.index], group, pods});
  }

  /// Takes whole entries, largest first, until one suffices for the pods that are left: returns the smallest
  /// such one. `pods` becomes what is left.
  template <class Take>
  [[nodiscard]] std::optional<std::size_t> take_largest(std::uint64_t& pods, Take take_whole) {
    const auto is_smaller = [](const entry& a, const entry& b) {
      return a.room != b.room ? a.room < b.room : a.key > b.key;
    };
    bool is_heap = false;
    while (pods > 0) {
      if (is_heap ? entries_.front().room >= pods : true) {
        const entry* best = nullptr;
        for (const entry& e : entries_) {
          if (e.room < pods) continue;
          if (best == nullptr || std::pair{e.room, e.key} < std::pair{best->room, best->key}) best = &e;
        }
        if (best != nullptr) return best->key;
      }
      if (!is_heap) allot::detail::make_heap(entries_.begin(), entries_.end(), is_smaller);
      is_heap = true;
      ALLOT_ASSERT(!entries_.empty(), "the rooms of domains are not the sums of their nodes'");
      allot::detail::pop_heap(entries_.begin(), entries_.end(), is_smaller);
      pods -= entries_.back().room;
      take_whole(entries_.back());
      entries_.pop_back();
    }
    return std::nullopt;
  }

  // Why not.

  template <class Rooms>
  void explain(const Rooms& rooms, gang_shortage& why) const {
    const auto most = [&](std::size_t first, std::size_t last, auto room) {
      std::size_t best = last;
      for (std::size_t i = first; i < last; ++i) {
        if (best == last || room(i) > why.room) best = i, why.room = room(i);
      }
      return best;
    };
    why.reason = gang_obstacle::no_domain;
    if (request_->within && why.level.value_or(0) <= topology_->level_of(request_->within)) {
      why.level = topology_->level_of(request_->within);
      why.best = request_->within;
      why.room = rooms.room(request_->within);
    } else if (!why.level) {
      why.room = rooms.total();
    } else if (*why.level == topology_->node_level()) {
      const auto [first, last] = eligible_nodes();
      if (first == last) return;
      why.best_node = topology_->nodes()[most(first, last, [&](std::size_t i) { return rooms.room_at(i); })];
    } else {
      const domain_range all = domains_of(*why.level);
      if (all.empty()) return;
      why.best =
          domain_id{most(all.first(), all.last(), [&](std::size_t i) { return rooms.room(domain_id{i}); })};
    }
    if (why.room < needed_) return;
    why.reason = assignment_.gave_up() ? gang_obstacle::not_proven : gang_obstacle::groups;
    why.group = assignment_.stuck();
  }

  const topology* topology_;
  const gang_request* request_ = nullptr;
  std::uint64_t wanted_ = 0;
  std::uint64_t needed_ = 0;
  std::uint64_t budget_ = 0;
  detail::gang_assignment assignment_;
  vector<entry> entries_;
  vector<rank> candidates_;
  vector<gang_share> shares_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

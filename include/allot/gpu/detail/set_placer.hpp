// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/journal.hpp>
#include <allot/core/pod_counts.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/detail/gang_assignment.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/gpu/room.hpp>
#include <allot/gpu/topology/gang_request.hpp>
#include <allot/gpu/topology/topology.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {
namespace detail {

/// Finds places for all pods of a job whose pods differ, or none.
///
/// Which domain: as `gang_planner` chooses, by the sum of the room that it has for each of the sets. In it
/// one set after the other, each where `gang_planner` (or, with no levels at all, the policy) would place it:
/// the largest pods first, then the other orders. If all of these fail, and there are no more than
/// `most_searched` pods, every way to divide them among the nodes is tried, as long as the budget lasts: in
/// any place that will do, whatever the policy prefers.
///
/// `in` is an inventory from inside: see `basic_topology_inventory`. An object of this type is the workspace:
/// it allocates only for more sets and pods than it has seen.
class set_placer {
 public:
  using allocation = allocation_id;

  /// The most pods that are tried node by node, and how many looks at a node that may take: in each domain at
  /// most half of those that are left.
  static constexpr std::size_t most_searched = 64;
  static constexpr std::uint64_t default_budget = std::uint64_t{1} << 21;

  /// All pods of the request, by set, or none.
  template <class Access>
  [[nodiscard]] std::optional<allocation> place(Access in, const pod_request& r) {
    if (!begin(in, r)) return std::nullopt;
    gave_up_ = false;
    looks_left_ = default_budget;
    std::optional<allocation> at;
    for_each_region(in, r, [&](const gang_region& where) {
      at = place_in(in, where);
      return at.has_value();
    });
    return at;
  }
  /// The job's pods on closed nodes elsewhere, at once, and the others where they are: those of a set or
  /// slice that has others left beside these, all in the domain of the whole. None if there is no room for
  /// all of them, or if no pod is left. Precondition: it is placed, and its request is that of `from`'s pods.
  template <class Access>
  [[nodiscard]] std::optional<allocation> replace(Access in, allocation from, const pod_request& r) {
    gave_up_ = false;
    looks_left_ = default_budget;
    if (!read_placed(in, from, r)) return std::nullopt;
    begin_orders();
    const allot::savepoint before = in.save();
    in.release(from);
    tags_.clear();
    const allocation others = in.open();
    std::optional<node_id> anchor;
    for (const chosen_pod& c : placed_) {
      if (in.index().is_closed(c.pod.where.node)) continue;
      anchor = c.pod.where.node;
      in.add(c.pod, others);
      tags_.push_back(c.set);
    }
    const std::size_t left = tags_.size();
    bool found = false;
    if (anchor && find_lost(in)) {
      is_replacing_ = true;
      for_each_region_of(r, *anchor, [&](const gang_region& where) {
        tags_.resize(left);
        return found = search_units(in, where, others);
      });
      is_replacing_ = false;
    }
    if (!found) {
      in.rollback(before);
      return std::nullopt;
    }
    // Once more, in the order of the pods.
    take_replaced(in, others, left);
    in.release(others);
    const allocation at = in.open();
    for (const chosen_pod& c : placed_) in.add(c.pod, at);
    in.commit(before);
    return at;
  }
  /// Reads what a request is for, so that `pods_of` knows; false if it is not valid. `near` may be null.
  [[nodiscard]] bool read(const topology* near, const pod_request& r) {
    sets_ = r.sets;
    near_ = near;
    const auto exists = [&](std::uint8_t l) {
      return l == any_level || (near_ != nullptr && l <= near_->node_level());
    };
    if (sets_.size() > most_pod_sets || !exists(r.required_level) || !exists(r.preferred_level)) return false;
    shapes_.clear();
    for (const pod_set& s : sets_) {
      const auto split_set = split(s.of(1, r), 0);
      if (!split_set || !s.each.sets.empty() || s.pods == 0) return false;
      if (!exists(s.each.required_level) || !exists(s.each.preferred_level)) return false;
      // Where further pods would be, their own place does not say.
      if ((s.slice != 0 || s.most_together != 0) && s.fewest() != s.pods) return false;
      if ((s.slice != 0 && (!exists(s.slice_level) || s.slice_level == any_level)) ||
          (s.most_together != 0 && (!exists(s.spread_level) || s.spread_level == any_level))) {
        return false;
      }
      shapes_.push_back(split_set->each);
    }
    counts_ = sets_.divide(r.pods);
    std::uint64_t pods = 0;
    for (const std::uint32_t c : counts_) pods += c;
    return pods == r.pods;
  }
  /// How many pods of a set that is, and what each needs.
  [[nodiscard]] std::uint32_t pods_of(std::size_t set) const { return counts_[set]; }
  [[nodiscard]] const pod_shape& shape_of(std::size_t set) const { return shapes_[set]; }
  /// Whether the last search that failed might have succeeded with a larger budget.
  [[nodiscard]] bool gave_up() const noexcept { return gave_up_; }

 private:
  /// Pods of one set that stand together: all of them, or a slice.
  struct unit {
    std::size_t set = 0;
    std::uint32_t pods = 0;
    std::optional<std::size_t> level{};
    std::size_t number = 0;
    /// How many whole devices those behind it need.
    std::uint64_t devices_behind = 0;
    /// For pods to be replaced: the first of them in `lost_`, and where others of it are.
    std::size_t first_lost = 0;
    std::optional<node_id> anchor{};
  };
  struct chosen_pod {
    std::size_t set = 0;
    std::size_t number = 0;
    placed_pod pod{};
  };

  /// The level in whose domain the pods of a unit stand together. Of two the finer one says more.
  [[nodiscard]] static std::optional<std::size_t> level_of_units(const pod_set& s) noexcept {
    const std::optional<std::size_t> of_set = level_of(s.each.required_level);
    return s.slice == 0 ? of_set : std::max(of_set, level_of(s.slice_level));
  }

  /// False if there is too little room for one set alone.
  template <class Access>
  [[nodiscard]] bool begin(Access in, const pod_request& r) {
    if (!read(in.nearness(), r)) return false;
    devices_needed_ = 0;
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      if (room(in.index(), shapes_[s], counts_[s]) < counts_[s]) return false;
      devices_needed_ += counts_[s] * whole_devices(s);
    }
    return true;
  }
  /// How many devices a pod of the set has for itself, wherever it is.
  [[nodiscard]] std::uint64_t whole_devices(std::size_t set) const {
    const pod_shape& p = shapes_[set];
    return p.depends_on_type() || p.is_fraction() ? 0 : p.devices;
  }
  /// The largest pods first.
  void begin_orders() {
    order_.clear();
    for (std::size_t s = 0; s < sets_.size(); ++s) order_.push_back(s);
    allot::detail::sort(order_.begin(), order_.end(),
                        [this](std::size_t a, std::size_t b) { return comes_first(a, b); });
  }
  [[nodiscard]] bool comes_first(std::size_t a, std::size_t b) const {
    return std::pair{size_of(b), a} < std::pair{size_of(a), b};
  }
  /// By how much of a node one pod of the set takes.
  [[nodiscard]] std::tuple<std::uint64_t, std::int64_t, std::int64_t> size_of(std::size_t set) const {
    const pod_shape& p = shapes_[set];
    const std::uint64_t gpus =
        p.depends_on_type() ? p.devices * std::uint64_t{milli_per_gpu} : p.devices * std::uint64_t{p.milli};
    return {gpus, p.cpu_milli, p.memory_mib};
  }

  /// Calls `visit(region)` for each region in which the job may be, best first, until it returns true.
  template <class Access, class Visit>
  void for_each_region(Access in, const pod_request& r, Visit visit) {
    if (!r.has_level()) {
      static_cast<void>(visit(gang_region{}));
      return;
    }
    const std::size_t coarsest = level_of(r.required_level).value_or(0);
    const std::size_t finest = level_of(r.preferred_level).value_or(coarsest);
    for (std::size_t l = finest + 1; l-- > coarsest;) {
      regions_.clear();
      const auto consider = [&](const gang_region& where) {
        if (const auto has = room_in(in.index(), where)) regions_.push_back({*has, where.index});
      };
      const bool is_node = l == near_->node_level();
      if (is_node) {
        for (std::size_t p = 0; p < near_->nodes().size(); ++p) {
          if (is_inside(near_->nodes()[p], r.required_level)) consider({gang_region::node, p});
        }
      } else {
        for (const domain_id d : near_->domains_of(l)) consider({gang_region::domain, d.index()});
      }
      allot::detail::sort(regions_.begin(), regions_.end());
      for (std::size_t i = 0; i < regions_.size(); ++i) {
        if (visit(gang_region{is_node ? gang_region::node : gang_region::domain, regions_[i].second})) return;
      }
    }
    if (r.required_level == any_level) static_cast<void>(visit(gang_region{}));
  }
  /// How many pods of its sets a region has room for, each set counted as if it were alone; none if some set
  /// has too little, or all together.
  [[nodiscard]] std::optional<std::uint64_t> room_in(const free_index& index, const gang_region& where) {
    const auto [first, last] = positions(*near_, where);
    std::uint64_t devices = 0;
    for (std::size_t p = first; p < last; ++p)
      devices += count_devices(index.free_devices(near_->nodes()[p]));
    if (devices < devices_needed_) return std::nullopt;
    std::uint64_t sum = 0;
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      std::uint64_t has = 0;
      for (std::size_t p = first; p < last; ++p) has += room_on(index, near_->nodes()[p], s);
      if (has < counts_[s]) return std::nullopt;
      sum += has;
    }
    return sum;
  }
  /// Pods of a set that fit on a node now, at most all of it.
  [[nodiscard]] std::uint64_t room_on(const free_index& index, node_id n, std::size_t set) const {
    const auto here = index.layout().type_of(n).shape_on(shapes_[set]);
    return here ? index.pods_with_room(n, *here, counts_[set]) : 0;
  }

  template <class Access>
  [[nodiscard]] std::optional<allocation> place_in(Access in, const gang_region& where) {
    begin_orders();
    for (std::size_t orders = 0; orders == 0 || (orders < most_orders && next_order()); ++orders) {
      const allot::savepoint before = in.save();
      if (const auto at = place_in_order(in, where)) return conclude(in, before, *at);
      in.rollback(before);
    }
    begin_orders();
    const allot::savepoint before = in.save();
    if (const auto at = search(in, where)) return conclude(in, before, *at);
    in.rollback(before);
    return std::nullopt;
  }
  static constexpr std::size_t most_orders = 24;
  /// The next permutation of the sets; false after the last.
  [[nodiscard]] bool next_order() {
    return std::next_permutation(order_.begin(), order_.end(),
                                 [this](std::size_t a, std::size_t b) { return comes_first(a, b); });
  }

  /// What has been placed since `before`, with the pods by set.
  template <class Access>
  [[nodiscard]] std::optional<allocation> conclude(Access in, allot::savepoint before, allocation placed) {
    placed_.clear();
    std::size_t i = 0;
    for (const placed_pod& p : in.pods(placed)) placed_.push_back({tags_[i], i, p}), ++i;
    allot::detail::sort(placed_.begin(), placed_.end(), [](const chosen_pod& a, const chosen_pod& b) {
      return std::pair{a.set, a.number} < std::pair{b.set, b.number};
    });
    in.rollback(before);
    const allocation at = in.open();
    for (const chosen_pod& c : placed_) in.add(c.pod, at);
    return at;
  }

  template <class Access>
  [[nodiscard]] std::optional<allocation> place_in_order(Access in, const gang_region& where) {
    const allocation a = in.open();
    tags_.clear();
    for (const std::size_t s : order_) {
      if (!place_set(in, where, s, a)) return std::nullopt;
    }
    return a;
  }
  template <class Access>
  [[nodiscard]] bool place_set(Access in, const gang_region& where, std::size_t s, allocation a) {
    const pod_set& set = sets_[s];
    // What has to be apart and together is left to the search.
    if (set.most_together != 0) {
      return !set.each.has_level() && set.slice == 0 && spread_set(in, where, s, a);
    }
    if (where.kind == gang_region::node) {
      const node_id n = near_->nodes()[where.index];
      if (!is_inside(n, set.each.required_level) || (set.slice != 0 && !is_inside(n, set.slice_level))) {
        return false;
      }
      for (std::uint32_t i = 0; i < counts_[s]; ++i) {
        if (!add(in, n, s, a)) return false;
      }
      return true;
    }
    const bool is_anywhere = where.kind == gang_region::all && !set.has_level();
    if (is_anywhere) {
      for (std::uint32_t i = 0; i < counts_[s]; ++i) {
        const auto at = in.choose(shapes_[s]);
        if (!at) return false;
        in.add(in.index().placed(*at, shapes_[s]), a);
        tags_.push_back(s);
      }
      return true;
    }
    groups_.clear();
    const std::uint32_t each = set.slice == 0 ? counts_[s] : set.slice;
    for (std::uint32_t left = counts_[s]; left > 0; left -= std::min(left, each)) {
      const std::uint32_t pods = std::min(left, each);
      groups_.push_back({pods, pods, set.slice == 0 ? std::nullopt : level_of(set.slice_level)});
    }
    gang_request wanted{groups_, level_of(set.each.required_level), level_of(set.each.preferred_level)};
    if (where.kind == gang_region::domain) {
      wanted.within = where.as_domain();
      // A domain is not left for what is preferred.
      if (wanted.preferred) *wanted.preferred = std::max(*wanted.preferred, near_->level_of(wanted.within));
    }
    const gang_place plan = in.plan(shapes_[s], wanted);
    if (!plan.found) return false;
    // Adding pods would change what the plan is made of.
    shares_.assign(plan.shares.begin(), plan.shares.end());
    for (const gang_share& share : shares_) {
      for (std::uint64_t i = 0; i < share.pods; ++i) {
        if (!add(in, share.node, s, a)) return false;
      }
    }
    return true;
  }
  template <class Access>
  [[nodiscard]] bool add(Access in, node_id n, std::size_t s, allocation a) {
    if (in.index().is_closed(n) || !in.index().layout().type_of(n).shape_on(shapes_[s])) return false;
    if (!in.add_at({n, 0}, shapes_[s], a)) return false;
    tags_.push_back(s);
    return true;
  }
  /// A set of which only so many may be together: pod by pod, where least is left.
  template <class Access>
  [[nodiscard]] bool spread_set(Access in, const gang_region& where, std::size_t s, allocation a) {
    for (std::uint32_t i = 0; i < counts_[s]; ++i) {
      std::optional<node_id> best;
      std::uint64_t least = 0;
      for_each_node(in, where, [&](node_id n) {
        const std::uint64_t has = room_on(in.index(), n, s);
        if (has == 0 || (best && has >= least) || !may_join(in, n, s, a)) return;
        best = n;
        least = has;
      });
      if (!best || !add(in, *best, s, a)) return false;
    }
    return true;
  }
  template <class Access, class Visit>
  void for_each_node(Access in, const gang_region& where, Visit visit) const {
    if (near_ == nullptr) {
      for (std::size_t n = 0; n < in.index().layout().size(); ++n) visit(node_id{n});
      return;
    }
    const auto [first, last] = positions(*near_, where);
    for (std::size_t p = first; p < last; ++p) visit(near_->nodes()[p]);
  }
  /// Whether a node is in a domain of a level, or no level is asked for.
  [[nodiscard]] bool is_inside(node_id n, std::uint8_t level) const {
    return level == any_level || level == near_->node_level() || near_->domain_of(n, level);
  }
  /// Whether two nodes are in one domain of a level.
  [[nodiscard]] bool are_together(node_id a, node_id b, std::size_t level) const {
    if (level == near_->node_level()) return a == b;
    const domain_id d = near_->domain_of(a, level);
    return d && d == near_->domain_of(b, level);
  }
  /// Whether one more pod of the set may be on a node.
  template <class Access>
  [[nodiscard]] bool may_join(Access in, node_id n, std::size_t s, allocation a) const {
    const pod_set& set = sets_[s];
    if (set.most_together == 0) return true;
    if (!is_inside(n, set.spread_level)) return false;
    std::uint32_t together = 0;
    std::size_t i = 0;
    for (const placed_pod& p : in.pods(a)) {
      if (tags_[i++] == s && are_together(p.where.node, n, set.spread_level)) ++together;
    }
    return together < set.most_together;
  }

  // Pods that are replaced.

  /// Reads the pods of a job, by set, into `placed_`; false if its request is not of these.
  template <class Access>
  [[nodiscard]] bool read_placed(Access in, allocation from, const pod_request& r) {
    placed_.clear();
    std::size_t i = 0;
    for (const placed_pod& p : in.pods(from)) placed_.push_back({0, i++, p});
    if (!r.sets.empty() && r.one_of == every_set) {
      if (!read(in.nearness(), r) || placed_.size() != r.pods) return false;
    } else {
      make_sets(r);
      pod_request of_these = r;
      of_these.sets = {made_.data(), static_cast<std::uint32_t>(made_.size())};
      of_these.one_of = every_set;
      of_these.pods = static_cast<std::uint32_t>(placed_.size());
      if (!read(in.nearness(), of_these)) return false;
    }
    i = 0;
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      for (std::uint32_t k = 0; k < counts_[s]; ++k) placed_[i++].set = s;
    }
    return true;
  }
  /// Pods that are alike in as many sets as they have sizes: the parts of a total differ.
  void make_sets(const pod_request& r) {
    made_.clear();
    for (const chosen_pod& c : placed_) {
      pod_set one{.each = r.sets.empty() ? r : r.sets[r.one_of].of(1, r)};
      one.each.required_level = one.each.preferred_level = any_level;
      one.each.near = {};
      one.each.pods = 1;
      if (std::exchange(one.each.total, false) && r.gpus > quantity{}) {
        one.each.gpus = c.pod.gpus();
        one.each.cpu_milli = c.pod.cpu_milli;
        one.each.memory_mib = c.pod.memory_mib;
      }
      if (!made_.empty() && made_.back().each == one.each) {
        ++made_.back().pods;
      } else {
        made_.push_back(one);
      }
    }
  }
  /// The units of the pods on closed nodes; false if there are too many of them.
  template <class Access>
  [[nodiscard]] bool find_lost(Access in) {
    units_.clear();
    lost_.clear();
    std::size_t first = 0;
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      const pod_set& set = sets_[s];
      const std::uint32_t each = set.slice == 0 ? counts_[s] : set.slice;
      for (std::uint32_t done = 0; done < counts_[s]; done += each) {
        unit of{s, 0, level_of_units(set), units_.size(), 0, lost_.size(), {}};
        for (std::size_t i = first + done; i < first + std::min(done + each, counts_[s]); ++i) {
          const node_id n = placed_[i].pod.where.node;
          in.index().is_closed(n) ? lost_.push_back(i) : void(of.anchor = n);
        }
        of.pods = static_cast<std::uint32_t>(lost_.size() - of.first_lost);
        if (of.pods > 0) units_.push_back(of);
      }
      first += counts_[s];
    }
    return lost_.size() <= most_searched;
  }
  /// Where the replaced pods are: behind the `left` others of the allocation, unit by unit.
  template <class Access>
  void take_replaced(Access in, allocation found, std::size_t left) {
    const auto pods = in.pods(found);
    auto next = pods.begin();
    for (std::size_t i = 0; i < left; ++i) ++next;
    for (const unit& of : units_) {
      for (std::uint32_t i = 0; i < of.pods; ++i, ++next) {
        placed_pod& to = placed_[lost_[of.first_lost + i]].pod;
        const instant end = to.end;
        to = *next;
        to.end = end;
      }
    }
  }
  /// Calls `visit(region)` for each region in which a job may be that is on that node, best first, until it
  /// returns true.
  template <class Visit>
  void for_each_region_of(const pod_request& r, node_id n, Visit visit) const {
    if (near_ != nullptr && r.has_level()) {
      const std::size_t coarsest = level_of(r.required_level).value_or(0);
      const std::size_t finest = level_of(r.preferred_level).value_or(coarsest);
      for (std::size_t l = finest + 1; l-- > coarsest;) {
        const bool is_node = l == near_->node_level();
        const domain_id d = is_node ? domain_id{} : near_->domain_of(n, l);
        if (!is_node && !d) continue;
        if (visit(is_node ? gang_region{gang_region::node, near_->position(n)}
                          : gang_region{gang_region::domain, d.index()})) {
          return;
        }
      }
    }
    if (r.required_level == any_level) static_cast<void>(visit(gang_region{}));
  }

  // Every way to divide the pods among the nodes.

  template <class Access>
  [[nodiscard]] std::optional<allocation> search(Access in, const gang_region& where) {
    std::size_t pods = 0;
    for (const std::uint32_t c : counts_) pods += c;
    if (pods > most_searched) {
      gave_up_ = true;
      return std::nullopt;
    }
    units_.clear();
    for (const std::size_t s : order_) {
      const pod_set& set = sets_[s];
      const std::uint32_t each = set.slice == 0 ? counts_[s] : set.slice;
      for (std::uint32_t left = counts_[s]; left > 0; left -= std::min(left, each)) {
        units_.push_back({s, std::min(left, each), level_of_units(set), units_.size()});
      }
    }
    tags_.clear();
    const allocation placed = in.open();
    return search_units(in, where, placed) ? std::optional{placed} : std::nullopt;
  }
  /// Adds the pods of `units_` to those that the allocation has.
  template <class Access>
  [[nodiscard]] bool search_units(Access in, const gang_region& where, allocation to) {
    allot::detail::sort(units_.begin(), units_.end(), [](const unit& a, const unit& b) {
      return std::pair{b.level.value_or(0), a.number} < std::pair{a.level.value_or(0), b.number};
    });
    nodes_.clear();
    for_each_node(in, where, [&](node_id n) {
      const bool helps = allot::detail::any_of(order_.begin(), order_.end(),
                                               [&](std::size_t s) { return room_on(in.index(), n, s) > 0; });
      if (helps) nodes_.push_back(n);
    });
    allot::detail::sort(nodes_.begin(), nodes_.end(), [&](node_id a, node_id b) {
      return std::pair{count_devices(in.index().free_devices(a)), a} <
             std::pair{count_devices(in.index().free_devices(b)), b};
    });
    std::uint64_t behind = 0;
    for (std::size_t u = units_.size(); u-- > 0;) {
      units_[u].devices_behind = behind;
      behind += units_[u].pods * whole_devices(units_[u].set);
    }
    devices_left_ = 0;
    for (const node_id n : nodes_) devices_left_ += count_devices(in.index().free_devices(n));
    find_firsts();
    const std::uint64_t all = budget_ = looks_left_ / 2;
    const bool placed = try_unit(in, 0, to);
    looks_left_ -= all - budget_;
    gave_up_ = gave_up_ || (!placed && budget_ == 0);
    return placed;
  }
  /// Notes which nodes are the first ones of their domains.
  void find_firsts() {
    firsts_.clear();
    firsts_.resize(nodes_.size());
    if (near_ == nullptr) return;
    is_seen_.clear();
    is_seen_.resize(near_->size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      firsts_[i] = std::uint64_t{1} << near_->node_level();
      for (domain_id d = near_->domain_of(nodes_[i]); d; d = near_->parent(d)) {
        if (std::exchange(is_seen_[d.index()], true)) break;
        firsts_[i] |= std::uint64_t{1} << near_->level_of(d);
      }
    }
  }
  template <class Access>
  [[nodiscard]] bool try_unit(Access in, std::size_t u, allocation a) {
    if (u == units_.size()) return true;
    const unit& of = units_[u];
    if (!of.level || of.anchor) {
      const node_id anchor = of.anchor.value_or(node_id{});
      return might_fit(in, u, of.pods, 0, anchor) && try_pods(in, u, of.pods, 0, anchor, a);
    }
    // A set in slices is, as a whole, in one domain of its own level.
    const auto all_in = sets_[of.set].slice == 0 ? std::nullopt : level_of(sets_[of.set].each.required_level);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if ((firsts_[i] >> *of.level & 1) == 0) continue;
      if (all_in && !is_with_others(in, of.set, nodes_[i], *all_in, a)) continue;
      if (might_fit(in, u, of.pods, 0, nodes_[i]) && try_pods(in, u, of.pods, 0, nodes_[i], a)) return true;
      if (budget_ == 0) return false;
    }
    return false;
  }
  template <class Access>
  [[nodiscard]] bool is_with_others(Access in, std::size_t set, node_id n, std::size_t level,
                                    allocation a) const {
    std::size_t i = 0;
    for (const placed_pod& p : in.pods(a)) {
      if (tags_[i++] == set) return are_together(p.where.node, n, level);
    }
    return level == near_->node_level() || near_->domain_of(n, level);
  }
  /// Whether a unit may use that node: with a level, that of `anchor`'s domain.
  [[nodiscard]] bool is_open_to(const unit& of, node_id n, node_id anchor) const {
    return !of.level || are_together(n, anchor, *of.level);
  }
  /// Whether there may be room for these pods of a unit, from the node `from` on, and for the units behind
  /// it.
  template <class Access>
  [[nodiscard]] bool might_fit(Access in, std::size_t u, std::uint32_t pods, std::size_t from,
                               node_id anchor) {
    if (pods * whole_devices(units_[u].set) + units_[u].devices_behind > devices_left_) return false;
    const auto enough = [&](std::size_t set, std::uint32_t wanted, std::size_t first, auto is_open) {
      std::uint64_t has = 0;
      for (std::size_t i = first; i < nodes_.size() && has < wanted && look(); ++i) {
        if (is_open(nodes_[i])) has += room_on(in.index(), nodes_[i], set);
      }
      return has >= wanted;
    };
    if (!enough(units_[u].set, pods, from, [&](node_id n) { return is_open_to(units_[u], n, anchor); }))
      return false;
    for (std::size_t later = u + 1; later < units_.size(); ++later) {
      if (!enough(units_[later].set, units_[later].pods, 0, [](node_id) { return true; })) return false;
    }
    return true;
  }
  /// False if there have been too many.
  [[nodiscard]] bool look() noexcept {
    if (budget_ == 0) return false;
    --budget_;
    return true;
  }
  /// The pods of a unit are alike: each is on no earlier node than the one before it.
  template <class Access>
  [[nodiscard]] bool try_pods(Access in, std::size_t u, std::uint32_t left, std::size_t from, node_id anchor,
                              allocation a) {
    if (left == 0) return try_unit(in, u + 1, a);
    const unit& of = units_[u];
    std::optional<node_id> failed;
    for (std::size_t i = from; i < nodes_.size(); ++i) {
      const node_id n = nodes_[i];
      if (!look()) return false;
      if (!is_open_to(of, n, anchor) || room_on(in.index(), n, of.set) == 0 || !may_join(in, n, of.set, a))
        continue;
      if (failed && is_like(in, *failed, n)) continue;
      const allot::savepoint before = in.save();
      const std::size_t tags = tags_.size();
      devices_left_ -= whole_devices(of.set);
      if (add(in, n, of.set, a) && (!is_replacing_ || in.ready(a)) && might_fit(in, u, left - 1, i, anchor) &&
          try_pods(in, u, left - 1, i, anchor, a)) {
        in.commit(before);
        return true;
      }
      in.rollback(before);
      tags_.resize(tags);
      devices_left_ += whole_devices(of.set);
      failed = n;
    }
    return false;
  }
  /// Whether two nodes have the same left, and are equally near to all others. Where only so many pods may be
  /// on a node, it also matters which ones are there: then none are alike.
  template <class Access>
  [[nodiscard]] bool is_like(Access in, node_id a, node_id b) const {
    // Nor does it say what leaving jobs still hold.
    if (is_replacing_) return false;
    for (const pod_set& s : sets_) {
      if (s.most_together != 0 && s.spread_level == near_->node_level()) return false;
    }
    const free_index& index = in.index();
    const cluster& layout = index.layout();
    if (layout.position_of(a).type != layout.position_of(b).type) return false;
    if (near_ != nullptr && near_->domain_of(a) != near_->domain_of(b)) return false;
    const auto whole = [&](node_id n) {
      return index.used(n) == quantity::whole(layout.gpus(n) - count_devices(index.free_devices(n)));
    };
    return count_devices(index.free_devices(a)) == count_devices(index.free_devices(b)) && whole(a) &&
           whole(b) && index.hosts().free_cpu_milli(a) == index.hosts().free_cpu_milli(b) &&
           index.hosts().free_memory_mib(a) == index.hosts().free_memory_mib(b) &&
           index.hosts().free_slots(a) == index.hosts().free_slots(b);
  }

  pod_set_list sets_{};
  const topology* near_ = nullptr;
  std::uint64_t budget_ = 0;
  std::uint64_t looks_left_ = 0;
  bool gave_up_ = false;
  /// Whether what it places is to start at once: it may have nothing that leaving jobs still hold.
  bool is_replacing_ = false;
  /// Those that pods have for themselves, and at most so many are free while it searches.
  std::uint64_t devices_needed_ = 0;
  std::uint64_t devices_left_ = 0;
  vector<pod_shape> shapes_;
  pods_by_set counts_{};
  vector<std::size_t> order_;
  vector<std::pair<std::uint64_t, std::size_t>> regions_;
  vector<gang_group> groups_;
  vector<gang_share> shares_;
  /// The set of each pod of the allocation that is being made, in their order.
  vector<std::size_t> tags_;
  vector<chosen_pod> placed_;
  /// Those of `placed_` that are to be replaced, unit by unit; and sets made of pods that are alike.
  vector<std::size_t> lost_;
  vector<pod_set> made_;
  vector<unit> units_;
  vector<node_id> nodes_;
  /// By node: for which levels it is the first of its domain, bit by bit; and whether a domain has one.
  vector<std::uint64_t> firsts_;
  vector<bool> is_seen_;
};

}  // namespace detail
}  // namespace gpu
}  // namespace v0
}  // namespace allot

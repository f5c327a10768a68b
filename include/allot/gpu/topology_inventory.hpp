// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/journal.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/detail/set_placer.hpp>
#include <allot/gpu/detail/topology_placer.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/gpu/reason.hpp>
#include <allot/gpu/topology/gang_request.hpp>
#include <allot/gpu/topology/topology.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// An inventory that knows how near its nodes are to one another: it places requests with levels, and gangs,
/// within a domain. Without a topology it is a `basic_inventory`.
template <placement_policy Policy = indexed_best_fit>
class basic_topology_inventory : public basic_inventory<Policy> {
  using base = basic_inventory<Policy>;

 public:
  using typename base::allocation;

  explicit basic_topology_inventory(cluster layout, Policy policy = {})
      : base(std::move(layout), std::move(policy)) {}
  /// Precondition: the topology was built for this cluster.
  basic_topology_inventory(cluster layout, topology nearness, Policy policy = {})
      : base(std::move(layout), std::move(policy)),
        near_(std::in_place, this->layout(), std::move(nearness)) {}

  /// As `basic_inventory::place`; a request with levels where `gang_planner` says. Unlike pods are placed
  /// whole: in the nearest domain that the levels ask for, each set where its own levels allow; every way to
  /// divide up to 64 pods is tried, unless that takes too long. Their places are listed by set.
  [[nodiscard]] std::optional<allocation> place(const pod_request& r) { return place_by(this->policy(), r); }
  /// Whether `place` would find a place. Changes nothing.
  [[nodiscard]] bool could_place(const pod_request& r) {
    if (r.is_plain()) return base::could_place(r);
    return this->would_succeed([&] { return place(r).has_value(); });
  }
  /// As `place`, with another policy; requests with levels are still placed by `gang_planner`.
  template <placement_policy P>
  [[nodiscard]] std::optional<allocation> place_by(const P& policy, const pod_request& r) {
    if (r.is_plain()) return base::place_by(policy, r);
    return this->before_outages(r.estimate, [&] { return place_otherwise(policy, r); });
  }
  /// As `basic_inventory::place_each`; the pods of the first set first, wherever their levels want them.
  template <std::invocable<const free_index&, const pod_shape&> Choose>
  [[nodiscard]] std::optional<allocation> place_each(const pod_request& r, Choose&& choose) {
    if (r.sets.empty() || r.one_of != every_set) return base::place_each(r, choose);
    return this->before_outages(r.estimate, [&] {
      const allot::savepoint before = this->save();
      const allocation a = this->open();
      bool placed = sets_.read(nearness(), r);
      for (std::size_t s = 0; s < r.sets.size() && placed; ++s) {
        const pod_shape& pod = sets_.shape_of(s);
        for (std::uint32_t left = sets_.pods_of(s); left > 0 && placed; --left)
          placed = this->add_where(choose, pod, a);
      }
      return this->conclude(before, placed, a);
    });
  }
  /// As `basic_inventory::place_at`; the pods of the first set first.
  [[nodiscard]] std::optional<allocation> place_at(const pod_request& r, std::span<const pod_location> pods) {
    if (r.sets.empty() || r.one_of != every_set) return base::place_at(r, pods);
    const allot::savepoint before = this->save();
    const allocation a = this->open();
    bool placed = sets_.read(nearness(), r);
    std::size_t first = 0;
    for (std::size_t s = 0; s < r.sets.size() && placed; ++s) {
      const std::uint32_t count = sets_.pods_of(s);
      placed = first + count <= pods.size() &&
               this->add_all_at(r.sets[s].of(count, r), pods.subspan(first, count), a);
      first += count;
    }
    return this->conclude(before, placed && first == pods.size(), a);
  }

  /// The same pods, but those on closed nodes elsewhere, where they can start at once: the others stay, and
  /// levels, slices and spread of the request hold as before. Returns the new allocation, or nothing if there
  /// is no room, if none of its pods is left, or if it is not placed. Precondition: the request is what it
  /// was placed for.
  [[nodiscard]] std::optional<allocation> replace(allocation from, const pod_request& r) {
    if (!this->contains(from) || this->is_vacating(from)) return std::nullopt;
    if (this->usable(from)) return from;
    return this->before_outages(r.estimate, [&] {
      return sets_.replace(access<Policy>{this, &this->policy()}, from, r);
    });
  }

  /// Whether the request would fit on the empty cluster with all nodes open. O(node types), with levels
  /// O(domains x types); of unlike pods the cost of placing them, and of a copy.
  [[nodiscard]] bool could_ever_fit(const pod_request& r) const {
    if (r.is_plain()) return base::could_ever_fit(r);
    if (r.sets.empty()) return near_ && near_->could_ever_fit(this->layout(), r);
    if (r.one_of != every_set) {
      return r.one_of < r.sets.size() && could_ever_fit(r.sets[r.one_of].of(1, r));
    }
    basic_topology_inventory empty{*this};
    empty.clear();
    // Nothing is refused for good that nobody has proved impossible.
    return empty.place(r).has_value() || empty.sets_.gave_up();
  }
  /// Why the request can't be placed now. See `gpu::why_not`. Of unlike pods why the first set can't be that
  /// never can, or else that can't now; if each could, that they can't all be.
  [[nodiscard]] unplaceable why_not(const pod_request& r) const {
    if (r.is_plain() || (r.sets.empty() && !near_)) return base::why_not(r);
    unplaceable why =
        r.sets.empty() ? near_->why_not(this->index(), r, gpu::why_not(this->index(), r)) : why_not_sets(r);
    why.reason = this->or_outage(*this, why.reason, r);
    if (r.sets.empty() && !why.says_no() && !r.near.is_none()) why.reason = obstacle::no_room_beside;
    return why;
  }
  /// Its reason alone, which costs less without levels.
  [[nodiscard]] obstacle obstacle_to(const pod_request& r) const {
    return r.is_plain() ? base::obstacle_to(r) : why_not(r).reason;
  }

  /// The topology of the nodes; null if none was given.
  [[nodiscard]] const topology* nearness() const noexcept { return near_ ? &near_->layout() : nullptr; }

 private:
  /// What places unlike pods, from inside.
  template <class P>
  struct access {
    basic_topology_inventory* of;
    const P* policy;

    [[nodiscard]] const topology* nearness() const { return of->nearness(); }
    [[nodiscard]] const free_index& index() const { return of->index(); }
    [[nodiscard]] auto pods(allocation a) const { return of->pods(a); }
    [[nodiscard]] allot::savepoint save() const { return of->save(); }
    void rollback(allot::savepoint s) const { of->rollback(s); }
    void commit(allot::savepoint s) const { of->commit(s); }
    [[nodiscard]] allocation open() const { return of->open(); }
    void release(allocation a) const { of->release(a); }
    [[nodiscard]] bool ready(allocation a) const { return of->ready(a); }
    void add(const placed_pod& pod, allocation a) const { of->add(pod, a); }
    [[nodiscard]] bool add_at(const pod_location& at, const pod_shape& pod, allocation a) const {
      return of->add_at(at, pod, a);
    }
    [[nodiscard]] std::optional<pod_location> choose(const pod_shape& pod) const {
      return (*policy)(of->index(), pod);
    }
    [[nodiscard]] gang_place plan(const pod_shape& pod, const gang_request& gang) const {
      return of->near_->plan(of->index(), pod, gang);
    }
  };

  template <placement_policy P>
  [[nodiscard]] std::optional<allocation> place_otherwise(const P& policy, const pod_request& r) {
    if (!r.near.is_none() && this->contains(r.near)) return place_beside(policy, r);
    if (r.sets.empty()) return place_near(r);
    if (r.one_of == every_set) return sets_.place(access<P>{this, &policy}, r);
    if (r.one_of >= r.sets.size()) return std::nullopt;
    const pod_request one = r.sets[r.one_of].of(1, r);
    return one.is_plain() ? base::place_by(policy, one) : place_near(one);
  }
  [[nodiscard]] std::optional<allocation> place_near(const pod_request& r) {
    const auto pods = this->pods_of(r);
    if (!pods || !near_) return std::nullopt;
    const gang_place where = near_->plan(this->index(), r, *pods);
    return where.found ? place_as_planned(where, *pods) : std::nullopt;
  }
  /// Further pods of a job: in the domain of the required levels in which the others are.
  template <placement_policy P>
  [[nodiscard]] std::optional<allocation> place_beside(const P& policy, const pod_request& r) {
    const auto pods = this->pods_of(r);
    if (!pods || !near_) return std::nullopt;
    const bool is_of_set = r.one_of < r.sets.size();
    std::optional<node_id> anchor;
    std::optional<node_id> of_set;
    if (is_of_set) of_set = first_of_set(r);
    for (const placed_pod& p : this->pods(r.near)) {
      anchor = p.where.node;
      break;
    }
    if (!anchor) return std::nullopt;
    std::optional<std::size_t> bound = detail::level_of(r.required_level);
    std::optional<std::size_t> wanted = detail::level_of(r.preferred_level);
    if (is_of_set && of_set) {
      const pod_request& each = r.sets[r.one_of].each;
      if (each.has_level()) anchor = of_set;
      bound = std::max(bound, detail::level_of(each.required_level));
      wanted = std::max(wanted, detail::level_of(each.preferred_level));
    }
    if (!bound && !wanted) {
      return base::place_by(policy, is_of_set ? r.sets[r.one_of].of(1, r) : plain(r));
    }
    const std::size_t coarsest = bound.value_or(0);
    const std::size_t finest = std::max(coarsest, wanted.value_or(0));
    for (std::size_t l = finest + 1; l-- > coarsest;) {
      if (const auto at = place_in_domain_of(*anchor, l, *pods)) return at;
    }
    if (bound) return std::nullopt;
    return base::place_by(policy, is_of_set ? r.sets[r.one_of].of(1, r) : plain(r));
  }
  /// In the domain of that level in which the node is.
  [[nodiscard]] std::optional<allocation> place_in_domain_of(node_id n, std::size_t level,
                                                             const pod_split& pods) {
    const topology& t = near_->layout();
    const gang_group all{pods.all_pods(), pods.all_pods(), std::nullopt};
    gang_request wanted{{&all, 1}};
    if (level == t.node_level()) {
      const allot::savepoint before = this->save();
      const allocation a = this->open();
      bool placed = !this->is_closed(n) && this->layout().type_of(n).shape_on(pods.each).has_value();
      for (std::uint64_t i = 0; i < pods.pods && placed; ++i) placed = this->add_at({n, 0}, pods.each, a);
      if (placed && pods.has_rest()) placed = this->add_at({n, 0}, pods.rest, a);
      return this->conclude(before, placed, a);
    }
    wanted.within = t.domain_of(n, level);
    if (!wanted.within) return std::nullopt;
    const gang_place where = near_->plan(this->index(), pods.each, wanted);
    return where.found ? place_as_planned(where, pods) : std::nullopt;
  }
  /// Where the first of the other pods of its set is.
  [[nodiscard]] std::optional<node_id> first_of_set(const pod_request& r) {
    const auto others = this->pods(r.near);
    pod_request all = r;
    all.pods = static_cast<std::uint32_t>(std::distance(others.begin(), others.end()));
    if (!sets_.read(nearness(), all)) return std::nullopt;
    std::size_t first = 0;
    for (std::size_t s = 0; s < r.one_of; ++s) first += sets_.pods_of(s);
    for (const placed_pod& p : others) {
      if (first-- == 0) return p.where.node;
    }
    return std::nullopt;
  }
  [[nodiscard]] static pod_request plain(pod_request r) noexcept {
    r.required_level = r.preferred_level = any_level;
    r.near = {};
    return r;
  }
  [[nodiscard]] unplaceable why_not_sets(const pod_request& r) const {
    unplaceable all;
    if (r.one_of == every_set && !detail::set_placer{}.read(nearness(), r)) {
      all.reason = obstacle::invalid_request;
      return all;
    }
    bool is_first = true;
    std::optional<unplaceable> no;
    for (std::size_t s = 0; s < r.sets.size(); ++s) {
      if (r.one_of != every_set && r.one_of != s) continue;
      const pod_set& set = r.sets[s];
      unplaceable why = why_not(set.of(r.one_of == every_set ? set.fewest() : 1, r));
      if (r.sets.size() > 1 && why.says_no()) why.set = static_cast<std::uint8_t>(s);
      if (why.is_never()) return why;
      if (why.says_no() && !no) no = why;
      if (std::exchange(is_first, false))
        all = why;
      else
        all.asked += why.asked, all.pods += why.pods, all.pods_with_room += why.pods_with_room;
    }
    if (no) return *no;
    basic_topology_inventory trial{*this};
    trial.forget_outages();
    if (trial.place(r)) {
      all.reason = obstacle::none;
    } else if (r.one_of != every_set) {
      all.reason = obstacle::no_room_beside;
    } else {
      all.reason = could_ever_fit(r) ? obstacle::sets_not_together : obstacle::sets_never_together;
    }
    return all;
  }
  /// The last pod is the smaller one, if there is one.
  [[nodiscard]] std::optional<allocation> place_as_planned(const gang_place& where, const pod_split& pods) {
    const allot::savepoint before = this->save();
    const allocation a = this->open();
    std::uint64_t left = where.pods;
    bool placed = true;
    for (const gang_share& s : where.shares) {
      for (std::uint64_t i = 0; i < s.pods && placed; ++i) {
        const bool is_rest = --left == 0 && pods.has_rest();
        placed = this->add_at({s.node, 0}, is_rest ? pods.rest : pods.each, a);
      }
    }
    return this->conclude(before, placed, a);
  }

  std::optional<topology_placer> near_;
  detail::set_placer sets_;
};

/// The inventory with best fit and a topology.
using topology_inventory = basic_topology_inventory<>;

}  // namespace gpu
}  // namespace v0
}  // namespace allot

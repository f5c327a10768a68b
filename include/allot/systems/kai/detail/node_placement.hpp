// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/systems/kai/placements.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// The devices of this node that a pod gets in KAI-Scheduler v0.13. A fraction: the shared devices with room
/// that are taken most, by pods that stay or leave, then unused ones. Of unused devices it gets first those
/// that are not held or, if it `waits` for others to leave anyway, first those that are: KAI counts devices,
/// and a pod that waits takes nothing from those that can start at once. `here` is the shape of the pod on
/// this node. Precondition: it fits there. O(devices of the node).
template <class Index, class Node, class Shape>
[[nodiscard]] std::uint64_t choose_most_taken(const Index& from, Node n, const Shape& here, bool waits) {
  if (!here.mig.is_none()) return from.choose_devices(n, here).value_or(0);
  const auto& use = from.devices();
  std::uint64_t chosen = 0;
  std::uint32_t wanted = here.devices;
  for (; here.is_fraction() && wanted > 0; --wanted) {
    std::optional<std::uint32_t> most;
    for (std::uint32_t d = 0; d < use.count(n); ++d) {
      if (((use.free(n) | chosen) >> d & 1U) != 0 || use.gap(n, d) < here.milli) continue;
      if (!most || use.taken(n, d) > use.taken(n, *most)) most = d;
    }
    if (!most) break;
    chosen |= std::uint64_t{1} << *most;
  }
  const std::uint64_t first = waits ? use.held(n) : ~use.held(n);
  for (const std::uint64_t part : {use.free(n) & first, use.free(n) & ~first}) {
    for (std::uint64_t left = part; left != 0 && wanted > 0; left &= left - 1, --wanted) {
      chosen |= left & ~(left - 1);
    }
  }
  return chosen;
}

/// Where KAI-Scheduler v0.13 places a pod while others are being evicted: of the nodes with room, those with
/// a shared device for a fraction; then those where it can start at once, because nothing that it needs is
/// still held; then the one with the fewest free GPUs; then the lowest. On its node: `choose_most_taken`.
///
/// For whole GPUs O(types x log64 nodes), and O(log64 nodes) for each node with room on which a pod would
/// have to wait; for a fraction O(devices).
template <class Location>
struct available_first {
  /// The pod waits for others to leave, wherever it is placed.
  bool waits = false;
  /// The nodes that are no candidates for a fraction.
  std::span<const std::size_t> no_candidates{};
  /// The pod's former place: on that node it keeps its devices if they are still free.
  std::optional<Location> stood{};

  template <class Index, class Shape>
  [[nodiscard]] std::optional<Location> operator()(const Index& from, const Shape& pod) const {
    if (pod.is_fraction() || pod.depends_on_type()) return choose_fraction(from, pod);
    using candidate = typename Index::candidate;
    std::optional<candidate> best;
    bool best_waits = false;
    const auto& types = from.layout().types();
    for (std::size_t t = 0; t < types.size(); ++t) {
      const auto here = types[t].shape_on(pod);
      if (!here) continue;
      const auto has_room = [&](auto n) { return from.has_room(n, *here); };
      const auto can_start = [&](auto n) { return has_room(n) && !from.must_wait(n, *here); };
      std::optional<candidate> c = from.fewest_free(t, here->devices, can_start);
      const bool must_wait = !c;
      if (!c) c = from.fewest_free(t, here->devices, has_room);
      if (!c || (best && std::tie(best_waits, *best) <= std::tie(must_wait, *c))) continue;
      best = c;
      best_waits = must_wait;
    }
    if (!best) return std::nullopt;
    if (stood && stood->node == best->node && from.fits(*stood, pod)) return stood;
    return Location{best->node, choose_most_taken(from, best->node, pod, waits)};
  }

 private:
  template <class Index, class Shape>
  [[nodiscard]] std::optional<Location> choose_fraction(const Index& from, const Shape& pod) const {
    std::optional<Location> best;
    std::tuple<bool, bool, int> best_score;
    for (std::size_t i = 0; i < from.layout().size(); ++i) {
      const decltype(Location::node) n{i};
      const auto here = from.layout().type_of(n).shape_on(pod);
      if (!here || from.is_closed(n) || !from.has_room(n, *here)) continue;
      if (std::find(no_candidates.begin(), no_candidates.end(), i) != no_candidates.end()) continue;
      const std::uint64_t devices = choose_most_taken(from, n, *here, waits);
      const std::uint64_t free = from.free_devices(n);
      const std::tuple score{(devices & free) != 0, !might_start(from, n, *here), std::popcount(free)};
      if (best && !(score < best_score)) continue;
      best = Location{n, devices};
      best_score = score;
    }
    return best;
  }
  /// Whether a fraction could start at once as KAI sees it: on a shared device it could, whatever of that is
  /// held.
  template <class Index, class Node, class Shape>
  [[nodiscard]] static bool might_start(const Index& from, Node n, const Shape& here) {
    if (!here.mig.is_none()) return !from.must_wait(n, here);
    if (!from.hosts().would_be_ready(n, from.layout().type_of(n), here)) return false;
    const auto& use = from.devices();
    std::uint32_t at_once = 0;
    for (std::uint32_t d = 0; d < use.count(n); ++d) {
      const bool is_free = (use.free(n) >> d & 1U) != 0;
      at_once += (is_free ? use.held(n, d) == 0 : use.gap(n, d) >= here.milli) ? 1U : 0U;
    }
    return at_once >= here.devices;
  }
};

/// A placement that has its nodes in an inventory.
template <class P>
concept has_node_aware_inventory = requires(P p) {
  requires std::is_lvalue_reference_v<decltype(p.inventory())>;
  requires node_aware_placement<std::remove_reference_t<decltype(p.inventory())>>;
  { p.inventory().place(typename P::pod_request{}) } -> std::same_as<std::optional<typename P::allocation>>;
};
/// That inventory, or the placement itself. Precondition: it has nodes.
template <class Places>
[[nodiscard]] auto& nodes_behind(Places& places) {
  if constexpr (has_node_aware_inventory<Places>) {
    return places.inventory();
  } else {
    return places;
  }
}

/// Places units as KAI-Scheduler v0.13 does, if the placement knows its nodes (`node_aware_placement`), or
/// has them in an inventory that does.
template <class Places>
class node_placement {
 public:
  using pod_request = typename Places::pod_request;
  using allocation = typename Places::allocation;

  explicit node_placement(Places& places) noexcept : places_(&places) {}

  /// Whether there are some that let their user choose. If not, all are one, and as `place` says.
  [[nodiscard]] bool knows_nodes() const {
    return node_aware_placement<nodes_type> && placement_or_default::has_nodes(*places_);
  }

  /// On nodes where its pods can start at once, if possible; or pods that must wait for others to leave,
  /// wherever they are placed. Unlike pods set by set, whatever other order would do (KAI v0.13).
  [[nodiscard]] std::optional<allocation> place(const pod_request& r, bool waits,
                                                std::span<const std::size_t> no_candidates = {}) const {
    return either(
        [&](auto& on) {
          const policy_on<decltype(on)> policy{waits, no_candidates};
          return is_placed_each<decltype(on)>(r) ? on.place_each(r, policy) : on.place_by(policy, r);
        },
        [&] { return places_->place(r); });
  }
  /// Whether the node is one of KAI's candidates for a pod that waits: one with an unused device, or one that
  /// has a part left of what is allocated now. Room that is left only on devices for which all pods wait is
  /// none of it. O(devices of the node).
  [[nodiscard]] bool is_candidate(std::size_t node) const {
    const auto on_nodes = [&](auto& on) {
      const auto& use = on.index().devices();
      const decltype(location_on<decltype(on)>::node) n{node};
      if (use.free(n) != 0) return true;
      for (std::uint32_t d = 0; d < use.count(n); ++d) {
        if (all_wait(use, n, d) ? use.held(n, d) < 1000 : use.gap(n, d) > 0) return true;
      }
      return false;
    };
    return either(on_nodes, [] { return true; });
  }
  /// Whether it can start at once. A fraction may use what is left of a device at the moment, also if
  /// waiting units, which `for_each_waiting(visit)` visits, count on that for later; but it waits for a
  /// device that all have left or are leaving (as in KAI v0.13). O(its pods x waiting pods).
  template <class ForEachWaiting>
  [[nodiscard]] bool is_ready(const allocation& where, ForEachWaiting for_each_waiting) const {
    const auto on_nodes = [&](auto& on) {
      const auto& use = on.index().devices();
      const auto later = [&](auto n, std::uint32_t d) {
        std::uint32_t sum = 0;
        for_each_waiting([&](const allocation& waits) {
          for (const auto& pod : on.pods(waits)) {
            if (pod.where.node == n && (pod.where.devices >> d & 1U) != 0) sum += pod.milli;
          }
        });
        return sum;
      };
      const auto pods = on.pods(where);
      return std::all_of(pods.begin(), pods.end(), [&](const auto& pod) {
        if (pod.milli == 1000 || !pod.mig.is_none()) return on.index().is_ready(pod);
        const auto n = pod.where.node;
        for (std::uint32_t d = 0; d < use.count(n); ++d) {
          if ((pod.where.devices >> d & 1U) == 0 || use.held(n, d) == 0) continue;
          if (all_wait(use, n, d) || use.used(n, d) + use.held(n, d) - later(n, d) > 1000) return false;
        }
        return on.index().hosts().is_ready(pod);
      });
    };
    return either(on_nodes, [&] { return places_->ready(where); });
  }
  /// Whether it is one pod with a part of a device that no other pod uses.
  [[nodiscard]] bool is_alone(const allocation& where) const {
    const auto on_nodes = [&](auto& on) {
      const auto pods = on.pods(where);
      auto next = pods.begin();
      if (next == pods.end()) return false;
      const auto pod = *next;
      if (++next != pods.end() || pod.milli == 1000 || !pod.mig.is_none()) return false;
      if (std::popcount(pod.where.devices) != 1) return false;
      const auto d = static_cast<std::uint32_t>(std::countr_zero(pod.where.devices));
      return on.index().devices().used(pod.where.node, d) == pod.milli;
    };
    return either(on_nodes, [] { return false; });
  }
  /// Fills an unused device, if there is one, of the node of such a pod with pods like it.
  void fill_unused(const pod_request& r, const allocation& where, vector<allocation>& filled) const {
    const auto on_nodes = [&](auto& on) {
      using location = location_on<decltype(on)>;
      location there = (*on.pods(where).begin()).where;
      const std::uint64_t unused = on.index().free_devices(there.node);
      there.devices = unused & ~(unused - 1);
      const auto choose = [&](const auto& from, const auto& pod) {
        return there.devices != 0 && from.fits(there, pod) ? std::optional{there} : std::nullopt;
      };
      while (const auto one = on.place_each(r, choose)) filled.push_back(*one);
    };
    either(on_nodes, [] {});
  }
  /// Pods that must wait, one on each of these nodes, in this order.
  [[nodiscard]] std::optional<allocation> place_to_wait_on(const pod_request& r,
                                                           std::span<const std::size_t> nodes) const {
    const auto choose_on = [&](auto& on) -> std::optional<allocation> {
      using location = location_on<decltype(on)>;
      const auto pods = on.pods_of(r);
      if (!pods || pods->all_pods() != nodes.size()) return std::nullopt;
      auto next = nodes.begin();
      return on.place_each(r, [&](const auto& from, const auto& pod) -> std::optional<location> {
        const decltype(location::node) n{*next++};
        const auto here = from.layout().type_of(n).shape_on(pod);
        if (!here || !from.has_room(n, *here)) return std::nullopt;
        return location{n, choose_most_taken(from, n, *here, true)};
      });
    };
    return either(choose_on, [] { return std::optional<allocation>{}; });
  }

  /// What `place_back` did.
  struct returned {
    /// Where it is placed now.
    allocation at;
    /// How many of its pods are on other nodes than before or, for fractions, on other devices.
    std::uint32_t moved = 0;
  };
  /// Places a unit that is being evicted again, pod by pod: on its former node a pod keeps its devices if
  /// they are still free. With levels, or if it is split, as a whole.
  [[nodiscard]] std::optional<returned> place_back(const pod_request& r, allocation stood,
                                                   std::span<const std::size_t> no_candidates = {}) const {
    return either([&](auto& on) { return return_to(on, r, stood, no_candidates); },
                  [&]() -> std::optional<returned> {
                    const auto at = places_->place(r);
                    if (!at) return std::nullopt;
                    return returned{*at, 0};
                  });
  }
  /// Whether it consists of pods of whole GPUs that are placed one by one.
  [[nodiscard]] bool is_of_whole_pods(const pod_request& r) const {
    const auto on_nodes = [&](auto& on) {
      const auto& asked = asked_on<decltype(on)>(r);
      return !asked.total && asked.is_plain() && shared_devices(r) == 0;
    };
    return either(on_nodes, [] { return false; });
  }
  /// Whether there may be room for such a unit: for one of whole pods, enough unused devices on enough nodes.
  /// O(types x sizes).
  [[nodiscard]] bool might_have_room(const pod_request& r) const {
    const auto on_nodes = [&](auto& on) {
      const auto& asked = asked_on<decltype(on)>(r);
      const auto pods = on.pods_of(r);
      if (!pods || asked.total || pods->each.devices == 0) return true;
      if (pods->each.is_fraction() || pods->each.depends_on_type()) return true;
      const auto& types = on.index().layout().types();
      std::uint64_t room = 0;
      for (std::size_t t = 0; t < types.size(); ++t) {
        if (!types[t].shape_on(pods->each)) continue;
        for (std::uint32_t free = pods->each.devices; free <= types[t].gpus; ++free) {
          room += on.index().nodes_with_free(t, free) * (free / pods->each.devices);
        }
      }
      return room >= pods->pods;
    };
    return either(on_nodes, [] { return true; });
  }
  /// What `place_moved` did.
  struct moved_again {
    /// How many pods are on other nodes than where they were to stand.
    std::uint32_t moved = 0;
    std::uint32_t without_place = 0;
  };
  /// Places such a unit again, in a trial, of which some pods were told to move in this cycle from where they
  /// `ran`: those of the first 64 in `pods`. One of them that would be placed where it ran moves as it was
  /// told: there KAI v0.13 finds its eviction, and takes back the one that it has just made. If others have
  /// been given its place, more is given than there is; here it is then without a place. `nodes` receives
  /// the node of each pod. Nothing if a pod fits nowhere. O(its pods x a placement).
  [[nodiscard]] std::optional<moved_again> place_moved(const pod_request& r, allocation stands,
                                                       allocation ran, std::uint64_t pods,
                                                       std::span<const std::size_t> no_candidates,
                                                       vector<std::size_t>& nodes) const {
    const auto on_nodes = [&](auto& on) -> std::optional<moved_again> {
      using location = location_on<decltype(on)>;
      auto one = asked_on<decltype(on)>(r);
      one.pods = 1;
      auto before = places_->save();
      const auto all = on.pods(stands);
      auto old = on.pods(ran).begin();
      moved_again result;
      for (auto was = all.begin(); was != all.end(); ++was) {
        const location home = was->where;
        const bool was_moved = (std::exchange(pods, pods >> 1U) & 1U) != 0;
        const auto ran_on = (old++)->where.node;
        bool has_place = false;
        const auto choose = [&](const auto& from, const auto& pod) -> std::optional<location> {
          std::optional<location> where = policy_on<decltype(on)>{true, no_candidates, home}(from, pod);
          has_place = where.has_value();
          if (!where || !was_moved || where->node != ran_on || ran_on == home.node) return where;
          const auto there = from.layout().type_of(home.node).shape_on(pod);
          if (!there || !from.has_room(home.node, *there)) return std::nullopt;
          return location{home.node, choose_most_taken(from, home.node, *there, true)};
        };
        const auto at = on.place_each(one, choose);
        if (!has_place) {
          places_->rollback(std::move(before));
          return std::nullopt;
        }
        nodes.push_back((at ? on.pods(*at).begin()->where.node : home.node).index());
        if (!at) ++result.without_place;
        if (nodes.back() != home.node.index()) ++result.moved;
      }
      places_->commit(std::move(before));
      return result;
    };
    return either(on_nodes, [] { return std::optional<moved_again>{}; });
  }
  /// Calls `visit(node number)` for each of its pods, in the order of placement.
  template <class Visit>
  void for_each_node(allocation where, Visit visit) const {
    either(
        [&](auto& on) {
          for (const auto& pod : on.pods(where)) visit(pod.where.node.index());
        },
        [&] { visit(std::size_t{0}); });
  }

  /// How many devices a unit has a part of, or perhaps less than all: others may share them. O(node types).
  [[nodiscard]] std::uint64_t shared_devices(const pod_request& r) const {
    const auto on_nodes = [&](auto& on) -> std::uint64_t {
      std::uint64_t sum = 0;
      for_each_kind<decltype(on)>(r, [&](const auto& alike) {
        if (!alike.takes_parts()) return;
        if (const auto pods = on.pods_of(alike)) sum += pods->pods * pods->each.devices;
      });
      return sum;
    };
    return either(on_nodes, [] { return std::uint64_t{0}; });
  }
  /// Whether it would have enough devices if others moved off these shared ones: moving a job frees no device
  /// that the job has to itself. O(types x sizes).
  [[nodiscard]] bool might_fit_after_moves(const pod_request& r, std::uint64_t shared) const {
    const auto on_nodes = [&](auto& on) {
      const auto pods = on.pods_of(r);
      if (!pods || shared_devices(r) > 0) return true;
      const auto& types = on.index().layout().types();
      std::uint64_t unused = shared;
      for (std::size_t t = 0; t < types.size(); ++t) {
        for (std::uint32_t free = 1; free <= types[t].gpus; ++free) {
          unused += on.index().nodes_with_free(t, free) * free;
        }
      }
      return pods->pods * pods->each.devices + pods->rest.devices <= unused;
    };
    return either(on_nodes, [] { return true; });
  }

  /// How a running unit has its nodes to itself or with others, as far as `might_gain` needs to know.
  struct node_share {
    /// The node of its first pod.
    std::uint32_t node = 0;
    /// What it has on one node: the most, if it is on several.
    std::uint32_t devices = 0;
    /// The devices of its smallest pod.
    std::uint32_t least = 0;
    /// What it has in all.
    std::uint32_t all = 0;
    /// It is on several nodes and has all devices of each.
    bool spans_nodes = false;
    /// Nothing is known about it: it has parts of devices, none, or some of several nodes.
    bool unknown = true;
  };
  [[nodiscard]] node_share node_share_of(const pod_request& r, const allocation& where) const {
    const auto on_nodes = [&](auto& on) {
      node_share f;
      const auto pods = on.pods(where);
      const auto first = pods.begin();
      if (first == pods.end()) return f;
      f.node = static_cast<std::uint32_t>(first->where.node.index());
      f.least = ~std::uint32_t{0};
      bool fills = true;
      std::uint32_t largest = 0;
      for (const auto& pod : pods) {
        const auto has = static_cast<std::uint32_t>(std::popcount(pod.where.devices));
        if (pod.milli != 1000 || !pod.mig.is_none() || has == 0) return f;
        f.spans_nodes = f.spans_nodes || pod.where.node != first->where.node;
        fills = fills && has == on.index().layout().type_of(pod.where.node).gpus;
        f.least = std::min(f.least, has);
        largest = std::max(largest, has);
        f.all += has;
      }
      f.devices = f.spans_nodes ? largest : f.all;
      f.unknown = f.spans_nodes && (!fills || !asked_on<decltype(on)>(r).is_plain());
      return f;
    };
    return either(on_nodes, [] { return node_share{}; });
  }
  /// The bits of a set of devices.
  static constexpr std::size_t most_devices = 64;
  struct node_tally {
    std::uint32_t either = 0;
    std::uint32_t waiting = 0;
    std::uint32_t movable = 0;
  };
  /// Whether a request that has no place might get one when units on one node are evicted and all but `late`
  /// of their devices are taken again before its turn; `visit_all(visit)` calls visit(node_share, whether it
  /// may wait until then) for all units in question, none of them odd. These find their own nodes as they
  /// left them, so they move only to devices that are unused now. True if that can't be determined. O(types x
  /// sizes), and O(units) if unused devices could matter.
  template <class VisitAll>
  [[nodiscard]] bool might_gain(const pod_request& r, std::uint64_t late, VisitAll visit_all,
                                vector<node_tally>& tallies, vector<std::uint32_t>& tallied) const {
    const auto on_nodes = [&](auto& on) {
      const auto& index = on.index();
      const auto& types = index.layout().types();
      const auto pods = on.pods_of(r);
      if (!pods || pods->each.devices == 0 || pods->each.is_fraction() || pods->each.depends_on_type())
        return true;
      // By number of devices: how many are unused on nodes with at least so many.
      std::array<std::uint64_t, most_devices + 1> unused{};
      std::uint32_t largest = 0;
      std::uint64_t room_for_each = 0;
      std::uint64_t room_for_rest = 0;
      for (std::size_t t = 0; t < types.size(); ++t) {
        const auto each = types[t].shape_on(pods->each);
        const bool rest = pods->has_rest() && types[t].shape_on(pods->rest);
        if (each && (types[t].counts_cpu() || types[t].counts_memory() || types[t].counts_slots()))
          return true;
        std::uint64_t open = 0;
        for (std::uint32_t free = 0; free <= types[t].gpus; ++free) {
          const std::uint64_t nodes = index.nodes_with_free(t, free);
          open += nodes;
          unused[free] += nodes * free;
          if (nodes > 0) largest = std::max(largest, free);
          if (each) room_for_each += nodes * (free / pods->each.devices);
          if (rest && free >= pods->rest.devices) room_for_rest += nodes;
        }
        if (open != types[t].nodes.size()) return true;
      }
      const std::uint64_t lacks = pods->pods - std::min<std::uint64_t>(pods->pods, room_for_each);
      if (lacks == 0 && (!pods->has_rest() || room_for_rest > pods->pods)) return true;
      const std::uint64_t wanted = lacks > 0 ? pods->each.devices : pods->rest.devices;
      for (std::size_t free = most_devices; free-- > 0;) unused[free] += unused[free + 1];
      if (unused[1] + late < wanted) return false;
      if (tallies.size() < index.layout().size()) tallies.resize(index.layout().size());
      bool gains = false;
      const auto suffices = [&](std::uint64_t before, std::uint64_t after) {
        return after >= wanted && after / wanted - (lacks > 0 ? before / wanted : 0) >= lacks;
      };
      visit_all([&](const node_share& f, bool may_wait) {
        const bool moves = f.least <= largest;
        if (f.spans_nodes) {
          if (moves || (may_wait && f.all <= late)) gains = gains || suffices(0, f.all);
          return;
        }
        if (!moves && !may_wait) return;
        node_tally& node = tallies[f.node];
        if (node.either == 0) tallied.push_back(f.node);
        node.either += f.devices;
        if (may_wait) node.waiting += f.devices;
        if (moves) node.movable += f.devices;
      });
      for (const std::uint32_t i : tallied) {
        const decltype(location_on<decltype(on)>::node) n{i};
        const node_tally has = std::exchange(tallies[i], {});
        const auto free = static_cast<std::uint64_t>(std::popcount(index.free_devices(n)));
        const auto with = [&](std::uint64_t moved) {
          return free +
                 std::min<std::uint64_t>(has.either, std::min<std::uint64_t>(has.waiting, late) + moved);
        };
        if (gains || !suffices(free, with(has.movable))) continue;
        // Units move only to nodes with that many unused devices.
        std::array<std::uint32_t, most_devices + 1> of_size{};
        visit_all([&](const node_share& f, bool) {
          if (!f.spans_nodes && f.node == i) of_size[f.least] += f.devices;
        });
        std::uint64_t moved = 0;
        for (std::size_t size = largest; size > 0; --size) {
          moved = std::min(moved + of_size[size], unused[size] - (free >= size ? free : 0));
        }
        gains = suffices(free, with(moved));
      }
      tallied.clear();
      return gains;
    };
    return either(on_nodes, [] { return true; });
  }

  /// Whether both are placed alike: pod by pod on the same nodes, and fractions on the same devices.
  template <class Nodes>
  [[nodiscard]] static bool stand_alike(const Nodes& on, allocation a, allocation b) {
    const auto x = on.pods(a);
    const auto y = on.pods(b);
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& p, const auto& q) {
      return p.milli == 1000 ? p.where.node == q.where.node : p.where == q.where;
    });
  }

 private:
  using nodes_type = std::remove_cvref_t<decltype(nodes_behind(std::declval<Places&>()))>;
  template <class Nodes>
  using location_on = location_of<std::remove_cvref_t<Nodes>>;
  template <class Nodes>
  using policy_on = available_first<location_on<Nodes>>;

  /// The request, of which only nodes know what it asks for: without any it has no members.
  template <class Nodes>
  [[nodiscard]] static const pod_request& asked_on(const pod_request& r) noexcept {
    return r;
  }
  /// Whether its pods are placed one by one although they differ.
  template <class Nodes>
  [[nodiscard]] static bool is_placed_each(const pod_request& r) noexcept {
    if constexpr (requires { asked_on<Nodes>(r).may_be_anywhere(); }) {
      return !asked_on<Nodes>(r).sets.empty() && asked_on<Nodes>(r).may_be_anywhere();
    }
    return false;
  }
  /// Calls `visit(request)` for those pods that are alike, set by set.
  template <class Nodes, class Visit>
  static void for_each_kind(const pod_request& r, Visit visit) {
    if constexpr (requires { asked_on<Nodes>(r).sets.empty(); }) {
      const auto& all = asked_on<Nodes>(r);
      for (std::size_t s = 0; s < all.sets.size(); ++s) {
        if (all.one_of < all.sets.size() && all.one_of != s) continue;
        visit(all.sets[s].of(all.one_of == s ? 1 : all.sets[s].fewest(), all));
      }
      if (!all.sets.empty()) return;
    }
    visit(asked_on<Nodes>(r));
  }
  template <class OnNodes, class Otherwise>
  auto either(OnNodes on_nodes, Otherwise otherwise) const {
    if constexpr (node_aware_placement<nodes_type>) {
      if (placement_or_default::has_nodes(*places_)) return on_nodes(nodes_behind(*places_));
    }
    return otherwise();
  }

  /// Whether all pods wait that have a part of some of these devices; none may have any.
  template <class Index, class Location>
  [[nodiscard]] static bool is_new(const Index& from, const Location& where) {
    if ((from.free_devices(where.node) & where.devices) != 0) return true;
    const auto& use = from.devices();
    for (std::uint32_t d = 0; d < use.count(where.node); ++d) {
      if ((where.devices >> d & 1U) != 0 && all_wait(use, where.node, d)) return true;
    }
    return false;
  }
  /// Whether those pods that use the shared device came when all others on it were leaving.
  template <class Use, class Node>
  [[nodiscard]] static bool all_wait(const Use& use, Node n, std::uint32_t d) {
    return use.held(n, d) > 0 && use.taken(n, d) == use.used(n, d);
  }
  template <class Nodes>
  [[nodiscard]] static std::optional<returned> return_to(Nodes& on, const typename Nodes::pod_request& r,
                                                         allocation stood,
                                                         std::span<const std::size_t> no_candidates) {
    using location = location_on<Nodes>;
    if (r.total || (!r.is_plain() && !is_placed_each<Nodes>(r))) {
      const auto whole = on.place_by(policy_on<Nodes>{true, no_candidates}, r);
      if (!whole) return std::nullopt;
      return returned{*whole, stand_alike(on, *whole, stood) ? 0 : static_cast<std::uint32_t>(r.pods)};
    }
    const auto all = on.pods(stood);
    auto was = all.begin();
    std::uint32_t moved = 0;
    const auto at = on.place_each(r, [&](const auto& from, const auto& pod) -> std::optional<location> {
      if (was == all.end()) return std::nullopt;
      const location home = (was++)->where;
      const std::optional<location> where = policy_on<Nodes>{true, no_candidates, home}(from, pod);
      if (!where) return where;
      // A fraction on a device that no other has, or only such as wait for all on it to leave, gets a new
      // share of a device, whichever that is.
      const bool is_part = pod.is_fraction() || pod.depends_on_type();
      if (is_part ? is_new(from, *where) || !(*where == home) : where->node != home.node) ++moved;
      return where;
    });
    if (!at) return std::nullopt;
    return returned{*at, moved};
  }

  Places* places_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/detail/change_log.hpp>
#include <allot/gpu/detail/device_use.hpp>
#include <allot/gpu/detail/host_room.hpp>
#include <allot/gpu/detail/occupancy.hpp>
#include <allot/gpu/detail/room_bound.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/gpu/room.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// What would fit in an inventory without some of its jobs. The inventory is not changed: counts are kept
/// separately, and to count a job as gone takes a few steps per device, a tenth of the cost of vacating it.
/// Models `kept_placement_room` and `grouped_placement_room`. All calls must be about one inventory.
///
/// Counts pods of whole GPUs and of fractions of one device, which compete only for capacity (see
/// `detail::room`). It looks a node up when a job there goes, so a trial costs as much as the jobs that are
/// tried. One that is kept knows all nodes, and follows what changes.
class room_counter {
 public:
  /// How a placed job is named.
  using allocation = allocation_id;

  /// Starts over with no job gone; counts for this request until the inventory changes. Returns whether it
  /// can: not for topology levels, unlike pods, GPU memory, MIG instances, fractions of several devices, or
  /// pods without GPUs; nor while outages are known, as the room then depends on the time. O(types x sizes);
  /// O(nodes) where hosts count.
  [[nodiscard]] bool begin(const occupancy& in, const pod_request& r) {
    if (!in.outages().empty()) return false;
    const free_index& index = in.index();
    const cluster& layout = in.layout();
    const std::uint64_t now = index.fingerprint();
    if (begun_on_ == &index && begun_at_ == now && is_like_asked(r)) {
      if (!r.total) pods_.pods = r.pods;
    } else {
      const auto pods = split(r, layout);
      if (!pods || !r.is_plain() || pods->each.depends_on_type() || pods->each.devices == 0) return false;
      if (pods->each.is_fraction() && pods->each.devices != 1) return false;
      begun_on_ = &index;
      begun_at_ = now;
      asked_ = r.room_key();
      pods_ = *pods;
      each_at_begin_ = detail::room(index, pods_.each);
      rest_at_begin_ = pods_.has_rest() ? detail::nodes_with_room(index, pods_.rest, free_index::any_number,
                                                                  detail::look::at_all)
                                        : 0;
      look_up(layout);
    }
    each_ = each_at_begin_;
    rest_ = rest_at_begin_;
    is_kept_ = false;
    next_start();
    return true;
  }
  /// As `begin`, but for a counter that is kept: it is about the inventory as of now, whatever changes in it,
  /// until the next `look`. Only for pods of whole GPUs where nothing of the host can be short. O(nodes).
  [[nodiscard]] bool keep(const occupancy& in, const pod_request& r) {
    if (!begin(in, r) || !can_be_kept_) return false;
    is_kept_ = true;
    know_all(in.index());
    return true;
  }
  /// Takes in what has changed in the inventory. O(changes), at most O(nodes). Precondition: it is kept.
  void look(const occupancy& in) {
    const free_index& index = in.index();
    const change_log::moment now = index.changes().now();
    if (seen_.state != now.state) {
      if (index.changes().remembers(seen_)) {
        for (const std::uint32_t n : index.changes().since(seen_)) look_at(index, node_id{n});
      } else {
        for (std::size_t n = 0; n < nodes_.size(); ++n) look_at(index, node_id{n});
      }
    }
    seen_ = now;
  }

  /// The placed job counts as gone. Precondition: it does not yet, unless it is kept.
  void gone(const occupancy& in, allocation a) {
    for (const placed_pod& p : in.pods(a)) change(in.index(), p, false);
  }
  /// Undoes `gone`. Of a job that is not gone, if it is kept: counts it a second time.
  void back(const occupancy& in, allocation a) {
    for (const placed_pod& p : in.pods(a)) change(in.index(), p, true);
  }
  /// In a trial: whether it may matter that this job is gone, that is, whether a pod of the request fits on
  /// one of its nodes now. If not, it does not matter with other jobs back either.
  [[nodiscard]] bool helps(const occupancy& in, allocation a) {
    const auto pods = in.pods(a);
    return allot::detail::any_of(pods.begin(), pods.end(),
                                 [&](const placed_pod& p) { return has_room_on(in.index(), p.where.node); });
  }
  /// Whether the request fits without those that are gone: what `place` would find. If others have taken the
  /// places of so many of its pods, nothing if that depends on where.
  [[nodiscard]] std::optional<bool> fits(std::uint64_t taken = 0) const noexcept {
    if (each_ < pods_.pods + taken) return false;
    if (!pods_.has_rest() || rest_ > pods_.pods + taken) return true;
    return rest_ > pods_.pods ? std::nullopt : std::optional{false};
  }
  /// How many places of its pods a job of this request takes at least, and at most, wherever it is placed. A
  /// counter that can't be kept does not know: at most more than there can be.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> taken_by(const occupancy& in,
                                                                 const pod_request& other) const {
    const auto by = split(other, in.layout());
    // Of unlike pods it depends on each.
    if (!by) return {0, other.sets.empty() ? 0 : beyond_all};
    if (!can_be_kept_) return {0, beyond_all};
    const std::uint64_t each = pods_.each.devices;
    const auto most = [&](std::uint64_t devices) { return (devices + each - 1) / each; };
    const std::uint64_t at_most = by->pods * most(by->each.devices) + most(by->rest.devices);
    if (!takes_whole_places(in.layout(), *by)) return {0, at_most};
    return {by->pods * (by->each.devices / each) + by->rest.devices / each, at_most};
  }

  /// The running job may be preempted from now on, as a member of that group. This and the next two do not
  /// depend on `begin`.
  void may_go(const occupancy& in, std::uint32_t group, allocation a) {
    for (const placed_pod& p : in.pods(a)) groups_.add(in.layout(), group, p);
  }
  /// The job may no longer be preempted as a member of that group.
  void may_not_go(const occupancy& in, std::uint32_t group, allocation a) {
    for (const placed_pod& p : in.pods(a)) groups_.remove(group, p);
  }
  /// False if the request would not fit even with all of these groups evicted; true is no guarantee. O(types
  /// + nodes x groups).
  [[nodiscard]] bool might_fit(const occupancy& in, const pod_request& r,
                               std::span<const std::uint32_t> groups) {
    return groups_.may_have_room(in.index(), r, groups);
  }

 private:
  /// More than all nodes together have of anything; the sum of a few can be counted.
  static constexpr std::uint64_t beyond_all = std::uint64_t{1} << 48U;

  /// Which of the pods may run on a node of a type, and whether its free GPUs alone decide how many.
  struct type_facts {
    bool each = false;
    bool rest = false;
    bool free_gpus_say = false;
  };
  /// A node without those that are gone.
  struct node_count {
    std::uint32_t start = 0;
    std::uint16_t free = 0;
    bool closed = false;
    /// Whether its devices and its host have been looked up, too.
    bool knows_rest = false;
  };
  struct host_count {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::int64_t slots = 0;
  };

  /// Whether it is for the same pods as the last request that could be counted, perhaps for fewer or more.
  [[nodiscard]] bool is_like_asked(const pod_request& r) const {
    if (!r.total && r.pods == 0) return false;
    pod_request as_many = r.room_key();
    as_many.pods = asked_.pods;
    return as_many == asked_;
  }
  void next_start() {
    if (++start_ != 0) return;
    std::fill(nodes_.begin(), nodes_.end(), node_count{});
    start_ = 1;
  }
  void look_up(const cluster& layout) {
    largest_ = 0;
    types_.clear();
    can_be_kept_ = true;
    bool hosts_count = false;
    for (const node_type& t : layout.types()) {
      largest_ = std::max<std::size_t>(largest_, t.gpus);
      type_facts f{t.shape_on(pods_.each).has_value(), pods_.has_rest() && t.shape_on(pods_.rest), false};
      f.free_gpus_say = !pods_.each.is_fraction() && !detail::may_lack_host(t, pods_.each) &&
                        !detail::may_lack_host(t, pods_.rest);
      can_be_kept_ = can_be_kept_ && f.free_gpus_say;
      hosts_count = hosts_count || t.counts_cpu() || t.counts_memory() || t.counts_slots();
      types_.push_back(f);
    }
    nodes_.resize(layout.size());
    devices_.resize(layout.size() * largest_);
    if (hosts_count) hosts_.resize(layout.size());
    const std::uint32_t each = pods_.each.devices;
    for (std::uint32_t free = 0; free <= max_gpus_per_node; ++free)
      by_free_[free] = free < each ? 0 : by_free_[free - each] + 1;
  }

  // A trial looks nodes up one by one.

  [[nodiscard]] node_count& look_up(const free_index& index, node_id n) {
    node_count& c = nodes_[n.index()];
    if (c.start == start_) return c;
    c = {start_, static_cast<std::uint16_t>(index.devices().free_count(n)), index.is_closed(n)};
    return c;
  }
  void look_up_rest(const free_index& index, node_id n, const node_type& type, node_count& c) {
    if (c.knows_rest) return;
    c.knows_rest = true;
    std::int32_t* const used = devices_.data() + n.index() * largest_;
    for (std::uint32_t d = 0; d < type.gpus; ++d)
      used[d] = static_cast<std::int32_t>(index.devices().used(n, d));
    if (hosts_.empty()) return;
    const host_room& hosts = index.hosts();
    hosts_[n.index()] = {hosts.free_cpu_milli(n), hosts.free_memory_mib(n), hosts.free_slots(n)};
  }
  [[nodiscard]] bool has_room_on(const free_index& index, node_id n) {
    const std::size_t t = index.layout().position_of(n).type;
    const type_facts& facts = types_[t];
    if (!facts.each && !facts.rest) return false;
    node_count& c = look_up(index, n);
    if (c.closed) return false;
    if (facts.free_gpus_say) {
      return (facts.each && by_free_[c.free] > 0) || (facts.rest && c.free >= pods_.rest.devices);
    }
    const node_type& type = index.layout().types()[t];
    look_up_rest(index, n, type, c);
    return (facts.each && pods_on(n, type, c, pods_.each) > 0) ||
           (facts.rest && pods_on(n, type, c, pods_.rest) > 0);
  }

  void change(const free_index& index, const placed_pod& pod, bool stays) {
    if (is_kept_) return change_kept(index.layout(), pod, stays);
    const node_id n = pod.where.node;
    const std::size_t t = index.layout().position_of(n).type;
    const type_facts& facts = types_[t];
    if (!facts.each && !facts.rest) return;
    node_count& c = look_up(index, n);
    if (c.closed) return;
    if (facts.free_gpus_say && pod.milli == milli_per_gpu) {
      // The pod has its devices to itself.
      const auto gpus = count_devices(pod.where.devices);
      return set_free(facts, c, stays ? c.free - gpus : c.free + gpus);
    }
    change_rest(index, pod, t, c, stays);
  }
  /// Where not all of the node is known by its free devices. Called rarely.
  [[gnu::noinline]] void change_rest(const free_index& index, const placed_pod& pod, std::size_t t,
                                     node_count& c, bool stays) {
    const node_id n = pod.where.node;
    const type_facts& facts = types_[t];
    const node_type& type = index.layout().types()[t];
    look_up_rest(index, n, type, c);
    if (facts.free_gpus_say) return set_free(facts, c, change_devices(pod, stays, c.free));
    const auto count_node = [&](std::uint64_t times) {
      if (facts.each) each_ += times * pods_on(n, type, c, pods_.each);
      if (facts.rest) rest_ += times * std::min<std::uint64_t>(pods_on(n, type, c, pods_.rest), 1);
    };
    count_node(~std::uint64_t{0});
    c.free = static_cast<std::uint16_t>(change_devices(pod, stays, c.free));
    if (!hosts_.empty()) {
      host_count& host = hosts_[n.index()];
      const std::int64_t sign = stays ? -1 : 1;
      host.cpu_milli += sign * pod.cpu_milli;
      host.memory_mib += sign * pod.memory_mib;
      host.slots += sign;
    }
    count_node(1);
  }
  void set_free(const type_facts& facts, node_count& c, std::uint32_t free) {
    count(facts, c.free, free);
    c.free = static_cast<std::uint16_t>(free);
  }
  /// So many devices of an open node are free, after so many.
  void count(const type_facts& facts, std::uint32_t before, std::uint32_t after) {
    if (facts.each) each_ = each_ - by_free_[before] + by_free_[after];
    if (facts.rest) {
      const std::uint32_t least = pods_.rest.devices;
      rest_ = rest_ - (before >= least ? 1U : 0U) + (after >= least ? 1U : 0U);
    }
  }
  /// Returns how many are free afterwards.
  std::uint32_t change_devices(const placed_pod& pod, bool stays, std::uint32_t free) {
    const std::int32_t milli = static_cast<std::int32_t>(pod.milli) * (stays ? 1 : -1);
    std::int32_t* const used = devices_.data() + pod.where.node.index() * largest_;
    for (std::uint64_t left = pod.where.devices; left != 0; left &= left - 1) {
      std::int32_t& of = used[device_use::lowest(left)];
      free = add(of, milli, free);
    }
    return free;
  }
  [[nodiscard]] static std::uint32_t add(std::int32_t& used, std::int32_t milli, std::uint32_t free) {
    if (used <= 0) --free;
    used += milli;
    if (used <= 0) ++free;
    return free;
  }
  /// How many pods of this shape fit on the node.
  [[nodiscard]] std::uint64_t pods_on(node_id n, const node_type& type, const node_count& c,
                                      const pod_shape& here) const {
    if (here.devices == 0) return 0;
    std::uint64_t pods = c.free / here.devices;
    if (here.is_fraction()) {
      const std::int32_t* const used = devices_.data() + n.index() * largest_;
      pods = 0;
      for (std::uint32_t d = 0; d < type.gpus; ++d) {
        pods += (milli_per_gpu - static_cast<std::uint32_t>(used[d])) / here.milli;
      }
    }
    if (hosts_.empty()) return pods;
    const auto at_most = [&pods](std::int64_t left, std::int64_t one) {
      if (one > 0) pods = std::min(pods, static_cast<std::uint64_t>(left / one));
    };
    const host_count& host = hosts_[n.index()];
    if (type.counts_slots()) at_most(host.slots, 1);
    if (type.counts_cpu()) at_most(host.cpu_milli, here.cpu_milli);
    if (type.counts_memory()) at_most(host.memory_mib, here.memory_mib);
    return pods;
  }

  // One that is kept knows all of them, also what was used at the last look: jobs may be counted as gone, or
  // twice, that came or left since, so the devices of each are counted.

  void know_all(const free_index& index) {
    // What was used does not depend on the request.
    if (seen_used_.size() == devices_.size() && index.changes().remembers(seen_)) {
      for (const std::uint32_t n : index.changes().since(seen_)) see_used(index, node_id{n});
    } else {
      seen_used_.resize(devices_.size());
      for (std::size_t n = 0; n < nodes_.size(); ++n) see_used(index, node_id{n});
    }
    seen_ = index.changes().now();
    devices_ = seen_used_;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const node_id n{i};
      nodes_[i] = {start_, static_cast<std::uint16_t>(index.devices().free_count(n)), index.is_closed(n)};
    }
  }
  void see_used(const free_index& index, node_id n) {
    const std::uint32_t gpus = index.layout().gpus(n);
    std::int32_t* const used = seen_used_.data() + n.index() * largest_;
    for (std::uint32_t d = 0; d < gpus; ++d) used[d] = static_cast<std::int32_t>(index.devices().used(n, d));
  }
  void look_at(const free_index& index, node_id n) {
    const cluster& layout = index.layout();
    node_count& c = nodes_[n.index()];
    const std::uint32_t before = c.closed ? 0 : c.free;
    std::uint32_t free = c.free;
    const std::uint32_t gpus = layout.gpus(n);
    for (std::uint32_t d = 0; d < gpus; ++d) {
      const std::size_t at = n.index() * largest_ + d;
      const auto used = static_cast<std::int32_t>(index.devices().used(n, d));
      if (used == seen_used_[at]) continue;
      free = add(devices_[at], used - seen_used_[at], free);
      seen_used_[at] = used;
    }
    c.free = static_cast<std::uint16_t>(free);
    c.closed = index.is_closed(n);
    count(types_[layout.position_of(n).type], before, c.closed ? 0 : c.free);
  }
  void change_kept(const cluster& layout, const placed_pod& pod, bool stays) {
    node_count& c = nodes_[pod.where.node.index()];
    const std::uint32_t free = change_devices(pod, stays, c.free);
    if (!c.closed) count(types_[layout.position_of(pod.where.node).type], c.free, free);
    c.free = static_cast<std::uint16_t>(free);
  }
  /// Whether such pods can't be anywhere but where those of the request could be.
  [[nodiscard]] bool takes_whole_places(const cluster& layout, const pod_split& by) const {
    if (by.each.is_fraction() || by.each.depends_on_type()) return false;
    for (std::size_t t = 0; t < types_.size(); ++t) {
      if (!types_[t].each && layout.types()[t].shape_on(by.each)) return false;
    }
    return true;
  }

  /// The request it has counted for, in which inventory, and the state of that then.
  pod_request asked_{};
  const free_index* begun_on_ = nullptr;
  std::uint64_t begun_at_ = 0;
  std::uint64_t each_at_begin_ = 0;
  std::uint64_t rest_at_begin_ = 0;
  pod_split pods_{};
  /// How many pods fit, and on how many nodes the smaller one fits.
  std::uint64_t each_ = 0;
  std::uint64_t rest_ = 0;
  vector<type_facts> types_;
  /// By free GPUs of a node: how many of the pods of whole GPUs fit.
  std::array<std::uint32_t, max_gpus_per_node + 1> by_free_{};
  vector<node_count> nodes_;
  /// Of each node what is free of its host; empty if no node counts that.
  vector<host_count> hosts_;
  /// The GPUs of the largest node; by node and device: what is used of it.
  std::size_t largest_ = 0;
  vector<std::int32_t> devices_;
  std::uint32_t start_ = 0;

  bool can_be_kept_ = false;
  bool is_kept_ = false;
  change_log::moment seen_{};
  /// As `devices_`, at the last look.
  vector<std::int32_t> seen_used_;

  room_bound groups_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

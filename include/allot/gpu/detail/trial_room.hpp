// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/gpu/reason.hpp>
#include <allot/gpu/room.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Whether a request would fit if some placed jobs were evicted, counted separately from the index, which is
/// not changed. Evicting a job takes a few steps per device, a tenth of the cost of removing it from an
/// inventory, so a search can try many candidates before it evicts the few it needs.
///
/// Counts pods of whole GPUs and of fractions of one device, which compete only for capacity (see
/// `detail::room`); other requests can't be counted.
class trial_room {
 public:
  /// Starts over with nothing evicted; counts for this request as long as the index does not change. Returns
  /// whether it can: not for topology levels, GPU memory, MIG instances, fractions of several devices, or
  /// pods without GPUs. O(types x sizes); O(nodes) where hosts count.
  [[nodiscard]] bool start(const free_index& index, const pod_request& r) {
    const cluster& layout = index.layout();
    const std::uint64_t now = index.fingerprint();
    if (index_ == &index && looked_at_ == now && is_like_asked(r)) {
      if (!r.total) pods_.pods = r.pods;
      each_ = each_at_start_;
      rest_ = rest_at_start_;
      next_start();
      return true;
    }
    const auto pods = split(r, layout);
    if (!pods || r.has_level() || pods->each.depends_on_type() || pods->each.devices == 0) return false;
    if (pods->each.is_fraction() && pods->each.devices != 1) return false;
    index_ = &index;
    asked_ = r.room_key();
    looked_at_ = now;
    pods_ = *pods;
    each_ = detail::room(index, pods_.each);
    rest_ = pods_.has_rest()
                ? detail::nodes_with_room(index, pods_.rest, free_index::any_number, detail::look::at_all)
                : 0;
    each_at_start_ = each_;
    rest_at_start_ = rest_;
    look_up(layout);
    next_start();
    return true;
  }

  /// The pod is evicted. Precondition: it occupies its devices, and is not evicted.
  void goes(const placed_pod& pod) { change(pod, false); }
  /// Undoes `goes`. Precondition: the pod counts as evicted.
  void stays(const placed_pod& pod) { change(pod, true); }

  /// Whether a pod of the request fits on the node of this pod without the evicted ones. If not, evicting
  /// this pod makes no difference as long as no other pod is evicted.
  [[nodiscard]] bool helps(const placed_pod& pod) {
    const node_id n = pod.where.node;
    const std::size_t t = index_->layout().position_of(n).type;
    const type_facts& facts = types_[t];
    if (!counts(n, facts)) return false;
    node_count& c = nodes_[n.index()];
    if (facts.free_gpus_say) {
      return (facts.each && by_free_[c.free] > 0) || (facts.rest && c.free >= pods_.rest.devices);
    }
    const node_type& type = index_->layout().types()[t];
    if (c.start_of_rest != start_) look_up_rest(n, type, c);
    return (facts.each && pods_on(n, type, c, pods_.each) > 0) ||
           (facts.rest && pods_on(n, type, c, pods_.rest) > 0);
  }

  /// Whether the request fits without the evicted pods.
  [[nodiscard]] bool has_room() const noexcept {
    return each_ >= pods_.pods && (!pods_.has_rest() || rest_ > pods_.pods);
  }

 private:
  /// Which of the pods may run on a node of a type, and whether its free GPUs alone decide how many.
  struct type_facts {
    bool each = false;
    bool rest = false;
    bool free_gpus_say = false;
  };
  /// A node without the evicted pods.
  struct node_count {
    std::uint32_t start = 0;
    /// When its devices and its host were looked up.
    std::uint32_t start_of_rest = 0;
    std::uint32_t free = 0;
    bool closed = false;
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
    for (const node_type& t : layout.types()) {
      largest_ = std::max<std::size_t>(largest_, t.gpus);
      type_facts f{t.shape_on(pods_.each).has_value(), pods_.has_rest() && t.shape_on(pods_.rest), false};
      f.free_gpus_say = !pods_.each.is_fraction() && !detail::may_lack_host(t, pods_.each) &&
                        !detail::may_lack_host(t, pods_.rest);
      types_.push_back(f);
    }
    nodes_.resize(layout.size());
    devices_.resize(layout.size() * largest_);
    const std::uint32_t each = pods_.each.devices;
    for (std::uint32_t free = 0; free <= max_gpus_per_node; ++free)
      by_free_[free] = free < each ? 0 : by_free_[free - each] + 1;
  }
  /// Whether a pod of the request may run on the node. If so, its free resources have been looked up.
  [[nodiscard]] bool counts(node_id n, const type_facts& facts) {
    if (!facts.each && !facts.rest) return false;
    node_count& c = nodes_[n.index()];
    if (c.start != start_) look_up(n, c);
    return !c.closed;
  }
  void look_up(node_id n, node_count& c) const {
    c.start = start_;
    c.free = index_->devices().free_count(n);
    c.closed = index_->is_closed(n);
  }
  void look_up_rest(node_id n, const node_type& type, node_count& c) {
    c.start_of_rest = start_;
    std::uint32_t* const used = devices_.data() + n.index() * largest_;
    for (std::uint32_t d = 0; d < type.gpus; ++d) used[d] = index_->devices().used(n, d);
    const host_room& hosts = index_->hosts();
    c.cpu_milli = hosts.free_cpu_milli(n);
    c.memory_mib = hosts.free_memory_mib(n);
    c.slots = hosts.free_slots(n);
  }

  void change(const placed_pod& pod, bool stays) {
    const node_id n = pod.where.node;
    const std::size_t t = index_->layout().position_of(n).type;
    const type_facts& facts = types_[t];
    if (!counts(n, facts)) return;
    node_count& c = nodes_[n.index()];
    if (facts.free_gpus_say && pod.milli == milli_per_gpu) {
      // The pod has its devices to itself.
      const auto gpus = count_devices(pod.where.devices);
      return set_free(facts, c, stays ? c.free - gpus : c.free + gpus);
    }
    change_rest(pod, t, c, stays);
  }
  /// Where not all of the node is known by its free devices. Called rarely.
  [[gnu::noinline]] void change_rest(const placed_pod& pod, std::size_t t, node_count& c, bool stays) {
    const node_id n = pod.where.node;
    const type_facts& facts = types_[t];
    const node_type& type = index_->layout().types()[t];
    if (c.start_of_rest != start_) look_up_rest(n, type, c);
    const node_count before = c;
    const std::uint64_t each = facts.free_gpus_say ? 0 : pods_on(n, type, c, pods_.each);
    const std::uint64_t rest = facts.free_gpus_say ? 0 : pods_on(n, type, c, pods_.rest);
    const std::uint32_t free = change_devices(n, pod, stays, c.free);
    if (facts.free_gpus_say) return set_free(facts, c, free);
    c.free = free;
    const std::int64_t sign = stays ? -1 : 1;
    c.cpu_milli = before.cpu_milli + sign * pod.cpu_milli;
    c.memory_mib = before.memory_mib + sign * pod.memory_mib;
    c.slots = before.slots + sign;
    if (facts.each) each_ = each_ - each + pods_on(n, type, c, pods_.each);
    if (facts.rest) {
      rest_ = rest_ - std::min<std::uint64_t>(rest, 1) +
              std::min<std::uint64_t>(pods_on(n, type, c, pods_.rest), 1);
    }
  }
  void set_free(const type_facts& facts, node_count& c, std::uint32_t free) {
    if (facts.each) each_ = each_ - by_free_[c.free] + by_free_[free];
    if (facts.rest) {
      rest_ = rest_ - (c.free >= pods_.rest.devices ? 1U : 0U) + (free >= pods_.rest.devices ? 1U : 0U);
    }
    c.free = free;
  }
  /// Returns how many are free afterwards.
  std::uint32_t change_devices(node_id n, const placed_pod& pod, bool stays, std::uint32_t free) {
    for (std::uint64_t left = pod.where.devices; left != 0; left &= left - 1) {
      std::uint32_t& milli = devices_[n.index() * largest_ + device_use::lowest(left)];
      ALLOT_ASSERT(stays || milli >= pod.milli, "the pod is not placed there");
      if (milli == 0) --free;
      milli = stays ? milli + pod.milli : milli - pod.milli;
      if (milli == 0) ++free;
    }
    return free;
  }
  /// How many pods of this shape fit on the node.
  [[nodiscard]] std::uint64_t pods_on(node_id n, const node_type& type, const node_count& c,
                                      const pod_shape& here) const {
    if (here.devices == 0) return 0;
    std::uint64_t pods = c.free / here.devices;
    if (here.is_fraction()) {
      const std::uint32_t* const used = devices_.data() + n.index() * largest_;
      pods = 0;
      for (std::uint32_t d = 0; d < type.gpus; ++d) pods += (milli_per_gpu - used[d]) / here.milli;
    }
    const auto at_most = [&pods](std::int64_t left, std::int64_t one) {
      if (one > 0) pods = std::min(pods, static_cast<std::uint64_t>(left / one));
    };
    if (type.counts_slots()) at_most(c.slots, 1);
    if (type.counts_cpu()) at_most(c.cpu_milli, here.cpu_milli);
    if (type.counts_memory()) at_most(c.memory_mib, here.memory_mib);
    return pods;
  }

  const free_index* index_ = nullptr;
  /// The request it has counted for, and the state of the index then.
  pod_request asked_{};
  std::uint64_t looked_at_ = 0;
  std::uint64_t each_at_start_ = 0;
  std::uint64_t rest_at_start_ = 0;
  pod_split pods_{};
  /// How many pods fit, and on how many nodes the smaller one fits.
  std::uint64_t each_ = 0;
  std::uint64_t rest_ = 0;
  vector<type_facts> types_;
  /// By free GPUs of a node: how many of the pods of whole GPUs fit.
  std::array<std::uint32_t, max_gpus_per_node + 1> by_free_{};
  vector<node_count> nodes_;
  /// The GPUs of the largest node; by node and device: what is used of it.
  std::size_t largest_ = 0;
  vector<std::uint32_t> devices_;
  std::uint32_t start_ = 0;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

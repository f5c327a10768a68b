// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/detail/pod_kinds.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// For every device of a cluster: how much is *used*, and how much is still *held* by pods being evicted.
/// Usage decides what is free; a device that is free or has room may still be held, and a pod placed there
/// must wait. A device is *shared* while it is partly used; its *gap* is the rest of it.
///
/// Of shapes, only devices and portions are considered.
class device_use {
 public:
  explicit device_use(const cluster& layout) : nodes_(layout.size()), devices_(layout.devices()) {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const cluster::position& at = layout.position_of(node_id{n});
      const std::uint32_t gpus = layout.gpus(node_id{n});
      nodes_[n] = {all_of(gpus), 0, at.first_device, gpus, gpus};
    }
  }

  /// The devices that are entirely unused.
  [[nodiscard]] std::uint64_t free(node_id n) const { return node(n).free; }
  /// The devices that pods being evicted still hold.
  [[nodiscard]] std::uint64_t held(node_id n) const { return node(n).held; }
  [[nodiscard]] std::uint32_t free_count(node_id n) const { return node(n).free_count; }
  [[nodiscard]] std::uint32_t count(node_id n) const { return node(n).gpus; }
  /// How much of a device is used, in milli. Precondition: the node has that device.
  [[nodiscard]] std::uint32_t used(node_id n, std::uint32_t device) const {
    ALLOT_ASSERT(device < node(n).gpus, "the node has no such device");
    return state(n, device).used;
  }
  [[nodiscard]] std::uint32_t held(node_id n, std::uint32_t device) const { return state(n, device).held; }
  /// The kinds of the pods on the node. O(devices of the node).
  [[nodiscard]] pod_kinds::set kinds(node_id n) const {
    pod_kinds::set all = 0;
    for (std::uint64_t left = shared(n); left != 0; left &= left - 1) {
      all |= pod_kinds::set{1} << state(n, lowest(left)).owner_gpus;
    }
    return all;
  }
  /// How much of it is used, or held by pods that shared it with some that use it now: what the processes
  /// occupy that share it. Pods that came when all others were leaving do not share it with those.
  [[nodiscard]] std::uint32_t taken(node_id n, std::uint32_t device) const {
    const device_state& s = state(n, device);
    return s.is_renewed ? s.used : s.used + s.held;
  }
  /// How much of it is free: all of it, if nothing is used.
  [[nodiscard]] std::uint32_t gap(node_id n, std::uint32_t device) const {
    return milli_per_gpu - state(n, device).used;
  }

  /// Whether these devices have room for a pod of this shape.
  [[nodiscard]] bool fits(node_id n, std::uint64_t devices, const pod_shape& pod) const {
    if (count_devices(devices) != pod.devices || (devices & ~all_of(node(n).gpus)) != 0) {
      return false;
    }
    if (!pod.is_fraction()) return (devices & ~node(n).free) == 0;
    return all(devices, [&](std::uint32_t d) { return state(n, d).used + pod.milli <= milli_per_gpu; });
  }
  /// Whether any devices of the node do.
  [[nodiscard]] bool has_room(node_id n, const pod_shape& pod) const {
    const std::uint32_t free = free_count(n);
    if (free >= pod.devices) return true;
    if (!pod.is_fraction()) return false;
    std::uint32_t wanted = pod.devices - free;
    for (std::uint64_t left = shared(n); left != 0 && wanted > 0; left &= left - 1) {
      if (gap(n, lowest(left)) >= pod.milli) --wanted;
    }
    return wanted == 0;
  }
  /// How many pods of this shape fit on the devices of the node; `none_needed` for one without devices.
  [[nodiscard]] std::uint64_t pods(node_id n, const pod_shape& pod, std::uint64_t none_needed) const {
    if (pod.devices == 0) return none_needed;
    if (!pod.is_fraction()) return free_count(n) / pod.devices;
    const auto on = [&](std::uint32_t d) { return std::uint64_t{gap(n, d) / pod.milli}; };
    std::uint64_t sum = 0;
    for (std::uint32_t d = 0; d < node(n).gpus; ++d) sum += on(d);
    if (pod.devices == 1) return sum;
    // The largest count for which every pod gets its devices without using one twice. Fewer pods never have
    // more places than these, so counts for which these places do not suffice need not be tried one by one.
    for (std::uint64_t count = sum / pod.devices;;) {
      std::uint64_t places = 0;
      for (std::uint32_t d = 0; d < node(n).gpus; ++d) places += std::min(on(d), count);
      if (places >= count * pod.devices) return count;
      count = places / pod.devices;
    }
  }

  /// The devices of this node that a pod of this shape would get; nothing if it does not fit there. Whole
  /// GPUs: first those that are not held, then the lowest. Fractions: the shared devices with the smallest
  /// sufficient gaps, then free ones; of equal gaps, one on which it can start at once, then the lowest.
  /// O(devices of the node).
  [[nodiscard]] std::optional<std::uint64_t> choose(node_id n, const pod_shape& pod) const {
    if (!pod.is_fraction()) return choose_free(n, pod.devices);
    std::uint64_t chosen = 0;
    for (std::uint32_t k = 0; k < pod.devices; ++k) {
      const auto next = choose_shared(n, pod.milli, chosen);
      if (!next) {
        const auto rest = choose_free(n, pod.devices - k);
        if (!rest) return std::nullopt;
        return chosen | *rest;
      }
      chosen |= std::uint64_t{1} << *next;
    }
    return chosen;
  }

  /// So many free devices: first those that are not held, then the lowest. Precondition: there are as many.
  [[nodiscard]] std::uint64_t take_free(node_id n, std::uint32_t devices) const {
    const node_state& s = node(n);
    ALLOT_ASSERT(s.free_count >= devices, "the node has too few free devices");
    if (s.held == 0) return lowest_bits(s.free, devices);
    const std::uint64_t at_once = s.free & ~s.held;
    const auto ready = count_devices(at_once);
    if (ready >= devices) return lowest_bits(at_once, devices);
    return at_once | lowest_bits(s.free & s.held, devices - ready);
  }

  /// Whether the devices of this pod have room for all that is used and held of them.
  [[nodiscard]] bool is_ready(const placed_pod& pod) const {
    const node_id n = pod.where.node;
    return all(pod.where.devices & node(n).held,
               [&](std::uint32_t d) { return state(n, d).used + state(n, d).held <= milli_per_gpu; });
  }

  /// Whether one of these devices, with this much used in addition, has no room for what is held.
  [[nodiscard]] bool must_wait(node_id n, std::uint64_t devices, std::uint32_t milli) const {
    return !all(devices & node(n).held, [&](std::uint32_t d) {
      return state(n, d).used + state(n, d).held + milli <= milli_per_gpu;
    });
  }

  /// Whether some of that many unused devices would still be held.
  [[nodiscard]] bool must_wait(node_id n, std::uint32_t whole) const {
    return count_devices(node(n).free & ~node(n).held) < whole;
  }

  // Changes.

  // Of a pod with whole devices, `count` of them. Each returns how many of the node were free.

  /// It gets these. Precondition: they are free.
  std::uint32_t take(node_id n, std::uint64_t devices, std::uint32_t count) {
    return fill(n, devices, count, [](device_state& d, std::uint64_t) { d.is_renewed = d.held > 0; });
  }
  /// It leaves them.
  std::uint32_t give_back(node_id n, std::uint64_t devices, std::uint32_t count) {
    return clear(n, devices, count, [](device_state&) {});
  }
  /// It leaves them, but holds them.
  std::uint32_t give_up(node_id n, std::uint64_t devices, std::uint32_t count) {
    nodes_[n.index()].held |= devices;
    return clear(n, devices, count, [](device_state& d) {
      d.was_renewed = d.is_renewed;
      d.held += milli_per_gpu;
    });
  }
  /// That is undone.
  std::uint32_t take_back(node_id n, std::uint64_t devices, std::uint32_t count) {
    return fill(n, devices, count, [&s = nodes_[n.index()]](device_state& d, std::uint64_t bit) {
      ALLOT_ASSERT(d.held >= milli_per_gpu, "the pod does not hold its devices");
      d.held -= milli_per_gpu;
      if (d.held == 0) s.held &= ~bit;
      d.is_renewed = d.was_renewed && d.held > 0;
    });
  }

  /// Sets the unused devices.
  void set_free(node_id n, std::uint64_t devices) {
    node_state& s = nodes_[n.index()];
    s.free = devices;
    s.free_count = count_devices(devices);
  }
  /// Returns what was used of it before.
  std::uint32_t set_used(node_id n, std::uint32_t device, std::uint32_t milli) {
    device_state& s = state(n, device);
    s.is_renewed = milli > 0 && (s.is_renewed || (s.used == 0 && s.held > 0));
    return std::exchange(s.used, milli);
  }
  /// The pod is to be evicted: where it is the last, that may be undone.
  void empties(const placed_pod& pod) {
    for (std::uint64_t left = pod.where.devices; left != 0; left &= left - 1) {
      device_state& s = state(pod.where.node, lowest(left));
      if (s.used == pod.milli) s.was_renewed = s.is_renewed;
    }
  }
  /// That has been undone: the first pod belongs with what is held if it did before.
  void fills_again(const placed_pod& pod) {
    for (std::uint64_t left = pod.where.devices; left != 0; left &= left - 1) {
      device_state& s = state(pod.where.node, lowest(left));
      if (s.used == pod.milli) s.is_renewed = s.was_renewed && s.held > 0;
    }
  }
  /// `sign` 1: the pod is being evicted but still holds its devices; -1: it lets go of them.
  void hold(const placed_pod& pod, std::int32_t sign) {
    node_state& s = nodes_[pod.where.node.index()];
    for (std::uint64_t left = pod.where.devices; left != 0; left &= left - 1) {
      const std::uint32_t d = lowest(left);
      std::uint32_t& held = state(pod.where.node, d).held;
      ALLOT_ASSERT(sign > 0 || held >= pod.milli, "the pod does not hold its devices");
      if (held == 0) state(pod.where.node, d).is_renewed = false;
      held = sign > 0 ? held + pod.milli : held - pod.milli;
      const std::uint64_t bit = std::uint64_t{1} << d;
      s.held = held != 0 ? s.held | bit : s.held & ~bit;
    }
  }

  [[nodiscard]] static std::uint32_t lowest(std::uint64_t devices) noexcept {
    return static_cast<std::uint32_t>(std::countr_zero(devices));
  }

  friend bool operator==(const device_use&, const device_use&) = default;

 private:
  struct node_state {
    std::uint64_t free = 0;
    std::uint64_t held = 0;
    std::uint32_t first_device = 0;
    std::uint32_t gpus = 0;
    /// How many devices `free` has.
    std::uint32_t free_count = 0;

    friend bool operator==(const node_state&, const node_state&) = default;
  };
  /// In milli. At most one GPU is used, but it may be held several times over, by pods evicted before they
  /// could start.
  struct device_state {
    std::uint32_t used = 0;
    std::uint32_t held = 0;
    /// Whether all its pods had been leaving when the first of those came that use it now: what is held does
    /// not belong with them. No part of the state: it only ranks devices.
    bool is_renewed = false;
    /// The same before its last pod was evicted.
    bool was_renewed = false;
    /// The whole GPUs of the pod that has it to itself, as `pod_kinds::number`; 0 if there is none.
    std::uint8_t owner_gpus = 0;

    friend bool operator==(const device_state& a, const device_state& b) {
      return a.used == b.used && a.held == b.held && a.owner_gpus == b.owner_gpus;
    }
  };

  /// `each(device, its bit)` says what changes besides.
  template <class Each>
  std::uint32_t fill(node_id n, std::uint64_t devices, std::uint32_t count, Each each) {
    node_state& s = nodes_[n.index()];
    s.free &= ~devices;
    for (std::uint64_t left = devices; left != 0; left &= left - 1) {
      device_state& d = devices_[s.first_device + lowest(left)];
      ALLOT_ASSERT(d.used == 0, "the device is not free");
      d.used = milli_per_gpu;
      d.owner_gpus = pod_kinds::number(count);
      each(d, left & (~left + 1));
    }
    return std::exchange(s.free_count, s.free_count - count);
  }
  /// The inverse; `each(device)` comes first.
  template <class Each>
  std::uint32_t clear(node_id n, std::uint64_t devices, std::uint32_t count, Each each) {
    node_state& s = nodes_[n.index()];
    s.free |= devices;
    for (std::uint64_t left = devices; left != 0; left &= left - 1) {
      device_state& d = devices_[s.first_device + lowest(left)];
      ALLOT_ASSERT(d.used == milli_per_gpu, "the pod is not placed there");
      each(d);
      d.used = 0;
      d.is_renewed = false;
      d.owner_gpus = 0;
    }
    return std::exchange(s.free_count, s.free_count + count);
  }

  [[nodiscard]] static std::uint64_t all_of(std::uint32_t gpus) noexcept {
    return gpus == 0 ? 0 : ~std::uint64_t{0} >> (max_gpus_per_node - gpus);
  }
  [[nodiscard]] static std::uint64_t lowest_bits(std::uint64_t from, std::uint32_t count) noexcept {
    std::uint64_t rest = from;
    for (; count > 0; --count) rest &= rest - 1;
    return from ^ rest;
  }
  template <class Holds>
  [[nodiscard]] static bool all(std::uint64_t devices, Holds holds) {
    for (; devices != 0; devices &= devices - 1) {
      if (!holds(lowest(devices))) return false;
    }
    return true;
  }

  [[nodiscard]] const node_state& node(node_id n) const {
    ALLOT_ASSERT(n.index() < nodes_.size(), "not a node of this cluster");
    return nodes_[n.index()];
  }
  [[nodiscard]] const device_state& state(node_id n, std::uint32_t d) const {
    return devices_[nodes_[n.index()].first_device + d];
  }
  [[nodiscard]] device_state& state(node_id n, std::uint32_t d) {
    return devices_[nodes_[n.index()].first_device + d];
  }
  /// The devices that are not free; some of them may be full.
  [[nodiscard]] std::uint64_t shared(node_id n) const { return ~node(n).free & all_of(node(n).gpus); }

  [[nodiscard]] std::optional<std::uint64_t> choose_free(node_id n, std::uint32_t devices) const {
    if (node(n).free_count < devices) return std::nullopt;
    return take_free(n, devices);
  }
  [[nodiscard]] std::optional<std::uint32_t> choose_shared(node_id n, std::uint32_t milli,
                                                           std::uint64_t but) const {
    std::optional<std::uint32_t> best;
    std::pair<std::uint32_t, bool> best_score;
    for (std::uint64_t left = shared(n) & ~but; left != 0; left &= left - 1) {
      const std::uint32_t d = lowest(left);
      const device_state& s = state(n, d);
      if (s.used + milli > milli_per_gpu) continue;
      const std::pair score{milli_per_gpu - s.used, s.used + s.held + milli > milli_per_gpu};
      if (!best || score < best_score) best = d, best_score = score;
    }
    return best;
  }

  vector<node_state> nodes_;
  vector<device_state> devices_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

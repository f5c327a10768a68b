// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/detail/device_use.hpp>
#include <allot/gpu/mig/mig.hpp>
#include <allot/gpu/mig/mig_request.hpp>
#include <allot/gpu/pod_request.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>

namespace allot {
inline namespace v0 {
namespace gpu {

/// The instances on every device in MIG mode, and the slices that pods being evicted still hold. Takes 36
/// bytes per device in MIG mode, and 4 per node if there is one.
class mig_use {
 public:
  explicit mig_use(const cluster& layout) {
    for (const node_type& t : layout.types()) {
      if (t.mig) first_.resize(layout.size(), no_device);
    }
    for (std::size_t n = 0; n < first_.size(); ++n) {
      const node_type& t = layout.type_of(node_id{n});
      if (!t.mig) continue;
      first_[n] = static_cast<std::uint32_t>(devices_.size());
      devices_.resize(devices_.size() + t.gpus, device_state{mig_device{*t.mig}, {}});
    }
  }

  /// The instances of a device. Precondition: the node is in MIG mode and has that device.
  [[nodiscard]] const mig_device& on(node_id n, std::uint32_t device) const { return at(n, device).now; }

  /// Whether any device of the node has room for one more instance of this profile.
  [[nodiscard]] bool has_room(node_id n, const device_use& use, mig_request r) const {
    for (std::uint32_t d = 0; d < use.count(n); ++d) {
      if (room(n, d, r) > 0) return true;
    }
    return false;
  }
  /// How many more instances of this profile the devices of the node have room for.
  [[nodiscard]] std::uint64_t pods(node_id n, const device_use& use, mig_request r) const {
    std::uint64_t sum = 0;
    for (std::uint32_t d = 0; d < use.count(n); ++d) sum += room(n, d, r);
    return sum;
  }
  /// Of the devices with room for the profile, the partly used one with the least left, else an unused one;
  /// of several, one on which it can start at once, then the lowest.
  [[nodiscard]] std::optional<std::uint32_t> choose(node_id n, const device_use& use, mig_request r) const {
    std::optional<std::uint32_t> best;
    std::tuple<std::uint32_t, bool> best_score;
    for (std::uint32_t d = 0; d < use.count(n); ++d) {
      const auto start = start_on(n, d, r);
      if (!start) continue;
      const std::tuple score{use.gap(n, d), is_held(at(n, d), r, *start)};
      if (!best || score < best_score) best = d, best_score = score;
    }
    return best;
  }
  /// The slice at which an instance would start; nothing if there is no room (see `mig_device::choose`).
  [[nodiscard]] std::optional<std::uint32_t> start_on(node_id n, std::uint32_t device, mig_request r) const {
    const mig_device& now = on(n, device);
    const auto profile = profile_of(now.model(), r);
    return profile ? now.choose(*profile) : std::nullopt;
  }

  /// Whether nothing that this instance takes is still held.
  [[nodiscard]] bool is_ready(const placed_pod& pod) const {
    return !is_held(at(pod.where.node, device_use::lowest(pod.where.devices)), pod.mig, pod.mig_start);
  }
  /// Whether some of what an instance placed there now would take is still held.
  [[nodiscard]] bool must_wait(node_id n, std::uint32_t device, mig_request r) const {
    const auto start = start_on(n, device, r);
    return start && is_held(at(n, device), r, *start);
  }

  /// Whether exactly the slices of this instance are free.
  [[nodiscard]] bool is_free_for(const placed_pod& pod) const {
    const mig_device& now = on(pod.where.node, device_use::lowest(pod.where.devices));
    const auto profile = profile_of(now.model(), pod.mig);
    return profile && now.fits_at(*profile, pod.mig_start);
  }

  // Changes.

  /// Precondition: it fits there.
  void add(const placed_pod& pod) {
    mig_device& now = at(pod).now;
    const auto profile = profile_of(now.model(), pod.mig);
    ALLOT_ASSERT(profile && now.fits_at(*profile, pod.mig_start), "the instance does not fit there");
    now.place_at(*profile, pod.mig_start);
  }
  /// Precondition: it is placed there.
  void remove(const placed_pod& pod) {
    mig_device& now = at(pod).now;
    ALLOT_ASSERT(now.starting_at(pod.mig_start) == profile_of(now.model(), pod.mig),
                 "the instance is not placed there");
    now.remove(pod.mig_start);
  }
  /// `sign` 1: the pod is being evicted but still holds its slices; -1: it lets go of them.
  void hold(const placed_pod& pod, std::int32_t sign) {
    device_state& d = at(pod);
    for_each_part(d.now.model(), pod.mig, pod.mig_start, [&](std::size_t part) {
      ALLOT_ASSERT(sign > 0 || d.held[part] > 0, "the pod does not hold its slices");
      d.held[part] = static_cast<std::uint16_t>(d.held[part] + sign);
    });
  }

  friend bool operator==(const mig_use&, const mig_use&) = default;

 private:
  static constexpr std::uint32_t no_device = static_cast<std::uint32_t>(-1);
  static constexpr std::size_t media = mig_device::max_instances;

  struct device_state {
    mig_device now;
    /// How many pods hold each memory slice and, last, the media engines.
    std::array<std::uint16_t, media + 1> held{};

    friend bool operator==(const device_state&, const device_state&) = default;
  };

  [[nodiscard]] const device_state& at(node_id n, std::uint32_t d) const {
    ALLOT_ASSERT(n.index() < first_.size() && first_[n.index()] != no_device, "not a node in MIG mode");
    return devices_[first_[n.index()] + d];
  }
  [[nodiscard]] device_state& at(const placed_pod& pod) {
    ALLOT_ASSERT(pod.where.node.index() < first_.size() && first_[pod.where.node.index()] != no_device,
                 "not a node in MIG mode");
    return devices_[first_[pod.where.node.index()] + device_use::lowest(pod.where.devices)];
  }
  [[nodiscard]] std::uint32_t room(node_id n, std::uint32_t d, mig_request r) const {
    const mig_device& now = on(n, d);
    const auto profile = profile_of(now.model(), r);
    return profile ? now.room(*profile) : 0;
  }
  template <class Visit>
  static void for_each_part(mig_model m, mig_request r, std::uint32_t start, Visit visit) {
    const auto p = profile_of(m, r);
    ALLOT_ASSERT(p.has_value(), "the model has no such profile");
    const mig_profile& profile = profile_of(m, *p);
    for (std::uint32_t s = start; s < start + profile.memory_slices; ++s) visit(s);
    if (profile.media) visit(media);
  }
  [[nodiscard]] static bool is_held(const device_state& d, mig_request r, std::uint32_t start) {
    bool held = false;
    for_each_part(d.now.model(), r, start, [&](std::size_t part) { held = held || d.held[part] > 0; });
    return held;
  }

  /// The first device of each node; empty if no node is in MIG mode.
  vector<std::uint32_t> first_;
  vector<device_state> devices_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

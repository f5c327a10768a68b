// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/demand.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace allot_test {

namespace gpu = allot::gpu;

/// What the inventory must do with best fit, by looking at everything each time: no index, no journal.
struct naive_inventory {
  struct device {
    std::int64_t used = 0;
    std::int64_t held = 0;

    friend bool operator==(const device&, const device&) = default;
  };
  struct node {
    std::uint32_t pool = 0;
    std::vector<device> devices;
    bool closed = false;

    [[nodiscard]] std::int64_t free() const {
      return std::count_if(devices.begin(), devices.end(), [](const device& d) { return d.used == 0; });
    }
    friend bool operator==(const node&, const node&) = default;
  };
  struct standing {
    bool vacating = false;
    std::vector<gpu::placed_pod> pods;

    friend bool operator==(const standing&, const standing&) = default;
  };
  using nodes_type = std::vector<node>;

  explicit naive_inventory(const gpu::cluster& layout) {
    for (std::size_t n = 0; n < layout.size(); ++n) {
      const gpu::node_type& type = layout.type_of(gpu::node_id{n});
      nodes.push_back({type.pool, std::vector<device>(type.gpus), false});
    }
  }

  nodes_type nodes;
  std::map<gpu::allocation_id, standing> allocations;

  friend bool operator==(const naive_inventory&, const naive_inventory&) = default;

  /// Milli of each device, and how many devices, of each pod; nothing if the demand can't be placed.
  using pod_sizes = std::vector<std::pair<std::int64_t, std::int64_t>>;
  [[nodiscard]] std::optional<pod_sizes> pods_of(const gpu::demand& d) const {
    const std::int64_t milli = d.gpus.in_milli();
    if (milli < 0 || d.gpus.is_unlimited() || (milli > 1000 && milli % 1000 != 0)) return std::nullopt;
    if (!d.total && d.pods == 0) return std::nullopt;
    const auto pod = [](std::int64_t m) {
      return std::pair{m < 1000 ? m : 1000, m == 0 ? 0 : std::max<std::int64_t>(m / 1000, 1)};
    };
    if (!d.total) return pod_sizes(d.pods, pod(milli));
    std::int64_t largest = 0;
    for (const node& n : nodes) {
      if (accepts(d, n)) largest = std::max(largest, static_cast<std::int64_t>(n.devices.size()));
    }
    pod_sizes sizes;
    std::int64_t left = milli;
    for (; largest > 0 && left > 1000 * largest; left -= 1000 * largest) sizes.push_back(pod(1000 * largest));
    sizes.push_back(pod(left));
    return sizes;
  }

  /// Where best fit puts the pods of a demand.
  [[nodiscard]] std::optional<std::vector<gpu::placed_pod>> choose(const gpu::demand& d) const {
    const auto sizes = pods_of(d);
    if (!sizes) return std::nullopt;
    nodes_type now = nodes;
    std::vector<gpu::placed_pod> pods;
    for (const auto& [milli, devices] : *sizes) {
      const auto where =
          devices == 1 && milli < 1000 ? choose_fraction(now, d, milli) : choose_whole(now, d, devices);
      if (!where) return std::nullopt;
      pods.push_back({*where, static_cast<std::uint32_t>(devices == 0 ? 1000 : milli)});
      use(now, pods.back(), 1);
    }
    return pods;
  }

  /// With nothing on its nodes, all of them open.
  [[nodiscard]] static naive_inventory emptied(naive_inventory from) {
    from.allocations.clear();
    for (node& n : from.nodes) n = {n.pool, std::vector<device>(n.devices.size()), false};
    return from;
  }

  /// Whether all of these pods, at the same time, have room in what is free.
  [[nodiscard]] bool fits(const std::vector<gpu::placed_pod>& pods) const {
    nodes_type now = nodes;
    for (const gpu::placed_pod& p : pods) {
      if (p.where.node.index() >= now.size()) return false;
      std::vector<device>& devices = now[p.where.node.index()].devices;
      if (devices.size() < 64 && p.where.devices >> devices.size() != 0) return false;
      use(now, p, 1);
      for (const device& d : devices) {
        if (d.used > 1000) return false;
      }
    }
    return true;
  }

  void place(gpu::allocation_id a, const std::vector<gpu::placed_pod>& pods) {
    allocations[a] = {false, pods};
    for (const gpu::placed_pod& p : pods) use(nodes, p, 1);
  }
  void vacate(gpu::allocation_id a) {
    standing& s = allocations.at(a);
    s.vacating = true;
    for (const gpu::placed_pod& p : s.pods) {
      use(nodes, p, -1);
      hold(p, 1);
    }
  }
  void reoccupy(gpu::allocation_id a) {
    standing& s = allocations.at(a);
    s.vacating = false;
    for (const gpu::placed_pod& p : s.pods) {
      hold(p, -1);
      use(nodes, p, 1);
    }
  }
  void release(gpu::allocation_id a) {
    const standing s = allocations.at(a);
    for (const gpu::placed_pod& p : s.pods) {
      if (s.vacating) {
        hold(p, -1);
      } else {
        use(nodes, p, -1);
      }
    }
    allocations.erase(a);
  }
  /// Whether all that stands on its devices, and all that is still held of them, has room there.
  [[nodiscard]] bool ready(gpu::allocation_id a) const {
    const standing& s = allocations.at(a);
    if (s.vacating) return false;
    for (const gpu::placed_pod& p : s.pods) {
      const node& n = nodes[p.where.node.index()];
      for (std::size_t d = 0; d < n.devices.size(); ++d) {
        if ((p.where.devices >> d & 1U) != 0 && n.devices[d].used + n.devices[d].held > 1000) return false;
      }
    }
    return true;
  }

  [[nodiscard]] static bool accepts(const gpu::demand& d, const node& n) {
    return (d.pools >> n.pool & 1U) != 0;
  }

 private:
  static void use(nodes_type& in, const gpu::placed_pod& p, std::int64_t sign) {
    std::vector<device>& devices = in[p.where.node.index()].devices;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      if ((p.where.devices >> d & 1U) != 0) devices[d].used += sign * p.milli;
    }
  }
  void hold(const gpu::placed_pod& p, std::int64_t sign) {
    std::vector<device>& devices = nodes[p.where.node.index()].devices;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      if ((p.where.devices >> d & 1U) != 0) devices[d].held += sign * p.milli;
    }
  }

  /// The free devices of a node that a pod would have: those nobody holds first, then the lowest.
  [[nodiscard]] static std::uint64_t take_free(const node& n, std::int64_t count) {
    std::uint64_t devices = 0;
    for (const bool held : {false, true}) {
      for (std::size_t d = 0; d < n.devices.size(); ++d) {
        if (count == 0) break;
        if (n.devices[d].used != 0 || (n.devices[d].held != 0) != held) continue;
        devices |= std::uint64_t{1} << d;
        --count;
      }
    }
    return devices;
  }

  [[nodiscard]] static std::optional<gpu::pod_location> choose_whole(const nodes_type& in,
                                                                     const gpu::demand& d,
                                                                     std::int64_t count) {
    std::optional<std::size_t> best;
    for (std::size_t n = 0; n < in.size(); ++n) {
      if (in[n].closed || !accepts(d, in[n]) || in[n].free() < count) continue;
      if (!best || in[n].free() < in[*best].free()) best = n;
    }
    if (!best) return std::nullopt;
    return gpu::pod_location{gpu::node_id{*best}, take_free(in[*best], count)};
  }

  [[nodiscard]] static std::optional<gpu::pod_location> choose_fraction(const nodes_type& in,
                                                                        const gpu::demand& d,
                                                                        std::int64_t milli) {
    using score = std::tuple<std::int64_t, std::size_t, bool, std::size_t>;
    std::optional<score> best;
    for (std::size_t n = 0; n < in.size(); ++n) {
      if (in[n].closed || !accepts(d, in[n])) continue;
      for (std::size_t k = 0; k < in[n].devices.size(); ++k) {
        const device& at = in[n].devices[k];
        if (at.used == 0 || at.used + milli > 1000) continue;
        const score s{1000 - at.used, n, at.used + at.held + milli > 1000, k};
        if (!best || s < *best) best = s;
      }
    }
    if (!best) return choose_whole(in, d, 1);
    return gpu::pod_location{gpu::node_id{std::get<1>(*best)}, std::uint64_t{1} << std::get<3>(*best)};
  }
};

}  // namespace allot_test

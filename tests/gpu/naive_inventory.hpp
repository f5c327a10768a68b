// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/pod_request.hpp>

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

/// What the inventory must do with best fit, computed from everything on each call: no index, no journal, no
/// node types.
struct naive_inventory {
  struct device {
    std::int64_t used = 0;
    std::int64_t held = 0;

    friend bool operator==(const device&, const device&) = default;
  };
  /// An amount of a host resource; without an amount it is not counted.
  struct host_part {
    std::optional<std::int64_t> all{};
    std::int64_t used = 0;
    std::int64_t held = 0;

    [[nodiscard]] bool has(std::int64_t more) const { return !all || used + more <= *all; }
    [[nodiscard]] bool has_beside_held(std::int64_t more) const { return !all || used + held + more <= *all; }
    friend bool operator==(const host_part&, const host_part&) = default;
  };
  struct node {
    std::uint32_t pool = 0;
    std::uint32_t model = 0;
    std::int64_t gpu_memory = 0;
    std::vector<device> devices{};
    host_part cpu{};
    host_part memory{};
    host_part slots{};
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
  /// One pod of a request: this much of each of this many devices, or this much memory of each.
  struct pod {
    std::int64_t milli = 0;
    std::int64_t devices = 0;
    std::int64_t gpu_memory = 0;
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
  };
  using nodes_type = std::vector<node>;

  explicit naive_inventory(const gpu::cluster& layout) {
    const auto counted = [](std::int64_t amount) {
      host_part part;
      if (amount != 0) part.all = amount;
      return part;
    };
    for (std::size_t n = 0; n < layout.size(); ++n) {
      const gpu::node_spec& s = layout.spec(gpu::node_id{n});
      node made;
      made.pool = layout.find_pool(s.pool).value();
      made.model = layout.find_model(s.gpu_model).value();
      made.gpu_memory = s.gpu_memory_mib;
      made.devices.resize(static_cast<std::size_t>(s.gpus));
      made.cpu = counted(s.cpu_milli);
      made.memory = counted(s.memory_mib);
      made.slots = counted(s.pod_slots);
      nodes.push_back(std::move(made));
    }
  }

  nodes_type nodes;
  std::map<gpu::allocation_id, standing> allocations;

  friend bool operator==(const naive_inventory&, const naive_inventory&) = default;

  /// The pods of a request; nothing if it can't be placed.
  [[nodiscard]] std::optional<std::vector<pod>> pods_of(const gpu::pod_request& d) const {
    const std::int64_t milli = d.gpus.in_milli();
    if (milli < 0 || d.gpus.is_unlimited() || (milli > 1000 && milli % 1000 != 0)) return std::nullopt;
    if (!d.total && d.pods == 0) return std::nullopt;
    if (d.cpu_milli < 0 || d.memory_mib < 0 || d.gpu_memory_mib < 0) return std::nullopt;
    if (d.gpu_memory_mib > 0 && milli > 0) return std::nullopt;
    const bool is_fraction = d.gpu_memory_mib > 0 || (milli > 0 && milli < 1000);
    if (is_fraction ? d.devices == 0 : d.devices != 1) return std::nullopt;
    if (is_fraction) {
      const pod each{milli, d.devices, d.gpu_memory_mib, d.cpu_milli, d.memory_mib};
      return std::vector<pod>(d.total ? 1 : d.pods, each);
    }
    const auto all = milli / 1000;
    const auto part = [&](std::int64_t devices) {
      const auto of = [&](std::int64_t amount) {
        return all == 0 ? amount : (amount * devices + all - 1) / all;
      };
      return pod{1000, devices, 0, of(d.cpu_milli), of(d.memory_mib)};
    };
    if (!d.total) return std::vector<pod>(d.pods, part(all));
    std::int64_t largest = 0;
    for (const node& n : nodes) {
      if (accepts(d, n)) largest = std::max(largest, static_cast<std::int64_t>(n.devices.size()));
    }
    std::vector<pod> pods;
    std::int64_t left = all;
    for (; largest > 0 && left > largest; left -= largest) pods.push_back(part(largest));
    pods.push_back(part(left));
    return pods;
  }

  /// Where best fit puts the pods of a request.
  [[nodiscard]] std::optional<std::vector<gpu::placed_pod>> choose(const gpu::pod_request& d) const {
    const auto wanted = pods_of(d);
    if (!wanted) return std::nullopt;
    nodes_type now = nodes;
    std::vector<gpu::placed_pod> pods;
    for (const pod& p : *wanted) {
      const auto where = choose_one(now, d, p);
      if (!where) return std::nullopt;
      pods.push_back(placed(p, *where));
      use(now, pods.back(), 1);
    }
    return pods;
  }
  /// How many pods like the first one of a request have a place, one after the other.
  [[nodiscard]] std::uint64_t count_room(const gpu::pod_request& d, std::uint64_t most) const {
    const pod one = pods_of(d).value().front();
    nodes_type now = nodes;
    for (std::uint64_t count = 0; count < most; ++count) {
      const auto where = choose_one(now, d, one);
      if (!where) return count;
      use(now, placed(one, *where), 1);
    }
    return most;
  }

  /// A pod at its place.
  [[nodiscard]] gpu::placed_pod placed(const pod& p, const gpu::pod_location& at) const {
    const std::int64_t milli = p.devices == 0 ? 1000 : portion(p, nodes[at.node.index()]);
    return {at, static_cast<std::uint32_t>(milli), p.cpu, p.memory};
  }
  /// For each of its devices, in milli; above 1000 if no device of the node has that much.
  [[nodiscard]] static std::int64_t portion(const pod& p, const node& n) {
    if (p.gpu_memory == 0) return p.milli;
    const std::int64_t counted = n.gpu_memory - n.gpu_memory % 100;
    std::int64_t milli = 1;
    while (milli <= 1000 && milli * counted < 1000 * p.gpu_memory) ++milli;
    return milli;
  }

  /// With nothing on its nodes, all of them open.
  [[nodiscard]] static naive_inventory emptied(naive_inventory from) {
    from.allocations.clear();
    for (node& n : from.nodes) {
      std::fill(n.devices.begin(), n.devices.end(), device{});
      for (host_part* part : {&n.cpu, &n.memory, &n.slots}) *part = {part->all};
      n.closed = false;
    }
    return from;
  }
  /// With hosts that have enough of everything for every pod that they could hold when empty.
  [[nodiscard]] static naive_inventory with_ample_hosts(naive_inventory from) {
    for (node& n : from.nodes) {
      for (host_part* part : {&n.cpu, &n.memory}) part->used = part->all ? -1'000'000 * *part->all : 0;
      n.slots.all.reset();
    }
    return from;
  }

  /// Whether all of these pods, at the same time, have room in the free capacity.
  [[nodiscard]] bool fits(const std::vector<gpu::placed_pod>& pods) const {
    nodes_type now = nodes;
    for (const gpu::placed_pod& p : pods) {
      if (p.where.node.index() >= now.size()) return false;
      const node& n = now[p.where.node.index()];
      if (n.devices.size() < 64 && p.where.devices >> n.devices.size() != 0) return false;
      use(now, p, 1);
      if (!n.cpu.has(0) || !n.memory.has(0) || !n.slots.has(0)) return false;
      for (const device& d : n.devices) {
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
  /// Whether everything placed on its devices and hosts, and everything still held there, fits.
  [[nodiscard]] bool ready(gpu::allocation_id a) const {
    const standing& s = allocations.at(a);
    if (s.vacating) return false;
    for (const gpu::placed_pod& p : s.pods) {
      const node& n = nodes[p.where.node.index()];
      for (std::size_t d = 0; d < n.devices.size(); ++d) {
        if ((p.where.devices >> d & 1U) != 0 && n.devices[d].used + n.devices[d].held > 1000) return false;
      }
      if (p.cpu_milli > 0 && !n.cpu.has_beside_held(0)) return false;
      if (p.memory_mib > 0 && !n.memory.has_beside_held(0)) return false;
      if (!n.slots.has_beside_held(0)) return false;
    }
    return true;
  }

  [[nodiscard]] static bool accepts(const gpu::pod_request& d, const node& n) {
    return (d.pools >> n.pool & 1U) != 0 && (d.models >> n.model & 1U) != 0;
  }
  /// Whether the host could hold the pod when it is empty.
  [[nodiscard]] static bool is_large_enough(const pod& p, const node& n) {
    return p.cpu <= n.cpu.all.value_or(p.cpu) && p.memory <= n.memory.all.value_or(p.memory);
  }

 private:
  static void use(nodes_type& in, const gpu::placed_pod& p, std::int64_t sign) {
    node& n = in[p.where.node.index()];
    for (std::size_t d = 0; d < n.devices.size(); ++d) {
      if ((p.where.devices >> d & 1U) != 0) n.devices[d].used += sign * p.milli;
    }
    n.cpu.used += sign * p.cpu_milli;
    n.memory.used += sign * p.memory_mib;
    n.slots.used += sign;
  }
  void hold(const gpu::placed_pod& p, std::int64_t sign) {
    node& n = nodes[p.where.node.index()];
    for (std::size_t d = 0; d < n.devices.size(); ++d) {
      if ((p.where.devices >> d & 1U) != 0) n.devices[d].held += sign * p.milli;
    }
    n.cpu.held += sign * p.cpu_milli;
    n.memory.held += sign * p.memory_mib;
    n.slots.held += sign;
  }

  /// The free devices of a node that a pod would use: those that are not held first, then the lowest.
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
  /// The shared devices with enough room: the smallest gap first, then one on which it need not wait, then
  /// the lowest.
  [[nodiscard]] static std::vector<std::size_t> shared(const node& n, std::int64_t milli) {
    std::vector<std::size_t> found;
    for (std::size_t d = 0; d < n.devices.size(); ++d) {
      if (n.devices[d].used > 0 && n.devices[d].used + milli <= 1000) found.push_back(d);
    }
    std::stable_sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) {
      const auto score = [&](std::size_t d) {
        const device& at = n.devices[d];
        return std::pair{-at.used, at.used + at.held + milli > 1000};
      };
      return score(a) < score(b);
    });
    return found;
  }

  [[nodiscard]] static std::optional<gpu::pod_location> choose_one(const nodes_type& in,
                                                                   const gpu::pod_request& d, const pod& p) {
    // No gap: the pod would use none of the shared devices.
    constexpr std::int64_t no_gap = 2000;
    using score = std::tuple<std::int64_t, std::int64_t, std::size_t>;
    std::optional<score> best;
    std::uint64_t devices = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const node& n = in[i];
      if (n.closed || !accepts(d, n) || !is_large_enough(p, n)) continue;
      if (!n.cpu.has(p.cpu) || !n.memory.has(p.memory) || !n.slots.has(1)) continue;
      const std::int64_t milli = portion(p, n);
      if (p.devices > 0 && milli > 1000) continue;
      std::vector<std::size_t> beside;
      if (p.devices > 0 && milli < 1000) beside = shared(n, milli);
      const auto few = std::min(static_cast<std::int64_t>(beside.size()), p.devices);
      beside.resize(static_cast<std::size_t>(few));
      if (n.free() < p.devices - few) continue;
      const score s =
          beside.empty() ? score{no_gap, n.free(), i} : score{1000 - n.devices[beside.front()].used, 0, i};
      if (best && !(s < *best)) continue;
      best = s;
      devices = take_free(n, p.devices - few);
      for (const std::size_t k : beside) devices |= std::uint64_t{1} << k;
    }
    if (!best) return std::nullopt;
    return gpu::pod_location{gpu::node_id{std::get<2>(*best)}, devices};
  }
};

}  // namespace allot_test

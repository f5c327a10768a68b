// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/detail/change_log.hpp>
#include <allot/gpu/detail/device_use.hpp>
#include <allot/gpu/detail/occupancy.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/gpu/room.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace gpu {

/// How many pods of one request an inventory will have room for at a time to come, when certain jobs have
/// gone. Unlike `what_if` it is kept: it follows the inventory, at the cost of what has changed. Models
/// `placement_forecast`. All calls must be about one inventory.
///
/// Counts pods of whole GPUs where nothing of the host can be short; other requests can't be counted.
class forecast {
 public:
  /// How a placed job is named.
  using allocation = allocation_id;

  /// Starts over for this request, with no job gone. Returns whether it can be counted. O(nodes).
  [[nodiscard]] bool begin(const occupancy& in, const pod_request& r) {
    const cluster& layout = in.layout();
    const auto pods = split(r, layout);
    if (!pods || r.has_level() || pods->each.depends_on_type()) return false;
    if (pods->each.devices == 0 || pods->each.is_fraction()) return false;
    pods_ = *pods;
    types_.clear();
    largest_ = 0;
    for (const node_type& t : layout.types()) {
      if (detail::may_lack_host(t, pods_.each) || detail::may_lack_host(t, pods_.rest)) return false;
      types_.push_back({t.shape_on(pods_.each).has_value(), pods_.has_rest() && t.shape_on(pods_.rest)});
      largest_ = std::max<std::size_t>(largest_, t.gpus);
    }
    each_ = rest_ = 0;
    if (nodes_.size() == layout.size() && devices_.size() == layout.size() * largest_) {
      // What is used of the devices does not depend on the request.
      bring_all_back(layout);
      look(in);
      return true;
    }
    nodes_.assign(layout.size(), {});
    // As nodes of no devices, until they are looked at.
    devices_.assign(layout.size() * largest_, {1, 1});
    look_at_all(in.index());
    return true;
  }
  /// The job is expected to have gone by then. Precondition: it has its place.
  void gone(const occupancy& in, allocation a) {
    for (const placed_pod& p : in.pods(a)) change(in.layout(), p, -static_cast<std::int32_t>(p.milli));
  }
  /// Undoes `gone`; of a job that is not gone: counts it a second time.
  void back(const occupancy& in, allocation a) {
    for (const placed_pod& p : in.pods(a)) change(in.layout(), p, static_cast<std::int32_t>(p.milli));
  }
  /// Takes in what has changed in the inventory. O(changes), at most O(nodes).
  void look(const occupancy& in) {
    const change_log& changes = in.index().changes();
    const change_log::moment now = changes.now();
    if (seen_.state != now.state) {
      if (!changes.remembers(seen_)) return look_at_all(in.index());
      for (const std::uint32_t n : changes.since(seen_)) look_at(in.index(), node_id{n});
    }
    seen_ = now;
  }
  /// Whether the request fits, or certainly would if others took places of so many of its pods in addition.
  [[nodiscard]] bool fits(std::uint64_t taken = 0) const noexcept {
    return each_ >= pods_.pods + taken && (!pods_.has_rest() || rest_ > pods_.pods + taken);
  }
  /// How many places of its pods a job of this request takes at most, wherever it is placed.
  [[nodiscard]] std::uint64_t most_taken(const occupancy& in, const pod_request& by) const {
    const auto other = split(by, in.layout());
    if (!other) return 0;
    const std::uint64_t each = pods_.each.devices;
    const auto places = [&](std::uint64_t devices) { return (devices + each - 1) / each; };
    return other->pods * places(other->each.devices) + places(other->rest.devices);
  }

  /// Whether it could fit if others take places of at least so many of its pods.
  [[nodiscard]] bool could_fit(std::uint64_t taken) const noexcept { return each_ >= pods_.pods + taken; }
  /// How many places of its pods a job of this request takes at least, wherever it is placed.
  [[nodiscard]] std::uint64_t least_taken(const occupancy& in, const pod_request& by) const {
    const auto other = split(by, in.layout());
    if (!other || other->each.is_fraction() || other->each.depends_on_type()) return 0;
    for (std::size_t t = 0; t < types_.size(); ++t) {
      if (!types_[t].each && in.layout().types()[t].shape_on(other->each)) return 0;
    }
    const std::uint64_t each = pods_.each.devices;
    return other->pods * (other->each.devices / each) + other->rest.devices / each;
  }

 private:
  /// Which of the pods may run on nodes of a type.
  struct type_facts {
    bool each = false;
    bool rest = false;
  };
  struct device {
    /// What was used of it at the last look, and what of that will be.
    std::int32_t used = 0;
    std::int32_t left = 0;
  };
  struct node_count {
    /// How many of its devices are free then.
    std::uint32_t free = 0;
    bool is_open = false;
  };

  void change(const cluster& layout, const placed_pod& p, std::int32_t milli) {
    const std::size_t n = p.where.node.index();
    node_count next = nodes_[n];
    for (std::uint64_t left = p.where.devices; left != 0; left &= left - 1) {
      add(devices_[n * largest_ + device_use::lowest(left)], milli, next);
    }
    count(layout, p.where.node, next);
  }
  static void add(device& d, std::int32_t milli, node_count& on) {
    if (d.left <= 0) --on.free;
    d.left += milli;
    if (d.left <= 0) ++on.free;
  }
  /// No job is gone from the state of the last look, and nothing is counted yet.
  void bring_all_back(const cluster& layout) {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      node_count next{0, nodes_[n].is_open};
      for (std::size_t d = n * largest_; d < (n + 1) * largest_; ++d) {
        devices_[d].left = devices_[d].used;
        next.free += devices_[d].used <= 0 ? 1U : 0U;
      }
      nodes_[n] = {};
      count(layout, node_id{n}, next);
    }
  }
  void look_at_all(const free_index& index) {
    for (std::size_t n = 0; n < nodes_.size(); ++n) look_at(index, node_id{n});
    seen_ = index.changes().now();
  }
  void look_at(const free_index& index, node_id n) {
    node_count next = nodes_[n.index()];
    next.is_open = !index.is_closed(n);
    const std::uint32_t gpus = index.layout().gpus(n);
    for (std::uint32_t d = 0; d < gpus; ++d) {
      device& seen = devices_[n.index() * largest_ + d];
      const auto used = static_cast<std::int32_t>(index.devices().used(n, d));
      if (used == seen.used) continue;
      add(seen, used - seen.used, next);
      seen.used = used;
    }
    count(index.layout(), n, next);
  }
  /// The node is as in `next` from now on.
  void count(const cluster& layout, node_id n, const node_count& next) {
    const type_facts& may = types_[layout.position_of(n).type];
    node_count& c = nodes_[n.index()];
    const std::uint32_t before = c.is_open ? c.free : 0;
    const std::uint32_t after = next.is_open ? next.free : 0;
    c = next;
    if (may.each) each_ = each_ - before / pods_.each.devices + after / pods_.each.devices;
    if (may.rest) {
      const std::uint32_t least = pods_.rest.devices;
      rest_ = rest_ - (before >= least ? 1U : 0U) + (after >= least ? 1U : 0U);
    }
  }

  pod_split pods_{};
  vector<type_facts> types_;
  std::size_t largest_ = 0;
  /// How many pods fit, and on how many nodes the smaller one fits.
  std::uint64_t each_ = 0;
  std::uint64_t rest_ = 0;
  vector<node_count> nodes_;
  /// By node and device.
  vector<device> devices_;
  change_log::moment seen_{};
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

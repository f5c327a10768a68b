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

  /// Starts over for this request, with nobody gone. Returns whether it can be counted. O(nodes).
  [[nodiscard]] bool begin(const occupancy& in, const pod_request& d) {
    const cluster& layout = in.layout();
    const auto pods = split(d, layout);
    if (!pods || d.has_level() || pods->each.depends_on_type()) return false;
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
    nodes_.assign(layout.size(), {});
    credit_.assign(layout.size() * largest_, 0);
    recount_all(in.index());
    return true;
  }
  /// The job is expected to have gone by then. Precondition: it has its place.
  void gone(const occupancy& in, allocation a) {
    for (const placed_pod& p : in.pods(a)) change(in.index(), p, static_cast<std::int32_t>(p.milli));
  }
  /// Undoes `gone`; of a job that is not gone: counts it a second time.
  void back(const occupancy& in, allocation a) {
    for (const placed_pod& p : in.pods(a)) change(in.index(), p, -static_cast<std::int32_t>(p.milli));
  }
  /// Takes in what has changed in the inventory. O(changes), at most O(nodes).
  void look(const occupancy& in) {
    const change_log& changes = in.index().changes();
    const change_log::moment now = changes.now();
    if (seen_.state != now.state) {
      if (!changes.remembers(seen_)) return recount_all(in.index());
      for (const std::uint32_t n : changes.since(seen_)) recount(in.index(), node_id{n});
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

 private:
  /// Which of the pods may run on nodes of a type.
  struct type_facts {
    bool each = false;
    bool rest = false;
  };
  struct node_count {
    /// Its devices of which something is credited.
    std::uint64_t credited = 0;
    /// How many of its devices are free then; none if it is closed.
    std::uint32_t free = 0;
  };

  void change(const free_index& index, const placed_pod& p, std::int32_t milli) {
    const std::size_t n = p.where.node.index();
    for (std::uint64_t left = p.where.devices; left != 0; left &= left - 1) {
      const std::uint32_t d = device_use::lowest(left);
      std::int32_t& credit = credit_[n * largest_ + d];
      credit += milli;
      const std::uint64_t bit = std::uint64_t{1} << d;
      nodes_[n].credited = credit != 0 ? nodes_[n].credited | bit : nodes_[n].credited & ~bit;
    }
    recount(index, p.where.node);
  }
  void recount_all(const free_index& index) {
    for (std::size_t n = 0; n < nodes_.size(); ++n) recount(index, node_id{n});
    seen_ = index.changes().now();
  }
  void recount(const free_index& index, node_id n) {
    const type_facts& may = types_[index.layout().position_of(n).type];
    if (!may.each && !may.rest) return;
    node_count& c = nodes_[n.index()];
    std::uint32_t free = 0;
    if (!index.is_closed(n)) {
      free = static_cast<std::uint32_t>(std::popcount(index.free_devices(n) & ~c.credited));
      for (std::uint64_t left = c.credited; left != 0; left &= left - 1) {
        const std::uint32_t d = device_use::lowest(left);
        const auto used = static_cast<std::int32_t>(index.devices().used(n, d));
        if (used <= credit_[n.index() * largest_ + d]) ++free;
      }
    }
    if (free == c.free) return;
    if (may.each) each_ = each_ - c.free / pods_.each.devices + free / pods_.each.devices;
    if (may.rest) {
      const std::uint32_t least = pods_.rest.devices;
      rest_ = rest_ - (c.free >= least ? 1U : 0U) + (free >= least ? 1U : 0U);
    }
    c.free = free;
  }

  pod_split pods_{};
  vector<type_facts> types_;
  std::size_t largest_ = 0;
  /// How many pods fit, and on how many nodes the smaller one fits.
  std::uint64_t each_ = 0;
  std::uint64_t rest_ = 0;
  vector<node_count> nodes_;
  /// By node and device: how much less will be used of it than now.
  vector<std::int32_t> credit_;
  change_log::moment seen_{};
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

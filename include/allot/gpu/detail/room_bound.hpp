// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/detail/change_log.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Whether a request could fit if whole groups of running jobs were evicted: a no is certain, a yes is not.
/// So a search that could only fail need not begin.
///
/// For every node it keeps how much of its GPUs each group has, and adds this to what is free: two halves of
/// different devices count as a whole GPU, and the host counts as empty. Two bytes per node and group; groups
/// beyond `most_bytes` are not counted, and a request that could be given their GPUs might always fit.
class room_bound {
 public:
  /// Of 100,000 quotas on 10,000 nodes all would take 2 GB.
  static constexpr std::size_t most_bytes = std::size_t{1} << 27U;

  /// The placed pod is in that group from now on. Allocates for a new group.
  void add(const cluster& layout, std::size_t group, const placed_pod& pod) {
    if (position_.empty()) look_up(layout);
    if (!is_counted(group)) return;
    if ((group + 1) * nodes_ > of_group_.size()) of_group_.resize((group + 1) * nodes_);
    milli_of(group, pod) = static_cast<std::uint16_t>(milli_of(group, pod) + milli(pod));
  }
  /// It no longer is. Precondition: it was.
  void remove(std::size_t group, const placed_pod& pod) {
    if (!is_counted(group)) return;
    ALLOT_ASSERT(milli_of(group, pod) >= milli(pod), "the pod is not in that group");
    milli_of(group, pod) = static_cast<std::uint16_t>(milli_of(group, pod) - milli(pod));
  }

  /// False if the request would not fit even with all of these groups evicted. O(types + nodes x groups), and
  /// O(devices of a node) for each node that changed since the last call; less if the result is true.
  [[nodiscard]] bool may_have_room(const free_index& index, const pod_request& r,
                                   std::span<const std::uint32_t> groups) {
    const cluster& layout = index.layout();
    const auto pods = split(r, layout);
    if (!pods || pods->each.devices == 0 || !pods->each.mig.is_none()) return true;
    if (position_.empty()) look_up(layout);
    if (!allot::detail::all_of(groups.begin(), groups.end(), [&](std::uint32_t g) { return is_counted(g); }))
      return true;
    catch_up(index);
    std::uint64_t each = 0;
    std::uint64_t rest = 0;
    const auto suffices = [&] { return each >= pods->pods && (!pods->has_rest() || rest > pods->pods); };
    for (std::size_t t = 0; t < layout.types().size(); ++t) {
      const node_type& type = layout.types()[t];
      const std::uint32_t for_each_pod = milli_on(type, pods->each);
      const std::uint32_t for_rest = pods->has_rest() ? milli_on(type, pods->rest) : never;
      if (for_each_pod == never && for_rest == never) continue;
      for (std::size_t first = 0; first < type.nodes.size(); first += block) {
        const std::size_t count = std::min(block, type.nodes.size() - first);
        const std::array<std::uint32_t, block> most = most_of(first_of_type_[t] + first, count, groups);
        for (std::size_t i = 0; i < count; ++i) {
          if (most[i] < std::min(for_each_pod, for_rest) || index.is_closed(type.nodes[first + i])) continue;
          if (for_each_pod != never) each += most[i] / for_each_pod;
          if (most[i] >= for_rest) ++rest;
        }
        if (suffices()) return true;
      }
    }
    return false;
  }

 private:
  static constexpr std::size_t block = 64;
  static constexpr std::uint32_t never = ~std::uint32_t{0};
  static_assert(max_gpus_per_node * milli_per_gpu <= 0xffff);

  [[nodiscard]] static std::uint32_t milli(const placed_pod& pod) noexcept {
    return count_devices(pod.where.devices) * pod.milli;
  }
  /// The least that a pod takes of the GPUs of a node.
  [[nodiscard]] static std::uint32_t milli_on(const node_type& type, const pod_shape& pod) {
    const auto here = type.shape_on(pod);
    return here && here->devices > 0 ? here->devices * here->milli : never;
  }
  [[nodiscard]] bool is_counted(std::size_t group) const noexcept {
    return (group + 1) * nodes_ * sizeof(std::uint16_t) <= most_bytes;
  }
  [[nodiscard]] std::uint16_t& milli_of(std::size_t group, const placed_pod& pod) {
    return of_group_[group * nodes_ + position_[pod.where.node.index()]];
  }

  void look_up(const cluster& layout) {
    nodes_ = layout.size();
    position_.resize(nodes_);
    first_of_type_.clear();
    std::uint32_t next = 0;
    for (const node_type& t : layout.types()) {
      first_of_type_.push_back(next);
      for (const node_id n : t.nodes) position_[n.index()] = next++;
    }
  }
  void catch_up(const free_index& index) {
    const change_log& log = index.changes();
    if (free_.size() == nodes_ && log.remembers(seen_)) {
      for (const std::uint32_t n : log.since(seen_)) look(index, node_id{n});
    } else {
      free_.resize(nodes_);
      for (std::size_t n = 0; n < nodes_; ++n) look(index, node_id{n});
    }
    seen_ = log.now();
  }
  void look(const free_index& index, node_id n) {
    std::uint32_t free = 0;
    for (std::uint32_t d = 0; d < index.layout().gpus(n); ++d) free += index.devices().gap(n, d);
    free_[position_[n.index()]] = static_cast<std::uint16_t>(free);
  }
  /// The most that could be free on each of `count` nodes from a position on.
  [[nodiscard]] std::array<std::uint32_t, block> most_of(std::size_t first, std::size_t count,
                                                         std::span<const std::uint32_t> groups) const {
    std::array<std::uint32_t, block> most{};
    const auto add = [&most, count](const std::uint16_t* of) {
      // A loop over a whole block is one that compilers vectorize: a third of the time of `reclaim_in_vain`.
      if (count == block) {
        for (std::size_t i = 0; i < block; ++i) most[i] += of[i];
      } else {
        for (std::size_t i = 0; i < count; ++i) most[i] += of[i];
      }
    };
    add(free_.data() + first);
    for (const std::uint32_t g : groups) {
      if ((g + 1) * nodes_ <= of_group_.size()) add(of_group_.data() + g * nodes_ + first);
    }
    return most;
  }

  std::size_t nodes_ = 0;
  /// By node: its position in the arrays below, which are grouped by type.
  vector<std::uint32_t> position_;
  vector<std::uint32_t> first_of_type_;
  /// By position: its free GPUs as of `seen_`, in milli.
  vector<std::uint16_t> free_;
  change_log::moment seen_{};
  /// By group and position: what the group has of them.
  vector<std::uint16_t> of_group_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

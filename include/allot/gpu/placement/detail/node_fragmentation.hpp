// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/typical_pods.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v0 {
namespace gpu {

/// The free parts of the devices of one node, in milli, largest first; full devices are left out.
class gap_list {
 public:
  gap_list() = default;
  gap_list(const free_index& from, node_id n) {
    const device_use& use = from.devices();
    for (std::uint32_t d = 0; d < use.count(n); ++d) add(use.gap(n, d));
  }

  [[nodiscard]] std::span<const std::uint16_t> values() const noexcept { return {gaps_.data(), size_}; }

  void add(std::uint32_t gap) {
    if (gap == 0) return;
    ALLOT_ASSERT(size_ < gaps_.size(), "more devices than a node can have");
    std::size_t at = size_++;
    for (; at > 0 && gaps_[at - 1] < gap; --at) gaps_[at] = gaps_[at - 1];
    gaps_[at] = static_cast<std::uint16_t>(gap);
  }
  /// Precondition: a device has that gap.
  void replace(std::uint32_t gap, std::uint32_t by) {
    std::size_t at = 0;
    while (gaps_[at] != gap) {
      ++at;
      ALLOT_ASSERT(at < size_, "no device has that gap");
    }
    --size_;
    for (; at < size_; ++at) gaps_[at] = gaps_[at + 1];
    add(by);
  }

 private:
  /// What is beyond the size is not read.
  std::array<std::uint16_t, max_gpus_per_node> gaps_;
  std::size_t size_ = 0;
};

/// How much of the free capacity of a node is a fragment: F of "Beware of Fragmentation" (Weng et al., ATC
/// 2023). For one kind of pod this is all that is free, if the node lacks the CPU or the GPUs for it, if it
/// may not run there, or if it needs no GPUs; else what is free of the devices that have too little for it. F
/// is the mean over the typical pods, by weight.
///
/// A MIG instance counts as the portion of a device that it takes, wherever on the device there is room.
///
/// Compiled for the node types of a cluster: F of a node costs O(devices + kinds of GPU requests), however
/// many CPU requests there are.
class node_fragmentation {
 public:
  node_fragmentation() = default;
  /// O(types x pods log pods).
  node_fragmentation(const cluster& layout, const typical_pods& typical) : weight_(typical.weight()) {
    types_.reserve(layout.types().size());
    for (const node_type& t : layout.types()) types_.push_back(compile(t, typical));
  }

  /// The factor by which the result of `of` is scaled.
  [[nodiscard]] std::int64_t weight() const noexcept { return weight_; }

  /// F in milli, times `weight()`, of a node of this type with these gaps and this much free CPU.
  [[nodiscard]] std::int64_t of(std::size_t type, const gap_list& gaps, std::int64_t free_cpu_milli) const {
    if (weight_ == 0) return 0;
    ALLOT_ASSERT(type < types_.size(), "made for a cluster without such a type");
    const table& t = types_[type];
    const auto left = gaps.values();
    const auto enough = static_cast<std::size_t>(
        std::upper_bound(t.cpu_milli.begin(), t.cpu_milli.end(), free_cpu_milli) - t.cpu_milli.begin());
    std::int64_t usable = 0;
    std::int64_t at_least = 0;
    std::size_t count = 0;
    const std::int64_t* weights = t.weights.data();
    for (const request& r : t.requests) {
      for (; count < left.size() && left[count] >= r.milli; ++count) at_least += left[count];
      if (count >= r.devices) usable += weights[enough] * at_least;
      weights += t.cpu_milli.size() + 1;
    }
    std::int64_t all = at_least;
    for (; count < left.size(); ++count) all += left[count];
    return weight_ * all - usable;
  }
  /// F of a node as it is.
  [[nodiscard]] std::int64_t of(const free_index& from, node_id n) const {
    return of(from.layout().position_of(n).type, gap_list{from, n}, free_cpu(from, n));
  }

  /// The free CPU of a node; practically unlimited if it is not counted.
  [[nodiscard]] static std::int64_t free_cpu(const free_index& from, node_id n) {
    return from.layout().type_of(n).counts_cpu() ? from.hosts().free_cpu_milli(n) : max_host_amount;
  }

  friend bool operator==(const node_fragmentation&, const node_fragmentation&) = default;

 private:
  struct request {
    std::uint32_t milli = 0;
    std::uint32_t devices = 0;

    friend bool operator==(const request&, const request&) = default;
  };
  struct table {
    /// The distinct CPU requests, in ascending order.
    vector<std::int64_t> cpu_milli;
    /// The GPU requests, largest portion of a device first.
    vector<request> requests;
    /// For each GPU request and each k: the weight of the pods with that request and one of the k lowest CPU
    /// requests.
    vector<std::int64_t> weights;

    friend bool operator==(const table&, const table&) = default;
  };

  [[nodiscard]] static table compile(const node_type& type, const typical_pods& typical) {
    struct usable_pod {
      request what;
      std::int64_t cpu_milli;
      std::int64_t weight;
    };
    table made;
    vector<usable_pod> pods;
    for (const typical_pod& p : typical.pods()) {
      const auto here = type.shape_on(p.pod);
      if (!here || here->devices == 0) continue;
      pods.push_back({{here->milli, here->devices}, here->cpu_milli, p.weight});
      made.cpu_milli.push_back(here->cpu_milli);
    }
    allot::detail::sort(made.cpu_milli.begin(), made.cpu_milli.end());
    made.cpu_milli.erase(std::unique(made.cpu_milli.begin(), made.cpu_milli.end()), made.cpu_milli.end());
    allot::detail::sort(pods.begin(), pods.end(), [](const usable_pod& a, const usable_pod& b) {
      if (a.what.milli != b.what.milli) return a.what.milli > b.what.milli;
      if (a.what.devices != b.what.devices) return a.what.devices < b.what.devices;
      return a.cpu_milli < b.cpu_milli;
    });
    const std::size_t row = made.cpu_milli.size() + 1;
    for (const usable_pod& p : pods) {
      if (made.requests.empty() || made.requests.back() != p.what) {
        made.requests.push_back(p.what);
        made.weights.resize(made.weights.size() + row);
      }
      const auto at = std::lower_bound(made.cpu_milli.begin(), made.cpu_milli.end(), p.cpu_milli);
      const auto first = static_cast<std::size_t>(at - made.cpu_milli.begin()) + 1;
      for (std::size_t k = first; k < row; ++k) made.weights[made.weights.size() - row + k] += p.weight;
    }
    return made;
  }

  std::int64_t weight_ = 0;
  vector<table> types_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

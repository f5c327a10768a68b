// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/detail/change_log.hpp>
#include <allot/gpu/detail/fingerprint.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// What a policy keeps of all nodes for each pod shape: an `Index` of values (`score_index`, `node_set`),
/// updated by visiting only the nodes that changed since the last use. Holds at most `most_shapes`; beyond
/// that, the least recently used one is dropped.
///
/// A copy is empty: it belongs to another policy, which may serve another cluster. That no value is out of
/// date does not depend on this, but on `change_log::remembers`.
template <class Index>
class shape_cache {
 public:
  explicit shape_cache(std::size_t most_shapes) : most_(std::max<std::size_t>(most_shapes, 1)) {}
  shape_cache(const shape_cache& o) : most_(o.most_) {}
  shape_cache& operator=(const shape_cache& o) {
    if (this == &o) return *this;
    most_ = o.most_;
    forget();
    return *this;
  }
  shape_cache(shape_cache&&) noexcept = default;
  shape_cache& operator=(shape_cache&&) noexcept = default;
  ~shape_cache() = default;

  [[nodiscard]] std::size_t most_shapes() const noexcept { return most_; }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  /// Call this when the values depend on something else from now on.
  void forget() noexcept {
    keys_.clear();
    entries_.clear();
  }

  /// The index for this shape, with the current `value_of(node)` of every node. O(shapes), and one call of
  /// `value_of` for each node changed since, at most one for each node of the cluster. Allocates for new
  /// shapes until there are `most_shapes`.
  template <class ValueOf>
  [[nodiscard]] const Index& look(const free_index& from, const pod_shape& pod, ValueOf value_of) {
    entry& e = entry_of(pod);
    const change_log& log = from.changes();
    if (const change_log::moment now = log.now(); e.seen != now) {
      const auto value = [&](std::size_t n) { return value_of(node_id{n}); };
      if (!log.remembers(e.seen) || log.since(e.seen).size() >= from.layout().size()) {
        e.index.assign(from.layout().size(), value);
      } else {
        // A node that changed many times in a row is visited once.
        const auto changed = log.since(e.seen);
        for (std::size_t i = 0; i < changed.size(); ++i) {
          if (i + 1 == changed.size() || changed[i] != changed[i + 1])
            e.index.set(changed[i], value(changed[i]));
        }
      }
      e.seen = now;
    }
    return e.index;
  }

 private:
  struct entry {
    pod_shape pod;
    /// No log starts with number 0.
    change_log::moment seen{};
    std::uint64_t last_use = 0;
    Index index{};
  };

  [[nodiscard]] static std::uint64_t key_of(const pod_shape& p) noexcept {
    std::uint64_t key = (std::uint64_t{p.devices} << 32U) ^ p.milli;
    for (const std::uint64_t word :
         {p.pools, p.models, static_cast<std::uint64_t>(p.cpu_milli),
          static_cast<std::uint64_t>(p.memory_mib), static_cast<std::uint64_t>(p.gpu_memory_mib),
          std::uint64_t{p.mig.is_none() ? 0 : p.mig.index() + 1}}) {
      key = (key ^ word) * 0x9E3779B97F4A7C15U;
      key ^= key >> 32U;
    }
    return key;
  }

  [[nodiscard]] entry& entry_of(const pod_shape& pod) {
    ++uses_;
    const std::uint64_t key = key_of(pod);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i] == key && entries_[i].pod == pod.room_key()) {
        entries_[i].last_use = uses_;
        return entries_[i];
      }
    }
    std::size_t at = entries_.size();
    if (at < most_) {
      keys_.push_back(key);
      entries_.push_back({});
    } else {
      const auto oldest =
          std::min_element(entries_.begin(), entries_.end(),
                           [](const entry& a, const entry& b) { return a.last_use < b.last_use; });
      at = static_cast<std::size_t>(oldest - entries_.begin());
    }
    keys_[at] = key;
    entry& e = entries_[at];
    e.pod = pod.room_key();
    e.seen = {};
    e.last_use = uses_;
    return e;
  }

  std::size_t most_;
  std::uint64_t uses_ = 0;
  /// Contiguous, because most of them are only skipped.
  vector<std::uint64_t> keys_;
  vector<entry> entries_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

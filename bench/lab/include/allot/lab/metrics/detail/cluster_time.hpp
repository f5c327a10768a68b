// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/fragmentation.hpp>
#include <allot/lab/metrics/cluster_moment.hpp>
#include <allot/lab/metrics/figures.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/places.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace allot {
inline namespace v0 {
namespace lab {

/// The capacity of a cluster over time and how much of it was idle; `metrics` defines the figures. Without
/// nodes the capacity is that of the roots of the quota tree.
class cluster_time {
 public:
  /// Fragments (FGD's F) are what the typical pods of these jobs could not use.
  template <std::size_t N>
  void begin(const sim::places& where, const sim::workload_view<N>& workload) {
    if (!where.has_nodes()) return;
    const gpu::cluster& layout = where.inventory().layout();
    models_ = layout.models().size();
    pools_ = layout.pools().size();
    types_.clear();
    for (const gpu::node_type& t : layout.types()) types_.push_back({t.model, t.pool});
    now_.types.assign(types_.size(), {});
    fragments_.emplace(layout, typical_pods_of(layout, workload));
  }
  /// Takes in the current state.
  template <std::size_t N>
  void look(const sim::places& where, const ledger<N>& accounts, const per_dimension<bool, N>& gpus) {
    if (where.has_nodes()) {
      const gpu::free_index& index = where.inventory().index();
      capacity_ = index.layout().gpus() - index.closed_in(gpu::all_pools);
      fragmented_ = fragmented_gpus(index);
      largest_gang_ = largest_gang(index);
      if (fragments_) fragments_->look(index);
      look_at_types(index);
    } else {
      capacity_ = {};
      for (const quota_id root : accounts.tree().roots()) {
        for (std::size_t d = 0; d < N; ++d) {
          if (gpus[d]) capacity_ += std::max(quantity{}, accounts.total_supply(root, d));
        }
      }
    }
    is_bounded_ = is_bounded_ && capacity_.is_bounded();
  }
  /// For this long the state was that of the last call, with this much in use, and with that much gathered.
  void pass(instant span, std::int64_t used, bool any_lacks_a_place, std::int64_t gathered = 0) {
    const auto times_span = [span](std::int64_t value) {
      return static_cast<wide>(value) * static_cast<wide>(span);
    };
    if (capacity_.is_bounded()) {
      const std::int64_t free = std::max<std::int64_t>(0, capacity_.in_milli() - used);
      const wide idle = times_span(free);
      now_.capacity += times_span(capacity_.in_milli());
      now_.idle += idle;
      now_.idle_while_gathered += times_span(std::min(free, gathered));
      if (any_lacks_a_place) now_.idle_while_unplaceable += idle;
    }
    now_.fragmented += times_span(fragmented_);
    if (fragments_) now_.weighted_fragments += fragments_->weighted_fragments() * static_cast<wide>(span);
    for (std::size_t t = 0; t < types_.size(); ++t) {
      now_.types[t].capacity += times_span(types_[t].capacity);
      now_.types[t].allocated += times_span(types_[t].used);
    }
    if (!largest_gang_) return;
    now_.largest_gang += times_span(*largest_gang_);
    now_.smallest = std::min(now_.smallest.value_or(*largest_gang_), *largest_gang_);
  }
  /// Fixes the figures at those up to now.
  void mark() { marked_ = now_; }

  [[nodiscard]] quantity capacity() const noexcept { return capacity_; }

  /// Reports the figures up to the last mark.
  void tell(run_figures& all) const {
    const integrals& f = marked_;
    all.capacity = f.capacity;
    all.capacity_is_bounded = is_bounded_;
    all.idle = f.idle;
    all.stranded = f.fragmented;
    all.idle_while_unplaceable = f.idle_while_unplaceable;
    all.idle_while_gathered = f.idle_while_gathered;
    all.largest_gang = f.largest_gang;
    all.models.assign(models_, {});
    all.pools.assign(pools_, {});
    for (std::size_t t = 0; t < f.types.size(); ++t) {
      for (part_figures* const part : {&all.models[types_[t].model], &all.pools[types_[t].pool]}) {
        part->capacity += f.types[t].capacity;
        part->allocated += f.types[t].allocated;
      }
    }
    if (fragments_ && fragments_->weight() != 0) {
      all.fragments = f.weighted_fragments / static_cast<wide>(fragments_->weight());
    }
    all.smallest_largest_gang = f.smallest;
  }

 private:
  struct integrals {
    wide capacity = 0;
    wide idle = 0;
    wide fragmented = 0;
    wide idle_while_unplaceable = 0;
    wide idle_while_gathered = 0;
    wide weighted_fragments = 0;
    wide largest_gang = 0;
    std::optional<std::int64_t> smallest{};
    /// By node type.
    vector<part_figures> types{};
  };
  /// Nodes of one type; in milli-GPUs.
  struct type_state {
    std::uint32_t model = 0;
    std::uint32_t pool = 0;
    std::int64_t capacity = 0;
    std::int64_t used = 0;
  };

  void look_at_types(const gpu::free_index& index) {
    const auto& types = index.layout().types();
    for (std::size_t t = 0; t < types_.size(); ++t) {
      const auto devices = static_cast<std::int64_t>(types[t].gpus * types[t].nodes.size());
      types_[t].capacity = devices * gpu::milli_per_gpu - index.closed_of(t);
      types_[t].used = index.used_of(t);
    }
  }

  quantity capacity_;
  std::int64_t fragmented_ = 0;
  std::optional<std::int64_t> largest_gang_{};
  std::optional<gpu::fragmentation> fragments_{};
  vector<type_state> types_;
  std::size_t models_ = 0;
  std::size_t pools_ = 0;
  integrals now_;
  integrals marked_;
  bool is_bounded_ = true;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/gpu/figures.hpp>
#include <allot/gpu/fragmentation.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/sim/cluster_moment.hpp>
#include <allot/sim/figures.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/places.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace allot {
inline namespace v0 {
namespace sim {

/// What there was of a cluster over time, and how it was left idle; `metrics` says what the figures are.
/// Without nodes the capacity is what the roots of the quota tree have.
class cluster_time {
 public:
  /// Fragments (FGD's F) are what the typical pods of these jobs could not use.
  template <std::size_t N>
  void begin(const places& where, std::span<const job<N>> jobs) {
    if (!where.has_nodes()) return;
    const gpu::cluster& layout = where.inventory().layout();
    fragments_.emplace(layout, typical_pods_of(layout, jobs));
  }
  /// How it is from now on.
  template <std::size_t N>
  void look(const places& where, const ledger<N>& accounts, const per_dimension<bool, N>& gpus) {
    if (where.has_nodes()) {
      const gpu::free_index& index = where.inventory().index();
      capacity_ = index.layout().gpus() - index.closed_in(gpu::all_pools);
      fragmented_ = fragmented_gpus(index);
      largest_gang_ = sim::largest_gang(index);
      if (fragments_) fragments_->look(index);
      look_at_models(index);
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
  /// So long it has been as at the last look, with so much in use.
  void pass(instant span, std::int64_t used, bool anyone_lacks_a_place) {
    const auto times_span = [span](std::int64_t value) {
      return static_cast<wide>(value) * static_cast<wide>(span);
    };
    if (capacity_.is_bounded()) {
      const wide idle = times_span(std::max<std::int64_t>(0, capacity_.in_milli() - used));
      now_.capacity += times_span(capacity_.in_milli());
      now_.idle += idle;
      if (anyone_lacks_a_place) now_.idle_while_unplaceable += idle;
    }
    now_.fragmented += times_span(fragmented_);
    if (fragments_) now_.weighted_fragments += fragments_->weighted_fragments() * static_cast<wide>(span);
    for (std::size_t m = 0; m < models_.size(); ++m) {
      now_.models[m].capacity += times_span(models_[m].capacity);
      now_.models[m].allocated += times_span(models_[m].used);
    }
    if (!largest_gang_) return;
    now_.largest_gang += times_span(*largest_gang_);
    now_.smallest = std::min(now_.smallest.value_or(*largest_gang_), *largest_gang_);
  }
  /// The figures are those up to now.
  void mark() { marked_ = now_; }

  [[nodiscard]] quantity capacity() const noexcept { return capacity_; }

  /// The figures up to the last mark, or up to now.
  void tell(run_figures& all, bool up_to_mark) const {
    const integrals& f = up_to_mark ? marked_ : now_;
    all.capacity = f.capacity;
    all.capacity_is_bounded = is_bounded_;
    all.idle = f.idle;
    all.stranded = f.fragmented;
    all.idle_while_unplaceable = f.idle_while_unplaceable;
    all.largest_gang = f.largest_gang;
    all.models = f.models;
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
    wide weighted_fragments = 0;
    wide largest_gang = 0;
    std::optional<std::int64_t> smallest{};
    std::vector<model_figures> models{};
  };
  /// In milli-GPUs.
  struct model_state {
    std::int64_t capacity = 0;
    std::int64_t used = 0;
  };

  void look_at_models(const gpu::free_index& index) {
    models_.assign(index.layout().models().size(), {});
    now_.models.resize(models_.size());
    for (std::size_t m = 0; m < models_.size(); ++m) {
      const gpu::gpu_usage u = gpu::usage_in(index, gpu::all_pools, std::uint64_t{1} << m);
      models_[m] = {(u.capacity - u.closed).in_milli(), u.used.in_milli()};
    }
  }

  quantity capacity_;
  std::int64_t fragmented_ = 0;
  std::optional<std::int64_t> largest_gang_{};
  std::optional<gpu::fragmentation> fragments_{};
  std::vector<model_state> models_;
  integrals now_;
  integrals marked_;
  bool is_bounded_ = true;
};

}  // namespace sim
}  // namespace v0
}  // namespace allot

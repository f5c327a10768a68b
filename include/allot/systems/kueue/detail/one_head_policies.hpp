// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/systems/kueue/detail/entry_order.hpp>
#include <allot/systems/kueue/detail/fair_share_targets.hpp>
#include <allot/systems/kueue/detail/flavored_share.hpp>
#include <allot/systems/kueue/detail/hierarchical_reclaim.hpp>
#include <allot/systems/kueue/detail/one_head_cycle.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {

/// The order of the jobs of one quota, as its settings say. It does not declare that it follows priority: in
/// Kueue the priority belongs to what makes jobs equivalent, so that a job is tried even if an equal one of
/// higher priority was found inadmissible: what was kept free for that one may differ.
struct by_shape {
  template <job_view View>
  [[nodiscard]] std::int64_t operator()(const View& view, const typename View::job& job,
                                        const queue_settings& of_quota) const {
    return by_settings{}(view, job, of_quota);
  }
};

/// The parts of Kueue without fair sharing.
struct one_head_by_priority {
  template <class Session>
  using cycle = one_head_cycle<Session, one_head_by_priority>;
  template <std::size_t N>
  using search_type = hierarchical_reclaim<N>;
  template <std::size_t N>
  using entry_order_type = nearest_loan_first<N>;

  template <std::size_t N>
  [[nodiscard]] search_type<N> search() const {
    return {};
  }
  template <std::size_t N>
  [[nodiscard]] entry_order_type<N> entry_order() const {
    return {};
  }

  by_shape jobs{};
  /// In Kueue every workload borrows, whether or not it can be preempted.
  capacity_kind not_preemptible = capacity_kind::any;
  /// Whether a head that is passed over goes on with its next flavors in the next cycle (Kueue's gate
  /// FlavorFungibilityPreserveScanProgress); otherwise it starts over with the first.
  bool preserve_scan_progress = true;
  /// Whether a head whose victims were claimed to an earlier one looks for others in the same cycle (Kueue's
  /// gate RecomputeAssignmentUponPreemptionTargetsOverlap); otherwise it is passed over.
  bool recompute_overlaps = true;
};

/// The parts of Kueue with fair sharing.
struct one_head_by_share {
  template <class Session>
  using cycle = one_head_cycle<Session, one_head_by_share>;
  template <std::size_t N>
  using search_type = fair_share_targets<N>;
  template <std::size_t N>
  using entry_order_type = lowest_share_first<N>;

  template <std::size_t N>
  [[nodiscard]] search_type<N> search() const {
    return search_type<N>{rules, numbers<N>(), float_shares};
  }
  template <std::size_t N>
  [[nodiscard]] entry_order_type<N> entry_order() const {
    return entry_order_type<N>{numbers<N>(), float_shares};
  }

  by_shape jobs{};
  capacity_kind not_preemptible = capacity_kind::any;
  /// When preempting another quota's job is fair.
  share_rules rules{};
  /// By dimension, the number of the resource of which it is a flavor; each dimension not listed is a
  /// resource of its own.
  vector<std::uint8_t> resource_of{};
  /// Whether shares are rounded as Kueue's floating-point numbers are, rather than exact.
  bool float_shares = false;
  /// As in `one_head_by_priority`.
  bool preserve_scan_progress = true;
  bool recompute_overlaps = true;

 private:
  template <std::size_t N>
  [[nodiscard]] resource_numbers<N> numbers() const {
    resource_numbers<N> all = unflavored<N>();
    for (std::size_t d = 0; d < N && d < resource_of.size(); ++d) all[d] = resource_of[d];
    return all;
  }
};

}  // namespace v0
}  // namespace allot

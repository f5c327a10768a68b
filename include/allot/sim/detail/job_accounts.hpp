// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/pod_counts.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/result.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/change.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/sim/job.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace sim {

/// What the jobs of a simulation hold and request of the user's quotas, however the policy treats those: the
/// usage is that of the running pods, under their flavors.
///
/// A job requests all its pods from its submission until it ends; until it has flavors, of its first ones.
template <std::size_t N>
class job_accounts {
 public:
  job_accounts(quota_tree<N> quotas, workload_view<N> jobs) : ledger_(std::move(quotas)), jobs_(jobs) {
    grow_to_tree();
  }

  [[nodiscard]] const allot::ledger<N>& ledger() const noexcept { return ledger_; }
  /// What each quota's own jobs request, by id.
  [[nodiscard]] std::span<const resources<N>> demand() const noexcept { return demand_; }
  /// The number of pending jobs of each quota, by id.
  [[nodiscard]] std::span<const std::uint32_t> waiting() const noexcept { return waiting_; }
  /// The number of pods that running jobs lack.
  [[nodiscard]] std::uint64_t lacking() const noexcept { return lacking_; }
  /// What the job requests under a choice of flavors.
  [[nodiscard]] resources<N> wanted(job_index j, const flavor_pick& pick) const {
    return jobs_.amount(j, jobs_.pods(j), pick);
  }

  /// The job is pending from now on.
  void come(job_index j) {
    demand_[at(j)] += wanted(j, {});
    ++waiting_[at(j)];
  }
  /// A pending job that had, or would first have had, flavors `before` starts with these and this many pods.
  void start(job_index j, const flavor_pick& before, const flavor_pick& pick, std::uint32_t pods) {
    if (before != pick) {
      demand_[at(j)] -= wanted(j, before);
      demand_[at(j)] += wanted(j, pick);
    }
    --waiting_[at(j)];
    ledger_.charge(quota(j), jobs_.amount(j, pods, pick));
    lacking_ += jobs_.pods(j) - pods;
  }
  /// A running job gains (`shrink`: loses) one pod beyond those that it needs.
  void grow(job_index j, const flavor_pick& pick, std::size_t set) {
    ledger_.charge(quota(j), jobs_.pod(j, pod_set_id{set}, pick));
    note(j, set, 1);
    ALLOT_ASSERT(lacking_ > 0, "no job lacks a pod");
    --lacking_;
  }
  void shrink(job_index j, const flavor_pick& pick, std::size_t set) {
    ledger_.release(quota(j), jobs_.pod(j, pod_set_id{set}, pick));
    note(j, set, -1);
    ++lacking_;
  }
  /// A job that runs with this many pods is pending again.
  void go(job_index j, const flavor_pick& pick, std::uint32_t pods) {
    give_back(j, pick, pods);
    ++waiting_[at(j)];
  }
  /// A job that runs with this many pods, or is pending (0), ends.
  void leave(job_index j, const flavor_pick& pick, std::uint32_t pods) {
    pods > 0 ? give_back(j, pick, pods) : static_cast<void>(--waiting_[at(j)]);
    demand_[at(j)] -= wanted(j, pick);
  }

  /// Changes the quotas; see `allot::apply`.
  result<vector<quota_id>> apply(std::span<const quota_change<N>> changes) {
    auto over = allot::apply(ledger_, changes);
    if (over) grow_to_tree();
    return over;
  }

 private:
  // The view may present a single queue.
  [[nodiscard]] quota_id quota(job_index j) const { return jobs_.jobs[j].quota; }
  [[nodiscard]] std::size_t at(job_index j) const { return quota(j).index(); }

  void give_back(job_index j, const flavor_pick& pick, std::uint32_t pods) {
    std::uint32_t core = pods;
    // Pods of a set may have left in another order than they came.
    const auto more = beyond_of(j);
    if (more != beyond_.end() && more->first == j) {
      for (std::size_t s = 0; s < more->second.size(); ++s) {
        for (std::uint32_t i = 0; i < more->second[s]; ++i) {
          ledger_.release(quota(j), jobs_.pod(j, pod_set_id{s}, pick));
          --core;
        }
      }
      beyond_.erase(more);
    }
    ledger_.release(quota(j), jobs_.amount(j, core, pick));
    lacking_ -= jobs_.pods(j) - pods;
  }
  void note(job_index j, std::size_t set, std::int32_t change) {
    if (jobs_.pod_sets(j) == 1) return;
    auto of = beyond_of(j);
    if (of == beyond_.end() || of->first != j) of = beyond_.insert(of, {j, {}});
    of->second[set] += static_cast<std::uint32_t>(change);
  }
  /// Its entry, or where it would be.
  [[nodiscard]] auto beyond_of(job_index j) {
    return detail::partition_point(beyond_.begin(), beyond_.end(),
                                   [j](const auto& of) { return of.first < j; });
  }
  void grow_to_tree() {
    demand_.resize(ledger_.tree().slots());
    waiting_.resize(ledger_.tree().slots());
  }

  allot::ledger<N> ledger_;
  workload_view<N> jobs_;
  vector<resources<N>> demand_;
  vector<std::uint32_t> waiting_;
  std::uint64_t lacking_ = 0;
  /// Of jobs whose pods differ, by number: those that came after the start.
  vector<std::pair<job_index, pods_by_set>> beyond_;
};

}  // namespace sim
}  // namespace v0
}  // namespace allot

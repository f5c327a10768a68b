// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "governor/src/facts.hpp"

#include "lab/scenario/flavor_sets.hpp"

#include <allot/core/vector.hpp>
#include <allot/sim/job.hpp>

#include <cstdint>
#include <vector>

namespace allot_governor {

/// Jobs by number, as the simulator's view shows them. Entries of jobs that have gone may be used again.
class job_table {
 public:
  job_table() = default;
  job_table(const job_table&) = delete;
  job_table& operator=(const job_table&) = delete;

  /// The number of a new entry.
  std::uint32_t add() {
    said_.emplace_back();
    jobs_.emplace_back();
    unlike_.emplace_back();
    return static_cast<std::uint32_t>(said_.size() - 1);
  }
  /// From now on the entry is this.
  void show(std::uint32_t j, const facts& f) {
    jobs_[j] = {.quota = f.quota,
                .request = f.request,
                .pod_request = f.pods,
                .min_pods = f.min_pods,
                .flavors = numbers_.number(f.flavors),
                .priority = f.priority,
                .preemptible = f.preemptible,
                .preempts = f.preempts,
                .submit = f.submitted,
                .ready = f.ready,
                .duration = f.estimate,
                .estimate = f.estimate};
    auto& of = unlike_[j] = {};
    for (const allot::lab::pod_set_entry& s : f.sets) {
      of.sets.push_back(s.pods);
      of.shares.push_back({s.request, numbers_.number(s.flavors), s.semi_preemptible});
    }
    if (!f.sets.empty()) jobs_[j].unlike = j + 1;
    said_[j] = f;
    allot::sim::link_flavors<dimensions>({&of, 1}, flavors_);
  }

  [[nodiscard]] const facts& operator[](std::uint32_t j) const { return said_[j]; }
  /// @{
  /// Valid until the table is changed.
  [[nodiscard]] const allot::vector<allot::sim::job<dimensions>>& jobs() const noexcept { return jobs_; }
  [[nodiscard]] const allot::vector<allot::sim::unlike_pods<dimensions>>& unlike() const noexcept {
    return unlike_;
  }
  [[nodiscard]] const allot::vector<allot::sim::flavor_set<dimensions>>& flavors() const noexcept {
    return flavors_;
  }
  [[nodiscard]] allot::sim::workload_view<dimensions> view() const {
    return {.jobs = jobs_, .flavor_sets = flavors_, .total = {}, .unlike = unlike_};
  }
  /// @}

 private:
  std::vector<facts> said_{};
  allot::vector<allot::sim::job<dimensions>> jobs_{};
  allot::vector<allot::sim::unlike_pods<dimensions>> unlike_{};
  allot::vector<allot::sim::flavor_set<dimensions>> flavors_{};
  allot::lab::flavor_sets<dimensions> numbers_{flavors_};
};

}  // namespace allot_governor

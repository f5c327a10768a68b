// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/running_index.hpp>
#include <allot/preemption/search.hpp>
#include <allot/preemption/victims.hpp>
#include <allot/quota/ledger.hpp>

#include <cstddef>
#include <span>

namespace allot {
inline namespace v0 {
namespace detail {

/// Finds which of the jobs that run on the beneficiary's reserved capacity must leave for it. Takes them in
/// their order as victims until it fits, then, in reverse, gives back who need not go: as `victim_search`
/// with relations, guards and protections settled before they started.
template <std::size_t N>
class making_way_search {
 public:
  /// Starts over without candidates.
  void clear() noexcept { candidates_.clear(); }
  void add(const running_job<N>& job) { candidates_.push_back(job); }
  [[nodiscard]] bool empty() const noexcept { return candidates_.empty(); }

  /// On success the victims have been released in the ledger and taken off in the world; otherwise the caller
  /// rolls back. O(candidates log candidates), and two trials of each.
  template <search_world<N> World>
  search_outcome run(ledger<N>& l, const running_index<N>&, const beneficiary<N>& b, World& world) {
    victims_.clear();
    detail::sort(candidates_.begin(), candidates_.end(),
                 [](const auto& x, const auto& y) { return compare_as_victims(x, y) < 0; });
    const auto fits = [&] { return l.fits(b.quota, b.request, b.in) && world.could_place(); };
    for (const running_job<N>& job : candidates_) {
      l.release(job.quota, job.request, job.in);
      world.take_off(job);
      victims_.push_back({job, relation::reservation});
      if (!fits()) continue;
      // The last is needed.
      for (std::size_t i = victims_.size() - 1; i-- > 0;) {
        const running_job<N> other = victims_[i].job;
        l.charge(other.quota, other.request, other.in);
        world.put_back(other);
        if (fits()) {
          victims_.erase(victims_.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
          l.release(other.quota, other.request, other.in);
          world.take_off(other);
        }
      }
      return search_outcome::found;
    }
    return search_outcome::impossible;
  }

  /// The victims of the last successful search, in the order in which they were chosen.
  [[nodiscard]] std::span<const victim<N>> victims() const noexcept { return victims_; }

 private:
  vector<running_job<N>> candidates_;
  vector<victim<N>> victims_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot

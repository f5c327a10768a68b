// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/support/yield_oracle.hpp"

namespace allot_test {

/// Running jobs, as bits.
using job_set = std::uint32_t;

/// By brute force: every order in which running jobs may be preempted for one job, each after those before
/// it, until that one fits. Whether a job may be preempted, and what a quota allows, is by the definitions of
/// `yield_oracle`; whether there is a place, by `Room`: `take_off(i)`, `put_back(i)`, `has_room()`.
template <std::size_t N, class Room>
class victim_orders {
 public:
  /// The oracle and the room count all of `running`; only those of `may_yield` are preempted.
  /// Elastic pods go one by one, or with their job.
  victim_orders(yield_oracle<N>& oracle, Room& room, const std::vector<allot::running_job<N>>& running,
                job_set may_yield, const allot::beneficiary<N>& b)
      : oracle_(oracle), room_(room), running_(running), may_yield_(may_yield), b_(b) {
    for (std::size_t i = 0; i < running.size(); ++i) {
      job_set all = job_set{1} << i;
      for (std::size_t k = 0; k < running.size(); ++k) {
        if (running[k].elastic && running[k].core == running[i].id) all |= job_set{1} << k;
      }
      whole_.push_back(all);
    }
  }

  [[nodiscard]] bool fits_without_more() { return room_.has_room() && oracle_.admits(b_); }
  /// A set of victims that makes room, if there is any; without those that have gone before.
  [[nodiscard]] std::optional<job_set> find(job_set gone = 0) {
    seen_.assign(std::size_t{1} << running_.size(), unseen);
    stops_ = true;
    return go_on_without(gone);
  }
  /// Finds all that can be reached; a job that fits asks nobody more.
  void explore() {
    seen_.assign(std::size_t{1} << running_.size(), unseen);
    stops_ = false;
    static_cast<void>(go_on_without(0));
  }
  /// Whether exactly these can be preempted one after the other, as far as that was explored.
  [[nodiscard]] bool is_reached(job_set victims) const { return seen_[victims] != unseen; }
  [[nodiscard]] bool is_reached_and_fits(job_set victims) const { return seen_[victims] == fitting; }

 private:
  enum found : std::uint8_t { unseen, too_few, fitting };

  std::optional<job_set> go_on_without(job_set gone) {
    for_each(gone, [&](std::size_t i) { take_off(i); });
    auto result = search(gone);
    for_each(gone, [&](std::size_t i) { put_back(i); });
    return result;
  }
  template <class Act>
  void for_each(job_set all, Act act) const {
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if ((all >> i & 1U) != 0) act(i);
    }
  }
  void take_off(std::size_t i) {
    oracle_.release(running_[i]);
    room_.take_off(i);
  }
  void put_back(std::size_t i) {
    oracle_.charge(running_[i]);
    room_.put_back(i);
  }
  std::optional<job_set> search(job_set gone) {
    if (seen_[gone] != unseen) return std::nullopt;
    const bool fits = room_.has_room() && oracle_.admits(b_);
    seen_[gone] = fits ? fitting : too_few;
    if (fits) return gone;
    const auto contested = oracle_.contested(b_);
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if (((gone | ~may_yield_) >> i & 1U) != 0 || !oracle_.may_ask(b_, running_[i], contested)) continue;
      const job_set leave = whole_[i] & ~gone;
      for_each(leave, [&](std::size_t k) { take_off(k); });
      const auto result = search(gone | leave);
      for_each(leave, [&](std::size_t k) { put_back(k); });
      if (result && stops_) return result;
    }
    return std::nullopt;
  }

  yield_oracle<N>& oracle_;
  Room& room_;
  const std::vector<allot::running_job<N>>& running_;
  job_set may_yield_;
  allot::beneficiary<N> b_;
  /// What leaves with each.
  std::vector<job_set> whole_;
  bool stops_ = true;
  std::vector<found> seen_;
};

}  // namespace allot_test

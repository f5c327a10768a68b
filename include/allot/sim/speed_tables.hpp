// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/gpu/topology/topology.hpp>
#include <allot/sim/detail/job_progress.hpp>
#include <allot/sim/job.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace sim {

/// A part of progress as measured tables: the product of four factors, each of them 1 where its table says
/// nothing, rounded down to thousandths.
class speed_tables {
 public:
  /// A kind of jobs.
  struct kind {
    /// By GPU model, the index in `gpu::cluster::models`; 0: the nominal speed. The slowest of its nodes.
    vector<speed> by_model{};
    /// Points (pods, how many times as fast as with one, in thousandths), by pods. Linear between them,
    /// constant beyond the last. A job with k of its n pods has the ratio of their entries, instead of k/n,
    /// of its speed with all of them; its duration is meant with all of them.
    vector<std::pair<std::uint32_t, speed>> by_pods{};
    /// By the number of neighbours from 1 on; the last is for all that follow.
    vector<speed> by_neighbours{};
    /// Its pods may be in several domains of this level of the topology.
    std::optional<std::size_t> level{};
    /// The speed if they are.
    speed apart = nominal_speed;
  };

  speed_tables() = default;
  /// `kind_of`: by job, the number of its kind, from 1; 0: the nominal speed.
  speed_tables(vector<kind> kinds, vector<std::uint32_t> kind_of)
      : kinds_(std::move(kinds)), kind_of_(std::move(kind_of)) {}

  /// The tables of a workload of some of these jobs.
  [[nodiscard]] speed_tables of_jobs(std::span<const job_index> some) const {
    vector<std::uint32_t> kinds;
    for (const job_index j : some) kinds.push_back(j < kind_of_.size() ? kind_of_[j] : 0);
    return {kinds_, std::move(kinds)};
  }
  /// The kind of a job, or null.
  [[nodiscard]] const kind* kind_of(job_index j) const {
    return j < kind_of_.size() && kind_of_[j] != 0 ? &kinds_[kind_of_[j] - 1] : nullptr;
  }
  /// How fast a job is on a GPU model, all else being nominal.
  [[nodiscard]] speed on_model(job_index j, std::size_t model) const {
    const kind* const k = kind_of(j);
    return k == nullptr ? nominal_speed : of_model(*k, model);
  }
  /// As `progress_part` asks for.
  template <class Place>
  [[nodiscard]] speed operator()(job_index j, const Place& at, std::span<const job_index> neighbours) const {
    const kind* const k = kind_of(j);
    if (k == nullptr) return nominal_speed;
    wide numerator = slowest(*k, at);
    wide denominator = 1;
    if (!k->by_pods.empty()) {
      numerator *= with(*k, at.pods()) * at.all_pods();
      denominator *= with(*k, at.all_pods()) * at.pods();
    }
    if (!neighbours.empty() && !k->by_neighbours.empty()) {
      numerator *= k->by_neighbours[std::min(neighbours.size(), k->by_neighbours.size()) - 1];
      denominator *= nominal_speed;
    }
    if (is_apart(*k, at)) {
      numerator *= k->apart;
      denominator *= nominal_speed;
    }
    constexpr wide most = std::numeric_limits<speed>::max();
    return static_cast<speed>(std::min(most, std::max<wide>(1, numerator / denominator)));
  }

 private:
  [[nodiscard]] static speed of_model(const kind& k, std::size_t model) {
    const speed said = model < k.by_model.size() ? k.by_model[model] : 0;
    return said == 0 ? nominal_speed : said;
  }
  template <class Place>
  [[nodiscard]] static speed slowest(const kind& k, const Place& at) {
    std::optional<speed> least;
    if (k.by_model.empty()) return nominal_speed;
    at.for_each_pod([&](const gpu::placed_pod& p) {
      const speed there = of_model(k, at.places().inventory().layout().type_of(p.where.node).model);
      least = least ? std::min(*least, there) : there;
    });
    return least.value_or(nominal_speed);
  }
  /// In thousandths of thousandths of a pod's speed.
  [[nodiscard]] static wide with(const kind& k, std::uint32_t pods) {
    std::pair<std::uint32_t, speed> before{0, 0};
    for (const auto& point : k.by_pods) {
      if (pods <= point.first) {
        const wide step = point.first - before.first;
        const wide rise =
            wide{point.second} * (pods - before.first) + wide{before.second} * (point.first - pods);
        return std::max<wide>(1, rise * nominal_speed / step);
      }
      before = point;
    }
    return std::max<wide>(1, wide{before.second} * nominal_speed);
  }
  template <class Place>
  [[nodiscard]] static bool is_apart(const kind& k, const Place& at) {
    if (!k.level || !at.places().has_nodes() || at.places().inventory().nearness() == nullptr) return false;
    const gpu::topology& near = *at.places().inventory().nearness();
    std::optional<gpu::domain_id> first;
    bool apart = false;
    at.for_each_pod([&](const gpu::placed_pod& p) {
      const gpu::domain_id d = near.domain_of(p.where.node, *k.level);
      apart = apart || (first && *first != d);
      first = d;
    });
    return apart;
  }

  vector<kind> kinds_;
  vector<std::uint32_t> kind_of_;
};

}  // namespace sim
}  // namespace v0
}  // namespace allot

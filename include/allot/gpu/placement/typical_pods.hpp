// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// A kind of pod, and its frequency.
struct typical_pod {
  /// What the pod requests.
  pod_shape pod;
  /// Above 0. Those of a workload sum up to at most `most_pods_counted`.
  std::int64_t weight = 1;

  friend constexpr auto operator<=>(const typical_pod&, const typical_pod&) noexcept = default;
  friend constexpr bool operator==(const typical_pod&, const typical_pod&) noexcept = default;
};

/// Keeps every sum of weights times milli of a node within 64 bits.
inline constexpr std::int64_t most_pods_counted = 1'000'000'000;

/// The typical pods of a workload, by which fragmentation is measured (`fragmentation`,
/// `fragmentation_gradient`). None by default; then nothing is a fragment.
///
/// Host memory and estimates are left out of the shapes: fragmentation counts CPU, models, pools and GPUs, as
/// in the paper (Weng et al., "Beware of Fragmentation", ATC 2023).
class typical_pods {
 public:
  typical_pods() = default;
  /// Precondition: weights are as `typical_pod` says. O(n log n).
  explicit typical_pods(vector<typical_pod> pods) : pods_(std::move(pods)) {
    for (typical_pod& p : pods_) {
      p.pod = p.pod.room_key();
      p.pod.memory_mib = 0;
    }
    allot::detail::sort(pods_.begin(), pods_.end());
    std::size_t kept = 0;
    for (const typical_pod& p : pods_) {
      weight_ += p.weight;
      if (kept > 0 && pods_[kept - 1].pod == p.pod) {
        pods_[kept - 1].weight += p.weight;
      } else {
        pods_[kept++] = p;
      }
    }
    pods_.resize(kept);
  }

  /// Sorted, without duplicates.
  [[nodiscard]] const vector<typical_pod>& pods() const noexcept { return pods_; }
  /// The total weight.
  [[nodiscard]] std::int64_t weight() const noexcept { return weight_; }
  /// Whether there is none.
  [[nodiscard]] bool empty() const noexcept { return pods_.empty(); }

  /// The most frequent ones that make up at least `percent` of all: rare shapes cost time and contribute
  /// little. Of equally frequent ones, first those with more CPU, then more of each device, then more devices
  /// (as in the paper's simulator, which takes 95 percent).
  [[nodiscard]] typical_pods most_frequent(std::int64_t percent) const {
    vector<typical_pod> by_weight = pods_;
    allot::detail::sort(by_weight.begin(), by_weight.end(), [](const typical_pod& a, const typical_pod& b) {
      const auto rank = [](const typical_pod& p) {
        return std::tuple{p.weight, p.pod.cpu_milli, p.pod.devices == 0 ? 0 : p.pod.milli, p.pod.devices};
      };
      return rank(a) != rank(b) ? rank(a) > rank(b) : a.pod > b.pod;
    });
    std::int64_t covered = 0;
    std::size_t kept = 0;
    while (kept < by_weight.size() && covered * 100 < percent * weight_) covered += by_weight[kept++].weight;
    by_weight.resize(kept);
    return typical_pods{std::move(by_weight)};
  }

  friend bool operator==(const typical_pods&, const typical_pods&) = default;

 private:
  vector<typical_pod> pods_;
  std::int64_t weight_ = 0;
};

/// Counts the shapes of pods as they arrive, to learn which are typical. Keeps at most `most_shapes`: beyond
/// that, the rarer half is forgotten, so it stays small whatever arrives, and typical shapes stay known.
class seen_pods {
 public:
  /// Far more than are typical of any workload.
  static constexpr std::size_t usual_shapes = 4096;

  explicit seen_pods(std::size_t most_shapes = usual_shapes)
      : most_shapes_(std::max<std::size_t>(most_shapes, 2)) {}

  /// O(log shapes). After `most_pods_counted` pods, all counts are halved, so the past fades.
  void learn(const pod_shape& pod, std::int64_t times = 1) {
    if (times <= 0) return;
    pod_shape shape = pod.room_key();
    shape.memory_mib = 0;
    times = std::min(times, most_pods_counted / 2);
    while (weight_ > most_pods_counted - times) halve();
    const auto at = seen_.find(shape);
    if (at != seen_.end()) {
      at->second += times;
    } else {
      if (seen_.size() >= most_shapes_) forget_rare();
      seen_.emplace(shape, times);
    }
    weight_ += times;
  }
  /// The number of pods counted, minus what has faded or was forgotten.
  [[nodiscard]] std::int64_t weight() const noexcept { return weight_; }
  /// The number of known shapes.
  [[nodiscard]] std::size_t size() const noexcept { return seen_.size(); }
  /// The typical ones (see `typical_pods::most_frequent`).
  [[nodiscard]] typical_pods typical(std::int64_t percent = 95) const {
    vector<typical_pod> all;
    all.reserve(seen_.size());
    for (const auto& [pod, times] : seen_) all.push_back({pod, times});
    return typical_pods{std::move(all)}.most_frequent(percent);
  }

 private:
  void halve() {
    weight_ = 0;
    for (auto at = seen_.begin(); at != seen_.end();) {
      weight_ += at->second /= 2;
      at = at->second == 0 ? seen_.erase(at) : std::next(at);
    }
  }
  void forget_rare() {
    vector<std::map<pod_shape, std::int64_t>::iterator> all;
    all.reserve(seen_.size());
    for (auto at = seen_.begin(); at != seen_.end(); ++at) all.push_back(at);
    // Of equally frequent ones, those of a smaller shape are forgotten first.
    allot::detail::sort(all.begin(), all.end(), [](auto a, auto b) {
      return a->second != b->second ? a->second < b->second : a->first < b->first;
    });
    all.resize(all.size() - most_shapes_ / 2);
    for (const auto at : all) {
      weight_ -= at->second;
      seen_.erase(at);
    }
  }

  std::size_t most_shapes_;
  std::map<pod_shape, std::int64_t> seen_;
  std::int64_t weight_ = 0;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot

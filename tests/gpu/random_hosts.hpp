// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/free_index.hpp>
#include <tests/support/seeds.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot_test {

/// Nodes of several models, pools and sizes; most count CPU and memory, some are without GPUs or in MIG mode.
[[nodiscard]] inline allot::gpu::cluster random_hosts(random_source& random) {
  std::vector<allot::gpu::node_spec> specs(2 + random.below(12));
  for (std::size_t i = 0; i < specs.size(); ++i) {
    specs[i].name = "node" + std::to_string(i);
    if (random.one_in(2)) specs[i].count = random.between(1, 5);
    specs[i].gpus = random.one_in(12) ? random.between(0, 64) : random.between(0, 8);
    specs[i].gpu_model = std::string(1, static_cast<char>('A' + random.below(3)));
    specs[i].pool = std::string(1, static_cast<char>('p' + random.below(2)));
    if (!random.one_in(4)) specs[i].cpu_milli = random.between(1, 64) * 2000;
    if (!random.one_in(4)) specs[i].memory_mib = random.between(1, 64) * 8192;
    if (random.one_in(5)) specs[i].pod_slots = random.between(1, 20);
    if (random.one_in(2)) specs[i].gpu_memory_mib = 1000 * random.between(8, 80);
    if (random.one_in(6)) {
      specs[i].gpu_model = "A100";
      specs[i].gpu_memory_mib = 40'960;
      specs[i].mig = true;
    }
  }
  return allot::gpu::build_cluster(std::move(specs)).value();
}

/// Few of them, so that shapes recur.
[[nodiscard]] inline allot::gpu::pod_shape random_shape(random_source& random) {
  allot::gpu::pod_shape s;
  if (!random.one_in(6)) s.devices = static_cast<std::uint32_t>(random.one_in(4) ? random.between(1, 9) : 1);
  if (s.devices == 1 && random.one_in(2)) {
    constexpr std::uint32_t parts[] = {1, 100, 250, 460, 500, 810, 999};
    s.milli = random.pick(parts);
    if (random.one_in(8)) s.devices = 2;
  } else if (s.devices == 1 && random.one_in(12)) {
    s.gpu_memory_mib = 1000 * random.between(1, 90);
  }
  if (s.devices == 1 && random.one_in(6)) {
    s.milli = 1000;
    s.gpu_memory_mib = 0;
    constexpr std::string_view profiles[] = {"1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"};
    s.mig = allot::gpu::find_mig_request(random.pick(profiles)).value();
  }
  if (random.one_in(3)) s.models = 1 + random.below(7);
  if (random.one_in(6)) s.pools = 1 + random.below(3);
  if (!random.one_in(3)) s.cpu_milli = 1000 * random.between(0, 16);
  if (random.one_in(3)) s.memory_mib = 4096 * random.between(0, 16);
  return s;
}

/// A cluster in which pods are placed and released, and nodes are closed and opened.
class living_cluster {
 public:
  explicit living_cluster(allot::gpu::cluster layout) : index(std::move(layout)) {}

  allot::gpu::free_index index;

  /// `policy` chooses the place of a new pod.
  template <class Policy>
  void change(random_source& random, const Policy& policy) {
    switch (random.below(12)) {
      case 0: {
        const allot::gpu::node_id n{random.below(index.layout().size())};
        index.is_closed(n) ? index.open(n) : index.close(n);
        return;
      }
      case 1:
      case 2:
      case 3:
        if (!pods_.empty()) leave(random.below(pods_.size()));
        return;
      case 4:
        if (pods_.empty()) return;
        // A pod that is being evicted: what it holds counts as free.
        if (const auto& pod = random.pick(pods_); pod.mig.is_none()) index.hold(pod);
        return;
      default: {
        const allot::gpu::pod_shape shape = random_shape(random);
        if (const auto where = policy(index, shape)) {
          pods_.push_back(index.placed(*where, shape));
          index.occupy(pods_.back());
        }
      }
    }
  }

 private:
  void leave(std::size_t i) {
    index.leave(pods_[i]);
    pods_.erase(std::next(pods_.begin(), static_cast<std::ptrdiff_t>(i)));
  }

  std::vector<allot::gpu::placed_pod> pods_;
};

}  // namespace allot_test

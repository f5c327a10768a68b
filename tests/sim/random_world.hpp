// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/quota/builder.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/simulator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

namespace allot_test {

/// Random quotas, a workload that occasionally exceeds them, and nodes or none.
struct random_world {
  std::vector<allot::quota_spec<1>> specs;
  std::vector<allot::sim::job<1>> jobs;
  std::vector<allot::gpu::node_spec> nodes;
  /// Leaves that lose half of their quota, and jobs that are withdrawn.
  std::vector<allot::sim::quota_event<1>> events;
  std::vector<allot::sim::cancel_event> cancels;
  std::vector<allot::sim::node_event> node_events;

  template <class Preset>
  [[nodiscard]] allot::sim::setup<1> setup_for() const {
    allot::sim::places where;
    if (!nodes.empty()) {
      where = allot::sim::places{allot::gpu::build_cluster(nodes).value()};
    }
    return {allot::build_quota_tree(specs).value(),
            std::vector<allot::queue_settings>(specs.size(), Preset{}.defaults()),
            std::move(where),
            jobs,
            events,
            cancels,
            {},
            node_events,
            {}};
  }
};

namespace detail {

/// Adds to every nominal quota those of all quotas below, so that the tree may also be read as inclusive.
inline void include_children(std::vector<allot::quota_spec<1>>& specs) {
  const std::vector<allot::quota_spec<1>> own = specs;
  const auto parent_of = [&](const allot::quota_spec<1>& q) {
    return std::find_if(own.begin(), own.end(), [&](const auto& p) { return p.name == q.parent; });
  };
  for (const allot::quota_spec<1>& q : own) {
    for (auto p = parent_of(q); p != own.end(); p = parent_of(*p)) {
      specs[static_cast<std::size_t>(p - own.begin())].nominal[0] += q.nominal[0];
    }
  }
}

}  // namespace detail

/// Times are whole seconds and often equal, so that many events share an instant.
[[nodiscard]] inline random_world make_random_world(random_source& random) {
  random_world w;
  // Not inclusive, but such that it can be made so, as one preset does.
  w.specs =
      random_quotas<1>(random, {.most_quotas = 8, .deepest = 3, .inclusive = false, .overcommit = false});
  for (allot::quota_spec<1>& q : w.specs) {
    if (q.nominal[0].is_unlimited()) q.nominal = allot::resources<1>{allot::gpus(8)};
  }
  detail::include_children(w.specs);
  if (random.one_in(2)) {
    allot::gpu::node_spec node;
    node.name = "n";
    node.count = random.between(1, 4);
    node.gpus = random.between(1, 8);
    w.nodes.push_back(node);
  }
  const std::size_t count = 1 + random.below(60);
  for (std::size_t i = 0; i < count; ++i) {
    allot::sim::job<1> j;
    j.quota = allot::quota_id{random.below(w.specs.size())};
    j.submit = random.between(0, 40) * allot::sim::second;
    j.duration = random.between(0, 20) * allot::sim::second;
    j.pod_request.gpus = random.one_in(4) ? allot::quantity::milli(random.between(1, 9) * 100)
                                          : allot::gpus(random.between(1, random.one_in(4) ? 16 : 4));
    j.request[0] = j.pod_request.gpus;
    j.pod_request.total = true;
    if (random.one_in(4) && j.pod_request.gpus >= allot::gpus(1)) {
      j.pod_request.total = false;
      j.pod_request.pods = static_cast<std::uint32_t>(j.pod_request.gpus.in_milli() / 1000);
      j.pod_request.gpus = allot::gpus(1);
      if (random.one_in(2)) j.min_pods = static_cast<std::uint32_t>(random.between(1, j.pod_request.pods));
    }
    j.priority = static_cast<std::int64_t>(random.below(3));
    j.preemptible = !random.one_in(5);
    if (random.one_in(2)) j.checkpoint = random.between(0, 5) * allot::sim::second;
    j.restart = random.between(0, 3) * allot::sim::second;
    w.jobs.push_back(j);
  }
  std::stable_sort(w.jobs.begin(), w.jobs.end(),
                   [](const auto& x, const auto& y) { return x.submit < y.submit; });
  if (!random.one_in(3)) return w;
  for (std::size_t i = w.nodes.empty() ? 0 : random.below(6); i > 0; --i) {
    using allot::sim::node_change;
    constexpr node_change kinds[] = {node_change::down, node_change::up, node_change::drain};
    w.node_events.push_back({random.between(0, 60) * allot::sim::second,
                             allot::gpu::node_id{random.below(static_cast<std::size_t>(*w.nodes[0].count))},
                             random.pick(kinds)});
  }
  for (std::size_t i = random.below(4); i > 0; --i) {
    w.cancels.push_back({random.between(0, 60) * allot::sim::second,
                         static_cast<allot::sim::job_index>(random.below(count))});
  }
  for (std::size_t i = 0; i < w.specs.size(); ++i) {
    const auto& q = w.specs[i];
    const bool is_leaf =
        std::none_of(w.specs.begin(), w.specs.end(), [&](const auto& c) { return c.parent == q.name; });
    if (!is_leaf || !random.one_in(3)) continue;
    const auto half = allot::quantity::milli(q.nominal[0].in_milli() / 2);
    w.events.push_back(
        {random.between(0, 60) * allot::sim::second,
         allot::resize_quota<1>{.quota = allot::quota_id{i}, .nominal = allot::resources<1>{half}}});
  }
  return w;
}

}  // namespace allot_test

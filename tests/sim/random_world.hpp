// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/quota/builder.hpp>
#include <allot/sim/simulator.hpp>
#include <allot/sim/workload.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

namespace allot_test {

/// Random quotas, a workload that is too much for them now and then, and nodes or none.
struct random_world {
  std::vector<allot::quota_spec<1>> specs;
  allot::sim::trace trace;
  std::vector<allot::gpu::node_spec> nodes;

  template <class Preset>
  [[nodiscard]] allot::sim::setup<1> setup_for() const {
    std::vector<allot::quota_id> quotas;
    for (std::size_t i = 0; i < specs.size(); ++i) quotas.emplace_back(i);
    allot::sim::trace sorted = trace;
    auto jobs = allot::sim::to_jobs<1>(sorted, quotas, allot::quota_id{0});
    allot::sim::places where;
    if (!nodes.empty()) {
      where = allot::sim::places{allot::gpu::inventory{allot::gpu::build_cluster(nodes).value()}};
    }
    return {allot::build_quota_tree(specs).value(),
            std::vector<allot::queue_settings>(specs.size(), Preset::defaults()),
            std::move(where),
            std::move(jobs),
            {},
            {}};
  }
};

/// Times are whole seconds and often equal, so that much happens at one instant.
[[nodiscard]] inline random_world make_random_world(random_source& random) {
  random_world w;
  // Without overcommit, for an overcommitted tree has no lawful state when all quotas use their own. Not
  // inclusive: one preset makes every quota so, which not every tree allows.
  w.specs =
      random_quotas<1>(random, {.most_quotas = 8, .deepest = 3, .inclusive = false, .overcommit = false});
  allot::quantity given_below;
  for (std::size_t i = w.specs.size(); i-- > 0;) {
    // Every parent has what its children have, at whatever depth, so that it may also be read as inclusive.
    w.specs[i].nominal =
        allot::resources<1>{w.specs[i].nominal[0].is_unlimited() ? allot::gpus(8) : w.specs[i].nominal[0]};
    given_below += w.specs[i].nominal[0];
  }
  for (allot::quota_spec<1>& s : w.specs) {
    for (const allot::quota_spec<1>& child : w.specs) {
      if (child.parent == s.name) s.nominal = allot::resources<1>{given_below};
    }
  }
  if (random.one_in(2)) {
    allot::gpu::node_spec node;
    node.name = "n";
    node.count = random.between(1, 4);
    node.gpus = random.between(1, 8);
    w.nodes.push_back(node);
  }
  for (std::size_t i = 0; i < w.specs.size(); ++i) w.trace.tenants.intern(w.specs[i].name);
  const std::size_t count = 1 + random.below(60);
  for (std::size_t i = 0; i < count; ++i) {
    allot::sim::trace_job j;
    j.id = w.trace.ids.intern(std::to_string(i)).name;
    j.tenant = allot::sim::name_id{random.below(w.specs.size())};
    j.submit = random.between(0, 40) * allot::sim::second;
    j.duration = random.between(0, 20) * allot::sim::second;
    j.gpus = random.one_in(4) ? allot::quantity::milli(random.between(1, 9) * 100)
                              : allot::gpus(random.between(1, random.one_in(4) ? 16 : 4));
    if (random.one_in(4) && j.gpus >= allot::gpus(1)) {
      j.pods = static_cast<std::uint32_t>(j.gpus.in_milli() / 1000);
    }
    j.priority = static_cast<std::int32_t>(random.below(3));
    j.preemptible = !random.one_in(5);
    if (random.one_in(2)) j.checkpoint = random.between(0, 5) * allot::sim::second;
    j.restart = random.between(0, 3) * allot::sim::second;
    w.trace.jobs.push_back(j);
  }
  return w;
}

}  // namespace allot_test

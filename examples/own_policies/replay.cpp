// SPDX-License-Identifier: BSL-1.0
// A replay without the program: a trace under `standard` and under a policy of your own; then also as files.
#include <allot/gpu/cluster.hpp>
#include <allot/lab/own_policy.hpp>
#include <allot/lab/replay_files.hpp>
#include <allot/lab/simulators.hpp>
#include <allot/lab/trace_csv.hpp>
#include <allot/lab/trace_jobs.hpp>
#include <allot/quota/builder.hpp>

#include <cstdio>
#include <fstream>

#include "smallest_first.hpp"

template <class Preset>
int replay(allot::lab::trace trace, const Preset& policy) {
  const auto cluster = allot::gpu::build_cluster({{.name = "n", .count = 16, .gpus = 8}}).value();
  const auto tree = allot::build_quota_tree(allot::lab::tenant_quotas<1>(trace, allot::gpus(128))).value();
  std::vector<allot::quota_id> tenants;  // tenant i is quota i + 1, and the cluster is quota 0
  for (std::size_t i = 0; i < trace.tenants.size(); ++i) tenants.emplace_back(i + 1);
  auto sim = allot::sim::simulator<1>::make(
      {.quotas = tree,
       .settings = std::vector<allot::queue_settings>(tree.slots(), policy.defaults()),
       .where = allot::sim::places{cluster},
       .jobs = allot::lab::to_jobs(trace, tenants, allot::quota_id{0})},
      policy);
  allot::lab::metrics<1> watch;
  if (!sim || !sim.value().run(watch).empty()) return 1;
  const auto of = watch.figures(sim.value()).of;
  std::printf("%-15s mean wait %lld s, %llu preemptions\n", policy.name.data(),
              static_cast<long long>(of.queue.mean() / 1000),
              static_cast<unsigned long long>(of.preemptions));
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;  // replay TRACE.csv DIRECTORY
  std::ifstream file{argv[1], std::ios::binary};
  const auto read = allot::lab::read_trace_csv(file);
  if (!read || !allot::lab::add_policy(allot::lab::own_policy_of<smallest_first>()).empty()) return 1;
  if (replay(read.value, allot::standard{}) != 0 || replay(read.value, smallest_first{}) != 0) return 1;
  return allot::lab::replay_to_files({.trace = argv[1], .nodes = "16x8", .policy = "smallest_first"}, argv[2],
                                     true);
}

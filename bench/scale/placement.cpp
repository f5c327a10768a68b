// SPDX-License-Identifier: BSL-1.0
// The static fill of the paper on fragmentation gradient descent (see static_fill.hpp of the lab), whole:
// 1,213 nodes with 6,212 GPUs and some ten thousand pods, with the figures of each percent. On the published
// lists, if ALLOT_TRACES names the directory with openb/ in it; else on lists of the same size and kind.
#include <allot/gpu/placement/any_placement.hpp>
#include <allot/lab/random.hpp>
#include <allot/lab/static_fill.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace gpu = allot::gpu;
namespace lab = allot::lab;

struct lists {
  std::vector<lab::openb_node> nodes;
  std::vector<lab::openb_pod> pods;
};

/// As many nodes of each model and size as openb has, and pods in about its proportions: a sixth without
/// GPUs, a half that share one, a third with one, few with several.
lists made_up() {
  lists made;
  struct machines {
    int count;
    std::int64_t cpus, gpus;
    const char* model;
  };
  constexpr machines all[] = {{549, 96, 8, "G2"}, {404, 100, 2, "T4"}, {134, 24, 2, "P100"},
                              {39, 128, 8, "G3"}, {85, 48, 6, "V100"}, {2, 128, 1, "A10"}};
  for (const machines& m : all) {
    for (int i = 0; i < m.count; ++i) {
      made.nodes.push_back(
          {"n" + std::to_string(made.nodes.size()), m.cpus * 1000, m.cpus * 6144, m.gpus, m.model});
    }
  }
  lab::random_stream random{1};
  constexpr std::int64_t cpus[] = {2, 4, 4, 6, 6, 8, 8, 8, 11, 12, 12, 16, 32};
  constexpr std::int64_t parts[] = {100, 200, 230, 310, 460, 460, 480, 500, 650, 810};
  for (int i = 0; i < 8152; ++i) {
    lab::openb_pod p;
    p.name = "p" + std::to_string(i);
    p.cpu_milli = 1000 * cpus[lab::draw_below(random, 13)];
    p.memory_mib = 4 * p.cpu_milli;
    const std::uint64_t kind = lab::draw_below(random, 100);
    if (kind >= 16) p.num_gpu = kind < 97 ? 1 : kind == 97 ? 2 : kind == 98 ? 4 : 8;
    if (kind >= 16) p.gpu_milli = kind < 62 ? parts[lab::draw_below(random, 10)] : 1000;
    made.pods.push_back(p);
  }
  return made;
}

lists read_lists() {
  const char* directory = std::getenv("ALLOT_TRACES");
  if (directory == nullptr) return made_up();
  const std::string openb = std::string{directory} + "/openb/";
  std::ifstream nodes{openb + "openb_node_list_gpu_node.csv", std::ios::binary};
  std::ifstream pods{openb + "openb_pod_list_default.csv", std::ios::binary};
  lists read{lab::read_openb_nodes(nodes).values, lab::read_openb_pods(pods).values};
  return read.nodes.empty() || read.pods.empty() ? made_up() : read;
}

void fill(benchmark::State& state, gpu::placement_name name) {
  const lists given = read_lists();
  constexpr std::uint64_t seed = 42;
  const gpu::cluster layout = lab::openb_cluster(given.nodes, seed).value();
  const std::vector<gpu::pod_shape> pods = lab::openb_shapes(given.pods, layout);
  const gpu::typical_pods typical = lab::typical_of(pods);
  const std::vector<std::uint32_t> arrivals = lab::fill_arrivals(pods, layout.gpus(), {1300, seed});
  std::vector<lab::fill_row> rows;
  for (auto _ : state) {
    const gpu::any_placement policy{name, layout, typical, seed};
    rows = lab::static_fill(layout, pods, arrivals, typical, policy, 130);
  }
  state.counters["pods"] = static_cast<double>(arrivals.size());
  state.counters["allocated_pct"] = static_cast<double>(rows[100].allocated) / 100;
  state.counters["fragmented_pct"] = static_cast<double>(rows[100].fragmented) / 100;
}

[[maybe_unused]] const bool registered = [] {
  for (std::size_t i = 0; i < gpu::placement_names.size(); ++i) {
    const auto name = static_cast<gpu::placement_name>(i);
    benchmark::RegisterBenchmark((std::string{"fill/"} + std::string{gpu::placement_names[i]}).c_str(),
                                 [name](benchmark::State& state) { fill(state, name); })
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace

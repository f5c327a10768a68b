// SPDX-License-Identifier: BSL-1.0
// Where one pod goes, by each policy: on a cluster that is three quarters full, one pod leaves and one is
// placed in each iteration. Argument: the nodes, of eight GPUs each.
#include <allot/gpu/inventory.hpp>
#include <allot/gpu/placement/any_placement.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace {

namespace gpu = allot::gpu;
using gpu::node_id;
using gpu::pod_shape;

/// SplitMix64, so that every machine measures the same state.
struct random_source {
  std::uint64_t state = 1;
  std::size_t below(std::size_t n) {
    return static_cast<std::size_t>(gpu::fingerprint::scatter(state++) % n);
  }
};

enum class workload : std::uint8_t {
  /// One GPU each.
  one_shape,
  /// Fifty shapes: whole GPUs and fractions.
  mixed,
  /// The same with CPU and memory.
  mixed_with_cpu,
  /// One GPU and so much CPU that half of the GPUs stay free, on hosts that are full.
  full_hosts,
};

std::vector<pod_shape> shapes_of(workload w, random_source& random) {
  if (w == workload::one_shape) return {{1}};
  std::vector<pod_shape> shapes;
  if (w == workload::full_hosts) {
    shapes.push_back({1, 1000, gpu::all_pools, gpu::all_models, 16'000});
    return shapes;
  }
  constexpr std::uint32_t sizes[] = {1, 1, 1, 1, 2, 4, 8};
  for (int i = 0; i < 50; ++i) {
    pod_shape s{sizes[random.below(7)]};
    if (i % 3 == 0) s = {1, static_cast<std::uint32_t>(50 * (1 + random.below(19)))};
    if (w == workload::mixed_with_cpu) {
      s.cpu_milli = std::int64_t{s.devices} * 1000 * static_cast<std::int64_t>(1 + random.below(8));
      s.memory_mib = std::int64_t{s.devices} * 4096 * static_cast<std::int64_t>(1 + random.below(8));
    }
    shapes.push_back(s);
  }
  return shapes;
}

gpu::cluster make_cluster(std::int64_t nodes, std::int64_t gpus = 8) {
  return gpu::build_cluster(
             {{.name = "n", .count = nodes, .gpus = gpus, .cpu_milli = 64'000, .memory_mib = 524'288}})
      .value();
}

gpu::typical_pods typical_of(const std::vector<pod_shape>& shapes) {
  gpu::seen_pods seen;
  for (const pod_shape& s : shapes) seen.learn(s);
  return seen.typical(100);
}

/// A cluster and the pods on it.
class crowd {
 public:
  explicit crowd(gpu::cluster layout) : index_(std::move(layout)) {}

  [[nodiscard]] const gpu::free_index& index() const { return index_; }
  template <class Policy>
  bool place(const Policy& policy, const pod_shape& pod) {
    const auto where = policy(index_, pod);
    if (!where) return false;
    standing_.push_back(index_.placed(*where, pod));
    index_.occupy(standing_.back());
    return true;
  }
  void leave(std::size_t i) {
    std::swap(standing_[i], standing_.back());
    index_.leave(standing_.back());
    standing_.pop_back();
  }
  [[nodiscard]] std::size_t size() const { return standing_.size(); }
  [[nodiscard]] bool is_three_quarters_full() const {
    return index_.used_in(gpu::all_pools) * 4 >= index_.layout().gpus() * 3;
  }

 private:
  gpu::free_index index_;
  std::vector<gpu::placed_pod> standing_;
};

void churn(benchmark::State& state, gpu::placement_name name, workload w) {
  random_source random;
  const std::vector<pod_shape> shapes = shapes_of(w, random);
  crowd pods{make_cluster(state.range(0))};
  const gpu::any_placement policy{name, pods.index().layout(), typical_of(shapes)};
  while (!pods.is_three_quarters_full() && pods.place(gpu::best_fit{}, shapes[random.below(shapes.size())])) {
  }
  // The shapes are known, and the holes are those that any order of ends leaves.
  for (std::size_t i = 0; i < 2 * pods.size(); ++i) {
    pods.leave(random.below(pods.size()));
    static_cast<void>(pods.place(policy, shapes[i % shapes.size()]));
  }
  std::size_t refused = 0;
  for (auto _ : state) {
    if (pods.size() > 0) pods.leave(random.below(pods.size()));
    if (!pods.place(policy, shapes[random.below(shapes.size())])) ++refused;
  }
  state.counters["refused"] = static_cast<double>(refused) / static_cast<double>(state.iterations());
}

/// A pod in vain: on every node there are free GPUs, but no CPU.
void refused_by_hosts(benchmark::State& state) {
  crowd pods{make_cluster(state.range(0))};
  while (pods.place(gpu::best_fit{}, {1, 1000, gpu::all_pools, gpu::all_models, 16'000})) {
  }
  const pod_shape pod{1, 1000, gpu::all_pools, gpu::all_models, 1000};
  const gpu::indexed_best_fit choose;
  bool placed = false;
  for (auto _ : state) placed |= choose(pods.index(), pod).has_value();
  if (placed) state.SkipWithError("there was a place");
}

void gang_of_512_gpus(benchmark::State& state, gpu::placement_name name) {
  const gpu::cluster layout = make_cluster(state.range(0));
  gpu::basic_inventory<gpu::any_placement> i{layout, {name, layout, typical_of({{8}, {1}})}};
  for (auto _ : state) {
    const auto a = i.place({.gpus = allot::gpus(8), .pods = 64});
    if (!a) return state.SkipWithError("no place");
    i.release(*a);
  }
}

/// Bytes that malloc has given out; 0 where that is not known.
double bytes_in_use() {
#if defined(__GLIBC__)
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
#else
  return 0;
#endif
}

/// What an inventory of nodes of so many GPUs weighs, with a job on each, and what FGD keeps for 50 shapes
/// beside.
void memory(benchmark::State& state) {
  random_source random;
  const std::vector<pod_shape> shapes = shapes_of(workload::mixed, random);
  double inventory = 0;
  double policy = 0;
  for (auto _ : state) {
    const double before = bytes_in_use();
    gpu::inventory i{make_cluster(state.range(0), state.range(1))};
    while (i.place({.gpus = allot::gpus(1)})) {
    }
    inventory = bytes_in_use() - before;
    const double built = bytes_in_use();
    const gpu::any_placement fgd{gpu::placement_name::fgd, i.layout(), typical_of(shapes)};
    for (const pod_shape& s : shapes) benchmark::DoNotOptimize(fgd(i.index(), s));
    policy = bytes_in_use() - built;
  }
  const auto devices = static_cast<double>(state.range(0) * state.range(1));
  state.counters["bytes_per_gpu"] = inventory / devices;
  state.counters["fgd_bytes_per_gpu"] = policy / devices;
}

void all_sizes(benchmark::internal::Benchmark* b) {
  b->Arg(16)->Arg(1213)->Arg(10'000);
}

/// Every policy with every workload. Registered by hand, for the names are those of `placement_names`.
[[maybe_unused]] const bool registered = [] {
  constexpr std::pair<const char*, workload> workloads[] = {{"one_shape", workload::one_shape},
                                                            {"mixed", workload::mixed},
                                                            {"mixed_with_cpu", workload::mixed_with_cpu},
                                                            {"full_hosts", workload::full_hosts}};
  for (std::size_t i = 0; i < gpu::placement_names.size(); ++i) {
    const auto name = static_cast<gpu::placement_name>(i);
    const std::string shown{gpu::placement_names[i]};
    for (const auto& [of, w] : workloads) {
      benchmark::RegisterBenchmark((std::string{"place_one/"} + shown + '/' + of).c_str(),
                                   [name, w = w](benchmark::State& state) { churn(state, name, w); })
          ->Apply(all_sizes);
    }
    benchmark::RegisterBenchmark((std::string{"gang_of_512_gpus/"} + shown).c_str(),
                                 [name](benchmark::State& state) { gang_of_512_gpus(state, name); })
        ->Arg(64)
        ->Arg(10'000);
  }
  return true;
}();

BENCHMARK(refused_by_hosts)->Apply(all_sizes);
BENCHMARK(memory)->Args({1213, 8})->Args({10'000, 8})->Args({10'000, 1})->Iterations(1);

}  // namespace

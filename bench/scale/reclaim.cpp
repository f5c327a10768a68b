// SPDX-License-Identifier: BSL-1.0
// A gang takes back what its quota lent to one-GPU jobs, on a cluster that is full: with success, and in vain
// because one GPU of every node is held by a job that may not be evicted.
#include <allot/gpu/inventory.hpp>
#include <allot/quota/builder.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace {

using allot::gpus;
using allot::quota_id;

struct job_entry {
  quota_id quota;
  std::uint32_t pods = 1;
  std::int64_t gpus_each = 1;
  bool preemptible = true;
};
struct view {
  using job = std::uint32_t;
  const std::vector<job_entry>* jobs;

  quota_id quota(job j) const { return (*jobs)[j].quota; }
  allot::resources<> request(job j) const { return gpus((*jobs)[j].gpus_each) * (*jobs)[j].pods; }
  std::int64_t priority(job) const { return 0; }
  bool preemptible(job j) const { return (*jobs)[j].preemptible; }
  allot::gpu::pod_request pod_request(job j) const {
    return {.gpus = gpus((*jobs)[j].gpus_each), .pods = (*jobs)[j].pods};
  }
};

constexpr quota_id owner{1};
constexpr quota_id borrower{2};
constexpr quota_id fixture{3};

/// `nodes` of 8, all in use, a gang of `asked` GPUs in pods of 8 waiting for the owner of half the cluster.
class full_cluster {
 public:
  full_cluster(std::int64_t nodes, std::int64_t asked, bool in_vain)
      : jobs_(jobs_on(nodes, asked, in_vain)),
        scheduler_(view{&jobs_}, tree_of(nodes),
                   allot::gpu::inventory{
                       allot::gpu::build_cluster({{.name = "n", .count = nodes, .gpus = 8}}).value()}) {
    const auto last = static_cast<std::uint32_t>(jobs_.size() - 1);
    // The fixed job of every node is submitted between the others.
    for (std::uint32_t j = 0; j < last; ++j) {
      static_cast<void>(scheduler_.submit(j));
      if (in_vain && j % 8 == 7) scheduler_.step(0);
    }
    scheduler_.step(0);
    static_cast<void>(scheduler_.submit(last));
  }
  [[nodiscard]] const auto& step() { return scheduler_.step(1); }
  /// As if the gang had just been submitted.
  void again() { scheduler_.retry(); }
  [[nodiscard]] bool is_full() const { return scheduler_.places().used() == scheduler_.places().total(); }

 private:
  static std::vector<job_entry> jobs_on(std::int64_t nodes, std::int64_t asked, bool in_vain) {
    std::vector<job_entry> jobs;
    for (std::int64_t i = 0; i < 8 * nodes; ++i) {
      const bool fixed = in_vain && i % 8 == 0;
      jobs.push_back({fixed ? fixture : borrower, 1, 1, !fixed});
    }
    jobs.push_back({owner, static_cast<std::uint32_t>(asked / 8), 8});
    return jobs;
  }
  static allot::quota_tree<> tree_of(std::int64_t nodes) {
    return allot::build_quota_tree<1>({{.name = "root"},
                                       {.name = "owner", .parent = "root", .nominal = gpus(4 * nodes)},
                                       {.name = "borrower", .parent = "root", .nominal = gpus(3 * nodes)},
                                       {.name = "fixture", .parent = "root", .nominal = gpus(nodes)}})
        .value();
  }

  std::vector<job_entry> jobs_;
  allot::scheduler<view, allot::gpu::inventory> scheduler_;
};

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"nodes", "asked"});
  for (const std::int64_t nodes : {16, 128, 512, 1'024}) {
    for (const std::int64_t asked : {8, 64, 512}) {
      if (asked <= 4 * nodes) b->Args({nodes, asked});
    }
  }
}

void reclaim(benchmark::State& state) {
  const auto asked = static_cast<std::size_t>(state.range(1));
  for (auto _ : state) {
    full_cluster c{state.range(0), state.range(1), false};
    const auto begin = std::chrono::steady_clock::now();
    const std::size_t evicted = c.step().evictions.size();
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    if (evicted != asked) state.SkipWithError("not as many victims as GPUs");
  }
}
BENCHMARK(reclaim)->Apply(sizes)->UseManualTime()->Iterations(5)->Unit(benchmark::kMicrosecond);

void reclaim_in_vain(benchmark::State& state) {
  full_cluster c{state.range(0), state.range(1), true};
  if (!c.is_full()) state.SkipWithError("not full");
  for (auto _ : state) {
    c.again();
    if (!c.step().empty()) state.SkipWithError("something was decided");
  }
}
BENCHMARK(reclaim_in_vain)->Apply(sizes)->Unit(benchmark::kMicrosecond);

}  // namespace

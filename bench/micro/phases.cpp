// SPDX-License-Identifier: BSL-1.0
// What a cycle in phases (KAI) costs on full clusters of (nodes) with eight GPUs each: when nothing has
// changed, when a gang as large as an eighth of the cluster can't be served, and when it can.
#include <allot/gpu/inventory.hpp>
#include <allot/quota/builder.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/systems/kai/runai.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace {

using allot::gpus;
using allot::quota_id;

struct job_entry {
  quota_id quota;
  std::int64_t each = 1;
  std::uint32_t pods = 1;
  std::uint64_t number = 0;
  bool may_go = true;
};
struct view {
  using job = const job_entry*;
  allot::resources<> has{};

  quota_id quota(job j) const { return j->quota; }
  allot::resources<> request(job j) const { return gpus(j->each) * j->pods; }
  std::int64_t priority(job) const { return 0; }
  allot::instant submitted(job j) const { return static_cast<allot::instant>(j->number); }
  std::uint64_t id(job j) const { return j->number; }
  bool preemptible(job j) const { return j->may_go; }
  allot::gpu::pod_request pod_request(job j) const { return {.gpus = gpus(j->each), .pods = j->pods}; }
  allot::resources<> capacity() const { return has; }
};
using scheduler = allot::scheduler<view, allot::gpu::inventory, allot::kai_policies>;

/// Two teams share a full cluster, and a third waits that deserves `deserved`.
class world {
 public:
  world(std::int64_t nodes, std::int64_t deserved, bool a_keeps = false) : scheduler_(make(nodes, deserved)) {
    for (std::int64_t n = 0; n < nodes; ++n) {
      const bool of_a = n % 2 == 0;
      jobs_.push_back({scheduler_.tree().find(of_a ? "a" : "b"), 8, 1, jobs_.size() + 1, !(of_a && a_keeps)});
      const auto at = scheduler_.take_place({.gpus = gpus(8)});
      static_cast<void>(scheduler_.adopt(&jobs_.back(), 0, *at));
    }
    jobs_.push_back({scheduler_.tree().find("c"), 1, static_cast<std::uint32_t>(nodes), jobs_.size() + 1});
  }
  [[nodiscard]] scheduler& get() { return scheduler_; }
  [[nodiscard]] const job_entry& gang() const { return jobs_.back(); }

 private:
  static scheduler make(std::int64_t nodes, std::int64_t deserved) {
    std::vector<allot::quota_spec<>> specs(4);
    const std::int64_t half = nodes * 4;
    const std::int64_t nominal[] = {nodes * 8, half, half, deserved};
    const char* names[] = {"root", "a", "b", "c"};
    for (std::size_t i = 0; i < 4; ++i) {
      specs[i].name = names[i];
      if (i > 0) specs[i].parent = "root";
      specs[i].nominal = gpus(i == 1 || i == 2 ? nominal[i] - deserved / 2 : nominal[i]);
    }
    allot::runai{}.adapt(specs);
    std::vector<allot::gpu::node_spec> layout(static_cast<std::size_t>(nodes));
    for (std::size_t n = 0; n < layout.size(); ++n) {
      layout[n].name = std::to_string(n);
      layout[n].gpus = 8;
    }
    return scheduler{view{gpus(nodes * 8)}, allot::build_quota_tree(specs).value(),
                     allot::gpu::inventory{allot::gpu::build_cluster(layout).value()}, allot::kai_policies{}};
  }

  std::deque<job_entry> jobs_;
  scheduler scheduler_;
};

void unchanged(benchmark::State& state) {
  world w{state.range(0), 0};
  static_cast<void>(w.get().submit(&w.gang()));
  w.get().step(1);
  allot::instant now = 1;
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(w.get().step(++now).evictions.size());
}
BENCHMARK(unchanged)->ArgName("nodes")->Arg(512);

/// One team is protected, and half of the gang can be served by the other: that this is not enough is found
/// out by the search.
void failing_gang(benchmark::State& state) {
  world w{state.range(0), state.range(0), true};
  static_cast<void>(w.get().submit(&w.gang()));
  allot::instant now = 0;
  std::size_t evictions = 0;
  for ([[maybe_unused]] auto _ : state) {
    w.get().retry();
    evictions += w.get().step(++now).evictions.size();
  }
  if (evictions != 0) state.SkipWithError("a job went");
}
BENCHMARK(failing_gang)->ArgName("nodes")->Arg(64)->Arg(512)->Arg(2048)->Unit(benchmark::kMicrosecond);

/// An eighth of the cluster comes back.
void reclaiming_gang(benchmark::State& state) {
  std::size_t evictions = 0;
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    world w{state.range(0), state.range(0)};
    static_cast<void>(w.get().submit(&w.gang()));
    state.ResumeTiming();
    evictions += w.get().step(1).evictions.size();
  }
  state.counters["evictions"] =
      benchmark::Counter(static_cast<double>(evictions), benchmark::Counter::kAvgIterations);
}
BENCHMARK(reclaiming_gang)->ArgName("nodes")->Arg(16)->Arg(64)->Arg(512)->Unit(benchmark::kMillisecond);

}  // namespace

// SPDX-License-Identifier: BSL-1.0
// What reservations cost: an event of a saturated tree (a job ends, another one comes, and all that can be
// decided is) with and without them, by the number of quotas, flat and on three levels, with and without
// nodes.
#include <allot/allot.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/presets/standard.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using allot::gpus;
using allot::instant;
using allot::job_id;
using allot::quota_id;

struct job_entry {
  quota_id quota;
  std::uint32_t pods = 1;
  int gpus_each = 1;
  int priority = 0;
  instant duration = 0;
  /// Users ask for more time than they need.
  instant estimate = 0;
  instant submitted = 0;
  instant ends = 0;
};
struct view {
  using job = job_entry*;

  quota_id quota(job j) const { return j->quota; }
  allot::resources<> request(job j) const { return gpus(j->gpus_each) * j->pods; }
  std::int64_t priority(job j) const { return j->priority; }
  instant estimate(job j) const { return j->estimate; }
  instant submitted(job j) const { return j->submitted; }
  allot::gpu::pod_request pod_request(job j) const { return {.gpus = gpus(j->gpus_each), .pods = j->pods}; }
};

constexpr int owned_gpus = 16;

std::vector<allot::quota_spec<>> quotas_of(std::size_t count, bool three_levels) {
  std::vector<allot::quota_spec<>> specs{{.name = "root"}};
  const std::size_t departments = three_levels ? 10 : 0;
  for (std::size_t i = 0; i < departments; ++i)
    specs.push_back({.name = "d" + std::to_string(i), .parent = "root"});
  for (std::size_t i = 0; i < count; ++i) {
    specs.push_back({.name = std::to_string(i),
                     .parent = three_levels ? "d" + std::to_string(i % departments) : "root",
                     .nominal = gpus(owned_gpus)});
  }
  return specs;
}

template <class Scheduler>
class host {
 public:
  host(Scheduler scheduler, std::size_t quotas) : scheduler_(std::move(scheduler)), quotas_(quotas) {
    scheduler_.explain_plans(false);
    for (std::size_t i = 0; i < 20 * quotas; ++i) submit();
    settle();
  }
  /// The next job ends, and another one is submitted. Returns how many are evicted.
  std::size_t event() {
    const std::size_t before = evicted_;
    const auto [ends, id] = *running_.begin();
    running_.erase(running_.begin());
    now_ = ends;
    static_cast<void>(scheduler_.finished(id));
    submit();
    settle();
    return evicted_ - before;
  }

 private:
  std::size_t random(std::size_t below) { return source_() % below; }
  void submit() {
    job_entry j;
    j.quota = scheduler_.tree().find(std::to_string(random(quotas_)));
    const int size = 1 << random(5);
    j.gpus_each = size < 8 ? size : 8;
    j.pods = static_cast<std::uint32_t>(size / j.gpus_each);
    j.priority = static_cast<int>(random(3));
    j.duration = 600 + static_cast<instant>(random(50'000));
    j.estimate = j.duration * static_cast<instant>(1 + random(3));
    j.submitted = now_;
    jobs_.push_back(j);
    static_cast<void>(scheduler_.submit(&jobs_.back()));
  }
  void settle() {
    allot::settle(scheduler_, now_, [this](const auto& plan) {
      for (const auto& a : plan.admissions) {
        a.what->ends = now_ + a.what->duration;
        running_.insert({a.what->ends, a.id});
      }
      gone_.clear();
      for (const auto& e : plan.evictions) {
        gone_.push_back(e.id);
        running_.erase({e.what->ends, e.id});
      }
      evicted_ += gone_.size();
      for (const job_id id : gone_) static_cast<void>(scheduler_.evicted(id));
    });
  }

  std::mt19937_64 source_{1};
  std::deque<job_entry> jobs_;
  Scheduler scheduler_;
  std::size_t quotas_;
  instant now_ = 0;
  std::set<std::pair<instant, job_id>> running_;
  std::vector<job_id> gone_;
  std::size_t evicted_ = 0;
};

/// Events of one world: after four a quota another one begins, for without reservations what waits comes to
/// be large jobs alone, of which each is as cheap to refuse as the next.
template <class MakeScheduler>
void run_events(benchmark::State& state, MakeScheduler make) {
  const auto quotas = static_cast<std::size_t>(state.range(0));
  std::optional<host<decltype(make())>> h;
  std::size_t left = 0;
  std::size_t evicted = 0;
  std::size_t events = 0;
  for (auto _ : state) {
    if (left == 0) {
      state.PauseTiming();
      h.reset();
      h.emplace(make(), quotas);
      left = 4 * quotas;
      state.ResumeTiming();
    }
    --left;
    evicted += h->event();
    ++events;
  }
  state.counters["evictions"] = static_cast<double>(evicted) / static_cast<double>(events);
  state.SetComplexityN(state.range(0));
}

void saturated(benchmark::State& state) {
  allot::standard standard;
  standard.reservations = static_cast<std::uint32_t>(state.range(3));
  const auto quotas = static_cast<std::size_t>(state.range(0));
  const auto specs = quotas_of(quotas, state.range(1) != 0);
  if (state.range(2) == 0) {
    return run_events(state, [&] { return allot::make_scheduler(standard, view{}, specs).value(); });
  }
  const auto nodes = static_cast<std::int64_t>(quotas * owned_gpus / 8);
  const auto cluster = allot::gpu::build_cluster({{.name = "n", .count = nodes, .gpus = 8}}).value();
  run_events(state, [&] {
    return allot::make_scheduler(standard, view{}, specs, allot::gpu::inventory{cluster}).value();
  });
}
void all_worlds(benchmark::internal::Benchmark* b) {
  b->ArgNames({"quotas", "three_levels", "nodes", "reservations"});
  for (const int nodes : {0, 1}) {
    for (const int levels : {0, 1}) {
      for (const int reservations : {0, 3})
        b->ArgsProduct({{10, 30, 100, 300, 1'000}, {levels}, {nodes}, {reservations}});
    }
  }
}
BENCHMARK(saturated)->Apply(all_worlds)->Unit(benchmark::kMicrosecond);

}  // namespace

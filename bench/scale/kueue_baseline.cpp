// SPDX-License-Identifier: BSL-1.0
// Kueue's own scheduler benchmark (test/performance/scheduler, "baseline") with an ideal control plane: 5
// cohorts of 6 queues of 20, 15,000 workloads of three classes that arrive over a minute, or all at once.
// Simulated time advances only when nothing more can be decided; evicted workloads end at once and start
// again later. Kueue's own run takes 351 s of wall time, bound by its API server; the work itself takes 66 s
// of simulated time at least.
//
// Reported: wall time of everything; `makespan_s` simulated; mean simulated waits of the three classes;
// `usage`, the mean use of the quotas' nominal until the end; `decisions`, admissions and evictions, per
// second.
#include <allot/quota/builder.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/systems/kueue/kueue.hpp>
#include <allot/systems/kueue/kueue_fair.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

struct job_class {
  int count;
  std::int64_t every_ms;
  std::int64_t units;
  std::int64_t runs_ms;
  std::int64_t priority;
};
constexpr std::array<job_class, 3> classes{
    {{350, 100, 1, 200, 50}, {100, 500, 5, 500, 100}, {50, 1200, 20, 1000, 200}}};

struct job_entry {
  std::uint32_t number = 0;
  std::uint8_t kind = 0;
  allot::quota_id quota;
  std::int64_t arrives = 0;
};

struct job_view {
  using job = const job_entry*;
  allot::quota_id quota(job j) const { return j->quota; }
  allot::resources<> request(job j) const { return allot::gpus(classes[j->kind].units); }
  std::int64_t priority(job j) const { return classes[j->kind].priority; }
  allot::instant submitted(job j) const { return j->arrives; }
  std::uint64_t id(job j) const { return j->number; }
};

constexpr std::int64_t nominal = 20;

std::vector<allot::quota_spec<>> quotas(std::size_t cohorts, std::size_t queues) {
  std::vector<allot::quota_spec<>> specs;
  for (std::size_t c = 0; c < cohorts; ++c) {
    allot::quota_spec<> cohort;
    cohort.name = "cohort" + std::to_string(c);
    specs.push_back(cohort);
    for (std::size_t q = 0; q < queues; ++q) {
      allot::quota_spec<> queue;
      queue.name = cohort.name + "-" + std::to_string(q);
      queue.parent = cohort.name;
      queue.nominal = allot::gpus(nominal);
      queue.borrow = allot::limit::at_most(allot::gpus(100));
      specs.push_back(queue);
    }
  }
  return specs;
}

struct figures {
  std::int64_t makespan = 0;
  std::int64_t decisions = 0;
  double used = 0;
  std::array<double, 3> waited{};
};

template <class Preset>
figures run(const allot::quota_tree<>& tree, const std::vector<job_entry>& jobs) {
  using scheduler_type = allot::scheduler<job_view, allot::no_placement, typename Preset::policies_type>;
  struct ending {
    std::int64_t at;
    allot::job_id id;
    std::int64_t started;
    bool operator<(const ending& o) const { return at > o.at; }
  };
  scheduler_type scheduler{job_view{}, tree};
  allot::queue_settings settings = Preset{}.defaults();
  settings.preempt.within = allot::preempt_within::lower_priority;
  settings.preempt.reclaim = allot::preempt_reclaim::any;
  for (const allot::quota_id x : tree.top_down()) static_cast<void>(scheduler.configure(x, settings));

  figures f;
  std::vector<ending> endings;
  std::vector<std::int64_t> started(jobs.size(), -1);
  std::vector<allot::job_id> leaving;
  std::size_t next = 0;
  while (next < jobs.size() || !endings.empty()) {
    std::int64_t now = next < jobs.size() ? jobs[next].arrives : endings.front().at;
    if (!endings.empty()) now = std::min(now, endings.front().at);
    for (; !endings.empty() && endings.front().at == now; endings.pop_back()) {
      std::pop_heap(endings.begin(), endings.end());
      const ending& e = endings.back();
      if (scheduler.state(e.id) != allot::job_state::running) continue;
      const job_entry& j = *scheduler.what(e.id);
      if (started[j.number] != e.started) continue;
      f.used += static_cast<double>(classes[j.kind].units * classes[j.kind].runs_ms);
      scheduler.finished(e.id);
    }
    for (; next < jobs.size() && jobs[next].arrives == now; ++next)
      static_cast<void>(scheduler.submit(&jobs[next]));
    for (;;) {
      const auto& plan = scheduler.step(now);
      if (plan.empty()) break;
      f.decisions += static_cast<std::int64_t>(plan.admissions.size() + plan.evictions.size());
      for (const auto& a : plan.admissions) {
        if (started[a.what->number] < 0) f.waited[a.what->kind] += static_cast<double>(now - a.what->arrives);
        started[a.what->number] = now;
        endings.push_back({now + classes[a.what->kind].runs_ms, a.id, now});
        std::push_heap(endings.begin(), endings.end());
      }
      leaving.clear();
      for (const auto& e : plan.evictions) leaving.push_back(e.id);
      for (const allot::job_id id : leaving) scheduler.evicted(id);
    }
    f.makespan = now;
  }
  return f;
}

template <class Preset>
void baseline(benchmark::State& state) {
  const auto cohorts = static_cast<std::size_t>(state.range(0));
  const auto queues = static_cast<std::size_t>(state.range(1));
  const bool at_once = state.range(2) != 0;
  // Kueue's "large-scale" has 50,000 workloads in 1,000 queues.
  const int share = queues > 6 ? 10 : 1;
  const auto tree = allot::build_quota_tree<1>(quotas(cohorts, queues)).value();
  std::vector<job_entry> jobs;
  for (const allot::quota_id x : tree.top_down()) {
    if (!tree.parent(x)) continue;
    for (std::size_t k = 0; k < classes.size(); ++k) {
      for (int i = 0; i < classes[k].count / share; ++i) {
        job_entry j;
        j.kind = static_cast<std::uint8_t>(k);
        j.quota = x;
        j.arrives = at_once ? 0 : classes[k].every_ms * (i + 1);
        jobs.push_back(j);
      }
    }
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const job_entry& a, const job_entry& b) { return a.arrives < b.arrives; });
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].number = static_cast<std::uint32_t>(i);
  figures f;
  std::int64_t decisions = 0;
  for (auto _ : state) {
    f = run<Preset>(tree, jobs);
    decisions += f.decisions;
  }
  const double leaves = static_cast<double>(cohorts * queues);
  state.counters["decisions"] =
      benchmark::Counter(static_cast<double>(decisions), benchmark::Counter::kIsRate);
  state.counters["makespan_s"] = static_cast<double>(f.makespan) / 1000;
  state.counters["usage"] = f.used / (static_cast<double>(f.makespan) * leaves * nominal);
  const std::array<const char*, 3> names{"small_wait_s", "medium_wait_s", "large_wait_s"};
  for (std::size_t k = 0; k < 3; ++k)
    state.counters[names[k]] = f.waited[k] / (leaves * classes[k].count / share * 1000);
}

BENCHMARK_TEMPLATE(baseline, allot::kueue)
    ->Args({5, 6, 0})
    ->Args({5, 6, 1})
    ->Args({10, 100, 0})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(baseline, allot::kueue_fair)
    ->Args({5, 6, 0})
    ->Args({5, 6, 1})
    ->Args({10, 100, 0})
    ->Unit(benchmark::kMillisecond);

}  // namespace

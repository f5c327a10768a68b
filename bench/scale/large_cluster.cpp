// SPDX-License-Identifier: BSL-1.0
// Large clusters: nodes of 8 GPUs, a quota for every six of them on the lowest of four levels (400 at least),
// twelve jobs a node, of which a third runs, placed on nodes. A quarter of the quotas has no jobs, and lends
// what it owns. `standard` reserves for those that wait, with estimates; `kueue_fair` divides by dominant
// shares, without preemption, which is Kueue's default, or `reclaiming`.
//
// Times are those of one world: `build_s`, the tree, the inventory, the scheduler and all `submit`s;
// `first_s`, the step that admits what runs; then a job is submitted, or ends, and all is decided that can
// be: `submit_` and `finish_`, median, 99th percentile and the worst of 100 each, in microseconds. `node_us`:
// a node is closed; `resize_us`: the root owns 8 GPUs more; `state_s` and `resume_s`: everything saved, and
// taken over by another scheduler. `node_bytes`, `quota_bytes`, `job_bytes`: what the library holds for each.
#include <allot/gpu/inventory.hpp>
#include <allot/presets/standard.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/settle.hpp>
#include <allot/systems/kueue/kueue_fair.hpp>

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "micro/random_source.hpp"

namespace {

using allot::gpus;
using allot::instant;
using allot::job_id;
using allot::quota_id;

struct job_entry {
  quota_id quota;
  std::uint8_t size = 1;
  std::uint8_t priority = 0;
  instant estimate = 0;
  instant submitted = 0;
};
/// Jobs by number in a table of the host.
struct view {
  using job = std::uint32_t;
  const std::vector<job_entry>* jobs;

  quota_id quota(job j) const { return (*jobs)[j].quota; }
  allot::resources<> request(job j) const { return gpus((*jobs)[j].size); }
  int priority(job j) const { return (*jobs)[j].priority; }
  instant estimate(job j) const { return (*jobs)[j].estimate; }
  instant submitted(job j) const { return (*jobs)[j].submitted; }
  allot::gpu::pod_request pod_request(job j) const { return {.gpus = gpus((*jobs)[j].size), .total = true}; }
};

std::size_t bytes_held() {
  const auto m = mallinfo2();
  return m.uordblks + m.hblkhd;
}

/// Four levels: the root, 20 organisations of 20 departments each, and teams.
std::vector<allot::quota_spec<>> quotas_of(std::size_t teams, std::size_t nodes) {
  std::vector<allot::quota_spec<>> specs{{.name = "all"}};
  for (int o = 0; o < 20; ++o) {
    const std::string organisation = "o" + std::to_string(o);
    specs.push_back({.name = organisation, .parent = "all"});
    for (int d = 0; d < 20; ++d) {
      specs.push_back({.name = organisation + "d" + std::to_string(d), .parent = organisation});
    }
  }
  for (std::size_t t = 0; t < teams; ++t) {
    const std::string department = "o" + std::to_string(t % 20) + "d" + std::to_string(t / 20 % 20);
    specs.push_back({.name = "t" + std::to_string(t),
                     .parent = department,
                     .nominal = gpus(static_cast<std::int64_t>(8 * nodes / teams))});
  }
  return specs;
}

template <class Preset>
class world {
  using clock = std::chrono::steady_clock;
  using scheduler_type = allot::scheduler_for<Preset, view, allot::gpu::inventory>;

 public:
  world(std::size_t nodes, benchmark::State& state)
      : counters_(state.counters),
        nodes_(nodes),
        teams_(std::max<std::size_t>(400, 20'000 * nodes / 125'000)) {
    jobs_.reserve(12 * nodes + 10'000);
    for (std::size_t i = 0; i < 12 * nodes; ++i) jobs_.push_back(some_job());
    const auto begin = clock::now();
    std::size_t held = bytes_held();
    const auto cluster =
        allot::gpu::build_cluster({{.name = "n", .count = static_cast<std::int64_t>(nodes), .gpus = 8}})
            .value();
    allot::gpu::inventory inventory{cluster};
    bytes("node_bytes", held, nodes);
    s_.emplace(allot::make_scheduler(Preset{}, view{&jobs_}, quotas_of(teams_, nodes), std::move(inventory))
                   .value());
    s_->explain_plans(false);
    bytes("quota_bytes", held, s_->tree().slots());
    for (std::uint32_t j = 0; j < jobs_.size(); ++j) static_cast<void>(s_->submit(j));
    bytes("job_bytes", held, jobs_.size());
    counters_["build_s"] = seconds_since(begin);
    const auto decides = clock::now();
    settle();
    counters_["first_s"] = seconds_since(decides);
    counters_["running"] = static_cast<double>(running_.size());
  }

  void events(std::size_t count) {
    std::vector<double> submitting;
    std::vector<double> finishing;
    for (std::size_t i = 0; i < count; ++i) {
      now_ += 10;
      jobs_.push_back(some_job());
      submitting.push_back(microseconds([&] {
        static_cast<void>(s_->submit(static_cast<std::uint32_t>(jobs_.size() - 1)));
        settle();
      }));
      const std::size_t ends = random_.below(running_.size());
      const job_id id = running_[ends];
      std::swap(running_[ends], running_.back());
      running_.pop_back();
      now_ += 10;
      finishing.push_back(microseconds([&] {
        static_cast<void>(s_->finished(id));
        settle();
      }));
    }
    percentiles("submit", submitting);
    percentiles("finish", finishing);
  }
  void nodes_and_quotas() {
    const auto at = allot::gpu::node_id{0};
    counters_["node_us"] = microseconds([&] {
      static_cast<void>(s_->nodes().close(at));
      s_->retry();
      settle();
    });
    static_cast<void>(s_->nodes().reopen(at));
    const allot::quota_change<1> grows[] = {allot::resize_quota<1>{.quota = quota_id{0}, .nominal = gpus(8)}};
    counters_["resize_us"] = microseconds([&] {
      static_cast<void>(s_->apply(grows).value());
      settle();
    });
  }
  void restart() {
    auto begin = clock::now();
    const auto saved = s_->state();
    counters_["state_s"] = seconds_since(begin);
    begin = clock::now();
    auto next = with(empty_nodes());
    const auto& places = s_->places();
    const auto answer = next.resume(saved, [&](const auto& u) {
      where_.clear();
      for (const auto& pod : places.pods(u.where)) where_.push_back(pod.where);
      return next.take_place(view{&jobs_}.pod_request(u.what), where_);
    });
    counters_["resume_s"] = seconds_since(begin);
  }

 private:
  [[nodiscard]] allot::gpu::inventory empty_nodes() const {
    return allot::gpu::inventory{
        allot::gpu::build_cluster({{.name = "n", .count = static_cast<std::int64_t>(nodes_), .gpus = 8}})
            .value()};
  }
  [[nodiscard]] scheduler_type with(allot::gpu::inventory nodes) const {
    return allot::make_scheduler(Preset{}, view{&jobs_}, quotas_of(teams_, nodes_), std::move(nodes)).value();
  }
  job_entry some_job() {
    // Three of four teams have jobs.
    const std::size_t team = random_.below(teams_ / 4) * 4 + 1 + random_.below(3);
    job_entry j;
    j.quota = quota_id{421 + team};
    j.size = static_cast<std::uint8_t>(1U << std::min<std::size_t>(random_.below(4), 2));
    j.priority = static_cast<std::uint8_t>(random_.below(3));
    j.estimate = 600 + static_cast<instant>(random_.below(50'000));
    j.submitted = now_;
    return j;
  }
  void settle() {
    allot::settle(*s_, now_, [this](const auto& plan) {
      for (const auto& a : plan.admissions) running_.push_back(a.id);
      gone_.clear();
      for (const auto& e : plan.evictions) gone_.push_back(e.id);
      for (const job_id id : gone_) {
        static_cast<void>(s_->evicted(id));
        running_.erase(std::find(running_.begin(), running_.end(), id));
      }
    });
  }
  template <class Do>
  [[nodiscard]] static double microseconds(Do what) {
    const auto begin = clock::now();
    what();
    return seconds_since(begin) * 1e6;
  }
  [[nodiscard]] static double seconds_since(clock::time_point begin) {
    return std::chrono::duration<double>(clock::now() - begin).count();
  }
  void bytes(const char* name, std::size_t& held, std::size_t count) {
    const std::size_t now = bytes_held();
    counters_[name] = static_cast<double>(now - held) / static_cast<double>(count);
    held = now;
  }
  void percentiles(const std::string& name, std::vector<double>& all) {
    std::sort(all.begin(), all.end());
    counters_[name + "_p50"] = all[all.size() / 2];
    counters_[name + "_p99"] = all[all.size() * 99 / 100];
    counters_[name + "_worst"] = all.back();
  }

  benchmark::UserCounters& counters_;
  std::size_t nodes_;
  std::size_t teams_;
  allot_bench::random_source random_;
  std::vector<job_entry> jobs_;
  std::optional<scheduler_type> s_;
  instant now_ = 0;
  std::vector<job_id> running_;
  std::vector<job_id> gone_;
  std::vector<allot::gpu::pod_location> where_;
};

template <class Preset>
void large_cluster(benchmark::State& state) {
  for (auto _ : state) {
    world<Preset> w{static_cast<std::size_t>(state.range(0)), state};
    w.events(100);
    w.nodes_and_quotas();
    w.restart();
  }
}

/// With preemption as clusters configure it: owners reclaim, and within a queue priorities count.
struct reclaiming : allot::kueue_fair {
  [[nodiscard]] static constexpr allot::queue_settings defaults() noexcept {
    allot::queue_settings s = allot::kueue_fair::defaults();
    s.preempt.within = allot::preempt_within::lower_priority;
    s.preempt.reclaim = allot::preempt_reclaim::any;
    return s;
  }
};

BENCHMARK_TEMPLATE(large_cluster, allot::standard)
    ->Arg(1'250)
    ->Arg(12'500)
    ->Arg(125'000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(large_cluster, reclaiming)->Arg(1'250)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(large_cluster, allot::kueue_fair)
    ->Arg(1'250)
    ->Arg(12'500)
    ->Arg(125'000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace

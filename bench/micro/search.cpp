// SPDX-License-Identifier: BSL-1.0
// Who must yield: the search alone, without placement. The world is put back after each search, which is
// part of what a host pays.
#include <allot/preemption/search.hpp>
#include <allot/quota/builder.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using allot::gpus;
using allot::quota_id;
using allot::search_outcome;

struct anywhere {
  template <std::size_t N>
  void take_off(const allot::running_job<N>&) {}
  template <std::size_t N>
  void put_back(const allot::running_job<N>&) {}
  [[nodiscard]] bool could_place() const { return true; }
};

/// An owner of all, and `borrowers` quotas that own nothing and use all with `jobs` jobs of a GPU each.
struct lent_out {
  allot::ledger<> l;
  allot::running_index<> running;
  quota_id owner;
  quota_id bystander;

  static allot::quota_tree<> tree(std::size_t borrowers, std::size_t jobs) {
    std::vector<allot::quota_spec<>> specs{
        {.name = "root"},
        {.name = "owner", .parent = "root", .nominal = gpus(static_cast<std::int64_t>(jobs))},
        {.name = "bystander", .parent = "root"}};
    for (std::size_t i = 0; i < borrowers; ++i) {
      specs.push_back({.name = std::to_string(i), .parent = "root"});
    }
    return allot::build_quota_tree(std::move(specs)).value();
  }
  lent_out(std::size_t borrowers, std::size_t jobs)
      : l(tree(borrowers, jobs)), owner(l.tree().find("owner")), bystander(l.tree().find("bystander")) {
    running.resize(l.tree().slots());
    for (std::size_t i = 0; i < jobs; ++i) {
      allot::running_job<> j;
      j.id = allot::job_id{i};
      j.quota = quota_id{3 + i % borrowers};
      j.priority = static_cast<std::int32_t>(i % 3);
      j.started = static_cast<allot::instant>(i);
      j.order = i;
      j.request = gpus(1);
      l.charge(j.quota, j.request);
      running.insert(j);
    }
  }
};

using victim_search =
    allot::victim_search<1, allot::lowest_priority_then_highest_share, allot::eligible_is_fair>;

/// A gang takes back what is its own; each borrower gives alike.
void reclaim(benchmark::State& state) {
  const auto borrowers = static_cast<std::size_t>(state.range(0));
  lent_out w{borrowers, static_cast<std::size_t>(state.range(1))};
  const allot::beneficiary<1> b{w.owner, gpus(state.range(2))};
  victim_search search;
  anywhere world;
  w.l.reserve(1024);
  for ([[maybe_unused]] auto _ : state) {
    const allot::savepoint before = w.l.save();
    if (search.run(w.l, w.running, b, world) != search_outcome::found)
      state.SkipWithError("nobody was found");
    w.l.rollback(before);
  }
  state.counters["per_victim"] =
      benchmark::Counter(static_cast<double>(state.range(2)),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(reclaim)
    ->ArgNames({"borrowers", "jobs", "gang"})
    ->Args({1, 512, 64})
    ->Args({8, 512, 64})
    ->Args({64, 512, 64})
    ->Args({1000, 10'000, 64})
    ->Args({8, 4096, 512});

/// Somebody asks who owns nothing: most searches of a busy cluster.
void hopeless(benchmark::State& state) {
  lent_out w{static_cast<std::size_t>(state.range(0)), 10'000};
  const allot::beneficiary<1> b{w.bystander, gpus(4)};
  victim_search search;
  anywhere world;
  for ([[maybe_unused]] auto _ : state) {
    if (search.run(w.l, w.running, b, world) != search_outcome::impossible)
      state.SkipWithError("somebody was found");
  }
}
BENCHMARK(hopeless)->ArgName("borrowers")->Arg(10)->Arg(1000)->Arg(10'000);

}  // namespace

// SPDX-License-Identifier: BSL-1.0
// The search for victims alone, without placement. The world is restored after each search, which is
// part of what a host pays.
#include <allot/preemption/search.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/quota/builder.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
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
      j.priority = static_cast<std::int64_t>(i % 3);
      j.started = static_cast<allot::instant>(i);
      j.order = i;
      j.request = gpus(1);
      l.charge(j.quota, j.request);
      running.insert(j);
    }
  }
};

template <class Order, class Guard>
using search_by = allot::victim_search<1, Order, Guard>;
using victim_search = search_by<allot::lowest_priority_then_highest_share, allot::eligible_is_fair>;

/// Searches again and again, putting everything back, and expects the same each time.
template <class Search>
void search_again_and_again(benchmark::State& state, lent_out& w, Search& search,
                            const allot::beneficiary<1>& b, search_outcome expected) {
  anywhere world;
  w.l.reserve(8192);
  for ([[maybe_unused]] auto _ : state) {
    const allot::savepoint before = w.l.save();
    if (search.run(w.l, w.running, b, world) != expected) state.SkipWithError("not what was expected");
    w.l.rollback(before);
  }
  state.counters["victims"] =
      static_cast<double>(expected == search_outcome::found ? search.victims().size() : 0);
}

constexpr std::int64_t gpus_per_node = 8;

void each_size(benchmark::internal::Benchmark* b) {
  b->ArgNames({"nodes", "gang"});
  for (const std::int64_t nodes : {16, 64, 256, 512, 1024}) {
    for (const std::int64_t gang : {8, 64, 512}) {
      if (gang <= nodes * gpus_per_node) b->Args({nodes, gang});
    }
  }
}
/// Full of jobs of one GPU, in so many quotas.
lent_out full_cluster(const benchmark::State& state) {
  return {32, static_cast<std::size_t>(state.range(0) * gpus_per_node)};
}

/// An owner reclaims its own; the borrowers yield evenly.
void reclaim(benchmark::State& state) {
  lent_out w = full_cluster(state);
  victim_search search;
  search_again_and_again(state, w, search, {w.owner, gpus(state.range(1))}, search_outcome::found);
}
BENCHMARK(reclaim)->Apply(each_size);

/// All eligible jobs are tried, two in three, and it is not enough.
void reclaim_fails(benchmark::State& state) {
  lent_out w = full_cluster(state);
  const auto all = state.range(0) * gpus_per_node;
  const allot::beneficiary<1> b{.quota = w.owner,
                                .request = gpus(std::min(all, all * 2 / 3 + state.range(1))),
                                .priority = 2,
                                .may = {.reclaim = allot::preempt_reclaim::lower_priority}};
  victim_search search;
  search_again_and_again(state, w, search, b, search_outcome::impossible);
}
BENCHMARK(reclaim_fails)->Apply(each_size);

/// A quota that owns nothing takes from rivals until it has as much as they have left.
template <class Guard>
void rivals(benchmark::State& state) {
  lent_out w = full_cluster(state);
  const allot::beneficiary<1> b{
      .quota = w.bystander, .request = gpus(state.range(1)), .may = {.rivals = allot::preempt_rivals::any}};
  search_by<allot::lowest_priority_then_highest_share, Guard> search;
  anywhere world;
  const allot::savepoint before = w.l.save();
  const search_outcome expected = search.run(w.l, w.running, b, world);
  w.l.rollback(before);
  search_again_and_again(state, w, search, b, expected);
}
BENCHMARK(rivals<allot::final_share>)->Apply(each_size);

/// The job that loses least first: the order is worked out at each search.
void reclaim_cheapest(benchmark::State& state) {
  lent_out w = full_cluster(state);
  search_by<allot::cheapest_lost_work, allot::eligible_is_fair> search;
  allot::beneficiary<1> b{w.owner, gpus(state.range(1))};
  b.now = 1'000'000;
  search_again_and_again(state, w, search, b, search_outcome::found);
}
BENCHMARK(reclaim_cheapest)->Apply(each_size);

/// Nodes of eight jobs each, and a gang that needs so many nodes empty.
struct whole_nodes {
  std::vector<std::int64_t> free;
  std::int64_t empty = 0;
  std::int64_t wanted = 0;

  void move(const allot::running_job<1>& job, std::int64_t by) {
    std::int64_t& here = free[job.id.index() * 7 % free.size()];
    empty -= here == gpus_per_node ? 1 : 0;
    here += by;
    empty += here == gpus_per_node ? 1 : 0;
  }
  void take_off(const allot::running_job<1>& job) { move(job, 1); }
  void put_back(const allot::running_job<1>& job) { move(job, -1); }
  [[nodiscard]] bool could_place() const { return empty >= wanted; }
};

/// The first victims run on nodes all over the cluster: many are taken before there is a place, and most of
/// them are given back.
void reclaim_places(benchmark::State& state) {
  lent_out w = full_cluster(state);
  whole_nodes world{.free = std::vector<std::int64_t>(static_cast<std::size_t>(state.range(0))),
                    .wanted = state.range(1) / gpus_per_node};
  const allot::beneficiary<1> b{w.owner, gpus(state.range(1))};
  victim_search search;
  w.l.reserve(std::size_t{1} << 20);
  std::size_t victims = 0;
  for ([[maybe_unused]] auto _ : state) {
    const allot::savepoint before = w.l.save();
    if (search.run(w.l, w.running, b, world) != search_outcome::found) state.SkipWithError("no place");
    victims = search.victims().size();
    for (const auto& v : search.victims()) world.put_back(v.job);
    w.l.rollback(before);
  }
  state.counters["victims"] = static_cast<double>(victims);
}
BENCHMARK(reclaim_places)->ArgNames({"nodes", "gang"})->Args({64, 8})->Args({64, 64})->Args({1024, 64});

/// The same gang among more and more quotas.
void reclaim_among(benchmark::State& state) {
  lent_out w{static_cast<std::size_t>(state.range(0)), 10'000};
  victim_search search;
  search_again_and_again(state, w, search, {w.owner, gpus(64)}, search_outcome::found);
}
BENCHMARK(reclaim_among)->ArgName("borrowers")->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->Arg(10'000);

/// The beneficiary owns nothing: most searches of a busy cluster.
void hopeless(benchmark::State& state) {
  lent_out w{static_cast<std::size_t>(state.range(0)), 10'000};
  victim_search search;
  search_again_and_again(state, w, search, {w.bystander, gpus(4)}, search_outcome::impossible);
}
BENCHMARK(hopeless)->ArgName("borrowers")->Arg(10)->Arg(1000)->Arg(10'000);

}  // namespace

// SPDX-License-Identifier: BSL-1.0
// What the ledger costs a decision: headroom, fits, charge, release and rollback at random leaves. Every
// benchmark takes (quotas, depth of the leaves: a root has depth 0). `per_op` is the time of one call.
#include <allot/quota/builder.hpp>
#include <allot/quota/ledger.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using allot::ledger;
using allot::limit;
using allot::quantity;
using allot::quota_id;
using allot::resources;

/// SplitMix64: the same accesses on every machine.
class random_source {
 public:
  std::uint64_t operator()() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>((*this)() % n); }

 private:
  std::uint64_t state_ = 1;
};

/// `quotas` quotas in levels that grow by a constant factor; all the leaves stand at `depth`. Every other leaf
/// keeps half of what it has, and all may borrow five times their nominal.
template <std::size_t N>
ledger<N> make_ledger(std::size_t quotas, std::size_t depth) {
  std::vector<allot::quota_spec<N>> specs(1);
  specs[0].name = "0";
  std::size_t above = 0;
  for (std::size_t level = 1; level <= depth; ++level) {
    const std::size_t first = specs.size();
    const double share = static_cast<double>(level) / static_cast<double>(depth);
    std::size_t size = std::max<std::size_t>(
        1, static_cast<std::size_t>(std::pow(static_cast<double>(quotas), share) / 2));
    if (level == depth) size = std::max(first < quotas ? quotas - first : 1, size);
    for (std::size_t i = 0; i < size; ++i) {
      allot::quota_spec<N> s;
      s.name = std::to_string(specs.size());
      s.parent = specs[above + i * (first - above) / size].name;
      if (level == depth) {
        s.nominal = resources<N>{quantity::whole(8)};
        if (i % 2 == 0) s.lend = allot::limits<N>{limit::percent(50)};
        s.borrow = allot::limits<N>{limit::percent(500)};
      }
      specs.push_back(std::move(s));
    }
    above = first;
  }
  return ledger<N>{allot::build_quota_tree(std::move(specs)).value()};
}

/// A ledger whose leaves use from nothing to nearly twice their nominal, all in all a little less than there
/// is, and a random walk over the leaves.
template <std::size_t N>
struct world {
  ledger<N> l;
  std::vector<quota_id> walk;

  explicit world(const benchmark::State& state)
      : l(make_ledger<N>(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)))) {
    random_source random;
    std::vector<quota_id> leaves;
    for (const quota_id x : l.tree().top_down()) {
      if (!l.tree().children(x).empty()) continue;
      leaves.push_back(x);
      l.charge(x, resources<N>{quantity::whole(static_cast<std::int64_t>(random.below(16)))});
    }
    for (std::size_t i = 0; i < std::size_t{1} << 16U; ++i) walk.push_back(leaves[random.below(leaves.size())]);
  }
};

void report(benchmark::State& state, std::size_t ops, std::int64_t checksum) {
  state.counters["per_op"] = benchmark::Counter(
      static_cast<double>(ops), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["checksum"] = static_cast<double>(checksum % 1'000'003);
}

template <std::size_t N>
void headroom(benchmark::State& state) {
  const world<N> w{state};
  std::int64_t checksum = 0;
  for ([[maybe_unused]] auto _ : state) {
    checksum = 0;
    for (const quota_id x : w.walk) checksum += w.l.headroom(x)[N - 1].in_milli();
    benchmark::DoNotOptimize(checksum);
  }
  report(state, w.walk.size(), checksum);
}

/// Which leaf comes next depends on the last answer, so that the processor can't work on two at a time.
template <std::size_t N>
void headroom_in_turn(benchmark::State& state) {
  const world<N> w{state};
  std::int64_t checksum = 0;
  for ([[maybe_unused]] auto _ : state) {
    checksum = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < w.walk.size(); ++i) {
      const std::int64_t room = w.l.headroom(w.walk[at])[N - 1].in_milli();
      checksum += room;
      at = (at + 1 + (room < 0 ? 1U : 0U)) % w.walk.size();
    }
    benchmark::DoNotOptimize(checksum);
  }
  report(state, w.walk.size(), checksum);
}

template <std::size_t N>
void fits(benchmark::State& state) {
  const world<N> w{state};
  const resources<N> request{quantity::whole(4)};
  std::int64_t checksum = 0;
  for ([[maybe_unused]] auto _ : state) {
    checksum = 0;
    for (const quota_id x : w.walk) checksum += w.l.fits(x, request) ? 1 : 0;
    benchmark::DoNotOptimize(checksum);
  }
  report(state, w.walk.size(), checksum);
}

/// Times only the charges, or only the releases; each batch undoes the last.
template <std::size_t N>
void one_way(benchmark::State& state, bool time_charges) {
  world<N> w{state};
  const resources<N> request{quantity::whole(1)};
  using clock = std::chrono::steady_clock;
  for ([[maybe_unused]] auto _ : state) {
    const auto start = clock::now();
    for (const quota_id x : w.walk) w.l.charge(x, request);
    const auto middle = clock::now();
    // In the same order, so that the leaves are as cold as they were.
    for (const quota_id x : w.walk) w.l.release(x, request);
    const auto end = clock::now();
    state.SetIterationTime(std::chrono::duration<double>(time_charges ? middle - start : end - middle).count());
  }
  std::int64_t checksum = 0;
  for (const quota_id x : w.walk) checksum += w.l.headroom(x)[N - 1].in_milli();
  report(state, w.walk.size(), checksum);
}
template <std::size_t N>
void charge(benchmark::State& state) {
  one_way<N>(state, true);
}
template <std::size_t N>
void release(benchmark::State& state) {
  one_way<N>(state, false);
}

/// A tentative charge: savepoint, charge, rollback.
template <std::size_t N>
void charge_and_rollback(benchmark::State& state) {
  world<N> w{state};
  w.l.reserve(1);
  const resources<N> request{quantity::whole(1)};
  std::int64_t checksum = 0;
  for ([[maybe_unused]] auto _ : state) {
    checksum = 0;
    for (const quota_id x : w.walk) {
      const allot::savepoint s = w.l.save();
      w.l.charge(x, request);
      checksum += w.l.balance(x, N - 1).in_milli();
      w.l.rollback(s);
    }
    benchmark::DoNotOptimize(checksum);
  }
  report(state, w.walk.size(), checksum);
}

void shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"quotas", "depth"});
  for (const std::int64_t depth : {1, 2, 3, 4, 5, 6}) b->Args({1000, depth});
  for (const std::int64_t quotas : {10, 100, 10'000, 100'000}) b->Args({quotas, 4});
  b->Unit(benchmark::kMillisecond);
}

BENCHMARK(headroom<1>)->Apply(shapes);
BENCHMARK(headroom<4>)->Apply(shapes);
BENCHMARK(headroom_in_turn<1>)->Apply(shapes);
BENCHMARK(headroom_in_turn<4>)->Apply(shapes);
BENCHMARK(fits<1>)->Apply(shapes);
BENCHMARK(fits<4>)->Apply(shapes);
BENCHMARK(charge<1>)->Apply(shapes)->UseManualTime();
BENCHMARK(charge<4>)->Apply(shapes)->UseManualTime();
BENCHMARK(release<1>)->Apply(shapes)->UseManualTime();
BENCHMARK(release<4>)->Apply(shapes)->UseManualTime();
BENCHMARK(charge_and_rollback<1>)->Apply(shapes);
BENCHMARK(charge_and_rollback<4>)->Apply(shapes);

}  // namespace

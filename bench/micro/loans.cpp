// SPDX-License-Identifier: BSL-1.0
// The cost of computing all loans of a tree in which half of the leaves borrow.
#include <allot/quota/loans.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>

#include "random_ledger.hpp"

namespace {

void loan_book_update(benchmark::State& state) {
  const allot_bench::world<1> w{state.range(0), state.range(1)};
  allot::loan_book<1> book{w.l};
  std::int64_t checksum = 0;
  for ([[maybe_unused]] auto _ : state) {
    book.update(w.l);
    for (const allot::loan& each : book.loans(0)) checksum += each.amount.in_milli();
    benchmark::DoNotOptimize(checksum);
  }
  state.counters["loans"] = static_cast<double>(book.loans(0).size());
  state.counters["per_quota"] =
      benchmark::Counter(static_cast<double>(state.range(0)),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(loan_book_update)->ArgNames({"quotas", "depth"})->ArgsProduct({{10, 100, 1000, 10'000}, {1, 4}});

}  // namespace

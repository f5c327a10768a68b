// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/mig/mig.hpp>

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace {

namespace gpu = allot::gpu;

void mig_place_and_remove(benchmark::State& state) {
  gpu::mig_device d{gpu::mig_model::h100_80gb};
  const auto small = *gpu::find_mig_profile(d.model(), "1g.10gb");
  const auto half = *gpu::find_mig_profile(d.model(), "3g.40gb");
  for (auto _ : state) {
    const auto a = d.place(small);
    const auto b = d.place(half);
    benchmark::DoNotOptimize(d);
    d.remove(*b);
    d.remove(*a);
  }
}

/// Four instances that take the whole GPU, or five, of which one is too many.
void mig_fits_beside(benchmark::State& state) {
  const gpu::mig_device d{gpu::mig_model::h100_80gb};
  const std::vector<std::string> names{"3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"};
  auto set = gpu::parse_mig_profiles(d.model(), names).value();
  if (state.range(0) == 0) set.push_back(set[1]);
  bool fits = false;
  for (auto _ : state) benchmark::DoNotOptimize(fits = d.fits_beside(set).has_value());
  if (fits != (state.range(0) != 0)) state.SkipWithError("wrong answer");
}

BENCHMARK(mig_place_and_remove);
BENCHMARK(mig_fits_beside)->Arg(1)->Arg(0);

}  // namespace

// SPDX-License-Identifier: BSL-1.0
// Any calls in any order, under every preset, against a model of what the host knows.
#include <allot/systems/by_name/any_preset.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/seeds.hpp"
#include "tests/support/soak_host.hpp"

using allot_test::soak_preset;

namespace {

/// Returns what went wrong, if anything did; adds the number of calls to `calls`.
[[nodiscard]] std::string soak(const soak_preset& preset, std::uint64_t seed, bool tells,
                               std::size_t& calls) {
  allot_test::random_source random{seed};
  std::optional<allot_test::soak_world> w;
  try {
    w.emplace(preset, random, tells);
    w->run(w->length());
    calls += w->length();
  } catch (const std::exception& e) {
    const std::string told = w ? w->diary() : "";
    constexpr std::size_t most = 12000;
    return std::string{e.what()} + '\n' + (told.size() > most ? told.substr(told.size() - most) : told);
  }
  return {};
}

/// About 50 calls a seed. `for_each_seed` takes ten times as many seeds in a long run.
void soak(const soak_preset& preset) {
  std::size_t calls = 0;
  allot_test::for_each_seed(allot_test::long_run() ? 2100 : 210, [&](allot_test::random_source& random) {
    if (soak(preset, random.seed(), false, calls).empty()) return;
    FAIL(preset.name << ": " << soak(preset, random.seed(), true, calls));
  });
  const std::size_t least = allot_test::long_run() ? 1'000'000 : 10'000;
  CHECK_MESSAGE((calls >= least || !allot_test::all_cases_run()), preset.name << ": " << calls << " calls");
}

}  // namespace

TEST_CASE("soak: every preset") {
  std::vector<allot::any_preset> all{
      allot::any_preset{allot::runai{.k = 2000, .half_life = 50, .window = 500}}};
  allot::for_each_preset([&all](auto preset) { all.emplace_back(preset); });
  for (const allot::any_preset& preset : all) {
    soak_preset p = soak_preset::of(preset);
    const bool is_kueue = p.name.starts_with("kueue");
    const bool is_kai = p.name == "runai";
    // They decide in rounds, and by laws of their own; what they reserve lasts for one cycle.
    p.at_once = !is_kueue && !is_kai;
    p.backs_off = !is_kueue && !is_kai;
    p.books = !is_kueue && !is_kai;
    p.keeps_law = !is_kai;
    p.partial = is_kueue;
    p.leaves_only = is_kai;
    p.keeps_too_large = is_kai;
    p.moves_pods = is_kai;
    soak(p);
  }
}
TEST_CASE("soak: standard, by quota alone in one dimension") {
  soak(soak_preset::of<allot::standard, allot::no_placement, 1>({}));
}
TEST_CASE("soak: standard on an inventory") {
  soak(soak_preset::of<allot::standard, allot::gpu::inventory>({}));
}

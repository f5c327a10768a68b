// SPDX-License-Identifier: BSL-1.0
// Any calls in any order, under every preset, against a model of what the host knows.
#include <allot/presets/catalog.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdlib>
#include <string>

#include "tests/support/seeds.hpp"
#include "tests/support/soak_host.hpp"

using allot_test::soak_preset;

namespace {

[[nodiscard]] std::string soak(const soak_preset& preset, std::uint64_t seed, bool tells) {
  allot_test::random_source random{seed};
  std::string diary;
  std::optional<allot_test::soak_world> w;
  try {
    w.emplace(preset, random, tells);
    w->run(w->length());
  } catch (const std::exception& e) {
    const std::string told = w ? w->diary() : "";
    constexpr std::size_t most = 12000;
    return std::string{e.what()} + '\n' + (told.size() > most ? told.substr(told.size() - most) : told);
  }
  return {};
}

/// About 50 calls a seed: 10,000 in all, a million in a long run, for which `for_each_seed` takes ten times
/// as many seeds.
void soak(soak_preset preset) {
  allot_test::for_each_seed(allot_test::long_run() ? 2000 : 200, [&](allot_test::random_source& random) {
    if (soak(preset, random.seed(), false).empty()) return;
    FAIL(preset.name << ": " << soak(preset, random.seed(), true));
  });
}

}  // namespace

TEST_CASE("soak: standard") {
  soak(soak_preset::of(allot::standard{}));
}
TEST_CASE("soak: standard, by quota alone in one dimension") {
  soak(soak_preset::of<allot::standard, allot::no_placement, 1>({}));
}

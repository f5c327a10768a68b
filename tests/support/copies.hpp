// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random_host.hpp"
#include "tests/support/seeds.hpp"

namespace allot_test {

/// Goes through a random run by copies: before every call the scheduler is copied, assigned or moved, and the
/// one before it goes another way and is destroyed. Some copies are kept, and go on when all others are gone.
/// All say what a scheduler says that is never copied.
template <class Places, class Preset>
void check_copies(const Preset& preset, std::size_t seeds = 20) {
  constexpr std::size_t calls = 60;
  std::size_t starts = 0;
  std::size_t evictions = 0;
  std::size_t early = 0;
  for_each_seed(seeds, [&](random_source& random) {
    using host = random_host<Preset, Places>;
    const std::deque<soak_job> jobs = random_jobs(random, calls);
    const auto numbers = [&](std::size_t call) { return random_source{random.seed() + 1000 * call}; };
    const auto other_numbers = [&](std::size_t call) { return random_source{~random.seed() - 1000 * call}; };
    std::vector<std::string> told;
    {
      host never_copied{preset, jobs};
      for (std::size_t i = 0; i < calls; ++i) told.push_back(never_copied.act(numbers(i)));
      starts += never_copied.starts();
      evictions += never_copied.evictions();
      early += never_copied.early();
    }
    auto now = std::make_unique<host>(preset, jobs);
    std::vector<std::pair<std::size_t, host>> kept;
    for (std::size_t i = 0; i < calls; ++i) {
      auto before = std::exchange(now, nullptr);
      switch (i % 4) {
        case 0:
          now = std::make_unique<host>(*before);
          break;
        case 1:
          now = std::make_unique<host>(*before);
          for (std::size_t k = 0; k < 3; ++k) static_cast<void>(now->act(other_numbers(i + k)));
          *now = *before;
          break;
        case 2:
          now = std::make_unique<host>(host{*before});
          break;
        default:
          now = std::make_unique<host>(preset, jobs);
          *now = host{*before};
          break;
      }
      for (std::size_t k = 0; k < 3; ++k) static_cast<void>(before->act(other_numbers(i + k)));
      before.reset();
      const std::string says = now->act(numbers(i));
      REQUIRE_MESSAGE(says == told[i], preset.name << ", call " << i << ":\n"
                                                   << says << "and not\n"
                                                   << told[i]);
      if (random.one_in(8)) kept.emplace_back(i + 1, *now);
    }
    now.reset();
    for (auto& [from, copy] : kept) {
      for (std::size_t i = from; i < calls && i < from + 15; ++i) REQUIRE(copy.act(numbers(i)) == told[i]);
    }
  });
  CHECK((starts > 0 || !all_cases_run()));
  CHECK((evictions > 0 || !all_cases_run()));
  CHECK((early > 0 || !all_cases_run()));
}

}  // namespace allot_test

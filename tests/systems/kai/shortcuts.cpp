// SPDX-License-Identifier: BSL-1.0
#include <allot/sim/places.hpp>

#include "tests/support/kai_one_by_one.hpp"
#include "tests/support/kai_world.hpp"
#include "tests/support/seeds.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using allot_test::random_source;
using world = allot_test::kai_world;

namespace {

/// The decisions on a full cluster of sibling quotas, most of whose jobs are of whole GPUs, while jobs are
/// submitted and end.
template <class World>
std::string reclaims(std::uint64_t seed) {
  random_source random{seed};
  const std::vector<std::string> clusters{"nodes 4 4 4 4\n", "nodes 8 8 8 8 8 8\n", "nodes 2 8 4 1 8\n"};
  std::string told = random.pick(clusters) + "queue d - - 1\n";
  const auto leaves = random.between(2, 4);
  const auto deserved = [&] { return std::to_string(random.between(0, 12)); };
  for (std::int64_t q = 0; q < leaves; ++q) {
    told += "queue q" + std::to_string(q) + " d " + deserved() + " " + std::to_string(random.between(0, 3));
    if (random.one_in(8)) told += " limit=" + std::to_string(random.between(12, 30));
    told += "\n";
  }
  World w{told};
  std::vector<std::string> alive;
  const bool has_parts = random.one_in(4);
  const bool has_gangs = random.one_in(2);
  const std::vector<std::int64_t> sizes{1, 1, 1, 2, 2, 4, 8};
  std::size_t jobs = 0;
  std::string said;
  for (int round = 0; round < 40; ++round) {
    for (std::int64_t come = random.between(0, round < 5 ? 8 : 3); come > 0; --come) {
      const std::string name = "j" + std::to_string(jobs++);
      const auto pods = has_gangs && random.one_in(4) ? random.between(2, 5) : 1;
      std::string job = "wait " + name + " q" + std::to_string(random.between(0, leaves - 1)) + " " +
                        std::to_string(pods) + "x" +
                        (has_parts && random.one_in(6) ? "0.5" : std::to_string(random.pick(sizes)));
      if (random.one_in(6)) job += random.one_in(2) ? " prio=75" : " prio=100";
      if (pods > 1 && random.one_in(8)) job += " min=1";
      w.tell(job);
      if (w.id(name)) alive.push_back(name);
    }
    for (std::int64_t end = random.between(0, 2); end > 0 && !alive.empty(); --end) {
      const std::size_t i = random.below(alive.size());
      const auto state = w.scheduler().state(w.id(alive[i]));
      if (state != allot::job_state::running && state != allot::job_state::pending) continue;
      w.finished(alive[i]);
      alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(i));
    }
    said += w.step() + "\n";
    if (!random.one_in(4)) w.let_go();
  }
  return said;
}

}  // namespace

TEST_CASE("shortcuts: the searches and scenarios that are skipped would fail") {
  std::size_t decided = 0;
  allot_test::for_each_seed(1'500, [&](random_source& random) {
    const auto seed = static_cast<std::uint64_t>(random.between(1, 1'000'000'000));
    const std::string plain = reclaims<allot_test::one_by_one_world>(seed);
    CHECK(reclaims<world>(seed) == plain);
    decided += plain.find('~') != std::string::npos ? 1U : 0U;
  });
  if (allot_test::all_cases_run()) CHECK(decided > 700);
}

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

namespace {

/// Quotas of one or several departments with running and pending jobs of few sizes and priorities; some are
/// elastic, some may not be preempted.
struct random_kai {
  random_source& random;
  std::vector<std::string> leaves{};
  std::vector<std::string> alive{};
  std::size_t jobs = 0;

  std::string number(std::int64_t from, std::int64_t to) { return std::to_string(random.between(from, to)); }

  [[nodiscard]] std::string last() const { return "j" + std::to_string(jobs - 1); }

  std::string tree() {
    std::string told;
    const auto departments = random.between(1, 3);
    for (std::int64_t d = 0; d < departments; ++d) {
      const std::string name = "d" + std::to_string(d);
      told += "queue " + name + " - " + number(0, 8) + " " + number(0, 3) + "\n";
      const bool is_deep = random.one_in(4);
      if (is_deep) told += "queue " + name + "m " + name + " " + number(0, 4) + " " + number(0, 2) + "\n";
      const auto teams = random.between(1, 3);
      for (std::int64_t t = 0; t < teams; ++t) {
        leaves.push_back(name + "t" + std::to_string(t));
        const auto deserved = random.between(0, 4);
        // An inner quota has a team of its own.
        const bool is_below = is_deep && (t == 0 || random.one_in(2));
        told += "queue " + leaves.back() + " " + name + (is_below ? "m " : " ") + std::to_string(deserved) +
                " " + number(0, 2) + (random.one_in(6) ? " limit=" + number(deserved, 8) : "") + "\n";
      }
    }
    return told;
  }
  std::string job(const std::string& how) {
    const auto pods = random.one_in(3) ? random.between(2, 4) : 1;
    std::string told = how + " j" + std::to_string(jobs++) + " " + random.pick(leaves) + " " +
                       std::to_string(pods) + "x" + (random.one_in(6) ? "0.5" : number(1, 2));
    const std::string priorities[] = {"49", "75", "100"};
    if (random.one_in(3)) told += " prio=" + random.pick(priorities);
    if (pods > 1 && random.one_in(2)) told += " min=" + number(1, pods - 1);
    return told + "\n";
  }
};

/// The decisions while jobs are submitted, leave and end. `on_their_way` receives the number of cycles in
/// which jobs were still leaving.
template <class World>
std::string diary(std::uint64_t seed, std::size_t& on_their_way) {
  typename World::policies_type policies;
  random_source random{seed};
  random_kai told{random};
  const std::string nodes = random.one_in(2) ? "nodes 4 4 4\n" : "nodes 2 8 4 1\n";
  policies.k = random.one_in(4) ? 500 : 0;
  policies.queue_depth = random.one_in(4) ? 3 : 0;
  World world{nodes + told.tree(), policies};
  if (random.one_in(4)) {
    allot::queue_settings guaranteed;
    guaranteed.min_runtime = {random.between(1, 4), random.between(1, 4)};
    REQUIRE(world.scheduler().configure(world.quota(random.pick(told.leaves)), guaranteed).empty());
  }
  const bool retries = random.one_in(2);
  std::string said;
  for (int round = 0; round < 25; ++round) {
    const auto come = random.between(0, 4);
    for (std::int64_t i = 0; i < come; ++i) {
      const std::string line = told.job("wait");
      world.tell(line);
      // A refused job has no id, and no job is looked up by name after its end: ids are reused.
      if (world.id(told.last())) told.alive.push_back(told.last());
    }
    if (!told.alive.empty()) {
      const std::size_t i = random.below(told.alive.size());
      const allot::job_id id = world.id(told.alive[i]);
      const auto state = world.scheduler().state(id);
      const auto elastic = world.scheduler().elastic_pods_of(id);
      if (state == allot::job_state::running && !elastic.empty() && random.one_in(2) &&
          world.scheduler().state(elastic.front()) == allot::job_state::running) {
        world.scheduler().finished(elastic.front());
      } else if (state == allot::job_state::running && random.one_in(4)) {
        world.leaves(told.alive[i]);
      } else if (state == allot::job_state::running ||
                 (state == allot::job_state::pending && random.one_in(3))) {
        world.finished(told.alive[i]);
        told.alive.erase(told.alive.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    if (retries) world.retry();
    on_their_way += world.leaving() != 0 ? 1U : 0U;
    said += world.step() + "\n";
    if (!random.one_in(3)) world.let_go();
  }
  return said;
}

}  // namespace

TEST_CASE("job_walk: skipping kinds and scenarios, and counting places and devices, change no plan") {
  std::size_t decided = 0;
  std::size_t elastic = 0;
  std::size_t on_their_way = 0;
  allot_test::for_each_seed(600, [&](random_source& random) {
    const auto seed = static_cast<std::uint64_t>(random.between(1, 1'000'000'000));
    const std::string plain = diary<allot_test::one_by_one_world>(seed, on_their_way);
    CHECK(diary<allot_test::kai_world>(seed, on_their_way) == plain);
    CHECK(diary<allot_test::basic_kai_world<allot::sim::places>>(seed, on_their_way) == plain);
    decided += plain.find('~') != std::string::npos ? 1U : 0U;
    elastic += plain.find(":") != std::string::npos ? 1U : 0U;
  });
  if (!allot_test::all_cases_run()) return;
  CHECK(decided > 300);
  CHECK(elastic > 300);
  CHECK(on_their_way > 5000);
}

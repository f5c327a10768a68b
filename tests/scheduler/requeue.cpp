// SPDX-License-Identifier: BSL-1.0
// Jobs that have no chance are not tried again, and that changes no decision.
#include <allot/gpu/inventory.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/scheduler/host.hpp"
#include "tests/support/seeds.hpp"

using allot_test::host;

namespace {

using all_again = allot::policies<allot::within_nominal_then_borrowed_share, allot::by_settings,
                                  allot::lowest_priority_then_highest_share, allot::eligible_is_fair,
                                  allot::unprotected, allot::requeue_all>;

/// Counts how often a place is asked for.
struct counting_nodes : allot::gpu::inventory {
  std::size_t* asked;

  counting_nodes(allot::gpu::inventory nodes, std::size_t* to)
      : allot::gpu::inventory{std::move(nodes)}, asked(to) {}
  std::optional<allocation> place(const pod_request& d) {
    ++*asked;
    return allot::gpu::inventory::place(d);
  }
};

/// Jobs of all sizes on nodes, most of which can't be placed most of the time, come and go. Adds up how often
/// places are asked for, if only jobs with a chance are requeued and if all are.
void follow(allot_test::random_source& random, std::size_t& with_a_chance, std::size_t& of_all) {
  std::vector<allot::quota_spec<1>> quotas;
  const bool is_deep = random.one_in(2);
  const std::size_t teams = 2 + random.below(6);
  if (is_deep) {
    quotas.push_back({.name = "all"});
    for (const char* name : {"x", "y"}) quotas.push_back({.name = name, .parent = "all"});
  }
  for (std::size_t i = 0; i < teams; ++i) {
    const std::string parent = is_deep ? (i % 2 == 0 ? "x" : "y") : "";
    quotas.push_back({.name = "q" + std::to_string(i),
                      .parent = is_deep ? parent : "all",
                      .nominal = allot::gpus(random.between(0, 8))});
  }
  if (!is_deep) quotas.push_back({.name = "all"});
  const auto places = allot_test::nodes(random.between(2, 5), 4);
  host<counting_nodes> some{quotas, {places, &with_a_chance}};
  host<counting_nodes, all_again> all{quotas, {places, &of_all}};
  std::vector<std::string> jobs;
  for (int i = 0; i < 60; ++i) {
    if (jobs.empty() || random.one_in(2)) {
      const std::string name = "j" + std::to_string(i);
      const std::string quota = "q" + std::to_string(random.below(teams));
      const std::int64_t gpus = random.one_in(4) ? 8 : random.between(1, 4);
      const std::int64_t priority = random.one_in(4) ? 1 : 0;
      const bool preemptible = !random.one_in(3);
      some.submit(name, quota, gpus, {.priority = priority, .preemptible = preemptible});
      all.submit(name, quota, gpus, {.priority = priority, .preemptible = preemptible});
      jobs.push_back(name);
    } else {
      const std::size_t k = random.below(jobs.size());
      const std::string name = jobs[k];
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(k));
      if (some.state(name) == allot::job_state::running) {
        some.finished(name);
        all.finished(name);
      } else {
        some.cancel(name);
        all.cancel(name);
      }
    }
    REQUIRE(some.settle() == all.settle());
  }
}

}  // namespace

TEST_CASE("requeue: jobs without a chance are not tried again, and decisions are the same") {
  std::size_t with_a_chance = 0;
  std::size_t of_all = 0;
  allot_test::for_each_seed(
      1000, [&](allot_test::random_source& random) { follow(random, with_a_chance, of_all); });
  if (allot_test::all_cases_run()) CHECK(with_a_chance < of_all);
}

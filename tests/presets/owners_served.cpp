// SPDX-License-Identifier: BSL-1.0
// An owner within its nominal gets its place back on full nodes, whatever else is counted beside GPUs; and a
// team gets back what its department owns.
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/presets/hyperpod.hpp>
#include <allot/presets/pai.hpp>
#include <allot/presets/standard.hpp>
#include <allot/quota/builder.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"

namespace gpu = allot::gpu;
using allot::gpus;
using allot::quota_id;
using allot_test::random_source;

namespace {

constexpr std::int64_t per_node = 8;
constexpr std::size_t node_count = 8;

struct training {
  quota_id quota;
  gpu::pod_request pods;
  int priority = 0;
};
/// With N resources: GPUs, and as many cores.
template <std::size_t N>
struct view_of {
  using job = const training*;
  [[nodiscard]] quota_id quota(job j) const { return j->quota; }
  [[nodiscard]] allot::resources<N> request(job j) const {
    allot::resources<N> r;
    for (std::size_t d = 0; d < N; ++d) r[d] = j->pods.gpus * j->pods.pods;
    return r;
  }
  [[nodiscard]] int priority(job j) const { return j->priority; }
  [[nodiscard]] gpu::pod_request pod_request(job j) const { return j->pods; }
};

/// A full cluster. Each team borrows what its jobs on some nodes use, and these nodes are what a gang of the
/// owner needs and owns.
struct full_cluster {
  struct job {
    training what;
    std::vector<gpu::pod_location> at;
  };
  std::vector<job> jobs;
  std::vector<std::int64_t> nominal;
  training asks;

  full_cluster(random_source& random, std::uint32_t pods) {
    const std::size_t teams = 1 + random.below(2);
    std::array<std::int64_t, node_count> free{};
    free.fill(per_node);
    std::vector<std::int64_t> uses(teams);
    std::vector<std::int64_t> gives(teams);
    std::array<std::size_t, node_count> cleared{};
    for (std::size_t n = 0; n < node_count; ++n) cleared[n] = n;
    random.shuffle(cleared);
    for (std::size_t n = 0; n < node_count; ++n) {
      while (free[n] > 0) {
        const std::size_t team = random.below(teams);
        const std::int64_t each = std::min(free[n], std::int64_t{1} << random.below(3));
        job j{{quota_id{2 + team}, {.gpus = gpus(each), .cpu_milli = each * 1000}}, {}};
        bool goes = false;
        // Some have a second pod on another node.
        for (std::size_t k = n; k < node_count && j.at.size() < 2; k += 1 + random.below(4)) {
          if (free[k] < each) continue;
          free[k] -= each;
          j.at.push_back({gpu::node_id{k}, 0});
          goes = goes || std::find(cleared.begin(), cleared.begin() + pods, k) != cleared.begin() + pods;
          if (!random.one_in(6)) break;
        }
        j.what.pods.pods = static_cast<std::uint32_t>(j.at.size());
        uses[team] += each * j.what.pods.pods;
        if (goes) gives[team] += each * j.what.pods.pods;
        jobs.push_back(std::move(j));
      }
    }
    nominal.push_back(per_node * static_cast<std::int64_t>(node_count));
    nominal.push_back(nominal[0]);
    for (std::size_t t = 0; t < teams; ++t) {
      nominal.push_back(uses[t] - gives[t]);
      nominal[1] -= nominal.back();
    }
    asks = {quota_id{1}, {.gpus = gpus(per_node), .pods = pods, .cpu_milli = per_node * 1000}};
  }
};

/// The priority of an owner's job that takes from others. Under `pai` it must be higher than theirs.
template <class Preset>
constexpr int owners_priority = std::string_view{Preset::name} == "pai" ? 1 : 0;

template <std::size_t N, class Preset>
bool is_served(const Preset& preset, const full_cluster& w) {
  std::vector<allot::quota_spec<N>> specs;
  for (std::size_t i = 0; i < w.nominal.size(); ++i) {
    allot::quota_spec<N> s{.name = std::to_string(i), .parent = i == 0 ? "" : "0", .inclusive = i == 0};
    // There are eight cores for each GPU.
    for (std::size_t d = 0; d < N; ++d) s.nominal[d] = gpus(w.nominal[i] * (d == 0 ? 1 : 8));
    specs.push_back(s);
  }
  gpu::node_spec node;
  node.name = "n";
  node.count = node_count;
  node.gpus = per_node;
  node.cpu_milli = 64'000;
  auto made = allot::make_scheduler(preset, view_of<N>{}, std::move(specs),
                                    gpu::inventory{gpu::build_cluster(std::vector{node}).value()});
  REQUIRE(made);
  auto& s = made.value();
  allot::instant now = 0;
  for (const auto& j : w.jobs) {
    const auto at = s.take_place(j.what.pods, j.at);
    REQUIRE(at);
    REQUIRE(s.adopt(&j.what, ++now, *at));
  }
  training asks = w.asks;
  asks.priority = owners_priority<Preset>;
  const allot::job_id id = s.submit(&asks);
  const auto& plan = s.step(++now);
  return !plan.evictions.empty() && s.state(id) == allot::job_state::nominated;
}

template <class Preset>
void check_served(const Preset& preset) {
  for (const std::uint32_t pods : {1U, 2U, 4U}) {
    allot_test::for_each_seed(60, [&](random_source& random) {
      const full_cluster w{random, pods};
      CHECK(is_served<1>(preset, w));
      CHECK(is_served<2>(preset, w));
    });
  }
}

}  // namespace

TEST_CASE("owners_served: standard evicts for an owner on whole nodes, with cores counted or not") {
  check_served(allot::standard{});
}
TEST_CASE("owners_served: so does pai") {
  check_served(allot::pai{});
}
TEST_CASE("owners_served: so does hyperpod") {
  check_served(allot::hyperpod{});
}

namespace {

/// A department owns all, and its team nothing. Another team borrows all.
template <std::size_t N, class Preset>
bool is_served_for_its_department(const Preset& preset) {
  std::vector<allot::quota_spec<N>> specs{{.name = "all"},
                                          {.name = "department", .parent = "all"},
                                          {.name = "team", .parent = "department"},
                                          {.name = "other", .parent = "all"}};
  for (std::size_t d = 0; d < N; ++d) specs[0].nominal[d] = specs[1].nominal[d] = gpus(4);
  // Under `pai` all parents are inclusive.
  if (std::string_view{Preset::name} != "pai") specs[0].nominal = {};
  auto made = allot::make_scheduler(preset, view_of<N>{}, std::move(specs));
  REQUIRE(made);
  auto& s = made.value();
  const training loan{quota_id{3}, {.gpus = gpus(4)}};
  const training own{quota_id{2}, {.gpus = gpus(2)}, owners_priority<Preset>};
  REQUIRE(s.submit(&loan));
  REQUIRE(s.step(1).admissions.size() == 1);
  const allot::job_id id = s.submit(&own);
  return s.step(2).evictions.size() == 1 && s.state(id) == allot::job_state::nominated;
}

}  // namespace

TEST_CASE("owners_served: a team takes back what its department owns, with any number of resources") {
  CHECK(is_served_for_its_department<1>(allot::standard{}));
  CHECK(is_served_for_its_department<2>(allot::standard{}));
  CHECK(is_served_for_its_department<1>(allot::pai{}));
  CHECK(is_served_for_its_department<2>(allot::pai{}));
}

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/topology/topology_builder.hpp>
#include <allot/quota/builder.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/setup.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

namespace allot_test {

/// Amounts of the first two of the eight dimensions that the simulators of allot::lab have.
[[nodiscard]] inline allot::resources<8> in_two(allot::quantity one, allot::quantity other) {
  allot::resources<8> both;
  both[0] = one;
  both[1] = other;
  return both;
}

/// Gives the job two or three sets of pods in place of those that are alike, of one or two GPUs each.
inline void give_unlike_pods(random_source& random, allot::sim::job<8>& j,
                             std::vector<allot::sim::unlike_pods<8>>& unlike) {
  allot::sim::unlike_pods<8>& pods = unlike.emplace_back();
  j.unlike = static_cast<std::uint32_t>(unlike.size());
  j.pod_request = {};
  j.pod_request.pods = 0;
  j.request = {};
  j.flavors = 0;
  j.min_pods = 0;
  for (std::size_t s = 2 + random.below(2); s > 0; --s) {
    allot::gpu::pod_set set;
    allot::sim::unlike_pods<8>::share share;
    const std::int64_t size = random.between(1, 2);
    set.each.gpus = allot::gpus(size);
    set.pods = static_cast<std::uint32_t>(random.between(1, 3));
    if (random.one_in(2)) set.min_pods = static_cast<std::uint32_t>(random.between(1, set.pods));
    if (random.one_in(2)) {
      share.flavors = static_cast<std::uint32_t>(2 * (size - 1) + random.between(1, 2));
    } else {
      const std::size_t f = random.below(2);
      share.request[f] = set.each.gpus;
      set.each.pools = std::uint64_t{1} << f;
    }
    if (set.fewest() == set.pods && random.one_in(4)) {
      set.most_together = 1 + static_cast<std::uint32_t>(random.below(2));
      set.spread_level = 1;
    }
    j.request += share.request * set.pods;
    j.pod_request.pods += set.pods;
    j.min_pods += set.fewest();
    pods.sets.push_back(set);
    pods.shares.push_back(share);
  }
}

[[nodiscard]] inline allot::sim::places racks_of(const std::vector<allot::gpu::node_spec>& nodes) {
  allot::gpu::cluster all = allot::gpu::build_cluster(nodes).value();
  allot::gpu::topology near = allot::gpu::topology_from_labels(all, {"rack"}).value();
  return allot::sim::places{std::move(all), std::move(near)};
}

/// Every feature of a simulation, random and small: two flavors of GPUs, each with its nodes and its
/// dimension; jobs that are elastic or not, of pods that are alike or not, in one rack or anywhere, of either
/// flavor or of one, some with a time limit, some running from the start; nodes that fail, are drained and
/// return; quotas that shrink; withdrawals. Times are whole seconds and often equal.
[[nodiscard]] inline allot::sim::setup<8> make_rich_world(random_source& random) {
  using namespace allot::sim;
  using amounts = allot::resources<8>;
  auto specs =
      random_quotas<8>(random, {.most_quotas = 6, .deepest = 3, .inclusive = false, .overcommit = false});
  for (auto& q : specs) {
    for (std::size_t d = 0; d < 2; ++d) {
      if (q.nominal[d].is_unlimited()) q.nominal[d] = allot::gpus(6);
    }
  }
  std::vector<allot::gpu::node_spec> nodes(2);
  for (std::size_t f = 0; f < 2; ++f) {
    nodes[f].name = nodes[f].pool = f == 0 ? "x" : "y";
    nodes[f].count = random.between(1, 3);
    nodes[f].gpus = random.between(1, 6);
    nodes[f].labels = {{"rack", nodes[f].name}};
  }
  const auto node_count = static_cast<std::size_t>(*nodes[0].count + *nodes[1].count);

  // Set 1 is of one-GPU pods, set 2 of two-GPU pods; odd ones prefer the second flavor.
  std::vector<flavor_set<8>> sets(4);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const auto size = allot::gpus(static_cast<std::int64_t>(1 + i / 2));
    std::vector<amounts> options = {in_two(size, {}), in_two({}, size)};
    sets[i].pools = {0b01, 0b10};
    if (i % 2 == 1) std::swap(options[0], options[1]), std::swap(sets[i].pools[0], sets[i].pools[1]);
    sets[i].menu.add_group(options);
  }

  std::vector<unlike_pods<8>> unlike;
  std::vector<job<8>> jobs(1 + random.below(40));
  for (auto& j : jobs) {
    j.quota = allot::quota_id{random.below(specs.size())};
    j.pod_request.pods = static_cast<std::uint32_t>(random.between(1, 5));
    if (random.one_in(2)) j.min_pods = static_cast<std::uint32_t>(random.between(1, j.pod_request.pods));
    const std::int64_t size = random.between(1, 2);
    j.pod_request.gpus = allot::gpus(size);
    if (random.one_in(2)) {
      j.flavors = static_cast<std::uint32_t>(2 * (size - 1) + random.between(1, 2));
    } else {
      const std::size_t f = random.below(2);
      j.request[f] = j.pod_request.gpus * j.pod_request.pods;
      j.pod_request.pools = std::uint64_t{1} << f;
    }
    if (random.one_in(3)) give_unlike_pods(random, j, unlike);
    // A rack has one flavor.
    if (random.one_in(4)) j.pod_request.required_level = 0;
    j.priority = static_cast<std::int64_t>(random.below(3));
    j.preemptible = !random.one_in(5);
    j.semi_preemptible = random.one_in(2);
    j.submit = random.between(0, 40) * second;
    j.duration = random.between(0, 20) * second;
    if (random.one_in(2)) j.checkpoint = random.between(0, 5) * second;
    j.restart = random.between(0, 3) * second;
    if (random.one_in(5)) j.time_limit = random.between(1, 15) * second;
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const auto& l, const auto& r) { return l.submit < r.submit; });

  setup<8> s{.quotas = allot::build_quota_tree(specs).value(),
             .settings = std::vector<allot::queue_settings>(specs.size()),
             .where = racks_of(nodes),
             .jobs = std::move(jobs),
             .flavor_sets = std::move(sets)};
  s.unlike = unlike;
  link_flavors<8>(s.unlike, s.flavor_sets);
  const workload_view<8> view{.jobs = s.jobs, .flavor_sets = s.flavor_sets, .unlike = s.unlike};
  const std::size_t running = random.one_in(2) ? random.below(5) : 0;
  for (job_index j = 0; j < std::min(running, s.jobs.size()); ++j) {
    running_job_at_start r{.which = j, .since = random.between(0, 10) * second, .is_going = random.one_in(4)};
    const std::size_t groups = view.flavors(j, s.jobs[j].fewest_pods()).groups();
    for (std::size_t g = 0; g < groups; ++g) r.pick[g] = static_cast<std::uint8_t>(random.below(2));
    const std::uint32_t fewest = s.jobs[j].fewest_pods();
    const auto at = s.where.place(view.pod_request(j, fewest, r.pick));
    if (!at) continue;
    r.where = *at;
    for (std::uint32_t pods = fewest; pods < s.jobs[j].pods() && random.one_in(2); ++pods) {
      allot::gpu::pod_request one = view.pod_request(j, 1, r.pick);
      if (view.pod_sets(j) > 1) {
        const auto set = view.next_set(j, fewest + static_cast<std::uint32_t>(r.elastic_pods.size()));
        one = view.pod_request(j, *set, r.pick);
      }
      const auto more = s.where.place(one.beside(*at));
      if (more) r.elastic_pods.push_back(*more);
    }
    s.running.push_back(std::move(r));
  }
  for (std::size_t i = random.below(8); i > 0; --i) {
    constexpr node_change kinds[] = {node_change::down, node_change::up, node_change::drain};
    s.node_events.push_back(
        {random.between(0, 60) * second, allot::gpu::node_id{random.below(node_count)}, random.pick(kinds)});
  }
  std::stable_sort(s.node_events.begin(), s.node_events.end(),
                   [](const auto& l, const auto& r) { return l.at < r.at; });
  for (std::size_t i = random.below(3); i > 0; --i) {
    s.cancels.push_back(
        {random.between(0, 60) * second, static_cast<job_index>(random.below(s.jobs.size()))});
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!random.one_in(4)) continue;
    s.quota_events.push_back({random.between(0, 60) * second,
                              allot::resize_quota<8>{.quota = allot::quota_id{i}, .nominal = amounts{}}});
  }
  if (random.one_in(3)) {
    for (node_event& e : s.node_events) {
      if (e.what != node_change::drain && random.one_in(2))
        e.known_since = e.at - random.between(0, 60) * second;
    }
    for (job<8>& j : s.jobs) {
      if (random.one_in(2)) j.estimate = random.between(1, 25) * second;
    }
  }
  s.faults.replaces_failed_pods = random.one_in(2);
  if (random.one_in(2)) return s;
  const auto drawn_span = [&]() -> allot::sim::host_faults::span {
    if (random.one_in(3)) return {};
    const allot::instant least = random.between(0, 5) * second;
    return {least, least + random.between(0, 20) * second};
  };
  s.faults = {.start = drawn_span(),
              .eviction = drawn_span(),
              .failed_starts = random.one_in(2) ? 0U : 30'000U,
              .failed_evictions = random.one_in(2) ? 0U : 30'000U,
              .start_again_after = random.between(0, 20) * second,
              .evict_again_after = random.between(0, 20) * second,
              .replaces_failed_pods = s.faults.replaces_failed_pods,
              .seed = random.below(1000)};
  return s;
}

}  // namespace allot_test

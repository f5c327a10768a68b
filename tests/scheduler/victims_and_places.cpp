// SPDX-License-Identifier: BSL-1.0
// Victims are chosen for the place that they leave: on one node, or in one domain of a topology. Nobody is
// evicted for a place that does not result.
#include <allot/gpu/topology/topology_builder.hpp>
#include <allot/gpu/topology_inventory.hpp>
#include <allot/presets/standard.hpp>
#include <allot/quota/builder.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>
#include <tests/support/seeds.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

namespace gpu = allot::gpu;
using allot::gpus;
using allot::job_id;
using allot::quota_id;
using gpu::node_id;

namespace {

struct training {
  quota_id quota;
  gpu::pod_request pod_request;
  bool preemptible = true;
};
struct jobs_view {
  using job = const training*;
  quota_id quota(job j) const { return j->quota; }
  allot::resources<> request(job j) const { return j->pod_request.gpus * j->pod_request.pods; }
  int priority(job) const { return 0; }
  bool preemptible(job j) const { return j->preemptible; }
  gpu::pod_request pod_request(job j) const { return j->pod_request; }
};
using host = allot::scheduler<jobs_view, gpu::topology_inventory, allot::standard::policies_type>;

/// Racks of two nodes with four GPUs each. The owner owns half of all GPUs, the borrower the other half.
struct world {
  static constexpr std::uint8_t rack = 0;

  std::deque<training> jobs;
  host scheduler;
  quota_id owner = scheduler.tree().find("owner");
  quota_id borrower = scheduler.tree().find("borrower");
  allot::instant now = 0;

  explicit world(int racks) : scheduler(jobs_view{}, tree(racks), machines(racks)) {}

  static allot::quota_tree<1> tree(int racks) {
    return allot::build_quota_tree<1>({{.name = "all"},
                                       {.name = "owner", .parent = "all", .nominal = gpus(4 * racks)},
                                       {.name = "borrower", .parent = "all", .nominal = gpus(4 * racks)}})
        .value();
  }
  static gpu::topology_inventory machines(int racks) {
    std::vector<gpu::node_spec> specs;
    for (int r = 0; r < racks; ++r) {
      gpu::node_spec s;
      s.name = "rack" + std::to_string(r);
      s.count = 2;
      s.gpus = 4;
      s.labels = {{"rack", s.name}};
      specs.push_back(s);
    }
    const gpu::cluster layout = gpu::build_cluster(specs).value();
    return gpu::topology_inventory{layout, gpu::topology_from_labels(layout, {"rack"}).value()};
  }

  job_id submit(quota_id q, gpu::pod_request d) {
    jobs.push_back({q, d});
    return scheduler.submit(&jobs.back());
  }
  /// A job of one GPU that runs on this node.
  job_id run_on(quota_id q, std::size_t node, bool preemptible = true) {
    jobs.push_back({q, {gpus(1)}, preemptible});
    const auto at = scheduler.take_place({gpus(1)}, std::array{gpu::pod_location{node_id{node}, 0}});
    REQUIRE(at);
    return scheduler.adopt(&jobs.back(), ++now, *at);
  }
  std::set<std::size_t> nodes_of(job_id id) const {
    std::set<std::size_t> nodes;
    scheduler.places().for_each_node(scheduler.place_of(id), [&](std::size_t n) { nodes.insert(n); });
    return nodes;
  }
};

gpu::pod_request gang(std::int64_t each, std::uint32_t pods, std::uint8_t level = gpu::any_level) {
  gpu::pod_request d;
  d.gpus = gpus(each);
  d.pods = pods;
  d.required_level = level;
  return d;
}

}  // namespace

TEST_CASE("victims and places: victims are on one node, though others are first in the order") {
  world w{2};
  // On all nodes in turn, so that the newest are spread.
  for (int i = 0; i < 4; ++i) {
    for (std::size_t n = 0; n < 4; ++n) w.run_on(w.borrower, n);
  }
  const job_id id = w.submit(w.owner, gang(4, 1));
  const auto& plan = w.scheduler.step(++w.now);
  REQUIRE(plan.evictions.size() == 4);
  std::set<std::size_t> nodes;
  std::vector<job_id> going;
  for (const auto& e : plan.evictions) {
    for (const std::size_t n : w.nodes_of(e.id)) nodes.insert(n);
    going.push_back(e.id);
  }
  CHECK(nodes.size() == 1);
  for (const job_id gone : going) w.scheduler.evicted(gone);
  REQUIRE(w.scheduler.step(++w.now).admissions.size() == 1);
  CHECK(w.nodes_of(id) == nodes);
}

TEST_CASE("victims and places: victims are in one rack, none are evicted if no rack can be cleared") {
  allot_test::for_each_seed(200, [](allot_test::random_source& random) {
    const int racks = 2 + static_cast<int>(random.below(3));
    world w{racks};
    const std::size_t nodes = 2 * static_cast<std::size_t>(racks);
    std::vector<std::int64_t> stay(static_cast<std::size_t>(racks));
    std::vector<std::size_t> order;
    for (std::size_t n = 0; n < nodes; ++n) order.insert(order.end(), 4, n);
    random.shuffle(order);
    // The borrower's own share: at most this many of its jobs may be non-preemptible.
    std::int64_t may_stay = 4 * racks;
    for (const std::size_t n : order) {
      if (random.one_in(10)) continue;
      const bool preemptible = may_stay == 0 || !random.one_in(6);
      if (!preemptible) --may_stay, ++stay[n / 2];
      w.run_on(w.borrower, n, preemptible);
    }
    const auto pods = static_cast<std::uint32_t>(random.between(1, 3));
    const auto each = random.between(1, 2);
    const std::int64_t wanted = each * pods;
    // A rack is suitable if as many pods fit beside the remaining jobs, node by node.
    const auto before_room = [&](std::size_t r) {
      std::uint64_t room = 0;
      for (const std::size_t n : {2 * r, 2 * r + 1}) {
        std::int64_t staying = 0;
        for (std::size_t i = 0; i < w.jobs.size(); ++i) {
          const job_id id{i};
          if (!w.jobs[i].preemptible && w.nodes_of(id).contains(n)) ++staying;
        }
        room += static_cast<std::uint64_t>((4 - staying) / each);
      }
      return room;
    };
    bool some_rack = false;
    for (std::size_t r = 0; r < stay.size(); ++r) some_rack = some_rack || before_room(r) >= pods;
    const job_id id = w.submit(w.owner, gang(each, pods, world::rack));
    std::vector<job_id> going;
    std::set<std::size_t> left;
    {
      const auto& plan = w.scheduler.step(++w.now);
      if (!some_rack) {
        CHECK(plan.evictions.empty());
        CHECK(plan.admissions.empty());
        CHECK(plan.nominations.empty());
        return;
      }
      for (const auto& e : plan.evictions) {
        going.push_back(e.id);
        for (const std::size_t n : w.nodes_of(e.id)) left.insert(n / 2);
      }
      CHECK(static_cast<std::int64_t>(going.size()) <= wanted);
      CHECK(plan.admissions.size() + plan.nominations.size() == 1);
    }
    CHECK(left.size() <= 1);
    for (const job_id gone : going) w.scheduler.evicted(gone);
    w.scheduler.step(++w.now);
    std::set<std::size_t> stands;
    for (const std::size_t n : w.nodes_of(id)) stands.insert(n / 2);
    CHECK(stands.size() == 1);
    if (!left.empty()) CHECK(stands == left);
  });
}
